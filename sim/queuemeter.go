package sim

import (
	"slices"
	"time"

	"github.com/allotsched/allot/quota"
)

// A queueMeter adds up what the metrics of a queue are made of. An inner queue
// has what is set of it; its use is that of the leaves below.
type queueMeter struct {
	id     string
	parent int
	quota  quota.Bound
	// held is what its own jobs hold, share the fair share at the last decision.
	held    int64
	share   int64
	divided bool
	// sizes and counts say how many jobs wait that ask so much.
	sizes  []int64
	counts []int
	dirty  bool
	// since is from when somebody has waited in it who would leave it within its
	// quota; negative is nobody. owed are the lengths of such times.
	since time.Duration
	owed  []time.Duration
	ended int
}

// wait notes n more jobs that wait and ask so much.
func (q *queueMeter) wait(asks int64, n int) {
	at, found := slices.BinarySearch(q.sizes, asks)
	if !found {
		q.sizes = slices.Insert(q.sizes, at, asks)
		q.counts = slices.Insert(q.counts, at, 0)
	}
	q.counts[at] += n
	q.dirty = true
}

// least is what the smallest job asks that waits, negative if none does.
func (q *queueMeter) least() int64 {
	for i, n := range q.counts {
		if n > 0 {
			return q.sizes[i]
		}
	}
	return -1
}

// watch finds out whether a queue waits for what its quota promises: somebody
// waits in it with whom it and all above it would be within their quotas.
func (m *meter) watch(e *engine, q *queueMeter) {
	asks := q.least()
	owed := asks >= 0 && q.quota.Given()
	for at := q; owed && at != nil; at = m.above(at) {
		if at.quota.Given() && !at.quota.IsUnlimited() {
			owed = m.below(at)+asks <= at.quota.Amount()
		}
	}
	switch {
	case owed && q.since < 0:
		q.since = e.now
	case !owed && q.since >= 0:
		if e.now > q.since {
			q.owed = append(q.owed, e.now-q.since)
		}
		q.since = -1
	}
}

func (m *meter) above(q *queueMeter) *queueMeter {
	if q.parent < 0 {
		return nil
	}
	return m.queues[q.parent]
}

// below is what the queue and those below it hold.
func (m *meter) below(q *queueMeter) int64 {
	held := q.held
	for _, other := range m.queues {
		for at := m.above(other); at != nil; at = m.above(at) {
			if at == q {
				held += other.held
			}
		}
	}
	return held
}
