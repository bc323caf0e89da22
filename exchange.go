package allot

import (
	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
)

// Who moves to a place that would have done as well for what starts at its old one
// moves for nothing (M3). That can be so when victims are put back, as by then others
// have been given their places (M9). They change places, and it stays; as with every
// change of a solve the round begins again after that, since a place of another owner may
// be one that others have a right to.

// exchange lets the tasks of the pool that move stay where they ran if what starts there
// can take their new places.
func (s *solver) exchange() {
	w := s.world
	if w.room == nil || len(w.room.takings) == 0 || s.pool.policy.Fitting != gang.AnyNodes || s.pool.classed() {
		return
	}
	var fresh map[standing][][2]int32 // by place: the workloads and seats that start there
	for _, i := range s.pool.works {
		if w.formOf(&w.works[i], w.works[i].current).pool != s.index {
			continue
		}
		for at := range w.room.seats[i] {
			one := &w.room.seats[i][at]
			if one.commit < 0 || !w.ran(one) || one.waits() || one.where() == w.holdings[one.origin].where() || w.madeRoom(i) {
				continue
			}
			if fresh == nil {
				fresh = s.freshSeats()
			}
			s.exchangeWith(i, one, fresh)
		}
	}
}

// madeRoom says whether somebody went for the workload: then its new place is what that
// was good for.
func (w *world) madeRoom(i int32) bool {
	for at := range w.room.takings {
		if w.room.takings[at].beneficiary == i {
			return true
		}
	}
	return false
}

// freshSeats lists what starts in this solve, in the order of the workloads.
func (s *solver) freshSeats() map[standing][][2]int32 {
	w, out := s.world, make(map[standing][][2]int32)
	for i, seats := range w.room.seats {
		if w.formOf(&w.works[i], w.works[i].current).pool != s.index {
			continue
		}
		for at := range seats {
			if one := &seats[at]; one.origin < 0 && !one.waits() {
				out[one.where()] = append(out[one.where()], [2]int32{int32(i), int32(at)})
			}
		}
	}
	return out
}

// exchangeWith looks for a start of the same shape at the old place of a task that moves.
func (s *solver) exchangeWith(i int32, one *seat, fresh map[standing][][2]int32) {
	w := s.world
	from, to := w.holdings[one.origin].where(), one.where()
	for n, at := range fresh[from] {
		j, other := at[0], &w.room.seats[at[0]][at[1]]
		if j == i || other.origin >= 0 || w.shapeOf(i, one) != w.shapeOf(j, other) {
			continue
		}
		other.node, other.devices, one.node, one.devices = to.node, to.devices, from.node, from.devices
		if !w.together(i) || !w.together(j) {
			other.node, other.devices, one.node, one.devices = from.node, from.devices, to.node, to.devices
			continue
		}
		one.commit = none
		fresh[from] = append(fresh[from][:n:n], fresh[from][n+1:]...)
		fresh[to] = append(fresh[to], at)
		w.reenter(i)
		w.reenter(j)
		s.pool.changes++
		s.decision.changed = true
		return
	}
}

// shapeOf is the shape of a task as the index of its pool knows it.
func (w *world) shapeOf(i int32, one *seat) placement.Shape {
	k := &w.works[i]
	return w.definition(k, k.current).sets[one.set].placed
}
