package engine

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/difference"
	"github.com/allotsched/allot/internal/division"
	"github.com/allotsched/allot/internal/settling"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/quota"
)

// Where the bound over the orders that are kept does not hold, an Incremental goes the
// rounds with orders that are filled anew, on its own world: it marks every journal,
// decides, writes, and undoes. A solve tells its evaluators of the running units when it first makes room; an
// Incremental does so before the first decision that may make room, and from then on they follow the versions
// as all else does.

// A poolMark is a pool at rest.
type poolMark struct {
	index   placement.Mark
	tree    quota.Mark
	units   preempt.Mark
	changes int64
	freed   int64
	stayed  int64
	demand  cluster.Demands
	memos   []cluster.Memo
}

// A standing is a decision whose world stays as it is after it, and what it takes to take it back.
type standing struct {
	decision        *cluster.Decision
	marks           []poolMark
	lives, holdings int
	told            bool // of the table
}

// solve decides by the loop of a solve, and takes it back.
func (t *Incremental) solve(ctx context.Context) (*cluster.Decision, error) {
	t.world.Booking().Tell()
	d, err := t.Stay(ctx)
	if err != nil {
		return nil, err
	}
	return d, t.takeBackSolve()
}

// Stay decides in full, and has the world stay as it is after the last action, for questions
// about it, until Leave. Where it fails all is as it was. What is remembered may be what costs
// too much: then it is forgotten, and decided once more.
func (t *Incremental) Stay(ctx context.Context) (*cluster.Decision, error) {
	d, err := t.stay(ctx)
	if errors.Is(err, ErrCut) && !t.tooDear() {
		d, err = t.stay(ctx)
	}
	return d, err
}

// Leave takes back what Stay decided. What questions have found out since is forgotten, as
// their searches were bounded otherwise.
func (t *Incremental) Leave() error {
	err := t.takeBackSolve()
	for _, q := range t.pools {
		q.forget()
	}
	return err
}

// stay is Stay, once.
func (t *Incremental) stay(ctx context.Context) (*cluster.Decision, error) {
	w := t.world
	t.decided++
	d := &cluster.Decision{World: w, Number: t.decided}
	t.resumeEffort()
	t.displace(d)
	t.standing = &standing{d, t.mark(), len(w.Live), len(w.Holdings), w.Room.Told}
	w.Journal = t.journal.Begin()
	w.Loops = nil
	for i, q := range t.pools {
		w.Loops = append(w.Loops, answering{q.fresh(ctx, w, d, int32(i))})
	}
	err := t.decideAll(d)
	if err == nil {
		tellActions(w, d)
		keepPromises(d)
		if !t.cut() {
			return d, nil
		}
		err = ErrCut
	}
	return nil, cmp.Or(t.takeBackSolve(), err)
}

// decideAll is what a solve does once all else is settled.
func (t *Incremental) decideAll(d *cluster.Decision) error {
	w := t.world
	if err := t.settleClaims(d); err != nil {
		return err
	}
	cluster.BeginBudgets(w)
	if err := rounds(w, d); err != nil {
		return err
	}
	return difference.Close(w, d)
}

// settleClaims settles the workloads that claim places, as a solve from scratch settles
// all, and divides again where that makes a difference to what is divided.
func (t *Incremental) settleClaims(d *cluster.Decision) error {
	w := t.world
	if len(t.claiming) == 0 {
		return nil
	}
	claiming := SortedKeys(t.claiming)
	slices.SortFunc(claiming, w.CompareIDs)
	var held, claims []cluster.Holding
	for _, i := range claiming {
		w.Journal.Keep(w, i)
		k := &w.Works[i]
		k.Live = int32(len(w.Live))
		w.Live = append(w.Live, cluster.Live{Held: w.NewCounts(len(w.Definition(k, k.Current).Sets)), Form: k.Current})
		held, claims = settling.Of(w).ReadTasks(&cluster.Decision{World: w}, i, held, claims)
	}
	if err := w.Occupy(held); err != nil {
		return err
	}
	held, claims = settling.Of(w).StartClaims(d, held, settling.Of(w).DropClaims(d, claims))
	all := append(held, claims...)
	slices.SortStableFunc(all, func(a, b cluster.Holding) int { return w.CompareIDs(a.Work, b.Work) })
	for _, h := range all {
		w.Holdings = append(w.Holdings, h)
		t.touch(&h)
		if err := settling.Of(w).Hold(int32(len(w.Holdings) - 1)); err != nil {
			return err
		}
	}
	for _, i := range claiming {
		w.Works[i].SettleStatus(w)
		t.seatAtRest(i)
	}
	for _, i := range claiming {
		t.asksWithClaims(&w.Works[i])
	}
	return t.redivide(d)
}

// asksWithClaims adds what a workload asks only as it holds something, which it did not as
// long as its claims were not settled (F1).
func (t *Incremental) asksWithClaims(k *cluster.Work) {
	w := t.world
	f := w.FormOf(k, k.Current)
	if !w.Holds(k) || w.Pools[f.Pool].Bare.Possible(f.Definition) {
		return
	}
	for _, q := range t.pools { // that at rest stays as it is
		q.pool.Demand = q.pool.Demand.Clone()
	}
	if division.CapsDemand(w.Pools[f.Pool]) { // it is counted in all, see Rest
		division.CountDemand(w, f.Pool)
		return
	}
	live := k.Live
	k.Live = -1
	t.addDemand(k, -1)
	k.Live = live
	t.addDemand(k, 1)
}

// redivide divides again what is divided otherwise than at rest, for one decision.
func (t *Incremental) redivide(d *cluster.Decision) error {
	for i, q := range t.pools {
		if slices.Equal(q.inputs(), q.divided) {
			continue
		}
		d.Redivided = true
		q.pool.Demand = q.pool.Demand.Clone()
		if err := division.Of(t.world).DividePool(i); err != nil {
			return err
		}
	}
	return nil
}

// fresh is the solver of one decision, which knows what the pool's knows of the nodes.
func (q *incrementalPool) fresh(ctx context.Context, w *cluster.World, d *cluster.Decision, index int32) *Solver {
	s := newSolver(ctx, w, d, index)
	s.sure = true
	if looksAhead(q.pool) { // what was refused was so at that time, beside what was promised then
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
			changes: p.Changes, freed: p.Freed, stayed: p.Stayed, demand: p.Demand, memos: make([]cluster.Memo, len(p.Definitions)),
		}
		for n := range p.Definitions {
			marks[i].memos[n] = p.Definitions[n].Refused
		}
	}
	return marks
}

// takeBackSolve brings all back to rest. Evaluators that were told of the units since, be it by a question, are made
// anew, which is quicker than to take that back, and told of them as they are at rest: it may be asked again.
func (t *Incremental) takeBackSolve() error {
	w, was := t.world, t.standing
	anew := w.Room.Told && !was.told
	t.standing = nil
	w.Journal.Undo(w)
	w.Journal = nil
	w.Room.Rest()
	clear(w.Live[was.lives:])
	w.Live, w.Holdings = w.Live[:was.lives], w.Holdings[:was.holdings]
	for i, q := range t.pools {
		p, m := q.pool, &was.marks[i]
		changed := p.Changes != m.changes || looksAhead(p)
		p.Index.Undo(m.index)
		p.Tree.Undo(m.tree)
		if !anew {
			p.Room.Undo(m.units)
		}
		p.Changes, p.Freed, p.Stayed = m.changes, m.freed, m.stayed
		if changed { // what was refused since may be possible
			for n := range m.memos {
				p.Definitions[n].Refused = m.memos[n]
			}
		} else {
			q.solver.refused = solverAt(w, int32(i)).refused
		}
		maps.DeleteFunc(q.solver.refusals, func(_ question, r refusal) bool { return r.patient || !r.stands(q.solver) })
		w.Loops[i] = answering{q.solver}
		p.Demand = m.demand
		if !was.decision.Redivided {
			continue
		}
		if err := division.Of(w).DividePool(i); err != nil {
			return err
		}
	}
	if anew {
		if t.newEvaluators(); !t.Rest() {
			return errUnsound
		}
		w.Booking().Tell()
	}
	return nil
}

// ForgetUnits has the evaluators know no units any more: they are told anew when they are
// asked.
func (t *Incremental) ForgetUnits() {
	if t.world.Room.Told {
		t.newEvaluators()
	}
}

// newEvaluators has the pools be divided anew, each with an evaluator that knows nothing.
func (t *Incremental) newEvaluators() {
	t.world.Room.Told = false
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
			p.Changes++ // who was refused room may be given it
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
	l := &w.Live[k.Live]
	w.Room.Seats[i] = cluster.AppendSeats(w, nil, l.From, l.To)
	if w.Room.Told && len(w.Room.Seats[i]) > 0 {
		w.Booking().Step(i)
		w.Booking().Enter(i)
	}
}

// unseatAtRest forgets the seats and units of a workload whose places are free.
func (t *Incremental) unseatAtRest(i int32, p *cluster.Pool) {
	seats := t.world.Room.Seats
	if len(seats[i]) == 0 {
		return
	}
	seats[i] = nil
	if t.world.Room.Told {
		for id := range p.Room.Of(i) {
			p.Room.Forget(id)
		}
	}
}
