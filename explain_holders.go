package allot

import (
	"cmp"
	"slices"

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

// holders are the queues whose workloads hold, on the nodes that the form may
// use, what the workload waits for.
func (w *world) holders(f *form, wanted []int32, d *decision) []Holder {
	if len(wanted) == 0 {
		return nil
	}
	p := w.pools[f.pool]
	sums, admitted := make([]int64, len(w.works)*len(wanted)), make([]int64, len(w.works))
	w.eachHeld(d, func(i int32, sets []shape, t taskPlace, since int64) {
		if w.nodePool[t.node] != f.pool || !p.mayUse(f.queue, w.position[t.node]) {
			return
		}
		admitted[i] = max(admitted[i], since)
		own := w.pools[w.formOf(&w.works[i], w.works[i].current).pool]
		for n, r := range wanted {
			sums[int(i)*len(wanted)+n] += sets[t.set].charge.Of(own.byName[p.resources[r].name])
		}
	})
	found := make(map[holderKey]*heldBy)
	for i := range w.works {
		for n, r := range wanted {
			amount := sums[i*len(wanted)+n]
			if amount == 0 {
				continue
			}
			k := &w.works[i]
			g := w.formOf(k, k.current)
			key := holderKey{g.pool, g.queue, r}
			if found[key] == nil {
				found[key] = new(heldBy)
			}
			found[key].add(amount, preempt.EvictionRank{
				NonPreemptible: g.nonPreemptible, Priority: g.priority, Admitted: admitted[i], Submitted: k.submitted, Rank: k.rank, Work: int32(i),
			})
		}
	}
	return w.toldHolders(p, found)
}

// mayUse says whether the queue may use the node at a position.
func (p *pool) mayUse(q, position int32) bool {
	return p.nodeSet[q] < 0 || p.sets[p.nodeSet[q]][position]
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
func (w *world) toldHolders(p *pool, found map[holderKey]*heldBy) []Holder {
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
		h, own, name := found[key], w.pools[key.pool], p.resources[key.resource].name
		q, r := int(key.queue), int(own.byName[name])
		one := Holder{
			Queue: own.queueID(w.state, q), Resource: name,
			Held: h.held, OfNonPreemptible: h.nonPreemptible, Workloads: h.works,
			Quota:     bound(own.tree.Quota(q, r)),
			FairShare: own.shares[q*len(own.resources)+r].FairShare,
			Used:      own.tree.Use(q, r),
		}
		for _, s := range h.last {
			one.Last = append(one.Last, w.source(&w.works[s.Work]).ID)
		}
		out = append(out, one)
	}
	return out
}

// eachHeld calls f for every task that runs or is claimed after the plan, with its
// workload, the shapes of its form, and when it was given its place.
func (w *world) eachHeld(d *decision, f func(i int32, sets []shape, t taskPlace, since int64)) {
	if w.room != nil {
		for i, seats := range w.room.seats {
			for at := range seats {
				f(int32(i), w.definition(&w.works[i], w.works[i].current).sets, seats[at].taskPlace, seats[at].admitted)
			}
		}
		return
	}
	for at := range w.holdings {
		if h := &w.holdings[at]; h.phase != taskTerminating {
			f(h.work, w.definition(&w.works[h.work], h.form).sets, h.taskPlace, h.since)
		}
	}
	for at := range d.actions[d.settled:] { // nobody has gone: all of them start
		a := &d.actions[d.settled+at]
		for _, t := range d.placed[a.from:a.to] {
			f(a.work, w.definition(&w.works[a.work], a.form).sets, t, w.now)
		}
	}
}

// asAmounts are the amounts of the pool's plain resources as they are told.
func (p *pool) asAmounts(amounts quota.Amounts) (out []AskedAmount) {
	for _, a := range amounts {
		if a.Value > 0 && int(a.Resource) < p.plain {
			out = append(out, AskedAmount{p.resources[a.Resource].name, a.Value})
		}
	}
	return out
}
