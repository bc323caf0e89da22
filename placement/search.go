package placement

import "math/bits"

// A search is what the index remembers for one shape and one ranking, so that
// no node is tested twice to no end: which nodes may still fit, and from where
// on each level has to be looked at. All of it is remembered knowledge, never a
// decision: with it or without, the same node is found.
type search struct {
	shape      *shape
	ranking    *ranking
	sharedOnly bool      // the task is to open no unused device
	descending bool      // of the levels in a half
	within     [2]uint64 // the levels that can hold a fitting node
	// alive are the nodes that may fit. A node that was tested and did not is
	// dead until it has more free than then: a Take never revives it.
	alive   bitmap
	revival uint64 // how much of revived has been read
	revived *ring
	cursors []cursor // by level
}

// A cursor says where on a level alive nodes are: in the words from word on,
// or among early, and nowhere else.
type cursor struct {
	arrivals uint64 // how much of the level's arrivals has been read
	word     int32
	earlies  int32
	early    [4]int32
}

// note makes sure that the cursor does not miss node v.
func (c *cursor) note(v int32) {
	if v>>6 >= c.word {
		return
	}
	for _, e := range c.early[:c.earlies] {
		if e == v {
			return
		}
	}
	if int(c.earlies) < len(c.early) {
		c.early[c.earlies] = v
		c.earlies++
		return
	}
	// Too many to list: look again from the lowest on.
	for _, e := range c.early {
		v = min(v, e)
	}
	c.word, c.earlies = v>>6, 0
}

// drop removes early entry i.
func (c *cursor) drop(i int32) {
	c.earlies--
	c.early[i] = c.early[c.earlies]
}

// best returns the first node in the order of choice that takes the shape, or
// -1.
func (x *Index) best(q *search) int32 {
	q.ranking.catchUp(x)
	q.revive()
	for h := range q.within {
		mask := q.ranking.present[h] & q.within[h]
		for mask != 0 {
			bit := bits.TrailingZeros64(mask)
			if q.descending {
				bit = bits.Len64(mask) - 1
			}
			mask &^= 1 << bit
			if v := x.lowestOn(q, h*half+bit); v >= 0 {
				return v
			}
		}
	}
	return -1
}

// revive brings dead nodes back that may fit again.
func (q *search) revive() {
	if q.revival == q.revived.written {
		return
	}
	if q.revived.lost(q.revival) {
		q.alive.copyFrom(q.shape.allowed)
		for i := range q.cursors {
			q.cursors[i] = cursor{arrivals: q.ranking.levels[i].arrivals.written}
		}
		q.revival = q.revived.written
		return
	}
	for ; q.revival < q.revived.written; q.revival++ {
		v := q.revived.at(q.revival)
		if !q.shape.allowed.has(v) {
			continue
		}
		q.alive.set(v)
		if at := q.ranking.level[v]; at != absent {
			q.cursors[at].note(v)
		}
	}
}

// lowestOn returns the lowest position on a level that takes the shape, or -1.
func (x *Index) lowestOn(q *search, at int) int32 {
	l, c := &q.ranking.levels[at], &q.cursors[at]
	if c.arrivals != l.arrivals.written {
		q.catchUp(l, c)
	}
	if c.earlies > 0 {
		if v := x.lowestEarly(q, at); v >= 0 {
			return v
		}
	}
	words := int32(len(l.nodes.bits))
	for c.word < words {
		// The next word in which the level and the alive both have a node.
		block := c.word >> 6
		both := l.nodes.nonzero[block] & q.alive.nonzero[block] & (^uint64(0) << (c.word & 63))
		if both == 0 {
			c.word = min(words, (block+1)<<6)
			continue
		}
		c.word = block<<6 + int32(bits.TrailingZeros64(both))
		for m := l.nodes.bits[c.word] & q.alive.bits[c.word]; m != 0; m &= m - 1 {
			v := c.word<<6 + int32(bits.TrailingZeros64(m))
			if x.takes(q.shape, v, q.sharedOnly) {
				return v
			}
			q.alive.clear(v)
		}
		c.word++
	}
	return -1
}

// catchUp reads which nodes have arrived on the level since the last time.
func (q *search) catchUp(l *level, c *cursor) {
	if l.arrivals.lost(c.arrivals) {
		*c = cursor{arrivals: l.arrivals.written}
		return
	}
	for ; c.arrivals < l.arrivals.written; c.arrivals++ {
		if v := l.arrivals.at(c.arrivals); q.alive.has(v) {
			c.note(v)
		}
	}
}

// lowestEarly returns the lowest of the cursor's early nodes that is still on
// the level and takes the shape, or -1; it forgets those that do not.
func (x *Index) lowestEarly(q *search, at int) int32 {
	c := &q.cursors[at]
	for c.earlies > 0 {
		lowest := int32(0)
		for i := int32(1); i < c.earlies; i++ {
			if c.early[i] < c.early[lowest] {
				lowest = i
			}
		}
		v := c.early[lowest]
		if int(q.ranking.level[v]) == at && q.alive.has(v) {
			if x.takes(q.shape, v, q.sharedOnly) {
				return v
			}
			q.alive.clear(v)
		}
		c.drop(lowest)
	}
	return -1
}

// takes reports whether a node that the shape is allowed on takes it now.
func (x *Index) takes(sh *shape, v int32, sharedOnly bool) bool {
	nd := &x.nodes[v]
	if nd.slots < 1 || sh.count == 0 && nd.cpuOnlySlots < 1 {
		return false
	}
	free := x.freeOf(v)
	for _, a := range sh.amounts {
		if free[a.Resource] < a.Value {
			return false
		}
	}
	if sh.count == 0 {
		return true
	}
	capable := sh.capable[nd.layout] & nd.healthy
	groups := x.layouts[nd.layout].groups
	for i := range groups {
		if x.room(sh, nd, capable&groups[i].mask, sharedOnly) >= sh.count &&
			(sh.island == AnyIsland || x.roomInIsland(sh, nd, capable&groups[i].mask, sharedOnly)) {
			return true
		}
	}
	return false
}

// roomInIsland reports whether enough of the devices with room are in one island.
func (x *Index) roomInIsland(sh *shape, nd *node, devices uint64, sharedOnly bool) bool {
	if sharedOnly {
		devices &= nd.shared
	}
	return sh.holds(&x.layouts[nd.layout], x.withRoom(sh, nd, devices))
}

// room counts those of the devices that take their part of the task; it may
// stop at the shape's count.
func (x *Index) room(sh *shape, nd *node, devices uint64, sharedOnly bool) int {
	n := 0
	if !sharedOnly {
		n = bits.OnesCount64(devices & nd.whole)
	}
	if sh.whole {
		return n
	}
	l := &x.layouts[nd.layout]
	for m := devices & nd.shared; m != 0 && n < sh.count; m &= m - 1 {
		d := bits.TrailingZeros64(m)
		if x.left[int(nd.devices)+d] >= sh.units(l, d) {
			n++
		}
	}
	return n
}
