package preempt

import (
	"iter"
	"slices"

	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// candidates are the units that may be taken, judged as the first ones to go,
// by leaf and standing.
func (s *search) candidates() []UnitID {
	r, a := s.room, s.ask
	out := s.listed[:0]
	s.runs, s.inRuns = s.runs[:0], true
	short, plainly := plainlyShort(r, a)
	for leaf := range r.byLeaf {
		if a.mode == Preempt && r.Scope != WithinPool && int32(leaf) != a.Leaf {
			continue
		}
		units := r.inLeaf(int32(leaf))
		if len(units) == 0 || a.reclaims() && int32(leaf) == a.Leaf {
			continue
		}
		s.refusal.Units += len(units)
		if a.reclaims() && withinLines(r, a, int32(leaf)) {
			continue
		}
		if a.mode == Preempt {
			units = lowerThan(r, units, a.Priority)
		}
		r.Effort.Spend(1 + len(units)/lookedAt)
		if a.mode != Consolidate && len(units) > 0 {
			r.protect(int32(leaf))
		}
		if plainly && !r.hasOf(int32(leaf), a.Work) {
			out = addStretches(s, out, int32(leaf), short)
			continue
		}
		judged, known := verdict(0), UnitID(-1)
		for _, id := range units {
			if !a.isBehind(r, id) || !r.fixed(a, id, &s.refusal) {
				continue
			}
			if known < 0 || !r.judgedAlike(known, id) {
				judged, known = r.first(a, id), id
			}
			switch judged {
			case lawful, notYet:
				out, s.inRuns = append(out, id), false
			case turns:
				s.refusal.Turning++
			}
		}
	}
	s.countBudgets(out)
	s.listed = out
	return out
}

// A run is some candidates of a leaf that follow each other and are alike, see stretch.
type run struct {
	leaf     int32
	from, to int // of the candidates
}

// eachRun names the runs of candidates, which are of one each where they are not alike.
func eachRun(s *search, candidates []UnitID) iter.Seq[run] {
	return func(yield func(run) bool) {
		if areAlike(s, candidates) {
			for _, one := range s.runs {
				if !yield(one) {
					return
				}
			}
			return
		}
		for at, id := range candidates {
			if !yield(run{s.room.state[id].leaf, at, at + 1}) {
				return
			}
		}
	}
}

// areAlike says whether these are all candidates, and the runs are theirs.
func areAlike(s *search, candidates []UnitID) bool {
	return s.inRuns && len(candidates) == len(s.listed) && (len(candidates) == 0 || &candidates[0] == &s.listed[0])
}

// addStretches adds the candidates of a leaf to them, where of whom nothing keeps all that counts is what
// they hold of what is short.
func addStretches(s *search, out []UnitID, leaf int32, short uint64) []UnitID {
	r, a := s.room, s.ask
	units := r.inLeaf(leaf)
	for _, one := range r.stretchesOf(leaf) {
		id := units[one.from]
		if r.state[id].holds&short == 0 || !one.alike && !r.fixed(a, id, &s.refusal) {
			continue
		}
		switch r.first(a, id) {
		case lawful, notYet:
			s.runs = append(s.runs, run{leaf, len(out), len(out) + int(one.to-one.from)})
			out, s.inRuns = append(out, units[one.from:one.to]...), s.inRuns && one.alike
		case turns:
			s.refusal.Turning += int(one.to - one.from)
		}
	}
	return out
}

// plainlyShort are the resources that are short, as units say which they hold, and whether nothing
// else matters to Evaluator.fixed of a unit of another leaf that no bar keeps.
func plainlyShort(r *Evaluator, a *ask) (short uint64, plainly bool) {
	if !a.reclaims() || r.Scope != NoPreemption && (len(r.timed) > 0 || r.Straddle == Spare) {
		return 0, false
	}
	for _, res := range a.short {
		if res >= 64 {
			return 0, false
		}
		short |= 1 << res
	}
	return short, true
}

// withinLines is a sound bound (M8): R2 keeps a reclaim from all units of a leaf, as its
// side is within its line in all that is short, and nothing else is counted of them.
func withinLines(r *Evaluator, a *ask, leaf int32) bool {
	if len(r.timed) > 0 || len(r.budgets) > 0 || r.Straddle == Spare {
		return false
	}
	side, _ := r.sides(a, leaf)
	return !slices.ContainsFunc(a.short, func(res int32) bool {
		use := r.use(side, res)
		return use > r.quota(side, res) && (!a.byShare() || use > r.share(side, res))
	})
}

// lowerThan are those of a leaf's units, the best standing first, that are preemptible
// and of a lower priority.
func lowerThan(r *Evaluator, units []UnitID, priority int32) []UnitID {
	at, _ := slices.BinarySearchFunc(units, priority, func(id UnitID, priority int32) int {
		if u := r.units[id]; u.NonPreemptible || u.Priority >= priority {
			return -1
		}
		return 1
	})
	return units[at:]
}

// countBudgets counts the candidates that disruption budgets keep from going
// together (M7).
func (s *search) countBudgets(candidates []UnitID) {
	r := s.room
	if len(r.budgets) == 0 {
		return
	}
	left := slices.Clone(r.budgets)
	for owner, n := range r.starting {
		left[owner] += n
	}
	for _, id := range slices.Backward(candidates) {
		u := r.units[id]
		if u.Owner < 0 || u.Running == 0 {
			continue
		}
		if left[u.Owner] -= int64(u.Running); left[u.Owner] < 0 {
			s.refusal.Budgeted++
		}
	}
}

// first judges a unit as the first to go, under any order.
func (r *Evaluator) first(a *ask, id UnitID) verdict {
	a.kind = inOrder
	return r.judge(a, id)
}

// freeInAll is the bound of a consolidation (M8): whether so much is free on all nodes together as the preemptor
// needs, as moving frees nothing in all.
func freeInAll(r *Evaluator, b *Preemptor) bool {
	for _, need := range b.Need {
		if placement.FreeOf(b.nodes(r.Index), everyNode, need.Resource) < need.Value {
			return false
		}
	}
	return true
}

// boundHolds says whether what is free and what might be taken at most are
// enough in all (M8). What is free is only asked where it counts.
func (s *search) boundHolds(candidates []UnitID) bool {
	r, a := s.room, s.ask
	most := make([]int64, r.width)
	if s.addMost(most, candidates) {
		return true
	}
	for _, need := range a.Need {
		if addUpTo(freeFor(r, a, need.Resource), most[need.Resource]) < need.Value {
			return false
		}
	}
	return true
}

// freeFor is what is free in all of a resource where it may serve the preemptor: on the nodes
// of its queue, and where units may move on all, as they may leave these nodes for others.
func freeFor(r *Evaluator, a *ask, res int32) int64 {
	set := a.Set
	if a.mode == Consolidate || a.relocates() {
		set = everyNode
	}
	return placement.FreeOf(a.nodes(r.Index), set, res)
}

// everyNode is the set of all nodes, see [placement.Index.Free].
const everyNode = -1

// addMost bounds what may be taken of each resource, leaf by leaf until it is enough without what is
// free: of a leaf, by R9, either its excess or what is not protected. It says whether it is enough in
// the end.
func (s *search) addMost(most []int64, candidates []UnitID) bool {
	r, a := s.room, s.ask
	enough := func() bool {
		return !slices.ContainsFunc(a.Need, func(need quota.Amount) bool { return most[need.Resource] < need.Value })
	}
	either := int32(-1)
	if a.reclaims() && len(a.short) == 1 {
		either = a.short[0]
	}
	for i := 0; i < len(candidates); {
		leaf := r.state[candidates[i]].leaf
		all, loose := int64(0), int64(0)
		for ; i < len(candidates) && r.state[candidates[i]].leaf == leaf; i++ {
			for _, held := range r.charged(candidates[i]) {
				if held.Resource != either {
					most[held.Resource] = addUpTo(most[held.Resource], held.Value)
					continue
				}
				all = addUpTo(all, held.Value)
				if r.protectionOf(a, candidates[i]) == none {
					loose = addUpTo(loose, held.Value)
				}
			}
		}
		if either >= 0 {
			all = min(all, max(loose, r.use(leaf, either)-r.lineOf(leaf, either, a.byShare())))
			most[either] = addUpTo(most[either], all)
		}
		if enough() {
			return true
		}
	}
	return false
}

// fewNodes is up to how many nodes with candidates all sets of them are tried.
const fewNodes = 6

// singleNodes is how many single nodes are tried for a gang.
const singleNodes = 64
