package placement

import "math/bits"

// rooms is what the index remembers of how many tasks of a shape each node takes.
type rooms struct {
	read uint64  // of Index.moved
	on   []int32 // by node
	all  int64   // of all nodes together
}

// Rooms lists, by position, how many tasks of the shape each node takes now, as
// [Index.RoomOn] tells it. The list is the index's: it must not be modified and
// changes with the next call. The first call for a shape takes time and memory
// linear in the nodes (4 bytes each), later ones time in what has changed since.
func (x *Index) Rooms(s Shape) []int32 {
	sh := x.shape(s)
	if sh == nil {
		return make([]int32, len(x.nodes))
	}
	sh.rooms.catchUp(x, s)
	return sh.rooms.on
}

// roomInAll is how many tasks of the shape all nodes take together, at most; it takes the time of
// Rooms.
func roomInAll(x *Index, s Shape) int64 {
	sh := x.shape(s)
	if sh == nil {
		return 0
	}
	sh.rooms.catchUp(x, s)
	return sh.rooms.all
}

// catchUp brings what is remembered of a shape up to date.
func (r *rooms) catchUp(x *Index, s Shape) {
	look := func(v int32) {
		now := int32(x.RoomOn(s, v))
		r.all += int64(now) - int64(r.on[v])
		r.on[v] = now
	}
	if r.on == nil || x.moved.lost(r.read) {
		if r.on == nil {
			r.on = make([]int32, len(x.nodes))
		}
		for v := range r.on {
			look(int32(v))
		}
		r.read = x.moved.written
	}
	for last := int32(-1); r.read < x.moved.written; r.read++ { // many tasks come to a node one after the other
		if v := x.moved.at(r.read); v != last {
			look(v)
			last = v
		}
	}
}

// PlaceOn returns the place on one node that the strategy prefers for a task of
// the shape, and whether the node takes it. Strategies that score, and Random,
// choose devices as BinPack does. The place is not taken yet.
func (x *Index) PlaceOn(s Shape, node int32, st Strategy) (Place, bool) {
	sh := x.shape(s)
	if sh == nil || !x.allowedOn(sh, node) || !x.takes(sh, node, false) {
		return Place{Node: -1}, false
	}
	if sh.preferred >= 0 {
		if p, ok := x.PlaceOn(sh.preferred, node, st); ok {
			return p, true
		}
	}
	if st != Spread && st != First {
		st = BinPack
	}
	p := Place{Node: node, Devices: x.choose(sh, node, st)}
	p.Pipelined = x.now != nil && !x.now.Fits(s, p)
	return p, true
}

// Idle says whether nothing is taken of a node's devices, and how many healthy
// ones it has (P8).
func (x *Index) Idle(node int32) (devices int, idle bool) {
	nd := &x.nodes[node]
	return bits.OnesCount64(nd.healthy), nd.whole == nd.healthy
}

// Whole says whether a task of the shape takes whole devices.
func (x *Index) Whole(s Shape) bool {
	sh := x.shape(s)
	return sh != nil && sh.count > 0 && sh.whole
}

// Plain says whether it cannot matter for what fits later which devices of a node a
// task of the shape is given: it takes whole ones, in no island, or none.
func (x *Index) Plain(s Shape) bool {
	sh := x.shape(s)
	return sh != nil && (sh.count == 0 || sh.whole && sh.island == AnyIsland)
}
