package preempt

import (
	"cmp"
	"slices"
)

// A picker names the candidates one after the other in the order that is
// tried. Candidates of one leaf that hold the same of what is short form a
// group, in which reverse standing decides; between groups class and saturation
// do, which are read again after each unit.
type picker struct {
	t      *taking
	groups []group
	last   int
	sorted []UnitID // of the orders by size
	bySize bool
	apart  sides
}

type group struct {
	leaf int32
	mask uint64
	ids  []UnitID // the worst standing last, once arranged
	// Often nobody but the first has to go: only who goes first is looked for
	// then, and the rest is sorted when the next one is asked for.
	order groupOrder
	ready bool // the last is the worst standing
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
	p.t, p.groups, p.last, p.bySize = t, p.groups[:0], -1, a.kind == largest || a.kind == smallest
	if p.bySize {
		p.sorted = append(p.sorted[:0], candidates...)
		slices.SortFunc(p.sorted, func(x, y UnitID) int {
			bySize := cmp.Compare(r.size(a, x), r.size(a, y))
			if a.kind == smallest { // the next one is last
				bySize = -bySize
			}
			return cmp.Or(bySize, r.better(x, y))
		})
		return p
	}
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
	p.apart.reset(p)
	return p
}

// groupOf is the group of the leaf and mask, a new one if there is none.
func (p *picker) groupOf(leaf int32, mask uint64) *group {
	for i := range slices.Backward(p.groups) { // candidates come leaf by leaf
		if g := &p.groups[i]; g.leaf == leaf && g.mask == mask {
			return g
		}
	}
	n := len(p.groups)
	if n < cap(p.groups) { // use the memory of the last time
		p.groups = p.groups[:n+1]
		p.groups[n].ids = p.groups[n].ids[:0]
	} else {
		p.groups = append(p.groups, group{})
	}
	g := &p.groups[n]
	g.leaf, g.mask, g.order, g.ready = leaf, mask, sorted, true
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

// size is what the unit holds of what is short, or of GPUs.
func (r *Evaluator) size(a *ask, id UnitID) int64 {
	u := r.units[id]
	for _, res := range a.short {
		if n := u.Charge.Of(res); n > 0 {
			return n
		}
	}
	return u.GPUs
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
		for i := range p.groups {
			if p.settle(&p.groups[i]) && (p.last < 0 || p.before(i, p.last)) {
				p.last = i
			}
		}
	}
	if p.last < 0 {
		return -1
	}
	ids := p.groups[p.last].ids
	return ids[len(ids)-1]
}

// before says whether the next of a group goes before that of another.
func (p *picker) before(i, j int) bool {
	return p.t.room.compare(p.t.ask, p.head(i), p.head(j)) < 0
}

func (p *picker) head(i int) *Unit {
	ids := p.groups[i].ids
	return p.t.room.units[ids[len(ids)-1]]
}

// settle drops what may not be taken any more from the end of a group, and says
// whether something is left that may be taken now.
func (p *picker) settle(g *group) bool {
	r := p.t.room
	for len(g.ids) > 0 {
		r.arrange(g)
		id := g.ids[len(g.ids)-1]
		if !r.state[id].taken {
			switch r.judge(p.t.ask, id) {
			case lawful:
				return true
			case notYet:
				return false
			}
		}
		g.drop()
	}
	return false
}

// took takes note that the candidate named last is taken.
func (p *picker) took() {
	if p.bySize {
		p.sorted = p.sorted[:len(p.sorted)-1]
		return
	}
	p.groups[p.last].drop()
}

// drop takes the last off a group.
func (g *group) drop() {
	g.ids = g.ids[:len(g.ids)-1]
	g.ready = g.order == sorted
}
