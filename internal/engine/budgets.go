package engine

import "github.com/allotsched/allot/internal/cluster"

// A disruption budget counts what runs of an owner in a pool (M7). What this solve starts
// there and waits for nobody counts too, and what goes because of it goes after it. It
// stays where it is from then on. What starts only once others have left lets nobody go:
// that may take long, or may itself have to wait for what it would let go.

// letsGo says whether starts of this solve are what lets something go that ran.
func (s freeStarts) letsGo(commits []int32) bool {
	w := s.world
	starting := make(map[int32]int)
	for _, c := range commits {
		work := w.Room.Commits[c].Work
		if cluster.MinimumWaits(w, work) {
			continue
		}
		for _, one := range w.Room.Seats[work] {
			if one.Commit == c && one.AtOnce {
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
