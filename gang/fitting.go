package gang

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/placement"
)

// fits says whether n tasks of a set go to nodes by P8: several that take whole devices,
// or any with devices that are kept off idle nodes.
func (p *Placer) fits(x *placement.Index, s *Set, n int32) bool {
	if s.Devices == 0 {
		return false
	}
	return p.UsedNodes || n > 1 && p.Fitting != AnyNodes && x.Whole(s.Shape)
}

// Fit places n tasks of a set as P8 has it, or none, for a caller that keeps them off some
// nodes by the shape. Where P8 says nothing of so many tasks of the set, fits is false. It
// panics if dst is shorter than n.
func (p *Placer) Fit(x *placement.Index, set *Set, n int32, st placement.Strategy, dst []placement.Place) (fits, ok bool) {
	if !p.fits(x, set, n) {
		return false, false
	}
	m := x.Mark()
	if p.fit(x, set, n, st, dst[:n]) < n {
		x.Undo(m)
		return true, false
	}
	x.Commit(m)
	return true, true
}

// A fitted is a node with how many tasks it takes.
type fitted struct {
	node, takes int32 // takes > 0
	idle        bool  // no device is in use, and so many tasks use all of them
}

// fit places n tasks of a set on one node or on whole ones (P8), and returns how
// many it has placed; they are n or 0 unless the index disagrees. Of single nodes
// bin-packing takes the fullest, spreading the emptiest, first the lowest.
func (p *Placer) fit(x *placement.Index, set *Set, n int32, st placement.Strategy, dst []placement.Place) int32 {
	var nodes []fitted
	for v, room := range x.Rooms(set.Shape) {
		devices, idle := x.Idle(int32(v))
		if room > 0 && !(p.UsedNodes && idle) {
			nodes = append(nodes, fitted{int32(v), room, idle && int64(room)*int64(set.Devices) == int64(devices)})
		}
	}
	chosen := oneNode(nodes, n, st)
	if chosen == nil {
		nodes = slices.DeleteFunc(nodes, func(f fitted) bool { return !f.idle })
		slices.SortStableFunc(nodes, func(a, b fitted) int { return cmp.Compare(b.takes, a.takes) })
		chosen = ofOneSize(nodes, n)
		if chosen == nil && p.Fitting == MixedWholeNodes {
			chosen = mixed(nodes, n)
		}
	}
	placed := int32(0)
	for _, f := range chosen {
		for range min(f.takes, n-placed) {
			place, ok := x.PlaceOn(set.Shape, f.node, st)
			if !ok || x.Take(set.Shape, place) != nil {
				return placed
			}
			dst[placed] = place
			placed++
		}
	}
	return placed
}

// oneNode is the node that takes all, by the strategy; none if there is none.
func oneNode(nodes []fitted, n int32, st placement.Strategy) []fitted {
	best := -1
	for i, f := range nodes {
		if f.takes < n {
			continue
		}
		switch {
		case best < 0:
		case st == placement.First:
			continue
		case st == placement.Spread && f.takes <= nodes[best].takes,
			st != placement.Spread && f.takes >= nodes[best].takes:
			continue
		}
		best = i
	}
	if best < 0 {
		return nil
	}
	return nodes[best : best+1]
}

// ofOneSize are idle nodes of one size that n tasks fill: the largest size that
// divides n and of which there are enough. The nodes are by size, the largest first.
func ofOneSize(nodes []fitted, n int32) []fitted {
	for from := 0; from < len(nodes); {
		size, to := nodes[from].takes, from+1
		for to < len(nodes) && nodes[to].takes == size {
			to++
		}
		if need := int(n / size); n%size == 0 && need <= to-from {
			return nodes[from : from+need]
		}
		from = to
	}
	return nil
}

// mixed are idle nodes that n tasks fill, taken from the largest on; none if a rest
// remains.
func mixed(nodes []fitted, n int32) (chosen []fitted) {
	for _, f := range nodes {
		if f.takes <= n {
			chosen = append(chosen, f)
			n -= f.takes
		}
	}
	if n > 0 {
		return nil
	}
	return chosen
}

// FitsBeside says whether the nodes would take the unit by P8 if the right ones of them were in
// use. Under [MixedWholeNodes] that is more than [Placer.Place] finds: what it takes from the
// largest on may leave a rest, of nodes of 4, 3 and 2 for 5 tasks say, where it leaves
// none once the node of 4 is in use. The nodes are looked at for each set by itself.
// O(nodes + sizes × tasks) time for each set.
func (p *Placer) FitsBeside(x *placement.Index, g *Gang, u Unit) bool {
	if p.Fitting != MixedWholeNodes || g.Constrained() {
		return false
	}
	beside := false
	for s := range g.sets {
		set, n := &g.sets[s], g.added(u, s)
		if !p.fits(x, set, n) {
			continue
		}
		if !p.fillsSome(x, set, n) {
			return false
		}
		beside = true
	}
	return beside
}

// fillsSome says whether n tasks of a set go to one node, or fill some that nobody uses.
func (p *Placer) fillsSome(x *placement.Index, set *Set, n int32) bool {
	nodes := make(map[int32]int) // by how many tasks fill one
	for v, room := range x.Rooms(set.Shape) {
		if room >= n {
			return true
		}
		if devices, idle := x.Idle(int32(v)); idle && room > 0 && int64(room)*int64(set.Devices) == int64(devices) {
			nodes[room]++
		}
	}
	filled := make([]bool, n+1) // by tasks: whether they fill nodes of the sizes so far
	filled[0] = true
	for size, count := range nodes { // sums: order cannot matter
		used := make([]int, n+1) // by tasks: the fewest nodes of this size
		for tasks := size; tasks <= n; tasks++ {
			if !filled[tasks] && filled[tasks-size] && used[tasks-size] < count {
				filled[tasks], used[tasks] = true, used[tasks-size]+1
			}
		}
	}
	return filled[n]
}
