package placement

import (
	"math"
	"math/big"
)

// The constants of what runs out first.
const (
	// shortageBits are those of shortageUnit, which is all that counts of what is free.
	shortageBits = 20
	shortageUnit = 1 << shortageBits
	// shortageSlope is how fast devices give way to the resource: they alone count where as much
	// is asked of them as of that, and not at all where an eighth less is.
	shortageSlope = 8
)

// Both is something of devices, and of the resource [Scoring.CPU], as a rule in milli.
type both struct{ devices, resource int64 }

// A shortage says what of all that is free on a node counts for ShadowPrice: what runs out
// first, were the nodes filled with the mix, the devices or [Scoring.CPU].
type shortage struct {
	// devices is how much what is free of devices counts, 0 to shortageUnit; the rest is that
	// of the resource.
	devices int64
	// milli and amount are those of all nodes, by which the resource is told in milli.
	milli, amount int64
	most          int64 // of the resource, on one node
}

// readShortage compares what the mix asks with what the nodes have; taken says of the targets
// with devices whether some node would take them.
func (s *shadows) readShortage(x *Index, mix []Target, taken []bool) {
	s.shortage.devices = shortageUnit
	cpu := x.scoring.CPU
	if x.resources == 0 || cpu < 0 {
		return
	}
	for v := range x.nodes {
		amount := max(0, x.capacityOf(int32(v))[cpu]) // others may use more than there is
		s.shortage.amount, s.shortage.most = addUpTo(s.shortage.amount, amount), max(s.shortage.most, amount)
	}
	if s.shortage.amount == 0 {
		return
	}
	for i := range s.bodies {
		s.shortage.milli += 1000 * s.bodies[i].nodes * int64(len(x.layouts[s.bodies[i].layout].scale))
	}
	milli, amount, at := new(big.Int), new(big.Int), 0
	for i := range mix {
		r, times := &mix[i].Request, big.NewInt(mix[i].Weight)
		asks := r.Amounts.Of(cpu)
		if r.Devices > 0 {
			if at++; !taken[at-1] {
				continue
			}
			each := s.sizes[s.targets[at-1].part] * int64(r.Devices)
			milli.Add(milli, new(big.Int).Mul(times, big.NewInt(each)))
		} else if asks > s.shortage.most {
			continue
		}
		amount.Add(amount, times.Mul(times, big.NewInt(asks)))
	}
	s.shortage.compare(milli.Mul(milli, big.NewInt(s.shortage.amount)), amount.Mul(amount, big.NewInt(s.shortage.milli)))
}

// compare sets how much devices count where what is asked of them is to what is asked of the
// resource as the one number is to the other.
func (s *shortage) compare(devices, resource *big.Int) {
	s.devices = devicesPart(ratioOf(devices, resource))
}

// ratioOf is a/b in shortageUnit, or the largest int64; a and b change.
func ratioOf(a, b *big.Int) int64 {
	if b.Sign() == 0 {
		return math.MaxInt64
	}
	if ratio := a.Quo(a.Lsh(a, shortageBits), b); ratio.IsInt64() {
		return ratio.Int64()
	}
	return math.MaxInt64
}

// devicesPart is how much devices count, 0 to shortageUnit, where what is asked of them is to what is
// asked of the resource as ratio: 1 − slope × (1 − ratio).
func devicesPart(ratio int64) int64 {
	return max(0, shortageUnit-shortageSlope*(shortageUnit-min(ratio, shortageUnit)))
}

// inMilli is an amount of the resource in milli, by what all nodes have of both.
func (s *shortage) inMilli(amount int64) int64 {
	if s.amount == 0 {
		return 0
	}
	return timesOver(max(0, amount), s.milli, s.amount)
}

// freeOn is what is free of the resource on a node in milli, of one without devices nothing.
func (s *shortage) freeOn(x *Index, v int32, free []int64) int64 {
	if s.amount == 0 || len(x.layouts[x.nodes[v].layout].scale) == 0 {
		return 0
	}
	return s.inMilli(free[x.scoring.CPU])
}

// resourceAsked is what is asked of [Scoring.CPU] times the weight, by target with devices, and behind them
// by all others that some node would take; taken says of the former whether one would.
func (s *shadows) resourceAsked(x *Index, mix []Target, taken []bool) []*big.Int {
	asked, others, at := make([]*big.Int, len(taken)), new(big.Int), 0
	for i := range mix {
		r := &mix[i].Request
		amount := int64(0)
		if s.shortage.amount > 0 {
			amount = r.Amounts.Of(x.scoring.CPU)
		}
		product := new(big.Int).Mul(big.NewInt(mix[i].Weight), big.NewInt(amount))
		switch {
		case r.Devices == 0 && amount <= s.shortage.most:
			others.Add(others, product)
		case r.Devices > 0:
			if asked[at] = product; !taken[at] {
				product.SetInt64(0)
			}
			at++
		}
	}
	return append(asked, others)
}

// A remainder is what a task leaves of a node beside its devices: a cell, a stock, and how much
// what is left of [Scoring.CPU] counts, see shortage.
type remainder struct {
	cell, stock int32
	short       int64
}

// leaves is the remainder of the node where it takes the board's task. Of a node that has no
// devices nothing that is left counts.
func (s *shadows) leaves(x *Index, b *scoreboard, v int32) remainder {
	free := x.freeOf(v)
	r := remainder{cell: s.cellOf(free, b.asks.need), stock: s.stockOf(free, b.asks.need)}
	if s.shortage.devices < shortageUnit && len(x.layouts[x.nodes[v].layout].scale) > 0 {
		r.short = (shortageUnit - s.shortage.devices) * s.shortage.inMilli(free[x.scoring.CPU]-b.asks.cpu)
	}
	return r
}
