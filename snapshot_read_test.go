package allot

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The change since any other version makes this one of it, and there is none since
// itself.
func TestSince(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := drawSnapshot(t), drawSnapshot(t)
		if after.Now().IsZero() {
			t.Skip("a Now that is not set cannot be had back")
		}
		if rapid.Bool().Draw(t, "related") { // where versions share their pages
			var keep []Workload
			for k := range before.Workloads() {
				if rapid.Bool().Draw(t, "kept") {
					k.Owner += "'"
					keep = append(keep, k)
				}
			}
			next, err := before.With(Change{Workloads: keep, Now: after.Now()})
			if err != nil {
				t.Skip(err)
			}
			after = next
		}
		c := after.Since(before)
		again, err := before.With(c)
		if err != nil {
			t.Fatalf("%v\n%s", err, mustJSON(c))
		}
		want := after.State()
		want.Revision = cmp.Or(want.Revision, before.Revision())
		if d := gocmp.Diff(want, again.State(), exact); d != "" {
			t.Fatalf("-want +got\n%s", d)
		}
		if none := mustJSON(after.Since(after)); none != `{"version":1}` {
			t.Fatalf("since itself: %s", none)
		}
	})
}

func drawSnapshot(t *rapid.T) *Snapshot {
	s, err := NewSnapshot(genState(t))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustJSON(c Change) string {
	text, err := c.MarshalJSON()
	if err != nil {
		panic(err)
	}
	return string(text)
}

// What the iterators yield are the lists of the State, in its order; each can be
// stopped.
func TestSnapshotIterators(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t)
		got := &State{
			Now: s.Now(), Revision: s.Revision(), Levels: s.Levels(), Nodes: slices.Collect(s.Nodes()), Pools: slices.Collect(s.Pools()),
			Queues: slices.Collect(s.Queues()), Workloads: slices.Collect(s.Workloads()), Budgets: slices.Collect(s.Budgets()),
		}
		if d := gocmp.Diff(s.State(), got, exact); d != "" {
			t.Fatalf("-state +iterators\n%s", d)
		}
		for _, want := range got.Budgets {
			if b, ok := s.Budget(want.Owner); !ok || b != want {
				t.Fatalf("%s has %v", want.Owner, b)
			}
		}
		for n := range s.Nodes() {
			if n.ID != got.Nodes[0].ID {
				t.Fatal("it did not begin at the first")
			}
			break
		}
	})
}

// Everything that a plan or an answer is made of has a text of its own (X4).
func TestParts(t *testing.T) {
	p := storyPlan()
	text := p.String()
	for _, a := range p.Actions {
		if !strings.Contains(text, a.String()+"\n") {
			t.Errorf("the plan does not have\n%s", a)
		}
	}
	for _, w := range p.Pending {
		if !strings.Contains(text, w.String()+"\n") {
			t.Errorf("the plan does not have\n%s", w)
		}
	}
	if got, want := p.Shares[1].String(), "p q2 gpu@H100 quota=- limit=0 used=0 in-quota=0 over-quota=0 non-preemptible=0 demand=- fair-share=- borrowed=0 lent=1.5 reachable=0 pool-total=0 state=-"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
