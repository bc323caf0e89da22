package fairshare

import (
	"math/big"
	"slices"
)

// A Usage is what a queue has used of a resource over a time, and what there was of it
// (F6), in amounts times time, decayed as the host has it decay ([History]); only their
// ratio counts. The zero Usage is that nothing was used.
type Usage struct {
	// Used is the queue's, Capacity that of all that it was a share of; both are ≥ 0.
	Used     int64 `json:"used,omitzero"`
	Capacity int64 `json:"capacity,omitzero"`
}

// weightBits is how long the largest of adjusted weights may be.
const weightBits = 62

// AdjustWeights returns the weights of the siblings of one tier as their usage changes them
// (F6): max(0, w + k·(w − u)), where w is a weight over the sum of all of them, u what the
// sibling used over what there was, and k the strength, here in thousandths.
//
// The result is in whole numbers whose ratios are exact where those have 62 bits, and
// else rounded down to so many, to no less than 1 where they are positive. Where no weight
// is positive, or k is 0, the weights are as they were. They are written to dst if its
// capacity is enough.
func AdjustWeights(dst, weights []int64, usage []Usage, strengthMilli int64) []int64 {
	out := resize(dst, len(weights))
	copy(out, weights)
	exact, _ := adjusted(weights, usage, strengthMilli)
	divisor, longest := new(big.Int), 0
	for _, n := range exact {
		divisor.GCD(nil, nil, divisor, n)
	}
	for i, n := range exact {
		if n.Sign() > 0 {
			exact[i] = n.Div(n, divisor)
			longest = max(longest, exact[i].BitLen())
		}
	}
	for i, n := range exact {
		out[i] = 0
		if n.Sign() > 0 {
			out[i] = max(1, n.Rsh(n, uint(max(0, longest-weightBits))).Int64())
		}
	}
	return out
}

// adjusted are the weights as their usage changes them, as numerators of a common
// denominator; none where nothing changes them.
func adjusted(weights []int64, usage []Usage, strengthMilli int64) (exact []*big.Int, denominator *big.Int) {
	sum := new(big.Int)
	for _, w := range weights {
		sum.Add(sum, big.NewInt(w))
	}
	if strengthMilli <= 0 || sum.Sign() == 0 {
		return nil, nil
	}
	common := big.NewInt(1) // of what there was
	for i := range usage {
		if c := usage[i].Capacity; c > 0 {
			d := big.NewInt(c)
			common.Mul(common, new(big.Int).Div(d, new(big.Int).GCD(nil, nil, common, d)))
		}
	}
	exact = make([]*big.Int, len(weights))
	for i, w := range weights {
		n := new(big.Int).Mul(big.NewInt(1000+strengthMilli), big.NewInt(w))
		n.Mul(n, common)
		if u := usage[i]; u.Capacity > 0 {
			used := new(big.Int).Div(common, big.NewInt(u.Capacity))
			used.Mul(used, big.NewInt(u.Used)).Mul(used, sum).Mul(used, big.NewInt(strengthMilli))
			n.Sub(n, used)
		}
		if n.Sign() < 0 {
			n.SetInt64(0)
		}
		exact[i] = n
	}
	return exact, sum.Mul(sum, common).Mul(sum, big.NewInt(1000))
}

// tellWeights fills in what the weights of a tier are before and after, in thousandths.
func tellWeights(shares []Share, group []int32, members []int, weights []int64, usage []Usage, strengthMilli int64) {
	milli := func(n, denominator *big.Int) int64 {
		n = new(big.Int).Mul(n, big.NewInt(1000))
		return n.Div(n, denominator).Int64()
	}
	exact, denominator := adjusted(weights, usage, strengthMilli)
	sum := new(big.Int)
	for _, w := range weights {
		sum.Add(sum, big.NewInt(w))
	}
	for at := range exact {
		s := &shares[group[members[at]]]
		s.WeightMilli, s.AdjustedMilli = milli(big.NewInt(weights[at]), sum), milli(exact[at], denominator)
	}
}

// adjustGroup returns the weights of a group, as their usage changes them (F6), tier by
// tier. Where no member of a tier that could use more than its quota part has a weight
// left, the weights that are given hold there.
func adjustGroup(shares []Share, queues []Queue, group []int32, c *TreeConfig) []int64 {
	out := make([]int64, len(group))
	done := make([]bool, len(group))
	for first := range group {
		if done[first] {
			continue
		}
		var members []int
		for i := first; i < len(group); i++ {
			if c.Method == ByDemand || queues[group[i]].Tier == queues[group[first]].Tier {
				members, done[i] = append(members, i), true
			}
		}
		weights, usage := make([]int64, len(members)), make([]Usage, len(members))
		for at, i := range members {
			weights[at], usage[at] = queues[group[i]].Weight, queues[group[i]].Usage
		}
		after := AdjustWeights(nil, weights, usage, c.UsageStrengthMilli)
		tellWeights(shares, group, members, weights, usage, c.UsageStrengthMilli)
		wants := func(at int) bool {
			s := &shares[group[members[at]]]
			return s.Requestable > s.QuotaPart
		}
		some := false
		for at := range members {
			some = some || wants(at) && after[at] > 0
		}
		if !some {
			after = weights
		}
		for at, i := range members {
			out[i] = after[at]
		}
	}
	return out
}

// usesHistory says whether what was used changes weights.
func (c *TreeConfig) usesHistory() bool {
	return c.UsageStrengthMilli > 0 && slices.ContainsFunc(c.Queues, func(q Queue) bool { return q.Usage.Capacity > 0 })
}
