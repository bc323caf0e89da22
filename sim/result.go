package sim

import (
	"cmp"
	"math/big"
	"slices"
	"time"
)

// A Result is what came of a run.
type Result struct {
	// Scheduler is the name of who decided.
	Scheduler string
	// Seed is the options', Input the SHA-256 of the input, Trail that of all events
	// and actions in their order: two runs of one Trail did the same.
	Seed         uint64
	Input, Trail string
	// Partial: the run was ended before its end.
	Partial bool
	// End is the last instant, Makespan the end of the last job: 0, and so none, where some have
	// not ended, as what they would take is not known.
	End, Makespan time.Duration
	// Jobs are those of the input, in its order.
	Jobs []JobResult
	// Queues are those of the input, in its order; one without a name if it has
	// none.
	Queues []QueueResult
	// Promises are those that were made, in their order, of pools that make any (B4).
	Promises []PromiseResult
	// Rows are the series.
	Rows []Row
	// LeftOut is what of the input was not run, see [Options.LeaveOut].
	LeftOut []LeftOut
	// Total is what the cluster has, in milli-GPU. The sums are over the whole run
	// in milli-GPU × nanoseconds: what jobs held, what working ones held, what could
	// be held, and what was idle by [Cause], which with what was held is what could be.
	Total                   int64
	Allocated, Used, Usable Sum
	Idle                    [causes]Sum
	// Reserved is the part of what was idle of which the place was promised to somebody: the
	// price of promises, as far as others could have used it.
	Reserved Sum
	// From and To bound the steady window, which the Steady sums are of.
	From, To                                  time.Duration
	SteadyAllocated, SteadyUsed, SteadyUsable Sum
	// Events, Decisions and Actions are counted, and of the decisions those that were
	// verified, and those that were asked for reasons.
	Events, Decisions, Actions int64
	Verified, Explained        int64
}

// A JobResult is what became of a job: there may be a million of them. The zero JobResult says
// nothing.
type JobResult struct {
	// Job is the job, as the input has it; never nil in a [Result].
	*Job
	// GPUs is what it asks with all its Tasks, in milli.
	GPUs  int64
	Tasks int
	// FirstStart and End are instants; FirstStart says nothing where Starts is 0, End nothing
	// where Outcome is Unfinished or NotSubmitted.
	FirstStart, End time.Duration
	Outcome         Outcome
	// Starts counts its runs; Evictions, Moves and Shrinks what it suffered: that it lost its
	// places, that some task came to stand elsewhere, that it has fewer tasks and runs on.
	Starts, Evictions, Moves, Shrinks int
	// Pending is how long it waited in all, before and between its runs, up to the end
	// of the run if it waits then.
	Pending time.Duration
	// Useful is what it held for work that counts, in milli-GPU × nanoseconds.
	Useful Sum
	// Beside is what it held beside; never nil in a [Result], where those have one in common
	// who held nothing.
	*Beside
	// contention is what the meter's was when it was submitted, and then what it
	// grew by.
	contention Sum
	// of is the result of the run.
	of *Result
}

// Beside is what a job held for all but work that counts, in milli-GPU × nanoseconds. The zero
// Beside is nothing.
type Beside struct {
	// Lost is for work that was undone as the job was stopped, Vain for the rest of the work
	// of a job that ended in any way but Done, Unsaved for that of an unfinished one since its
	// last checkpoint. Overhead is for starting and saving, Waiting for waiting for the
	// rest of its tasks, Leaving for tasks that were told to go.
	Lost, Vain, Unsaved        Sum
	Overhead, Waiting, Leaving Sum
}

// Held is all that it held.
func (r *JobResult) Held() Sum {
	all := r.Useful
	if r.Beside == nil {
		return all
	}
	for _, s := range []Sum{r.Lost, r.Vain, r.Unsaved, r.Overhead, r.Waiting, r.Leaving} {
		all.sum(s)
	}
	return all
}

// Steady are the jobs that were submitted in the steady window; a nil result has none.
func (r *Result) Steady() []*JobResult {
	if r == nil {
		return nil
	}
	jobs := make([]*JobResult, 0, len(r.Jobs))
	for i := range r.Jobs {
		if j := &r.Jobs[i]; j.Outcome != NotSubmitted && j.Submit >= r.From && j.Submit <= r.To {
			jobs = append(jobs, j)
		}
	}
	return jobs
}

// CompletionTime is from submission to end; of a job that has not ended, up to the end
// of the run, so that it would have been no less. It is never negative.
func (r *JobResult) CompletionTime() time.Duration {
	if r.Job == nil {
		return 0
	}
	switch r.Outcome {
	case NotSubmitted:
		return 0
	case Unfinished:
		return r.of.End - r.Submit
	}
	return r.End - r.Submit
}

// QueueingDelay is from submission to the first start; of a job that never started, all
// of its [JobResult.CompletionTime].
func (r *JobResult) QueueingDelay() time.Duration {
	if r.Starts == 0 {
		return r.CompletionTime()
	}
	return r.FirstStart - r.Submit
}

// Slowdown is completion time over duration.
func (r *JobResult) Slowdown() Decimal {
	if r.Job == nil {
		return Decimal{}
	}
	return Quotient(int64(r.CompletionTime()), int64(r.Duration))
}

// Fairness is the finish-time fairness ρ: completion time over the time that the
// job would have taken on its part of the cluster, which is its duration times the
// mean contention in its life: what all jobs in the system asked over what the
// cluster has, and at least 1.
func (r *JobResult) Fairness() Decimal {
	if r.Job == nil {
		return Decimal{}
	}
	jct := big.NewInt(int64(r.CompletionTime()))
	below := new(big.Int).Mul(big.NewInt(int64(r.Duration)), r.contention.big())
	var d Decimal
	if below.Sign() > 0 {
		above := new(big.Int).Mul(jct, jct)
		d.rat.SetFrac(above.Mul(above, big.NewInt(r.of.Total)), below)
	}
	return d
}

// A QueueResult is what became of a queue.
type QueueResult struct {
	// ID is its name.
	ID string
	// Owed are the times for which somebody waited in it with whom it and all queues
	// above it would have been within their quotas, in the order in which they ended.
	Owed []time.Duration
	// Inner: others stand below it, who have what it has.
	Inner bool
	// Promised: it had a quota of GPUs beyond 0 in some part of the run. Nobody waits within
	// his quota elsewhere.
	Promised bool
	// Ended counts the jobs that ended in it.
	Ended int
}

// A Row is a row of the series: what is from an instant on, when all of it has happened.
type Row struct {
	At time.Duration
	// Usable, Allocated and Used are in milli-GPU, Idle is what is idle by [Cause]: with
	// Allocated it is Usable.
	Usable, Allocated, Used int64
	Idle                    [causes]int64
	// Reserved is the part of what is idle that was promised to somebody.
	Reserved int64
	// Running and Queued are jobs.
	Running, Queued int
	// Queues are in the order of the result's.
	Queues []QueueRow
}

// A QueueRow is what a queue has at an instant, in milli-GPU. FairShare says nothing
// where Divided is false: its GPUs are not divided, or nobody has asked
// ([Options.NoReasons]).
type QueueRow struct {
	Held, FairShare int64
	Divided         bool
}

// maxRows bounds the memory of a series.
const maxRows = 1 << 20

// sample adds a row and asks for the next.
func (m *meter) sample(e *engine) error {
	if len(m.rows) == maxRows {
		return e.wrong("the series has more than %d rows: Sample is too short", maxRows)
	}
	if !e.options.NoReasons {
		if err := e.library.shares(e); err != nil {
			return e.fault(err)
		}
	}
	row := Row{
		At: e.now, Usable: m.usable, Allocated: m.allocated, Used: m.used, Idle: m.idle(), Reserved: m.keptIdle(),
		Running: e.alive - m.queued, Queued: m.queued, Queues: make([]QueueRow, len(m.queues)),
	}
	for i, q := range m.queues {
		row.Queues[i] = QueueRow{q.held, q.share, q.divided}
	}
	m.rows, m.due = append(m.rows, row), false
	e.calendar.add(event{at: after(e.now, e.options.Sample), class: sample})
	return nil
}

// shares asks for the fair shares of the last decision, or where that was none, as
// nobody waited, of the cluster as it is.
func (l *library) shares(e *engine) error {
	last := l.last
	if last == nil && !l.anew {
		var err error
		if last, err = l.decide(e); err != nil {
			return err
		}
	}
	if last == nil {
		return nil
	}
	for s, err := range last.Shares() {
		if err != nil {
			return err
		}
		e.meter.divide(&s)
	}
	return nil
}

// result is what there is so far.
func (e *engine) result() *Result {
	m := &e.meter
	r := &Result{
		Scheduler: e.scheduler.Name, Seed: e.options.Seed, Input: e.in.Hash(), Trail: e.trail.sum(),
		Partial: e.stopped, End: e.now, Rows: m.rows, Total: m.total,
		Allocated: m.allocatedTime, Used: m.usedTime, Usable: m.usableTime, Idle: m.idleTime,
		From: m.steady.from, To: m.steady.to, SteadyAllocated: m.steady.allocated, SteadyUsed: m.steady.used, SteadyUsable: m.steady.usable,
		Events: e.steps, Decisions: m.decisions, Actions: m.actions, Verified: m.verified, Explained: m.explained,
		Promises: e.promises.list, Reserved: m.reservedTime,
		LeftOut: slices.Clone(e.in.LeftOut),
		Jobs:    e.results,
	}
	nothing, open := new(Beside), 0 // which most jobs of most runs held; how many have not ended
	for i := range e.results {
		out, j := &e.results[i], &e.in.Jobs[i]
		out.Job, out.GPUs, out.Tasks, out.of = j, j.asks(e.smallest), j.tasks(), r
		if out.Beside == nil {
			out.Beside = nothing
		}
		if out.Outcome == Unfinished && (e.jobs[i] == nil || e.jobs[i].phase == absent) {
			out.Outcome = NotSubmitted
		}
		if out.Outcome == Unfinished || out.Outcome == NotSubmitted {
			open++
		}
		r.Makespan = max(r.Makespan, out.End)
	}
	if open > 0 {
		r.Makespan = 0
	}
	for _, q := range m.queues {
		r.Queues = append(r.Queues, QueueResult{ID: q.id, Owed: q.owed, Inner: len(q.children) > 0, Promised: q.promised, Ended: q.ended})
	}
	return r
}

// A Spread is the mean and some quantiles of times, by nearest rank. The zero
// Spread is that of none.
type Spread struct {
	N                     int
	Mean                  Decimal
	Median, P90, P99, Max time.Duration
}

// SpreadOf sorts the times and measures them.
func SpreadOf(times []time.Duration) Spread {
	if len(times) == 0 {
		return Spread{}
	}
	slices.SortFunc(times, cmp.Compare)
	var sum Sum
	for _, t := range times {
		sum.add(int64(t), 1)
	}
	rank := func(percent int) time.Duration { return times[max((len(times)*percent+99)/100, 1)-1] }
	return Spread{
		N: len(times), Mean: over(sum, big.NewInt(int64(len(times))), big.NewInt(int64(time.Second))),
		Median: rank(50), P90: rank(90), P99: rank(99), Max: times[len(times)-1],
	}
}
