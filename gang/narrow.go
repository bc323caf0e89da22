package gang

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/placement"
)

// In the domains that the preferred level gives, what is placed takes the fewest domains of
// each narrower level in turn, down to the nodes (T2), unless its strategy spreads or goes
// by position.

// narrows says whether a strategy leaves it to the levels which nodes are used.
func narrows(st placement.Strategy) bool { return st != placement.Spread && st != placement.First }

// narrow places tasks of a set, without slices, in a domain or on a node.
func (w *search) narrow(s int32, where area, tasks []int32) bool {
	if !narrows(w.st.of(&w.g.sets[s])) {
		return w.onNodes(s, where, tasks)
	}
	for level := w.t.LevelOf(where[0]) + 1; level < w.t.NodeLevel(); level++ {
		parts := w.parts(s, where, level, nil)
		if len(parts) < 2 {
			continue
		}
		parts = slices.Clone(parts) // what fills them asks for others
		if !w.share(parts, int64(len(tasks)), 1, Pack) {
			return false
		}
		for i := range parts {
			n := parts[i].n
			if n > 0 && !w.narrow(s, area{parts[i].domain}, tasks[:n]) {
				return false
			}
			tasks = tasks[n:]
		}
		return true
	}
	nodes := w.nodesWithin(s, where)
	if w.LeastFreeFirst {
		slices.SortStableFunc(nodes, func(a, b part) int { return cmp.Compare(a.takes, b.takes) })
		fillInOrder(nodes, int64(len(tasks)))
	} else {
		slices.SortStableFunc(nodes, func(a, b part) int { return cmp.Compare(b.takes, a.takes) })
		packInOrder(nodes, int64(len(tasks)))
	}
	slices.SortFunc(nodes, func(a, b part) int { return cmp.Compare(a.domain, b.domain) })
	return w.onThese(s, nodes, tasks)
}

// packInOrder is [pack] for nodes that have the most room first: of those that take all
// that is left the fullest does, and of as full ones the first.
func packInOrder(nodes []part, n int64) {
	for i := 0; i < len(nodes) && n > 0; i++ {
		pick := i
		for at := i; at < len(nodes) && nodes[at].takes >= n; at++ {
			if nodes[at].takes < nodes[pick].takes {
				pick = at
			}
		}
		nodes[pick].n = min(n, nodes[pick].takes)
		n -= nodes[pick].n
	}
}

// fillInOrder fills one node after the other.
func fillInOrder(nodes []part, n int64) {
	for i := range nodes {
		nodes[i].n = min(n, nodes[i].takes)
		n -= nodes[i].n
	}
}

// closest places what is inside v, of several sets, in some domains in which it is known
// to find its places: of each narrower level in turn in the fewest domains in which it does.
func (w *search) closest(v int32, some area, from placement.Level) bool {
	sets := w.setsIn(v)
	for level := from; level <= w.t.NodeLevel(); level++ {
		var all area
		for _, e := range w.divide(some, level) {
			all = append(all, e...)
		}
		if len(all) < 2 || level == w.t.NodeLevel() && slices.ContainsFunc(sets, func(s int32) bool { return !narrows(w.st.of(&w.g.sets[s])) }) {
			continue
		}
		if few := fewest(w, v, sets, roomiest(w, sets, all)); few != nil {
			some = few
		}
	}
	return w.attempt(func() bool { return w.children(v, some, Constraint{}) })
}

// fewest are the fewest of some domains, and of those that are as few the fullest, in which
// what is inside v finds its places, hardest first; nil if none do.
func fewest(w *search, v int32, sets []int32, all area) area {
	for n := 1; n < len(all); n++ {
		for _, one := range choices(w, sets, []area{all}, n) {
			if finds(w, v, one.area) {
				return one.area
			}
			if w.cut {
				return nil
			}
		}
	}
	return nil
}
