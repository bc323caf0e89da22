package explain

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/internal/engine"
	"github.com/allotsched/allot/quota"
)

// A heldBy is what is held in a queue of a resource as the asked pool numbers it. The queue's
// pool is another where a node has changed pools under what runs on it (S7).
type heldBy struct {
	engine.Held
	resource int32
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
		for _, held := range usable.HeldBy(all, r, MostTold) {
			found = append(found, heldBy{held, r})
		}
	}
	return w.toldHolders(f.Pool, found)
}

// toldHolders lists them by resource, the most first, then by queue.
func (w *viewed) toldHolders(pool int32, found []heldBy) []Holder {
	slices.SortFunc(found, func(a, b heldBy) int {
		return cmp.Or(cmp.Compare(a.resource, b.resource), cmp.Compare(b.Amount, a.Amount), a.Leaf.Compare(b.Leaf))
	})
	var out []Holder
	for i := range found {
		h := &found[i]
		own, name := w.Pools[h.Pool], w.view.Resource(pool, h.resource)
		q, r := int(h.Queue), int(w.view.ResourceOf(h.Pool, name))
		one := Holder{
			Queue: w.view.QueueID(h.Pool, h.Queue), Resource: name,
			Held: h.Amount, OfNonPreemptible: h.NonPreemptible, Workloads: h.Works,
			Quota:     bound(own.Tree.Quota(q, r)),
			FairShare: own.Shares[q*own.Width+r].FairShare,
			Used:      own.Tree.Use(q, r),
			Last:      make([]string, len(h.Worst)),
		}
		for at, i := range h.Worst {
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
