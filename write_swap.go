package allot

import (
	"math/bits"

	"github.com/allotsched/allot/gang"
)

// Who moves within the plan to a place that would have done as well for what
// starts at its old one has moved for nothing (M3): they change places, and it
// stays. That can be so when victims are put back, as by then others have been
// given their places (M9).

// A standing is where a task stands.
type standing struct {
	node    int32
	devices uint64
}

// swapBack lets every task that moves stay where it ran if what starts there can
// take its new place.
func (w *world) swapBack() {
	var fresh map[standing][][2]int32 // by place: the workloads and seats that start there
	for i := range w.room.seats {
		for at := range w.room.seats[i] {
			s := &w.room.seats[i][at]
			if s.commit < 0 || !w.ran(s) || s.waits() || w.madeRoom(int32(i)) {
				continue
			}
			if fresh == nil {
				fresh = w.freshSeats()
			}
			w.swapWith(int32(i), s, fresh)
		}
	}
}

// madeRoom says whether somebody went for the workload: then its new place is
// what that was good for.
func (w *world) madeRoom(i int32) bool {
	book := w.room
	if book.helped == nil {
		book.helped = make([]bool, len(w.works))
		for at := range book.takings {
			if b := book.takings[at].beneficiary; b >= 0 {
				book.helped[b] = true
			}
		}
	}
	return book.helped[i]
}

// freshSeats lists what starts in this solve, in the order of the workloads.
func (w *world) freshSeats() map[standing][][2]int32 {
	out := make(map[standing][][2]int32)
	for i, seats := range w.room.seats {
		for at := range seats {
			if s := &seats[at]; s.origin < 0 && !s.waits() {
				place := standing{s.node, s.devices}
				out[place] = append(out[place], [2]int32{int32(i), int32(at)})
			}
		}
	}
	return out
}

// swapWith looks for a start at the old place of a task that moves.
func (w *world) swapWith(i int32, s *seat, fresh map[standing][][2]int32) {
	old := &w.holdings[s.origin]
	from, to := standing{old.node, old.devices}, standing{s.node, s.devices}
	for n, at := range fresh[from] {
		other := &w.room.seats[at[0]][at[1]]
		if at[0] == i || !w.alike(i, s, at[0], other) {
			continue
		}
		other.node, other.devices, s.node, s.devices = to.node, to.devices, from.node, from.devices
		if !w.together(i) || !w.together(at[0]) {
			other.node, other.devices, s.node, s.devices = from.node, from.devices, to.node, to.devices
			continue
		}
		s.commit = -1
		fresh[from] = append(fresh[from][:n:n], fresh[from][n+1:]...)
		fresh[to] = append(fresh[to], at)
		return
	}
}

// alike says whether each of two tasks can stand where the other does: they are
// of one shape or, on one node, take as many whole devices of one model.
func (w *world) alike(i int32, s *seat, j int32, other *seat) bool {
	a, b := &w.works[i], &w.works[j]
	x, y := w.definition(a, a.current).sets[s.set], w.definition(b, b.current).sets[other.set]
	p := w.formOf(a, a.current).pool
	if p != w.formOf(b, b.current).pool || w.pools[p].policy.Fitting != gang.AnyNodes {
		return false
	}
	if x.placed == y.placed && !w.pools[p].classed() {
		return true
	}
	whole := func(s *shape) bool { return s.request.Memory == 0 && s.request.Milli == wholeDevice }
	return s.node == other.node && whole(&x) && whole(&y) && x.request.Devices == y.request.Devices && w.oneModel(s, other)
}

// oneModel says whether the devices of two seats of one node are of one model, of
// one memory.
func (w *world) oneModel(a, b *seat) bool {
	devices := w.state.Nodes[a.node].Devices
	all := a.devices | b.devices
	if all == 0 {
		return false
	}
	first := &devices[bits.TrailingZeros64(all)]
	for rest := all; rest != 0; rest &= rest - 1 {
		if d := &devices[bits.TrailingZeros64(rest)]; d.Model != first.Model || d.Memory != first.Memory {
			return false
		}
	}
	return true
}
