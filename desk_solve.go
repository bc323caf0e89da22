package allot

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/quota"
)

// Where the trial of those who may plainly start is not enough, a desk decides by the
// loop of a solve, on its own world: it marks every journal, decides, writes, and
// undoes. What it knows of running work between decisions, which a solve finds out
// when it first makes room, follows the versions as all else does.

// A journal keeps the workloads that a decision changes as they were.
type journal struct {
	known map[int32]bool
	saved []savedWork
}

// A savedWork is a workload as it was.
type savedWork struct {
	at    int32
	work  work
	live  live
	seats []seat
}

// keep takes note of a workload that is about to change. It does nothing in a solve
// from scratch, whose world nobody needs any more.
func (j *journal) keep(w *world, i int32) {
	if j == nil || j.known[i] {
		return
	}
	j.known[i] = true
	one := savedWork{at: i, work: w.works[i], seats: slices.Clone(w.room.seats[i])}
	if at := one.work.live; at >= 0 {
		one.live = w.live[at].clone()
	}
	j.saved = append(j.saved, one)
}

// clone is a copy that shares nothing that changes.
func (l *live) clone() live {
	out := *l
	out.held, out.asks, out.started = slices.Clone(l.held), slices.Clone(l.asks), slices.Clone(l.started)
	out.taken, out.next = nil, nil
	return out
}

// undo brings the workloads back.
func (j *journal) undo(w *world) {
	for i := range j.saved {
		one := &j.saved[i]
		if one.work.live >= 0 {
			w.live[one.work.live] = one.live
		}
		w.works[one.at], w.room.seats[one.at] = one.work, one.seats
	}
}

// A poolMark is a pool of a desk at rest.
type poolMark struct {
	index          placement.Mark
	tree           quota.Mark
	units          preempt.Mark
	changes, freed int64
	demand         []fairshare.Demand
	memos          []definitionMemo
}

// A definitionMemo is what a definition remembers of failed searches.
type definitionMemo struct{ refused, refusedAt int64 }

// solve decides by the loop of a solve.
func (t *desk) solve(ctx context.Context) (actions []Action, work Work, err error) {
	w := t.world
	t.openBook()
	d := &decision{world: w}
	(&deskTurn{desk: t, decision: d}).displace()
	w.room = t.book.anew(len(w.works))
	marks, lives, holdings := t.mark(), len(w.live), len(w.holdings)
	w.journal = &journal{known: make(map[int32]bool)}
	w.solvers = nil
	for i, q := range t.pools {
		w.solvers = append(w.solvers, q.fresh(ctx, w, d, int32(i)))
	}
	if err = t.decideAll(d); err == nil {
		var plan Plan
		w.writeActions(&plan, d)
		actions, work = plan.Actions, d.work
	}
	err = cmp.Or(err, t.takeBackSolve(d, marks))
	clear(w.live[lives:])
	w.live, w.holdings = w.live[:lives], w.holdings[:holdings]
	return actions, work, err
}

// decideAll is what a solve does once all else is settled.
func (t *desk) decideAll(d *decision) error {
	w := t.world
	if err := t.settleClaims(d); err != nil {
		return err
	}
	d.settled = len(d.actions)
	w.room.settled = d.settled
	beginBudgets(w)
	if err := w.rounds(d); err != nil {
		return err
	}
	return w.close(d)
}

// settleClaims settles the workloads that claim places, as a solve from scratch settles
// all, and divides again where that makes a difference to what is divided.
func (t *desk) settleClaims(d *decision) error {
	w := t.world
	if len(t.claiming) == 0 {
		return nil
	}
	claiming := sortedKeys(t.claiming)
	slices.SortFunc(claiming, w.compareIDs)
	var held, claims []holding
	for _, i := range claiming {
		w.journal.keep(w, i)
		k := &w.works[i]
		k.live = int32(len(w.live))
		w.live = append(w.live, live{held: w.newCounts(len(w.definition(k, k.current).sets)), form: k.current})
		held, claims = w.readTasks(&decision{world: w}, i, held, claims)
	}
	if err := w.occupy(held, func(p *pool) *placement.Index { return p.index }); err != nil {
		return err
	}
	held, claims = w.startClaims(d, held, w.dropClaims(d, claims))
	all := append(held, claims...)
	slices.SortStableFunc(all, func(a, b holding) int { return w.compareIDs(a.work, b.work) })
	for _, h := range all {
		w.holdings = append(w.holdings, h)
		t.touch(&h)
		if err := w.hold(int32(len(w.holdings) - 1)); err != nil {
			return err
		}
	}
	for _, i := range claiming {
		w.works[i].settleStatus(w)
		t.seatAll(i)
	}
	return t.redivide(d)
}

// redivide divides again what is divided otherwise than at rest, for one decision.
func (t *desk) redivide(d *decision) error {
	for i, q := range t.pools {
		if slices.Equal(q.inputs(), q.divided) {
			continue
		}
		d.redivided = true
		q.pool.demand = slices.Clone(q.pool.demand)
		if err := t.world.dividePool(i); err != nil {
			return err
		}
	}
	return nil
}

// fresh is the solver of one decision, which knows what the pool's knows of the nodes.
func (q *deskPool) fresh(ctx context.Context, w *world, d *decision, index int32) *solver {
	s := newSolver(ctx, w, d, index)
	s.sound, s.empty, s.ever = q.solver.sound, q.solver.empty, q.solver.ever
	s.refused, s.refusals = slices.Clone(q.solver.refused), q.solver.refusals
	return s
}

func (t *desk) mark() []poolMark {
	marks := make([]poolMark, len(t.pools))
	for i, q := range t.pools {
		p := q.pool
		marks[i] = poolMark{
			index: p.index.Mark(), tree: p.tree.Mark(), units: p.room.Mark(),
			changes: p.changes, freed: p.freed, demand: p.demand, memos: make([]definitionMemo, len(p.definitions)),
		}
		for n := range p.definitions {
			marks[i].memos[n] = definitionMemo{p.definitions[n].refused, p.definitions[n].refusedAt}
		}
	}
	return marks
}

// takeBackSolve brings the desk back to rest.
func (t *desk) takeBackSolve(d *decision, marks []poolMark) error {
	w := t.world
	w.journal.undo(w)
	w.journal, w.room = nil, nil
	for i, q := range t.pools {
		p, m := q.pool, &marks[i]
		changed := p.changes != m.changes
		p.index.Undo(m.index)
		p.tree.Undo(m.tree)
		p.room.Undo(m.units)
		p.changes, p.freed = m.changes, m.freed
		if changed { // what was refused since may be possible
			for n := range m.memos {
				p.definitions[n].refused, p.definitions[n].refusedAt = m.memos[n].refused, m.memos[n].refusedAt
			}
		} else {
			q.solver.refused = w.solvers[i].refused
		}
		maps.DeleteFunc(q.solver.refusals, func(_ roomQuestion, r *refusal) bool { return r.changes != m.changes })
		q.solver.sound, q.solver.empty, q.solver.ever = w.solvers[i].sound, w.solvers[i].empty, w.solvers[i].ever
		w.solvers[i] = q.solver
		if !d.redivided {
			continue
		}
		p.demand = m.demand
		if err := w.dividePool(i); err != nil {
			return err
		}
	}
	return nil
}

// openBook gives what runs its seats, and tells the evaluators of all units, if that
// has not been done.
func (t *desk) openBook() {
	if t.book != nil {
		return
	}
	w := t.world
	w.openBook(&decision{world: w})
	t.book, w.room = w.room, nil
}

// closeBook drops what is known of running work: it is found out anew when it is
// asked for.
func (t *desk) closeBook() {
	if t.book == nil {
		return
	}
	t.book = nil
	compileBudgets(t.world)
	for _, q := range t.pools {
		q.divided, q.pool.room = nil, nil
	}
}

// refreshBook has the evaluators judge by the time of the version, or drops what they
// know where most of it is of units that are gone.
func (t *desk) refreshBook() {
	for _, p := range t.world.pools {
		if p.room.Size() > 4*t.alive+16*len(p.nodes)+1<<16 {
			t.closeBook() // rest opens evaluators anew
			return
		}
		if p.room.SetNow(t.world.now) {
			p.changes++ // who was refused room may be given it
		}
	}
}

// anew is the book of one more decision at a desk.
func (b *roomBook) anew(works int) *roomBook {
	for len(b.seats) < works {
		b.seats = append(b.seats, nil)
	}
	return &roomBook{seats: b.seats, runtimes: b.runtimes, last: make([]int32, works), paidFor: make(map[int32]bool)}
}

// seatAtRest gives what stands of a workload its seats, and tells its units.
func (t *desk) seatAtRest(i int32) {
	w := t.world
	k := &w.works[i]
	if t.book == nil || k.live < 0 {
		return
	}
	w.room = t.book
	for len(t.book.seats) <= int(i) {
		t.book.seats = append(t.book.seats, nil)
	}
	t.seatAll(i)
	w.room = nil
}

// seatAll gives what stands of a workload its seats, and tells its units.
func (t *desk) seatAll(i int32) {
	w := t.world
	l := &w.live[w.works[i].live]
	w.room.seats[i] = appendSeats(w, nil, l.from, l.to)
	if len(w.room.seats[i]) > 0 {
		w.step(i)
		w.enter(i, 0)
	}
}

// unseatAtRest forgets the seats and units of a workload whose places are free.
func (t *desk) unseatAtRest(i int32, p *pool) {
	if t.book == nil || int(i) >= len(t.book.seats) || len(t.book.seats[i]) == 0 {
		return
	}
	for _, id := range p.room.Of(i) {
		p.room.Forget(id)
	}
	t.book.seats[i] = nil
}
