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
// What is asked for beside the actions is read in a world that has been decided upon
// in full. The first question borrows the compiled state that the decisions of all versions of
// the snapshot are made in, until one of them needs it; then what is asked next decides once
// more. Where decisions are made from scratch (see [Decision.Incremental]), the decision keeps a
// compiled state of its own in memory. A caller that needs all of it takes [Decision.Plan]. More
// questions are those of package explain; how victims were chosen is found out when it is asked,
// by deciding once more.
type Decision struct {
	snapshot *Snapshot
	actions  []Action
	// reservations are the promises.
	reservations []PlannedReservation
	nextAt       time.Time
	work         Work
	incremental  bool

	lock sync.Mutex
	// world and found are of the decision in full, nil until something needs it; cost is
	// what it cost when it was made first, before anybody asked for reasons. borrowed is
	// the follower whose world it is; nil where it was made from scratch.
	world    *world
	found    *cluster.Decision
	cost     *Work
	borrowed *follower
	// seen is the view of them, once package explain has asked.
	seen *decisionView
}

// decide finds the actions: incrementally, or from scratch where that cannot be.
func (d *Decision) decide(ctx context.Context) error {
	if t := d.snapshot.followers.take(&d.snapshot.objects, 1); t != nil {
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
	if err := d.fromScratch(ctx, view.Victims{}); err != nil {
		return err
	}
	var plan Plan
	d.world.writeActions(&plan, d.found)
	d.world.writeReservations(&plan, d.found)
	d.actions, d.reservations, d.nextAt, d.work = plan.Actions, plan.Reservations, plan.NextAt, Work(d.found.Work)
	return nil
}

// inFull has the world be as it is after the decision. The lock is held. A context that has
// ended is an error also where nothing is left to do.
func (d *Decision) inFull(ctx context.Context) error { return d.inFullWith(ctx, view.Victims{}) }

// inFullWith is inFull with a trace of how victims were chosen. Where that is not known of
// them the state is decided upon once more: it comes to the same (S1).
func (d *Decision) inFullWith(ctx context.Context, victims view.Victims) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if d.world != nil && d.world.traces(victims) {
		return nil
	}
	if d.world == nil || d.borrowed != nil {
		if t := d.follower(); t != nil && t.isEstranged() {
			d.snapshot.followers.giveBack(t)
		} else if t != nil {
			if err := d.stay(ctx, t, victims); !errors.Is(err, engine.ErrCut) {
				return err
			}
		}
	}
	return d.fromScratch(ctx, victims)
}

// follower is the one that the decision has borrowed, at rest, or else another that is at its version.
func (d *Decision) follower() *follower {
	if d.borrowed != nil {
		d.snapshot.followers.unlend(d)
		return d.giveUp()
	}
	return d.snapshot.followers.take(&d.snapshot.objects, mostFollowers)
}

// stay has the world of a follower stay as it is after the decision, until somebody else
// needs it.
func (d *Decision) stay(ctx context.Context, t *follower, victims view.Victims) error {
	t.world.trace(victims)
	found, err := t.Stay(ctx)
	if err != nil {
		t.world.Traced = nil
		d.snapshot.followers.giveBack(t)
		return err
	}
	d.borrowed = t
	d.isFound(t.world, found)
	d.snapshot.followers.lend(d)
	return nil
}

// giveUp has the follower that the decision has borrowed be at rest again; nil where that fails.
func (d *Decision) giveUp() *follower {
	t := d.borrowed
	d.borrowed, d.world, d.found, d.seen = nil, nil, nil, nil
	t.world.Traced = nil
	if t.Leave() != nil {
		return nil
	}
	return t
}

// fromScratch decides in a world of its own.
func (d *Decision) fromScratch(ctx context.Context, victims view.Victims) error {
	n := &d.snapshot.objects
	w, err := compileWith(n.frame(), n.works(), false)
	if err != nil {
		return err
	}
	found, err := w.solve(ctx, victims)
	if err != nil {
		return err
	}
	d.isFound(w, found)
	return nil
}

// solve decides in the world, and keeps of the victims how they were chosen.
func (w *world) solve(ctx context.Context, victims view.Victims) (*cluster.Decision, error) {
	w.trace(victims)
	return engine.Solve(ctx, w.World)
}

// isFound takes note of the decision in full.
func (d *Decision) isFound(w *world, found *cluster.Decision) {
	d.world, d.found, d.seen = w, found, nil
	if d.cost == nil {
		d.cost = new(Work(found.Work)) // a copy, as found holds its world
	}
}

// trace has the world be decided upon with a trace of how the victims are chosen.
func (w *world) trace(victims view.Victims) {
	if w.Traced = nil; len(victims.IDs) > 0 {
		w.Traced = cluster.NewTrace(w.worksOf(victims.IDs), victims.Near)
	}
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
		ids, err := d.mayWait()
		if err != nil {
			yield(Pending{}, err)
			return
		}
		for _, id := range ids {
			p, waits, err := d.pending(context.Background(), id)
			if (waits || err != nil) && !yield(p, err) || err != nil {
				return
			}
		}
	}
}

// mayWait are the IDs of those that may wait after the plan, sorted.
func (d *Decision) mayWait() ([]string, error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	if err := d.inFull(context.Background()); err != nil {
		return nil, err
	}
	var ids []string
	for _, i := range d.world.mayWait() {
		ids = append(ids, d.world.source(&d.world.Works[i]).ID)
	}
	return ids, nil
}

// pending is why a workload waits, if it does.
func (d *Decision) pending(ctx context.Context, id string) (Pending, bool, error) {
	d.lock.Lock() // finding reasons remembers answers in the world
	defer d.lock.Unlock()
	if err := d.inFull(ctx); err != nil {
		return Pending{}, false, err
	}
	i, known := d.world.workOf(id)
	if !known {
		return Pending{}, false, fmt.Errorf("%w: workload %q", ErrUnknown, id)
	}
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
	p, _, err := d.pending(ctx, workload)
	return p.Reasons, err
}

// Plan writes all of it out, as [Solve] does.
func (d *Decision) Plan() (*Plan, error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	if err := d.inFull(context.Background()); err != nil {
		return nil, err
	}
	plan, err := d.world.writeOf(d.found, d.snapshot.objects.state())
	if err != nil {
		return nil, err
	}
	plan.Work = *d.cost
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
