package allot_test

import (
	"slices"
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/sim/scenario"
)

// Under an order that looks at the age of the first workload of a queue, who is
// refused lets the next of its kind stand first, which is younger.
func TestDeskAgeOfRefused(t *testing.T) {
	at := func(s int64) time.Time { return time.Unix(1000+s, 0).UTC() }
	gpus := func(n int) allot.Request { return allot.Request{GPU: allot.GPURequest{Count: n}} }
	elastic := func(id string, since int64, node string) allot.Workload {
		w := allot.Workload{ID: id, Queue: "a", Priority: 10, Submitted: at(since)}
		w.PodSets = []allot.PodSet{{Count: 2, Min: 1, Request: gpus(2)}}
		w.Tasks = []allot.Task{{Node: node, Devices: []int{0, 1}}}
		return w
	}
	s := &allot.State{Now: at(100)}
	s.Pools = []allot.Pool{{ID: "p", Policy: allot.Policy{
		Order: queue.ShareThenAge, NoConsolidation: true, Reclaim: preempt.NoReclaim, Preempt: preempt.NoPreemption,
	}}}
	s.Queues = []allot.Queue{{ID: "a"}, {ID: "b"}}
	s.Nodes = []allot.Node{
		{ID: "n1", Devices: make([]allot.Device, 3)},
		{ID: "n2", Devices: make([]allot.Device, 2)},
	}
	s.Workloads = []allot.Workload{
		elastic("old", 1, "n1"), elastic("young", 5, "n2"),
		{ID: "next", Queue: "a", Submitted: at(2), PodSets: []allot.PodSet{{Count: 1, Request: gpus(1)}}},
		{ID: "other", Queue: "b", Submitted: at(3), PodSets: []allot.PodSet{{Count: 1, Request: gpus(1)}}},
	}
	snapshot, err := allot.NewSnapshot(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := sameDecision(snapshot); err != nil {
		t.Error(err)
	}
}

// As time passes minimum runtimes end (M1), and who loses least is another (M3): a
// decision that knows what runs from those before it sees both.
func TestDecideAsTimePasses(t *testing.T) {
	s, err := scenario.State(`
		policy reclaim=quota min-runtime.reclaim=50 no-consolidation=yes
		nodes big gpu=2 | nodes small gpu=1
		queue a quota=0 | queue b quota=1
		run a/large since=90s gpu=2 on big | run a/long since=0s gpu=1 on small
		submit b/w gpu=1 at=95s
		now 100s`)
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := allot.NewSnapshot(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		after  time.Duration
		victim string
	}{{0, "long"}, {30, "long"}, {45, "large"}, {200, "long"}} {
		if snapshot, err = snapshot.With(allot.Change{Now: s.Now.Add(step.after * time.Second)}); err != nil {
			t.Fatal(err)
		}
		if err := sameDecision(snapshot); err != nil {
			t.Error(err)
		}
		d, err := snapshot.Decide()
		if err != nil {
			t.Fatal(err)
		}
		if a := d.Actions(); len(a) == 0 || a[0].Workload != step.victim || !d.Incremental() {
			t.Errorf("%d s later: %v (incremental: %t), not the eviction of %s", step.after, a, d.Incremental(), step.victim)
		}
	}
}

// Who waits for a node that has been cordoned waits for one that may come back,
// and so blocks those behind him (O4), also where a desk has seen the node go.
func TestDeskBlocksForCordoned(t *testing.T) {
	asks := func(id string, priority int32, gpus int) allot.Workload {
		return allot.Workload{ID: id, Priority: priority, PodSets: []allot.PodSet{
			{Count: 1, Request: allot.Request{GPU: allot.GPURequest{Count: gpus}}},
		}}
	}
	for _, first := range []bool{false, true} { // somebody has asked before what is ever possible
		s := &allot.State{Nodes: []allot.Node{
			{ID: "large", Devices: make([]allot.Device, 8)},
			{ID: "small", Devices: make([]allot.Device, 2)},
		}}
		s.Pools = []allot.Pool{{ID: "p", Policy: allot.Policy{
			Queueing: queue.StrictPool, NoConsolidation: true, Reclaim: preempt.NoReclaim, Preempt: preempt.NoPreemption,
		}}}
		if first {
			s.Workloads = []allot.Workload{asks("never", 30, 9)}
		}
		snapshot, err := allot.NewSnapshot(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := sameDecision(snapshot); err != nil {
			t.Error(err)
		}
		away := s.Nodes[0]
		away.Cordoned = true
		snapshot, err = snapshot.With(allot.Change{
			Nodes: []allot.Node{away}, Workloads: []allot.Workload{asks("head", 20, 8), asks("next", 10, 1)},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := sameDecision(snapshot); err != nil {
			t.Error(err)
		}
	}
}

// What a decision knows from those before it does not stand once something has changed on which
// it rests, be that a node of which nothing is in use, or work outside every pool (O5, S7, M10).
func TestDecideFollowsWhatHasGone(t *testing.T) {
	for _, row := range []struct {
		what, text string
		gone       func(*allot.State) allot.Change
	}{
		{"the other node of the pool (M10)", `
			nodes n1 devices=2xB:16Gi,1xA:16Gi | nodes n2 gpu=1 model=A cordoned
			queue q quota=2 | queue v quota=1
			run v/o gpu=1 since=1s on n1[1] | run v/m gpu=1 since=2s on n1[0] | run v/l gpu=1 since=3s on n1[2]
			submit q/y gpu=2 model=B
			now 10s`,
			func(s *allot.State) allot.Change { s.Nodes[1].Lost = true; return allot.Change{Nodes: s.Nodes[1:]} }},
		{"work outside every pool (S7, R1)", `
			nodes n1 gpu=1 | nodes n2 gpu=1
			pool p nodes=n1
			policy pool=p no-consolidation=yes
			queue q pool=p quota=1 | queue v pool=p quota=0
			run q/out gpu=1 on n2 | run v/m gpu=1 on n1
			submit q/y gpu=1
			now 10s`,
			func(*allot.State) allot.Change {
				return allot.Change{Remove: allot.Removal{Workloads: []string{"out"}}}
			}},
		{"a node of all by which places are drawn (P5)", `
			nodes n1..n9 gpu=4
			policy gpu-strategy=random`,
			func(s *allot.State) allot.Change {
				s.Nodes[0].Lost = true
				drawn := allot.Workload{ID: "drawn", PodSets: []allot.PodSet{{Count: 8, Request: allot.Request{GPU: allot.GPURequest{Count: 1}}}}}
				return allot.Change{Nodes: s.Nodes[:1], Workloads: []allot.Workload{drawn}}
			}},
	} {
		s, err := scenario.State(row.text)
		if err != nil {
			t.Fatalf("%s: %v", row.what, err)
		}
		snapshot := mustSnapshot(t, s)
		before := len(mustDecide(t, snapshot).Actions())
		snapshot = mustWith(t, snapshot, row.gone(s))
		if err := sameAsked(snapshot, false); err != nil {
			t.Errorf("%s: %v", row.what, err)
		}
		d := mustDecide(t, snapshot)
		if len(d.Actions()) == 0 || !d.Incremental() {
			t.Errorf("%s: incremental %v, %v, and before %d actions", row.what, d.Incremental(), d.Actions(), before)
		}
	}
}

// What is told of a guarantee that was cut is of what is asked now, and not of what was asked when
// room was refused: who asks more changes no line, and nothing else (F2, F13, X1).
func TestDecideTellsCutsOfNow(t *testing.T) {
	s, err := scenario.State(`
		nodes n1 gpu=2
		queue q quota=2 | queue v quota=0 | queue w parent=v quota=unlimited
		submit q/a non-preemptible set=a gpu=1 set=b tasks=2 min=1 gpu=0.6
		run q/a on a@n1[0] b@n1[1]
		submit w/b gpu=1
		now 10s`)
	if err != nil {
		t.Fatal(err)
	}
	snapshot := mustSnapshot(t, s)
	if err := sameAsked(snapshot, false); err != nil { // b is refused
		t.Error(err)
	}
	asks := *workloadOf(s, "b")
	asks.ID = "c"
	snapshot = mustWith(t, snapshot, allot.Change{Workloads: []allot.Workload{asks}})
	if err := sameDecision(snapshot); err != nil {
		t.Error(err)
	}
	reasons, err := mustDecide(t, snapshot).Why(t.Context(), "b")
	if !slices.ContainsFunc(reasons, func(r allot.Reason) bool { return r.Code == allot.GuaranteeCut && r.Need == 2000 }) {
		t.Errorf("%v (%v)", reasons, err)
	}
}

// A refusal of room that an earlier decision came to, and this one did not, is not told of it: the first form of
// who waits in q6 is not asked for room once who stands before its second form has been evicted (X1, G5).
func TestDecideTellsNoRefusalOfBefore(t *testing.T) {
	s, err := scenario.State(`
		nodes n1 devices=1xA:8,1xH:4,1xA:8,1xH:4 cpu=4 | nodes n2 gpu=2 model=H gpumem=4 cpu=6
		pool p0
		policy pool=p0 name=runai default-class=train non-preemptible-from=100 inner-weight-by-quota=yes equal-shares-at-zero-weight=yes scale-guarantees=yes claim-leaving=yes stale-gang-grace=60 class=build:100:non-preemptible class=train:50
		queue q1 quota=2 weight=0
		queue q2 parent=q1 max-workloads=2 quota=0
		queue q3 parent=q2 quota=none
		queue q4 parent=q1 quota=none
		queue q5 parent=q4 queueing=strict-queue weight=3 tier=1
		queue q6 parent=q4 weight=1
		submit q5/w12 priority=2 preemptible at=1s gpu=1
		run q5/w12 since=14s on n2[0]
		submit q3/w13 preemptible at=1s gpu=2
		run q3/w13 since=3s on n1[1,3]
		submit q5/w14 priority=3 at=1s gpu=2 model=A
		run q5/w14 since=3s on n1[0,2]
		submit q5/w16 at=3s tasks=3 gpumem=1 cpu=2
		run q5/w16 since=3s on n2[1] n2[1] n2[1]
		submit q6/w19 priority=2 at=14s set=a gpumem=2 model=A cpu=2 set=b min=1 gpu=1 model=A or queue=q5 tasks=3 gpu=2 cpu=2
		now 36s`)
	if err != nil {
		t.Fatal(err)
	}
	snapshot := mustSnapshot(t, s)
	mustDecide(t, snapshot)
	comes := allot.Workload{ID: "w21", Queue: "q5", Preemption: allot.Preemptible, Submitted: s.Now}
	comes.PodSets = []allot.PodSet{{Count: 1, Request: allot.Request{GPU: allot.GPURequest{Count: 1, Models: []string{"A"}}}}}
	if err := sameDecision(mustWith(t, snapshot, allot.Change{Workloads: []allot.Workload{comes}})); err != nil {
		t.Error(err)
	}
}
