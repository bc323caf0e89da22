package engine

import "github.com/allotsched/allot/queue"

// TurnsOf are the workloads of a pool that wait, in the order in which they would
// have their turns, were nobody to start (O1, O2, P7): the first form of each. Who
// has nothing to start has no turn.
func (w *World) TurnsOf(s *Solver) []int32 {
	p := s.pool
	orders := []*queue.Queues{p.newOrder(w, p.Policy.Order)}
	if p.Policy.CPUOnlyApart {
		orders = []*queue.Queues{p.newOrder(w, queue.Global), orders[0]}
	}
	lists := make([][][]queue.Item, len(orders))
	for at := range lists {
		lists[at] = make([][]queue.Item, len(p.Parent))
	}
	for _, i := range p.Works {
		k := &w.Works[i]
		if !w.MayWait(k) || k.Status != waiting || k.pipelined {
			continue
		}
		for f := range int16(1 + len(k.Others)) {
			form := w.FormOf(k, f)
			if form.Pool != s.index {
				continue
			}
			it, has := w.item(i, f)
			if !has {
				continue
			}
			at := len(orders) - 1
			if s.apart != nil && !w.Definition(k, f).GPU {
				at = 0
			}
			lists[at][form.Queue] = append(lists[at][form.Queue], s.asOrdered(it))
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
			if len(w.Works[it.ID].Others) == 0 || !seen[it.ID] {
				seen[it.ID] = true
				out = append(out, it.ID)
			}
		}
	}
	return out
}
