package gang

import (
	"slices"

	"github.com/allotsched/allot/placement"
)

// A Best is the domain of a level that would take the most of what a constraint
// keeps together.
type Best struct {
	// Level is the level of which the domain is, not 0.
	Level placement.Level
	// Domain is −1 where no domain of the level takes any.
	Domain placement.Domain
	// Tasks is how many it would take, Needed how many there are; Tasks ≤ Needed.
	Tasks, Needed int32
	// Set is a set inside the constraint, the first; all of them are meant.
	Set int32
}

// Best says of a unit that found no place under its constraints (NoDomain) which
// domains come nearest (T7): of the first constraint, from the outside in, that
// stands in its way alone, for each level from its preferred to its required one. It
// is nil where no constraint does so alone. Where tasks are held, only the domains
// that they allow are looked at. Tasks of several shapes are placed for real.
func (p *Placer) Best(x *placement.Index, g *Gang, u Unit, siblings Siblings, st Strategies) (out []Best) {
	if g.bounds == nil || p.Topology == nil {
		return nil
	}
	needed := p.begins(g, u)
	w := &search{
		Placer: p, x: x, t: p.Topology, g: g, u: u, st: st, siblings: &siblings,
		dst: make([]placement.Place, needed),
	}
	w.limit, w.spare = w.most(MostWasted), mostTrials*w.most(MostWasted)
	for v := range g.tree {
		c := w.bound(int32(v))
		if c.IsZero() || w.tasksIn(int32(v)) == 0 || w.alone(int32(v)) {
			continue
		}
		level := c.Preferred
		if len(c.Slices) > 0 {
			out = append(out, w.bestRest(g.tree[v].set, c.Slices[0]))
		}
		for ; level > 0 && level >= c.Required; level-- {
			out = append(out, w.bestOf(int32(v), level))
		}
		return out
	}
	return nil
}

// alone says whether what is inside v finds its places if nothing else is placed.
func (w *search) alone(v int32) bool {
	mark := w.x.Mark()
	defer w.x.Undo(mark)
	w.placed, w.wasted, w.cut = 0, 0, false
	return w.place(v, area{0}, Constraint{})
}

// bestOf is the domain of a level that takes the most of what is inside v.
func (w *search) bestOf(v int32, level placement.Level) Best {
	sets := w.setsIn(v)
	best := Best{Level: level, Domain: -1, Needed: w.tasksIn(v), Set: sets[0]}
	pinned, held, together := w.pinned(v, level)
	for _, e := range w.divide(area{0}, level) {
		if held && (!together || e[0] != pinned) {
			continue
		}
		n := int32(0)
		for _, s := range sets {
			n += int32(min(int64(w.g.added(w.u, int(s))), w.takes(s, e, w.slices(s))))
		}
		if len(sets) > 1 && n > best.Tasks {
			n = w.reached(v, e)
		}
		if n > best.Tasks {
			best.Domain, best.Tasks = e[0], n
		}
	}
	return best
}

// bestRest is the domain that comes nearest to a further slice of a set.
func (w *search) bestRest(s int32, cut Slice) Best {
	best := Best{Level: cut.Level, Domain: -1, Needed: cut.Size, Set: s}
	for _, e := range w.divide(area{0}, cut.Level) {
		if n := int32(w.takes(s, e, nil) % int64(cut.Size)); n > best.Tasks {
			best.Domain, best.Tasks = e[0], n
		}
	}
	return best
}

// reached is how many tasks of what is inside v are placed in an area, the hardest
// first, before one finds no place.
func (w *search) reached(v int32, where area) int32 {
	mark := w.x.Mark()
	defer w.x.Undo(mark)
	w.placed, w.peak, w.wasted, w.cut = 0, 0, 0, false
	w.children(v, where, Constraint{})
	return max(w.peak, w.lightestFirst(v, where))
}

// lightestFirst is how many tasks of the sets inside v an area takes, if none of them
// and no group around them has a constraint and the lightest have their places first.
func (w *search) lightestFirst(v int32, where area) int32 {
	for i := v + 1; i < w.g.tree[v].end; i++ {
		if c := w.bound(i); !c.IsZero() {
			return 0
		}
	}
	mark := w.x.Mark()
	defer w.x.Undo(mark)
	w.placed = 0
	for _, s := range slices.Backward(w.setsIn(v)) {
		n := min(int64(w.g.added(w.u, int(s))), w.takes(s, where, nil))
		whole, _ := w.chunks(s)
		w.onNodes(s, where, whole[:n])
	}
	return w.placed
}

// Obeyed says whether tasks of a gang that are held together keep its required
// levels and slices.
func (p *Placer) Obeyed(g *Gang, held []Held) bool {
	if g.bounds == nil || p.Topology == nil {
		return g.bounds == nil
	}
	w := &search{Placer: p, t: p.Topology, g: g, siblings: &Siblings{Held: held}}
	for v := range g.tree {
		if c := w.bound(int32(v)); c.Required > 0 {
			if _, _, together := w.pinned(int32(v), c.Required); !together {
				return false
			}
		}
	}
	type key struct{ set, cut, slice int32 }
	homes := make(map[key]placement.Domain)
	for i := range held {
		h := &held[i]
		if h.Node < 0 {
			continue
		}
		for n, cut := range g.sets[h.Set].Constraint.Slices {
			at, in := p.Topology.Of(h.Node, cut.Level), key{h.Set, int32(n), h.Index / cut.Size}
			if home, known := homes[in]; at < 0 || known && home != at {
				return false
			}
			homes[in] = at
		}
	}
	return true
}

// Domains lists the domains of which one has to hold what the first constraint of
// the gang with a required level keeps together, from the outside in; nil where no
// constraint requires one. Where tasks are held, it is theirs (T6). exact says that
// the unit starts if and only if one of them has room for all its tasks.
func (p *Placer) Domains(x *placement.Index, g *Gang, u Unit, siblings Siblings) (list []placement.Domain, exact bool) {
	if g.bounds == nil || p.Topology == nil {
		return nil, false
	}
	p.begins(g, u)
	w := &search{Placer: p, x: x, t: p.Topology, g: g, u: u, siblings: &siblings}
	exact = true
	first := int32(-1)
	var inner []placement.Level // required inside, perhaps at a wider level that a node lacks
	for v := range g.tree {
		c := w.bound(int32(v))
		if w.tasksIn(int32(v)) == 0 {
			continue
		}
		if c.Required > 0 && first < 0 {
			first = int32(v)
			exact = w.tasksIn(first) == w.tasksIn(0)
		} else if first >= 0 && c.Required > w.bound(first).Required {
			exact = false
		}
		if first >= 0 && c.Required > 0 {
			inner = append(inner, c.Required)
		}
		exact = exact && len(c.Slices) == 0
	}
	if first < 0 {
		return nil, exact
	}
	level := w.bound(first).Required
	pinned, held, together := w.pinned(first, level)
	list = []placement.Domain{} // none is not all
	for e, to := w.t.At(level, 0); e < to; e++ {
		if (!held || together && e == pinned) && !slices.ContainsFunc(inner, func(l placement.Level) bool {
			return l < level && w.domainAt(e, l) < 0
		}) {
			list = append(list, e)
		}
	}
	return list, exact
}
