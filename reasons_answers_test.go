package allot

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
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
