package sim

import (
	"cmp"
	"slices"
)

// labels are numbers in the order of a list that changes a little at a time: whoever
// keeps his place among the others keeps his number, as far as there is room.
type labels struct {
	// best are, of rising, positions in the list at which rising parts of each length
	// end with the least label; before is whom each position follows in its part.
	best, before []int
}

// Labels lie between 0, which is nobody's, and mostLabel. Who comes first or last is
// labelGap from his neighbour.
const (
	mostLabel = int64(1) << 49
	labelGap  = int64(1) << 24
)

// renew gives labels to those who have none, 0, and others to those who need them.
func (l *labels) renew(order []*job) {
	low, from := int64(0), 0
	for _, at := range append(l.rising(order), len(order)) {
		high := mostLabel
		if at < len(order) {
			high = order[at].label
		}
		if !between(order[from:at], low, high) {
			between(order, 0, mostLabel)
			return
		}
		low, from = high, at+1
	}
}

// between labels jobs between two labels; false if there is no room.
func between(list []*job, low, high int64) bool {
	n := int64(len(list)) + 1
	step := (high - low) / n
	switch {
	case low == 0 && high < mostLabel:
		step = min(step, labelGap)
		low = high - n*step
	case low > 0 && high == mostLabel:
		step = min(step, labelGap)
	}
	for i, j := range list {
		j.label = low + int64(i+1)*step
	}
	return step > 0
}

// rising is a longest part of the list, by position, in which labels rise.
func (l *labels) rising(order []*job) []int {
	l.best = l.best[:0]
	l.before = slices.Grow(l.before[:0], len(order))[:len(order)]
	for i, j := range order {
		if j.label == 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(l.best, j.label, func(k int, label int64) int { return cmp.Compare(order[k].label, label) })
		if at > 0 {
			l.before[i] = l.best[at-1]
		}
		if at == len(l.best) {
			l.best = append(l.best, i)
		}
		l.best[at] = i
	}
	for n := len(l.best) - 2; n >= 0; n-- {
		l.best[n] = l.before[l.best[n+1]]
	}
	return l.best
}
