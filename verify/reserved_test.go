package verify_test

import (
	"strings"
	"testing"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/verify"
)

// TestB9ClaimPassesOn: a claim whose place is not reserved goes for a reservation only if a task of the same workload
// runs on in its place that had to leave its own (S4, M4).
func TestB9ClaimPassesOn(t *testing.T) {
	s, plan := solved(t, `nodes n1 gpu=3
nodes n2 gpu=1
submit w tasks=3 min=1 gpu=1 at=unset
run w since=unset on 1@n2[0] 2@n1[1]
claim w since=unset on n1[2]
reserve r devices=1@node evict
now unset
`)
	if len(plan.Actions) != 2 || plan.Actions[0].Kind != allot.Unclaim || plan.Actions[1].Kind != allot.Move {
		t.Fatalf("no task runs on in the place of a claim: %v", plan)
	}
	moves := &plan.Actions[1]
	moves.Kind, moves.Tasks, moves.From = allot.Shrink, moves.From, nil
	if err := verify.Plan(s, plan); err == nil || !strings.Contains(err.Error(), "stands on nothing that is reserved") {
		t.Fatalf("the claim goes, and nothing comes in its place: %v", err)
	}
}
