package main

import (
	"errors"
	"io"
	"testing"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
)

// The points of the contract, one by one.

// calmWorld is a world in which nothing goes wrong and nobody asks for
// anything.
func calmWorld() *world {
	w := newWorld(1, allot.RunAI(), faults{}, io.Discard)
	w.kills, w.cluster.frozen = 0, true
	return w
}

func (w *world) recorded(t *testing.T) *record {
	t.Helper()
	r, err := w.store.Read()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// evicting is a state and its plan, for which one workload is evicted: a queue
// within its quota takes back what another has borrowed.
func evicting(t *testing.T) (*allot.State, *allot.Plan) {
	t.Helper()
	one := []allot.PodSet{{Count: 1, Request: allot.Request{GPU: allot.GPURequest{Count: 1}}}}
	half := []allot.QueueResource{{Resource: allot.GPU, Quota: quota.Of(1000)}}
	s := &allot.State{
		Now: instant(9), Revision: "1",
		Nodes:  []allot.Node{{ID: "n", Devices: make([]allot.Device, 2)}},
		Pools:  []allot.Pool{{Policy: allot.OSMO()}},
		Queues: []allot.Queue{{ID: "mine", Resources: half}, {ID: "yours", Resources: half}},
		Workloads: []allot.Workload{
			{ID: "old", Queue: "mine", Class: "LOW", PodSets: one, Tasks: []allot.Task{{Node: "n", Devices: []int{0}, Since: instant(1)}}},
			{ID: "new", Queue: "mine", Class: "LOW", PodSets: one, Tasks: []allot.Task{{Node: "n", Devices: []int{1}, Since: instant(2)}}},
			{ID: "due", Queue: "yours", Class: "NORMAL", PodSets: one},
		},
	}
	s.Pools[0].ID = "main"
	plan := solved(t, s)
	if len(plan.Actions) != 2 || plan.Actions[0].Kind != allot.Evict || plan.Actions[0].Workload != "new" {
		t.Fatalf("want new evicted for due:\n%s", plan.String())
	}
	return s, plan
}

// begun is the state in which a plan has begun.
func begun(t *testing.T, s *allot.State, plan *allot.Plan) *allot.State {
	t.Helper()
	next, err := allot.Begin(s, plan)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// solved is the plan for a state.
func solved(t *testing.T, s *allot.State) *allot.Plan {
	t.Helper()
	plan, err := allot.Solve(s)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// What begins is written with all that is needed to carry it out: numbers for
// what runs and leaves, none for claims, and how the victim ends.
func TestAdopt(t *testing.T) {
	s, plan := evicting(t)
	next := begun(t, s, plan)
	r := &record{State: s}
	r.adopt(s, &allot.Plan{})
	r.adopt(next, plan)
	if len(r.Attempts) != 2 || r.LastNumber != 2 {
		t.Fatalf("got %v", r.Attempts)
	}
	for _, a := range r.Attempts {
		evicted := a.Workload == "new"
		if (a.Ending.Status == "FAILED_PREEMPTED" && a.Ending.ExitCode == 3006) != evicted {
			t.Errorf("%v ends %v", a, a.Ending)
		}
	}
	if problems := mistaken(r); len(problems) > 0 {
		t.Error(problems)
	}
}

// A plan is for the state that it was made from, and no other.
func TestStalePlan(t *testing.T) {
	s, plan := evicting(t)
	s.Revision = "2"
	var mismatch *allot.MismatchError
	if _, err := allot.Begin(s, plan); !errors.As(err, &mismatch) || mismatch.Path != "revision" {
		t.Errorf("got %v", err)
	}
}

// A plan that is not lawful never begins, and it is told.
func TestUnlawfulPlan(t *testing.T) {
	for _, verify := range []bool{true, false} {
		w := calmWorld()
		w.verify = verify
		w.solve = func(s *allot.State) (*allot.Plan, error) {
			p, err := allot.Solve(s)
			for i := range p.Actions {
				p.Actions[i].Tasks = p.Actions[i].Tasks[:1] // half a gang
			}
			return p, err
		}
		gang := single("a", "vision")
		gang.PodSets[0].Count = 2
		w.request(request{Submit: gang})
		for range 30 {
			w.step()
		}
		begins, told := len(w.recorded(t).Attempts) > 0, len(w.cluster.broken) > 0
		if begins == verify || told != verify {
			t.Errorf("verified is %v: begins is %v, told is %v", verify, begins, told)
		}
	}
}

// A host that lost its claims evicts nobody a second time: what is Terminating
// will be free, and who needs it starts then.
func TestLostClaims(t *testing.T) {
	s, plan := evicting(t)
	next := begun(t, s, plan)
	next.Workloads[2].Tasks = nil
	again := solved(t, next)
	for _, a := range again.Actions {
		if a.Kind == allot.Evict {
			t.Errorf("evicted again:\n%s", again.String())
		}
	}
	next.Workloads[1].Tasks = nil // it has left
	last := solved(t, next)
	if len(last.Actions) != 1 || last.Actions[0].Kind != allot.Start || last.Actions[0].Workload != "due" {
		t.Errorf("want the start of due:\n%s", last.String())
	}
}

// A host that kept its claims has nothing to decide while a victim leaves.
func TestKeptClaims(t *testing.T) {
	s, plan := evicting(t)
	next := begun(t, s, plan)
	again := solved(t, next)
	if len(again.Actions) != 0 {
		t.Errorf("want nothing:\n%s", again.String())
	}
}

// A start that nobody answers is given up after a time, and the task runs
// elsewhere while the first node still does not answer.
func TestStartGivenUp(t *testing.T) {
	w := calmWorld()
	w.request(request{Submit: single("a", "vision")})
	for len(w.recorded(t).Attempts) == 0 {
		w.step()
	}
	first := w.recorded(t).Attempts[0]
	w.cluster.turn(w.cluster.machine(first.Node), silent)
	for range 100 {
		w.step()
	}
	r := w.recorded(t)
	if len(r.Attempts) != 1 || r.Attempts[0].Number == first.Number || r.Attempts[0].Node == first.Node {
		t.Fatalf("recorded: %v", r.Attempts)
	}
	if p := w.cluster.attempts[r.Attempts[0].Number]; p == nil || p.status != running {
		t.Error("it does not run")
	}
}

// What falls silent is left alone: it runs on, and is not started elsewhere.
func TestSilentNode(t *testing.T) {
	w := calmWorld()
	w.request(request{Submit: single("a", "vision")})
	for len(w.cluster.live) == 0 {
		w.step()
	}
	before := w.recorded(t).Attempts[0]
	w.cluster.turn(w.cluster.machine(before.Node), silent)
	for range 100 {
		w.step()
	}
	r := w.recorded(t)
	if len(r.Attempts) != 1 || r.Attempts[0].Number != before.Number {
		t.Errorf("recorded: %v, before %v", r.Attempts, before)
	}
	for _, n := range r.State.Nodes {
		if n.Cordoned != (n.ID == before.Node) || n.Lost {
			t.Errorf("%s: cordoned %v, lost %v", n.ID, n.Cordoned, n.Lost)
		}
	}
}

// A start waits while something that was lost might still run in its place, or
// is the same task.
func TestMustWait(t *testing.T) {
	task := func(id, node string, isLost bool) attempt {
		return attempt{taskName: taskName{Workload: id}, Node: node, Lost: isLost}
	}
	for _, test := range []struct {
		other attempt
		want  bool
	}{
		{task("a", "n1", true), true},   // the same task, elsewhere
		{task("b", "n0", true), true},   // another one, in its place
		{task("b", "n1", true), false},  // nothing to do with it
		{task("b", "n0", false), false}, // the State sees to that
	} {
		r := &record{Attempts: []attempt{test.other, task("a", "n0", false)}}
		if got := r.mustWait(&r.Attempts[1]); got != test.want {
			t.Errorf("%v: must wait is %v", test.other, got)
		}
	}
}

// A report that is older than what is recorded changes nothing.
func TestOldReport(t *testing.T) {
	w := calmWorld()
	w.cluster.turn(w.cluster.nodes[0], down) // in second 0
	w.cluster.tick()
	w.cluster.turn(w.cluster.nodes[0], ready)
	for range 5 {
		w.round()
	}
	w.request(request{Queue: "vision", Quota: 1000}) // for a reason to write
	w.round()
	before := w.recorded(t)
	w.request(request{Queue: "vision", Quota: 2000})
	c := w.controller(&life{world: w})
	c.cluster = old{w.cluster}
	if err := c.round(); err != nil {
		t.Fatal(err)
	}
	if after := w.recorded(t); after.base != before.base || after.State.Nodes[0].Lost {
		t.Errorf("revision %s became %s", before.base, after.base)
	}
}

// old tells how things stood in second 0.
type old struct{ *cluster }

func (o old) Report(attempts []int64) (report, error) {
	r, err := o.cluster.Report(attempts)
	r.At = instant(0)
	r.Nodes[0].Health = down
	return r, err
}

// When a task that moves has left its old place, its claim on the new one
// stays.
func TestMoveKeepsItsClaim(t *testing.T) {
	r := newRecord(t)
	w := single("a", "vision")
	w.Tasks = []allot.Task{{Node: "n0", Phase: allot.Terminating}, {Node: "n1", Phase: allot.Claimed}}
	r.State.Workloads = append(r.State.Workloads, *w)
	r.Attempts = []attempt{{taskName: taskName{Workload: "a"}, Number: 1, Node: "n0"}}
	r.merge(instant(1), report{Attempts: map[int64]attemptReport{1: {Status: ended, Exit: stopped}}}, nil)
	if tasks := r.State.Workloads[0].Tasks; len(tasks) != 1 || tasks[0].Phase != allot.Claimed {
		t.Errorf("got %v", tasks)
	}
}
