package allot

import (
	"cmp"
	"math/bits"
	"slices"
	"strconv"

	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/engine"
	"github.com/allotsched/allot/quota"
)

// write turns what was decided into a Plan: plain data with the caller's names.
func (w *world) write(d *cluster.Decision) (*Plan, error) { return w.writeOf(d, w.state) }

// writeOf is write where the world has followed versions up to this state.
func (w *world) writeOf(d *cluster.Decision, s *State) (*Plan, error) {
	plan := &Plan{Revision: w.state.Revision, Work: Work(d.Work)}
	w.writeActions(plan, d)
	w.writeReservations(plan, d)
	var err error
	if plan.Pending, err = w.pending(); err != nil {
		return nil, err
	}
	plan.Shares = w.writeShares()
	plan.Warnings = slices.Concat(warnings(s, w.resourceNumbers), w.useWarnings(), w.reachWarnings(), w.shareWarnings(), w.unmet)
	plan.Warnings = append(plan.Warnings, w.mixWarnings()...)
	plan.Warnings = append(plan.Warnings, w.deadlineWarnings(plan.Reservations)...)
	plan.Warnings = append(plan.Warnings, w.outsideWarnings()...)
	sortWarnings(plan.Warnings)
	return plan, nil
}

// writeActions cuts all tasks and all device lists from two arrays.
func (w *world) writeActions(plan *Plan, d *cluster.Decision) {
	if len(d.Actions) == 0 {
		return
	}
	devices := 0
	for _, list := range [...][]cluster.TaskPlace{d.Placed, d.From} {
		for i := range list {
			devices += bits.OnesCount64(list[i].Devices)
		}
	}
	cut := &cutter{world: w, tasks: make([]Placement, 0, len(d.Placed)+len(d.From)), indices: make([]int, 0, devices)}
	plan.Actions = make([]Action, len(d.Actions))
	tell := &teller{world: w}
	for i := range d.Actions {
		a := &d.Actions[i]
		k := &w.Works[a.Work]
		names := w.setNames(k, a.Form)
		out := Action{
			Kind:     ActionKind(a.Kind),
			Workload: w.source(k).ID,
			Queue:    w.queueID(w.FormOf(k, a.Form)),
			Form:     int(a.Form),
			Tasks:    cut.places(names, d.Placed[a.From:a.To]),
		}
		if a.Until > 0 {
			out.Until = timeOf(a.Until)
		}
		if a.Why != nil {
			out.Reason = tell.reason(a.Why)
		}
		if a.Kind == cluster.Move {
			out.From = cut.places(names, d.From[a.Moved:a.Moved+a.To-a.From])
		}
		if a.Kind == cluster.Evict {
			out.Ending = w.endingOf(a)
		}
		if other := a.Behind; other >= 0 {
			out.Behind = w.source(&w.Works[other]).ID
		}
		for _, other := range a.After {
			out.After = append(out.After, w.source(&w.Works[other]).ID)
		}
		plan.Actions[i] = out
	}
}

// pending lists what waits, by ID, with its reasons.
func (w *world) pending() (out []Pending, err error) {
	tell := &teller{world: w, told: make(map[*cluster.Verdict][]Reason)}
	may := w.mayWait()
	out = make([]Pending, 0, len(may))
	for _, i := range may {
		if p, waits, err := tell.pendingAt(i); err != nil {
			return nil, err
		} else if waits {
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		return nil, nil
	}
	return out, nil
}

// mayWait are the works that may wait, by ID.
func (w *world) mayWait() (works []int32) {
	for i := range w.Works {
		if engine.MayWait(w.World, &w.Works[i]) {
			works = append(works, int32(i))
		}
	}
	slices.SortFunc(works, w.CompareIDs)
	return works
}

// endingOf is what an eviction means for the workload (S6).
func (w *world) endingOf(a *cluster.Action) Ending {
	policy := w.pools[w.FormOf(&w.Works[a.Work], a.Form).Pool].given
	return Ending{
		Status: policy.PreemptedStatus, ExitCode: policy.PreemptedExitCode,
		Checkpoint: policy.CheckpointOnEviction, Final: a.Final,
	}
}

// A cutter writes places.
type cutter struct {
	world   *world
	tasks   []Placement
	indices []int
}

func (c *cutter) places(names []string, places []cluster.TaskPlace) []Placement {
	begin := len(c.tasks)
	for _, t := range places {
		from := len(c.indices)
		for rest := t.Devices; rest != 0; rest &= rest - 1 {
			c.indices = append(c.indices, bits.TrailingZeros64(rest))
		}
		one := Placement{PodSet: names[t.Set], Index: int(t.Index), Node: c.world.state.Nodes[t.Node].ID}
		if to := len(c.indices); to > from {
			one.Devices = c.indices[from:to:to]
		}
		c.tasks = append(c.tasks, one)
	}
	return c.tasks[begin:len(c.tasks):len(c.tasks)]
}

// queueID is the ID of the form's queue; the implicit queue's is "".
func (w *world) queueID(f *cluster.Form) string {
	return w.pools[f.Pool].queueID(w.state, int(f.Queue))
}

func (p *pool) queueID(s *State, q int) string {
	if source := p.queues[q]; source >= 0 {
		return s.Queues[source].ID
	}
	return ""
}

// writeShares gives the figures of Q6 for every queue: of GPU, of whatever some
// queue of the pool says something about, and of what its workloads ask.
func (w *world) writeShares() []Share {
	orders, lines := make([][]int, len(w.pools)), 0
	for i, p := range w.pools {
		orders[i] = p.toldOrder(p.reported(w.state))
		lines += len(p.queues) * len(orders[i])
	}
	if lines == 0 {
		return nil
	}
	out := make([]Share, 0, lines)
	for i, p := range w.pools {
		figures, order := p.Tree.AppendFigures(nil), orders[i]
		for q := range p.queues {
			reachable := p.reachable(q)
			for _, r := range order {
				at := q*len(p.resources) + r
				out = append(out, p.share(w.state, q, r, figures[at], reachable[r]))
			}
		}
	}
	return out
}

// toldOrder lists resources as they are told: GPU first, then by name; then by
// class.
func (p *pool) toldOrder(told []bool) []int {
	order := make([]int, 0, len(p.resources))
	for r := range p.resources {
		if told[r] {
			order = append(order, r)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		x, y := p.resources[a], p.resources[b]
		return cmp.Or(cmp.Compare(p.byName[x.name], p.byName[y.name]), cmp.Compare(x.class, y.class))
	})
	return order
}

// reported says which resources have figures in the plan.
func (p *pool) reported(s *State) []bool {
	out := make([]bool, len(p.resources))
	out[0] = true
	for q := range p.queues {
		for r := range p.Plain {
			out[r] = out[r] || p.DemandTotal[q*len(p.resources)+r] > 0 || p.Tree.Use(q, r) > 0
		}
	}
	for _, source := range p.queues {
		if source < 0 {
			continue
		}
		for _, given := range s.Queues[source].Resources {
			out[slices.Index(p.resources, resource{given.Resource, given.Class})] = true
		}
	}
	return out
}

// reachable is the usable capacity of the nodes that the queue, or some queue below it, may use, without
// those that are reserved whole for others, by resource (F1, B9).
func (p *pool) reachable(q int) []int64 {
	reach := p.Reach[q]
	if reach < 0 {
		return p.Capacity
	}
	out := slices.Clone(p.Capacity)
	for r := range out {
		out[r] -= p.Reaches[reach].Out[r]
	}
	return out
}

// share is one line of the figures. A resource that is under no quota and no
// division has neither state nor borrowing.
func (p *pool) share(s *State, q, r int, f quota.Figures, reachable int64) Share {
	fair := p.Shares[q*len(p.resources)+r].FairShare
	out := Share{
		Pool: p.id, Queue: p.queueID(s, q),
		Resource: p.resources[r].name, Class: p.resources[r].class,
		Quota: bound(f.Quota), Limit: bound(p.Tree.Limit(q, r)),
		Used: f.Used, InQuota: f.InQuota, OverQuota: f.OverQuota,
		NonPreemptible: f.NonPreemptible,
		Demand:         p.DemandTotal[q*len(p.resources)+r],
		FairShare:      fair,
		Borrowed:       f.Borrowed, Lent: f.Lent,
		Reachable: reachable, PoolTotal: p.Capacity[r],
	}
	if own := &p.Shares[q*len(p.resources)+r]; own.WeightMilli > 0 || own.AdjustedMilli > 0 {
		out.WeightMilli, out.AdjustedMilli = own.WeightMilli, own.AdjustedMilli
		out.Usage = p.Usage[q*len(p.resources)+r]
	}
	if out.Divided = p.Divided[r]; out.Divided {
		out.Cut = p.Cut(q, r)
		within := f.Quota
		if !p.Tree.Governed(r) { // no queue gives one (Q1), and it is divided by another method (F8)
			within = 0
		}
		out.State = fairshare.State(f.Used, within, fair)
	}
	return out
}

// bound turns a resolved amount into what a Share shows.
func bound(amount int64) quota.Bound {
	if amount == quota.Infinite {
		return quota.Unlimited()
	}
	return quota.Of(amount)
}

// useWarnings tell where use stands above what would be granted today: the
// input may be so, after a quota was cut or a node was lost (S7, V1).
func (w *world) useWarnings() []Fault {
	var out []Fault
	for _, p := range w.pools {
		for q, source := range p.queues {
			if source < 0 {
				continue // the implicit queue has no bounds
			}
			last := len(p.resources) - 1
			for r := range p.resources {
				if r < last || !p.Counted {
					out = p.useWarning(out, w.state, q, r)
				}
			}
			most := w.state.Queues[source].MaxWorkloads
			if running := p.Tree.Use(q, last); most.Given() && running > most.Amount() {
				out = append(out, Fault{
					Path: queuePath(p.queueID(w.state, q), "maxWorkloads"), Code: WarnOverLimit, Value: most.String(),
					Want: "should be at least the " + strconv.FormatInt(running, 10) + " workloads that run",
				})
			}
		}
	}
	return out
}

// outsideWarnings name the work that runs where it is left alone (S7), once for
// each workload and node.
func (w *world) outsideWarnings() []Fault {
	var out []Fault
	for i := range w.Holdings {
		h := &w.Holdings[i]
		if k := &w.Works[h.Work]; h.Phase == cluster.Running && w.Outside(k, h.Node) {
			out = append(out, Fault{
				Path: workloadPath(w.source(k).ID, "tasks"), Code: WarnWorkOutsidePool, Value: strconv.QuoteToASCII(w.state.Nodes[h.Node].ID),
				Want: "runs on a node that is not in its pool, and is left alone there",
			})
		}
	}
	sortWarnings(out)
	return slices.Compact(out)
}

// useWarning appends the warnings about one queue and resource. An absent quota
// of a leaf is 0 (Q1), and so it may be above a leaf, except that of a class, which binds
// nothing (Q8). The absent quota of an inner queue is its children's, which are told.
func (p *pool) useWarning(out []Fault, s *State, q, r int) []Fault {
	given := p.said(s, q, r)
	given.Resource, given.Class = p.resources[r].name, p.resources[r].class
	warn := func(field string, code FaultCode, bound quota.Bound, what string, amount int64) {
		out = append(out, Fault{
			Path: queueResourcePath(p.queueID(s, q), &given, field), Code: code, Value: cmp.Or(bound.String(), "absent"),
			Want: "should be at least the " + what + " of " + strconv.FormatInt(amount, 10),
		})
	}
	guaranteed, use := p.Tree.Quota(q, r), p.Tree.Use(q, r)
	if given.Limit.Given() && use > given.Limit.Amount() {
		warn("limit", WarnOverLimit, given.Limit, "use", use)
	}
	if beyond := use - min(use, guaranteed); given.BorrowingLimit.Given() && beyond > given.BorrowingLimit.Amount() {
		warn("borrowingLimit", WarnOverLimit, given.BorrowingLimit, "use beyond quota", beyond)
	}
	if use := p.Tree.NonPreemptible(q, r); use > guaranteed && (given.Quota.Given() || p.IsLeaf[q] && given.Class == "") && !p.Policy.NonPreemptibleOverQuota {
		warn("quota", WarnNonPreemptibleOverQuota, given.Quota, "non-preemptible use", use)
	}
	return out
}
