package fairshare_test

import (
	"fmt"
	"math/big"
	"slices"
	"testing"

	"github.com/allotsched/allot/fairshare"
)

// The reference divides as the text of F2–F5 says: literally one granule at a
// time, in integers without bounds. It shares nothing with the package.

// A taker is a claim in the reference.
type taker struct {
	weight  *big.Int
	surplus *big.Int // surplus so far
	atMost  *big.Int // the most surplus it can take
	created int64
	tier    int32
	share   *big.Int
}

// referenceDivide is F2, F3 and F4 for one group.
func referenceDivide(g group) []int64 {
	left := big.NewInt(max(0, g.capacity))
	takers := make([]*taker, len(g.claims))
	for i, c := range g.claims {
		first := min(c.Quota, c.Requestable) // F2
		left.Sub(left, big.NewInt(first))
		if keep := min(c.Keep, c.Quota); keep > first {
			left.Sub(left, big.NewInt(keep-first)) // F3, Q5
		}
		takers[i] = &taker{
			weight:  big.NewInt(c.Weight),
			surplus: new(big.Int),
			atMost:  big.NewInt(c.Requestable - first),
			created: c.Created,
			tier:    c.Tier,
			share:   big.NewInt(first),
		}
	}
	return referenceTiers(takers, left, g)
}

// referenceDemand is F8 for one group; rooms are the most that each may get, nil its demand.
func referenceDemand(capacity int64, claims []fairshare.DemandClaim, rooms []int64, o fairshare.Options) []int64 {
	takers := make([]*taker, len(claims))
	for i, c := range claims {
		demand := big.NewInt(c.Demand)
		if c.Cap > 0 && c.Cap < c.Demand {
			demand.SetInt64(c.Cap)
		}
		room := demand
		if rooms != nil && big.NewInt(rooms[i]).Cmp(demand) < 0 {
			room = big.NewInt(rooms[i])
		}
		takers[i] = &taker{
			weight:  new(big.Int).Mul(demand, big.NewInt(c.Weight)),
			surplus: new(big.Int),
			atMost:  room,
			created: c.Created,
			share:   new(big.Int),
		}
	}
	o.EqualAtZeroWeight = false
	return referenceTiers(takers, big.NewInt(max(0, capacity)), group{options: o})
}

// referenceTiers hands the surplus down the tiers (F3).
func referenceTiers(takers []*taker, left *big.Int, g group) []int64 {
	var tiers []int32
	for _, t := range takers {
		if !slices.Contains(tiers, t.tier) {
			tiers = append(tiers, t.tier)
		}
	}
	slices.Sort(tiers)
	slices.Reverse(tiers)
	for _, tier := range tiers {
		var members []*taker
		allZero := true
		for _, t := range takers {
			if t.tier == tier {
				members = append(members, t)
				allZero = allZero && t.weight.Sign() == 0
			}
		}
		if allZero && g.options.EqualAtZeroWeight { // F4
			for _, t := range members {
				t.weight = big.NewInt(1)
			}
		}
		referenceGranules(members, left, big.NewInt(g.granule()))
	}
	shares := make([]int64, len(takers))
	for i, t := range takers {
		shares[i] = t.share.Int64() + t.surplus.Int64()
	}
	return shares
}

// referenceGranules is F5.
func referenceGranules(members []*taker, left, granule *big.Int) {
	for left.Sign() > 0 {
		var next *taker
		for _, t := range members {
			if t.weight.Sign() > 0 && t.surplus.Cmp(t.atMost) < 0 && (next == nil || before(t, next, granule)) {
				next = t
			}
		}
		if next == nil {
			return
		}
		part := new(big.Int).Sub(next.atMost, next.surplus)
		for _, bound := range []*big.Int{granule, left} {
			if bound.Cmp(part) < 0 {
				part.Set(bound)
			}
		}
		next.surplus.Add(next.surplus, part)
		left.Sub(left, part)
	}
}

// before tells whether t's (2·surplus so far + g)/weight is lower than that of
// u, which stands before it in the list; ties: larger weight, older.
func before(t, u *taker, granule *big.Int) bool {
	key := func(x, y *taker) *big.Int {
		k := new(big.Int).Lsh(x.surplus, 1)
		k.Add(k, granule)
		return k.Mul(k, y.weight)
	}
	if c := key(t, u).Cmp(key(u, t)); c != 0 {
		return c < 0
	}
	if c := t.weight.Cmp(u.weight); c != 0 {
		return c > 0
	}
	return t.created < u.created
}

func mismatch(what any, got, want []int64) string {
	return fmt.Sprintf("%v: got %v, want %v", what, got, want)
}

// TestF5Reference compares Divide with the reference on random groups, of
// which many must be such that there is something to divide.
func TestF5Reference(t *testing.T) {
	const many = 100_000 // beside those that rapid draws, and shrinks
	groups, contested := 0, 0
	forManyGroups(t, many, func(pick picker) (violation string) {
		g := pickAny(pick)
		got, want := divide(g), referenceDivide(g)
		if !slices.Equal(got, want) {
			return mismatch(g, got, want)
		}
		groups++
		if isContested(g, got) {
			contested++
		}
		return ""
	})
	t.Logf("%d groups, %d of them contested", groups, contested)
	if 3*contested < many {
		t.Errorf("only %d of %d groups are contested", contested, groups)
	}
}

// isContested tells whether there is surplus and two members want more of it
// than they get.
func isContested(g group, shares []int64) bool {
	surplus, unsatisfied := false, 0
	for i, c := range g.claims {
		surplus = surplus || shares[i] > min(c.Quota, c.Requestable)
		if shares[i] < c.Requestable {
			unsatisfied++
		}
	}
	return surplus && unsatisfied > 1
}

// TestF8Reference compares DivideByDemand with the reference.
func TestF8Reference(t *testing.T) {
	forManyGroups(t, 20_000, func(pick picker) string {
		m := pickMagnitude(pick)
		claims := make([]fairshare.DemandClaim, pick(1, 5))
		for i := range claims {
			claims[i] = fairshare.DemandClaim{
				Demand:  pick(0, m.amount),
				Weight:  pick(0, m.weight),
				Created: pick(0, 2),
				Cap:     pick(0, 1) * pick(0, m.amount),
			}
		}
		o := fairshare.Options{Granule: m.granule}
		capacity := pick(0, min(largest, 3*m.amount))
		got, err := fairshare.DivideByDemand(nil, capacity, claims, o)
		if want := referenceDemand(capacity, claims, nil, o); err != nil || !slices.Equal(got, want) {
			return mismatch(fmt.Sprintf("capacity %d, granule %d, %+v", capacity, m.granule, claims), got, want)
		}
		return ""
	})
}

// TestF5Exhaustive compares Divide with the reference on every group of three
// queues with weights 1–3, quotas 0–2, demands 0–5 and capacity 0–9, once in
// each order of the three, since the order decides ties.
func TestF5Exhaustive(t *testing.T) {
	var kinds []fairshare.Claim
	for weight := range int64(3) {
		for quota := range int64(3) {
			for demand := range int64(6) {
				kinds = append(kinds, fairshare.Claim{Quota: quota, Requestable: demand, Weight: weight + 1})
			}
		}
	}
	var shares []int64
	checked := 0
	for _, a := range kinds {
		for _, b := range kinds {
			for _, c := range kinds {
				g := group{claims: []fairshare.Claim{a, b, c}}
				for capacity := range int64(10) {
					g.capacity = capacity
					shares, _ = fairshare.Divide(shares, g.capacity, g.claims, g.options)
					if want := smallReference(g); !slices.Equal(shares, want[:]) {
						t.Fatal(mismatch(g, shares, want[:]))
					}
					checked++
				}
			}
		}
	}
	if checked != 54*54*54*10 {
		t.Fatalf("checked %d groups", checked)
	}
}

// smallReference is the reference for three claims of one tier with small
// numbers, in machine integers and granules of 1, because a million and a half
// groups are many for math/big.
func smallReference(g group) [3]int64 {
	var first, surplus [3]int64
	left := g.capacity
	for i, c := range g.claims {
		first[i] = min(c.Quota, c.Requestable)
		left -= first[i]
	}
	for ; left > 0; left-- {
		next := -1
		for i, c := range g.claims {
			if first[i]+surplus[i] == c.Requestable {
				continue
			}
			if next < 0 {
				next = i
				continue
			}
			here, there := (2*surplus[i]+1)*g.claims[next].Weight, (2*surplus[next]+1)*c.Weight
			if here < there || here == there && c.Weight > g.claims[next].Weight {
				next = i
			}
		}
		if next < 0 {
			break
		}
		surplus[next]++
	}
	for i := range first {
		first[i] += surplus[i]
	}
	return first
}
