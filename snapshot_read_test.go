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

// Ends: what is told would do, and nothing of it can be left out; Nodes are those that
// an empty cluster would use.
func TestEndsAndNodes(t *testing.T) {
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t)
		var holders []string
		for k := range s.Workloads() {
			if slices.ContainsFunc(k.Tasks, func(t Task) bool { return t.Phase != Terminating }) {
				holders = append(holders, k.ID)
			}
		}
		fitter := s.Fitter()
		for k := range s.Workloads() {
			if len(k.Tasks) > 0 || k.Ending {
				continue
			}
			now, err := fitter.Now(t.Context(), k)
			if err != nil {
				t.Fatal(err)
			}
			ends, err := fitter.Ends(t.Context(), k, holders)
			if err != nil {
				t.Fatal(err)
			}
			nodes, err := fitter.Nodes(t.Context(), k)
			if err != nil {
				t.Fatal(err)
			}
			for _, task := range now.Tasks {
				if len(task.Devices) > 0 && !slices.Contains(nodes, task.Node) {
					t.Fatalf("%s starts on %s, which is not among %v", k.ID, task.Node, nodes)
				}
			}
			if !slices.IsSortedFunc(nodes, strings.Compare) {
				t.Fatalf("not in order: %v", nodes)
			}
			if now.OK != (ends != nil && len(ends) == 0) && len(k.Alternatives) == 0 {
				t.Fatalf("%s starts now: %t, and has to wait for %v", k.ID, now.OK, ends)
			}
			for i := range ends {
				found++
				rest := slices.Delete(slices.Clone(ends), i, i+1)
				if less, err := fitter.Ends(t.Context(), k, rest); err != nil || less != nil {
					t.Fatalf("%s: of %v, %v do (%v)", k.ID, ends, less, err)
				}
			}
		}
	})
	if found == 0 {
		t.Error("nobody had to end")
	}
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
	level := QueueLevel{Share: p.Shares[1]}
	if got := level.String(); !strings.HasPrefix(got, p.Shares[1].String()) || !strings.HasSuffix(got, " line=- quota-left=- line-left=- limit-left=-") {
		t.Error(got)
	}
	for want, fit := range map[string]Fit{ // each by itself
		"would start: n0[0-3]":                                {OK: true, Tasks: []Placement{{Node: "n0", Devices: []int{0, 1, 2, 3}}}},
		"would start in form 1 in room that is made for it":   {OK: true, Room: true, Form: 1},
		"would not start; by quotas and limits: within-quota": {Availability: 0},
		"would start: w[0-1] n0*2 v[2] n1":                    {OK: true, Tasks: []Placement{{PodSet: "w", Node: "n0"}, {PodSet: "w", Index: 1, Node: "n0"}, {PodSet: "v", Index: 2, Node: "n1"}}},
	} {
		if got := fit.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
