package placement

// A bracket is the plan of a tournament over the nodes that follows the tree: in each
// domain what is directly in it plays, domains by their winners. So who wins in a domain
// does not depend on what is around it, and a change at a node concerns the matches on
// its own way up and no others.
type bracket struct {
	// By domain, the whole cluster being 0: where its matches begin, and how many play.
	// Match 1 is the final, 2i and 2i+1 lead to i, and from size on they are who plays.
	begin, size []int32
	// By domain, then by node: the domain in which it plays, and as whom.
	in, as  []int32
	matches int32
}

func newBracket(t *Topology) bracket {
	count := int(t.first[t.NodeLevel()])
	b := bracket{
		begin: make([]int32, count), size: make([]int32, count),
		in: make([]int32, count+len(t.order)), as: make([]int32, count+len(t.order)),
	}
	join := func(at int, domain Domain) {
		b.in[at], b.as[at] = int32(domain), b.size[domain]
		b.size[domain]++
	}
	b.in[0] = -1
	for d := 1; d < count; d++ {
		join(d, t.Parent(Domain(d)))
	}
	for v := range t.order {
		join(count+v, t.Parent(t.Of(int32(v), t.NodeLevel())))
	}
	for d := range b.size {
		b.begin[d] = b.matches
		b.matches += 2 * max(1, b.size[d]) // the cluster may have no nodes
	}
	for at := 1; at < len(b.in); at++ {
		b.as[at] += b.size[b.in[at]]
	}
	return b
}

// A contest holds, for one shape and strategy, how good each node is for it and the
// node that wins.
type contest struct {
	shape    *shape
	strategy Strategy // BinPack or Spread
	use      *use
	read     uint64  // of Index.moved
	flips    uint64  // of use, that were read
	measures []uint8 // by node, lower first
	winner   []int32 // by match of the bracket; −1 is nobody
}

// out is the measure of a node that does not take the task.
const out = ^uint8(0)

func newContest(x *Index, sh *shape, st Strategy) *contest {
	resource := int32(-1)
	if sh.count == 0 {
		resource = sh.amounts[0].Resource
	}
	c := &contest{
		shape: sh, strategy: st, use: x.domains.useOf(x, resource),
		measures: make([]uint8, len(x.nodes)), winner: make([]int32, x.domains.bracket.matches),
	}
	c.use.catchUp(x)
	c.anew(x)
	return c
}

// best returns the first node in the order of choice that takes the shape, or −1.
func (c *contest) best(x *Index) int32 {
	c.use.catchUp(x)
	if x.moved.lost(c.read) {
		c.anew(x)
	}
	all := c.strategy == Spread || c.flips != c.use.flips
	c.flips = c.use.flips
	for ; c.read < x.moved.written; c.read++ {
		v := x.moved.at(c.read)
		c.measures[v] = c.measure(x, v)
		c.play(x, v, all)
	}
	return c.winner[1]
}

// anew measures every node and plays every match.
func (c *contest) anew(x *Index) {
	b := &x.domains.bracket
	for i := range c.winner {
		c.winner[i] = -1
	}
	count := len(b.size)
	for v := range c.measures {
		c.measures[v] = c.measure(x, int32(v))
		c.winner[b.begin[b.in[count+v]]+b.as[count+v]] = c.entrant(int32(v))
	}
	for d := count - 1; d >= 0; d-- { // those inside a domain come after it
		for i := b.size[d] - 1; i > 0; i-- {
			c.winner[b.begin[d]+i] = c.match(x, c.winner[b.begin[d]+2*i], c.winner[b.begin[d]+2*i+1])
		}
		if d > 0 {
			c.winner[b.begin[b.in[d]]+b.as[d]] = c.winner[b.begin[d]+1]
		}
	}
	c.read = x.moved.written
}

// entrant is the node as one that plays, −1 if it does not.
func (c *contest) entrant(v int32) int32 {
	if c.measures[v] == out {
		return -1
	}
	return v
}

// play plays the matches of a node again as far as their outcome can change: all of its
// way up where its domains may not be what they were.
func (c *contest) play(x *Index, v int32, all bool) {
	b := &x.domains.bracket
	best := c.entrant(v)
	for at := len(b.size) + int(v); ; {
		d := b.in[at]
		matches := c.winner[b.begin[d]:]
		i := b.as[at]
		if matches[i] == best && best != v && !all {
			return // above it plays as it did
		}
		matches[i] = best
		for i /= 2; i > 0; i /= 2 {
			before := matches[i]
			matches[i] = c.match(x, matches[2*i], matches[2*i+1])
			if matches[i] == before && before != best {
				break // it lost and loses
			}
		}
		if d == 0 {
			return
		}
		best, at = matches[1], int(d)
	}
}

// match returns who of two wins.
func (c *contest) match(x *Index, a, b int32) int32 {
	switch {
	case a < 0:
		return b
	case b < 0 || c.measures[a] < c.measures[b]:
		return a
	case c.measures[a] > c.measures[b] || !c.use.before(x, c.strategy, a, b):
		return b
	}
	return a
}

// measure is how good a node is for the shape by itself, as the levels of the rankings
// have it: lower first.
func (c *contest) measure(x *Index, v int32) uint8 {
	sh := c.shape
	switch {
	case !sh.allowed.has(v) || !x.takes(sh, v, false):
		return out
	case sh.count == 0:
		level := x.loadLevel(v, sh.amounts[0].Resource)
		if c.strategy == BinPack {
			level = level&half | (loadSteps - level&(half-1))
		}
		return level
	case c.strategy == Spread:
		return x.spreadLevel(v)
	case sh.whole:
		return x.nodes[v].packLevel()
	case x.takes(sh, v, true):
		return x.nodes[v].sharedLevel()
	}
	return half + x.nodes[v].packLevel() // it opens a device
}
