package cluster

import (
	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
)

// What searches for places under constraints and for room cost is bounded for each by
// itself, and for all of a pool together: many questions in vain, each within its bounds,
// would else take as many times as long. The bound grows with the pool, so that what a
// solve takes grows about with what it is asked (M3, M8). Where it cuts a search, the reason of
// the workload that waits says so.

const (
	// leastEffort is how many steps the searches of the smallest pool may cost,
	// effortEach how many more for every node, workload and task that runs.
	leastEffort = 1 << 22
	effortEach  = 256
)

// Searching is what the pool's searches cost.
func (p *Pool) Searching() *placement.Effort {
	if p.searches == nil {
		p.searches = placement.NewEffort(0)
	}
	return p.searches
}

// mostEffort is what the pool's searches may cost in one decision.
func mostEffort(w *World, p *Pool) int64 {
	size := len(p.Nodes)
	for _, i := range p.Works {
		size += w.Works[i].Size()
	}
	return EffortOf(size)
}

// Size is for how many a workload counts in what a pool's searches may cost.
func (k *Work) Size() int { return 1 + len(k.Tasks) }

// EffortOf is what the searches of a pool of a size may cost.
func EffortOf(size int) int64 { return leastEffort + effortEach*int64(size) }

// CountedPlacer is a placer of which the searches are counted.
func (p *Pool) CountedPlacer() gang.Placer {
	out := p.placer()
	out.Effort = p.Searching()
	return out
}

// RenewEffort gives every pool all that its searches may cost.
func RenewEffort(w *World) {
	for _, p := range w.Pools {
		p.Searching().Renew(mostEffort(w, p))
	}
}

// ExplainEffort is what finding out why one workload waits may cost: each for itself, so
// that what is told of it does not depend on what is told of others.
const ExplainEffort = leastEffort / 64

// Effort is what the pool's searches have cost in the decision, and what they may.
func (p *Pool) Effort() (spent, most int64) { return p.Searching().Spent(), p.Searching().Most() }

// A Memo says when something was found to be in vain in a pool, by one of its two epochs:
// it stands until something is freed there, where the search was a proof (O5), or else
// until anything comes or goes, as then the same search comes to the same end. The zero
// Memo is of nothing, and stands never.
type Memo struct{ Freed, changed int64 } // plus one

// UntilFreed is a memo of now that stands while nothing is freed.
func (p *Pool) UntilFreed() Memo { return Memo{Freed: p.Freed + 1} }

// UntilRoom is a memo of now that stands until a unit that found no place may find one: while
// nothing is freed, or, as what [gang.MixedWholeNodes] takes from fewer idle nodes may fill
// them where it left a rest, while nothing changes.
func (p *Pool) UntilRoom() Memo {
	if p.Policy.Fitting == gang.MixedWholeNodes {
		return p.UntilChanged()
	}
	return p.UntilFreed()
}

// UntilChanged is a memo of now that stands while nothing changes.
func (p *Pool) UntilChanged() Memo { return Memo{changed: p.Changes + 1} }

// Stands says whether what was found is so still.
func (m Memo) Stands(p *Pool) bool {
	return m.Freed > p.Stayed && m.Freed <= p.Freed+1 || m.changed == p.Changes+1
}

// Free takes note that something has become free in the pool.
func (p *Pool) Free() {
	p.Freed++
	p.Stayed = p.Freed
}

// Refilled takes note that of what was freed since Stayed was this nothing has stayed free on any node: who found no
// place before finds none now, and need not search again.
func (p *Pool) Refilled(stayed int64) { p.Stayed = stayed }
