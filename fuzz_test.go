package allot

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/allotsched/allot/internal/prose"
)

// V1: on any bytes there is an answer: faults that all have a path and a code,
// or a state whose JSON comes back the same.
func FuzzStateJSON(f *testing.F) {
	golden, err := os.ReadFile(filepath.Join("testdata", "json", "state.json"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(golden)
	for _, row := range jsonRows {
		f.Add([]byte(row.data))
	}
	for _, row := range faultRows {
		s := sound()
		row.spoil(s)
		if data, err := s.MarshalJSON(); err == nil && len(data) < 1<<14 {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var s State
		if err := s.UnmarshalJSON(data); err != nil {
			wantPlacedFaults(t, err)
			return
		}
		if err := Check(&s); err != nil {
			wantPlacedFaults(t, err)
			return
		}
		roundTrip(t, &s)
		if tasksOf(&s) <= 10_000 { // a few bytes may ask for millions: lawful, and slow
			solveLawfully(t, &s)
		}
	})
}

// solveLawfully fails unless the state gets a plan that Verify passes, within
// the budget, and the state after it is at rest.
func solveLawfully(t fataler, s *State) {
	p, err := Solve(s)
	if err != nil {
		t.Fatalf("Solve: %v", err)
	}
	j := &Judged{State: s, Plan: p}
	for _, broken := range []error{VerifyPlan(s, p), withinBudget(j), atRest(j)} {
		if broken != nil {
			t.Fatalf("%v", broken)
		}
	}
}

func wantPlacedFaults(t *testing.T, err error) {
	t.Helper()
	var all *InvalidError
	if !errors.As(err, &all) || len(all.Faults) == 0 {
		t.Fatalf("no faults: %v", err)
	}
	for _, f := range all.Faults {
		if f.Path == "" || f.Want == "" || !prose.Known(faultNames[:], f.Code) {
			t.Fatalf("bare fault %#v", f)
		}
	}
}
