package allot

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/difference"
	"github.com/allotsched/allot/internal/division"
	"github.com/allotsched/allot/internal/engine"
	"github.com/allotsched/allot/internal/settling"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// The contention shapes: full clusters in which room has to be
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

// benchRoom times floor, Decide and Solve, and of Decide what comes once the
// state is settled and its shares are divided: the making of room. It counts what
// starts and what goes.
func benchRoom(b *testing.B, s *State, starts, goes int) {
	benchFloor(b, s)
	b.Run("room", func(b *testing.B) {
		for range b.N {
			b.StopTimer()
			w := mustWorld(b, s)
			d := &cluster.Decision{World: w.World}
			if err := cmp.Or(settling.Settle(w.World, d), division.DivideShares(w.World)); err != nil {
				b.Fatal(err)
			}
			runtime.GC()
			b.StartTimer()
			if err := cmp.Or(engine.Decide(context.Background(), w.World, d), difference.Close(w.World, d)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decide", func(b *testing.B) {
		benchDecide(b, s, func(d *cluster.Decision) { checkRoom(b, d, starts, goes) })
	})
	benchSolve(b, s)
}

func checkRoom(b *testing.B, d *cluster.Decision, starts, goes int) {
	started, gone := 0, 0
	for i := range d.Actions {
		switch a := &d.Actions[i]; a.Kind {
		case cluster.Start, cluster.Resize:
			started += int(a.To - a.From)
		case cluster.Evict, cluster.Shrink, cluster.Move:
			gone += int(a.To - a.From)
		}
	}
	if started != starts || goes >= 0 && gone != goes {
		b.Fatalf("%d tasks start and %d go, want %d and %d", started, gone, starts, goes)
	}
}

// BenchmarkReclaimGang is one gang of n/10 whole nodes that reclaims from 8n
// single-GPU jobs of another queue on n nodes.
func BenchmarkReclaimGang(b *testing.B) {
	for _, n := range []int{100, 500, 1000} {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) { benchReclaimGang(b, n, n/10) })
	}
}

// BenchmarkReclaimHalf is the same with a gang of n/2.
func BenchmarkReclaimHalf(b *testing.B) {
	for _, n := range []int{100, 500, 1000} {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) { benchReclaimGang(b, n, n/2) })
	}
}

func benchReclaimGang(b *testing.B, n, tasks int) {
	c := newCrowd(n, 8, 0)
	c.queue("have", GPU, 0)
	c.queue("want", GPU, int64(n)*8*cluster.WholeDevice)
	for i := range 8 * n {
		c.run("have", 0, wholeGPUs(1), i*31%n, i/n)
	}
	c.wait("want", tasks, 0, wholeGPUs(8))
	benchRoom(b, &c.State, tasks, 8*tasks)
}

// BenchmarkReclaimSingles is 8n running singles of one queue against 8n pending
// ones of another of the same quota, half the cluster each.
func BenchmarkReclaimSingles(b *testing.B) {
	for _, n := range []int{100, 500, 1000} {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			c := newCrowd(n, 8, 0)
			c.queue("have", GPU, int64(n)*4*cluster.WholeDevice)
			c.queue("want", GPU, int64(n)*4*cluster.WholeDevice)
			for i := range 8 * n {
				c.run("have", 0, wholeGPUs(1), i%n, i/n)
				c.wait("want", 1, 0, wholeGPUs(1))
			}
			benchRoom(b, &c.State, 4*n, 4*n)
		})
	}
}

// BenchmarkReclaimCores is n nodes × 32 cores: 32n running of one queue against
// 32n pending of another of the same weight.
func BenchmarkReclaimCores(b *testing.B) {
	const cores = 32
	for _, n := range []int{100, 300, 1000} {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			c := newCrowd(n, 0, cores*1000)
			c.queue("have", CPU, int64(n)*cores*500)
			c.queue("want", CPU, int64(n)*cores*500)
			core := Request{Resources: map[string]int64{CPU: 1000}}
			for i := range n * cores {
				c.run("have", 0, core, i%n)
				c.wait("want", 1, 0, core)
			}
			benchRoom(b, &c.State, n*cores/2, n*cores/2)
		})
	}
}

// BenchmarkHopelessGang is a gang that needs 80 GPUs where 79 may be taken.
func BenchmarkHopelessGang(b *testing.B) {
	for _, n := range []int{100, 300, 1000} {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			c := newCrowd(n, 8, 0)
			c.queue("have", GPU, int64(8*n-79)*cluster.WholeDevice)
			c.queue("want", GPU, 80*cluster.WholeDevice)
			for i := range 8 * n {
				c.run("have", 0, wholeGPUs(1), i%n, i/n)
			}
			c.wait("want", 80, 0, wholeGPUs(1))
			benchRoom(b, &c.State, 0, 0)
		})
	}
}

// BenchmarkPriorities is n nodes × 8 GPUs under the priority preset and 10n
// pending tasks of mixed size, on an idle cluster and on one full of work of a
// lower priority.
func BenchmarkPriorities(b *testing.B) {
	for _, n := range []int{100, 300, 1000} {
		b.Run(fmt.Sprintf("nodes=%d/idle", n), func(b *testing.B) { benchPriorities(b, newCrowd(n, 8, 0), 0) })
		b.Run(fmt.Sprintf("nodes=%d/full", n), func(b *testing.B) {
			c := newCrowd(n, 8, 0)
			for i := range 8 * n {
				c.run("", 90, wholeGPUs(1), i%n, i/n)
			}
			benchPriorities(b, c, 8*n)
		})
	}
}

func benchPriorities(b *testing.B, c *crowd, goes int) {
	c.Pools[0].Policy = DeterminedPriority()
	c.Pools[0].Policy.Preempt = preempt.WithinPool
	for i := range 10 * len(c.Nodes) {
		c.wait("", 1, int32(40+i%3), wholeGPUs(1<<(i%4)))
	}
	benchRoom(b, &c.State, startsOf(b, &c.State), goes)
}

// startsOf counts the tasks that start: in order of priority and age all sizes
// come evenly, so that it is no round number.
func startsOf(b *testing.B, s *State) (n int) {
	d, err := engine.Solve(context.Background(), mustWorld(b, s).World)
	if err != nil {
		b.Fatal(err)
	}
	for i := range d.Actions {
		if d.Actions[i].Kind == cluster.Start {
			n += int(d.Actions[i].To - d.Actions[i].From)
		}
	}
	return n
}

// BenchmarkVictims is queues of 100 running workloads each; one workload of a
// queue within its quota needs the room of 10, or of 1,000.
func BenchmarkVictims(b *testing.B) {
	for _, shape := range [][2]int{{20, 10}, {40, 10}, {100, 10}, {20, 1000}, {40, 1000}, {100, 1000}} {
		queues, victims := shape[0], shape[1]
		b.Run(fmt.Sprintf("queues=%d/victims=%d", queues, victims), func(b *testing.B) {
			c := victimsCrowd(queues)
			c.wait("want", victims, 0, wholeGPUs(1))
			benchRoom(b, &c.State, victims, victims)
		})
	}
}

// victimsCrowd is queues of 100 running workloads each that borrow from one in which
// nothing runs.
func victimsCrowd(queues int) *crowd {
	const each = 100
	c := newCrowd(queues*each/8, 8, 0)
	for q := range queues {
		c.queue(fmt.Sprintf("have-%03d", q), GPU, 10*cluster.WholeDevice)
	}
	c.queue("want", GPU, int64(queues*each)*cluster.WholeDevice)
	for i := range queues * each {
		c.run(fmt.Sprintf("have-%03d", i%queues), int32(i%7), wholeGPUs(1), i%len(c.Nodes), i/len(c.Nodes))
	}
	return c
}

// BenchmarkVictimsOfQuota is the same where places say nothing: all of them are cores of
// one node.
func BenchmarkVictimsOfQuota(b *testing.B) {
	for _, shape := range [][2]int{{20, 10}, {40, 10}, {100, 10}, {20, 1000}, {40, 1000}, {100, 1000}} {
		queues, victims := shape[0], shape[1]
		b.Run(fmt.Sprintf("queues=%d/victims=%d", queues, victims), func(b *testing.B) {
			const each = 100
			c := newCrowd(1, 0, int64(queues)*each*1000)
			for q := range queues {
				c.queue(fmt.Sprintf("have-%03d", q), CPU, 10*1000)
			}
			c.queue("want", CPU, int64(queues)*each*1000)
			core := Request{Resources: map[string]int64{CPU: 1000}}
			for i := range queues * each {
				c.run(fmt.Sprintf("have-%03d", i%queues), int32(i%7), core, 0)
			}
			c.wait("want", victims, 0, core)
			benchRoom(b, &c.State, victims, victims)
		})
	}
}

// BenchmarkCycle is one cycle of many gangs that preempt: n nodes full of gangs of ten
// tasks of half a node each, and 87 gangs of eight to 24 such tasks, of higher priority,
// for n = 1,000. Tasks ask for 2 or 30 resources.
func BenchmarkCycle(b *testing.B) {
	for _, n := range []int{100, 300, 1000} {
		for _, resources := range []int{2, 30} {
			b.Run(fmt.Sprintf("nodes=%d/resources=%d", n, resources), func(b *testing.B) {
				c, starts, goes := cycleCrowd(n, resources)
				benchRoom(b, &c.State, starts, goes)
			})
		}
	}
}

// cycleCrowd is the state of BenchmarkCycle, and how many tasks start and go.
func cycleCrowd(n, resources int) (c *crowd, starts, goes int) {
	c = newCrowd(n, 0, 128_000)
	half := Request{Resources: map[string]int64{CPU: 64_000}}
	for r := range resources - 1 {
		name := fmt.Sprintf("example.com/r%02d", r)
		half.Resources[name] = 100
		for i := range c.Nodes {
			c.Nodes[i].Capacity[name] = 200
		}
	}
	c.queue("q", CPU, int64(n)*128_000)
	for i := range 2 * n / 10 {
		w := c.wait("q", 10, int32(i%3), half)
		for t := range 10 {
			w.Tasks = append(w.Tasks, Task{Index: t, Node: c.Nodes[(i*10+t)*7%n].ID, Since: w.Submitted})
		}
	}
	for i := range 87 * n / 1000 {
		tasks := 8 + i*5%17
		c.wait("q", tasks, 10, half)
		starts += tasks
	}
	return c, starts, -1
}

// BenchmarkPreempt is one queue on n nodes with 8n possible victims and 2n
// beneficiaries.
func BenchmarkPreempt(b *testing.B) {
	for _, n := range []int{50, 200, 800} {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			c := newCrowd(n, 8, 0)
			c.queue("q", GPU, int64(n)*8*cluster.WholeDevice)
			for i := range 8 * n {
				c.run("q", 1, wholeGPUs(1), i%n, i/n)
			}
			for range 2 * n {
				c.wait("q", 1, 2, wholeGPUs(2))
			}
			benchRoom(b, &c.State, 2*n, 4*n)
		})
	}
}

// BenchmarkConsolidate has 7 of 8 GPUs of each node taken by singles, and ten
// 4-GPU jobs waiting.
func BenchmarkConsolidate(b *testing.B) {
	for _, n := range []int{50, 250, 1000} {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			c := newCrowd(n, 8, 0)
			c.queue("q", GPU, int64(n)*8*cluster.WholeDevice)
			for i := range 7 * n {
				c.run("q", 0, wholeGPUs(1), i%n, i/n)
			}
			for range 10 {
				c.wait("q", 1, 0, wholeGPUs(4))
			}
			benchRoom(b, &c.State, 10, 30)
		})
	}
}

// BenchmarkPromises is n nodes of 8 GPUs, one in ten of them free and the others each full until an end
// of its own, and n pending gangs of 8 to 64 GPUs that say how long they take: without promises, and
// under conservative backfill with a depth of 100. With them it is to take at most twice as long.
func BenchmarkPromises(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		for _, how := range []queue.Backfill{queue.NoBackfill, queue.Conservative} {
			b.Run(fmt.Sprintf("nodes=%d/%v", n, how), func(b *testing.B) { benchSolve(b, promisesState(n, how)) })
		}
	}
}

func promisesState(n int, how queue.Backfill) *State {
	s := singlesState(n, 8, 0, n, 10, wholeGPUs(8))
	s.Pools = []Pool{{ID: "p", Policy: Policy{Reserve: ReservePolicy{Backfill: how}}}}
	for i := range s.Workloads {
		w := &s.Workloads[i]
		hours := int64(1 + i*31%24)
		w.PodSets[0].Count, w.Duration, w.TimeLimit = 1+i*13%8, quota.Of(1800*hours), quota.Of(3600*hours)
	}
	for i := range n {
		if i%10 == 0 {
			continue
		}
		took := int64(60 + i*7919%86_400)
		s.Workloads = append(s.Workloads, Workload{
			ID: fmt.Sprintf("running-%06d", i), Queue: s.Queues[i%10].ID, Submitted: s.Now.Add(-time.Hour),
			PodSets: []PodSet{{Count: 1, Request: wholeGPUs(8)}}, Duration: quota.Of(took), TimeLimit: quota.Of(2 * took),
			Tasks: []Task{{Phase: Running, Node: s.Nodes[i].ID, Devices: []int{0, 1, 2, 3, 4, 5, 6, 7}, Since: s.Now}},
		})
	}
	return s
}

// BenchmarkPromisesEvent is an event on the cluster of BenchmarkPromises once its plan is carried out: a
// gang comes, or one that runs ends before its time, decided by the snapshot beside the 100 promises that stand.
func BenchmarkPromisesEvent(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		for _, how := range []queue.Backfill{queue.NoBackfill, queue.Conservative} {
			b.Run(fmt.Sprintf("nodes=%d/%v", n, how), func(b *testing.B) {
				base, err := NewSnapshot(promisesState(n, how))
				if err != nil {
					b.Fatal(err)
				}
				for range 3 {
					d, err := base.Decide()
					if err != nil {
						b.Fatal(err)
					}
					if base, err = d.Apply(); err != nil {
						b.Fatal(err)
					}
				}
				queues := promisesState(n, how).Queues
				for _, of := range []string{"arrival", "end"} {
					b.Run(of, func(b *testing.B) {
						benchEvents(b, base, func(i int, s *Snapshot) Change {
							if of == "end" {
								id := fmt.Sprintf("running-%06d", 1+i*7%9+i*10%n)
								return Change{Remove: Removal{Workloads: []string{id}}}
							}
							return Change{Workloads: []Workload{{
								ID: fmt.Sprintf("arrival-%06d", i), Queue: queues[i%10].ID, Submitted: s.Now().Add(time.Duration(i) * time.Second),
								PodSets: []PodSet{{Count: 2, Request: wholeGPUs(8)}}, Duration: quota.Of(3600), TimeLimit: quota.Of(7200),
							}}}
						}, func(d *Decision) *Snapshot {
							next, err := d.Apply()
							if err != nil {
								b.Fatal(err)
							}
							return next
						})
					})
				}
			})
		}
	}
}
