package allot

import (
	"testing"
	"time"
)

// B1: a task's Started is when it runs, and a move keeps it.
func TestApplyKeepsStarted(t *testing.T) {
	at := func(n int64) time.Time { return time.Unix(n, 0).UTC() }
	s := &State{Now: at(100), Nodes: []Node{{ID: "a"}, {ID: "b"}, {ID: "c"}}, Workloads: []Workload{
		{ID: "claims", PodSets: []PodSet{{Count: 1}}, Tasks: []Task{{Node: "a", Phase: Claimed, Since: at(50)}}, WaitingSince: at(20)},
		{ID: "moves", PodSets: []PodSet{{Count: 1}}, Tasks: []Task{{Node: "b", Since: at(30)}}},
		{ID: "moves again", PodSets: []PodSet{{Count: 1}}, Tasks: []Task{{Node: "b", Since: at(30), Started: at(40)}}},
		{ID: "goes", PodSets: []PodSet{{Count: 1}}, Tasks: []Task{{Node: "c", Since: at(30), Started: at(40)}}},
		{ID: "starts", PodSets: []PodSet{{Count: 1}}},
	}}
	place := func(node string) []Placement { return []Placement{{Node: node}} }
	p := &Plan{Actions: []Action{
		{Kind: Start, Workload: "claims", Tasks: place("a")},
		{Kind: Move, Workload: "moves", From: place("b"), Tasks: place("c")},
		{Kind: Move, Workload: "moves again", From: place("b"), Tasks: place("c")},
		{Kind: Evict, Workload: "goes", Tasks: place("c")},
		{Kind: Start, Workload: "starts", Tasks: place("a")},
	}}
	applied, err := Apply(s, p)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []time.Time{at(100), {}, at(40)} {
		if got := applied.Workloads[i].Tasks[0]; got.Phase != Running || !got.Started.Equal(want) {
			t.Errorf("%s: %+v, want started %v", applied.Workloads[i].ID, got, want)
		}
	}
	if w := applied.Workloads[0]; !w.WaitingSince.IsZero() {
		t.Errorf("%s runs and waits since %v", w.ID, w.WaitingSince)
	}
	if w := applied.Workloads[3]; len(w.Tasks) > 0 || !w.WaitingSince.Equal(at(100)) {
		t.Errorf("%s was evicted, has %v and waits since %v", w.ID, w.Tasks, w.WaitingSince)
	}
	if got := applied.Workloads[4].Tasks[0]; !got.Since.Equal(at(100)) || !got.Started.IsZero() {
		t.Errorf("what starts at once: %+v", got)
	}
	begun, err := Begin(s, p)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range map[int]time.Time{1: at(30), 2: at(40)} { // each by itself: order cannot matter
		if got := begun.Workloads[i].Tasks[1]; got.Phase != Claimed || !got.Started.Equal(want) {
			t.Errorf("%s on its way: %+v, want started %v", begun.Workloads[i].ID, got, want)
		}
	}
}

// B6, B7: what a plan promises is in the state that it comes to, on a snapshot as on a whole
// state, and what it does not is no more, nor is anybody behind it.
func TestApplyWritesPromises(t *testing.T) {
	at := func(n int64) time.Time { return time.Unix(n, 0).UTC() }
	one := func(node string) *Promise { return &Promise{At: at(200), Tasks: []Placement{{Node: node}}} }
	pod := []PodSet{{Count: 1}}
	s := &State{Now: at(100), Nodes: []Node{{ID: "a"}, {ID: "b"}}, Workloads: []Workload{
		{ID: "behind kept", PodSets: pod, Tasks: []Task{{Node: "a", Behind: "kept"}}},
		{ID: "behind lost", PodSets: pod, Tasks: []Task{{Node: "a", Behind: "lost"}}},
		{ID: "elsewhere", PodSets: pod, Tasks: []Task{{Node: "b", Behind: "kept"}}},
		{ID: "gathers", PodSets: pod},
		{ID: "kept", PodSets: pod, Reserved: one("a")},
		{ID: "lets go", PodSets: pod, HeldSince: at(40), Reserved: &Promise{Rule: ByGathering}},
		{ID: "lost", PodSets: pod, Reserved: one("a")},
		{ID: "new", PodSets: pod},
		{ID: "starts", PodSets: pod, Reserved: one("b")},
	}}
	p := &Plan{Actions: []Action{{Kind: Start, Workload: "starts", Tasks: []Placement{{Node: "b"}}, Behind: "new"}}, Reservations: []PlannedReservation{
		{Workload: "gathers", Change: PromiseMade, Promise: Promise{Rule: ByGathering}},
		{Workload: "kept", Promise: *one("a")},
		{Workload: "lets go", Change: PromiseWithdrawn, NotBefore: at(160)},
		{Workload: "new", Change: PromiseMade, Promise: *one("b")},
	}}
	want := cloneState(s)
	promised := func(id string, p *Promise) { workload(want, id).Reserved = p }
	workload(want, "behind lost").Tasks[0].Behind = ""
	workload(want, "elsewhere").Tasks[0].Behind = ""
	promised("gathers", &Promise{Rule: ByGathering})
	workload(want, "gathers").HeldSince = at(100)
	promised("lets go", nil)
	workload(want, "lets go").HeldSince, workload(want, "lets go").NotBefore = time.Time{}, at(160)
	promised("lost", nil)
	promised("new", one("b"))
	promised("starts", nil)
	workload(want, "starts").Tasks = []Task{{Node: "b", Since: at(100), Behind: "new"}}
	got, err := Apply(s, p)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "applied", want, got)
	snapshot, err := NewSnapshot(s)
	if err != nil {
		t.Fatal(err)
	}
	next, err := snapshot.Apply(p)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "the snapshot applied", want, next.State())

	// A start that is left out keeps its promise.
	got, err = ApplySome(s, p, func(int, Action) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	if workload(got, "starts").Reserved == nil || workload(got, "lost").Reserved != nil {
		t.Error("what has not been carried out has lost its promise, or other things have theirs")
	}
	got.Workloads[4].Reserved.Tasks[0].Node = "mine"
	if s.Workloads[4].Reserved.Tasks[0].Node != "a" || p.Reservations[1].Promise.Tasks[0].Node != "a" {
		t.Error("the promise is shared")
	}
	if _, err := Apply(s, &Plan{Reservations: []PlannedReservation{{Workload: "nobody"}}}); err == nil {
		t.Error("a promise to nobody is taken")
	}
}
