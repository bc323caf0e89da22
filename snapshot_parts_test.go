package allot_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
)

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
