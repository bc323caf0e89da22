package quota

// An Availability is the answer to 'could this start, and how?' (Q9), as far as
// quotas, limits and the pool's capacity in all decide; whether nodes have the
// room is placement's question. The answers are in order, the best first.
type Availability uint8

const (
	// WithinQuota: it fits now, and within what the queue and every queue above
	// it are guaranteed.
	WithinQuota Availability = iota
	// ByBorrowing: it fits now, beyond some quota.
	ByBorrowing
	// ByMakingRoom: it does not fit now, but might if others ended or were
	// evicted.
	ByMakingRoom
	// Never: it does not fit even into the empty pool.
	Never
)

// String returns a stable name.
func (a Availability) String() string {
	switch a {
	case WithinQuota:
		return "within-quota"
	case ByBorrowing:
		return "by-borrowing"
	case ByMakingRoom:
		return "by-making-room"
	default:
		return "never"
	}
}

// Availability answers Q9 for a request a in queue q.
//
// Fits now means that [Tree.Check] is ok and the pool has a's amounts free.
// Within quota means, for preemptible work, that in every governed resource of a
// q's use with a stays within its quota, and in every queue above it what is
// used within quota below (see guaranteedUse) does, with a: what a sibling uses
// beyond its own quota borrows from the guarantee of others and does not shrink
// it. Non-preemptible work that Q2 lets start is within quota by that rule,
// whatever preemptible work beside it borrows.
//
// Never means that quota or limit refuse it without any use ([Tree.Never]), or
// that the pool's capacity, less what others keep from lending, is smaller; or
// that q or a is not of this tree. O(queues × len(a)), with one allocation.
func (t *Tree) Availability(q int, a Amounts, nonPreemptible bool) Availability {
	if _, ok := t.Never(q, a, nonPreemptible); !ok || !t.fitsEmptyPool(int32(q), a) {
		return Never
	}
	if _, ok := t.Check(q, a, nonPreemptible); !ok || !t.fitsFree(a) {
		return ByMakingRoom
	}
	if nonPreemptible && t.quotaBinds {
		return WithinQuota
	}
	guaranteed := make([]int64, len(t.parent)+1)
	for _, x := range a {
		if !t.withinGuarantee(int32(q), x, guaranteed) {
			return ByBorrowing
		}
	}
	return WithinQuota
}

// fitsEmptyPool reports whether the pool could take a with nothing in use. As
// use only ever lowers what is free beside what others keep, this is the most
// that it could take.
func (t *Tree) fitsEmptyPool(q int32, a Amounts) bool {
	for _, x := range a {
		r := int(x.Resource)
		if t.capOnly[r] {
			continue
		}
		if x.Value > t.capacity[r] || t.keeps[r] && x.Value > t.roomBesideReserves(q, r) {
			return false
		}
	}
	return true
}

// fitsFree reports whether a is free in the pool as a whole.
func (t *Tree) fitsFree(a Amounts) bool {
	for _, x := range a {
		r := int(x.Resource)
		if !t.capOnly[r] && x.Value > t.capacity[r]-t.state[t.at(t.pool, r)].use {
			return false
		}
	}
	return true
}

// withinGuarantee reports whether q and every queue above it are still within
// quota with x, not counting what their siblings use beyond quota. scratch has
// room for every queue and the pool.
func (t *Tree) withinGuarantee(q int32, x Amount, scratch []int64) bool {
	r := int(x.Resource)
	if !t.governed[r] {
		return true
	}
	t.guaranteedUse(r, scratch)
	for v := q; v != t.pool; v = t.parent[v] {
		// While every queue up to here is within quota with x, its guaranteed
		// use grows by exactly x.
		if x.Value > t.bounds[t.at(v, r)].quota-scratch[v] {
			return false
		}
	}
	return true
}

// guaranteedUse sets within[v] to the use of r in each queue v, counting of each
// of its children only what the child in turn uses within its quota: in a leaf
// all its use, in an inner queue Σ min(quota, guaranteedUse) over its children.
func (t *Tree) guaranteedUse(r int, within []int64) {
	clear(within)
	for i := len(t.order) - 1; i >= 0; i-- {
		q := t.order[i]
		cell := t.at(q, r)
		if t.isLeaf(q) {
			within[q] = t.state[cell].use
		}
		within[t.parent[q]] += min(t.bounds[cell].quota, within[q])
	}
}
