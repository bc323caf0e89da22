package preempt

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/placement"
)

// Beside the victims of a reclaim or a preemption units may move (M10): whether the
// preemptor starts is then asked with some of what stands at the place moved.

// A relocation is what a question knows of the moves beside its victims.
type relocation struct {
	// movers are the sets of units that may move at the place at hand, in the order in
	// which they are tried.
	movers []moverSet
	// node is the place at hand where it is one node, else −1, and most what a set of movers
	// frees there at most, by Need.
	node int32
	most []int64
	// looked counts the sets that were looked at; cut says that there were more.
	looked int
	cut    bool
	// vain are the sets of victims with which none of movers served: the orders in which victims are taken come to
	// the same sets again and again.
	vain []vainSet
}

// A vainSet is victims with which no set of movers served, and what it cost to find that out.
type vainSet struct {
	ids           []UnitID
	tried, looked int
	// spent are the steps, of which the search was seen to have checked when it came to the last set.
	spent, checked int64
}

// mostVain is how many victims there are at most in a set that is remembered.
const mostVain = 64

// A moverSet is units that may move together, the worst standing first.
type moverSet struct {
	ids []UnitID
	// gpus and running are what they cost: neither counts what was just started.
	gpus    int64
	running int
}

// A moving is how a set of units moves.
type moving struct {
	ids           []UnitID
	gpus          int64
	staying, anew bool
}

// mostMoverSets is how many sets of movers are tried for one question, which takes the
// time of a few placements each, and mostLookedAt how many are looked at.
const mostMoverSets, mostLookedAt = 1 << 13, 1 << 17

// placing is what it costs to look for places for some tasks of a shape, in steps: for each
// some nodes are looked at, or all where it finds none, and of some its devices are chosen.
func placing(r *Evaluator, tasks int, shape placement.Shape) int {
	const choosing = 256
	steps := 16 + r.Nodes/8
	if r.Index.Whole(shape) && !r.Index.Plain(shape) {
		steps += choosing
	}
	return tasks * steps
}

// placingOf is what it costs to look for places for the preemptor, in steps.
func placingOf(r *Evaluator, b *Preemptor) int {
	return placing(r, int(b.Add.Tasks()), b.Shapes[firstSet(b.Add.Add)])
}

// relocates says whether units may move beside the victims.
func (a *ask) relocates() bool { return a.Relocations > 0 && a.mode != Consolidate }

// victims are those of a proposal that do not move beside others.
func (p *Proposal) victims() []Justification {
	return p.Justifications[:len(p.Justifications)-p.list.beside]
}

// A relocator searches for victims with moves beside them.
type relocator struct {
	*search
	sizes []int64 // scratch of mostOf
	come  []asked // by node: see mayCome
}

// places tries the places for the preemptor where units may move: a place is
// where victims go and movers leave. What moves may stand elsewhere than what goes, so
// all candidates are tried as one place too.
func (s *relocator) places(candidates []UnitID) {
	movable := s.mayMove()
	s.room.Effort.Spend(len(movable) / lookedAt)
	if len(movable) == 0 || over(s.search, 0) {
		return
	}
	s.goes, s.moves = unitSetOf(s.room, candidates, s.goes), unitSetOf(s.room, movable, s.moves)
	nodes := standingIn(s.search, s.goes, s.moves)
	switch {
	case s.ask.Domains != nil && s.ask.Exact:
		for d, inside := range s.ask.Domains {
			s.fit.focusOn(int32(d))
			s.tryWith(inside, candidates, s.among(s.moves, inside))
		}
		s.fit.focusOn(-1)
	case len(nodes) <= fewNodes:
		eachSet(nodes, func(some []int32) {
			s.tryWith(some, s.among(s.goes, some), s.among(s.moves, some))
		})
	default:
		if s.ask.Add.Tasks() > 1 {
			nodes = nodes[:min(len(nodes), singleNodes)]
		}
		for _, n := range nodes {
			if over(s.search, 0) {
				return
			}
			if !slices.ContainsFunc(s.room.byNode[n], func(id UnitID) bool { return s.goes.has(id) }) {
				continue // that were a consolidation
			}
			if s.nobodyLeaves(n) {
				s.refusal.Steps++
				continue
			}
			one := s.room.oneNode(n)
			s.tryWith(one, s.among(s.goes, one), s.among(s.moves, one))
		}
		s.tryWith(nil, candidates, movable)
	}
}

// tryWith tries a place with its candidates, beside which these units may move.
func (s *relocator) tryWith(nodes []int32, candidates, movable []UnitID) {
	a := s.ask
	if len(movable) == 0 || len(candidates) == 0 {
		return
	}
	if over(s.search, 0) {
		return
	}
	a.node, a.vain = -1, a.vain[:0]
	var some bool
	if a.movers, some = s.moverSets(candidates, movable); !some {
		s.refusal.Steps++
		return
	}
	if len(nodes) == 1 {
		a.node, a.most = nodes[0], s.mostFreed(movable)
	}
	s.try(nodes, candidates)
}

// mayMove lists the units that may move beside victims, few of them the worst standing first.
func (s *relocator) mayMove() []UnitID {
	r, out := s.room, s.movable[:0]
	for leaf := range r.byLeaf {
		for _, id := range r.byLeaf[leaf] {
			u := &r.state[id]
			if u.bars&(nonPreemptible|rooted|preemptedEarly) == 0 && u.work != s.ask.Work && (u.bars&budgeted == 0 || withinBudget(r, r.units[id])) {
				out = append(out, id)
			}
		}
	}
	if len(out) <= fewUnits { // of more those of a node are sorted
		r.sortByStanding(out)
		slices.Reverse(out)
	}
	s.movable = out
	return out
}

// standing lists the nodes, by position, where some of the units stand.
func standing(s *search, ids []UnitID) []int32 {
	if !areAlike(s, ids) {
		return standingOn(s, ids)
	}
	r, out := s.room, s.stood[:0]
	markAll(s, ids)
	for n := range int32(r.Nodes) {
		if slices.ContainsFunc(r.byNode[n], s.marked.has) {
			out = append(out, n)
		}
	}
	s.stood = out
	return out
}

// standingIn lists the nodes, by position, where units of one of two sets stand.
func standingIn(s *search, one, other unitSet) (out []int32) {
	for n := range int32(s.room.Nodes) {
		if slices.ContainsFunc(s.room.byNode[n], func(id UnitID) bool { return one.has(id) || other.has(id) }) {
			out = append(out, n)
		}
	}
	return out
}

// standingOn is standing of units that are not marked.
func standingOn(s *search, ids []UnitID) []int32 {
	r, count := s.room, 0
	r.onNodes.begin(r.Nodes)
	mark := func(n int32) {
		if r.onNodes.mark(n) {
			count++
		}
	}
	for _, id := range ids {
		if n := r.state[id].node; n >= 0 {
			mark(n)
			continue
		}
		for i := range r.units[id].Tasks {
			mark(r.units[id].Tasks[i].Place.Node)
		}
	}
	out := make([]int32, 0, count)
	for n := range int32(r.Nodes) {
		if r.onNodes.has(n) {
			out = append(out, n)
		}
	}
	return out
}

// among are the units of which a task stands on one of the nodes, the worst standing
// first.
func (s *relocator) among(units unitSet, nodes []int32) []UnitID {
	var out []UnitID
	for _, n := range nodes {
		for _, id := range s.room.byNode[n] {
			if units.has(id) && (s.room.alone(id) || !slices.Contains(out, id)) {
				out = append(out, id)
			}
		}
	}
	s.room.sortByStanding(out)
	slices.Reverse(out)
	return out
}

// moverSets lists the sets of the units that may move together: all of few units, of
// many those of one node that may come to take a task more. The cheapest come first. hope
// is false where there are none, and no room without moves either.
func (s *relocator) moverSets(candidates, movable []UnitID) (out []moverSet, hope bool) {
	r := s.room
	var without *without
	var ids []UnitID
	var grow func(of []UnitID, set moverSet)
	grow = func(of []UnitID, set moverSet) {
		for i, id := range of {
			more := moverSet{gpus: addUpTo(set.gpus, r.units[id].movedGPUs()), running: set.running}
			if !r.state[id].started {
				more.running++
			}
			if more.running > s.ask.Relocations || len(set.ids) >= max(mostMoves, s.ask.Relocations) {
				continue
			}
			ids = append(append(ids[:0], set.ids...), id)
			more.ids, r.scratch.ids = cut(r.scratch.ids, ids)
			if without == nil || !without.noneMove(more.ids) {
				out = append(out, more)
			}
			s.room.Effort.Spend(1)
			grow(of[i+1:], more)
		}
	}
	if len(movable) <= fewUnits {
		hope = true
		grow(movable, moverSet{})
	} else {
		var lists [][]UnitID
		lists, without, hope = s.roomMakers(candidates, movable)
		for _, here := range lists {
			if over(s.search, 0) {
				break
			}
			grow(here[:min(len(here), fewUnits)], moverSet{})
		}
	}
	sortMoverSets(r, out)
	return out, hope || len(out) > 0
}

// sortMoverSets sorts sets of units that may move, the cheapest first. The units are ranked by standing once, as
// each is in many sets.
func sortMoverSets(r *Evaluator, sets []moverSet) {
	if len(sets) < 2 {
		return
	}
	ids := r.scratch.ranked[:0]
	r.ofUnits.begin(len(r.units))
	for i := range sets {
		for _, id := range sets[i].ids {
			if r.ofUnits.mark(int32(id)) {
				ids = append(ids, id)
			}
		}
	}
	r.sortByStanding(ids)
	r.scratch.ranked = ids
	rank := slices.Grow(r.scratch.ranks[:0], len(r.units))[:len(r.units)] // of those units, whatever it says of others
	for at, id := range ids {
		rank[id] = int32(at)
	}
	r.scratch.ranks = rank
	slices.SortFunc(sets, func(x, y moverSet) int { // those that are equal are the same
		if c := cmp.Or(cmp.Compare(x.gpus, y.gpus), cmp.Compare(x.running, y.running)); c != 0 {
			return c
		}
		return slices.CompareFunc(y.ids, x.ids, func(a, b UnitID) int { return cmp.Compare(rank[a], rank[b]) })
	})
}

// mostFreed bounds what a set of movers frees, by Need: that of the largest units.
func (s *relocator) mostFreed(movable []UnitID) []int64 {
	most := make([]int64, len(s.ask.Need))
	for at, need := range s.ask.Need {
		most[at] = s.mostOf(movable, need.Resource)
	}
	return most
}

// mostOf bounds what a set of movers frees of a resource.
func (s *relocator) mostOf(movable []UnitID, res int32) (most int64) {
	sizes := s.sizes[:0]
	for _, id := range movable {
		if n := s.room.charged(id).Of(res); s.room.state[id].started {
			most = addUpTo(most, n)
		} else {
			sizes = append(sizes, n)
		}
	}
	s.sizes = sizes
	if len(sizes) > s.ask.Relocations {
		slices.Sort(sizes)
		sizes = sizes[len(sizes)-s.ask.Relocations:]
	}
	for _, n := range sizes {
		most = addUpTo(most, n)
	}
	return most
}
