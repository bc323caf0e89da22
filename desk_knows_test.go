package allot

import (
	"reflect"
	"testing"

	"github.com/allotsched/allot/placement"
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

// Islands take no tree of domains: what asks for one is decided incrementally, and so is
// what waits for a domain once a desk has read the topology.
func TestDeskKnowsIslands(t *testing.T) {
	s, err := NewSnapshot(&State{
		Levels: []Level{{Name: "rack"}},
		Nodes: []Node{
			{ID: "n0", Devices: make([]Device, 4), Domains: map[string]string{"rack": "r0"}},
			{ID: "n1", Devices: make([]Device, 4), Domains: map[string]string{"rack": "r1"}},
		},
		Queues: []Queue{{ID: "q"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	island := PodSet{Count: 1, Request: Request{GPU: GPURequest{Count: 2, PreferIsland: placement.SwitchIsland}}}
	domain := PodSet{Count: 2, Request: Request{GPU: GPURequest{Count: 1}}, Topology: Topology{Required: "rack"}}
	for i, set := range []PodSet{island, island, domain, island, domain} {
		if s, err = s.With(Change{Workloads: []Workload{{ID: string(rune('a' + i)), Queue: "q", PodSets: []PodSet{set}}}}); err != nil {
			t.Fatal(err)
		}
		d, err := s.Decide()
		if err != nil {
			t.Fatal(err)
		}
		want, err := Solve(s.State())
		if err != nil {
			t.Fatal(err)
		}
		if !d.Incremental() || !reflect.DeepEqual(d.Actions(), want.Actions) {
			t.Errorf("workload %d: incremental %t, %v\nnot\n%s", i, d.Incremental(), d.Actions(), want.String())
		}
	}
}
