package preempt

import "github.com/allotsched/allot/quota"

// Infeasible is a bound for who has not entered the units yet (M8): it says that
// Find would refuse at once, also with fewer relocations, because what is free and what the
// lines leave to be taken at most are not enough. largest bounds what one unit of a leaf holds of
// a resource; it is asked only where it counts. It takes time in the queues.
func (r *Evaluator) Infeasible(b *Preemptor, mode Mode, largest func(leaf, res int32) int64) bool {
	a := &ask{Preemptor: b, mode: mode}
	if mode == ReclaimAndPreempt && !a.fitsLine(r) {
		return true
	}
	if a.reclaims() {
		if a.readShort(r); len(a.short) == 0 || !r.entitled(a, a.Leaf) {
			return true
		}
	}
	one := func(int32, int32) int64 { return 1 } // which is no more than the largest, and costs nothing
	for _, need := range a.Need {
		if !mayFree(r, a, need, one) && !mayFree(r, a, need, largest) {
			return true
		}
	}
	return false
}

// mayFree says whether what is free and what the lines leave to be taken at most are enough of a resource.
func mayFree(r *Evaluator, a *ask, need quota.Amount, largest func(leaf, res int32) int64) bool {
	have := freeFor(r, a, need.Resource)
	for leaf := int32(0); int(leaf) < len(r.byLeaf) && have < need.Value && a.mode != Consolidate; leaf++ {
		have = addUpTo(have, r.mostOf(a, leaf, need.Resource, largest))
	}
	return have >= need.Value
}

// mostOf bounds what may be taken of a leaf: all that it uses, or by R9 what is
// above its line and, as units go whole, less than one more.
func (r *Evaluator) mostOf(a *ask, leaf, res int32, largest func(leaf, res int32) int64) int64 {
	if a.mode == Due { // from all
		return r.use(leaf, res)
	}
	switch { // a reclaim takes from all other leaves, preemption from its own, or all
	case !r.inner[leaf] && a.mode == ReclaimAndPreempt:
		return a.mostOfBoth(r, leaf, res)
	case r.inner[leaf], a.reclaims() && leaf == a.Leaf,
		!a.reclaims() && leaf != a.Leaf && r.Scope != WithinPool:
		return 0
	}
	use := r.use(leaf, res)
	if !a.reclaims() || len(a.Classes) > 0 || len(a.short) != 1 || a.short[0] != res || use == 0 {
		return use
	}
	// A unit is unprotected only for want of room under the line in res.
	for other, divided := range r.Divided {
		if divided && int32(other) != res && r.use(leaf, int32(other)) > r.lineOf(leaf, int32(other), a.byShare()) {
			return use
		}
	}
	over := use - r.lineOf(leaf, res, a.byShare())
	if over <= 0 {
		return 0
	}
	return min(use, addUpTo(over, largest(leaf, res)-1))
}

// fitsLine says whether the preemptor would be within its line if it were alone in its
// leaf.
func (a *ask) fitsLine(r *Evaluator) bool {
	for _, asks := range a.Asks {
		if r.divides(asks.Resource) && asks.Value > r.lineOf(a.Leaf, asks.Resource, r.Reclaim != ByQuota) {
			return false
		}
	}
	return true
}

// mostOfBoth bounds what reclaim and preemption together may take of a leaf: all of
// the preemptor's own, and of others what is beyond their lines.
func (a *ask) mostOfBoth(r *Evaluator, leaf, res int32) int64 {
	use, divided := r.use(leaf, res), 0
	for _, asks := range a.Asks {
		if r.divides(asks.Resource) {
			divided++
		}
	}
	if leaf == a.Leaf || len(a.Classes) > 0 || divided != 1 || !r.divides(res) || a.Asks.Of(res) == 0 {
		return use
	}
	return max(0, use-r.lineOf(leaf, res, false))
}
