package placement

import (
	"fmt"
	"testing"
)

// A thousand nodes filled with tasks of 1, 2 and 4 devices: the same tasks where
// nothing is known of the nodes ("flat"), where they are a known make ("joined"), and
// where the tasks require or prefer an island there.
func BenchmarkIslands(b *testing.B) {
	const n = 1000
	for _, hardware := range []string{"", "cube-mesh-8", "nvswitch-8", "pcie-8"} {
		for _, asked := range []string{"any", "required", "preferred"} {
			if hardware == "" && asked != "any" {
				continue
			}
			b.Run(fmt.Sprintf("hardware=%s/island=%s", hardware, asked), func(b *testing.B) {
				nodes := make([]Node, n)
				for i := range nodes {
					if nodes[i] = (Node{Devices: make([]Device, 8), Slots: NoCap, CPUOnlySlots: NoCap}); hardware != "" {
						nodes[i] = nodeOf(b, hardware)
					}
				}
				x, err := NewIndex(nodes, 0)
				if err != nil {
					b.Fatal(err)
				}
				tasks := islandTasks(x, n, asked)
				round := func() (placed int) {
					m := x.Mark()
					placed = fill(b, x, tasks, BinPack)
					x.Undo(m)
					return placed
				}
				placed := round() // warm up
				b.ReportAllocs()
				for b.Loop() {
					placed = round()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(tasks)), "ns/task")
				b.ReportMetric(float64(placed)/float64(len(tasks)), "placed")
			})
		}
	}
}

// islandTasks ask all devices of n nodes of eight.
func islandTasks(x *Index, n int, asked string) (tasks []Shape) {
	random := uint64(1)
	for devices := 0; devices < 8*n; {
		random = mixed(random + golden)
		r := Request{Set: -1, Devices: 1 << (random % 3)}
		switch {
		case asked == "required":
			r.Island = SocketIsland
		case asked == "preferred":
			r.PreferIsland = SwitchIsland
		}
		devices += int(r.Devices)
		tasks = append(tasks, x.Shape(r))
	}
	return tasks
}

// The first choice on a node of 16 devices, where most subsets have to be tried.
func BenchmarkFirstPick(b *testing.B) {
	x, err := NewIndex([]Node{nodeOf(b, "nvswitch-16")}, 0)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		clear(x.layouts[0].mesh.picker.known)
		x.layouts[0].mesh.picker.pick(0, lowest(16), lowest(16), 9)
	}
}

// And on one of eight.
func BenchmarkFirstPickOfEight(b *testing.B) {
	x, err := NewIndex([]Node{nodeOf(b, "cube-mesh-8")}, 0)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		clear(x.layouts[0].mesh.picker.known)
		x.layouts[0].mesh.picker.pick(0, lowest(8), lowest(8), 3)
	}
}
