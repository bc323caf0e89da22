package gang

// AboveMinimum says whether a task may be taken away from what is held with the
// gang still at its minimum: the 'above' of O1, where AtMinimum alone is its
// 'at'. Costs are those of AtMinimum.
func (g *Gang) AboveMinimum(counts []int32) bool {
	if g.plain {
		above := false
		for s := range g.sets {
			h := held(counts, s)
			if h < g.sets[s].Min {
				return false
			}
			above = above || h > g.sets[s].Min
		}
		return above
	}
	var buffer [64]status
	state := g.buffer(buffer[:])
	g.assess(state, counts)
	if !state[0].atMin {
		return false
	}
	state[0].needed = true
	for i := range g.tree {
		n, st := &g.tree[i], &state[i]
		if n.parent >= 0 {
			p := &state[n.parent]
			st.needed = p.needed && st.atMin && p.done == g.tree[n.parent].need
		}
		if n.set < 0 {
			continue
		}
		if h := held(counts, int(n.set)); h > 0 && !(st.needed && h == g.sets[n.set].Min) {
			return true
		}
	}
	return false
}
