package fairshare_test

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/allotsched/allot/fairshare"
)

// shareOf is used over capacity in millionths, rounded down; 0 of nothing.
func shareOf(u fairshare.Usage) int64 {
	if u.Capacity == 0 {
		return 0
	}
	n := new(big.Int).Mul(big.NewInt(u.Used), big.NewInt(1_000_000))
	return n.Div(n, big.NewInt(u.Capacity)).Int64()
}

// B12, N86 by hand: a half-life of 64 s has a tick at every second. 8 of 10 for a second,
// then 2 of 10 for half of one: at the tick what was added is multiplied by 2^(−1/64),
// between ticks it is a sum.
func TestHistoryByHand(t *testing.T) {
	const second = 1_000_000
	h := fairshare.NewHistory(fairshare.HalfLife, 64*second, 0)
	h = h.Add(second/2, 8, 10)
	if got := h.Usage(); got != (fairshare.Usage{Used: 4 * second, Capacity: 5 * second}) {
		t.Errorf("half a second: %+v", got)
	}
	h = h.Add(second, 8, 10) // 8,000,000 × 0.98922801… = 7,913,824.1…
	if got := h.Usage(); got != (fairshare.Usage{Used: 7_913_824, Capacity: 9_892_280}) {
		t.Errorf("a tick: %+v", got)
	}
	h = h.Add(second*3/2, 2, 10)
	if got := h.Usage(); got != (fairshare.Usage{Used: 8_913_824, Capacity: 14_892_280}) {
		t.Errorf("half a second more: %+v", got)
	}
	h = h.Add(65*second, 0, 0) // 64 ticks on it is a half, less at most 1 that each has rounded
	if got := h.Usage(); got.Used < 8_913_824/2-64 || got.Used > 8_913_824/2 {
		t.Errorf("a half-life more: %+v", got)
	}

	sliding := fairshare.NewHistory(fairshare.Sliding, 64*second, 0).Add(10*second, 8, 10).Add(64*second, 0, 10)
	if got := sliding.Usage(); got != (fairshare.Usage{Used: 80 * second, Capacity: 640 * second}) {
		t.Errorf("a whole window: %+v", got)
	}
	sliding = sliding.Add(67*second, 0, 10)
	if got := sliding.Usage(); got != (fairshare.Usage{Used: 56 * second, Capacity: 640 * second}) {
		t.Errorf("three seconds slid out: %+v", got)
	}
	if got := sliding.Add(1000*second, 1, 10).Usage(); got != (fairshare.Usage{Used: 64 * second, Capacity: 640 * second}) {
		t.Errorf("long after: %+v", got)
	}

	tumbling := fairshare.NewHistory(fairshare.Tumbling, 64*second, 0).Add(63*second, 8, 10)
	if got := tumbling.Usage(); got != (fairshare.Usage{Used: 504 * second, Capacity: 630 * second}) {
		t.Errorf("before it tumbles: %+v", got)
	}
	if got := tumbling.Add(64*second, 8, 10).Usage(); got != (fairshare.Usage{}) {
		t.Errorf("as it tumbles: %+v", got)
	}
	if got := tumbling.Add(64*second*1000+second, 8, 10).Usage(); got != (fairshare.Usage{Used: 8 * second, Capacity: 10 * second}) {
		t.Errorf("a second into a later window: %+v", got)
	}
}

// The zero History is one of the shortest half-life, and no panic (V1).
func TestZeroHistory(t *testing.T) {
	var zero fairshare.History
	got, want := zero.Add(1000, 1, 2), fairshare.NewHistory(fairshare.HalfLife, 0, 0).Add(1000, 1, 2)
	if got != want {
		t.Errorf("the zero History adds up %+v, one of no period %+v", got.Usage(), want.Usage())
	}
}

// A History of times and amounts up to the last that there are adds up, and neither panics nor goes on for ever (V1):
// where the last tick begins the next is no time any more.
func TestHistoryOfAnyNumbers(t *testing.T) {
	least, most := int64(math.MinInt64), int64(math.MaxInt64)
	for _, decay := range []fairshare.Decay{fairshare.HalfLife, fairshare.Sliding, fairshare.Tumbling} {
		for _, period := range []int64{least, 0, 63, 64, most} {
			for _, from := range []int64{least, 0, most} {
				h := fairshare.NewHistory(decay, period, from)
				for _, until := range []int64{least, 0, 5, most, 3} {
					for _, amount := range []int64{least, -1, 0, 1 << 53, most} {
						h = h.Add(until, amount, amount)
						if u := h.Usage(); u.Used < 0 || u.Used != u.Capacity || h.Until() < 0 {
							t.Errorf("%v, period %d, from %d, until %d of %d: %+v until %d", decay, period, from, until, amount, u, h.Until())
						}
					}
				}
			}
		}
	}
}

// B12: a time cut into any pieces gives the same history; and what is forgotten is what the
// definition says, tick by tick.
func TestHistorySplitsNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		decay := rapid.SampledFrom([]fairshare.Decay{fairshare.HalfLife, fairshare.Sliding, fairshare.Tumbling}).Draw(t, "decay")
		period := 64 * rapid.Int64Range(1, 50).Draw(t, "tick")
		at := rapid.Int64Range(0, 1000).Draw(t, "from")
		whole := fairshare.NewHistory(decay, period, at)
		cut := whole
		for range rapid.IntRange(1, 6).Draw(t, "times") {
			until := at + rapid.OneOf(rapid.Int64Range(0, 100), rapid.Int64Range(0, 50*period)).Draw(t, "long")
			capacity := rapid.OneOf(rapid.Int64Range(0, 100), rapid.Int64Range(0, 1<<53-1)).Draw(t, "capacity")
			used := rapid.Int64Range(0, capacity).Draw(t, "used")
			whole = whole.Add(until, used, capacity)
			ends := rapid.SliceOfN(rapid.Int64Range(at, until), 0, 5).Draw(t, "cuts")
			slices.Sort(ends)
			for _, end := range append(ends, until) {
				cut = cut.Add(end, used, capacity)
			}
			if whole != cut {
				t.Fatalf("from %d to %d by %v: %+v, and in one %+v", at, until, ends, cut.Usage(), whole.Usage())
			}
			if u := whole.Usage(); u.Used > u.Capacity || u.Capacity >= 1<<53 {
				t.Fatalf("%+v", u)
			}
			at = until
		}
	})
}

// twoQueues are two that want all of so many GPUs, of equal weight, with usage.
func twoQueues(strengthMilli, capacity int64, a, b fairshare.Usage) fairshare.TreeConfig {
	queue := func(u fairshare.Usage) fairshare.Queue {
		return fairshare.Queue{Parent: -1, Limit: fairshare.Unlimited, Weight: 1, Demand: fairshare.Demand{Preemptible: capacity}, Usage: u}
	}
	return fairshare.TreeConfig{Capacity: capacity, UsageStrengthMilli: strengthMilli, Queues: []fairshare.Queue{queue(a), queue(b)}}
}

// F6, B12, N85 by hand: 12 GPUs, quotas 0, weights 1, u = (3/4, 1/4).
func TestUsageAwareShares(t *testing.T) {
	for _, c := range []struct {
		strength   int64
		first, two int64
	}{{0, 6, 6}, {1000, 3, 9}, {2000, 0, 12}} {
		config := twoQueues(c.strength, 12, fairshare.Usage{Used: 3, Capacity: 4}, fairshare.Usage{Used: 1, Capacity: 4})
		got, err := fairshare.DivideTree(nil, config)
		if err != nil || got[0].FairShare != c.first || got[1].FairShare != c.two {
			t.Errorf("k = %d/1000: %v, %v", c.strength, got, err)
		}
	}
	// All that ask have nothing left: they share by the weights that are given.
	config := twoQueues(3000, 12, fairshare.Usage{Used: 1, Capacity: 1}, fairshare.Usage{Used: 0, Capacity: 1})
	config.Queues[1].Demand = fairshare.Demand{}
	if got, err := fairshare.DivideTree(nil, config); err != nil || got[0].FairShare != 12 {
		t.Errorf("alone: %v, %v", got, err)
	}
	// Quota is untouched.
	config = twoQueues(3000, 12, fairshare.Usage{Used: 1, Capacity: 1}, fairshare.Usage{})
	config.Queues[0].Quota = 4
	if got, err := fairshare.DivideTree(nil, config); err != nil || got[0].FairShare != 4 || got[1].FairShare != 8 {
		t.Errorf("with a quota: %v, %v", got, err)
	}
	// Who has a quota and could use more is somebody who wants: who used all gets nothing.
	config = twoQueues(3000, 12, fairshare.Usage{Capacity: 1}, fairshare.Usage{Used: 1, Capacity: 1})
	config.Queues[0].Quota = 4
	if got, err := fairshare.DivideTree(nil, config); err != nil || got[0].FairShare != 12 || got[1].FairShare != 0 {
		t.Errorf("who has a quota wants more: %v, %v", got, err)
	}
}

// N85: from a history in which q1 used all, q2 alone runs: after one half-life each has used
// half, and they share alike.
func TestHistoryForgetsInAHalfLife(t *testing.T) {
	const hour = 3600 * 1_000_000
	one, two := fairshare.NewHistory(fairshare.HalfLife, hour, 0), fairshare.NewHistory(fairshare.HalfLife, hour, 0)
	one, two = one.Add(100*hour, 12, 12), two.Add(100*hour, 0, 12)
	if a, b := shareOf(one.Usage()), shareOf(two.Usage()); a != 1_000_000 || b != 0 {
		t.Fatalf("a full history: %d, %d", a, b)
	}
	one, two = one.Add(101*hour, 0, 12), two.Add(101*hour, 12, 12)
	got, err := fairshare.DivideTree(nil, twoQueues(1000, 12, one.Usage(), two.Usage()))
	if err != nil || got[0].FairShare != 6 || got[1].FairShare != 6 {
		t.Errorf("after a half-life: u %d and %d, shares %v, %v", shareOf(one.Usage()), shareOf(two.Usage()), got, err)
	}
}

// B12: solved at each tick, with k = 1, the gap between two equal queues that want everything
// falls at least to a quarter per half-life.
func TestHistoryGapFalls(t *testing.T) {
	const hour, capacity = 3600 * 1_000_000, 1_000_000
	rapid.Check(t, func(t *rapid.T) {
		used := rapid.Int64Range(0, capacity/2).Draw(t, "the less that q1 used")
		one, two := fairshare.NewHistory(fairshare.HalfLife, hour, 0), fairshare.NewHistory(fairshare.HalfLife, hour, 0)
		one, two = one.Add(50*hour, used, capacity), two.Add(50*hour, capacity-used, capacity)
		gap := func() int64 { return shareOf(two.Usage()) - shareOf(one.Usage()) }
		before := gap()
		for half := range int64(3) {
			for tick := range int64(64) {
				shares, err := fairshare.DivideTree(nil, twoQueues(1000, capacity, one.Usage(), two.Usage()))
				if err != nil {
					t.Fatal(err)
				}
				until := (50+half)*hour + (tick+1)*hour/64
				one, two = one.Add(until, shares[0].FairShare, capacity), two.Add(until, shares[1].FairShare, capacity)
			}
			if after := gap(); after < -2 || 4*after > before+8 { // millionths, rounded
				t.Fatalf("the gap falls from %d to %d", before, after)
			}
			before = gap()
		}
	})
}

// F6: the weights are those of the formula, exactly where that is told: a reference in
// fractions. The weights of everybody count, whether or not they want anything.
func TestAdjustWeightsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "siblings")
		weights, usage := make([]int64, n), make([]fairshare.Usage, n)
		sum := int64(0)
		for i := range n {
			weights[i] = rapid.Int64Range(0, 20).Draw(t, "weight")
			sum += weights[i]
			usage[i].Capacity = rapid.Int64Range(0, 30).Draw(t, "capacity")
			usage[i].Used = rapid.Int64Range(0, usage[i].Capacity).Draw(t, "used")
		}
		strength := rapid.Int64Range(1, 5000).Draw(t, "strength")
		got := fairshare.AdjustWeights(nil, weights, usage, strength)
		if sum == 0 {
			if !slices.Equal(got, weights) {
				t.Fatalf("%v of weights that are 0", got)
			}
			return
		}
		want := make([]*big.Rat, n)
		for i := range n {
			w, u, k := big.NewRat(weights[i], sum), new(big.Rat), big.NewRat(strength, 1000)
			if usage[i].Capacity > 0 {
				u.SetFrac64(usage[i].Used, usage[i].Capacity)
			}
			want[i] = new(big.Rat).Sub(w, u)
			want[i].Mul(want[i], k).Add(want[i], w)
			if want[i].Sign() < 0 {
				want[i].SetInt64(0)
			}
		}
		for i := range n {
			for j := range n { // got_i : got_j = want_i : want_j
				a := new(big.Rat).Mul(want[i], big.NewRat(got[j], 1))
				b := new(big.Rat).Mul(want[j], big.NewRat(got[i], 1))
				if a.Cmp(b) != 0 || (got[i] > 0) != (want[i].Sign() > 0) {
					t.Fatalf("weights %v of %v, usage %v, k %d/1000: want in proportion %v", got, weights, usage, strength, want)
				}
			}
		}
	})
}

// F6: amounts of any size keep the order of the weights, and none that is positive is lost.
func TestAdjustWeightsLarge(t *testing.T) {
	const most = 1<<53 - 1
	got := fairshare.AdjustWeights(nil, []int64{most, most - 1, 1}, []fairshare.Usage{{Used: most / 3, Capacity: most}, {Used: most / 3, Capacity: most - 2}, {Capacity: most - 4}}, 1_000_003)
	if got[0] != 0 && got[0] < got[2] || got[2] < 1 || slices.Max(got) >= 1<<62 {
		t.Errorf("%v", got)
	}
}
