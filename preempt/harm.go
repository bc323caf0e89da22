package preempt

import (
	"cmp"
	"slices"
)

// compareLists is negative if x does less harm than y (M3).
func (s *search) compareLists(x, y *list) int {
	c, steps := compareHarm(s, x, y)
	s.room.Effort.Spend(steps)
	return c
}

// compareHarm is compareLists for who counts the steps that it costs.
func compareHarm(s *search, x, y *list) (c, steps int) {
	if s.ask.mode == Consolidate {
		if c := cmp.Compare(x.moved, y.moved); c != 0 {
			return c, 0
		}
	}
	if len(x.ids) == 1 && len(y.ids) == 1 && x.beside+y.beside == 0 {
		return s.compareSingles(x, y), 0
	}
	return compareMany(s, x, y), len(x.ids) + len(y.ids)
}

// compareMany is compareHarm of lists that are not both of one.
func compareMany(s *search, x, y *list) int {
	one, other := s.harmOf(x), s.harmOf(y)
	if c := s.comparePairs(x, y); c != 0 {
		return c
	}
	if c := one.lost.compare(other.lost); c != 0 {
		return c
	}
	if c := cmp.Compare(one.works, other.works); c != 0 {
		return c
	}
	byOrder := 0
	switch {
	case s.ask.reclaims():
		s.ordered[0], s.ordered[1] = s.lastFirst(s.ordered[0], x), s.lastFirst(s.ordered[1], y)
		byOrder = slices.CompareFunc(s.ordered[0], s.ordered[1], s.inOrder)
	case one.backward && other.backward:
		byOrder = compareBackward(s, x.victims(), y.victims())
	default:
		byOrder = slices.CompareFunc(x.orderedByHarm(), y.orderedByHarm(), s.inOrder)
	}
	return cmp.Or(byOrder, compareMovers(s.room, x, y), slices.Compare(x.nodes, y.nodes))
}

// comparePairs compares the pairs of two lists, the best protected first; a list that is the beginning of
// the other does less harm.
func (s *search) comparePairs(x, y *list) int {
	one, other := s.harmOf(x), s.harmOf(y)
	if one.alike && other.alike && len(x.victims()) > 0 && len(y.victims()) > 0 {
		return cmp.Or(one.first.compare(other.first), cmp.Compare(len(x.victims()), len(y.victims())))
	}
	return slices.CompareFunc(s.pairs(x), s.pairs(y), pair.compare)
}

// compareBackward compares two lists from their ends.
func compareBackward(s *search, x, y []UnitID) int {
	for i, j := len(x)-1, len(y)-1; i >= 0 && j >= 0; i, j = i-1, j-1 {
		if c := s.inOrder(x[i], y[j]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(x), len(y))
}

// victims are those of the list that do not move beside others.
func (l *list) victims() []UnitID { return l.ids[:len(l.ids)-l.beside] }

// compareSingles is compareLists of lists of one.
func (s *search) compareSingles(x, y *list) int {
	a, b := &s.room.state[x.ids[0]], &s.room.state[y.ids[0]]
	if c := (pair{x.class[0], a.priority}).compare(pair{y.class[0], b.priority}); c != 0 {
		return c
	}
	if c := s.harmOf(x).lost.compare(s.harmOf(y).lost); c != 0 {
		return c
	}
	if c := s.inOrder(x.ids[0], y.ids[0]); c != 0 {
		return c
	}
	return slices.Compare(x.nodes, y.nodes)
}

// inOrder is the order of victims (M3). Of one leaf those that hold the same are of one class
// and one excess.
func (s *search) inOrder(a, b UnitID) int {
	if a == b {
		return 0
	}
	if !s.ask.reclaims() {
		return s.room.better(b, a)
	}
	if x, y := &s.room.state[a], &s.room.state[b]; x.leaf == y.leaf && x.charge == y.charge && x.charge > 0 {
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

// A harm is what is compared of lists that does not change before the time does: the first of the pairs, the
// best protected first, whether all are as that, the lost work, and how many workloads.
type harm struct {
	now          int64
	known, alike bool
	// backward: the victims are listed in the order of M3. Of a reclaim that is not known, as it changes
	// with the uses; of others ordered is lastFirst where they are not.
	backward bool
	first    pair
	lost     Work
	works    int
	ordered  []UnitID
}

// harmOf is that of the list.
func (s *search) harmOf(l *list) *harm {
	h := &l.harm
	if h.known && h.now == s.room.Now {
		return h
	}
	victims := l.victims()
	*h = harm{now: s.room.Now, known: true, alike: true, lost: s.lost(l), works: s.works(l)}
	for i, id := range victims {
		one := pair{l.class[i], s.room.state[id].priority}
		if i == 0 {
			h.first = one
		}
		h.alike = h.alike && one == h.first
	}
	if s.ask.reclaims() {
		return h
	}
	if h.backward = slices.IsSortedFunc(victims, s.inOrder); !h.backward {
		h.ordered = s.lastFirst(nil, l)
	}
	return h
}

// orderedByHarm is lastFirst of a list of no reclaim, of which the harm is known.
func (l *list) orderedByHarm() []UnitID {
	if l.harm.ordered != nil {
		return l.harm.ordered
	}
	out := slices.Clone(l.victims())
	slices.Reverse(out)
	return out
}

// A worth is what tells most lists apart that are in one heap, in the order in which compareLists asks for it; what it
// leaves open that finds out.
type worth struct {
	// pairs are the first pair and how many there are, 0 where they are not all the same.
	pairs uint64
	lost  Work
	works int32
	// number is that of the victim by which lists are ordered first, among those of its leaf; 0 where it has none, or
	// uses decide which that is.
	number, leaf, charge int32
}

const mostPairs = 1<<16 - 1 // that a worth counts

// worthOf is that of a list.
func worthOf(s *search, l *list) (w worth) {
	h, some := s.harmOf(l), len(l.victims())
	if !h.alike || some == 0 || some > mostPairs || l.beside > 0 {
		return w
	}
	w.pairs = uint64(h.first.class+1)<<48 | uint64(uint32(h.first.priority)^1<<31)<<16 | uint64(some)
	w.lost, w.works = h.lost, int32(h.works)
	if some == 1 || h.backward {
		u := &s.room.state[l.ids[some-1]]
		w.number, w.leaf, w.charge = u.number, u.leaf, u.charge
	}
	return w
}

// before says of two lists which does less harm, and whether it tells them apart; what that costs is counted as
// compareLists does.
func (w *worth) before(s *search, v *worth) (less, known bool) {
	switch {
	case w.pairs == 0 || v.pairs == 0:
		return false, false
	case w.pairs != v.pairs:
		less = w.pairs < v.pairs
	case w.lost != v.lost:
		less = w.lost.compare(v.lost) < 0
	case w.works != v.works:
		less = w.works < v.works
	case w.number == v.number || w.number == 0 || v.number == 0 || w.leaf != v.leaf || w.charge != v.charge || w.charge == 0:
		return false, false
	default:
		less = w.number > v.number
	}
	if some := w.pairs&mostPairs + v.pairs&mostPairs; some > 2 {
		s.room.Effort.Spend(int(some))
	}
	return less, true
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
		if !s.room.state[id].costless {
			sum = sum.Plus(s.room.units[id].lost(s.room.Now))
		}
	}
	return sum
}

// works is how many workloads the victims of a list are of.
func (s *search) works(l *list) int {
	if !slices.ContainsFunc(l.victims(), func(id UnitID) bool { return !s.room.single(id) }) {
		return len(l.victims()) // as mostly each is all of its own
	}
	works := make([]int32, len(l.victims()))
	for i, id := range l.victims() {
		works[i] = s.room.state[id].work
	}
	slices.Sort(works)
	return len(slices.Compact(works))
}
