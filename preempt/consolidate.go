package preempt

import (
	"math/bits"
	"slices"

	"github.com/allotsched/allot/placement"
)

// cheapEnough is C3: the GPUs that move are at most the factor × those asked.
// What asks no GPU may move what asks none.
func (s *search) cheapEnough(l *list) bool {
	return s.ask.letsMove(l.moved, s.room.MaxMovedPercent)
}

// letsMove says whether so many GPUs are at most so many percent of those asked.
func (a *ask) letsMove(moved, percent int64) bool {
	movedHi, movedLo := bits.Mul64(uint64(moved), 100)
	mostHi, mostLo := bits.Mul64(uint64(a.GPUs), uint64(percent))
	return movedHi < mostHi || movedHi == mostHi && movedLo <= mostLo
}

// consolidate takes of the planned moves in which every victim finds another
// place (C1) that which moves the fewest GPUs.
func (s *search) consolidate() {
	order := s.toTry[:0]
	all := s.refusal.Steps+len(s.planned) <= s.room.Steps
	for i := range s.planned {
		if all && s.cannotMove(&s.planned[i]) { // in whatever order: nobody sees it
			s.refusal.Steps++
			continue
		}
		order = append(order, int32(i))
	}
	s.toTry = order
	consolidateInOrder(s, order)
}

// consolidateInOrder tries some of the planned moves, the least harmful first.
func consolidateInOrder(s *search, order []int32) {
	for _, i := range order {
		s.room.Effort.Spend(inOrderOfHarm(&s.planned[i]))
	}
	if over(s, 0) {
		return
	}
	heap := &leastFirst[int32]{search: s, items: order, compare: func(s *search, x, y *int32) int {
		c, _ := compareHarm(s, &s.planned[*x], &s.planned[*y])
		return c
	}}
	least := int64(-1) // that the best moved when the others were last looked at
	for heap.init(); len(heap.heap) > 0; {
		if ended(s) {
			return
		}
		if s.found && s.best.moved != least {
			least = s.best.moved
			s.refusal.Steps += heap.dropIf(func(i int32) bool { return noBetter(s, &s.planned[i]) })
			continue
		}
		s.refusal.Steps++
		before := s.room.Effort.Spent()
		l := &s.planned[heap.pop()]
		if s.overCap(l) {
			continue
		}
		if s.room.deadEnds.comesTo(s, l) {
			l.trial.note(s, int64(inOrderOfHarm(l))+s.room.Effort.Spent()-before)
			continue
		}
		tried := &s.room.scratch
		tried.nodesTried, tried.shapesTried = tried.nodesTried[:0], tried.shapesTried[:0]
		move := s.allMove(l)
		s.keepBest(l, move)
		failed := !move || !s.cheapEnough(l)
		if hasSteps(s.room, l) || move && !s.cheapEnough(l) {
			l.staying = true
			again := s.allMove(l)
			failed = failed && (!again || !s.cheapEnough(l))
			s.keepBest(l, again)
			l.staying = false
		}
		if !move && hasGang(s.room, l) { // what a gang keeps may be another's only place
			l.anew = true
			s.keepBest(l, s.allMove(l))
			failed = false
		}
		if failed && l.trial != nil {
			l.trial.note(s, int64(inOrderOfHarm(l))+s.room.Effort.Spent()-before)
			s.room.deadEnds.keep(s.room, l)
		}
	}
}

// inOrderOfHarm is what it costs to bring a list into the order of harm, however many others are in it: who
// remembers that some of them do not serve counts what they cost once, and no comparison with them.
func inOrderOfHarm(l *list) int {
	if len(l.ids) == 1 {
		return 1
	}
	return 1 + 4*len(l.ids)
}

// noBetter says that a list that comes after the best moves no less: of units of one task
// all moves, and a later list is no better than an equal one.
func noBetter(s *search, l *list) bool {
	least := s.atLeast(l)
	return least > s.best.moved || least == s.best.moved && least == l.moved
}

// cannotMove is a sound bound (M8) for the moves of a list: for a single task that
// no node takes now. It comes to a node on which the list stands, as nowhere else
// room is made. Tasks of the list that no node takes now stay on these nodes too.
// So what is free there and what the others hold must be enough for it.
func (s *search) cannotMove(l *list) bool {
	if s.ask.Cap != nil || s.fit.rooms == nil || s.fit.need != 1 || s.fit.total > 0 {
		return false
	}
	for _, need := range s.ask.Need {
		if s.mostMoved(l, need.Resource) < need.Value {
			return true
		}
	}
	return false
}

// mostMoved is what of a resource may be free on the nodes of the list at most once
// all of it that some node takes has gone.
func (s *search) mostMoved(l *list, res int32) int64 {
	r := s.room
	sum := int64(0)
	r.onNodes.begin(r.Nodes)
	for _, id := range l.ids {
		u, leaves := r.units[id], false
		for i := range u.Tasks {
			t := &u.Tasks[i]
			leaves = leaves || s.findsPlace(t.Shape)
			if r.onNodes.mark(t.Place.Node) {
				sum = addUpTo(sum, s.ask.nodes(r.Index).MostFree(t.Place.Node, res))
			}
		}
		if leaves {
			sum = addUpTo(sum, u.Charge.Of(res))
		}
	}
	return sum
}

// hasGang says whether a unit of the list has several tasks.
func hasGang(r *Evaluator, l *list) bool {
	return slices.ContainsFunc(l.ids, func(id UnitID) bool { return len(r.units[id].Tasks) > 1 })
}

// keepBest keeps the list if all of it moves, and does less harm than the best: of a
// gang some may have stayed, so that it costs less than the order of the lists knew.
func (s *search) keepBest(l *list, moves bool) {
	if moves && s.cheapEnough(l) && (!s.found || s.compareLists(l, &s.best) < 0) {
		s.best, s.found = *l, true
	}
}

// hasSteps says whether a unit is in the list with what is above it in its
// workload: that may stay where it is.
func hasSteps(r *Evaluator, l *list) bool {
	for _, id := range l.ids {
		if u := r.units[id]; u.Step > 0 && slices.ContainsFunc(l.ids, func(other UnitID) bool {
			return r.units[other].Work == u.Work && r.units[other].Step < u.Step
		}) {
			return true
		}
	}
	return false
}

// atLeast is what must move of the list: of a unit of several tasks some may stay, and
// with a unit what is above it.
func (s *search) atLeast(l *list) int64 {
	sum := int64(0)
	if hasSteps(s.room, l) {
		return sum
	}
	for _, id := range l.ids {
		if u := s.room.units[id]; len(u.Tasks) == 1 {
			sum = addUpTo(sum, u.GPUs)
		}
	}
	return sum
}

// fewUnits is up to how many candidates all sets of them are tried for moves,
// and mostMoves how many of them then move together at most.
const (
	fewUnits  = 12
	mostMoves = 4
)

// planSets plans all sets of few candidates: some may only make way for others.
func (s *search) planSets(candidates []UnitID) {
	ids := slices.Clone(candidates)
	slices.SortFunc(ids, func(a, b UnitID) int { return s.room.better(b, a) })
	var grow func(from int, l list)
	grow = func(from int, l list) {
		if len(l.ids) > 0 {
			s.planned = append(s.planned, l)
		}
		for i := from; i < len(ids) && len(l.ids) < mostMoves; i++ {
			grow(i+1, list{
				kind: inOrder, ids: append(slices.Clip(l.ids), ids[i]), class: make([]int8, len(l.ids)+1),
				moved: addUpTo(l.moved, s.room.units[ids[i]].GPUs),
			})
		}
	}
	grow(0, list{})
}

// consolidateSet looks for moves on a set of nodes of which some only make way for
// others: it takes until the preemptor starts and all find a place, and spares
// whom it can.
func (s *search) consolidateSet(nodes []int32, candidates []UnitID) {
	r := s.room
	if over(s, 0) {
		return
	}
	s.refusal.Steps++
	ids := slices.Clone(s.on(nodes, candidates))
	slices.SortFunc(ids, func(a, b UnitID) int { return r.better(b, a) })
	found := list{kind: inOrder, nodes: nodes}
	for len(found.ids) < len(ids) && !over(s, 0) && !s.allMove(&found) {
		found.ids = append(found.ids, ids[len(found.ids)])
	}
	if len(found.ids) < 2 || !s.allMove(&found) {
		return
	}
	for _, id := range slices.Backward(slices.Clone(found.ids)) {
		fewer := list{kind: inOrder, nodes: nodes}
		fewer.ids = slices.DeleteFunc(slices.Clone(found.ids), func(other UnitID) bool { return other == id })
		if s.allMove(&fewer) {
			found = fewer
		}
	}
	found.class = make([]int8, len(found.ids))
	s.planned = append(s.planned, found)
}

// allMove carries the moves out, sees whether all find a place and how many GPUs
// move, and takes them back.
func (s *search) allMove(l *list) bool {
	r := s.room
	shapes := homeless(s, l)
	t := r.begin(s.ask, s.fit, l.kind)
	defer t.end()
	t.homeless, t.trial = shapes, l.trial
	for _, id := range l.ids {
		// What is above a unit goes before it, and together they keep the budgets (M7).
		if above := r.withAbove(id); len(above) > 1 || !withinBudget(r, r.units[id]) || !t.takeOne(id) {
			return false
		}
	}
	moved, ok := t.relocated(l.ids, l.staying, l.anew)
	l.moved = moved
	return ok
}

// homeless are the shapes of a list of lone units, which stand on one node, of which no
// node takes a task as things stand: those come to stay where they are, if they can.
func homeless(s *search, l *list) (shapes []placement.Shape) {
	if l.trial == nil || len(l.nodes) != 1 || !s.ask.Still {
		return nil
	}
	shapes = s.room.scratch.homeless[:0]
	for _, id := range l.ids {
		if shape := s.room.units[id].Tasks[0].Shape; !s.findsPlace(shape) {
			shapes = append(shapes, shape)
		}
	}
	s.room.scratch.homeless = shapes
	return shapes
}
