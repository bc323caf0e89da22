package sim

import (
	"fmt"
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// twoQueues are a load of two queues on a node of 8 GPUs: a is alone for an hour, from then
// on b wants everything as well.
func twoQueues(policy allot.Policy) *Input {
	in := &Input{Cluster: allot.State{
		Nodes: []allot.Node{{ID: "n", Devices: make([]allot.Device, 8), Capacity: map[string]int64{allot.CPU: 64000}}},
		Pools: []allot.Pool{{ID: "p", Policy: policy}},
	}}
	for k, q := range []string{"a", "b"} {
		in.Cluster.Queues = append(in.Cluster.Queues, allot.Queue{ID: q, Parent: "both", Resources: []allot.QueueResource{
			{Resource: allot.GPU, Quota: quota.Of(0), Weight: quota.Of(1)}, {Resource: allot.CPU, Quota: quota.Of(0), Weight: quota.Of(1)},
		}})
		for i := range 8 {
			in.Jobs = append(in.Jobs, Job{Submit: time.Duration(k) * time.Hour, Duration: 100 * time.Hour, Workload: allot.Workload{
				ID: fmt.Sprintf("%s%d", q, i), Queue: q, Preemption: allot.Preemptible, PodSets: []allot.PodSet{{Count: 1, Request: allot.Request{
					GPU: allot.GPURequest{Count: 1}, Resources: map[string]int64{allot.CPU: 2000},
				}}},
			}})
		}
	}
	in.Cluster.Queues = append(in.Cluster.Queues, allot.Queue{ID: "both", Resources: in.Cluster.Queues[0].Resources})
	return in
}

// TestUsageIsFed: what the library is told is what a history says that is told of what
// queues held over time, and there is a decision at each of its ticks (B12).
func TestUsageIsFed(t *testing.T) {
	in := twoQueues(allot.Policy{UsageStrengthMilli: 1000, UsagePeriod: quota.Of(3600)})
	before := in.Hash()
	e, err := newEngine(in, Options{Until: 3 * time.Hour, Sample: time.Minute, NoVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.run(); err != nil {
		t.Fatal(err)
	}
	if in.Hash() != before {
		t.Error("the input was changed")
	}
	if len(e.usage.meters) != 6 {
		t.Fatalf("%d histories", len(e.usage.meters))
	}
	for k := 1; k < len(e.meter.rows); k++ {
		if row := e.meter.rows[k]; row.At == 59*time.Minute && (row.Queues[0].Held != 8000 || row.Queues[1].Held != 0) ||
			row.At == 61*time.Minute && (row.Queues[0].Held != 0 || row.Queues[1].Held != 8000) {
			t.Errorf("at %v: %+v", row.At, row.Queues)
		}
	}
	for _, m := range e.usage.meters {
		id := in.Cluster.Queues[m.queue].ID
		full := int64(8000)
		if m.resource == allot.CPU {
			full = 64000
		}
		if m.capacity != full {
			t.Errorf("%s has a capacity of %d %s", id, m.capacity, m.resource)
		}
		held := int64(0)
		for _, j := range e.jobs {
			if q := j.Workload.Queue; j.held > 0 && (q == id || id == "both") {
				held += full / 8
				if m.resource == allot.CPU {
					held += 2000 - full/8
				}
			}
		}
		if m.held != held {
			t.Errorf("%s holds %d %s by its meter, and %d", id, m.held, m.resource, held)
		}
		if m.history.Until() != micros(e.now) {
			t.Errorf("the history of %s ends at %d", id, m.history.Until())
		}
	}
	a, b := e.usage.meters[0].history.Usage(), e.usage.meters[2].history.Usage()
	both := e.usage.meters[4].history.Usage()
	if a.Capacity != b.Capacity || a.Used+b.Used < both.Used*999/1000 || a.Used+b.Used > both.Used*1001/1000 || both.Used != both.Capacity {
		t.Errorf("a %+v, b %+v, both %+v", a, b, both)
	}
	// The gap falls to a quarter per half-life at least: from all of it at one hour to an
	// eighth of the capacity two hours later, to the GPU.
	if gap := (a.Used - b.Used) * 8 / a.Capacity; gap < -1 || gap > 1 {
		t.Errorf("the gap is %d eighths: a %+v, b %+v", gap, a, b)
	}
	told := e.library.state.Queues[0].Resources[0].Usage
	if told.Capacity == 0 || told == (fairshare.Usage{}) {
		t.Errorf("the library was told %+v", told)
	}
	if e.meter.decisions < 120 { // 64 ticks an hour, for two hours
		t.Errorf("%d decisions", e.meter.decisions)
	}
}

// TestUsageByHand: a queue that has held 8 of 8 GPUs for a half-life of 64 s, of which a tick
// is a second, was told so, to the unit.
func TestUsageByHand(t *testing.T) {
	in := twoQueues(allot.Policy{UsageStrengthMilli: 1, UsagePeriod: quota.Of(64)})
	in.Jobs = in.Jobs[:9]
	in.Jobs[8].Submit = 10 * time.Second // one of b: until then there is no reason to decide
	e, err := newEngine(in, Options{Until: 10 * time.Second, NoVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.run(); err != nil {
		t.Fatal(err)
	}
	want := fairshare.NewHistory(fairshare.HalfLife, 64_000_000, micros(0)).Add(micros(10*time.Second), 8000, 8000).Usage()
	if got := e.library.state.Queues[0].Resources[0].Usage; got != want || got.Used != got.Capacity {
		t.Errorf("a has used %+v, and was told %+v", want, got)
	}
	if got := e.library.state.Queues[1].Resources[0].Usage; got.Used != 0 || got.Capacity != want.Capacity {
		t.Errorf("b was told %+v", got)
	}
}

// TestNoFeedWithoutStrength: where no policy goes by it the library is told nothing.
func TestNoFeedWithoutStrength(t *testing.T) {
	e, err := newEngine(twoQueues(allot.Policy{UsagePeriod: quota.Of(3600)}), Options{Until: 3 * time.Hour, NoVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.run(); err != nil {
		t.Fatal(err)
	}
	if len(e.usage.meters) > 0 || e.library.state.Queues[0].Resources[0].Usage != (fairshare.Usage{}) || e.meter.decisions > 20 {
		t.Errorf("%d meters, %d decisions", len(e.usage.meters), e.meter.decisions)
	}
}

// TestUsageOfQueuesThatSayNothing: what the jobs of a queue hold that names no resources counts
// above it, and for itself from the start once it names some.
func TestUsageOfQueuesThatSayNothing(t *testing.T) {
	in := twoQueues(allot.Policy{UsageStrengthMilli: 1, UsagePeriod: quota.Of(64)})
	named := in.Cluster.Queues[0]
	named.Resources = []allot.QueueResource{{Resource: allot.GPU, Quota: quota.Of(0)}}
	in.Cluster.Queues[0].Resources, in.Cluster.Queues[1].Resources = nil, nil
	in.Jobs = in.Jobs[:9]
	in.Jobs[8].Submit = 10 * time.Second
	in.Changes = []Change{{At: 9 * time.Second, Kind: QueueSet, Queue: &named}}
	e, err := newEngine(in, Options{Until: 10 * time.Second, NoVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.run(); err != nil {
		t.Fatal(err)
	}
	want := fairshare.NewHistory(fairshare.HalfLife, 64_000_000, micros(0)).Add(micros(10*time.Second), 8000, 8000).Usage()
	for _, i := range []int{0, 2} {
		q := &e.library.state.Queues[i]
		if got := q.Resources[0].Usage; got != want {
			t.Errorf("%s has used %+v, and was told %+v", q.ID, want, got)
		}
	}
}

// TestHeldIsCharged: a has one of two GPUs for two hours, and b the other for one; g of queue c asks both
// and is promised the end of a. From one hour on the other is kept idle for it, and c's history has
// that, until it starts (B4, B12).
func TestHeldIsCharged(t *testing.T) {
	for _, charged := range []bool{false, true} {
		in := &Input{Cluster: allot.State{
			Nodes: []allot.Node{{ID: "n", Devices: make([]allot.Device, 2)}},
			Pools: []allot.Pool{{ID: "p", Policy: allot.Policy{
				UsageStrengthMilli: 1000, UsagePeriod: quota.Of(3600), Reserve: allot.ReservePolicy{Backfill: queue.EASY, ChargeHeld: charged},
			}}},
		}}
		for i, q := range []string{"a", "b", "c"} {
			in.Cluster.Queues = append(in.Cluster.Queues, allot.Queue{ID: q, Resources: []allot.QueueResource{{Resource: allot.GPU, Quota: quota.Of(2000), Weight: quota.Of(1)}}})
			long, count := time.Duration(2-i%2)*time.Hour, 1+i/2
			in.Jobs = append(in.Jobs, Job{Submit: time.Duration(i) * time.Minute, Duration: long, Workload: allot.Workload{
				ID: q, Queue: q, Duration: quota.Of(int64(long / time.Second)), Preemption: allot.NonPreemptible,
				PodSets: []allot.PodSet{{Count: count, Request: allot.Request{GPU: allot.GPURequest{Count: 1}}}},
			}})
		}
		for i, until := range []time.Duration{90 * time.Minute, 150 * time.Minute} {
			e, err := newEngine(in, Options{Until: until, NoVerify: true})
			if err != nil {
				t.Fatal(err)
			}
			if err := e.run(); err != nil {
				t.Fatal(err)
			}
			want := int64(2000 * i)
			if charged && i == 0 {
				want = 1000
			}
			if m := e.usage.meters[2]; m.held != want {
				t.Errorf("charged %v: at %v c holds %d", charged, until, m.held)
			}
			if used := e.usage.meters[2].history.Usage().Used; i == 0 && used > 0 != charged {
				t.Errorf("charged %v: c has used %d", charged, used)
			}
		}
	}
}
