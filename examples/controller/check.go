package main

import (
	"fmt"
	"slices"

	"github.com/allotsched/allot"
)

// What must be true of a world at rest, when nothing goes wrong any more and
// nothing happens. (What must never be, the cluster itself looks for.)

// unsound lists what is wrong.
func (w *world) unsound() (problems []string) {
	wrong := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	r, err := w.store.Read()
	if err != nil {
		return append(problems, err.Error())
	}
	// The record is true: what it says runs, runs, and nothing else does.
	runs := make(map[int64]bool)
	for _, p := range w.cluster.live {
		runs[p.Number] = true
		if p.status != running {
			wrong("%v is still leaving", p.attempt)
		}
	}
	for i := range r.Attempts {
		a := &r.Attempts[i]
		if t := r.task(a); t == nil || t.Phase != allot.Running {
			wrong("%v is recorded, but should not run", a)
		}
		if !runs[a.Number] {
			wrong("%v should run", a)
		}
		delete(runs, a.Number)
	}
	if len(runs) > 0 {
		wrong("%d attempts run that nobody recorded", len(runs))
	}
	for i := range r.State.Workloads {
		problems = append(problems, restless(&r.State.Workloads[i])...)
		if r.startable(&r.State.Workloads[i]) {
			wrong("%s could run", r.State.Workloads[i].ID)
		}
	}
	problems = append(problems, w.unaccounted(r)...)
	// And Allot finds nothing to do.
	plan, err := w.solve(r.State)
	if err != nil {
		wrong("%v", err)
	} else if len(plan.Actions) > 0 {
		wrong("still to do:\n%s", (&allot.Plan{Actions: plan.Actions}).String())
	}
	return problems
}

// restless lists what of a workload is not at rest: no claim and no end is to
// be waited for, and a gang runs or does not.
func restless(w *allot.Workload) (problems []string) {
	for _, t := range w.Tasks {
		if t.Phase != allot.Running {
			problems = append(problems, fmt.Sprintf("%s[%d] is %v", w.ID, t.Index, t.Phase))
		}
	}
	if n := len(w.Tasks); n > 0 && n < w.PodSets[0].Min {
		problems = append(problems, fmt.Sprintf("%s is half placed: %d of %d", w.ID, n, w.PodSets[0].Min))
	}
	return problems
}

// startable says whether a waiting workload might run in what is free: nothing
// but room keeps preemptible work waiting. It knows the world of the story
// alone: one pod set each, and no limits.
func (r *record) startable(w *allot.Workload) bool {
	set := w.PodSets[0]
	guaranteed := slices.ContainsFunc(r.State.Pools[0].Policy.Classes, func(c allot.Class) bool {
		return c.Name == w.Class && c.NonPreemptible
	})
	if len(w.Tasks) > 0 || guaranteed {
		return false
	}
	places := 0
	for _, n := range r.State.Nodes {
		free := len(n.Devices)
		for _, other := range r.State.Workloads {
			for _, t := range other.Tasks {
				if t.Node == n.ID {
					free -= len(t.Devices)
				}
			}
		}
		places += max(0, free) / set.Request.GPU.Count
	}
	return places >= set.Min
}

// unaccounted lists the workloads that got lost: each waits, runs, has done its
// work, was ended by its user, or failed as the policy has it.
func (w *world) unaccounted(r *record) (problems []string) {
	over := make(map[string]bool)
	for _, p := range w.cluster.attempts { // a set: order cannot matter
		if p.exit == done || p.Ending.Final {
			over[p.Workload] = true
		}
	}
	for _, id := range w.submitted {
		here := slices.ContainsFunc(r.State.Workloads, func(k allot.Workload) bool { return k.ID == id })
		if gone := over[id] || w.ended[id]; here == gone {
			problems = append(problems, fmt.Sprintf("%s: recorded is %v, over is %v", id, here, gone))
		}
	}
	return problems
}
