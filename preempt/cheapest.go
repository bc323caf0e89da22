package preempt

import (
	"iter"
	"slices"
)

// tryCheapest looks for a set of nodes that are cheap to clear, for a gang of
// alike tasks on many nodes: node by node it finds out whom one task more
// would cost, and takes the cheapest until there is room for all.
func (s *search) tryCheapest(nodes []int32, candidates []UnitID) {
	if keepsOffers(s) && s.refusal.Steps+len(nodes) <= s.room.Steps {
		s.refusal.Steps += len(nodes)
		takeCheapest(s, offersFor(s, candidates).each(s))
		return
	}
	f := firstsOf(s, candidates)
	plain, others := s.told[:0], []offer(nil)
	defer func() { s.told = plain }()
	for _, n := range nodes {
		if ended(s) {
			break
		}
		s.refusal.Steps++
		one, here, ok := f.first(s, n, candidates)
		if ok {
			plain = append(plain, one)
			continue
		}
		if takesTooLittle(s, n, int64(s.fit.rooms[n])+1, here) {
			continue
		}
		if o, ok := s.offer(n, here); ok {
			others = append(others, o)
		}
	}
	if len(others) == 0 {
		takeCheapest(s, inHeap(&leastFirst[first]{search: s, items: plain, compare: f.compareOffers},
			func(s *search, one first) offer { return f.whole(s, f.listed(s, one)) }))
		return
	}
	for _, one := range plain {
		others = append(others, f.listed(s, one))
	}
	compare := func(s *search, x, y *offer) int { return s.compareLists(&x.list, &y.list) }
	takeCheapest(s, inHeap(&leastFirst[offer]{search: s, items: others, compare: compare}, f.whole))
}

// inHeap names the offers that the items of a heap are, the least harm first.
func inHeap[T any](h *leastFirst[T], offerOf func(*search, T) offer) iter.Seq[offer] {
	h.init()
	return func(yield func(offer) bool) {
		for len(h.heap) > 0 && yield(offerOf(h.search, h.pop())) {
		}
	}
}

// whole is the offer with how many tasks there is room for.
func (f *firsts) whole(s *search, o offer) offer {
	if o.tasks > 0 {
		return o
	}
	t := s.room.begin(s.ask, s.fit, inOrder)
	t.only = o.node + 1
	had, id := s.fit.rooms[o.node], o.list.ids[0]
	if t.lift(id) {
		o.tasks = s.fit.rooms[o.node] - had
		t.putDown(id)
	}
	return o
}

// takeCheapest takes of the offers, which come the least harm first, until there is room
// for all.
func takeCheapest(s *search, offers iter.Seq[offer]) {
	missing := int(s.ask.Add.Tasks()) - s.fit.total
	if missing <= 0 {
		return
	}
	var chosen []int32
	var victims []UnitID
	taken := make(map[UnitID]bool)
	for o := range offers {
		missing -= int(o.tasks)
		chosen = append(chosen, o.node)
		for _, id := range o.list.ids {
			if !taken[id] || len(s.room.units[id].Tasks) == 1 {
				taken[id] = true
				victims = append(victims, id)
			}
		}
		if missing <= 0 {
			break
		}
	}
	if missing > 0 || len(victims) == 0 {
		return
	}
	slices.Sort(chosen)
	s.try(chosen, victims)
}

// An offer is what one node gives: room for some tasks more, and for whom.
type offer struct {
	node  int32
	tasks int32 // more than it has room for
	after int32 // for which it has room then
	list  list
}

// offer clears a node for one task more than it has room for.
func (s *search) offer(n int32, here []UnitID) (offer, bool) {
	r := s.room
	t := r.begin(s.ask, s.fit, inOrder)
	defer t.end()
	t.only = n + 1
	had := s.fit.rooms[n]
	picker := r.newPicker(t, here, false)
	for s.fit.rooms[n] <= had {
		if id := picker.next(); id < 0 || r.Effort.Over(0) || !t.take(id) {
			return offer{}, false
		}
		picker.took()
	}
	// Spare what the one task more does not need: of one alone nothing.
	for _, id := range slices.Backward(t.list.ids) {
		if len(t.list.ids) == 1 {
			break
		}
		if r.stepsOut(id) || !t.restore(id) {
			continue
		}
		if s.fit.rooms[n] <= had {
			t.vacate(id)
		}
	}
	after := s.fit.allOn(n)
	o := offer{node: n, tasks: s.fit.rooms[n] - had, after: after, list: list{nodes: []int32{n}}}
	kept := t.kept()
	for i, id := range kept.ids {
		if r.state[id].taken {
			kept.ids[len(o.list.ids)], kept.class[len(o.list.ids)] = id, kept.class[i]
			o.list.ids, o.list.class = kept.ids[:len(o.list.ids)+1], kept.class[:len(o.list.ids)+1]
			o.list.moved = addUpTo(o.list.moved, r.units[id].GPUs)
		}
	}
	return o, true
}

// leastFirst is a heap of what has a list of victims, the least harm first.
type leastFirst[T any] struct {
	search  *search
	items   []T
	compare func(s *search, x, y *T) int // negative if x does less harm
	heap    []int32                      // of items
	free    []int32                      // items that were popped
	place   []int32                      // by item: where in the heap it is, nil where nobody asks
	worth   []worth                      // by item: what tells most apart, nil where nobody knows
}

// init makes a heap of all items.
func (h *leastFirst[T]) init() {
	h.heap = slices.Grow(h.heap[:0], len(h.items))
	for i := range h.items {
		h.heap = append(h.heap, int32(i))
	}
	h.order()
}

// order brings the items that are left into the order of a heap.
func (h *leastFirst[T]) order() {
	for i := len(h.heap)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}

// dropIf drops the items of which f says so, and returns how many they were.
func (h *leastFirst[T]) dropIf(f func(T) bool) int {
	before := len(h.heap)
	h.heap = slices.DeleteFunc(h.heap, func(at int32) bool { return f(h.items[at]) })
	if before > len(h.heap) {
		h.order()
	}
	return before - len(h.heap)
}

// less compares items, and those that do the same harm by their order.
func (h *leastFirst[T]) less(i, j int) bool {
	x, y := h.heap[i], h.heap[j]
	if h.worth != nil {
		if less, known := h.worth[x].before(h.search, &h.worth[y]); known {
			return less
		}
	}
	c := h.compare(h.search, &h.items[x], &h.items[y])
	return c < 0 || c == 0 && x < y
}

// top is the first item; there must be one.
func (h *leastFirst[T]) top() *T { return &h.items[h.heap[0]] }

// pop drops the first item and returns it.
func (h *leastFirst[T]) pop() T {
	at, last := h.heap[0], len(h.heap)-1
	h.heap[0] = h.heap[last]
	if h.heap = h.heap[:last]; last > 0 {
		h.down(0)
	}
	h.free = append(h.free, at)
	return h.items[at]
}

func (h *leastFirst[T]) push(item T) {
	if last := len(h.free) - 1; last >= 0 {
		at := h.free[last]
		h.items[at], h.free = item, h.free[:last]
		h.enter(at)
		return
	}
	h.items = append(h.items, item)
	if h.place != nil {
		h.place = append(h.place, 0)
	}
	h.enter(int32(len(h.items)) - 1)
}

// enter puts an item into the heap.
func (h *leastFirst[T]) enter(item int32) {
	h.heap = append(h.heap, item)
	h.up(len(h.heap)-1, 0)
}

// moved lets an item come to its place that has become another, where places are known.
func (h *leastFirst[T]) moved(item int32) {
	at := int(h.place[item])
	if h.up(at, 0); h.heap[at] == item {
		h.down(at)
	}
}

// remove takes an item out of the heap, where places are known.
func (h *leastFirst[T]) remove(item int32) {
	at, last := int(h.place[item]), len(h.heap)-1
	other := h.heap[last]
	if h.heap = h.heap[:last]; at < last {
		h.put(at, other)
		h.moved(other)
	}
}

// put puts an item at a place of the heap.
func (h *leastFirst[T]) put(at int, item int32) {
	if h.heap[at] = item; h.place != nil {
		h.place[item] = int32(at)
	}
}

// down lets the item at i of the heap sink to its place: along the lesser children to the end, and back
// up, as what sinks was among the last and mostly belongs there.
func (h *leastFirst[T]) down(i int) {
	item, top := h.heap[i], i
	for child := 2*i + 1; child < len(h.heap); child = 2*i + 1 {
		if child+1 < len(h.heap) && h.less(child+1, child) {
			child++
		}
		h.put(i, h.heap[child])
		i = child
	}
	h.put(i, item)
	h.up(i, top)
}

// up lets the item at i of the heap rise to its place, no higher than a place above it.
func (h *leastFirst[T]) up(i, top int) {
	item := h.heap[i]
	for ; i > top && h.less(i, (i-1)/2); i = (i - 1) / 2 {
		h.put(i, h.heap[(i-1)/2])
		h.heap[(i-1)/2] = item
	}
	h.put(i, item)
}
