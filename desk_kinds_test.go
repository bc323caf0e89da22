package allot

import (
	"fmt"
	"testing"

	"github.com/allotsched/allot/preempt"
)

// A desk does not keep the kinds of all who ever waited: they have a priority of
// their own each.
func TestDeskForgetsKinds(t *testing.T) {
	still := Policy{NoConsolidation: true, Reclaim: preempt.NoReclaim, Preempt: preempt.NoPreemption}
	s, err := NewSnapshot(&State{Pools: []Pool{{ID: "p", Policy: still}}})
	if err != nil {
		t.Fatal(err)
	}
	most := 0
	for i := range 10_000 {
		c := Change{Workloads: []Workload{{
			ID: fmt.Sprint("w", i), Priority: int32(i),
			PodSets: []PodSet{{Count: 1, Request: Request{GPU: GPURequest{Count: 1}}}},
		}}}
		if i > 0 {
			c.Remove.Workloads = []string{fmt.Sprint("w", i-1)}
		}
		if s, err = s.With(c); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Decide(); err != nil {
			t.Fatal(err)
		}
		most = max(most, s.followers.idle[0].Gathered())
	}
	if most > 5_000 {
		t.Errorf("%d kinds at once", most)
	}
}
