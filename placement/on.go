package placement

import (
	"math"
	"math/bits"
	"slices"

	"github.com/allotsched/allot/quota"
)

// RoomOn bounds from above how many tasks of the shape one node could take now,
// one after the other; it is exact where a task takes whole devices, one device
// or none. The exception are tasks that require an island, on a node of which more than 16 free devices of a model are in
// islands that overlap, one with the next, in so many ways that it is not found in some thousand steps how many there is room
// for: there it is no bound, but as many as Find gives places to. It takes time linear in the node's
// devices, and in the ways to part up to 16 of them, or in those steps, the first time that it meets them
// with overlapping islands.
func (x *Index) RoomOn(s Shape, node int32) int {
	sh := x.shape(s)
	if sh == nil || !x.allowedOn(sh, node) {
		return 0
	}
	nd := &x.nodes[node]
	tasks := nd.slots
	if sh.count == 0 {
		tasks = min(tasks, nd.cpuOnlySlots)
	}
	free := x.freeOf(node)
	for _, a := range sh.amounts {
		const small, few = 1 << 40, 1 << 20 // what is asked of so many cannot overflow
		switch have := free[a.Resource]; {
		case tasks <= 0:
			return 0
		case a.Value <= small && tasks <= few && a.Value*tasks <= have: // quicker than to divide
		default:
			tasks = min(tasks, have/a.Value)
		}
	}
	if sh.count > 0 && tasks > 0 {
		tasks = min(tasks, x.deviceRoom(sh, nd))
	}
	return int(max(0, min(tasks, math.MaxInt32)))
}

// Admissible reports whether the node would take a task of the shape if it were
// empty.
func (x *Index) Admissible(s Shape, node int32) bool {
	sh := x.shape(s)
	return sh != nil && x.allowedOn(sh, node)
}

// MakesRoom is a sound bound: whether there would be room for more tasks of the shape on the
// node once a task of another, or the same, that stands at the place has gone. False is that it is not
// plain, as more is given out there than there is, what goes frees less than is asked, or the task could
// not be placed there anew.
func MakesRoom(x *Index, s, gone Shape, p Place) bool {
	sh := x.shape(s)
	if p.Pipelined || sh == nil || !x.allowedOn(sh, p.Node) {
		return false
	}
	nd := &x.nodes[p.Node]
	if nd.slots < 0 || sh.count == 0 && nd.cpuOnlySlots < 0 || s == gone && !x.Admits(s, p) || s != gone && !holdsMore(x, sh, gone, p) {
		return false
	}
	free := x.freeOf(p.Node)
	for _, a := range sh.amounts {
		if free[a.Resource] < 0 {
			return false
		}
	}
	for m := p.Devices; m != 0; m &= m - 1 {
		if x.left[int(nd.devices)+bits.TrailingZeros64(m)] < 0 {
			return false
		}
	}
	return true
}

// holdsMore is a sound bound: whether a task of a shape that stands at the place holds what one of another
// asks: whole devices, as many of one model and on no island, and of each resource as much.
func holdsMore(x *Index, sh *shape, gone Shape, p Place) bool {
	was, nd := x.shape(gone), &x.nodes[p.Node]
	if was == nil || !was.whole || !sh.whole || sh.count == 0 || sh.island != AnyIsland ||
		slices.ContainsFunc(sh.amounts, func(a quota.Amount) bool { return was.amounts.Of(a.Resource) < a.Value }) {
		return false
	}
	devices := p.Devices & sh.capable[nd.layout] & nd.healthy
	return slices.ContainsFunc(x.layouts[nd.layout].groups, func(g group) bool {
		return bits.OnesCount64(devices&g.mask) >= sh.count
	})
}

// MustGo is how many of some tasks of one shape, which stand on one node, have to go, whichever of them
// that are, so that there is room for a task of another shape, or the same, where there is none: more than
// they are if all of them are not enough. 0 is that it is not plain.
func MustGo(x *Index, s, gone Shape, places []Place) int {
	sh, was := x.shape(s), x.shape(gone)
	if sh == nil || was == nil || len(places) == 0 || !x.allowedOn(sh, places[0].Node) || slices.ContainsFunc(places, func(p Place) bool { return p.Pipelined }) {
		return 0
	}
	nd := &x.nodes[places[0].Node]
	if nd.slots < 0 || sh.count == 0 && (nd.cpuOnlySlots < 0 || nd.cpuOnlySlots == 0 && was.count > 0) {
		return 0
	}
	n := int64(1)
	for _, a := range sh.amounts {
		missing, each := a.Value-x.freeOf(places[0].Node)[a.Resource], was.amounts.Of(a.Resource)
		if missing > a.Value || missing > 0 && each == 0 {
			return 0
		}
		if missing > 0 {
			n = max(n, (missing-1)/each+1)
		}
	}
	if sh.count > 0 {
		devices := mustGoOf(x, sh, was, nd, places)
		if devices == 0 {
			return 0
		}
		n = max(n, devices)
	}
	return int(min(n, int64(len(places))+1))
}

// mustGoOf is MustGo as far as devices decide it: whole ones of one model on no island.
func mustGoOf(x *Index, sh, was *shape, nd *node, places []Place) int64 {
	if !sh.whole || !was.whole || was.count == 0 || sh.island != AnyIsland {
		return 0
	}
	theirs, usable := uint64(0), sh.capable[nd.layout]&nd.healthy
	for _, p := range places {
		theirs |= p.Devices
	}
	for m := theirs; m != 0; m &= m - 1 {
		if x.left[int(nd.devices)+bits.TrailingZeros64(m)] != 0 { // more is given out there than there is
			return 0
		}
	}
	if theirs&^usable != 0 {
		return 0
	}
	n := int64(0)
	for _, g := range x.layouts[nd.layout].groups {
		have := bits.OnesCount64(usable & g.mask & nd.whole)
		switch {
		case have >= sh.count:
			return 1 // it is not for want of devices
		case theirs&^g.mask == 0:
			n = int64((sh.count-have-1)/was.count + 1)
		}
	}
	return n
}

func (x *Index) allowedOn(sh *shape, node int32) bool {
	return sh.ever && node >= 0 && int(node) < len(x.nodes) && sh.allowed.has(node)
}

// deviceRoom is how many tasks the node's devices take, model by model.
func (x *Index) deviceRoom(sh *shape, nd *node) int64 {
	l := &x.layouts[nd.layout]
	total := int64(0)
	for i := range l.groups {
		devices := sh.capable[nd.layout] & nd.healthy & l.groups[i].mask
		if sh.island != AnyIsland {
			total += x.islandRoom(sh, l, x.withRoom(sh, nd, devices), func(d int) int64 {
				return x.left[int(nd.devices)+d]
			})
			continue
		}
		if sh.whole {
			total += int64(bits.OnesCount64(devices&nd.whole) / sh.count)
			continue
		}
		parts := int64(0)
		for m := devices & (nd.whole | nd.shared); m != 0; m &= m - 1 {
			d := bits.TrailingZeros64(m)
			parts += max(0, x.left[int(nd.devices)+d]) / sh.units(l, d)
		}
		total += parts / int64(sh.count)
	}
	return total
}

// islandRoom is how many tasks that require an island the devices with room take,
// all of one model: whole devices exactly, of parts a bound.
func (x *Index) islandRoom(sh *shape, l *layout, room uint64, left func(device int) int64) int64 {
	if !sh.holds(l, room) {
		return 0
	}
	if sh.whole {
		return int64(l.mesh.pack(room, sh.count, l.mesh.tierOf[sh.island]))
	}
	parts := int64(0)
	for m := room; m != 0; m &= m - 1 {
		d := bits.TrailingZeros64(m)
		parts += left(d) / sh.units(l, d)
	}
	return parts / int64(sh.count)
}
