package verify_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
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
		s, p := solved(t, c.state)
		c.change(p)
		var unlawful *verify.Error
		if err := verify.Plan(s, p); !errors.As(err, &unlawful) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: no %s in %v", c.name, c.want, err)
		}
	}
}

const (
	unitsState = `nodes n0 gpu=1 label=zone:a
nodes n1 gpu=1
nodes n2 gpu=2
nodes n3 gpu=3 label=zone:a
queue q3 where=zone:a quota=2
queue q6 quota=1
submit q3/w8 at=unset group=g:1 set=a in=g gpu=1 set=b in=g gpu=2
run q3/w8 since=unset on a@n0[0] b@n2[0-1]
submit q6/w10 at=unset gpu=3
run q6/w10 since=unset on n3[0-2]
submit q3/w17 priority=1 at=unset gpu=1
now 100
`
	partState = `nodes n0 devices=1x:2,1x cpu=4
nodes n1 devices=1x,1x:2,1x cpu=4
queue q1 quota=2 weight=0
queue q3 parent=q1
queue q4 parent=q1 quota=1
submit q4/w7 at=unset tasks=2 gpumem=1 cpu=2
submit q3/w9 at=unset set=a gpu=1 cpu=1 set=b cpu=1
run q3/w9 since=unset on a@n1[2] b@n1
submit q3/w10 at=unset gpu=1 cpu=1
run q3/w10 since=unset on n0[1]
submit q4/w17 at=53308800s gpu=1 cpu=1
now unset
`
)

// solved is the state that a text tells, and its plan, which is lawful.
func solved(t *testing.T, text string) (*allot.State, *allot.Plan) {
	t.Helper()
	s, err := scenario.State(text)
	if err != nil {
		t.Fatal(err)
	}
	p, err := allot.Solve(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := verify.Plan(s, p); err != nil {
		t.Fatalf("the plan of Solve: %v\n%v", err, p)
	}
	return s, p
}

// R1, R3: what moves as several units is judged by what one of them had the right to, and a part of a minimum by
// what all of it holds: neither lets more pass than that.
func TestVerifyRefusesParts(t *testing.T) {
	queueOf := func(s *allot.State, id string) *allot.Queue {
		return &s.Queues[slices.IndexFunc(s.Queues, func(q allot.Queue) bool { return q.ID == id })]
	}
	workloadOf := func(s *allot.State, id string) *allot.Workload {
		return &s.Workloads[slices.IndexFunc(s.Workloads, func(w allot.Workload) bool { return w.ID == id })]
	}
	for _, c := range []struct {
		name, state string
		change      func(s *allot.State, p *allot.Plan)
		want        string
	}{
		{"the least of its units is beyond the line", unitsState, func(s *allot.State, _ *allot.Plan) {
			queueOf(s, "q3").Resources[0].Quota = quota.Of(999)
		}, `takes queue "q3" to 3000`},
		{"it moves as one unit", unitsState, func(s *allot.State, _ *allot.Plan) {
			w := workloadOf(s, "w8")
			w.Groups = nil
			for i := range w.PodSets {
				w.PodSets[i].Group = ""
			}
		}, `takes queue "q3" to 3000`},
		{"what moves is above the minimum", partState, func(s *allot.State, p *allot.Plan) {
			w := workloadOf(s, "w9")
			w.PodSets[1].Count, w.PodSets[1].Min = 2, 1
			w.Tasks = append(w.Tasks, w.Tasks[1])
			w.Tasks[2].Index, p.Actions[0].Tasks[0].Index, p.Actions[0].From[0].Index = 1, 1, 1
		}, `"w9" holds no gpu`},
		{"all of it holds none of what is told", partState, func(s *allot.State, _ *allot.Plan) {
			w := workloadOf(s, "w9")
			w.PodSets[0].Request.GPU.Count, w.Tasks[0].Devices = 0, nil
		}, `"w9" holds no gpu`},
		{"its minimum holds less than is told", partState, func(s *allot.State, p *allot.Plan) {
			w := workloadOf(s, "w9")
			w.PodSets[0].Count, w.PodSets[0].Min = 2, 1 // and it has grown by one
			w.Tasks = slices.Insert(w.Tasks, 1, allot.Task{PodSet: "a", Index: 1, Node: "n0", Devices: []int{0}, Since: time.Unix(1, 0)})
			sides := *p.Actions[0].Reason.Subtrees
			sides.Victim.After = sides.Victim.Before - 2000
			p.Actions[0].Reason.Subtrees = &sides
		}, `loses 2000 gpu, and "w9" holds 1000`},
	} {
		s, p := solved(t, c.state)
		c.change(s, p)
		if err := verify.Plan(s, p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: no %s in %v", c.name, c.want, err)
		}
	}
}

// TestVerifyClaimsHeld: of who keeps two claims, and moves a task to what is leaving, three at most are held and two at least (X1).
func TestVerifyClaimsHeld(t *testing.T) {
	s, plan := solved(t, `
nodes m gpu=3
nodes n gpu=1 label=zone:a
queue q
queue r where=zone:a
submit q/leaves at=unset set=s gpu=3
terminate q/leaves since=unset on s@m[0-2]
submit q/moves at=unset set=s tasks=3 gpu=1
claim q/moves since=unset on s@m[1] s:2@m[2]
run q/moves since=unset on s:1@n[0]
submit r/starts at=unset gpu=1
now unset
`)
	at := slices.IndexFunc(plan.Pending, func(p allot.Pending) bool { return p.Workload == "moves" })
	if at < 0 || len(plan.Actions) == 0 || plan.Actions[0].Kind != allot.Move {
		t.Fatalf("nothing moves that claims: %v", plan)
	}
	for need := range int64(6) {
		plan.Pending[at].Reasons[0].Need = need
		if err, lawful := verify.Plan(s, plan), need == 2 || need == 3; lawful != (err == nil) {
			t.Errorf("%d claims: %v", need, err)
		}
	}
}
