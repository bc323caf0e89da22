package verify

import (
	"cmp"
	"slices"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/quota"
)

// entitles says whether the code is that of a right of one workload to what
// another holds.
func entitles(c allot.Code) bool {
	return c == allot.ReclaimedByQuota || c == allot.ReclaimedByShare || c == allot.Preempted || c == allot.Behind
}

// takes says whether an action of the kind may take something for a reason of
// this code, for another. What only moves may be told as going and starting.
func takes(c allot.Code, k allot.ActionKind, restarts bool) bool {
	switch k {
	case allot.Evict, allot.Shrink:
		return entitles(c) || c == allot.Consolidated && restarts
	case allot.Move, allot.Unclaim: // a claim that is moved is given up here and starts elsewhere
		return entitles(c) || c == allot.Consolidated
	}
	return false
}

// victim checks that a workload may be disturbed at all, for any preemptor, and
// keeps the action for [verifier.judge].
func (v *verifier) victim(at spot, a *allot.Action, w *verifiedWorkload) {
	if w.admitted == nil {
		w.admitted = v.admissions(w)
	}
	w.disturbed = w.disturbed || a.Kind != allot.Move && a.Reason.Code != allot.Consolidated
	f := &w.forms[w.form]
	switch code := a.Reason.Code; {
	case code == allot.StaleGang && (a.Kind == allot.Evict || a.Kind == allot.Shrink || a.Kind == allot.Move || a.Kind == allot.Unclaim):
		v.stale(at, a, w)
		return
	case code == allot.ReservationBegan && (a.Kind == allot.Evict || a.Kind == allot.Shrink || a.Kind == allot.Move || a.Kind == allot.Unclaim):
		reserving{v}.vacated(at, a, w)
		return
	case takes(code, a.Kind, v.restarts[a.Workload]):
	default:
		v.failAt(at, ruleActionReason, "%d is no code of a reason for this", code)
		return
	}
	if f.nonPreemptible {
		v.failAt(at, ruleVictim, "%q is non-preemptible", a.Workload)
	}
	if a.Reason.Code != allot.Behind { // it knew (B9)
		v.runtimeOver(at, a, w)
	}
	if p := f.queue.pool; a.Kind != allot.Unclaim {
		p.disturbed[a.Workload] = true
		if limit := p.policy.MaxEvictions; limit > 0 && len(p.disturbed) > limit {
			v.failAt(at, ruleBudget, "%d workloads of pool %q are disturbed, cap %d", len(p.disturbed), p.id, limit)
		}
	}
	v.room.victims = append(v.room.victims, verifiedVictim{at, a, w, f.queue, placesOf(v, f, a), v.chargesOf(w, f, a)})
}

// placesOf are the places that an action takes away, as far as they exist: the others are told elsewhere.
func placesOf(v *verifier, f *verifiedForm, a *allot.Action) []allot.Placement {
	places := a.Tasks
	if a.Kind == allot.Move {
		places = a.From
	}
	return slices.DeleteFunc(slices.Clone(places), func(place allot.Placement) bool {
		node := v.nodes[place.Node]
		return f.set(place.PodSet) < 0 || node == nil || slices.ContainsFunc(place.Devices, func(d int) bool { return d < 0 || d >= len(node.devices) })
	})
}

// chargesOf is what the tasks of an action are charged where they run. Where they hold nothing
// of what the reason tells, it is what all of the minimum is charged: a unit makes way as one,
// what is above it goes with it, and a victim that is given another place may have parts of its
// own (M4, M6).
func (v *verifier) chargesOf(w *verifiedWorkload, f *verifiedForm, a *allot.Action) (list []verifiedCharge) {
	told := verifiedKey{a.Reason.Resource, a.Reason.Class}
	if list = chargesAt(v, f, placesOf(v, f, a)); a.Reason.Subtrees == nil || amountIn(list, told) > 0 {
		return list
	}
	var minimum []allot.Placement
	for _, t := range w.source.Tasks {
		_, above := w.admitted.above[taskName{a.Workload, t.PodSet, t.Index}]
		moves := slices.ContainsFunc(a.From, func(p allot.Placement) bool { return p.PodSet == t.PodSet && p.Index == t.Index })
		if above && moves {
			return list
		}
		if !above && t.Phase != allot.Terminating {
			minimum = append(minimum, allot.Placement{PodSet: t.PodSet, Index: t.Index, Node: t.Node, Devices: t.Devices})
		}
	}
	return chargesAt(v, f, minimum)
}

// goesWithMinimum checks that what is told by what the minimum holds goes with it (M6): something
// of that has left as well. What moves or is claimed may have parts that come back.
func goesWithMinimum(v *verifier, x *verifiedVictim) {
	a, told := x.action, verifiedKey{x.action.Reason.Resource, x.action.Reason.Class}
	if a.Kind != allot.Shrink && a.Kind != allot.Evict || amountIn(x.charged, told) == 0 || amountIn(chargesAt(v, &x.source.forms[a.Form], x.places), told) > 0 {
		return
	}
	for _, t := range x.source.source.Tasks {
		name := taskName{a.Workload, t.PodSet, t.Index}
		if _, above := x.source.admitted.above[name]; above || t.Phase == allot.Terminating {
			continue
		}
		if now := v.tasks[name]; now.node != t.Node || !sameDevices(now.devices, t.Devices) {
			return
		}
	}
	v.failAt(x.at, ruleOver, "%q holds no %s where it goes", a.Workload, told.resource)
}

// chargesAt is what tasks are charged in some places.
func chargesAt(v *verifier, f *verifiedForm, places []allot.Placement) (list []verifiedCharge) {
	for _, place := range places {
		list = mergeCharges(list, charges(&f.PodSets[f.set(place.PodSet)].Request, f.queue.pool, v.nodes[place.Node], place.Devices))
	}
	return list
}

// runtimeOver checks that what the action disturbs has run for its minimum
// (M1). What is only claimed has not run, and nothing keeps it.
func (v *verifier) runtimeOver(at spot, a *allot.Action, w *verifiedWorkload) {
	code := a.Reason.Code
	runtime := w.forms[w.form].queue.minRuntime(code == allot.ReclaimedByQuota || code == allot.ReclaimedByShare)
	if a.Kind == allot.Unclaim || runtime.Amount() == 0 {
		return
	}
	for _, place := range a.Tasks {
		since, alone := w.admitted.above[taskName{a.Workload, place.PodSet, place.Index}]
		if !alone {
			since = w.admitted.minimum
		}
		if !v.lasted(since, runtime) {
			v.failAt(at, ruleVictim, "task %d of pod set %q of %q has not run for %s seconds",
				place.Index, place.PodSet, a.Workload, runtime)
			return
		}
	}
}

// minRuntime is how long what runs in the queue is left alone, by the queue or
// the nearest above it that says so, else by the policy.
func (q *verifiedQueue) minRuntime(reclaim bool) quota.Bound {
	pick := func(m allot.MinRuntime) quota.Bound {
		if reclaim {
			return m.Reclaim
		}
		return m.Preempt
	}
	for up := q; up != nil; up = up.parent {
		if b := pick(up.runtime); b.Given() {
			return b
		}
	}
	return pick(q.pool.policy.MinRuntime)
}

// A verifiedAdmission is when the units of a workload were given their places:
// the minimum, and each task above it.
type verifiedAdmission struct {
	minimum int64 // microseconds since 1970, as those above
	above   map[taskName]int64
}

// admissions are those of what w holds before anything is taken from it. Of a
// minimum the earliest task counts, of whatever index, as a failed one that was replaced makes
// the others no younger, nor is it the minimum because it has the lowest. Where units above are more than a task they count with
// the minimum, and so does all that a workload holds that is below its own.
func (v *verifier) admissions(w *verifiedWorkload) *verifiedAdmission {
	f := &w.forms[w.form]
	tasks := slices.DeleteFunc(slices.Clone(w.source.Tasks), func(t allot.Task) bool {
		return t.Phase == allot.Terminating || v.tasks[taskName{w.source.ID, t.PodSet, t.Index}].node != t.Node
	})
	slices.SortFunc(tasks, func(a, b allot.Task) int {
		return cmp.Or(strings.Compare(a.PodSet, b.PodSet), cmp.Compare(a.Index, b.Index))
	})
	out := &verifiedAdmission{above: make(map[taskName]int64)}
	whole := w.atMinimum(heldTasks)
	known, below := false, 0
	for i, t := range tasks {
		ps := &f.PodSets[f.set(t.PodSet)]
		if below++; i == 0 || tasks[i-1].PodSet != t.PodSet {
			below = 0
		}
		if whole && below >= cmp.Or(ps.Min, ps.Count) && ps.Step == gang.ByOne && len(f.Groups) == 0 {
			out.above[taskName{w.source.ID, t.PodSet, t.Index}] = micros(t.Since)
		}
		if since := micros(t.Since); !known || since < out.minimum {
			out.minimum, known = since, true
		}
	}
	return out
}

// lasted says whether the seconds have passed since then. What has no time
// began before all times.
func (v *verifier) lasted(since int64, seconds quota.Bound) bool {
	now := micros(v.state.Now)
	switch {
	case seconds.IsUnlimited():
		return false
	case since < 0, seconds.Amount() == 0:
		return true
	case now < 0:
		return false
	}
	return now >= since && (now-since)/aSecond >= seconds.Amount()
}

// withinBudget checks, after so many running tasks of the workload have been
// disturbed, that enough of its owner's are left alone (M7). What is left of a
// stale gang goes by G1.
func (v *verifier) withinBudget(at spot, a *allot.Action, w *verifiedWorkload, tasks int) {
	owner, pool := w.source.Owner, w.forms[w.form].queue.pool
	pool.running[owner] -= tasks
	if tasks == 0 || owner == "" || a.Reason.Code == allot.StaleGang || a.Reason.Code == allot.ReservationBegan {
		return
	}
	for _, b := range v.budgets[owner] {
		if pool.running[owner] < b.MinRunning {
			v.failAt(at, ruleBudget, "%d tasks of owner %q would run on, at least %d must", pool.running[owner], owner, b.MinRunning)
		}
	}
}

// evicted checks that nothing of w is left running and that it ends as the
// policy and the exit actions say (S6).
func (v *verifier) evicted(at spot, a *allot.Action, w *verifiedWorkload) {
	if left := w.total().running; left > 0 {
		v.failAt(at, ruleElastic, "%d tasks of %q run on, and an eviction takes all", left, a.Workload)
	}
	p := w.forms[w.form].queue.pool
	want := allot.Ending{Status: p.policy.PreemptedStatus, ExitCode: p.policy.PreemptedExitCode, Checkpoint: p.policy.CheckpointOnEviction}
	retries := w.source.Retries
	want.Final = !v.restarts[a.Workload] && (retries.Given() && retries.Amount() == 0 || w.exit(p.policy) == allot.Fail)
	if a.Ending != want {
		v.failAt(at, ruleEnding, "%q ends as %+v, it should as %+v", a.Workload, a.Ending, want)
	}
	if a.Ending.Final {
		w.ended, p.ends = true, true
	} else if _, impossible := toldImpossible(v, w, w.form); impossible { // its demand has gone with it (F1)
		p.ends = true
	}
}

// exit is what follows an eviction of w: what it says itself, else the policy,
// else it waits again.
func (w *verifiedWorkload) exit(p *allot.Policy) allot.Exit {
	for _, list := range [...][]allot.ExitAction{w.source.ExitActions, p.ExitActions} {
		for _, e := range list {
			if e.Code == p.PreemptedExitCode {
				return e.Action
			}
		}
	}
	return allot.Reschedule
}

// shrunk checks, after a Shrink has taken tasks, that they were above the
// minimum, the last of their pod sets by index, but for those on what people have reserved (B9), and leave a lawful
// number (M6, L1).
// A workload that was below its minimum already may lose tasks of one pod set
// that has more than its own minimum.
func (v *verifier) shrunk(at spot, w *verifiedWorkload, tasks []plannedTask, whole bool) {
	if v.restarts[w.source.ID] {
		return // it is judged by what starts
	}
	if whole && !w.atMinimum(heldTasks) {
		v.failAt(at, ruleElastic, "%q is shrunk below its minimum", w.source.ID)
	}
	first := make(map[string]int) // taken, by pod set
	for _, taken := range tasks {
		if least, known := first[taken.name.podSet]; !known || taken.name.index < least {
			first[taken.name.podSet] = taken.name.index
		}
	}
	for _, t := range w.source.Tasks {
		if v.tasks[taskName{w.source.ID, t.PodSet, t.Index}].node == "" || t.Phase != allot.Running {
			continue
		}
		if least, known := first[t.PodSet]; !known || least > t.Index {
			continue // as it should be
		}
		for _, taken := range tasks {
			if taken.name.podSet == t.PodSet && taken.name.index < t.Index && !(reserving{v}).wasReserved(w, taken.name) {
				v.failAt(taken.at, ruleElastic, "the task goes before task %d", t.Index)
			}
		}
	}
	for i, ps := range w.forms[w.form].PodSets {
		if ladder := ladderOf(&ps); w.places > 0 && ladder != nil && !slices.Contains(ladder, heldTasks(w.counts[i])) {
			v.failAt(at, ruleLadder, "%q is shrunk to %d tasks, which is none of %d", w.source.ID, heldTasks(w.counts[i]), ladder)
		}
	}
}

// stale checks the eviction of what is left of a gang that has run below its
// minimum for too long (G1), of whatever kind it is.
func (v *verifier) stale(at spot, a *allot.Action, w *verifiedWorkload) {
	f := &w.forms[w.form]
	switch grace := f.queue.pool.policy.StaleGangGrace; {
	case w.atMinimum(runningTasks):
		v.failAt(at, ruleGang, "%q runs at its minimum", a.Workload)
	case !grace.Given():
		v.failAt(at, ruleGang, "a gang may run below its minimum for ever")
	case !v.partialFor(w, grace):
		v.failAt(at, ruleGang, "%q has not run below its minimum for %s seconds", a.Workload, grace)
	case a.Kind == allot.Unclaim && slices.ContainsFunc(a.Tasks, func(t allot.Placement) bool { return !begunIn(w, taskName{a.Workload, t.PodSet, t.Index}) }):
		v.failAt(at, ruleGang, "%q gives up claims of what has not run", a.Workload)
	}
	if len(f.PodSets) > 1 || w.places == 0 {
		return
	}
	w.stale = max(w.stale, int64(w.counts[0].running)) // before the first of its actions
	have, need := w.stale, int64(cmp.Or(f.PodSets[0].Min, f.PodSets[0].Count))
	if lowest := int64(lowestOf(&f.PodSets[0])); a.Reason.Need == lowest {
		need = lowest // on a ladder that is what runs together
	}
	if a.Reason.Have != have || a.Reason.Need != need {
		v.failAt(at, ruleActionReason, "%d of %d tasks run, not %d of %d", have, need, a.Reason.Have, a.Reason.Need)
	}
}

// partialFor says whether w has run below its minimum for so many seconds. What
// has no time does so only since now.
func (v *verifier) partialFor(w *verifiedWorkload, seconds quota.Bound) bool {
	if w.source.PartialSince.IsZero() {
		return seconds.Amount() == 0
	}
	return v.lasted(micros(w.source.PartialSince), seconds)
}

// leftPartial checks that what another was entitled to went whole (M6), and
// that no gang stays below its minimum for longer than it may (G1). It may
// where its owner's budget keeps its tasks (M7).
func (v *verifier) leftPartial(w *verifiedWorkload) {
	sum := w.total()
	if sum.running+sum.claimed == 0 || w.atMinimum(heldTasks) || v.strayed(w) && !w.disturbed {
		return
	}
	if w.disturbed {
		v.fail("actions", ruleElastic, "%q is left below its minimum", w.source.ID)
	}
	grace := w.forms[w.form].queue.pool.policy.StaleGangGrace
	if grace.Given() && !grace.IsUnlimited() && sum.terminating == 0 && w.source.Owner == "" &&
		!w.source.PartialSince.IsZero() && v.lasted(micros(w.source.PartialSince), quota.Of(grace.Amount()+1)) {
		v.fail("actions", ruleGang, "%q has run below its minimum for more than %s seconds", w.source.ID, grace)
	}
}
