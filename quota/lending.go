package quota

// Lending (Q5). A queue keeps, of its quota, what is beyond its lending limit
// and not in use:
//
//	own(q)  = max(0, reserve(q) − use(q))
//	kept(q) = max(own(q), Σ kept(children of q))
//
// A change of use alters kept only along its path, so that each queue's sum over
// its children (keptBelow) is maintained in O(depth).

// kept is what the queue of the cell keeps from lending now.
func (t *Tree) kept(cell int) int64 {
	// keptBelow is never negative, so neither is the maximum.
	return max(t.bounds[cell].reserve-t.state[cell].use, t.state[cell].keptBelow)
}

// moveKept brings keptBelow along c's path up to date with the use that c is
// about to make of it: of each queue by how much its child on the path now keeps
// more or less.
func (t *Tree) moveKept(c change) {
	r := int(c.resource)
	moved := int64(0) // what the child on the path keeps more than before
	for v := c.queue; v != t.pool; v = t.parent[v] {
		cell := t.at(v, r)
		before := t.kept(cell)
		t.state[cell].keptBelow += moved
		after := max(t.bounds[cell].reserve-t.state[cell].use-c.value, t.state[cell].keptBelow)
		moved = after - before
	}
	t.state[t.at(t.pool, r)].keptBelow += moved
}

// rememberKeptEmpty notes what is kept of r while nothing is in use.
func (t *Tree) rememberKeptEmpty(r int) {
	if t.keptEmpty == nil {
		t.keptEmpty = make([]int64, len(t.state))
	}
	for v := range t.pool + 1 {
		t.keptEmpty[t.at(v, r)] = t.state[t.at(v, r)].keptBelow
	}
}

// roomBesideKept is what a start in q may take of r without touching what the
// queues off its path keep; [Infinite] where they keep nothing, as then lending
// has no say.
//
// It is what is free, less what they keep; and at least what q's own path keeps,
// which is all that is kept less what they keep (see Check).
func (t *Tree) roomBesideKept(q int32, r int) int64 {
	others := int64(0)
	for v := q; v != t.pool; v = t.parent[v] {
		others += t.state[t.at(t.parent[v], r)].keptBelow - t.kept(t.at(v, r))
	}
	if others == 0 {
		return Infinite
	}
	pool := t.state[t.at(t.pool, r)]
	return max(t.capacity[r]-pool.use, pool.keptBelow) - others
}

// roomBesideReserves is roomBesideKept in the pool with nothing in use, which
// is the most that it can ever be.
func (t *Tree) roomBesideReserves(q int32, r int) int64 {
	others := int64(0)
	for v := q; v != t.pool; v = t.parent[v] {
		cell := t.at(v, r)
		others += t.keptEmpty[t.at(t.parent[v], r)] - max(t.bounds[cell].reserve, t.keptEmpty[cell])
	}
	if others == 0 {
		return Infinite
	}
	return max(t.capacity[r], t.keptEmpty[t.at(t.pool, r)]) - others
}

// keeperBeside is the queue to name when others keep what q wants of r: among
// the siblings on the lowest level of q's path where something is kept, the one
// that keeps most, the first of equals. Something is kept.
func (t *Tree) keeperBeside(q int32, r int) int32 {
	for v := q; v != t.pool; v = t.parent[v] {
		keeper, most := int32(-1), int64(0)
		for _, sibling := range t.childrenOf(t.parent[v]) {
			if kept := t.kept(t.at(sibling, r)); sibling != v && kept > most {
				keeper, most = sibling, kept
			}
		}
		if keeper >= 0 {
			return keeper
		}
	}
	return q
}
