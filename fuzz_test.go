package allot

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/allotsched/allot/internal/prose"
	"pgregory.net/rapid"
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

// S1, V1, X1: valid states with extreme numbers (2^53−1, zero, one device,
// empty lists, thousands of taints) get a verified plan within the counted
// budget, and rest after it.
func TestExtremeStates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genExtremeState(t)
		if tasksOf(s) <= 10_000 {
			solveLawfully(t, s)
		}
	})
}

func tasksOf(s *State) (n int) {
	for i := range s.Workloads {
		k := &s.Workloads[i]
		for _, sets := range append([][]PodSet{k.PodSets}, formSets(k)...) {
			for j := range sets {
				n += sets[j].Count
			}
		}
	}
	return n
}

func formSets(k *Workload) (sets [][]PodSet) {
	for i := range k.Alternatives {
		sets = append(sets, k.Alternatives[i].PodSets)
	}
	return sets
}

// solveLawfully fails unless the state gets a plan that Verify passes, within
// the budget, and the state after it is at rest.
func solveLawfully(t interface {
	Helper()
	Fatalf(string, ...any)
}, s *State) {
	t.Helper()
	p, err := Solve(s)
	if err != nil {
		t.Fatalf("Solve: %v", err)
	}
	if err := VerifyPlan(s, p); err != nil {
		t.Fatalf("Verify: %v", err)
	}
	if p.Work.Stopped {
		t.Fatalf("the solve came to no rest")
	}
	// Each pass gives each form, and each task above a minimum, one turn of at
	// most unitBudget searches, and each pass but the last starts something or
	// takes a place from somebody.
	forms, tasks := int64(0), int64(tasksOf(s))
	for i := range s.Workloads {
		forms += 1 + int64(len(s.Workloads[i].Alternatives))
	}
	if most := (forms + tasks) * (p.Work.Placed + p.Work.Evicted + 1); p.Work.Turns > most || p.Work.Searches > most*unitBudget {
		t.Fatalf("%+v is beyond the budget of %d turns", p.Work, most)
	}
	after, err := Apply(s, p)
	if err != nil {
		t.Fatalf("Apply: %v", err)
	}
	again, err := Solve(after)
	if err != nil {
		t.Fatalf("Solve after Apply: %v", err)
	}
	if len(again.Actions) > 0 && !mayBeCut(s, p) {
		t.Fatalf("not at rest:\n%s\nafter\n%s", again.Text(), p.Text())
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
