package difference

import (
	"slices"

	"github.com/allotsched/allot/internal/cluster"
)

// A poolBudget is that of one owner in one pool.
type poolBudget struct{ pool, owner int32 }

func budgetOf(w *cluster.World, a *cluster.Action) poolBudget {
	return poolBudget{w.FormOf(&w.Works[a.Work], a.Form).Pool, w.Works[a.Work].Owner}
}

// licenseFirst has what starts at once come before what only thereby may go or move: as
// many starts of the owner as that takes, in their order, right before it. What went before
// these starts were decided, so that their queues admitted them, stands before them.
func licenseFirst(w *cluster.World, d *cluster.Decision) {
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
		for at := i + 1; at < len(rest) && taken > 0 && b.owner != cluster.None && left[b] < taken && rest[i].Code != cluster.StaleGang && rest[i].Code != cluster.ReservationBegan; at++ {
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
func budgetsBefore(w *cluster.World, d *cluster.Decision, settled []cluster.Action) map[poolBudget]int64 {
	left := make(map[poolBudget]int64)
	for pool := range w.Pools {
		for owner, n := range w.Budgets {
			left[poolBudget{int32(pool), int32(owner)}] = n
		}
	}
	for i := range w.Works {
		owner, live := w.Works[i].Owner, w.Works[i].Live
		if owner == cluster.None || live < 0 {
			continue
		}
		l := &w.Live[live]
		for at := l.From; at < l.To; at++ {
			if h := &w.Holdings[at]; h.Phase == cluster.Running && !h.Fresh {
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
func disturbs(w *cluster.World, a *cluster.Action) int64 {
	if a.Kind == cluster.Evict || a.Kind == cluster.Shrink || a.Kind == cluster.Move {
		return int64(a.To - a.From)
	}
	return 0
}

// begins is how many tasks an action starts, if they wait for nothing.
func begins(w *cluster.World, d *cluster.Decision, a *cluster.Action) int64 {
	if a.Kind != cluster.Start && a.Kind != cluster.Resize || cluster.MinimumWaits(w, a.Work) {
		return 0
	}
	for _, t := range d.Placed[a.From:a.To] {
		if !slices.ContainsFunc(w.Room.Seats[a.Work], func(s cluster.Seat) bool { return s.TaskPlace == t && cluster.StartsAtOnce(w, &s) }) {
			return 0
		}
	}
	return int64(a.To - a.From)
}
