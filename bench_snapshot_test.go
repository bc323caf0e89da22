package allot

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/quota"
)

// The Snapshot rows of examples/benchmarks: With and Decide after one event on a cluster
// that is full and at rest. testing.B tells means; p50-ns/op is the median.

// benchCold times the same states from scratch: floor, Decide and Solve, and
// NewSnapshot with its first Decide, whose live heap is what both hold beyond the
// State. The state is at rest: nothing is to do.
func benchCold(b *testing.B, s *State) {
	benchFloor(b, s)
	b.Run("decide", func(b *testing.B) {
		benchDecide(b, s, func(d *cluster.Decision) { checkRoom(b, d, 0, 0) })
	})
	benchSolve(b, s)
	b.Run("snapshot", func(b *testing.B) {
		b.ReportAllocs()
		var live int64
		for i := range b.N {
			if i == 0 {
				b.StopTimer()
				live = -liveHeap()
				b.StartTimer()
			}
			base, d := decided(b, s)
			if i == 0 {
				b.StopTimer()
				live += liveHeap()
				b.StartTimer()
			}
			runtime.KeepAlive(base)
			runtime.KeepAlive(d)
		}
		b.ReportMetric(float64(live), "live-B")
	})
}

// decided is a snapshot of a state at rest, and the decision upon it.
func decided(b *testing.B, s *State) (*Snapshot, *Decision) {
	base, err := NewSnapshot(s)
	if err != nil {
		b.Fatal(err)
	}
	d, err := base.Decide()
	if err != nil {
		b.Fatal(err)
	}
	if n := len(d.Actions()); n > 0 {
		b.Fatalf("the state is not at rest: %d actions", n)
	}
	return base, d
}

// benchEvents times With and Decide, event after event. after is what the host
// makes of the decision, untimed: the version on which the next event falls. All
// versions are kept, as the time that they take belongs to the history of a host;
// B/version is their live heap.
func benchEvents(b *testing.B, base *Snapshot, event func(i int, s *Snapshot) Change, after func(d *Decision) *Snapshot) {
	took := make([]time.Duration, b.N)
	kept := make([][2]*Snapshot, b.N)
	live := -liveHeap()
	s := base
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		b.StopTimer()
		change := event(i, s)
		b.StartTimer()
		begin := time.Now()
		next, err := s.With(change)
		if err != nil {
			b.Fatal(err)
		}
		d, err := next.Decide()
		if err != nil {
			b.Fatal(err)
		}
		took[i] = time.Since(begin)
		b.StopTimer()
		s = after(d)
		kept[i] = [2]*Snapshot{next, s}
		b.StartTimer()
	}
	b.StopTimer()
	live += liveHeap()
	runtime.KeepAlive(kept)
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "p50-ns/op")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns/op")
	b.ReportMetric(float64(live)/float64(b.N), "B/version")
}

// expectActions checks that the events are what they are meant to be.
func expectActions(b *testing.B, d *Decision, want int) {
	if got := len(d.Actions()); got != want {
		b.Fatalf("%d actions, want %d: %v", got, want, d.Actions())
	}
}

// steadyState is n nodes × 8 GPUs full of 8n singles of eight sizes, 2n more that
// wait, in 200 queues in 3 levels, each of which runs its quota.
func steadyState(nodes int) *State {
	c := newCrowd(nodes, 8, 128_000)
	const tops, middles, leaves = 4, 5, 10
	share := func(of int) []QueueResource {
		return []QueueResource{{Resource: GPU, Quota: quota.Of(int64(nodes*8/of) * cluster.WholeDevice)}}
	}
	for top := range tops {
		t := fmt.Sprintf("top-%d", top)
		c.Queues = append(c.Queues, Queue{ID: t, Resources: share(tops)})
		for middle := range middles {
			m := fmt.Sprintf("%s-%d", t, middle)
			c.Queues = append(c.Queues, Queue{ID: m, Parent: t, Resources: share(tops * middles)})
			for leaf := range leaves {
				c.Queues = append(c.Queues, Queue{ID: steadyLeaf(top*50 + middle*10 + leaf), Parent: m, Resources: share(tops * middles * leaves)})
			}
		}
	}
	for i := range 8 * nodes {
		c.run(steadyLeaf(i%200), 0, steadyRequest(i/200), i%nodes, i/nodes)
	}
	for i := range 2 * nodes {
		c.wait(steadyLeaf(i%200), 1, 0, steadyRequest(i/200))
	}
	return &c.State
}

func steadyLeaf(i int) string { return fmt.Sprintf("leaf-%03d", i) }

func steadyRequest(i int) Request {
	return Request{GPU: GPURequest{Count: 1}, Resources: map[string]int64{CPU: int64(1+i%8) * 1000}}
}

// arriving is a single that comes into a queue after all others.
func arriving(i int, queue string, now time.Time) Change {
	return Change{Workloads: []Workload{{
		ID: fmt.Sprintf("arrival-%06d", i), Queue: queue, Submitted: now, PodSets: []PodSet{{Count: 1, Request: steadyRequest(i)}},
	}}}
}

// someNode walks over the nodes so that the same does not come again soon.
func someNode(i, nodes int) string { return fmt.Sprintf("node-%05d", i*7919%nodes) }

var steadySizes = []int{1_000, 10_000, 100_000}

// BenchmarkSteady is the cluster at rest, from scratch.
func BenchmarkSteady(b *testing.B) {
	for _, n := range steadySizes {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) { benchCold(b, steadyState(n)) })
	}
}

// BenchmarkSnapshotArrival: a workload comes, and waits.
func BenchmarkSnapshotArrival(b *testing.B) {
	for _, n := range steadySizes {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			base, _ := decided(b, steadyState(n))
			b.Run("event", func(b *testing.B) {
				benchEvents(b, base,
					func(i int, s *Snapshot) Change { return arriving(i, steadyLeaf(i%200), s.Now()) },
					func(d *Decision) *Snapshot {
						expectActions(b, d, 0)
						return d.Snapshot()
					})
			})
		})
	}
}

// BenchmarkSnapshotVictims: a workload comes into a queue in which nothing runs, and
// reclaims the room of 10, or of 1,000, from queues of 100 running workloads each.
func BenchmarkSnapshotVictims(b *testing.B) {
	for _, shape := range [][2]int{{20, 10}, {40, 10}, {100, 10}, {20, 1000}, {40, 1000}, {100, 1000}} {
		queues, victims := shape[0], shape[1]
		b.Run(fmt.Sprintf("queues=%d/victims=%d", queues, victims), func(b *testing.B) {
			base, _ := decided(b, &victimsCrowd(queues).State)
			b.Run("event", func(b *testing.B) {
				benchEvents(b, base,
					func(i int, s *Snapshot) Change {
						return Change{Workloads: []Workload{{
							ID: fmt.Sprintf("arrival-%06d", i), Queue: "want", Submitted: s.Now(),
							PodSets: []PodSet{{Count: victims, Request: wholeGPUs(1)}},
						}}}
					},
					func(d *Decision) *Snapshot {
						expectActions(b, d, victims+1)
						return base
					})
			})
		})
	}
}

// BenchmarkSnapshotEnd: a workload that ran ends, and the next of its queue
// starts. Another comes into the queue, untimed, so that it goes on like this.
func BenchmarkSnapshotEnd(b *testing.B) {
	for _, n := range steadySizes {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			base, _ := decided(b, steadyState(n))
			b.Run("event", func(b *testing.B) {
				var queue string
				arrivals := 0
				benchEvents(b, base,
					func(i int, s *Snapshot) Change {
						ended := s.WorkloadsOn(someNode(i, n))[0]
						w, _ := s.Workload(ended)
						queue = w.Queue
						return Change{Remove: Removal{Workloads: []string{ended}}}
					},
					func(d *Decision) *Snapshot {
						expectActions(b, d, 1)
						s, err := d.Apply()
						if err == nil {
							arrivals++
							s, err = s.With(arriving(arrivals, queue, s.Now()))
						}
						if err != nil {
							b.Fatal(err)
						}
						return s
					})
			})
		})
	}
}

// contendedState is n nodes × 8 GPUs in racks of 8, full of singles of which half run
// beyond the quota of their queue, under Run:ai. A gang that must stay in its rack runs in
// each of some racks, and a fifth of all GPUs more is waited for, in every queue and at
// several priorities.
func contendedState(nodes int) *State {
	c := newCrowd(nodes, 8, 128_000)
	c.Pools[0].Policy = RunAI()
	c.Levels = []Level{{Name: "rack"}}
	for i := range c.Nodes {
		c.Nodes[i].Domains = map[string]string{"rack": fmt.Sprint("r", i/8)}
	}
	const leaves = 8
	for q := range leaves {
		c.queue(contendedLeaf(q), GPU, int64(nodes)*cluster.WholeDevice)
	}
	for n := range nodes {
		if n%16 == 0 {
			gang := c.wait(contendedLeaf(n/16%leaves), 8, 50, wholeGPUs(1))
			gang.Topology.Required = "rack"
			for i := range 8 {
				gang.Tasks = append(gang.Tasks, Task{Index: i, Node: c.Nodes[n].ID, Devices: []int{i}, Since: gang.Submitted})
			}
			continue
		}
		for d := range 8 {
			c.run(contendedLeaf((n+d)%leaves/2), int32(50+(n+d)%3), wholeGPUs(1), n, d)
		}
	}
	for i := range nodes * 8 / 5 {
		c.wait(contendedLeaf(i%leaves), 1+i%4/3, int32(50+i%4), wholeGPUs(1))
	}
	return &c.State
}

func contendedLeaf(i int) string { return fmt.Sprintf("leaf-%d", i) }

// BenchmarkSnapshotContended: on a full cluster whose queues take from each other one
// that runs ends, or one more arrives. Every fourth decision is set going instead of
// carried out, so that what it takes is still leaving, and what it is taken for claims
// it, when the next is made; then these are gone.
func BenchmarkSnapshotContended(b *testing.B) {
	for _, n := range []int{100, 1_000} {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			base := comeToRest(b, contendedState(n))
			b.Run("event", func(b *testing.B) {
				at, scratch := 0, 0
				benchEvents(b, base,
					func(i int, s *Snapshot) Change {
						at = i
						return contendedEvent(i, n, s)
					},
					func(d *Decision) *Snapshot {
						if !d.Incremental() {
							scratch++
						}
						carry := d.Apply
						if at%4 == 3 {
							carry = d.Begin
						}
						s, err := carry()
						if err != nil {
							b.Fatal(err)
						}
						return s
					})
				b.ReportMetric(100*float64(scratch)/float64(b.N), "scratch-%")
			})
		})
	}
}

// comeToRest is a snapshot of where a state comes to rest.
func comeToRest(b *testing.B, state *State) *Snapshot {
	s, err := NewSnapshot(state)
	for err == nil {
		var d *Decision
		if d, err = s.Decide(); err == nil && len(d.Actions()) == 0 {
			return s
		}
		if err == nil {
			s, err = d.Apply()
		}
	}
	b.Fatal(err)
	return nil
}

// contendedEvent is the i-th: what was leaving has left, and one ends or arrives.
func contendedEvent(i, nodes int, s *Snapshot) (c Change) {
	if i%4 == 0 {
		for w := range s.Workloads() {
			if slices.ContainsFunc(w.Tasks, func(t Task) bool { return t.Phase == Terminating }) {
				w.Tasks = slices.DeleteFunc(slices.Clone(w.Tasks), func(t Task) bool { return t.Phase == Terminating })
				c.Workloads = append(c.Workloads, w)
			}
		}
	}
	on := s.WorkloadsOn(someNode(i, nodes))
	if i%2 == 0 && len(on) > 0 && !slices.ContainsFunc(c.Workloads, func(w Workload) bool { return w.ID == on[0] }) {
		c.Remove.Workloads = on[:1]
		return c
	}
	c.Workloads = append(c.Workloads, Workload{
		ID: fmt.Sprintf("arrival-%06d", i), Queue: contendedLeaf(i / 2 % 8), Priority: int32(50 + i%5),
		Submitted: s.Now(), PodSets: []PodSet{{Count: 1 + i%3, Request: wholeGPUs(1)}},
	})
	return c
}

// BenchmarkSnapshotLoss: a node is lost with the eight workloads that ran there.
// Each time it is another node of the whole cluster.
func BenchmarkSnapshotLoss(b *testing.B) {
	for _, n := range steadySizes {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			base, _ := decided(b, steadyState(n))
			b.Run("event", func(b *testing.B) {
				benchEvents(b, base,
					func(i int, s *Snapshot) Change {
						lost, _ := s.Node(someNode(i, n))
						lost.Lost = true
						return Change{Nodes: []Node{lost}}
					},
					func(d *Decision) *Snapshot {
						expectActions(b, d, 8)
						return base
					})
			})
		})
	}
}
