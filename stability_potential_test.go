package allot_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/deep"
	"github.com/allotsched/allot/quota"
)

// The potential that starts, preemption by who becomes protected and the taking of
// unprotected units raise (R8, R9, E7): of each leaf, by standing, who is quota-protected; then
// who is protected at all; then who runs. Nothing else here knows how the solver
// walks; the lines are the oracle's.

// A walkedUnit is a workload's minimum or one step above it.
type walkedUnit struct {
	work           *allot.Workload
	step           int      // 0 is the minimum
	tasks          []string // of a step
	nonPreemptible bool
	priority       int32
	admitted       int64
	charge         map[string]int64
}

// name is the same in every state: a step is known by its tasks, as lost ones
// below it may come back.
func (u *walkedUnit) name() string { return fmt.Sprint(u.work.ID, u.tasks) }

// compare is negative where u stands better than v (R8).
func (u *walkedUnit) compare(v *walkedUnit) int {
	flag := func(b bool) int {
		if b {
			return 0
		}
		return 1
	}
	return cmp.Or(
		cmp.Compare(flag(u.nonPreemptible), flag(v.nonPreemptible)), cmp.Compare(v.priority, u.priority),
		cmp.Compare(flag(u.step == 0), flag(v.step == 0)), cmp.Compare(u.admitted, v.admitted),
		u.work.Submitted.Compare(v.work.Submitted), cmp.Compare(u.work.ID, v.work.ID), cmp.Compare(u.step, v.step))
}

// A walker knows the lines of a pool's queues.
type walker struct {
	s         *allot.State
	pool      *allot.Pool
	resources []string         // those that are divided
	quota     map[string]int64 // LQ, by queue and resource
	share     map[string]int64 // LF
}

func lineKey(queue, resource string) string { return queue + " " + resource }

// newWalker has the lines that the oracle draws; nil where shares know no quota.
func newWalker(s *allot.State, pool *allot.Pool) *walker {
	if pool.Policy.Shares != fairshare.QuotaThenWeight {
		return nil
	}
	w := &walker{s: s, pool: pool, quota: map[string]int64{}, share: map[string]int64{}}
	for _, line := range allot.OracleLines(s, pool.ID) {
		w.quota[lineKey(line.Queue, line.Resource)] = line.Quota
		w.share[lineKey(line.Queue, line.Resource)] = line.Share
		if !slices.Contains(w.resources, line.Resource) {
			w.resources = append(w.resources, line.Resource)
		}
	}
	return w
}

// isLeaf says whether the queue is one of the pool that has none below it.
func (w *walker) isLeaf(queue *allot.Queue) bool {
	return cmp.Or(queue.Pool, w.s.Pools[0].ID) == w.pool.ID &&
		!slices.ContainsFunc(w.s.Queues, func(q allot.Queue) bool { return q.Parent == queue.ID })
}

// charge is what a task is charged of a resource.
func (w *walker) charge(request *allot.Request, r string) int64 {
	if r != allot.GPU {
		return request.Resources[r]
	}
	g := &request.GPU
	switch {
	case g.Milli > 0:
		return g.Milli * int64(max(1, g.Count))
	case g.Memory > 0:
		const memory = 4 // of every device that is drawn
		return (1000*g.Memory + memory - 1) / memory * int64(max(1, g.Count))
	}
	return 1000 * int64(g.Count)
}

// classOf is a workload's priority, higher first, and whether it is
// non-preemptible.
func classOf(w *allot.Workload, p *allot.Policy) (priority int32, nonPreemptible bool) {
	var class allot.Class
	if i := slices.IndexFunc(p.Classes, func(c allot.Class) bool { return c.Name == cmp.Or(w.Class, p.DefaultClass) }); i >= 0 {
		class = p.Classes[i]
	}
	priority, nonPreemptible = class.Priority, class.NonPreemptible
	if w.Priority != 0 && (w.Class == "" || !p.ClassBeatsPriority) {
		priority = w.Priority
		if p.NonPreemptibleFrom != 0 {
			nonPreemptible = priority >= p.NonPreemptibleFrom
		}
	}
	if w.Preemption != allot.PreemptionByClass {
		nonPreemptible = w.Preemption == allot.NonPreemptible
	}
	if p.LowerFirst {
		priority = -priority
	}
	return priority, nonPreemptible
}

// unitsOf are what a workload runs and claims, by steps; ok is false where it
// holds less than its minimum, or tasks between two steps.
func (w *walker) unitsOf(work *allot.Workload) (units []*walkedUnit, ok bool) {
	priority, nonPreemptible := classOf(work, &w.pool.Policy)
	add := func(step int) *walkedUnit {
		u := &walkedUnit{work: work, step: step, priority: priority, nonPreemptible: nonPreemptible, charge: map[string]int64{}, admitted: 1 << 62}
		units = append(units, u)
		return u
	}
	var minimum *walkedUnit
	for k := range work.PodSets {
		set := &work.PodSets[k]
		held := heldOf(work, set)
		if len(held) == 0 && minimum == nil && k == 0 {
			continue
		}
		least := cmp.Or(set.Min, set.Count)
		// Lost tasks come back below others, and then steps are made of others.
		holes := len(held) > least && held[len(held)-1].Index >= len(held)
		if len(held) < least || k > 0 && minimum == nil || !slices.Contains(rungs(set), len(held)) || holes {
			return nil, false
		}
		if minimum == nil {
			minimum = add(0)
		}
		for i, t := range held {
			u := minimum
			if step := stepOf(set, i); step > 0 {
				if u = units[len(units)-1]; u.step != step || k > 0 {
					u = add(step + 1000*k)
				}
			}
			if u != minimum {
				u.tasks = append(u.tasks, fmt.Sprint(" ", t.PodSet, t.Index))
			}
			u.admitted = min(u.admitted, t.Since.UnixMicro())
			minimum.admitted = min(minimum.admitted, u.admitted) // as old as its oldest task
			for _, r := range w.resources {
				u.charge[r] += w.charge(&set.Request, r)
			}
		}
	}
	return units, true
}

// heldOf are the tasks of a set that run or are claimed, by index.
func heldOf(work *allot.Workload, set *allot.PodSet) (held []allot.Task) {
	for _, t := range work.Tasks {
		if t.PodSet == set.Name && t.Phase != allot.Terminating {
			held = append(held, t)
		}
	}
	slices.SortFunc(held, func(a, b allot.Task) int { return cmp.Compare(a.Index, b.Index) })
	return held
}

// rungs are the numbers of tasks that a set may run, upwards (L1).
func rungs(set *allot.PodSet) (numbers []int) {
	least := cmp.Or(set.Min, set.Count)
	if set.Step == gang.ByOne {
		for n := least; n <= set.Count; n++ {
			numbers = append(numbers, n)
		}
		return numbers
	}
	for n := set.Count; n >= least; n /= 2 {
		numbers = append(numbers, n)
	}
	slices.Reverse(numbers)
	return numbers
}

// stepOf is the step above the minimum that the i-th task belongs to: 0 is the
// lowest rung.
func stepOf(set *allot.PodSet, i int) int {
	return slices.IndexFunc(rungs(set), func(n int) bool { return i < n })
}

// walk walks a leaf's units by standing.
func (w *walker) walk(leaf string, units []*walkedUnit) (quota, protected map[string]bool) {
	quota, protected = map[string]bool{}, map[string]bool{}
	sum := map[string]int64{}
	fits := func(u *walkedUnit, line map[string]int64) bool {
		for _, r := range w.resources {
			if u.charge[r] > 0 && sum[r]+u.charge[r] > line[lineKey(leaf, r)] {
				return false
			}
		}
		for _, r := range w.resources {
			sum[r] += u.charge[r]
		}
		return true
	}
	for _, u := range units {
		if fits(u, w.quota) {
			quota[u.name()], protected[u.name()] = true, true
		}
	}
	for _, u := range units {
		if !quota[u.name()] && fits(u, w.share) {
			protected[u.name()] = true
		}
	}
	return quota, protected
}

// risen asks whether the plan raises the potential, where it only starts,
// preempts and takes what is unprotected; counted says that it was asked.
func risen(s *allot.State, p *allot.Plan) (counted bool, problem string) {
	if len(p.Actions) == 0 || len(leavingTasks(s)) > 0 || slices.ContainsFunc(s.Workloads, func(w allot.Workload) bool {
		return len(w.Alternatives) > 0 || len(w.Groups) > 0
	}) {
		return false, ""
	}
	for _, a := range p.Actions {
		// Who stands behind somebody goes for that one whatever its own right (B6, B9).
		if a.Reason.Code == allot.Behind {
			return false, ""
		}
		if a.Kind == allot.Displace || a.Kind == allot.Unclaim || a.Ending.Final || a.Reason.Code == allot.StaleGang || a.Reason.Code == allot.ReservationBegan {
			return false, ""
		}
		// Between leaves a higher priority raises what this potential does not see.
		if a.Reason.Code == allot.Preempted && workloadOf(s, a.Reason.Workload).Queue != a.Queue {
			return false, ""
		}
	}
	after, err := allot.Apply(s, p)
	if err != nil {
		return false, ""
	}
	for i := range s.Pools {
		asked, fallen := poolRisen(s, after, &s.Pools[i], p)
		if !asked {
			return false, ""
		}
		counted = true
		if fallen != "" {
			return true, fallen
		}
	}
	return counted, ""
}

// poolRisen compares the potentials of one pool.
func poolRisen(s, after *allot.State, pool *allot.Pool, p *allot.Plan) (asked bool, fallen string) {
	was, is := newWalker(s, pool), newWalker(after, pool)
	if was == nil {
		return false, ""
	}
	up, down := [3]string{}, [3]string{}
	for i := range s.Queues {
		leaf := s.Queues[i].ID
		if !was.isLeaf(&s.Queues[i]) {
			continue
		}
		a, ok := was.leafUnits(leaf)
		b, okToo := is.leafUnits(leaf)
		if !ok || !okToo || takesProtected(was, leaf, a, b, p) {
			return false, ""
		}
		all := slices.Clone(a)
		for _, u := range b {
			if !slices.ContainsFunc(a, func(v *walkedUnit) bool { return v.name() == u.name() }) {
				all = append(all, u)
			}
		}
		slices.SortFunc(all, (*walkedUnit).compare)
		bitsWere, bitsAre := was.bits(leaf, a), is.bits(leaf, b)
		for kind := range bitsWere {
			for _, u := range all {
				had, has := bitsWere[kind][u.name()], bitsAre[kind][u.name()]
				if had && !has {
					down[kind] = leaf + " of " + u.name()
				}
				if has && !had {
					up[kind] = leaf
				}
				if has != had {
					break
				}
			}
		}
	}
	for kind, name := range [...]string{"quota-protected", "protected", "running"} {
		if down[kind] != "" {
			return true, fmt.Sprintf("the potential falls: %s in %s", name, down[kind])
		}
		if up[kind] != "" {
			return true, ""
		}
	}
	return true, ""
}

// leafUnits are the units of a leaf, by standing.
func (w *walker) leafUnits(leaf string) (units []*walkedUnit, ok bool) {
	for i := range w.s.Workloads {
		if work := &w.s.Workloads[i]; work.Queue == leaf {
			more, ok := w.unitsOf(work)
			if !ok {
				return nil, false
			}
			units = append(units, more...)
		}
	}
	slices.SortFunc(units, (*walkedUnit).compare)
	return units, true
}

// bits are quota-protected, protected and running, by unit.
func (w *walker) bits(leaf string, units []*walkedUnit) [3]map[string]bool {
	byQuota, protected := w.walk(leaf, units)
	runs := make(map[string]bool)
	for _, u := range units {
		runs[u.name()] = true
	}
	return [3]map[string]bool{byQuota, protected, runs}
}

// takesProtected says that a reclaim takes protected work of the leaf, as its
// excess, or that it goes for what stays within the leaf's line (E7), or has come back beside that. Where there are
// several beneficiaries a plan does not tell which of them took what, only for whom it went in the end.
func takesProtected(w *walker, leaf string, before, after []*walkedUnit, p *allot.Plan) bool {
	byQuota, protected := w.walk(leaf, before)
	waiters := make(map[string]bool)
	for _, a := range p.Actions {
		if len(a.After) > 0 {
			waiters[a.Workload] = true
		}
	}
	if w.outprotected(leaf, before, after, protected) && slices.ContainsFunc(p.Actions, func(a allot.Action) bool { return hurts(a) && a.Reason.Code != allot.Preempted }) {
		return true
	}
	if slices.ContainsFunc(p.Actions, func(a allot.Action) bool { return hurts(a) && w.outpreempted(leaf, before, after, a.Reason) }) {
		return true
	}
	for _, u := range before {
		if slices.ContainsFunc(after, func(v *walkedUnit) bool { return v.name() == u.name() }) {
			continue
		}
		for _, a := range p.Actions {
			if a.Workload != u.work.ID || !hurts(a) {
				continue
			}
			if len(waiters) > 1 && protected[u.name()] || protected[u.name()] && a.Reason.Code == allot.Preempted && w.staysWithin(leaf, before, after, a.Reason.Workload) ||
				a.Reason.Code == allot.ReclaimedByQuota && byQuota[u.name()] || a.Reason.Code == allot.ReclaimedByShare && protected[u.name()] {
				return true
			}
		}
	}
	return false
}

// outpreempted says whether what was reclaimed went, for the quota of one workload, to another of this leaf that preempts
// that one within the leaf's line and is not itself within its quota. E7 lets it take what is better protected, of what runs
// and of what has just started alike.
func (w *walker) outpreempted(leaf string, before, after []*walkedUnit, why allot.Reason) bool {
	byQuota, _ := w.walk(leaf, after)
	last := walkedUnit{work: &allot.Workload{ID: why.Workload}}
	preempts := slices.ContainsFunc(why.Chain, func(taker allot.Taker) bool { return taker.Code == allot.Preempted })
	return preempts && !byQuota[last.name()] && w.staysWithin(leaf, before, after, why.Workload)
}

// outprotected says whether what the plan has started in the leaf is unprotected for nothing but units of lower
// priority that ran, were protected and run still. E7 and R11 judge a right with such units gone; where something is left
// for them they come back to it in the end, also beyond the lines (M9, Q4), and as the walk goes by LQ first (R8) they may
// be protected before that for which they went. So what was reclaimed for it was taken by right, and yet the potential
// falls: of all that is known to make it fall this alone is no error, and nothing else is left out here.
func (w *walker) outprotected(leaf string, before, after []*walkedUnit, were map[string]bool) bool {
	ran := func(u *walkedUnit) bool {
		return slices.ContainsFunc(before, func(v *walkedUnit) bool { return v.name() == u.name() })
	}
	_, protected := w.walk(leaf, after)
	return slices.ContainsFunc(after, func(b *walkedUnit) bool {
		if ran(b) || protected[b.name()] {
			return false
		}
		without := slices.DeleteFunc(slices.Clone(after), func(u *walkedUnit) bool {
			return !u.nonPreemptible && u.priority < b.priority &&
				slices.ContainsFunc(before, func(v *walkedUnit) bool { return v.work.ID == u.work.ID && were[v.name()] })
		})
		_, alone := w.walk(leaf, without)
		return alone[b.name()]
	})
}

// staysWithin says whether the leaf, as far as it ran before or is the
// preemptor's, stays within LF in what that asks. Who is of lower priority may have gone
// and come back since, in what is free.
func (w *walker) staysWithin(leaf string, before, after []*walkedUnit, preemptor string) bool {
	at := slices.IndexFunc(after, func(u *walkedUnit) bool { return u.work.ID == preemptor })
	if at < 0 {
		return false
	}
	sums, asked := make(map[string]int64), make(map[string]bool)
	for _, u := range after {
		own := u.work.ID == preemptor && u.step == 0 // what is above a minimum never preempts
		ran := slices.ContainsFunc(before, func(v *walkedUnit) bool { return v.name() == u.name() })
		if !own && (!ran || !u.nonPreemptible && u.priority < after[at].priority) {
			continue
		}
		for _, r := range w.resources {
			sums[r] += u.charge[r]
			asked[r] = asked[r] || own && u.charge[r] > 0
		}
	}
	return !slices.ContainsFunc(w.resources, func(r string) bool { return asked[r] && sums[r] > w.share[lineKey(leaf, r)] })
}

// R8, R9, E7: starts, preemption and the taking of unprotected units raise the
// potential, so that no chain of them comes back to where it was.
func TestR8Potential(t *testing.T) {
	total := newStabilityStats()
	failures := inParallel(deep.New(t, 1200), (*stabilityStats).seeds, func(seed uint64, stats *stabilityStats) *failure {
		s := plainDense(seed)
		p, err := allot.Solve(s)
		if err != nil {
			return &failure{s, schedule{}, "the beginning", &restError{kind: "solve", text: err.Error()}}
		}
		stats.decision(s, p)
		counted, fallen := risen(s, p)
		if counted && slices.ContainsFunc(p.Actions, hurts) {
			stats.features["potential asked of evictions"]++
		}
		if fallen != "" {
			return &failure{s, schedule{mode: applies}, "the beginning", &restError{kind: "potential", text: fallen}}
		}
		return nil
	}, total)
	for _, f := range failures {
		t.Error(f.report())
	}
	if got := total.features["potential asked of evictions"]; got*100 < 5*total.decisions && len(failures) == 0 && !testing.Short() {
		t.Errorf("asked of %d evictions in %d plans", got, total.decisions)
	}
}

// plainDense is a dense state of which the walk knows everything.
func plainDense(seed uint64) *allot.State {
	s := denseState(seed)
	for i := range s.Workloads {
		w := &s.Workloads[i]
		w.Alternatives, w.Groups = nil, nil
		for k := range w.PodSets {
			w.PodSets[k].Group, w.PodSets[k].Missing = "", 0
		}
		w.Tasks = slices.DeleteFunc(w.Tasks, func(t allot.Task) bool { return t.Phase != allot.Running })
		w.Ending = false
	}
	for i := range s.Queues {
		for k := range s.Queues[i].Resources {
			if r := &s.Queues[i].Resources[k]; r.Quota.IsUnlimited() {
				r.Quota = quota.Of(2 * unit)
			}
		}
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		n.Lost, n.Cordoned = false, false
		for k := range n.Devices {
			n.Devices[k].Unhealthy = false
		}
	}
	for i := range s.Pools {
		p := &s.Pools[i].Policy
		p.Shares, p.StaleGangGrace, p.ExitActions = 0, quota.Bound{}, nil
	}
	s.Budgets = nil
	return s
}
