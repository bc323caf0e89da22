package allot

import (
	"fmt"
	"maps"
	"runtime"
	"testing"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/quota"
)

// siblingsState is m queues of one parent, of equal weight and without a quota of
// their own, on 2m GPUs. All but the first run two singles and ask two GPUs more;
// the first runs one and asks nothing, so that the others share what it leaves.
// One GPU is free, and of no use to who waits.
func siblingsState(m int) *State {
	c := newCrowd(m/4, 8, 128_000)
	c.queue("group", GPU, int64(2*m)*cluster.WholeDevice)
	for q := range m {
		c.Queues = append(c.Queues, Queue{ID: sibling(q), Parent: "group", Resources: []QueueResource{{
			Resource: GPU, Quota: quota.Of(0), Weight: quota.Of(1),
		}}})
	}
	for i := range 2*m - 1 {
		c.run(sibling((i+1)%m), 0, wholeGPUs(1), i/8, i%8)
	}
	for q := 1; q < m; q++ {
		c.wait(sibling(q), 1, 0, wholeGPUs(2))
	}
	return &c.State
}

func sibling(i int) string { return fmt.Sprintf("sibling-%05d", i) }

var siblingSizes = []int{100, 1_000, 10_000}

// BenchmarkSiblings is the group at rest, from scratch.
func BenchmarkSiblings(b *testing.B) {
	for _, m := range siblingSizes {
		b.Run(fmt.Sprintf("siblings=%d", m), func(b *testing.B) { benchCold(b, siblingsState(m)) })
	}
}

// BenchmarkSnapshotShares: a workload comes into the queue that asked less than
// its share, and starts: the shares of all its siblings move.
func BenchmarkSnapshotShares(b *testing.B) {
	for _, m := range siblingSizes {
		b.Run(fmt.Sprintf("siblings=%d", m), func(b *testing.B) {
			base, before := decided(b, siblingsState(m))
			shares := fairShares(b, before)
			b.Run("event", func(b *testing.B) {
				benchEvents(b, base,
					func(i int, s *Snapshot) Change { return arriving(i, sibling(0), s.Now()) },
					func(d *Decision) *Snapshot {
						expectActions(b, d, 1)
						if b.N == 1 {
							expectMoved(b, shares, fairShares(b, d))
						}
						return base
					})
			})
		})
	}
}

// fairShares are those of all queues below the group.
func fairShares(b *testing.B, d *Decision) map[string]any {
	shares := make(map[string]any)
	for s, err := range d.Shares() {
		if err != nil {
			b.Fatal(err)
		}
		if s.Queue != "group" {
			shares[s.Queue] = s.FairShare
		}
	}
	return shares
}

func expectMoved(b *testing.B, before, after map[string]any) {
	for q := range maps.Keys(before) {
		if before[q] == after[q] {
			b.Fatalf("the share of %s stays %v", q, after[q])
		}
	}
}

// idleState is 100 nodes of 8 GPUs with one free, a busy queue that runs all else,
// and so many that wait for quotas which are used up, in 200 other queues.
func idleState(pending int) *State {
	const nodes, others = 100, 200
	c := newCrowd(nodes, 8, 128_000)
	c.queue("busy", GPU, nodes*8*cluster.WholeDevice)
	for q := range others {
		c.Queues = append(c.Queues, Queue{ID: steadyLeaf(q), Resources: []QueueResource{{
			Resource: GPU, Quota: quota.Of(0), Limit: quota.Of(0),
		}}})
	}
	for i := range nodes*8 - 1 {
		c.run("busy", 0, steadyRequest(i), i/8, i%8)
	}
	for i := range pending {
		c.wait(steadyLeaf(i%others), 1, 0, steadyRequest(i/others))
	}
	return &c.State
}

var idleSizes = []int{1_000, 10_000, 100_000, 1_000_000}

// BenchmarkIdle is the idle workloads at rest, from scratch.
func BenchmarkIdle(b *testing.B) {
	for _, n := range idleSizes {
		b.Run(fmt.Sprintf("pending=%d", n), func(b *testing.B) { benchCold(b, idleState(n)) })
	}
}

// BenchmarkSnapshotIdle: a workload comes into the busy queue, and starts; those
// that wait in other queues have nothing to do with it.
func BenchmarkSnapshotIdle(b *testing.B) {
	for _, n := range idleSizes {
		b.Run(fmt.Sprintf("pending=%d", n), func(b *testing.B) {
			base, _ := decided(b, idleState(n))
			b.Run("event", func(b *testing.B) {
				benchEvents(b, base,
					func(i int, s *Snapshot) Change { return arriving(i, "busy", s.Now()) },
					func(d *Decision) *Snapshot {
						expectActions(b, d, 1)
						return base
					})
			})
		})
	}
}

// BenchmarkSnapshotSteps: so many steps of a simulation on ten nodes, of which
// only the last version is kept: a workload ends, the next starts, another comes.
// The live heap after them is the same however many they were.
func BenchmarkSnapshotSteps(b *testing.B) {
	for _, steps := range []int{10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("steps=%d", steps), func(b *testing.B) {
			const nodes = 10
			c := newCrowd(nodes, 8, 128_000)
			c.queue("q", GPU, nodes*8*cluster.WholeDevice)
			for i := range 8 * nodes {
				c.run("q", 0, steadyRequest(i), i%nodes, i/nodes)
			}
			for i := range 2 * nodes {
				c.wait("q", 1, 0, steadyRequest(i))
			}
			b.Run("event", func(b *testing.B) {
				for range b.N {
					b.StopTimer()
					s, _ := decided(b, &c.State)
					live := -liveHeap()
					b.StartTimer()
					for i := range steps {
						s = step(b, s, i, nodes)
					}
					b.StopTimer()
					live += liveHeap()
					runtime.KeepAlive(s)
					b.ReportMetric(float64(live)/float64(steps), "B/step")
					b.StartTimer()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(steps), "ns/step")
			})
		})
	}
}

// step ends a workload, lets the next start and another come.
func step(b *testing.B, s *Snapshot, i, nodes int) *Snapshot {
	ended := s.WorkloadsOn(someNode(i, nodes))[0]
	next, err := s.With(Change{Remove: Removal{Workloads: []string{ended}}}, arriving(i, "q", s.Now()))
	if err != nil {
		b.Fatal(err)
	}
	d, err := next.Decide()
	if err != nil {
		b.Fatal(err)
	}
	expectActions(b, d, 1)
	if next, err = d.Apply(); err != nil {
		b.Fatal(err)
	}
	return next
}

// kindsState is m queues of one GPU each, which a single takes, and in each 30 singles
// more wait, all of which ask different CPU.
func kindsState(m int) *State {
	c := newCrowd(m/8, 8, 128_000)
	for q := range m {
		c.queue(sibling(q), GPU, cluster.WholeDevice)
	}
	for q := range m {
		c.run(sibling(q), 0, wholeGPUs(1), q/8, q%8)
	}
	for q := range m {
		for kind := range 30 {
			c.wait(sibling(q), 1, 0, Request{GPU: GPURequest{Count: 1}, Resources: map[string]int64{CPU: int64(1 + kind)}})
		}
	}
	return &c.State
}

// BenchmarkSnapshotKinds: a workload comes into one of many queues in each of which
// workloads of many kinds wait, and waits (W12 of the worst cases).
func BenchmarkSnapshotKinds(b *testing.B) {
	for _, m := range []int{200, 2_000} {
		b.Run(fmt.Sprintf("queues=%d/kinds=30", m), func(b *testing.B) {
			base, _ := decided(b, kindsState(m))
			b.Run("event", func(b *testing.B) {
				benchEvents(b, base,
					func(i int, s *Snapshot) Change { return arriving(i, sibling(i%m), s.Now()) },
					func(d *Decision) *Snapshot {
						expectActions(b, d, 0)
						return d.Snapshot()
					})
			})
		})
	}
}
