package placement

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/allotsched/allot/internal/deep"
)

// Where the changes since a mark leave more they say so, and only there: node by node no resource, no device and no
// number of tasks is more free than it was, and no task finds room on a node that it did not find there.
func TestLeavesMore(t *testing.T) {
	for seed := range deep.Seeds(t, 2000) {
		random := rand.New(rand.NewPCG(seed, 18))
		var nodes []Node
		for range 1 + random.IntN(3) {
			n := plain(gpus(random.IntN(4)), int64(random.IntN(7)))
			if random.IntN(3) == 0 {
				n.Slots, n.CPUOnlySlots = 1+random.Int32N(3), 1+random.Int32N(2)
			}
			nodes = append(nodes, n)
		}
		x := mustIndex(t, nodes...)
		var shapes []Shape
		for _, r := range []Request{
			{Set: -1, Amounts: amounts(0, 1)}, {Set: -1, Amounts: amounts(0, 3)}, {Set: -1, Devices: 1, Milli: 1000}, {Set: -1, Devices: 2, Milli: 1000},
			{Set: -1, Devices: 1, Milli: 400, Amounts: amounts(0, 1)},
		} {
			shapes = append(shapes, x.Shape(r))
		}
		type task struct {
			shape Shape
			place Place
		}
		var there []task
		step := func() {
			if at := random.IntN(2 * (1 + len(there))); at < len(there) {
				if err := x.Give(there[at].shape, there[at].place); err != nil {
					t.Fatal(err)
				}
				there = slices.Delete(there, at, at+1)
				return
			}
			shape := shapes[random.IntN(len(shapes))]
			if place, ok := x.Find(shapes[3], Default); ok && random.IntN(3) == 0 { // two tasks of a device each
				if err := TakeTogether(x, shapes[2], place, 2); err != nil {
					t.Fatal(err)
				}
				first := place.Devices & -place.Devices
				there = append(there, task{shapes[2], Place{Node: place.Node, Devices: first}}, task{shapes[2], Place{Node: place.Node, Devices: place.Devices &^ first}})
				return
			}
			if place, ok := x.Find(shape, Default); ok && x.Take(shape, place) == nil {
				there = append(there, task{shape, place})
			}
		}
		for range 8 {
			step()
		}
		rooms := func() (out []int) {
			for _, shape := range shapes {
				for n := range nodes {
					out = append(out, x.RoomOn(shape, int32(n)))
				}
			}
			return out
		}
		free, left, was, before := slices.Clone(x.free), slices.Clone(x.left), slices.Clone(x.nodes), rooms()
		m := x.Mark()
		for range random.IntN(5) {
			step()
		}
		more := isMore(x.free, free) || isMore(x.left, left)
		for n := range nodes {
			more = more || nodes[n].Slots < NoCap && x.nodes[n].slots > was[n].slots || nodes[n].CPUOnlySlots < NoCap && x.nodes[n].cpuOnlySlots > was[n].cpuOnlySlots
		}
		got := m.LeavesMore(x)
		if got != more {
			t.Fatalf("seed %d: it says %t that more is free, and that is %t", seed, got, more)
		}
		for i, room := range rooms() {
			if !got && room > before[i] {
				t.Fatalf("seed %d: nothing more is free, and there is room for %d where there was for %d", seed, room, before[i])
			}
		}
		x.Commit(m)
	}
}

// isMore says whether something is more than it was.
func isMore(now, was []int64) bool {
	for i := range now {
		if now[i] > was[i] {
			return true
		}
	}
	return false
}
