package verify

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/fairshare"
)

// lends checks what the siblings are said to lend each other of a resource or
// class (Q6): what they use beyond their quotas, less what comes from above and
// what is in no quota, given by each in proportion to what it could lend.
func (v *verifier) lends(parent *verifiedQueue, group []*verifiedQueue, key verifiedKey, rows verifiedRows) {
	lent, all := group[0].pool.lentAmong(parent, group, key)
	left, wants := lent, make([]int64, len(group))
	order := make([]int, len(group)) // of the units that fractions leave
	for i, q := range group {
		if order[i] = i; lent > 0 {
			high, low := bits.Mul64(uint64(lent), uint64(q.lendable(key)))
			part, _ := bits.Div64(high, low, uint64(all))
			wants[i] = int64(part)
		}
		left -= wants[i]
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(group[b].lendable(key), group[a].lendable(key)), cmp.Compare(group[a].id, group[b].id))
	})
	for _, i := range order[:left] {
		wants[i]++
	}
	for i, q := range group {
		if row := rows[q][key]; row != nil && row.Lent != wants[i] {
			v.fail("shares", ruleFigures, "lent of %q is %d %s, it should be %d", q.id, row.Lent, key.resource, wants[i])
		}
	}
}

// lentAmong is what siblings lend each other, and what they could.
func (p *verifiedPool) lentAmong(parent *verifiedQueue, group []*verifiedQueue, key verifiedKey) (lent, could int64) {
	if !p.governed[key] {
		return 0, 0
	}
	own, above := max(0, p.capacity(key)), int64(0)
	if parent != nil {
		if given := parent.quotaOf(key); given != unbounded {
			own, above = given, max(0, parent.used(key).all-given)
		}
	}
	quotas := int64(0)
	for _, q := range group {
		given := q.quotaOf(key)
		if quotas = addBounded(quotas, given); given != unbounded {
			lent += max(0, q.used(key).all-given)
			could += q.lendable(key)
		}
	}
	lent -= above + max(0, own-min(quotas, own))
	return max(0, min(lent, could)), could
}

// lendable is the part of the queue's quota that is neither in use nor kept.
func (q *verifiedQueue) lendable(key verifiedKey) int64 {
	given := q.quotaOf(key)
	if given == unbounded {
		return 0
	}
	kept := int64(0)
	if limit := q.given[key].LendingLimit; limit.Given() && !limit.IsUnlimited() {
		kept = max(0, given-limit.Amount())
	}
	return max(0, given-max(kept, q.used(key).all))
}

// A verifiedClaim is a sibling's part in the division of a surplus.
type verifiedClaim struct {
	queue                         *verifiedQueue
	share, part, requestable, own int64 // own is the weight
	tier                          int32
	mixed                         bool // it may use less than requestable, see [verifiedDemand]
}

func (c *verifiedClaim) unsatisfied() bool { return c.share < c.requestable && c.own > 0 && !c.mixed }

// divisions checks that a group of siblings without lending limits divides what
// there is as F3, F5 and F7 say: as long as a queue that has a weight wants more
// nothing is left over, lower tiers get nothing of the surplus, and inside a tier
// no queue has reason to envy another by more than the rounding of a granule.
func (v *verifier) divisions(group []*verifiedQueue, key verifiedKey, there int64, rows verifiedRows, demand verifiedDemands) {
	p := group[0].pool
	if p.lends[key] || slices.ContainsFunc(group, func(q *verifiedQueue) bool { return q.capped && p.policy.Shares != fairshare.QuotaThenWeight }) {
		return
	}
	var claims []verifiedClaim
	var sum int64
	byQuota := p.policy.InnerWeightByQuota && slices.ContainsFunc(group, func(q *verifiedQueue) bool { return len(q.children) > 0 })
	for _, q := range group {
		row := rows[q][key]
		if row == nil {
			return // told already
		}
		c := verifiedClaim{queue: q, share: row.FairShare, requestable: q.requestable(key.resource, demand), mixed: demand[q][key.resource].mixed}
		if p.policy.Shares != fairshare.ByDemand { // which knows no tiers
			c.tier = q.given[key].OverQuotaPriority
		}
		if p.policy.Shares == fairshare.QuotaThenWeight {
			c.part = min(q.quotaOf(key), c.requestable)
		}
		c.own = weightOf(q, key, byQuota)
		claims = append(claims, c)
		sum = addBounded(sum, row.FairShare)
	}
	slices.SortStableFunc(claims, func(a, b verifiedClaim) int { return cmp.Compare(b.tier, a.tier) })
	unit, sure := granule(group, key.resource, demand)
	for len(claims) > 0 {
		n := slices.IndexFunc(claims, func(c verifiedClaim) bool { return c.tier != claims[0].tier })
		if n < 0 {
			n = len(claims)
		}
		tier, lower := claims[:n], claims[n:]
		weighByUsage(tier, key, p.policy.UsageStrengthMilli)
		if p.policy.EqualSharesAtZeroWeight && !slices.ContainsFunc(tier, func(c verifiedClaim) bool { return c.own > 0 }) {
			for i := range tier {
				tier[i].own = 1
			}
		}
		at := slices.IndexFunc(tier, func(c verifiedClaim) bool { return c.unsatisfied() })
		if at >= 0 && sum < there {
			v.fail("shares", ruleShareSum, "fair shares of %s sum to %d of %d, and %q could use more", key.resource, sum, there, tier[at].queue.id)
		}
		if k := slices.IndexFunc(lower, func(c verifiedClaim) bool { return c.share > c.part }); at >= 0 && k >= 0 {
			v.fail("shares", ruleTier, "%q has a part of the surplus of %s before %q, of a higher tier", lower[k].queue.id, key.resource, tier[at].queue.id)
		}
		if sure {
			v.envies(tier, key, unit)
		}
		claims = lower
	}
}

// envies checks one tier (F5): no other queue was before the one that got the last
// granule of the surplus.
func (v *verifier) envies(tier []verifiedClaim, key verifiedKey, granule int64) {
	q := tier[0].queue
	if q.pool.policy.Shares == fairshare.ByDemand {
		return // weights are by what is demanded there
	}
	turns := func(c *verifiedClaim) int64 { return (c.share - c.part + granule - 1) / granule }
	var last, next *verifiedClaim
	less := func(a *verifiedClaim, turnsOfA int64, b *verifiedClaim, turnsOfB int64) bool {
		return less(product{uint64(turnsOfA), uint64(b.own), 1}, product{uint64(turnsOfB), uint64(a.own), 1})
	}
	for i := range tier {
		c := &tier[i]
		if c.own > 0 && c.share > c.part && (last == nil || less(last, 2*turns(last)-1, c, 2*turns(c)-1)) {
			last = c
		}
		if c.unsatisfied() && (next == nil || less(c, 2*turns(c)+1, next, 2*turns(next)+1)) {
			next = c
		}
	}
	if last != nil && next != nil && less(next, 2*turns(next)+1, last, 2*turns(last)-1) {
		v.fail("shares", ruleGranule, "%q has %d of the surplus of %s, weight %d, while %q has %d, weight %d", last.queue.id,
			last.share-last.part, key.resource, last.own, next.queue.id, next.share-next.part, next.own)
	}
	for i := range tier {
		if c := &tier[i]; c.own == 0 && c.share > c.part {
			v.fail("shares", ruleWeight, "%q has a part of the surplus of %s, and its weight is 0", c.queue.id, key.resource)
		}
	}
}

// weightOf is F4: as given, else the quota; or the quota for all siblings of
// which one has children, where the policy says so (byQuota). Methods without
// quotas have 1 for it.
func weightOf(q *verifiedQueue, key verifiedKey, byQuota bool) int64 {
	weight := q.given[key].Weight
	switch {
	case weight.Given() && !byQuota:
		return weight.Amount()
	case q.pool.policy.Shares != fairshare.QuotaThenWeight:
		return 1
	}
	return min(q.quotaOf(key), allot.MaxAmount)
}
