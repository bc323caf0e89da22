package fairshare_test

import (
	"fmt"
	"math/big"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/allotsched/allot/fairshare"
)

// halves is demand of so much in parts of 500.
func halves(n int64) fairshare.Demand { return fairshare.Demand{Preemptible: n, Unit: 500} }

// TestF5Granules: the granule of a group follows what its members ask.
func TestF5Granules(t *testing.T) {
	leaf := func(parent int32, d fairshare.Demand) fairshare.Queue {
		return fairshare.Queue{Parent: parent, Limit: unlimited, Weight: 1, Demand: d}
	}
	quarters := fairshare.Demand{Preemptible: 750, Unit: 250}
	for _, test := range []struct {
		name   string
		queues []fairshare.Queue
		want   []int64
	}{
		{"who asks whole ones only decides", []fairshare.Queue{leaf(-1, halves(500)), leaf(-1, wants(1000))}, []int64{1000, 1000}},
		{"who asks nothing does not", []fairshare.Queue{leaf(-1, halves(500)), leaf(-1, fairshare.Demand{})}, []int64{500, 500}},
		{"nor who may have nothing", []fairshare.Queue{leaf(-1, halves(500)), {Parent: -1, Weight: 1, Demand: wants(1000)}}, []int64{500, 500}},
		{"a multiple is whole", []fairshare.Queue{leaf(-1, halves(500)), leaf(-1, fairshare.Demand{Preemptible: 4000, Unit: 2000})}, []int64{1000, 1000}},
		{"parts share a divisor", []fairshare.Queue{leaf(-1, quarters), leaf(-1, fairshare.Demand{Preemptible: 1, Unit: 600})}, []int64{50, 50}},
		{"more than a whole one is parts", []fairshare.Queue{leaf(-1, fairshare.Demand{Preemptible: 1500, Unit: 1500})}, []int64{500}},
		{"nobody asks", []fairshare.Queue{leaf(-1, fairshare.Demand{Unit: 500})}, []int64{1000}},
		{
			"each group for itself; above it is asked what is asked below",
			[]fairshare.Queue{leaf(-1, fairshare.Demand{}), leaf(0, halves(500)), leaf(0, wants(1000)), leaf(-1, quarters)},
			[]int64{250, 1000, 1000, 250},
		},
		{
			"a department of whole ones only decides above, and nothing below another",
			[]fairshare.Queue{leaf(-1, fairshare.Demand{}), leaf(0, halves(500)), leaf(-1, fairshare.Demand{}), leaf(2, wants(1000))},
			[]int64{1000, 500, 1000, 1000},
		},
	} {
		c := fairshare.TreeConfig{Capacity: 4000, Options: fairshare.Options{Granule: 1000}, Queues: test.queues}
		got, err := fairshare.Granules(nil, c)
		if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v, −want +got:\n%s", test.name, err, diff)
		}
	}
	if _, err := fairshare.Granules(nil, fairshare.TreeConfig{Method: 7}); err == nil {
		t.Error("a method that there is not")
	}
}

// referenceGranule is F5's granule of the children of a queue, by its text: from
// the lists of what each child's leaves ask.
func referenceGranule(c fairshare.TreeConfig, shares []fairshare.Share, parent int32) int64 {
	whole := max(1, c.Granule)
	var units func(i int) []int64
	units = func(i int) (list []int64) {
		if shares[i].Requestable == 0 {
			return nil
		}
		leaf := true
		for child, q := range c.Queues {
			if int(q.Parent) == i {
				list, leaf = append(list, units(child)...), false
			}
		}
		if leaf {
			return []int64{c.Queues[i].Demand.Unit}
		}
		return list
	}
	divisor := big.NewInt(whole)
	for i, q := range c.Queues {
		if q.Parent != parent {
			continue
		}
		parts := false
		for _, unit := range units(i) {
			parts = parts || unit%whole != 0
			divisor.GCD(nil, nil, divisor, big.NewInt(unit))
		}
		if !parts && len(units(i)) > 0 {
			return whole
		}
	}
	return divisor.Int64()
}

// pickUnit picks what a demand comes in, so that no granule becomes so small that
// the reference could not give them one by one.
func pickUnit(pick picker, granule int64) int64 {
	unit := []int64{granule / 2, granule / 4, granule / 4 * 3, granule / 5, 0, 0}[pick(0, 5)]
	if granule > 50 && big.NewInt(0).GCD(nil, nil, big.NewInt(granule), big.NewInt(unit)).Int64() < granule/5 {
		return 0
	}
	return unit
}

// TestF5GranulesReference compares groups of members that ask parts with the
// reference, with weights of 0 (F4) among them.
func TestF5GranulesReference(t *testing.T) {
	groups, parts, equal := 0, 0, 0
	forManyGroups(t, 100_000, func(pick picker) string {
		g := pickAny(pick)
		whole := pick(0, 2) == 0
		c := fairshare.TreeConfig{Capacity: g.capacity, Options: g.options}
		asked := make([]fairshare.Share, len(g.claims))
		for i, claim := range g.claims {
			q := fairshare.Queue{Parent: -1, Limit: unlimited, Quota: claim.Quota, Weight: claim.Weight, Tier: claim.Tier,
				Created: claim.Created, Demand: wants(claim.Requestable)}
			for tries := 0; q.Demand.Unit == 0 && (tries == 0 || !whole && tries < 5); tries++ {
				q.Demand.Unit = pickUnit(pick, g.granule())
			}
			g.claims[i].Keep = 0 // what is kept has tests of its own

			g.claims[i].Requestable = min(claim.Requestable, max(0, g.capacity)) // nobody reaches more (F1)
			asked[i].Requestable = g.claims[i].Requestable
			c.Queues = append(c.Queues, q)
		}
		if g.options.Granule = referenceGranule(c, asked, -1); g.options.Granule < max(1, c.Granule) {
			parts++
		}
		if groups++; g.options.EqualAtZeroWeight && !slices.ContainsFunc(g.claims, func(c fairshare.Claim) bool { return c.Weight > 0 }) {
			equal++
		}
		got, err := fairshare.DivideTree(nil, c)
		want := referenceDivide(g)
		for i := range want {
			if err != nil || got[i].FairShare != want[i] {
				return fmt.Sprintf("%v in parts %+v: got %+v, %v, want %v", g, c.Queues, got, err, want)
			}
		}
		return ""
	})
	t.Logf("%d groups, %d of them in parts, %d equally without weights", groups, parts, equal)
	if 4*parts < groups || 20*equal < groups {
		t.Errorf("only %d of %d groups are in parts, %d equal", parts, groups, equal)
	}
}

// TestF5GranulesExhaustive compares every group of three queues with weights 0–2,
// quota 0 or 3, demands 0, 3 and 8, asked in whole granules of 4, in 2 or in 3, and capacity
// 0–12 in steps of 3, with weightless tiers sharing equally and not (F4).
func TestF5GranulesExhaustive(t *testing.T) {
	var kinds []fairshare.Queue
	for _, unit := range []int64{0, 2, 3} {
		for weight := range int64(3) {
			for _, quota := range []int64{0, 3} {
				for _, demand := range []int64{0, 3, 8} {
					kinds = append(kinds, fairshare.Queue{Parent: -1, Limit: unlimited, Quota: quota, Weight: weight,
						Demand: fairshare.Demand{Preemptible: demand, Unit: unit}})
				}
			}
		}
	}
	var shares []fairshare.Share
	checked := 0
	for _, a := range kinds {
		for _, b := range kinds {
			for _, c := range kinds {
				config := fairshare.TreeConfig{Options: fairshare.Options{Granule: 4}, Queues: []fairshare.Queue{a, b, c}}
				for at := range int64(10) {
					config.Capacity, config.EqualAtZeroWeight = at/2*3, at%2 == 0
					shares, _ = fairshare.DivideTree(shares, config)
					want := smallGranules(config)
					if got := [3]int64{shares[0].FairShare, shares[1].FairShare, shares[2].FairShare}; got != want {
						t.Fatalf("%+v: got %v, want %v", config, got, want)
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

// smallGranules is the reference for three leaves without tiers, in machine
// integers and granules of at most 4.
func smallGranules(c fairshare.TreeConfig) [3]int64 {
	granule, weightless := c.Granule, c.EqualAtZeroWeight
	var requestable [3]int64
	for i, q := range c.Queues {
		requestable[i] = min(q.Demand.Preemptible, c.Capacity) // nobody reaches more (F1)
	}
	for i, q := range c.Queues {
		weightless = weightless && q.Weight == 0
		if requestable[i] > 0 {
			for granule > 1 && q.Demand.Unit%granule != 0 {
				granule /= 2 // the divisors of 4 are 4, 2 and 1
			}
		}
	}
	for i, q := range c.Queues {
		if requestable[i] > 0 && q.Demand.Unit%c.Granule == 0 {
			granule = c.Granule
		}
	}
	var shares, turns [3]int64
	left := c.Capacity
	for i, q := range c.Queues {
		shares[i] = min(q.Quota, requestable[i])
		left -= shares[i]
	}
	for left > 0 {
		next := -1
		var best, weight int64
		for i, q := range c.Queues {
			own := q.Weight
			if weightless {
				own = 1
			}
			if own == 0 || shares[i] == requestable[i] {
				continue
			}
			turn := 2*turns[i] + 1
			if next < 0 || turn*weight < best*own || turn*weight == best*own && own > weight {
				next, best, weight = i, turn, own
			}
		}
		if next < 0 {
			break
		}
		given := min(granule, left, requestable[next]-shares[next])
		shares[next] += given
		turns[next]++
		left -= given
	}
	return shares
}

// TestF7LawsInParts checks the laws of F7 that hold at equal granules on groups
// that divide in parts.
func TestF7LawsInParts(t *testing.T) {
	inTree := func(g group) []int64 {
		c := fairshare.TreeConfig{Capacity: g.capacity, Options: fairshare.Options{Granule: 4 * g.granule()}}
		for _, claim := range g.claims {
			c.Queues = append(c.Queues, fairshare.Queue{Parent: -1, Limit: unlimited, Quota: claim.Quota, Weight: claim.Weight, Tier: claim.Tier,
				Created: claim.Created, Demand: fairshare.Demand{Preemptible: claim.Requestable, Unit: g.granule()}})
		}
		shares, err := fairshare.DivideTree(nil, c)
		if err != nil {
			panic(fmt.Sprintf("%v: %v", g, err)) // a test's own fault
		}
		out := make([]int64, len(shares))
		for i := range shares {
			out[i] = shares[i].FairShare
		}
		return out
	}
	for _, l := range laws {
		t.Run(l.name, func(t *testing.T) {
			forManyGroups(t, 5_000, func(pick picker) string {
				g := pickLawful(pick)
				g.options.Granule = max(1, g.options.Granule/4)
				for i := range g.claims { // nobody reaches more (F1)
					g.claims[i].Requestable = min(g.claims[i].Requestable, max(0, g.capacity))
				}
				return l.check(inTree, g, pick)
			})
		})
	}
}
