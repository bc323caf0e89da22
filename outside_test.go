package allot

import (
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// strayStates are two in which something runs on a node that is in no pool any
// more: a task beside one that waits, and the survivor of a gang that has to share
// a node.
var strayStates = []string{
	`{"version":1,"nodes":[{"id":"N"}],"pools":[{"id":"p0","nodes":{"selector":{"labels":{"pool":"p0"}}}}],"queues":[{"id":"q0"}],
	"workloads":[{"id":"w1","podSets":[{"count":1}],"queue":"q0","tasks":[{"node":"N"}]},{"id":"w4","podSets":[{"count":1}],"queue":"q0"}]}`,
	`{"version":1,"nodes":[{"id":"n3","devices":[{},{}]}],"pools":[{"id":"p0","nodes":{"selector":{"labels":{"pool":"p0"}}}}],"queues":[{"id":"q3"}],
	"workloads":[{"id":"w0","groups":[{"name":"g0","topology":{"required":"node"}}],"queue":"q3",
	"podSets":[{"count":4,"group":"g0","name":"s1"},{"count":1,"group":"g0","name":"s2","request":{"gpu":{"count":2}}}],
	"tasks":[{"devices":[0,1],"node":"n3","podSet":"s2"}]}]}`,
}

// S7: work outside its pool is lawful input to every question.
func TestS7OutsideIsAsked(t *testing.T) {
	for _, text := range strayStates {
		s := new(State)
		if err := json.Unmarshal([]byte(text), s); err != nil {
			t.Fatal(err)
		}
		askEverything(t, s)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := genState(t)
		if !slices.ContainsFunc(s.Workloads, func(w Workload) bool {
			return slices.ContainsFunc(w.Tasks, func(task Task) bool { return strays(s, &w, task.Node) })
		}) {
			t.Skip("all work is in its pool")
		}
		askEverything(t, s)
	})
}

// askEverything asks all that can be asked of a state, of what is decided in it and
// of its first workloads.
func askEverything(t interface {
	Helper()
	Fatal(args ...any)
}, s *State) {
	must := func(err error) {
		t.Helper()
		if err != nil && !errors.Is(err, ErrUnknown) {
			t.Fatal(err)
		}
	}
	snapshot, err := NewSnapshot(s)
	must(err)
	d, err := snapshot.Decide()
	must(err)
	p, err := d.Plan()
	must(err)
	must(VerifyPlan(s, p))
	begun, err := d.Begin()
	must(err)
	_, err = begun.Decide()
	must(err)
	applied, err := snapshot.Apply(p)
	must(err)
	_, err = applied.Decide()
	must(err)
	for i := range min(3, len(s.Workloads)) {
		w := &s.Workloads[i]
		again := *w
		again.ID, again.Tasks, again.Form, again.Ending, again.PartialSince = "again", nil, 0, false, time.Time{}
		must(AskExplain(d, w.ID, again))
	}
}

// S7: Verify refuses a plan that takes or moves what stands outside its pool.
func TestS7VerifyLeavesOutsideAlone(t *testing.T) {
	gpu := func(id, queue string, priority int32, tasks ...Task) Workload {
		return Workload{
			ID: id, Queue: queue, Priority: priority, Tasks: tasks,
			PodSets: []PodSet{{Count: 1, Request: Request{GPU: GPURequest{Count: 1}}}},
		}
	}
	s := &State{
		Nodes:     []Node{{ID: "n0", Devices: make([]Device, 1)}, {ID: "n1", Devices: make([]Device, 1)}},
		Pools:     []Pool{{ID: "p", Nodes: NodeSet{IDs: []string{"n0", "n1"}}}},
		Queues:    []Queue{{ID: "q"}},
		Workloads: []Workload{gpu("low", "q", 1, Task{Node: "n1", Devices: []int{0}}), gpu("runs", "q", 9, Task{Node: "n0", Devices: []int{0}}), gpu("high", "q", 5)},
	}
	p, err := Solve(s)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Actions) != 2 || p.Actions[0].Kind != Evict || p.Actions[0].Workload != "low" {
		t.Fatalf("low does not go: %+v", p.Actions)
	}
	s.Pools[0].Nodes.IDs = []string{"n0"}
	if err := VerifyPlan(s, p); err == nil || !regexp.MustCompile(`(?m)^\tactions\[0\]\.tasks\[0\]: .*\(S7\)$`).MatchString(err.Error()) {
		t.Errorf("the node has left the pool, and Verify says %v", err)
	}
}
