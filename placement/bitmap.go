package placement

// A bitmap is a set of nodes in two levels: a bit per node, and a bit per word
// of those that is not zero, so that a scan skips 4,096 absent nodes at once.
type bitmap struct {
	bits    []uint64
	nonzero []uint64
}

func newBitmap(n int) bitmap {
	words := (n + 63) / 64
	return bitmap{make([]uint64, words), make([]uint64, (words+63)/64)}
}

func (b bitmap) has(v int32) bool { return b.bits[v>>6]&(1<<(v&63)) != 0 }

func (b bitmap) set(v int32) {
	b.bits[v>>6] |= 1 << (v & 63)
	b.nonzero[v>>12] |= 1 << (v >> 6 & 63)
}

func (b bitmap) clear(v int32) {
	w := v >> 6
	b.bits[w] &^= 1 << (v & 63)
	if b.bits[w] == 0 {
		b.nonzero[w>>6] &^= 1 << (w & 63)
	}
}

func (b bitmap) copyFrom(a bitmap) {
	copy(b.bits, a.bits)
	copy(b.nonzero, a.nonzero)
}

func (b bitmap) clone() bitmap {
	c := bitmap{make([]uint64, len(b.bits)), make([]uint64, len(b.nonzero))}
	c.copyFrom(b)
	return c
}

// A ring remembers the last nodes to which something happened, for readers
// that come by now and then. A reader keeps the number of entries it has seen;
// one that is more than the ring's length behind has lost some and must assume
// anything.
type ring struct {
	entries []int32
	written uint64
}

// newRing returns a ring of at least the length given.
func newRing(length int) ring {
	size := 16
	for size < length {
		size *= 2
	}
	return ring{entries: make([]int32, size)}
}

func (r *ring) push(v int32) {
	r.entries[r.written&uint64(len(r.entries)-1)] = v
	r.written++
}

func (r *ring) at(i uint64) int32 { return r.entries[i&uint64(len(r.entries)-1)] }

func (r *ring) lost(seen uint64) bool { return r.written-seen > uint64(len(r.entries)) }
