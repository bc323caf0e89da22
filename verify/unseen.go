package verify

import (
	"slices"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/preempt"
)

// What a solve took and put back, or started and took again, its plan does not
// show (M9). Here is found what of that there can have been.

// A verifiedReclaimer is a queue that reclaims from a side, and the workload
// that it is for where that says more.
type verifiedReclaimer struct {
	queue, side *verifiedQueue
	itself      *verifiedWorkload
}

// A verifiedReturn is what a workload in a queue takes of another queue's.
type verifiedReturn struct {
	workload    *verifiedWorkload
	queue, from *verifiedQueue
	key         verifiedKey
	code        allot.Code
}

// A verifiedRelease is what a queue may lose to that priority in a leaf.
type verifiedRelease struct {
	queue, leaf *verifiedQueue
	priority    int64
	key         verifiedKey
}

// releasable is the most that a queue and those below it can have lost for a
// preemptor of a leaf and that priority: what others ask there, in other leaves of
// whatever priority where the policy reclaims, as both may go for one (R11). What was taken and put
// back into its place, or started and was taken, is not seen in the plan.
func (v *verifier) releasable(q, leaf *verifiedQueue, priority int64, key verifiedKey) (sum int64) {
	asked := verifiedRelease{q, leaf, priority, key}
	if sum, known := v.room.releasable[asked]; known {
		return sum
	}
	for _, w := range v.workOrder {
		higher := priorityOf(w.source, q.pool.policy) >= priority
		var most int64
		for i := range w.forms {
			f := &w.forms[i]
			if higher && (f.queue == leaf || q.pool.policy.Reclaim == preempt.NoReclaim) {
				continue
			}
			if q.above(f.queue) && !f.nonPreemptible {
				most = max(most, f.asks()[key.resource])
			}
		}
		sum += most
	}
	v.room.releasable[asked] = sum
	return sum
}

// mostAsked is the most, by resource, that one workload of the side asks that
// holds nothing before or after the plan, but what may be leaving, and from which b could reclaim.
func (v *verifier) mostAsked(b *verifiedWorkload, queue, side *verifiedQueue) map[string]int64 {
	asker := verifiedReclaimer{queue: queue, side: side}
	if b.places == 0 {
		asker.itself = b // what holds something is none of them anyway
	}
	most, known := v.room.asked[asker]
	if known {
		return most
	}
	most = make(map[string]int64)
	for _, w := range v.workOrder {
		other := &w.forms[0]
		holds := slices.ContainsFunc(w.source.Tasks, func(t allot.Task) bool { return t.Phase != allot.Terminating })
		if w == b || w.active > 0 || holds || w.source.Ending || other.nonPreemptible || !side.above(other.queue) ||
			!v.mayTake(b, queue, w, other.queue, allot.ReclaimedByQuota) {
			continue
		}
		for resource, amount := range other.asks() { // each its own maximum: order cannot matter
			most[resource] = max(most[resource], amount)
		}
	}
	v.room.asked[asker] = most
	return most
}
