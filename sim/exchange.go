package sim

import (
	"slices"
	"time"

	"github.com/allotsched/allot"
)

// free says whether starting and stopping costs nothing in the whole run.
func (in *Input) free(run *Costs) bool {
	return run.free() && !slices.ContainsFunc(in.Jobs, func(j Job) bool { return j.Costs != nil && !j.Costs.free() })
}

// exchange lets those leave who run and are not in the plan of a cluster filled anew, and
// those start who are in it and do not run, in the order of rank. Nobody moves: who is in
// the plan and runs stays where it is, and who then finds no place in one piece waits.
// What is told to leave takes its time, and the library lets others claim its places.
func (e *replanner) exchange(order []*job, plan *allot.Plan) error {
	chosen := make(map[*job]bool, len(e.starts))
	for i := range e.starts {
		chosen[e.starts[i].job] = true
	}
	state := *e.library.state
	state.Now, state.Workloads = e.instant(), nil
	for i, j := range order {
		if !chosen[j] && !j.stays {
			e.expel(j)
			continue
		}
		e.suit(j)
		w := *e.workload(j)
		w.Submitted = time.UnixMicro(int64(i + 1))
		j.turn.restrict(&w, highest(w.Tasks)+1)
		state.Workloads = append(state.Workloads, w)
	}
	told := make(map[*job]bool, len(order))
	for _, j := range order {
		told[j] = true
	}
	for _, i := range e.library.jobs { // who has no turn
		if j := e.jobs[i]; !told[j] && j.phase != leaving {
			e.expel(j)
		}
	}
	for _, i := range e.library.jobs {
		j := e.jobs[i]
		if w := *e.workload(j); j.phase != leaving && !(told[j] && (chosen[j] || j.stays)) && len(w.Tasks) > 0 {
			w.Ending = true // as far as the library is told
			state.Workloads = append(state.Workloads, w)
		}
	}
	e.stillThere(func(_ *job, w allot.Workload) { state.Workloads = append(state.Workloads, w) })
	snapshot, err := allot.NewSnapshot(&state)
	if err != nil {
		return e.fault(err)
	}
	decision, err := snapshot.Decide()
	if err != nil {
		return e.fault(err)
	}
	begun, err := e.planned(e.look(), decision, func() *allot.State { return &state })
	if err != nil {
		return err
	}
	clear(e.stood) // an earlier plan's
	for i := range begun.Actions {
		a := &begun.Actions[i]
		if j := e.byID[a.Workload]; a.Kind != allot.Resize || !j.turn.exceeded(len(e.workload(j).Tasks)+len(a.Tasks)) {
			e.action(a)
		}
	}
	e.meter.actions += int64(len(begun.Actions))
	plan.Pending = append(plan.Pending, begun.Pending...)
	return nil
}

// expel lets a job leave that runs, or holds claims, at its cost of stopping.
func (e *replanner) expel(j *job) {
	w := e.workload(j)
	if !slices.ContainsFunc(w.Tasks, func(t allot.Task) bool { return t.Phase != allot.Terminating }) {
		return
	}
	e.note(Event{Kind: StopEvent, Job: j.Workload.ID})
	if j.runs() {
		j.result.Evictions++
		e.stop(j, false)
	}
	var running []allot.Placement
	for _, t := range w.Tasks {
		if t.Phase == allot.Running {
			running = append(running, allot.Placement{PodSet: t.PodSet, Index: t.Index, Node: t.Node})
		}
	}
	e.filter(j, func(k int) bool { return w.Tasks[k].Phase != allot.Claimed })
	e.release(j, running, j.costs(e.engine).Grace)
	e.settle(j)
}

// suit has a job that runs give up what its turn does not let it have: all of it where
// that is of another model, so that it starts elsewhere, or tasks beyond what it may have.
func (e *replanner) suit(j *job) {
	if j.turn.plain() || !j.runs() {
		return
	}
	w := e.workload(j)
	for _, t := range w.Tasks {
		for _, d := range t.Devices {
			model := e.library.state.Nodes[e.nodes[t.Node]].Devices[d].Model
			if t.Phase == allot.Running && len(j.turn.Models) > 0 && !slices.Contains(j.turn.Models, model) {
				e.expel(j)
				return
			}
		}
	}
	if !j.elastic() || !j.turn.exceeded(j.n) || len(w.PodSets) != 1 {
		return
	}
	var over []allot.Placement
	for _, t := range w.Tasks {
		if keep := max(j.turn.Tasks, w.PodSets[0].Min); t.Phase == allot.Running && t.Index >= keep {
			over = append(over, allot.Placement{PodSet: t.PodSet, Index: t.Index, Node: t.Node})
		}
	}
	if len(over) > 0 {
		j.result.Shrinks++
		e.note(Event{Kind: ActionEvent, Job: j.Workload.ID, Action: &allot.Action{Kind: allot.Shrink, Workload: j.Workload.ID, Tasks: over}})
		e.release(j, over, j.costs(e.engine).Grace)
		e.settle(j)
	}
}

// exceeded says whether so many tasks are more than the job may have.
func (t *Turn) exceeded(tasks int) bool { return t != nil && t.Tasks > 0 && tasks > t.Tasks }

// highest is the highest index of a task, −1 where there is none.
func highest(tasks []allot.Task) int {
	most := -1
	for i := range tasks {
		most = max(most, tasks[i].Index)
	}
	return most
}
