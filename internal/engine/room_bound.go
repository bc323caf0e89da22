package engine

import (
	"math"
	"slices"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/preempt"
)

// Who cannot be helped is refused before the evaluators are told, by what the queues
// use and may defend (M8). Counting why comes later, if it is asked.

// A bounding is what a solver keeps for it.
type bounding struct {
	// mayBound: the question at hand may be refused by a bound, which then says
	// untold, and mute that there is nothing more to be told. telling: its reasons are
	// found out after all.
	mayBound, untold, mute, telling bool
	// ownAlone: some unit was refused for what is so of the workload alone.
	ownAlone bool
	largest  largestUnits
	counted  []int32 // scratch of countsOf
	lowest   lowestPriority
}

// A lowestPriority bounds the priority of whatever runs or is claimed in the pool, or did
// when the solve began; MaxInt32 where nothing does.
type lowestPriority struct {
	known             bool
	priority          int32
	holdings, commits int // that it has looked at
}

// mostBounds is how often a solve measures the largest units anew: after so many
// to ask the evaluators is the cheaper way.
const mostBounds = 16

// largestUnits are bounds of what one unit of each queue holds of a resource,
// while nothing changes in the pool.
type largestUnits struct {
	cluster.Memo
	resource int32
	times    int
	byLeaf   []int64
}

// futile says whether no way of these can make room, by bounds alone.
func (s preempting) futile(modes []preempt.Mode, b *preempt.Preemptor) bool {
	if s.pool.Index.Releasing() {
		return false
	}
	return !slices.ContainsFunc(modes, func(mode preempt.Mode) bool {
		if (mode == preempt.Preempt || mode == preempt.ReclaimAndPreempt) && s.lowestOf() >= b.Priority {
			return false
		}
		return !s.infeasible(b, mode, s.largestOf)
	})
}

// infeasible says whether there is no room in this way, without moves beside victims and
// with them (M10).
func (s preempting) infeasible(b *preempt.Preemptor, mode preempt.Mode, largest func(leaf, resource int32) int64) bool {
	with := *b
	with.Relocations = relocations(s.pool)
	return s.pool.Room.Infeasible(&with, mode, largest)
}

// largestOf bounds what a unit of the leaf holds of a resource by what the
// workloads hold as a whole.
func (s preempting) largestOf(leaf, resource int32) int64 {
	w, p, l := s.world, s.pool, &s.largest
	if !l.Stands(p) || l.resource != resource {
		if l.times == mostBounds {
			return p.Tree.Use(int(leaf), int(resource))
		}
		*l = largestUnits{p.UntilChanged(), resource, l.times + 1, make([]int64, len(p.Parent))}
		for _, i := range p.Works {
			k := &w.Works[i]
			f := w.FormOf(k, k.Current)
			if f.Pool != s.index || k.Live < 0 && k.Status != cluster.Complete {
				continue
			}
			sum, d := int64(0), w.Definition(k, k.Current)
			if k.Live < 0 { // started in this solve, which counts only what is elastic
				l.byLeaf[f.Queue] = max(l.byLeaf[f.Queue], d.Demand.Of(resource))
				continue
			}
			if !w.Holds(k) { // and it may have another form in turn
				continue
			}
			for set, n := range w.Live[k.Live].Held {
				sum += int64(n) * d.Sets[set].Charge.Of(resource)
			}
			l.byLeaf[f.Queue] = max(l.byLeaf[f.Queue], sum)
		}
	}
	return l.byLeaf[leaf]
}

// silent says that every way of these is refused before anything is counted
// of which tell makes a reason: what is free does not do for moves, and nobody is
// of a lower priority. Then the evaluators need not be told to tell why.
func (s preempting) silent(modes []preempt.Mode, b *preempt.Preemptor) bool {
	return !slices.ContainsFunc(modes, func(mode preempt.Mode) bool {
		switch mode {
		case preempt.Consolidate:
			return !s.infeasible(b, mode, s.largestOf)
		case preempt.Preempt, preempt.ReclaimAndPreempt:
			return s.lowestOf() < b.Priority
		case preempt.Due:
			return false
		}
		return true
	})
}

// lowestOf is the lowest priority of what the evaluators would have units of, or less:
// what has gone since counts too, so that only what has come is looked at again.
func (s preempting) lowestOf() int32 {
	w, l := s.world, &s.lowest
	if !l.known {
		*l = lowestPriority{known: true, priority: math.MaxInt32}
	}
	look := func(i int32, form int16) {
		if f := w.FormOf(&w.Works[i], form); f.Pool == s.index {
			l.priority = min(l.priority, f.Priority)
		}
	}
	for ; l.holdings < len(w.Holdings); l.holdings++ {
		if h := &w.Holdings[l.holdings]; h.Phase != cluster.Vacant { // else it may be of another workload by now
			look(h.Work, h.Form)
		}
	}
	for ; l.commits < len(w.Room.Commits); l.commits++ {
		look(w.Room.Commits[l.commits].Work, w.Room.Commits[l.commits].Form)
	}
	return l.priority
}

// toldOf are the reasons of the refusal of a question.
func (s preempting) toldOf(asked question, r *refusal) ([]cluster.Verdict, error) {
	if !r.untold || r.silent && r.stands(s.Solver) {
		return r.reasons, nil
	}
	w := s.world
	s.told, s.telling = s.told[:0], true
	defer func() { s.telling = false }()
	helped, err := s.makeRoomForAny(&w.Works[r.item.ID], r.item, r.item.Form, nil)
	if helped && r.stands(s.Solver) {
		err = errUnsound // the bound was none
	}
	r.reasons, r.untold = slices.Clone(s.told), false
	s.refusals[asked] = *r
	return r.reasons, err
}
