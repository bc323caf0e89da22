package gang

import (
	"cmp"
	"slices"
)

// A quality tells how well tasks are parted among domains: the lower are better, the
// first figure in which two differ decides (T2). For Pack it is the number of domains.
// For Balance it is by how many units the largest part exceeds the smallest, 0 for even
// parts, which differ by one at most; the number of domains; and the difference of even
// parts.
type quality [3]int64

// compare is negative for the better quality.
func (q quality) compare(other quality) int { return slices.Compare(q[:], other[:]) }

// balance chooses parts for n tasks, in units of so many, that they take together. Even
// ones are the fewest that take parts which differ by a unit at most, and of these the
// fullest. Where there are none, it is the choice with the smallest difference, then the
// fewest. Where parts that lack the level are needed, it is the fewest of all, even ones if
// there are any, else as [pack] has them.
func balance(parts []part, n, unit int64) []*part {
	order := byRoom(parts)
	few := fewestFirst(order, n)
	units := n / unit
	if used := packed(parts, n); few[used-1].apart {
		slices.SortStableFunc(order, func(a, b *part) int { return cmp.Compare(b.takes, a.takes) })
		if low, high := extremes(order[:used], roomOf(order, unit), units, unit); high-low <= 1 {
			return evenOnes(order, used, units, unit)
		}
		return few[:used]
	}
	proper := firstOf(order, func(p *part) bool { return p.apart })
	order = order[:proper]
	room := roomOf(order, unit)
	best, least := 0, int64(0)
	for k := 1; k <= len(order) && int64(k) <= units; k++ {
		if room[k] < units {
			continue
		}
		low, high := extremes(order[:k], room, units, unit)
		if high-low <= 1 {
			return evenOnes(order, k, units, unit)
		}
		if best == 0 || high-low < least {
			best, least = k, high-low
		}
	}
	return order[:best]
}

// roomOf is how much the first so many parts take, in units.
func roomOf(order []*part, unit int64) []int64 {
	room := make([]int64, len(order)+1)
	for i, p := range order {
		room[i+1] = room[i] + p.takes/unit
	}
	return room
}

// firstOf is the first part of which something holds that holds of all after it.
func firstOf(order []*part, holds func(*part) bool) int {
	i, _ := slices.BinarySearchFunc(order, true, func(p *part, _ bool) int {
		if holds(p) {
			return 0
		}
		return -1
	})
	return i
}

// extremes are the smallest and the largest part, in units, if the parts share so many
// units as evenly as they can, which all take together: they are by room, the largest
// first, and room is what the first so many take.
func extremes(order []*part, room []int64, units, unit int64) (low, high int64) {
	k := len(order)
	low = min(order[k-1].takes/unit, units/int64(k))
	// high is the least that each may have so that together they have all.
	enough := func(most int64) bool {
		full := firstOf(order, func(p *part) bool { return p.takes/unit < most }) // parts that take so much
		return int64(full)*most+room[k]-room[full] >= units
	}
	from, to := int64(0), (units+int64(k)-1)/int64(k) // to is enough unless some take less
	for !enough(to) {
		from, to = to, min(2*to, units)
	}
	for from+1 < to {
		if middle := from + (to-from)/2; enough(middle) {
			to = middle
		} else {
			from = middle
		}
	}
	return low, to
}

// evenOnes are k of the parts that take even parts of so many units: the fullest.
func evenOnes(order []*part, k int, units, unit int64) []*part {
	low := units / int64(k)
	larger := int(units - low*int64(k)) // parts that take one more
	fullest := slices.Clone(order)
	slices.SortStableFunc(fullest, func(a, b *part) int { return cmp.Compare(a.takes, b.takes) })
	able := firstOf(fullest, func(p *part) bool { return p.takes/unit >= low })
	more := firstOf(fullest, func(p *part) bool { return p.takes/unit > low })
	if larger <= able+k-more {
		return fullest[able : able+k]
	}
	return append(slices.Clone(fullest[more:more+larger]), fullest[able:able+k-larger]...)
}

// shared is the quality in which tasks have been given to the parts for Balance.
func shared(parts []part, unit int64) (q quality) {
	low, high := int64(0), int64(0)
	for i := range parts {
		if n := parts[i].n / unit; n > 0 {
			q[1]++
			high = max(high, n)
			if low == 0 || n < low {
				low = n
			}
		}
	}
	if high-low > 1 {
		q[0] = high - low
	} else {
		q[2] = high - low
	}
	return q
}

// best is how well the unit's tasks of a set can be parted among the domains of a level
// in an area, which takes them.
func (w *search) best(s int32, where area, c Constraint) quality {
	parts := w.parts(s, where, c.Preferred, w.slices(s))
	n, unit := int64(w.g.added(w.u, int(s))), int64(1)
	if cuts := w.slices(s); len(cuts) > 0 {
		unit = int64(cuts[0].Size)
	}
	if c.Mode != Balance || n < unit || !w.share(parts, n-n%unit, unit, Balance) {
		return quality{1: int64(packed(parts, n))}
	}
	q := shared(parts, unit)
	for i := range parts {
		parts[i].n = 0
	}
	return q
}

// compareCandidates puts those first in which the tasks are parted best, then the fullest.
func compareCandidates(a, b *candidate) int {
	return cmp.Or(a.quality.compare(b.quality), cmp.Compare(a.room, b.room), cmp.Compare(a.free, b.free))
}
