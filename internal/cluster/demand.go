package cluster

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/allotsched/allot/fairshare"
)

// LineFor is the entitlement of a subtree that the rule goes by.
func (p *Pool) LineFor(code Code, q, res int32) int64 {
	at := int(q)*p.Width + int(res)
	if code == ReclaimedByShare {
		return p.Room.Shares[at]
	}
	return p.Room.Quotas[at]
}

// CompareIDs orders workloads by their IDs.
func (w *World) CompareIDs(a, b int32) int {
	return cmp.Or(cmp.Compare(w.Works[a].Rank, w.Works[b].Rank), cmp.Compare(a, b))
}

// FairShares are those of all queues, by queue × Width + resource.
func (p *Pool) FairShares() []int64 {
	out := make([]int64, len(p.Shares))
	for i := range p.Shares {
		out[i] = p.Shares[i].FairShare
	}
	return out
}

// Cut is what of its quota a queue may not defend, as there is not enough for all (F2, F13).
func (p *Pool) Cut(q, r int) int64 {
	if p.Policy.Shares != fairshare.QuotaThenWeight {
		return 0
	}
	s := &p.Shares[q*p.Width+r]
	return min(p.Tree.Quota(q, r), s.Requestable) - s.Guaranteed
}

// Demands are what the leaves of a pool ask.
type Demands struct {
	Asked []fairshare.Demand // by queue × Width + resource, but for the unit
	Parts []Parts            // by queue: of devices
}

// Clone is a copy.
func (d Demands) Clone() Demands { return Demands{slices.Clone(d.Asked), slices.Clone(d.Parts)} }

// CopyFrom makes them those of others.
func (d Demands) CopyFrom(other Demands) {
	copy(d.Asked, other.Asked)
	copy(d.Parts, other.Parts)
}

// Clear has no queue ask anything.
func (d Demands) Clear() {
	clear(d.Asked)
	clear(d.Parts)
}

// partUnits are what parts of a device may come in: the divisors of a whole one.
var partUnits = [...]int64{1, 2, 4, 5, 8, 10, 20, 25, 40, 50, 100, 125, 200, 250, 500}

// Parts counts the workloads of a leaf that ask for parts of devices, by what they
// come in (F5). It is a count, so that a workload that leaves can be taken out.
type Parts struct {
	count [len(partUnits)]int32
	Some  uint16 // the units of which the count is not 0
}

// Add adds n workloads whose parts come in unit; 0 is whole devices.
func (c *Parts) Add(unit, n int64) {
	if unit == 0 { // as most
		return
	}
	i := slices.Index(partUnits[:], unit)
	if c.count[i] += int32(n); c.count[i] != 0 {
		c.Some |= 1 << i
	} else {
		c.Some &^= 1 << i
	}
}

// Unit is what all of them come in, 0 where there are none.
func (c *Parts) Unit() (unit int64) {
	for some := c.Some; some != 0; some &= some - 1 {
		unit = CommonDivisor(unit, partUnits[bits.TrailingZeros16(some)])
	}
	return unit
}

// CommonDivisor is the greatest common divisor; 0 is a multiple of everything.
func CommonDivisor(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
