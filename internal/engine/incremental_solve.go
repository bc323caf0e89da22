package engine

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/quota"
)

// Where the bound over the orders that are kept does not hold, an Incremental goes the
// rounds with orders that are filled anew, on its own world: it marks every journal,
// decides, writes, and undoes. What it knows of running work between decisions, which a
// solve is told when it first makes room, follows the versions as all else does.

// A journal keeps the workloads that a decision changes as they were.
type journal struct {
	known []bool // by workload
	saved []savedWork
}

// A savedWork is a workload as it was.
type savedWork struct {
	at    int32
	work  Work
	live  Live
	seats []Seat
}

// begin is the journal, with nothing in it.
func (j *journal) begin() *journal {
	for i := range j.saved {
		j.known[j.saved[i].at] = false
	}
	clear(j.saved)
	j.saved = j.saved[:0]
	return j
}

// keep takes note of a workload that is about to change. It does nothing in a solve
// from scratch, whose world nobody needs any more.
func (j *journal) keep(w *World, i int32) {
	if j == nil || int(i) < len(j.known) && j.known[i] {
		return
	}
	if len(j.known) < len(w.Works) {
		j.known = append(j.known, make([]bool, len(w.Works)-len(j.known))...)
	}
	j.known[i] = true
	one := savedWork{at: i, work: w.Works[i], seats: slices.Clone(w.Room.Seats[i])}
	if at := one.work.Live; at >= 0 {
		one.live = w.live[at].clone()
	}
	j.saved = append(j.saved, one)
}

// clone is a copy that shares nothing that changes.
func (l *Live) clone() Live {
	out := *l
	out.held, out.asks, out.dense = slices.Clone(l.held), slices.Clone(l.asks), nil
	return out
}

// undo brings the workloads back.
func (j *journal) undo(w *World) {
	for i := range j.saved {
		one := &j.saved[i]
		if one.work.Live >= 0 {
			w.live[one.work.Live] = one.live
		}
		w.Works[one.at], w.Room.Seats[one.at] = one.work, one.seats
	}
}

// A poolMark is a pool at rest.
type poolMark struct {
	index          placement.Mark
	tree           quota.Mark
	units          preempt.Mark
	changes, freed int64
	demand         demands
	memos          []memo
}

// solve decides by the loop of a solve.
func (t *Incremental) solve(ctx context.Context) (d *Decision, err error) {
	w := t.world
	w.booking().tell()
	d = &Decision{World: w}
	t.resumeEffort()
	t.displace(d)
	marks, lives, holdings := t.mark(), len(w.live), len(w.Holdings)
	w.journal = t.journal.begin()
	w.Loops = nil
	for i, q := range t.pools {
		w.Loops = append(w.Loops, answering{q.fresh(ctx, w, d, int32(i))})
	}
	if err = t.decideAll(d); err == nil {
		w.tellActions(d)
		d.keepPromises()
	}
	err = cmp.Or(err, t.takeBackSolve(d, marks))
	clear(w.live[lives:])
	w.live, w.Holdings = w.live[:lives], w.Holdings[:holdings]
	if err == nil && t.cut() {
		err = ErrCut
	}
	return d, err
}

// decideAll is what a solve does once all else is settled.
func (t *Incremental) decideAll(d *Decision) error {
	w := t.world
	if err := t.settleClaims(d); err != nil {
		return err
	}
	beginBudgets(w)
	if err := w.rounds(d); err != nil {
		return err
	}
	return w.Close(d)
}

// settleClaims settles the workloads that claim places, as a solve from scratch settles
// all, and divides again where that makes a difference to what is divided.
func (t *Incremental) settleClaims(d *Decision) error {
	w := t.world
	if len(t.claiming) == 0 {
		return nil
	}
	claiming := SortedKeys(t.claiming)
	slices.SortFunc(claiming, w.dividing().compareIDs)
	var held, claims []Holding
	for _, i := range claiming {
		w.journal.keep(w, i)
		k := &w.Works[i]
		k.Live = int32(len(w.live))
		w.live = append(w.live, Live{held: w.settling().newCounts(len(w.Definition(k, k.Current).Sets)), form: k.Current})
		held, claims = w.settling().readTasks(&Decision{World: w}, i, held, claims)
	}
	if err := w.settling().occupy(held); err != nil {
		return err
	}
	held, claims = w.settling().startClaims(d, held, w.settling().dropClaims(d, claims))
	all := append(held, claims...)
	slices.SortStableFunc(all, func(a, b Holding) int { return w.dividing().compareIDs(a.Work, b.Work) })
	for _, h := range all {
		w.Holdings = append(w.Holdings, h)
		t.touch(&h)
		if err := w.settling().hold(int32(len(w.Holdings) - 1)); err != nil {
			return err
		}
	}
	for _, i := range claiming {
		w.Works[i].settleStatus(w)
		t.seatAtRest(i)
		t.asksWithClaims(&w.Works[i])
	}
	return t.redivide(d)
}

// asksWithClaims adds what a workload asks only as it holds something, which it did not as
// long as its claims were not settled (F1).
func (t *Incremental) asksWithClaims(k *Work) {
	w := t.world
	if f := w.FormOf(k, k.Current); !w.holds(k) || w.Pools[f.Pool].bare.possible(f.Definition) || w.Pools[f.Pool].capsDemand() {
		return
	}
	for _, q := range t.pools { // that at rest stays as it is
		q.pool.demand = q.pool.demand.clone()
	}
	live := k.Live
	k.Live = -1
	t.addDemand(k, -1)
	k.Live = live
	t.addDemand(k, 1)
}

// redivide divides again what is divided otherwise than at rest, for one decision.
func (t *Incremental) redivide(d *Decision) error {
	for i, q := range t.pools {
		if slices.Equal(q.inputs(), q.divided) {
			continue
		}
		d.redivided = true
		q.pool.demand = q.pool.demand.clone()
		if err := t.world.dividing().dividePool(i); err != nil {
			return err
		}
	}
	return nil
}

// fresh is the solver of one decision, which knows what the pool's knows of the nodes.
func (q *incrementalPool) fresh(ctx context.Context, w *World, d *Decision, index int32) *Solver {
	s := newSolver(ctx, w, d, index)
	if q.pool.looksAhead() { // what was refused was so at that time, beside what was promised then
		return s
	}
	s.refused, s.refusals = slices.Clone(q.solver.refused), q.solver.refusals
	return s
}

func (t *Incremental) mark() []poolMark {
	marks := make([]poolMark, len(t.pools))
	for i, q := range t.pools {
		p := q.pool
		marks[i] = poolMark{
			index: p.Index.Mark(), tree: p.Tree.Mark(), units: p.Room.Mark(),
			changes: p.changes, freed: p.freed, demand: p.demand, memos: make([]memo, len(p.Definitions)),
		}
		for n := range p.Definitions {
			marks[i].memos[n] = p.Definitions[n].refused
		}
	}
	return marks
}

// takeBackSolve brings all back to rest.
func (t *Incremental) takeBackSolve(d *Decision, marks []poolMark) error {
	w := t.world
	w.journal.undo(w)
	w.journal = nil
	w.Room.rest()
	for i, q := range t.pools {
		p, m := q.pool, &marks[i]
		changed := p.changes != m.changes || p.looksAhead()
		p.Index.Undo(m.index)
		p.Tree.Undo(m.tree)
		p.Room.Undo(m.units)
		p.changes, p.freed = m.changes, m.freed
		if changed { // what was refused since may be possible
			for n := range m.memos {
				p.Definitions[n].refused = m.memos[n]
			}
		} else {
			q.solver.refused = solverAt(w, int32(i)).refused
		}
		maps.DeleteFunc(q.solver.refusals, func(_ roomQuestion, r *refusal) bool { return !r.stands(q.solver) })
		w.Loops[i] = answering{q.solver}
		p.demand = m.demand
		if !d.redivided {
			continue
		}
		if err := w.dividing().dividePool(i); err != nil {
			return err
		}
	}
	return nil
}

// ForgetUnits has the evaluators know no units any more: they are told anew when they are
// asked.
func (t *Incremental) ForgetUnits() {
	if t.world.Room.told {
		t.newEvaluators()
	}
}

// newEvaluators has the pools be divided anew, each with an evaluator that knows nothing.
func (t *Incremental) newEvaluators() {
	t.world.Room.told = false
	for _, q := range t.pools {
		q.divided, q.pool.Room = nil, nil
	}
}

// RefreshUnits has the evaluators judge by the time of the version, or drops what they
// know where most of it is of units that are gone.
func (t *Incremental) RefreshUnits() {
	for _, p := range t.world.Pools {
		if p.Room.Size() > 4*t.alive+16*len(p.Nodes)+1<<16 {
			t.newEvaluators() // rest opens evaluators anew
			return
		}
		if p.Room.SetNow(t.world.Now) {
			p.changes++ // who was refused room may be given it
		}
	}
}

// seatAtRest gives what stands of a workload its seats, and tells its units.
func (t *Incremental) seatAtRest(i int32) {
	w := t.world
	k := &w.Works[i]
	if k.Live < 0 {
		return
	}
	l := &w.live[k.Live]
	w.Room.Seats[i] = appendSeats(w, nil, l.from, l.to)
	if w.Room.told && len(w.Room.Seats[i]) > 0 {
		w.booking().step(i)
		w.booking().enter(i, 0)
	}
}

// unseatAtRest forgets the seats and units of a workload whose places are free.
func (t *Incremental) unseatAtRest(i int32, p *Pool) {
	seats := t.world.Room.Seats
	if len(seats[i]) == 0 {
		return
	}
	seats[i] = nil
	if t.world.Room.told {
		for id := range p.Room.Of(i) {
			p.Room.Forget(id)
		}
	}
}
