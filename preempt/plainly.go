package preempt

import (
	"slices"

	"github.com/allotsched/allot/placement"
)

// Most nodes are cleared for one task by those who go first, all of whom are needed, as can be told by
// counting what they hold. Then none has to be taken, and put back, to find that out.

// clearPlainly is clearPlace of one node for a single task, in the steps that it would take there, where
// whoever goes first is enough, or those who do are alike and as many are needed. False is that this is
// not plain.
func (r *Evaluator) clearPlainly(a *ask, f *fit, candidates []UnitID, kind orderKind) (list, bool) {
	if kind != inOrder || len(a.place) != 1 || f.rooms == nil || f.need != 1 || f.total > 0 || f.domain != nil || !a.Still || a.AfterRelease ||
		a.relocates() || a.withinLines || r.Lends || len(r.budgets) > 0 || len(candidates) == 0 {
		return list{}, false
	}
	if _, ok := r.Tree.Check(int(a.Leaf), a.Asks, a.NonPreemptible); !ok {
		return list{}, false
	}
	r.forgetTaken()
	a.kind = inOrder
	ids := candidates
	switch {
	case a.reclaims():
		if len(candidates) > 1 || !r.goesNow(a, candidates[0]) { // whoever goes next depends on who has gone
			return list{}, false
		}
	case a.mode != Preempt || !a.unbounded(r):
		return list{}, false
	case !a.inStanding:
		r.scratch.plainly = append(r.scratch.plainly[:0], candidates...)
		ids = r.scratch.plainly
		slices.SortFunc(ids, r.better)
	}
	ids = f.needed(ids)
	if len(ids) == 0 || slices.ContainsFunc(ids, func(id UnitID) bool { return a.mode == Preempt && r.state[id].protection != none }) {
		return list{}, false
	}
	times := 3 // they are named, taken and put back
	if len(ids) > 1 {
		times = 5 // and each is put back and taken again, to see whether it is needed
	}
	steps := len(candidates) / lookedAt
	for _, id := range ids {
		steps += times * (1 + r.climb[r.state[id].leaf])
	}
	if r.Effort.Over(steps) {
		return list{}, false
	}
	r.Effort.Spend(steps)
	return r.listOf(a, ids), true
}

// goesNow says whether a reclaim may take a unit as things stand, before any excess that might go before
// it.
func (r *Evaluator) goesNow(a *ask, id UnitID) bool {
	u := r.units[id]
	return r.judge(a, id) == lawful && (!a.exceeds(r, u.Leaf) || a.excess(r, u))
}

// needed are those, of units of one node in the order of standing, who go first and make room for one task
// more on it where there is none, none of whom can be spared; they are none where this is not plain.
func (f *fit) needed(ids []UnitID) []UnitID {
	last := len(ids) - 1
	if f.makesRoom(ids[last]) {
		return ids[last:]
	}
	r := f.room
	shape, places := placement.Shape(-1), f.places[:0]
	for _, id := range slices.Backward(ids) {
		if t := &r.units[id].Tasks[0]; r.alone(id) && (shape < 0 || t.Shape == shape) {
			shape, places = t.Shape, append(places, t.Place)
			continue
		}
		break
	}
	f.places = places
	return ids[len(ids)-placement.MustGo(r.Index, f.shape(), shape, places):]
}

// makesRoom is a sound bound: whether a unit that goes leaves room for one task more on its node, where
// room is counted. False is that it is not plain.
func (f *fit) makesRoom(id UnitID) bool {
	r := f.room
	if f.rooms == nil || !r.alone(id) {
		return false
	}
	t := &r.units[id].Tasks[0]
	return placement.MakesRoom(r.Index, f.shape(), t.Shape, t.Place)
}

// listOf is the list of those who are taken in the order of M3, who are listed by standing and of one
// class.
func (r *Evaluator) listOf(a *ask, ids []UnitID) list {
	out, own := list{kind: inOrder}, &r.scratch
	class := r.classOf(a, r.units[ids[0]])
	out.ids, own.ids = cut(own.ids, ids)
	slices.Reverse(out.ids)
	out.class, own.classes = cut(own.classes, slices.Repeat([]int8{class}, len(ids)))
	for _, id := range ids {
		out.moved = addUpTo(out.moved, r.units[id].GPUs)
	}
	return out
}

// unbounded says whether E8 binds nobody, whoever goes.
func (a *ask) unbounded(r *Evaluator) bool {
	for _, asks := range a.Asks {
		if !r.divides(asks.Resource) {
			continue
		}
		for q := a.Leaf; q >= 0; q = r.parent(q) {
			if r.use(q, asks.Resource)+asks.Value > max(r.quota(q, asks.Resource), r.share(q, asks.Resource)) {
				return false
			}
		}
	}
	return true
}
