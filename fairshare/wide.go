package fairshare

import (
	"cmp"
	"math/bits"
)

// A wide is an unsigned integer of 128 bits. Weights are wide because F8
// multiplies two amounts of 63 bits each.
type wide struct{ hi, lo uint64 }

// product returns a × b.
func product(a, b uint64) wide {
	hi, lo := bits.Mul64(a, b)
	return wide{hi, lo}
}

func (a wide) cmp(b wide) int {
	if a.hi != b.hi {
		return cmp.Compare(a.hi, b.hi)
	}
	return cmp.Compare(a.lo, b.lo)
}

func (a wide) isZero() bool { return a.hi|a.lo == 0 }

// bitLen returns the number of bits needed to write a; 0 for 0.
func (a wide) bitLen() int {
	if a.hi != 0 {
		return 64 + bits.Len64(a.hi)
	}
	return bits.Len64(a.lo)
}

// times returns a × b in 192 bits, the highest word first. It cannot
// overflow: 128 bits times 64 are 192.
func (a wide) times(b uint64) (top, middle, low uint64) {
	carry, low := bits.Mul64(a.lo, b)
	top, middle = bits.Mul64(a.hi, b)
	middle, c := bits.Add64(middle, carry, 0)
	return top + c, middle, low
}
