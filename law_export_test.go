package allot

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// The laws hold of every state and of the plan that Solve makes for it. TestLaws,
// which is outside this package as it needs Verify and the scenario language,
// draws the states of each family, solves each once, and puts it to all laws that
// are meant for the family.

// VerifyPlan is verify.Plan, which package verify cannot give to a test inside
// this package, as it imports this package: packages_test.go sets it.
var VerifyPlan func(*State, *Plan) error

// AskExplain asks package explain all that it says of a workload that is there and
// of one that might come. It is set like VerifyPlan.
var AskExplain func(d *Decision, id string, arrival Workload) error

// A Family is a generator of states, and how many of them an ordinary run judges.
type Family struct {
	Name   string
	States int
	Draw   func(seed uint64) *State
	// Covers names kinds of actions that the plans of an ordinary run must have.
	Covers []string
}

// Families are all generators of states that laws judge.
var Families = []Family{
	{"small", 400, drawnBy(genState), []string{"start", "resize", "displace", "unclaim", "evict", "move", "after"}},
	{"extreme", 120, drawnBy(genExtremeState), []string{"start"}},
	{"dense", 1500, genUsage, []string{"start", "resize", "displace", "unclaim"}},
	{"room", 1000, genRoom, []string{"start", "resize", "evict", "shrink", "move", "after"}},
	{"determined", 1000, genDetermined, []string{"start", "resize", "displace"}},
	{"timed", 1200, genTimed, []string{"start", "resize", "evict", "move", "after"}},
	{"plain", 300, func(seed uint64) *State { return plainState(rapid.Custom(genStillState).Example(int(seed))) }, []string{"start"}},
}

// genTimed is a state of which some work says how long it takes, in pools that promise (B3).
func genTimed(seed uint64) *State {
	s := genRoom(seed)
	d := rand.New(rand.NewPCG(seed, 11))
	if len(s.Pools) == 0 {
		s.Pools = []Pool{{ID: "p"}}
		for i := range s.Queues {
			s.Queues[i].Pool = "p"
		}
	}
	if s.Now.IsZero() {
		s.Now = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	for i := range s.Pools {
		r := &s.Pools[i].Policy.Reserve
		r.Backfill = []queue.Backfill{queue.EASY, queue.EASY, queue.Conservative}[d.IntN(3)]
		r.Depth, r.TrustDurations = d.IntN(4), d.IntN(4) == 0
		r.Evictable = seed%2 == 1
		if d.IntN(4) == 0 {
			r.Resolution = quota.Of(int64(1 + d.IntN(600)))
		}
		if d.IntN(6) == 0 {
			r.MaxHeldPercent = quota.Of(int64(10 * d.IntN(10)))
		}
	}
	for i := range s.Workloads {
		w := &s.Workloads[i]
		if d.IntN(3) > 0 {
			w.Duration = quota.Of(int64(60 * (1 + d.IntN(20))))
		}
		if d.IntN(2) > 0 {
			w.TimeLimit = quota.Of(int64(60 * (1 + d.IntN(30))))
		}
	}
	least := rand.New(rand.NewPCG(seed, 13)) // a source of its own: all else stays what it was
	for i := range s.Pools {
		r := &s.Pools[i].Policy.Reserve
		r.ChargeHeld, r.Gather = least.IntN(2) > 0, least.IntN(2) > 0
		if r.Gather && least.IntN(3) == 0 {
			r.MaxHold = quota.Of(int64(least.IntN(3) * 600))
		}
	}
	for i := range s.Workloads {
		if w := &s.Workloads[i]; least.IntN(2) > 0 {
			w.MinDuration = leastOf(least, w)
		}
	}
	fixed := rand.New(rand.NewPCG(seed, 17))
	for i := range s.Workloads {
		if w := &s.Workloads[i]; fixed.IntN(4) == 0 {
			w.FixedWork = int64(60 * (1 + fixed.IntN(60)))
			w.WorkDone = int64(fixed.IntN(3)) * w.FixedWork / 4
		}
	}
	for i := range s.Pools {
		r := &s.Pools[i].Policy.Reserve
		for _, b := range [...]*quota.Bound{&r.After, &r.Horizon, &r.RatherWait} {
			if fixed.IntN(6) == 0 {
				*b = quota.Of(int64(60 * fixed.IntN(30)))
			}
		}
	}
	return s
}

// leastOf draws for how long a workload is content to run, no longer than it says that it does.
func leastOf(d *rand.Rand, w *Workload) int64 {
	most := int64(600)
	for _, b := range [...]quota.Bound{w.Duration, w.TimeLimit} {
		if b.Given() {
			most = min(most, b.Amount())
		}
	}
	return 1 + d.Int64N(most)
}

// drawnBy draws by a generator that is written with rapid.
func drawnBy(gen func(*rapid.T) *State) func(uint64) *State {
	drawn := rapid.Custom(gen)
	return func(seed uint64) *State { return drawn.Example(int(seed)) }
}

// A Law says what is wrong with a state and its plan, nil if nothing is.
type Law struct {
	Rule   string // or several
	What   string
	Of     []string // families; nil is all of them
	Broken func(*Judged) error
}

// Judged is a state that was drawn and solved once.
type Judged struct {
	State *State
	Plan  *Plan
	Seed  uint64
	after *State // with the plan applied, once it was asked for
}

// After is the state with the plan applied.
func (j *Judged) After() (*State, error) {
	if j.after == nil {
		after, err := Apply(j.State, j.Plan)
		if err != nil {
			return nil, err
		}
		j.after = after
	}
	return j.after, nil
}

var (
	byRapid   = []string{"small"}
	forOracle = []string{"dense", "determined", "plain"} // all that the oracle decides knows
	ofRules   = []string{"dense", "determined", "room", "plain"}
)

// Laws are the laws that this package can put; TestLaws adds those that need
// Verify.
var Laws = []Law{
	{"S1", "the same state has the same plan, at every GOMAXPROCS, and is not modified", byRapid, sameAtAnyThreads},
	{"S3", "the order of lists never matters", byRapid, samePermuted},
	{"S3", "names that keep their order change nothing but names", byRapid, sameRenamed},
	{"V1", "JSON loses nothing that a plan depends on", byRapid, sameReadBack},
	{"V1", "a snapshot decides what Solve does", byRapid, sameFromSnapshot},
	{"M3", "the solve ends within its counted budget", nil, withinBudget},
	{"M5", "a plan applied leaves nothing to do", nil, atRest},
	{"B10", "a plan applied, nothing is otherwise before NextAt", []string{"room", "timed"}, stillUntilNext},
	{"M5, X1", "a plan applied leaves the same reasons and shares", byRapid, sameAfterwards},
	{"S4", "Begin and what follows of itself come to what Apply says", []string{"small", "room"}, beginComesToApply},
	{"O1", "every decision is the one that the rules, read plainly, come to", forOracle, asOracle},
	{"G1", "a workload has nothing or at least its minimum", ofRules, nothingOrMinimum},
	{"Q2, Q3, Q10", "no start takes a queue beyond quota, limit or cap", ofRules, func(j *Judged) error { return withinBounds(j.State, j.Plan) }},
	{"P2, S4", "nothing is overbooked, nor half-way through the actions", ofRules, func(j *Judged) error { return notOverbooked(j.State, j.Plan) }},
	{"O4, Q4", "under best effort nothing waits that could start", ofRules, progress},
	{"F4", "all weights times k leave the plan as it is", ofRules, sameWeightsTimes},
	{"F2, F3", "an empty queue without quota and weight leaves the plan as it is", ofRules, sameWithEmptyQueue},
	{"F1, M10", "a node that is closed to all changes no decision", append([]string{"small", "timed"}, ofRules...), sameWithClosedNode},
}

// withinBudget: each pass gives each form, and each task above a minimum, one
// turn of at most unitBudget searches. Of the passes some change something: start it, take
// a place from somebody or promise one (B7). Between two of these, and after the last, are at
// most three that change nothing: the end of a phase that is repeated as long as heads
// block, and the phases within the lines and beyond them of the round that follows.
func withinBudget(j *Judged) error {
	if tasksOf(j.State) > 10_000 {
		return nil // lawful, and slow
	}
	work := j.Plan.Work
	if work.Stopped {
		return errors.New("the solve came to no rest")
	}
	forms, tasks := int64(0), int64(tasksOf(j.State))
	for i := range j.State.Workloads {
		forms += 1 + int64(len(j.State.Workloads[i].Alternatives))
	}
	const passes = 4
	changes := work.Placed + work.Evicted + int64(len(j.Plan.Reservations))
	if most := (forms + tasks) * passes * (changes + 1); work.Turns > most || work.Searches > most*cluster.UnitBudget {
		return fmt.Errorf("%+v is beyond the budget of %d turns", work, most)
	}
	return nil
}

// tasksOf counts the tasks of all forms.
func tasksOf(s *State) (n int) {
	for i := range s.Workloads {
		k := &s.Workloads[i]
		for _, sets := range append([][]PodSet{k.PodSets}, formSets(k)...) {
			for j := range sets {
				n += sets[j].Count
			}
		}
	}
	return n
}

func formSets(k *Workload) (sets [][]PodSet) {
	for i := range k.Alternatives {
		sets = append(sets, k.Alternatives[i].PodSets)
	}
	return sets
}

// atRest says what is left to do once the plan is applied, but to start what is
// claimed.
func atRest(j *Judged) error {
	if mayBeCut(j.State, j.Plan) || evictsWithChoice(j.State, j.Plan) {
		return nil
	}
	after, err := j.After()
	if err != nil {
		return err
	}
	again, err := Solve(after)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(again.Actions, func(a Action) bool { return !startsClaims(after, a) }) {
		return fmt.Errorf("not at rest:\n%s", again.String())
	}
	return nil
}

// startsClaims says whether the action starts what is claimed: its place is free.
func startsClaims(s *State, a Action) bool {
	return a.Kind == Start && slices.ContainsFunc(s.Workloads, func(w Workload) bool {
		return w.ID == a.Workload && slices.ContainsFunc(w.Tasks, func(t Task) bool { return t.Phase == Claimed })
	})
}

// mayBeCut says that a cap, a disruption budget or a budget of the search may
// have kept the plan from its end, so that the next one goes on (M5).
func mayBeCut(s *State, p *Plan) bool {
	for i := range s.Pools {
		if s.Pools[i].Policy.MaxEvictions > 0 {
			return true
		}
	}
	return len(s.Budgets) > 0 || searchCut(p)
}

// evictsWithChoice says whether the plan evicts a workload that may start in another form,
// with other tasks, or in a hole that it is cut to fit (B1), once it has left and not before
// (S5): that it has left is news.
func evictsWithChoice(s *State, p *Plan) bool {
	return slices.ContainsFunc(p.Actions, func(a Action) bool {
		return a.Kind == Evict && slices.ContainsFunc(s.Workloads, func(w Workload) bool {
			return w.ID == a.Workload && (len(w.Alternatives)+len(w.PodSets) > 1 || w.MinDuration > 0)
		})
	})
}

// searchCut says that a search of the plan was cut.
func searchCut(p *Plan) bool {
	return slices.ContainsFunc(p.Pending, func(w Pending) bool {
		return slices.ContainsFunc(w.Reasons, func(r Reason) bool { return r.Code == SearchCut })
	})
}

// beginComesToApply: what can be carried out, in full or in some part, comes to
// the same end whether victims leave at once or in their time.
func beginComesToApply(j *Judged) error {
	for part := range 3 {
		keep := func(i int, a Action) bool { return part == 0 || (i+len(a.Workload))%(part+1) > 0 }
		begun, wrong := BeginSome(j.State, j.Plan, keep)
		applied, err := ApplySome(j.State, j.Plan, keep)
		var mismatch *MismatchError
		if (wrong == nil) != (err == nil) || wrong != nil && (part == 0 || !errors.As(wrong, &mismatch)) {
			return fmt.Errorf("Begin says %w, Apply %w", wrong, err)
		}
		if err != nil {
			continue // what was left out was needed
		}
		if err := completes(j.State, j.Plan, begun, applied); err != nil {
			return err
		}
	}
	return nil
}
