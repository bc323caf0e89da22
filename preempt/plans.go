package preempt

import (
	"slices"

	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// What a node would have to move for one task of a shape depends on nothing but
// who stands on it and what is free there, as long as each of them is all of its
// workload. So it is kept for the next that asks for a task of that shape, whosever
// it is, and looked for again where units have come or gone.

// plans are the lists of victims that consolidation plans for a shape.
type plans struct {
	fit     *fit
	touched int // what of Evaluator.touched is read
	shared  int // Evaluator.shared, when the lists were kept
	byNode  []nodePlans
	// stale are the nodes that have to be looked at before all is known, fresh those that
	// were looked at and not judged since.
	stale, fresh []int32
	// units and places are how many units may move and on how many nodes they stand,
	// lists and stuck how many lists there are on nodes that are not barred, and how many
	// of them that cannot move.
	units, places, lists, stuck int
	freeOn                      []int32 // the nodes with lists that are not stuck, ascending
	gpus                        int64   // what who asks for the shape requests
	// shapes are those of what may move, noted their bits, placeable which of them some
	// node took when that was last asked, and taken the bits of these.
	shapes    []placement.Shape
	noted     map[placement.Shape]uint64
	placeable []bool
	taken     uint64
	cost      int64 // of judging all nodes when placeable was last asked
	costs     int64 // of all that is remembered, that among it
}

// nodePlans are the lists of one node.
type nodePlans struct {
	known   bool // who may move from it is
	planned bool
	units   int
	shapes  uint64 // of those who may move, see bitOf
	lists   []list
	never   []bool // by list: it moves more than may move, whatever else happens
	cost    int64  // of planning them
	// judgement is that of now, and before that of when it was otherwise last: shapes that find places and
	// find none any more come and go.
	judgement
	before judgement
}

// A judgement is which lists of a node cannot serve as long as the same shapes find places.
type judgement struct {
	judged bool
	taken  uint64 // bits of those of them that may move from it
	// barred: whichever of them go, the node does not take the task. So nobody asks for its
	// lists, which may not be planned.
	barred, free bool
	stuck        []bool // by list: it cannot serve
}

// remember is remember of what is found out for the shape.
func (p *plans) remember(r *Evaluator, cost *int64, steps int64) {
	p.costs += steps - *cost
	remember(r, cost, steps)
}

// remember takes note of what it cost to find out what is remembered from now on, in place
// of what was found out before.
func remember(r *Evaluator, cost *int64, steps int64) {
	r.Effort.Gone(*cost)
	*cost = steps
	r.remembered += steps
}

// ForgetAnswers has an evaluator find out anew what it has found out for earlier questions.
func ForgetAnswers(r *Evaluator) {
	clear(r.plans)
	r.law++
}

// plansFor are those of the ask at hand, brought up to date, or nil where it asks
// for more than one task or where more than its nodes counts.
func (s *search) plansFor() *plans {
	r, a := s.room, s.ask
	if a.mode != Consolidate || !a.Still || !a.Exact || a.Cap != nil || a.Domains != nil || len(r.budgets) > 0 || a.Add.Tasks() != 1 {
		return nil
	}
	shape := a.Shapes[firstSet(a.Add.Add)]
	p := r.plans[shape]
	if p == nil {
		p = &plans{fit: r.newFit(a), touched: len(r.touched), shared: r.shared, byNode: make([]nodePlans, r.Nodes), gpus: a.GPUs,
			noted: make(map[placement.Shape]uint64)}
		r.plans[shape] = p
		p.forget()
		return p
	}
	p.fit.ask = a
	for _, n := range r.touched[p.touched:] {
		if p.byNode[n].known {
			p.byNode[n].known, p.stale = false, append(p.stale, n)
		}
		p.fit.read(n)
	}
	p.touched = len(r.touched)
	if p.shared != r.shared || p.gpus != a.GPUs {
		p.forget()
		p.shared, p.gpus = r.shared, a.GPUs
	}
	return p
}

// forget has every node be looked at again.
func (p *plans) forget() {
	p.stale = p.stale[:0]
	for n := range p.byNode {
		p.byNode[n].known, p.stale = false, append(p.stale, int32(n))
	}
}

// planNode plans what may move from one node, or tells again what is known of it.
func (s *search) planNode(p *plans, n int32, candidates []UnitID) {
	known := p != nil && p.fit.total == 0 && p.byNode[n].known
	switch {
	case known && cannotClear(s, n):
		if !ended(s) {
			s.refusal.Steps++
		}
	case !known || !p.byNode[n].planned:
		s.tryNodes(s.room.oneNode(n), candidates)
	case !ended(s):
		s.refusal.Steps++
		s.room.Effort.Spend(1)
		s.planned = append(s.planned, p.byNode[n].lists...)
	}
}

// consolidate consolidates from what is known of the nodes, as a search of all of them
// would; it says whether that could be done. Only the nodes on which units came or went
// are planned anew, and of the lists only those are tried of which it is not known that
// they cannot move.
func (p *plans) consolidate(s *search) bool {
	if p == nil || s.ask.Equivalence < 0 || p.fit.total > 0 {
		return false
	}
	effort, spent, remembered := s.room.Effort, s.room.Effort.Spent(), s.room.remembered
	defer func() { effort.Passing(effort.Spent() - spent - (s.room.remembered - remembered)) }()
	s.fit = p.fit
	p.gather(s)
	s.room.Effort.Spend(len(p.shapes) / lookedAt)
	if changed := p.placeableAgain(s); changed != 0 {
		looked := (len(p.byNode) + p.units) / lookedAt
		s.room.Effort.Spend(looked)
		p.remember(s.room, &p.cost, int64(looked))
		for n := range p.byNode {
			if p.byNode[n].judged && p.byNode[n].shapes&changed != 0 {
				p.fresh = append(p.fresh, int32(n))
			}
		}
	}
	if ended := p.judgeFresh(s); ended {
		s.refusal.Cut = true
		return true
	}
	effort.Needs(p.costs) // of who asks first
	if p.units <= fewUnits || p.places <= fewNodes || p.places+p.lists > s.room.Steps {
		s.refusal.Steps, s.planned = 0, s.planned[:0]
		return false
	}
	s.planned, s.refusal.Takeable, s.refusal.Steps = s.planned[:0], p.units, p.places+p.stuck
	order := s.toTry[:0]
	for _, n := range p.freeOn {
		s.room.Effort.Spend(1 + len(p.byNode[n].lists)/lookedAt)
		for i := range p.byNode[n].lists {
			l := &p.byNode[n].lists[i]
			if p.byNode[n].stuck[i] {
				continue
			}
			if l.trial != nil && l.trial.stillFails(s) {
				s.refusal.Steps++
				continue
			}
			order = append(order, int32(len(s.planned)))
			s.planned = append(s.planned, *l)
		}
	}
	s.toTry = order
	consolidateInOrder(s, order)
	return true
}

// gather finds out who may move from the nodes of which that is not known. Of those it stays
// unknown where somebody stands elsewhere too, or is a part of its workload.
func (p *plans) gather(s *search) {
	r := s.room
	unknown := p.stale
	p.stale = nil
	for _, n := range unknown {
		at := &p.byNode[n]
		p.count(at, -1)
		at.forgetTrials(r)
		ids := mayMoveOn(s, n)
		looked := len(ids) / lookedAt
		r.Effort.Spend(looked)
		p.remember(r, &at.cost, int64(looked))
		*at = nodePlans{known: s.standAlone(n), units: len(ids), shapes: p.note(r, ids), cost: at.cost}
		if p.count(at, 1); !at.known {
			p.stale = append(p.stale, n)
		}
		if p.fresh = append(p.fresh, n); at.units == 0 {
			p.list(n, false)
		}
	}
}

// judgeFresh judges the nodes that were looked at and not judged since. ended says that the
// search came to its bound before all were.
func (p *plans) judgeFresh(s *search) (ended bool) {
	for i, n := range p.fresh {
		if !p.judge(s, n) {
			p.fresh = append(p.fresh[:0], p.fresh[i:]...)
			return true
		}
	}
	p.fresh = p.fresh[:0]
	return false
}

// cannotClear is a sound bound (M8) for all lists of a node of which who may move is known, as
// cannotMove is for each: with all that some node takes gone, it does not take the task.
func cannotClear(s *search, n int32) bool {
	r := s.room
	var ignored Refusal
	s.here = s.here[:0]
	for _, id := range r.byNode[n] {
		if r.fixed(s.ask, id, &ignored) && s.findsPlace(r.state[id].shape) { // each is alone
			s.here = append(s.here, id)
		}
	}
	return slices.ContainsFunc(s.ask.Need, func(need quota.Amount) bool {
		most := s.ask.nodes(r.Index).MostFree(n, need.Resource)
		for _, id := range s.here {
			most = addUpTo(most, r.charged(id).Of(need.Resource))
		}
		return most < need.Value
	})
}

// plan plans what may move from a node. It says whether that came to its end.
func (p *plans) plan(s *search, n int32) bool {
	r, at := s.room, &p.byNode[n]
	before := r.Effort.Spent()
	if at.units > 0 {
		s.planned, s.refusal.Steps = s.planned[:0], 0
		s.try(r.oneNode(n), mayMoveOn(s, n))
		if r.Effort.Over(0) { // what was tried may not be all
			return false
		}
		at.lists = slices.Clone(s.planned)
		giveTrials(at.lists, r.Local && at.known)
	}
	at.never = make([]bool, len(at.lists))
	for i := range at.lists {
		at.never[i] = movesTooMuch(s, &at.lists[i])
	}
	at.planned = true
	steps := r.Effort.Spent() - before
	at.cost, p.costs, r.remembered = at.cost+steps, p.costs+steps, r.remembered+steps
	return true
}

// count counts a node n times.
func (p *plans) count(at *nodePlans, n int) {
	p.units += n * at.units
	if at.units > 0 {
		p.places += n
	}
	if at.barred { // whether it was planned before or not
		return
	}
	p.lists += n * len(at.lists)
	for _, stuck := range at.stuck {
		if stuck {
			p.stuck += n
		}
	}
}

// note notes the shapes of units that may move, and returns their bits.
func (p *plans) note(r *Evaluator, ids []UnitID) (bits uint64) {
	for _, id := range ids {
		for i := range r.units[id].Tasks {
			shape := r.units[id].Tasks[i].Shape
			if p.noted[shape] == 0 {
				p.noted[shape] = bitOf(len(p.shapes))
				p.shapes, p.placeable = append(p.shapes, shape), append(p.placeable, false)
			}
			bits |= p.noted[shape]
		}
	}
	return bits
}

// manyShapes is the bit that all shapes but the first have in common.
const manyShapes uint64 = 1 << 63

// bitOf is the bit of a shape by its number.
func bitOf(i int) uint64 { return 1 << min(i, 63) }

// placeableAgain asks which shapes find a place now, and returns the bits of those of which
// it was otherwise when that was last asked.
func (p *plans) placeableAgain(s *search) (changed uint64) {
	p.taken = 0
	for i, shape := range p.shapes {
		now, bit := s.findsPlace(shape), bitOf(i)
		if now != p.placeable[i] {
			p.placeable[i] = now
			changed |= bit
		}
		if now {
			p.taken |= bit
		}
	}
	return changed
}

// judge finds out which lists of a node cannot serve, or that none can, unless that is known. It says whether
// the search has not come to its bound before.
func (p *plans) judge(s *search, n int32) bool {
	at := &p.byNode[n]
	taken := at.shapes & p.taken
	stands := func(j *judgement) bool { return j.judged && j.taken == taken && at.shapes&manyShapes == 0 }
	if stands(&at.judgement) {
		return true
	}
	next := at.before
	if !stands(&next) {
		barred := at.known && cannotClear(s, n)
		if !barred && !at.planned && !p.plan(s, n) {
			return false
		}
		next = judgement{judged: true, taken: taken, barred: barred, stuck: next.stuck[:0]}
		for i := range at.lists {
			next.stuck = append(next.stuck, barred || at.never[i] || s.cannotMove(&at.lists[i]))
			next.free = next.free || !next.stuck[i]
		}
	}
	p.count(at, -1)
	at.judgement, at.before = next, at.judgement
	p.count(at, 1)
	p.list(n, at.free)
	return true
}

// list lists a node among those with lists that are not stuck, or no more.
func (p *plans) list(n int32, free bool) {
	switch i, listed := slices.BinarySearch(p.freeOn, n); {
	case free && !listed:
		p.freeOn = slices.Insert(p.freeOn, i, n)
	case !free && listed:
		p.freeOn = slices.Delete(p.freeOn, i, i+1)
	}
}

// movesTooMuch is a sound bound (M8): of a list of single tasks, of which none can be spared
// if the preemptor is to start on their node, all move, and that are too many GPUs (C3).
func movesTooMuch(s *search, l *list) bool {
	return l.trial != nil && !s.ask.letsMove(s.atLeast(l), s.room.MaxMovedPercent)
}

// mayMoveOn lists the units on a node that may move, in memory that the next call uses
// again.
func mayMoveOn(s *search, n int32) []UnitID {
	s.here = s.here[:0]
	var ignored Refusal
	for _, id := range s.room.byNode[n] {
		if !s.room.fixed(s.ask, id, &ignored) {
			continue
		}
		if s.mayBeFirst(id) {
			s.here = append(s.here, id)
		}
	}
	return s.here
}

// standAlone says whether who stands on the node stands nowhere else, and is all of
// its workload.
func (s *search) standAlone(n int32) bool {
	r := s.room
	return !slices.ContainsFunc(r.byNode[n], func(id UnitID) bool { return !r.alone(id) })
}
