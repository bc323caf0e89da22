package allot

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/quota"
)

// The contention shapes of DESIGN §4: full clusters in which room has to be
// made. Each run checks how many tasks start and how many go, so that no shape
// is fast because nothing happens.

// A crowd is a state under construction.
type crowd struct{ State }

func newCrowd(nodes, gpus int, cpu int64) *crowd {
	c := &crowd{State{Now: time.Unix(1_700_000_000, 0)}}
	for i := range nodes {
		c.Nodes = append(c.Nodes, Node{
			ID: fmt.Sprintf("node-%05d", i), Capacity: map[string]int64{CPU: cpu}, Devices: make([]Device, gpus),
		})
	}
	c.Pools = []Pool{{ID: "p"}}
	return c
}

func (c *crowd) queue(id, resource string, amount int64) {
	c.Queues = append(c.Queues, Queue{ID: id, Resources: []QueueResource{{Resource: resource, Quota: quota.Of(amount)}}})
}

// wait adds a workload of alike tasks that waits.
func (c *crowd) wait(queue string, tasks int, priority int32, r Request) *Workload {
	n := len(c.Workloads)
	c.Workloads = append(c.Workloads, Workload{
		ID: fmt.Sprintf("workload-%06d", n), Queue: queue, Priority: priority,
		Submitted: c.Now.Add(time.Duration(n*7919%100_003-200_000) * time.Second),
		PodSets:   []PodSet{{Count: tasks, Request: r}},
	})
	return &c.Workloads[n]
}

// run adds a workload of one task that runs on a node, on these devices.
func (c *crowd) run(queue string, priority int32, r Request, node int, devices ...int) {
	w := c.wait(queue, 1, priority, r)
	w.Tasks = []Task{{
		Node: c.Nodes[node].ID, Devices: devices,
		Since: w.Submitted.Add(time.Duration(len(c.Workloads)*104_729%7919) * time.Second),
	}}
}

func wholeGPUs(n int) Request { return Request{GPU: GPURequest{Count: n}} }

// benchRoom times Decide and Solve, and counts what starts and what goes.
func benchRoom(b *testing.B, s *State, starts, goes int) {
	b.Run("decide", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			b.StopTimer()
			w := mustWorld(b, s)
			runtime.GC()
			b.StartTimer()
			d, err := w.solve(context.Background())
			if err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			checkRoom(b, d, starts, goes)
			b.StartTimer()
		}
	})
	b.Run("solve", func(b *testing.B) {
		for range b.N {
			if _, err := Solve(s); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func checkRoom(b *testing.B, d *decision, starts, goes int) {
	started, gone := 0, 0
	for i := range d.actions {
		switch a := &d.actions[i]; a.kind {
		case Start, Resize:
			started += int(a.to - a.from)
		case Evict, Shrink, Move:
			gone += int(a.to - a.from)
		}
	}
	if started != starts || gone != goes {
		b.Fatalf("%d tasks start and %d go, want %d and %d", started, gone, starts, goes)
	}
}

// BenchmarkReclaimGang is one gang of n/10 whole nodes that reclaims from 8n
// single-GPU jobs of another queue on n nodes.
func BenchmarkReclaimGang(b *testing.B) {
	for _, n := range []int{100, 500, 1000} {
		c := newCrowd(n, 8, 0)
		c.queue("have", GPU, 0)
		c.queue("want", GPU, int64(n)*8*wholeDevice)
		for i := range 8 * n {
			c.run("have", 0, wholeGPUs(1), i*31%n, i/n)
		}
		c.wait("want", n/10, 0, wholeGPUs(8))
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) { benchRoom(b, &c.State, n/10, 8*(n/10)) })
	}
}

// BenchmarkReclaimSingles is 8n running singles of one queue against 8n pending
// ones of another of the same quota, half the cluster each.
func BenchmarkReclaimSingles(b *testing.B) {
	for _, n := range []int{100, 1000} {
		c := newCrowd(n, 8, 0)
		c.queue("have", GPU, int64(n)*4*wholeDevice)
		c.queue("want", GPU, int64(n)*4*wholeDevice)
		for i := range 8 * n {
			c.run("have", 0, wholeGPUs(1), i%n, i/n)
			c.wait("want", 1, 0, wholeGPUs(1))
		}
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) { benchRoom(b, &c.State, 4*n, 4*n) })
	}
}

// BenchmarkReclaimCores is 1,000 nodes × 32 cores: 32,000 running of one queue
// against 32,000 pending of another of the same weight.
func BenchmarkReclaimCores(b *testing.B) {
	const n, cores = 1000, 32
	c := newCrowd(n, 0, cores*1000)
	c.queue("have", CPU, n*cores*500)
	c.queue("want", CPU, n*cores*500)
	core := Request{Resources: map[string]int64{CPU: 1000}}
	for i := range n * cores {
		c.run("have", 0, core, i%n)
		c.wait("want", 1, 0, core)
	}
	b.Run("nodes=1000/cores=32", func(b *testing.B) { benchRoom(b, &c.State, n*cores/2, n*cores/2) })
}

// BenchmarkHopelessGang is a gang that needs 80 GPUs where 79 may be taken.
func BenchmarkHopelessGang(b *testing.B) {
	for _, n := range []int{100, 1000} {
		c := newCrowd(n, 8, 0)
		c.queue("have", GPU, int64(8*n-79)*wholeDevice)
		c.queue("want", GPU, 80*wholeDevice)
		for i := range 8 * n {
			c.run("have", 0, wholeGPUs(1), i%n, i/n)
		}
		c.wait("want", 80, 0, wholeGPUs(1))
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) { benchRoom(b, &c.State, 0, 0) })
	}
}

// BenchmarkPriorities is 1,000 nodes × 8 GPUs under the priority preset and
// 10,000 pending tasks of mixed size, on an idle cluster and on one full of
// work of a lower priority.
func BenchmarkPriorities(b *testing.B) {
	for _, full := range []bool{false, true} {
		const n = 1000
		c := newCrowd(n, 8, 0)
		policy := DeterminedPriority()
		policy.Preempt = preempt.WithinPool
		c.Pools[0].Policy = policy
		name, goes := "idle", 0
		if full {
			name, goes = "full", 8*n
			for i := range 8 * n {
				c.run("", 90, wholeGPUs(1), i%n, i/n)
			}
		}
		started, left := 0, 8*n
		for i := range 10_000 {
			size := 1 << (i % 4)
			c.wait("", 1, int32(40+i%3), wholeGPUs(size))
		}
		// In order of priority and age all sizes come evenly; what is started
		// is counted by a first solve.
		_ = left
		d, err := mustWorldOf(&c.State).solve(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		for i := range d.actions {
			if d.actions[i].kind == Start {
				started++
			}
		}
		b.Run("nodes=1000/pending=10000/"+name, func(b *testing.B) { benchRoom(b, &c.State, started, goes) })
	}
}

func mustWorldOf(s *State) *world {
	w, err := newWorld(s)
	if err != nil {
		panic(err)
	}
	return w
}

// BenchmarkVictims is 100 queues × 100 running workloads; one workload of a
// queue within its quota needs the room of 10, or of 1,000.
func BenchmarkVictims(b *testing.B) {
	for _, victims := range []int{10, 1000} {
		const queues, each = 100, 100
		c := newCrowd(queues*each/8, 8, 0)
		for q := range queues {
			c.queue(fmt.Sprintf("have-%03d", q), GPU, 10*wholeDevice)
		}
		c.queue("want", GPU, queues*each*wholeDevice)
		for i := range queues * each {
			c.run(fmt.Sprintf("have-%03d", i%queues), int32(i%7), wholeGPUs(1), i%len(c.Nodes), i/len(c.Nodes))
		}
		c.wait("want", victims, 0, wholeGPUs(1))
		b.Run(fmt.Sprintf("queues=100/victims=%d", victims), func(b *testing.B) { benchRoom(b, &c.State, victims, victims) })
	}
}

// BenchmarkPreempt is one queue on 50 nodes with 400 possible victims and 100
// beneficiaries.
func BenchmarkPreempt(b *testing.B) {
	c := newCrowd(50, 8, 0)
	c.queue("q", GPU, 400*wholeDevice)
	for i := range 400 {
		c.run("q", 1, wholeGPUs(1), i%50, i/50)
	}
	for range 100 {
		c.wait("q", 1, 2, wholeGPUs(2))
	}
	b.Run("nodes=50/victims=400/waiting=100", func(b *testing.B) { benchRoom(b, &c.State, 100, 200) })
}

// BenchmarkConsolidate has 7 of 8 GPUs of each node taken by singles, and ten
// 4-GPU jobs waiting.
func BenchmarkConsolidate(b *testing.B) {
	for _, n := range []int{50, 1000} {
		c := newCrowd(n, 8, 0)
		c.queue("q", GPU, int64(n)*8*wholeDevice)
		for i := range 7 * n {
			c.run("q", 0, wholeGPUs(1), i%n, i/n)
		}
		for range 10 {
			c.wait("q", 1, 0, wholeGPUs(4))
		}
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) { benchRoom(b, &c.State, 10, 30) })
	}
}
