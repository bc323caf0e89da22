package engine

import (
	"cmp"
	"iter"
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/preempt"
)

// What a workload holds matters to where more of it goes: constraints speak of all
// of it (T2, T3, T6). It is read off the table, and only for those
// that have constraints.

// keepTogether tells the room which domains the preemptor may use (T7).
func (s reprieving) keepTogether(b *preempt.Preemptor, d *cluster.Definition) {
	domains, exact := s.placer.Domains(s.nodes(), d.Gang, b.Add, s.beside(b.Work, d, b.Add))
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
func (s reprieving) fitted(d *cluster.Definition, unit gang.Unit) bool {
	return s.pool.Policy.Fitting != gang.AnyNodes && d.GPU && unit.Tasks() > 1
}

// beside is what workload i holds while a unit is placed, and the indices that the
// unit's tasks will get where slices depend on them.
func (s reprieving) beside(i int32, d *cluster.Definition, unit gang.Unit) gang.Siblings {
	if !d.Gang.Constrained() {
		return gang.Siblings{}
	}
	var out gang.Siblings
	if k := &s.world.Works[i]; k.Live >= 0 && s.world.Live[k.Live].Standing() != nil {
		out.Standing = s.world.Live[k.Live].Standing()
	} else {
		out.Held = s.world.HeldBy(i)
	}
	if d.Gang.Sliced() {
		for set, n := range unit.Add {
			out.Indices = append(out.Indices, indicesFor(s.world, i, int32(set), n))
		}
	}
	return out
}

// indicesFor are the indices that the next n tasks of a pod set will get, as
// [Booking.continues] gives them.
func indicesFor(w *cluster.World, i, set, n int32) []int32 {
	if next, known := w.Booking().NextIndices(i, set, n); known {
		return next
	}
	used := make(map[int32]bool)
	var lost []int32 // tasks that ran and have no seat now: they are continued first
	k := &w.Works[i]
	for _, h := range w.HeldBy(i) {
		used[h.Index] = used[h.Index] || h.Set == set
	}
	if k.Live >= 0 {
		l := &w.Live[k.Live]
		for at := l.From; at < l.To && l.Form == k.Current; at++ {
			h := &w.Holdings[at]
			if h.Set != set || used[h.Index] || h.Phase == cluster.Terminating {
				continue
			}
			if h.Phase == cluster.Running {
				lost = append(lost, h.Index)
			} else {
				used[h.Index] = true
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
func (s reprieving) keepSomeWithin(o *cluster.OutUnit, seats []cluster.Seat, d *cluster.Definition) bool {
	p := s.pool
	var homeless []int
	beside := s.besideUnit(o, d)
	add := gang.Unit{Add: make([]int32, len(d.Sets))}
	for at, t := range o.Unit.Tasks {
		if one := &seats[at]; retake(s.Solver, t.Shape, t.Place, one) {
			beside.Held = append(beside.Held, gang.Held{Set: one.Set, Index: one.Index, Node: t.Place.Node})
			continue
		}
		homeless = append(homeless, at)
		add.Add[seats[at].Set]++
	}
	beside.Indices = indicesOf(seats, homeless, len(d.Sets))
	places, verdict := s.placer.PlaceWithSiblings(s.nodes(), d.Gang, add, beside, d.Place, nil)
	if !verdict.OK {
		return false
	}
	for at, seat := range homeless { // both are by pod set
		seats[seat].Sit(p.Nodes, places[at])
	}
	return true
}

// keepSomeByClass is keepSome where queues bound classes: each task has the next place that
// these bounds leave it, those that stay before the others (Q8).
func (s reprieving) keepSomeByClass(o *cluster.OutUnit, seats []cluster.Seat, d *cluster.Definition) bool {
	p, w := s.pool, s.world
	k := &w.Works[o.Unit.Work]
	f, use := w.FormOf(k, k.Current), p.Tree.Mark()
	defer p.Tree.Undo(use)
	admitted := func(one *cluster.Seat) bool {
		shape := &d.Sets[one.Set]
		classes := p.ChargeOf(shape, &w.Nodes[one.Node], one.Devices)[len(shape.Charge):]
		_, ok := p.Tree.Check(int(f.Queue), classes, f.NonPreemptible)
		return ok && p.Tree.Charge(int(f.Queue), classes, f.NonPreemptible) == nil
	}
	var homeless []int
	for at, t := range o.Unit.Tasks {
		m := p.Index.Mark()
		if retake(s.Solver, t.Shape, t.Place, &seats[at]) && admitted(&seats[at]) {
			p.Index.Commit(m)
			continue
		}
		p.Index.Undo(m)
		homeless = append(homeless, at)
	}
	for _, at := range homeless {
		shape := &d.Sets[seats[at].Set]
		narrow := s.narrowed(f, shape, nil)
		place, ok := s.nodes().Find(narrow, d.StrategyFor(shape))
		if !ok || p.Index.Take(narrow, place) != nil {
			return false
		}
		if seats[at].Sit(p.Nodes, place); !admitted(&seats[at]) {
			return false
		}
	}
	return true
}

// indicesOf are the indices of some seats, by pod set.
func indicesOf(seats []cluster.Seat, which []int, sets int) [][]int32 {
	out := make([][]int32, sets)
	for _, at := range which {
		out[seats[at].Set] = append(out[seats[at].Set], seats[at].Index)
	}
	return out
}

// besideUnit is what a workload holds besides a unit of it that is placed anew,
// whose tasks keep their indices.
func (s reprieving) besideUnit(o *cluster.OutUnit, d *cluster.Definition) gang.Siblings {
	if !d.Gang.Constrained() {
		return gang.Siblings{}
	}
	all := make([]int, len(o.Seats))
	for at := range all {
		all[at] = at
	}
	return gang.Siblings{Held: s.heldNow(o.Unit.Work), Indices: indicesOf(o.Seats, all, len(d.Sets))}
}

// heldNow is what a workload holds as things stand in the journals.
func (s reprieving) heldNow(i int32) (held []gang.Held) {
	k := &s.world.Works[i]
	for one := range s.seatsNow(i) {
		held = append(held, s.world.HeldIn(k, &one.TaskPlace))
	}
	return held
}

// seatsNow are the rows of a workload as things stand in the journals: a unit that the trial at
// hand has taken has left its rows, and one that has a place again has that.
func (s reprieving) seatsNow(i int32) iter.Seq[*cluster.Seat] {
	return func(yield func(*cluster.Seat) bool) {
		room := s.pool.Room
		var out []int32 // steps
		for id := range room.Of(i) {
			if room.Taken(id) {
				out = append(out, room.Unit(id).Step)
			}
		}
		own := s.world.Room.Seats[i]
		for at := range own {
			if one := &own[at]; !slices.Contains(out, one.Step) && !yield(one) {
				return
			}
		}
		for _, again := range s.seated {
			for at := range again.seats {
				if again.unit.Work == i && !yield(&again.seats[at]) {
					return
				}
			}
		}
	}
}

// A seatedUnit is a unit that has its places in the journals, and no rows there yet.
type seatedUnit struct {
	unit  *preempt.Unit
	seats []cluster.Seat
}

// movingWith are a unit that moves in the trial at hand and those that move as one with it.
func (s reprieving) movingWith(u *preempt.Unit) (units []cluster.OutUnit) {
	room := s.pool.Room
	out := func(u *preempt.Unit) cluster.OutUnit {
		own, _ := cluster.PartSeats(s.world.Room.Seats[u.Work], u.Step)
		return cluster.OutUnit{Unit: u, Seats: own, Asked: true}
	}
	if !s.moveAsOne(u.Work) {
		return []cluster.OutUnit{out(u)}
	}
	for id := range room.Of(u.Work) {
		if preempt.Moving(room, id) {
			units = append(units, out(room.Unit(id)))
		}
	}
	slices.SortFunc(units, func(a, b cluster.OutUnit) int { return cmp.Compare(a.Unit.Step, b.Unit.Step) })
	return units
}

// moveAsOne says whether units of a workload that move for somebody do so as one: under constraints
// where the one goes decides where the other may.
func (s reprieving) moveAsOne(i int32) bool {
	k := &s.world.Works[i]
	return s.world.Definition(k, k.Current).Gang.Constrained()
}

// together is one unit of some of a workload, with all tasks by pod set and the standing of the first.
func together(units []cluster.OutUnit) cluster.OutUnit {
	if len(units) == 1 {
		return units[0]
	}
	type task struct {
		preempt.Task
		seat cluster.Seat
	}
	var tasks []task
	out, u := units[0], *units[0].Unit
	u.Charge = nil
	for i := range units {
		for at := range units[i].Seats {
			tasks = append(tasks, task{units[i].Unit.Tasks[at], units[i].Seats[at]})
		}
		u.Charge = cluster.Plus(u.Charge, units[i].Unit.Charge, i+1)
	}
	slices.SortStableFunc(tasks, func(a, b task) int { return cmp.Compare(a.seat.Set, b.seat.Set) })
	out.Unit, out.Seats, u.Tasks = &u, nil, nil
	for i := range tasks {
		out.Seats, u.Tasks = append(out.Seats, tasks[i].seat), append(u.Tasks, tasks[i].Task)
	}
	return out
}

// movesApart says whether a unit of what was fitted as one (P8), and goes by steps, would move
// without the others.
func (s reprieving) movesApart(o *cluster.OutUnit, d *cluster.Definition) bool {
	return s.pool.Policy.Fitting != gang.AnyNodes && d.GPU && len(d.Ladder) > 0 && s.hasOtherSteps(o)
}

// hasOtherSteps says whether a workload has more than a unit of it, in the table or out.
func (s reprieving) hasOtherSteps(o *cluster.OutUnit) bool {
	another := func(one cluster.Seat) bool { return one.Step != o.Unit.Step }
	return slices.ContainsFunc(s.world.Room.Seats[o.Unit.Work], another) || slices.ContainsFunc(s.world.Room.Out, func(other cluster.OutUnit) bool {
		return other.Unit.Work == o.Unit.Work && other.Unit.Step != o.Unit.Step
	})
}

// strays says whether a unit above the minimum would be apart from the rest of its
// workload at its old place, because that has moved.
func (s reprieving) strays(o *cluster.OutUnit) bool {
	k := &s.world.Works[o.Unit.Work]
	d := s.world.Definition(k, k.Current)
	if !d.Gang.Constrained() || o.Unit.Step == 0 {
		return false
	}
	moved := false
	for _, one := range s.world.Room.Seats[o.Unit.Work] {
		moved = moved || one.Commit >= 0
	}
	held := s.world.HeldBy(o.Unit.Work)
	for at := range o.Seats {
		one := &o.Seats[at]
		held = append(held, gang.Held{Set: one.Set, Index: one.Index, Node: s.world.Position[one.Node]})
	}
	return moved && !s.placer.Obeyed(d.Gang, held)
}
