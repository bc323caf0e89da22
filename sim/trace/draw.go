package trace

import (
	"math/bits"
	"math/rand/v2"
	"time"
)

// A draw draws numbers by a seed, with integers alone: the same on every machine.
type draw struct{ source *rand.PCG }

func newDraw(seed, stream uint64) draw { return draw{rand.NewPCG(seed, stream)} }

// below is a number from 0 to n−1; its bias is below n in 2^64.
func (d draw) below(n int64) int64 {
	high, _ := bits.Mul64(d.source.Uint64(), uint64(n))
	return int64(high)
}

// exponential is a time of an exponential distribution.
func (d draw) exponential(mean time.Duration) time.Duration {
	high, low := bits.Mul64(uint64(mean), minusLog(d.source.Uint64()))
	return time.Duration(high<<(64-logBits) | low>>logBits)
}

// logBits are the bits behind the point of a logarithm.
const logBits = 48

// ln2 is the natural logarithm of 2 with 64 bits behind the point.
const ln2 = 0xB17217F7D1CF79AB

// minusLog is −ln(x / 2^64) with logBits bits behind the point, to some units
// in the last place: the binary logarithm, bit by bit by squaring.
func minusLog(x uint64) uint64 {
	if x == 0 {
		x = 1 // one draw in 2^64, and as good as any
	}
	whole := bits.Len64(x) - 1
	mantissa := x << (63 - whole) // in [1, 2) with 63 bits behind the point
	log := uint64(whole) << logBits
	for bit := uint64(1) << (logBits - 1); bit > 0; bit >>= 1 {
		high, low := bits.Mul64(mantissa, mantissa) // in [1, 4) with 126 bits
		if high>>63 != 0 {
			log += bit
			mantissa = high
		} else {
			mantissa = high<<1 | low>>63
		}
	}
	high, _ := bits.Mul64(uint64(64)<<logBits-log, ln2)
	return high
}
