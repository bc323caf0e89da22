package placement

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// A Mark is a moment to go back to, by [Index.Undo], or to make final, by
// [Index.Commit].
type Mark struct {
	entries, depth int
	version        uint64
}

// A journal lists the changes since the outermost mark.
type journal struct {
	entries []entry
	cells   cells // of burdens, see Profile
	depth   int   // marks outstanding
}

type entry struct {
	place Place
	shape Shape
	what  change
}

// Take occupies a place with a task of the shape: it runs there or, where the place
// is pipelined, claims it (S4). It asks for no leave: what is free may go below
// zero, so that a state which is over-used can be told as it is; after a Find or
// Fits it never does. The change is journaled while a mark is outstanding.
//
// Nothing changes where there is an error: an unknown shape, a place that does
// not exist or has a number of devices other than the shape's, or an overflow.
func (x *Index) Take(s Shape, p Place) error { return x.change(s, p, taking(p)) }

// MaxTogether is how many tasks [TakeTogether] takes at most.
const MaxTogether = 64

// TakeTogether is Take of several tasks of a shape that run on one node, none on a device of
// another: the place has the devices of all of them.
func TakeTogether(x *Index, s Shape, p Place, tasks int) error {
	if tasks < 1 || tasks > MaxTogether || p.Pipelined {
		return fmt.Errorf("placement: %d tasks together", tasks)
	}
	return x.change(s, p, change{running: int8(tasks)})
}

// Give frees a place that Take occupied; errors are Take's.
func (x *Index) Give(s Shape, p Place) error { return x.change(s, p, taking(p).reversed()) }

func (x *Index) change(s Shape, p Place, c change) error {
	if x.now != nil {
		return x.now.change(s, p, c)
	}
	sh := x.shape(s)
	if err := x.check(sh, p, c); err != nil {
		return err
	}
	c.carryOut(x, sh, p)
	if x.journal.depth > 0 {
		x.journal.entries = append(x.journal.entries, entry{place: p, shape: s, what: c})
	} else {
		x.release = x.release.unlessEmpty()
	}
	return nil
}

var (
	errShape    = errors.New("placement: no such shape")
	errOverflow = errors.New("placement: use overflows")
)

// checkChange reports why so many tasks can neither take a place together nor, below 0, free it.
func (x *Index) checkChange(sh *shape, p Place, tasks int64) error {
	if sh == nil || sh.senseless {
		return errShape
	}
	if p.Node < 0 || int(p.Node) >= len(x.nodes) {
		return fmt.Errorf("placement: no node %d", p.Node)
	}
	nd := &x.nodes[p.Node]
	l := &x.layouts[nd.layout]
	if p.Devices&^l.all() != 0 || bits.OnesCount64(p.Devices) != sh.count*int(max(tasks, -tasks)) {
		return fmt.Errorf("placement: devices %#x on node %d for %d tasks of %d", p.Devices, p.Node, tasks, sh.count)
	}
	free := x.freeOf(p.Node)
	for _, a := range sh.amounts {
		if tasks > 1 && a.Value > math.MaxInt64/tasks {
			return errOverflow
		}
		if _, ok := add(free[a.Resource], -tasks*a.Value); !ok {
			return errOverflow
		}
	}
	sign := signOf(tasks)
	for m := p.Devices; m != 0; m &= m - 1 {
		d := bits.TrailingZeros64(m)
		if _, ok := add(x.left[int(nd.devices)+d], sign*sh.units(l, d)); !ok {
			return errOverflow
		}
	}
	return nil
}

// signOf is what so many tasks do to what is free of a device.
func signOf(tasks int64) int64 {
	if tasks < 0 {
		return 1
	}
	return -1
}

// apply changes the state and everything that is derived from it: so many tasks take a place or, below 0, free it.
func (x *Index) apply(sh *shape, p Place, tasks int64) {
	x.moved.push(p.Node)
	if tasks < 0 {
		x.grown.push(p.Node)
		x.opened.push(p.Node)
	}
	nd := &x.nodes[p.Node]
	nd.slots -= tasks
	free := x.freeOf(p.Node)
	for _, a := range sh.amounts {
		free[a.Resource] -= tasks * a.Value
	}
	if sh.count == 0 {
		nd.cpuOnlySlots -= tasks
		x.changed()
		return
	}
	if x.teams != nil { // a Ledger has none
		x.teams[sh.team].tasks[p.Node] += int32(tasks)
	}
	sign := signOf(tasks)
	l := &x.layouts[nd.layout]
	for m := p.Devices; m != 0; m &= m - 1 {
		d := bits.TrailingZeros64(m)
		x.left[int(nd.devices)+d] += sign * sh.units(l, d)
	}
	x.settle(p.Node, p.Devices)
}

// changed gives the state a version that no state had before.
func (x *Index) changed() {
	x.changes++
	x.version = x.changes
}

// settle brings what is derived from the touched devices up to date.
func (x *Index) settle(v int32, touched uint64) {
	x.changed()
	nd := &x.nodes[v]
	whole := nd.whole
	x.sortDevices(nd, touched)
	if whole&nd.shared != 0 {
		x.opened.push(v)
	}
}

// sortDevices sorts the touched devices of a node into whole, shared and
// neither.
func (x *Index) sortDevices(nd *node, touched uint64) {
	l := &x.layouts[nd.layout]
	nd.whole &^= touched
	nd.shared &^= touched
	for m := touched & nd.healthy; m != 0; m &= m - 1 {
		d := bits.TrailingZeros64(m)
		switch left := x.left[int(nd.devices)+d]; {
		case left >= l.total(d):
			nd.whole |= 1 << d
		case left > 0:
			nd.shared |= 1 << d
		}
	}
}

// Mark begins a stretch of changes that Undo can take back. Marks nest; each
// is ended once, by Undo or Commit, the inner before the outer. Ending an outer
// one ends those inside it likewise.
func (x *Index) Mark() Mark {
	if x.now != nil {
		return x.now.Mark()
	}
	m := Mark{len(x.journal.entries), x.journal.depth, x.version}
	x.journal.depth++
	return m
}

// AppendChanged appends the nodes of the changes of an index since its mark to a list,
// each as often as it was changed.
func (m Mark) AppendChanged(nodes []int32, x *Index) []int32 {
	if x.now != nil {
		x = x.now
	}
	for i := range x.journal.entries[m.entries:] {
		nodes = append(nodes, x.journal.entries[m.entries+i].place.Node)
	}
	return nodes
}

// Undo takes back every change since the mark, in time proportional to them,
// and ends the mark. A mark that is ended already changes nothing.
func (x *Index) Undo(m Mark) {
	if x.now != nil {
		x.now.Undo(m)
		return
	}
	if m.depth >= x.journal.depth {
		return
	}
	for i := len(x.journal.entries) - 1; i >= m.entries; i-- {
		if e := x.journal.entries[i]; e.shape == burdened {
			e.unburden(x)
		} else {
			e.what.reversed().carryOut(x, x.shapes[e.shape], e.place)
		}
	}
	x.journal.entries = x.journal.entries[:m.entries]
	x.journal.depth = m.depth
	// All is as it was, and what was found out then is true again.
	x.version = m.version
	if m.depth == 0 {
		x.release = x.release.unlessEmpty()
	}
}

// Commit ends the mark and keeps the changes; an outer mark can still undo
// them. With no mark outstanding nothing is remembered. A mark that is ended
// already changes nothing.
func (x *Index) Commit(m Mark) {
	if x.now != nil {
		x.now.Commit(m)
		return
	}
	if m.depth >= x.journal.depth {
		return
	}
	x.journal.depth = m.depth
	if m.depth == 0 {
		x.journal.entries, x.journal.cells = x.journal.entries[:0], x.journal.cells[:0]
		x.release = x.release.unlessEmpty()
	}
}
