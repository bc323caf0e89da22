package main

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/deep"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/quota"
)

// everything is all that can go wrong.
var everything = faults{lost: 10, twice: 10, fails: 5, unanswered: 5, delay: 5, lag: 3, slow: 20}

// policies are those of the worlds, in turn.
func policies() []allot.Policy {
	preempting := allot.DeterminedPriority()
	preempting.Preempt = preempt.WithinPool
	list := []allot.Policy{allot.RunAI(), allot.OSMO(), allot.RunAI20(), allot.DeterminedFairShare(), preempting}
	list[1].ExitActions = []allot.ExitAction{{Code: list[1].PreemptedExitCode, Action: allot.Fail}}
	for i := range list {
		list[i].StaleGangGrace = quota.Of(20)
		list[i].Fitting = gang.AnyNodes // what could run is counted task by task
		list[i].MinRuntime.Preempt = quota.Of(int64(10 * (i % 2)))
	}
	return list
}

// A tale is a world that is watched: what was planned and written, and what of
// it must not be.
type tale struct {
	*world
	text     bytes.Buffer
	plan     *allot.Plan
	before   *allot.State // of which plan is
	kinds    map[allot.ActionKind]int
	after    int // starts that wait for somebody to leave
	problems []string
	// evicted is for whom workloads were evicted, until something happens that
	// may make it right to do it again.
	evicted map[string]string
}

func newTale(seed uint64, policy allot.Policy, f faults) *tale {
	t := &tale{kinds: make(map[allot.ActionKind]int), evicted: make(map[string]string)}
	t.world = newWorld(seed, policy, f, &t.text)
	t.solve = t.noted
	t.store = watched{t.store, t}
	return t
}

// noted is Solve, its plan noted.
func (t *tale) noted(s *allot.State) (*allot.Plan, error) {
	p, err := allot.Solve(s)
	t.before, t.plan = s, p
	return p, err
}

// A watched store notes what was written: only that was ever carried out.
type watched struct {
	store
	*tale
}

func (o watched) Write(r *record) error {
	err := o.store.Write(r)
	if err == nil {
		o.written(r)
	}
	return err
}

// written looks at a plan that holds from now on.
func (t *tale) written(r *record) {
	claims := make(map[string]int) // that stay claims, of those there were
	for _, w := range t.before.Workloads {
		for _, task := range w.Tasks {
			if task.Phase == allot.Claimed {
				claims[w.ID]++
			}
		}
	}
	for _, a := range t.plan.Actions {
		t.kinds[a.Kind]++
		if len(a.After) > 0 {
			t.after++
		}
		if a.Kind == allot.Unclaim || a.Kind == allot.Displace {
			// S4: a claim was taken, or a place was lost.
			delete(claims, a.Workload)
			clear(t.evicted)
		}
		if (a.Kind == allot.Start || a.Kind == allot.Resize) && len(a.After) == 0 {
			claims[a.Workload] -= len(a.Tasks)
			for victim, preemptor := range t.evicted { // a set: order cannot matter
				if preemptor == a.Workload {
					delete(t.evicted, victim)
				}
			}
		}
	}
	for _, a := range t.plan.Actions {
		if a.Kind != allot.Evict || a.Reason.Workload == "" {
			continue
		}
		if b := a.Reason.Workload; claims[b] > 0 || t.evicted[a.Workload] == b {
			t.problems = append(t.problems, fmt.Sprintf("%s is evicted again for %s in revision %s", a.Workload, b, t.plan.Revision))
		}
		t.evicted[a.Workload] = a.Reason.Workload
	}
	for _, w := range r.State.Workloads {
		if w.Ending {
			clear(t.evicted) // the demand has changed
		}
	}
	t.problems = append(t.problems, mistaken(r)...)
}

// mistaken lists where the attempts of a record do not follow its state: each
// task that runs or leaves has one, and one that was evicted knows how it ends.
func mistaken(r *record) (problems []string) {
	tasks, attempts := 0, 0
	for _, w := range r.State.Workloads {
		for _, t := range w.Tasks {
			if t.Phase != allot.Claimed {
				tasks++
			}
		}
	}
	for i := range r.Attempts {
		if r.task(&r.Attempts[i]) != nil {
			attempts++
		} else if !r.Attempts[i].Lost {
			problems = append(problems, fmt.Sprintf("%v is of no task", r.Attempts[i]))
		}
	}
	if tasks != attempts {
		problems = append(problems, fmt.Sprintf("%d tasks have %d attempts", tasks, attempts))
	}
	return problems
}

// run lives through a story and then until it comes to rest, and returns what
// went wrong.
func (t *tale) run(seconds int) []string {
	for range seconds {
		t.happen()
		t.step()
		if len(t.cluster.broken) > 0 {
			return t.cluster.broken // nothing that comes later says more
		}
	}
	if !t.calm(3000) {
		t.problems = append(t.problems, "comes to no rest")
	}
	return slices.Concat(t.problems, t.cluster.broken, t.unsound())
}

// fail reports the end of the tale and its problems.
func (t *tale) fail(test testing.TB, name string, problems []string) {
	test.Helper()
	lines := strings.SplitAfter(t.text.String(), "\n")
	test.Fatalf("%s:\n%s\n%s", strings.Join(lines[max(0, len(lines)-80):], ""), name, strings.Join(problems, "\n"))
}

// TestSeeds: whenever the controller is killed and whatever else goes wrong,
// nothing ever runs twice or is overbooked, nobody is evicted twice for one
// need, and in the end no gang is half placed and everything runs that can.
func TestSeeds(t *testing.T) {
	seeds, deaths, after := 0, make(map[string]int), 0
	kinds := make(map[allot.ActionKind]int)
	for seed := range deep.Seeds(t, 120) {
		seeds++
		policy := policies()[seed%uint64(len(policies()))]
		tale := newTale(seed, policy, everything)
		tale.kills = 50
		if problems := tale.run(150); len(problems) > 0 {
			tale.fail(t, fmt.Sprintf("seed %d, policy %s", seed, policy.Name), problems)
		}
		after += tale.after
		for kind, n := range tale.kinds { // sums: order cannot matter
			kinds[kind] += n
		}
		for _, where := range crossing.FindAllString(tale.text.String(), -1) {
			deaths[where]++
		}
	}
	t.Logf("deaths: %v", deaths)
	t.Logf("actions: %v, of which %d wait for others to leave", kinds, after)
	if len(deaths) != 12 {
		t.Errorf("%d kinds of death, want 12", len(deaths))
	}
	for where, n := range deaths { // each for itself: order cannot matter
		if n < seeds/4 {
			t.Errorf("only %d controllers %s", n, where)
		}
	}
	for kind := allot.Start; kind <= allot.Move; kind++ {
		if kinds[kind] < seeds/10 && !testing.Short() {
			t.Errorf("only %d actions %v", kinds[kind], kind)
		}
	}
}

// crossing is where a controller was killed.
var crossing = regexp.MustCompile(`killed (before|after) it (reads its|hears from|reads the|writes its|asks to start|asks to stop)`)

// TestEveryCrossing: one story, in which the controller is killed at each of
// the crossings once; in an ordinary run at every fourth.
func TestEveryCrossing(t *testing.T) {
	const seconds = 60
	tell := func(seed uint64, fuse int) *tale {
		tale := newTale(seed, allot.RunAI(), everything)
		tale.kills, tale.fuse = 0, fuse
		if problems := tale.run(seconds); len(problems) > 0 {
			tale.fail(t, fmt.Sprintf("seed %d, death at crossing %d", seed, fuse), problems)
		}
		return tale
	}
	seed, enough := uint64(0), false
	var whole *tale
	for ; !enough; seed++ {
		whole = tell(seed, -1)
		enough = whole.kinds[allot.Evict] > 0 && whole.kinds[allot.Displace] > 0 && whole.after > 1
	}
	step := 4
	switch {
	case deep.New(t, 1).Deep():
		step = 1
	case testing.Short():
		step = 20
	}
	for n := 0; n < whole.crossings; n += step {
		tell(seed-1, n)
	}
	t.Logf("seed %d: %d crossings; actions: %v", seed-1, whole.crossings, whole.kinds)
}

// contested is a store that another controller uses as well: now and then it
// has a whole round between the decision of the one and its writing.
type contested struct {
	store
	*world
	busy      *bool
	conflicts *int
}

func (o contested) Write(r *record) error {
	if !*o.busy && o.chance.IntN(3) == 0 {
		*o.busy = true
		if err := o.controller(&life{world: o.world}).round(); err != nil && !expected(err) {
			return err
		}
		*o.busy = false
	}
	err := o.store.Write(r)
	if errors.Is(err, errConflict) {
		*o.conflicts++
	}
	return err
}

// TestTwoControllers: of two controllers one writes, and the other begins anew.
func TestTwoControllers(t *testing.T) {
	conflicts := 0
	for seed := range uint64(20) {
		tale := newTale(seed, allot.RunAI(), everything)
		tale.store = contested{tale.store, tale.world, new(bool), &conflicts}
		if problems := tale.run(150); len(problems) > 0 {
			tale.fail(t, fmt.Sprintf("seed %d", seed), problems)
		}
	}
	if conflicts < 100 {
		t.Errorf("only %d conflicts", conflicts)
	}
}

// A forgetful store breaks the contract in one way.
type forgetful struct {
	*memory
	*world
	how    string
	before memory // the last write
	buried int    // deaths seen
}

func (o *forgetful) Read() (*record, error) {
	if o.how == "the last write after a death" && o.deaths > o.buried {
		*o.memory = o.before
	}
	o.buried = o.deaths
	return o.memory.Read()
}

func (o *forgetful) Write(r *record) error {
	o.before = *o.memory
	kept := *r
	switch o.how {
	case "attempts that are lost":
		kept.Attempts = slices.DeleteFunc(slices.Clone(r.Attempts), func(a attempt) bool { return a.Lost })
	case "the last number":
		kept.LastNumber = 0
		for _, a := range r.Attempts {
			kept.LastNumber = max(kept.LastNumber, a.Number)
		}
	}
	return o.memory.Write(&kept)
}

// TestTheChecksBite: who forgets something is found out.
func TestTheChecksBite(t *testing.T) {
	late := faults{lost: 10, twice: 40, fails: 5, delay: 30, lag: 3, slow: 20}
	for _, test := range []struct{ how, want string }{
		{"the last write after a death", "run at once"},
		{"attempts that are lost", "run at once"},
		{"the last number", "recorded is false, over is false"},
		{"what is over", "run at once"},
	} {
		found := false
		for seed := uint64(0); seed < 300 && !found; seed++ {
			tale := newTale(seed, allot.RunAI(), late)
			tale.store = &forgetful{memory: tale.store.(watched).store.(*memory), world: tale.world, how: test.how}
			tale.kills = 40
			if test.how == "what is over" {
				tale.cluster.print = func(string, ...any) { tale.forgetWhatIsOver() }
			}
			problems := tale.run(150)
			found = strings.Contains(strings.Join(problems, "\n"), test.want)
		}
		if !found {
			t.Errorf("nobody finds out who forgets %s", test.how)
		}
	}
}

func (t *tale) forgetWhatIsOver() {
	for number, p := range t.cluster.attempts { // all that match go: order cannot matter
		if p.status == ended && !slices.Contains(t.cluster.live, p) {
			delete(t.cluster.attempts, number)
		}
	}
}
