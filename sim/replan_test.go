package sim

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
)

// TestDecideAnewIsSolveAnew: what the library decides of what has changed is what it
// solves of everything, and everything waiting.
func TestDecideAnewIsSolveAnew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := &Input{}
		for i := range 2 {
			n := allot.Node{ID: string(rune('m' + i)), Devices: make([]allot.Device, 4)}
			in.Cluster.Nodes = append(in.Cluster.Nodes, n)
		}
		in.Cluster.Queues = []allot.Queue{{ID: "q", Resources: []allot.QueueResource{{Resource: allot.GPU, Quota: quota.Of(1000)}}}}
		seconds := func(most int, label string) time.Duration {
			return time.Duration(rapid.IntRange(0, most).Draw(t, label)) * time.Second
		}
		for i := range rapid.IntRange(1, 25).Draw(t, "jobs") {
			in.Jobs = append(in.Jobs, Job{
				Submit: seconds(3000, "submit"), Duration: time.Second + seconds(4000, "duration"), CancelAfter: seconds(4000, "cancel"),
				Workload: allot.Workload{ID: string(rune('a' + i)), Queue: "q", PodSets: []allot.PodSet{
					{Count: rapid.IntRange(1, 3).Draw(t, "tasks"), Request: allot.Request{GPU: allot.GPURequest{Count: rapid.IntRange(0, 3).Draw(t, "gpus")}}},
				}},
			})
		}
		in.Changes = []Change{{At: seconds(3000, "change"), Kind: QueueSet, Queue: &in.Cluster.Queues[0]}}
		o := Options{Scheduler: LAS(), Costs: Costs{Start: seconds(40, "start"), Grace: seconds(30, "grace"), Loses: true}, Check: true}
		var trails []string
		for _, anew := range []bool{false, true} {
			e, err := newEngine(in, o)
			if err != nil {
				t.Fatal(err)
			}
			if anew {
				e.solve = e.solveAnew
			}
			if err := e.run(); err != nil {
				t.Fatal(err)
			}
			trails = append(trails, e.result().Trail)
		}
		if trails[0] != trails[1] {
			t.Errorf("trails are %v", trails)
		}
	})
}

// TestLabels: labels rise with the order, and where a job comes, goes or takes another
// place, only one gets another label, as long as there is room.
func TestLabels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l labels
		var order []*job
		spreads, steps := 0, rapid.IntRange(1, 300).Draw(t, "steps")
		for range steps {
			j := new(job)
			if len(order) > 0 && rapid.IntRange(0, 2).Draw(t, "who") > 0 {
				at := rapid.IntRange(0, len(order)-1).Draw(t, "from")
				j = order[at]
				order = slices.Delete(order, at, at+1)
			}
			before := make(map[*job]int64)
			for _, other := range append(order, j) {
				before[other] = other.label
			}
			if to := rapid.SampledFrom([]int{-1, 0, len(order) / 2, len(order)}).Draw(t, "to"); to >= 0 {
				order = slices.Insert(order, to, j)
			}
			l.renew(order)
			changed := 0
			for i, other := range order {
				if other.label != before[other] {
					changed++
				}
				if other.label <= 0 || other.label >= mostLabel || i > 0 && other.label <= order[i-1].label {
					t.Fatalf("label %d is %d", i, other.label)
				}
			}
			if changed > 1 {
				spreads++
			}
		}
		if spreads > 1+steps/20 {
			t.Errorf("%d times in %d all were labelled anew", spreads, steps)
		}
	})
}
