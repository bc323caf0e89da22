package allot

import (
	"fmt"
	"testing"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/placement"
)

// The shapes of the topology: gangs under constraints on clusters of nodes of 8
// GPUs, 16 of them a rack, 16 racks a block.

// tree gives the crowd's nodes blocks and racks of so many nodes.
func (c *crowd) tree(perRack, perBlock int) {
	c.Levels = []Level{{Name: "block"}, {Name: "rack"}}
	for i := range c.Nodes {
		c.Nodes[i].Domains = map[string]string{
			"block": fmt.Sprintf("b%04d", i/perBlock), "rack": fmt.Sprintf("r%05d", i/perRack),
		}
	}
}

// BenchmarkTopologyBalanced is a gang of 2,304 of 2,500 nodes, or as large a part of
// others, in equal parts per rack; 'place' is the search alone.
func BenchmarkTopologyBalanced(b *testing.B) {
	for _, n := range []int{625, 2500, 10_000} {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			c := newCrowd(n, 8, 0)
			c.tree(25, 250)
			pods := n * 2304 / 2500
			c.wait("", pods, 0, wholeGPUs(8)).Topology = Topology{Preferred: "rack", Mode: gang.Balance}
			benchFloor(b, &c.State)
			benchPlace(b, &c.State, pods)
			b.Run("decide", func(b *testing.B) {
				benchDecide(b, &c.State, func(d *cluster.Decision) { checkRoom(b, d, pods, 0) })
			})
			benchSolve(b, &c.State)
		})
	}
}

// benchPlace times the search for the places of the first workload, again and
// again on one index.
func benchPlace(b *testing.B, s *State, pods int) {
	b.Run("place", func(b *testing.B) {
		w := mustWorld(b, s)
		p, d := w.pools[0], w.Definition(&w.Works[0], 0)
		placer := gang.Placer{Topology: p.Topology}
		var places []placement.Place
		b.ReportAllocs()
		b.ResetTimer()
		for range b.N {
			m := p.Index.Mark()
			var verdict gang.Verdict
			places, verdict = placer.PlaceWithSiblings(p.Index, d.Gang, d.Unit, gang.Siblings{}, d.Place, places[:0])
			if !verdict.OK || len(places) != pods {
				b.Fatalf("%+v", verdict)
			}
			p.Index.Undo(m)
		}
	})
}

// BenchmarkTopologyGang is one gang of whole nodes, or of a single one, on clusters
// of which every third node is in use: all in one rack, in one block if it can
// be, or in slices of 16 nodes that share a rack, where every fourth rack is not whole.
func BenchmarkTopologyGang(b *testing.B) {
	shapes := []struct {
		name     string
		topology Topology
		slices   []Slice
		gpus     []int
	}{
		{"rack", Topology{Required: "rack"}, nil, []int{8, 64}},
		{"block", Topology{Preferred: "block"}, nil, []int{8, 512, 4096}},
		{"slices", Topology{}, []Slice{{Size: 16, Level: "rack"}}, []int{128, 1024, 4096}},
	}
	for _, shape := range shapes {
		for _, gpus := range shape.gpus {
			for _, n := range []int{1_000, 10_000, 100_000} {
				b.Run(fmt.Sprintf("%s/gpus=%d/nodes=%d", shape.name, gpus, n), func(b *testing.B) {
					c := newCrowd(n, 8, 0)
					c.tree(16, 256)
					for i := range c.Nodes {
						if shape.slices == nil && i%3 == 0 || i/16%4 == 1 && shape.slices != nil && i%16 == 5 {
							c.Nodes[i].Devices[i%8].Foreign = cluster.WholeDevice
						}
					}
					pods := gpus / 8
					w := c.wait("", pods, 0, wholeGPUs(8))
					w.Topology, w.PodSets[0].Topology.Slices = shape.topology, shape.slices
					benchPlace(b, &c.State, pods)
					b.Run("decide", func(b *testing.B) {
						benchDecide(b, &c.State, func(d *cluster.Decision) { checkRoom(b, d, pods, 0) })
					})
				})
			}
		}
	}
}

// BenchmarkTopologyClear is a gang of a whole rack of 16 nodes that reclaims one on
// a cluster full of single-GPU jobs of another queue.
func BenchmarkTopologyClear(b *testing.B) {
	for _, n := range []int{256, 1024, 4096} {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			c := newCrowd(n, 8, 0)
			c.tree(16, 256)
			c.queue("have", GPU, 0)
			c.queue("want", GPU, int64(n)*8*cluster.WholeDevice)
			for i := range 8 * n {
				c.run("have", 0, wholeGPUs(1), i*31%n, i/n)
			}
			c.wait("want", 16, 0, wholeGPUs(8)).Topology = Topology{Required: "rack"}
			benchRoom(b, &c.State, 16, 128)
		})
	}
}

// BenchmarkTopologyGrowth is one elastic workload of single GPUs that grows task by task
// from one on into a rack of 1,000 nodes: without a constraint, all in the rack, in slices
// that have a node each, and parted among racks of 100 that it prefers.
func BenchmarkTopologyGrowth(b *testing.B) {
	shapes := []struct {
		name     string
		perRack  int
		topology Topology
		slices   []Slice
	}{
		{"free", 1000, Topology{}, nil},
		{"rack", 1000, Topology{Required: "rack"}, nil},
		{"slices", 1000, Topology{Required: "rack"}, []Slice{{Size: 1, Level: "node"}}},
		{"preferred", 100, Topology{Preferred: "rack", Mode: gang.Balance}, nil},
	}
	for _, shape := range shapes {
		for _, tasks := range []int{2_000, 4_000, 8_000} {
			b.Run(fmt.Sprintf("%s/tasks=%d", shape.name, tasks), func(b *testing.B) {
				c := newCrowd(1000, 8, 0)
				c.tree(shape.perRack, 1000)
				w := c.wait("", tasks, 0, wholeGPUs(1))
				w.PodSets[0].Min = 1
				w.Topology, w.PodSets[0].Topology.Slices = shape.topology, shape.slices
				benchDecide(b, &c.State, func(d *cluster.Decision) { checkRoom(b, d, tasks, 0) })
			})
		}
	}
}
