package allot

import (
	"fmt"
	"testing"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/cluster"
)

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
