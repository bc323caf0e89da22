package sim_test

import (
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
	"github.com/allotsched/allot/sim"
	"github.com/allotsched/allot/sim/trace"
)

// lawful checks what must be true of every result: what is held and what is idle is what
// is usable, jobs hold what is held, who is done has done his work, and no time is negative.
func lawful(t testing.TB, in *sim.Input, r *sim.Result) {
	t.Helper()
	all, held := r.Allocated, sim.Sum{}
	for _, s := range r.Idle {
		all = all.Plus(s)
	}
	if all != r.Usable {
		t.Errorf("held and idle are %s GPU-seconds, usable are %s", all.GPUSeconds(), r.Usable.GPUSeconds())
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		sum := row.Allocated
		for _, n := range row.Idle {
			if sum += n; n < 0 {
				t.Errorf("at %v %d milli-GPU are idle", row.At, n)
			}
		}
		if sum != row.Usable || row.Used > row.Allocated {
			t.Errorf("at %v held and idle are %d, usable are %d, used are %d", row.At, sum, row.Usable, row.Used)
		}
	}
	for i := range r.Jobs {
		j := &r.Jobs[i]
		held = held.Plus(j.Held())
		if min(j.CompletionTime(), j.QueueingDelay(), j.Pending, j.FirstStart, j.End, j.CompletionTime()-j.Pending) < 0 {
			t.Errorf("a time is negative: %+v", j)
		}
		if p := in.Jobs[i].Workload.PodSets; j.Outcome == sim.Done && j.Tasks == 1 && p[0].Request.GPU.Memory == 0 && in.Jobs[i].ModelSpeed == nil && worked(j) != j.GPUs {
			t.Errorf("job %s of %v did %s GPU-seconds", j.Workload.ID, j.Duration, j.Useful.GPUSeconds())
		}
	}
	if held != r.Allocated {
		t.Errorf("jobs held %s GPU-seconds, the cluster counts %s", held.GPUSeconds(), r.Allocated.GPUSeconds())
	}
	for i := range r.Queues {
		for _, d := range r.Queues[i].Owed {
			if d <= 0 || d > r.End {
				t.Errorf("queue %s waited %v", r.Queues[i].ID, d)
			}
		}
	}
}

// worked is the useful work of a job by its duration, in milli-GPU.
func worked(j *sim.JobResult) int64 {
	rat, _ := new(big.Rat).SetString(j.Useful.GPUSeconds().Text(15))
	seconds, _ := new(big.Rat).SetString(sim.Seconds(j.Duration).Text(15))
	rat.Mul(rat, big.NewRat(1000, 1)).Quo(rat, seconds).Add(rat, big.NewRat(1, 2))
	return new(big.Int).Quo(rat.Num(), rat.Denom()).Int64()
}

// idleSeconds are the GPU-seconds that were idle by cause, as far as there are some.
func idleSeconds(r *sim.Result) string {
	var list []string
	for i, c := range sim.Causes() {
		if r.Idle[i] != (sim.Sum{}) {
			list = append(list, c.String()+" "+gpuSeconds(r.Idle[i]))
		}
	}
	return strings.Join(list, ", ")
}

// TestIdleByCause: GPUs are idle by the cause that there is from the decision on, and
// what has just started is not idle.
func TestIdleByCause(t *testing.T) {
	one := func() *sim.Input { return &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 1)}} }
	for _, c := range []struct {
		name string
		in   func() *sim.Input
		o    sim.Options
		want string
	}{
		{"one job", func() *sim.Input {
			in := one()
			in.Jobs = []sim.Job{single("a", 1, 0, 100*second)}
			return in
		}, sim.Options{}, ""},
		{"a run-up and a gap", func() *sim.Input {
			in := one()
			in.Jobs = []sim.Job{single("a", 1, 30*second, 100*second), single("b", 1, 200*second, 10*second)}
			return in
		}, sim.Options{}, "no-demand 100"},
		{"too few and pieces", func() *sim.Input {
			// a holds 1 of 2 GPUs on the first node up to 100 s; b asks 2 on one node of 2 × 2.
			in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(2, 2)}}
			in.Jobs = []sim.Job{single("a", 1, 0, 100*second), single("a2", 2, 0, 50*second), single("b", 2, 0, 10*second)}
			// b waits to 50 s with 1 GPU free: too few. From 50 to 60 s it runs, 1 idle; to
			// 100 s 3 are idle as nobody waits.
			return in
		}, sim.Options{Scheduler: sim.FirstFit()}, "no-demand 130, too-few 50"},
		{"in pieces", func() *sim.Input {
			in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(2, 2)}}
			in.Jobs = []sim.Job{single("a", 1, 0, 100*second), single("b", 1, 0, 10*second), single("c", 1, 0, 100*second), single("d", 2, 20*second, 10*second)}
			// From 20 s a GPU is free on each node, and d waits for two on one of them to 100 s.
			return in
		}, sim.Options{Scheduler: sim.FirstFit()}, "no-demand 50, pieces 160"},
		{"until free", func() *sim.Input { return reclaimed(sim.Costs{Grace: 20 * second}) }, sim.Options{}, ""},
		{"decided late", func() *sim.Input {
			in := one()
			in.Jobs = []sim.Job{single("a", 1, 3*second, 10*second)}
			return in // decided at 5 s, there at 7 s
		}, sim.Options{Period: 5 * second, Latency: 2 * second}, "no-demand 3, untold 4"},
		{"never asked", func() *sim.Input {
			in := one()
			in.Jobs = []sim.Job{single("a", 2, 0, 10*second), single("b", 1, 0, 10*second), single("c", 1, 20*second, 10*second)}
			return in // a can never run
		}, sim.Options{NoReasons: true}, "untold 10"},
		{"impossible", func() *sim.Input {
			in := one()
			in.Jobs = []sim.Job{single("a", 2, 0, 10*second), single("b", 1, 0, 10*second), single("c", 1, 20*second, 10*second)}
			return in
		}, sim.Options{}, "impossible 10"},
		{"evicted", func() *sim.Input {
			// At 10 s z comes, x goes to the other node, and y finds two GPUs and one; w asks a
			// node of 8. At 30 s y is back.
			in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(2, 4)}}
			in.Jobs = []sim.Job{single("x", 3, 0, 100*second), single("y", 3, 0, 100*second), single("z", 2, 10*second, 20*second), single("w", 8, 20*second, second)}
			return in
		}, sim.Options{Scheduler: sim.SRTF()}, "no-demand 20, pieces 60, impossible 240"},
		{"free since the last decision", func() *sim.Input {
			in := one()
			in.Jobs = []sim.Job{single("x", 1, second, 100*second), single("y", 1, 5*second, 10*second)}
			return in // x from 32 s to 132 s, y from 152 s
		}, sim.Options{Period: 30 * second, Latency: 2 * second}, "no-demand 1, untold 51"},
		{"free before it as well", func() *sim.Input {
			in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 3)}}
			in.Jobs = []sim.Job{single("x", 1, 0, 40*second), single("x2", 1, 0, 100*second), single("y", 3, 0, 10*second)}
			// One is free to 40 s, two to 60 s, of which one is news, two to 100 s, three to 120 s.
			return in
		}, sim.Options{Scheduler: sim.FirstFit(), Period: 30 * second}, "too-few 180, untold 40"},
		{"free on the way", func() *sim.Input {
			in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 3)}}
			in.Jobs = []sim.Job{single("x", 1, 0, 25*second), single("x2", 1, 0, 100*second), single("y", 3, 0, 10*second), single("z", 1, 20*second, 10*second)}
			// x and x2 are there at 10 s, which is the first that y is told; z comes at 20 s and is there
			// from 40 s to 50 s. That x ends at 35 s is news up to 60 s, that z does as well. Two are
			// free up to 110 s, three up to 130 s, where one is news.
			return in
		}, sim.Options{Scheduler: sim.FirstFit(), Period: 30 * second, Latency: 10 * second}, "too-few 150, untold 105"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.Check, c.o.Sample = true, 7*second
			if got := idleSeconds(mustRun(t, c.in(), c.o)); got != c.want {
				t.Errorf("idle are %q, not %q", got, c.want)
			}
		})
	}
}

// TestCordoned: what jobs hold on a cordoned node is usable for as long as they hold it.
func TestCordoned(t *testing.T) {
	in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(3, 4)}}
	for _, id := range []string{"a", "b", "c"} {
		in.Jobs = append(in.Jobs, single(id, 3, 0, 100*second))
	}
	for _, node := range []string{"node-0", "node-1"} {
		in.Changes = append(in.Changes, sim.Change{At: 10 * second, Kind: sim.Cordon, Node: node})
	}
	in.Changes = append(in.Changes, sim.Change{At: 150 * second, Kind: sim.Uncordon, Node: "node-0"})
	in.Jobs = append(in.Jobs, single("d", 1, 190*second, 10*second))
	r := mustRun(t, in, sim.Options{Check: true, Sample: 10 * second})
	// 12 GPUs for 10 s, 3 + 3 + 4 to 100 s, 4 to 150 s, 8 to 200 s.
	if got := gpuSeconds(r.Usable); got != "1620" || r.Rows[2].Usable != 10000 || r.Rows[2].Allocated != 9000 {
		t.Errorf("usable are %s GPU-seconds, at 20 s %d of %d are held", got, r.Rows[2].Allocated, r.Rows[2].Usable)
	}
}

// TestNodesOfNoPool: what no pool has may be given to nobody, and so is not idle either.
func TestNodesOfNoPool(t *testing.T) {
	in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(3, 1)}, Jobs: []sim.Job{single("a", 1, 0, 100*second)}}
	in.Cluster.Nodes[1].Labels = map[string]string{"kind": "fast"}
	fast := placement.Selector{Labels: map[string]string{"kind": "fast"}}
	in.Cluster.Pools = []allot.Pool{{ID: "one", Nodes: allot.NodeSet{IDs: []string{"node-0"}}}, {ID: "two", Nodes: allot.NodeSet{Selector: &fast}}}
	in.Jobs[0].Workload.Pool = "one"
	in.Changes = []sim.Change{{At: 50 * second, Kind: sim.Cordon, Node: "node-2"}} // all is counted again
	r := mustRun(t, in, sim.Options{})
	lawful(t, in, r)
	if gpuSeconds(r.Usable) != "200" || idleSeconds(r) != "no-demand 100" || r.Total != 3000 {
		t.Errorf("usable %s, idle %s, of %d", gpuSeconds(r.Usable), idleSeconds(r), r.Total)
	}
}

// TestMemoryShares: what asks memory holds its part of the device that it is on, so that
// devices of unlike memory are never more than full.
func TestMemoryShares(t *testing.T) {
	in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(2, 1)}}
	in.Cluster.Nodes[0].Devices[0].Memory, in.Cluster.Nodes[1].Devices[0].Memory = 80, 10
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		j := single(id, 0, 0, 100*second)
		j.Workload.PodSets[0].Request.GPU = allot.GPURequest{Memory: 10}
		in.Jobs = append(in.Jobs, j)
	}
	mustRun(t, in, sim.Options{Check: true, Sample: 10 * second})
}

// TestOpenWaits: who waits at the end of the run has waited up to then.
func TestOpenWaits(t *testing.T) {
	in := reclaimed(sim.Costs{})
	in.Cluster.Queues = append(in.Cluster.Queues, allot.Queue{ID: "late"})
	in.Jobs[1].Workload.Queue = "b"
	in.Jobs[1].Submit = 10 * second
	in.Jobs[0].Duration = 5000 * second
	in.Jobs[0].Workload.Preemption = allot.NonPreemptible
	in.Cluster.Queues[0].Resources[0].Quota = quota.Of(4000) // a is within it, and b as well
	in.Jobs = append(in.Jobs, single("c", 1, 2000*second, second))
	in.Jobs[2].Workload.Queue = "late"
	r := mustRun(t, in, sim.Options{Check: true, Until: 1000 * second})
	a, b, c := &r.Jobs[0], &r.Jobs[1], &r.Jobs[2]
	if b.Outcome != sim.Unfinished || b.Pending != 990*second || b.QueueingDelay() != 990*second || b.CompletionTime() != 990*second {
		t.Errorf("b waited %v: %+v", b.Pending, b)
	}
	if owed := r.Queues[1].Owed; len(owed) != 1 || owed[0] != 990*second {
		t.Errorf("b waited for its quota for %v", owed)
	}
	if a.CompletionTime() != 1000*second || gpuSeconds(a.Useful) != "4000" {
		t.Errorf("a ran for %v", a.CompletionTime())
	}
	if c.Outcome != sim.NotSubmitted || c.Submit != 2000*second || c.CompletionTime() != 0 || c.Pending != 0 || len(r.Steady()) != 2 {
		t.Errorf("c is %+v", c)
	}
	if b.Fairness().Text(1) != "9.9" { // 990 s for 50 s on a half of the cluster
		t.Errorf("b has had ρ %s", b.Fairness())
	}
}

// TestOwedByOthers: a queue waits within its quota from when others leave it what the one
// above both has, though nothing happens in it.
func TestOwedByOthers(t *testing.T) {
	in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(2, 2)}}
	top := queueOf("top", 2)
	a, b := queueOf("a", 2), queueOf("b", 2)
	a.Parent, b.Parent = "top", "top"
	in.Cluster.Queues = []allot.Queue{top, a, b, queueOf("other", 2)}
	put := func(id, queue string, gpus int, submit, duration time.Duration) {
		j := single(id, gpus, submit, duration)
		j.Workload.Queue, j.Workload.Preemption = queue, allot.NonPreemptible
		in.Jobs = append(in.Jobs, j)
	}
	put("a", "a", 2, 0, 100*second)
	put("b", "b", 2, 10*second, 50*second)
	put("o1", "other", 1, 0, 300*second)
	put("o2", "other", 1, 0, 200*second)
	r := mustRun(t, in, sim.Options{Check: true, Scheduler: sim.FirstFit(), Period: 130 * second})
	// a runs from 0 s to 100 s. From then on b is within all quotas, and starts at 130 s.
	if owed := r.Queues[2].Owed; len(owed) != 1 || owed[0] != 30*second {
		t.Errorf("b waited for its quota for %v", owed)
	}
}

// TestOwedToMinimum: a queue waits within its quota for what somebody lacks of his minimum, be
// it the rest of a gang that is broken, or the least tasks of an elastic job.
func TestOwedToMinimum(t *testing.T) {
	broken := func() *sim.Input {
		in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(2, 1), Queues: []allot.Queue{queueOf("a", 2)}}}
		in.Jobs = []sim.Job{single("a", 1, 0, 100*second)}
		in.Jobs[0].Workload.PodSets[0].Count, in.Jobs[0].Workload.Queue = 2, "a"
		in.Changes = []sim.Change{{At: 10 * second, Kind: sim.NodeLost, Node: "node-1"}, {At: 100 * second, Kind: sim.NodeBack, Node: "node-1"}}
		return in
	}
	elastic := func() *sim.Input {
		in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 4), Queues: []allot.Queue{queueOf("a", 2), queueOf("b", 2)}}}
		in.Jobs = []sim.Job{single("b", 4, 0, 100*second), single("a", 1, second, 100*second)}
		in.Jobs[0].Workload.Queue, in.Jobs[1].Workload.Queue = "b", "a"
		p := &in.Jobs[1].Workload.PodSets[0]
		p.Count, p.Min = 4, 1
		return in
	}
	grouped := func() *sim.Input { // two of three workers of 1, 2 and 3 GPUs
		in := elastic()
		w := &in.Jobs[1].Workload
		w.Groups = []allot.Group{{Name: "workers", Min: 2}}
		w.PodSets = nil
		for i, name := range []string{"x", "y", "z"} {
			w.PodSets = append(w.PodSets, allot.PodSet{Name: name, Group: "workers", Count: 1, Request: allot.Request{GPU: allot.GPURequest{Count: i + 1}}})
		}
		in.Cluster.Queues[0] = queueOf("a", 3)
		return in
	}
	stale := sim.Preset("stale", allot.Policy{StaleGangGrace: quota.Of(60)}, nil)
	for _, c := range []struct {
		name string
		in   *sim.Input
		s    sim.Scheduler
		want time.Duration
	}{
		{"broken", broken(), sim.FIFO(), 90 * second},
		{"broken and evicted", broken(), stale, 90 * second},
		{"elastic", elastic(), sim.FIFO(), 99 * second},
		{"of a group", grouped(), sim.FIFO(), 99 * second},
	} {
		r := mustRun(t, c.in, sim.Options{Scheduler: c.s, Check: true})
		if owed := r.Queues[0].Owed; len(owed) != 1 || owed[0] != c.want {
			t.Errorf("%s: a waited for its quota for %v, not %v", c.name, owed, c.want)
		}
	}
	in := grouped()
	in.Cluster.Queues[0] = queueOf("a", 2) // two of them ask three
	if owed := mustRun(t, in, sim.Options{Scheduler: sim.FIFO(), Check: true}).Queues[0].Owed; owed != nil {
		t.Errorf("a waited for %v for more than its quota", owed)
	}
}
