package engine

import (
	"math/bits"
	"slices"

	"github.com/allotsched/allot/fairshare"
)

// demands are what the leaves of a pool ask.
type demands struct {
	asked []fairshare.Demand // by queue × Width + resource, but for the unit
	parts []parts            // by queue: of devices
}

func newDemands(p *Pool) demands {
	return demands{make([]fairshare.Demand, len(p.Parent)*p.Width), make([]parts, len(p.Parent))}
}

func (d demands) clone() demands { return demands{slices.Clone(d.asked), slices.Clone(d.parts)} }

func (d demands) copyFrom(other demands) {
	copy(d.asked, other.asked)
	copy(d.parts, other.parts)
}

func (d demands) clear() {
	clear(d.asked)
	clear(d.parts)
}

// partUnits are what parts of a device may come in: the divisors of a whole one.
var partUnits = [...]int64{1, 2, 4, 5, 8, 10, 20, 25, 40, 50, 100, 125, 200, 250, 500}

// parts counts the workloads of a leaf that ask for parts of devices, by what they
// come in (F5). It is a count, so that who leaves can be taken out.
type parts struct {
	count [len(partUnits)]int32
	some  uint16 // the units of which the count is not 0
}

// add adds n workloads whose parts come in unit; 0 is whole devices.
func (c *parts) add(unit, n int64) {
	i := slices.Index(partUnits[:], unit)
	if i < 0 {
		return
	}
	if c.count[i] += int32(n); c.count[i] != 0 {
		c.some |= 1 << i
	} else {
		c.some &^= 1 << i
	}
}

// unit is what all of them come in, 0 where there are none.
func (c *parts) unit() (unit int64) {
	for some := c.some; some != 0; some &= some - 1 {
		unit = commonDivisor(unit, partUnits[bits.TrailingZeros16(some)])
	}
	return unit
}

// PartOf is what so many thousandths of a device each come in: their greatest
// common divisor and a whole device's; 0 where that is a whole one (F5).
func PartOf(milli ...int64) int64 {
	unit := int64(WholeDevice)
	for _, n := range milli {
		unit = commonDivisor(unit, n)
	}
	if unit == WholeDevice {
		return 0
	}
	return unit
}

// commonDivisor is the greatest common divisor; 0 is a multiple of everything.
func commonDivisor(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
