package preempt

import (
	"container/heap"
	"slices"
)

// tryCheapest looks for a set of nodes that are cheap to clear, for a gang of
// alike tasks on many nodes: node by node it finds out whom one task more
// would cost, and takes the cheapest until there is room for all.
func (s *search) tryCheapest(nodes []int32, candidates []UnitID) {
	offers := &offers{search: s}
	for _, n := range nodes {
		if s.refusal.Steps >= s.room.Steps {
			s.refusal.Cut = true
			break
		}
		s.refusal.Steps++
		if o, ok := s.offer(n, s.on([]int32{n}, candidates)); ok {
			offers.list = append(offers.list, o)
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

// offers are a heap of them, the least harm first.
type offers struct {
	search *search
	list   []offer
}

func (o *offers) Len() int { return len(o.list) }
func (o *offers) Less(i, j int) bool {
	return o.search.compareLists(&o.list[i].list, &o.list[j].list) < 0
}
func (o *offers) Swap(i, j int) { o.list[i], o.list[j] = o.list[j], o.list[i] }
func (o *offers) Push(x any)    { o.list = append(o.list, x.(offer)) }
func (o *offers) Pop() any {
	last := o.list[len(o.list)-1]
	o.list = o.list[:len(o.list)-1]
	return last
}
