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
	// solve plans everything anew in an order. It lists in starts who has which places.
	solve  func([]*job) (*allot.Plan, error)
	starts []placing
	runs   [][]*job
	lone   allot.Action // the last that was noted, where nobody keeps it
	// free: starting and stopping costs nothing, so that who is planned anew may move.
	free bool
	rest rest
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
	if e.rests(order) {
		e.meter.actions += e.rest.actions
		e.ranking.decided(e.engine)
		return nil
	}
	if e.scheduler.scatters {
		e.stay(order)
	}
	plan, err := e.solve(order)
	if err != nil {
		return err
	}
	if e.free {
		e.meter.actions += int64(len(e.starts))
		e.rearrange()
		e.comeToRest(order)
	} else if err := e.exchange(order, plan); err != nil {
		return err
	}
	e.ranking.decided(e.engine)
	if e.look().explain {
		e.meter.explain(e.engine, plan)
	}
	if e.options.Check {
		return e.invariants(plan)
	}
	return nil
}

// asRanked is the job's workload with nothing that it holds, but for who stays; of two such
// the one with the lower label is first.
func (e *replanner) asRanked(j *job, label int64) allot.Workload {
	w := e.library.submitted(j)
	w.Submitted = time.UnixMicro(label)
	if j.stays {
		w.Tasks = slices.Clone(e.workload(j).Tasks)
	}
	j.turn.restrict(&w, 0)
	return w
}

// solveSingly plans from scratch, each job by itself.
func (e *replanner) solveSingly(order []*job) (*allot.Plan, error) {
	state := *e.library.state
	state.Now = e.instant()
	state.Workloads = make([]allot.Workload, len(order))
	for i, j := range order {
		state.Workloads[i] = e.asRanked(j, int64(i+1))
	}
	e.stillThere(func(_ *job, w allot.Workload) { state.Workloads = append(state.Workloads, w) })
	plan, err := allot.Solve(&state) // all of it at once: nothing is to follow
	if err != nil {
		return nil, e.fault(err)
	}
	e.singly(plan)
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

// decideAnew plans by a snapshot: the library is told only of what has changed. Runs of
// jobs are one workload each, see together, unless it matters who of a run waits for whom.
// Where all places are alike who stays on need not be started again.
func (e *replanner) decideAnew(order []*job) (*allot.Plan, error) {
	if slices.ContainsFunc(e.library.jobs, func(i int) bool { return e.jobs[i].phase == leaving }) {
		e.eachAlone(order)
	} else {
		e.together(order)
	}
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
	plan, err := e.planned(e.look(), decision, next.State)
	if err != nil {
		return nil, err
	}
	if !e.apart(plan) {
		return e.solveSingly(order)
	}
	return plan, nil
}

// A rank is what the library is told of a job: where it stands, whether it stays where it
// runs, and of how many jobs it is the first, which are told as one. 0 is that it is none.
type rank struct {
	label int64
	stays bool
	count int
}

// anew is what is otherwise in what the library is told: who has come or gone, whose
// rank among the others is another, and who stays, or no longer does.
func (e *replanner) anew(order []*job) allot.Change {
	change := e.library.change(e.engine)
	e.labels.renew(order)
	for _, i := range e.library.jobs {
		e.jobs[i].count = 0
	}
	for _, run := range e.runs {
		j := run[0]
		j.count = len(run)
		if j.told == j.rank && j.turn.plain() {
			continue
		}
		w := e.asRanked(j, j.label)
		if len(run) > 1 {
			w.PodSets = []allot.PodSet{{Name: w.PodSets[0].Name, Count: len(run), Request: w.PodSets[0].Request}}
		}
		change.Workloads = append(change.Workloads, w)
		j.told, j.known = j.rank, true
		if !j.turn.plain() {
			j.told = rank{} // its next turn may be another
		}
	}
	e.stillThere(func(j *job, w allot.Workload) {
		change.Workloads = append(change.Workloads, w)
		j.known, j.count = true, 1
	})
	for _, i := range e.library.jobs {
		if j := e.jobs[i]; j.known && j.count == 0 { // it has no turn, or has one with others
			change.Remove.Workloads = append(change.Remove.Workloads, j.Workload.ID)
			j.told, j.known = rank{}, false
		}
	}
	e.library.told = change.Workloads
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

// A placing is what an action, or the part of it that is a job's, gives a job.
type placing struct {
	*allot.Action
	job   *job
	tasks []allot.Placement
	// first is the index of the first of them, which is the job's only one: it is one of
	// many that the library was told as one.
	first int
}

// task is one of the places as a task of the job.
func (p *placing) task(k int, since time.Time) allot.Task {
	t := &p.tasks[k]
	return allot.Task{PodSet: t.PodSet, Index: t.Index - p.first, Node: t.Node, Devices: t.Devices, Since: since}
}

// alone is the action for the job alone. Who observes the run may keep it; where nobody
// does, it is good until the next.
func (e *replanner) alone(p *placing) *allot.Action {
	if len(p.tasks) == len(p.Tasks) {
		return p.Action
	}
	one := &e.lone
	if e.options.Observe != nil {
		one = new(allot.Action)
	}
	tasks := append(one.Tasks[:0], p.tasks...)
	*one = *p.Action
	one.Workload, one.Tasks = p.job.Workload.ID, tasks
	one.Tasks[0].Index = 0
	return one
}

// rearrange gives every job the places that it starts with, and no others, but for who
// stays. Who has others than before is told to have lost those first.
func (e *replanner) rearrange() {
	now := e.instant()
	e.starts = slices.DeleteFunc(e.starts, func(s placing) bool { return e.occupied(s.Action) }) // planned again when it is free
	for i := range e.starts {
		s := &e.starts[i]
		for k := range s.tasks {
			s.job.planned = append(s.job.planned, s.task(k, now))
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
			j.rearranged(w.Tasks)
			continue
		}
		if j.runs() { // else it has lost its places before
			j.result.Evictions++
		}
		w.Tasks, j.leave = nil, nil
		e.settle(j)
	}
	for i := range e.starts {
		s := &e.starts[i]
		if len(s.job.planned) == 0 {
			continue // it is there already
		}
		e.note(Event{Kind: ActionEvent, Job: s.job.Workload.ID, Action: e.alone(s)})
		w := e.workload(s.job)
		if !slices.EqualFunc(w.Tasks, s.job.planned, samePlace) { // the first of its actions
			w.Tasks = append(w.Tasks[:0], s.job.planned...)
			e.settle(s.job)
		}
	}
	for i := range e.starts {
		e.starts[i].job.planned = e.starts[i].job.planned[:0]
	}
}

// rearranged counts what becomes of a job that has had other places: it has moved if one of its
// tasks stands elsewhere, and shrunk if it has one less. One that has lost what it needs to run
// before starts anew.
func (j *job) rearranged(from []allot.Task) {
	if !j.runs() {
		return
	}
	moved, gone := false, false
	for i := range from {
		same := func(t allot.Task) bool { return t.PodSet == from[i].PodSet && t.Index == from[i].Index }
		at := i // as a rule they are in the same order
		if at >= len(j.planned) || !same(j.planned[at]) {
			at = slices.IndexFunc(j.planned, same)
		}
		moved = moved || at >= 0 && !samePlace(from[i], j.planned[at])
		gone = gone || at < 0
	}
	if moved {
		j.result.Moves++
	}
	if gone {
		j.result.Shrinks++
	}
}

func samePlace(a, b allot.Task) bool {
	return a.PodSet == b.PodSet && a.Index == b.Index && a.Node == b.Node && slices.Equal(a.Devices, b.Devices)
}
