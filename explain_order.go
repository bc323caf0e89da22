package allot

import "slices"

// turnsOf is the order of who waits in a pool, found out once. The lock is held.
func (d *Decision) turnsOf(pool int32) []int32 {
	if d.turns == nil {
		d.turns = make(map[int32][]int32)
	}
	turns, known := d.turns[pool]
	if !known {
		turns = d.world.TurnsOf(d.world.Solvers[pool])
		d.turns[pool] = turns
	}
	return turns
}

// ahead is who waits before the workload, by the turns of its pool.
func (w *world) ahead(i int32, at int16, turns []int32) *Ahead {
	here := slices.Index(turns, i)
	if here < 0 {
		return nil
	}
	f := w.FormOf(&w.Works[i], at)
	out := &Ahead{InPool: here}
	for before, other := range turns[:here] {
		k := &w.Works[other]
		if g := w.FormOf(k, w.Shown(k)); g.Pool == f.Pool && g.Queue == f.Queue {
			out.InQueue++
		}
		if before >= here-MostTold {
			out.Next = append(out.Next, w.source(k).ID)
		}
	}
	slices.Reverse(out.Next)
	return out
}
