package preempt

import (
	"slices"

	"github.com/allotsched/allot/placement"
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
func (r *Evaluator) Find(b *Preemptor, mode Mode) (out Proposal, refusal Refusal, ok bool) {
	if r.question.asked {
		return out, Refusal{Cut: true}, false
	}
	defer r.Effort.Answered(r.Effort.Ask())
	if mode == Consolidate && !freeInAll(r, b) { // before the question is built: of thousands most end here
		r.opened = true // it was asked all the same
		return out, Refusal{Cut: r.Effort.Over(looksAt(r))}, false
	}
	a := r.question.begin(r, b, mode)
	defer func() { r.question.asked = false }()
	s := &r.question.search
	if mode == ReclaimAndPreempt {
		out, refusal, ok = a.findBoth(r)
	} else {
		if ok = find(s); ok {
			out = s.proposed
		}
		refusal = s.refusal
	}
	refusal.Cut = refusal.Cut || !ok && r.Effort.Over(0) // whoever noticed: the last set may not have been tried to its end
	out.Bound = r.Effort.Bound()
	return out, refusal, ok
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
	s := &q.search
	s.room, s.ask, s.findings, s.planned = r, &q.ask, findings{}, s.planned[:0]
	r.takersFor = nil
	return &q.ask
}

// find is Find of one way; what it found is what the search has proposed, or its refusal.
func find(s *search) bool {
	r, a, mode := s.room, s.ask, s.ask.mode
	if a.reclaims() {
		if a.readShort(r); len(a.short) == 0 || !r.entitled(a, a.Leaf) {
			return false
		}
		r.prepare(a)
	}
	r.opened = true
	r.forgetTaken()
	s.refusal.Short = a.short
	if over(s, looksAt(r)) {
		return false
	}
	if a.relocates() {
		defer func() { // each set of movers is a step
			s.refusal.Steps, s.refusal.Cut = s.refusal.Steps+a.tried, s.refusal.Cut || a.cut
		}()
	} else if s.fromCache() {
		return true
	}
	if s.plans = s.plansFor(); s.plans.consolidate(s) {
		if !s.found {
			return false
		}
		return s.propose()
	}
	candidates := s.candidates()
	s.refusal.Takeable = len(candidates)
	if mode == Preempt && len(candidates) > 0 {
		s.refusal.Beyond = a.beyondWithout(r, candidates)
	}
	if len(candidates) == 0 || mode != Consolidate && !s.boundHolds(candidates) {
		return false
	}
	if s.plans != nil {
		s.fit = s.plans.fit
	} else {
		s.fit = r.newFit(a)
	}
	if hopeless(s, candidates) || inPieces(s, candidates) {
		s.refusal.Steps++
		return false
	}
	lookAt(s, candidates)
	return s.found && s.propose()
}

// lookAt tries the places for the preemptor, and once more with whom nothing but E7 keeps. Where that keeps nobody the
// second time is in vain as the first was, and the first where it is known of every node that it does not serve: their
// steps are counted.
func lookAt(s *search, candidates []UnitID) {
	r, a, before := s.room, s.ask, s.refusal.Steps
	plain := s.cacheable() && s.cacheKey().below
	if !plain || !s.noneServes || !countInVain(s, len(s.nodesOf(candidates))) {
		s.places(candidates)
	}
	if s.found || a.mode != Preempt || s.refusal.Beyond != nil {
		return
	}
	a.withinLines = !over(s, 0) && slices.ContainsFunc(candidates, func(id UnitID) bool { return r.state[id].protection != none })
	if a.withinLines && !(plain && countInVain(s, s.refusal.Steps-before)) {
		s.places(candidates)
	}
}

// countInVain counts places that are in vain as if they had been tried, and says whether none of them is beyond what
// may be.
func countInVain(s *search, steps int) bool {
	if s.refusal.Cut || s.refusal.Steps+steps > s.room.Steps {
		return false
	}
	s.refusal.Steps += steps
	return true
}

// A search is one question under way.
type search struct {
	room *Evaluator
	ask  *ask
	findings
	// planned are consolidations not yet tried for real, toTry those of them that may serve.
	planned []list
	toTry   []int32
	// Memory that the next search has too. here is scratch.
	listed  []UnitID // the candidates
	movable []UnitID // what may move beside victims
	marked  unitSet  // the candidates, once markAll has marked them
	// goes and moves are, for a relocator, the candidates and what may move.
	goes, moves unitSet
	runs        []run   // all of them, where these are alike
	stood       []int32 // scratch of standing
	told        []first // what was found of nodes by who goes first there
	here        []UnitID
	standsOn    []int32         // scratch of noneMove
	ordered     [2][]UnitID     // scratch of compareLists
	cases       []Justification // scratch of propose
}

// findings are what one search has found out by now.
type findings struct {
	fit      *fit
	refusal  Refusal
	best     list
	found    bool
	proposed Proposal
	// fewer: the workloads at hand are as many as the cap lets go.
	fewer bool
	plans *plans // what is known of consolidations
	// weighed are the single nodes with their victims, for the cache.
	weighed []cacheEntry
	spent   *cache  // its memory is used again
	beyond  []int32 // those of them, and of nodes without, whose price was asked beyond them
	inRuns  bool    // the candidates are in runs
	// noneServes: it is known of every node that clearing it serves nobody.
	noneServes bool
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
	r, a := s.room, s.ask
	return a.admits(r) && !r.Lends && (!a.reclaims() || r.entitled(a, r.top(a.Leaf)))
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
			if s.marked.has(id) && (len(nodes) == 1 || !slices.Contains(here, id)) {
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

// markAll marks the candidates, once for a search.
func markAll(s *search, candidates []UnitID) {
	if s.ask.listed != s {
		s.ask.listed, s.marked = s, unitSetOf(s.room, candidates, s.marked)
	}
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

// propose proposes the best list, and tells the case of every victim.
func (s *search) propose() bool {
	r, best := s.room, &s.best
	s.proposed = Proposal{Mode: s.ask.mode, Staying: best.staying, Anew: best.anew, list: *best}
	s.cases = s.cases[:0]
	if !s.ask.reclaims() || len(best.ids) == 1 && best.beside == 0 { // no use decides of it, or nothing goes before it
		casesAsItIs(s)
	} else {
		casesInTurn(s)
	}
	for _, id := range best.ids[len(best.victims()):] {
		s.cases = append(s.cases, Justification{Victim: id, Moves: true, Subtree: -1, PreemptorSubtree: -1})
	}
	s.proposed.Justifications, r.scratch.cases = cut(r.scratch.cases, s.cases)
	return true
}

// casesAsItIs tells the cases of the victims as things stand.
func casesAsItIs(s *search) {
	r, consolidates, cost := s.room, s.ask.mode == Consolidate, 0
	for _, id := range s.best.victims() {
		one := r.caseOf(s.ask, id)
		one.Moves = consolidates
		s.cases = append(s.cases, one)
		if cost += r.tasks(id); !consolidates {
			cost += r.climb[r.state[id].leaf]
		}
	}
	r.Effort.Spend(2 * cost) // as taking them, and putting them back
}

// casesInTurn tells the case of each victim with those gone that go before it.
func casesInTurn(s *search) {
	r := s.room
	t := r.begin(s.ask, s.fit, s.best.kind)
	for _, id := range s.best.victims() {
		s.cases = append(s.cases, r.caseOf(s.ask, id))
		t.takeOne(id)
	}
	for at := range s.cases { // R1 is of when all have gone, of the preemptor's side too
		if one := &s.cases[at]; one.PreemptorSubtree >= 0 && one.Resource >= 0 {
			one.OwnAfter -= one.OwnBefore
			one.OwnBefore = r.use(one.PreemptorSubtree, one.Resource)
			one.OwnAfter += one.OwnBefore
		}
	}
	t.end()
}
