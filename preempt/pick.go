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
}

type group struct {
	leaf int32
	mask uint64
	ids  []UnitID // the worst standing last, once ordered
	// Often nobody but the first has to go: only who goes first is looked for
	// then, and the rest is sorted when it is asked for.
	order groupOrder
}

type groupOrder uint8

const (
	unordered groupOrder = iota
	worstLast
	sorted
)

// arrange puts the worst standing last.
func (r *Room) arrange(g *group) {
	better := func(x, y UnitID) int { return r.units[x].Standing.Compare(r.units[y].Standing) }
	switch last := len(g.ids) - 1; g.order {
	case unordered:
		worst := 0
		for at, id := range g.ids {
			if better(g.ids[worst], id) < 0 {
				worst = at
			}
		}
		g.ids[worst], g.ids[last] = g.ids[last], g.ids[worst]
		g.order = worstLast
	case worstLast:
		slices.SortFunc(g.ids, better)
		g.order = sorted
	}
}

func (r *Room) newPicker(t *taking, candidates []UnitID) *picker {
	p := &picker{t: t, last: -1}
	a := t.ask
	if a.kind == largest || a.kind == smallest {
		p.sorted = slices.Clone(candidates)
		slices.SortFunc(p.sorted, func(x, y UnitID) int {
			bySize := cmp.Compare(r.size(a, x), r.size(a, y))
			if a.kind == smallest { // the next one is last
				bySize = -bySize
			}
			return cmp.Or(bySize, r.units[x].Standing.Compare(r.units[y].Standing))
		})
		return p
	}
	for _, id := range candidates {
		u := &r.units[id]
		leaf, mask := int32(-1), uint64(0)
		if a.reclaims() {
			leaf, mask = u.Leaf, a.mask(u)
		}
		at := slices.IndexFunc(p.groups, func(g group) bool { return g.leaf == leaf && g.mask == mask })
		if at < 0 {
			at = len(p.groups)
			p.groups = append(p.groups, group{leaf: leaf, mask: mask})
		}
		p.groups[at].ids = append(p.groups[at].ids, id)
	}
	for i := range p.groups {
		r.arrange(&p.groups[i])
	}
	return p
}

// mask says which of the resources that are short a unit holds.
func (a *ask) mask(u *Unit) uint64 {
	mask := uint64(0)
	for i, res := range a.short {
		if u.Charge.Of(res) > 0 {
			mask |= 1 << (i & 63)
		}
	}
	return mask
}

// size is what the unit holds of what is short, or of GPUs.
func (r *Room) size(a *ask, id UnitID) int64 {
	u := &r.units[id]
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
	if p.sorted != nil {
		for len(p.sorted) > 0 {
			id := p.sorted[len(p.sorted)-1]
			if !r.state[id].taken && r.judge(p.t.ask, id) == lawful {
				return id
			}
			p.sorted = p.sorted[:len(p.sorted)-1]
		}
		return -1
	}
	best := -1
	for i := range p.groups {
		if !p.settle(&p.groups[i]) {
			continue
		}
		if best < 0 || r.compare(p.t.ask, p.head(i), p.head(best)) < 0 {
			best = i
		}
	}
	if p.last = best; best < 0 {
		return -1
	}
	ids := p.groups[best].ids
	return ids[len(ids)-1]
}

func (p *picker) head(i int) *Unit {
	ids := p.groups[i].ids
	return &p.t.room.units[ids[len(ids)-1]]
}

// settle drops what may not be taken any more from the end of a group, and says
// whether something is left that may be taken now.
func (p *picker) settle(g *group) bool {
	r := p.t.room
	for len(g.ids) > 0 {
		id := g.ids[len(g.ids)-1]
		if !r.state[id].taken {
			switch r.judge(p.t.ask, id) {
			case lawful:
				return true
			case notYet:
				return false
			}
		}
		p.drop(g)
	}
	return false
}

// took takes note that the candidate named last is taken.
func (p *picker) took() {
	if p.sorted != nil {
		p.sorted = p.sorted[:len(p.sorted)-1]
		return
	}
	p.drop(&p.groups[p.last])
}

// drop takes the last off a group.
func (p *picker) drop(g *group) {
	g.ids = g.ids[:len(g.ids)-1]
	p.t.room.arrange(g)
}
