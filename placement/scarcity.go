package placement

import (
	"math"
	"math/big"
	"slices"
)

// The constants of what is scarce.
const (
	// scarcityBits are those of scarcityUnit, which is one milli of fragmentation for each milli taken.
	scarcityBits = 20
	scarcityUnit = 1 << scarcityBits
	// maxScarcity is the largest scarcity of a node.
	maxScarcity = 1 << 46
	// boundParts is how much more targets count that accept some models or classes alone: nothing
	// else keeps room for them, as what fills their nodes need not be theirs.
	boundParts = 3
	// resourceParts is how much more targets count by the resource that runs out before devices do where
	// they can be: what takes it there need not take a device, and there is more of that.
	resourceParts = 5
	// maxDear is the most that one of the two is worth to a task.
	maxDear = 1 << 60
)

// A scarcity says how dear nodes are to ShadowPrice (S): those of a few nodes that targets need which
// other nodes do not serve, the more so the less is free of them. It is of what runs out first there, devices or
// [Scoring.CPU]. It changes as nodes fill, and is the same
// of all nodes that serve the same targets, a ground: so scores are kept without it, and nodes of a
// ground are compared by these alone.
type scarcity struct {
	grounds []ground
	of      []int32 // by node: its ground
	slot    []int32 // by node: its place among those of its ground
	free    []both  // by node: milli, as far as it was read
	claims  []claim
	stale   bool // something has changed since the prices were asked for
}

// A ground is nodes that serve the same targets.
type ground struct {
	nodes []int32
	free  both // milli, of all of them
	price both // of a milli taken of one
	bare  bool // they have no devices, and nothing of them is scarce
}

// A claim is targets that the same grounds serve: their part of all that is asked, in scarcityUnit, and what
// they ask of devices over what they ask of the resource, in shortageUnit.
type claim struct {
	share             both
	ratio             int64
	devices, resource *big.Int // what they ask, times their weights
	on                []bool   // by ground
}

// readScarcity finds out which nodes serve which targets, by their demands for devices and for the
// resource, of which the last is of what asks no devices.
func (s *shadows) readScarcity(x *Index, demands []int64, resource []*big.Int) {
	serves := make([][]bool, len(s.bodies)) // by body and target
	devicesAll, resourceAll := new(big.Int), new(big.Int)
	for _, d := range demands {
		devicesAll.Add(devicesAll, big.NewInt(d))
	}
	for _, d := range resource {
		resourceAll.Add(resourceAll, d)
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
			at, first, c.grounds = len(first), append(first, b), append(c.grounds, ground{bare: len(x.layouts[s.bodies[b].layout].scale) == 0})
		}
		byBody[b] = int32(at)
	}
	c.of, c.slot, c.free = make([]int32, len(x.nodes)), make([]int32, len(x.nodes)), make([]both, len(x.nodes))
	for v := range x.nodes {
		g := byBody[s.body[v]]
		c.of[v], c.slot[v] = g, int32(len(c.grounds[g].nodes))
		c.grounds[g].nodes = append(c.grounds[g].nodes, int32(v))
	}
	for i := range s.targets {
		if demands[i] == 0 {
			continue // nobody serves it
		}
		on := make([]bool, len(first))
		for g, b := range first {
			on[g] = serves[b][i] || c.grounds[g].bare
		}
		asks := big.NewInt(demands[i])
		share := both{partOf(asks, devicesAll), resourceParts * partOf(resource[i], resourceAll)}
		if p := &s.parts[s.targets[i].part]; p.shape.request.Models != nil || p.classes != nil {
			share.devices *= boundParts
		}
		c.claim(on, share, asks, resource[i])
	}
	for i := range c.claims {
		one := &c.claims[i]
		one.ratio = ratioOf(one.devices.Mul(one.devices, big.NewInt(s.shortage.amount)), one.resource.Mul(one.resource, big.NewInt(s.shortage.milli)))
	}
}

// partOf is a part in scarcityUnit, rounded down; of nothing it is 0.
func partOf(part, all *big.Int) int64 {
	if all.Sign() == 0 {
		return 0
	}
	share := new(big.Int).Lsh(part, scarcityBits)
	return share.Quo(share, all).Int64()
}

// claim adds a target to those that the same grounds serve.
func (c *scarcity) claim(on []bool, share both, devices, resource *big.Int) {
	at := slices.IndexFunc(c.claims, func(one claim) bool { return slices.Equal(one.on, on) })
	if at < 0 {
		at, c.claims = len(c.claims), append(c.claims, claim{on: on, devices: new(big.Int), resource: new(big.Int)})
	}
	one := &c.claims[at]
	one.share = both{one.share.devices + share.devices, one.share.resource + share.resource}
	one.devices.Add(one.devices, devices)
	one.resource.Add(one.resource, resource)
}

// look reads what is free on a node.
func (c *scarcity) look(v int32, free both) {
	if had := c.free[v]; free != had {
		g := &c.grounds[c.of[v]]
		g.free = both{g.free.devices + free.devices - had.devices, g.free.resource + free.resource - had.resource}
		c.free[v], c.stale = free, true
	}
}

// price brings the prices up to date: of a target's part of all that is asked, what is free of the nodes that
// do not serve it over what is free of those that do, of what runs out first there. So what all nodes serve is
// scarce nowhere, and what nearly all do hardly.
func (c *scarcity) price() {
	if !c.stale {
		return
	}
	c.stale = false
	all := both{}
	for g := range c.grounds {
		c.grounds[g].price = both{}
		all = both{all.devices + c.grounds[g].free.devices, all.resource + c.grounds[g].free.resource}
	}
	for i := range c.claims {
		one, free := &c.claims[i], both{}
		for g, on := range one.on {
			if on {
				free = both{free.devices + c.grounds[g].free.devices, free.resource + c.grounds[g].free.resource}
			}
		}
		if free.devices == 0 {
			continue // nothing can be taken of it
		}
		part := int64(shortageUnit)
		if one.ratio < math.MaxInt64 { // else the resource is not asked
			part = devicesPart(timesOver(one.ratio, free.resource, free.devices))
		}
		price := both{
			priceOf(one.share.devices, all.devices-free.devices, free.devices, part),
			priceOf(one.share.resource, all.resource-free.resource, free.resource, shortageUnit-part),
		}
		for g, on := range one.on {
			if p := &c.grounds[g].price; on && !c.grounds[g].bare {
				*p = both{min(p.devices+price.devices, maxScarcity), min(p.resource+price.resource, maxScarcity)}
			}
		}
	}
}

// priceOf is a share of all times what is free elsewhere over what is free there, as far as it counts.
func priceOf(share, elsewhere, free, part int64) int64 {
	if free == 0 {
		return 0 // nothing can be taken of it
	}
	return timesOver(min(timesOver(share, elsewhere, free), maxScarcity), part, shortageUnit)
}

// takes is what a shape takes in milli, as targets do.
func (s *shadows) takes(x *Index, sh *shape) int64 {
	if sh.count == 0 {
		return 0
	}
	return min(s.sizeOf(x, sh), 1000) * int64(sh.count)
}

// dear is S of a task that takes so much on a ground.
func (c *scarcity) dear(g int, takes both) int64 {
	const loss = 1 << (scarcityBits - lossBits)
	price := &c.grounds[g].price
	return min(timesOver(takes.devices, price.devices, loss), maxDear) + min(timesOver(takes.resource, price.resource, loss), maxDear)
}
