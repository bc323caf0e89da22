package preempt

// A stretch is some units of a leaf that follow each other by standing and are judged alike as the first
// to go: they share what they are charged and what protects them, and nothing else keeps one of them, as
// each is all of its workload. Whoever is like no other is one by itself.
type stretch struct {
	from, to int32
	alike    bool
}

// stretchesOf are those of a leaf whose protection is known, kept until a unit of it comes or goes or is
// kept otherwise, or their protection is walked anew.
func (r *roster) stretchesOf(leaf int32) []stretch {
	if r.stretched[leaf] {
		return r.stretches[leaf]
	}
	out, units := r.stretches[leaf][:0], r.inLeaf(leaf)
	for at, id := range units {
		u := &r.state[id]
		alike := u.bars&^wide == 0 && u.charge != 0 && r.single(id)
		if last := len(out) - 1; at > 0 && alike && out[last].alike && r.judgedAlike(units[at-1], id) {
			out[last].to++
			continue
		}
		out = append(out, stretch{int32(at), int32(at + 1), alike})
	}
	r.stretches[leaf], r.stretched[leaf] = out, true
	return out
}

// loosen takes note that the units of a workload may be all of it, or not be any more.
func (r *roster) loosen(work int32) {
	for id := r.byWork[work]; id >= 0; id = r.state[id].next {
		u := &r.state[id]
		r.stretched[u.leaf] = false
		u.only = u.next < 0 && id == r.byWork[work]
	}
}

// hasOf says whether a unit of a workload is among those of a leaf.
func (r *roster) hasOf(leaf, work int32) bool {
	if int(work) >= len(r.byWork) {
		return false
	}
	id := r.byWork[work]
	for id >= 0 && r.state[id].leaf != leaf {
		id = r.state[id].next
	}
	return id >= 0
}
