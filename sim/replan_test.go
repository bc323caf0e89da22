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
					{Name: rapid.SampledFrom([]string{"", "x"}).Draw(t, "name"), Count: rapid.SampledFrom([]int{1, 1, 1, 2}).Draw(t, "tasks"), Min: rapid.IntRange(0, 1).Draw(t, "least"), Request: rapid.SampledFrom(shapes).Draw(t, "shape")},
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
					e.ranking = restless{e.ranking}
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

// TestNothingRestsForFewerTasks: who comes behind those that stand, asks more than they leave and would
// do with less starts with that at once.
func TestNothingRestsForFewerTasks(t *testing.T) {
	one := allot.Request{GPU: allot.GPURequest{Count: 1}}
	job := func(id string, at, takes time.Duration, set allot.PodSet) Job {
		return Job{Submit: at, Duration: takes, Workload: allot.Workload{ID: id, PodSets: []allot.PodSet{set}}}
	}
	in := &Input{Cluster: allot.State{Nodes: []allot.Node{{ID: "n", Devices: make([]allot.Device, 2)}}}, Jobs: []Job{
		job("a", 0, 100*time.Second, allot.PodSet{Count: 1, Request: one}),
		job("b", time.Second, 1000*time.Second, allot.PodSet{Count: 2, Min: 1, Request: one}),
	}}
	for _, scheduler := range []Scheduler{SRTF(), SRSF()} {
		r, err := Run(in, Options{Scheduler: scheduler, NoVerify: true, NoReasons: true})
		if err != nil {
			t.Fatal(err)
		}
		if b := &r.Jobs[1]; b.Starts == 0 || b.FirstStart != time.Second {
			t.Errorf("%s: b starts at %v", scheduler.Name, b.FirstStart)
		}
	}
}

// restless is a ranking by which every decision is asked for.
type restless struct{ ranking }

func (r restless) order(e *engine) ([]*job, error) {
	e.replanner.rest.number = 0
	return r.ranking.order(e)
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

// TestRests: whoever comes behind all who run and finds nothing left costs no solve, nor does
// who goes from there; who comes before them, and whatever happens to a node, does.
func TestRests(t *testing.T) {
	in := &Input{Cluster: allot.State{Nodes: []allot.Node{{ID: "n", Devices: make([]allot.Device, 2)}}}}
	submit := func(id string, at, duration, cancel time.Duration) {
		in.Jobs = append(in.Jobs, Job{
			Workload: allot.Workload{ID: id, PodSets: []allot.PodSet{{Count: 1, Request: allot.Request{GPU: allot.GPURequest{Count: 2}}}}},
			Submit:   at * time.Second, Duration: duration * time.Second, CancelAfter: cancel * time.Second,
		})
	}
	submit("a", 0, 100, 0)                                                   // a solve as it comes, and one as it ends
	submit("b", 10, 200, 0)                                                  // waits
	submit("c", 20, 300, 5)                                                  // waits and gives up
	submit("d", 30, 10, 0)                                                   // goes before a: a solve, and one as it ends
	in.Changes = []Change{{At: 50 * time.Second, Kind: Uncordon, Node: "n"}} // a solve
	e, err := newEngine(in, Options{Scheduler: SRTF(), NoVerify: true, NoReasons: true})
	if err != nil {
		t.Fatal(err)
	}
	solves, solve := 0, e.replanner.solve
	e.replanner.solve = func(order []*job) (*allot.Plan, error) {
		solves++
		return solve(order)
	}
	if err := e.run(); err != nil {
		t.Fatal(err)
	}
	r := e.result()
	if r.Decisions != 9 || solves != 6 || r.Actions != 8 || r.Jobs[1].End != 310*time.Second {
		t.Errorf("%d solves of %d decisions, %d actions, b ends at %v", solves, r.Decisions, r.Actions, r.Jobs[1].End)
	}
}
