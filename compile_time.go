package allot

import (
	"cmp"
	"math"
	"slices"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/engine"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// What is said of time is compiled where the pool promises anything (B3); elsewhere nothing
// depends on it.

// defaultConservative is how many promises there are under conservative backfill unless
// the policy says.
const defaultConservative = 100

// knobs are those of a ReservePolicy that the solve reads.
func (r *ReservePolicy) knobs(p *Policy) cluster.Reserve {
	if r.Backfill == queue.NoBackfill {
		return cluster.Reserve{}
	}
	out := cluster.Reserve{
		Depth: r.Depth, GangsOnly: r.GangsOnly, FromPriority: math.MinInt32, After: span(r.After, 0),
		MaxPromises: r.MaxPromises, MaxHeld: math.MaxInt64, MaxHold: span(r.MaxHold, cluster.Never), ChargeHeld: r.ChargeHeld, Gather: r.Gather,
		RatherWait: span(r.RatherWait, 0), TrustDurations: r.TrustDurations, Evictable: r.Evictable,
		Horizon: span(r.Horizon, 0), Resolution: span(r.Resolution, 0), Grace: span(p.KillGrace, defaultGrace),
	}
	if out.Horizon == cluster.Never {
		out.Horizon = 0
	}
	if out.Depth == 0 {
		if out.Depth = 1; r.Backfill == queue.Conservative {
			out.Depth = defaultConservative
		}
	}
	if r.FromPriority.Given() {
		if out.FromPriority = int32(r.FromPriority.Amount()); p.LowerFirst {
			out.FromPriority = -out.FromPriority
		}
	}
	return out
}

// span is a number of seconds in microseconds; absent is what is given, unlimited is Never.
func span(b quota.Bound, absent int64) int64 {
	switch {
	case !b.Given():
		return absent
	case b.IsUnlimited() || b.Amount() > cluster.Never/cluster.Second:
		return cluster.Never
	}
	return b.Amount() * cluster.Second
}

// compileHeld is, of what the pool can give, what promises of a pool may keep idle.
func (p *pool) compileHeld() {
	if most := p.given.Reserve.MaxHeldPercent; most.Given() && !most.IsUnlimited() {
		p.Policy.Reserve.MaxHeld = p.Capacity[0] / 100 * most.Amount()
	}
}

// compileTimes reads how long a workload takes, since when it waits and what it has been
// promised.
func (w *world) compileTimes(i int32, given *Workload) {
	k := &w.Works[i]
	delete(w.promised, i)
	delete(w.behinds, i)
	if !w.foresees && !w.mayPromise(&k.Form) && !slices.ContainsFunc(k.Others, func(f cluster.Form) bool { return w.mayPromise(&f) }) {
		return
	}
	own := *k.Rare
	own.WaitingSince = micros(given.WaitingSince)
	if own.Reserved = w.compilePromise(k, given.Reserved); own.Reserved != nil {
		own.Reserved.HeldSince = max(micros(given.HeldSince), 0)
		note(&w.promised, i)
	}
	k.Rare = &own
	for t := range k.Tasks {
		h := &k.Tasks[t]
		source := slices.IndexFunc(given.Tasks, func(one Task) bool {
			return w.nodeID[one.Node] == h.Node && int32(one.Index) == h.Index && cluster.Phase(one.Phase) == h.Phase && w.setNames(k, h.Form)[h.Set] == one.PodSet
		})
		started := micros(given.Tasks[source].Started)
		h.Begun = h.Phase == cluster.Running || h.Phase == cluster.Claimed && started >= 0
		if started < 0 {
			started = h.Since
		}
		h.Started = max(started, 0)
		if name := given.Tasks[source].Behind; name != "" {
			note(&w.behinds, i)
			h.Behind = w.behind(name)
		}
		if until := given.Tasks[source].Until; !until.IsZero() { // it was cut to fit a hole
			h.Until = micros(until)
		}
	}
}

// mayPromise says whether the pool of a form promises anything (B3).
func (w *world) mayPromise(f *cluster.Form) bool { return w.pools[f.Pool].Policy.Reserve.Depth > 0 }

// note adds a work to a set.
func note(set *map[int32]bool, i int32) {
	if *set == nil {
		*set = make(map[int32]bool)
	}
	(*set)[i] = true
}

// behind is the workload of a name that has been promised something, plus one; 0 is that none
// has (B6).
func (w *world) behind(name string) int32 {
	i, known := w.slots[name]
	if w.slots == nil {
		var at int
		at, known = slices.BinarySearchFunc(w.workloads, name, func(k *Workload, name string) int {
			return cmp.Compare(k.ID, name)
		})
		i = int32(at)
	}
	if !known || w.workloads[i].Reserved == nil {
		return 0
	}
	w.SomeBehind = true
	return i + 1
}

// taskTime is a number of task-seconds in task-microseconds; what is beyond is cut to the most.
func taskTime(seconds int64) int64 {
	return min(seconds, cluster.Never/cluster.Second) * cluster.Second
}

// fewest is how many tasks of the form start together, at the fewest: of a group those of its
// children that ask the least (G3).
func (f *Form) fewest() int {
	asked, groups := make(map[string][]int), make(map[string][]*Group) // by parent, "" of the whole
	for i := range f.PodSets {
		set := &f.PodSets[i]
		asked[set.Group] = append(asked[set.Group], cmp.Or(set.Min, set.Count))
	}
	for i := range f.Groups {
		groups[f.Groups[i].Parent] = append(groups[f.Groups[i].Parent], &f.Groups[i])
	}
	var of func(*Group) int
	of = func(g *Group) (tasks int) {
		own := asked[g.Name]
		for _, child := range groups[g.Name] {
			own = append(own, of(child))
		}
		slices.Sort(own)
		for _, one := range own[:cmp.Or(g.Min, len(own))] {
			tasks += one
		}
		return tasks
	}
	return of(&Group{})
}

// defaultGrace is how long past its limit a task is expected to take to end unless the
// policy says, in microseconds.
const defaultGrace = 30 * cluster.Second

// durations are those of work of a queue that does not say them itself (B1), with what the queues
// above it and the policy say.
type durations struct {
	duration, limit quota.Bound
	most            int64 // the least Max, in microseconds
}

// orOf is what is said, and of what is not, what those above say; the least Max holds.
func (d *Durations) orOf(above durations) durations {
	return durations{cmp.Or(d.Default, above.duration), cmp.Or(d.DefaultLimit, above.limit), min(span(d.Max, cluster.Never), above.most)}
}

// timesOf are the duration and the limit of a form of a workload that is in a queue of the pool
// (B1): its own, else those of its queue or of the first above it that says them, else the policy's; at
// most the least Max.
func (p *pool) timesOf(given *Workload, form *Form, q int32) cluster.Times {
	said := &p.durations[q]
	bound, most := cmp.Or(given.TimeLimit, said.limit), said.most
	limit := min(span(bound, cluster.Never), most)
	expected := span(cmp.Or(given.Duration, said.duration), cluster.Never)
	out := cluster.Times{Duration: min(expected, limit), Limit: limit}
	if given.FixedWork > 0 {
		out.Fixed, out.Rest = true, taskTime(given.FixedWork)-taskTime(given.WorkDone)
		out.Duration = out.Lasts(int32(form.fewest()))
	}
	if p.given.Reserve.Backfill != 0 {
		out.Least = given.MinDuration * cluster.Second
	}
	return out
}

// compilePromise reads what a workload has been promised.
func (w *world) compilePromise(k *cluster.Work, given *Promise) *cluster.Promise {
	if given == nil || given.Form > len(k.Others) {
		return nil
	}
	out := &cluster.Promise{
		At: micros(given.At), Entitled: given.Entitled, Form: int16(given.Form), Made: micros(given.Made), First: micros(given.First),
	}
	if given.Rule == ByGathering {
		out.At, out.Gathers = cluster.Never, true
	}
	names := w.setNames(k, out.Form)
	f := w.FormOf(k, out.Form)
	for _, t := range inOrder(given.Tasks, names) {
		set, node := slices.Index(names, t.PodSet), cluster.TaskPlace{Index: int32(t.Index)}
		if set < 0 {
			set = math.MaxInt16 // of no pod set: it asks something else now
		}
		at, known := w.nodeID[t.Node]
		if !known || w.NodePool[at] != f.Pool || w.state.Nodes[at].Lost {
			at = none
		}
		for _, d := range t.Devices {
			if node.Devices |= 1 << d; at != none && d >= len(w.state.Nodes[at].Devices) {
				at = none // the node has fewer devices now
			}
		}
		node.Set, node.Node = int32(set), at
		out.Tasks = append(out.Tasks, node)
	}
	return out
}

// inOrder returns places in the order of the pod sets of their form, and then of the tasks; those of what is no pod set
// of it any more come last.
func inOrder(places []Placement, names []string) []Placement {
	rank := func(t *Placement) int {
		if at := slices.Index(names, t.PodSet); at >= 0 {
			return at
		}
		return len(names)
	}
	out := slices.Clone(places)
	slices.SortFunc(out, func(a, b Placement) int {
		return cmp.Or(cmp.Compare(rank(&a), rank(&b)), cmp.Compare(a.PodSet, b.PodSet), cmp.Compare(a.Index, b.Index),
			cmp.Compare(a.Node, b.Node), slices.Compare(a.Devices, b.Devices))
	})
	return out
}

// toldOnce is a promise of the state as a plan tells it, whatever the order of the lists of the state is (S3), and
// whatever finer digits its times have (V1).
func toldOnce(given *Promise, names []string) Promise {
	out := clonePromise(*given)
	out.At, out.Made, out.First = timeOf(micros(given.At)), timeOf(micros(given.Made)), timeOf(micros(given.First))
	for i := range out.Tasks {
		slices.Sort(out.Tasks[i].Devices)
	}
	out.Tasks = inOrder(out.Tasks, names)
	slices.Sort(out.WaitsFor)
	return out
}

// writeReservations writes what is promised, and when that could change by itself.
func (w *world) writeReservations(plan *Plan, d *cluster.Decision) {
	plan.NextAt = timeOf(min(w.nextBefore(), engine.NextEnd(d)))
	for _, r := range engine.Reservations(d) {
		k := &w.Works[r.Work]
		out := PlannedReservation{
			Workload: w.source(k).ID, Queue: w.queueID(w.FormOf(k, r.Promise.Form)), Change: PromiseChange(r.Change),
			Promise: Promise{
				At: timeOf(r.Promise.At), Entitled: r.Promise.Entitled, Form: int(r.Promise.Form),
				Made: timeOf(r.Promise.Made), First: timeOf(r.Promise.First),
			},
		}
		if r.Promise.Gathers {
			out.Promise.Rule = ByGathering
		}
		if r.Change == cluster.Withdrawn && w.source(k).Reserved != nil {
			out.Promise = toldOnce(w.source(k).Reserved, w.setNames(k, r.Promise.Form))
			if out.Promise.Rule == ByGathering && k.NotBefore >= 0 {
				out.NotBefore = timeOf(k.NotBefore)
			}
		} else {
			cut := &cutter{world: w}
			out.Promise.Tasks = cut.places(w.setNames(k, r.Promise.Form), r.Promise.Tasks)
			for _, i := range r.Promise.WaitsFor {
				out.Promise.WaitsFor = append(out.Promise.WaitsFor, w.source(&w.Works[i]).ID)
			}
		}
		p := w.pools[w.FormOf(k, r.Promise.Form).Pool]
		for resource, amount := range r.Held {
			if amount > 0 {
				if out.Held == nil {
					out.Held = make(map[string]int64)
				}
				out.Held[p.resources[resource].name] = amount
			}
		}
		if r.Cause != nil {
			tell := &teller{world: w}
			out.Cause = tell.reason(r.Cause)
		}
		plan.Reservations = append(plan.Reservations, out)
	}
}
