package verify_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/verify"
)

// A right to preempt whom something is promised lets nobody start in the way of it that its workload could not have
// started on either (B4, B5): here x is there until then.
func TestB5PreemptsNobodyWhoCouldNotStart(t *testing.T) {
	s, plan := solved(t, `nodes n gpu=2
policy reclaim=off preempt=pool reserve.backfill=easy
queue q
queue r
run q/x gpu=1 limit=50s at=0s since=0s on n[0]
submit q/wide gpu=2 at=0s
promise q/wide start=50s entitled waits-for=x made=0s first=50s on n[0-1]
submit r/first priority=1 gpu=1 for=10s at=0s
now 1s
`)
	if len(plan.Actions) > 0 {
		t.Fatalf("%v: it may not start behind the promise", plan)
	}
	plan.Actions = []allot.Action{{Kind: allot.Start, Workload: "first", Queue: "r", Tasks: []allot.Placement{{Node: "n", Devices: []int{1}}}}}
	plan.Pending = slices.DeleteFunc(plan.Pending, func(p allot.Pending) bool { return p.Workload == "first" })
	if err := verify.Plan(s, plan); err == nil || !strings.Contains(err.Error(), "what the plan places may be there") {
		t.Fatalf("it starts where something is promised: %v", err)
	}
}
