package verify_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/sim/scenario"
	"github.com/allotsched/allot/verify"
)

const (
	circleState = `nodes n1 gpu=4
nodes n3 gpu=3
queue q1 weight=2
queue q2 weight=3
submit q1/a gpu=3
run q1/a on n1[0-2]
submit q2/b gpu=2
run q2/b on n3[0-1]
submit q1/w priority=1 gpu=2
`
	chainState = `nodes n0 gpu=2
nodes n1 gpu=3
nodes n2 gpu=1
nodes n3 gpu=3
queue q0 weight=1
queue q1 weight=0
queue q3 parent=q0 weight=3
queue q5 parent=q1 quota=4 limit=3 weight=2
submit q5/old tasks=5 gpu=1
run q5/old on n1[0] n1[1] n2[0] n3[0] n3[1]
submit q5/small gpu=2
submit q3/big tasks=3 gpu=2
`
	devicesState = `nodes n0 gpu=5
queue q0 quota=0
queue q1 quota=4
submit q1/w0 priority=1 gpu=3
run q1/w0 on n0[0-2]
run q0/w4 gpu=1 on n0[4]
run q0/w1 priority=2 gpu=1 on n0[3]
submit q1/w2 priority=1 gpu=2
submit q1/w3 priority=2 gpu=4
`
	freeState = `nodes n0..n2 gpu=1
submit low gpu=1
run low on n0[0]
submit high priority=1 gpu=1
`
)

// M11: of the plan that Solve makes each change makes an unlawful one.
func TestM11RefusesOtherPlans(t *testing.T) {
	for _, c := range []struct {
		name, state string
		change      func(p *allot.Plan)
		want        string
	}{
		{"moves in a circle", circleState, func(p *allot.Plan) {
			leaves, starts := p.Actions[0], p.Actions[2]
			p.Actions[0] = allot.Action{
				Kind: allot.Move, Workload: "a", Queue: "q1", Tasks: starts.Tasks, From: leaves.Tasks,
				After: []string{"b"}, Reason: leaves.Reason,
			}
			p.Actions = slices.Delete(p.Actions, 2, 3)
		}, "(S4)"},
		{"what starts again ends", circleState, func(p *allot.Plan) { p.Actions[0].Ending.Final = true }, "(S6)"},
		{"what starts again does not wait for itself", circleState, func(p *allot.Plan) { p.Actions[2].After = []string{"b"} }, "(S5)"},
		{"a chain that is not told", chainState, func(p *allot.Plan) { p.Actions[0].Reason.Chain = nil }, "(R"},
		{"a chain of one", chainState, func(p *allot.Plan) {
			p.Actions[0].Reason.Chain = p.Actions[0].Reason.Chain[1:]
		}, "(X2)"},
		{"a chain that ends with one that waits", chainState, func(p *allot.Plan) { p.Actions[0].Reason.Workload = "big" }, "(M2)"},
		{"a right that the second has not", chainState, func(p *allot.Plan) { p.Actions[0].Reason.Chain[1].Code = allot.Preempted }, "(E1)"},
		{"less than nothing", chainState, func(p *allot.Plan) { p.Actions[0].Reason.Chain[1].Subtrees.Preemptor.Before = -1000 }, "(X2)"},
		{"beyond the line", chainState, func(p *allot.Plan) { p.Actions[0].Reason.Chain[1].Subtrees.Preemptor.After = 6000 }, "(R1)"},
		{"not over the line", chainState, func(p *allot.Plan) {
			s := p.Actions[0].Reason.Chain[1].Subtrees
			s.Victim.Before, s.Victim.After = s.Victim.Entitlement, s.Victim.Entitlement-1000
		}, "(R2)"},
		{"to another device of its node", devicesState, func(p *allot.Plan) {
			move := p.Actions[0]
			move.Kind, move.Workload, move.After = allot.Move, "w1", []string{"w4"}
			move.Tasks = []allot.Placement{{Node: "n0", Devices: []int{4}}}
			move.From = []allot.Placement{{Node: "n0", Devices: []int{3}}}
			p.Actions[2].Tasks[0].Devices = []int{0, 1, 2, 3}
			p.Actions[2].After = []string{"w0", "w1"}
			p.Actions = slices.Insert(p.Actions, 2, move)
		}, "like those it has (M4)"},
		{"an eviction for nothing", freeState, func(p *allot.Plan) {
			p.Actions = slices.Insert(p.Actions, 0, allot.Action{
				Kind: allot.Evict, Workload: "low", Tasks: []allot.Placement{{Node: "n0", Devices: []int{0}}},
				Reason: allot.Reason{Code: allot.Preempted, Workload: "high"},
			})
		}, "nobody has them"},
		{"a move for nothing", freeState, func(p *allot.Plan) {
			p.Actions = slices.Insert(p.Actions, 0, allot.Action{
				Kind: allot.Move, Workload: "low", Tasks: []allot.Placement{{Node: "n2", Devices: []int{0}}},
				From: []allot.Placement{{Node: "n0", Devices: []int{0}}}, Reason: allot.Reason{Code: allot.Consolidated, Workload: "high"},
			})
		}, "nobody has its old place"},
	} {
		s, err := scenario.State(c.state)
		if err != nil {
			t.Fatal(err)
		}
		p, err := allot.Solve(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := verify.Plan(s, p); err != nil {
			t.Fatalf("%s: the plan of Solve: %v", c.name, err)
		}
		c.change(p)
		var unlawful *verify.Error
		if err := verify.Plan(s, p); !errors.As(err, &unlawful) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: no %s in %v", c.name, c.want, err)
		}
	}
}
