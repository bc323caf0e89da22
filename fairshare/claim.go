package fairshare

import "math"

// Unlimited stands for "no bound" in a quota or a limit.
const Unlimited int64 = math.MaxInt64

// A Claim is what one member of a sibling group brings to [Divide], for one
// resource. All amounts are in the resource's unit and ≥ 0. The zero Claim
// asks nothing and gets nothing.
type Claim struct {
	// Quota is the guaranteed amount (F2); [Unlimited] is no bound, 0 is a
	// real 0.
	Quota int64
	// Requestable is the most the member can use (F1).
	Requestable int64
	// Weight is the share of the surplus (F4), resolved by the caller: where
	// none is given it is the quota. 0 gets no surplus.
	Weight int64
	// Tier is the over-quota priority: the surplus goes to the highest tier
	// first (F3).
	Tier int32
	// Created breaks ties: the older (smaller) first, then the lower index
	// (F5).
	Created int64
	// Keep is the part of the quota that is never lent (Q5): what of it is
	// not requestable is no surplus (F3). More than Quota counts as Quota.
	Keep int64
}

// A DemandClaim is what one member brings to [DivideByDemand] (F8). The zero
// DemandClaim asks nothing and gets nothing.
type DemandClaim struct {
	// Demand is what the member asks, ≥ 0, in the resource's unit: the slots
	// of at most max-concurrent-trials tasks.
	Demand int64
	// Weight multiplies the demand; 0 gets no share.
	Weight int64
	// Created breaks ties as in [Claim].
	Created int64
	// Cap, where positive, is the most that the demand may count (max slots):
	// the demand of F8 is then the smaller of the two. 0 is no cap; a cap of
	// nothing is a Demand of 0.
	Cap int64
}

// Options are the knobs of a division. The zero value divides in units of 1
// and gives no surplus to a tier without weights.
type Options struct {
	// Granule is the unit in which surplus is given (F5), in the resource's
	// unit: 1000 for GPU in milli. 0 is 1. In a tree it is that of a whole one, see
	// [Granules].
	Granule int64
	// EqualAtZeroWeight: a tier in which all weights are 0 shares equally
	// (F4).
	EqualAtZeroWeight bool
}

// granule returns the unit of surplus, with its default.
func (o Options) granule() uint64 {
	if o.Granule == 0 {
		return 1
	}
	return uint64(o.Granule)
}
