package preempt

// Entitlements are what queues may defend (R8), by queue × resources + resource, in
// the resource's unit.
type Entitlements struct {
	// Guaranteed is LQ, Fair is LF: see [fairshare.Share].
	Guaranteed, Fair []int64
}

// entitled is R1 as things stand, from the leaf up to the preemptor's side; by quota in
// classes, too (Q8).
func (r *Evaluator) entitled(a *ask, own int32) bool {
	if a.mode == ReclaimByQuota && !guaranteed(r, a, own) {
		return false
	}
	for _, asks := range a.Asks {
		if !r.divides(asks.Resource) {
			continue
		}
		if r.use(a.Leaf, asks.Resource)+asks.Value > r.lineOf(a.Leaf, asks.Resource, a.byShare()) {
			return false
		}
		for q := a.Leaf; q != own; {
			q = r.parent(q)
			line := r.quota(q, asks.Resource)
			if a.byShare() {
				line = r.share(q, asks.Resource)
			}
			if r.use(q, asks.Resource)+asks.Value > line {
				return false
			}
		}
	}
	return true
}

// guaranteed is R1 of classes.
func guaranteed(r *Evaluator, a *ask, own int32) bool {
	for _, asks := range a.Classes {
		line := r.lineOf(a.Leaf, asks.Resource, false)
		for q := a.Leaf; ; q = r.parent(q) {
			if line-r.use(q, asks.Resource) < asks.Value {
				return false
			}
			if q == own {
				break
			}
			line = r.quota(r.parent(q), asks.Resource)
		}
	}
	return true
}

// bounded is E8: with the preemptor started no queue of its path uses more
// than the largest of its quota, its fair share and what it used before. Where the
// protected may go too, none uses more than its line (E7).
func (r *Evaluator) bounded(a *ask, before []int64) bool {
	if a.withinLines {
		return r.Entitled(a.Leaf, a.Asks)
	}
	for i, asks := range a.Asks {
		if !r.divides(asks.Resource) {
			continue
		}
		at := i
		for q := a.Leaf; q >= 0; q = r.parent(q) {
			most := max(r.quota(q, asks.Resource), r.share(q, asks.Resource), before[at])
			if r.use(q, asks.Resource)+asks.Value > most {
				return false
			}
			at += len(a.Asks)
		}
	}
	return true
}

// usesBefore are the uses of the preemptor's path in what it asks, level by
// level.
func (r *Evaluator) usesBefore(a *ask) []int64 {
	if a.mode != Preempt {
		return nil // E8 binds nothing else
	}
	before := r.scratch.before[:0]
	for q := a.Leaf; q >= 0; q = r.parent(q) {
		for _, asks := range a.Asks {
			before = append(before, r.use(q, asks.Resource))
		}
	}
	r.scratch.before = before
	return before
}

// unbounded says whether E8 binds nobody, whoever goes.
func (a *ask) unbounded(r *Evaluator) bool {
	for _, asks := range a.Asks {
		if !r.divides(asks.Resource) {
			continue
		}
		for q := a.Leaf; q >= 0; q = r.parent(q) {
			if r.use(q, asks.Resource)+asks.Value > max(r.quota(q, asks.Resource), r.share(q, asks.Resource)) {
				return false
			}
		}
	}
	return true
}

// beyondWithout is the first line, from the leaf up, that the preemptor would cross
// with all candidates gone, nil if it would cross none.
func (a *ask) beyondWithout(r *Evaluator, candidates []UnitID) *Right {
	for q := a.Leaf; q >= 0; q = r.parent(q) {
		for _, asks := range a.Asks {
			line, divided := r.Entitlement(q, asks.Resource, q == a.Leaf)
			use := r.use(q, asks.Resource)
			if !divided || use+asks.Value <= line {
				continue
			}
			for _, id := range candidates {
				if r.isBelow(r.state[id].leaf, q) {
					use -= r.charged(id).Of(asks.Resource)
				}
			}
			if use+asks.Value > line {
				return &Right{Queue: q, Resource: asks.Resource, Use: use, Asks: asks.Value, Entitlement: line}
			}
		}
	}
	return nil
}
