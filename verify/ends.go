package verify

import (
	"math"
	"math/big"
	"slices"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// How long work takes, and when what has a place is expected to have left it (B1). Times are
// microseconds since 1970, and durations as many.

const (
	// forever is the time of what has no known end.
	forever = math.MaxInt64
	aSecond = 1_000_000
	aMinute = 60 * aSecond
)

// A lasting is how long a form takes: as is expected, which is at most its limit, and by that.
type lasting struct{ expected, limit int64 }

// after is a time so much later than another.
func after(t, by int64) int64 {
	if by >= endOfTimes-t {
		return forever
	}
	return t + by
}

// seconds are a bound in microseconds; what is not said or not bounded is for ever.
func seconds(b quota.Bound) int64 {
	if !b.Given() || b.IsUnlimited() || b.Amount() >= endOfTimes/aSecond {
		return forever
	}
	return b.Amount() * aSecond
}

// lastingOf is how long so many tasks take that start together in a queue: by what the workload says,
// else its queue or the first above it that does, else the policy; at most the least of all that bounds it.
func lastingOf(w *allot.Workload, q *verifiedQueue, tasks int) lasting {
	own, limit, most := w.Duration, w.TimeLimit, int64(forever)
	var levels []allot.Durations
	for up := q; up != nil; up = up.parent {
		levels = append(levels, up.durations)
	}
	for _, d := range append(levels, q.pool.policy.Durations) {
		if !own.Given() {
			own = d.Default
		}
		if !limit.Given() {
			limit = d.DefaultLimit
		}
		most = min(most, seconds(d.Max))
	}
	out := lasting{seconds(own), min(seconds(limit), most)}
	if w.FixedWork > 0 {
		all := make([]int64, tasks)
		out.expected = overrun(0, jointEnd(max(0, w.FixedWork-w.WorkDone), all))
	}
	out.expected = min(out.expected, out.limit)
	return out
}

// jointEnd is when tasks that began at these times have done what is left of their work, in
// task-seconds: by then they have run as long together. It is rounded up, not before 1970, and for
// ever where that is beyond all times.
func jointEnd(left int64, began []int64) int64 {
	sum, rest := new(big.Int).Mul(big.NewInt(left), big.NewInt(aSecond)), new(big.Int)
	for _, at := range began {
		sum.Add(sum, big.NewInt(at))
	}
	if len(began) == 0 {
		return forever
	}
	sum.DivMod(sum, big.NewInt(int64(len(began))), rest)
	if rest.Sign() > 0 {
		sum.Add(sum, big.NewInt(1))
	}
	if sum.Cmp(big.NewInt(endOfTimes)) >= 0 {
		return forever
	}
	return max(0, sum.Int64())
}

// fewest is how many tasks start together in a group, at the fewest.
func (n *gangNode) fewest() (tasks int) {
	if n.set >= 0 {
		return n.need
	}
	var list []int
	for _, child := range n.children {
		list = append(list, child.fewest())
	}
	slices.Sort(list)
	for _, one := range list[:n.need] {
		tasks += one
	}
	return tasks
}

// trusts says whether the pool judges by expected durations how long work is in the way (B5).
func (p *verifiedPool) trusts() bool {
	return p.policy.Reserve.TrustDurations && p.policy.Reserve.Backfill != queue.NoBackfill
}

// inTheWay is how long a form is in the way, as far as the pool trusts what is said of it.
func (p *verifiedPool) inTheWay(l lasting) int64 {
	if p.trusts() {
		return l.expected
	}
	return l.limit
}

// An end is when a task has left its place: as is predicted, and for sure, as far as the pool
// trusts that.
type end struct{ predicted, sure int64 }

// by is the end of what the host ends at a time, if that is not 0: it was cut to fit a hole.
func (e end) by(cut int64) end {
	if cut == 0 {
		return e
	}
	return end{min(e.predicted, cut), min(e.sure, cut)}
}

// endOfStarted is that of what starts now, where fixed work of it is done by a time.
func (v promising) endOfStarted(w *allot.Workload, q *verifiedQueue, done int64) end {
	l := lastingOf(w, q, 0)
	expected, limited := after(v.at, l.expected), after(v.at, l.limit)
	if w.FixedWork > 0 {
		expected = min(overrun(v.at, done), limited)
	}
	if q.pool.trusts() {
		return end{expected, expected}
	}
	return end{expected, limited}
}

// hasBegun says whether a task has begun to run: a claim has where it moves, and goes on there.
func hasBegun(t *allot.Task) bool {
	return t.Phase == allot.Running || t.Phase == allot.Claimed && !t.Started.IsZero()
}

// begunIn says whether a task that a workload claims in the state has begun to run.
func begunIn(w *verifiedWorkload, name taskName) bool {
	return slices.ContainsFunc(w.source.Tasks, func(t allot.Task) bool {
		return t.Phase == allot.Claimed && t.PodSet == name.podSet && t.Index == name.index && hasBegun(&t)
	})
}

// endOf is that of a task of the state, as all that the state has of the workload goes on.
func (v promising) endOf(w *allot.Workload, q *verifiedQueue, t *allot.Task) end {
	var began []int64
	for i := range w.Tasks {
		if one := &w.Tasks[i]; one.Phase != allot.Terminating {
			began = append(began, v.began(one))
		}
	}
	return v.endAmong(w, q, t, jointEnd(w.FixedWork-w.WorkDone, began))
}

// began is when a task of the state has begun: of a claim that has not it is as if it did so now.
func (v promising) began(t *allot.Task) int64 {
	if hasBegun(t) {
		return beganAt(t)
	}
	return v.at
}

// endAmong is endOf where fixed work of the workload is done by a time.
func (v promising) endAmong(w *allot.Workload, q *verifiedQueue, t *allot.Task, done int64) end {
	l, started := lastingOf(w, q, 0), v.began(t)
	expected, limited := after(started, l.expected), after(started, l.limit)
	if w.FixedWork > 0 {
		expected = done
	}
	if !t.Until.IsZero() { // it was cut to fit a hole
		limited = min(limited, micros(t.Until))
	}
	if limited <= v.at {
		grace := int64(30 * aSecond)
		if q.pool.policy.KillGrace.Given() {
			grace = seconds(q.pool.policy.KillGrace)
		}
		over := after(v.at, grace)
		return end{over, over}
	}
	out := end{min(overrun(v.at, expected), limited), limited}
	if q.pool.trusts() {
		out.sure = out.predicted
	}
	return out
}

// beganAt is when a task has begun to run; what is not told began in 1970.
func beganAt(t *allot.Task) int64 {
	if t.Started.IsZero() {
		return max(0, micros(t.Since))
	}
	return micros(t.Started)
}

// overran says whether a task was trusted to have left by now (B5).
func overran(s *allot.State, w *allot.Workload, q *verifiedQueue, t *allot.Task) bool {
	return q.pool.trusts() && hasOverrun(w, q, t, nowOf(s))
}

// waitingSince is when a workload began to wait, or would have if that is not said: what is left of a gang, when it became
// that, and now, if it ran.
func (w *verifiedWorkload) waitingSince(now int64) int64 {
	switch k := w.source; {
	case w.active > 0 && !k.PartialSince.IsZero():
		return micros(k.PartialSince)
	case slices.ContainsFunc(k.Tasks, func(t allot.Task) bool { return hasBegun(&t) }):
		return now
	case k.WaitingSince.IsZero():
		return micros(k.Submitted)
	default:
		return micros(k.WaitingSince)
	}
}

// hasOverrun says whether a task of the state was expected to have ended by now.
func hasOverrun(w *allot.Workload, q *verifiedQueue, t *allot.Task, now int64) bool {
	l, expected := lastingOf(w, q, 0), int64(forever)
	if w.FixedWork > 0 {
		var began []int64
		for i := range w.Tasks {
			if hasBegun(&w.Tasks[i]) {
				began = append(began, beganAt(&w.Tasks[i]))
			}
		}
		expected = jointEnd(w.FixedWork-w.WorkDone, began)
	} else {
		expected = after(beganAt(t), l.expected)
	}
	return hasBegun(t) && min(expected, after(beganAt(t), l.limit)) <= now
}

// overrun is when what has not ended by a time is expected to: 1, 5, 15 or 30 minutes, 1, 2, 5,
// 10, 20, 50 or 100 hours later, and each further 100 hours, the first that is to come.
func overrun(now, expected int64) int64 {
	if expected > now {
		return expected
	}
	for _, minutes := range [...]int64{1, 5, 15, 30, 60, 120, 300, 600, 1200, 3000} {
		if expected+minutes*aMinute > now {
			return after(expected, minutes*aMinute)
		}
	}
	const most = 6000 * aMinute
	return after(expected, ((now-expected)/most+1)*most)
}

// rounded is a time rounded up to the resolution of the pool's promises.
func (p *verifiedPool) rounded(t int64) int64 {
	unit := p.policy.Reserve.Resolution
	if !unit.Given() || unit.Amount() == 0 || t == forever {
		return t
	}
	size := unit.Amount() * aSecond
	whole := (t + size - 1) / size
	if whole >= forever/size {
		return t
	}
	return whole * size
}
