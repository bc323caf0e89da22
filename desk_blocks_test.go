package allot_test

import (
	"testing"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/queue"
)

// Who waits for a node that has been cordoned waits for one that may come back,
// and so blocks those behind him (O4), also where a desk has seen the node go.
func TestDeskBlocksForCordoned(t *testing.T) {
	asks := func(id string, priority int32, gpus int) allot.Workload {
		return allot.Workload{ID: id, Priority: priority, PodSets: []allot.PodSet{
			{Count: 1, Request: allot.Request{GPU: allot.GPURequest{Count: gpus}}},
		}}
	}
	for _, first := range []bool{false, true} { // somebody has asked before what is ever possible
		s := &allot.State{Nodes: []allot.Node{
			{ID: "large", Devices: make([]allot.Device, 8)},
			{ID: "small", Devices: make([]allot.Device, 2)},
		}}
		s.Pools = []allot.Pool{{ID: "p", Policy: allot.Policy{
			Queueing: queue.StrictPool, NoConsolidation: true, Reclaim: preempt.NoReclaim, Preempt: preempt.NoPreemption,
		}}}
		if first {
			s.Workloads = []allot.Workload{asks("never", 30, 9)}
		}
		snapshot, err := allot.NewSnapshot(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := sameDecision(snapshot); err != nil {
			t.Error(err)
		}
		away := s.Nodes[0]
		away.Cordoned = true
		snapshot, err = snapshot.With(allot.Change{
			Nodes: []allot.Node{away}, Workloads: []allot.Workload{asks("head", 20, 8), asks("next", 10, 1)},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := sameDecision(snapshot); err != nil {
			t.Error(err)
		}
	}
}
