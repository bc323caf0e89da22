package preempt

import (
	"slices"

	"github.com/allotsched/allot/quota"
)

// protect brings the protection of a leaf's units up to date (R8).
func (r *Evaluator) protect(leaf int32) {
	if r.walked[leaf] {
		return
	}
	r.walked[leaf], r.stretched[leaf] = true, false
	protectByClass(r, leaf)
	if r.below(leaf, false) {
		if !r.whole[leaf] { // otherwise nothing but more of it has come
			r.whole[leaf] = true
			for _, id := range r.byLeaf[leaf] {
				r.state[id].protection = byQuota
			}
		}
		return
	}
	r.whole[leaf] = false
	units := r.inLeaf(leaf)
	for _, id := range units {
		r.state[id].protection = none
	}
	sum := make([]int64, len(r.Divided))
	admitAll(r, units, sum, false, byQuota)
	admitAll(r, units, sum, true, byShare)
}

// admitAll walks the units of a leaf, and protects those not protected yet that still fit under its line. What
// is charged as one that did not fit does not fit either, as sums only grow.
func admitAll(r *Evaluator, units []UnitID, sum []int64, shares bool, as protection) {
	r.tooMuch.begin(len(r.amounts))
	for _, id := range units {
		u := &r.state[id]
		switch {
		case u.protection != none || r.tooMuch.has(u.charge):
		case r.admit(sum, u.leaf, r.amounts[u.charge], shares):
			u.protection = as
		default:
			r.tooMuch.mark(u.charge)
		}
	}
}

// protectByClass says which units are protected by quota from who reclaims a class (Q8):
// of the classes, too, they fit under the line.
func protectByClass(r *Evaluator, leaf int32) {
	if !slices.Contains(r.Classed, true) {
		return
	}
	sum := make([]int64, len(r.Divided))
	for _, id := range r.inLeaf(leaf) {
		charge, fits := r.charged(id), true
		for _, a := range charge {
			if guards(r, a.Resource) && a.Value > r.lineOf(leaf, a.Resource, false)-sum[a.Resource] {
				fits = false
			}
		}
		if r.state[id].byClass = fits; !fits {
			continue
		}
		for _, a := range charge {
			if guards(r, a.Resource) {
				sum[a.Resource] += a.Value
			}
		}
	}
	withinClasses(r, leaf)
}

// withinClasses says which units are within what the leaf is guaranteed of their classes, best
// standing first, whatever it uses in all. A class of which it is guaranteed nothing binds nothing.
func withinClasses(r *Evaluator, leaf int32) {
	sum := make([]int64, len(r.Classed))
	for _, id := range r.inLeaf(leaf) {
		some, fits := false, true
		for _, a := range r.charged(id) {
			if line, bound := classLine(r, leaf, a.Resource); bound && a.Value > 0 {
				some, fits = true, fits && a.Value <= line-sum[a.Resource]
			}
		}
		if r.state[id].inClass = some && fits; !r.state[id].inClass {
			continue
		}
		for _, a := range r.charged(id) {
			if int(a.Resource) < len(sum) {
				sum[a.Resource] += a.Value
			}
		}
	}
}

// classLine is what a leaf is guaranteed of a class, if it is guaranteed something (Q8).
func classLine(r *Evaluator, leaf, res int32) (line int64, some bool) {
	if int(res) >= len(r.Classed) || !r.Classed[res] {
		return 0, false
	}
	line = r.lineOf(leaf, res, false)
	return line, line > 0
}

// guards says whether a resource is divided or of a class under quota.
func guards(r *Evaluator, res int32) bool {
	return r.divides(res) || int(res) < len(r.Classed) && r.Classed[res]
}

// below says whether all that the leaf uses is within its line: then a walk
// admits every unit.
func (r *Evaluator) below(leaf int32, byShare bool) bool {
	for res, divided := range r.Divided {
		if divided && r.use(leaf, int32(res)) > r.lineOf(leaf, int32(res), byShare) {
			return false
		}
	}
	return true
}

// admit adds a charge to the sum of a walk if it fits under the line in every
// divided resource.
func (r *Evaluator) admit(sum []int64, leaf int32, charge quota.Amounts, byShare bool) bool {
	for _, a := range charge {
		if r.divides(a.Resource) && a.Value > r.lineOf(leaf, a.Resource, byShare)-sum[a.Resource] {
			return false
		}
	}
	for _, a := range charge {
		if r.divides(a.Resource) {
			sum[a.Resource] += a.Value
		}
	}
	return true
}

// wouldProtect says how the preemptor would be protected once it runs, together
// with what runs of its minimum already, and what the search has taken is gone
// (E7).
func (r *Evaluator) wouldProtect(b *Preemptor) protection {
	if r.allBelow(b) {
		return byQuota // as everything in the leaf
	}
	charge, at := b.Asks, r.rank(b.Leaf, &b.EvictionRank)
	part := UnitID(-1)
	for id := range r.Of(b.Work) {
		if u := r.units[id]; b.Step == 0 && u.Step == 0 && u.Leaf == b.Leaf {
			part, at = id, r.rank(b.Leaf, &u.EvictionRank)
			if sum, err := slices.Clone(charge).AddScaled(u.Charge, 1); err == nil {
				charge = sum
			}
		}
	}
	units := r.inLeaf(b.Leaf)
	sum := make([]int64, len(r.Divided))
	admitted := make([]bool, len(units))
	for _, byShares := range [...]bool{false, true} {
		for i := 0; i <= len(units); i++ {
			if i == at && r.admit(sum, b.Leaf, charge, byShares) {
				if byShares {
					return byShare
				}
				return byQuota
			}
			if i < len(units) && units[i] != part && !admitted[i] && !r.state[units[i]].taken {
				admitted[i] = r.admit(sum, b.Leaf, r.charged(units[i]), byShares)
			}
		}
	}
	return none
}

// allBelow says whether the preemptor's leaf stays within its LQ with it.
func (r *Evaluator) allBelow(b *Preemptor) bool {
	for res, divided := range r.Divided {
		if divided && r.use(b.Leaf, int32(res))+b.Asks.Of(int32(res)) > r.lineOf(b.Leaf, int32(res), false) {
			return false
		}
	}
	return true
}
