package allot

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/allotsched/allot/internal/engine"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// What an Explanation tells is read from the world after the last action.

// lookUp is the full world and the index of a workload in it. The lock is held.
func (d *Decision) lookUp(ctx context.Context, workload string) (*world, int32, error) {
	if err := d.inFull(ctx); err != nil {
		return nil, 0, err
	}
	i, known := d.world.workOf(workload)
	if !known {
		return nil, 0, unknown("workload", workload)
	}
	return d.world, i, nil
}

// unknown is the error of a question about what the state does not have.
func unknown(kind, id string) error { return fmt.Errorf("%w: %s %q", ErrUnknown, kind, id) }

// workOf is the index of a workload by ID.
func (w *world) workOf(id string) (int32, bool) {
	i, known := slices.BinarySearchFunc(w.Works, id, func(k engine.Work, id string) int {
		return strings.Compare(w.source(&k).ID, id)
	})
	return int32(i), known
}

// explanation is all about a workload but who is before it, who holds what it
// needs, and what is taken from it.
func (w *world) explanation(i int32, actions []Action) (*Explanation, error) {
	k := &w.Works[i]
	source := w.source(k)
	at := k.Current
	pending, waits, err := (&teller{world: w}).pendingAt(i)
	if err != nil {
		return nil, err
	}
	if waits {
		at = w.Shown(k)
	}
	f := w.FormOf(k, at)
	p := w.pools[f.Pool]
	out := &Explanation{
		Workload: source.ID, Pool: p.id, Queue: w.queueID(f), Form: int(at),
		Priority: f.Priority, NonPreemptible: f.NonPreemptible, Submitted: source.Submitted,
		Reasons: pending.Reasons,
	}
	if p.given.LowerFirst {
		out.Priority = -out.Priority
	}
	for _, a := range actions {
		switch {
		case a.Workload == source.ID:
			out.Actions = append(out.Actions, cloneAction(a))
		case a.Reason.Workload == source.ID && !slices.Contains(out.For, a.Workload):
			out.For = append(out.For, a.Workload)
		}
	}
	slices.Sort(out.For)
	held := w.heldAfter(i, at, out.Actions)
	for _, n := range held {
		out.Holds += int(n)
	}
	out.Status = w.statusOf(k, out, waits)
	asks, err := w.asksNext(out, k, at, held)
	if err != nil {
		return nil, err
	}
	out.Asks = p.asAmounts(asks)
	out.Levels = w.queueLevels(f, asks)
	return out, nil
}

// heldAfter is how many tasks of each pod set run or are claimed after the
// actions on the workload.
func (w *world) heldAfter(i int32, at int16, actions []Action) []int32 {
	k := &w.Works[i]
	names := w.setNames(k, at)
	held := make([]int32, len(names))
	type task struct {
		set   string
		index int
	}
	there := make(map[task]bool)
	for _, t := range w.source(k).Tasks {
		if t.Phase != Terminating {
			there[task{t.PodSet, t.Index}] = true
		}
	}
	for _, a := range actions {
		if a.Form != int(at) {
			continue // what leaves of another form is displaced
		}
		for _, t := range a.Tasks {
			there[task{t.PodSet, t.Index}] = a.Kind == Start || a.Kind == Resize || a.Kind == Move
		}
	}
	for t, here := range there { // counted: order cannot matter
		if set := slices.Index(names, t.set); here && set >= 0 {
			held[set]++
		}
	}
	return held
}

// statusOf is what the actions come to.
func (w *world) statusOf(k *engine.Work, e *Explanation, waits bool) Status {
	has := func(kind ActionKind) bool {
		return slices.ContainsFunc(e.Actions, func(a Action) bool { return a.Kind == kind })
	}
	switch {
	case k.Status == engine.Ending:
		return StatusEnds
	case has(Evict) && (k.Status == engine.Failed || slices.ContainsFunc(e.Actions, func(a Action) bool { return a.Ending.Final })):
		return StatusFails
	case has(Evict):
		return StatusEvicted
	case slices.ContainsFunc(e.Actions, func(a Action) bool { return a.Kind == Start && len(a.After) > 0 }),
		waits && e.Reasons[0].Code == ClaimHeld:
		return StatusClaims
	case waits && e.Reasons[0].Code == Leaving:
		return StatusLeaves
	case waits:
		return StatusWaits
	case has(Start):
		return StatusStarts
	case has(Shrink):
		return StatusShrinks
	case has(Move):
		return StatusMoves
	case has(Resize):
		return StatusGrows
	}
	return StatusRuns
}

// asksNext is what the workload would start next, or, if it wants no more, what
// it holds; and how many tasks that is.
func (w *world) asksNext(e *Explanation, k *engine.Work, at int16, held []int32) (quota.Amounts, error) {
	d := w.Definition(k, at)
	for _, n := range d.Counts {
		e.Tasks += int(n)
	}
	if k.Status != engine.Ending && k.Status != engine.Failed {
		of := held
		if e.Holds == 0 {
			of = nil
		}
		if unit, verdict := d.Next(of); verdict.OK {
			e.Starts = int(unit.Tasks())
			return d.Gang.Amounts(nil, unit)
		}
	}
	var sum quota.Amounts
	for set, n := range held {
		var err error
		if sum, err = sum.AddScaled(d.Sets[set].Charge, int64(n)); err != nil {
			return nil, err
		}
	}
	if e.Holds == 0 {
		return d.Demand, nil
	}
	return sum, nil
}

// queueLevels are the figures of the queues above a form, in what it asks.
func (w *world) queueLevels(f *engine.Form, asks quota.Amounts) []QueueLevel {
	p := w.pools[f.Pool]
	var out []QueueLevel
	sets := make(map[int32][]int64)
	for q := f.Queue; q >= 0; q = p.Parent[q] {
		reachable := sets[p.NodeSet[q]]
		if reachable == nil {
			reachable = p.usableOf(w.state, p.NodeSet[q])
			sets[p.NodeSet[q]] = reachable
		}
		for _, a := range asks {
			if a.Value == 0 || int(a.Resource) >= p.Plain {
				continue
			}
			r := int(a.Resource)
			out = append(out, p.queueLevel(w.state, f, q, r, reachable[r]))
		}
	}
	return out
}

func (p *pool) queueLevel(s *State, f *engine.Form, q int32, r int, reachable int64) QueueLevel {
	out := QueueLevel{Share: p.share(s, int(q), r, p.Tree.Figures(int(q), r), reachable)}
	used := out.Used
	if f.NonPreemptible {
		used = out.NonPreemptible
	}
	out.QuotaLeft = boundLeft(p.Tree.Quota(int(q), r), used)
	out.LimitLeft = boundLeft(p.Tree.Ceiling(int(q), r), out.Used)
	if line, divided := p.Room.Entitlement(q, int32(r), q == f.Queue); divided {
		out.Entitlement = quota.Of(line)
		if line >= maxSum {
			out.Entitlement = quota.Unlimited()
		}
		out.EntitlementLeft = boundLeft(out.Entitlement.Amount(), out.Used)
	}
	return out
}

// boundLeft is what a bound leaves beyond some use.
func boundLeft(bound, used int64) quota.Bound {
	if bound == quota.Infinite {
		return quota.Unlimited()
	}
	return quota.Of(max(0, bound-used))
}

// wantedOf are the resources of which the nodes may not have enough, by index.
func (w *world) wantedOf(f *engine.Form, e *Explanation) []int32 {
	p := w.pools[f.Pool]
	asks := func(r int32) bool {
		return slices.ContainsFunc(e.Asks, func(a AskedAmount) bool { return a.Resource == p.resources[r].name })
	}
	var out []int32
	add := func(r int32) {
		if asks(r) && !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	for _, reason := range e.Reasons {
		switch reason.Code {
		case NoCapacity:
			add(p.byName[reason.Resource])
		case NoNode:
			for _, c := range reason.Nodes {
				switch c.Predicate {
				case placement.FreeDevices, placement.Fragmented:
					add(0)
				case placement.Resources:
					add(p.byName[c.Resource])
				}
			}
		case GangShort:
			for _, a := range e.Asks {
				add(p.byName[a.Resource])
			}
		}
	}
	slices.Sort(out)
	return out
}

// cloneAction copies an action of a decision, which others share.
func cloneAction(a Action) Action {
	a.Tasks, a.From = cloneEach(a.Tasks, clonePlacement), cloneEach(a.From, clonePlacement)
	a.After = slices.Clone(a.After)
	a.Reason = cloneReason(a.Reason)
	return a
}

func clonePlacement(p Placement) Placement {
	p.Devices = slices.Clone(p.Devices)
	return p
}
