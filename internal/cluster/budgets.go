package cluster

import "slices"

// NoteAtOnce takes note of whether seats that a workload is given now, together, start at
// once: a gang starts as one.
func NoteAtOnce(w *World, i int32, seats []Seat) {
	if w.Works[i].Owner == None {
		return
	}
	waits := slices.ContainsFunc(seats, func(s Seat) bool { return s.Pipelined || s.Origin < 0 && someLeft(w, s.Node) })
	for at := range seats {
		seats[at].AtOnce = seats[at].Origin < 0 && !waits
	}
}

// someLeft says whether something that ran on a node or claimed a place there does so no
// more.
func someLeft(w *World, node int32) bool {
	if len(w.Room.Takings) == 0 {
		return false
	}
	for _, at := range w.Booking().HoldingsOn(node) {
		h := &w.Holdings[at]
		live := w.Works[h.Work].Live
		if h.Phase == Terminating || h.Phase == Vacant || live < 0 || at < w.Live[live].From || at >= w.Live[live].To {
			continue
		}
		if !slices.ContainsFunc(w.Room.Seats[h.Work], func(s Seat) bool { return s.Origin == at && s.Commit < 0 }) {
			return true
		}
	}
	return false
}

// StartsAtOnce says whether the task of a seat starts in this solve and waits for nothing;
// so does a claim of which the place has come free.
func StartsAtOnce(w *World, s *Seat) bool {
	return s.AtOnce || s.Origin >= 0 && s.Commit < 0 && w.Holdings[s.Origin].Fresh
}

// MinimumWaits says whether something of a workload's minimum waits for what leaves: what
// the workload grows by starts no sooner than that (G1).
func MinimumWaits(w *World, i int32) bool {
	seats := w.Room.Seats[i]
	for at := range seats {
		if s := &seats[at]; s.Step == 0 && (s.Claimed || s.Origin < 0 && !s.AtOnce) {
			return true
		}
	}
	return false
}

// BeginBudgets tells the evaluators that nothing has gone yet.
func BeginBudgets(w *World) {
	for _, p := range w.Pools {
		p.Room.Begin()
	}
}
