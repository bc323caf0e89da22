package preempt

import "slices"

// Many preemptors that are alike follow each other, and what the nodes
// would cost changes little from one to the next: the nodes on which units came
// or went are weighed anew, and of all others the price can only have risen, as
// long as nothing has become lawful that was not (Evaluator.law). So the cheapest
// node is weighed anew and is the answer if it is still the cheapest. Which is that, every start
// may turn between queues (see prices).
//
// A price may fall all the same where units of several queues stand on one node, and with the
// order of the queues another of them comes to go first: that is not noticed until the node changes.
//
// That is so of a price that the node alone decides. A preemption may also have to take
// what stands elsewhere, so that the preemptor's queues stay within bounds (E8), and what
// protects the preemptor depends on all of its leaf (E7): a node whose price was asked
// beyond it is weighed anew for each. And prices hold for as much as the lines of the
// preemptor's queues leave to it: with another leeway other victims have to go.

// A cacheKey names preemptors that are alike, and the mode. Preemptors of another priority are alike
// where the same units are below theirs, and nothing else is asked of it, see cacheKey.
type cacheKey struct {
	leaf, like int32
	priority   int32
	below      bool // priority is not theirs, but the highest below it
	mode       Mode
}

// A cache holds what clearing each node would cost, as it was when it was
// weighed: never more than now.
type cache struct {
	law     int64
	touched int // what of Evaluator.touched is read
	fit     *fit
	leeway  []int64 // see leeway
	beyond  []int32 // the nodes whose price was asked beyond them
	stale   []bool  // by node: it has yet to be weighed anew, scratch of refresh
	prices  prices
	ready   bool    // the prices are in order
	told    []first // of nodes that are not among the prices before they are asked for, see tell
	short   []int32 // what was short, when those on nodes were listed
	onNode  []inLine
}

// An inLine is who may go of those on a node, the best standing first, where all are judged
// alike: whoever goes, who goes next is the next of them. Some of the last may have gone since.
type inLine struct {
	ids    []UnitID
	some   int // of them the node cost when it was last weighed; 0 is that they are not listed
	shared int // Evaluator.shared, when they were listed
}

type cacheEntry struct {
	node int32
	heap int32 // of prices, noHeap where it is in none
	list list
}

func (s *search) cacheable() bool {
	a := s.ask
	return a.mode != Consolidate && !a.withinLines && !a.excessOnly && a.Cap == nil && a.Domains == nil && a.Exact && a.Equivalence >= 0 && a.Add.Tasks() == 1 && s.admitted()
}

// cacheKey is that of the preemptor at hand. Where E7 and E8 bind nothing, as its leaf stays within what is guaranteed
// to it, a preemption asks of its priority for nothing but who is below it. Where something is leaving it may be asked
// of what is free then, too, so that what one question has found says less of the next.
func (s *search) cacheKey() cacheKey {
	a, key := s.ask, cacheKey{leaf: s.ask.Leaf, like: s.ask.Equivalence, priority: s.ask.Priority, mode: s.ask.mode}
	if a.mode == Preempt && a.Still && a.unbounded(s.room) && s.room.allBelow(a.Preemptor) {
		key.priority, key.below = s.room.priorities.highestBelow(a.Priority), true
	}
	return key
}

// keepCache keeps what the search found out about the nodes.
func (s *search) keepCache(nodes []int32) {
	if !s.cacheable() || s.refusal.Cut || len(nodes) < fewNodes {
		return
	}
	c := s.spent
	if c == nil {
		c = &cache{stale: make([]bool, s.room.Nodes), onNode: make([]inLine, s.room.Nodes)}
	}
	*c = cache{
		law: s.room.law, touched: len(s.room.touched), fit: s.fit,
		leeway: leeway(s), beyond: s.beyond,
		stale: c.stale, onNode: c.onNode, short: slices.Clone(s.ask.short), told: append(c.told[:0], s.told...),
		prices: c.prices,
	}
	c.prices.items = s.weighed
	clear(c.onNode)
	s.room.caches[s.cacheKey()] = c
}

// tell brings what was found out of all nodes into order, those by who goes first there among the others:
// for the first that asks, as mostly nobody does.
func (c *cache) tell(s *search) {
	if c.ready {
		return
	}
	c.ready = true
	items := c.prices.items
	at, to := len(items)-1, len(items)+len(c.told)-1
	items = slices.Grow(items, len(c.told))[:to+1]
	for next := len(c.told) - 1; next >= 0; to-- {
		if one := &c.told[next]; at < 0 || items[at].node < one.node {
			items[to] = cacheEntry{node: one.node, list: one.list(s)}
			next--
		} else {
			items[to] = items[at]
			at--
		}
	}
	c.told = c.told[:0]
	c.prices.begin(s, items)
}

// makeReady has the memory for what the nodes cost be ready: that of what was found out for
// others that were alike, which holds no more.
func makeReady(s *search, nodes []int32) {
	if !s.cacheable() || len(nodes) < fewNodes {
		return
	}
	key := s.cacheKey()
	if s.spent = s.room.caches[key]; s.spent != nil {
		delete(s.room.caches, key)
		s.weighed = s.spent.prices.items[:0]
	}
	if s.ask.mode == Preempt { // as of most of them is found out whom it costs; a reclaim mostly knows who goes first there
		s.weighed = slices.Grow(s.weighed, len(nodes))
	}
}

// fromCache answers from what was found out for another that was alike.
func (s *search) fromCache() bool {
	r := s.room
	if !s.cacheable() {
		return false
	}
	c := r.caches[s.cacheKey()]
	if c == nil || c.law != r.law || !slices.Equal(c.leeway, leeway(s)) {
		return false
	}
	s.fit, c.fit.ask = c.fit, s.ask
	c.prices.search = s
	c.tell(s)
	s.protectAll()
	s.refresh(c)
	c.prices.again(s)
	if forgetsPrices(s) {
		return false
	}
	defer func() { c.beyond = s.beyond }()
	for s.refusal.Steps < r.Steps {
		top := c.prices.least()
		switch {
		case forgetsPrices(s):
			return false
		case top == nil:
			s.noneServes = true
			return false
		case s.stands(&top.list):
			s.refusal.Steps++
			return answer(s, &top.list)
		}
		node := top.node
		if !c.prices.set(node, s.weigh(c, node)) {
			continue
		}
		if first := c.prices.least(); first.node == node {
			return answer(s, &first.list)
		}
	}
	return false
}

// forgetsPrices says whether the search has cost what it may: then what was weighed may not be all, and is
// forgotten.
func forgetsPrices(s *search) bool {
	over := s.room.Effort.Over(0)
	if over {
		delete(s.room.caches, s.cacheKey())
		s.refusal.Cut = true
	}
	return over
}

// answer proposes a list.
func answer(s *search, l *list) bool {
	s.best, s.found = *l, true
	return s.propose()
}

// refresh weighs anew the nodes on which something has changed, and those whose price
// was asked beyond them.
func (s *search) refresh(c *cache) {
	r := s.room
	touched := r.touched[c.touched:]
	if !slices.Equal(c.short, s.ask.short) {
		clear(c.onNode)
		c.short = slices.Clone(s.ask.short)
	}
	for i, n := range touched {
		if !c.stale[n] {
			c.fit.read(n)
			c.stale[n] = true
		}
		var ignored Refusal
		if by := r.touchedBy[c.touched+i]; by == otherwise || by >= 0 && r.fixed(s.ask, by, &ignored) {
			c.onNode[n].some = 0
		}
	}
	for _, n := range c.beyond {
		c.stale[n] = true
	}
	for _, nodes := range [...][]int32{touched, c.beyond} {
		for _, n := range nodes {
			if c.stale[n] { // once
				c.stale[n] = false
				c.prices.set(n, s.weigh(c, n))
			}
		}
	}
	c.touched = len(r.touched)
}

// weigh finds out what clearing a node costs now; it is the empty list where that serves nobody.
func (s *search) weigh(c *cache, n int32) list {
	r, a := s.room, s.ask
	r.Effort.Spend(1)
	if !r.Index.Admissible(s.fit.shape(), n) {
		return list{}
	}
	if found, ok := weighNext(s, &c.onNode[n], n); ok {
		return found
	}
	c.onNode[n].some = 0
	s.here = s.here[:0]
	var ignored Refusal
	for _, id := range r.onNode(n) {
		if !r.fixed(a, id, &ignored) {
			continue
		}
		r.protect(r.state[id].leaf)
		s.here = append(s.here, id)
	}
	if len(s.here) == 0 {
		return list{}
	}
	a.inStanding, a.beyond, a.place = true, false, r.oneNode(n)
	defer func() {
		a.inStanding = false
		r.forgetTaken() // the next node is another place
		noteBeyond(s, n)
	}()
	kinds := s.kinds()
	if takesTooLittle(s, n, s.fit.missingOn(n), s.here) {
		kinds = nil
	}
	for _, kind := range kinds {
		found, ok := r.clearPlace(a, s.fit, s.here, kind)
		s.refusal.countTried(a, r.Steps)
		if ok {
			s.refusal.Steps++
			found.nodes, found.plain, found.shared = a.place, s.plain(&found), r.shared
			if !a.beyond && judgedAlike(s, &found) {
				c.onNode[n] = inLine{append(c.onNode[n].ids[:0], s.here...), len(found.ids), r.shared}
			}
			return found
		}
		if a.allGone && len(r.budgets) == 0 {
			break // what the other kinds take is a part of that
		}
	}
	if r.forgetTaken(); slices.ContainsFunc(s.here, s.mayBeFirst) {
		s.refusal.Steps++
	}
	return list{}
}

// weighNext is weigh of a node of which it is listed who may go: as many as it cost before
// are tried, which come to what all of them would, unless they are not enough.
func weighNext(s *search, l *inLine, n int32) (list, bool) {
	r, a := s.room, s.ask
	if l.some == 0 || l.shared != r.shared {
		return list{}, false
	}
	s.here = s.here[:0]
	for at := len(l.ids) - 1; at >= 0 && len(s.here) < l.some; at-- {
		switch id := l.ids[at]; {
		case r.state[id].alive:
			r.protect(r.state[id].leaf)
			s.here = append(s.here, id)
		case len(s.here) == 0:
			l.ids = l.ids[:at]
		}
	}
	slices.Reverse(s.here)
	a.inStanding, a.beyond, a.place = true, false, r.oneNode(n)
	found, ok := r.clearPlace(a, s.fit, s.here, inOrder)
	a.inStanding = false
	if r.forgetTaken(); !ok || a.beyond || len(found.ids) == 0 {
		return list{}, false
	}
	r.Effort.Spend((len(l.ids) - len(s.here)) / lookedAt)
	s.refusal.Steps++
	found.nodes, found.plain, found.shared = a.place, s.plain(&found), r.shared
	l.some = len(found.ids)
	return found, true
}

// judgedAlike says whether those on the node that was weighed last go in the order in which
// they stand, whoever of them has gone: each is all of its workload, and those that a reclaim
// may take are of one leaf and hold the same.
func judgedAlike(s *search, l *list) bool {
	r := s.room
	if l.kind != inOrder || len(l.ids) == 0 || len(r.budgets) > 0 || len(r.timed) > 0 || r.Straddle == Spare {
		return false
	}
	first := &r.state[s.here[0]]
	return !slices.ContainsFunc(s.here, func(id UnitID) bool {
		u := &r.state[id]
		return !r.alone(id) || s.ask.mode != Preempt && (u.leaf != first.leaf || u.charge != first.charge || u.charge == 0)
	})
}

// mayBeFirst says whether a unit may be the first to go.
func (s *search) mayBeFirst(id UnitID) bool {
	v := s.room.first(s.ask, id)
	return v == lawful || v == notYet
}

// stands says whether weighing a node on which nothing has changed would come to the
// same list again, as its units would be taken one after the other as they were, and
// leave nothing that counts for the next weighing.
func (s *search) stands(l *list) bool {
	r, a := s.room, s.ask
	if !l.plain || l.shared != r.shared {
		return false
	}
	if a.mode == Preempt {
		return a.unbounded(r) && plainlyRanked(r, a, l.ids)
	}
	id := l.ids[0]
	leaf, held := r.state[id].leaf, r.charged(id)
	if r.protectionOf(a, id) != none || r.first(a, id) != lawful || r.classOf(a, leaf, held) != l.class[0] {
		return false
	}
	return a.excess(r, leaf, held) // or another that is goes before it
}

// plain says whether the list of a node that was weighed says by itself whether it
// stands: who may go stands there only, and is all of its workload. Of a reclaim that is one unit, where all that may go are of one leaf and
// hold the same, so that standing alone decides; of a preemption it is any list that
// the first order gives.
func (s *search) plain(l *list) bool {
	r, a := s.room, s.ask
	if l.kind != inOrder || !a.Still || len(r.budgets) > 0 || slices.ContainsFunc(s.here, func(id UnitID) bool { return !r.alone(id) }) {
		return false
	}
	if a.mode == Preempt {
		return s.ask.unbounded(s.room)
	}
	leaf, mask := r.state[l.ids[0]].leaf, r.mask(a, l.ids[0])
	return len(l.ids) == 1 && !slices.ContainsFunc(s.here, func(id UnitID) bool {
		return r.state[id].leaf != leaf || r.mask(a, id) != mask
	})
}

// noteBeyond notes the node if its price was asked beyond it.
func noteBeyond(s *search, n int32) {
	if s.ask.beyond {
		s.beyond = append(s.beyond, n)
	}
}

// leeway is how much of what the preemptor asks E8 leaves to it at each level of its path
// though nobody goes; it is empty where that is all of it, or E8 binds nothing.
func leeway(s *search) (some []int64) {
	r, a := s.room, s.ask
	if a.mode != Preempt || s.ask.unbounded(s.room) {
		return nil
	}
	for _, asks := range a.Asks {
		if !r.divides(asks.Resource) {
			continue
		}
		for q := a.Leaf; q >= 0; q = r.parent(q) {
			left := max(r.quota(q, asks.Resource), r.share(q, asks.Resource)) - r.use(q, asks.Resource)
			some = append(some, min(max(left, 0), asks.Value))
		}
	}
	return some
}

// protectAll brings the protection of every leaf from which preemption may take
// up to date; a reclaim asks about none but those of the units it weighs.
func (s *search) protectAll() {
	for leaf := range s.room.byLeaf {
		if len(s.room.byLeaf[leaf]) > 0 && s.ask.mode == Preempt {
			s.room.protect(int32(leaf))
		}
	}
}
