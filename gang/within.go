package gang

import (
	"slices"

	"github.com/allotsched/allot/placement"
)

// MostWasted is how many places of a unit with constraints are taken in vain at
// most before [Placer.PlaceWithSiblings] gives up: its verdict says so (Cut). Taking
// a place and giving it back is less than a microsecond's work, so a search in vain
// ends within about a tenth of a second, and a gang of some thousands of tasks still has a dozen tries.
const MostWasted = 50_000

// mostTrials is for how many levels that are preferred and not required as many places
// again are taken in vain.
const mostTrials = 4

// brief is by how much sooner a search gives up if its Placer is Brief: 2,000 places
// in vain are enough for the units that are asked for by the dozen.
const brief = 25

// A Held is a task of a gang that runs or is claimed: its set, its index in the
// set and the position of its node, −1 where that is none of the index's: such a
// task has its index in the set, and pins nothing (S7).
type Held struct{ Set, Index, Node int32 }

// Siblings are the tasks of a gang that have a place already while a unit of it is
// placed. The zero Siblings are none.
type Siblings struct {
	// Standing are the placed tasks that are counted already, none of them in the unit; nil is
	// none.
	Standing *Standing
	// Held are the other placed tasks, none of them in the unit, in any order.
	Held []Held
	// Indices are, by set, the indices that the tasks of the unit get, in their
	// order, as many as the unit adds and none of them held: they decide the slice
	// that each task belongs to (T3). nil counts from 0.
	Indices [][]int32
}

// An area is where tasks may go: domains of any levels that do not overlap, at least
// one.
type area []placement.Domain

// A search places one unit under constraints. A branch that fails leaves the index,
// dst and placed as they were.
type search struct {
	*Placer
	x        *placement.Index
	t        *placement.Topology
	g        *Gang
	u        Unit
	st       Strategies
	siblings *Siblings
	dst      []placement.Place // by Placer.begin of the set, then by task of the unit
	// placed is how many tasks of the unit have a place now, and at most those of the
	// unit; peak is what placed was at most, so placed ≤ peak.
	placed, peak int32
	// wasted is how many places were taken and given back since the search began, or the
	// trial. Beyond limit cut is set, and all branches fail.
	wasted, limit int
	cut           bool
	// choices is how many steps it has cost to count what choices of domains take.
	choices int
	// spare is how many places trials may still waste, which end no search; trying is set
	// inside one.
	spare  int
	trying bool
	// idle says by node whether no device was in use before anything was placed; nil
	// where such nodes may be used. It never changes while the unit is placed.
	idle []bool
	// known remembers, by set, whether the unit has only a part of some slice:
	// 0 is not known yet, 1 is no, 2 is yes. nil until it is asked for.
	known []int8
}

// within places the unit where its constraints allow it, all or nothing.
func (p *Placer) within(x *placement.Index, g *Gang, u Unit, siblings Siblings, st Strategies, dst []placement.Place) Verdict {
	if p.Topology == nil && len(p.order) > 0 {
		return Verdict{Kind: NoDomain, Set: p.order[0], Need: g.added(u, int(p.order[0]))}
	}
	w := &search{Placer: p, x: x, t: p.Topology, g: g, u: u, st: st, siblings: &siblings, dst: dst}
	w.limit, w.spare = w.most(MostWasted), mostTrials*w.most(MostWasted)
	if p.UsedNodes {
		w.idle = idleNodes(x, len(x.Rooms(g.sets[0].Shape)))
	}
	mark := x.Mark()
	if w.place(0, area{0}, Constraint{}) || w.deep() {
		x.Commit(mark)
		return Verdict{OK: true, Set: -1, Placed: w.placed}
	}
	x.Undo(mark)
	return Verdict{Kind: NoDomain, Set: p.order[0], Need: g.added(u, int(p.order[0])), Placed: w.peak, Cut: w.cut || w.idle != nil}
}

// idleNodes says which nodes have no device in use.
func idleNodes(x *placement.Index, nodes int) []bool {
	idle := make([]bool, nodes)
	for v := range idle {
		_, idle[v] = x.Idle(int32(v))
	}
	return idle
}

// barred says whether tasks of a set are kept off a node (P8). Counting does not look
// at it: so a refusal is no proof.
func (w *search) barred(s, node int32) bool {
	return w.idle != nil && w.idle[node] && w.g.sets[s].Devices > 0
}

// tasksIn counts the unit's tasks inside a node of the gang's tree.
func (w *search) tasksIn(v int32) (n int32) {
	for i := v; i < w.g.tree[v].end; i++ {
		if s := w.g.tree[i].set; s >= 0 {
			n += w.g.added(w.u, int(s))
		}
	}
	return n
}

// setsIn lists the sets inside a node of which the unit has tasks, the hardest
// first.
func (w *search) setsIn(v int32) (sets []int32) {
	for _, s := range w.order {
		if leaf := w.g.leaf[s]; v <= leaf && leaf < w.g.tree[v].end {
			sets = append(sets, s)
		}
	}
	return sets
}

// bound is the constraint of a node of the gang's tree; what is preferred narrower
// than nodes are is preferred on one.
func (w *search) bound(v int32) Constraint {
	if w.g.bounds == nil {
		return Constraint{}
	}
	c := w.g.bounds[v]
	c.Preferred = min(c.Preferred, w.t.NodeLevel())
	return c
}

// place places what is inside a node of the gang's tree: it climbs from the
// preferred level to the required one (T2). What has no preference of its own is
// parted like what is around it.
func (w *search) place(v int32, where area, around Constraint) bool {
	if w.tasksIn(v) == 0 {
		return true
	}
	c := w.bound(v)
	if c.Preferred == 0 {
		c.Preferred, c.Mode = around.Preferred, around.Mode
		return w.content(v, where, c)
	}
	level := c.Preferred
	if c.Mode == Spread {
		level = c.Required
	}
	for ; level > c.Required; level-- {
		list := w.candidates(v, level, where, c)
		if len(list) > 0 && (w.trial(func() bool { return w.inOne(v, list, c) }) || w.trial(func() bool { return w.exactlyInOne(v, list) })) {
			return true
		}
		if w.cut {
			return false
		}
	}
	return w.inOne(v, w.candidates(v, level, where, c), c)
}

// inOne places what is inside v in one of some areas, in the fewest domains of the
// preferred level, whichever area they are in.
func (w *search) inOne(v int32, areas []area, c Constraint) bool {
	whole := w.g.tree[v].set < 0 && len(w.setsIn(v)) > 1 && c.Mode != Spread
	if whole && w.parted(v, areas, c) {
		return true
	}
	for _, e := range areas {
		if w.cut {
			return false
		}
		if w.attempt(func() bool {
			switch {
			case whole && c.Preferred > 0 && len(e) == 1 && w.t.LevelOf(e[0]) >= c.Preferred:
				return w.inAll(v, e, c)
			case whole:
				return w.children(v, e, c)
			}
			return w.content(v, e, c)
		}) {
			return true
		}
	}
	return false
}

// attempt runs a branch and takes it back if it fails.
func (w *search) attempt(branch func() bool) bool {
	mark, placed := w.x.Mark(), w.placed
	if branch() {
		w.x.Commit(mark)
		return true
	}
	w.x.Undo(mark)
	w.waste(max(1, int(w.placed-placed)))
	w.placed = placed
	w.cut = w.cut || w.wasted > w.limit
	return false
}

// waste counts places that were taken in vain.
func (w *search) waste(places int) {
	w.wasted += places
	w.Effort.Spend(stepsEach * places)
}

// stepsEach is how many steps of [Placer.Effort] a place costs that is taken in vain.
const stepsEach = 3

// trial runs a branch without which the search goes on: it may waste as many places as a
// whole search, as long as there are some to spare, and what it wastes counts for nothing
// in the search. Inside a trial there is no other.
func (w *search) trial(branch func() bool) (ok bool) {
	if w.trying {
		return branch()
	}
	if w.spare <= 0 {
		return false
	}
	wasted := w.wasted
	w.trying, w.wasted, w.limit = true, 0, min(w.spare, w.most(MostWasted))
	ok = branch()
	w.spare -= w.wasted
	w.trying, w.wasted, w.limit, w.cut = false, wasted, w.most(MostWasted), false
	return ok
}

// most is a bound of the search; it is lower for a Placer that is Brief, and where the
// searches together have cost nearly all that they may.
func (w *search) most(n int) int {
	if w.Brief {
		n /= brief
	}
	return w.Effort.Narrow(stepsEach*n) / stepsEach
}

// A candidate is a part of an area that lies in one domain, with the figures by which
// it is preferred: the lower go first, in this order.
type candidate struct {
	area area
	// quality is that in which the tasks are parted there among domains of the preferred
	// level; for the rest of a slice it is worse where the whole slice would not fit.
	quality quality
	// room is how many tasks of the hardest set it takes, in whole slices; negative
	// where the domain with the most room is to come first.
	room int64
	// free is how many tasks of that set it would take were there no slices.
	free int64
}

// candidates lists the parts of an area that lie in one domain of a level and might
// take what is inside v: those first in which it is parted best among domains of the
// preferred level, then the fullest (T5). Where tasks are held, they are in that domain (T6).
func (w *search) candidates(v int32, level placement.Level, where area, c Constraint) []area {
	if level == 0 {
		return []area{where}
	}
	pinned, held, together := w.pinned(v, level)
	if held && !together {
		return nil
	}
	sets := w.setsIn(v)
	var list []candidate
	for _, e := range w.divide(where, level) {
		if c.Required > 0 && w.domainAt(e[0], c.Required) < 0 ||
			held && w.domainAt(e[0], level) != pinned || !w.mayTake(sets, e) {
			continue
		}
		one := candidate{area: e, room: w.takes(sets[0], e, w.slices(sets[0])), free: w.takes(sets[0], e, nil)}
		if level < c.Preferred && c.Mode != Spread && len(sets) == 1 {
			one.quality = w.best(sets[0], e, c)
		}
		list = append(list, one)
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return compareCandidates(&a, &b) })
	out := make([]area, len(list))
	for i := range list {
		out[i] = list[i].area
	}
	return out
}

// pinned is the domain of a level in which the tasks inside v are that are held,
// whether there are any, and whether they are in one.
func (w *search) pinned(v int32, level placement.Level) (d placement.Domain, held, together bool) {
	all := home{}
	for i := v; i < w.g.tree[v].end; i++ {
		if s := w.g.tree[i].set; s >= 0 {
			all = all.join(w.siblings.Standing.inSet(s, level))
		}
	}
	for i := range w.siblings.Held {
		h := &w.siblings.Held[i]
		if leaf := w.g.leaf[h.Set]; h.Node >= 0 && leaf >= v && leaf < w.g.tree[v].end {
			all = all.join(home{w.t.Of(h.Node, level), true})
		}
	}
	if !all.held {
		return -1, false, true
	}
	return all.domain, true, all.domain >= 0
}

// divide parts an area into those that lie in one domain of a level; nodes that
// lack the level are in none.
func (w *search) divide(where area, level placement.Level) (out []area) {
	for _, d := range where {
		if w.t.LevelOf(d) < level {
			e, to := w.t.At(level, d)
			out = slices.Grow(out, int(to-e))
			for ones := make(area, 0, to-e); e < to; e++ {
				ones = append(ones, e)
				out = append(out, ones[len(ones)-1:len(ones):len(ones)])
			}
			continue
		}
		at := w.domainAt(d, level)
		if at < 0 {
			continue
		}
		same := slices.IndexFunc(out, func(a area) bool { return w.domainAt(a[0], level) == at })
		if same < 0 {
			out = append(out, area{d})
		} else {
			out[same] = append(out[same], d)
		}
	}
	return out
}

// domainAt is the domain of a level in which all of a domain is, −1 if none is.
func (w *search) domainAt(d placement.Domain, level placement.Level) placement.Domain {
	if w.t.LevelOf(d) < level {
		return -1
	}
	return w.t.Of(w.t.Nodes(d)[0], level)
}

// slices are those that count for the whole chunks of a set.
func (w *search) slices(s int32) []Slice { return w.g.sets[s].Constraint.Slices }

// mayTake is a sound bound: an area that has not room for every set, each alone, or
// fewer devices than all of them take, has none for all.
func (w *search) mayTake(sets []int32, where area) bool {
	for _, s := range sets {
		cuts := w.slices(s)
		if len(cuts) > 0 && w.broken(s) {
			cuts = nil
		}
		if w.takes(s, where, cuts) < int64(w.g.added(w.u, int(s))) {
			return false
		}
	}
	return len(sets) < 2 || w.enoughDevices(sets, where)
}

// enoughDevices says whether an area has the whole devices that the sets take
// together.
func (w *search) enoughDevices(sets []int32, where area) bool {
	need := int64(0) // in milli
	for _, s := range sets {
		if w.x.Whole(w.g.sets[s].Shape) {
			need += 1000 * int64(w.g.sets[s].Devices) * int64(w.g.added(w.u, int(s)))
		}
	}
	for _, d := range where {
		for _, v := range w.t.Nodes(d) {
			if need <= 0 {
				return true
			}
			need -= w.x.MostFree(v, 0)
		}
	}
	return need <= 0
}

// takes is how many tasks of a set an area takes, in whole slices.
func (w *search) takes(s int32, where area, cuts []Slice) (total int64) {
	if len(cuts) > 0 && len(where) > 1 { // a slice may lie in several of them
		for _, e := range w.divide(where, cuts[0].Level) {
			n := w.takes(s, e, cuts[1:])
			total += n - n%int64(cuts[0].Size)
		}
		return total
	}
	rooms := w.x.Rooms(w.g.sets[s].Shape)
	for _, d := range where {
		total += w.takesIn(rooms, d, cuts)
	}
	return total
}

func (w *search) takesIn(rooms []int32, d placement.Domain, cuts []Slice) (total int64) {
	if len(cuts) == 0 {
		for _, v := range w.t.Nodes(d) {
			total += int64(rooms[v])
		}
		return total
	}
	size, level := int64(cuts[0].Size), cuts[0].Level
	if w.t.LevelOf(d) >= level {
		if w.domainAt(d, level) < 0 {
			return 0
		}
		n := w.takesIn(rooms, d, cuts[1:])
		return n - n%size
	}
	for e, to := w.t.At(level, d); e < to; e++ {
		n := w.takesIn(rooms, e, cuts[1:])
		total += n - n%size
	}
	return total
}

// content places what is inside v somewhere in an area; c says how it is parted.
func (w *search) content(v int32, where area, c Constraint) bool {
	if s := w.g.tree[v].set; s >= 0 {
		return w.placeSet(s, where, c)
	}
	if c.Preferred > 0 && len(w.setsIn(v)) > 1 {
		if w.parted(v, []area{where}, c) {
			return true
		}
		if w.cut {
			return false
		}
	}
	return w.children(v, where, c)
}

// children places the children of a group one after the other, the hardest first;
// one that finds no place goes to the front, as in [Placer.Place].
func (w *search) children(v int32, where area, c Constraint) bool {
	order := w.childrenOf(v)
	for range MaxOrders {
		failed := -1
		if w.attempt(func() bool {
			for at, child := range order {
				if !w.place(child, where, c) {
					failed = at
					return false
				}
			}
			return true
		}) {
			return true
		}
		if failed <= 0 || w.cut {
			return false
		}
		child := order[failed]
		copy(order[1:], order[:failed])
		order[0] = child
	}
	return false
}

// childOf is the child of v around a leaf.
func (w *search) childOf(v, leaf int32) int32 {
	for w.g.tree[leaf].parent != v {
		leaf = w.g.tree[leaf].parent
	}
	return leaf
}
