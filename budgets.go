package allot

import "slices"

// A disruption budget counts what runs of an owner in a pool (M7). What this solve starts
// there and waits for nobody counts too, and what goes because of it goes after it. It
// stays where it is from then on. What starts only once others have left lets nobody go:
// that may take long, or may itself have to wait for what it would let go.

// ownerOf is whose budget counts the tasks of a workload, or none.
func (w *world) ownerOf(i int32) int32 {
	if owner := w.source(&w.works[i]).Owner; owner != "" {
		if at, known := w.owners[owner]; known {
			return at
		}
	}
	return none
}

// noteAtOnce takes note of whether seats that a workload is given now, together, start at
// once: a gang starts as one.
func (w *world) noteAtOnce(i int32, seats []seat) {
	if w.ownerOf(i) == none {
		return
	}
	waits := slices.ContainsFunc(seats, func(s seat) bool { return s.pipelined || s.origin < 0 && w.someLeft(s.node) })
	for at := range seats {
		seats[at].atOnce = seats[at].origin < 0 && !waits
	}
}

// someLeft says whether something that ran on a node or claimed a place there does so no
// more.
func (w *world) someLeft(node int32) bool {
	for _, at := range w.holdingsOn(node) {
		h := &w.holdings[at]
		live := w.works[h.work].live
		if h.phase == Terminating || h.phase == vacant || live < 0 || at < w.live[live].from || at >= w.live[live].to {
			continue
		}
		if !slices.ContainsFunc(w.room.seats[h.work], func(s seat) bool { return s.origin == at && s.commit < 0 }) {
			return true
		}
	}
	return false
}

// startsAtOnce says whether the task of a seat starts in this solve and waits for nobody;
// a claim does whose place has come free.
func (w *world) startsAtOnce(s *seat) bool {
	return s.atOnce || s.origin >= 0 && s.commit < 0 && w.holdings[s.origin].fresh
}

// beginBudgets tells the rooms that nobody has gone yet.
func (w *world) beginBudgets() {
	for _, p := range w.pools {
		p.room.Begin()
	}
}

// letsGo says whether starts of this solve are what lets something go that ran.
func (s freeStarts) letsGo(commits []int32) bool {
	w := s.world
	starting := make(map[int32]int)
	for _, c := range commits {
		work := w.room.commits[c].work
		for _, one := range w.room.seats[work] {
			if one.commit == c && one.atOnce {
				starting[w.ownerOf(work)]++
			}
		}
	}
	for owner, n := range starting { // each for itself: order cannot matter
		if !s.pool.room.Spares(owner, n) {
			return true
		}
	}
	return false
}

// A poolBudget is that of one owner in one pool.
type poolBudget struct{ pool, owner int32 }

func (w *world) budgetOf(a *action) poolBudget {
	return poolBudget{w.formOf(&w.works[a.work], a.form).pool, w.ownerOf(a.work)}
}

// licenseFirst has what starts at once come before what only thereby may go or move: as
// many starts of the owner as that takes, in their order, right before it. Who went before
// they were decided, so that their queues admitted them, stands before that.
func licenseFirst(w *world, d *decision) {
	if len(w.budgets) == 0 {
		return
	}
	settled, rest := d.actions[:w.room.settled], d.actions[w.room.settled:]
	left, order, done := w.budgetsBefore(d, settled), slices.Clone(settled), make([]bool, len(rest))
	for i := range rest {
		if done[i] {
			continue
		}
		b, taken := w.budgetOf(&rest[i]), w.disturbs(&rest[i])
		for at := i + 1; at < len(rest) && taken > 0 && b.owner != none && left[b] < taken && rest[i].code != StaleGang; at++ {
			if n := w.begins(d, &rest[at]); n > 0 && !done[at] && w.budgetOf(&rest[at]) == b {
				done[at], order = true, append(order, rest[at])
				left[b] += n
			}
		}
		left[b] += w.begins(d, &rest[i]) - taken
		order = append(order, rest[i])
	}
	d.actions = order
}

// budgetsBefore are how many running tasks may be disturbed once some actions are done,
// which the reconciliation wrote.
func (w *world) budgetsBefore(d *decision, settled []action) map[poolBudget]int64 {
	left := make(map[poolBudget]int64)
	for pool := range w.pools {
		for owner, n := range w.budgets {
			left[poolBudget{int32(pool), int32(owner)}] = n
		}
	}
	for i := range w.works {
		owner, live := w.ownerOf(int32(i)), w.works[i].live
		if owner == none || live < 0 {
			continue
		}
		l := &w.live[live]
		for at := l.from; at < l.to; at++ {
			if h := &w.holdings[at]; h.phase == Running && !h.fresh {
				left[poolBudget{w.formOf(&w.works[i], h.form).pool, owner}]++
			}
		}
	}
	for i := range settled {
		left[w.budgetOf(&settled[i])] += w.begins(d, &settled[i])
	}
	return left
}

// disturbs is how many tasks that ran an action has go or move.
func (w *world) disturbs(a *action) int64 {
	if a.kind == Evict || a.kind == Shrink || a.kind == Move {
		return int64(a.to - a.from)
	}
	return 0
}

// begins is how many tasks an action starts, if they wait for nobody.
func (w *world) begins(d *decision, a *action) int64 {
	if a.kind != Start && a.kind != Resize {
		return 0
	}
	for _, t := range d.placed[a.from:a.to] {
		if !slices.ContainsFunc(w.room.seats[a.work], func(s seat) bool { return s.taskPlace == t && w.startsAtOnce(&s) }) {
			return 0
		}
	}
	return int64(a.to - a.from)
}
