package preempt

import "slices"

// What a node would have to move for one task of a shape depends on nothing but
// who stands on it and what is free there, as long as each of them is all of its
// workload. So it is kept for the next that asks for a task of that shape, whosever
// it is, and looked for again where units have come or gone.

// plans are the lists of victims that consolidation plans for a shape.
type plans struct {
	fit     *fit
	touched int // what of Evaluator.touched is read
	shared  int // Evaluator.shared, when the lists were kept
	known   []bool
	lists   [][]list // by node
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
		p = &plans{
			fit: r.newFit(a), touched: len(r.touched), shared: r.shared,
			known: make([]bool, r.Nodes), lists: make([][]list, r.Nodes),
		}
		r.plans[shape] = p
		return p
	}
	p.fit.ask = a
	for _, n := range r.touched[p.touched:] {
		p.known[n] = false
		room := p.fit.roomOn(n)
		p.fit.total += int(room - p.fit.rooms[n])
		p.fit.rooms[n] = room
	}
	p.touched = len(r.touched)
	if p.shared != r.shared {
		clear(p.known)
		p.shared = r.shared
	}
	return p
}

// planNode plans what may move from one node, or tells again what is known of it.
func (s *search) planNode(p *plans, n int32, candidates []UnitID) {
	r := s.room
	if p == nil || p.fit.total > 0 || !p.known[n] {
		from := len(s.planned)
		s.tryNodes(r.oneNode(n), candidates)
		if p != nil && p.fit.total == 0 && !s.refusal.Cut && s.standAlone(n) {
			p.known[n], p.lists[n] = true, append(p.lists[n][:0:0], s.planned[from:]...)
		}
		return
	}
	if s.refusal.Steps >= r.Steps {
		s.refusal.Cut = true
		return
	}
	s.refusal.Steps++
	s.planned = append(s.planned, p.lists[n]...)
}

// standAlone says whether who stands on the node stands nowhere else, and is all of
// its workload.
func (s *search) standAlone(n int32) bool {
	r := s.room
	return !slices.ContainsFunc(r.byNode[n], func(id UnitID) bool { return !r.alone(id) })
}
