package engine

import "slices"

// A disruption budget counts what runs of an owner in a pool (M7). What this solve starts
// there and waits for nobody counts too, and what goes because of it goes after it. It
// stays where it is from then on. What starts only once others have left lets nobody go:
// that may take long, or may itself have to wait for what it would let go.

// noteAtOnce takes note of whether seats that a workload is given now, together, start at
// once: a gang starts as one.
func noteAtOnce(w *World, i int32, seats []Seat) {
	if w.Works[i].Owner == None {
		return
	}
	waits := slices.ContainsFunc(seats, func(s Seat) bool { return s.pipelined || s.origin < 0 && someLeft(w, s.Node) })
	for at := range seats {
		seats[at].atOnce = seats[at].origin < 0 && !waits
	}
}

// someLeft says whether something that ran on a node or claimed a place there does so no
// more.
func someLeft(w *World, node int32) bool {
	if len(w.Room.takings) == 0 {
		return false
	}
	for _, at := range w.booking().holdingsOn(node) {
		h := &w.Holdings[at]
		live := w.Works[h.Work].Live
		if h.Phase == Terminating || h.Phase == Vacant || live < 0 || at < w.live[live].from || at >= w.live[live].to {
			continue
		}
		if !slices.ContainsFunc(w.Room.Seats[h.Work], func(s Seat) bool { return s.origin == at && s.commit < 0 }) {
			return true
		}
	}
	return false
}

// startsAtOnce says whether the task of a seat starts in this solve and waits for nobody;
// a claim does whose place has come free.
func startsAtOnce(w *World, s *Seat) bool {
	return s.atOnce || s.origin >= 0 && s.commit < 0 && w.Holdings[s.origin].fresh
}

// minimumWaits says whether something of a workload's minimum waits for who leaves: what
// grows of it starts no sooner than that (G1).
func minimumWaits(w *World, i int32) bool {
	return slices.ContainsFunc(w.Room.Seats[i], func(s Seat) bool {
		return s.step == 0 && (s.claimed || s.origin < 0 && !s.atOnce)
	})
}

// beginBudgets tells the rooms that nobody has gone yet.
func beginBudgets(w *World) {
	for _, p := range w.Pools {
		p.Room.Begin()
	}
}

// letsGo says whether starts of this solve are what lets something go that ran.
func (s freeStarts) letsGo(commits []int32) bool {
	w := s.world
	starting := make(map[int32]int)
	for _, c := range commits {
		work := w.Room.commits[c].work
		if minimumWaits(w, work) {
			continue
		}
		for _, one := range w.Room.Seats[work] {
			if one.commit == c && one.atOnce {
				starting[w.Works[work].Owner]++
			}
		}
	}
	for owner, n := range starting { // each for itself: order cannot matter
		if !s.pool.Room.Spares(owner, n) {
			return true
		}
	}
	return false
}

// A poolBudget is that of one owner in one pool.
type poolBudget struct{ pool, owner int32 }

func budgetOf(w *World, a *Action) poolBudget {
	return poolBudget{w.FormOf(&w.Works[a.Work], a.Form).Pool, w.Works[a.Work].Owner}
}

// licenseFirst has what starts at once come before what only thereby may go or move: as
// many starts of the owner as that takes, in their order, right before it. Who went before
// they were decided, so that their queues admitted them, stands before that.
func licenseFirst(w *World, d *Decision) {
	if len(w.Budgets) == 0 {
		return
	}
	settled, rest := d.Actions[:d.Settled], d.Actions[d.Settled:]
	left, order, done := budgetsBefore(w, d, settled), slices.Clone(settled), make([]bool, len(rest))
	for i := range rest {
		if done[i] {
			continue
		}
		b, taken := budgetOf(w, &rest[i]), disturbs(w, &rest[i])
		for at := i + 1; at < len(rest) && taken > 0 && b.owner != None && left[b] < taken && rest[i].code != StaleGang && rest[i].code != ReservationBegan; at++ {
			if n := begins(w, d, &rest[at]); n > 0 && !done[at] && budgetOf(w, &rest[at]) == b {
				done[at], order = true, append(order, rest[at])
				left[b] += n
			}
		}
		left[b] += begins(w, d, &rest[i]) - taken
		order = append(order, rest[i])
	}
	d.Actions = order
}

// budgetsBefore are how many running tasks may be disturbed once some actions are done,
// which the reconciliation wrote.
func budgetsBefore(w *World, d *Decision, settled []Action) map[poolBudget]int64 {
	left := make(map[poolBudget]int64)
	for pool := range w.Pools {
		for owner, n := range w.Budgets {
			left[poolBudget{int32(pool), int32(owner)}] = n
		}
	}
	for i := range w.Works {
		owner, live := w.Works[i].Owner, w.Works[i].Live
		if owner == None || live < 0 {
			continue
		}
		l := &w.live[live]
		for at := l.from; at < l.to; at++ {
			if h := &w.Holdings[at]; h.Phase == Running && !h.fresh {
				left[poolBudget{w.FormOf(&w.Works[i], h.Form).Pool, owner}]++
			}
		}
	}
	for i := range settled {
		left[budgetOf(w, &settled[i])] += begins(w, d, &settled[i])
	}
	return left
}

// disturbs is how many tasks that ran an action has go or move.
func disturbs(w *World, a *Action) int64 {
	if a.Kind == Evict || a.Kind == Shrink || a.Kind == Move {
		return int64(a.To - a.From)
	}
	return 0
}

// begins is how many tasks an action starts, if they wait for nobody.
func begins(w *World, d *Decision, a *Action) int64 {
	if a.Kind != Start && a.Kind != Resize || minimumWaits(w, a.Work) {
		return 0
	}
	for _, t := range d.Placed[a.From:a.To] {
		if !slices.ContainsFunc(w.Room.Seats[a.Work], func(s Seat) bool { return s.TaskPlace == t && startsAtOnce(w, &s) }) {
			return 0
		}
	}
	return int64(a.To - a.From)
}
