package allot

import (
	"slices"
	"strings"

	"github.com/allotsched/allot/internal/table"
)

// What a work is compiled to may depend on what time it is, on a node, or on another workload.
// A follower compiles those anew for which that has changed.

// addAnew adds to the differences of two versions the workloads that are as they were, and are
// to be compiled anew.
func (t *follower) addAnew(works []table.Difference[Workload], nodes []table.Difference[Node], n *objects) []table.Difference[Workload] {
	w, anew := t.world, make(map[int32]bool)
	if !w.state.Now.Equal(n.now) || w.state.Now.IsZero() != n.now.IsZero() {
		t.noteTime(anew, n)
	}
	if slices.ContainsFunc(nodes, func(c table.Difference[Node]) bool { return c.Before.Lost != c.After.Lost }) {
		for i := range w.promised { // into a set: order cannot matter
			anew[i] = true
		}
	}
	changed := make(map[string]bool, len(works))
	for _, c := range works {
		if c.Before != nil {
			changed[c.Before.ID] = true
		}
	}
	t.noteBehind(anew, works)
	was := len(works)
	for i := range anew { // sorted below
		if known := n.workloads.Get(w.workloads[i].ID); known != nil && !changed[known.ID] {
			works = append(works, table.Difference[Workload]{Before: known, After: known})
		}
	}
	slices.SortFunc(works[was:], func(a, b table.Difference[Workload]) int { return strings.Compare(a.After.ID, b.After.ID) })
	return works
}

// noteTime notes the works that are early at one of two times only or have let go what was gathered
// for them, and those to which something else is closed.
func (t *follower) noteTime(anew map[int32]bool, n *objects) {
	w := t.world
	for i := range w.timed { // into a set: order cannot matter
		k := w.workloads[i]
		if k.isEarly(w.state.Now) != k.isEarly(n.now) || !k.HeldSince.IsZero() {
			anew[i] = true
		}
	}
	now := max(micros(n.now), 0)
	if len(w.closing) == 0 || w.closed.has(now) {
		return
	}
	w.closed = always
	for i, of := range w.closing { // into the set, a least and a greatest: order cannot matter
		if of.has(now) {
			w.closed = w.closed.within(of)
		} else {
			anew[i] = true
		}
	}
}

// noteBehind notes the works of which something stands behind a workload that has a promise
// and had none before, or the other way round.
func (t *follower) noteBehind(anew map[int32]bool, works []table.Difference[Workload]) {
	w := t.world
	if len(w.behinds) == 0 {
		return
	}
	promised := func(k *Workload) bool { return k != nil && k.Reserved != nil }
	flips := make(map[string]bool)
	for _, c := range works {
		switch {
		case promised(c.Before) == promised(c.After):
		case c.Before != nil:
			flips[c.Before.ID] = true
		default:
			flips[c.After.ID] = true
		}
	}
	for i := range w.behinds { // into a set: order cannot matter
		if slices.ContainsFunc(w.workloads[i].Tasks, func(one Task) bool { return flips[one.Behind] }) {
			anew[i] = true
		}
	}
}

// forget forgets what is known of a work that no workload has any more.
func (w *world) forget(i int32) {
	for _, set := range [...]map[int32]bool{w.timed, w.promised, w.behinds} {
		delete(set, i)
	}
	delete(w.closing, i)
}

// sameReserved says whether people have reserved the same in another version, none of it has begun
// or ended in between, and the workloads that it names stand where they stood (B9).
func (t *follower) sameReserved(n *objects) bool {
	if t.at.reserved != n.reserved {
		return false
	}
	before, after := max(t.world.Now, 0), max(micros(n.now), 0)
	for r := range n.reserved.All() {
		if (micros(r.From) <= before) != (micros(r.From) <= after) || !r.Until.IsZero() && (micros(r.Until) <= before) != (micros(r.Until) <= after) {
			return false
		}
		for _, id := range r.Workloads {
			was, is := t.at.workloads.Get(id), n.workloads.Get(id)
			if (was == nil) != (is == nil) || was != nil && (was.Queue != is.Queue || len(was.Alternatives)+len(is.Alternatives) > 0) {
				return false
			}
		}
	}
	return true
}
