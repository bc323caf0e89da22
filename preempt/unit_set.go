package preempt

// A unitSet says of each unit whether it is in the set, a bit each: of many units that are asked about in no
// order nothing else is read in memory.
type unitSet []uint64

// unitSetOf is the set of these units, in memory that no other set needs any more.
func unitSetOf(r *Evaluator, ids []UnitID, memory unitSet) unitSet {
	const bits = 64
	n := (len(r.units) + bits - 1) / bits
	if cap(memory) < n {
		memory = make(unitSet, n, n+n/2)
	}
	out := memory[:n]
	clear(out)
	for _, id := range ids {
		out[id/bits] |= 1 << (id % bits)
	}
	return out
}

// has says whether a unit is in the set.
func (s unitSet) has(id UnitID) bool { return s[uint32(id)/64]&(1<<(uint32(id)%64)) != 0 }
