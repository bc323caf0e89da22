package gang

import (
	"slices"

	"github.com/allotsched/allot/placement"
)

// Counting is a proof for tasks of one shape; for several it is not. So where the
// quick ways fail and the unit is small, every way to part it among domains and
// nodes is tried, within a budget: preferences count for nothing any more.

const (
	// mostDeepNodes and mostDeepTasks are up to how many nodes with room, and
	// tasks, every way is tried. Beyond that the ways are so many that the steps
	// would nearly always run out before the answer.
	mostDeepNodes = 64
	mostDeepTasks = 64
	// mostDeepSteps is how many places are taken at most: less than MostWasted, as
	// this search begins when that one has failed.
	mostDeepSteps = 20_000
)

// deep tries every way to place the unit. It says that the search was cut if it
// ends without an answer, or if what it cannot try might have helped.
func (w *search) deep() bool {
	if len(w.order) < 2 && !w.choosy(w.order[0]) {
		return false // counting has tried all there is
	}
	if !w.mayTake(w.order, area{0}) {
		return false
	}
	if c := w.bound(0); c.Required > 0 && len(w.candidates(0, c.Required, area{0}, Constraint{})) == 0 {
		w.cut = false
		return false // counting rules out each domain
	}
	w.cut = w.tasksIn(0) > mostDeepTasks || w.nodesWithRoom(area{0}) > mostDeepNodes
	if w.cut {
		return false
	}
	d := newDeepSearch(w)
	found := d.node(0, area{0}, func() bool { return true })
	w.Effort.Spend(stepsEach * d.steps)
	w.cut = !found && (d.steps > d.most || w.inexact())
	return found
}

// choosy says whether the unit has a rest of some slice that takes its choice of
// domains before others, so that counting proves nothing.
func (w *search) choosy(s int32) bool {
	cuts := w.slices(s)
	whole, rests := w.chunks(s)
	return slices.ContainsFunc(rests, func(rest []int32) bool {
		_, held := w.homeOf(s, rest, cuts[0])
		return !held && len(whole)+len(rests) > 1 || len(cuts) > 1 && len(rest) > 1
	})
}

// nodesWithRoom counts the nodes of an area that take a task of some set of the unit.
func (w *search) nodesWithRoom(where area) (n int) {
	var rooms [][]int32
	for _, s := range w.order {
		rooms = append(rooms, w.x.Rooms(w.g.sets[s].Shape))
	}
	for _, d := range where {
		for _, v := range w.t.Nodes(d) {
			if slices.ContainsFunc(rooms, func(on []int32) bool { return on[v] > 0 }) {
				n++
			}
		}
	}
	return n
}

// inexact says whether the choice of devices, which is not tried in every way, may
// have decided: where some task takes a part of a device or several devices that
// are linked.
func (w *search) inexact() bool {
	for _, s := range w.order {
		if w.g.sets[s].Devices > 0 && !w.x.Plain(w.g.sets[s].Shape) {
			return true
		}
	}
	return false
}

// A deepSearch goes through all ways: each step places something, calls next for the
// rest, and takes it back if the rest fails.
type deepSearch struct {
	*search
	steps, most int      // places that were taken, and are at most
	parting     *parting // how many tasks each domain may be given; nil bounds none
}

func newDeepSearch(w *search) *deepSearch {
	return &deepSearch{search: w, most: w.most(mostDeepSteps)}
}

// node places what is inside a node of the gang's tree, then the rest.
func (d *deepSearch) node(v int32, where area, next func() bool) bool {
	if d.tasksIn(v) == 0 {
		return next()
	}
	required := d.bound(v).Required
	if required == 0 {
		return d.inside(v, where, next)
	}
	for _, e := range d.candidates(v, required, where, Constraint{}) {
		if d.inside(v, e, next) {
			return true
		}
	}
	return false
}

func (d *deepSearch) inside(v int32, where area, next func() bool) bool {
	if d.steps > d.most || !d.mayTake(d.setsIn(v), where) {
		return false
	}
	if s := d.g.tree[v].set; s >= 0 {
		whole, rests := d.chunks(s)
		if cuts := d.slices(s); len(cuts) > 0 {
			return d.sliced(s, where, append(chunksOf(whole, cuts[0].Size), rests...), cuts, 0, next)
		}
		return d.tasks(s, d.nodesOf(s, where), whole, 0, next)
	}
	return d.children(v, where, next)
}

// children places the children of a group.
func (d *deepSearch) children(v int32, where area, next func() bool) bool {
	return d.list(d.childrenOf(v), where, next)
}

// list places nodes of the gang's tree one after the other.
func (d *deepSearch) list(children []int32, where area, next func() bool) bool {
	if len(children) == 0 {
		return next()
	}
	return d.node(children[0], where, func() bool { return d.list(children[1:], where, next) })
}

func chunksOf(tasks []int32, size int32) (out [][]int32) {
	for ; len(tasks) > 0; tasks = tasks[size:] {
		out = append(out, tasks[:size])
	}
	return out
}

// sliced places slices one after the other; whole ones, which are alike, in the
// order of their domains, of which from is the first to try.
func (d *deepSearch) sliced(s int32, where area, chunks [][]int32, cuts []Slice, from int, next func() bool) bool {
	if len(chunks) == 0 {
		return next()
	}
	chunk := chunks[0]
	home, held := d.homeOf(s, chunk, cuts[0])
	if held && home < 0 {
		return false
	}
	domains := d.divide(where, cuts[0].Level)
	if len(chunk) < int(cuts[0].Size) {
		from = 0 // a rest is like no other
	}
	for i := from; i < len(domains); i++ {
		if held && d.domainAt(domains[i][0], cuts[0].Level) != home || d.takes(s, domains[i], nil) < int64(len(chunk)) {
			continue
		}
		then := func() bool { return d.sliced(s, where, chunks[1:], cuts, i, next) }
		if len(cuts) > 1 {
			if d.sliced(s, domains[i], d.slicesOf(s, chunk, cuts[1].Size), cuts[1:], 0, then) {
				return true
			}
		} else if d.tasks(s, d.nodesOf(s, domains[i]), chunk, 0, then) {
			return true
		}
	}
	return false
}

// nodesOf lists the nodes of an area that take a task of the set.
func (d *deepSearch) nodesOf(s int32, where area) (out []int32) {
	rooms := d.x.Rooms(d.g.sets[s].Shape)
	for _, e := range where {
		for _, v := range d.t.Nodes(e) {
			if rooms[v] > 0 {
				out = append(out, v)
			}
		}
	}
	return out
}

// tasks places alike tasks, in the order of the nodes, of which from is the first
// to try.
func (d *deepSearch) tasks(s int32, nodes, tasks []int32, from int, next func() bool) bool {
	if len(tasks) == 0 {
		return next()
	}
	set := &d.g.sets[s]
	for i := from; i < len(nodes) && d.steps <= d.most; i++ {
		if !d.parting.open(nodes[i]) {
			continue
		}
		place, ok := d.x.PlaceOn(set.Shape, nodes[i], d.st.of(set))
		if !ok {
			continue
		}
		d.steps++
		mark, placed := d.x.Mark(), d.placed
		if d.take(s, tasks[0], place) {
			d.parting.give(nodes[i], 1)
			if d.tasks(s, nodes, tasks[1:], i, next) {
				d.x.Commit(mark)
				return true
			}
			d.parting.give(nodes[i], -1)
		}
		d.x.Undo(mark)
		d.placed = placed
	}
	return false
}

// homeOf is the domain in which what is held of a chunk's slice is, −1 if that is
// none or several.
func (w *search) homeOf(s int32, chunk []int32, cut Slice) (d placement.Domain, held bool) {
	slice := w.index(s, chunk[0]) / cut.Size
	all := w.siblings.Standing.inSlice(s, slice, cut)
	for i := range w.siblings.Held {
		if h := &w.siblings.Held[i]; h.Node >= 0 && h.Set == s && h.Index/cut.Size == slice {
			all = all.join(home{w.t.Of(h.Node, cut.Level), true})
		}
	}
	if !all.held {
		return -1, false
	}
	return all.domain, true
}
