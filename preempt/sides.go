package preempt

import (
	"slices"

	"github.com/allotsched/allot/fairshare"
)

// What a reclaim takes of one side changes what may be taken of that side, and in
// which order, and nothing about the others, where all paths part from the
// preemptor's at one queue and no budgets are shared. Then the sides stand in a
// heap by who goes next, and of each unit taken only its own side is looked at
// again: thousands of victims of hundreds of queues take the time of a sort.

// sides is that heap.
type sides struct {
	some   bool
	flat   bool    // each side is a leaf
	groups []int32 // by side
	from   []int32 // where the groups of a side begin, and an end
	first  []int32 // by side: the group whose next goes first
	heap   []int32 // of sides
	side   int32   // that of the group named last, −1 before the first
	keys   []sideKey
}

// A sideKey is what tells most sides apart by who goes next of them: class and saturation,
// which nothing changes but what is taken of the side.
type sideKey struct {
	class int8
	ratio fairshare.Ratio
}

// reset makes the heap ready for the groups of a picker, if they can stand apart.
func (h *sides) reset(p *picker) {
	r, a := p.t.room, p.t.ask
	h.some, h.side = false, -1
	if !a.reclaims() || len(p.groups) < fewNodes || len(r.budgets) > 0 {
		return
	}
	h.groups = h.groups[:0]
	_, own := r.sides(a, p.groups[0].leaf)
	depth := len(r.descent(a, p.groups[0].leaf))
	for i := range p.groups {
		leaf := p.groups[i].leaf
		// Of leaves at different depths the order of victims is none between all.
		if _, other := r.sides(a, leaf); other != own || len(r.descent(a, leaf)) != depth {
			return
		}
		h.groups = append(h.groups, int32(i))
	}
	h.flat = depth == 1
	sideOf := func(i int32) int32 { return r.side[p.groups[i].leaf] }
	slices.SortFunc(h.groups, func(i, j int32) int { return int(sideOf(i) - sideOf(j)) })
	h.from, h.first, h.heap = h.from[:0], h.first[:0], h.heap[:0]
	for at, i := range h.groups {
		if at == 0 || sideOf(h.groups[at-1]) != sideOf(i) {
			h.from, h.first = append(h.from, int32(at)), append(h.first, -1)
		}
	}
	h.from, h.some = append(h.from, int32(len(h.groups))), true
	h.keys = append(h.keys[:0], make([]sideKey, len(h.first))...)
}

// fill looks at all sides for the first time.
func (h *sides) fill(p *picker) {
	for side := range h.first {
		if h.look(p, int32(side)) {
			h.heap = append(h.heap, int32(side))
		}
	}
	for i := len(h.heap)/2 - 1; i >= 0; i-- {
		h.down(p, i)
	}
}

// look finds out who of the side goes next, if anybody may.
func (h *sides) look(p *picker, side int32) bool {
	h.first[side] = -1
	for _, i := range h.groups[h.from[side]:h.from[side+1]] {
		if p.settle(&p.groups[i]) && (h.first[side] < 0 || p.before(int(i), int(h.first[side]))) {
			h.first[side] = i
		}
	}
	if h.first[side] < 0 {
		return false
	}
	r, u := p.t.room, p.head(int(h.first[side]))
	h.keys[side] = sideKey{r.classOf(p.t.ask, u.Leaf, u.Charge), r.ratio(r.side[u.Leaf])}
	return true
}

// before says whether who goes next of a side goes before who does of another.
func (h *sides) before(p *picker, one, other int32) bool {
	x, y := &h.keys[one], &h.keys[other]
	if x.class != y.class {
		return x.class < y.class
	}
	if c := y.ratio.Cmp(x.ratio); c != 0 {
		return c < 0
	}
	first, second := p.head(int(h.first[one])), p.head(int(h.first[other]))
	if h.flat {
		return compareWithin(p.t.room, p.t.ask, first, second) < 0
	}
	return p.t.room.compare(p.t.ask, first, second) < 0
}

// best is the group whose next goes first, −1 if none may.
func (h *sides) best(p *picker) int {
	switch {
	case h.side < 0:
		h.fill(p)
	case len(h.heap) > 0:
		if last := len(h.heap) - 1; !h.look(p, h.side) {
			h.heap[0] = h.heap[last]
			h.heap = h.heap[:last]
		}
		h.down(p, 0)
	}
	if len(h.heap) == 0 {
		return -1
	}
	h.side = h.heap[0]
	return int(h.first[h.side])
}

// down lets the side at i of the heap sink to its place: along those who go before their neighbours to the end, and
// back up, as a side of which was taken mostly goes last.
func (h *sides) down(p *picker, i int) {
	if i >= len(h.heap) {
		return // the last side has nobody left
	}
	side, top := h.heap[i], i
	for child := 2*i + 1; child < len(h.heap); child = 2*i + 1 {
		if child+1 < len(h.heap) && h.before(p, h.heap[child+1], h.heap[child]) {
			child++
		}
		h.heap[i], i = h.heap[child], child
	}
	for ; i > top && h.before(p, side, h.heap[(i-1)/2]); i = (i - 1) / 2 {
		h.heap[i] = h.heap[(i-1)/2]
	}
	h.heap[i] = side
}
