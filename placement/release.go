package placement

import (
	"maps"
	"math/bits"
	"slices"
)

// A change is by how many tasks more run at a place, are leaving it and claim it.
type change struct{ running, releasing, claimed int8 }

func (c change) reversed() change { return change{-c.running, -c.releasing, -c.claimed} }

// taken is how many tasks take a place; it is below 0 where they free it.
func (c change) taken() int64 {
	switch {
	case c.running != 0:
		return int64(c.running)
	case c.claimed != 0:
		return int64(c.claimed)
	}
	return int64(c.releasing)
}

// taking is what to take the place changes.
func taking(p Place) change {
	if p.Pipelined {
		return change{claimed: 1}
	}
	return change{running: 1}
}

// A release is what is releasing and what is claimed, node by node, and the second
// layer of the index that follows from it.
type release struct {
	nodes map[int32]*passing
	// tasks and claims are how many are releasing and claim a place.
	tasks, claims int
	// after is the index of what is free once all that is releasing has left; nil
	// until it is asked for.
	after *Index
}

// A passing is what is releasing and what is claimed of one node: its resources, its
// devices in share units, its slots, and those for tasks without devices.
type passing struct{ releasing, claimed []int64 }

// Release notes that a task that Take occupied a place with is leaving: until it has
// left, nothing new starts there, and what is claimed may overlap with it (S4). The
// change is journaled as that of Take is; errors are Take's.
func (x *Index) Release(s Shape, p Place) error {
	return x.change(s, p, change{running: -1, releasing: 1})
}

// Leave notes that a task has left that was releasing; errors are Take's.
func (x *Index) Leave(s Shape, p Place) error {
	return x.change(s, p, change{releasing: -1})
}

// Releasing reports whether any task is leaving its place.
func (x *Index) Releasing() bool {
	if x.now != nil {
		return x.now.Releasing()
	}
	return x.release != nil && x.release.tasks > 0
}

// AfterRelease returns the index of the same nodes once all that is releasing has
// left: what it finds fits beside what runs and what is claimed, and a place of it
// is [Place.Pipelined] where it does not fit beside what is releasing too (S4). Every
// change of one of the two is one of both, and so is a mark, and shapes have the
// same names. Where nothing is releasing it is the index itself.
//
// It is built when it is first asked for, in time and memory linear in the nodes, and
// then every change costs twice. It has to be asked for again after SetScoring and
// Cordon, and once nothing is releasing and claimed any more.
func (x *Index) AfterRelease() *Index {
	switch {
	case x.now != nil || !x.Releasing():
		return x
	case x.release.after == nil:
		x.release.after = x.release.newAfter(x)
	}
	return x.release.after
}

// fits reports whether a task of the shape fits a place of the node once all that is releasing has left.
func (at *passing) fits(x *Index, s Shape, p Place) bool {
	if !x.Admits(s, p) {
		return false
	}
	sh, nd := x.shape(s), &x.nodes[p.Node]
	beyond := func(cell int) int64 { return max(0, at.releasing[cell]-at.claimed[cell]) }
	last := len(at.releasing) - 2
	if nd.slots+beyond(last) < 1 || sh.count == 0 && nd.cpuOnlySlots+beyond(last+1) < 1 {
		return false
	}
	for _, a := range sh.amounts {
		if x.freeOf(p.Node)[a.Resource]+beyond(int(a.Resource)) < a.Value {
			return false
		}
	}
	l := &x.layouts[nd.layout]
	for m := p.Devices; m != 0; m &= m - 1 {
		if d := bits.TrailingZeros64(m); x.left[int(nd.devices)+d]+beyond(x.resources+d) < sh.units(l, d) {
			return false
		}
	}
	return true
}

// newAfter returns what is free once all that is releasing has left.
func (r *release) newAfter(x *Index) *Index {
	y := *x
	y.now, y.release, y.scorer, y.journal = x, nil, nil, journal{}
	y.nodes, y.free, y.left = slices.Clone(x.nodes), slices.Clone(x.free), slices.Clone(x.left)
	y.rankings, y.frees = newRankings(x.resources), map[int32]*freeSum{}
	y.grown, y.opened, y.moved = newRing(len(x.nodes)), newRing(len(x.nodes)), newRing(len(x.nodes))
	y.teams, y.shapes, y.domains = nil, nil, x.domains.afresh()
	for i := range x.teams {
		y.teams = append(y.teams, x.teams[i])
		y.teams[i].tasks = slices.Clone(x.teams[i].tasks)
	}
	for _, sh := range x.shapes {
		sh.copyTo(&y)
	}
	for _, v := range slices.Sorted(maps.Keys(x.release.nodes)) {
		p, nd := x.release.nodes[v], &y.nodes[v]
		beyond := func(cell int) int64 { return max(0, p.releasing[cell]-p.claimed[cell]) }
		free := y.freeOf(v)
		for r := range free {
			free[r] += beyond(r)
		}
		l := &y.layouts[nd.layout]
		for d := range l.scale {
			y.left[int(nd.devices)+d] += beyond(x.resources + d)
		}
		last := len(p.releasing) - 2
		nd.slots += beyond(last)
		nd.cpuOnlySlots += beyond(last + 1)
		y.sortDevices(nd, l.all())
	}
	y.changed()
	return &y
}

// copyTo gives an index a shape that its other layer has, which has found nothing in
// this one.
func (sh *shape) copyTo(x *Index) {
	own := *sh
	own.finders, own.rejected, own.rooms = [lastStrategy + 1]*finder{}, 0, rooms{}
	x.shapes = append(x.shapes, &own)
	if int(sh.team) >= len(x.teams) {
		x.teams = append(x.teams, team{sh.count, sh.whole, make([]int32, len(x.nodes))})
	}
}

// forgetAfter has the second layer built anew when it is next asked for.
func (r *release) forgetAfter() {
	if r != nil {
		r.after = nil
	}
}

// unlessEmpty forgets what was releasing and claimed once nothing is.
func (r *release) unlessEmpty() *release {
	if r != nil && r.tasks == 0 && r.claims == 0 {
		return nil
	}
	return r
}

// check reports why a change is impossible.
func (x *Index) check(sh *shape, p Place, c change) error {
	tasks := c.taken()
	if err := x.checkChange(sh, p, tasks); err != nil || x.release == nil {
		return err
	}
	if after := x.release.after; after != nil {
		if err := after.checkChange(sh, p, tasks); err != nil {
			return err
		}
	}
	at := x.release.nodes[p.Node]
	if at != nil && (c.releasing > 0 && overflows(x, sh, p, at.releasing) || c.claimed > 0 && overflows(x, sh, p, at.claimed)) {
		return errOverflow
	}
	return nil
}

// overflows says whether one more task of the shape is too much for a sum of what is
// leaving or claimed.
func overflows(x *Index, sh *shape, p Place, cells []int64) bool {
	for _, a := range sh.amounts {
		if _, ok := add(cells[a.Resource], a.Value); !ok {
			return true
		}
	}
	l := &x.layouts[x.nodes[p.Node].layout]
	for m := p.Devices; m != 0; m &= m - 1 {
		d := bits.TrailingZeros64(m)
		if _, ok := add(cells[x.resources+d], sh.units(l, d)); !ok {
			return true
		}
	}
	return false
}

// carryOut changes both layers.
func (c change) carryOut(x *Index, sh *shape, p Place) {
	if c.releasing == 0 && c.claimed == 0 {
		x.apply(sh, p, int64(c.running))
	} else {
		passingOn(x, p.Node).change(x, sh, p, c)
	}
	if x.release == nil || x.release.after == nil {
		return
	}
	if n := c.running + c.claimed; n != 0 { // what is releasing, it does not know
		x.release.after.apply(sh, p, int64(n))
	}
}

// passingOn is what is releasing and claimed of a node.
func passingOn(x *Index, v int32) *passing {
	if x.release == nil {
		x.release = &release{nodes: make(map[int32]*passing)}
	}
	at := x.release.nodes[v]
	if at == nil {
		size := x.resources + len(x.layouts[x.nodes[v].layout].scale) + 2
		both := make([]int64, 2*size)
		at = &passing{both[:size:size], both[size:]}
		x.release.nodes[v] = at
	}
	return at
}

// change changes what is releasing or claimed, and what is free now: all but what runs,
// and the larger of what is releasing and what is claimed.
func (at *passing) change(x *Index, sh *shape, p Place, c change) {
	x.release.tasks += int(c.releasing)
	x.release.claims += int(c.claimed)
	freed := false
	// less is by how much less is free of one cell.
	less := func(cell int, units int64) int64 {
		before := max(at.releasing[cell], at.claimed[cell])
		at.releasing[cell] += int64(c.releasing) * units
		at.claimed[cell] += int64(c.claimed) * units
		n := int64(c.running)*units + max(at.releasing[cell], at.claimed[cell]) - before
		freed = freed || n < 0
		return n
	}
	nd, free := &x.nodes[p.Node], x.freeOf(p.Node)
	for _, a := range sh.amounts {
		free[a.Resource] -= less(int(a.Resource), a.Value)
	}
	l := &x.layouts[nd.layout]
	for m := p.Devices; m != 0; m &= m - 1 {
		d := bits.TrailingZeros64(m)
		x.left[int(nd.devices)+d] -= less(x.resources+d, sh.units(l, d))
	}
	last := len(at.releasing) - 2
	nd.slots -= less(last, 1)
	if sh.count == 0 {
		nd.cpuOnlySlots -= less(last+1, 1)
	} else if x.teams != nil { // a Ledger has none
		x.teams[sh.team].tasks[p.Node] += int32(c.running + c.claimed)
	}
	x.moved.push(p.Node)
	if freed {
		x.grown.push(p.Node)
		x.opened.push(p.Node)
	}
	x.settle(p.Node, p.Devices)
}
