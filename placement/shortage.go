package placement

import "math/big"

// The constants of what runs out first.
const (
	// shortageBits are those of shortageUnit, which is all that counts of what is free.
	shortageBits = 20
	shortageUnit = 1 << shortageBits
	// shortageSlope is how fast devices give way to the resource: they alone count where as much
	// is asked of them as of that, and not at all where an eighth less is.
	shortageSlope = 8
	// bareParts is how much what a task without devices leaves of [Scoring.CPU] counts more: it
	// has no other way to spare what runs out.
	bareParts = 5
)

// A shortage says what of all that is free on a node counts for ShadowPrice: what runs out
// first, were the nodes filled with the mix, the devices or [Scoring.CPU].
type shortage struct {
	// devices is how much what is free of devices counts, 0 to shortageUnit; the rest is that
	// of the resource.
	devices int64
	// milli and amount are those of all nodes, by which the resource is told in milli.
	milli, amount int64
}

// readShortage compares what the mix asks with what the nodes have; taken says of the targets
// with devices whether some node would take them.
func (s *shadows) readShortage(x *Index, mix []Target, taken []bool) {
	s.shortage.devices = shortageUnit
	cpu := x.scoring.CPU
	if x.resources == 0 || cpu < 0 {
		return
	}
	most := int64(0)
	for v := range x.nodes {
		amount := max(0, x.capacityOf(int32(v))[cpu]) // others may use more than there is
		s.shortage.amount, most = addUpTo(s.shortage.amount, amount), max(most, amount)
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
		} else if asks > most {
			continue
		}
		amount.Add(amount, times.Mul(times, big.NewInt(asks)))
	}
	s.shortage.compare(milli.Mul(milli, big.NewInt(s.shortage.amount)), amount.Mul(amount, big.NewInt(s.shortage.milli)))
}

// compare sets how much devices count where what is asked of them is to what is asked of the
// resource as the one number is to the other.
func (s *shortage) compare(devices, resource *big.Int) {
	if resource.Sign() == 0 {
		return
	}
	// 1 − slope × (1 − devices/resource)
	above := devices.Mul(devices, big.NewInt(shortageSlope))
	above.Sub(above, new(big.Int).Mul(resource, big.NewInt(shortageSlope-1)))
	if above.Sign() <= 0 {
		s.devices = 0
		return
	}
	above.Lsh(above, shortageBits)
	if above.Quo(above, resource); above.Cmp(big.NewInt(shortageUnit)) < 0 {
		s.devices = above.Int64()
	}
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
	if s.shortage.devices == shortageUnit || len(x.layouts[x.nodes[v].layout].scale) == 0 {
		return r
	}
	r.short = (shortageUnit - s.shortage.devices) * timesOver(max(0, free[x.scoring.CPU]-b.asks.cpu), s.shortage.milli, s.shortage.amount)
	if b.shape.count == 0 {
		r.short *= bareParts
	}
	return r
}
