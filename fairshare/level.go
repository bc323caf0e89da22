package fairshare

import (
	"cmp"
	"math/bits"
)

// A claimant is a claim in the division of one tier's surplus.
type claimant struct {
	weight  wide
	room    uint64 // the most surplus it can take
	parts   uint64 // granules of room, the last of them perhaps a part of one
	given   uint64 // granules given so far, ≤ parts
	created int64
	index   int // of the claim
	tier    int32
}

// amount returns what n ≤ parts granules are to the claimant.
func (c *claimant) amount(n, granule uint64) uint64 {
	if n == c.parts {
		return c.room
	}
	return n * granule // n < parts, so this is less than room
}

// compareTurns orders two claimants by which gets the next granule (F5): the
// lowest (2·surplus so far + granule)/weight, then larger weight, older, lower
// index. Surplus so far is given·granule, so the granule cancels out.
func compareTurns(a, b *claimant) int {
	aTop, aMiddle, aLow := b.weight.times(2*a.given + 1)
	bTop, bMiddle, bLow := a.weight.times(2*b.given + 1)
	switch {
	case aTop != bTop:
		return cmp.Compare(aTop, bTop)
	case aMiddle != bMiddle:
		return cmp.Compare(aMiddle, bMiddle)
	case aLow != bLow:
		return cmp.Compare(aLow, bLow)
	}
	return cmp.Or(
		b.weight.cmp(a.weight),
		cmp.Compare(a.created, b.created),
		cmp.Compare(a.index, b.index),
	)
}

// divideSurplus divides the surplus among the claimants of one tier (F5), adds
// what each gets to shares and returns what none of them can use. It reorders the
// claimants.
func divideSurplus(shares []int64, surplus uint64, tier []claimant, o Options) (left uint64) {
	live, enough := takers(tier, surplus, o)
	if enough {
		for i := range live {
			shares[live[i].index] += int64(live[i].room)
			surplus -= live[i].room
		}
		return surplus
	}
	granule := o.granule()
	at := findLevel(live, surplus, granule)
	waiting := live[:0]
	for i := range live {
		c := live[i]
		c.given = at.granules(&c)
		amount := c.amount(c.given, granule)
		shares[c.index] += int64(amount)
		surplus -= amount
		if c.given < c.parts {
			waiting = append(waiting, c)
		}
	}
	finish(shares, surplus, waiting, granule)
	return 0
}

// takers brings the claimants that can get surplus to the front, counts their
// granules, and tells whether the surplus is enough for all of them.
func takers(tier []claimant, surplus uint64, o Options) (live []claimant, enough bool) {
	equal := o.EqualAtZeroWeight
	for i := range tier {
		equal = equal && tier[i].weight.isZero()
	}
	granule := o.granule()
	live, enough = tier[:0], true
	for _, c := range tier {
		if equal {
			c.weight = wide{lo: 1}
		}
		if c.room == 0 || c.weight.isZero() {
			continue
		}
		c.parts = (c.room-1)/granule + 1
		live = append(live, c)
		if enough = enough && c.room <= surplus; enough {
			surplus -= c.room
		}
	}
	return live, enough
}

// finish gives the last granules one at a time, by a heap of the claimants in the
// order of their turns.
// The surplus is less than the waiting claimants can take.
func finish(shares []int64, surplus uint64, waiting []claimant, granule uint64) {
	if surplus == 0 {
		return
	}
	for i := len(waiting)/2 - 1; i >= 0; i-- {
		siftDown(waiting, i)
	}
	for surplus > 0 {
		next := &waiting[0]
		part := next.amount(next.given+1, granule) - next.given*granule
		part = min(part, surplus)
		shares[next.index] += int64(part)
		surplus -= part
		next.given++
		if next.given == next.parts {
			last := len(waiting) - 1
			waiting[0] = waiting[last]
			waiting = waiting[:last]
		}
		siftDown(waiting, 0)
	}
}

// siftDown restores the heap below i.
func siftDown(heap []claimant, i int) {
	for {
		first := 2*i + 1
		if first >= len(heap) {
			return
		}
		if second := first + 1; second < len(heap) && compareTurns(&heap[second], &heap[first]) < 0 {
			first = second
		}
		if compareTurns(&heap[i], &heap[first]) < 0 {
			return
		}
		heap[i], heap[first] = heap[first], heap[i]
		i = first
	}
}

// A level is a bound scale/2^shift on the (2·given + 1)/weight of F5: the
// granules at or below it are a beginning of the order in which they are
// given, and count themselves without being given one by one.
type level struct {
	scale uint64
	shift uint
}

// granules returns how many granules of c are at or below the level: the
// number of odd integers up to ⌊level × weight⌋, at most c.parts.
func (l level) granules(c *claimant) uint64 {
	var top, middle, low uint64
	if c.weight.hi == 0 {
		middle, low = bits.Mul64(c.weight.lo, l.scale) // nearly always
	} else {
		top, middle, low = c.weight.times(l.scale)
	}
	shift := l.shift
	for ; shift >= 64; shift -= 64 {
		top, middle, low = 0, top, middle
	}
	if top != 0 || middle>>shift != 0 {
		return c.parts // 2^64 or more, and 2·parts is less
	}
	upTo := middle<<(64-shift) | low>>shift
	return min(upTo/2+upTo&1, c.parts)
}

// findLevel returns a level whose granules the surplus is enough for, high
// enough to leave O(n) granules to give: n claims and a surplus of S granules
// take at most 8 + log2 S passes over the claims.
//
// It narrows the level down to one part in 2^k. Where a claimant is given m
// granules up to the level found, at most (m + 1/2)/2^k + 1 more are between
// it and the next one, which is too high; over all claimants that is no more
// than S/2^k + 2n, and k is chosen so that the first summand is below n/4.
func findLevel(live []claimant, surplus, granule uint64) level {
	widest := 0
	for i := range live {
		widest = max(widest, live[i].weight.bitLen())
	}
	// First the power of two. With this shift level × weight is below 1, so
	// no claimant gets anything; with shift −1 it is 2^64, so every claimant would get
	// everything, which is more than the surplus.
	fitting, tooHigh := 64+widest, -1
	for fitting-tooHigh > 1 {
		shift := (fitting + tooHigh) / 2
		if fits(live, surplus, granule, level{1 << 63, uint(shift)}) {
			fitting = shift
		} else {
			tooHigh = shift
		}
	}
	// Then the bits below it.
	found := level{1 << 63, uint(fitting)}
	bitsWanted := bits.Len64(surplus/granule) - bits.Len(uint(len(live))) + 3
	for bit := 62; bit >= max(0, 63-bitsWanted); bit-- {
		higher := found
		higher.scale |= 1 << bit
		if fits(live, surplus, granule, higher) {
			found = higher
		}
	}
	return found
}

// fits tells whether the surplus is enough for all granules up to the level.
func fits(live []claimant, surplus, granule uint64, at level) bool {
	for i := range live {
		c := &live[i]
		amount := c.amount(at.granules(c), granule)
		if amount > surplus {
			return false
		}
		surplus -= amount
	}
	return true
}
