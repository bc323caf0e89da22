package allot

import (
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/preempt"
)

// What a workload holds matters to where more of it goes: constraints speak of all
// of it (T2, T3, T6). It is read off where the solve keeps it, and only for those
// that have constraints.

// keepTogether tells the room which domains the beneficiary may use (T7).
func (s *solver) keepTogether(b *preempt.Preemptor, d *definition) {
	domains, exact := s.placer.Domains(s.nodes(), d.gang, b.Add, s.beside(b.Work, d, b.Add))
	b.Exact = b.Exact && exact
	if domains != nil {
		b.Domains = make([][]int32, len(domains))
	}
	for i, domain := range domains {
		b.Domains[i] = s.placer.Topology.Nodes(domain)
	}
}

// fitted says whether a unit goes to one node or to whole ones (P8), so that room for
// each of its tasks is not yet room for all.
func (s *solver) fitted(d *definition, unit gang.Unit) bool {
	return s.pool.policy.Fitting != gang.AnyNodes && d.gpu && unit.Tasks() > 1
}

// beside is what workload i holds while a unit is placed, and the indices that the
// unit's tasks will get where slices depend on them.
func (s *solver) beside(i int32, d *definition, unit gang.Unit) gang.Siblings {
	if !d.gang.Constrained() {
		return gang.Siblings{}
	}
	out := gang.Siblings{Held: s.world.heldBy(i)}
	if d.gang.Sliced() {
		for set, n := range unit.Add {
			out.Indices = append(out.Indices, s.world.indicesFor(i, int32(set), n))
		}
	}
	return out
}

// heldBy lists what runs or is claimed of a workload, wherever the solve keeps it.
func (w *coreWorld) heldBy(i int32) (held []gang.Held) {
	k := &w.works[i]
	add := func(t *taskPlace) {
		node := w.position[t.node]
		if w.outside(k, t.node) {
			node = -1
		}
		held = append(held, gang.Held{Set: t.set, Index: t.index, Node: node})
	}
	if w.room != nil {
		for at := range w.room.seats[i] {
			add(&w.room.seats[i][at].taskPlace)
		}
		return held
	}
	if k.live < 0 {
		return nil
	}
	l := &w.live[k.live]
	for at := l.from; at < l.to; at++ {
		if h := &w.holdings[at]; h.phase != taskTerminating {
			add(&h.taskPlace)
		}
	}
	return append(held, l.started...)
}

// indicesFor are the indices that the next n tasks of a pod set will get, as
// [world.nextIndex] and [world.continues] give them.
func (w *coreWorld) indicesFor(i, set, n int32) []int32 {
	used := make(map[int32]bool)
	var lost []int32 // tasks that ran and have no seat now: they are continued first
	k := &w.works[i]
	for _, h := range w.heldBy(i) {
		used[h.Index] = used[h.Index] || h.Set == set
	}
	if k.live >= 0 {
		l := &w.live[k.live]
		for at := l.from; at < l.to && (w.room == nil || l.form == k.current); at++ {
			h := &w.holdings[at]
			if h.set != set || used[h.index] || h.phase == taskTerminating {
				continue
			}
			if h.phase == taskRunning && w.room != nil {
				lost = append(lost, h.index)
			} else {
				used[h.index] = true
			}
		}
	}
	slices.Sort(lost)
	out := lost[:min(len(lost), int(n))]
	for _, index := range out {
		used[index] = true
	}
	for next := int32(0); len(out) < int(n); next++ {
		if !used[next] {
			out = append(out, next)
		}
	}
	return out
}

// keepSomeWithin is keepSome for a gang with constraints: what does not stay is
// placed as one, beside what does and the rest of the workload.
func (s *solver) keepSomeWithin(o *outUnit, seats []seat, d *definition) bool {
	p := s.pool
	var homeless []int
	beside := s.besideUnit(o, d)
	add := gang.Unit{Add: make([]int32, len(d.sets))}
	for at, t := range o.unit.Tasks {
		if p.index.Fits(t.Shape, t.Place) && p.index.Take(t.Shape, t.Place) == nil {
			one := &seats[at]
			beside.Held = append(beside.Held, gang.Held{Set: one.set, Index: one.index, Node: t.Place.Node})
			continue
		}
		homeless = append(homeless, at)
		add.Add[seats[at].set]++
	}
	beside.Indices = indicesOf(seats, homeless, len(d.sets))
	places, verdict := s.placer.PlaceWithSiblings(s.nodes(), d.gang, add, beside, d.place, nil)
	if !verdict.OK {
		return false
	}
	for at, seat := range homeless { // both are by pod set
		seats[seat].sit(p.nodes, places[at])
	}
	return true
}

// indicesOf are the indices of some seats, by pod set.
func indicesOf(seats []seat, which []int, sets int) [][]int32 {
	out := make([][]int32, sets)
	for _, at := range which {
		out[seats[at].set] = append(out[seats[at].set], seats[at].index)
	}
	return out
}

// besideUnit is what a workload holds besides a unit of it that is placed anew,
// whose tasks keep their indices.
func (s *solver) besideUnit(o *outUnit, d *definition) gang.Siblings {
	if !d.gang.Constrained() {
		return gang.Siblings{}
	}
	var out gang.Siblings
	own, all := make(map[[2]int32]bool), make([]int, len(o.seats))
	for at := range o.seats {
		own[[2]int32{o.seats[at].set, o.seats[at].index}], all[at] = true, at
	}
	for _, h := range s.world.heldBy(o.unit.Work) {
		if !own[[2]int32{h.Set, h.Index}] {
			out.Held = append(out.Held, h)
		}
	}
	out.Indices = indicesOf(o.seats, all, len(d.sets))
	return out
}

// movesApart says whether a unit of a gang with constraints would move while
// another unit of its workload is out too: where the one goes decides where the
// other may, and a trial does not tell.
func (s *solver) movesApart(o *outUnit, d *definition) bool {
	if !d.gang.Constrained() {
		return false
	}
	room := s.pool.room
	for _, id := range room.Of(o.unit.Work) {
		if room.Unit(id).Step != o.unit.Step && room.Taken(id) {
			return true
		}
	}
	return false
}

// strays says whether a unit above the minimum would be apart from the rest of its
// workload at its old place, because that has moved.
func (s *solver) strays(o *outUnit) bool {
	k := &s.world.works[o.unit.Work]
	d := s.world.definition(k, k.current)
	if !d.gang.Constrained() || o.unit.Step == 0 {
		return false
	}
	moved := false
	for _, one := range s.world.room.seats[o.unit.Work] {
		moved = moved || one.commit >= 0
	}
	held := s.world.heldBy(o.unit.Work)
	for at := range o.seats {
		one := &o.seats[at]
		held = append(held, gang.Held{Set: one.set, Index: one.index, Node: s.world.position[one.node]})
	}
	return moved && !s.placer.Obeyed(d.gang, held)
}

// together says whether what a workload holds keeps its constraints.
func (w *coreWorld) together(i int32) bool {
	k := &w.works[i]
	d := w.definition(k, k.current)
	return !d.gang.Constrained() || w.solverOf(k, k.current).placer.Obeyed(d.gang, w.heldBy(i))
}
