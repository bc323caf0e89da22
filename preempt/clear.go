package preempt

import (
	"slices"

	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// clearPlace takes of the candidates until the preemptor starts, spares whom it
// can, and leaves the world as it was. The result is judged in full. Where E8 asks for more than
// room at the place, that may go from there or from wherever its order begins: what does less harm is chosen.
func (r *Evaluator) clearPlace(a *ask, f *fit, candidates []UnitID, kind orderKind) (list, bool) {
	a.heldBack, a.fromAnywhere = false, false
	found, ok := clearOnce(r, a, f, candidates, kind)
	if !a.heldBack {
		return found, ok
	}
	a.fromAnywhere = true
	other, serves := clearOnce(r, a, f, candidates, kind)
	a.fromAnywhere = false
	if s := (&search{room: r, ask: a}); serves && (!ok || s.compareLists(&other, &found) < 0) {
		return other, true
	}
	return found, ok
}

// clearOnce is clearPlace, what E8 asks for more coming from the place or, where the ask says so, from anywhere.
func clearOnce(r *Evaluator, a *ask, f *fit, candidates []UnitID, kind orderKind) (list, bool) {
	a.allGone = false
	if found, ok, plain := clearPlainly(r, a, f, candidates, kind); plain {
		return found, ok
	}
	return clearByTrial(r, a, f, candidates, kind)
}

// clearByTrial is clearOnce where it takes a trial.
func clearByTrial(r *Evaluator, a *ask, f *fit, candidates []UnitID, kind orderKind) (list, bool) {
	t := r.begin(a, f, kind)
	before := r.usesBefore(a)
	fill := t.fill
	if kind == oneOnly {
		fill = t.fillByOne
	}
	if !fill(candidates, before) {
		t.end()
		return list{}, false
	}
	if len(t.list.ids) == 1 && !a.relocates() { // without it the preemptor did not start
		defer t.end()
		if !t.entitledFinally() || !t.ranked() {
			return list{}, false
		}
		t.list.moved = r.units[t.list.ids[0]].GPUs
		return t.kept(), true
	}
	all := slices.Clone(t.list.ids)
	spared, ended := t.spare(before)
	if !ended && len(spared) == len(all) && t.inOneGo() {
		defer t.end()
		return t.judged()
	}
	t.end()
	if ended {
		return list{}, false
	}
	if len(spared) == len(all) {
		return r.judged(a, f, kind, all)
	}
	if out, ok := r.judged(a, f, kind, spared); ok {
		return out, true
	}
	return r.spareOneByOne(a, f, kind, all)
}

// fill takes until the preemptor starts within E8's bounds; for the latter
// more of its own queue may have to go.
func (t *taking) fill(candidates []UnitID, before []int64) bool {
	r, a := t.room, t.ask
	picker := r.newPicker(t, candidates, a.inStanding)
	for {
		starts := t.starts()
		if starts && (a.mode != Preempt || r.bounded(a, before)) {
			return true
		}
		if starts && len(a.place) > 0 && len(t.list.ids) > 0 {
			if a.fromAnywhere {
				return t.release(before)
			}
			a.heldBack = true
		}
		id := picker.next()
		if id < 0 {
			a.allGone = !starts && a.mode == Preempt && t.list.kind == inOrder && t.fit.rooms != nil && !a.relocates()
			return starts && t.release(before)
		}
		if r.Effort.Over(0) {
			return false
		}
		t.take(id) // what cannot go with all above it stays
		picker.took()
	}
}

// fillByOne takes the first that is enough by itself, with what is above it in
// its workload.
func (t *taking) fillByOne(candidates []UnitID, before []int64) bool {
	r, a := t.room, t.ask
	picker := r.newPicker(t, candidates, a.inStanding)
	missing := a.missing(r)
	if !slices.ContainsFunc(candidates, func(id UnitID) bool { return t.mayDo(id, missing) }) {
		return false
	}
	for id := picker.next(); id >= 0; id = picker.next() {
		if t.mayDo(id, missing) {
			if a.tried++; a.tried > r.Steps || r.Effort.Over(0) {
				return false
			}
			if t.take(id) && t.enough(before) && t.entitledFinally() {
				return true
			}
			t.end()
			t.list.ids, t.list.class = t.list.ids[:0], t.list.class[:0]
			r.forgetTaken()
		}
		picker.took()
	}
	return false
}

// missing is what of the preemptor's needs is not free in all.
func (a *ask) missing(r *Evaluator) quota.Amounts {
	var out quota.Amounts
	for _, need := range a.Need {
		have := placement.FreeOf(a.nodes(r.Index), a.Set, need.Resource)
		if need.Value > have {
			out = append(out, quota.Amount{Resource: need.Resource, Value: need.Value - have})
		}
	}
	return out
}

// mayDo is a sound bound (M8): a unit that holds less than what is missing is not
// enough by itself.
func (t *taking) mayDo(id UnitID, missing quota.Amounts) bool {
	r := t.room
	if !r.single(id) {
		return true // others go with it
	}
	return !slices.ContainsFunc(missing, func(m quota.Amount) bool { return r.charged(id).Of(m.Resource) < m.Value })
}

// release takes more from wherever preemption may until the preemptor's queues
// use no more than E8 allows.
func (t *taking) release(before []int64) bool {
	r, a := t.room, t.ask
	a.beyond = true
	var more []UnitID
	for leaf := range r.byLeaf {
		if int32(leaf) != a.Leaf && r.Scope != WithinPool {
			continue
		}
		var ignored Refusal
		for _, id := range r.inLeaf(int32(leaf)) {
			if !r.state[id].taken && r.fixed(a, id, &ignored) {
				more = append(more, id)
			}
		}
	}
	picker := r.newPicker(t, more, false)
	for !r.bounded(a, before) {
		id := picker.next()
		if id < 0 || r.Effort.Over(0) {
			return false
		}
		t.take(id)
		picker.took()
	}
	return true
}

// spare puts back, best standing first, every victim without which the
// preemptor starts too, and returns the rest. ended says that the search came to its
// bound before all were tried.
func (t *taking) spare(before []int64) (rest []UnitID, ended bool) {
	r := t.room
	byStanding := slices.Clone(t.list.ids)
	r.sortByStanding(byStanding)
	for _, id := range byStanding {
		if r.Effort.Over(0) {
			return nil, true
		}
		if r.stepsOut(id) || t.isNeeded(id) || !t.restore(id) {
			continue // what is above it cannot run without it
		}
		if !t.enough(before) {
			t.vacate(id)
		}
	}
	return slices.DeleteFunc(slices.Clone(t.list.ids), func(id UnitID) bool { return !r.state[id].taken }), false
}

// isNeeded says whether it is plain that a unit cannot be spared: there is no more room than is needed,
// and less with it; or it was taken last, without it the others were not enough, and where room is counted
// and nothing is lent fewer are no more.
func (t *taking) isNeeded(id UnitID) bool {
	r, f := t.room, t.fit
	isLast := id == t.list.ids[len(t.list.ids)-1] && !t.ask.beyond && !r.Lends && r.single(id)
	if f.rooms == nil || t.ask.relocates() || !isLast && !f.takesRoom(r, id) {
		return false
	}
	cost := len(r.units[id].Tasks)
	if t.charges() {
		cost += r.climb[r.units[id].Leaf]
	}
	r.Effort.Spend(2 * cost) // as putting it back, and taking it
	return true
}

// stepsOut says whether a lower unit of the same workload is taken: without it
// this one cannot stay.
func (r *Evaluator) stepsOut(id UnitID) bool {
	u := r.units[id]
	for other := r.byWork[u.Work]; other >= 0; other = r.state[other].next {
		if r.units[other].Step < u.Step && r.state[other].taken {
			return true
		}
	}
	return false
}

func (t *taking) enough(before []int64) bool {
	return t.starts() && (t.ask.mode != Preempt || t.room.bounded(t.ask, before))
}

// starts says whether the preemptor starts as things stand or by moves (M10).
func (t *taking) starts() bool {
	if t.fit.ok() {
		t.moving = moving{}
		return true
	}
	return t.ask.relocates() && t.startsByMoves()
}

// spareOneByOne is the slow way: every victim is spared only if the rest is
// lawful without it. Long lists are left as they are.
func (r *Evaluator) spareOneByOne(a *ask, f *fit, kind orderKind, ids []UnitID) (list, bool) {
	const long = 64
	best, ok := r.judged(a, f, kind, ids)
	if !ok || len(ids) > long {
		return best, ok
	}
	byStanding := slices.Clone(ids)
	r.sortByStanding(byStanding)
	for _, id := range byStanding {
		if r.Effort.Over(0) {
			return list{}, false
		}
		rest := slices.DeleteFunc(slices.Clone(best.ids), func(other UnitID) bool { return other == id })
		if out, ok := r.judged(a, f, kind, rest); ok {
			best = out
		}
	}
	return best, true
}

// judged replays a list in its order from the world as it is, and says whether
// everything about it is lawful.
func (r *Evaluator) judged(a *ask, f *fit, kind orderKind, ids []UnitID) (list, bool) {
	t := r.begin(a, f, kind)
	defer t.end()
	before := r.usesBefore(a)
	picker := r.newPicker(t, ids, false)
	for range ids {
		id := picker.next()
		if id < 0 || !t.take(id) {
			return list{}, false
		}
		picker.took()
		if len(t.list.ids) == len(ids) {
			break
		}
	}
	if len(t.list.ids) != len(ids) || t.servedByWhatGoesAlong() || !t.enough(before) {
		return list{}, false
	}
	return t.judged()
}

// servedByWhatGoesAlong says whether the preemptor starts in what units leave that only go along
// (M6), and within its lines (R1), though those stay with which they go and that it has a right to: so
// it would start without having got anything that it reclaims (R2).
func (t *taking) servedByWhatGoesAlong() bool {
	r, a := t.room, t.ask
	for _, id := range t.list.ids {
		if !a.reclaims() || holdsShort(r, a, id) {
			continue
		}
		var bases []UnitID
		for _, base := range slices.Backward(t.list.ids) { // the lowest step first
			if r.units[base].Work == r.units[id].Work && holdsShort(r, a, base) {
				bases = append(bases, base)
			}
		}
		stays := len(bases)
		for at, base := range bases {
			if !t.restore(base) {
				stays = at
				break
			}
		}
		serves := stays == len(bases) && t.starts() && t.entitledFinally()
		for _, base := range slices.Backward(bases[:stays]) {
			t.vacate(base)
		}
		if serves {
			return true
		}
	}
	return false
}

// inOneGo says whether those that were taken would be taken in the same order once more: none
// was for the bounds of queues after the others, or with what it is a part of.
func (t *taking) inOneGo() bool {
	return !t.ask.relocates() && !t.ask.beyond && !slices.ContainsFunc(t.list.ids, func(id UnitID) bool { return !t.room.single(id) })
}

// judged says whether what is lawful of the victims only once all have gone is, of such with
// which the preemptor starts.
func (t *taking) judged() (list, bool) {
	if !t.entitledFinally() || !t.ranked() || !t.owed() {
		return list{}, false
	}
	if t.ask.relocates() {
		return t.withMovers()
	}
	for _, id := range t.list.ids {
		t.list.moved = addUpTo(t.list.moved, t.room.units[id].GPUs)
	}
	return t.kept(), true
}

// entitledFinally is R1 with all victims gone.
func (t *taking) entitledFinally() bool {
	r, a := t.room, t.ask
	if !a.reclaims() {
		return true
	}
	for _, id := range t.list.ids {
		if _, own := r.sides(a, r.units[id].Leaf); !r.entitled(a, own) {
			return false
		}
	}
	return true
}

// ranked is E7: who is protected gives way only to who becomes as protected, or,
// where that does not serve, to who is within its lines, which bounded has seen to.
func (t *taking) ranked() bool {
	r, a := t.room, t.ask
	if a.mode != Preempt || a.withinLines {
		return true
	}
	most := none
	for _, id := range t.list.ids {
		most = max(most, r.state[id].protection)
	}
	serves := most == none || r.wouldProtect(a.Preemptor) >= most
	a.beyond = a.beyond || !serves // what else is in its leaf decides
	return serves
}

// owed says whether all that were taken stand behind the preemptor, or build on one that was taken and does, where
// that is what the mode asks (B9): whoever only goes along stays once the other does.
func (t *taking) owed() bool {
	r, a := t.room, t.ask
	return a.mode != Due || !slices.ContainsFunc(t.list.ids, func(id UnitID) bool {
		return !slices.ContainsFunc(t.list.ids, func(below UnitID) bool {
			return r.units[below].Work == r.units[id].Work && r.units[below].Step <= r.units[id].Step && a.isBehind(r, below)
		})
	})
}
