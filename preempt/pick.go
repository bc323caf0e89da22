package preempt

import (
	"cmp"
	"slices"
)

// A picker names the candidates one after the other in the order that is
// tried. Candidates of one leaf that hold the same of what is short form a
// group, in which priority decides, then, of a reclaim, whether they are excess
// (R9), then reverse standing; between groups class and saturation come before
// all that. Excess, class and saturation are read again after each unit.
type picker struct {
	t      *taking
	groups []group
	ofLeaf []int32 // by leaf, while groups are made: the last of its groups, plus one
	last   int
	sorted []UnitID // of the orders by size
	sizes  []unitSize
	bySize bool
	apart  sides
}

type group struct {
	leaf   int32
	mask   uint64
	before int32    // the group of the leaf before it, plus one
	ids    []UnitID // the worst standing last, once arranged
	// Often nobody but the first has to go: only who goes first is looked for
	// then, and the rest is sorted when the next one is asked for.
	order groupOrder
	ready bool // the last is the worst standing
	// passed are those of the priority at hand that are no excess, the worst
	// standing first: they go when no excess of that priority is left. As uses
	// only fall they will not be excess again. passedTo counts those of them that
	// are done with.
	passed   []UnitID
	passedTo int
	head     UnitID // who goes next, of passed or the last of ids
	ofPassed bool
}

// A unitSize is a unit with its sizes beside it: at the place that is cleared, and of those
// that are the same there, in all.
type unitSize struct {
	size, whole int64
	at          int32 // by standing
	id          UnitID
}

type groupOrder uint8

const (
	unordered groupOrder = iota
	selected             // the worst standing was looked for
	sorted
)

// arrange puts the worst standing last.
func (r *Evaluator) arrange(g *group) {
	if g.ready || len(g.ids) == 0 {
		return
	}
	g.ready = true
	if g.order == selected {
		r.sortByStanding(g.ids)
		g.order = sorted
		return
	}
	worst, last := 0, len(g.ids)-1
	for at, id := range g.ids {
		if r.better(g.ids[worst], id) < 0 {
			worst = at
		}
	}
	g.ids[worst], g.ids[last] = g.ids[last], g.ids[worst]
	g.order = selected
}

// newPicker returns the room's picker, made ready for the candidates, which may be
// in the order of standing: there is one
// at a time.
func (r *Evaluator) newPicker(t *taking, candidates []UnitID, inStanding bool) *picker {
	p, a := &r.scratch.picker, t.ask
	r.Effort.Spend(len(candidates) / lookedAt)
	p.t, p.groups, p.last, p.bySize = t, p.groups[:0], -1, a.kind == largest || a.kind == smallest
	if p.bySize {
		p.sortBySize(candidates)
		return p
	}
	if p.ofLeaf == nil {
		p.ofLeaf = make([]int32, len(r.byLeaf)+1)
	}
	if s := a.listed; s != nil && inStanding && a.reclaims() && areAlike(s, candidates) {
		for _, one := range s.runs {
			g := p.groupOf(one.leaf, r.mask(a, candidates[one.from]))
			g.ids = append(g.ids, candidates[one.from:one.to]...)
		}
	} else {
		p.group(candidates, inStanding)
	}
	for i := range p.groups { // it is for the next picker
		p.ofLeaf[p.groups[i].leaf+1] = 0
	}
	p.apart.reset(p)
	return p
}

// group brings the candidates to their groups.
func (p *picker) group(candidates []UnitID, inStanding bool) {
	r, a := p.t.room, p.t.ask
	for _, id := range candidates {
		leaf, mask := int32(-1), uint64(0)
		if a.reclaims() {
			leaf, mask = r.state[id].leaf, r.mask(a, id)
		}
		g := p.groupOf(leaf, mask)
		if n := len(g.ids); n > 0 && !inStanding && r.better(g.ids[n-1], id) > 0 {
			g.order, g.ready = unordered, false
		}
		g.ids = append(g.ids, id)
	}
}

// groupOf is the group of the leaf and mask, a new one if there is none; −1 is who of all
// leaves is one group.
func (p *picker) groupOf(leaf int32, mask uint64) *group {
	for at := p.ofLeaf[leaf+1]; at > 0; at = p.groups[at-1].before {
		if g := &p.groups[at-1]; g.mask == mask {
			return g
		}
	}
	n := len(p.groups)
	if n < cap(p.groups) { // use the memory of the last time
		p.groups = p.groups[:n+1]
	} else {
		p.groups = append(p.groups, group{})
	}
	g := &p.groups[n]
	*g = group{leaf: leaf, mask: mask, before: p.ofLeaf[leaf+1], ids: g.ids[:0], order: sorted, ready: true, passed: g.passed[:0]}
	p.ofLeaf[leaf+1] = int32(n + 1)
	return g
}

// mask says which of the resources that are short a unit holds.
func (r *Evaluator) mask(a *ask, id UnitID) uint64 {
	mask := uint64(0)
	for i, res := range a.short {
		if r.holds(id, res) {
			mask |= 1 << (i & 63)
		}
	}
	return mask
}

// sortBySize lists the candidates by size, the next one last; of one size the worst standing goes first.
func (p *picker) sortBySize(candidates []UnitID) {
	r, a := p.t.room, p.t.ask
	p.sorted = append(p.sorted[:0], candidates...)
	r.sortByStanding(p.sorted)
	p.sizes = p.sizes[:0]
	for at, id := range p.sorted {
		size, whole := r.size(a, id)
		if a.kind == smallest {
			size, whole = -size, -whole
		}
		p.sizes = append(p.sizes, unitSize{size, whole, int32(at), id})
	}
	if p.sortByNumber() {
		return
	}
	slices.SortFunc(p.sizes, func(x, y unitSize) int {
		return cmp.Or(cmp.Compare(x.size, y.size), cmp.Compare(x.whole, y.whole), cmp.Compare(x.at, y.at))
	})
	for at := range p.sizes {
		p.sorted[at] = p.sizes[at].id
	}
}

// sortByNumber is sortBySize of units that stand at one place each, where size and standing fit into one
// number. It says whether they do.
func (p *picker) sortByNumber() bool {
	const most = 1 << 30
	numbers := p.t.room.order.numbers[:0]
	for i := range p.sizes {
		one := &p.sizes[i]
		if one.size != one.whole || one.size >= most || one.size < -most {
			return false
		}
		numbers = append(numbers, uint64(one.size+most)<<32|uint64(one.at))
	}
	p.t.room.order.numbers = numbers
	slices.Sort(numbers)
	for at, n := range numbers {
		p.sorted[at] = p.sizes[uint32(n)].id
	}
	return true
}

// size is what the unit holds, at the place that is cleared and in all, of the first that is
// short, or of GPUs.
func (r *Evaluator) size(a *ask, id UnitID) (here, whole int64) {
	for _, res := range a.short {
		held := r.charged(id).Of(res)
		if held == 0 {
			continue
		}
		if len(a.place) == 0 || r.state[id].bars&wide == 0 {
			return held, held
		}
		u := r.units[id]
		for i := range u.Tasks {
			if slices.Contains(a.place, u.Tasks[i].Place.Node) {
				here += u.Tasks[i].Charge.Of(res)
			}
		}
		return here, held
	}
	return r.units[id].GPUs, r.units[id].GPUs
}

// next is the candidate that goes next, −1 if none may. It stays in the picker
// until took.
func (p *picker) next() UnitID {
	r := p.t.room
	if p.bySize {
		for len(p.sorted) > 0 {
			id := p.sorted[len(p.sorted)-1]
			if !r.state[id].taken && r.judge(p.t.ask, id) == lawful {
				return id
			}
			p.sorted = p.sorted[:len(p.sorted)-1]
		}
		return -1
	}
	if p.apart.some {
		p.last = p.apart.best(p)
	} else {
		p.last = -1
		r.Effort.Spend(len(p.groups) / lookedAt)
		for i := range p.groups {
			if p.settle(&p.groups[i]) && (p.last < 0 || p.before(i, p.last)) {
				p.last = i
			}
		}
	}
	if p.last < 0 {
		return -1
	}
	return p.groups[p.last].head
}

// before says whether the next of a group goes before that of another.
func (p *picker) before(i, j int) bool {
	return p.t.room.compare(p.t.ask, p.head(i), p.head(j)) < 0
}

func (p *picker) head(i int) *Unit { return p.t.room.units[p.groups[i].head] }

// settle drops what may not be taken any more, and says whether something of the
// group may be taken now: its head.
func (p *picker) settle(g *group) bool {
	r, a := p.t.room, p.t.ask
	excessFirst := a.reclaims() && a.exceeds(r, g.leaf)
	for p.ahead(g, excessFirst) {
		if r.state[g.head].taken {
			g.drop()
			continue
		}
		r.Effort.Spend(1 + r.climb[r.state[g.head].leaf])
		switch r.judge(a, g.head) {
		case lawful:
			if !excessFirst || g.ofPassed || a.excess(r, g.leaf, r.charged(g.head)) {
				return true
			}
			g.passed = append(g.passed, g.head)
			g.drop()
		case notYet:
			return false
		case unlawful, turns:
			g.drop()
		}
	}
	return false
}

// ahead finds who is next to be looked at, if anybody is: the worst standing, or,
// where no excess is left of its priority, who was passed over first.
func (p *picker) ahead(g *group, excessFirst bool) bool {
	r := p.t.room
	if g.passedTo == len(g.passed) {
		g.passed, g.passedTo = g.passed[:0], 0
	}
	r.arrange(g)
	last, some := len(g.ids)-1, len(g.passed) > 0
	g.ofPassed = some && (last < 0 || !excessFirst || r.state[g.ids[last]].priority != r.state[g.passed[0]].priority)
	switch {
	case g.ofPassed:
		g.head = g.passed[g.passedTo]
	case last >= 0:
		g.head = g.ids[last]
	default:
		return false
	}
	return true
}

// took takes note that the candidate named last is taken.
func (p *picker) took() {
	if p.bySize {
		p.sorted = p.sorted[:len(p.sorted)-1]
		return
	}
	p.groups[p.last].drop()
}

// drop takes the head off a group.
func (g *group) drop() {
	if g.ofPassed {
		g.passedTo++
		return
	}
	g.ids = g.ids[:len(g.ids)-1]
	g.ready = g.order == sorted
}
