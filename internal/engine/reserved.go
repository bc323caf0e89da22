package engine

import (
	"encoding/binary"
	"slices"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/placement"
)

// What people have reserved is closed to who is no member (B9): while it lasts, and before
// that to whoever would still be there when it begins. Who may not use what now is known
// when the state is compiled, and every place that is looked for heeds it.

// evacuate takes from all who are no members what has been reserved from now or before, where
// the reservation says so. They wait again, and may start elsewhere in this plan.
func evacuate(w cluster.Reserving, d *cluster.Decision) error {
	gone := false
	for s := range eachSolver(w.World) {
		if len(s.pool.Reserved) == 0 {
			continue
		}
		var works []int32
		for _, i := range s.pool.Works {
			if s.firstEvicted(i) >= 0 {
				works = append(works, i)
			}
		}
		if len(works) == 0 {
			continue
		}
		slices.SortFunc(works, w.CompareIDs)
		w.Booking().Tell()
		s.enqueuing().lineUp(true)
		for _, i := range works {
			if err := s.takeReserved(i); err != nil {
				return err
			}
		}
		gone = true
	}
	if !gone {
		return nil
	}
	d.Changed = true
	return redivide(w.World, d)
}

// firstEvicted is the lowest step of a workload of which something stands where it may not
// stay; negative is none.
func (s *Solver) firstEvicted(i int32) int32 {
	w := s.world
	k := &w.Works[i]
	first := int32(-1)
	if k.Live < 0 || w.FormOf(k, k.Current).Pool != s.index || strayed(w, k) {
		return first
	}
	for at := range w.Room.Seats[i] {
		one := &w.Room.Seats[i][at]
		if one.Origin >= 0 && w.IsReserved(k, &one.TaskPlace) && (first < 0 || one.Step < first) {
			first = one.Step
		}
	}
	return first
}

// takeReserved takes of a workload what stands where it may not stay, and what builds on it.
func (s *Solver) takeReserved(i int32) error {
	first := s.firstEvicted(i)
	for _, id := range slices.Collect(s.pool.Room.Of(i)) {
		if s.pool.Room.Unit(id).Step < first {
			continue
		}
		if err := s.takeAlone(id, cluster.ReservationBegan); err != nil {
			return err
		}
	}
	w := s.world
	k := &w.Works[i]
	w.Room.Redivide = w.Room.Redivide || w.FormOf(k, k.Current).NonPreemptible
	return nil
}

// openAt is the definition of a form as so many tasks may use it from a time on.
func (s promising) openAt(i int32, form int16, at int64, tasks int32) *cluster.Definition {
	return s.open(i, form, at, cluster.TimeAfter(at, s.pool.Most(&s.world.Definition(&s.world.Works[i], form).Times, tasks)))
}

// open is the definition of a form as it may be used from one time to another: by who
// has a right to it and does not only borrow: what is closed to it then.
func (s promising) open(i int32, form int16, from, until int64) *cluster.Definition {
	return openTo(s, i, form, false, from, until)
}

// openTo is open, or also by who borrows what is lent.
func openTo(s promising, i int32, form int16, borrows bool, from, until int64) *cluster.Definition {
	w := s.world
	k := &w.Works[i]
	d, f := w.Definition(k, form), w.FormOf(k, form)
	if len(d.Stranger) == 0 {
		return d
	}
	s.closed = s.pool.ClosedTo(s.closed[:0], d.Stranger, f.NonPreemptible, borrows, from, until)
	last := &s.lastOpen
	if last.open == nil || last.definition != f.Definition || !slices.Equal(last.closed, s.closed) {
		last.open, last.definition = s.closedTo(f.Definition, s.closed), f.Definition
		last.closed = append(last.closed[:0], s.closed...)
	}
	return last.open
}

// An opened is a definition as it may be used where these sets are closed to it: one time is asked about after the
// other, and mostly the same is closed.
type opened struct {
	definition int32
	closed     []int32
	open       *cluster.Definition
}

// closedTo is a definition as it may be used where these sets are closed to it, and no others.
func (s promising) closedTo(definition int32, sets []int32) *cluster.Definition {
	all := &s.promises
	s.closedKey = binary.AppendVarint(s.closedKey[:0], int64(definition))
	for _, set := range sets {
		s.closedKey = binary.AppendVarint(s.closedKey, int64(set))
	}
	if known := all.open[string(s.closedKey)]; known != nil {
		return known
	}
	again, closed := s.pool.Definitions[definition], slices.Clone(sets)
	again.Sets = slices.Clone(again.Sets)
	for set := range again.Sets {
		one := &again.Sets[set]
		one.Request.Closed = closed
		one.Placed = s.pool.Index.Shape(one.Request)
	}
	again.Gang = again.Gang.Reshaped(func(set int) placement.Shape { return again.Sets[set].Placed })
	if all.open == nil {
		all.open = make(map[string]*cluster.Definition)
	}
	all.open[string(s.closedKey)] = &again
	return &again
}
