package allot

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// The verdicts of the stages become Reasons here and nowhere else (X1). They
// are asked for again after the last action, so that every reason is true in
// the world after the plan.

// pending lists what waits, by ID, with its reasons.
func (w *world) pending() (out []Pending, err error) {
	for i := range w.works {
		if p, waits, err := w.pendingAt(int32(i)); err != nil {
			return nil, err
		} else if waits {
			out = append(out, p)
		}
	}
	return out, nil
}

// pendingAt is why workload i waits, if it does.
func (w *world) pendingAt(i int32) (Pending, bool, error) {
	k := &w.works[i]
	if !w.mayWait(k) {
		return Pending{}, false, nil
	}
	reasons, err := w.reasons(i)
	if err != nil || len(reasons) == 0 {
		return Pending{}, false, err
	}
	return Pending{Workload: w.source(k).ID, Queue: w.queueID(w.formOf(k, w.shown(k))), Reasons: reasons}, true, nil
}

// mayWait says whether there can be reasons for which the workload waits.
func (w *world) mayWait(k *work) bool {
	return (k.status != complete || k.pipelined) && k.status != ending && k.status != failed
}

// shown is the form under whose queue a waiting workload is listed: the one it
// holds something in, else its first.
func (w *world) shown(k *work) int16 {
	if w.tied(k) && !w.out(k) {
		return k.current
	}
	return 0
}

// out says whether the solve has taken all that the workload held.
func (w *world) out(k *work) bool {
	return w.room != nil && k.status == waiting && !w.holds(k)
}

// reasons are why workload i waits; none if it does not.
func (w *world) reasons(i int32) ([]Reason, error) {
	k := &w.works[i]
	if k.pipelined {
		if !w.below(i) {
			return nil, nil // what it claims it grows by
		}
		waiting := int64(0)
		for at := range w.room.seats[i] {
			if one := &w.room.seats[i][at]; one.claimed || one.waits() {
				waiting++
			}
		}
		if k.isLeaving(w) {
			return []Reason{{Code: Leaving, Form: int(k.current), Need: int64(w.live[k.live].leaving)}}, nil
		}
		return []Reason{{Code: ClaimHeld, Form: int(k.current), Need: waiting}}, nil
	}
	switch k.status {
	case leaving:
		if !w.below(i) {
			return nil, nil
		}
		return []Reason{{Code: Leaving, Form: int(k.current), Need: int64(w.live[k.live].leaving)}}, nil
	case claiming:
		l := &w.live[k.live]
		if !w.below(i) {
			return nil, nil
		}
		return []Reason{{Code: ClaimHeld, Form: int(k.current), Need: int64(l.claimed)}}, nil
	}
	if w.tied(k) {
		reasons, err := w.solverOf(k, k.current).explain(i, k.current)
		if len(reasons) == 0 && w.out(k) { // it starts with other tasks when these have left (S5)
			reasons = []Reason{{Code: Leaving, Form: int(k.current), Need: w.ranOf(i)}}
		}
		return reasons, err
	}
	if len(k.others) == 0 {
		return w.solverOf(k, 0).explain(i, 0)
	}
	var all []Reason
	for f := range int16(1 + len(k.others)) {
		some, err := w.solverOf(k, f).explain(i, f)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	slices.SortStableFunc(all, func(a, b Reason) int { return cmp.Compare(a.Code, b.Code) })
	return all, nil
}

func (w *world) solverOf(k *work, f int16) *solver { return w.solvers[w.formOf(k, f).pool] }

// below says whether what runs of the workload is less than its minimum.
func (w *world) below(work int32) bool {
	k := &w.works[work]
	d := w.definition(k, k.current)
	running := make([]int32, len(d.sets))
	if w.room != nil {
		for _, s := range w.room.seats[work] {
			if !s.claimed && !s.pipelined {
				running[s.set]++
			}
		}
		return !d.gang.AtMinimum(running)
	}
	l := &w.live[k.live]
	for i := l.from; i < l.to; i++ {
		if w.holdings[i].phase == Running {
			running[w.holdings[i].set]++
		}
	}
	return !d.gang.AtMinimum(running)
}

// A question is what the reasons of a workload that holds nothing depend on:
// workloads with equal questions share the answer.
type question struct {
	definition, queue, blocker int32
	form                       int16
	nonPreemptible             bool
}

// forRoom is the question without who stands in the way, by which refusals of
// room are kept.
func (q question) forRoom() question {
	q.blocker = none
	return q
}

// explain tells why form f of workload i does not start now.
func (s *solver) explain(i int32, f int16) ([]Reason, error) {
	w := s.world
	k := &w.works[i]
	form := w.formOf(k, f)
	asked := question{form.definition, form.queue, none, f, form.nonPreemptible}
	priority := form.priority
	switch {
	case s.blocker != i && s.keptOff(i, f): // it had its turn, on used nodes only
		asked.blocker = s.blocker
	case s.wasTried(i, f): // it had its turn: nobody stood in its way
	case s.blockers[form.queue] != none:
		asked.blocker = s.blockers[form.queue]
	default:
		asked.blocker = s.blocker
	}
	fresh := k.live < 0 || !w.holds(k)
	if fresh {
		if known, ok := s.answers[answered{asked, priority}]; ok {
			return known, nil
		}
	}
	var held []int32
	if !fresh {
		held = w.live[k.live].held
	}
	reasons, err := s.answer(i, priority, asked, held)
	if err == nil && fresh {
		s.answers[answered{asked, priority}] = reasons
	}
	return reasons, err
}

// An answered is a question and the priority, which decides whom it may
// preempt.
type answered struct {
	question
	priority int32
}

// answer works the reasons out: if it can never run, only why; else every
// bound it meets, what of it finds no place, and who it may not pass.
func (s *solver) answer(i, priority int32, asked question, held []int32) ([]Reason, error) {
	p, w := s.pool, s.world
	d := &p.definitions[asked.definition]
	unit, verdict := d.gang.First(held)
	if verdict.Kind == gang.Complete {
		return nil, nil
	}
	if !verdict.OK {
		return []Reason{{
			Code: NotSubmitted, Form: int(asked.form), PodSet: d.names[verdict.Set],
			Have: int64(verdict.Have), Need: int64(verdict.Need),
		}}, nil
	}
	unit = gang.Unit{Add: slices.Clone(unit.Add)}
	reasons, err := s.everImpossible(asked, held)
	if err != nil || len(reasons) > 0 {
		return reasons, err
	}
	asks, err := s.unitAsks(d, unit, held == nil)
	if err != nil {
		return nil, err
	}
	reasons = make([]Reason, 0, 4) // about so many
	s.shortfalls = p.tree.Shortfalls(s.shortfalls[:0], int(asked.queue), asks, asked.nonPreemptible)
	for _, short := range s.shortfalls {
		reasons = append(reasons, s.shortfall(asked, short))
	}
	reasons = append(reasons, s.noPlace(asked, d, unit, s.beside(i, d, unit))...)
	told := s.refusals[roomQuestion{asked.forRoom(), priority, false}]
	if asked.blocker != none {
		// It has not come to that.
	} else if told != nil && held == nil {
		why, err := s.toldOf(told)
		if err != nil {
			return nil, err
		}
		reasons = append(reasons, why...)
	} else if held != nil {
		reasons = append(reasons, s.ownRefusals[i]...)
	}
	if why, some := (exposing{s}).exposureOf(i, asked); some {
		reasons = append(reasons, why)
	}
	if asked.blocker != none {
		reasons = append(reasons, Reason{
			Code: Outranked, Form: int(asked.form), Workload: w.source(&w.works[asked.blocker]).ID,
		})
	}
	s.walk.Reset(d.gang, held, unitBudget)
	for more := true; more; {
		_, more = s.walk.Next()
	}
	if s.walk.Cut() {
		reasons = append(reasons, Reason{Code: SearchCut, Form: int(asked.form), Need: unitBudget})
	}
	byCode := func(a, b Reason) int { return cmp.Compare(a.Code, b.Code) }
	if !slices.IsSortedFunc(reasons, byCode) { // mostly they come so, and they are large
		slices.SortStableFunc(reasons, byCode)
	}
	return reasons, nil
}

// shortfall is the reason for what a bound of the queue tree leaves.
func (s *solver) shortfall(asked question, short quota.Shortfall) Reason {
	p := s.pool
	r := Reason{
		Form: int(asked.form), Queue: p.queueID(s.world.state, short.Queue),
		Resource: p.resources[short.Resource].name, Class: p.resources[short.Resource].class,
		Have: short.Have, Need: short.Need,
	}
	switch short.Kind {
	case quota.OverLimit:
		r.Code = OverLimit
	case quota.OverBorrowing:
		r.Code = OverBorrowingLimit
	case quota.OverQuota:
		r.Code = NoQuota
	case quota.Kept:
		r.Code = KeptFromLending
	}
	if r.Resource == workloadsName {
		r.Code, r.Resource = MaxWorkloads, ""
		r.Have = p.tree.Use(short.Queue, short.Resource)
		r.Need = p.tree.Limit(short.Queue, short.Resource)
	}
	return r
}

// rejection is why no node takes a task of the shape, after the last action.
func (s *solver) rejection(shape placement.Shape) *placement.Rejection {
	known := s.rejections[shape]
	if known == nil {
		r := s.pool.index.Reject(shape)
		known = &r
		s.rejections[shape] = known
	}
	return known
}

// noNode is a reason that counts the nodes by predicate.
func (s *solver) noNode(code Code, asked question, d *definition, set int, rejection *placement.Rejection) Reason {
	p := s.pool
	out := Reason{Code: code, Form: int(asked.form), PodSet: d.names[set]}
	for _, c := range rejection.Counts {
		out.Nodes = append(out.Nodes, PredicateCount{
			Predicate: c.Predicate, Resource: p.placedName(c.Resource), Nodes: c.Nodes,
		})
	}
	if miss := rejection.Nearest; miss.Node >= 0 {
		out.Nearest = &Nearest{
			Node:      s.world.state.Nodes[p.nodes[miss.Node]].ID,
			Predicate: miss.Predicate, Resource: p.placedName(miss.Resource),
			Have: miss.Have, Need: miss.Need,
		}
	}
	return out
}

// placedName is the name of a resource of the placement index; −1 has none.
func (p *pool) placedName(r int32) string {
	if r < 0 {
		return ""
	}
	return p.resources[r+1].name
}

// noPlace says what of the unit finds no place now; nothing if all does.
func (s *solver) noPlace(asked question, d *definition, unit gang.Unit, beside gang.Siblings) []Reason {
	verdict, fits := s.wouldPlace(d, unit, beside)
	if fits {
		var out []Reason
		f := &form{queue: asked.queue, nonPreemptible: asked.nonPreemptible}
		if s.wouldPlaceByClass(f, d, unit, beside) {
			return nil
		}
		for _, short := range s.classShortfalls(f, d, unit) {
			out = append(out, s.shortfall(asked, short))
		}
		return out
	}
	out := s.short(asked, d, unit, beside, verdict)
	if s.wouldPlaceLater(d, unit, beside) {
		out = append(out, Reason{Code: WaitsForLeaving, Form: int(asked.form)})
	}
	return out
}

// short is what the unit is short of that found no place.
func (s *solver) short(asked question, d *definition, unit gang.Unit, beside gang.Siblings, verdict gang.Verdict) []Reason {
	if verdict.Kind == gang.NoDomain {
		return s.noDomain(asked, d, unit, beside, verdict)
	}
	out := s.noCapacity(asked, d, unit)
	if best := s.bestNode(d, unit, verdict); best != nil {
		return append(out, s.keptApart(NoDomain, asked, best, verdict))
	}
	if verdict.Kind == gang.TooFew { // which speaks of empty nodes
		verdict = s.placedNow(d, unit)
	}
	if verdict.Placed > 0 {
		out = append(out, Reason{
			Code: GangShort, Form: int(asked.form), PodSet: d.names[verdict.Set],
			Have: int64(verdict.Placed), Need: int64(verdict.Needed),
		})
	} else if rejection := s.rejection(d.sets[verdict.Set].placed); s.saysMore(rejection, out) {
		out = append(out, s.noNode(NoNode, asked, d, int(verdict.Set), rejection))
	}
	for i := range out {
		if r := &out[i]; r.Code == NoNode || r.Code == GangShort {
			r.Free = s.piecesOf(d.sets[verdict.Set].placed)
		}
	}
	return out
}

// wouldPlaceLater tries the unit as if all that is Terminating were gone (S4).
func (s *solver) wouldPlaceLater(d *definition, unit gang.Unit, beside gang.Siblings) bool {
	if !s.pool.index.Releasing() {
		return false
	}
	s.claims = true
	defer func() { s.claims = false }()
	_, fits := s.wouldPlace(d, unit, beside)
	return fits
}

// wouldPlace tries the unit and takes it back.
func (s *solver) wouldPlace(d *definition, unit gang.Unit, beside gang.Siblings) (gang.Verdict, bool) {
	m := s.pool.index.Mark()
	var verdict gang.Verdict
	s.places, verdict = s.placer.PlaceWithSiblings(s.nodes(), d.gang, unit, beside, d.place, s.places[:0])
	s.pool.index.Undo(m)
	return verdict, verdict.OK
}

// wouldPlaceByClass tries the unit where the bounds per class admit it (Q8), and
// takes it back: then none of them is in its way.
func (s *solver) wouldPlaceByClass(f *form, d *definition, unit gang.Unit, beside gang.Siblings) bool {
	if !s.pool.classed() {
		return true
	}
	m := s.pool.index.Mark()
	place := s.placeByClass
	if d.gang.Constrained() {
		place = func(f *form, d *definition, unit gang.Unit, asks quota.Amounts) (quota.Amounts, bool, error) {
			return s.placeUnit(f, d, unit, beside, asks)
		}
	}
	_, found, err := place(f, d, unit, nil)
	s.pool.index.Undo(m)
	return found && err == nil
}

// noCapacity tells for each resource whether less is free in all, on the nodes
// that the queue may use, than the unit asks.
func (s *solver) noCapacity(asked question, d *definition, unit gang.Unit) []Reason {
	p := s.pool
	need := make([]int64, p.plain)
	for set, n := range unit.Add {
		addNeed(need, &d.sets[set], int64(n))
	}
	// All pod sets of a form stay on the same nodes, so any one will do.
	free := s.rejection(d.sets[0].placed).Free
	var out []Reason
	for r, asks := range need {
		have := free.Milli
		if r > 0 {
			have = free.Amounts[r-1]
		}
		if asks > have {
			out = append(out, Reason{
				Code: NoCapacity, Form: int(asked.form), Queue: p.queueID(s.world.state, int(asked.queue)),
				Resource: p.resources[r].name, Have: have, Need: asks,
			})
		}
	}
	return out
}
