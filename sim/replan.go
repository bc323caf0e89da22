package sim

import (
	"slices"
	"time"

	"github.com/allotsched/allot"
)

// A replanner plans everything anew at each decision, in the order of a ranking.
type replanner struct {
	*engine
	labels  labels // in the order of the ranking
	kinship kinship
	// solve plans everything anew in an order.
	solve func([]*job) (*allot.Plan, error)
	// free: starting and stopping costs nothing, so that who is planned anew may move.
	free bool
}

// replan empties the cluster and fills it again in the order of the ranking: the
// library sees a state in which everything waits and was submitted in the order of
// rank. What its plan starts runs, wherever it ran before; everything else waits. Where
// stopping costs something, it is found out so who runs, and not where: see exchange.
func (e *replanner) replan() error {
	for _, i := range e.library.jobs {
		e.account(e.jobs[i])
	}
	order, err := e.ranking.order(e.engine)
	if err != nil {
		return err
	}
	plan, err := e.solve(order)
	if err != nil {
		return err
	}
	if e.free {
		e.meter.actions += int64(len(plan.Actions))
		e.rearrange(order, plan)
	} else if err := e.exchange(order, plan); err != nil {
		return err
	}
	e.ranking.decided(e.engine)
	if e.options.Check {
		return e.invariants(plan)
	}
	return nil
}

// asRanked is the job's workload with nothing that it holds; of two such the one with
// the lower label is first.
func (e *replanner) asRanked(j *job, label int64) allot.Workload {
	w := e.library.submitted(j)
	w.Submitted = time.UnixMicro(label)
	j.turn.restrict(&w, 0)
	return w
}

// solveAnew plans from scratch: where most of the jobs that run start elsewhere after
// each decision, nothing is gained by telling what has changed.
func (e *replanner) solveAnew(order []*job) (*allot.Plan, error) {
	if slices.ContainsFunc(e.library.jobs, func(i int) bool { return e.jobs[i].phase == leaving }) {
		return e.solveSingly(order) // it matters who of a run waits for whom
	}
	runs := e.together(order)
	plan, err := e.solveRuns(runs)
	if err != nil || e.apart(runs, plan) {
		return plan, err
	}
	return e.solveSingly(order)
}

// solveSingly is solveAnew with each job by itself.
func (e *replanner) solveSingly(order []*job) (*allot.Plan, error) {
	return e.solveRuns(slices.Collect(slices.Chunk(order, 1)))
}

// solveRuns solves a state in which each run of jobs is a workload, see together.
func (e *replanner) solveRuns(runs [][]*job) (*allot.Plan, error) {
	state := *e.library.state
	state.Now = e.instant()
	state.Workloads = make([]allot.Workload, len(runs))
	for i, run := range runs {
		w := e.asRanked(run[0], int64(i+1))
		if len(run) > 1 {
			w.PodSets = []allot.PodSet{{Name: w.PodSets[0].Name, Count: len(run), Request: w.PodSets[0].Request}}
		}
		state.Workloads[i] = w
	}
	e.stillThere(func(_ *job, w allot.Workload) { state.Workloads = append(state.Workloads, w) })
	plan, err := allot.Solve(&state) // all of it at once: nothing is to follow
	if err != nil {
		return nil, e.fault(err)
	}
	return plan, e.consult(e.look(), plan, &state)
}

// stillThere tells of the workloads of jobs that have ended, with the places that they
// still hold, if any.
func (e *replanner) stillThere(tell func(*job, allot.Workload)) {
	for _, i := range e.library.jobs {
		j := e.jobs[i]
		if j.phase != leaving {
			continue
		}
		w := *e.workload(j)
		w.Tasks = slices.DeleteFunc(slices.Clone(w.Tasks), func(t allot.Task) bool { return !e.stands(&t) })
		if len(w.Tasks) > 0 {
			tell(j, w)
		}
	}
}

// decideAnew plans by a snapshot, where all places are alike: who stays on need not be
// started again, and the library is told only of what has changed.
func (e *replanner) decideAnew(order []*job) (*allot.Plan, error) {
	next, err := e.library.snapshot.With(e.anew(order))
	if err != nil {
		return nil, e.fault(err)
	}
	e.library.snapshot = next
	decision, err := next.Decide()
	if err != nil {
		return nil, e.fault(err)
	}
	e.library.last = decision
	return e.planned(e.look(), decision, next.State)
}

// A rank is what the library is told of a job: where it stands, and whether it stays
// where it runs.
type rank struct {
	label int64
	stays bool
}

// anew is what is otherwise in what the library is told: who has come or gone, whose
// rank among the others is another, and who stays, or no longer does.
func (e *replanner) anew(order []*job) allot.Change {
	change := e.library.change(e.engine)
	e.labels.renew(order)
	e.stay(order)
	for _, j := range order {
		if j.told == j.rank {
			continue
		}
		w := e.asRanked(j, j.label)
		if j.stays {
			w.Tasks = slices.Clone(e.workload(j).Tasks)
		}
		change.Workloads = append(change.Workloads, w)
		j.told, j.known = j.rank, true
	}
	e.stillThere(func(j *job, w allot.Workload) {
		change.Workloads = append(change.Workloads, w)
		j.known = true
	})
	return change
}

// stay finds out who runs on whatever the plan is: the first in rank, as far as all
// that they ask is there together.
func (e *replanner) stay(order []*job) {
	left := e.meter.usable
	for _, i := range e.library.jobs {
		if j := e.jobs[i]; j.phase == leaving {
			left -= j.held
		}
	}
	for _, j := range order {
		left -= j.asks
		j.stays = left >= 0 && j.runs()
	}
}

// A placing is an action that gives a job places.
type placing struct {
	*allot.Action
	job *job
}

// rearrange gives every job the tasks that the plan starts, and no others, but for who
// stays. Who has others than before is told to have lost those first.
func (e *replanner) rearrange(order []*job, plan *allot.Plan) {
	starts := make([]placing, 0, len(plan.Actions))
	for i := range plan.Actions {
		a := &plan.Actions[i]
		if e.occupied(a) {
			continue // planned again when it is free
		}
		j := e.byID[a.Workload]
		starts = append(starts, placing{a, j})
		for k := range a.Tasks {
			p := &a.Tasks[k]
			j.planned = append(j.planned, allot.Task{PodSet: p.PodSet, Index: p.Index, Node: p.Node, Devices: p.Devices, Since: e.instant()})
		}
	}
	for _, i := range e.library.jobs {
		j := e.jobs[i]
		w := e.workload(j)
		if j.phase == leaving || len(w.Tasks) == 0 || j.stays {
			continue
		}
		if slices.EqualFunc(w.Tasks, j.planned, samePlace) {
			j.planned = j.planned[:0]
			continue
		}
		e.note(Event{Kind: StopEvent, Job: j.Workload.ID})
		if len(j.planned) > 0 {
			j.result.Moves++
			continue
		}
		j.result.Evictions++
		w.Tasks, j.leave = nil, nil
		e.settle(j)
	}
	for _, s := range starts {
		if len(s.job.planned) == 0 {
			continue // it is there already
		}
		e.note(Event{Kind: ActionEvent, Job: s.Workload, Action: s.Action})
		w := e.workload(s.job)
		if !slices.EqualFunc(w.Tasks, s.job.planned, samePlace) { // the first of its actions
			w.Tasks = append(w.Tasks[:0], s.job.planned...)
			e.settle(s.job)
		}
	}
	for _, s := range starts {
		s.job.planned = s.job.planned[:0]
	}
}

func samePlace(a, b allot.Task) bool {
	return a.PodSet == b.PodSet && a.Index == b.Index && a.Node == b.Node && slices.Equal(a.Devices, b.Devices)
}
