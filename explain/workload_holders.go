package explain

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/internal/engine"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/quota"
)

// A holderKey is a queue of a pool, and a resource as the asked pool numbers it. The
// pool is another where a node has changed pools under what runs on it (S7).
type holderKey struct{ pool, queue, resource int32 }

// A heldBy is a holder while it is added up; last are the worst standing of its
// workloads, the worst first.
type heldBy struct {
	held, nonPreemptible int64
	works                int
	last                 []preempt.EvictionRank
}

// holders are the queues whose workloads hold what form at of workload waits waits for,
// where it could use it.
func (w *viewed) holders(waits int32, at int16, wanted []int32) []Holder {
	if len(wanted) == 0 {
		return nil
	}
	f := w.FormOf(&w.Works[waits], at)
	usable := engine.UsableBy(w.World, waits, at)
	sums, admitted := make([]int64, len(w.Works)*len(wanted)), make([]int64, len(w.Works))
	w.eachHeld(func(i int32, sets []engine.Shape, t engine.TaskPlace, since int64) {
		if w.NodePool[t.Node] != f.Pool {
			return
		}
		admitted[i] = max(admitted[i], since)
		own := w.FormOf(&w.Works[i], w.Works[i].Current).Pool
		for n, r := range wanted {
			held := sets[t.Set].Charge.Of(w.view.ResourceOf(own, w.view.Resource(f.Pool, r)))
			sums[int(i)*len(wanted)+n] += usable.Of(r, w.Position[t.Node], t.Devices, held)
		}
	})
	found := make(map[holderKey]*heldBy)
	for i := range w.Works {
		for n, r := range wanted {
			amount := sums[i*len(wanted)+n]
			if amount == 0 {
				continue
			}
			k := &w.Works[i]
			g := w.FormOf(k, k.Current)
			key := holderKey{g.Pool, g.Queue, r}
			if found[key] == nil {
				found[key] = new(heldBy)
			}
			found[key].add(amount, preempt.EvictionRank{
				NonPreemptible: g.NonPreemptible, Priority: g.Priority, Admitted: admitted[i], Submitted: k.Submitted, Rank: k.Rank, Work: int32(i),
			})
		}
	}
	return w.toldHolders(f.Pool, found)
}

func (h *heldBy) add(amount int64, s preempt.EvictionRank) {
	h.held += amount
	if s.NonPreemptible {
		h.nonPreemptible += amount
	}
	h.works++
	at, _ := slices.BinarySearchFunc(h.last, s, func(a, b preempt.EvictionRank) int { return b.Compare(a) })
	if at < MostTold {
		h.last = slices.Insert(h.last, at, s)
		h.last = h.last[:min(len(h.last), MostTold)]
	}
}

// toldHolders lists them by resource, the most first, then by queue.
func (w *viewed) toldHolders(pool int32, found map[holderKey]*heldBy) []Holder {
	keys := make([]holderKey, 0, len(found))
	for key := range found { // sorted below
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b holderKey) int {
		return cmp.Or(cmp.Compare(a.resource, b.resource), cmp.Compare(found[b].held, found[a].held),
			cmp.Compare(a.pool, b.pool), cmp.Compare(a.queue, b.queue))
	})
	var out []Holder
	for _, key := range keys {
		h, own, name := found[key], w.Pools[key.pool], w.view.Resource(pool, key.resource)
		q, r := int(key.queue), int(w.view.ResourceOf(key.pool, name))
		one := Holder{
			Queue: w.view.QueueID(key.pool, key.queue), Resource: name,
			Held: h.held, OfNonPreemptible: h.nonPreemptible, Workloads: h.works,
			Quota:     bound(own.Tree.Quota(q, r)),
			FairShare: own.Shares[q*own.Width+r].FairShare,
			Used:      own.Tree.Use(q, r),
		}
		for _, s := range h.last {
			one.Last = append(one.Last, w.view.WorkloadID(s.Work))
		}
		out = append(out, one)
	}
	return out
}

// eachHeld calls f for every task that runs or is claimed after the plan, with its
// workload, the shapes of its form, and when it was given its place.
func (w *viewed) eachHeld(f func(i int32, sets []engine.Shape, t engine.TaskPlace, since int64)) {
	for i, seats := range w.Room.Seats {
		for at := range seats {
			f(int32(i), w.Definition(&w.Works[i], w.Works[i].Current).Sets, seats[at].TaskPlace, seats[at].Admitted)
		}
	}
}

// bound turns a resolved amount into what is told.
func bound(amount int64) quota.Bound {
	if amount == quota.Infinite {
		return quota.Unlimited()
	}
	return quota.Of(amount)
}
