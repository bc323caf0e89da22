package verify

import (
	"slices"

	"github.com/allotsched/allot/fairshare"
)

// quotaLine is up to what a queue is within its quota (R1 to R3): the quota, or what is left
// of it where the plan says that it was cut (F2, F13). Not all methods of division know
// quotas (F8).
func quotaLine(v *verifier, q *verifiedQueue, key verifiedKey) int64 {
	if q.pool.policy.Shares != fairshare.QuotaThenWeight {
		return 0
	}
	own := q.quotaOf(key)
	if cut := v.room.cut[q][key.resource]; cut > 0 && key.class == "" {
		if v.demanded == nil {
			v.demanded = v.demands()
		}
		return min(own, q.requestable(key.resource, v.demanded)) - cut
	}
	return own
}

// guaranteed checks what the members of a group may not defend of their quotas (R8): where
// these come to more than the queue above may defend, or with ScaleGuarantees than there is,
// all of that is defended, divided by quota; else nothing is cut.
func guaranteed(v *verifier, parent *verifiedQueue, group []*verifiedQueue, key verifiedKey, there int64, rows verifiedRows, demand verifiedDemands) {
	p := group[0].pool
	most := int64(unbounded)
	switch {
	case p.policy.Shares != fairshare.QuotaThenWeight:
		most = 0
	case parent != nil:
		most = min(parent.quotaOf(key), parent.requestable(key.resource, demand)) - rows[parent][key].Cut
	case p.policy.ScaleGuarantees && !p.lends[key]:
		most = there
	case p.policy.ScaleGuarantees:
		return // how much is kept from lending is not told
	}
	var claims []verifiedClaim
	sum, parts := int64(0), int64(0)
	for _, q := range group {
		row := rows[q][key]
		if row == nil {
			return // told already
		}
		part := min(q.quotaOf(key), q.requestable(key.resource, demand))
		if p.policy.Shares != fairshare.QuotaThenWeight {
			part = 0
		}
		if row.Cut < 0 || row.Cut > part {
			v.fail("shares", ruleQuotaPart, "%d is cut of the %d %s that %q is guaranteed", row.Cut, part, key.resource, q.id)
		}
		sum, parts = addBounded(sum, part-row.Cut), addBounded(parts, part)
		claims = append(claims, verifiedClaim{queue: q, share: part - row.Cut, requestable: part, own: q.quotaOf(key)})
	}
	if want := min(most, parts); sum != want {
		v.fail("shares", ruleQuotaPart, "guarantees of %s come to %d, and should to %d", key.resource, sum, want)
	}
	if unit, sure := granule(group, key.resource, demand); sure && parts > most {
		v.envies(claims, key, unit)
	}
}

// handedDown checks that a group of which the quota parts exceed what there is has all of
// it, divided by quota (F2).
func handedDown(v *verifier, group []*verifiedQueue, key verifiedKey, there int64, rows verifiedRows, demand verifiedDemands) {
	if group[0].pool.lends[key] {
		return // how much of a quota is kept from lending below is not told
	}
	var claims []verifiedClaim
	sum := int64(0)
	for _, q := range group {
		row := rows[q][key]
		if row == nil {
			return // told already
		}
		part := min(q.quotaOf(key), q.requestable(key.resource, demand))
		sum = addBounded(sum, row.FairShare)
		claims = append(claims, verifiedClaim{queue: q, share: row.FairShare, requestable: part, own: q.quotaOf(key)})
	}
	if sum != there {
		v.fail("shares", ruleShareSum, "fair shares of %s sum to %d of %d, and quotas are more", key.resource, sum, there)
	}
	if unit, sure := granule(group, key.resource, demand); sure {
		v.envies(claims, key, unit)
	}
}

// reachBelow is the capacity of the nodes that the queue, or some queue below it, may use.
func (q *verifiedQueue) reachBelow(key verifiedKey) (sum int64) {
	if len(q.children) == 0 && q.pool.withheld == nil {
		return q.reachable(key)
	}
	if sum, known := q.below[key]; known {
		return sum
	}
	leaves := q.leaves()
	if slices.ContainsFunc(leaves, func(leaf *verifiedQueue) bool { return leaf.narrowed == nil && leaf.pool.withheld == nil }) {
		sum = q.pool.capacity(key)
	} else {
		for _, n := range q.pool.nodes {
			if slices.ContainsFunc(leaves, func(leaf *verifiedQueue) bool { return leaf.reaches(n) && !leaf.isWithheld(n) }) {
				sum += n.gives(key)
			}
		}
	}
	if q.below == nil {
		q.below = make(map[verifiedKey]int64)
	}
	q.below[key] = sum
	return sum
}

// readCuts reads what the plan says is cut of the queues' guarantees.
func readCuts(v *verifier) map[*verifiedQueue]map[string]int64 {
	cut := make(map[*verifiedQueue]map[string]int64)
	for i := range v.plan.Shares {
		row := &v.plan.Shares[i]
		if q := v.queueOfRow(row); q != nil && row.Class == "" && row.Cut != 0 {
			if cut[q] == nil {
				cut[q] = make(map[string]int64)
			}
			cut[q][row.Resource] = row.Cut
		}
	}
	return cut
}
