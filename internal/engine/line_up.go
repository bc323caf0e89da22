package engine

import (
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/cluster"
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
	again *followers // of those that were evicted, nil of others
}

// followers are evicted workloads that are alike. They come in any order, so that those
// behind the first are a heap, in which some may be that follow nobody any more.
type followers struct {
	order *queue.Queues
	first queue.Item
	open  bool // the first stands in the order, and has its turn yet
	rest  itemHeap
}

// A waitingItem is one that was refused.
type waitingItem struct {
	order *queue.Queues
	leaf  int
	item  queue.Item
}

// gather puts an item to those that are alike, if there can be any. Who has been promised something may start
// where nobody else may.
func (s enqueuing) gather(kinds map[kind]int32, leaf int32, it queue.Item) bool {
	k := &s.world.Works[it.ID]
	if s.pool.Blocks || len(k.Others) > 0 || k.Live >= 0 || s.promises.byWork[it.ID] != nil {
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
	s.like[at].items = cluster.AppendMany(s.like[at].items, it)
	return true
}

// nextOf lines up the workload behind k.
func (s enqueuing) nextOf(order *queue.Queues, leaf int, k *cluster.Work) {
	at := k.Bucket
	b := &s.like[at-1]
	k.Bucket = 0
	if b.again != nil {
		s.nextAgain(at)
		return
	}
	if b.next < len(b.items) {
		it := b.items[b.next]
		b.next++
		s.world.Works[it.ID].Bucket = at
		order.Push(leaf, s.asOrdered(it))
	}
}

// lineUpAgain puts a workload into its order that was evicted, or lets it wait behind the
// first of its like that were and have their turn yet.
func (s enqueuing) lineUpAgain(it queue.Item) {
	w := s.world
	k := &w.Works[it.ID]
	leaf, order := int(w.FormOf(k, k.Current).Queue), s.orderOf(w.Definition(k, k.Current))
	it = s.asOrdered(it)
	k.Bucket = 0
	if !s.isLikeOthers(k) {
		order.Push(leaf, it)
		return
	}
	key := kind{int32(leaf), k.Form.Definition, k.Form.Priority, k.Form.NonPreemptible}
	at := s.evicted[key]
	if at == 0 || !s.like[at-1].again.open {
		s.like = append(s.like, bucket{leaf: int32(leaf), again: &followers{order: order, first: it, open: true}})
		k.Bucket = int32(len(s.like))
		s.evicted[key] = k.Bucket
		order.Push(leaf, it)
		return
	}
	f := s.like[at-1].again
	k.Bucket = -at
	if it.Compare(f.first) < 0 {
		order.Remove(leaf, f.first)
		order.Push(leaf, it)
		w.Works[f.first.ID].Bucket, k.Bucket = -at, at
		it, f.first = f.first, it
	}
	f.rest.push(it)
}

// isLikeOthers says whether an evicted workload is refused where one of its like is: it holds
// nothing, nothing is leaving, who is refused gets nothing by that, and what may start of it
// depends on nothing that ran of it (outgrows).
func (s enqueuing) isLikeOthers(k *cluster.Work) bool {
	d := s.world.Definition(k, 0)
	return s.kept == nil && !s.pool.Blocks && !reserves(s.pool) && len(k.Others) == 0 && k.Status == cluster.Waiting &&
		!s.world.Holds(k) && !s.pool.Index.Releasing() && !d.Unsure && len(d.Ladder) == 0
}

// nextAgain lines up the first that waits behind in a bucket of evicted ones.
func (s enqueuing) nextAgain(at int32) {
	f := s.like[at-1].again
	for f.open = false; len(f.rest.items) > 0 && !f.open; {
		it := f.rest.pop()
		if k := &s.world.Works[it.ID]; k.Bucket == -at {
			k.Bucket, f.first, f.open = at, it, true
			f.order.Push(int(s.like[at-1].leaf), it)
		}
	}
}

// unfollow has a workload that has left its order be no part of a bucket of evicted ones.
func (s enqueuing) unfollow(i int32) {
	if k := &s.world.Works[i]; k.Bucket < 0 || s.isFirst(k) {
		k.Bucket = 0
	}
}

// isFirst says whether a workload is the first of a bucket of evicted ones.
func (s enqueuing) isFirst(k *cluster.Work) bool {
	return k.Bucket > 0 && int(k.Bucket) <= len(s.like) && s.like[k.Bucket-1].again != nil
}

// An itemHeap is items of which the first in order is asked for, which mostly is never: they become a heap then.
type itemHeap struct {
	items   []queue.Item
	ordered int // so many of the first are a heap
}

func (h *itemHeap) push(it queue.Item) { h.items = cluster.AppendMany(h.items, it) }

// order has the items that have come since be in the heap.
func (h *itemHeap) order() {
	for ; h.ordered < len(h.items); h.ordered++ {
		it, all, i := h.items[h.ordered], h.items, h.ordered
		for ; i > 0 && it.Compare(all[(i-1)/2]) < 0; i = (i - 1) / 2 {
			all[i] = all[(i-1)/2]
		}
		all[i] = it
	}
}

func (h *itemHeap) pop() queue.Item {
	h.order()
	first, last := h.items[0], len(h.items)-1
	it, all := h.items[last], h.items[:last]
	for i := 0; i < last; {
		next := 2*i + 1
		if next+1 < last && all[next+1].Compare(all[next]) < 0 {
			next++
		}
		if next >= last || it.Compare(all[next]) <= 0 {
			all[i] = it
			break
		}
		all[i] = all[next]
		i = next
	}
	h.items, h.ordered = all, last
	return first
}

// leave takes an item out of its order.
func (s enqueuing) leave(order *queue.Queues, leaf int, it queue.Item) {
	if s.kept != nil {
		s.kept.move(order, leaf, it, false)
		return
	}
	k := &s.world.Works[it.ID]
	if k.Bucket = max(k.Bucket, 0); s.isFirst(k) {
		s.like[k.Bucket-1].again.open = false
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
	return !s.decision.Restart && !s.decision.Unplain && (s.kept == nil || s.kept.someMayStart())
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
	s.waits = waits[:0] // nobody is refused meanwhile
	for _, one := range waits {
		k := &w.Works[one.item.ID]
		if !wantsMore(w, k) && !mayClaimAgain(w, one.item.ID) {
			continue
		}
		if it, ok := itemOf(w, one.item.ID, one.item.Form); ok {
			one.order.Push(one.leaf, s.asOrdered(it))
			if s.isFirst(k) {
				s.like[k.Bucket-1].again.open = true
			}
		}
	}
	for at := range s.like {
		if f := s.like[at].again; f != nil && !f.open { // the first has come back, or started
			s.nextAgain(int32(at) + 1)
		}
	}
}

// lineUpGrowing lines up the halving workloads that run below their size, and
// nobody else.
func (s enqueuing) lineUpGrowing() {
	w := s.world
	for _, i := range s.seekers() {
		k := &w.Works[i]
		if k.Status != cluster.Complete || k.Live < 0 || w.FormOf(k, k.Current).Pool != s.index || !wantsMore(w, k) {
			continue
		}
		if it, ok := itemOf(w, i, k.Current); ok {
			s.orderOf(w.Definition(k, k.Current)).Push(int(w.FormOf(k, k.Current).Queue), s.asOrdered(it))
		}
	}
}

// NextUnit is the unit that a workload that holds something would start next.
func NextUnit(d *cluster.Definition, held []int32) (gang.Unit, gang.Verdict) {
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

// fill puts the items into the orders, leaf by leaf; of those that are alike
// only the first.
func (s *Solver) fill() {
	leaves := len(s.pool.Parent)
	s.like, s.evicted = s.like[:0], make(map[kind]int32)
	kinds := make(map[kind]int32)
	lists := make([][]queue.Item, leaves)
	s.eachItem(func(leaf int32, it queue.Item) {
		if !s.enqueuing().gather(kinds, leaf, it) {
			lists[leaf] = append(lists[leaf], it)
		}
	})
	for i := range s.like {
		b := &s.like[i]
		queue.Sort(b.items)
		s.world.Works[b.items[0].ID].Bucket = int32(i) + 1
		lists[b.leaf] = append(lists[b.leaf], b.items[0])
		b.next = 1
	}
	for q, list := range lists {
		if s.apart != nil {
			var apart []queue.Item
			apart, list = s.part(list)
			s.apart.Fill(q, apart)
		}
		s.main.Fill(q, list)
	}
}

// part separates what is decided apart (P7) from the rest, in the memory of
// list.
func (s *Solver) part(list []queue.Item) (apart, rest []queue.Item) {
	rest = list[:0]
	for _, it := range list {
		if s.orderOf(s.world.Definition(&s.world.Works[it.ID], it.Form)) == s.apart {
			apart = append(apart, s.asOrdered(it))
		} else {
			rest = append(rest, it)
		}
	}
	return apart, rest
}

// eachItem calls add for every form in this pool of every workload that may
// have a turn.
func (s *Solver) eachItem(add func(leaf int32, it queue.Item)) {
	w := s.world
	for _, i := range s.seekers() {
		k := &w.Works[i]
		if len(k.Others) == 0 && k.Form.Pool != s.index {
			continue // an Incremental lists the works of all pools
		}
		k.Bucket = 0
		if !wantsMore(w, k) && !mayClaimAgain(w, i) && !growsLater(w, k) {
			continue
		}
		first, last := int16(0), int16(len(k.Others))
		if isTied(w, k) {
			first, last = k.Current, k.Current
		} else {
			if f := nextForm(w, k, 0); f != k.Current {
				w.Journal.Keep(w, i)
				k.Current = f
			}
		}
		k.Tried = false
		for f := first; f <= last; f++ {
			form := w.FormOf(k, f)
			if form.Pool != s.index {
				continue
			}
			if it, ok := itemOf(w, i, f); ok {
				add(form.Queue, it)
			}
		}
	}
}

// wantsMore says whether the workload may have something to start: it waits, or
// runs and may take more; a halving one grows last (L3).
func wantsMore(w *cluster.World, k *cluster.Work) bool {
	if k.Status != cluster.Complete || k.Live < 0 {
		return k.Status == cluster.Waiting
	}
	d := w.Definition(k, k.Current)
	return d.Elastic && !k.Pipelined && (len(d.Ladder) > 0) == (solverOf(w, k, k.Current).phase == growing)
}

// growsLater says whether the workload claims its minimum, and may take more once that runs (G1): with
// that it stands in the order as it will then, and in its turn nothing starts.
func growsLater(w *cluster.World, k *cluster.Work) bool {
	if k.Live < 0 || !MayWait(w, k) {
		return false
	}
	l, d := &w.Live[k.Live], w.Definition(k, k.Current)
	return (k.Pipelined || l.Claimed > 0) && d.Elastic && len(d.Ladder) == 0 && d.Gang.AtMinimum(l.Held)
}

// mayClaimAgain says whether the workload, which waits for its own tasks to leave,
// has its turn: it starts nothing until then, and claims a place, so that nobody
// lesser overtakes it (S5). One with claims needs none, as nobody takes what is claimed, unless it is below its
// minimum with them and they are where its tasks move: it waits for the others as before (G1, O4), and starts none of
// them until it has moved.
// Where it still holds something, what of the state this solve has taken of it is put
// back where there is room, and moves.
func mayClaimAgain(w *cluster.World, i int32) bool {
	k := &w.Works[i]
	return k.Status == cluster.WaitsForLeavers && (w.Live[k.Live].Claimed == 0 || onlyMoves(w, i)) && isBelow(w, i) &&
		(w.Room.Last[i] == 0 || !w.Holds(k) || !slices.ContainsFunc(w.Room.Out, func(o cluster.OutUnit) bool {
			return o.Unit.Work == i && slices.ContainsFunc(o.Seats, func(one cluster.Seat) bool { return one.Origin >= 0 })
		}))
}

// onlyMoves says whether all that a workload claims of the state is where tasks move that have begun, and what it has
// with that is less than its minimum.
func onlyMoves(w *cluster.World, i int32) bool {
	k := &w.Works[i]
	return !w.Definition(k, k.Current).Gang.AtMinimum(w.Live[k.Live].Held) && !slices.ContainsFunc(w.Room.Seats[i], func(one cluster.Seat) bool {
		return one.Claimed && !w.Holdings[one.Origin].Begun
	})
}

// itemOf is the pending item of the workload's form, if it has a unit to start.
func itemOf(w *cluster.World, i int32, f int16) (queue.Item, bool) {
	k := &w.Works[i]
	d, it := w.Definition(k, f), wholeItem(w, i, f)
	if !w.Holds(k) {
		return it, d.Verdict.OK
	}
	l := &w.Live[k.Live]
	unit, verdict := NextUnit(d, l.Held)
	if !verdict.OK {
		return it, false
	}
	var err error
	if l.Asks, err = d.Gang.Amounts(l.Asks, unit); err != nil {
		return it, false // Check bounds every sum: cannot happen
	}
	if k.Status == cluster.Complete || growsLater(w, k) {
		it.Stage = queue.AtMinimum
		if d.Gang.AboveMinimum(l.Held) {
			it.Stage = queue.AboveMinimum
		}
	}
	return it, true
}

// wholeItem is the item of a form of a workload that holds nothing.
func wholeItem(w *cluster.World, i int32, f int16) queue.Item {
	k := &w.Works[i]
	form := w.FormOf(k, f)
	return queue.Item{Priority: form.Priority, Due: w.Due(k, form), Submitted: k.Submitted, Rank: k.Rank, ID: i, Form: f}
}

func (s *Solver) orderOf(d *cluster.Definition) *queue.Queues {
	if s.apart != nil && !d.GPU {
		return s.apart
	}
	return s.main
}

// touch tells the orders that the use of a leaf has changed.
func (s *Solver) touch(leaf int) {
	s.main.Touch(leaf)
	if s.apart != nil {
		s.apart.Touch(leaf)
	}
}

// asOrdered is the item as its order knows it: what is decided apart goes first
// in, first out, unless the policy orders by priority (P7).
func (s *Solver) asOrdered(it queue.Item) queue.Item {
	byPriority := s.pool.Policy.Order == queue.Global || s.pool.Policy.Order == queue.PriorityFirst
	if s.apart != nil && !byPriority && !s.world.Definition(&s.world.Works[it.ID], it.Form).GPU {
		it.Priority = 0
	}
	return it
}
