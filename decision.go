package allot

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/engine"
	"github.com/allotsched/allot/internal/view"
)

// ErrUnknown is the error of every question about a workload or queue that the
// state does not have; it is wrapped with the kind and the ID.
var ErrUnknown = errors.New("allot: not in the state")

// A Decision is what was decided on a [Snapshot]: its actions at once, all else
// when it is asked for. It stays as it is whatever becomes of the snapshot, and
// is safe for concurrent use.
//
// What is asked for beside the actions is found out by deciding once more in
// full, once; from then on the decision keeps the whole compiled state in
// memory. A caller that needs all of it takes [Decision.Plan]. Package explain answers
// further questions; how victims were chosen is found out when it is asked, by one more
// solve.
type Decision struct {
	snapshot *Snapshot
	actions  []Action
	// reservations are the promises.
	reservations []PlannedReservation
	nextAt       time.Time
	work         Work
	incremental  bool

	lock sync.Mutex
	// world and found are of the full solve, nil until something needs it; cost is
	// what it cost before reasons were asked for.
	world *world
	found *cluster.Decision
	cost  Work
	// seen is the view of them, once package explain has asked.
	seen *decisionView
}

// decide finds the actions: incrementally, or from scratch where that cannot be.
func (d *Decision) decide(ctx context.Context) error {
	if t := d.snapshot.followers.take(&d.snapshot.objects); t != nil {
		found, err := t.Decide(ctx)
		if err == nil {
			var plan Plan
			t.world.writeActions(&plan, found)
			t.world.writeReservations(&plan, found)
			d.actions, d.reservations, d.nextAt, d.work = plan.Actions, plan.Reservations, plan.NextAt, Work(found.Work)
		}
		d.snapshot.followers.giveBack(t)
		if d.incremental = !errors.Is(err, engine.ErrCut); d.incremental {
			return err
		}
	}
	if err := d.inFull(ctx); err != nil {
		return err
	}
	var plan Plan
	d.world.writeActions(&plan, d.found)
	d.world.writeReservations(&plan, d.found)
	d.actions, d.reservations, d.nextAt, d.work = plan.Actions, plan.Reservations, plan.NextAt, Work(d.found.Work)
	return nil
}

// inFull solves from scratch, once. The lock is held, or d is not shared yet. A
// context that has ended is an error also where nothing is left to do.
func (d *Decision) inFull(ctx context.Context) error { return d.inFullWith(ctx, view.Victims{}) }

// inFullWith is inFull with a trace of how victims were chosen. Where that is not known of
// them the state is solved once more: it comes to the same (S1).
func (d *Decision) inFullWith(ctx context.Context, victims view.Victims) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if d.world != nil && d.world.traces(victims) {
		return nil
	}
	w, err := compile(d.snapshot.objects.state())
	if err != nil {
		return err
	}
	if len(victims.IDs) > 0 {
		w.Traced = cluster.NewTrace(w.worksOf(victims.IDs), victims.Near)
	}
	found, err := engine.Solve(ctx, w.World)
	if err != nil {
		return err
	}
	d.world, d.found, d.cost, d.seen = w, found, Work(found.Work), nil
	return nil
}

// traces says whether it is known how the victims were chosen.
func (w *world) traces(victims view.Victims) bool {
	return len(victims.IDs) == 0 || w.Traced.Has(w.worksOf(victims.IDs), victims.Near)
}

// worksOf are the indices of workloads by ID.
func (w *world) worksOf(ids []string) map[int32]bool {
	out := make(map[int32]bool, len(ids))
	for _, id := range ids {
		i, _ := w.workOf(id)
		out[i] = true
	}
	return out
}

// Snapshot is what was decided upon.
func (d *Decision) Snapshot() *Snapshot { return d.snapshot }

// Actions are those of the [Plan]. The caller must not modify them.
func (d *Decision) Actions() []Action { return d.actions }

// Reservations are those of the [Plan] (B7). The caller must not modify them.
func (d *Decision) Reservations() []PlannedReservation { return d.reservations }

// NextAt is that of the [Plan].
func (d *Decision) NextAt() time.Time { return d.nextAt }

// Work is what the decision cost, in counted steps: the only part of a plan that
// depends on which way it was found.
func (d *Decision) Work() Work { return d.work }

// Incremental says whether the actions were found incrementally, in proportion to what
// differs from the version that was decided upon there before, and not by a solve
// from scratch: it tells where the time goes. A follower that is new has to
// read the whole state once. Nothing else depends on it.
func (d *Decision) Incremental() bool { return d.incremental }

// Pending yields what waits, by ID, with its reasons, as [Plan.Pending] has it.
// It stops at an error, which tells of a fault of the library and is yielded
// last.
func (d *Decision) Pending() iter.Seq2[Pending, error] {
	return func(yield func(Pending, error) bool) {
		w, err := d.full()
		if err != nil {
			yield(Pending{}, err)
			return
		}
		for i := range w.Works {
			p, waits, err := d.pendingAt(int32(i))
			if (waits || err != nil) && !yield(p, err) || err != nil {
				return
			}
		}
	}
}

// full is the world in which all is known.
func (d *Decision) full() (*world, error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	err := d.inFull(context.Background())
	return d.world, err
}

func (d *Decision) pendingAt(i int32) (Pending, bool, error) {
	d.lock.Lock() // finding reasons remembers answers in the world
	defer d.lock.Unlock()
	return (&teller{world: d.world}).pendingAt(i)
}

// Shares yields the figures per queue and resource, as [Plan.Shares] has them.
// Of an error the same is true as in [Decision.Pending].
func (d *Decision) Shares() iter.Seq2[Share, error] {
	return func(yield func(Share, error) bool) {
		shares, err := d.shares()
		if err != nil {
			yield(Share{}, err)
		}
		for _, s := range shares {
			if !yield(s, nil) {
				return
			}
		}
	}
}

func (d *Decision) shares() ([]Share, error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	if err := d.inFull(context.Background()); err != nil {
		return nil, err
	}
	return d.world.writeShares(), nil
}

// Why returns the reasons for which the workload waits after the plan, the most
// telling first (X1); nil and no error if it does not wait. The error is the
// context's, or wraps [ErrUnknown].
func (d *Decision) Why(ctx context.Context, workload string) ([]Reason, error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	if err := d.inFull(ctx); err != nil {
		return nil, err
	}
	i, known := d.world.workOf(workload)
	if !known {
		return nil, fmt.Errorf("%w: workload %q", ErrUnknown, workload)
	}
	p, _, err := (&teller{world: d.world}).pendingAt(i)
	return p.Reasons, err
}

// Plan writes all of it out, as [Solve] does.
func (d *Decision) Plan() (*Plan, error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	if err := d.inFull(context.Background()); err != nil {
		return nil, err
	}
	plan, err := d.world.write(d.found)
	if err != nil {
		return nil, err
	}
	plan.Work = d.cost
	for i := range plan.Pending {
		plan.Pending[i].Reasons = cloneEach(plan.Pending[i].Reasons, cloneReason)
	}
	return plan, nil
}

// Apply is the snapshot in which the decision has been carried out, see
// [Snapshot.Apply].
func (d *Decision) Apply() (*Snapshot, error) { return d.snapshot.Apply(d.orders()) }

// ApplySome is the snapshot in which what keep keeps of the decision has been
// carried out, see [ApplySome].
func (d *Decision) ApplySome(keep func(i int, a Action) bool) (*Snapshot, error) {
	return d.snapshot.ApplySome(d.orders(), keep)
}

// Begin is the snapshot in which the decision has been set going, see
// [Snapshot.Begin].
func (d *Decision) Begin() (*Snapshot, error) { return d.snapshot.Begin(d.orders()) }

// BeginSome is the snapshot in which what keep keeps of the decision has been set
// going, see [BeginSome].
func (d *Decision) BeginSome(keep func(i int, a Action) bool) (*Snapshot, error) {
	return d.snapshot.BeginSome(d.orders(), keep)
}

// orders are the part of the plan that can be carried out.
func (d *Decision) orders() *Plan {
	return &Plan{Revision: d.snapshot.Revision(), Actions: d.actions, Reservations: d.reservations}
}
