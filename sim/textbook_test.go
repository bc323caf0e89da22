package sim_test

import (
	"flag"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
	"github.com/allotsched/allot/sim"
	"github.com/allotsched/allot/sim/trace"
)

var queueing = flag.Bool("sim.queueing", false, "M/M/c over enough jobs for 2%")

// single is a job of so many GPUs on one node.
func single(id string, gpus int, submit, duration time.Duration) sim.Job {
	return sim.Job{
		Workload: allot.Workload{ID: id, Preemption: allot.Preemptible, PodSets: []allot.PodSet{
			{Count: 1, Request: allot.Request{GPU: allot.GPURequest{Count: gpus}}},
		}},
		Submit: submit, Duration: duration,
	}
}

func mustRun(t testing.TB, in *sim.Input, o sim.Options) *sim.Result {
	t.Helper()
	r, err := sim.Run(in, o)
	if err != nil {
		t.Fatal(err)
	}
	lawful(t, in, r)
	return r
}

// TestOneMachine: first in, first out against the shortest job first.
func TestOneMachine(t *testing.T) {
	in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 1)}}
	for i, d := range []time.Duration{6, 2, 4, 1} {
		in.Jobs = append(in.Jobs, single(fmt.Sprint(i), 1, 0, d*time.Second))
	}
	for _, c := range []struct {
		scheduler sim.Scheduler
		mean      string
	}{
		{sim.FIFO(), "9.75"}, // 6 8 12 13
		{sim.SJF(), "6.00"},  // 1 3 7 13
		{sim.SRTF(), "6.00"},
	} {
		r := mustRun(t, in, sim.Options{Scheduler: c.scheduler, Check: true})
		if mean := meanCompletion(r, 2); mean != c.mean || r.Makespan != 13*time.Second {
			t.Errorf("%s: mean %s, makespan %v", c.scheduler.Name, mean, r.Makespan)
		}
	}
}

// TestRemainingPreempts: a shorter job displaces a longer one, which goes on later.
func TestRemainingPreempts(t *testing.T) {
	in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 1)}}
	in.Jobs = []sim.Job{single("0", 1, 0, 10*time.Second), single("1", 1, 4*time.Second, 3*time.Second)}
	r := mustRun(t, in, sim.Options{Scheduler: sim.SRTF(), Check: true})
	if a, b := r.Jobs[0], r.Jobs[1]; a.End != 13*time.Second || b.End != 7*time.Second || a.Evictions != 1 {
		t.Errorf("%+v", r.Jobs)
	}
	in.Jobs[0].Estimate = time.Second // it is thought to be the shorter one until it has run for a second, and after
	if r := mustRun(t, in, sim.Options{Scheduler: sim.SRTF(), Check: true}); r.Jobs[0].End != 10*time.Second || r.Jobs[0].Evictions != 0 {
		t.Errorf("by estimate: %+v", r.Jobs)
	}
}

// erlangC is the mean wait in M/M/c, by mean service times.
func erlangC(c int, load float64) float64 {
	a := load * float64(c)
	term, sum := 1.0, 0.0
	for k := range c {
		sum += term
		term *= a / float64(k+1)
	}
	last := term / (1 - load)
	return last / (sum + last) / (float64(c) * (1 - load))
}

// waits are the waits of single-GPU jobs, first in, first out, on c GPUs: each takes
// the GPU that is free first (Kiefer and Wolfowitz' recursion).
func waits(in *sim.Input, c int) (all []time.Duration) {
	free := make([]time.Duration, c)
	for i := range in.Jobs {
		j := &in.Jobs[i]
		first := 0
		for k := range free {
			if free[k] < free[first] {
				first = k
			}
		}
		start := max(j.Submit, free[first])
		free[first] = start + j.Duration
		all = append(all, start-j.Submit)
	}
	return all
}

// TestQueueingTheory: the mean wait in M/M/c is Erlang's. Over enough jobs for that the
// recursion is quicker than the engine, and the engine agrees with it to the
// nanosecond.
func TestQueueingTheory(t *testing.T) {
	seeds, jobs, within := uint64(10), 30000, 0.06
	if *queueing {
		seeds, within = 600, 0.02
	}
	for _, percent := range []int64{50, 70} {
		t.Run(fmt.Sprint(percent), func(t *testing.T) {
			sum, n := 0.0, 0
			for seed := range seeds {
				in := generate(t, trace.ExponentialMix(time.Hour), trace.Load{Seed: seed, Nodes: 1, Jobs: jobs, Percent: percent})
				for _, wait := range waits(in, 8) {
					sum += wait.Hours()
				}
				n += len(in.Jobs)
			}
			got, want := sum/float64(n), erlangC(8, float64(percent)/100)
			t.Logf("M/M/8 at %d%%, %d jobs: mean wait %.5f services, Erlang's is %.5f", percent, n, got, want)
			if math.Abs(got/want-1) > within {
				t.Errorf("that is off by more than %.0f%%", 100*within)
			}
			in := generate(t, trace.ExponentialMix(time.Hour), trace.Load{Seed: 1, Nodes: 1, Jobs: 3000, Percent: percent})
			r := mustRun(t, in, sim.Options{Scheduler: sim.FIFO(), NoVerify: true, NoReasons: true})
			for i, wait := range waits(in, 8) {
				if r.Jobs[i].Pending != wait {
					t.Fatalf("job %d waits %v, by the recursion %v", i, r.Jobs[i].Pending, wait)
				}
			}
		})
	}
}

func generate(t testing.TB, m trace.Mix, l trace.Load) *sim.Input {
	t.Helper()
	in, err := trace.Generate(m, l)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// TestWorkConservation: with single GPUs no GPU is idle while somebody waits.
func TestWorkConservation(t *testing.T) {
	in := generate(t, trace.ExponentialMix(time.Hour), trace.Load{Seed: 3, Nodes: 1, Jobs: 300, Percent: 120, Tenants: 2})
	for _, s := range append(sim.Presets(), sim.FIFO(), sim.FirstFit(), sim.SJF(), sim.SRTF(), sim.LAS(), sim.FairShare()) {
		r := mustRun(t, in, sim.Options{Scheduler: s, Sample: 13 * time.Minute})
		waited := 0
		for _, row := range r.Rows {
			if row.Queued > 0 {
				waited++
			}
			if row.Queued > 0 && row.Allocated != 8000 {
				t.Errorf("%s at %v: %d wait and %d milli are held", s.Name, row.At, row.Queued, row.Allocated)
			}
		}
		if waited < 10 {
			t.Errorf("%s: only in %d rows somebody waits", s.Name, waited)
		}
		if r.Allocated != r.Used {
			t.Errorf("%s: what is held does not work, though nothing costs anything", s.Name)
		}
	}
}

// TestSameBytes: the same seed does the same at any GOMAXPROCS, with reasons or
// without.
func TestSameBytes(t *testing.T) {
	in := soakInput(t, 5, 4, 150, 5*24*time.Hour)
	o := soakOptions(5)
	want := mustRun(t, in, o)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	again := mustRun(t, soakInput(t, 5, 4, 150, 5*24*time.Hour), o)
	if !reflect.DeepEqual(again, want) {
		t.Error("it did something else the second time")
	}
	o.NoVerify, o.NoReasons, o.Check = true, true, false
	if fast := mustRun(t, in, o); fast.Trail != want.Trail {
		t.Error("without reasons it does something else")
	}
	o.Seed++
	if other := mustRun(t, in, o); other.Seed == want.Seed {
		t.Error("the seed is not in the result")
	}
}

// queueOf is a queue with a quota of GPUs.
func queueOf(id string, gpus int64) allot.Queue {
	return allot.Queue{ID: id, Resources: []allot.QueueResource{{Resource: allot.GPU, Quota: quota.Of(1000 * gpus)}}}
}

// TestStaticPartition: each queue has its quota and no more, and one without a quota nothing of
// what others were given; where there are no quotas there is no partition.
func TestStaticPartition(t *testing.T) {
	in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 4)}}
	in.Cluster.Queues = []allot.Queue{queueOf("a", 2), {ID: "b", Parent: "both"}, {ID: "both"}}
	in.Jobs = []sim.Job{single("b", 4, 0, 100*time.Second), single("a", 1, time.Second, 100*time.Second)}
	in.Jobs[0].Workload.Queue, in.Jobs[1].Workload.Queue = "b", "a"
	o := sim.Options{Scheduler: sim.StaticPartition(), Check: true}
	if r := mustRun(t, in, o); r.Jobs[0].Starts != 0 || r.Jobs[1].FirstStart != time.Second {
		t.Errorf("b without a quota started %d times, a at %v", r.Jobs[0].Starts, r.Jobs[1].FirstStart)
	}
	large := queueOf("b", 4)
	large.Parent = "both"
	in.Changes = []sim.Change{{At: 50 * time.Second, Kind: sim.QueueSet, Queue: &large}}
	if r := mustRun(t, in, o); r.Jobs[0].FirstStart != 101*time.Second {
		t.Errorf("b with a quota from 50 s on started at %v", r.Jobs[0].FirstStart)
	}
	in.Changes, in.Cluster.Queues[0].Resources = nil, nil
	if r := mustRun(t, in, o); r.Jobs[0].FirstStart != 0 || r.Jobs[1].FirstStart != 100*time.Second {
		t.Errorf("without quotas b started at %v, a at %v", r.Jobs[0].FirstStart, r.Jobs[1].FirstStart)
	}
	in.Changes = []sim.Change{{At: 0, Kind: sim.QueueSet, Queue: &allot.Queue{ID: "a", Resources: queueOf("a", 2).Resources}}}
	if r := mustRun(t, in, o); r.Jobs[0].Starts != 0 {
		t.Errorf("b without a quota started %d times when a had one from 0 s on", r.Jobs[0].Starts)
	}
}

// TestAtOnce: of two jobs that are submitted at once the one with the lower ID comes first, under
// every scheduler, in whatever order they are listed.
func TestAtOnce(t *testing.T) {
	for _, s := range sim.Schedulers() {
		in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 4)}}
		in.Jobs = []sim.Job{single("b", 4, 0, 100*time.Second), single("a", 4, 0, 100*time.Second), single("c", 4, 0, 100*time.Second)}
		r := mustRun(t, in, sim.Options{Scheduler: s, Check: true})
		if r.Jobs[1].FirstStart != 0 || r.Jobs[0].FirstStart != 100*time.Second || r.Jobs[2].FirstStart != 200*time.Second {
			t.Errorf("%s: a starts at %v, b at %v, c at %v", s.Name, r.Jobs[1].FirstStart, r.Jobs[0].FirstStart, r.Jobs[2].FirstStart)
		}
	}
}
