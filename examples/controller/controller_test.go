package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/allotsched/allot"
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
	t.solve = t.verified
	t.store = watched{t.store, t}
	return t
}

// verified is Solve, each plan put to Verify.
func (t *tale) verified(s *allot.State) (*allot.Plan, error) {
	p, err := allot.Solve(s)
	if err != nil {
		t.problems = append(t.problems, err.Error())
		return nil, err
	}
	if err := allot.Verify(s, p); err != nil {
		t.problems = append(t.problems, err.Error())
	}
	t.before, t.plan = s, p
	return p, nil
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
	claims := make(map[string]bool)
	for _, w := range t.before.Workloads {
		claims[w.ID] = slices.ContainsFunc(w.Tasks, func(t allot.Task) bool { return t.Phase == allot.Claimed })
	}
	for _, a := range t.plan.Actions {
		t.kinds[a.Kind]++
		if len(a.After) > 0 {
			t.after++
		}
		switch a.Kind {
		case allot.Unclaim, allot.Displace:
			// S4: a claim was taken, or a place was lost.
			claims[a.Workload] = false
			clear(t.evicted)
		case allot.Start:
			for victim, beneficiary := range t.evicted { // a set: order cannot matter
				if beneficiary == a.Workload && len(a.After) == 0 {
					delete(t.evicted, victim)
				}
			}
		}
	}
	for _, a := range t.plan.Actions {
		if a.Kind != allot.Evict || a.Reason.Workload == "" {
			continue
		}
		if b := a.Reason.Workload; claims[b] || t.evicted[a.Workload] == b {
			t.problems = append(t.problems, fmt.Sprintf("%s is evicted again for %s in revision %s", a.Workload, b, t.plan.Revision))
		}
		t.evicted[a.Workload] = a.Reason.Workload
	}
	for _, w := range r.State.Workloads {
		if w.Ending {
			clear(t.evicted) // the demand has changed
		}
	}
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
// nothing ever runs twice or is overbooked, and in the end everything is as it
// should be.
func TestSeeds(t *testing.T) {
	seeds := 240
	if testing.Short() {
		seeds = 20
	}
	deaths, after, where, kinds := 0, 0, make(map[string]int), make(map[allot.ActionKind]int)
	for seed := range seeds {
		policy := policies()[seed%len(policies())]
		tale := newTale(uint64(seed), policy, everything)
		tale.kills = 60
		if problems := tale.run(150); len(problems) > 0 {
			tale.fail(t, fmt.Sprintf("seed %d, policy %s", seed, policy.Name), problems)
		}
		deaths += tale.deaths
		after += tale.after
		for kind, n := range tale.kinds { // sums: order cannot matter
			kinds[kind] += n
		}
		for line := range strings.Lines(tale.text.String()) {
			if _, place, ok := strings.Cut(line, "is killed "); ok {
				when, what, _ := strings.Cut(place, " it ")
				where[when+" it "+strings.Fields(what)[0]+" "+strings.Fields(what)[1]+" "+strings.Fields(what)[2]]++
			}
		}
	}
	t.Logf("%d deaths: %v; actions written: %v, of which %d wait for others", deaths, where, kinds, after)
}

// TestEveryCrossing: one story, in which the controller is killed at each of
// the crossings once.
func TestEveryCrossing(t *testing.T) {
	const seconds = 60
	whole := newTale(5, allot.RunAI(), everything)
	whole.kills = 0
	if problems := whole.run(seconds); len(problems) > 0 {
		whole.fail(t, "without a death", problems)
	}
	step := 1
	if testing.Short() {
		step = 20
	}
	for crossing := 0; crossing < whole.crossings; crossing += step {
		tale := newTale(5, allot.RunAI(), everything)
		tale.kills, tale.fuse = 0, crossing
		if problems := tale.run(seconds); len(problems) > 0 {
			tale.fail(t, fmt.Sprintf("death at crossing %d", crossing), problems)
		}
	}
	t.Logf("%d crossings", whole.crossings)
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
		if err := o.controller(&life{world: o.world}).round(); err != nil && !errors.Is(err, errSilent) && !errors.Is(err, errKilled) {
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
	store
	*world
	how string
	old *record
}

func (o *forgetful) Write(r *record) error {
	switch kept := *r; o.how {
	case "the last write when killed":
		if o.fuse >= 0 { // it dies soon: the write gets lost, and nobody is told
			return nil
		}
	case "attempts that are lost":
		kept.Attempts = slices.DeleteFunc(slices.Clone(r.Attempts), func(a attempt) bool { return a.Lost })
		return o.store.Write(&kept)
	case "the last number":
		kept.LastNumber = 0
		for _, a := range r.Attempts {
			kept.LastNumber = max(kept.LastNumber, a.Number)
		}
		return o.store.Write(&kept)
	}
	return o.store.Write(r)
}

// TestTheChecksBite: who forgets something is found out.
func TestTheChecksBite(t *testing.T) {
	late := faults{lost: 10, twice: 40, fails: 5, delay: 30, lag: 3, slow: 20}
	for _, test := range []struct{ how, want string }{
		{"the last write when killed", "overbooks"},
		{"attempts that are lost", "run at once"},
		{"the last number", "recorded is false, over is false"},
		{"what is over", "run at once"},
	} {
		found := false
		for seed := uint64(0); seed < 300 && !found; seed++ {
			tale := newTale(seed, allot.RunAI(), late)
			tale.store = &forgetful{store: tale.store, world: tale.world, how: test.how}
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

// TestStalePlan: a plan is for the state that it was made from, and no other.
func TestStalePlan(t *testing.T) {
	w := newWorld(1, allot.RunAI(), faults{}, io.Discard)
	w.submit()
	r, err := w.store.Read()
	if err != nil {
		t.Fatal(err)
	}
	r.State.Revision = "1"
	plan, err := allot.Solve(r.State)
	if err != nil {
		t.Fatal(err)
	}
	r.State.Revision = "2"
	var mismatch *allot.MismatchError
	if _, err := allot.Begin(r.State, plan); !errors.As(err, &mismatch) || mismatch.Path != "revision" {
		t.Errorf("got %v", err)
	}
}
