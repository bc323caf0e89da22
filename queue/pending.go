package queue

import (
	"slices"

	"github.com/google/btree"
)

// degree is the degree of the trees: their nodes hold 15 to 31 items of 32 bytes, some
// cache lines, of which a search reads a few and an insertion moves half.
const degree = 16

// pending is what waits in one leaf, ordered by O1. The zero value is empty.
//
// Nearly everything that ever waits in a leaf is known when a solve begins, and
// most of it leaves from the front. So what comes in bulk is a sorted run that
// is consumed from its head: 32 bytes and a few nanoseconds an item, where a
// B-tree takes ten times as long to fill. What comes later (an elastic workload
// that comes back with its next task, a victim that waits again) may belong
// anywhere; an insertion into the run would move everything behind it, so it
// goes to a B-tree beside the run. The first of all is the lower of the two
// firsts. An item is alive in at most one of the two.
type pending struct {
	run  []Item   // sorted, no item twice
	head int      // the first that is alive: run[head], or none if head is len(run)
	gone []uint64 // bit i: run[i] was removed; nil while only heads have been
	live int      // items of the run that are alive, at most len(run) − head

	later *btree.BTreeG[Item] // nil until the first push
}

// len returns the number of items that wait. O(1).
func (p *pending) len() int {
	if p.later == nil {
		return p.live
	}
	return p.live + p.later.Len()
}

// first returns the first item by O1, if there is one. O(1), or O(log pushed)
// after a push.
func (p *pending) first() (Item, bool) {
	pushed, ok := Item{}, false
	if p.later != nil {
		pushed, ok = p.later.Min()
	}
	if p.head < len(p.run) && !(ok && before(pushed, p.run[p.head])) {
		return p.run[p.head], true
	}
	return pushed, ok
}

// fill adds items, in any order; one that waits already is not added again.
// It makes one run of all that waits, in the time that Sort takes. It copies the items.
func (p *pending) fill(items []Item) {
	kept := p.run[:0] // never overtakes the item it reads
	for i := p.head; i < len(p.run); i++ {
		if !p.isGone(i) {
			kept = append(kept, p.run[i])
		}
	}
	p.run = slices.Grow(kept, len(items)+p.len()-len(kept))
	if p.later != nil {
		p.later.Ascend(func(it Item) bool {
			p.run = append(p.run, it)
			return true
		})
		p.later.Clear(true)
	}
	p.run = append(p.run, items...)
	Sort(p.run)
	p.run = slices.Compact(p.run)
	p.head, p.live, p.gone = 0, len(p.run), nil
}

// push adds one item and reports whether it did not wait already. O(log n).
func (p *pending) push(it Item, spare *btree.FreeListG[Item]) bool {
	if _, ok := p.find(it); ok {
		return false
	}
	if p.later == nil {
		p.later = btree.NewWithFreeListG(degree, before, spare)
	}
	_, waited := p.later.ReplaceOrInsert(it)
	return !waited
}

// remove takes an item away and reports whether it waited. The first item of
// the run costs O(1) amortised, any other O(log n).
func (p *pending) remove(it Item) bool {
	if p.head < len(p.run) && p.run[p.head] == it {
		p.live--
		p.head++
		for p.head < len(p.run) && p.isGone(p.head) {
			p.head++
		}
		return true
	}
	if p.later != nil {
		if _, ok := p.later.Delete(it); ok {
			return true
		}
	}
	i, ok := p.find(it)
	if !ok {
		return false
	}
	if p.gone == nil {
		p.gone = make([]uint64, (len(p.run)+63)/64)
	}
	p.gone[i/64] |= 1 << (i % 64)
	p.live--
	return true
}

// clear forgets everything and returns the memory of the run.
func (p *pending) clear() {
	if p.later != nil {
		p.later.Clear(true)
	}
	*p = pending{later: p.later}
}

// find returns the position of a live item in the run.
func (p *pending) find(it Item) (int, bool) {
	i, ok := slices.BinarySearchFunc(p.run[p.head:], it, Item.Compare)
	i += p.head
	return i, ok && !p.isGone(i)
}

// isGone reports whether run[i] was removed out of turn.
func (p *pending) isGone(i int) bool {
	return p.gone != nil && p.gone[i/64]&(1<<(i%64)) != 0
}
