package sim

import (
	"cmp"
	"slices"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
)

// carryOut carries out the actions for which keep is true, all of them if it is
// nil. Some more may fail by chance. Then it takes in what the plan says of who waits: also of
// those who do since they were told to go.
func (e *engine) carryOut(f *flight, keep []bool) error {
	plan := f.plan
	failed := make(map[string]bool) // workloads that keep places which the plan wanted
	missed := false
	clear(e.stood)
	for i := range plan.Actions {
		a := &plan.Actions[i]
		if keep != nil && !keep[i] || e.fails(a, failed) {
			failed[a.Workload] = true
			missed = true
			continue
		}
		e.action(a)
	}
	if missed {
		e.wakeAt(e.now + retryAfter)
	}
	e.promises.keep(e, plan, failed)
	if f.explains {
		e.meter.explain(e, plan)
	}
	if e.options.Check {
		return e.invariants(plan)
	}
	return nil
}

// fails says whether an action is not carried out: by chance, or because of one
// that was not.
func (e *engine) fails(a *allot.Action, failed map[string]bool) bool {
	if failed[a.Workload] || slices.ContainsFunc(a.After, func(id string) bool { return failed[id] }) {
		return true
	}
	return a.Kind != allot.Displace && a.Kind != allot.Unclaim && e.dice.chance(e.options.Drop, 1000)
}

// action carries out one action of a plan, as [allot.Begin] says, and what takes
// no time at once, as [allot.Apply] says.
func (e *engine) action(a *allot.Action) {
	j := e.byID[a.Workload]
	w := e.workload(j)
	claimed := e.occupied(a) || a.Kind == allot.Move && j.costs(e).Grace > 0
	e.note(Event{Kind: ActionEvent, Job: a.Workload, Action: a, Claimed: claimed})
	phase := allot.Running
	if claimed {
		phase = allot.Claimed
	}
	switch a.Kind {
	case allot.Start, allot.Resize:
		e.place(j, a, phase)
		if claimed {
			e.meter.told(j, UntilFree)
		}
	case allot.Displace, allot.Unclaim:
		if a.Kind == allot.Displace {
			w.WaitingSince = e.instant()
		}
		e.filter(j, func(k int) bool { return !named(a.Tasks, &w.Tasks[k], a.Kind == allot.Unclaim) })
	case allot.Shrink:
		j.result.Shrinks++
		takeAway(e, j, a.Tasks, j.costs(e).Grace)
	case allot.Evict:
		e.evict(j, a)
		return
	case allot.Move:
		e.move(j, a, phase)
	}
	e.settle(j)
}

// named says whether the task is in the list, as a claim or as one that holds its
// place.
func named(list []allot.Placement, t *allot.Task, claimed bool) bool {
	return (t.Phase == allot.Claimed) == claimed && slices.ContainsFunc(list, func(p allot.Placement) bool {
		return p.PodSet == t.PodSet && p.Index == t.Index && p.Node == t.Node
	})
}

// place gives tasks their places, or claims them.
func (e *engine) place(j *job, a *allot.Action, phase allot.Phase) {
	w := e.workload(j)
	goesOn := len(a.After) > 0 && w.Form == a.Form
	w.Form = a.Form
	for i := range a.Tasks {
		p := &a.Tasks[i]
		if k := slices.IndexFunc(w.Tasks, func(t allot.Task) bool {
			return t.Phase == allot.Claimed && t.PodSet == p.PodSet && t.Index == p.Index
		}); k >= 0 {
			w.Tasks[k].Behind = cmp.Or(a.Behind, w.Tasks[k].Behind)
			w.Tasks[k].Phase = phase // its Since is when it claimed
			if phase == allot.Running {
				starts(&w.Tasks[k], e.instant())
			}
			continue
		}
		t := allot.Task{PodSet: p.PodSet, Index: p.Index, Phase: phase, Node: p.Node, Devices: p.Devices, Since: e.instant(), Until: a.Until, Behind: a.Behind}
		if goesOn {
			asBefore(e.stood[j.index], &t, e.instant())
		}
		e.addTask(j, t)
	}
	if phase == allot.Running {
		w.WaitingSince = time.Time{}
	}
	if start := j.costs(e).Start; phase == allot.Running && start > 0 && j.runs() {
		e.join(j, a.Tasks, after(e.now, start))
	}
}

// asBefore has a task be since when it was, if it is among those that stood: which the plan at hand
// has told to go so that others can move, and places anew (M11): a move keeps when a task was placed (R8, B1).
func asBefore(stood []allot.Task, t *allot.Task, now time.Time) {
	k := slices.IndexFunc(stood, func(was allot.Task) bool { return was.PodSet == t.PodSet && was.Index == t.Index })
	if k < 0 {
		return
	}
	t.Since, t.Started = stood[k].Since, stood[k].Started
	if t.Started.IsZero() {
		t.Started = cmp.Or(t.Since, time.Unix(0, 0).UTC())
	}
	if t.Phase == allot.Running {
		starts(t, now)
	}
}

// starts says from when a task runs that had claimed its place: from now on, but what moves
// goes on. That it is since it has the place goes without saying.
func starts(t *allot.Task, now time.Time) {
	if t.Started.IsZero() {
		t.Started = now
	}
	if t.Started.Equal(t.Since) || t.Since.IsZero() && t.Started.Unix() == 0 {
		t.Started = time.Time{}
	}
}

// join has tasks that come to a run that has begun take their time to start.
func (e *engine) join(j *job, tasks []allot.Placement, at time.Duration) {
	if j.joins == nil {
		j.joins = make(map[taskName]time.Duration)
	}
	for i := range tasks {
		j.joins[taskName{tasks[i].PodSet, tasks[i].Index}] = at
	}
	e.calendar.add(event{at: at, class: joined, index: j.index, epoch: uint64(j.result.Starts)})
}

func (e *engine) addTask(j *job, t allot.Task) {
	w := e.workload(j)
	w.Tasks = append(w.Tasks, t)
	if j.leave != nil {
		j.leave = append(j.leave, 0)
	}
}

// occupied says whether somebody whom the action waits for is still leaving one of
// its nodes, or its own workload is still leaving any: it cannot run anew before it
// has left (S5).
func (e *engine) occupied(a *allot.Action) bool {
	for _, id := range a.After {
		other := e.byID[id]
		if other == nil {
			continue
		}
		for k := range e.workload(other).Tasks {
			t := &e.workload(other).Tasks[k]
			if t.Phase == allot.Terminating && (id == a.Workload || slices.ContainsFunc(a.Tasks, func(p allot.Placement) bool { return p.Node == t.Node })) {
				return true
			}
		}
	}
	return false
}

// release lets running tasks leave, at once if there is no grace.
func (e *engine) release(j *job, list []allot.Placement, grace time.Duration) {
	w := e.workload(j)
	if grace == 0 {
		e.filter(j, func(k int) bool { return w.Tasks[k].Phase != allot.Running || !named(list, &w.Tasks[k], false) })
		return
	}
	for k := range w.Tasks {
		if w.Tasks[k].Phase == allot.Running && named(list, &w.Tasks[k], false) {
			e.leaves(j, k, grace)
		}
	}
}

// takeAway lets running tasks leave, and notes where they stood: the plan may place them anew.
func takeAway(e *engine, j *job, list []allot.Placement, grace time.Duration) {
	for _, t := range e.workload(j).Tasks {
		if t.Phase == allot.Running && named(list, &t, false) {
			e.stood[j.index] = append(e.stood[j.index], t)
		}
	}
	e.release(j, list, grace)
}

// grace is how long tasks that an action tells to go take for it: where they save first, that too.
func (e *engine) grace(j *job, a *allot.Action) time.Duration {
	c := j.costs(e)
	if a.Kind == allot.Evict && a.Ending.Checkpoint && c.Loses && j.runs() {
		return after(c.Grace, c.Save)
	}
	return c.Grace
}

// evict lets a job leave. It waits again, or has failed.
func (e *engine) evict(j *job, a *allot.Action) {
	w, grace := e.workload(j), e.grace(j, a)
	if j.runs() {
		e.stop(j, a.Ending.Checkpoint)
	}
	j.result.Evictions++
	w.WaitingSince = e.instant()
	if a.Ending.Final {
		e.end(j, Preempted, grace)
		return
	}
	if w.Retries.Given() && !w.Retries.IsUnlimited() {
		w.Retries = quota.Of(w.Retries.Amount() - 1)
	}
	e.filter(j, func(k int) bool { return w.Tasks[k].Phase != allot.Claimed })
	takeAway(e, j, a.Tasks, grace)
	e.settle(j)
}

// move lets tasks leave their places and claim others. Where nothing takes time and
// nothing is lost they are there at once.
func (e *engine) move(j *job, a *allot.Action, phase allot.Phase) {
	c := j.costs(e)
	j.result.Moves++
	if j.runs() && !c.free() {
		e.stop(j, false)
	}
	w := e.workload(j)
	var since []allot.Task
	for i := range a.From {
		for k := range w.Tasks {
			if named(a.From[i:i+1], &w.Tasks[k], false) && w.Tasks[k].Phase == allot.Running {
				since = append(since, w.Tasks[k])
			}
		}
	}
	e.release(j, a.From, c.Grace)
	for i := range a.Tasks {
		p := &a.Tasks[i]
		t := allot.Task{PodSet: p.PodSet, Index: p.Index, Phase: phase, Node: p.Node, Devices: p.Devices, Since: e.instant(), Behind: a.Behind}
		if i < len(since) {
			t.Since, t.Started, t.Until = since[i].Since, since[i].Started, since[i].Until
			if phase == allot.Claimed && t.Started.IsZero() {
				t.Started = cmp.Or(t.Since, time.Unix(0, 0).UTC()) // it goes on there
			}
		}
		e.addTask(j, t)
	}
}
