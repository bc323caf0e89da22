package placement

import (
	"math"
	"math/bits"
	"slices"
)

// The reference of T4, written from the package comment: by looking at every pair
// and every subset.

// between is how near two devices are: NVLinks, and then 2 for one PCIe switch and 1
// for one socket.
func between(n Node, a, b int) [2]int64 {
	var near [2]int64
	for _, l := range n.Links {
		if int(l.A) == a && int(l.B) == b || int(l.A) == b && int(l.B) == a {
			near[0] = int64(l.NVLinks)
		}
	}
	switch d, e := n.Devices[a], n.Devices[b]; {
	case d.Switch > 0 && d.Switch == e.Switch:
		near[1] = 2
	case d.Socket > 0 && d.Socket == e.Socket:
		near[1] = 1
	}
	return near
}

// eachPair calls for every pair of the devices.
func eachPair(n Node, set uint64, pair func(near [2]int64)) {
	for a := range n.Devices {
		for b := range a {
			if set>>a&1 == 1 && set>>b&1 == 1 {
				pair(between(n, a, b))
			}
		}
	}
}

// knownJoined says whether anything is known of how the devices are joined.
func knownJoined(n Node) (known bool) {
	eachPair(n, math.MaxUint64, func(near [2]int64) { known = known || near != [2]int64{} })
	return known
}

func inIsland(n Node, island Island, set uint64) bool {
	in := true
	eachPair(n, set, func(near [2]int64) {
		switch island {
		case NVLinkIsland:
			in = in && near[0] > 0
		case SwitchIsland:
			in = in && (near[0] > 0 || near[1] == 2)
		case SocketIsland:
			in = in && (near[0] > 0 || near[1] > 0)
		}
	})
	return in
}

func largestIsland(n Node, island Island, set uint64) (most int64) {
	for subset := uint64(0); subset < 1<<len(n.Devices); subset++ {
		if subset&^set == 0 && inIsland(n, island, subset) {
			most = max(most, int64(bits.OnesCount64(subset)))
		}
	}
	return most
}

// ofOneModel is the largest island among the devices of one model that satisfy the
// condition.
func (m *naive) ofOneModel(r Request, v int, ok func(d Device, i int) bool) (most int64) {
	byModel := map[int32]uint64{}
	for i, d := range m.nodes[v].Devices {
		if accepted(r, d) && !d.Unhealthy && ok(d, i) {
			byModel[d.Model] |= 1 << i
		}
	}
	for _, set := range byModel { // a maximum: order cannot matter
		most = max(most, largestIsland(m.nodes[v], r.Island, set))
	}
	return most
}

// joinedKey orders sets of devices of a node by T4, where whole devices are free.
func joinedKey(n Node, set, whole uint64) []int64 {
	worst, links := [2]int64{math.MaxInt64}, int64(0)
	eachPair(n, set, func(near [2]int64) {
		if slices.Compare(near[:], worst[:]) < 0 {
			worst = near
		}
		links += near[0]
	})
	key := []int64{-worst[0], -worst[1]}
	left := map[[2]int64]int64{}
	var classes [][2]int64
	eachPair(n, math.MaxUint64, func(near [2]int64) { classes = append(classes, near) })
	eachPair(n, whole&^set, func(near [2]int64) { left[near]++ })
	slices.SortFunc(classes, func(a, b [2]int64) int { return slices.Compare(b[:], a[:]) })
	for _, class := range slices.Compact(classes) {
		if class != [2]int64{} { // which is not joined at all
			key = append(key, -left[class])
		}
	}
	key = append(key, -links)
	for _, i := range indices(set) {
		key = append(key, int64(i))
	}
	return key
}

// wholeOfModel is T4's choice of whole devices of one model, which a set names.
func (m *naive) wholeOfModel(r Request, v int, set uint64) uint64 {
	n := m.nodes[v]
	if !knownJoined(n) {
		return set
	}
	model, whole := n.Devices[bits.TrailingZeros64(set)].Model, uint64(0)
	for i, d := range n.Devices {
		if d.Model == model && accepted(r, d) && !d.Unhealthy && m.whole(v, i) {
			whole |= 1 << i
		}
	}
	var best uint64
	for _, other := range m.sets(r, v) {
		if n.Devices[bits.TrailingZeros64(other)].Model == model &&
			(best == 0 || slices.Compare(joinedKey(n, other, whole), joinedKey(n, best, whole)) < 0) {
			best = other
		}
	}
	return best
}

// canBecome says whether the devices, with others of their model that have room, are a
// task's.
func (m *naive) canBecome(r Request, v int, chosen uint64) bool {
	return slices.ContainsFunc(m.sets(r, v), func(set uint64) bool { return chosen&^set == 0 })
}

// anywhere is the request without its island.
func anywhere(r Request) Request {
	r.Island, r.PreferIsland = AnyIsland, AnyIsland
	return r
}
