package explain

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/internal/engine"
	"github.com/allotsched/allot/quota"
)

// A holderKey is a queue of a pool, and a resource as the asked pool numbers it. The
// pool is another where a node has changed pools under what runs on it (S7).
type holderKey struct{ pool, queue, resource int32 }

// A heldBy is a holder while it is added up; last are the worst standing of its
// workloads, the worst first.
type heldBy struct {
	holderKey
	held, nonPreemptible int64
	works                int
	last                 []int32
}

// holders are the queues whose workloads hold what form at of workload waits waits for,
// where it could use it.
func (w *viewed) holders(waits int32, at int16, wanted []int32) []Holder {
	if len(wanted) == 0 {
		return nil
	}
	f := w.FormOf(&w.Works[waits], at)
	usable, all := engine.UsableBy(w.World, waits, at), w.view.Holders(f.Pool)
	var found []heldBy
	for _, r := range wanted {
		held, from := usable.Of(all, r), len(found)
		for i := range all.Works {
			one := &all.Works[i]
			amount := held(one)
			if amount == 0 {
				continue
			}
			key := holderKey{one.Pool, one.Queue, r}
			if last := len(found) - 1; last < from || found[last].holderKey != key {
				found = append(found, heldBy{holderKey: key, last: make([]int32, 0, MostTold)})
			}
			found[len(found)-1].add(amount, one)
		}
	}
	return w.toldHolders(f.Pool, found)
}

func (h *heldBy) add(amount int64, one *engine.Holder) {
	h.held += amount
	if one.NonPreemptible {
		h.nonPreemptible += amount
	}
	if h.works++; h.works <= MostTold { // the worst standing come first
		h.last = append(h.last, one.Work)
	}
}

// toldHolders lists them by resource, the most first, then by queue.
func (w *viewed) toldHolders(pool int32, found []heldBy) []Holder {
	slices.SortFunc(found, func(a, b heldBy) int {
		return cmp.Or(cmp.Compare(a.resource, b.resource), cmp.Compare(b.held, a.held),
			cmp.Compare(a.pool, b.pool), cmp.Compare(a.queue, b.queue))
	})
	var out []Holder
	for i := range found {
		h := &found[i]
		own, name := w.Pools[h.pool], w.view.Resource(pool, h.resource)
		q, r := int(h.queue), int(w.view.ResourceOf(h.pool, name))
		one := Holder{
			Queue: w.view.QueueID(h.pool, h.queue), Resource: name,
			Held: h.held, OfNonPreemptible: h.nonPreemptible, Workloads: h.works,
			Quota:     bound(own.Tree.Quota(q, r)),
			FairShare: own.Shares[q*own.Width+r].FairShare,
			Used:      own.Tree.Use(q, r),
			Last:      make([]string, len(h.last)),
		}
		for at, i := range h.last {
			one.Last[at] = w.view.WorkloadID(i)
		}
		out = append(out, one)
	}
	return out
}

// bound turns a resolved amount into what is told.
func bound(amount int64) quota.Bound {
	if amount == quota.Infinite {
		return quota.Unlimited()
	}
	return quota.Of(amount)
}
