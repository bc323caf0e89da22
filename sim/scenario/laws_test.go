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
	return solved(t, state)
}

func solved(t *testing.T, state *allot.State) *trial {
	t.Helper()
	plan, err := allot.Solve(state)
	if err != nil {
		t.Fatal(err)
	}
	return &trial{before: deepCopy(*state), state: state, plan: plan}
}

// roomTrial is a trial in which one workload is shrunk, one is evicted and one
// moves, for a preemptor that waits for all three.
func roomTrial(t *testing.T) *trial {
	t.Helper()
	state, err := State(`
policy preset=runai max-moved-percent=50 checkpoint-on-eviction exit=7:reschedule
nodes n0 gpu=4 | nodes n1 gpu=1
queue q1 quota=1 weight=1 | queue q2 quota=4 weight=1
run q1/elastic train tasks=2 min=1 gpu=1 owner=us on n0[0] n0[1]
run q1/moves train gpu=1 on n0[2] | run q1/goes train gpu=1 retries=3 on n0[3]
submit q2/w train gpu=3 owner=them | submit q1/v train gpu=2
budget us min-running=1 | budget them
`)
	if err != nil {
		t.Fatal(err)
	}
	trial := solved(t, state)
	var kinds []allot.ActionKind
	for _, a := range trial.plan.Actions {
		kinds = append(kinds, a.Kind)
	}
	slices.Sort(kinds)
	if want := []allot.ActionKind{allot.Start, allot.Evict, allot.Shrink, allot.Move}; !slices.Equal(kinds, want) {
		t.Fatalf("%v, want %v", kinds, want)
	}
	return trial
}

// TestLawsHold: nothing is broken where nothing is wrong.
func TestLawsHold(t *testing.T) {
	for _, trial := range []*trial{lawTrial(t), roomTrial(t)} {
		if broken := trial.broken(); len(broken) > 0 {
			t.Errorf("%q", broken)
		}
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
		t.Run(test.rule, func(t *testing.T) { seesDamage(t, lawTrial(t), test.rule, test.damage) })
	}
}

// TestLawsBreakWhereRoomIsMade: each law looks at evictions too.
func TestLawsBreakWhereRoomIsMade(t *testing.T) {
	victim := func(t *trial, kind allot.ActionKind) *allot.Action {
		at := slices.IndexFunc(t.plan.Actions, func(a allot.Action) bool { return a.Kind == kind })
		return &t.plan.Actions[at]
	}
	tests := []struct {
		rule   string
		damage func(*trial)
	}{
		{"S3: the order", func(t *trial) { victim(t, allot.Evict).Reason.Subtrees.Victim.Before++ }},
		{"S3: the order", func(t *trial) { victim(t, allot.Evict).Ending.Checkpoint = false }},
		{"S3: renaming", func(t *trial) { victim(t, allot.Start).After[0] = "goes" }},
		{"S3: renaming", func(t *trial) { victim(t, allot.Move).From[0].Node = "n1" }},
		{"S3: renaming", func(t *trial) { victim(t, allot.Shrink).Reason.Subtrees.Preemptor.Queue = "q1" }},
		{"F3", func(t *trial) { victim(t, allot.Shrink).Reason.Need++ }},
		{"Verify", func(t *trial) { victim(t, allot.Shrink).Tasks[0].Index = 0 }},
		{"X1", func(t *trial) { t.plan.Actions = nil }},
		{"S4", func(t *trial) { victim(t, allot.Start).After = nil }},
		{"S4", func(t *trial) { t.plan.Actions = t.plan.Actions[:1] }},
	}
	for _, test := range tests {
		t.Run(test.rule, func(t *testing.T) { seesDamage(t, roomTrial(t), test.rule, test.damage) })
	}
}

// seesDamage puts damage to a plan and looks for the law that should see it.
func seesDamage(t *testing.T, trial *trial, rule string, damage func(*trial)) {
	t.Helper()
	trial.plan = ptr(deepCopy(*trial.plan))
	damage(trial)
	named := func(broken string) bool { return strings.HasPrefix(broken, rule) }
	if broken := trial.broken(); !slices.ContainsFunc(broken, named) {
		t.Errorf("only %q", broken)
	}
}

// TestOwnersRenamed: a budget still binds the work that it is for.
func TestOwnersRenamed(t *testing.T) {
	state := roomTrial(t).state
	renamingsOf(state).state(state)
	for _, b := range state.Budgets {
		owned := func(o allot.Workload) bool { return o.Owner == b.Owner }
		if !strings.HasPrefix(b.Owner, "owner-") || !slices.ContainsFunc(state.Workloads, owned) {
			t.Errorf("budget of %q in %q", b.Owner, Format(state))
		}
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
