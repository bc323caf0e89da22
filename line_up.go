package allot

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

// strict says whether a head that cannot start stops those behind it: then
// nobody waits for those within their lines, and every workload counts by
// itself.
func (s *solver) strict() bool {
	policy := s.pool.policy.Queueing
	return policy == queue.StrictQueue || policy == queue.StrictPool
}

// gather puts an item to those that are alike, if there can be any.
func (s *solver) gather(kinds map[kind]int32, leaf int32, it queue.Item) bool {
	k := &s.world.works[it.ID]
	if s.pool.policy.Queueing != queue.BestEffort || len(k.others) > 0 || k.live >= 0 {
		return false
	}
	key := kind{leaf, k.form.definition, k.form.priority, k.form.nonPreemptible}
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
func (s *solver) nextOf(order *queue.Queues, leaf int, k *work) {
	at := k.bucket
	b := &s.like[at-1]
	k.bucket = 0
	if b.next < len(b.items) {
		it := b.items[b.next]
		b.next++
		s.world.works[it.ID].bucket = at
		order.Push(leaf, s.asOrdered(it))
	}
}

// wait notes that an item was refused.
func (s *solver) wait(order *queue.Queues, leaf int, it queue.Item) {
	s.waits = append(s.waits, waitingItem{order, leaf, it})
}

// lineUp makes the orders ready for a pass of the phase. They are filled anew
// where heads block or forms depend on each other; otherwise those that were
// refused have another turn.
func (s *solver) lineUp(full bool) {
	if s.phase == growing {
		s.lineUpGrowing()
		return
	}
	if full || s.main == nil || s.pool.policy.Queueing != queue.BestEffort || s.world.alternatives {
		s.begin()
		return
	}
	s.rearm()
}

// rearm gives those that were refused another turn.
func (s *solver) rearm() {
	w := s.world
	waits := s.waits
	s.waits = nil
	for _, one := range waits {
		k := &w.works[one.item.ID]
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
func (s *solver) lineUpGrowing() {
	w := s.world
	for _, i := range s.pool.works {
		k := &w.works[i]
		if k.status != complete || k.live < 0 || w.formOf(k, k.current).pool != s.index || !w.wants(k) {
			continue
		}
		if it, ok := w.item(i, k.current); ok {
			s.orderOf(w.definition(k, k.current)).Push(int(w.formOf(k, k.current).queue), s.asOrdered(it))
		}
	}
}

// next is the unit that a workload that holds something would start next.
func (d *definition) next(held []int32) (gang.Unit, gang.Verdict) {
	if len(d.ladder) == 0 || !d.gang.AtMinimum(held) {
		return d.gang.First(held)
	}
	for _, rung := range slices.Backward(d.ladder) {
		if rung > held[0] {
			return gang.Unit{Add: []int32{rung - held[0]}}, gang.Verdict{OK: true, Set: -1}
		}
	}
	return gang.Unit{}, gang.Verdict{Kind: gang.Complete, Set: -1}
}

// passOver lets the pool's best workload wait until its preferred form, in a
// pool that waits too, is decided.
func (s *solver) passOver() {
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

func (s *solver) putOff(order *queue.Queues, leaf int, it queue.Item) {
	order.Remove(leaf, it)
	s.deferred[[2]int32{it.ID, int32(it.Form)}] = it
}

// Heads that cannot start block what the policy of their pool says (O4).

// unblock forgets who blocks what.
func (s *solver) unblock() {
	s.blocker = none
	if s.blockers == nil {
		s.blockers = make([]int32, len(s.pool.parent))
	}
	for q := range s.blockers {
		s.blockers[q] = none
	}
}

// block lets the refused form of workload i block what the policy of its pool
// says (O4).
func (s *solver) block(i int32, at int16) error {
	leaf, err := s.blocks(i, at)
	if leaf != none {
		s.main.Drop(int(leaf))
	}
	return err
}

// blocks notes what the refused form of workload i blocks, and returns the queue
// that takes no part any more, or none. What a rule of its own queue refuses
// blocks that queue only.
func (s *solver) blocks(i int32, at int16) (leaf int32, err error) {
	w, policy := s.world, s.pool.policy.Queueing
	k := &w.works[i]
	f, d := w.formOf(k, at), w.definition(k, at)
	if policy == queue.BestEffort || s.orderOf(d) != s.main || !d.verdict.OK {
		return none, nil
	}
	impossible, err := s.impossible(f, at)
	if err != nil || len(impossible) > 0 {
		return none, err
	}
	_, admitted := s.pool.tree.Check(int(f.queue), w.asks(k, at), f.nonPreemptible)
	switch {
	case policy == queue.StrictQueue || policy == queue.StrictPool && !admitted:
		if s.blockers[f.queue] != none {
			return none, nil
		}
		s.blockers[f.queue], leaf = i, f.queue
	case admitted && s.blocker == none:
		s.blocker, leaf = i, none
	default:
		return none, nil
	}
	s.decision.blocked = true
	return leaf, nil
}

// mayPass says whether a form may start past the workload that blocks the pool
// (O4, P8).
func (s *solver) mayPass(f *form) bool {
	if s.pool.policy.Queueing != queue.BackfillSingles {
		return !f.nonPreemptible
	}
	d := &s.pool.definitions[f.definition]
	return len(d.sets) == 1 && d.sets[0].gpus <= 1 && d.unit.Tasks() <= 1
}

// keptOff says whether idle nodes are kept from a workload for the one that blocks
// the pool (P8).
func (s *solver) keptOff(i int32, f int16) bool {
	return s.blocker != none && s.pool.policy.Queueing == queue.BackfillSingles &&
		s.orderOf(s.world.definition(&s.world.works[i], f)) == s.main
}
