package sim

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
)

// TestReplan: what the library decides of what has changed, or solves with neighbours
// as one, is what it solves of every job by itself, and everything waiting.
func TestReplan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := &Input{}
		for i := range 3 {
			n := allot.Node{ID: string(rune('m' + i)), Devices: make([]allot.Device, 1+i), Capacity: map[string]int64{allot.CPU: 2000}}
			in.Cluster.Nodes = append(in.Cluster.Nodes, n)
		}
		in.Cluster.Queues = []allot.Queue{{ID: "q", Resources: []allot.QueueResource{{Resource: allot.GPU, Quota: quota.Of(1000)}}}}
		seconds := func(most int, label string) time.Duration {
			return time.Duration(rapid.IntRange(0, most).Draw(t, label)) * time.Second
		}
		shapes := []allot.Request{
			{GPU: allot.GPURequest{Count: 1}}, {GPU: allot.GPURequest{Count: 1}, Resources: map[string]int64{allot.CPU: 1500}},
			{GPU: allot.GPURequest{Count: 1, Milli: 300}}, {Resources: map[string]int64{allot.CPU: 1000}}, {GPU: allot.GPURequest{Count: 2}},
		}
		for i := range rapid.IntRange(1, 25).Draw(t, "jobs") {
			in.Jobs = append(in.Jobs, Job{
				Submit: seconds(600, "submit"), Duration: time.Second + seconds(4000, "duration"), CancelAfter: seconds(4000, "cancel"),
				Workload: allot.Workload{ID: string(rune('a' + i)), Queue: "q", PodSets: []allot.PodSet{
					{Name: rapid.SampledFrom([]string{"", "x"}).Draw(t, "name"), Count: rapid.SampledFrom([]int{1, 1, 1, 2}).Draw(t, "tasks"), Request: rapid.SampledFrom(shapes).Draw(t, "shape")},
				}},
			})
		}
		in.Changes = []Change{{At: seconds(3000, "change"), Kind: QueueSet, Queue: &in.Cluster.Queues[0]}, {At: seconds(3000, "lost"), Kind: NodeLost, Node: "n"}}
		o := Options{Costs: Costs{Start: seconds(40, "start"), Grace: seconds(30, "grace"), Loses: true}, Check: rapid.Bool().Draw(t, "check")}
		if rapid.Bool().Draw(t, "free") {
			o.Costs = Costs{}
		}
		o.NoVerify, o.NoReasons = !o.Check, !o.Check
		for _, o.Scheduler = range []Scheduler{SRTF(), SRSF(), LAS()} {
			var trails []string
			for _, plain := range []bool{false, true} {
				e, err := newEngine(in, o)
				if err != nil {
					t.Fatal(err)
				}
				if plain {
					e.replanner.solve = e.replanner.solveSingly
				}
				if err := e.run(); err != nil {
					t.Fatal(err)
				}
				trails = append(trails, e.result().Trail)
			}
			if trails[0] != trails[1] {
				t.Errorf("%s: trails are %v", o.Scheduler.Name, trails)
			}
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
