package sim

import (
	"slices"
	"time"

	"github.com/allotsched/allot/quota"
)

// A queueMeter adds up what the metrics of a queue are made of. An inner queue
// has what is set of it; its use is that of the leaves below.
type queueMeter struct {
	id       string
	above    *queueMeter
	children []*queueMeter
	quota    quota.Bound
	promised bool // at some time it had some
	// held is what jobs of it and of those below it hold, as quotas are charged.
	held int64
	// share is the fair share as it was last asked for, if GPUs are divided.
	share   int64
	divided bool
	// lacks and counts say how many jobs wait that lack so much of their minimum.
	lacks  []int64
	counts []int
	dirty  bool
	// since is from when somebody has waited in it who would leave it within its
	// quota; negative is nobody. owed are the lengths of such times.
	since time.Duration
	owed  []time.Duration
	ended int
}

// noLack is the lack of who does not wait.
const noLack = -1

// wait notes n more jobs that wait and lack so much.
func (q *queueMeter) wait(lack int64, n int) {
	if lack == noLack {
		return
	}
	at, found := slices.BinarySearch(q.lacks, lack)
	if !found {
		q.lacks, q.counts = slices.Insert(q.lacks, at, lack), slices.Insert(q.counts, at, 0)
	}
	if q.counts[at] += n; q.counts[at] == 0 {
		q.lacks, q.counts = slices.Delete(q.lacks, at, at+1), slices.Delete(q.counts, at, at+1)
	}
	q.dirty = true
}

// least is what the job lacks that lacks the least of those that wait, noLack if none does.
func (q *queueMeter) least() int64 {
	if len(q.lacks) == 0 {
		return noLack
	}
	return q.lacks[0]
}

// hold takes in that jobs of the queue hold more: all above it do, and of those whose
// quota is another's as well it may matter.
func (q *queueMeter) hold(more int64) {
	top := q
	for at := q; at != nil; at = at.above {
		at.held += more
		top = at
	}
	top.touch()
}

// touch has the queue and all below it looked at again.
func (q *queueMeter) touch() {
	q.dirty = true
	for _, child := range q.children {
		child.touch()
	}
}

// watch finds out whether the queue waits for what its quota promises: somebody
// waits in it with whom it and all above it would be within their quotas.
func (q *queueMeter) watch(now time.Duration) {
	lack := q.least()
	owed := lack != noLack && q.quota.Given()
	for at := q; owed && at != nil; at = at.above {
		if at.quota.Given() && !at.quota.IsUnlimited() {
			owed = at.held+lack <= at.quota.Amount()
		}
	}
	q.settle(now, owed)
}

// settle takes in whether it waits so.
func (q *queueMeter) settle(now time.Duration, owed bool) {
	switch {
	case owed && q.since < 0:
		q.since = now
	case !owed && q.since >= 0:
		if now > q.since {
			q.owed = append(q.owed, now-q.since)
		}
		q.since = -1
	}
}

// watch is called when everything of an instant has happened.
func (m *meter) watch(now time.Duration) {
	for _, q := range m.queues {
		if q.dirty {
			q.dirty = false
			q.watch(now)
		}
	}
}
