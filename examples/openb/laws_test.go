package main

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/allotsched/allot"
)

// The laws of a plan, on the real load: solving again after Apply gives no
// action and the same reasons (M5, X1), and the order of the lists does not
// matter (S3).
func TestLaws(t *testing.T) {
	trace, err := readTrace("", "")
	if err != nil {
		t.Fatal(err)
	}
	for i := range presets {
		p := &presets[i]
		t.Run(p.name, func(t *testing.T) {
			if testing.Short() && !p.policy().NoConsolidation {
				t.Skip("consolidation takes its time on the whole list")
			}
			state := buildState(trace.machines, trace.arriving(110), p, p.policy())
			plan := mustSolve(t, state)
			applied, err := allot.Apply(state, plan)
			if err != nil {
				t.Fatal(err)
			}
			again := mustSolve(t, applied)
			if len(again.Actions) > 0 {
				t.Errorf("%d actions after Apply", len(again.Actions))
			}
			if !reflect.DeepEqual(plan.Pending, again.Pending) {
				t.Error("other reasons after Apply")
			}
			random := rand.New(rand.NewPCG(1, 2))
			shuffle(random, state.Nodes)
			shuffle(random, state.Queues)
			shuffle(random, state.Workloads)
			if !reflect.DeepEqual(plan, mustSolve(t, state)) {
				t.Error("another plan in another order")
			}
		})
	}
}

func mustSolve(t *testing.T, s *allot.State) *allot.Plan {
	t.Helper()
	plan, err := allot.Solve(s)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func shuffle[E any](random *rand.Rand, list []E) {
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}
