package placement

import "math/bits"

// An interner numbers tuples of a fixed length, from 0 on in the order in which
// they come, in memory that is kept when it is emptied.
type interner struct {
	length int
	tuples []int64 // one after the other
	count  int
	table  []int32 // open addressing: one more than the number, or 0
}

func newInterner(length int) interner {
	return interner{length: length, table: make([]int32, 64)}
}

// of returns the number of a tuple, and whether it is new.
func (n *interner) of(tuple []int64) (int32, bool) {
	mask := uint64(len(n.table) - 1)
	at := hashOf(tuple) & mask
	for ; n.table[at] != 0; at = (at + 1) & mask {
		if i := n.table[at] - 1; n.same(i, tuple) {
			return i, false
		}
	}
	i := int32(n.count)
	n.table[at] = i + 1
	n.tuples = append(n.tuples, tuple...)
	n.count++
	if 2*n.count > len(n.table) {
		n.grow()
	}
	return i, true
}

// of1 is of for a single number.
func (n *interner) of1(value int64) (int32, bool) {
	tuple := [1]int64{value}
	return n.of(tuple[:])
}

func (n *interner) tuple(i int32) []int64 {
	return n.tuples[int(i)*n.length : (int(i)+1)*n.length]
}

func (n *interner) same(i int32, tuple []int64) bool {
	for k, value := range n.tuple(i) {
		if value != tuple[k] {
			return false
		}
	}
	return true
}

func (n *interner) grow() {
	n.table = make([]int32, 2*len(n.table))
	mask := uint64(len(n.table) - 1)
	for i := range n.count {
		at := hashOf(n.tuple(int32(i))) & mask
		for n.table[at] != 0 {
			at = (at + 1) & mask
		}
		n.table[at] = int32(i) + 1
	}
}

// empty forgets every tuple.
func (n *interner) empty() {
	clear(n.table)
	n.tuples, n.count = n.tuples[:0], 0
}

func hashOf(tuple []int64) uint64 {
	h := uint64(len(tuple))
	for _, value := range tuple {
		high, low := bits.Mul64(h^uint64(value), 0x9E3779B97F4A7C15)
		h = high ^ low
	}
	return mixed(h)
}

// mixed is the finaliser of SplitMix64 (Steele, Lea and Flood, 2014): every bit
// of the result depends on every bit of h, and no two h become one.
func mixed(h uint64) uint64 {
	h = (h ^ h>>30) * 0xBF58476D1CE4E5B9
	h = (h ^ h>>27) * 0x94D049BB133111EB
	return h ^ h>>31
}
