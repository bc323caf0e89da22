package allot

import (
	"testing"

	"github.com/allotsched/allot/quota"
)

// pairs waits for two tasks of one shape and two of another.
func pairs(id, queue string) Workload {
	one := Request{GPU: GPURequest{Count: 1}}
	other := Request{GPU: GPURequest{Count: 1}, Resources: map[string]int64{CPU: 1}}
	return Workload{ID: id, Queue: queue, PodSets: []PodSet{
		{Name: "a", Count: 2, Request: one}, {Name: "b", Count: 2, Request: other},
	}}
}

// O5: a search for several shapes is not made again while nothing has started,
// and is once something has.
func TestO5SearchedOnce(t *testing.T) {
	single := Workload{ID: "b", PodSets: []PodSet{{Count: 1, Request: Request{GPU: GPURequest{Count: 1}}}}}
	for _, row := range []struct {
		name      string
		workloads []Workload
		want      Work
	}{
		{"alike", []Workload{pairs("a", ""), pairs("c", ""), pairs("d", "")}, Work{Turns: 2, Searches: 1, Remembered: 1, Rooms: 1}},
		// A start asks everybody again who was refused before it, and none behind it.
		{
			"a start between", []Workload{pairs("a", ""), single, pairs("c", ""), pairs("d", "")},
			Work{Turns: 4, Searches: 3, Remembered: 1, Placed: 1, Rooms: 2},
		},
	} {
		s := &State{
			Nodes:     []Node{{ID: "n", Capacity: map[string]int64{CPU: 100}, Devices: make([]Device, 3)}},
			Workloads: row.workloads,
		}
		plan, err := Solve(s)
		if err != nil {
			t.Fatal(err)
		}
		if plan.Work != row.want {
			t.Errorf("%s: work %+v, want %+v", row.name, plan.Work, row.want)
		}
	}
}

// O5: what the rules of one queue have refused is not refused in another.
func TestO5RefusalByRulesIsTheQueues(t *testing.T) {
	s := &State{
		Nodes: []Node{{ID: "n", Capacity: map[string]int64{CPU: 100}, Devices: make([]Device, 4)}},
		Queues: []Queue{
			{ID: "q0", Resources: []QueueResource{{Resource: GPU, Limit: quota.Of(1000)}}},
			{ID: "q1"},
		},
		Workloads: []Workload{pairs("a", "q0"), pairs("c", "q1")},
	}
	plan, err := Solve(s)
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Actions) != 1 || plan.Actions[0].Workload != "c" {
		t.Errorf("want the start of c:\n%s", plan.String())
	}
}
