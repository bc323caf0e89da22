package placement

import (
	"math/bits"
	"slices"
)

// The constants of what is scarce.
const (
	// scarcityBits are those of scarcityUnit, which is one milli of fragmentation for each milli taken.
	scarcityBits = 20
	scarcityUnit = 1 << scarcityBits
	// maxScarcity is the largest scarcity of a node, so that what a task takes of it fits an int64.
	maxScarcity = 1 << 46
	// boundParts is how much more targets count that accept some models or classes alone: nothing
	// else keeps room for them, as what fills their nodes need not be theirs.
	boundParts = 3
)

// A scarcity says how dear nodes are to ShadowPrice (S): those of a few nodes that targets need which
// other nodes do not serve, the more so the less is free of them. It changes as nodes fill, and is the same
// of all nodes that serve the same targets, a ground: so scores are kept without it, and nodes of a
// ground are compared by these alone.
type scarcity struct {
	grounds []ground
	of      []int32 // by node: its ground
	slot    []int32 // by node: its place among those of its ground
	free    []int64 // by node: milli, as far as it was read
	claims  []claim
	stale   bool // something has changed since the prices were asked for
}

// A ground is nodes that serve the same targets.
type ground struct {
	nodes []int32
	free  int64 // milli, of all of them
	price int64 // of a milli taken of one
}

// A claim is targets that the same grounds serve: their part of all that is asked, in scarcityUnit.
type claim struct {
	share int64
	on    []bool // by ground
}

// readScarcity finds out which nodes serve which targets, by their demands.
func (s *shadows) readScarcity(x *Index, demands []int64) {
	serves := make([][]bool, len(s.bodies)) // by body and target
	demand := int64(0)
	for _, d := range demands {
		demand += d
	}
	for b := range serves {
		for i := range s.targets {
			serves[b] = append(serves[b], s.hosts(x, &s.targets[i], &s.bodies[b]) != 0)
		}
	}
	c := &s.scarcity
	var first []int // by ground: a body of it
	byBody := make([]int32, len(s.bodies))
	for b := range serves {
		at := slices.IndexFunc(first, func(other int) bool { return slices.Equal(serves[other], serves[b]) })
		if at < 0 {
			at, first, c.grounds = len(first), append(first, b), append(c.grounds, ground{})
		}
		byBody[b] = int32(at)
	}
	c.of, c.slot, c.free = make([]int32, len(x.nodes)), make([]int32, len(x.nodes)), make([]int64, len(x.nodes))
	for v := range x.nodes {
		g := byBody[s.body[v]]
		c.of[v], c.slot[v] = g, int32(len(c.grounds[g].nodes))
		c.grounds[g].nodes = append(c.grounds[g].nodes, int32(v))
	}
	for i := range s.targets {
		high, low := bits.Mul64(uint64(demands[i]), scarcityUnit)
		if demands[i] == 0 {
			continue // nobody serves it
		}
		share, _ := bits.Div64(high, low, uint64(demand))
		on := make([]bool, len(first))
		for g, b := range first {
			on[g] = serves[b][i] || len(x.layouts[s.bodies[b].layout].scale) == 0
		}
		if p := &s.parts[s.targets[i].part]; p.shape.request.Models != nil || p.classes != nil {
			share *= boundParts
		}
		c.claim(on, int64(share))
	}
}

// claim adds a target to those that the same grounds serve. What all nodes serve that have devices is scarce
// nowhere.
func (c *scarcity) claim(on []bool, share int64) {
	if !slices.Contains(on, false) {
		return
	}
	at := slices.IndexFunc(c.claims, func(one claim) bool { return slices.Equal(one.on, on) })
	if at < 0 {
		at, c.claims = len(c.claims), append(c.claims, claim{on: on})
	}
	c.claims[at].share += share
}

// look reads what is free on a node.
func (c *scarcity) look(v int32, free int64) {
	if more := free - c.free[v]; more != 0 {
		c.grounds[c.of[v]].free += more
		c.free[v], c.stale = free, true
	}
}

// price brings the prices up to date: of a target's part of all that is asked, what is free of all
// nodes over what is free of those that serve it.
func (c *scarcity) price() {
	if !c.stale {
		return
	}
	c.stale = false
	all := int64(0)
	for g := range c.grounds {
		c.grounds[g].price = 0
		all += c.grounds[g].free
	}
	for i := range c.claims {
		one, free := &c.claims[i], int64(0)
		for g, on := range one.on {
			if on {
				free += c.grounds[g].free
			}
		}
		if free == 0 {
			continue // nothing can be taken of it
		}
		price := min(timesOver(one.share, all, free), maxScarcity)
		for g, on := range one.on {
			if on {
				c.grounds[g].price = min(c.grounds[g].price+price, maxScarcity)
			}
		}
	}
}

// takes is what a shape takes in milli, as targets do.
func (s *shadows) takes(x *Index, sh *shape) int64 {
	if sh.count == 0 {
		return 0
	}
	return min(s.sizeOf(x, sh), 1000) * int64(sh.count)
}

// dear is S of a task that takes so many milli on a ground.
func (c *scarcity) dear(g int, milli int64) int64 {
	return milli * c.grounds[g].price >> (scarcityBits - lossBits)
}
