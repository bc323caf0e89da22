package preempt

import (
	"container/heap"
	"slices"
)

// tryCheapest looks for a set of nodes that are cheap to clear, for a gang of
// alike tasks on many nodes: node by node it finds out whom one task more
// would cost, and takes the cheapest until there is room for all.
func (s *search) tryCheapest(nodes []int32, candidates []UnitID) {
	offers := &leastFirst[offer]{search: s, listOf: func(o *offer) *list { return &o.list }}
	for _, n := range nodes {
		if s.refusal.Steps >= s.room.Steps {
			s.refusal.Cut = true
			break
		}
		s.refusal.Steps++
		if o, ok := s.offer(n, s.on([]int32{n}, candidates)); ok {
			offers.items = append(offers.items, o)
		}
	}
	heap.Init(offers)
	missing := s.ask.Add.Tasks()
	for _, rooms := range s.fit.rooms {
		missing -= rooms
	}
	var chosen []int32
	var victims []UnitID
	for missing > 0 && offers.Len() > 0 {
		o := heap.Pop(offers).(offer)
		missing -= o.tasks
		chosen = append(chosen, o.node)
		for _, id := range o.list.ids {
			if !slices.Contains(victims, id) || s.room.single(id) {
				victims = append(victims, id)
			}
		}
	}
	if missing > 0 || len(victims) == 0 {
		return
	}
	slices.Sort(chosen)
	s.try(chosen, victims)
}

// single says whether a unit stands on one node only.
func (r *Room) single(id UnitID) bool { return len(r.units[id].Tasks) == 1 }

// An offer is what one node gives: room for some tasks more, and for whom.
type offer struct {
	node  int32
	tasks int32
	list  list
}

// offer clears a node for one task more than it has room for.
func (s *search) offer(n int32, here []UnitID) (offer, bool) {
	r := s.room
	t := r.begin(s.ask, s.fit, inOrder)
	defer t.end()
	had := s.fit.rooms[n]
	picker := r.newPicker(t, here)
	for s.fit.rooms[n] <= had {
		if id := picker.next(); id < 0 || !t.take(id) {
			return offer{}, false
		}
		picker.took()
	}
	// Spare what the one task more does not need.
	for _, id := range slices.Backward(slices.Clone(t.list.ids)) {
		if r.stepsOut(id) || !t.restore(id) {
			continue
		}
		if s.fit.rooms[n] <= had {
			t.vacate(id)
		}
	}
	o := offer{node: n, tasks: s.fit.rooms[n] - had, list: list{nodes: []int32{n}}}
	for i, id := range t.list.ids {
		if r.state[id].taken {
			o.list.ids = append(o.list.ids, id)
			o.list.class = append(o.list.class, t.list.class[i])
			o.list.moved = addUpTo(o.list.moved, r.units[id].GPUs)
		}
	}
	return o, true
}

// leastFirst is a heap of what has a list of victims, the least harm first.
type leastFirst[T any] struct {
	search *search
	items  []T
	listOf func(*T) *list
}

func (h *leastFirst[T]) Len() int { return len(h.items) }
func (h *leastFirst[T]) Less(i, j int) bool {
	return h.search.compareLists(h.listOf(&h.items[i]), h.listOf(&h.items[j])) < 0
}
func (h *leastFirst[T]) Swap(i, j int) { h.items[i], h.items[j] = h.items[j], h.items[i] }
func (h *leastFirst[T]) Push(x any)    { h.items = append(h.items, x.(T)) }
func (h *leastFirst[T]) Pop() any {
	last := h.items[len(h.items)-1]
	h.items = h.items[:len(h.items)-1]
	return last
}
