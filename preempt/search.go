package preempt

import (
	"math/bits"
	"slices"

	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// Find proposes the least harmful way to make room for the preemptor in one
// mode, or says why there is none. Whether the mode is allowed at all is the
// caller's business, and that the preemptor does not start as things stand. The
// world is as it was afterwards.
//
// It takes time in the units that might be taken and, times the sets of victims
// tried, in those that stand on them; the bounds come first, and where they
// refuse that is all.
//
// There is one search at a time: asked by a function that another one has called, it refuses
// as one that was cut.
func (r *Evaluator) Find(b *Preemptor, mode Mode) (Proposal, Refusal, bool) {
	if r.question.asked {
		return Proposal{}, Refusal{Cut: true}, false
	}
	a := r.question.begin(r, b, mode)
	defer func() { r.question.asked = false }()
	defer r.Effort.Answered(r.Effort.Ask())
	var found Proposal
	var refusal Refusal
	var ok bool
	if mode == ReclaimAndPreempt {
		found, refusal, ok = a.findBoth(r)
	} else {
		found, refusal, ok = find(&r.question.search)
	}
	refusal.Cut = refusal.Cut || !ok && r.Effort.Over(0) // whoever noticed: the last set may not have been tried to its end
	found.Bound = r.Effort.Bound()
	return found, refusal, ok
}

// A question is what is asked at last and the search for it, whose memory the next one has.
type question struct {
	ask    ask
	search search
	asked  bool // it is under way
}

// begin begins another one.
func (q *question) begin(r *Evaluator, b *Preemptor, mode Mode) *ask {
	q.asked = true
	q.ask = ask{Preemptor: b, mode: mode}
	before := &q.search
	q.search = search{
		room: r, ask: &q.ask, here: before.here, standsOn: before.standsOn, ordered: before.ordered,
		listed: before.listed, runs: before.runs, stood: before.stood, told: before.told,
	}
	r.takersFor = nil
	return &q.ask
}

// find is Find of one way.
func find(s *search) (found Proposal, refusal Refusal, ok bool) {
	r, a, mode := s.room, s.ask, s.ask.mode
	if a.reclaims() {
		if a.readShort(r); len(a.short) == 0 || !r.entitled(a, a.Leaf) {
			return Proposal{}, Refusal{}, false
		}
		r.prepare(a)
	}
	r.opened = true
	r.forgetTaken()
	s.refusal.Short = a.short
	if over(s, looksAt(r)) {
		return Proposal{}, s.refusal, false
	}
	if mode == Consolidate && !s.boundHolds(nil) { // moving frees nothing in all
		return Proposal{}, s.refusal, false
	}
	if a.relocates() {
		defer func() { // each set of movers is a step
			refusal.Steps, refusal.Cut = refusal.Steps+a.tried, refusal.Cut || a.cut
		}()
	} else if found, ok := s.fromCache(); ok {
		return found, s.refusal, true
	}
	if s.plans = s.plansFor(); s.plans.consolidate(s) {
		if !s.found {
			return Proposal{}, s.refusal, false
		}
		return s.proposal(), s.refusal, true
	}
	candidates := s.candidates()
	s.refusal.Takeable = len(candidates)
	if mode == Preempt && len(candidates) > 0 {
		s.refusal.Beyond = a.beyondWithout(r, candidates)
	}
	if len(candidates) == 0 || mode != Consolidate && !s.boundHolds(candidates) {
		return Proposal{}, s.refusal, false
	}
	if s.plans != nil {
		s.fit = s.plans.fit
	} else {
		s.fit = r.newFit(a)
	}
	if hopeless(s, candidates) || inPieces(s, candidates) {
		s.refusal.Steps++
		return Proposal{}, s.refusal, false
	}
	s.places(candidates)
	if !s.found && mode == Preempt && s.refusal.Beyond == nil {
		a.withinLines = !over(s, 0) && slices.ContainsFunc(candidates, func(id UnitID) bool { return r.state[id].protection != none })
		if a.withinLines {
			s.places(candidates)
		}
	}
	if !s.found {
		return Proposal{}, s.refusal, false
	}
	return s.proposal(), s.refusal, true
}

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

// beyondWithout is the first line, from the leaf up, that the preemptor would cross
// with all candidates gone, nil if it would cross none.
func (a *ask) beyondWithout(r *Evaluator, candidates []UnitID) *Right {
	for q := a.Leaf; q >= 0; q = r.parent(q) {
		for _, asks := range a.Asks {
			line, divided := r.Entitlement(q, asks.Resource, q == a.Leaf)
			use := r.use(q, asks.Resource)
			if !divided || use+asks.Value <= line {
				continue
			}
			for _, id := range candidates {
				if r.isBelow(r.state[id].leaf, q) {
					use -= r.units[id].Charge.Of(asks.Resource)
				}
			}
			if use+asks.Value > line {
				return &Right{Queue: q, Resource: asks.Resource, Use: use, Asks: asks.Value, Entitlement: line}
			}
		}
	}
	return nil
}

// A search is one question under way.
type search struct {
	room    *Evaluator
	ask     *ask
	fit     *fit
	refusal Refusal
	best    list
	found   bool
	// fewer: the workloads at hand are as many as the cap lets go.
	fewer bool
	// planned are consolidations not yet tried for real; plans are what is known of
	// them.
	planned []list
	plans   *plans
	// weighed are the single nodes with their victims, for the cache; here is
	// scratch.
	weighed  []cacheEntry
	spent    *cache   // its memory is used again
	beyond   []int32  // those of them, and of nodes without, whose price was asked beyond them
	listed   []UnitID // the candidates
	runs     []run    // all of them, where these are alike
	inRuns   bool     // they are
	stood    []int32  // scratch of standing
	told     []first  // what was found of nodes by who goes first there
	here     []UnitID
	standsOn []int32     // scratch of noneMove
	ordered  [2][]UnitID // scratch of compareLists
}

// places tries the places for the preemptor and keeps the best.
func (s *search) places(candidates []UnitID) {
	if s.ask.relocates() {
		(&relocator{search: s}).places(candidates)
		return
	}
	nodes := s.nodesOf(candidates)
	switch {
	case s.ask.Add.Tasks() == 1 && s.admitted():
		makeReady(s, nodes)
		firsts := firstsOf(s, candidates)
		s.told = s.told[:0]
		for _, n := range nodes {
			if !firsts.try(s, n, candidates) {
				s.planNode(s.plans, n, candidates)
			}
		}
		firsts.settle(s)
		s.keepCache(nodes)
	case s.ask.Domains != nil && s.ask.Exact:
		s.tryDomains(nodes, candidates)
	case len(nodes) <= fewNodes:
		eachSet(nodes, func(some []int32) { s.tryNodes(some, candidates) })
	case s.ask.Domains != nil:
		s.tryDomains(nodes, candidates)
		tryAnywhere(s, candidates)
	default:
		if s.ask.Exact {
			s.tryCheapest(nodes, candidates)
		}
		tryEach(s, nodes[:min(len(nodes), singleNodes)], candidates)
		tryAnywhere(s, candidates)
	}
	if s.ask.mode == Consolidate {
		switch {
		case len(candidates) <= fewUnits:
			s.planSets(candidates)
		case len(nodes) <= fewNodes:
			eachSet(nodes, func(some []int32) { s.consolidateSet(some, candidates) })
		}
		s.consolidate()
	}
}

// tryAnywhere tries the candidates wherever they stand. Leaf by leaf they are listed by
// standing, by which a reclaim takes of each.
func tryAnywhere(s *search, candidates []UnitID) {
	s.ask.inStanding = s.ask.reclaims()
	s.try(nil, candidates)
	s.ask.inStanding = false
}

// tryEach tries the nodes one by one. Whom a preemption takes does not depend on the node
// but only on who stands there: where that are the same gangs as on an earlier node, or where
// who goes first was enough on one, it comes to the same victims, and of equal lists that of
// the first node is the better (M3).
func tryEach(s *search, nodes []int32, candidates []UnitID) {
	var tried [][]UnitID
	var enough []UnitID // each by itself, as the first to go
	for _, n := range nodes {
		one := []int32{n}
		if s.ask.mode != Preempt {
			s.tryNodes(one, candidates)
			continue
		}
		here := s.on(one, candidates)
		if len(enough) > 0 && len(here) > 0 && !ended(s) && slices.Contains(enough, slices.MaxFunc(here, s.room.better)) ||
			slices.ContainsFunc(tried, func(before []UnitID) bool { return slices.Equal(before, here) }) {
			s.refusal.Steps++
			continue
		}
		tried = append(tried, slices.Clone(here))
		if !ended(s) && allGoInVain(s, one, here) {
			s.refusal.Steps++
			s.room.Effort.Spend(1)
			continue
		}
		known := len(s.weighed)
		if s.try(one, here); len(s.weighed) > known && firstIsEnough(s, here) {
			enough = append(enough, s.weighed[known].list.ids[0])
		}
	}
}

// firstIsEnough says whether of those on the node that was weighed last nobody but the first to
// go had to, whoever else stands there.
func firstIsEnough(s *search, here []UnitID) bool {
	l := &s.weighed[len(s.weighed)-1].list
	return len(l.ids) == 1 && l.kind == inOrder && s.ask.Cap == nil && !s.ask.relocates() && len(s.room.budgets) == 0 &&
		l.ids[0] == slices.MaxFunc(here, s.room.better)
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

// eachSet calls f for every set of the nodes but the empty one.
func eachSet(nodes []int32, f func([]int32)) {
	for set := 1; set < 1<<len(nodes); set++ {
		var some []int32
		for i, n := range nodes {
			if set&(1<<i) != 0 {
				some = append(some, n)
			}
		}
		f(some)
	}
}

// admitted says whether quotas and limits admit the preemptor as things stand,
// whoever goes, and a reclaim may come from any side: then a single task needs room on one
// node and nothing else.
func (s *search) admitted() bool {
	r, b := s.room, s.ask.Preemptor
	_, ok := r.Tree.Check(int(b.Leaf), b.Asks, b.NonPreemptible)
	return ok && !r.Lends && (!s.ask.reclaims() || r.entitled(s.ask, r.top(b.Leaf)))
}

// nodesOf lists the nodes, by position, where candidates stand and where a task
// of the preemptor might.
func (s *search) nodesOf(candidates []UnitID) []int32 {
	r := s.room
	// Moves make way for other moves, and what frees a limit may stand anywhere.
	anywhere := s.ask.mode == Consolidate || !s.admitted()
	nodes := standing(s, candidates)
	if anywhere {
		return slices.Clone(nodes)
	}
	out := make([]int32, 0, len(nodes))
	for _, n := range nodes {
		helps := func(sh placement.Shape) bool {
			return r.Index.Admissible(sh, n) && (!s.ask.Exact || s.fit.domain == nil || s.fit.domain[n] >= 0)
		}
		if slices.ContainsFunc(s.ask.Shapes, helps) {
			out = append(out, n)
		}
	}
	return out
}

// tryNodes tries the candidates that stand on the nodes.
func (s *search) tryNodes(nodes []int32, candidates []UnitID) {
	s.try(nodes, s.on(nodes, candidates))
}

// on lists the candidates that stand on the nodes, in memory that the next call
// uses again.
func (s *search) on(nodes []int32, candidates []UnitID) []UnitID {
	r := s.room
	markAll(s, candidates)
	here := s.here[:0]
	for _, n := range nodes {
		from := len(here)
		for _, id := range r.byNode[n] {
			if isMarked(s, id) && (len(nodes) == 1 || !slices.Contains(here, id)) {
				here = append(here, id)
			}
		}
		if s.ask.Cap != nil { // the sets of as many as it lets go are tried in this order
			slices.Sort(here[from:])
		}
	}
	s.here = here
	return here
}

// markAll marks the candidates, once for a search; where all of a leaf are, the leaf.
func markAll(s *search, candidates []UnitID) {
	r := s.room
	if s.ask.listed == s {
		return
	}
	s.ask.listed = s
	r.turn++
	if len(r.seen) < len(r.units) {
		r.seen = append(r.seen, make([]int32, len(r.units)-len(r.seen))...)
	}
	for from := 0; from < len(candidates); {
		leaf := r.state[candidates[from]].leaf
		all := len(r.byLeaf[leaf])
		if areAlike(s, candidates) && from+all <= len(candidates) && r.state[candidates[from+all-1]].leaf == leaf {
			r.seenLeaf[leaf] = r.turn
			from += all
			continue
		}
		r.seen[candidates[from]] = r.turn
		from++
	}
}

// isMarked says whether a unit is a candidate of the search that marked them last.
func isMarked(s *search, id UnitID) bool {
	r := s.room
	return r.seenLeaf[r.state[id].leaf] == r.turn || r.seen[id] == r.turn
}

// oneNode lists one node.
func (r *Evaluator) oneNode(n int32) []int32 {
	var out []int32
	one := [1]int32{n}
	out, r.scratch.nodes = cut(r.scratch.nodes, one[:])
	return out
}

// try looks for victims among the candidates and keeps them if they are better
// than the best so far.
func (s *search) try(nodes []int32, candidates []UnitID) {
	if len(candidates) == 0 {
		return
	}
	if ended(s) {
		return
	}
	s.refusal.Steps++
	s.room.Effort.Spend(1)
	if len(nodes) == 1 && (s.tooSmall(nodes[0], candidates) || fewMove(s, candidates) || takesTooLittle(s, nodes[0], s.fit.missingOn(nodes[0]), candidates)) {
		return
	}
	s.ask.place, s.ask.beyond = nodes, false
	if len(nodes) == 1 {
		defer noteBeyond(s, nodes[0])
	}
	for _, kind := range s.kinds() {
		found, ok := s.room.clearPlace(s.ask, s.fit, candidates, kind)
		s.refusal.countTried(s.ask, s.room.Steps)
		if !ok && s.ask.allGone && len(s.room.budgets) == 0 {
			return // what the other kinds take is a part of that
		}
		if !ok {
			continue
		}
		found.nodes = nodes
		if s.overCap(&found) {
			s.tryFewer(nodes, candidates)
			continue
		}
		if s.ask.mode == Consolidate {
			s.planned = append(s.planned, found)
			if s.alike(candidates) { // every order comes to the same
				for _, kind := range s.kinds()[1:] {
					found.kind = kind
					s.planned = append(s.planned, found)
				}
				return
			}
			continue // another order may move less
		}
		if len(nodes) == 1 {
			s.weighed = append(s.weighed, cacheEntry{node: nodes[0], list: found})
		}
		s.keep(found)
		return
	}
}

// ended says whether the search has come to one of its bounds, the sets that are tried or
// what they cost, and takes note of that.
func ended(s *search) bool {
	if over(s, 0) {
		return true
	}
	over := s.refusal.Steps >= s.room.Steps
	s.refusal.Cut = s.refusal.Cut || over
	return over
}

// over says whether the search has cost what it may, or would with so many steps more.
func over(s *search, more int) bool {
	over := s.room.Effort.Over(more)
	s.refusal.Cut = s.refusal.Cut || over
	return over
}

// lookedAt is how many units, or nodes, are looked at in the time of a step.
const lookedAt = 8

// looksAt is what a question costs before the first set is tried.
func looksAt(r *Evaluator) int { return (len(r.units) + r.Nodes) / lookedAt }

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
			most = addUpTo(most, r.units[id].Charge.Of(need.Resource))
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
			held = r.units[id].Charge.Of(res)
		}
		sums.add(u.leaf, held, r.protectionOf(a, id) == none)
	}
	for _, leaf := range sums.leaves {
		most = addUpTo(most, sums.most(s, leaf))
	}
	return most, true
}

// most is the most that a reclaim may take of a leaf.
func (h *heldByLeaf) most(s *search, leaf int32) int64 {
	r, a, one := s.room, s.ask, h.of[leaf]
	return min(one.all, max(one.loose, r.use(leaf, a.short[0])-r.lineOf(leaf, a.short[0], a.byShare())))
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
		held := timesUpTo(r.units[id].Charge.Of(a.short[0]), one.to-one.from)
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

// alike says whether all candidates are of one size.
func (s *search) alike(candidates []UnitID) bool {
	units := s.room.units
	return !slices.ContainsFunc(candidates, func(id UnitID) bool { return units[id].GPUs != units[candidates[0]].GPUs })
}

func (s *search) kinds() []orderKind {
	switch s.ask.mode {
	case Due:
		if len(s.room.budgets) == 0 {
			return []orderKind{inOrder}
		}
		return []orderKind{inOrder, largest, smallest}
	case Consolidate:
		return []orderKind{inOrder, largest, smallest}
	case Preempt:
		switch some := len(s.room.budgets) > 0; {
		case s.ask.relocates(), s.ask.withinLines && some: // beside moves nothing protected goes anyway
			return []orderKind{inOrder, largest, smallest}
		case s.ask.withinLines:
			return []orderKind{inOrder}
		case !some:
			return []orderKind{inOrder, notQuota, looseOnly}
		}
		return []orderKind{inOrder, notQuota, looseOnly, largest, smallest} // the first may use a budget up (M7)
	}
	if s.ask.relocates() && !s.ask.excessOnly {
		return []orderKind{inOrder, excessOnly, largest, smallest}
	}
	if s.ask.excessOnly {
		return []orderKind{inOrder, oneOnly, largest, smallest}
	}
	return []orderKind{inOrder, looseOnly, excessOnly, oneOnly, largest, smallest}
}

// countTried counts the units that were tried each by itself as steps.
func (f *Refusal) countTried(a *ask, most int) {
	f.Steps += a.tried
	f.Cut = f.Cut || f.Steps > most
	a.tried = 0
}

func (s *search) keep(found list) {
	if !s.found || s.compareLists(&found, &s.best) < 0 {
		s.best, s.found = found, true
	}
}

// proposal tells the case of every victim of the best list.
func (s *search) proposal() Proposal {
	r := s.room
	out := Proposal{Mode: s.ask.mode, Staying: s.best.staying, Anew: s.best.anew, list: s.best}
	if ids := s.best.ids; len(ids) == 1 && s.best.beside == 0 && s.ask.mode != Consolidate { // nothing goes before it
		u := r.units[ids[0]]
		r.Effort.Spend(2 * (len(u.Tasks) + r.climb[u.Leaf])) // as taking it, and putting it back
		out.Justifications = []Justification{r.caseOf(s.ask, ids[0])}
		return out
	}
	t := r.begin(s.ask, s.fit, s.best.kind)
	for _, id := range s.best.victims() {
		one := r.caseOf(s.ask, id)
		one.Moves = s.ask.mode == Consolidate
		out.Justifications = append(out.Justifications, one)
		t.takeOne(id)
	}
	for at := range out.Justifications { // R1 is of when all have gone, of the preemptor's side too
		if one := &out.Justifications[at]; one.PreemptorSubtree >= 0 && one.Resource >= 0 {
			one.OwnAfter -= one.OwnBefore
			one.OwnBefore = r.use(one.PreemptorSubtree, one.Resource)
			one.OwnAfter += one.OwnBefore
		}
	}
	t.end()
	for _, id := range s.best.ids[len(s.best.victims()):] {
		out.Justifications = append(out.Justifications, Justification{Victim: id, Moves: true, Subtree: -1, PreemptorSubtree: -1})
	}
	return out
}
