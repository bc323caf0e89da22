package gang

// The choices of children (G3). For a target below its minimum, every group on
// the way down picks as many of its candidates as it lacks children at their
// minimum; candidates are the children below theirs that can reach it, those
// that hold tasks first, then in listed order. The picks of one group go in
// lexicographic order of the places; the choices of all groups together go like
// an odometer in which the group decided last moves first.
//
// Candidates of one definition that hold the same are interchangeable: of them
// only the first few are picked, since another choice would ask for the very
// same tasks. Ten alike replicas of which five are needed are one choice, not
// 252.

// expand decides for the target from the top down, keeping the picks of the
// first kept decisions and beginning anew in all others, and fills w.add.
func (w *Walk) expand(kept int) {
	w.clearAdd()
	w.decisions = w.decisions[:kept]
	w.stack = append(w.stack[:0], w.target)
	decided := 0
	for len(w.stack) > 0 {
		i := w.stack[len(w.stack)-1]
		w.stack = w.stack[:len(w.stack)-1]
		n := &w.g.tree[i]
		if n.set >= 0 {
			w.add[n.set] = w.g.sets[n.set].Min - held(w.held, int(n.set))
			continue
		}
		if decided++; decided > kept {
			w.begin(i)
			w.decisions = append(w.decisions, i)
		}
		picks := w.picks[n.list:][:n.need-w.state[i].done]
		for j := len(picks) - 1; j >= 0; j-- {
			w.stack = append(w.stack, w.candidates[n.list+picks[j]])
		}
	}
}

// advance goes to the next choice for the target; false if there is none.
func (w *Walk) advance() bool {
	for d := len(w.decisions) - 1; d >= 0; d-- {
		if w.advanceGroup(w.decisions[d]) {
			w.expand(d + 1)
			return true
		}
	}
	return false
}

// begin lists the candidates of group i and makes its first pick.
func (w *Walk) begin(i int32) {
	n, count := &w.g.tree[i], int32(0)
	for _, holds := range [...]bool{true, false} {
		for c := i + 1; c < n.end; c = w.g.tree[c].end {
			st := &w.state[c]
			if st.atMin || !st.reachable || st.holds != holds {
				continue
			}
			w.candidates[n.list+count] = c
			w.place[c] = count
			w.same[n.list+count] = -1
			if t := w.interchangeable(c); t >= 0 {
				w.same[n.list+count] = w.place[t]
			}
			count++
		}
	}
	clear(w.picked[n.list : n.list+count])
	w.pick(i, 0, 0)
}

// interchangeable is the nearest earlier sibling of node c with the same
// definition that holds the same; -1 is none.
func (w *Walk) interchangeable(c int32) int32 {
	t := w.g.tree[c].twin
	for t >= 0 && !w.holdSame(t, c) {
		t = w.g.tree[t].twin
	}
	return t
}

// holdSame compares what two nodes of one definition hold. Their subtrees have
// the same layout.
func (w *Walk) holdSame(a, b int32) bool {
	if !w.state[a].holds && !w.state[b].holds {
		return true
	}
	for end := w.g.tree[a].end; a < end; a, b = a+1, b+1 {
		if s := w.g.tree[a].set; s >= 0 &&
			held(w.held, int(s)) != held(w.held, int(w.g.tree[b].set)) {
			return false
		}
	}
	return true
}

// mayPick says whether place p of the list is not the later of two
// interchangeable candidates of which the earlier is not picked.
func (w *Walk) mayPick(list, p int32) bool {
	same := w.same[list+p]
	return same < 0 || w.picked[list+same]
}

// pick makes picks j and after of group i the first lawful places from p on. If
// these are too few it takes none and returns false; then no later p would do
// either, as it takes every lawful place there is.
func (w *Walk) pick(i int32, j, p int32) bool {
	n, st := &w.g.tree[i], &w.state[i]
	candidates, lacking := st.open-st.done, n.need-st.done
	from := j
	for ; j < lacking && p < candidates; p++ {
		if w.mayPick(n.list, p) {
			w.picks[n.list+j] = p
			w.picked[n.list+p] = true
			j++
		}
	}
	if j == lacking {
		return true
	}
	for ; j > from; j-- {
		w.picked[n.list+w.picks[n.list+j-1]] = false
	}
	return false
}

// advanceGroup goes to the next pick of group i; false if there is none.
func (w *Walk) advanceGroup(i int32) bool {
	n := &w.g.tree[i]
	for j := n.need - w.state[i].done - 1; j >= 0; j-- {
		p := w.picks[n.list+j]
		w.picked[n.list+p] = false
		if w.pick(i, j, p+1) {
			return true
		}
	}
	return false
}
