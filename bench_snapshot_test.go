package allot

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/allotsched/allot/internal/engine"
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
		benchDecide(b, s, func(d *engine.Decision) { checkRoom(b, d, 0, 0) })
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
		return []QueueResource{{Resource: GPU, Quota: quota.Of(int64(nodes*8/of) * engine.WholeDevice)}}
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
