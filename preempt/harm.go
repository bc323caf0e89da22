package preempt

import (
	"cmp"
	"slices"
)

// compareLists is negative if x does less harm than y (M3).
func (s *search) compareLists(x, y *list) int {
	if s.ask.mode == Consolidate {
		if c := cmp.Compare(x.moved, y.moved); c != 0 {
			return c
		}
	}
	if len(x.ids) == 1 && len(y.ids) == 1 && x.beside+y.beside == 0 {
		return s.compareSingles(x, y)
	}
	s.room.Effort.Spend(len(x.ids) + len(y.ids))
	one, other := s.harmOf(x), s.harmOf(y)
	if c := slices.CompareFunc(one.pairs, other.pairs, pair.compare); c != 0 {
		return c
	}
	if c := one.lost.compare(other.lost); c != 0 {
		return c
	}
	if c := cmp.Compare(one.works, other.works); c != 0 {
		return c
	}
	byOrder := 0
	if s.ask.reclaims() {
		s.ordered[0], s.ordered[1] = s.lastFirst(s.ordered[0], x), s.lastFirst(s.ordered[1], y)
		byOrder = slices.CompareFunc(s.ordered[0], s.ordered[1], s.inOrder)
	} else {
		byOrder = slices.CompareFunc(one.ordered, other.ordered, s.inOrder)
	}
	return cmp.Or(byOrder, compareMovers(s.room, x, y), slices.Compare(x.nodes, y.nodes))
}

// victims are those of the list that do not move beside others.
func (l *list) victims() []UnitID { return l.ids[:len(l.ids)-l.beside] }

// compareSingles is compareLists of lists of one.
func (s *search) compareSingles(x, y *list) int {
	a, b := &s.room.state[x.ids[0]], &s.room.state[y.ids[0]]
	if c := (pair{x.class[0], a.priority}).compare(pair{y.class[0], b.priority}); c != 0 {
		return c
	}
	if c := x.loses(s.room).compare(y.loses(s.room)); c != 0 {
		return c
	}
	if c := s.inOrder(x.ids[0], y.ids[0]); c != 0 {
		return c
	}
	return slices.Compare(x.nodes, y.nodes)
}

// loses is the work that is lost with a list of one.
func (l *list) loses(r *Evaluator) Work {
	if !l.loss.known || l.loss.now != r.Now {
		l.loss = loss{known: true, now: r.Now, work: r.units[l.ids[0]].lost(r.Now)}
	}
	return l.loss.work
}

// A loss is the work that is lost at a time.
type loss struct {
	known bool
	now   int64
	work  Work
}

// inOrder is the order of victims (M3). Of one leaf those that hold the same are of one class
// and one excess.
func (s *search) inOrder(a, b UnitID) int {
	if a == b {
		return 0
	}
	if x, y := &s.room.state[a], &s.room.state[b]; x.leaf == y.leaf && x.charge == y.charge && x.charge > 0 && s.ask.reclaims() {
		if x.priority != y.priority {
			return cmp.Compare(x.priority, y.priority)
		}
		return s.room.better(b, a)
	}
	return s.room.compare(s.ask, s.room.units[a], s.room.units[b])
}

// lastFirst lists who goes last in the order of victims first, in the memory of
// ids.
func (s *search) lastFirst(ids []UnitID, l *list) []UnitID {
	ids = append(ids[:0], l.victims()...)
	slices.SortFunc(ids, func(a, b UnitID) int { return s.inOrder(b, a) })
	return ids
}

// A harm is what is compared of lists that does not change before the time does:
// the pairs, the best protected first, the lost work, and how many workloads.
type harm struct {
	now   int64
	pairs []pair
	lost  Work
	works int
	// ordered is lastFirst, but for a reclaim, where it changes with the uses.
	ordered []UnitID
}

// harmOf is that of the list.
func (s *search) harmOf(l *list) *harm {
	if l.harm == nil || l.harm.now != s.room.Now {
		l.harm = &harm{now: s.room.Now, pairs: s.pairs(l), lost: s.lost(l), works: s.works(l)}
		if !s.ask.reclaims() {
			l.harm.ordered = s.lastFirst(make([]UnitID, 0, len(l.ids)), l)
		}
	}
	return l.harm
}

// A pair is a victim's class and priority; the lower does less harm.
type pair struct {
	class    int8
	priority int32
}

func (p pair) compare(q pair) int {
	if p.class != q.class {
		return cmp.Compare(p.class, q.class)
	}
	return cmp.Compare(p.priority, q.priority)
}

func (s *search) pairs(l *list) []pair {
	out := make([]pair, len(l.victims()))
	for i, id := range l.victims() {
		out[i] = pair{l.class[i], s.room.units[id].Priority}
	}
	slices.SortFunc(out, func(a, b pair) int { return b.compare(a) })
	return out
}

func (s *search) lost(l *list) Work {
	var sum Work
	for _, id := range l.victims() {
		sum = sum.Plus(s.room.units[id].lost(s.room.Now))
	}
	return sum
}

func (s *search) works(l *list) int {
	if len(l.victims()) == 1 {
		return 1
	}
	works := make([]int32, len(l.victims()))
	for i, id := range l.victims() {
		works[i] = s.room.units[id].Work
	}
	slices.Sort(works)
	return len(slices.Compact(works))
}
