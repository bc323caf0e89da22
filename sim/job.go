package sim

import (
	"cmp"
	"math"
	"time"

	"github.com/allotsched/allot"
)

// A phase is what a job is doing.
type phase uint8

const (
	absent   phase = iota // not submitted yet
	waiting               // holds nothing, or only places that it is leaving
	partial               // holds some places, and waits for the others
	starting              // has what it needs and gets ready
	working
	saving  // takes a checkpoint
	leaving // has ended, and what it held is not gone yet
	ended
)

// A job is a job of the input as it stands now.
type job struct {
	*Job
	index int
	// slot is the workload's position in the state.
	slot  int
	phase phase
	// epoch counts the phases, so that timers of earlier ones are known as such.
	epoch uint64
	// mark is up to when its time is accounted for.
	mark time.Duration
	// work is what is to be done in all, done what has been done, and saved what
	// of that survives a stop; all in time × speed.
	work, done, saved int64
	// rate is the speed at which it works, n how many tasks run, workers how many of
	// those have started.
	rate       int64
	n, workers int
	// next is for how long it may work before the next checkpoint.
	next time.Duration
	// asks is what all of its tasks ask, in milli-GPU, sizes what one of each pod set
	// is charged.
	asks  int64
	sizes []int64
	holding
	// joins is from when tasks work that have come to a run that had begun, as far as
	// they take their time to start.
	joins map[taskName]time.Duration
	// wanted is what it wants while it waits, lack the part without which it cannot run, cause
	// what it was last told to wait for.
	wanted, lack int64
	cause        Cause
	// touched: the workload has changed since the library was told of it; known: the
	// library has it.
	touched, known bool
	// givenUp: its user has given it up before it was submitted. priority is what a
	// change has made of its own; nil is that none has.
	givenUp  bool
	priority *int32
	// wants: it is in the state and does not run in full.
	wants bool
	// Of jobs that are planned anew: told is the rank that the library knows; kin is
	// what it asks, see kinship, and run which run it is the first of; planned are the
	// places that the plan at hand has for it.
	rank
	told    rank
	kin     int32
	run     int
	planned []allot.Task
	// passedOver is the number of the rest in which it waits, see rest.
	passedOver uint64
	// leave is when each of the workload's tasks is gone, as far as they are
	// Terminating; nil is that none is.
	leave []time.Duration
	// unsaved is the GPU time of the work that is not saved.
	unsaved Sum
	// worked is for how long it has worked in all, attained the GPU time of that.
	worked   time.Duration
	attained Sum
	// sequence counts the jobs in the order in which they came; turn is what an algorithm
	// of one's own says of it.
	sequence int
	turn     *Turn
	// pace is that of the slowest GPU that it works on, see [Job.ModelSpeed].
	pace int64
	// ready is when it has got ready in its run, expected the end that its estimate foresees.
	ready, expected time.Duration
	// until is when its run is ended if it has not ended by then.
	until time.Duration
	// vow is the promise that it has and that is still open, as a position from 1 on.
	vow int
	// uses is what it holds of the resources that its queue's history is kept of.
	uses []int64
	// idles is what of these is kept idle for it, where that is charged.
	idles  []int64
	result *JobResult
}

// A taskName is a task of a job.
type taskName struct {
	podSet string
	index  int
}

func (j *job) costs(e *engine) *Costs {
	if j.Costs != nil {
		return j.Costs
	}
	return &e.options.Costs
}

func (e *engine) workload(j *job) *allot.Workload { return &e.library.state.Workloads[j.slot] }

// account books the time since the job's mark.
func (e *engine) account(j *job) {
	d := e.now - j.mark
	j.mark = e.now
	if d == 0 {
		return
	}
	if j.leaving > 0 {
		j.beside().Leaving.add(j.leaving, int64(d))
	}
	if j.joining > 0 {
		j.beside().Overhead.add(j.joining, int64(d))
	}
	busy := j.busy()
	switch j.phase {
	case waiting, partial:
		j.result.Pending += d
		if busy > 0 {
			j.beside().Waiting.add(busy, int64(d))
		}
	case starting, saving:
		j.beside().Overhead.add(busy, int64(d))
	case working:
		j.done += int64(d) * j.rate
		j.next -= d
		j.worked += d
		j.attained.add(busy, int64(d))
		if j.costs(e).Loses {
			j.unsaved.add(busy, int64(d))
		} else {
			e.standstill.further()
			j.saved = j.done
			j.result.Useful.add(busy, int64(d))
		}
	}
}

// beside is where it is booked what the job holds for all but work that counts.
func (j *job) beside() *Beside {
	if j.result.Beside == nil {
		j.result.Beside = new(Beside)
	}
	return j.result.Beside
}

// enter begins a phase; timers of the one before are void.
func (e *engine) enter(j *job, p phase) {
	e.account(j)
	e.meter.phase(e, j, p)
	j.phase = p
	j.epoch++
}

// timer lets the calendar say when the job's phase is over, or its time.
func (e *engine) timer(j *job, d time.Duration) {
	e.calendar.add(event{at: min(after(e.now, d), max(j.until, e.now)), class: timer, index: j.index, epoch: j.epoch})
}

// start begins a run: the job has the places that it needs.
func (e *engine) start(j *job) {
	c := j.costs(e)
	delay := c.Start
	if j.saved > 0 {
		delay = after(delay, c.Restore)
	}
	j.joins = nil
	j.workers = j.n
	if j.result.Starts == 0 {
		j.result.FirstStart = e.now
	}
	j.result.Starts++
	j.rate = e.speed(j)
	e.promises.start(e, j)
	j.ready = after(e.now, delay)
	e.promises.foresee(e, j)
	j.until = limit(e.workload(j))
	if delay > 0 {
		e.enter(j, starting)
		e.timer(j, delay)
		return
	}
	e.resume(j)
}

// limit is when a run that has begun is ended (B1), counted from when its first task started, or
// when the first of its tasks is that was cut to fit a hole.
func limit(w *allot.Workload) time.Duration {
	first, runs := started(w)
	end := time.Duration(math.MaxInt64)
	if bound := w.TimeLimit; runs && bound.Given() && !bound.IsUnlimited() {
		end = after(first, time.Duration(min(bound.Amount(), int64(horizon/time.Second)))*time.Second)
	}
	for k := range w.Tasks {
		if t := &w.Tasks[k]; t.Phase == allot.Running && !t.Until.IsZero() {
			end = min(end, t.Until.Sub(epoch))
		}
	}
	return end
}

// started is when the first of the tasks started that run, if any does.
func started(w *allot.Workload) (first time.Duration, runs bool) {
	for k := range w.Tasks {
		if t := &w.Tasks[k]; t.Phase == allot.Running {
			if at := began(t); !runs || at < first {
				first, runs = at, true
			}
		}
	}
	return first, runs
}

// began is when a task that runs has started.
func began(t *allot.Task) time.Duration {
	if t.Started.IsZero() {
		return t.Since.Sub(epoch)
	}
	return t.Started.Sub(epoch)
}

// speed is that of the job with the tasks that run, on the GPUs that they have. Where its
// GPUs are scattered it runs with all of them or not at all.
func (e *engine) speed(j *job) int64 {
	speed := j.Job.speed(j.workers)
	if e.scheduler.scatters {
		speed = j.fullSpeed()
	}
	if len(j.ModelSpeed) > 0 {
		return speed * j.pace
	}
	return speed
}

// resume begins to work, or goes on after a checkpoint.
func (e *engine) resume(j *job) {
	j.next = cmp.Or(j.costs(e).Checkpoint, math.MaxInt64)
	e.work(j)
}

// work works on at the speed that the job has now.
func (e *engine) work(j *job) {
	e.enter(j, working)
	left := time.Duration((j.work - j.done + j.rate - 1) / j.rate)
	if j.costs(e).Loses {
		left = min(left, j.next)
	}
	e.timer(j, left)
	if e.ranking != nil {
		e.ranking.works(e, j)
	}
}

// expire is what follows when a phase is over.
func (e *engine) expire(j *job) {
	if e.account(j); e.now >= j.until && j.done < j.work {
		e.stop(j, false)
		e.end(j, Failed, j.costs(e).Grace)
		return
	}
	switch j.phase {
	case starting:
		e.resume(j)
	case saving:
		e.save(j)
		e.resume(j)
	case working:
		if j.done >= j.work {
			e.finish(j)
			return
		}
		if d := j.costs(e).Save; d > 0 {
			e.enter(j, saving)
			e.timer(j, d)
			return
		}
		e.save(j)
		e.resume(j)
	}
}

// save takes note that the work done so far survives.
func (e *engine) save(j *job) {
	e.standstill.further()
	j.saved = j.done
	j.result.Useful.sum(j.unsaved)
	j.unsaved = Sum{}
	e.workload(j).Checkpoint = e.instant()
	e.library.touch(j)
	e.note(Event{Kind: CheckpointEvent, Job: j.Workload.ID})
}

// stop ends a run before its time. What was not saved is lost, unless it is saved
// now.
func (e *engine) stop(j *job, saved bool) {
	e.account(j)
	if saved && j.done > j.saved {
		e.standstill.further()
	} else {
		e.standstill.stopped(e.now)
	}
	if saved {
		j.saved = j.done
		j.result.Useful.sum(j.unsaved)
	} else {
		if j.unsaved != (Sum{}) {
			j.beside().Lost.sum(j.unsaved)
		}
		j.done = j.saved
	}
	j.unsaved = Sum{}
	j.joins = nil
	e.enter(j, waiting)
}

// runs says whether the job has what it needs.
func (j *job) runs() bool { return j.phase == starting || j.phase == working || j.phase == saving }

// finish ends a job whose work is done.
func (e *engine) finish(j *job) {
	outcome := Done
	if j.Fails {
		outcome = Failed
	}
	j.result.Useful.sum(j.unsaved)
	j.unsaved = Sum{}
	e.end(j, outcome, 0)
}

// end takes a job out of the system; what it holds is gone after a grace.
func (e *engine) end(j *job, o Outcome, grace time.Duration) {
	if j.runs() && o != Done && o != Failed {
		e.stop(j, false)
	}
	if o != Done { // nobody has anything of what it did
		j.beside().Vain, j.result.Useful = j.result.Useful, Sum{}
	}
	e.standstill.further()
	e.meter.leave(e, j)
	e.promises.leave(e, j)
	j.result.Outcome, j.result.End = o, e.now
	e.alive--
	e.dirty = true
	e.note(Event{Kind: EndEvent, Job: j.Workload.ID, Outcome: o})
	e.enter(j, leaving)
	w := e.workload(j)
	w.Tasks, j.leave = j.withoutClaims(w.Tasks), nil
	if grace == 0 {
		w.Tasks = nil
	}
	for k := range w.Tasks {
		e.leaves(j, k, grace)
	}
	w.Ending = len(w.Tasks) > 0
	e.settle(j)
}

// settle finds out what the job can do with the tasks that it has now.
func (e *engine) settle(j *job) {
	e.account(j)
	e.library.touch(j)
	w := e.workload(j)
	h := e.holding(j)
	e.meter.hold(e, j, h)
	e.usage.hold(e, j, w)
	switch {
	case j.phase == leaving:
		if len(w.Tasks) == 0 {
			e.enter(j, ended)
			e.library.remove(e, j)
			e.jobs[j.index] = nil
			delete(e.byID, j.Workload.ID)
		}
	case e.atMinimum(w, false):
		if j.runs() && j.workers == 0 {
			e.stop(j, false) // those that have come are all that is left
			e.meter.hold(e, j, e.holding(j))
		}
		if !j.runs() {
			e.start(j)
		} else if rate := e.speed(j); rate != j.rate {
			j.rate = rate
			e.promises.foresee(e, j)
			if j.phase == working {
				e.work(j)
			}
		}
	default:
		if j.runs() {
			e.stop(j, false)
		}
		want := waiting
		if j.n > 0 {
			want = partial
		}
		if j.phase != want {
			e.enter(j, want)
		}
	}
	wants := false
	if j.slot >= 0 {
		e.keepPartial(w)
		e.promises.tell(e, j, w)
		wants = len(w.Tasks) != j.n || j.n != inFull(w)
	}
	if wants != j.wants {
		j.wants = wants
		e.wanting += sign(wants)
	}
}

// inFull is how many tasks a workload has when it runs in full.
func inFull(w *allot.Workload) (tasks int) {
	for i := range w.PodSets {
		tasks += w.PodSets[i].Count
	}
	return tasks
}

func sign(up bool) int {
	if up {
		return 1
	}
	return -1
}
