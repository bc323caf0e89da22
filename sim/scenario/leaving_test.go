package scenario

import (
	"strings"
	"testing"

	"github.com/allotsched/allot"
)

// evictionTrial is a trial with a plan by hand in which three workloads leave:
// one moves, one is shrunk, and one is evicted and ends for good.
func evictionTrial(t *testing.T) *trial {
	t.Helper()
	state, err := State(`
policy preset=none
nodes n0 gpu=4 | nodes n1 gpu=1
queue q1 quota=1 | queue q2 quota=4
run q1/elastic tasks=2 min=1 gpu=1 on n0[0-0] n0[1-1]
run q1/moves gpu=1 on n0[2-2]
run q1/ends gpu=1 on n0[3-3]
submit q2/w gpu=3
`)
	if err != nil {
		t.Fatal(err)
	}
	why := allot.Reason{Code: allot.ReclaimedByQuota, Workload: "w", Queue: "q1", Resource: "gpu", Have: 4000, Need: 1000}
	place := func(index int, node string, devices ...int) []allot.Placement {
		return []allot.Placement{{Index: index, Node: node, Devices: devices}}
	}
	plan := &allot.Plan{Actions: []allot.Action{
		{Kind: allot.Evict, Workload: "ends", Queue: "q1", Tasks: place(0, "n0", 3), Reason: why, Ending: allot.Ending{Final: true}},
		{Kind: allot.Shrink, Workload: "elastic", Queue: "q1", Tasks: place(1, "n0", 1), Reason: why},
		{Kind: allot.Move, Workload: "moves", Queue: "q1", From: place(0, "n0", 2), Tasks: place(0, "n1", 0), Reason: why},
		{Kind: allot.Start, Workload: "w", Queue: "q2", Tasks: place(0, "n0", 1, 2, 3), After: []string{"elastic", "ends", "moves"}},
	}}
	return &trial{before: deepCopy(*state), state: state, plan: plan}
}

// TestBegun: the victims leave in either order, and the law sees what should
// not happen meanwhile.
func TestBegun(t *testing.T) {
	tests := []struct {
		name   string
		damage func(*trial)
		want   string
	}{
		{"as it should be", func(*trial) {}, ""},
		{"a place too few is made", func(t *trial) { t.plan.Actions = t.plan.Actions[1:] }, "Begin: "},
		{"not from this state", func(t *trial) { t.plan.Actions[0].Workload = "nobody" }, "Begin: "},
		{
			"nobody waits for the place", func(t *trial) { t.plan.Actions = t.plan.Actions[:2] },
			"then: move q1/moves n0[2] -> n1[0] for q2/w ",
		},
		{
			"somebody fits beside", func(t *trial) {
				t.state.Nodes = append(t.state.Nodes, allot.Node{ID: "n2", Devices: make([]allot.Device, 1)})
				t.before = deepCopy(*t.state)
			},
			"then: resize q1/elastic 1@n2[0]",
		},
		{"a cap cuts the plan", func(t *trial) {
			t.plan.Actions = t.plan.Actions[:2]
			t.state.Pools[0].Policy.MaxEvictions = 2
			t.before = deepCopy(*t.state)
		}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			trial := evictionTrial(t)
			test.damage(trial)
			got := trial.begun()
			if !strings.HasPrefix(got, test.want) || test.want == "" && got != "" {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// TestCut: a plan that more work may follow without a new cause.
func TestCut(t *testing.T) {
	tests := []struct {
		name   string
		change func(*trial)
		want   bool
	}{
		{"no bound", func(*trial) {}, false},
		{"cap reached", func(t *trial) { t.state.Pools[0].Policy.MaxEvictions = 3 }, true},
		{"cap not reached", func(t *trial) { t.state.Pools[0].Policy.MaxEvictions = 4 }, false},
		{"search cut", func(t *trial) { t.waits(allot.SearchCut) }, true},
		{"search bounded", func(t *trial) {
			t.state.Pools[0].Policy.SearchBudget = 10
			t.plan.Work.Candidates = 10
		}, true},
		{"cap too small", func(t *trial) {
			t.state.Pools[0].Policy.MaxEvictions = 4
			t.waits(allot.BudgetSpent)
		}, true},
		{"a disruption budget, which stays", func(t *trial) { t.waits(allot.BudgetSpent) }, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			trial := evictionTrial(t)
			test.change(trial)
			if got := trial.cut(); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

// waits adds somebody who waits to the plan.
func (t *trial) waits(code allot.Code) {
	t.plan.Pending = append(t.plan.Pending, allot.Pending{Workload: "p", Reasons: []allot.Reason{{Code: code}}})
}
