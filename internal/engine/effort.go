package engine

import (
	"errors"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
)

// What searches for places under constraints and for room cost is bounded for each by
// itself, and for all of a pool together: many questions in vain, each within its bounds,
// would else take as many times as long. The bound grows with the pool, so that what a
// solve takes grows about with what it is asked (M3, M8). Where it cuts a search, the reason of
// who waits says so.

const (
	// leastEffort is how many steps the searches of the smallest pool may cost,
	// effortEach how many more for every node, workload and task that runs.
	leastEffort = 1 << 22
	effortEach  = 256
)

// effort is what the pool's searches cost.
func (p *Pool) effort() *placement.Effort {
	if p.searches == nil {
		p.searches = placement.NewEffort(0)
	}
	return p.searches
}

// mostEffort is what the pool's searches may cost in one decision.
func mostEffort(w *World, p *Pool) int64 {
	size := len(p.Nodes)
	for _, i := range p.Works {
		size += w.Works[i].size()
	}
	return effortOf(size)
}

// size is for how many a workload counts in what a pool's searches may cost.
func (k *Work) size() int { return 1 + len(k.Tasks) }

// effortOf is what the searches of a pool of a size may cost.
func effortOf(size int) int64 { return leastEffort + effortEach*int64(size) }

// counted is a placer of which the searches are counted.
func (p *Pool) counted() gang.Placer {
	out := p.placer()
	out.Effort = p.effort()
	return out
}

// renewEffort gives every pool all that its searches may cost.
func renewEffort(w *World) {
	for _, p := range w.Pools {
		p.effort().Renew(mostEffort(w, p))
	}
}

// explainEffort is what finding out why one workload waits may cost: each for itself, so
// that what is told of it does not depend on what is told of others.
const explainEffort = leastEffort / 64

// ErrCut says that an Incremental came near the bound of what its searches may cost: who
// remembers what was found out cannot tell where a solve from scratch is cut.
var ErrCut = errors.New("allot: the searches of an incremental decision cost too much")

// resumeEffort counts what is remembered as if it were found out in the decision that
// follows, of as many steps as a solve from scratch has. What has been found out anew since
// counts once where that is known (preempt's plans), and else again each time, so that all is
// forgotten where half is used up: seldom, as to find all out is what a solve from scratch
// costs.
func (t *Incremental) resumeEffort() {
	for _, q := range t.pools {
		p := q.pool
		most := effortOf(len(p.Nodes) + q.size)
		if p.effort().Spent() > most/2 || !p.effort().Sure() {
			p.effort().Renew(most)
			p.changes++
			p.freed++
			preempt.ForgetAnswers(p.Room)
		} else {
			p.effort().Resume(most, p.changes != q.resumed) // what was refused stands until then
		}
		q.resumed = p.changes
	}
}

// cut says whether some search was, or would perhaps be in a solve from scratch, which asks
// in another order.
func (t *Incremental) cut() bool {
	for _, q := range t.pools {
		if !q.pool.effort().Sure() {
			return true
		}
	}
	return false
}

// Effort is what the pool's searches have cost in the decision, and what they may.
func (p *Pool) Effort() (spent, most int64) { return p.effort().Spent(), p.effort().Most() }

// A memo says when something was found to be in vain in a pool, by one of its two epochs:
// it stands until something is freed there, where the search was a proof (O5), or else
// until anything comes or goes, as then the same search comes to the same end. The zero
// memo is of nothing, and stands never.
type memo struct{ freed, changed int64 } // plus one

// untilFreed is a memo of now that stands while nothing is freed.
func (p *Pool) untilFreed() memo { return memo{freed: p.freed + 1} }

// untilChanged is a memo of now that stands while nothing changes.
func (p *Pool) untilChanged() memo { return memo{changed: p.changes + 1} }

// stands says whether what was found is so still.
func (m memo) stands(p *Pool) bool { return m.freed == p.freed+1 || m.changed == p.changes+1 }
