package engine

import (
	"iter"
	"slices"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/division"
	"github.com/allotsched/allot/queue"
)

// TurnsOf are the workloads of a pool that wait, in the order in which they would
// have their turns, were nobody to start (O1, O2, P7): the first form of each. Who
// has nothing to start has no turn.
func TurnsOf(w *cluster.World, pool int32) []int32 {
	s := solverAt(w, pool)
	p := s.pool
	orders := []*queue.Queues{division.NewOrder(p, w, p.Policy.Order)}
	if p.Policy.CPUOnlyApart {
		orders = []*queue.Queues{division.NewOrder(p, w, queue.Global), orders[0]}
	}
	lists := make([][][]queue.Item, len(orders))
	for at := range lists {
		lists[at] = make([][]queue.Item, len(p.Parent))
	}
	for _, i := range p.Works {
		k := &w.Works[i]
		if !MayWait(w, k) || k.Status != cluster.Waiting || k.Pipelined {
			continue
		}
		for f := range int16(1 + len(k.Others)) {
			form := w.FormOf(k, f)
			if form.Pool != s.index {
				continue
			}
			it, has := itemOf(w, i, f)
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

// seekersIn are the workloads that may have something to start, be it the rest of what they are
// short of: of all those of which that is not known, each once.
func seekersIn(w *cluster.World) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		if w.Seeking == nil {
			for i := range w.Works {
				if !yield(int32(i)) {
					return
				}
			}
			return
		}
		for _, i := range w.Seeking.List {
			if !yield(i) {
				return
			}
		}
		for _, i := range w.Room.Touched {
			if w.Seeking.At[i] == 0 && !yield(i) {
				return
			}
		}
	}
}

// seekers are those of the pool; where they are known they may be of other pools.
func (s *Solver) seekers() []int32 {
	if s.world.Seeking == nil {
		return s.pool.Works
	}
	return slices.AppendSeq(make([]int32, 0, len(s.world.Seeking.List)+len(s.world.Room.Touched)), seekersIn(s.world))
}
