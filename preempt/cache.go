package preempt

import "slices"

// Many beneficiaries that are alike follow each other, and what the nodes
// would cost changes little from one to the next: the nodes on which units came
// or went are weighed anew, and of all others the price can only have risen, as
// long as nothing has become lawful that was not (Room.law). So the cheapest
// node is weighed anew and is the answer if it is still the cheapest.

// A cacheKey names beneficiaries that are alike, and the mode.
type cacheKey struct {
	leaf, like int32
	priority   int32
	mode       Mode
}

// A cache holds what clearing each node would cost, as it was when it was
// weighed: never more than now.
type cache struct {
	law     int64
	touched int // what of Room.touched is read
	fit     *fit
	version []int32 // by node: entries of older versions are void
	entries leastFirst[cacheEntry]
}

type cacheEntry struct {
	node, version int32
	list          list
}

func (s *search) cacheable() bool {
	a := s.ask
	return a.mode != Consolidate && a.Cap == nil && a.Exact && a.Like >= 0 && a.Add.Tasks() == 1 && s.admitted()
}

func (s *search) cacheKey() cacheKey {
	return cacheKey{s.ask.Leaf, s.ask.Like, s.ask.Priority, s.ask.mode}
}

// keepCache keeps what the search found out about the nodes.
func (s *search) keepCache(nodes []int32) {
	if !s.cacheable() || s.refusal.Cut || len(nodes) < fewNodes {
		return
	}
	c := &cache{
		law: s.room.law, touched: len(s.room.touched), fit: s.fit,
		version: make([]int32, s.room.Nodes),
		entries: leastFirst[cacheEntry]{search: s, items: s.weighed, listOf: func(e *cacheEntry) *list { return &e.list }},
	}
	c.entries.init()
	s.room.caches[s.cacheKey()] = c
}

// fromCache answers from what was found out for another that was alike.
func (s *search) fromCache() (Proposal, bool) {
	r := s.room
	if !s.cacheable() {
		return Proposal{}, false
	}
	c := r.caches[s.cacheKey()]
	if c == nil || c.law != r.law {
		return Proposal{}, false
	}
	c.entries.search, s.fit, c.fit.ask = s, c.fit, s.ask
	s.protectAll()
	s.refresh(c)
	for len(c.entries.heap) > 0 && s.refusal.Steps < r.Steps {
		top := c.entries.pop()
		if top.version != c.version[top.node] {
			continue
		}
		fresh, ok := s.weigh(top.node)
		if !ok {
			continue
		}
		c.entries.push(cacheEntry{top.node, top.version, fresh})
		if first := c.entries.top(); first.node == top.node && first.version == top.version {
			s.best, s.found = fresh, true
			return s.proposal(), true
		}
	}
	return Proposal{}, false
}

// refresh weighs anew the nodes on which something has changed.
func (s *search) refresh(c *cache) {
	r := s.room
	for _, n := range r.touched[c.touched:] {
		if c.version[n] >= 0 {
			c.version[n] = ^(c.version[n] + 1) // once
		}
	}
	for _, n := range r.touched[c.touched:] {
		if c.version[n] >= 0 {
			continue
		}
		c.version[n] = ^c.version[n]
		room := c.fit.roomOn(n)
		c.fit.total += int(room - c.fit.rooms[n])
		c.fit.rooms[n] = room
		if found, ok := s.weigh(n); ok {
			c.entries.push(cacheEntry{n, c.version[n], found})
		}
	}
	c.touched = len(r.touched)
}

// weigh finds out what clearing a node costs now.
func (s *search) weigh(n int32) (list, bool) {
	r, a := s.room, s.ask
	if !r.Index.Admissible(s.fit.shape(), n) {
		return list{}, false
	}
	s.here = s.here[:0]
	var ignored Refusal
	for _, id := range r.onNode(n) {
		if !r.fixed(a, id, &ignored) {
			continue
		}
		r.protect(r.state[id].leaf)
		s.here = append(s.here, id)
	}
	// Who may not be the first to go is not taken later either, unless the last
	// trial still counts (R9).
	if r.someTaken() && !s.dropUnlawful() || len(s.here) == 0 {
		return list{}, false
	}
	a.inStanding = true
	defer func() { a.inStanding = false }()
	for _, kind := range s.kinds() {
		if found, ok := r.clearPlace(a, s.fit, s.here, kind); ok {
			s.refusal.Steps++
			found.nodes = r.oneNode(n)
			return found, true
		}
	}
	protected, loose := r.protectedTaken, r.looseTaken
	r.protectedTaken, r.looseTaken = r.nothingTaken, r.nothingTaken
	if s.dropUnlawful() {
		s.refusal.Steps++
	}
	r.protectedTaken, r.looseTaken = protected, loose
	return list{}, false
}

// dropUnlawful drops who may not be the first to go, and says whether somebody is
// left.
func (s *search) dropUnlawful() bool {
	s.here = slices.DeleteFunc(s.here, func(id UnitID) bool {
		v := s.room.first(s.ask, id)
		return v != lawful && v != notYet
	})
	return len(s.here) > 0
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
