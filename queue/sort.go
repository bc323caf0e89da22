package queue

import (
	"math/bits"
	"slices"

	"github.com/allotsched/allot/internal/radix"
)

// Sort sorts items by O1. It takes time in how many there are where what tells most of them apart, from the priority to
// the submit time, fits into one number, which it mostly does; else O(n log n). It is at its quickest with what is
// in order.
func Sort(items []Item) {
	if slices.IsSortedFunc(items, Item.Compare) {
		return
	}
	numbers, at, fit := numbersOf(items)
	if !fit {
		slices.SortFunc(items, Item.Compare)
		return
	}
	radix.Sort(numbers, at)
	sorted := make([]Item, len(items))
	for i, n := range numbers {
		sorted[i] = items[n&(1<<at-1)]
	}
	copy(items, sorted)
	for from := 0; from < len(items); {
		to := from + 1
		for to < len(items) && numbers[to]>>at == numbers[from]>>at {
			to++
		}
		if to > from+1 {
			slices.SortFunc(items[from:to], Item.Compare)
		}
		from = to
	}
}

// numbersOf are numbers in the order of which items go as far as priority, stage, due and submit time tell, each with
// the place of its item below that, which has so many bits; and whether they fit.
func numbersOf(items []Item) (numbers []uint64, place int, fit bool) {
	least, most := items[0], items[0]
	for i := range items {
		it := &items[i]
		least.Priority, most.Priority = min(least.Priority, it.Priority), max(most.Priority, it.Priority)
		least.Stage, most.Stage = min(least.Stage, it.Stage), max(most.Stage, it.Stage)
		least.Due, most.Due = min(least.Due, it.Due), max(most.Due, it.Due)
		least.Submitted, most.Submitted = min(least.Submitted, it.Submitted), max(most.Submitted, it.Submitted)
	}
	// Differences of two that are as far apart as can be are right without a sign.
	priority := bits.Len64(uint64(int64(most.Priority) - int64(least.Priority)))
	stage := bits.Len8(uint8(most.Stage - least.Stage))
	due := bits.Len64(uint64(most.Due) - uint64(least.Due))
	submitted := bits.Len64(uint64(most.Submitted) - uint64(least.Submitted))
	place = bits.Len(uint(len(items) - 1))
	if priority+stage+due+submitted+place > 64 {
		return nil, 0, false
	}
	numbers = make([]uint64, len(items))
	for i := range items {
		it := &items[i]
		n := uint64(int64(most.Priority) - int64(it.Priority))
		n = n<<stage | uint64(it.Stage-least.Stage)
		n = n<<due | (uint64(it.Due) - uint64(least.Due))
		n = n<<submitted | (uint64(it.Submitted) - uint64(least.Submitted))
		numbers[i] = n<<place | uint64(i)
	}
	return numbers, place, true
}
