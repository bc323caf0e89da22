package preempt

import (
	"cmp"
	"slices"
)

// Whether the preemptor starts once victims are taken and a set of movers has moved (M10).

// startsByMoves says whether the preemptor starts with a set of movers moved, and
// notes how: the first set that serves.
func (t *taking) startsByMoves() bool {
	r, a := t.room, t.ask
	if _, ok := r.Tree.Check(int(a.Leaf), a.Asks, a.NonPreemptible); !ok || t.tooLittle() {
		return false
	}
	if len(t.moving.ids) > 0 && t.move(t.moving.ids) {
		return true
	}
	t.moving = moving{}
	if t.isInVain() {
		return false
	}
	vain, before := vainSet{tried: a.tried, looked: a.looked}, r.Effort.Spent()
	for i := range a.movers {
		if a.looked++; a.tried >= mostMoverSets || a.looked > mostLookedAt || r.Effort.Over(0) {
			a.cut = true
			return false
		}
		vain.checked = r.Effort.Spent() - before
		if t.move(a.movers[i].ids) {
			return true
		}
	}
	vain.tried, vain.looked, vain.spent = a.tried-vain.tried, a.looked-vain.looked, r.Effort.Spent()-before
	t.remember(vain)
	return false
}

// isInVain says whether it is remembered of the victims at hand that no set of movers serves with them, and counts
// what that cost as if it were found out again. Where the search would come to its bound by that it is.
func (t *taking) isInVain() bool {
	r, a := t.room, t.ask
	out := t.out()
	at := slices.IndexFunc(a.vain, func(v vainSet) bool {
		return len(v.ids) == out && !slices.ContainsFunc(v.ids, func(id UnitID) bool { return !r.state[id].taken })
	})
	if at < 0 {
		return false
	}
	v := &a.vain[at]
	if a.tried+v.tried >= mostMoverSets || a.looked+v.looked > mostLookedAt || r.Effort.Over(int(v.checked)) {
		return false
	}
	a.tried, a.looked = a.tried+v.tried, a.looked+v.looked
	r.Effort.Spend(int(v.spent))
	return true
}

// remember remembers that no set of movers serves with the victims at hand.
func (t *taking) remember(v vainSet) {
	if v.looked == 0 || t.out() > mostVain {
		return
	}
	for _, id := range t.list.ids {
		if t.room.state[id].taken {
			v.ids = append(v.ids, id)
		}
	}
	t.ask.vain = append(t.ask.vain, v)
}

// out is how many victims are taken.
func (t *taking) out() (n int) {
	for _, id := range t.list.ids {
		if t.room.state[id].taken {
			n++
		}
	}
	return n
}

// tooLittle is a sound bound (M8): moves free nothing in all, and at one node no more
// than what may move there.
func (t *taking) tooLittle() bool {
	r, a := t.room, t.ask
	for at, need := range a.Need {
		if freeFor(r, a, need.Resource) < need.Value {
			return true
		}
		if a.node >= 0 && t.fit.rooms != nil && t.fit.need == 1 &&
			addUpTo(r.Index.MostFree(a.node, need.Resource), a.most[at]) < need.Value {
			return true
		}
	}
	return false
}

// move says whether the preemptor starts with these units moved, notes how, and leaves
// the world as it was.
func (t *taking) move(ids []UnitID) bool {
	r, lifted := t.room, 0
	defer func() {
		for _, id := range slices.Backward(ids[:lifted]) {
			t.putDown(id)
		}
	}()
	for _, id := range ids {
		// What is above a unit goes before it, and together they keep the budgets (M7).
		if r.state[id].taken || !r.alone(id) && len(r.withAbove(id)) > 1 || !withinBudget(r, r.units[id]) || !t.lift(id) {
			return false
		}
		lifted++
	}
	if t.fit.rooms != nil && t.fit.total < t.fit.need {
		return false
	}
	t.ask.tried++
	for _, how := range [...]moving{{ids: ids}, {ids: ids, staying: true}, {ids: ids, anew: true}} {
		if how.staying && len(ids) == 1 || how.anew && !slices.ContainsFunc(ids, func(id UnitID) bool { return len(r.units[id].Tasks) > 1 }) {
			continue
		}
		var ok bool
		if how.gpus, ok = t.relocated(ids, how.staying, how.anew); ok && t.ask.letsMove(how.gpus, r.MaxMovedPercent) {
			t.moving = how
			return true
		}
	}
	return false
}

// relocated starts the preemptor and finds other places for the movers, which have
// left theirs, the best standing first (C1). It says how many GPUs that moves, and takes
// everything back.
func (t *taking) relocated(movers []UnitID, staying, anew bool) (moved int64, ok bool) {
	r := t.room
	nodes, use := r.Index.Mark(), r.Tree.Mark()
	defer func() {
		r.scratch.nodesTried = nodes.AppendChanged(r.scratch.nodesTried, r.Index)
		r.Index.Undo(nodes)
		r.Tree.Undo(use)
	}()
	for _, id := range movers {
		u := r.units[id]
		if r.Tree.Release(int(u.Leaf), u.Charge, u.NonPreemptible) != nil {
			return 0, false
		}
	}
	if !t.ask.Start() {
		return 0, false
	}
	r.Effort.Spend(placingOf(r, t.ask.Preemptor))
	byStanding := slices.Clone(movers)
	SortToReprieve(byStanding, func(id UnitID) EvictionRank { return r.units[id].EvictionRank })
	stays := make([]bool, len(byStanding))
	for i, id := range byStanding {
		stays[i] = staying && r.Stays(r.units[id])
		r.state[id].moving = !stays[i]
	}
	defer func() {
		for _, id := range byStanding {
			r.state[id].moving = false
		}
	}()
	if t.trial != nil {
		r.deadEnds.begins(t, byStanding)
	}
	for i, id := range byStanding {
		if stays[i] {
			continue
		}
		for at := range r.units[id].Tasks {
			r.scratch.shapesTried = append(r.scratch.shapesTried, r.units[id].Tasks[at].Shape)
		}
		if first := &r.units[id].Tasks[0]; slices.Contains(t.homeless, first.Shape) && r.Index.RoomOn(first.Shape, first.Place.Node) == 0 {
			r.deadEnds.ends(t, i)
			return 0, false
		}
		r.Effort.Spend(placing(r, len(r.units[id].Tasks), r.units[id].Tasks[0].Shape))
		n, ok := r.Moves(r.units[id], anew)
		if !ok && t.trial != nil {
			r.deadEnds.ends(t, i)
		}
		if !ok {
			return 0, false
		}
		if !t.ask.relocates() || !r.state[id].started {
			moved = addUpTo(moved, n)
		}
	}
	return moved, true
}

// withMovers is the list that was judged, with who moves beside it.
func (t *taking) withMovers() (list, bool) {
	if len(t.list.ids) == 0 && !t.ask.Entitled { // that were a consolidation, which C5 forbids
		return list{}, false
	}
	t.list.moved, t.list.staying, t.list.anew = t.moving.gpus, t.moving.staying, t.moving.anew
	out := t.kept()
	out.beside = len(t.moving.ids)
	out.ids = append(slices.Clip(out.ids), t.moving.ids...)
	out.class = append(slices.Clip(out.class), make([]int8, out.beside)...)
	return out, true
}

// compareMovers compares who moves beside victims: the fewest GPUs, then the fewest
// units, then who stands worst.
func compareMovers(r *Evaluator, x, y *list) int {
	if x.beside+y.beside == 0 {
		return 0
	}
	return cmp.Or(cmp.Compare(x.moved, y.moved), cmp.Compare(x.beside, y.beside),
		slices.CompareFunc(y.ids[len(y.ids)-y.beside:], x.ids[len(x.ids)-x.beside:], r.better))
}
