package difference

import (
	"slices"

	"github.com/allotsched/allot/internal/cluster"
)

// A plan names who an action waits for, and not for which of its tasks. So all that waits on a node for workloads
// of which something was leaving that before is claimed by the plan, and of it starts, in the order of the actions,
// what is free (S4): whatever of it the solve had start at once, and have wait, while it made the room.

// turns gives what waits for what was leaving its places anew, one action after the other.
type turns struct{ Difference }

// claim has what waits for what was leaving before wait so.
func (w turns) claim(d *cluster.Decision, from int) {
	if !slices.ContainsFunc(w.Pools, func(p *cluster.Pool) bool { return p.Index.Releasing() }) {
		return
	}
	var waiting [][]seatOf // which start or claim together
	claims, starts := false, false
	for at := range d.Actions[from:] {
		a := &d.Actions[from+at]
		seats := w.waitingOf(d, a)
		for _, one := range seats {
			claims, starts = claims || w.seatAt(one).Pipelined, starts || !w.seatAt(one).Pipelined
		}
		if parts := w.parted(a, seats); len(parts) > 0 {
			waiting, starts = append(waiting, parts...), starts || len(parts) > 1
		}
	}
	if !claims || !starts {
		return // as mostly: there is no choice
	}
	for _, seats := range waiting {
		w.seatAll(seats, true)
	}
	for _, seats := range waiting {
		w.seatAll(seats, false)
	}
}

// waitingOf are what an action gives places on nodes that one for whom it waits was leaving before, nothing if it
// gives any other.
func (w turns) waitingOf(d *cluster.Decision, a *cluster.Action) (out []seatOf) {
	if len(a.After) == 0 || slices.Contains(a.After, a.Work) {
		return nil
	}
	for _, t := range d.Placed[a.From:a.To] {
		at := slices.IndexFunc(w.Room.Seats[a.Work], func(s cluster.Seat) bool { return s.TaskPlace == t && s.Commit >= 0 })
		if at < 0 || !w.wasLeft(t.Node, a.After) {
			return nil
		}
		out = append(out, seatOf{a.Work, int32(at)})
	}
	return out
}

// parted parts what an action gives places into what starts or claims together: what starts by one does (S4), and
// so does what moves, unless the workload has its minimum without it.
func (w turns) parted(a *cluster.Action, seats []seatOf) (parts [][]seatOf) {
	if len(seats) == 0 {
		return nil
	}
	definition := w.Definition(&w.Works[a.Work], a.Form)
	if a.Kind != cluster.Move || !definition.Gang.AtMinimum(heldInPlace(w.World, a.Work, definition)) {
		return [][]seatOf{seats}
	}
	for at := range seats {
		parts = append(parts, seats[at:at+1])
	}
	return parts
}

// wasLeft says whether one of some workloads was leaving a node before the solve.
func (w turns) wasLeft(node int32, works []int32) bool {
	return slices.ContainsFunc(w.Booking().HoldingsOn(node), func(at int32) bool {
		h := &w.Holdings[at]
		return h.Phase == cluster.Terminating && slices.Contains(works, h.Work)
	})
}

// seatAll has seats of a workload claim their places or, if these are free, all start there.
func (w turns) seatAll(seats []seatOf, claim bool) {
	k := &w.Works[seats[0].work]
	x, definition := w.Pools[w.FormOf(k, k.Current).Pool].Index, w.Definition(k, k.Current)
	m := x.Mark()
	for _, one := range seats {
		s := w.seatAt(one)
		place := s.Place(w.World)
		shape := definition.Sets[s.Set].Placed
		_ = x.Give(shape, place) // it has that
		if place.Pipelined = claim; !claim && !x.Fits(shape, place) || x.Take(shape, place) != nil {
			x.Undo(m)
			return
		}
	}
	x.Commit(m)
	for _, one := range seats {
		w.seatAt(one).Pipelined = claim
	}
	k.Pipelined = slices.ContainsFunc(w.Room.Seats[seats[0].work], func(s cluster.Seat) bool { return s.Waits() })
}
