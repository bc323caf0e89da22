package engine

import (
	"slices"

	"github.com/allotsched/allot/queue"
)

// TurnsOf are the workloads of a pool that wait, in the order in which they would
// have their turns, were nobody to start (O1, O2, P7): the first form of each. Who
// has nothing to start has no turn.
func (w *World) TurnsOf(pool int32) []int32 {
	s := solverAt(w, pool)
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

// Most of a full cluster runs and asks for nothing. Who may have something to start is
// looked for once, when all is settled, and kept in a world that is kept.

// seekers are the workloads that wait at rest or may grow, in no order.
type seekers struct {
	list []int32
	at   []int32 // by work: where in the list it is, plus one
}

// seeks says whether a workload may have something to start as it is.
func seeks(w *World, i int32) bool {
	k := &w.Works[i]
	return k.Status != complete || w.Definition(k, k.Current).Elastic
}

// seekersOf are those of a world that is settled; nil where they are most.
func seekersOf(w *World) *seekers {
	if len(w.live) < len(w.Works)/2 {
		return nil
	}
	out := &seekers{at: make([]int32, len(w.Works))}
	for i := range w.Works {
		if seeks(w, int32(i)) {
			out.put(int32(i), true)
		}
	}
	return out
}

// seekers are the workloads of the pool that may have something to start: of all those of
// which that is not known, each once. Where they are known they may be of other pools.
func (s *Solver) seekers() []int32 {
	w := s.world
	if w.seeking == nil {
		return s.pool.Works
	}
	out := slices.Clone(w.seeking.list)
	for _, i := range w.Room.touched {
		if w.seeking.at[i] == 0 {
			out = append(out, i)
		}
	}
	return out
}

// put takes a workload in, or out.
func (s *seekers) put(i int32, seeks bool) {
	if more := int(i) + 1 - len(s.at); more > 0 {
		s.at = append(s.at, make([]int32, more)...)
	}
	switch at := s.at[i]; {
	case seeks && at == 0:
		s.list = append(s.list, i)
		s.at[i] = int32(len(s.list))
	case !seeks && at > 0:
		last := s.list[len(s.list)-1]
		s.list[at-1], s.at[last] = last, at
		s.list, s.at[i] = s.list[:len(s.list)-1], 0
	}
}
