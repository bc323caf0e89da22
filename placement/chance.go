package placement

import "math/bits"

// chance is what Random draws from: a number that the state of all nodes and the
// seed give, the same for the same state however it came to be.
type chance struct {
	seed  uint64
	nodes []uint64 // by node: its state, mixed
	all   uint64   // their sum
}

func (x *Index) newChance() *chance {
	c := &chance{seed: mixed(x.scoring.Seed + golden), nodes: make([]uint64, len(x.nodes))}
	for v := range x.nodes {
		c.look(x, int32(v))
	}
	return c
}

// golden is 2^64 divided by the golden ratio, the step of SplitMix64.
const golden = 0x9E3779B97F4A7C15

// look reads one node anew: its position, what is free of each resource and
// device, and its slots.
func (c *chance) look(x *Index, v int32) {
	nd := &x.nodes[v]
	h := mixed(c.seed ^ uint64(v))
	fold := func(value int64) { h = mixed(h*golden + uint64(value)) }
	for _, amount := range x.freeOf(v) {
		fold(amount)
	}
	for d := range x.layouts[nd.layout].scale {
		fold(x.left[int(nd.devices)+d])
	}
	fold(nd.slots)
	fold(nd.cpuOnlySlots)
	c.all += h - c.nodes[v]
	c.nodes[v] = h
}

// draw returns one of n numbers from 0 on; another round is another draw.
func (c *chance) draw(round, n int) int {
	high, _ := bits.Mul64(mixed(c.all+c.seed+uint64(round)*golden), uint64(n))
	return int(high)
}

// A lottery holds, for one shape, which nodes take a task.
type lottery struct {
	shape *shape
	read  uint64 // of Index.moved
	takes bitmap
	count int
}

func (x *Index) newLottery(sh *shape) *lottery {
	if x.scorer == nil {
		x.scorer = x.newScorer()
	}
	x.scorer.catchUp(x)
	if x.scorer.chance == nil {
		x.scorer.chance = x.newChance()
	}
	l := &lottery{shape: sh, takes: newBitmap(len(x.nodes)), read: x.moved.written}
	for v := range x.nodes {
		l.look(x, int32(v))
	}
	return l
}

func (l *lottery) look(x *Index, v int32) {
	takes := l.shape.allowed.has(v) && x.takes(l.shape, v, false)
	switch {
	case takes == l.takes.has(v):
	case takes:
		l.takes.set(v)
		l.count++
	default:
		l.takes.clear(v)
		l.count--
	}
}

// place draws one of the nodes that take the task, each as likely, and devices of
// it.
func (l *lottery) place(x *Index) (Place, bool) {
	x.scorer.catchUp(x)
	if x.moved.lost(l.read) {
		for v := range x.nodes {
			l.look(x, int32(v))
		}
		l.read = x.moved.written
	}
	for ; l.read < x.moved.written; l.read++ {
		l.look(x, x.moved.at(l.read))
	}
	if l.count == 0 {
		return Place{Node: -1}, false
	}
	rest := x.scorer.chance.draw(0, l.count)
	for w, word := range l.takes.bits {
		if n := bits.OnesCount64(word); rest >= n {
			rest -= n
			continue
		}
		v := int32(w<<6 + nth(word, rest))
		return Place{Node: v, Devices: x.drawDevices(l.shape, v)}, true
	}
	return Place{Node: -1}, false
}

// nth returns the place of the n-th bit, from 0 on, of a word that has it.
func nth(word uint64, n int) int {
	for range n {
		word &= word - 1
	}
	return bits.TrailingZeros64(word)
}

// drawDevices draws a device of those with room, each as likely, and further ones
// of its model.
func (x *Index) drawDevices(sh *shape, v int32) uint64 {
	if sh.count == 0 {
		return 0
	}
	nd := &x.nodes[v]
	l := &x.layouts[nd.layout]
	var room, chosen uint64
	for i := range l.groups {
		if r := x.withRoom(sh, nd, sh.capable[nd.layout]&nd.healthy&l.groups[i].mask); sh.holds(l, r) {
			room |= sh.within(l, r, 0)
		}
	}
	for round := range sh.count {
		d := nth(room, x.scorer.chance.draw(1+round, bits.OnesCount64(room)))
		for i := range l.groups {
			if l.groups[i].mask&(1<<d) != 0 {
				room &= l.groups[i].mask
			}
		}
		chosen |= 1 << d
		room = sh.within(l, room|chosen, chosen) &^ chosen
	}
	return chosen
}
