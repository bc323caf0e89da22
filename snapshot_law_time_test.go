package allot_test

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/deep"
)

// The law of snapshots where something is promised (B3): as time passes, work ends and comes, and
// plans are carried out, what a snapshot decides is what Solve decides, its promises and when they could
// be otherwise included. Most of these decisions are made incrementally.
func TestSnapshotLawOfPromises(t *testing.T) {
	decided, incremental, promised := 0, 0, 0
	for seed := range deep.Seeds(t, 60) {
		s, d := drawnTimed(seed), rand.New(rand.NewPCG(seed, 37))
		for i := range s.Pools {
			if r := &s.Pools[i].Policy.Reserve; seed%4 > 0 { // else as it is drawn, and mostly from scratch
				r.Evictable, r.TrustDurations, r.Gather = false, false, false
			}
		}
		snapshot, err := allot.NewSnapshot(s)
		if err != nil {
			t.Fatal(err)
		}
		for step := range 8 {
			decision := mustDecide(t, snapshot)
			s := snapshot.State()
			plan, err := allot.Solve(s)
			if err != nil {
				t.Fatal(err)
			}
			decided++
			if decision.Incremental() {
				incremental++
			}
			promised += len(plan.Reservations)
			if err := sameActions(decision.Actions(), plan.Actions); err != nil {
				t.Fatalf("seed %d, step %d: %v\n%s", seed, step, err, tellPromises(s, plan))
			}
			got := decision.Reservations()
			if len(got)+len(plan.Reservations) > 0 && !reflect.DeepEqual(got, plan.Reservations) || !decision.NextAt().Equal(plan.NextAt) {
				t.Fatalf("seed %d, step %d: until %v not %v, %+v\nnot %s", seed, step, decision.NextAt(), plan.NextAt, got, tellPromises(s, plan))
			}
			after, err := allot.Apply(s, plan)
			if err != nil {
				t.Fatal(err)
			}
			if snapshot, err = decision.Apply(); err != nil {
				t.Fatal(err)
			}
			if snapshot, err = snapshot.With(changeTo(snapshot.State(), passTime(d, after, plan, step))); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("%d decisions, %d of them incremental, %d promises told", decided, incremental, promised)
	if !testing.Short() && (2*incremental < decided || promised < decided/8) {
		t.Errorf("%d decisions, %d of them incremental, %d promises told", decided, incremental, promised)
	}
}

// changeTo is what differs of nodes, work and the time.
func changeTo(before, after *allot.State) (c allot.Change) {
	c.Now = after.Now
	for i := range after.Nodes {
		if at := slices.IndexFunc(before.Nodes, func(n allot.Node) bool { return n.ID == after.Nodes[i].ID }); !reflect.DeepEqual(before.Nodes[at], after.Nodes[i]) {
			c.Nodes = append(c.Nodes, after.Nodes[i])
		}
	}
	for i := range after.Workloads {
		w := &after.Workloads[i]
		at := slices.IndexFunc(before.Workloads, func(one allot.Workload) bool { return one.ID == w.ID })
		if at < 0 || !reflect.DeepEqual(before.Workloads[at], *w) {
			c.Workloads = append(c.Workloads, *w)
		}
	}
	for i := range before.Workloads {
		id := before.Workloads[i].ID
		if !slices.ContainsFunc(after.Workloads, func(w allot.Workload) bool { return w.ID == id }) {
			c.Remove.Workloads = append(c.Remove.Workloads, id)
		}
	}
	return c
}
