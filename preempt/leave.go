package preempt

import (
	"slices"

	"github.com/allotsched/allot/placement"
)

// Who moves beside victims goes to a node that takes it, and most of those who stand where
// the preemptor might have nowhere to go. That is plain before anything is tried: a node
// takes more than it does now only where a victim has gone, or where a mover itself stood.

// asked is the answer to a question that is asked once.
type asked int8

const (
	notAsked asked = iota
	no
	yes
)

// nobodyLeaves is a sound bound (M8): with all candidates on a node gone, and of what may
// move the largest for which some node has a place, it has no room for the preemptor, or of a gang
// for what no other node takes. What finds no other place makes none, wherever on the node it moves.
func (s *relocator) nobodyLeaves(n int32) bool {
	r := s.room
	if s.fit.rooms == nil || !s.ask.Still || s.ask.excessOnly {
		return false
	}
	for _, id := range r.byNode[n] {
		if (s.goes.has(id) || s.moves.has(id)) && !r.alone(id) { // it frees something elsewhere too
			return false
		}
	}
	return !s.mayCome(n) || !s.mayTake(n, s.fit.missingOn(n), func(id UnitID) bool { return s.findsPlace(r.state[id].shape) })
}

// mayCome is mayTake if all that may move leave, which is found out once for a question.
func (s *relocator) mayCome(n int32) bool {
	if s.come == nil {
		s.come = make([]asked, s.room.Nodes)
	}
	if s.come[n] == notAsked {
		s.come[n] = no
		if s.mayTake(n, 1, func(UnitID) bool { return true }) {
			s.come[n] = yes
		}
	}
	return s.come[n] == yes
}

// mayTake is a sound bound (M8): with all candidates on a node gone and the largest that
// may move and leave it, it has room for so many tasks.
func (s *relocator) mayTake(n int32, tasks int64, leaves func(UnitID) bool) bool {
	r := s.room
	if s.fit.rooms == nil {
		return true
	}
	r.Effort.Spend(1)
	if !r.Index.Admissible(s.fit.shape(), n) {
		return false
	}
	for _, need := range s.ask.Need { // of all tasks together, which are alike
		all, have := need.Value/int64(s.fit.need)*tasks, r.Index.MostFree(n, need.Resource)
		for _, id := range r.byNode[n] {
			if s.goes.has(id) {
				have = addUpTo(have, r.charged(id).Of(need.Resource))
			}
		}
		if have < all && addUpTo(have, s.mostOf(s.leaving(n, leaves), need.Resource)) < all {
			return false
		}
	}
	return true
}

// leaving lists those that may move and leave a node.
func (s *relocator) leaving(n int32, leaves func(UnitID) bool) []UnitID {
	s.here = s.here[:0]
	for _, id := range s.room.byNode[n] {
		if s.moves.has(id) && leaves(id) {
			s.here = append(s.here, id)
		}
	}
	return s.here
}

// roomMakers lists by node those who may move from it, of nodes that may come to take a
// task more. hope is false where no node takes one without moves. w is what the nodes would
// take with all candidates gone, where that bounds what moves, as then they do not take the
// preemptor; else it is nil.
func (s *relocator) roomMakers(candidates, movable []UnitID) (lists [][]UnitID, w *without, hope bool) {
	may := s.mayCome
	w = withoutAll(s.search, candidates)
	if enough := w == nil || w.enough(); enough || s.ask.mode == Preempt { // which may have more go than candidates
		w, hope = nil, enough
	} else {
		leaves := func(id UnitID) bool { return !s.room.alone(id) || w.takes(s.room.state[id].shape) }
		may = func(n int32) bool { return s.mayCome(n) && s.mayTake(n, 1, leaves) }
	}
	var nodes []int32
	if len(movable) == len(s.movable) { // these are all that may move
		nodes = standingIn(s.search, s.moves, s.moves)
	} else {
		nodes = standingOn(s.search, movable)
	}
	for _, n := range nodes {
		if over(s.search, 0) {
			return nil, nil, true
		}
		if may(n) {
			lists = append(lists, s.among(s.moves, []int32{n}))
		}
	}
	return lists, w, hope
}

// A without is what the nodes would take with all candidates gone.
type without struct {
	*search
	candidates []UnitID
	nodes      []int32 // on which they stand
	goes       unitSet // nil is that they are marked
	known      []asked // by shape: what takes has found out
	missing    int     // see enough
	counted    map[slotKey]int64
	gone       []UnitID // scratch of each
}

// withoutAll is that of the question at hand, nil where others go with candidates, where
// some have gone already, or where nodes change otherwise than with their units.
func withoutAll(s *search, candidates []UnitID) *without {
	if s.fit.rooms == nil || s.fit.domain != nil || !s.ask.Still || s.ask.excessOnly ||
		!areAlike(s, candidates) && slices.ContainsFunc(candidates, func(id UnitID) bool { return !s.room.single(id) }) {
		return nil
	}
	s.room.Effort.Spend((len(candidates) + s.room.Nodes) / lookedAt)
	w := &without{search: s, candidates: candidates, nodes: standing(s, candidates)}
	if !areAlike(s, candidates) {
		w.goes = unitSetOf(s.room, candidates, nil)
	}
	return w
}

// leaves says whether a unit is one of the candidates.
func (w *without) leaves(id UnitID) bool {
	if w.goes == nil {
		return w.marked.has(id)
	}
	return w.goes.has(id)
}

// enough says whether they would take all tasks of the preemptor, and takes note of how many
// are missing.
func (w *without) enough() bool {
	total := w.fit.total
	w.each(w.mayGain, func(n int32) bool {
		total += int(w.fit.roomOn(n) - w.fit.rooms[n])
		return total < w.fit.need
	})
	w.missing = w.fit.need - total
	return w.missing <= 0
}

// mayGain says whether a node may take a task more than it does, by amounts.
func (w *without) mayGain(n int32, gone []UnitID) bool {
	r, tasks := w.room, int64(w.fit.need)
	for _, need := range w.ask.Need { // of all tasks together, which are alike
		most := r.Index.MostFree(n, need.Resource)
		for _, id := range gone {
			most = addUpTo(most, r.charged(id).Of(need.Resource))
		}
		if most/(need.Value/tasks) <= int64(w.fit.rooms[n]) {
			return false
		}
	}
	return true
}

// takes says whether some node would take a task of the shape: one that does now, or one
// on which a candidate stands.
func (w *without) takes(shape placement.Shape) bool {
	if more := int(shape) + 1 - len(w.known); more > 0 {
		w.known = append(w.known, make([]asked, more)...)
	}
	if known := w.known[shape]; known != notAsked {
		return known == yes
	}
	takes := w.findsPlace(shape)
	if !takes {
		admissible := func(n int32, _ []UnitID) bool { return w.room.Index.Admissible(shape, n) }
		w.each(admissible, func(n int32) bool {
			takes = w.room.Index.RoomOn(shape, n) > 0
			return !takes
		})
	}
	if w.known[shape] = no; takes {
		w.known[shape] = yes
	}
	return takes
}

// noneMove is a sound bound (M8) for units that would move together where all candidates
// gone are not enough, for what is free at most then. What no node takes, though they are gone,
// comes to stay on the nodes on which the units stand, as nowhere else anything changes: so
// there is enough for the tasks of the preemptor that are missing, which come there. And the
// nodes take all tasks, the preemptor's and those of the units, if each asked but the least. And where they stood
// there is room for the tasks of the preemptor that are missing, each of them on one node.
func (w *without) noneMove(ids []UnitID) bool {
	r := w.room
	nodes := w.standsOn[:0]
	r.onNodes.begin(r.Nodes)
	for _, id := range ids {
		for i := range r.units[id].Tasks {
			if n := r.units[id].Tasks[i].Place.Node; r.onNodes.mark(n) {
				nodes = append(nodes, n)
			}
		}
	}
	w.standsOn = nodes
	r.Effort.Spend(1 + len(nodes)/lookedAt)
	for _, need := range w.ask.Need { // of all tasks together, which are alike
		each := need.Value / int64(w.fit.need)
		if w.inPieces(ids, nodes, need.Resource, each) || w.mostLeft(ids, nodes, need.Resource)/int64(w.missing) < each || w.tooMany(ids, nodes, need.Resource, each) {
			return true
		}
	}
	return false
}

// inPieces says whether the nodes on which units that move stand take less, with all candidates and these gone, than
// the tasks of the preemptor that are missing: nowhere else they come to more than without moves.
func (w *without) inPieces(ids []UnitID, nodes []int32, res int32, each int64) bool {
	tasks := int64(0)
	for _, n := range nodes {
		most := w.mostFree(n, res)
		for _, id := range ids {
			if u := w.room.units[id]; slices.ContainsFunc(u.Tasks, func(t Task) bool { return t.Place.Node == n }) {
				most = addUpTo(most, w.mostOn(u, n, res))
			}
		}
		tasks = addUpTo(tasks, most/each)
	}
	return tasks < int64(w.missing)
}

// mostOn is what of a resource a unit holds on a node at most: where its tasks are alike it is told by how many
// of them stand there.
func (w *without) mostOn(u *Unit, n, res int32) (most int64) {
	first, all := u.Tasks[0].Shape, u.Charge.Of(res)
	if res == 0 && !w.room.Index.Whole(first) {
		return all
	}
	each := all / int64(len(u.Tasks))
	for i := range u.Tasks {
		switch t := &u.Tasks[i]; {
		case t.Shape != first:
			return all
		case t.Place.Node == n:
			most = addUpTo(most, each)
		}
	}
	return most
}

// tooMany says whether the nodes take less than the tasks of the preemptor and of units that
// move, if each asked of a resource only what the least of them does.
func (w *without) tooMany(ids []UnitID, nodes []int32, res int32, each int64) bool {
	tasks := int64(w.fit.need)
	for _, id := range ids {
		u := w.room.units[id]
		first := u.Tasks[0].Shape
		if res == 0 && !w.room.Index.Whole(first) || slices.ContainsFunc(u.Tasks, func(t Task) bool { return t.Shape != first }) {
			return false // what each of them takes of a node is not told
		}
		tasks += int64(len(u.Tasks))
		each = min(each, u.Charge.Of(res)/int64(len(u.Tasks)))
	}
	if each <= 0 {
		return false
	}
	slots := w.slots(res, each)
	for _, n := range nodes {
		free, more := w.mostFree(n, res), int64(0)
		for _, id := range ids {
			u := w.room.units[id]
			for i := range u.Tasks {
				if u.Tasks[i].Place.Node == n {
					more = addUpTo(more, u.Charge.Of(res)/int64(len(u.Tasks)))
				}
			}
		}
		slots = addUpTo(slots, addUpTo(free, more)/each-free/each)
	}
	return slots < tasks
}

// A slotKey names tasks that ask so much of a resource.
type slotKey struct {
	res  int32
	each int64
}

// slots is how many such tasks the nodes take at most with all candidates gone.
func (w *without) slots(res int32, each int64) int64 {
	key := slotKey{res, each}
	slots, counted := w.counted[key]
	if !counted {
		w.room.Effort.Spend((w.room.Nodes + len(w.candidates)) / lookedAt)
		for n := range w.room.Nodes {
			slots = addUpTo(slots, w.mostFree(int32(n), res)/each)
		}
		if w.counted == nil {
			w.counted = make(map[slotKey]int64)
		}
		w.counted[key] = slots
	}
	return slots
}

// mostFree is what of a resource may be free on a node at most with all candidates gone.
func (w *without) mostFree(n, res int32) int64 {
	most := w.room.Index.MostFree(n, res)
	for _, id := range w.room.byNode[n] {
		if w.leaves(id) {
			most = addUpTo(most, w.room.charged(id).Of(res))
		}
	}
	return most
}

// mostLeft is what of a resource may be free at most on the nodes of units that move, with
// all candidates gone and those of the units that some node takes.
func (w *without) mostLeft(ids []UnitID, nodes []int32, res int32) (most int64) {
	r := w.room
	for _, n := range nodes {
		most = addUpTo(most, w.mostFree(n, res))
	}
	for _, id := range ids {
		if slices.ContainsFunc(r.units[id].Tasks, func(t Task) bool { return w.takes(t.Shape) }) {
			most = addUpTo(most, r.charged(id).Of(res))
		}
	}
	return most
}

// each goes the nodes on which candidates stand, and has those that matter looked at with
// the places of these free, as long as look says so.
func (w *without) each(matters func(n int32, gone []UnitID) bool, look func(n int32) bool) {
	r := w.room
	r.Effort.Spend(1 + len(w.candidates)/lookedAt)
	for _, n := range w.nodes {
		gone := w.gone[:0]
		for _, id := range r.byNode[n] {
			if w.leaves(id) {
				gone = append(gone, id)
			}
		}
		w.gone = gone
		if !matters(n, gone) {
			continue
		}
		mark := r.Index.Mark()
		for _, id := range gone {
			for i := range r.units[id].Tasks {
				if t := &r.units[id].Tasks[i]; t.Place.Node == n && r.Index.Give(t.Shape, t.Place) != nil {
					continue // it has gone
				}
			}
		}
		more := look(n)
		r.Index.Undo(mark)
		r.Effort.Spend(2 * len(gone))
		if !more {
			return
		}
	}
}
