package placement

import "slices"

// Cordon closes a node to everything new, or opens it, as if it had been given so
// to [NewIndex] (see [Node.Cordoned]); what stands there stays. It reports false,
// and has changed nothing, where there is no such node, where a mark is
// outstanding, and where a strategy that scores nodes or draws lots has been in
// use: then the caller has to make a new Index. It takes time in the shapes and kinds
// of nodes.
func (x *Index) Cordon(node int32, cordoned bool) bool {
	if x.now != nil {
		return x.now.Cordon(node, cordoned)
	}
	if node < 0 || int(node) >= len(x.nodes) || x.journal.depth > 0 || x.drawsOrScores() {
		return false
	}
	nd := &x.nodes[node]
	if x.kinds[nd.kind].cordoned == cordoned {
		return true
	}
	nd.kind = x.kindLike(nd.kind, cordoned)
	x.release.forgetAfter()
	for _, sh := range x.shapes {
		x.allowAnew(sh, node)
	}
	x.moved.push(node)
	x.grown.push(node) // searches look at it again
	x.opened.push(node)
	x.changed()
	return true
}

func (x *Index) drawsOrScores() bool {
	return x.scorer != nil || slices.ContainsFunc(x.shapes, func(sh *shape) bool {
		return slices.ContainsFunc(sh.finders[:], func(f *finder) bool {
			return f != nil && (f.board != nil || f.lottery != nil)
		})
	})
}

// kindLike returns the kind that differs from another in this alone.
func (x *Index) kindLike(known int32, cordoned bool) int32 {
	k := x.kinds[known]
	k.cordoned = cordoned
	key := k.key()
	if i := slices.IndexFunc(x.kinds, func(other kind) bool { return other.key() == key }); i >= 0 {
		return int32(i)
	}
	x.kinds = append(x.kinds, k)
	for _, sh := range x.shapes {
		sh.banned = append(sh.banned, x.ban(sh, &k))
	}
	for set, sum := range x.frees { // each by itself: order cannot matter
		sum.count(&k, set)
	}
	return int32(len(x.kinds) - 1)
}

// allowAnew finds out again whether the shape is allowed on a node.
func (x *Index) allowAnew(sh *shape, v int32) {
	sh.candidates, sh.rejected = -1, 0
	allowed := x.allows(sh, v, sh.ample(x))
	if allowed == sh.allowed.has(v) {
		return
	}
	if &sh.allowed.bits[0] == &x.every.bits[0] { // which is not the shape's own
		sh.allowed = sh.allowed.clone()
	}
	if allowed {
		sh.allowed.set(v)
		sh.ever = true
		return
	}
	sh.allowed.clear(v)
	sh.ever = slices.ContainsFunc(sh.allowed.nonzero, func(words uint64) bool { return words != 0 })
	for _, f := range sh.finders {
		for i := 0; f != nil && i < len(f.searches); i++ {
			f.searches[i].alive.clear(v)
		}
	}
}
