package allot

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/allotsched/allot/internal/deep"
)

// answerState is a state of testdata/answers.
func answerState(t *testing.T, name string) *State {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "answers", name))
	if err != nil {
		t.Fatal(err)
	}
	s := new(State)
	if err := s.UnmarshalJSON(text); err != nil {
		t.Fatal(err)
	}
	return s
}

// X1 (N43): sets that together ask more than there is can never start.
func TestSetsLargerThanTheCluster(t *testing.T) {
	plan, err := Solve(answerState(t, "N43-imp.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range plan.Pending {
		for _, r := range p.Reasons {
			got = append(got, p.Workload+" "+r.Code.String()+": "+r.String())
		}
	}
	want := []string{
		"v impossible-gang: the empty cluster takes at most 4 of the 5 tasks of a that must start together",
		"w impossible-gang: the empty cluster takes at most 1 of the 2 tasks that must start together",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// X1: who is told that all that may be taken is not enough would not start either if nobody
// were protected by class, minimum runtime, budget or cap.
func TestX1ShortIsNotProtected(t *testing.T) {
	told := 0
	for seed := range deep.Seeds(t, 1500) {
		s := genRoom(seed)
		plan, err := Solve(s)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(plan.Pending, isShort) {
			continue
		}
		after, err := Apply(s, plan)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range plan.Pending {
			if !isShort(p) {
				continue
			}
			told++
			lifted, err := Solve(unprotected(after, p.Workload))
			if err != nil {
				t.Fatal(err)
			}
			does := func(is func(Action) bool) bool { return slices.ContainsFunc(lifted.Actions, is) }
			if does(func(a Action) bool { return a.Workload == p.Workload && (a.Kind == Start || a.Kind == Resize) }) &&
				// Beside moves nobody goes whom a line protects (M10), and that depends on who else waits.
				!(does(func(a Action) bool { return a.Kind == Move }) && does(func(a Action) bool { return a.Kind == Evict || a.Kind == Shrink })) {
				t.Errorf("seed %d: %s starts where nobody is protected, and was told %v", seed, p.Workload, p.Reasons)
			}
		}
	}
	if told == 0 {
		t.Error("nobody was told so")
	}
}

// isShort says whether all that may be taken is told to be too little, and nothing of
// protection.
func isShort(p Pending) bool {
	has := func(codes ...Code) bool {
		return slices.ContainsFunc(p.Reasons, func(r Reason) bool { return slices.Contains(codes, r.Code) })
	}
	return has(VictimsShort) && !has(VictimsProtected, ProtectedUntil, BudgetSpent, SaturationTurns)
}

// unprotected is a state in which only one workload waits, and everything else that runs may
// be evicted at any time.
func unprotected(s *State, waits string) *State {
	s = cloneState(s)
	s.Budgets = nil
	s.Workloads = slices.DeleteFunc(s.Workloads, func(w Workload) bool { return w.ID != waits && len(w.Tasks) == 0 })
	for i := range s.Workloads {
		w := &s.Workloads[i]
		if w.ID == waits {
			continue
		}
		w.Preemption = Preemptible
		w.Ending = w.Ending || !slices.ContainsFunc(w.Tasks, func(t Task) bool { return t.Phase != Terminating }) // it waits for nothing
	}
	for i := range s.Queues {
		s.Queues[i].MinRuntime = MinRuntime{}
	}
	for i := range s.Pools {
		s.Pools[i].Policy.MinRuntime, s.Pools[i].Policy.MaxEvictions = MinRuntime{}, 0
	}
	return s
}
