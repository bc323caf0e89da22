package explain

import (
	"slices"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/engine"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// What an Explanation tells is read from the world after the last action.

// explanation is all about a workload but what is before it, which queues hold what it
// needs, and what is taken from it.
func (w *viewed) explanation(i int32, source *allot.Workload, actions []allot.Action) (*Explanation, error) {
	k := &w.Works[i]
	at := k.Current
	reasons, err := w.view.Reasons(i)
	if err != nil {
		return nil, err
	}
	if len(reasons) > 0 {
		at = engine.ShownForm(w.World, k)
	}
	f := w.FormOf(k, at)
	out := &Explanation{
		Workload: source.ID, Pool: w.view.PoolID(f.Pool), Queue: w.view.QueueID(f.Pool, f.Queue), Form: int(at),
		Priority: w.priority(f.Pool, f.Priority), NonPreemptible: f.NonPreemptible, Submitted: source.Submitted,
		Reasons: reasons,
	}
	for _, a := range actions {
		switch {
		case a.Workload == source.ID:
			out.Actions = append(out.Actions, a.Clone())
		case a.Reason.Workload == source.ID && !slices.Contains(out.For, a.Workload):
			out.For = append(out.For, a.Workload)
		}
	}
	slices.Sort(out.For)
	held := heldAfter(w.view.PodSets(f.Pool, f.Definition), int(at), source.Tasks, out.Actions)
	for _, n := range held {
		out.Holds += int(n)
	}
	out.Status = statusOf(k, out)
	asks, err := w.asksNext(out, k, at, held)
	if err != nil {
		return nil, err
	}
	out.Asks = w.amounts(f.Pool, asks)
	out.Levels = w.queueLevels(f, asks)
	return out, nil
}

// heldAfter is how many tasks of each pod set of a form run or are claimed after the
// actions on the workload.
func heldAfter(names []string, form int, tasks []allot.Task, actions []allot.Action) []int32 {
	held := make([]int32, len(names))
	type task struct {
		set   string
		index int
	}
	there := make(map[task]bool)
	for _, t := range tasks {
		if t.Phase != allot.Terminating {
			there[task{t.PodSet, t.Index}] = true
		}
	}
	for _, a := range actions {
		if a.Form != form {
			continue // what leaves of another form is displaced
		}
		for _, t := range a.Tasks {
			there[task{t.PodSet, t.Index}] = a.Kind == allot.Start || a.Kind == allot.Resize || a.Kind == allot.Move
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
func statusOf(k *cluster.Work, e *Explanation) Status {
	waits := len(e.Reasons) > 0
	has := func(kind allot.ActionKind) bool {
		return slices.ContainsFunc(e.Actions, func(a allot.Action) bool { return a.Kind == kind })
	}
	switch {
	case k.Status == cluster.Ending:
		return StatusEnds
	case has(allot.Evict) && (k.Status == cluster.Failed || slices.ContainsFunc(e.Actions, func(a allot.Action) bool { return a.Ending.Final })):
		return StatusFails
	case has(allot.Evict):
		return StatusEvicted
	case slices.ContainsFunc(e.Actions, func(a allot.Action) bool { return a.Kind == allot.Start && len(a.After) > 0 }),
		waits && e.Reasons[0].Code == allot.ClaimHeld:
		return StatusClaims
	case waits && e.Reasons[0].Code == allot.Leaving:
		return StatusLeaves
	case waits:
		return StatusWaits
	case has(allot.Start):
		return StatusStarts
	case has(allot.Shrink):
		return StatusShrinks
	case has(allot.Move):
		return StatusMoves
	case has(allot.Resize):
		return StatusGrows
	}
	return StatusRuns
}

// asksNext is what the workload would start next, or, if it wants no more, what
// it holds; and how many tasks that is.
func (w *viewed) asksNext(e *Explanation, k *cluster.Work, at int16, held []int32) (quota.Amounts, error) {
	d := w.Definition(k, at)
	for _, n := range d.Counts {
		e.Tasks += int(n)
	}
	if k.Status != cluster.Ending && k.Status != cluster.Failed {
		of := held
		if e.Holds == 0 {
			of = nil
		}
		if unit, verdict := engine.NextUnit(d, of); verdict.OK {
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
func (w *viewed) queueLevels(f *cluster.Form, asks quota.Amounts) []QueueLevel {
	p := w.Pools[f.Pool]
	var resources []int32
	for _, a := range asks {
		if a.Value != 0 && int(a.Resource) < p.Plain {
			resources = append(resources, a.Resource)
		}
	}
	var out []QueueLevel
	for q := f.Queue; q >= 0; q = p.Parent[q] {
		for at, share := range w.view.Shares(cluster.Leaf{Pool: f.Pool, Queue: q}, resources) {
			out = append(out, queueLevel(p, f, q, resources[at], share))
		}
	}
	return out
}

func queueLevel(p *cluster.Pool, f *cluster.Form, q, r int32, share allot.Share) QueueLevel {
	out := QueueLevel{Share: share}
	used := out.Used
	if f.NonPreemptible {
		used = out.NonPreemptible
	}
	out.QuotaLeft = boundLeft(p.Tree.Quota(int(q), int(r)), used)
	out.LimitLeft = boundLeft(p.Tree.Ceiling(int(q), int(r)), out.Used)
	if line, divided := p.Room.Entitlement(q, r, q == f.Queue); divided {
		out.Entitlement = quota.Of(line)
		if line >= quota.MaxSum {
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

// priority is that of a form in a pool, as the pool's policy counts.
func (w *viewed) priority(pool, priority int32) int32 {
	if w.view.LowerFirst(pool) {
		return -priority
	}
	return priority
}

// amounts are the amounts of the pool's plain resources as they are told.
func (w *viewed) amounts(pool int32, amounts quota.Amounts) (out []AskedAmount) {
	for _, a := range amounts {
		if a.Value > 0 && int(a.Resource) < w.Pools[pool].Plain {
			out = append(out, AskedAmount{w.view.Resource(pool, a.Resource), a.Value})
		}
	}
	return out
}

// wantedOf are the resources of which the nodes may not have enough, by index.
func (w *viewed) wantedOf(f *cluster.Form, e *Explanation) []int32 {
	asks := func(r int32) bool {
		return slices.ContainsFunc(e.Asks, func(a AskedAmount) bool { return a.Resource == w.view.Resource(f.Pool, r) })
	}
	var out []int32
	add := func(r int32) {
		if asks(r) && !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	for _, reason := range e.Reasons {
		switch reason.Code {
		case allot.NoCapacity:
			add(w.view.ResourceOf(f.Pool, reason.Resource))
		case allot.NoNode:
			for _, c := range reason.Nodes {
				switch c.Predicate {
				case placement.FreeDevices, placement.Fragmented:
					add(0)
				case placement.Resources:
					add(w.view.ResourceOf(f.Pool, c.Resource))
				}
			}
		case allot.GangShort:
			for _, a := range e.Asks {
				add(w.view.ResourceOf(f.Pool, a.Resource))
			}
		}
	}
	slices.Sort(out)
	return out
}
