package fairshare_test

import (
	"fmt"
	"math/big"
	"testing"

	"github.com/allotsched/allot/fairshare"
)

// F7 where F2 or F13 scale: the group's capacity is all that there is, and quotas beyond it
// are cut.

// scaledLaws are those of F7 that do not speak of quotas as if all of them stood, and those
// that take the place of the others.
var scaledLaws = []law{
	{"F7: Σ = min(handed down, Σ requestable)", lawSumHandedDown},
	{"F7: share ≤ requestable", lawAtMostRequestable},
	{"F7: share ≥ what is left of min(quota, requestable)", lawAtLeastCutQuota},
	{"F7: more capacity never lowers a share", lawCapacity},
	{"F7: a leaving claimant never lowers a share", lawLeaving},
	{"F7: raising one's own weight never lowers one's share", lawOwnWeight},
	{"F7: reporting more than true demand never raises min(share, true demand)", lawOverReporting},
	{"F7: order of the input does not matter", lawOrder},
}

// inScaledTree divides a group at the root with F13 as below a queue, where F2 cuts the same.
func inScaledTree(g group) []fairshare.Share {
	c := fairshare.TreeConfig{Capacity: g.capacity, Options: g.options, ScaleGuarantees: true}
	for _, claim := range g.claims {
		c.Queues = append(c.Queues, fairshare.Queue{Parent: -1, Limit: unlimited, Quota: claim.Quota, Weight: claim.Weight, Tier: claim.Tier,
			Created: claim.Created, Demand: fairshare.Demand{Preemptible: claim.Requestable}})
	}
	shares, err := fairshare.DivideTree(nil, c)
	if err != nil {
		panic(fmt.Sprintf("%v: %v", g, err)) // a test's own fault
	}
	return shares
}

func scaledDivide(g group) []int64 {
	var out []int64
	for _, s := range inScaledTree(g) {
		out = append(out, s.FairShare)
	}
	return out
}

func lawSumHandedDown(divide division, g group, _ picker) string {
	requestable := new(big.Int)
	for _, c := range g.claims {
		requestable.Add(requestable, big.NewInt(min(c.Requestable, g.capacity))) // nobody reaches more (F1)
	}
	want := big.NewInt(g.capacity)
	if requestable.Cmp(want) < 0 {
		want = requestable
	}
	if shares := divide(g); sum(shares).Cmp(want) != 0 {
		return fmt.Sprintf("%v: %v sum to %v, want %v", g, shares, sum(shares), want)
	}
	return ""
}

// lawAtLeastCutQuota: of quotas that there is enough for all is left; of others the
// division of what there is by quota, each up to its own.
func lawAtLeastCutQuota(divide division, g group, _ picker) string {
	cut := group{capacity: g.capacity, options: g.options}
	parts := new(big.Int)
	var left []int64
	for _, c := range g.claims {
		part := min(quotaPart(c), g.capacity)
		parts.Add(parts, big.NewInt(part))
		left = append(left, part)
		cut.claims = append(cut.claims, fairshare.Claim{Requestable: part, Weight: c.Quota, Created: c.Created})
	}
	if parts.Cmp(big.NewInt(g.capacity)) > 0 {
		cut.options.EqualAtZeroWeight = false
		left = referenceDivide(cut)
	}
	for i, share := range divide(g) {
		if share < left[i] {
			return fmt.Sprintf("%v: share %d of claim %d, of whose quota %d is left", g, share, i, left[i])
		}
	}
	return ""
}

// TestF7LawsScaled checks the laws on random groups of which many have more quota than there
// is.
func TestF7LawsScaled(t *testing.T) {
	cut := 0
	for _, l := range scaledLaws {
		t.Run(l.name, func(t *testing.T) {
			forManyGroups(t, 20_000, func(pick picker) string {
				g := pickLawful(pick)
				if pick(0, 1) == 0 { // most have enough for their quotas
					g.capacity = pick(0, 1+g.capacity/2)
				}
				quotas := new(big.Int)
				for i := range g.claims {
					g.claims[i].Requestable = min(g.claims[i].Requestable, g.capacity)
					quotas.Add(quotas, big.NewInt(quotaPart(g.claims[i])))
				}
				if quotas.Cmp(big.NewInt(g.capacity)) > 0 {
					cut++
				}
				return l.check(scaledDivide, g, pick)
			})
		})
	}
	if cut < 10_000 {
		t.Errorf("only %d groups had more quota than there was", cut)
	}
}

// TestF7LawsScaledHaveTeeth: a division that cuts nothing is turned down.
func TestF7LawsScaledHaveTeeth(t *testing.T) {
	pick, noticed := fastPicker(1), false
	for range 1000 {
		g := pickLawful(pick)
		g.capacity /= 4
		noticed = noticed || lawSumHandedDown(divide, g, pick) != ""
	}
	if !noticed {
		t.Error("nobody notices")
	}
}
