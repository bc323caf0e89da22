package queue

import "github.com/google/btree"

// A List is items in the order of O1, for a caller that keeps workloads which are
// deferred out of [Queues]. The zero List is empty. It is not safe for concurrent use.
type List struct {
	pending pending
	spare   *btree.FreeListG[Item]
}

// Push adds one item and reports whether it was not there. O(log n).
func (l *List) Push(it Item) bool {
	if l.spare == nil {
		l.spare = btree.NewFreeListG[Item](2)
	}
	return l.pending.push(it, l.spare)
}

// Remove takes an item away and reports whether it was there. O(log n).
func (l *List) Remove(it Item) bool { return l.pending.remove(it) }

// First returns the first item; ok is false if there is none. O(1), or O(log n)
// after a Push.
func (l *List) First() (it Item, ok bool) { return l.pending.first() }

// Len returns the number of items. O(1).
func (l *List) Len() int { return l.pending.len() }
