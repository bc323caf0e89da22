package allot

import (
	"testing"

	"github.com/allotsched/allot/internal/deep"
)

// TestSolvedRoomsAreLawful: Solve's plans for dense states in which room is made
// pass all checks, and many of them disturb somebody.
func TestSolvedRoomsAreLawful(t *testing.T) {
	states, disturbed := 0, 0
	for seed := range deep.Seeds(t, 1000) {
		states++
		s := genRoom(seed)
		p, err := Solve(s)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if err := VerifyPlan(s, p); err != nil {
			t.Fatalf("seed %d: %v\nstate %s\nplan\n%s", seed, err, compact(s), p.Text())
		}
		for _, a := range p.Actions {
			switch a.Kind {
			case Evict, Shrink, Move:
				disturbed++
			}
		}
	}
	if disturbed*20 < states {
		t.Errorf("only %d disturbances in %d states", disturbed, states)
	}
}
