package cluster

import "slices"

// A Journal keeps the workloads that a decision changes as they were.
type Journal struct {
	known []bool // by workload
	saved []savedWork
}

// A savedWork is a workload as it was.
type savedWork struct {
	at    int32
	work  Work
	live  Live
	seats []Seat
}

// Begin is the journal, with nothing in it.
func (j *Journal) Begin() *Journal {
	for i := range j.saved {
		j.known[j.saved[i].at] = false
	}
	clear(j.saved)
	j.saved = j.saved[:0]
	return j
}

// Keep takes note of a workload that is about to change. It does nothing in a solve
// from scratch, whose world is not needed any more.
func (j *Journal) Keep(w *World, i int32) {
	if j == nil || int(i) < len(j.known) && j.known[i] {
		return
	}
	if len(j.known) < len(w.Works) {
		j.known = append(j.known, make([]bool, len(w.Works)-len(j.known))...)
	}
	j.known[i] = true
	one := savedWork{at: i, work: w.Works[i], seats: slices.Clone(w.Room.Seats[i])}
	if at := one.work.Live; at >= 0 {
		one.live = w.Live[at].clone()
	}
	j.saved = append(j.saved, one)
}

// clone is a copy that shares nothing that changes.
func (l *Live) clone() Live {
	out := *l
	out.Held, out.Asks, out.growth = slices.Clone(l.Held), slices.Clone(l.Asks), nil
	return out
}

// Undo brings the workloads back.
func (j *Journal) Undo(w *World) {
	for i := range j.saved {
		one := &j.saved[i]
		if one.work.Live >= 0 {
			w.Live[one.work.Live] = one.live
		}
		w.Works[one.at], w.Room.Seats[one.at] = one.work, one.seats
	}
}
