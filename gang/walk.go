package gang

// A Walk goes through the units that a gang may start next, in order of
// preference (G1–G3), without allocating once its buffers have grown. The zero
// Walk is ready for Reset. It belongs to one goroutine.
type Walk struct {
	g      *Gang
	held   []int32
	budget int
	cut    bool
	// unit was found by Reset and waits for the first Next.
	unit    Unit
	waiting bool

	// target is the node that is being brought to its minimum, -1 between
	// two; next the node from which the following one is looked for.
	target, next int32
	// set is the next one that is asked for a single task.
	set int

	add   []int32
	state []status
	stack []int32
	// decisions are the groups in which children were chosen for the unit, in
	// the order of the choice. A later one varies faster.
	decisions []int32
	// By place in the lists of a group (node.list): the candidates, in order of
	// preference; for each the place of the nearest earlier one that is
	// interchangeable with it, or -1; whether it is picked; and the picked
	// places in order.
	candidates, same, picks []int32
	picked                  []bool
	// place is, by node, its place among the candidates of its parent.
	place []int32
}

// Reset begins the walk of g with counts tasks running or claimed per set, and
// says whether there is a unit at all: OK, Complete or NotSubmitted. Sets that
// counts leaves out hold nothing; counts must not change during the walk. At
// most budget units are yielded. O(sets and groups).
func (w *Walk) Reset(g *Gang, counts []int32, budget int) Verdict {
	w.g, w.held, w.budget, w.cut = g, counts, budget, false
	w.target, w.next, w.set = -1, 0, 0
	if !g.plain {
		w.grow()
		g.assess(w.state, counts)
	}
	w.waiting = w.step()
	switch {
	case w.waiting:
		return Verdict{OK: true, Set: -1}
	case g.AtMinimum(counts):
		return Verdict{Kind: Complete, Set: -1}
	}
	s := w.short()
	return Verdict{Kind: NotSubmitted, Set: s, Have: g.sets[s].Submitted, Need: g.sets[s].Min}
}

// grow makes the buffers fit the tree.
func (w *Walk) grow() {
	n := len(w.g.tree)
	if cap(w.state) < n {
		w.state = make([]status, n)
		lists := make([]int32, 4*n)
		w.candidates, w.same, w.picks, w.place = lists[:n], lists[n:2*n], lists[2*n:3*n], lists[3*n:]
		w.picked = make([]bool, n)
	}
	w.state = w.state[:n]
}

// Next returns the next unit, or false if there is none or the budget is used
// up. The unit is the walk's own and is good until the next call of Next or
// Reset; it must not be modified.
func (w *Walk) Next() (Unit, bool) {
	if w.g == nil || w.cut {
		return Unit{}, false
	}
	found := w.waiting || w.step()
	w.waiting = false
	if !found {
		w.g = nil
		return Unit{}, false
	}
	if w.budget <= 0 {
		w.cut = true
		return Unit{}, false
	}
	w.budget--
	return w.unit, true
}

// Cut says, once Next has returned false, whether there were more units than
// the budget allowed.
func (w *Walk) Cut() bool { return w.cut }

// step finds the following unit: the other choices for the target at hand, then
// the next target, then the single tasks.
func (w *Walk) step() bool {
	if w.g.plain {
		return w.stepPlain()
	}
	if w.target >= 0 {
		if w.advance() {
			w.unit = Unit{Add: w.add}
			return true
		}
		w.target = -1
	}
	if w.nextTarget() {
		w.expand(0)
		w.unit = Unit{Add: w.add}
		return true
	}
	for ; w.set < len(w.g.sets); w.set++ {
		if w.state[w.g.leaf[w.set]].active && w.single() {
			return true
		}
	}
	return false
}

// single makes the unit of one more task of w.set, if there is one.
func (w *Walk) single() bool {
	s := w.set
	if w.g.sets[s].room(held(w.held, s)) == 0 {
		return false
	}
	w.set++
	w.unit = w.g.single(s)
	return true
}

// stepPlain is step where there is nothing to choose: one unit to the minimum,
// else the single tasks.
func (w *Walk) stepPlain() bool {
	if w.next == 0 {
		w.next = int32(len(w.g.tree))
		if missing, reachable := w.missing(); missing {
			w.set = len(w.g.sets)
			w.unit = Unit{Add: w.add}
			return reachable
		}
	}
	for ; w.set < len(w.g.sets); w.set++ {
		if w.single() {
			return true
		}
	}
	return false
}

// missing fills w.add with what a plain gang lacks to its minimum, and says
// whether it lacks anything and whether what it lacks is submitted.
func (w *Walk) missing() (missing, reachable bool) {
	reachable = true
	for s := range w.g.sets {
		set, h := &w.g.sets[s], held(w.held, s)
		if h >= set.Min {
			continue
		}
		if !missing {
			missing = true
			w.clearAdd()
		}
		w.add[s] = set.Min - h
		reachable = reachable && set.Submitted >= set.Min
	}
	return missing, reachable
}

// clearAdd makes w.add the unit that adds nothing.
func (w *Walk) clearAdd() {
	if n := len(w.g.sets); cap(w.add) < n {
		w.add = make([]int32, n)
	} else {
		w.add = w.add[:n]
		clear(w.add)
	}
}

// nextTarget finds the next target: an outermost node below its minimum, in the order
// of the tree, that can reach it. While the gang is below its minimum that is
// the root or nothing. The nodes passed on the way are active.
func (w *Walk) nextTarget() bool {
	for int(w.next) < len(w.g.tree) {
		i := w.next
		if w.state[i].atMin {
			w.state[i].active = true
			w.next++
			continue
		}
		w.next = w.g.tree[i].end
		if w.state[i].reachable {
			w.target = i
			return true
		}
	}
	return false
}

// short is the first set that keeps the gang from its minimum for want of
// submitted tasks: from the root down, the preferred one of the children that
// cannot reach their minimum.
func (w *Walk) short() int32 {
	if w.g.plain {
		for s := range w.g.sets {
			if set := &w.g.sets[s]; held(w.held, s) < set.Min && set.Submitted < set.Min {
				return int32(s)
			}
		}
	}
	i := int32(0)
	for w.g.tree[i].set < 0 {
		best := int32(-1)
		for c := i + 1; c < w.g.tree[i].end; c = w.g.tree[c].end {
			if w.state[c].reachable {
				continue
			}
			if best < 0 || w.state[c].holds && !w.state[best].holds {
				best = c
			}
		}
		i = best
	}
	return w.g.tree[i].set
}
