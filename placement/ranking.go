package placement

import "math/bits"

// absent is the level of a node that a ranking does not hold.
const absent = 255

// The levels of a ranking are in two halves of 64, so that the levels of each that are
// not empty are one word; all of the first half go before all of the second. A level
// by load is one of the steps 0 to 63.
const (
	half      = 64
	loadSteps = 63
)

// A ranking holds the nodes by level, a pure function of a node's own state,
// and inside a level by position: a bitmap per level. The order of choice of a
// strategy is an order of levels, so the best node is the lowest position of
// the first level that has a node which fits.
type ranking struct {
	levelOf func(v int32) uint8 // of the node as it is now
	read    uint64              // of Index.moved
	level   []uint8             // by node, when it was read last; absent where the ranking does not hold it
	present [2]uint64           // the levels that are not empty, by half
	levels  []level             // 2 × half of them; a node is in the one that level says
}

// A level is the nodes of one level. arrivals tells searches which have come
// since they last looked.
type level struct {
	nodes    bitmap
	count    int32
	arrivals ring
}

// rankings are the rankings in use: each is built when a search first needs
// it, and brought up to date when one does again.
type rankings struct {
	pack   *ranking   // used, by whole devices; idle, by whole devices
	shared *ranking   // nodes with shared devices, by whole devices
	spread *ranking   // by load of the devices
	load   []*ranking // by resource: without GPUs, by load; with GPUs, by load
	plain  *ranking   // without GPUs; with GPUs
}

func newRankings(resources int) rankings { return rankings{load: make([]*ranking, resources)} }

// newRanking ranks every node; used says which levels can ever occur.
func (x *Index) newRanking(used [2]uint64, levelOf func(v int32) uint8) *ranking {
	n := len(x.nodes)
	r := &ranking{levelOf: levelOf, read: x.moved.written, level: make([]uint8, n), levels: make([]level, 2*half)}
	for h, mask := range used {
		for ; mask != 0; mask &= mask - 1 {
			at := h*half + bits.TrailingZeros64(mask)
			// A reader that lags more than this scans the level again, which
			// costs about as much as reading this many arrivals.
			r.levels[at] = level{nodes: newBitmap(n), arrivals: newRing(n / 128)}
		}
	}
	for v := range r.level {
		r.level[v] = absent
		r.move(int32(v), levelOf(int32(v)))
	}
	return r
}

// catchUp ranks the nodes again that have changed since. Of what comes and goes in between no ranking knows.
func (r *ranking) catchUp(x *Index) {
	if x.moved.lost(r.read) {
		for v := range r.level {
			r.move(int32(v), r.levelOf(int32(v)))
		}
		r.read = x.moved.written
	}
	for ; r.read < x.moved.written; r.read++ {
		v := x.moved.at(r.read)
		r.move(v, r.levelOf(v))
	}
}

// move puts a node on a level.
func (r *ranking) move(v int32, to uint8) {
	from := r.level[v]
	if from == to {
		return
	}
	r.level[v] = to
	if from != absent {
		l := &r.levels[from]
		l.nodes.clear(v)
		if l.count--; l.count == 0 {
			r.present[from/half] &^= 1 << (from % half)
		}
	}
	if to != absent {
		l := &r.levels[to]
		l.nodes.set(v)
		l.arrivals.push(v)
		if l.count++; l.count == 1 {
			r.present[to/half] |= 1 << (to % half)
		}
	}
}

// packLevel: used nodes by their whole devices, then idle ones likewise; a node
// without healthy devices is absent.
func (nd *node) packLevel() uint8 {
	whole := uint8(bits.OnesCount64(nd.whole))
	switch {
	case nd.healthy == 0:
		return absent
	case nd.whole == nd.healthy:
		return half + whole - 1
	}
	return whole
}

// sharedLevel: nodes that have a shared device, by their whole devices.
func (nd *node) sharedLevel() uint8 {
	if nd.shared == 0 {
		return absent
	}
	return uint8(bits.OnesCount64(nd.whole))
}

// spreadLevel: the load of the healthy devices in 63 steps, rounded up, so that
// 0 is idle.
func (x *Index) spreadLevel(v int32) uint8 {
	nd := &x.nodes[v]
	if nd.healthy == 0 {
		return absent
	}
	return uint8(ceilDiv(loadSteps*loadOn(x, nd), 1000*int64(bits.OnesCount64(nd.healthy))))
}

// loadOn is what is used of a node's healthy devices in milli, each rounded up.
func loadOn(x *Index, nd *node) (load int64) {
	for m := nd.healthy &^ nd.whole; m != 0; m &= m - 1 {
		load += x.deviceLoad(nd, bits.TrailingZeros64(m))
	}
	return load
}

// deviceLoad is what is used of a device in milli, rounded up, 0 to 1000.
func (x *Index) deviceLoad(nd *node, device int) int64 {
	l := &x.layouts[nd.layout]
	left := max(0, x.left[int(nd.devices)+device])
	return max(0, ceilDiv(l.total(device)-left, l.scale[device]))
}

// loadLevel: nodes without GPUs, then those with; inside by the load of the
// resource in 63 steps, rounded up.
func (x *Index) loadLevel(v, resource int32) uint8 {
	capacity := x.capacityOf(v)[resource]
	used := capacity - min(capacity, max(0, x.freeOf(v)[resource]))
	step := uint8(loadSteps)
	if capacity > 0 && used < capacity {
		high, low := bits.Mul64(loadSteps, uint64(used))
		quotient, rest := bits.Div64(high, low, uint64(capacity))
		step = uint8(quotient)
		if rest != 0 {
			step++
		}
	}
	return x.plainLevel(v) + step
}

// plainLevel: nodes without GPUs, then those with.
func (x *Index) plainLevel(v int32) uint8 {
	if len(x.layouts[x.nodes[v].layout].scale) == 0 {
		return 0
	}
	return half
}

// ceilDiv returns a/b rounded up, for a ≥ 0 and b > 0.
func ceilDiv(a, b int64) int64 {
	if a <= 0 {
		return 0
	}
	return (a-1)/b + 1
}
