package placement

import (
	"fmt"
	"math/bits"
)

// A domains is what an index knows of the tree above its nodes (P3): in which domain of
// each named level a node is, and what of the domains is in use.
type domains struct {
	levels int
	// of is by node × levels, the narrowest level first: its domain, −1 where it lacks
	// the level.
	of      []int32
	bracket bracket
	uses    []*use // of the devices, then by resource; nil until a contest looks at them
}

// SetTopology tells the index the tree above its nodes, by which BinPack and Spread
// choose among nodes that are alike to them (P3); nil takes it away. It is an error if
// the tree is not over as many nodes. What has been found out about places is forgotten.
//
// It takes time and memory linear in nodes × levels. Levels of which one domain has all
// nodes tell none apart; without others the index is as it is without a tree.
func (x *Index) SetTopology(t *Topology) error {
	if x.now != nil {
		return x.now.SetTopology(t)
	}
	if t != nil && len(t.order) != len(x.nodes) {
		return fmt.Errorf("placement: a topology of %d nodes for %d", len(t.order), len(x.nodes))
	}
	x.domains = newDomains(t, x.resources)
	x.release.forgetAfter()
	for _, sh := range x.shapes {
		for st := range sh.finders {
			if !Strategy(st).Scores() {
				sh.finders[st] = nil
			}
		}
	}
	return nil
}

// ByDomains reports whether the order of nodes looks at domains, so that it is no
// function of each node's own state.
func (x *Index) ByDomains() bool { return x.domains != nil }

// newDomains is nil where no level tells nodes apart.
func newDomains(t *Topology, resources int) *domains {
	if t == nil {
		return nil
	}
	var levels []Level // the narrowest first
	for level := t.NodeLevel() - 1; level > 0; level-- {
		from, to := t.At(level, 0)
		if to-from > 1 || to-from == 1 && len(t.Nodes(from)) < len(t.order) {
			levels = append(levels, level)
		}
	}
	if len(levels) == 0 {
		return nil
	}
	s := &domains{levels: len(levels), of: make([]int32, 0, len(t.order)*len(levels)), bracket: newBracket(t)}
	for v := range t.order {
		for _, level := range levels {
			s.of = append(s.of, int32(t.Of(int32(v), level)))
		}
	}
	s.uses = make([]*use, 1+resources)
	return s
}

// afresh is the same tree over nodes of another state.
func (s *domains) afresh() *domains {
	if s == nil {
		return nil
	}
	again := *s
	again.uses = make([]*use, len(s.uses))
	return &again
}

// around lists a node's domains, the narrowest first, −1 where it lacks the level.
func (s *domains) around(v int32) []int32 {
	at := int(v) * s.levels
	return s.of[at : at+s.levels : at+s.levels]
}

// A use is what of each domain is in use, of the devices in milli or of a resource. Nodes
// that are cordoned count for nothing, as in the capacity.
type use struct {
	resource int32 // −1 for the devices
	// shift is how many bits amounts are cut by, so that no sum overflows; a part of the
	// last one counts as all of it.
	shift   int
	read    uint64 // of Index.moved
	nodes   []load // by node
	domains []load // by domain
	flips   uint64 // how often a domain has become idle or come into use
}

// A load is what is used of a node or a domain, and what there is.
type load struct{ used, total int64 }

// useOf is what is in use of the resource, or of the devices.
func (s *domains) useOf(x *Index, resource int32) *use {
	if s.uses[resource+1] == nil {
		s.uses[resource+1] = newUse(x, resource)
	}
	return s.uses[resource+1]
}

func newUse(x *Index, resource int32) *use {
	u := &use{
		resource: resource, nodes: make([]load, len(x.nodes)),
		domains: make([]load, len(x.domains.bracket.size)), read: x.moved.written,
	}
	high, low := uint64(0), uint64(0)
	for v := range x.nodes {
		var carry uint64
		low, carry = bits.Add64(low, uint64(u.of(x, int32(v)).total), 0)
		high += carry
	}
	for ; high > 0 || low >= 1<<62; u.shift++ {
		low, high = low>>1|high<<63, high>>1
	}
	for v := range x.nodes {
		u.look(x, int32(v))
	}
	return u
}

// of is what is used of a node and what there is of it, were it not cordoned.
func (u *use) of(x *Index, v int32) load {
	if u.resource >= 0 {
		total := max(0, x.capacityOf(v)[u.resource])
		return load{total - min(total, max(0, x.freeOf(v)[u.resource])), total}
	}
	nd := &x.nodes[v]
	return load{loadOn(x, nd), 1000 * int64(bits.OnesCount64(nd.healthy))}
}

// catchUp reads what has changed since the last time.
func (u *use) catchUp(x *Index) {
	if x.moved.lost(u.read) {
		for v := range x.nodes {
			u.look(x, int32(v))
		}
		u.read = x.moved.written
	}
	for ; u.read < x.moved.written; u.read++ {
		u.look(x, x.moved.at(u.read))
	}
}

// look reads one node.
func (u *use) look(x *Index, v int32) {
	now := load{}
	if !x.kinds[x.nodes[v].kind].cordoned {
		now = u.of(x, v)
		now.used, now.total = u.cut(now.used), u.cut(now.total)
	}
	was := u.nodes[v]
	if now == was {
		return
	}
	u.nodes[v] = now
	for _, d := range x.domains.around(v) {
		if d >= 0 {
			in := &u.domains[d]
			idle := in.used == 0
			in.used, in.total = in.used+now.used-was.used, in.total+now.total-was.total
			if idle != (in.used == 0) {
				u.flips++
			}
		}
	}
}

// cut is an amount as it is added up, rounded up.
func (u *use) cut(amount int64) int64 {
	return int64((uint64(amount) + 1<<u.shift - 1) >> u.shift)
}

// idle says whether a node is in a domain of which nothing is used; what lacks the level
// is in none.
func (u *use) idle(domain int32) bool { return domain >= 0 && u.domains[domain].used == 0 }

// loadOf is the load of a node's domain; where it lacks the level, as narrower ones have
// it, which is alone there.
func (u *use) loadOf(domain int32, narrower load) load {
	if domain < 0 {
		return narrower
	}
	return u.domains[domain].share()
}

// share is a load as it is compared: of nothing all is in use.
func (l load) share() load {
	if l.total == 0 {
		return load{1, 1}
	}
	return l
}

// before says whether, of two nodes that are alike to the strategy, a is chosen: by
// their domains, from the narrowest level to the widest, then by position (P3, P6).
func (u *use) before(x *Index, st Strategy, a, b int32) bool {
	at, other := x.domains.around(a), x.domains.around(b)
	load, than := u.nodes[a].share(), u.nodes[b].share()
	for level := range at {
		if at[level] == other[level] && at[level] >= 0 {
			break // and so are those around it
		}
		if st == Spread {
			load, than = u.loadOf(at[level], load), u.loadOf(other[level], than)
			if c := compareProducts(load.used, than.total, than.used, load.total); c != 0 {
				return c < 0
			}
		} else if idle := u.idle(at[level]); idle != u.idle(other[level]) {
			return !idle
		}
	}
	return a < b
}

// compareProducts compares a·b with c·d, none of them negative.
func compareProducts(a, b, c, d int64) int {
	high, low := bits.Mul64(uint64(a), uint64(b))
	high2, low2 := bits.Mul64(uint64(c), uint64(d))
	switch {
	case high != high2 && high < high2, high == high2 && low < low2:
		return -1
	case high == high2 && low == low2:
		return 0
	}
	return 1
}
