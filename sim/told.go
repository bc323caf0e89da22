package sim

import (
	"cmp"
	"math/bits"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
)

// What the library is told of how long jobs take (B1), where a pool makes promises: what
// their estimates say, and never the truth. Whoever gives a duration in the workload itself
// is told with that.

// foresee finds out when a run that has begun ends by its estimate, at the speed that it has.
func (p *promises) foresee(e *engine, j *job) {
	if !p.made {
		return
	}
	from := max(e.now, j.ready)
	span := j.thought(j.done, j.rate)
	next := time.Duration(0)
	if j.phase == working || j.phase == saving {
		next = j.next
	}
	j.expected = after(from, after(span, j.saves(e, span, next)))
}

// thought is for how long the job works at a rate, by its estimate, when so much work is done: no
// longer than a run lasts. The work of an estimate is more than an int64 holds where speeds are large.
func (j *job) thought(done, rate int64) time.Duration {
	high, low := bits.Mul64(uint64(cmp.Or(j.Estimate, j.Duration)), uint64(j.unit()))
	low, borrow := bits.Sub64(low, uint64(done), 0)
	high, borrow = bits.Sub64(high, 0, borrow)
	switch {
	case borrow > 0: // it takes longer than was thought
		return 0
	case high >= uint64(rate):
		return horizon
	}
	span, rest := bits.Div64(high, low, uint64(rate))
	if rest > 0 {
		span++
	}
	return time.Duration(min(span, uint64(horizon)))
}

// saves is how long the checkpoints take of a run of so much work, of which so much is
// left to the next one; 0 is a whole interval. Who is done takes none.
func (j *job) saves(e *engine, span, next time.Duration) time.Duration {
	c := j.costs(e)
	if !c.Loses || c.Checkpoint == 0 || c.Save == 0 {
		return 0
	}
	n := int64(max(span+c.Checkpoint-cmp.Or(next, c.Checkpoint)-1, 0) / c.Checkpoint)
	if n > int64(horizon/c.Save) {
		return horizon
	}
	return time.Duration(n) * c.Save
}

// tell tells the library how long the job takes: from its start where it waits, and where it
// runs from when it has started. A job of one size has a duration; what tasks of an elastic
// one have to do together is told as fixed work, which comes to the same end at the speed
// that it has.
func (p *promises) tell(e *engine, j *job, w *allot.Workload) {
	if !p.made || j.saysHowLong() || j.phase == leaving {
		return
	}
	if !j.runs() {
		span := j.afresh(e)
		if j.elastic() {
			w.FixedWork = min(inWholeSeconds(span)*int64(j.tasks()), mostTold)
		} else {
			tellDuration(e, j, span)
		}
		return
	}
	first, runs := started(w)
	all := int64(0)
	for k := range w.Tasks {
		if t := &w.Tasks[k]; t.Phase == allot.Running {
			all += inWholeSeconds(j.expected - began(t))
		}
	}
	switch {
	case !runs: // all that it has is leaving
	case j.elastic():
		w.FixedWork = min(max(all, 1), mostTold)
	default:
		tellDuration(e, j, j.expected-first)
	}
}

// saysHowLong says whether the workload itself says how long the job takes.
func (j *Job) saysHowLong() bool { return j.Workload.Duration.Given() || j.Workload.FixedWork > 0 }

// tellDuration tells how long a job of one size takes, and, where that is less than the time that it is content with at
// the least, that it is content with that: less may be left of it.
func tellDuration(e *engine, j *job, d time.Duration) {
	w, n := e.workload(j), inWholeSeconds(d)
	w.Duration = quota.Of(n)
	if w.MinDuration > 0 {
		w.MinDuration = min(e.library.submitted(j).MinDuration, n)
	}
}

// estimate has the workload of a job of one size, where it does not say itself how long that takes, say it by the
// job's estimate.
func (j *Job) estimate(w *allot.Workload) {
	if !j.saysHowLong() && !j.elastic() {
		w.Duration = quota.Of(inWholeSeconds(cmp.Or(j.Estimate, j.Duration)))
	}
}

// afresh is how long a job takes that starts, or starts again, by its estimate.
func (j *job) afresh(e *engine) time.Duration {
	c := j.costs(e)
	delay := c.Start
	if j.saved > 0 {
		delay = after(delay, c.Restore)
	}
	span := j.thought(j.saved, j.unit())
	return after(delay, after(span, j.saves(e, span, 0)))
}

// mostTold bounds what is told in seconds, to what states may say.
const mostTold = 1 << 32

// inWholeSeconds is a time in seconds, rounded up, and at least 1.
func inWholeSeconds(d time.Duration) int64 {
	n := int64(d / time.Second)
	if d%time.Second > 0 {
		n++
	}
	return min(max(n, 1), mostTold)
}

// fine says whether times of the input or of its options are told to less than a microsecond,
// which is what the library counts in.
func (in *Input) fine(o *Options) bool {
	odd := func(list ...time.Duration) bool {
		for _, d := range list {
			if d%time.Microsecond != 0 {
				return true
			}
		}
		return false
	}
	if odd(o.Period, o.Latency) {
		return true
	}
	for i := range in.Changes {
		if odd(in.Changes[i].At) {
			return true
		}
	}
	for i := range in.Jobs {
		j := &in.Jobs[i]
		c := cmp.Or(j.Costs, &o.Costs)
		if odd(j.Submit, j.Duration, j.Estimate, j.CancelAfter, c.Start, c.Grace, c.Checkpoint, c.Save, c.Restore) || len(j.Speed) > 0 || len(j.ModelSpeed) > 0 || j.elastic() {
			return true
		}
	}
	return false
}
