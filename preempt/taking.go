package preempt

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/placement"
)

// orderKind is an order in which victims are taken (R9).
type orderKind uint8

const (
	inOrder    orderKind = iota // M3
	looseOnly                   // unprotected units only, in the order of M3
	excessOnly                  // excess only, in the order of M3
	oneOnly                     // each by itself, in the order of M3
	largest                     // largest first
	smallest                    // smallest first
	notQuota                    // M3, but nothing that is quota-protected (E7)
)

// A list is what one place gives: victims in the order they are taken.
type list struct {
	ids   []UnitID
	class []int8 // by ids, when taken
	harm  harm   // of the victims, as far as it was asked
	kind  orderKind
	moved int64
	// staying: of what moves stays, before the others look for places, what can.
	staying bool
	// anew: no task of what moves is kept where it was for being free.
	anew bool
	// beside: of ids the last so many find other places beside the victims (M10).
	beside int
	nodes  []int32 // the place; empty is anywhere
	plain  bool    // see search.plain
	// shared is what Evaluator.shared was.
	shared int
	// withinLines is the ask's.
	withinLines bool
	trial       *trial // what is remembered of it, nil if nothing is
}

// A taking is a search inside the journals: what is taken so far.
type taking struct {
	room *Evaluator
	ask  *ask
	fit  *fit
	list list
	// moving is how the preemptor starts where it does so by moves (M10).
	moving moving
	// only is the node on which places are freed, plus one, 0 all: the price of one node
	// depends on nothing else.
	only int32
	// homeless are the shapes of what moves from one node that no other takes.
	homeless []placement.Shape
	// trial is what is remembered of the list that is tried, nil if nothing is.
	trial *trial
}

// begin opens a trial; end takes everything back. There is one at a time, and what
// it has listed is kept by keep.
func (r *Evaluator) begin(a *ask, f *fit, kind orderKind) *taking {
	a.kind = kind
	r.forgetTaken()
	t := &r.scratch.taking
	*t = taking{room: r, ask: a, fit: f, list: list{kind: kind, ids: t.list.ids[:0], class: t.list.class[:0], withinLines: a.withinLines}}
	return t
}

// forgetTaken forgets what the last trial took of which leaves (R9).
func (r *Evaluator) forgetTaken() {
	for _, leaf := range r.takenLeaves {
		r.protectedTaken[leaf], r.looseTaken[leaf] = false, false
	}
	r.takenLeaves = r.takenLeaves[:0]
}

// take takes one unit, after those above it in its workload, or nothing where
// that is not lawful.
func (t *taking) take(id UnitID) bool {
	r := t.room
	if r.single(id) {
		return r.judge(t.ask, id) == lawful && t.takeOne(id)
	}
	before := len(t.list.ids)
	leaf := r.units[id].Leaf // of all units of the workload
	protected, loose := r.protectedTaken[leaf], r.looseTaken[leaf]
	ok := true
	for _, one := range r.withAbove(id) {
		var ignored Refusal // each has a runtime of its own
		lawfully := r.fixed(t.ask, one, &ignored) && r.judge(t.ask, one) == lawful || one != id && goesAlong(r, t.ask, one)
		if ok = lawfully && t.takeOne(one); !ok {
			break
		}
	}
	if !ok {
		for _, one := range slices.Backward(t.list.ids[before:]) {
			t.restore(one)
		}
		t.list.ids, t.list.class = t.list.ids[:before], t.list.class[:before]
		r.protectedTaken[leaf], r.looseTaken[leaf] = protected, loose
	}
	return ok
}

// withAbove lists what goes with the unit, those above it first, the highest
// step before the lower.
func (r *Evaluator) withAbove(id UnitID) []UnitID {
	var out []UnitID
	for other := range r.Of(r.units[id].Work) {
		if r.units[other].Step >= r.units[id].Step && !r.state[other].taken {
			out = append(out, other)
		}
	}
	slices.SortFunc(out, func(a, b UnitID) int { return cmp.Compare(r.units[b].Step, r.units[a].Step) })
	return out
}

func (t *taking) takeOne(id UnitID) bool {
	r := t.room
	class := r.classOf(t.ask, r.state[id].leaf, r.charged(id))
	if !t.vacate(id) {
		return false
	}
	r.note(t.ask, id)
	t.list.ids = append(t.list.ids, id)
	t.list.class = append(t.list.class, class)
	return true
}

// kept is the list in memory of its own.
func (t *taking) kept() list {
	out, own := t.list, &t.room.scratch
	out.ids, own.ids = cut(own.ids, t.list.ids)
	out.class, own.classes = cut(own.classes, t.list.class)
	return out
}

// cut copies a list to the end of a slab, or of a new one.
func cut[T any](slab, from []T) (out, rest []T) {
	const size = 512
	if cap(slab)-len(slab) < len(from) {
		slab = make([]T, 0, max(len(from), size))
	}
	at := len(slab)
	slab = append(slab, from...)
	return slab[at:len(slab):len(slab)], slab
}

// vacate frees the unit's places; its charge too, unless it will only move.
func (t *taking) vacate(id UnitID) bool {
	r := t.room
	u := r.units[id]
	if !t.lift(id) {
		return false
	}
	if t.charges() {
		if r.Effort.Spend(r.climb[u.Leaf]); r.Tree.Release(int(u.Leaf), u.Charge, u.NonPreemptible) != nil {
			return false
		}
	}
	r.used(u.Leaf)
	return true
}

// charges says whether the charge of who is taken counts: what only moves keeps it, and
// whom a preemption takes on one node no use decides.
func (t *taking) charges() bool {
	return t.ask.mode != Consolidate && (t.only == 0 || t.ask.reclaims())
}

// lift frees the unit's places only.
func (t *taking) lift(id UnitID) bool {
	r := t.room
	u := r.units[id]
	counted := t.fit.counted(u)
	for i := range u.Tasks {
		switch task := &u.Tasks[i]; {
		case t.only > 0 && task.Place.Node != t.only-1:
		case counted:
			t.fit.count(task.Place.Node, 1)
		case r.Index.Give(task.Shape, task.Place) != nil:
			return false
		}
	}
	r.Effort.Spend(len(u.Tasks))
	r.state[id].taken, r.state[id].counted = true, counted
	if budget(r, u, -1); !counted {
		t.fit.changed(u, t.only-1)
	}
	return true
}

// restore puts a unit back.
func (t *taking) restore(id UnitID) bool {
	r := t.room
	u := r.units[id]
	if !t.putDown(id) {
		return false
	}
	if t.charges() {
		if r.Effort.Spend(r.climb[u.Leaf]); r.Tree.Charge(int(u.Leaf), u.Charge, u.NonPreemptible) != nil {
			return false
		}
	}
	r.used(u.Leaf)
	return true
}

// putDown takes the places again that lift has freed.
func (t *taking) putDown(id UnitID) bool {
	r := t.room
	u, counted := r.units[id], r.state[id].counted
	for i := range u.Tasks {
		switch task := &u.Tasks[i]; {
		case t.only > 0 && task.Place.Node != t.only-1:
		case counted:
			t.fit.count(task.Place.Node, -1)
		case r.Index.Take(task.Shape, task.Place) != nil:
			return false
		}
	}
	r.Effort.Spend(len(u.Tasks))
	r.state[id].taken, r.state[id].counted = false, false
	if budget(r, u, 1); !counted {
		t.fit.changed(u, t.only-1)
	}
	return true
}

// end puts everything back that is still taken.
func (t *taking) end() {
	for i := len(t.list.ids) - 1; i >= 0; i-- {
		if id := t.list.ids[i]; t.room.state[id].taken {
			t.restore(id)
		}
	}
}
