package allot

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/allotsched/allot/internal/table"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
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
			}{{"Apply", ApplySome, snapshot.ApplySome}, {"Begin", BeginSome, snapshot.BeginSome}} {
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
				if again, _, err := newObjects(want); err != nil || !sameKeys(again.irregular, got.objects.irregular) || !sameResidents(again.residents, got.objects.residents) {
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

func sameResidents(a, b table.Table[resident]) bool {
	return slices.EqualFunc(listed(a), listed(b), func(a, b resident) bool {
		return a.node == b.node && slices.Equal(a.workloads, b.workloads)
	})
}

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

// B1: a task's Started is when it runs, and a move keeps it.
func TestApplyKeepsStarted(t *testing.T) {
	at := func(n int64) time.Time { return time.Unix(n, 0).UTC() }
	s := &State{Now: at(100), Nodes: []Node{{ID: "a"}, {ID: "b"}, {ID: "c"}}, Workloads: []Workload{
		{ID: "claims", PodSets: []PodSet{{Count: 1}}, Tasks: []Task{{Node: "a", Phase: Claimed, Since: at(50)}}, WaitingSince: at(20)},
		{ID: "moves", PodSets: []PodSet{{Count: 1}}, Tasks: []Task{{Node: "b", Since: at(30)}}},
		{ID: "moves again", PodSets: []PodSet{{Count: 1}}, Tasks: []Task{{Node: "b", Since: at(30), Started: at(40)}}},
		{ID: "goes", PodSets: []PodSet{{Count: 1}}, Tasks: []Task{{Node: "c", Since: at(30), Started: at(40)}}},
		{ID: "starts", PodSets: []PodSet{{Count: 1}}},
		{ID: "is cut", PodSets: []PodSet{{Count: 1}}, MinDuration: 10},
		{ID: "was cut", PodSets: []PodSet{{Count: 1}}, Tasks: []Task{{Node: "b", Since: at(30), Until: at(90)}}},
	}}
	place := func(node string) []Placement { return []Placement{{Node: node}} }
	p := &Plan{Actions: []Action{
		{Kind: Start, Workload: "claims", Tasks: place("a")},
		{Kind: Move, Workload: "moves", From: place("b"), Tasks: place("c")},
		{Kind: Move, Workload: "moves again", From: place("b"), Tasks: place("c")},
		{Kind: Evict, Workload: "goes", Tasks: place("c")},
		{Kind: Start, Workload: "starts", Tasks: place("a")},
		{Kind: Start, Workload: "is cut", Tasks: place("a"), Until: at(120)},
		{Kind: Move, Workload: "was cut", From: place("b"), Tasks: place("c")},
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
	for i, want := range map[int]time.Time{4: {}, 5: at(120), 6: at(90)} { // each for itself: order cannot matter
		if got := applied.Workloads[i].Tasks[0].Until; !got.Equal(want) {
			t.Errorf("%s is ended at %v, want %v", applied.Workloads[i].ID, got, want)
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

// B7: what a plan promises is in the state that it comes to, on a snapshot as on a whole
// state, and what it does not is no more.
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
		{ID: "runs on", PodSets: pod, Tasks: []Task{{Node: "b"}}}, // it was to go, and to be promised something
		{ID: "starts", PodSets: pod, Reserved: one("b")},
	}}
	p := &Plan{Actions: []Action{{Kind: Start, Workload: "starts", Tasks: []Placement{{Node: "b"}}, Behind: "new"}}, Reservations: []PlannedReservation{
		{Workload: "gathers", Change: PromiseMade, Promise: Promise{Rule: ByGathering}},
		{Workload: "kept", Promise: *one("a")},
		{Workload: "lets go", Change: PromiseWithdrawn, NotBefore: at(160)},
		{Workload: "lost", Change: PromiseWithdrawn, Promise: *one("a")},
		{Workload: "new", Change: PromiseMade, Promise: *one("b")},
		{Workload: "runs on", Change: PromiseMade, Promise: *one("a")},
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

// TestNextAt, by hand: the earliest of what time alone changes (B1, B7, B9), and that a plan in
// between is the same but for its times.
func TestNextAt(t *testing.T) {
	hour := quota.Of(3600)
	at := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	after := func(hours int) time.Time { return at.Add(time.Duration(hours) * time.Hour) }
	pod := []PodSet{{Count: 1, Request: Request{GPU: GPURequest{Count: 1}}}}
	for name, c := range map[string]struct { // each on its own: order cannot matter
		edit func(s *State)
		want time.Time
	}{
		"nothing": {func(*State) {}, time.Time{}},
		"an end, where nobody is promised anything": {func(s *State) { s.Workloads[0].Duration = hour }, time.Time{}},
		"an end for which nobody waits": {func(s *State) {
			s.Workloads = s.Workloads[:1]
			s.Workloads[0].Duration = hour
			s.Pools[0].Policy.Reserve.Backfill = queue.EASY
		}, after(1)},
		"an end": {func(s *State) {
			s.Workloads[0].Duration = hour
			s.Pools[0].Policy.Reserve.Backfill = queue.EASY
		}, after(1)},
		"not before":         {func(s *State) { s.Workloads[1].NotBefore = after(3) }, after(3)},
		"not before is past": {func(s *State) { s.Workloads[1].NotBefore = at }, time.Time{}},
		"a reservation begins": {func(s *State) {
			s.Reservations = []Reservation{{ID: "r", From: after(2), Until: after(4), Nodes: []ReservedNode{{Node: "b"}}}}
		}, after(2)},
		"a reservation is over": {func(s *State) {
			s.Reservations = []Reservation{{ID: "r", From: at, Until: after(4), Nodes: []ReservedNode{{Node: "b"}}}}
		}, after(4)},
	} {
		t.Run(name, func(t *testing.T) {
			s := &State{
				Now: at, Nodes: []Node{{ID: "a", Devices: make([]Device, 1)}, {ID: "b", Cordoned: true}},
				Pools: []Pool{{ID: "p"}},
				Workloads: []Workload{
					{ID: "runs", PodSets: pod, Tasks: []Task{{Node: "a", Devices: []int{0}, Since: at}}},
					{ID: "waits", PodSets: pod, Duration: hour},
				},
			}
			c.edit(s)
			plan, err := Solve(s)
			if err != nil {
				t.Fatal(err)
			}
			if !plan.NextAt.Equal(c.want) {
				t.Fatalf("next at %s, want %s", plan.NextAt, c.want)
			}
			if s.Now = after(1).Add(-time.Second); !c.want.IsZero() {
				s.Now = c.want.Add(-time.Second)
			}
			later, err := Solve(s)
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "what is done a second before", plan.Actions, later.Actions)
			equal(t, "what it is next at then", plan.NextAt, later.NextAt)
		})
	}
}

// TestDecisionPromises: a Decision that is carried out or begun keeps the promises of its plan (B7).
func TestDecisionPromises(t *testing.T) {
	hour := quota.Of(3600)
	at := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	pod := []PodSet{{Count: 1, Request: Request{GPU: GPURequest{Count: 1}}}}
	s := &State{
		Now: at, Nodes: []Node{{ID: "a", Devices: make([]Device, 1)}},
		Pools: []Pool{{ID: "p", Policy: Policy{Reserve: ReservePolicy{Backfill: queue.EASY}}}},
		Workloads: []Workload{
			{ID: "runs", PodSets: pod, Duration: hour, Tasks: []Task{{Node: "a", Devices: []int{0}, Since: at}}},
			{ID: "waits", PodSets: pod, Duration: hour},
		},
	}
	snapshot, err := NewSnapshot(s)
	if err != nil {
		t.Fatal(err)
	}
	d, err := snapshot.Decide()
	if err != nil {
		t.Fatal(err)
	}
	plan, err := d.Plan()
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Reservations) != 1 || len(d.Reservations()) != 1 {
		t.Fatalf("%d promises, and %d of the plan", len(d.Reservations()), len(plan.Reservations))
	}
	for name, carry := range map[string]struct {
		decided func() (*Snapshot, error)
		planned func(*State, *Plan) (*State, error)
	}{"apply": {d.Apply, Apply}, "begin": {d.Begin, Begin}} { // each on its own: order cannot matter
		got, err := carry.decided()
		if err != nil {
			t.Fatal(err)
		}
		want, err := carry.planned(s, plan)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, name, want, got.State())
		if k, _ := got.Workload("waits"); k.Reserved == nil || !k.Reserved.At.Equal(at.Add(time.Hour)) {
			t.Errorf("%s keeps %+v", name, k.Reserved)
		}
	}
}
