package allot

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/allotsched/allot/internal/table"
	"pgregory.net/rapid"
)

// TestSnapshotApplies: a snapshot carries out any plan, any part of it and any
// plan that was tampered with as the functions on states do, and fails as they do.
func TestSnapshotApplies(t *testing.T) {
	t.Parallel()
	carried, failed := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s := genState(t)
		snapshot, err := NewSnapshot(s)
		if err != nil {
			t.Fatal(err)
		}
		p := mustSolve(t, s)
		for round := range 4 {
			p := p
			if round > 0 {
				p = tampered(t, snapshot.State(), p)
			}
			var keep func(int, Action) bool
			if rapid.Bool().Draw(t, "part") {
				kept := rapid.SliceOfN(rapid.IntRange(0, 3), len(p.Actions), len(p.Actions)).Draw(t, "kept")
				keep = func(i int, _ Action) bool { return kept[i] > 0 }
			}
			for _, how := range []struct {
				name  string
				plain func(*State, *Plan, func(int, Action) bool) (*State, error)
				fast  func(*Plan, func(int, Action) bool) (*Snapshot, error)
			}{{"Apply", ApplySome, snapshot.Apply}, {"Begin", BeginSome, snapshot.Begin}} {
				want, wrong := how.plain(snapshot.State(), p, keep)
				got, err := how.fast(p, keep)
				if !reflect.DeepEqual(err, wrong) {
					t.Fatalf("%s: %v, not %v", how.name, err, wrong)
				}
				if err != nil {
					failed++
					continue
				}
				carried++
				if got := got.State(); !reflect.DeepEqual(got, want) {
					t.Fatalf("%s: the state is\n%s\nnot\n%s", how.name, jsonOf(t, got), jsonOf(t, want))
				}
				if again, _, err := newNouns(want); err != nil || !sameKeys(again.irregular, got.nouns.irregular) || !sameResidents(again.residents, got.nouns.residents) {
					t.Fatalf("%s: what is irregular, or stands on nodes, is not kept", how.name)
				}
			}
		}
	})
	t.Logf("%d carried out, %d not", carried, failed)
	if carried < failed/4 || failed < carried/20 {
		t.Errorf("that is too one-sided")
	}
}

func sameKeys(a, b table.Table[Workload]) bool {
	return slices.EqualFunc(listed(a), listed(b), func(x, y Workload) bool { return x.ID == y.ID })
}

func sameResidents(a, b table.Table[resident]) bool { return reflect.DeepEqual(listed(a), listed(b)) }

func jsonOf(t *rapid.T, s *State) string {
	text, err := s.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// tampered is the plan with something wrong, or merely otherwise.
func tampered(t *rapid.T, s *State, p *Plan) *Plan {
	q := *p
	q.Actions = cloneEach(p.Actions, func(a Action) Action {
		a.Tasks, a.From, a.After = slices.Clone(a.Tasks), slices.Clone(a.From), slices.Clone(a.After)
		return a
	})
	n := func(most int) int { return rapid.IntRange(0, most).Draw(t, "n") }
	if len(q.Actions) == 0 {
		q.Revision += fmt.Sprint(n(1))
		return &q
	}
	a := &q.Actions[n(len(q.Actions)-1)]
	switch n(9) {
	case 0:
		a.Workload = s.Workloads[n(len(s.Workloads)-1)].ID
	case 1:
		a.Kind = ActionKind(n(int(Move) + 1))
	case 2:
		a.After = append(a.After, s.Workloads[n(len(s.Workloads)-1)].ID)
	case 3:
		a.Ending.Final = !a.Ending.Final
	case 4:
		if len(a.Tasks) > 0 {
			a.Tasks[0].Node = s.Nodes[n(len(s.Nodes)-1)].ID
		}
	case 5:
		if len(a.Tasks) > 0 {
			a.Tasks[0].Devices = []int{n(3)}
		}
	case 6:
		if len(a.Tasks) > 0 {
			a.Tasks[0].Index += n(2) - 1
		}
	case 7:
		i, k := n(len(q.Actions)-1), n(len(q.Actions)-1)
		q.Actions[i], q.Actions[k] = q.Actions[k], q.Actions[i]
	case 8:
		a.Workload, a.After = "nobody", nil
	case 9:
		a.After = nil
	}
	return &q
}

func mustSolve(t *rapid.T, s *State) *Plan {
	t.Helper()
	p, err := Solve(s)
	if err != nil {
		t.Fatalf("Solve: %v\nof %s", err, compact(s))
	}
	return p
}
