package preempt

import (
	"cmp"

	"github.com/allotsched/allot/quota"
)

// The order of victims (M3): which of two units goes first, by the class of its side and of the
// queues below it (R3), by their saturation, and within one leaf.

// prepare marks the preemptor's path, from which sides are read.
func (r *Evaluator) prepare(a *ask) {
	clear(r.path)
	for q := a.Leaf; q >= 0; q = r.parent(q) {
		r.path[q] = true
	}
	for i := range r.side {
		r.side[i] = -2
		r.down[i] = r.down[i][:0]
	}
	clear(r.ratioKnown)
}

// sides are the two queues just below the one where the paths of the leaf and
// of the preemptor part.
func (r *Evaluator) sides(a *ask, leaf int32) (victim, own int32) {
	if r.side[leaf] != -2 {
		return r.side[leaf], r.sideB[leaf]
	}
	victim = leaf
	for up := r.parent(victim); up >= 0 && !r.path[up]; up = r.parent(up) {
		victim = up
	}
	own = a.Leaf
	for up := r.parent(own); up != r.parent(victim); up = r.parent(up) {
		own = up
	}
	r.side[leaf], r.sideB[leaf] = victim, own
	return victim, own
}

// class is R3's: 0 over fair share, 1 over quota, 2 within, for what the victim
// holds of what the preemptor is short of.
func (r *Evaluator) class(a *ask, q int32, held quota.Amounts) int8 {
	return classBy(r, a, q, held, r.quota)
}

// classBy is class, within being by the line given.
func classBy(r *Evaluator, a *ask, q int32, held quota.Amounts, within func(q, res int32) int64) int8 {
	class := int8(2)
	for _, res := range a.short {
		if held.Of(res) == 0 {
			continue
		}
		if use := r.use(q, res); use > within(q, res) {
			if use > r.share(q, res) {
				return 0
			}
			class = 1
		}
	}
	return class
}

// classOf is the highest class from the side of a victim, of which the leaf and what it holds are said, down to that
// leaf.
func (r *Evaluator) classOf(a *ask, leaf int32, held quota.Amounts) int8 {
	if !a.reclaims() {
		return 0
	}
	side, _ := r.sides(a, leaf)
	class := r.class(a, side, held)
	for q := leaf; q != side; q = r.parent(q) {
		class = max(class, classBy(r, a, q, held, func(q, res int32) int64 { return uncut(r, q, res) }))
	}
	return class
}

// compare is the order of victims (M3) as things stand: negative if x goes
// first.
func (r *Evaluator) compare(a *ask, x, y *Unit) int {
	if !a.reclaims() {
		return y.EvictionRank.compare(&x.EvictionRank)
	}
	if c := cmp.Compare(r.classOf(a, x.Leaf, x.Charge), r.classOf(a, y.Leaf, y.Charge)); c != 0 {
		return c
	}
	if x.Leaf != y.Leaf {
		if c := r.comparePaths(a, x.Leaf, y.Leaf); c != 0 {
			return c
		}
	}
	return compareWithin(r, a, x, y)
}

// compareWithin is compare of whom class and saturations do not tell apart.
func compareWithin(r *Evaluator, a *ask, x, y *Unit) int {
	if c := cmp.Compare(x.Priority, y.Priority); c != 0 {
		return c
	}
	if c := compareBools(a.excess(r, y.Leaf, y.Charge), a.excess(r, x.Leaf, x.Charge)); c != 0 {
		return c
	}
	return y.EvictionRank.compare(&x.EvictionRank)
}

// comparePaths compares the saturations of two leaves' sides, then of the
// queues below them, the more saturated first.
func (r *Evaluator) comparePaths(a *ask, x, y int32) int {
	up, other := r.descent(a, x), r.descent(a, y)
	for i := len(up) - 1; i >= 0; i-- {
		j := len(other) - (len(up) - i)
		if j < 0 {
			break
		}
		if up[i] == other[j] {
			continue
		}
		if c := r.ratio(other[j]).Cmp(r.ratio(up[i])); c != 0 {
			return c
		}
	}
	return 0
}

// descent lists the queues from the leaf up to its side.
func (r *Evaluator) descent(a *ask, leaf int32) []int32 {
	if path := r.down[leaf]; len(path) > 0 {
		return path
	}
	side, _ := r.sides(a, leaf)
	path := append(r.down[leaf], leaf)
	for q := leaf; q != side; {
		q = r.parent(q)
		path = append(path, q)
	}
	r.down[leaf] = path
	return path
}
