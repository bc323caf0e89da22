package preempt

import (
	"slices"

	"github.com/allotsched/allot/placement"
)

// Most nodes are cleared for one task by those who go first, all of whom are needed, as can be told by
// counting what they hold. Then none has to be taken, and put back, to find that out.

// clearPlainly is clearPlace of one node for a single task, in the steps that it would take there, where
// whoever goes first is enough, or those who stand there are alike, and as many are needed or all too few.
// Else it is not plain. Of a preemption all are too few whatever E7 and E8 would say of those who go.
func clearPlainly(r *Evaluator, a *ask, f *fit, candidates []UnitID, kind orderKind) (found list, ok, plain bool) {
	if kind != inOrder && a.mode != Consolidate || !f.countsOneNode() || len(candidates) == 0 {
		return list{}, false, false
	}
	r.forgetTaken()
	a.kind = kind
	inVain := false // all that is plain is that they are too few
	switch {
	case a.reclaims():
		if len(candidates) > 1 || !goesNow(r, a, candidates[0]) { // whoever goes next depends on who has gone
			return list{}, false, false
		}
	case a.mode == Preempt && (a.withinLines || !a.unbounded(r) || !plainlyRanked(r, a, candidates)):
		inVain = true
	case a.mode != Consolidate && a.mode != Preempt:
		return list{}, false, false
	case kind != inOrder:
		p := &r.scratch.picker
		p.t = r.begin(a, f, kind)
		p.sortBySize(candidates)
		candidates = p.sorted
	case !a.inStanding:
		r.scratch.plainly = append(r.scratch.plainly[:0], candidates...)
		candidates = r.scratch.plainly
		r.sortByStanding(candidates)
	}
	n := f.needed(candidates)
	enough := n <= len(candidates)
	if n == 0 || enough && inVain || !enough && a.reclaims() {
		return list{}, false, false
	}
	ids := candidates[len(candidates)-min(n, len(candidates)):]
	steps := plainSteps(r, a, len(candidates), ids, n > 1 && enough)
	if r.Effort.Over(steps) {
		return list{}, false, false
	}
	r.Effort.Spend(steps)
	if a.allGone = !enough && a.mode == Preempt; !enough {
		return list{}, false, true
	}
	return listOf(r, a, ids), true, true
}

// plainSteps is what it would cost to name those who go, of so many, to take them and to put them back; spared:
// and to put each back and take it again, to see whether it is needed.
func plainSteps(r *Evaluator, a *ask, some int, ids []UnitID, spared bool) int {
	steps, times := some/lookedAt, 2
	if spared {
		times = 4
	}
	for _, id := range ids {
		climb := r.climb[r.state[id].leaf]
		if a.kind == inOrder {
			steps += 1 + climb
		}
		if a.mode == Consolidate { // its charge stays
			climb = 0
		}
		steps += times * (1 + climb)
	}
	return steps
}

// countsOneNode says whether the question at hand is whether one node takes one task, by what it has room
// for as things stand.
func (f *fit) countsOneNode() bool {
	r, a := f.room, f.ask
	if len(a.place) != 1 || f.rooms == nil || f.need != 1 || f.total > 0 || f.domain != nil || !a.Still || a.AfterRelease ||
		a.relocates() || r.Lends || len(r.budgets) > 0 {
		return false
	}
	return a.admits(r)
}

// plainlyRanked says whether E7 keeps none of some units, whoever of them goes.
func plainlyRanked(r *Evaluator, a *ask, ids []UnitID) bool {
	return !slices.ContainsFunc(ids, func(id UnitID) bool { return r.state[id].protection != none }) || r.allBelow(a.Preemptor)
}

// goesNow says whether a reclaim may take a unit as things stand, before any excess that might go before
// it.
func goesNow(r *Evaluator, a *ask, id UnitID) bool {
	leaf := r.state[id].leaf
	return r.judge(a, id) == lawful && (!a.exceeds(r, leaf) || a.excess(r, leaf, r.charged(id)))
}

// needed is how many of the units of one node go, the last of a list, to make room for one
// task more on it where there is none, none of whom can be spared: more than they are where all are too few.
// 0 is that this is not plain.
func (f *fit) needed(ids []UnitID) int {
	if f.makesRoom(ids[len(ids)-1]) {
		return 1
	}
	r := f.room
	shape, places := placement.Shape(-1), f.places[:0]
	for _, id := range slices.Backward(ids) {
		u := &r.state[id]
		if !r.alone(id) || shape >= 0 && u.shape != shape {
			break
		}
		shape, places = u.shape, append(places, u.place())
	}
	f.places = places
	n := placement.MustGo(r.Index, f.shape(), shape, places)
	if n > len(places) && len(places) < len(ids) {
		return 0 // with the others it may be enough
	}
	return n
}

// makesRoom is a sound bound: whether a unit that goes leaves room for one task more on its node, where
// room is counted. False is that it is not plain.
func (f *fit) makesRoom(id UnitID) bool {
	r := f.room
	if f.rooms == nil || !r.alone(id) {
		return false
	}
	u := &r.state[id]
	return placement.MakesRoom(r.Index, f.shape(), u.shape, u.place())
}

// listOf is the list of those who are taken in the order at hand, who are listed so that the last goes first, and of
// one class.
func listOf(r *Evaluator, a *ask, ids []UnitID) list {
	out, own := list{kind: a.kind}, &r.scratch
	class := r.classOf(a, r.state[ids[0]].leaf, r.charged(ids[0]))
	out.ids, own.ids = cut(own.ids, ids)
	slices.Reverse(out.ids)
	r.scratch.oneClass = append(r.scratch.oneClass[:0], class)
	for len(r.scratch.oneClass) < len(ids) {
		r.scratch.oneClass = append(r.scratch.oneClass, class)
	}
	out.class, own.classes = cut(own.classes, r.scratch.oneClass)
	for _, id := range ids {
		if !r.state[id].costless {
			out.moved = addUpTo(out.moved, r.units[id].GPUs)
		}
	}
	return out
}
