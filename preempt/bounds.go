package preempt

import (
	"math/bits"
	"slices"

	"github.com/allotsched/allot/quota"
)

// The sound bounds of a search (M8): what can be told by adding up what units hold, without taking one.
// No bound refuses what a search would find.

// hopeless is a sound bound (M8): with all candidates gone the nodes do not take the
// preemptor as they stand. What is remembered of a single task from one question to the next
// needs none, and a cap on victims is told of before.
func hopeless(s *search, candidates []UnitID) bool {
	single := s.ask.Add.Tasks() == 1
	if s.ask.mode == Consolidate || s.ask.relocates() || single && s.admitted() || !single && s.ask.Cap != nil {
		return false
	}
	w := withoutAll(s, candidates)
	return w != nil && !w.enough()
}

// allGoInVain is a sound bound (M8) for a gang on a node where whoever stands asks what it does:
// even with all of them gone it does not start, or all would have to go and do more harm than the
// best so far. A task that goes makes room for one, or for one on each of its devices.
func allGoInVain(s *search, node []int32, here []UnitID) bool {
	r, a, f := s.room, s.ask, s.fit
	if f.rooms == nil || f.domain != nil || !a.Still || a.Cap != nil || a.relocates() || len(here) < 2 {
		return false
	}
	missing, most, least := f.need-f.total, 0, f.need
	l := list{kind: inOrder, nodes: node, withinLines: a.withinLines}
	for _, id := range here {
		u, room := r.units[id], 0
		if !r.single(id) {
			return false // others go with it
		}
		for i := range u.Tasks {
			if u.Tasks[i].Shape != f.shape() {
				return false
			}
			room += max(1, bits.OnesCount64(u.Tasks[i].Place.Devices))
		}
		most, least = most+room, min(least, room)
		l.ids, l.class = append(l.ids, id), append(l.class, 0)
	}
	r.Effort.Spend(len(here))
	return most < missing || s.found && most-least < missing && s.compareLists(&l, &s.best) >= 0
}

// tooSmall is a sound bound (M8): a node does not take enough tasks more even if all
// candidates on it were gone.
func (s *search) tooSmall(n int32, candidates []UnitID) bool {
	r, f := s.room, s.fit
	if f.rooms == nil || f.need == 1 && s.ask.mode != Consolidate || s.ask.relocates() {
		return false
	}
	missing := f.missingOn(n)
	for _, need := range s.ask.Need { // of all tasks together, which are alike
		most := s.ask.nodes(r.Index).MostFree(n, need.Resource)
		for _, id := range candidates {
			if !r.alone(id) {
				return false // what goes frees something elsewhere too
			}
			most = addUpTo(most, r.charged(id).Of(need.Resource))
		}
		if most/(need.Value/int64(f.need)) < missing {
			return true
		}
	}
	return false
}

// takesTooLittle is a sound bound (M8) of a reclaim: with what is free on a node and the most
// that it may take of those there the node does not take so many tasks.
func takesTooLittle(s *search, n int32, tasks int64, here []UnitID) bool {
	each := eachTakes(s)
	if each == 0 {
		return false
	}
	most, known := mostWith(s, n, here)
	return known && most/each < tasks
}

// eachTakes is what a task of a reclaim that is short of one resource takes of it on a node, 0
// where nothing is known of that.
func eachTakes(s *search) int64 {
	a, f := s.ask, s.fit
	if !a.reclaims() || len(a.short) != 1 || f.rooms == nil || a.relocates() {
		return 0
	}
	return a.Need.Of(a.short[0]) / int64(f.need) // of all tasks together, which are alike
}

// mostWith is what is free on a node of the resource that a reclaim is short of, with the most that it
// may take of those there, of each leaf by R9 either its excess or what is not protected. It
// is not known where others go with them, who may free something there.
func mostWith(s *search, n int32, here []UnitID) (most int64, known bool) {
	r, a := s.room, s.ask
	res := a.short[0]
	most = a.nodes(r.Index).MostFree(n, res)
	sums := r.scratch.held.begin(len(r.byLeaf))
	held := int64(0)
	for i, id := range here {
		if !r.single(id) {
			return 0, false
		}
		u := &r.state[id]
		if i == 0 || u.charge == 0 || u.charge != r.state[here[i-1]].charge {
			held = r.charged(id).Of(res)
		}
		sums.add(u.leaf, held, r.protectionOf(a, id) == none)
	}
	for _, leaf := range sums.leaves {
		most = addUpTo(most, sums.most(s, leaf))
	}
	return most, true
}

// inPieces is a sound bound (M8) of a reclaim for a gang: with the most that it may take on each node, and in
// all, the nodes do not take it, if on each it takes no more than is missing there for whole tasks.
func inPieces(s *search, candidates []UnitID) bool {
	r, a, f := s.room, s.ask, s.fit
	each := eachTakes(s)
	if each == 0 || a.Cap != nil || f.domain != nil || f.need == 1 {
		return false
	}
	taken, known := mostInAll(s, candidates)
	if !known {
		return false
	}
	r.Effort.Spend((len(candidates) + r.Nodes) / lookedAt)
	missing := f.need - f.total
	var costs []int64 // of one task more, on the nodes that may take it
	for n := range int32(r.Nodes) {
		here := s.on([]int32{n}, candidates)
		if len(here) == 0 {
			continue
		}
		most, _ := mostWith(s, n, here)
		free := a.nodes(r.Index).MostFree(n, a.short[0])
		for tasks := int64(f.rooms[n]) + 1; tasks <= most/each && tasks <= int64(f.need); tasks++ {
			costs = append(costs, max(0, min(each, tasks*each-free)))
		}
		if len(costs) >= missing && taken/each >= int64(missing) {
			return false // none costs more
		}
	}
	slices.Sort(costs)
	for _, cost := range costs {
		if taken -= cost; missing <= 0 || taken < 0 {
			break
		}
		missing--
	}
	return missing > 0
}

// mostInAll is the most that a reclaim may take of the resource that it is short of.
func mostInAll(s *search, candidates []UnitID) (most int64, known bool) {
	r, a := s.room, s.ask
	sums := r.scratch.held.begin(len(r.byLeaf))
	for one := range eachRun(s, candidates) {
		id := candidates[one.from]
		if !r.single(id) {
			return 0, false
		}
		held := timesUpTo(r.charged(id).Of(a.short[0]), one.to-one.from)
		sums.add(one.leaf, held, r.protectionOf(a, id) == none)
	}
	for _, leaf := range sums.leaves {
		most = addUpTo(most, sums.most(s, leaf))
	}
	return most, true
}

// fewMove is a sound bound (M8) for a single task that no node takes as things stand: a node does not
// take it by moves. It would come to one on which somebody stands who moves; who finds no other place as
// things stand stays on the nodes of these.
func fewMove(s *search, candidates []UnitID) bool {
	a := s.ask
	return a.mode == Consolidate && a.MayMove != nil && a.Still && a.Cap == nil && a.Add.Tasks() == 1 &&
		slices.ContainsFunc(a.Need, func(need quota.Amount) bool { return mostLeft(s, candidates, need.Resource) < need.Value })
}

// mostLeft is what of a resource may be free at most on the nodes where workloads of some units stand, once
// those of them have gone that find another place as things stand.
func mostLeft(s *search, candidates []UnitID, res int32) (most int64) {
	r := s.room
	r.onNodes.begin(r.Nodes)
	r.ofWorks.begin(len(r.byWork))
	for _, id := range candidates {
		if !r.ofWorks.mark(r.units[id].Work) {
			continue
		}
		for of := r.byWork[r.units[id].Work]; of >= 0; of = r.state[of].next {
			u := r.units[of]
			for at := range u.Tasks {
				if n := u.Tasks[at].Place.Node; r.onNodes.mark(n) {
					most = addUpTo(most, r.Index.MostFree(n, res))
				}
			}
			if held := u.Charge.Of(res); held > 0 && s.ask.MayMove(u) {
				most = addUpTo(most, held)
			}
		}
	}
	return most
}

// heldByLeaf sums what units hold, leaf by leaf.
type heldByLeaf struct {
	of     []struct{ all, loose int64 } // by leaf: of all, and of what is not protected
	leaves []int32                      // of which there is some, in the order in which they came
	came   marks
}

// begin begins anew, of so many leaves.
func (h *heldByLeaf) begin(leaves int) *heldByLeaf {
	if len(h.of) < leaves {
		h.of = make([]struct{ all, loose int64 }, leaves)
	}
	h.came.begin(leaves)
	h.leaves = h.leaves[:0]
	return h
}

// add adds what one unit of a leaf holds.
func (h *heldByLeaf) add(leaf int32, held int64, loose bool) {
	one := &h.of[leaf]
	if h.came.mark(leaf) {
		one.all, one.loose = 0, 0
		h.leaves = append(h.leaves, leaf)
	}
	one.all = addUpTo(one.all, held)
	if loose {
		one.loose = addUpTo(one.loose, held)
	}
}

// most is the most that a reclaim may take of a leaf.
func (h *heldByLeaf) most(s *search, leaf int32) int64 {
	r, a, one := s.room, s.ask, h.of[leaf]
	return min(one.all, max(one.loose, r.use(leaf, a.short[0])-r.lineOf(leaf, a.short[0], a.byShare())))
}

// addUpTo returns a + b, for a, b ≥ 0, or the largest int64.
func addUpTo(a, b int64) int64 {
	if sum := a + b; sum >= 0 {
		return sum
	}
	return 1<<63 - 1
}

// timesUpTo returns n × a, for a, n ≥ 0, or the largest int64.
func timesUpTo(a int64, n int) int64 {
	if hi, lo := bits.Mul64(uint64(a), uint64(n)); hi == 0 && lo < 1<<63 {
		return int64(lo)
	}
	return 1<<63 - 1
}
