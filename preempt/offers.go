package preempt

import (
	"iter"
	"slices"

	"github.com/allotsched/allot/placement"
)

// What one node would cost a preemption for one task more depends on nothing but who stands
// on it and what is free there: no use and no line decides who of lower priority goes. So
// what nodes offer is kept, the least harm first, for all gangs of one shape, whatever their
// size, and only nodes on which units came or went are asked anew.

// An offersKey names preemptors to which every node offers the same.
type offersKey struct {
	leaf, priority int32
	shape          placement.Shape
}

// offers are what is known of what the nodes offer.
type offers struct {
	now     int64 // that of Evaluator, by which lost work is compared
	touched int   // what of Evaluator.touched is read
	shared  int   // Evaluator.shared, when they were kept
	stale   []int32
	known   []nodeOffer // by node
	order   []int32     // the nodes that offer something, the least harm first
	waiting []bool      // by node: it is among the stale
}

// nodeOffer is what a node offers: room for so many tasks in all once the victims of the
// list have gone.
type nodeOffer struct {
	list  list
	after int32
}

// keepsOffers says whether what nodes offer can be kept of the ask at hand.
func keepsOffers(s *search) bool {
	a := s.ask
	return a.mode == Preempt && a.Still && !a.AfterRelease && a.Equivalence >= 0 && a.Cap == nil && a.Domains == nil &&
		!a.withinLines && len(s.room.budgets) == 0 && s.fit.total < s.fit.need
}

// offersFor are those of the ask at hand, brought up to date.
func offersFor(s *search, candidates []UnitID) *offers {
	r, a := s.room, s.ask
	key := offersKey{a.Leaf, a.Priority, s.fit.shape()}
	o := r.offers[key]
	if o == nil || o.now != r.Now || o.shared != r.shared {
		o = &offers{now: r.Now, shared: r.shared, known: make([]nodeOffer, r.Nodes), waiting: make([]bool, r.Nodes)}
		for n := range o.waiting {
			o.stale, o.waiting[n] = append(o.stale, int32(n)), true
		}
		r.offers[key] = o
	} else {
		for _, n := range r.touched[o.touched:] {
			if !o.waiting[n] {
				o.stale, o.waiting[n] = append(o.stale, n), true
			}
		}
	}
	o.touched = len(r.touched)
	o.askStale(s, candidates)
	return o
}

// askStale asks the nodes anew of which something has changed. Those stay stale where
// somebody stands who is a part of a workload: what goes with it may stand elsewhere.
func (o *offers) askStale(s *search, candidates []UnitID) {
	r := s.room
	o.order = slices.DeleteFunc(o.order, func(n int32) bool { return o.waiting[n] })
	asked := o.stale
	o.stale = nil
	var fresh []int32
	for _, n := range asked {
		here := s.on(r.oneNode(n), candidates)
		o.waiting[n] = slices.ContainsFunc(here, func(id UnitID) bool { return !r.single(id) })
		if o.waiting[n] {
			o.stale = append(o.stale, n)
		}
		o.known[n] = nodeOffer{}
		if found, ok := s.offer(n, here); ok {
			o.known[n] = nodeOffer{found.list, found.after}
			fresh = append(fresh, n)
		}
	}
	compare := func(x, y int32) int { return s.compareLists(&o.known[x].list, &o.known[y].list) }
	slices.SortFunc(fresh, compare)
	o.order = merge(o.order, fresh, compare)
}

// merge merges two sorted lists, into the memory of the first where there is room.
func merge(into, from []int32, compare func(x, y int32) int) []int32 {
	at, to := len(into)-1, len(into)+len(from)-1
	into = append(into, from...)
	for next := len(from) - 1; next >= 0; to-- {
		if at >= 0 && compare(into[at], from[next]) > 0 {
			into[to] = into[at]
			at--
		} else {
			into[to] = from[next]
			next--
		}
	}
	return into
}

// each names what is offered, the least harm first.
func (o *offers) each(s *search) iter.Seq[offer] {
	return func(yield func(offer) bool) {
		for _, n := range o.order {
			one := &o.known[n]
			if !yield(offer{n, min(int32(s.fit.need), one.after) - s.fit.rooms[n], one.after, one.list}) {
				return
			}
		}
	}
}
