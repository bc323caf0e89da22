package allot

import (
	"slices"

	"github.com/allotsched/allot/queue"
)

// turnsOf is the order of who waits in a pool, found out once. The lock is held.
func (d *Decision) turnsOf(pool int32) []int32 {
	if d.turns == nil {
		d.turns = make(map[int32][]int32)
	}
	turns, known := d.turns[pool]
	if !known {
		turns = d.world.turnsOf(d.world.solvers[pool])
		d.turns[pool] = turns
	}
	return turns
}

// turnsOf are the workloads of a pool that wait, in the order in which they would
// have their turns, were nobody to start (O1, O2, P7): the first form of each. Who
// has nothing to start has no turn.
func (w *world) turnsOf(s *solver) []int32 {
	p := s.pool
	orders := []*queue.Queues{p.newOrder(w, p.policy.Order)}
	if p.policy.CPUOnlyApart {
		orders = []*queue.Queues{p.newOrder(w, queue.Global), orders[0]}
	}
	lists := make([][][]queue.Item, len(orders))
	for at := range lists {
		lists[at] = make([][]queue.Item, len(p.queues))
	}
	for _, i := range p.works {
		k := &w.works[i]
		if !w.mayWait(k) || k.status != waiting || k.pipelined {
			continue
		}
		for f := range int16(1 + len(k.others)) {
			form := w.formOf(k, f)
			if form.pool != s.index {
				continue
			}
			it, has := w.item(i, f)
			if !has {
				continue
			}
			at := len(orders) - 1
			if s.apart != nil && !w.definition(k, f).gpu {
				at = 0
			}
			lists[at][form.queue] = append(lists[at][form.queue], s.asOrdered(it))
		}
	}
	var out []int32
	seen := make(map[int32]bool)
	for at, order := range orders {
		for leaf, items := range lists[at] {
			order.Fill(leaf, items)
		}
		for leaf, it, ok := order.Best(); ok; leaf, it, ok = order.Best() {
			order.Remove(leaf, it)
			if len(w.works[it.ID].others) == 0 || !seen[it.ID] {
				seen[it.ID] = true
				out = append(out, it.ID)
			}
		}
	}
	return out
}

// ahead is who waits before the workload, by the turns of its pool.
func (w *world) ahead(i int32, at int16, turns []int32) *Ahead {
	here := slices.Index(turns, i)
	if here < 0 {
		return nil
	}
	f := w.formOf(&w.works[i], at)
	out := &Ahead{InPool: here}
	for before, other := range turns[:here] {
		k := &w.works[other]
		if g := w.formOf(k, w.shown(k)); g.pool == f.pool && g.queue == f.queue {
			out.InQueue++
		}
		if before >= here-MostTold {
			out.Next = append(out.Next, w.source(k).ID)
		}
	}
	slices.Reverse(out.Next)
	return out
}
