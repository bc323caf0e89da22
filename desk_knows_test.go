package allot

import (
	"reflect"
	"testing"

	"github.com/allotsched/allot/preempt"
)

// A resource that only the nodes of one pool have is none of another pool's: who
// asks for it there is decided upon as from scratch.
func TestDeskKnowsResourcesByPool(t *testing.T) {
	still := Policy{NoConsolidation: true, Reclaim: preempt.NoReclaim, Preempt: preempt.NoPreemption}
	s, err := NewSnapshot(&State{
		Nodes: []Node{
			{ID: "n0", Capacity: map[string]int64{"fpga": 4}}, {ID: "n1", Devices: make([]Device, 4)},
		},
		Pools: []Pool{
			{ID: "a", Nodes: NodeSet{IDs: []string{"n0"}}, Policy: still}, {ID: "b", Nodes: NodeSet{IDs: []string{"n1"}}, Policy: still},
		},
		Queues: []Queue{{ID: "qa", Pool: "a"}, {ID: "qb", Pool: "b"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Decide(); err != nil {
		t.Fatal(err)
	}
	asks := Request{GPU: GPURequest{Count: 1}, Resources: map[string]int64{"fpga": 1}}
	for _, queue := range []string{"qa", "qb"} {
		next, err := s.With(Change{Workloads: []Workload{{ID: "w", Queue: queue, PodSets: []PodSet{{Count: 1, Request: asks}}}}})
		if err != nil {
			t.Fatal(err)
		}
		d, err := next.Decide()
		if err != nil {
			t.Fatal(err)
		}
		got, err := d.Plan()
		if err != nil {
			t.Fatal(err)
		}
		want, err := Solve(next.State())
		if err != nil {
			t.Fatal(err)
		}
		got.Work, want.Work = Work{}, Work{}
		if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(d.Actions(), want.Actions) {
			t.Errorf("%s: %s\nnot\n%s", queue, got.String(), want.String())
		}
	}
}
