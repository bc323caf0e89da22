package placement

import (
	"math"
	"math/bits"
)

// A selection is devices for the parts of a task, and how the strategy likes them:
// the lower the better, first by the first number, then by each device's, the best
// device first.
type selection struct {
	devices uint64
	first   int64
	costs   [MaxDevices]int64
}

// choosePartsIn chooses devices of one model for parts of a task, where it is known
// how they are joined: those that the strategy prefers, in an island of the kind
// required; T4 decides between devices that it finds as good. The cost is that of
// chooseAmong.
func (x *Index) choosePartsIn(l *layout, sh *shape, nd *node, devices uint64, st Strategy) (uint64, [2]int64) {
	room, whole := x.withRoom(sh, nd, devices), devices&nd.whole
	var costs [MaxDevices]int64
	for m := room; m != 0; m &= m - 1 {
		d := bits.TrailingZeros64(m)
		switch {
		case st == Spread:
			costs[d] = x.deviceLoad(nd, d)
		case st == BinPack && whole&(1<<d) != 0:
			costs[d] = math.MaxInt64 // after all shared ones
		case st == BinPack:
			costs[d] = x.left[int(nd.devices)+d] - sh.units(l, d)
		}
	}
	var best, next selection
	for _, island := range l.mesh.tiers[l.mesh.tierOf[sh.island]].islands {
		if bits.OnesCount64(island&room) < sh.count {
			continue
		}
		next.choose(l.mesh, &costs, island&room, whole, sh.count)
		switch {
		case st == BinPack:
			next.first = int64(bits.OnesCount64(next.devices & whole))
		case st == Spread:
			next.first = next.costs[sh.count-1]
		}
		if best.devices == 0 || next.better(&best, l.mesh, whole, sh.count) {
			best = next
		}
	}
	switch st {
	case BinPack:
		return best.devices, [2]int64{best.first, int64(bits.OnesCount64(whole))}
	case Spread:
		return best.devices, [2]int64{best.first}
	}
	return best.devices, [2]int64{}
}

// choose takes the devices of the lowest costs, and of the last that cost the same
// those that T4 says.
func (s *selection) choose(m *mesh, costs *[MaxDevices]int64, room, whole uint64, count int) {
	fixed := uint64(0)
	for taken := 0; ; {
		least, alike := int64(0), uint64(0)
		for rest := room &^ fixed; rest != 0; rest &= rest - 1 {
			d := bits.TrailingZeros64(rest)
			switch {
			case alike == 0 || costs[d] < least:
				least, alike = costs[d], 1<<d
			case costs[d] == least:
				alike |= 1 << d
			}
		}
		missing := count - taken
		for n := min(missing, bits.OnesCount64(alike)); n > 0; n-- {
			s.costs[taken] = least
			taken++
		}
		if taken == count {
			s.devices = m.picker.pick(fixed, alike, whole, missing)
			return
		}
		fixed |= alike
	}
}

// better reports whether the selection goes before another in another island.
func (s *selection) better(t *selection, m *mesh, whole uint64, count int) bool {
	if s.first != t.first {
		return s.first < t.first
	}
	for i := range count {
		if s.costs[i] != t.costs[i] {
			return s.costs[i] < t.costs[i]
		}
	}
	return m.before(s.devices, t.devices, whole)
}
