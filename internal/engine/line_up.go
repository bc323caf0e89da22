package engine

import (
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/queue"
)

// Workloads of one queue that ask the same are alike: where one is refused the
// others would be too (O5), so only the first of them has its turn.

// A kind is what workloads that are alike have in common.
type kind struct {
	leaf, definition, priority int32
	nonPreemptible             bool
}

// A bucket holds workloads that are alike; items[next:] wait behind the one in
// the order.
type bucket struct {
	leaf  int32
	next  int
	items []queue.Item
}

func (b *bucket) sort() {
	if !slices.IsSortedFunc(b.items, queue.Item.Compare) {
		slices.SortFunc(b.items, queue.Item.Compare)
	}
}

// A waitingItem is one that was refused.
type waitingItem struct {
	order *queue.Queues
	leaf  int
	item  queue.Item
}

// gather puts an item to those that are alike, if there can be any.
func (s enqueuing) gather(kinds map[kind]int32, leaf int32, it queue.Item) bool {
	k := &s.world.Works[it.ID]
	if s.pool.Blocks || len(k.Others) > 0 || k.Live >= 0 {
		return false
	}
	key := kind{leaf, k.Form.Definition, k.Form.Priority, k.Form.NonPreemptible}
	at, known := kinds[key]
	if !known {
		at = int32(len(s.like))
		kinds[key] = at
		if len(s.like) < cap(s.like) { // use the memory of the last time
			s.like = s.like[:at+1]
			s.like[at] = bucket{leaf: leaf, items: s.like[at].items[:0]}
		} else {
			s.like = append(s.like, bucket{leaf: leaf})
		}
	}
	s.like[at].items = append(s.like[at].items, it)
	return true
}

// nextOf lines up the workload behind k.
func (s enqueuing) nextOf(order *queue.Queues, leaf int, k *Work) {
	at := k.bucket
	b := &s.like[at-1]
	k.bucket = 0
	if b.next < len(b.items) {
		it := b.items[b.next]
		b.next++
		s.world.Works[it.ID].bucket = at
		order.Push(leaf, s.asOrdered(it))
	}
}

// leave takes an item out of its order.
func (s enqueuing) leave(order *queue.Queues, leaf int, it queue.Item) {
	if s.kept != nil {
		s.kept.move(order, leaf, it, false)
		return
	}
	order.Remove(leaf, it)
}

// look finds out who of an order may start, where that is known of all at once.
func (s enqueuing) look(order *queue.Queues) {
	if s.kept != nil {
		s.kept.look(order)
	}
}

// someMayStart says whether somebody of the order at hand may have a turn yet that is not
// plainly in vain, and the orders are what they were.
func (s enqueuing) someMayStart() bool {
	return !s.decision.restart && !s.decision.unplain && (s.kept == nil || s.kept.someMayStart())
}

// wait notes that an item was refused.
func (s enqueuing) wait(order *queue.Queues, leaf int, it queue.Item) {
	if s.kept != nil {
		return // it is known by what has left the orders
	}
	s.waits = append(s.waits, waitingItem{order, leaf, it})
}

// lineUp makes the orders ready for a pass of the phase. They are filled anew
// where heads block or forms depend on each other; otherwise those that were
// refused have another turn.
func (s enqueuing) lineUp(full bool) {
	if s.kept != nil {
		s.kept.lineUp()
		return
	}
	if s.phase == growing {
		s.lineUpGrowing()
		return
	}
	if full || s.main == nil || s.pool.Blocks || s.world.Alternatives {
		s.begin()
		return
	}
	s.rearm()
}

// rearm gives those that were refused another turn.
func (s enqueuing) rearm() {
	w := s.world
	waits := s.waits
	s.waits = nil
	for _, one := range waits {
		k := &w.Works[one.item.ID]
		if !w.wants(k) && !w.mayClaimAgain(one.item.ID) {
			continue
		}
		if it, ok := w.item(one.item.ID, one.item.Form); ok {
			one.order.Push(one.leaf, s.asOrdered(it))
		}
	}
}

// lineUpGrowing lines up the halving workloads that run below their size, and
// nobody else.
func (s enqueuing) lineUpGrowing() {
	w := s.world
	for _, i := range s.seekers() {
		k := &w.Works[i]
		if k.Status != complete || k.Live < 0 || w.FormOf(k, k.Current).Pool != s.index || !w.wants(k) {
			continue
		}
		if it, ok := w.item(i, k.Current); ok {
			s.orderOf(w.Definition(k, k.Current)).Push(int(w.FormOf(k, k.Current).Queue), s.asOrdered(it))
		}
	}
}

// Next is the unit that a workload that holds something would start next.
func (d *Definition) Next(held []int32) (gang.Unit, gang.Verdict) {
	if len(d.Ladder) == 0 || !d.Gang.AtMinimum(held) {
		return d.Gang.First(held)
	}
	for _, rung := range slices.Backward(d.Ladder) {
		if rung > held[0] {
			return gang.Unit{Add: []int32{rung - held[0]}}, gang.Verdict{OK: true, Set: -1}
		}
	}
	return gang.Unit{}, gang.Verdict{Kind: gang.Complete, Set: -1}
}

// passOver lets the pool's best workload wait until its preferred form, in a
// pool that waits too, is decided.
func (s enqueuing) passOver() {
	for _, order := range [...]*queue.Queues{s.apart, s.main} {
		if order == nil {
			continue
		}
		if leaf, it, ok := order.Best(); ok {
			s.putOff(order, leaf, it)
			return
		}
	}
}

func (s enqueuing) putOff(order *queue.Queues, leaf int, it queue.Item) {
	order.Remove(leaf, it)
	s.deferred[[2]int32{it.ID, int32(it.Form)}] = it
}
