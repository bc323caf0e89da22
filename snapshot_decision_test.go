package allot_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// duo is a node of two GPUs: first runs on one, second asks both and waits,
// third asks one.
func duo() *allot.State {
	w := func(id string, gpus int) allot.Workload {
		return allot.Workload{ID: id, PodSets: []allot.PodSet{{Count: 1, Request: allot.Request{GPU: allot.GPURequest{Count: gpus}}}}}
	}
	s := &allot.State{
		Now: time.Unix(1_000_000_000, 0).UTC(), Revision: "r1",
		Nodes:     []allot.Node{{ID: "n0", Devices: make([]allot.Device, 2)}},
		Workloads: []allot.Workload{w("first", 1), w("second", 2), w("third", 1)},
		Budgets:   []allot.DisruptionBudget{{Owner: "ann", MinRunning: 1}},
	}
	s.Workloads[0].Tasks = []allot.Task{{Node: "n0", Devices: []int{0}, Since: s.Now}}
	return s
}

func mustWith(t *testing.T, s *allot.Snapshot, changes ...allot.Change) *allot.Snapshot {
	t.Helper()
	next, err := s.With(changes...)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

func mustDecide(t *testing.T, s *allot.Snapshot) *allot.Decision {
	t.Helper()
	d, err := s.Decide()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// told is what a decision starts, and where.
func told(t *testing.T, s *allot.Snapshot) (lines []string) {
	t.Helper()
	for _, a := range mustDecide(t, s).Actions() {
		lines = append(lines, fmt.Sprint(a.Kind, " ", a.Workload, " ", a.Tasks))
	}
	return lines
}

// Each fault of a change has its code, beside its place.
func TestChangeFaultCodes(t *testing.T) {
	snapshot := mustSnapshot(t, duo())
	for _, row := range []struct {
		change allot.Change
		code   allot.FaultCode
		path   string
	}{
		{allot.Change{Remove: allot.Removal{Nodes: []string{"n1"}}}, allot.FaultUnknownNode, "changes[0].remove.nodes[0]"},
		{allot.Change{Remove: allot.Removal{Pools: []string{"p"}}}, allot.FaultUnknownPool, "changes[0].remove.pools[0]"},
		{allot.Change{Remove: allot.Removal{Queues: []string{"q"}}}, allot.FaultUnknownQueue, "changes[0].remove.queues[0]"},
		{allot.Change{Remove: allot.Removal{Workloads: []string{"third", "fourth"}}}, allot.FaultUnknownWorkload, "changes[0].remove.workloads[1]"},
		{allot.Change{Remove: allot.Removal{Budgets: []string{"bob"}}}, allot.FaultUnknownBudget, "changes[0].remove.budgets[0]"},
		{allot.Change{Nodes: []allot.Node{{ID: "n1"}, {ID: "n1"}}}, allot.FaultDuplicate, "changes[0].nodes[1]"},
		{allot.Change{Pools: []allot.Pool{{ID: "p"}, {ID: "p"}}}, allot.FaultDuplicate, "changes[0].pools[1]"},
		{allot.Change{Queues: []allot.Queue{{ID: "q"}, {ID: "q"}}}, allot.FaultDuplicate, "changes[0].queues[1]"},
		{allot.Change{Workloads: []allot.Workload{{ID: "w"}, {ID: "w"}}}, allot.FaultDuplicate, "changes[0].workloads[1]"},
		{allot.Change{Budgets: []allot.DisruptionBudget{{Owner: "o"}, {Owner: "o"}}}, allot.FaultDuplicate, "changes[0].budgets[1]"},
		// Of the state that would come of it.
		{allot.Change{Remove: allot.Removal{Nodes: []string{"n0"}}}, allot.FaultUnknownNode, "workloads[0].tasks[0].node"},
		{allot.Change{Workloads: []allot.Workload{{ID: "a"}}}, allot.FaultEmpty, "workloads[0].podSets"},
	} {
		next, err := snapshot.With(row.change)
		var invalid *allot.InvalidError
		if !errors.As(err, &invalid) || next != nil {
			t.Errorf("%+v: %v, want a fault", row.change, err)
			continue
		}
		if f := invalid.Faults[0]; len(invalid.Faults) != 1 || f.Code != row.code || f.Path != row.path {
			t.Errorf("%+v: %v, want %v at %s", row.change, err, row.code, row.path)
		}
	}
}

// The zero Change changes nothing, nor does none at all.
func TestWithNothing(t *testing.T) {
	for seed := range uint64(10) {
		host := hostKinds[seed%2].make(rand.New(rand.NewPCG(seed, 17)))
		settle(t, host)
		before := mustSnapshot(t, host.state())
		for _, changes := range [][]allot.Change{nil, {{}}, {{}, {}}} {
			after := mustWith(t, before, changes...)
			mustBe(t, after, before.State())
			if err := sameDecision(after); err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
		}
	}
}

// Now and Revision stay where a change has none, and are as it says where it
// has: both count for what is made of the snapshot.
func TestWithNowAndRevision(t *testing.T) {
	first := mustSnapshot(t, duo())
	later := first.Now().Add(time.Minute)
	for _, row := range []struct {
		change   allot.Change
		now      time.Time
		revision string
	}{
		{allot.Change{}, first.Now(), "r1"},
		{allot.Change{Now: later}, later, "r1"},
		{allot.Change{Revision: "r2"}, first.Now(), "r2"},
		{allot.Change{Now: later, Revision: "r2"}, later, "r2"},
	} {
		next := mustWith(t, first, row.change)
		if s := next.State(); !next.Now().Equal(row.now) || !s.Now.Equal(row.now) || next.Revision() != row.revision || s.Revision != row.revision {
			t.Errorf("%+v: %v and %q, of %v and %q", row.change, next.Now(), next.Revision(), s.Now, s.Revision)
		}
		d := mustDecide(t, next)
		p, err := d.Plan()
		if err != nil || p.Revision != row.revision {
			t.Errorf("%+v: the plan is of %q, %v", row.change, p.Revision, err)
		}
		started, err := d.Apply()
		if err != nil {
			t.Fatal(err)
		}
		if w, _ := started.Workload("third"); len(w.Tasks) != 1 || !w.Tasks[0].Since.Equal(row.now) {
			t.Errorf("%+v: third has %v, from %v", row.change, w.Tasks, row.now)
		}
		var mismatch *allot.MismatchError
		if _, err := first.Apply(p); (row.revision == "r1") != (err == nil) || err != nil && !errors.As(err, &mismatch) {
			t.Errorf("%+v: a plan of %q on r1: %v", row.change, p.Revision, err)
		}
	}
}

// What is removed and put in one Change is new: nothing of the old one is left.
func TestWithRemovedAndPut(t *testing.T) {
	snapshot := mustSnapshot(t, duo())
	first, _ := snapshot.Workload("first")
	first.Tasks = nil
	anew := mustWith(t, snapshot, allot.Change{
		Remove:    allot.Removal{Workloads: []string{"first", "third"}, Nodes: []string{"n0"}, Budgets: []string{"ann"}},
		Nodes:     []allot.Node{{ID: "n0", Devices: make([]allot.Device, 3)}},
		Workloads: []allot.Workload{first},
		Budgets:   []allot.DisruptionBudget{{Owner: "ann", MinRunning: 2}},
	})
	if on := anew.WorkloadsOn("n0"); len(on) > 0 {
		t.Errorf("%v stand on the node", on)
	}
	want := duo()
	want.Nodes[0].Devices = make([]allot.Device, 3)
	want.Workloads = want.Workloads[:2]
	want.Workloads[0].Tasks = nil
	want.Budgets[0].MinRunning = 2
	mustBe(t, anew, want)
	if err := sameDecision(anew); err != nil {
		t.Error(err)
	}
	// The node may go and come while tasks stand on it: it is there in the end.
	same := mustWith(t, snapshot, allot.Change{
		Remove: allot.Removal{Nodes: []string{"n0"}}, Nodes: []allot.Node{{ID: "n0", Devices: make([]allot.Device, 2)}},
	})
	if on := same.WorkloadsOn("n0"); !slices.Equal(on, []string{"first"}) {
		t.Errorf("%v stand on the node", on)
	}
	mustBe(t, same, duo())
}

// Who does not want all that a decision yields stops, and may ask again.
func TestDecisionIteratorsStop(t *testing.T) {
	state := duo()
	state.Workloads[2].PodSets[0].Request.GPU.Count = 3
	d := mustDecide(t, mustSnapshot(t, state))
	want, err := d.Plan()
	if err != nil || len(want.Pending) != 2 || len(want.Shares) == 0 {
		t.Fatalf("%d wait, %d shares, %v", len(want.Pending), len(want.Shares), err)
	}
	for range 2 {
		n := 0
		for p, err := range d.Pending() {
			if n++; err != nil || !reflect.DeepEqual(p, want.Pending[0]) {
				t.Errorf("the first that waits is %v, %v", p, err)
			}
			break
		}
		for s, err := range d.Shares() {
			if n++; err != nil || !reflect.DeepEqual(s, want.Shares[0]) {
				t.Errorf("the first share is %v, %v", s, err)
			}
			break
		}
		if n != 2 {
			t.Errorf("%d yields", n)
		}
	}
	again, err := d.Plan()
	if err != nil || !reflect.DeepEqual(again, want) {
		t.Errorf("the plan is another: %v", err)
	}
}

// X1: Why has the reasons of who waits, and none of who does not.
func TestDecisionWhy(t *testing.T) {
	d := mustDecide(t, mustSnapshot(t, duo()))
	for id, code := range map[string]allot.Code{"first": 0, "second": allot.NoCapacity, "third": 0} { // each by itself
		reasons, err := d.Why(t.Context(), id)
		if err != nil || (code == 0) != (len(reasons) == 0) || code != 0 && reasons[0].Code != code {
			t.Errorf("%q waits for %v, %v", id, reasons, err)
		}
	}
}

// A decision that is given up is none, and the next is as if nobody had asked.
func TestDecideGivesUp(t *testing.T) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	snapshot := mustSnapshot(t, duo())
	for range 2 {
		d, err := snapshot.DecideContext(over)
		if err == nil && len(d.Actions()) != 1 || err != nil && (!errors.Is(err, context.Canceled) || d != nil) {
			t.Errorf("%v, %v", d, err)
		}
		if err := sameDecision(snapshot); err != nil {
			t.Error(err)
		}
	}
}

// A plan that is none is told as by the functions on states.
func TestSnapshotAppliesNoPlan(t *testing.T) {
	snapshot := mustSnapshot(t, duo())
	for name, apply := range map[string]func(*allot.Plan) (*allot.Snapshot, error){
		"Apply": snapshot.Apply, "Begin": snapshot.Begin,
	} { // each by itself: order cannot matter
		next, err := apply(nil)
		var mismatch *allot.MismatchError
		if !errors.As(err, &mismatch) || next != nil {
			t.Errorf("%s of nothing: %v", name, err)
		}
	}
}

// Old versions stay: each decides as it did when it was new, in any order, and
// others can be made from it.
func TestSnapshotHistory(t *testing.T) {
	versions := []*allot.Snapshot{mustSnapshot(t, duo())}
	told := func(s *allot.Snapshot) []string { return told(t, s) }
	decided := [][]string{told(versions[0])}
	for step := range 30 {
		last := versions[len(versions)-1]
		d := mustDecide(t, last)
		next, err := d.Apply()
		if err != nil {
			t.Fatal(err)
		}
		var c allot.Change
		if on := next.WorkloadsOn("n0"); step%3 == 0 && len(on) > 0 {
			c.Remove.Workloads = on[:1]
		}
		c.Workloads = []allot.Workload{{ID: fmt.Sprint("w", 997*step%31), PodSets: []allot.PodSet{{Count: 1, Request: allot.Request{GPU: allot.GPURequest{Count: 1}}}}}}
		node, _ := next.Node("n0")
		node.Cordoned = step%5 == 4
		c.Nodes = []allot.Node{node}
		versions = append(versions, mustWith(t, next, c))
		decided = append(decided, told(versions[len(versions)-1]))
	}
	some := 0
	for i := range versions {
		at := 11 * i % len(versions) // forth and back
		if got := told(versions[at]); !slices.Equal(got, decided[at]) {
			t.Errorf("version %d decides %v, and %v when it was new", at, got, decided[at])
		}
		some += len(decided[at])
		if branch := mustWith(t, versions[at], allot.Change{Revision: "branch"}); !slices.Equal(told(branch), decided[at]) {
			t.Errorf("a version from %d decides otherwise", at)
		}
	}
	if some < 5 {
		t.Errorf("%d actions in all", some)
	}
}

// What a follower keeps of workloads that have gone is cleared away from time to time, and it decides then as it did.
func TestSnapshotClearsAway(t *testing.T) {
	one := []allot.PodSet{{Count: 1, Request: allot.Request{GPU: allot.GPURequest{Count: 1}}}}
	s := mustSnapshot(t, &allot.State{
		Nodes:     []allot.Node{{ID: "n0", Devices: make([]allot.Device, 3)}},
		Workloads: []allot.Workload{{ID: "runs", PodSets: one, Tasks: []allot.Task{{Node: "n0", Devices: []int{2}}}}, {ID: "waits", PodSets: one}},
	})
	for step := range 4_300 {
		comes := allot.Workload{ID: fmt.Sprint("w", step), PodSets: one, Tasks: []allot.Task{{Node: "n0", Devices: []int{step % 2}}}}
		change := allot.Change{Workloads: []allot.Workload{comes}}
		if step > 0 {
			change.Remove.Workloads = []string{fmt.Sprint("w", step-1)}
		}
		s = mustWith(t, s, change)
		d := mustDecide(t, s)
		if got := fmt.Sprint(d.Actions()[0].Workload, d.Actions()[0].Tasks[0].Devices); got != fmt.Sprint("waits", []int{1 - step%2}) || !d.Incremental() {
			t.Fatalf("step %d: %s starts, incremental %v", step, got, d.Incremental())
		}
	}
}

// O1: of workloads that come at once, and differ in nothing but their IDs, the
// lower ID goes first, beside whom of the others it may come.
func TestWithNewcomersByID(t *testing.T) {
	waiting := func(ids ...string) (list []allot.Workload) {
		for _, id := range ids {
			list = append(list, allot.Workload{ID: id, PodSets: []allot.PodSet{{Count: 1, Request: allot.Request{GPU: allot.GPURequest{Count: 1}}}}})
		}
		return list
	}
	for _, row := range []struct{ old, came []string }{
		{nil, []string{"c", "a", "b"}},
		{[]string{"d", "h"}, []string{"c", "a", "b"}},
		{[]string{"d", "h"}, []string{"g", "e", "f"}},
		{[]string{"d", "h"}, []string{"k", "i", "j"}},
		{[]string{"d", "h"}, []string{"i", "b", "e", "f", "a", "j"}},
	} {
		want := slices.Sorted(slices.Values(slices.Concat(row.old, row.came)))[:2]
		s := mustSnapshot(t, &allot.State{Nodes: []allot.Node{{ID: "n0", Devices: make([]allot.Device, 2)}}, Workloads: waiting(row.old...)})
		mustDecide(t, s) // it has a desk now
		d := mustDecide(t, mustWith(t, s, allot.Change{Workloads: waiting(row.came...)}))
		var got []string
		for _, a := range d.Actions() {
			got = append(got, a.Workload)
		}
		if !slices.Equal(got, want) || !d.Incremental() {
			t.Errorf("%v beside %v: %v start, not %v", row.came, row.old, got, want)
		}
	}
}

// F5: a snapshot divides in the granules of what is asked now, also where something is
// exchanged for something of the same amount in other parts, as Solve does.
func TestSnapshotFollowsParts(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 17))
	granules, incremental := make(map[string]int), 0
	for range 60 {
		s := partsState()
		snapshot := mustSnapshot(t, s)
		for step := range 12 {
			var change allot.Change
			for range 1 + r.IntN(3) {
				id := fmt.Sprintf("w%d", r.IntN(8))
				for i := range change.Workloads {
					if change.Workloads[i].ID == id {
						id = ""
					}
				}
				if id != "" {
					change.Workloads = append(change.Workloads, partsWork(r, id))
				}
			}
			change.Now = s.Now.Add(time.Duration(step+1) * time.Minute)
			snapshot = mustWith(t, snapshot, change)
			decision := mustDecide(t, snapshot)
			want, err := allot.Solve(snapshot.State())
			if err != nil {
				t.Fatal(err)
			}
			if got := decision.Actions(); !slices.EqualFunc(want.Actions, got, func(a, b allot.Action) bool { return reflect.DeepEqual(a, b) }) {
				t.Fatalf("step %d: %+v: −solve +snapshot:\n%s", step, change, cmp.Diff(want.String(), (&allot.Plan{Actions: got}).String()))
			}
			if decision.Incremental() {
				incremental++
			}
			if r.IntN(3) == 0 {
				if snapshot, err = decision.Apply(); err != nil {
					t.Fatal(err)
				}
			}
			for _, share := range want.Shares {
				if share.Resource == allot.GPU && share.Queue != "d" && share.FairShare%1000 > 0 {
					granules[fmt.Sprint(share.FairShare%500 > 0)]++
				}
			}
		}
	}
	if granules["true"] < 100 || granules["false"] < 100 || incremental < 300 {
		t.Errorf("shares in halves and in less: %v; %d incremental decisions", granules, incremental)
	}
}

// partsState is a department of two projects, and four more projects, on three devices.
func partsState() *allot.State {
	s := &allot.State{
		Now:   time.Unix(1_000_000_000, 0).UTC(),
		Nodes: []allot.Node{{ID: "n0", Devices: make([]allot.Device, 2)}, {ID: "n1", Devices: make([]allot.Device, 1)}},
	}
	for i, id := range []string{"d", "d0", "d1", "e0", "e1", "e2", "e3"} {
		q := allot.Queue{ID: id, Resources: []allot.QueueResource{{Resource: allot.GPU, Quota: quota.Of(0), Weight: quota.Of(int64(1 + i%4))}}}
		if len(id) > 1 && id[0] == 'd' {
			q.Parent = "d"
		}
		s.Queues = append(s.Queues, q)
	}
	return s
}

// partsWork draws a workload of one or two devices in parts, seldom in whole ones.
func partsWork(r *rand.Rand, id string) allot.Workload {
	sets := func() []allot.PodSet {
		milli := []int64{500, 500, 250, 200, 1000}[r.IntN(5)]
		n := int(2000 / milli)
		return []allot.PodSet{{Count: n, Min: 1, Request: allot.Request{GPU: allot.GPURequest{Count: 1, Milli: milli % 1000}}}}
	}
	w := allot.Workload{ID: id, Queue: []string{"d0", "d1", "e0", "e1", "e2", "e3"}[r.IntN(6)], Submitted: time.Unix(int64(r.IntN(1000)), 0).UTC(), PodSets: sets()}
	if r.IntN(4) == 0 {
		w.Alternatives = []allot.Form{{PodSets: sets()}}
	}
	if r.IntN(5) == 0 {
		w.Preemption = allot.NonPreemptible
	}
	return w
}

// A context that has ended is told, whichever way is gone.
func TestDeskCancelled(t *testing.T) {
	s, err := allot.NewSnapshot(&allot.State{Revision: "idle"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Decide(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if d, err := s.DecideContext(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", d, err)
	}
}

// A pool that promises, and that no workload has ever been of, decides after a workload of
// another pool has gone: of what is gone nobody asks anything.
func TestPromisesAfterOthersHaveGone(t *testing.T) {
	node := func(pool string) allot.Node {
		return allot.Node{ID: pool, Devices: []allot.Device{{}}}
	}
	pool := func(id string) allot.Pool {
		return allot.Pool{ID: id, Nodes: allot.NodeSet{IDs: []string{id}}}
	}
	s := &allot.State{Now: time.Unix(1000, 0).UTC(), Nodes: []allot.Node{node("a"), node("b")}, Pools: []allot.Pool{pool("a"), pool("b")}}
	s.Pools[0].Policy.Reserve.Backfill = queue.EASY
	s.Workloads = []allot.Workload{{ID: "w", Pool: "b", PodSets: []allot.PodSet{{Count: 1, Request: allot.Request{GPU: allot.GPURequest{Count: 1}}}}}}
	snapshot := mustSnapshot(t, s)
	if got := mustDecide(t, snapshot).Actions(); len(got) != 1 {
		t.Errorf("%d actions, want the start of w", len(got))
	}
	snapshot = mustWith(t, snapshot, allot.Change{Remove: allot.Removal{Workloads: []string{"w"}}})
	if got := mustDecide(t, snapshot).Actions(); len(got) != 0 {
		t.Errorf("%d actions with nobody there", len(got))
	}
}
