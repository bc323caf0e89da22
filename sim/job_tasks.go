package sim

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/allotsched/allot"
)

// A holding is what a job's tasks hold, in milli-GPU.
type holding struct {
	// held is all of it; leaving are the tasks that were told to go, joining those that
	// have not started yet in a run that has, kept those on cordoned nodes. charged is
	// what quotas are charged, which differs where memory is asked for.
	held, leaving, joining, kept, charged int64
}

// busy is what the tasks hold that do what their job does.
func (h *holding) busy() int64 { return h.held - h.leaving - h.joining }

// holding counts what the job's tasks hold now, and how many of them run and work.
func (e *engine) holding(j *job) (h holding) {
	w := e.workload(j)
	j.n, j.workers, j.pace = 0, 0, math.MaxInt64
	for k := range w.Tasks {
		t := &w.Tasks[k]
		if t.Phase == allot.Claimed || !e.stands(t) {
			continue
		}
		n := &e.library.state.Nodes[e.nodes[t.Node]]
		amount := j.takes(w, t, n)
		h.held += amount
		h.charged += j.size(w, t.PodSet)
		if n.Cordoned {
			h.kept += amount
		}
		switch {
		case t.Phase != allot.Running:
			h.leaving += amount
			continue
		case j.joins[taskName{t.PodSet, t.Index}] > e.now:
			h.joining += amount
		default:
			j.workers++
			for _, d := range t.Devices[:len(t.Devices)*min(len(j.ModelSpeed), 1)] {
				j.pace = min(j.pace, cmp.Or(j.ModelSpeed[n.Devices[d].Model], wholePace))
			}
		}
		j.n++
	}
	if j.pace == math.MaxInt64 {
		j.pace = wholePace
	}
	return h
}

// takes is what a task takes of its node: of memory, the part of the devices that it
// is on.
func (j *job) takes(w *allot.Workload, t *allot.Task, n *allot.Node) (amount int64) {
	for i := range w.PodSets {
		p := &w.PodSets[i]
		if p.Name != t.PodSet || p.Request.GPU.Memory == 0 {
			continue
		}
		for _, d := range t.Devices {
			if all := n.Devices[d].Memory; all > 0 {
				amount += 1000 * p.Request.GPU.Memory / all
			}
		}
		return amount
	}
	return j.size(w, t.PodSet)
}

// stands says whether the task's place is still there.
func (e *engine) stands(t *allot.Task) bool {
	n := &e.library.state.Nodes[e.nodes[t.Node]]
	if n.Lost {
		return false
	}
	for _, d := range t.Devices {
		if n.Devices[d].Unhealthy {
			return false
		}
	}
	return true
}

// size is what a task of the pod set is charged, in milli-GPU.
func (j *job) size(w *allot.Workload, podSet string) int64 {
	for i := range w.PodSets {
		if w.PodSets[i].Name == podSet {
			return j.sizes[i]
		}
	}
	return 0
}

// keepPartial keeps since when a workload has run or claimed fewer tasks than its
// minimum, as the library does when it carries out a plan (G1).
func (e *engine) keepPartial(w *allot.Workload) {
	holds := slices.ContainsFunc(w.Tasks, func(t allot.Task) bool { return t.Phase != allot.Terminating })
	switch {
	case !holds || e.atMinimum(w, true):
		w.PartialSince = time.Time{}
	case w.PartialSince.IsZero():
		w.PartialSince = e.instant()
		e.wakeForGang()
	}
}

// atMinimum says whether enough tasks of the workload run, or run or are claimed
// (G1, G3).
func (e *engine) atMinimum(w *allot.Workload, claimed bool) bool {
	if len(w.Tasks) == 0 {
		return false
	}
	children, ready := e.childrenAtMinimum(w, "", claimed)
	return ready == children
}

// childrenAtMinimum counts the pod sets and groups in a group, and those of them
// that are at their minimum.
func (e *engine) childrenAtMinimum(w *allot.Workload, group string, claimed bool) (children, ready int) {
	for i := range w.PodSets {
		if set := &w.PodSets[i]; set.Group == group {
			children++
			if tasksOf(e, w, set, claimed) >= cmp.Or(set.Min, set.Count) {
				ready++
			}
		}
	}
	for i := range w.Groups {
		g := &w.Groups[i]
		if g.Parent != group {
			continue
		}
		children++
		below, n := e.childrenAtMinimum(w, g.Name, claimed)
		if n >= cmp.Or(g.Min, below) {
			ready++
		}
	}
	return children, ready
}

// tasksOf is how many tasks of a pod set run, or run or are claimed.
func tasksOf(e *engine, w *allot.Workload, set *allot.PodSet, claimed bool) (n int) {
	for k := range w.Tasks {
		t := &w.Tasks[k]
		if t.PodSet == set.Name && (t.Phase == allot.Running && e.stands(t) || claimed && t.Phase != allot.Terminating) {
			n++
		}
	}
	return n
}

// lackOf is what the job must be given to be at its minimum (G1, G3), as quotas are charged, in
// milli-GPU.
func lackOf(e *engine, j *job) (sum int64) {
	for _, lack := range lacks(e, j, e.workload(j), "") {
		sum += lack
	}
	return sum
}

// lacks are what each of the pod sets and groups in a group lacks.
func lacks(e *engine, j *job, w *allot.Workload, group string) (list []int64) {
	for i := range w.PodSets {
		if set := &w.PodSets[i]; set.Group == group {
			list = append(list, j.sizes[i]*int64(max(cmp.Or(set.Min, set.Count)-tasksOf(e, w, set, false), 0)))
		}
	}
	for i := range w.Groups {
		g := &w.Groups[i]
		if g.Parent != group {
			continue
		}
		sum, below := int64(0), lacks(e, j, w, g.Name)
		slices.Sort(below)
		for _, lack := range below[:min(cmp.Or(g.Min, len(below)), len(below))] {
			sum += lack
		}
		list = append(list, sum)
	}
	return list
}

// leaves makes a task Terminating for a time.
func (e *engine) leaves(j *job, k int, grace time.Duration) {
	w := e.workload(j)
	w.Tasks[k].Phase = allot.Terminating
	for len(j.leave) < len(w.Tasks) {
		j.leave = append(j.leave, 0)
	}
	j.leave[k] = after(e.now, grace)
	e.calendar.add(event{at: j.leave[k], class: left, index: j.index})
}

// gone removes the tasks that have left by now.
func (e *engine) gone(j *job) {
	w := e.workload(j)
	e.filter(j, func(k int) bool {
		return w.Tasks[k].Phase != allot.Terminating || k >= len(j.leave) || j.leave[k] > e.now
	})
}

// filter keeps the tasks for which keep is true.
func (e *engine) filter(j *job, keep func(k int) bool) {
	w := e.workload(j)
	var tasks []allot.Task
	var leave []time.Duration
	for k := range w.Tasks {
		if keep(k) {
			tasks = append(tasks, w.Tasks[k])
			if k < len(j.leave) {
				leave = append(leave, j.leave[k])
			} else {
				leave = append(leave, 0)
			}
		}
	}
	w.Tasks, j.leave = tasks, leave
	if len(j.leave) == 0 {
		j.leave = nil
	}
}

// withoutClaims leaves out the tasks that hold nothing.
func (j *job) withoutClaims(tasks []allot.Task) []allot.Task {
	var kept []allot.Task
	for _, t := range tasks {
		if t.Phase != allot.Claimed {
			kept = append(kept, t)
		}
	}
	return kept
}
