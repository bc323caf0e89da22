package fairshare

import (
	"cmp"
	"slices"
)

// Divide divides capacity among the claims of one sibling group (F2, F3, F5)
// and returns one share per claim, in the order of the claims.
//
// Each claim gets min(Quota, Requestable) first, whatever its tier; if these
// sum to more than the capacity they stand (F2, over-subscription). What is
// left, less what the claims keep from lending, goes to the tiers, highest
// first. In a tier it goes in granules, one at a time, to the claim with the
// lowest (2·surplus so far + granule)/weight, until a claim is at its
// Requestable; ties: larger weight, then older, then lower index (F3, F5).
// The granule that reaches a Requestable and the last one of the surplus may
// be parts of a granule; their turn is that of a whole one.
//
// A negative capacity is 0. The shares are written to dst if its capacity is
// enough, otherwise to a new slice. A negative field or granule is an
// *[InputError].
//
// It takes O(n·log n) for one tier or many, times a small factor for the bits
// of capacity/granule; never time in proportion to it. Besides dst it
// allocates one scratch slice of 64 bytes a claim.
func Divide(dst []int64, capacity int64, claims []Claim, o Options) ([]int64, error) {
	if err := checkClaims(claims, o); err != nil {
		return nil, err
	}
	var d divider
	return d.divide(dst, capacity, claims, o), nil
}

// DivideByDemand divides capacity in proportion to demand × weight, capped by
// demand (F8), in whole granules as [Divide] does. There are no quotas and no
// tiers. With [Options.EqualAtZeroWeight] and no weight at all, every weight
// is 1.
//
// The weights are exact products of 126 bits. Demand-proportional sharing can
// be gamed: a claimant that inflates its demand gets more. [MaxMin] cannot.
//
// Arguments, result, errors and cost are as those of [Divide].
func DivideByDemand(dst []int64, capacity int64, claims []DemandClaim, o Options) ([]int64, error) {
	if err := checkDemandClaims(claims, o); err != nil {
		return nil, err
	}
	var d divider
	return d.divideByDemand(dst, capacity, claims, nil, o), nil
}

func checkClaims(claims []Claim, o Options) error {
	if err := firstNegative(-1, field{"Granule", o.Granule}); err != nil {
		return err
	}
	for i := range claims {
		c := &claims[i]
		if c.Quota|c.Requestable|c.Weight|c.Keep >= 0 { // no sign bit anywhere
			continue
		}
		return firstNegative(i, field{"Quota", c.Quota}, field{"Requestable", c.Requestable},
			field{"Weight", c.Weight}, field{"Keep", c.Keep})
	}
	return nil
}

func checkDemandClaims(claims []DemandClaim, o Options) error {
	if err := firstNegative(-1, field{"Granule", o.Granule}); err != nil {
		return err
	}
	for i := range claims {
		c := &claims[i]
		if c.Demand|c.Weight|c.Cap >= 0 {
			continue
		}
		return firstNegative(i, field{"Demand", c.Demand}, field{"Weight", c.Weight}, field{"Cap", c.Cap})
	}
	return nil
}

// A divider holds the scratch of a division, so that dividing many groups
// allocates once.
type divider struct {
	claimants []claimant
}

// divide is Divide on claims already checked.
func (d *divider) divide(dst []int64, capacity int64, claims []Claim, o Options) []int64 {
	shares := resize(dst, len(claims))
	d.claimants = resize(d.claimants, len(claims))[:0]
	surplus := max(capacity, 0)
	tiers := false
	for i := range claims {
		c := &claims[i]
		shares[i] = min(c.Quota, c.Requestable)
		// What is kept is part of the quota, so the larger of the two is what
		// the claim takes out of the capacity. Stopping at 0 is exact: once
		// there is no surplus nothing brings it back.
		surplus -= min(surplus, max(shares[i], min(c.Keep, c.Quota)))
		d.claimants = append(d.claimants, claimant{
			weight:  wide{lo: uint64(c.Weight)},
			room:    uint64(c.Requestable - shares[i]),
			created: c.Created,
			index:   i,
			tier:    c.Tier,
		})
		tiers = tiers || c.Tier != claims[0].Tier
	}
	if tiers {
		slices.SortFunc(d.claimants, func(a, b claimant) int {
			return cmp.Or(cmp.Compare(b.tier, a.tier), cmp.Compare(a.index, b.index))
		})
	}
	d.divideTiers(shares, uint64(surplus), o)
	return shares
}

// divideTiers gives the surplus to the claimants, which stand by tier, the
// highest first (F3). What a tier cannot use is the next one's.
func (d *divider) divideTiers(shares []int64, surplus uint64, o Options) {
	rest := d.claimants
	for len(rest) > 0 && surplus > 0 {
		end := 1
		for end < len(rest) && rest[end].tier == rest[0].tier {
			end++
		}
		surplus = divideSurplus(shares, surplus, rest[:end], o)
		rest = rest[end:]
	}
}

// divideByDemand is DivideByDemand on claims already checked. Rooms are the most that each
// may get, where that is less than what it counts for; nil are the demands.
func (d *divider) divideByDemand(dst []int64, capacity int64, claims []DemandClaim, rooms []int64, o Options) []int64 {
	shares := resize(dst, len(claims))
	d.claimants = resize(d.claimants, len(claims))[:0]
	equal := o.EqualAtZeroWeight && !slices.ContainsFunc(claims, func(c DemandClaim) bool { return c.Weight > 0 })
	for i := range claims {
		c := &claims[i]
		shares[i] = 0
		demand, weight := uint64(c.Demand), uint64(c.Weight)
		if c.Cap > 0 {
			demand = min(demand, uint64(c.Cap))
		}
		if equal {
			weight = 1
		}
		room := demand
		if rooms != nil {
			room = min(room, uint64(rooms[i]))
		}
		d.claimants = append(d.claimants, claimant{
			weight:  product(demand, weight),
			room:    room,
			created: c.Created,
			index:   i,
		})
	}
	// Weights are resolved above: a product of 0 is no demand or no weight.
	o.EqualAtZeroWeight = false
	d.divideTiers(shares, uint64(max(capacity, 0)), o)
	return shares
}

// resize returns dst with length n, or a new slice if it cannot hold n.
func resize[T any](dst []T, n int) []T {
	if cap(dst) < n {
		return make([]T, n)
	}
	return dst[:n]
}
