package queue

import (
	"fmt"
	"math/big"
	"slices"
	"sort"

	"github.com/allotsched/allot/quota"
)

// A world is a pool's queues told over again without any of this package's
// code: it keeps use by itself, holds pending work in no order, and works out
// every figure of every queue each time it is asked. Each order is one vector
// of numbers per queue, compared from the left.
type world struct {
	order    Order
	divided  []bool
	parent   []int
	children map[int][]int // by parent, -1 at the top; ascending
	created  []int64
	quota    [][]int64 // by queue and resource; quota.Infinite is unlimited
	share    [][]int64
	tier     [][]int32
	use      [][]int64
	waiting  [][]Item
	request  func(Item) []int64 // by resource
}

// A number is a rational or, where it is nil, ∞.
type number = *big.Rat

func whole(n int64) number { return new(big.Rat).SetInt64(n) }

func ratio(num, den int64) number {
	if den == 0 {
		if num == 0 {
			return whole(0)
		}
		return nil
	}
	return big.NewRat(num, den)
}

func greater(a, b number) bool {
	if a == nil || b == nil {
		return a == nil && b != nil
	}
	return a.Cmp(b) > 0
}

// lower compares two vectors from the left.
func lower(a, b []number) bool {
	for i := range a {
		if greater(b[i], a[i]) {
			return true
		}
		if greater(a[i], b[i]) {
			return false
		}
	}
	return false
}

func itemVector(it Item) []number {
	return []number{
		whole(-int64(it.Priority)), whole(int64(it.Stage)), whole(it.Submitted), whole(int64(it.ID)), whole(int64(it.Form)),
	}
}

// best finds the first workload below a queue (-1: of all) by sorting what
// stands directly below it, each with its own best.
func (w *world) best(queue int) (leaf int, it Item, ok bool) {
	type entrant struct {
		leaf   int
		item   Item
		vector []number
	}
	var entrants []entrant
	if below := w.children[queue]; queue >= 0 && len(below) == 0 {
		for _, it := range w.waiting[queue] {
			entrants = append(entrants, entrant{queue, it, itemVector(it)})
		}
	} else {
		for _, child := range below {
			if leaf, it, ok := w.best(child); ok {
				entrants = append(entrants, entrant{leaf, it, w.vector(child, it)})
			}
		}
	}
	if len(entrants) == 0 {
		return 0, Item{}, false
	}
	sort.Slice(entrants, func(i, j int) bool { return lower(entrants[i].vector, entrants[j].vector) })
	return entrants[0].leaf, entrants[0].item, true
}

// vector is what decides for a queue under the world's order, given the best
// workload below it.
func (w *world) vector(queue int, it Item) []number {
	index := whole(int64(queue))
	age := whole(w.created[queue])
	switch w.order {
	case Global:
		return append(itemVector(it), index)
	case Deprived:
		return []number{w.deprivation(queue, it), age, index}
	case ShareThenAge:
		v := []number{w.fairness(queue, it)[0]}
		return append(append(v, itemVector(it)[2:]...), index)
	case PriorityFirst:
		v := []number{whole(-int64(it.Priority))}
		return append(append(v, w.fairness(queue, it)...), age, index)
	case FairShare:
		return append(w.fairness(queue, it), age, index)
	}
	panic(fmt.Sprintf("no such order: %v", w.order))
}

func (w *world) deprivation(queue int, it Item) number {
	worst := whole(0)
	for r, need := range w.request(it) {
		if need == 0 || !w.divided[r] {
			continue
		}
		var of number
		switch guaranteed := w.quota[queue][r]; guaranteed {
		case quota.Infinite:
			of = whole(0)
		case 0:
			of = nil
		default:
			of = ratio(w.use[queue][r], guaranteed)
		}
		if greater(of, worst) {
			worst = of
		}
	}
	return worst
}

// fairness is O2 (a) to (f).
func (w *world) fairness(queue int, it Item) []number {
	class, tier, zero := int64(0), int64(0), int64(0)
	with, without := whole(0), whole(0)
	var tiers, shares []int64
	for r, need := range w.request(it) {
		if !w.divided[r] {
			continue
		}
		use, share := w.use[queue][r], w.share[queue][r]
		shares = append(shares, share)
		if s := ratio(use, share); greater(s, without) {
			without = s
		}
		if s := ratio(use+need, share); greater(s, with) {
			with = s
		}
		if need == 0 {
			continue
		}
		tiers = append(tiers, int64(w.tier[queue][r]))
		if share == 0 {
			zero = 1
		}
		if use+need > w.quota[queue][r] {
			class = max(class, 1)
			if use+need > share {
				class = 2
			}
		}
	}
	if len(tiers) > 0 {
		tier = slices.Max(tiers)
	}
	v := []number{whole(class), whole(-tier), whole(zero), with, without}
	for _, share := range shares {
		v = append(v, whole(share))
	}
	return v
}

// charge adds an item's request, times sign, to a leaf and all above it.
func (w *world) charge(leaf int, it Item, sign int64) {
	for q := leaf; q >= 0; q = w.parent[q] {
		for r, need := range w.request(it) {
			w.use[q][r] += sign * need
		}
	}
}

func (w *world) len() int {
	n := 0
	for _, items := range w.waiting {
		n += len(items)
	}
	return n
}
