package explain

import (
	"slices"

	"github.com/allotsched/allot/internal/engine"
)

// ahead is what waits before the workload, by the turns of its pool.
func (w *viewed) ahead(i int32, at int16) *Ahead {
	f := w.FormOf(&w.Works[i], at)
	turns := w.view.Turns(f.Pool)
	here := slices.Index(turns, i)
	if here < 0 {
		return nil
	}
	out := &Ahead{InPool: here}
	for before, other := range turns[:here] {
		k := &w.Works[other]
		if g := w.FormOf(k, engine.ShownForm(w.World, k)); g.Pool == f.Pool && g.Queue == f.Queue {
			out.InQueue++
		}
		if before >= here-MostTold {
			out.Next = append(out.Next, w.view.WorkloadID(other))
		}
	}
	slices.Reverse(out.Next)
	return out
}
