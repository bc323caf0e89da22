package preempt

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/placement"
)

// firsts are whom a reclaim takes first, wherever it begins, as long as nobody is taken: by
// leaf how many classes of leaves go before it, by class and saturation, so that of those on a
// node whoever is first is found by looking at each once. Nil is that this is not known.
//
// Who is first on a node changes with who stands there and with their leaves alone, so it is kept for the
// next that is like this one.
type firsts struct {
	rank []int32
	kept *keptFirsts // nil is that nothing is
}

// firstsOf are those of the candidates, where leaves have an order (see sides) in which all
// units of one are alike.
func firstsOf(s *search, candidates []UnitID) *firsts {
	r, a := s.room, s.ask
	if !a.reclaims() || len(a.short) != 1 || !a.Still || a.excessOnly || a.relocates() || a.Domains != nil || len(r.budgets) > 0 {
		return nil
	}
	_, own := r.sides(a, r.state[candidates[0]].leaf)
	depth := len(r.descent(a, r.state[candidates[0]].leaf))
	if !r.entitled(a, own) {
		return nil // nobody may go now
	}
	var one []UnitID // of each leaf
	last := int32(-1)
	for some := range eachRun(s, candidates) {
		if some.leaf == last {
			continue
		}
		if _, other := r.sides(a, some.leaf); other != own || len(r.descent(a, some.leaf)) != depth {
			return nil
		}
		one, last = append(one, candidates[some.from]), some.leaf
	}
	r.Effort.Spend(len(one))
	compare := func(x, y UnitID) int {
		return cmp.Or(cmp.Compare(r.classOf(a, r.units[x]), r.classOf(a, r.units[y])), r.comparePaths(a, r.state[x].leaf, r.state[y].leaf))
	}
	slices.SortFunc(one, compare)
	f := &firsts{rank: make([]int32, len(r.byLeaf))}
	for i, id := range one {
		if i > 0 {
			before := one[i-1]
			f.rank[r.state[id].leaf] = f.rank[r.state[before].leaf]
			if compare(before, id) != 0 {
				f.rank[r.state[id].leaf]++
			}
		}
	}
	f.kept = keptFor(s, candidates)
	return f
}

// A first is whoever goes first on a node, where that is plainly enough for one task more of the
// preemptor.
type first struct {
	id    UnitID
	node  int32
	class int8
	loss  Work
	some  int32 // that stand there and might go
	// milli and since are those of its task.
	milli, since int64
}

// compare is the order of victims (M3).
func (f *firsts) compare(s *search, x, y UnitID) int {
	r := s.room
	one, other := &r.state[x], &r.state[y]
	if c := cmp.Or(cmp.Compare(f.rank[one.leaf], f.rank[other.leaf]), cmp.Compare(one.priority, other.priority)); c != 0 {
		return c
	}
	if one.leaf != other.leaf || one.charge != other.charge || one.charge == 0 { // else they are one excess
		if c := compareBools(s.ask.excess(r, r.units[y]), s.ask.excess(r, r.units[x])); c != 0 {
			return c
		}
	}
	return r.better(y, x)
}

// compareOffers is search.compareLists of what the nodes offer by them.
func (f *firsts) compareOffers(s *search, x, y *first) int {
	one, other := pair{x.class, s.room.state[x.id].priority}, pair{y.class, s.room.state[y.id].priority}
	if c := cmp.Or(one.compare(other), x.loss.compare(y.loss)); c != 0 || x.id == y.id {
		return cmp.Or(c, cmp.Compare(x.node, y.node))
	}
	return cmp.Or(f.compare(s, x.id, y.id), cmp.Compare(x.node, y.node))
}

// first is whoever goes first on a node, if that is plainly enough, as it holds what a task of the
// preemptor asks; and those of the candidates that stand there, unless it is.
func (f *firsts) first(s *search, n int32, candidates []UnitID) (first, []UnitID, bool) {
	r := s.room
	if f != nil && f.kept != nil && f.kept.onNode[n].some > 0 {
		one := f.kept.onNode[n]
		r.Effort.Spend(int(one.some) / lookedAt)
		one.loss = WorkOf(one.milli, r.Now-one.since)
		return one, nil, true
	}
	here := s.on([]int32{n}, candidates)
	if f == nil || len(here) == 0 {
		return first{}, here, false
	}
	r.Effort.Spend(len(here) / lookedAt)
	id := here[0]
	for _, other := range here[1:] {
		if f.compare(s, other, id) < 0 {
			id = other
		}
	}
	u := r.units[id]
	if !r.alone(id) || !placement.MakesRoom(r.Index, s.fit.shape(), u.Tasks[0].Shape, u.Tasks[0].Place) {
		return first{}, here, false
	}
	one := first{id, n, r.classOf(s.ask, u), u.lost(r.Now), int32(len(here)), u.Tasks[0].Milli, u.Tasks[0].Since}
	if f.kept != nil {
		f.kept.onNode[n] = one
	}
	return one, nil, true
}

// listed is search.offer of the node where it goes, but for how many tasks there is room, see
// whole.
func (f *firsts) listed(s *search, one first) offer {
	own := &s.room.scratch
	o := offer{node: one.node, list: list{nodes: s.room.oneNode(one.node), moved: s.room.units[one.id].GPUs}}
	ids, classes := [1]UnitID{one.id}, [1]int8{one.class}
	o.list.ids, own.ids = cut(own.ids, ids[:])
	o.list.class, own.classes = cut(own.classes, classes[:])
	return o
}

// try is search.try of one node for a single task, where whoever goes first is plainly enough; false is
// that this is not known.
func (f *firsts) try(s *search, n int32, candidates []UnitID) bool {
	if f == nil || s.fit.rooms == nil || s.fit.total > 0 || s.ask.Cap != nil {
		return false
	}
	one, _, ok := f.first(s, n, candidates)
	if !ok || ended(s) {
		return ok
	}
	s.refusal.Steps++
	s.room.Effort.Spend(1)
	s.weighed = append(s.weighed, cacheEntry{node: n, list: f.listed(s, one).list})
	s.keep(s.weighed[len(s.weighed)-1].list)
	return true
}

// keptFirsts are who was first on nodes for the last that asked.
type keptFirsts struct {
	firstsKey
	touched int // what of Evaluator.touched is read
	onNode  []first
	leaves  []leafOfFirsts
	ratios  []fairshare.Ratio // by queue
}

// A firstsKey names preemptors for which the same are first as long as nothing changes.
type firstsKey struct {
	mode      Mode
	leaf, res int32
	shape     placement.Shape
}

// A leafOfFirsts is what tells whether those of a leaf go before others, beside the saturations of its
// queues: whether they are candidates, of what class, and how far it is beyond its line.
type leafOfFirsts struct {
	goes   bool
	class  int8
	beyond int64
}

// keptFor is what is kept for the ask at hand, nil where of some leaf some are candidates and others
// are not.
func keptFor(s *search, candidates []UnitID) *keptFirsts {
	r, a := s.room, s.ask
	if a.AfterRelease || s.fit.rooms == nil || !areAlike(s, candidates) {
		return nil
	}
	leaves := make([]leafOfFirsts, len(r.byLeaf))
	for at, one := range s.runs {
		if at > 0 && s.runs[at-1].leaf == one.leaf {
			continue
		}
		last := one.from + len(r.byLeaf[one.leaf]) - 1
		if last >= len(candidates) || r.state[candidates[last]].leaf != one.leaf {
			return nil
		}
		beyond := r.use(one.leaf, a.short[0]) - r.lineOf(one.leaf, a.short[0], a.byShare())
		leaves[one.leaf] = leafOfFirsts{true, r.classOf(a, r.units[candidates[one.from]]), beyond}
	}
	key := firstsKey{a.mode, a.Leaf, a.short[0], s.fit.shape()}
	k := r.firsts
	if k == nil || k.firstsKey != key {
		k = &keptFirsts{
			firstsKey: key, touched: len(r.touched), onNode: make([]first, r.Nodes),
			leaves: leaves, ratios: make([]fairshare.Ratio, len(r.byLeaf)),
		}
		r.firsts = k
	}
	for _, n := range r.touched[k.touched:] {
		k.onNode[n] = first{}
	}
	k.touched = len(r.touched)
	k.follow(s, leaves)
	return k
}

// follow forgets who is first where units of a leaf stand that goes before others otherwise than it did.
func (k *keptFirsts) follow(s *search, leaves []leafOfFirsts) {
	r := s.room
	for leaf := range leaves {
		changed := k.leaves[leaf] != leaves[leaf]
		if leaves[leaf].goes {
			for _, q := range r.descent(s.ask, int32(leaf)) {
				changed = changed || k.ratios[q] != r.ratio(q)
			}
		}
		if !changed {
			continue
		}
		for _, id := range r.byLeaf[leaf] {
			for i := range r.units[id].Tasks {
				k.onNode[r.units[id].Tasks[i].Place.Node] = first{}
			}
		}
	}
	for leaf := range leaves {
		if leaves[leaf].goes {
			for _, q := range r.descent(s.ask, int32(leaf)) {
				k.ratios[q] = r.ratio(q)
			}
		}
	}
	k.leaves = leaves
}
