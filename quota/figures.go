package quota

import (
	"cmp"
	"math/bits"
	"slices"
)

// Figures are what is reported of a queue and resource (Q6), in the resource's
// unit.
type Figures struct {
	// Quota and Limit are what holds after Q1's defaults; [Infinite] is none.
	Quota, Limit int64
	// Used is all use; InQuota and OverQuota are its parts up to and beyond
	// quota, NonPreemptible the part that was charged as such.
	Used, InQuota, OverQuota, NonPreemptible int64
	// Borrowed is OverQuota: preemptible or not, all use counts (OSMO).
	Borrowed int64
	// Lent is what siblings use of this queue's unused quota; the formula is
	// at [Tree.Figures].
	Lent int64
}

// Figures returns the figures of queue q and resource r; the zero Figures if
// they are not of this tree. O(siblings). For all queues use
// [Tree.AppendFigures].
//
// Lent is not a matter of fact, as amounts have no name on them; it is computed
// per sibling group so. What the group uses beyond quota, less what its parent
// uses beyond its own quota (that comes from further up), less what belongs to
// the parent but to none of the siblings (the parent's quota − Σ siblings'
// quotas, if positive; for the pool, or a parent of unlimited quota, the pool's
// capacity stands for the quota) is lent by the siblings, each giving in
// proportion to what it could lend: the part of its quota that is neither in
// use nor kept (Q5). Fractions are cut off, and the units so left over go to
// those that could lend most, one each, ties to the lower index. No more is lent
// than could be. A queue of unlimited quota lends nothing: no part of the
// capacity is its own.
func (t *Tree) Figures(q, r int) Figures {
	if !t.has(q, r) {
		return Figures{}
	}
	f := t.figuresBeforeLending(int32(q), r)
	group := t.group(t.parent[q], r)
	if mine := t.lendable(int32(q), r); group.lent > 0 && mine > 0 {
		left, ahead := group.lent, int64(0)
		for _, s := range t.childrenOf(t.parent[q]) {
			other := t.lendable(s, r)
			left -= group.part(other)
			if other > mine || other == mine && int(s) < q {
				ahead++
			}
		}
		f.Lent = group.part(mine)
		if ahead < left {
			f.Lent++
		}
	}
	return f
}

// AppendFigures appends the [Figures] of every queue and resource, by queue,
// then by resource. O(queues × resources), and sorting the lenders of each
// group.
func (t *Tree) AppendFigures(dst []Figures) []Figures {
	start := len(dst)
	dst = slices.Grow(dst, len(t.parent)*t.resources)
	for q := range t.pool {
		for r := range t.resources {
			dst = append(dst, t.figuresBeforeLending(q, r))
		}
	}
	figures := dst[start:]
	var lenders []lender
	for p := range t.pool + 1 {
		for r := range t.resources {
			lenders = t.lend(figures, p, r, lenders[:0])
		}
	}
	return dst
}

// figuresBeforeLending is Figures without Lent.
func (t *Tree) figuresBeforeLending(q int32, r int) Figures {
	b, s := &t.bounds[t.at(q, r)], &t.state[t.at(q, r)]
	within := min(s.use, b.quota)
	return Figures{
		Quota: b.quota, Limit: b.limit,
		Used: s.use, InQuota: within, OverQuota: s.use - within,
		NonPreemptible: s.nonPreemptible,
		Borrowed:       s.use - within,
	}
}

// lendingGroup is what the children of one queue lend each other of a resource.
type lendingGroup struct {
	lent     int64 // at most lendable
	lendable int64 // Σ over the children
}

// part is the whole-number part of what a child that could lend mine lends.
func (g lendingGroup) part(mine int64) int64 {
	high, low := bits.Mul64(uint64(g.lent), uint64(mine))
	// mine ≤ lendable, so the quotient is at most lent and Div64 cannot panic:
	// high < lendable.
	quotient, _ := bits.Div64(high, low, uint64(g.lendable))
	return int64(quotient)
}

// group sums up the children of p; see Figures for the formula.
func (t *Tree) group(p int32, r int) lendingGroup {
	if !t.governed[r] {
		return lendingGroup{}
	}
	var beyond, quotas, lendable int64
	for _, s := range t.childrenOf(p) {
		b, use := &t.bounds[t.at(s, r)], t.state[t.at(s, r)].use
		if b.quota == Infinite {
			quotas = MaxSum // all that there is
			continue
		}
		beyond += max(0, use-b.quota)
		// New has checked that quotas sum to MaxSum at most.
		quotas = min(MaxSum, quotas+b.quota)
		lendable += t.lendable(s, r)
	}
	own, fromAbove := max(0, t.capacity[r]), int64(0)
	if p != t.pool {
		quota := t.bounds[t.at(p, r)].quota
		own = t.finite(quota, r)
		fromAbove = max(0, t.state[t.at(p, r)].use-quota)
	}
	lent := beyond - fromAbove - max(0, own-quotas)
	return lendingGroup{lent: max(0, min(lent, lendable)), lendable: lendable}
}

// lendable is what q could lend of r: the part of its quota that is neither in
// use nor kept.
func (t *Tree) lendable(q int32, r int) int64 {
	b := &t.bounds[t.at(q, r)]
	if b.quota == Infinite {
		return 0
	}
	return max(0, b.quota-max(b.reserve, t.state[t.at(q, r)].use))
}

// lender is a child that could lend.
type lender struct {
	queue int32
	could int64
}

// lend sets Lent of p's children in figures, which are by queue and resource.
// It returns lenders for the next call to reuse.
func (t *Tree) lend(figures []Figures, p int32, r int, lenders []lender) []lender {
	group := t.group(p, r)
	if group.lent == 0 {
		return lenders
	}
	left := group.lent
	for _, s := range t.childrenOf(p) {
		if could := t.lendable(s, r); could > 0 {
			part := group.part(could)
			figures[t.at(s, r)].Lent = part
			left -= part
			lenders = append(lenders, lender{queue: s, could: could})
		}
	}
	if left == 0 {
		return lenders
	}
	slices.SortFunc(lenders, func(a, b lender) int {
		return cmp.Or(cmp.Compare(b.could, a.could), cmp.Compare(a.queue, b.queue))
	})
	// Every fraction that was cut off is below 1, so fewer units are left than
	// there are lenders.
	for _, l := range lenders[:left] {
		figures[t.at(l.queue, r)].Lent++
	}
	return lenders
}
