package allot_test

import (
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/queue"
)

// Under an order that looks at the age of the first workload of a queue, who is
// refused lets the next of its kind stand first, which is younger.
func TestDeskAgeOfRefused(t *testing.T) {
	at := func(s int64) time.Time { return time.Unix(1000+s, 0).UTC() }
	gpus := func(n int) allot.Request { return allot.Request{GPU: allot.GPURequest{Count: n}} }
	elastic := func(id string, since int64, node string) allot.Workload {
		w := allot.Workload{ID: id, Queue: "a", Priority: 10, Submitted: at(since)}
		w.PodSets = []allot.PodSet{{Count: 2, Min: 1, Request: gpus(2)}}
		w.Tasks = []allot.Task{{Node: node, Devices: []int{0, 1}}}
		return w
	}
	s := &allot.State{Now: at(100)}
	s.Pools = []allot.Pool{{ID: "p", Policy: allot.Policy{
		Order: queue.ShareThenAge, NoConsolidation: true, Reclaim: preempt.NoReclaim, Preempt: preempt.NoPreemption,
	}}}
	s.Queues = []allot.Queue{{ID: "a"}, {ID: "b"}}
	s.Nodes = []allot.Node{
		{ID: "n1", Devices: make([]allot.Device, 3)},
		{ID: "n2", Devices: make([]allot.Device, 2)},
	}
	s.Workloads = []allot.Workload{
		elastic("old", 1, "n1"), elastic("young", 5, "n2"),
		{ID: "next", Queue: "a", Submitted: at(2), PodSets: []allot.PodSet{{Count: 1, Request: gpus(1)}}},
		{ID: "other", Queue: "b", Submitted: at(3), PodSets: []allot.PodSet{{Count: 1, Request: gpus(1)}}},
	}
	snapshot, err := allot.NewSnapshot(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := sameDecision(snapshot); err != nil {
		t.Error(err)
	}
}
