package placement

import (
	"math"
	"math/bits"
)

// logBits is how many bits after the point the logarithms have.
const logBits = 40

// ln2 is ln 2 × 2^64, rounded.
const ln2 = 0xB17217F7D1CF79AC

// logarithm returns ln n × 2^56 for n ≥ 1, to within 2 or so: the whole part of
// the binary logarithm is the length of n, and squaring what is left over gives
// its bits one by one.
func logarithm(n uint64) int64 {
	whole := bits.Len64(n) - 1
	x := n << (63 - whole) // 1 ≤ x/2^63 < 2
	fraction := uint64(0)
	for range 58 {
		high, low := bits.Mul64(x, x)
		fraction <<= 1
		if high >= 1<<63 {
			fraction++
			x = high
		} else {
			x = high<<1 | low>>63
		}
	}
	high, _ := bits.Mul64(uint64(whole)<<58|fraction, ln2)
	return int64((high + 2) >> 2)
}

// sigmoidSteps returns the least differences, times weight, for which the
// sigmoid of difference/scale reaches 1/steps, 2/steps … (steps−1)/steps. Those
// are scale·ln(k/(steps−k)), the logarithm rounded to 2^-40: as ln of no
// fraction but 1 is a fraction, no difference lies on a step but on the middle
// one, which is 0 exactly.
func sigmoidSteps(scale, weight int64, steps int) []int64 {
	least := make([]int64, steps-1)
	for i := range least {
		k := uint64(i + 1)
		l := logarithm(k) - logarithm(uint64(steps)-k)
		const half = 1 << (56 - logBits - 1)
		if l < 0 {
			least[i] = -timesLog(scale*weight, uint64((half-l)>>(56-logBits)), 0)
		} else {
			least[i] = timesLog(scale*weight, uint64((half+l)>>(56-logBits)), 1<<logBits-1)
		}
	}
	return least
}

// timesLog returns a·log/2^40, rounded up if up is the largest remainder, down
// if it is 0; at most the largest int64.
func timesLog(a int64, log, up uint64) int64 {
	high, low := bits.Mul64(uint64(a), log)
	low, carry := bits.Add64(low, up, 0)
	high += carry
	if high>>(logBits-1) != 0 {
		return math.MaxInt64
	}
	return int64(high<<(64-logBits) | low>>logBits)
}

// reached returns how many of the ascending steps the difference reaches.
func reached(steps []int64, difference int64) int64 {
	low, high := 0, len(steps)
	for low < high {
		middle := int(uint(low+high) / 2)
		if steps[middle] <= difference {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return int64(low)
}
