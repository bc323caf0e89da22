package radix

import (
	"math/bits"
	"slices"
)

const (
	digit = 11  // bits that a pass sorts by
	few   = 512 // up to so many are sorted by comparison
)

// Sort sorts numbers of which the lowest bits, so many as low, ascend as they come, as the places in a list do.
func Sort(numbers []uint64, low int) {
	if len(numbers) <= few {
		slices.Sort(numbers)
		return
	}
	differ := uint64(0)
	for _, n := range numbers {
		differ |= n ^ numbers[0]
	}
	from, to := numbers, []uint64(nil)
	for at := low; at < bits.Len64(differ); at += digit {
		if differ>>at&(1<<digit-1) == 0 {
			continue
		}
		if to == nil {
			to = make([]uint64, len(numbers))
		}
		pass(from, to, at)
		from, to = to, from
	}
	if &from[0] != &numbers[0] {
		copy(numbers, from)
	}
}

// pass writes the numbers to another list, sorted by one digit.
func pass(from, to []uint64, at int) {
	var next [1 << digit]int32
	for _, n := range from {
		next[n>>at&(1<<digit-1)]++
	}
	before := int32(0)
	for d, some := range next {
		next[d], before = before, before+some
	}
	for _, n := range from {
		d := n >> at & (1<<digit - 1)
		to[next[d]] = n
		next[d]++
	}
}
