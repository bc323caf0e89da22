package verify_test

import (
	"slices"
	"strings"
	"testing"
	"time"

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

// What completes what is left of a gang is promised beside that, for tasks that it lacks and a time at which all of it
// runs still (B4, T6); what grows beyond a minimum is promised nothing.
func TestVerifyPromisesOfTheRest(t *testing.T) {
	scene := func(gang string) (*allot.State, *allot.Plan) {
		return solved(t, `levels rack
policy reserve.backfill=easy no-consolidation
nodes n1..n2 gpu=1 rack=ra | nodes n3..n4 gpu=1 rack=rb
run b gpu=1 for=6h limit=6h at=0h since=0h non-preemptible on n2
run c gpu=1 for=4h limit=4h at=0h since=0h non-preemptible on n3
run d gpu=1 for=4h limit=4h at=0h since=0h non-preemptible on n4
run g `+gang+` gpu=1 for=20h limit=20h at=0h since=0h require=rack only=0 on n1
now 1h
`)
	}
	for want, change := range map[string]func(*allot.Promise){
		"is not in the rack of node": func(p *allot.Promise) { p.Tasks[0].Node = "n3" },
		"has a place":                func(p *allot.Promise) { p.Tasks[0].Index = 0 },
		"has begun to end":           func(p *allot.Promise) { p.At = p.At.Add(14 * time.Hour) },
	} {
		s, plan := scene("tasks=2")
		if change(&plan.Reservations[0].Promise); plan.Reservations[0].Promise.First != plan.Reservations[0].Promise.At {
			plan.Reservations[0].Promise.First = plan.Reservations[0].Promise.At
		}
		if err := verify.Plan(s, plan); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	_, some := scene("tasks=2")
	s, plan := scene("tasks=2 min=1")
	plan.Reservations = some.Reservations
	if err := verify.Plan(s, plan); err == nil || !strings.Contains(err.Error(), "does not wait for anything") {
		t.Errorf("what grows is promised something: %v", err)
	}
}
