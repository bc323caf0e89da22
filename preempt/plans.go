package preempt

import (
	"slices"

	"github.com/allotsched/allot/placement"
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
	// stale are the nodes that have to be looked at before all is known.
	stale []int32
	// units and places are how many units may move and on how many nodes they stand,
	// lists and stuck how many lists there are, and how many of them that cannot move.
	units, places, lists, stuck int
	freeOn                      []int32 // the nodes with lists that are not stuck, ascending
	gpus                        int64   // what who asks for the shape requests
	// shapes are those of what may move, placeable whether some node took them when
	// that was last asked.
	shapes    []placement.Shape
	placeable []bool
	noted     map[placement.Shape]bool // those among shapes
	cost      int64                    // of judging all lists when placeable was last asked
}

// nodePlans are the lists of one node.
type nodePlans struct {
	known bool
	units int
	lists []list
	never []bool // by list: it moves more than may move, whatever else happens
	stuck []bool // by list: it cannot serve as long as the same shapes find no place
	cost  int64  // of planning them
}

// A trial is what is remembered of a list that was tried and does not serve. It would
// be tried with the same end as long as none of the nodes that it came to changes, and
// none that changes takes what was to move before the first that found no place.
type trial struct {
	like    int32 // the preemptors for which it was tried
	touched int   // what of Evaluator.touched it knows
	nodes   []int32
	shapes  []placement.Shape
	cost    int64
}

// note remembers that the list was tried just now, by so many steps.
func (t *trial) note(s *search, steps int64) {
	tried := &s.room.scratch
	remember(s.room, &t.cost, steps)
	t.like, t.touched = s.ask.Equivalence, len(s.room.touched)
	t.nodes, t.shapes = append(t.nodes[:0], tried.nodesTried...), append(t.shapes[:0], tried.shapesTried...)
}

// stillFails says whether the list would be tried in vain again.
func (t *trial) stillFails(s *search) bool {
	r := s.room
	if t.touched < 0 || t.like != s.ask.Equivalence {
		return false
	}
	news := newsSince(r, t.touched)
	if t.touched = len(r.touched); news == nil {
		return true
	}
	if slices.ContainsFunc(news.nodes, func(n int32) bool { return slices.Contains(t.nodes, n) }) ||
		slices.ContainsFunc(t.shapes, func(shape placement.Shape) bool { return news.takerOf(r, shape) >= 0 }) {
		t.touched = -1
		return false
	}
	return true
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
			noted: make(map[placement.Shape]bool)}
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
	if p == nil || p.fit.total > 0 || !p.byNode[n].known {
		s.tryNodes(s.room.oneNode(n), candidates)
		return
	}
	if ended(s) {
		return
	}
	s.refusal.Steps++
	s.room.Effort.Spend(1)
	s.planned = append(s.planned, p.byNode[n].lists...)
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
	fresh, ended := p.planStale(s)
	if ended {
		s.refusal.Cut = true
		return true
	}
	s.room.Effort.Spend(len(p.shapes) / lookedAt)
	if p.units <= fewUnits || p.places <= fewNodes || p.places+p.lists > s.room.Steps {
		s.refusal.Steps, s.planned = 0, s.planned[:0]
		return false
	}
	if p.placeableAgain(s) {
		looked := (len(p.byNode) + p.lists) / lookedAt
		s.room.Effort.Spend(looked)
		remember(s.room, &p.cost, int64(looked))
		for n := range p.byNode {
			if slices.Contains(p.byNode[n].never, false) {
				fresh = append(fresh, int32(n))
			}
		}
	}
	for _, n := range fresh {
		p.judgeStuck(s, n)
	}
	s.planned, s.refusal.Takeable, s.refusal.Steps = s.planned[:0], p.units, p.places+p.stuck
	var order []int32
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
	consolidateInOrder(s, order)
	return true
}

// planStale plans the nodes that are not known, and returns them. Those stay unknown
// where somebody stands elsewhere too, or is a part of its workload.
// ended says that the search came to its bound before all were planned.
func (p *plans) planStale(s *search) (planned []int32, ended bool) {
	r := s.room
	unknown := p.stale
	p.stale = nil
	for i, n := range unknown {
		at, before := &p.byNode[n], r.Effort.Spent()
		p.count(at, -1)
		at.forgetTrials(r)
		at.lists, at.units = at.lists[:0:0], 0
		if ids := mayMoveOn(s, n); len(ids) > 0 {
			at.units = len(ids)
			s.planned, s.refusal.Steps = s.planned[:0], 0
			s.try(r.oneNode(n), ids)
			if r.Effort.Over(0) { // what was tried may not be all
				p.stale, at.units = append(p.stale, unknown[i:]...), 0
				return unknown[:i], true
			}
			at.lists = slices.Clone(s.planned)
			giveTrials(at.lists, r.Local && s.standAlone(n))
			p.note(r, ids)
		}
		at.never, at.stuck = make([]bool, len(at.lists)), make([]bool, len(at.lists))
		for i := range at.lists {
			at.never[i] = movesTooMuch(s, &at.lists[i])
		}
		p.count(at, 1)
		remember(r, &at.cost, r.Effort.Spent()-before)
		if at.known = s.standAlone(n); !at.known {
			p.stale = append(p.stale, n)
		}
	}
	return unknown, false
}

// forgetTrials forgets what was tried of the lists of a node.
func (at *nodePlans) forgetTrials(r *Evaluator) {
	for i := range at.lists {
		if t := at.lists[i].trial; t != nil {
			remember(r, &t.cost, 0)
		}
	}
}

// giveTrials has lists remember in vain trials, where what comes of a trial depends on
// nothing but nodes: alone says that all who stand on the node have one task, which is all
// of their workloads.
func giveTrials(lists []list, alone bool) {
	if !alone {
		return
	}
	trials := make([]trial, len(lists))
	for i := range lists {
		trials[i].touched, lists[i].trial = -1, &trials[i]
	}
}

// count counts a node n times.
func (p *plans) count(at *nodePlans, n int) {
	p.units += n * at.units
	p.lists += n * len(at.lists)
	if at.units > 0 {
		p.places += n
	}
	for _, stuck := range at.stuck {
		if stuck {
			p.stuck += n
		}
	}
}

// note notes the shapes of units that may move.
func (p *plans) note(r *Evaluator, ids []UnitID) {
	for _, id := range ids {
		for i := range r.units[id].Tasks {
			if shape := r.units[id].Tasks[i].Shape; !p.noted[shape] {
				p.noted[shape] = true
				p.shapes, p.placeable = append(p.shapes, shape), append(p.placeable, false)
			}
		}
	}
}

// placeableAgain asks which shapes find a place now, and says whether others did when
// that was last asked.
func (p *plans) placeableAgain(s *search) (changed bool) {
	for i, shape := range p.shapes {
		if now := s.findsPlace(shape); now != p.placeable[i] {
			p.placeable[i], changed = now, true
		}
	}
	return changed
}

// judgeStuck finds out which lists of a node cannot serve.
func (p *plans) judgeStuck(s *search, n int32) {
	at, free := &p.byNode[n], false
	p.count(at, -1)
	for i := range at.lists {
		at.stuck[i] = at.never[i] || s.cannotMove(&at.lists[i])
		free = free || !at.stuck[i]
	}
	p.count(at, 1)
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
		if v := s.room.first(s.ask, id); v == lawful || v == notYet {
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
