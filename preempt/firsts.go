package preempt

import (
	"cmp"
	"math"
	"slices"

	"github.com/allotsched/allot/placement"
)

// firsts are whom a reclaim takes first, wherever it begins, as long as nobody is taken: by
// leaf how many classes of leaves go before it, by class and saturation, so that of those on a
// node whoever is first is found by looking at each once. Nil is that this is not known.
//
// Who is first on a node changes with who stands there and with their leaves alone, so it is kept for the
// next that is like this one.
type firsts struct {
	rank  []int32
	class []int8      // by leaf, of those of which some are candidates
	kept  *keptFirsts // nil is that nothing is
	// best is the first of search.told that does least harm, settled the last that was kept; −1 is none.
	best, settled int
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
	f := &firsts{rank: make([]int32, len(r.byLeaf)), class: make([]int8, len(r.byLeaf)), best: -1, settled: -1}
	for _, id := range one {
		f.class[r.state[id].leaf] = r.classOf(a, r.state[id].leaf, r.charged(id))
	}
	compare := func(x, y UnitID) int {
		first, second := r.state[x].leaf, r.state[y].leaf
		return cmp.Or(cmp.Compare(f.class[first], f.class[second]), r.comparePaths(a, first, second))
	}
	slices.SortFunc(one, compare)
	for i, id := range one {
		if i > 0 {
			before := one[i-1]
			f.rank[r.state[id].leaf] = f.rank[r.state[before].leaf]
			if compare(before, id) != 0 {
				f.rank[r.state[id].leaf]++
			}
		}
	}
	f.kept = keptFor(s, candidates, f)
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
		if c := compareBools(s.ask.excess(r, other.leaf, r.charged(y)), s.ask.excess(r, one.leaf, r.charged(x))); c != 0 {
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
	if one, ok := f.known(s, n); ok {
		return one, nil, true
	}
	here := s.on([]int32{n}, candidates)
	if f == nil || len(here) == 0 {
		return first{}, here, false
	}
	s.room.Effort.Spend(len(here) / lookedAt)
	one, ok := f.among(s, n, here)
	return one, here, ok
}

// known is whoever goes first on a node, where that is kept.
func (f *firsts) known(s *search, n int32) (first, bool) {
	if f == nil || f.kept == nil || f.kept.onNode[n].some == 0 || f.kept.onNode[n].id == nobody {
		return first{}, false
	}
	r, one := s.room, f.kept.onNode[n]
	r.Effort.Spend(int(one.some) / lookedAt)
	one.class, one.loss = f.kept.leaves[r.state[one.id].leaf].class, WorkOf(one.milli, r.Now-one.since)
	return one, true
}

// among is whoever goes first of those on a node, if that is plainly enough.
func (f *firsts) among(s *search, n int32, here []UnitID) (first, bool) {
	r, id := s.room, here[0]
	for _, other := range here[1:] {
		if f.compare(s, other, id) < 0 {
			id = other
		}
	}
	if !s.fit.makesRoom(id) {
		return first{}, false
	}
	u := r.units[id]
	one := first{id, n, r.classOf(s.ask, u.Leaf, u.Charge), u.lost(r.Now), int32(len(here)), u.Tasks[0].Milli, u.Tasks[0].Since}
	if f.kept != nil {
		f.kept.onNode[n] = one
	}
	return one, true
}

// listed is search.offer of the node where it goes, but for how many tasks there is room, see
// whole.
func (f *firsts) listed(s *search, one first) offer {
	return offer{node: one.node, list: one.list(s)}
}

// list is the list of the node where it goes.
func (f *first) list(s *search) list {
	r := s.room
	out := list{kind: inOrder, moved: r.units[f.id].GPUs, nodes: r.oneNode(f.node)}
	out.ids, r.scratch.ids = cut(r.scratch.ids, []UnitID{f.id})
	out.class, r.scratch.classes = cut(r.scratch.classes, []int8{f.class})
	return out
}

// try is search.try of one node for a single task. What it finds where whoever goes first is plainly enough is
// among search.told, see settle. It is false where who stands there is not looked at.
func (f *firsts) try(s *search, n int32, candidates []UnitID) bool {
	if f == nil || s.fit.rooms == nil || s.fit.total > 0 || s.ask.Cap != nil {
		return false
	}
	one, ok := f.known(s, n)
	if !ok {
		if some := f.tooFew(n); some > 0 {
			return inVain(s, int(some))
		}
		here := s.on([]int32{n}, candidates)
		if len(here) == 0 {
			return true
		}
		if takesTooLittle(s, n, s.fit.missingOn(n), here) {
			f.keepTooFew(s, n, here)
			return inVain(s, len(here))
		}
		s.room.Effort.Spend(len(here) / lookedAt)
		if one, ok = f.among(s, n, here); !ok {
			f.settle(s)
			s.try(s.room.oneNode(n), here)
			return true
		}
	}
	if ended(s) {
		return true
	}
	s.refusal.Steps++
	s.room.Effort.Spend(1)
	if s.told = append(s.told, one); f.best < 0 || f.compareOffers(s, &one, &s.told[f.best]) < 0 {
		f.best = len(s.told) - 1
	}
	return true
}

// inVain counts a node on which it was plain of so many candidates that they are too few.
func inVain(s *search, some int) bool {
	if s.room.Effort.Spend(some / lookedAt); !ended(s) {
		s.refusal.Steps++
		s.room.Effort.Spend(1)
	}
	return true
}

// tooFew is how many candidates stand on a node, where it is kept that with all of them gone it takes nothing; else 0.
func (f *firsts) tooFew(n int32) int32 {
	if f.kept == nil || f.kept.onNode[n].id != nobody {
		return 0
	}
	return f.kept.onNode[n].some
}

// keepTooFew keeps that a node takes nothing with all candidates on it gone, who are these, if that is so.
func (f *firsts) keepTooFew(s *search, n int32, here []UnitID) {
	if f.kept == nil {
		return
	}
	res := s.ask.short[0]
	most := s.room.Index.MostFree(n, res)
	for _, id := range here {
		most = addUpTo(most, s.room.charged(id).Of(res))
	}
	if most < eachTakes(s) {
		f.kept.onNode[n] = first{id: nobody, node: n, some: int32(len(here))}
	}
}

// settle keeps the best of what was tried, if it is not kept yet.
func (f *firsts) settle(s *search) {
	if f != nil && f.best > f.settled {
		f.settled = f.best
		s.keep(s.told[f.best].list(s))
	}
}

// keptFirsts are who was first on nodes for the last of those that are alike, or that with all
// candidates on one gone it takes too little. The latter depends on nothing but what is free on the node and
// who of those there are candidates, the former on the order of these too: so of a node it is forgotten
// once a unit has come there or gone, and once one there is a candidate and was none, or the other way round,
// and of whoever is first once another may go before it, see follow.
type keptFirsts struct {
	touched int // what of Evaluator.touched is read
	onNode  []first
	leaves  []leafOfFirsts
}

// nobody is who goes first on a node that takes too little with all candidates gone.
const nobody UnitID = -1

// A firstsKey names preemptors for which the same are first as long as nothing changes.
type firstsKey struct {
	mode      Mode
	leaf, res int32
	shape     placement.Shape
	each      int64 // see eachTakes
}

// fewKeptFirsts is for how many kinds of preemptors it is kept who is first, before all of that is
// forgotten: for more of them where there are few nodes, as many as have mostKeptFirsts nodes in all.
const fewKeptFirsts, mostKeptFirsts = 64, 1 << 19

// A leafOfFirsts is what tells whether those of a leaf go before others: whether some are candidates, of
// what class, how many classes of leaves go before it, and how far it is beyond its line. stay are those
// of it that are no candidates, where others are.
type leafOfFirsts struct {
	goes   bool
	class  int8
	rank   int32
	beyond int64
	stay   []UnitID
}

// staying are the units of the leaf of a run that are no candidates.
func staying(s *search, candidates []UnitID, at int) (out []UnitID) {
	leaf, from := s.runs[at].leaf, s.runs[at].from
	for ; at < len(s.runs) && s.runs[at].leaf == leaf; at++ {
	}
	own := candidates[from:s.runs[at-1].to]
	if units := s.room.inLeaf(leaf); len(own) < len(units) { // in the same order
		for _, id := range units {
			if len(own) > 0 && own[0] == id {
				own = own[1:]
			} else {
				out = append(out, id)
			}
		}
	}
	return out
}

// keptFor is what is kept for the ask at hand, nil where candidates are not alike.
func keptFor(s *search, candidates []UnitID, f *firsts) *keptFirsts {
	r, a := s.room, s.ask
	if a.AfterRelease || s.fit.rooms == nil || !areAlike(s, candidates) {
		return nil
	}
	leaves := make([]leafOfFirsts, len(r.byLeaf))
	for at, one := range s.runs {
		if at > 0 && s.runs[at-1].leaf == one.leaf {
			continue
		}
		beyond := r.use(one.leaf, a.short[0]) - r.lineOf(one.leaf, a.short[0], a.byShare())
		leaves[one.leaf] = leafOfFirsts{true, f.class[one.leaf], f.rank[one.leaf], beyond, staying(s, candidates, at)}
	}
	key := firstsKey{a.mode, a.Leaf, a.short[0], s.fit.shape(), eachTakes(s)}
	k := r.firsts[key]
	if k == nil {
		if len(r.firsts) >= max(fewKeptFirsts, mostKeptFirsts/max(1, r.Nodes)) {
			clear(r.firsts)
		}
		k = &keptFirsts{touched: len(r.touched), onNode: make([]first, r.Nodes), leaves: leaves}
		r.firsts[key] = k
	}
	for _, n := range r.touched[k.touched:] {
		k.onNode[n] = first{}
	}
	k.touched = len(r.touched)
	k.follow(s, candidates, leaves)
	return k
}

// follow forgets who is first where somebody of another leaf may go before it now, and where units of a leaf
// stand of which none were candidates, or none are.
func (k *keptFirsts) follow(s *search, candidates []UnitID, leaves []leafOfFirsts) {
	r := s.room
	for leaf := range leaves {
		if was, is := &k.leaves[leaf], &leaves[leaf]; was.goes == is.goes {
			k.forgetOthers(r, was.stay, is.stay)
			k.forgetOthers(r, is.stay, was.stay)
		} else {
			k.forget(r, r.byLeaf[leaf])
		}
	}
	passed := k.passed(s, candidates, leaves)
	if k.leaves = leaves; !slices.Contains(passed, true) {
		return
	}
	for n := range k.onNode {
		if one := &k.onNode[n]; one.some > 0 && one.id != nobody && passed[r.state[one.id].leaf] {
			*one = first{}
		}
	}
}

// forgetOthers forgets what is kept of the nodes of units that are not among others.
func (k *keptFirsts) forgetOthers(r *Evaluator, ids, others []UnitID) {
	if len(ids) == 0 || slices.Equal(ids, others) {
		return
	}
	r.ofUnits.begin(len(r.units))
	for _, id := range others {
		if int(id) < len(r.units) { // else it was undone, and its nodes are touched
			r.ofUnits.mark(int32(id))
		}
	}
	for _, id := range ids {
		if int(id) < len(r.units) && !r.ofUnits.has(int32(id)) {
			k.forget(r, []UnitID{id})
		}
	}
}

// forget forgets what is kept of the nodes on which units stand.
func (k *keptFirsts) forget(r *Evaluator, ids []UnitID) {
	for _, id := range ids {
		for i := range r.units[id].Tasks {
			k.onNode[r.units[id].Tasks[i].Place.Node] = first{}
		}
	}
}

// passed says by leaf whether who is first on a node and of it may not be any more: as those of another
// leaf went behind it, or beside it, and do no more, or as some are excess now, or are no more, that go
// beside it.
func (k *keptFirsts) passed(s *search, candidates []UnitID, leaves []leafOfFirsts) []bool {
	passed := make([]bool, len(leaves))
	beside := make([]bool, len(leaves)) // by rank: whether it is so of some there
	for _, one := range s.runs {
		was, is := &k.leaves[one.leaf], &leaves[one.leaf]
		held := s.room.charged(candidates[one.from]).Of(s.ask.short[0])
		if was.goes && is.goes && min(was.beyond, is.beyond) < held && held <= max(was.beyond, is.beyond) {
			beside[is.rank] = true
		}
	}
	// By what rank they had, the least that one has now of those that had it, and then of those that went behind.
	least := slices.Repeat([]int32{math.MaxInt32}, len(leaves)+1)
	for leaf := range leaves {
		if was := &k.leaves[leaf]; was.goes && leaves[leaf].goes {
			least[was.rank] = min(least[was.rank], leaves[leaf].rank)
		}
	}
	behind := slices.Clone(least)
	for rank := len(leaves) - 1; rank >= 0; rank-- {
		behind[rank] = min(behind[rank], behind[rank+1])
	}
	for leaf := range leaves {
		if was, is := &k.leaves[leaf], &leaves[leaf]; was.goes && is.goes {
			passed[leaf] = behind[was.rank+1] <= is.rank || least[was.rank] < is.rank || beside[is.rank]
		}
	}
	return passed
}
