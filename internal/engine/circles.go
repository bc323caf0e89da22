package engine

import (
	"slices"

	"github.com/allotsched/allot/internal/cluster"
)

// Moves in a circle are cut: one of them leaves first and starts after the others (M11). What is left of a gang may
// not start again without the rest (G1), so that none but such may not move in a circle.

// A remainder is what is left of a gang, and where it moves to.
type remainder struct {
	work int32
	to   []cluster.Seat
}

// closesCircle says whether a unit would, in these seats, move in a circle of none but remainders of gangs.
func closesCircle(s *Solver, o *cluster.OutUnit, seats []cluster.Seat) bool {
	own := remainder{o.Unit.Work, seats}
	if o.Unit.Step > 0 || !isRemainder(s.world, own.work) {
		return false
	}
	others := movingRemainders(s, own.work)
	open, seen := []remainder{own}, make([]bool, len(others))
	for len(open) > 0 {
		one := open[len(open)-1]
		open = open[:len(open)-1]
		if one.work != own.work && waitsFor(s.world, &one, &own) {
			return true
		}
		for at := range others {
			if !seen[at] && waitsFor(s.world, &one, &others[at]) {
				seen[at], open = true, append(open, others[at])
			}
		}
	}
	return false
}

// movingRemainders are those but of one workload that have found places in the trial at hand, and that have moved in
// this solve.
func movingRemainders(s *Solver, but int32) (out []remainder) {
	w := s.world
	for i := range s.seated {
		if u := s.seated[i].unit; u.Work != but && u.Step == 0 && isRemainder(w, u.Work) {
			out = append(out, remainder{u.Work, s.seated[i].seats})
		}
	}
	for _, i := range w.Room.Touched { // of all others nothing has moved
		tried := slices.ContainsFunc(out, func(one remainder) bool { return one.work == i })
		if !tried && i != but && len(w.Room.Seats[i]) > 0 && isRemainder(w, i) {
			out = append(out, remainder{i, w.Room.Seats[i]})
		}
	}
	return out
}

// isRemainder says whether what a workload ran with before this solve is less than its minimum.
func isRemainder(w *cluster.World, i int32) bool {
	k := &w.Works[i]
	if k.Live < 0 || w.Live[k.Live].Form != k.Current {
		return false
	}
	l, d := &w.Live[k.Live], w.Definition(k, k.Current)
	ran := make([]int32, len(d.Sets))
	for _, h := range w.Holdings[l.From:l.To] {
		if h.Phase != cluster.Terminating {
			ran[h.Set]++
		}
	}
	return slices.Max(ran) > 0 && !d.Gang.AtMinimum(ran)
}

// waitsFor says whether one remainder moves to where another ran and does not stay.
func waitsFor(w *cluster.World, one, other *remainder) bool {
	l := &w.Live[w.Works[other.work].Live]
	return slices.ContainsFunc(w.Holdings[l.From:l.To], func(h cluster.Holding) bool {
		return h.Phase == cluster.Running && !slices.ContainsFunc(other.to, func(s cluster.Seat) bool { return s.Where() == h.Where() }) &&
			slices.ContainsFunc(one.to, func(s cluster.Seat) bool {
				moves := s.Origin < 0 || w.Holdings[s.Origin].Where() != s.Where()
				return moves && s.Node == h.Node && (s.Devices&h.Devices != 0 || s.Devices == 0 || h.Devices == 0)
			})
	})
}
