package fairshare_test

import (
	"fmt"
	"math/big"
	"slices"
	"testing"

	"github.com/allotsched/allot/fairshare"
)

// A division is a way to divide a group: the package's, or a wrong one that a
// law must turn down.
type division func(g group) []int64

// A law is one sentence of F7. Its check returns how the division breaks it on
// the group, or nothing; what else it needs it picks.
type law struct {
	name  string
	check func(divide division, g group, pick picker) (violation string)
}

// laws are the laws of F7, in its order.
var laws = []law{
	{"F7: Σ = max(Σ min(quota, requestable), min(capacity, Σ requestable))", lawSum},
	{"F7: share ≤ requestable", lawAtMostRequestable},
	{"F7: share ≥ min(quota, requestable)", lawAtLeastQuota},
	{"F7: more capacity never lowers a share", lawCapacity},
	{"F7: a leaving claimant never lowers a share", lawLeaving},
	{"F7: raising one's own weight never lowers one's share", lawOwnWeight},
	{"F7: reporting more than true demand never raises min(share, true demand)", lawOverReporting},
	{"F7: no envy inside a tier", lawNoEnvy},
	{"F7: order of the input does not matter", lawOrder},
	{"F5: no granule is given out of turn", lawTurns},
}

// TestF7Laws checks every law on random groups.
func TestF7Laws(t *testing.T) {
	for _, l := range laws {
		t.Run(l.name, func(t *testing.T) {
			forManyGroups(t, 20_000, func(pick picker) string {
				return l.check(divide, pickLawful(pick), pick)
			})
		})
	}
}

// TestF7LawsManyGranules checks every law where the granules are too many for
// any reference: up to 2^53 of them.
func TestF7LawsManyGranules(t *testing.T) {
	for _, l := range laws {
		t.Run(l.name, func(t *testing.T) {
			forManyGroups(t, 5_000, func(pick picker) string {
				g := pickLawful(pick)
				g.options.Granule = pick(1, 1000)
				scale := pick(1, 1<<45)
				g.capacity = min(largest, g.capacity%1000*scale)
				for i := range g.claims {
					c := &g.claims[i]
					c.Requestable = min(largest, c.Requestable%1000*scale+pick(0, 999))
					if c.Quota != fairshare.Unlimited {
						c.Quota = min(largest, c.Quota%1000*(scale/4))
					}
				}
				return l.check(divide, g, pick)
			})
		})
	}
}

func sum(amounts []int64) *big.Int {
	total := new(big.Int)
	for _, a := range amounts {
		total.Add(total, big.NewInt(a))
	}
	return total
}

// quotaPart is what a claim gets first (F2).
func quotaPart(c fairshare.Claim) int64 { return min(c.Quota, c.Requestable) }

func lawSum(divide division, g group, _ picker) string {
	quotas, requestable := new(big.Int), new(big.Int)
	for _, c := range g.claims {
		quotas.Add(quotas, big.NewInt(quotaPart(c)))
		requestable.Add(requestable, big.NewInt(c.Requestable))
	}
	want := requestable
	if capacity := big.NewInt(g.capacity); capacity.Cmp(want) < 0 {
		want = capacity
	}
	if quotas.Cmp(want) > 0 {
		want = quotas
	}
	if shares := divide(g); sum(shares).Cmp(want) != 0 {
		return fmt.Sprintf("%v: %v sum to %v, want %v", g, shares, sum(shares), want)
	}
	return ""
}

func lawAtMostRequestable(divide division, g group, _ picker) string {
	for i, share := range divide(g) {
		if share > g.claims[i].Requestable {
			return fmt.Sprintf("%v: share %d of claim %d", g, share, i)
		}
	}
	return ""
}

func lawAtLeastQuota(divide division, g group, _ picker) string {
	for i, share := range divide(g) {
		if share < quotaPart(g.claims[i]) {
			return fmt.Sprintf("%v: share %d of claim %d", g, share, i)
		}
	}
	return ""
}

func lawCapacity(divide division, g group, pick picker) string {
	before := divide(g)
	more := g
	more.capacity += pick(1, 2*g.granule())
	after := divide(more)
	for i := range before {
		if after[i] < before[i] {
			return fmt.Sprintf("%v: %v; with capacity %d: %v", g, before, more.capacity, after)
		}
	}
	return ""
}

func lawLeaving(divide division, g group, pick picker) string {
	before := divide(g)
	gone := int(pick(0, int64(len(g.claims)-1)))
	fewer := g
	fewer.claims = slices.Delete(slices.Clone(g.claims), gone, gone+1)
	after := divide(fewer)
	for i, share := range slices.Delete(before, gone, gone+1) {
		if after[i] < share {
			return fmt.Sprintf("%v: without claim %d: %v, before %v", g, gone, after, before)
		}
	}
	return ""
}

func lawOwnWeight(divide division, g group, pick picker) string {
	i := int(pick(0, int64(len(g.claims)-1)))
	heavier := g
	heavier.claims = slices.Clone(g.claims)
	heavier.claims[i].Weight += pick(1, max(3, g.claims[i].Weight))
	if before, after := divide(g)[i], divide(heavier)[i]; after < before {
		return fmt.Sprintf("%v: claim %d has %d, with weight %d %d", g, i, before, heavier.claims[i].Weight, after)
	}
	return ""
}

func lawOverReporting(divide division, g group, pick picker) string {
	i := int(pick(0, int64(len(g.claims)-1)))
	truth := g.claims[i].Requestable
	boast := g
	boast.claims = slices.Clone(g.claims)
	boast.claims[i].Requestable += pick(1, 3*g.granule())
	honest, gained := divide(g)[i], min(divide(boast)[i], truth)
	if gained > honest {
		return fmt.Sprintf("%v: claim %d has %d, by reporting %d it has %d of use", g, i, honest, boast.claims[i].Requestable, gained)
	}
	return ""
}

// lawNoEnvy: for i unsatisfied, (2sᵢ + g)/wᵢ ≥ (2sⱼ − g)/wⱼ, s the surplus.
func lawNoEnvy(divide division, g group, _ picker) string {
	shares := divide(g)
	for i, c := range g.claims {
		for j, d := range g.claims {
			if c.Tier != d.Tier || shares[i] == c.Requestable {
				continue
			}
			mine := twice(shares[i]-quotaPart(c), g.granule(), d.Weight)
			yours := twice(shares[j]-quotaPart(d), -g.granule(), c.Weight)
			if mine.Cmp(yours) < 0 {
				return fmt.Sprintf("%v: %v: claim %d envies claim %d", g, shares, i, j)
			}
		}
	}
	return ""
}

// twice is (2·amount + plus) × weight.
func twice(amount, plus, weight int64) *big.Int {
	v := new(big.Int).Lsh(big.NewInt(amount), 1)
	v.Add(v, big.NewInt(plus))
	return v.Mul(v, big.NewInt(weight))
}

func lawOrder(divide division, g group, pick picker) string {
	n := len(g.claims)
	order := make([]int, n)
	g.claims = slices.Clone(g.claims)
	for i := range order {
		g.claims[i].Created = int64(i) // the index decides among the equally old
		other := int(pick(0, int64(i)))
		order[i], order[other] = order[other], i
	}
	shuffled := g
	shuffled.claims = make([]fairshare.Claim, n)
	for to, from := range order {
		shuffled.claims[to] = g.claims[from]
	}
	before, after := divide(g), divide(shuffled)
	for to, from := range order {
		if after[to] != before[from] {
			return fmt.Sprintf("%v: %v; in the order %v: %v", g, before, order, after)
		}
	}
	return ""
}

// lawTurns: the next granule of a claimant that could take more does not come
// before the last one of another. With the sum this makes the division of a
// tier unique, whatever the number of granules.
func lawTurns(divide division, g group, _ picker) string {
	shares := divide(g)
	granule := g.granule()
	for i, c := range g.claims {
		// The granule that i has not, or not the whole of.
		next := (shares[i] - quotaPart(c)) / granule * granule
		for j, d := range g.claims {
			got := shares[j] - quotaPart(d)
			if i == j || c.Tier != d.Tier || got <= 0 || shares[i] == c.Requestable {
				continue
			}
			last := (got - 1) / granule * granule
			order := twice(next, granule, d.Weight).Cmp(twice(last, granule, c.Weight))
			if order < 0 || order == 0 && firstAtTie(c, d, i, j) {
				return fmt.Sprintf("%v: %v: claim %d got a granule that was the turn of claim %d", g, shares, j, i)
			}
		}
	}
	return ""
}

// firstAtTie is F5's order of ties.
func firstAtTie(c, d fairshare.Claim, i, j int) bool {
	switch {
	case c.Weight != d.Weight:
		return c.Weight > d.Weight
	case c.Created != d.Created:
		return c.Created < d.Created
	}
	return i < j
}
