package sim

import (
	"slices"
	"time"

	"github.com/allotsched/allot"
)

// Epoch is the run's zero in the states that the library sees. It is not 1970, so
// that no instant of a run is the zero time.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// Epoch is the time of a run's zero in the states that the library sees:
// 2000-01-01 UTC.
func Epoch() time.Time { return epoch }

// An engine carries out a run.
type engine struct {
	in        *Input
	options   Options
	scheduler Scheduler
	library   library
	calendar  calendar
	// jobs are those of the input that have been submitted, or changed before, and have not
	// gone, by position: there may be a million in all.
	jobs    []*job
	results []JobResult
	// byID are the jobs that there are by the IDs of their workloads, changed the
	// positions of those that changes name.
	byID     map[string]*job
	changed  map[string]int
	nodes    map[string]int // position in the state by ID
	smallest int64          // device memory of the cluster
	now      time.Duration
	// last is when something happened last that was more than a time to decide, or to write a
	// row, at which nothing came about; untilLast are the integrals up to then.
	last      time.Duration
	untilLast integrals
	// quiet counts the instants at which it was decided since something happened last.
	quiet      int
	standstill standstill
	// dirty: something has happened that the last decision did not know.
	dirty bool
	// stood are the tasks that the plan which is carried out has told to go, by job.
	stood map[int][]allot.Task
	// flight is the plan that is decided and not carried out.
	flight *flight
	// woken are the instants for which a wake is in the calendar.
	woken   map[time.Duration]bool
	alive   int // jobs that have been submitted and have not ended
	arrived int
	wanting int // workloads in the state that do not run in full
	// ranking, if there is one, is the order in which replanner plans everything anew.
	ranking   ranking
	replanner *replanner
	meter     meter
	trail     trail
	dice      dice
	// protects: some queue or policy protects what runs for a time (M1).
	protects bool
	promises promises
	usage    usageFeed
	steps    int64
	stopped  bool
}

// Run simulates the input. An error is a fault of the input or the options, with no
// result, or a [*Fault], with the result so far.
func Run(in *Input, o Options) (*Result, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	e, err := newEngine(in, o)
	if err != nil {
		return nil, err
	}
	err = e.run()
	return e.result(), err
}

// Check is the error of a run that would not begin, and nil of one that would. It is the
// same as [Run]'s.
func Check(in *Input, o Options) error {
	err := in.check()
	if err == nil {
		_, err = begin(in, o)
	}
	return err
}

// begin makes an engine that has its cluster, and what it runs of the input.
func begin(in *Input, o Options) (*engine, error) {
	e := &engine{options: o, scheduler: o.Scheduler, woken: make(map[time.Duration]bool), stood: make(map[int][]allot.Task), dice: newDice(o.Seed)}
	if err := e.library.begin(in, &o); err != nil {
		return nil, err
	}
	found, err := e.library.inspect(in, &o)
	if err != nil {
		return nil, err
	}
	e.in = in.without(found)
	if len(e.in.LeftOut) > 0 && !o.LeaveOut {
		return nil, &BadInputError{List: e.in.LeftOut}
	}
	return e, nil
}

func newEngine(in *Input, o Options) (*engine, error) {
	e, err := begin(in, o)
	if err != nil {
		return nil, err
	}
	in = e.in
	e.calendar, e.results = newCalendar(in.Jobs), make([]JobResult, len(in.Jobs))
	e.jobs, e.byID, e.nodes = make([]*job, len(in.Jobs)), make(map[string]*job), make(map[string]int, len(in.Cluster.Nodes))
	state := e.library.state
	for i := range state.Nodes {
		e.nodes[state.Nodes[i].ID] = i
	}
	if e.scheduler.replans() {
		if e.scheduler.Rank != nil {
			e.ranking = &byOwn{rank: e.scheduler.Rank}
		} else {
			e.ranking = e.scheduler.ranking()
		}
		e.replanner = &replanner{engine: e, kinship: make(kinship), free: in.free(&o.Costs)}
		e.replanner.solve = e.replanner.decideAnew
	}
	e.smallest = smallestMemory(&in.Cluster)
	e.changed = in.changed()
	for i := range in.Changes {
		e.calendar.add(event{at: in.Changes[i].At, class: change, index: i})
	}
	e.protects = protects(state)
	e.promises.open(e)
	e.usage.open(e)
	e.meter.start(e)
	e.trail.open()
	return e, nil
}

// create makes a job of the input.
func (e *engine) create(i int) *job {
	j := &job{Job: &e.in.Jobs[i], index: i, slot: -1, lack: noLack, cause: Untold, result: &e.results[i]}
	j.work = int64(j.Duration) * j.unit()
	j.asks = j.Job.asks(e.smallest)
	e.jobs[i], e.byID[j.Workload.ID] = j, j
	return j
}

// foreseen is a job that a change names, also one that has not come yet; nil if it has
// ended.
func (e *engine) foreseen(id string) *job {
	if j := e.byID[id]; j != nil {
		return j
	}
	if i := e.changed[id]; e.results[i].Outcome == Unfinished {
		return e.create(i)
	}
	return nil
}

// protects says whether anything of the state protects what runs for a time.
func protects(s *allot.State) bool {
	return slices.ContainsFunc(s.Pools, func(p allot.Pool) bool { return p.Policy.MinRuntime != allot.MinRuntime{} }) ||
		slices.ContainsFunc(s.Queues, func(q allot.Queue) bool { return q.MinRuntime != allot.MinRuntime{} })
}

// smallestMemory is that of the cluster's devices, 0 where none says it.
func smallestMemory(s *allot.State) (least int64) {
	for i := range s.Nodes {
		for _, d := range s.Nodes[i].Devices {
			if d.Memory > 0 && (least == 0 || d.Memory < least) {
				least = d.Memory
			}
		}
	}
	return least
}

// instant is the time of the run's instant in states.
func (e *engine) instant() time.Time { return epoch.Add(e.now) }

// progressEvery is how many instants pass between two reports of progress: few, as whoever ends a
// run waits for the next, and a decision on a full cluster may take tens of milliseconds.
const progressEvery = 16

// run goes from instant to instant until nothing more can happen.
func (e *engine) run() error {
	for instants := int64(0); ; instants++ {
		e.calendar.drop(func(ev *event) bool { return isVoid(e, ev) }, e.meter.allocated == 0)
		at, ok := e.calendar.next()
		if !ok || e.over() || e.idle(at) || e.options.Until > 0 && at > e.options.Until {
			break
		}
		if instants%progressEvery == 0 && !e.report() {
			e.stopped = true
			break
		}
		if at > horizon {
			return e.wrong("the next event lies at a time that cannot be counted: a run lasts %v at most", horizon)
		}
		if err := e.pass(at); err != nil {
			return err
		}
		if err := e.facts(); err != nil {
			return err
		}
		before := e.meter.decisions
		if err := e.consider(); err != nil {
			return err
		}
		if err := e.standstill.check(e); err != nil {
			return err
		}
		if e.last == e.now {
			e.untilLast = e.meter.integrals
			e.trail.keep()
		}
		e.meter.watch(e.now)
		if e.last == e.now {
			e.quiet = 0
		} else if e.meter.decisions > before {
			e.quiet++
		}
		if e.meter.due {
			if err := e.meter.sample(e); err != nil {
				return err
			}
		}
	}
	if e.options.Until > e.now && !e.stopped && !e.over() {
		if err := e.pass(e.options.Until); err != nil {
			return err
		}
	}
	if e.options.Until == 0 && !e.stopped {
		e.rewind()
	}
	for _, i := range e.library.jobs {
		e.account(e.jobs[i])
	}
	e.meter.end(e)
	e.promises.end(e)
	return e.closed()
}

// rewind has the run end when something happened last: whoever waits since then waits for ever,
// and how long that was looked at is no matter.
func (e *engine) rewind() {
	since := e.now - e.last
	for _, i := range e.library.jobs {
		j := e.jobs[i]
		if e.account(j); since > 0 {
			j.result.Pending, j.mark = j.result.Pending-since, e.last
			if busy := j.busy(); busy > 0 {
				var held Sum
				held.add(busy, int64(since))
				j.beside().Waiting.take(held)
			}
		}
	}
	e.now, e.meter.integrals = e.last, e.untilLast
	e.promises.rewind(e.now)
	e.trail.rewind()
	behind := func(row Row) bool { return row.At > e.now }
	e.meter.rows = slices.DeleteFunc(e.meter.rows, behind)
}

// pass goes on to another instant.
func (e *engine) pass(to time.Duration) error {
	if m := &e.meter; !m.pass(e, to) {
		return e.wrong("of %d usable milli-GPU jobs hold %d and work on %d", m.usable, m.allocated, m.used)
	}
	e.usage.pass(to)
	e.now = to
	return nil
}

// over: every job has ended and is gone.
func (e *engine) over() bool {
	return e.arrived == len(e.jobs) && e.alive == 0 && len(e.library.state.Workloads) == 0
}

// maxQuiet is how often it is decided again, and nothing comes of it, while nothing is to come: by an algorithm
// of one's own, or where all that is decided may fail, and maxQuietByRule by the rules of a policy, which time alone
// changes: protections end, and what was used fades.
const maxQuiet, maxQuietByRule = 10_000, 1000

// idle: nothing but a further row of the series is in the calendar; or nothing that happens by itself, and nothing
// has come of what was decided for long, or up to where no clock counts or no row is left. Who waits now waits for ever.
func (e *engine) idle(next time.Duration) bool {
	most := maxQuietByRule
	if e.scheduler.Rank != nil || e.scheduler.Plan != nil || e.options.Drop > 0 {
		most = maxQuiet
	}
	switch {
	case len(e.meter.rows) > 0 && e.calendar.left() == 1:
		return true
	case e.quiet == 0 || e.quiet <= most && next <= horizon && len(e.meter.rows) < maxRows:
		return false
	case e.calendar.foresees(func(ev *event) bool { return isVoid(e, ev) }):
		e.quiet = 0
		return false
	}
	return true
}

// isVoid says of an event of a job that it will never happen: the job is gone, or in another
// phase or run than it was foreseen in.
func isVoid(e *engine, ev *event) bool {
	if !ev.class.ofJob() || ev.class == arrival {
		return false
	}
	j := e.jobs[ev.index]
	switch {
	case j == nil:
		return true
	case ev.class == timer:
		return j.epoch != ev.epoch
	case ev.class == joined:
		return uint64(j.result.Starts) != ev.epoch || !j.runs()
	case ev.class == crossing:
		return !e.ranking.crosses(j, ev.epoch)
	}
	return false
}

// report tells how far the run is, and whether it is to go on.
func (e *engine) report() bool {
	if e.options.Progress == nil {
		return true
	}
	return e.options.Progress(Progress{Now: e.now, Events: e.steps, Jobs: len(e.jobs), Arrived: e.arrived, Ended: e.arrived - e.alive})
}

// facts lets everything happen that happens at this instant.
func (e *engine) facts() error {
	for {
		ev, ok := e.calendar.pop(e.now)
		if !ok {
			return nil
		}
		e.steps++
		if err := e.happen(&ev); err != nil {
			return err
		}
	}
}

func (e *engine) happen(ev *event) error {
	if isVoid(e, ev) {
		return nil
	}
	if ev.class.tells() {
		e.last = e.now
	}
	j := (*job)(nil)
	if ev.class.ofJob() {
		j = e.jobs[ev.index]
	}
	switch ev.class {
	case timer:
		e.expire(j)
	case joined:
		e.settle(j)
	case left:
		e.gone(j)
		e.settle(j)
		e.dirty = true
	case change:
		e.standstill.further()
		return e.change(&e.in.Changes[ev.index])
	case arrival:
		if j == nil {
			j = e.create(ev.index)
		}
		e.submit(j)
	case cancel:
		e.cancel(j)
	case carry:
		return e.land()
	case wake:
		delete(e.woken, e.now)
		e.dirty = true
	case crossing:
		e.dirty = true
	case sample:
		e.meter.due = true
	}
	return nil
}

// submit brings a job into the system.
func (e *engine) submit(j *job) {
	e.standstill.further()
	e.arrived++
	j.sequence = e.arrived
	e.alive++
	e.library.add(e, j)
	w := e.workload(j)
	for k := range w.PodSets {
		j.sizes = append(j.sizes, milli(&w.PodSets[k].Request, e.smallest))
	}
	j.mark = e.now
	e.enter(j, waiting)
	e.promises.tell(e, j, w)
	j.wants = true
	e.wanting++
	e.meter.arrive(j)
	if e.ranking != nil {
		j.kin = e.replanner.kinOf(j)
		e.ranking.arrive(j)
	}
	if at := after(e.now, j.CancelAfter); j.CancelAfter > 0 && at <= horizon {
		e.calendar.add(event{at: at, class: cancel, index: j.index})
	}
	e.note(Event{Kind: SubmitEvent, Job: j.Workload.ID})
	e.dirty = true
	if j.givenUp {
		e.cancel(j)
	}
}

// cancel ends a job by its user's wish, unless it has ended; one that has not come yet
// ends when it comes.
func (e *engine) cancel(j *job) {
	if j.phase == absent {
		j.givenUp = true
	} else if j.phase != leaving && j.phase != ended {
		e.end(j, Cancelled, j.costs(e).Grace)
	}
}
