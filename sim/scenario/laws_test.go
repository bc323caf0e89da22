package scenario

import (
	"slices"
	"strings"
	"testing"

	"github.com/allotsched/allot"
)

// lawTrial is a trial of a state in which every law has something to look at.
func lawTrial(t *testing.T) *trial {
	t.Helper()
	state, err := State(`
policy preset=runai
nodes n0..n2 gpu=4 cpu=8
queue d | queue d/a quota=2 weight=1 cpu.quota=8 | queue d/b quota=4 weight=2
run d/a/runs train gpu=1 | submit d/a/w1..w3 train gpu=1
submit d/b/gang train tasks=2 gpu=3 | submit d/b/never train gpu=5
`)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := allot.Solve(state)
	if err != nil {
		t.Fatal(err)
	}
	return &trial{before: deepCopy(*state), state: state, plan: plan}
}

// TestLawsHold: nothing is broken where nothing is wrong.
func TestLawsHold(t *testing.T) {
	if broken := lawTrial(t).broken(); len(broken) > 0 {
		t.Errorf("%q", broken)
	}
}

// TestLawsBreak: each law sees what is its to see.
func TestLawsBreak(t *testing.T) {
	tests := []struct {
		rule   string
		damage func(*trial)
	}{
		{"S1", func(t *trial) { t.state.Nodes[0].Labels = map[string]string{"changed": "yes"} }},
		{"S3: the order", func(t *trial) { slices.Reverse(t.plan.Actions) }},
		{"S3: renaming", func(t *trial) { t.plan.Actions[0].Tasks[0].Node = "n2" }},
		{"F3", func(t *trial) { t.plan.Shares[0].FairShare++ }},
		{"F7", func(t *trial) { t.plan.Shares = t.plan.Shares[1:] }},
		{"M5", func(t *trial) { t.plan.Work.Stopped = true }},
		{"Verify", func(t *trial) { t.plan.Actions[0].Tasks[0].Devices = []int{7} }},
		{"X1", func(t *trial) { t.plan.Actions = t.plan.Actions[1:] }},
		{"X1", func(t *trial) { t.plan.Pending[0].Reasons[0].Code = allot.Outranked }},
		{"S4", func(t *trial) { t.plan.Actions = t.plan.Actions[1:] }},
		{"V1", func(t *trial) { t.plan.Revision = "\xff" }},
	}
	for _, test := range tests {
		t.Run(test.rule, func(t *testing.T) {
			trial := lawTrial(t)
			trial.plan = ptr(deepCopy(*trial.plan))
			test.damage(trial)
			named := func(broken string) bool { return strings.HasPrefix(broken, test.rule) }
			if broken := trial.broken(); !slices.ContainsFunc(broken, named) {
				t.Errorf("only %q", broken)
			}
		})
	}
}

func ptr[T any](value T) *T { return &value }

// TestPermutations: both are orders of all things, and neither is the old one.
func TestPermutations(t *testing.T) {
	for n := range 9 {
		for _, p := range []permutation{reversed, interleaved} {
			order := p(n)
			sorted := slices.Sorted(slices.Values(order))
			for i := range sorted {
				if sorted[i] != i {
					t.Fatalf("%d things: %v", n, order)
				}
			}
			if n > 2 && slices.IsSorted(order) {
				t.Errorf("%d things stay in place", n)
			}
		}
	}
}
