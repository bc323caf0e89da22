package fairshare_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/allotsched/allot/fairshare"
)

// largest is the largest amount of a state (V1).
const largest = 1<<53 - 1

// A group is one division: what Divide is asked.
type group struct {
	capacity int64
	claims   []fairshare.Claim
	options  fairshare.Options
}

func (g group) String() string {
	return fmt.Sprintf("capacity %d, granule %d, equal %t, claims %+v",
		g.capacity, g.options.Granule, g.options.EqualAtZeroWeight, g.claims)
}

// granule returns the granule with its default.
func (g group) granule() int64 { return max(1, g.options.Granule) }

// A picker picks integers of a closed range: a fast one for many groups, and
// rapid's for small counterexamples.
type picker func(low, high int64) int64

func fastPicker(seed uint64) picker {
	r := rand.New(rand.NewPCG(seed, 20))
	return func(low, high int64) int64 { return low + r.Int64N(high-low+1) }
}

func rapidPicker(t *rapid.T) picker {
	return func(low, high int64) int64 { return rapid.Int64Range(low, high).Draw(t, "n") }
}

// forManyGroups runs check on groups of rapid and on count groups of the fast
// generator.
func forManyGroups(t *testing.T, count int, check func(pick picker) (violation string)) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		if violation := check(rapidPicker(t)); violation != "" {
			t.Fatal(violation)
		}
	})
	pick := fastPicker(1)
	for i := range count {
		if violation := check(pick); violation != "" {
			t.Fatalf("group %d: %s", i, violation)
		}
	}
}

// A magnitude bounds the numbers of a group. Granules are never so small that
// a reference could not give them one by one.
type magnitude struct {
	amount, granule, weight int64
}

func pickMagnitude(pick picker) magnitude {
	switch pick(0, 5) {
	case 0: // counts of devices
		return magnitude{12, 1, 4}
	case 1: // amounts that are no multiples of the granule
		return magnitude{40, 7, 9}
	case 2: // milli
		return magnitude{9000, 1000, 5}
	case 3: // a granule larger than what there is
		return magnitude{30, 50, 3}
	case 4: // weights that do not fit into 64 bits when multiplied
		return magnitude{20, 2, largest}
	default: // the largest amounts
		return magnitude{largest, 1 << 49, largest}
	}
}

// pickLawful picks a group for which F7 promises its laws: weights positive,
// nothing kept from lending.
func pickLawful(pick picker) group {
	m := pickMagnitude(pick)
	n := pick(1, 6)
	var g group
	g.options.Granule = m.granule
	if m.amount < largest && pick(0, 1) == 0 {
		g.options.Granule = pick(1, m.granule)
	}
	tiers := max(0, pick(-2, 2))
	for range n {
		g.claims = append(g.claims, fairshare.Claim{
			Quota:       pickQuota(pick, m.amount),
			Requestable: pick(0, m.amount),
			Weight:      pick(1, m.weight),
			Tier:        int32(pick(0, tiers)),
			Created:     pick(0, 2),
		})
	}
	g.capacity = pickCapacity(pick, g.claims)
	return g
}

// pickCapacity mostly picks a capacity that is enough for the quotas and not
// for everything.
func pickCapacity(pick picker, claims []fairshare.Claim) int64 {
	var quotas, requestable int64
	for _, c := range claims {
		quotas += min(c.Quota, c.Requestable)
		requestable += c.Requestable
	}
	if pick(0, 4) == 0 {
		return pick(0, requestable+1)
	}
	return pick(quotas, requestable)
}

func pickQuota(pick picker, amount int64) int64 {
	switch pick(0, 7) {
	case 0:
		return fairshare.Unlimited
	case 1:
		return pick(0, amount)
	}
	return pick(0, amount/4)
}

// pickAny picks any group: also zero weights, lending limits, too little
// capacity.
func pickAny(pick picker) group {
	g := pickLawful(pick)
	g.options.EqualAtZeroWeight = pick(0, 1) == 0
	zeroWeights := pick(0, 3)
	for i := range g.claims {
		c := &g.claims[i]
		if zeroWeights == 0 || zeroWeights == 1 && pick(0, 1) == 0 {
			c.Weight = 0
		}
		if pick(0, 3) == 0 {
			c.Keep = pick(0, 1+c.Requestable)
		}
	}
	if pick(0, 15) == 0 {
		g.capacity = -g.capacity
	}
	return g
}

// divide is Divide on a group that it must accept.
func divide(g group) []int64 {
	shares, err := fairshare.Divide(nil, g.capacity, g.claims, g.options)
	if err != nil {
		panic(fmt.Sprintf("%v: %v", g, err)) // a test's own fault
	}
	return shares
}
