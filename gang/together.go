package gang

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/placement"
)

// Sets of several shapes that are parted together cannot be counted: they are
// placed for real, in few domains, or evenly in many.

// mostDomains is up to how many domains every choice of them is tried for sets of
// several shapes: 12 have 4,095 choices, of which most are ruled out by counting.
const mostDomains = 12

// parted places what is inside v, of several sets, in domains of the preferred level
// by the mode.
func (w *search) parted(v int32, where area, c Constraint) bool {
	var all area
	for _, e := range w.divide(where, c.Preferred) {
		all = append(all, e...)
	}
	if len(all) < 2 {
		return false
	}
	if c.Mode == Spread {
		return w.attempt(func() bool { return w.evenly(v, all) })
	}
	few := w.fewDomains(v, all, func(some area) bool { return w.children(v, some, Constraint{}) })
	if few == nil {
		return false
	}
	if c.Mode == Balance && w.attempt(func() bool { return w.evenly(v, few) }) {
		return true
	}
	return w.attempt(func() bool { return w.children(v, few, Constraint{}) }) ||
		w.attempt(func() bool { return w.exactly(v, few) })
}

// fewDomains are the fewest of the domains, where there are not many, in which what
// is inside v finds its places, of those that are as few the fullest; nil if there
// are none.
func (w *search) fewDomains(v int32, all area, place func(area) bool) (few area) {
	if len(all) > mostDomains {
		return nil
	}
	sets := w.setsIn(v)
	for n := 1; n <= len(all) && few == nil && !w.cut; n++ {
		var choices []candidate
		eachChoice(all, n, func(some area) {
			if w.mayTake(sets, some) {
				choices = append(choices, candidate{area: some, room: w.takes(sets[0], some, nil)})
			}
		})
		slices.SortStableFunc(choices, func(a, b candidate) int { return cmp.Compare(a.room, b.room) })
		for i := 0; i < len(choices) && few == nil && !w.cut; i++ {
			some := choices[i].area
			if w.tried(func() bool { return place(some) }) || w.tried(func() bool { return w.exactly(v, some) }) {
				few = some
			}
		}
	}
	return few
}

// tried says whether a branch succeeds, and takes it back.
func (w *search) tried(branch func() bool) (ok bool) {
	w.attempt(func() bool {
		ok = branch()
		return false
	})
	return ok
}

// exactly tries every way to place what is inside v in an area, where it is small.
func (w *search) exactly(v int32, where area) bool {
	if w.tasksIn(v) > mostDeepTasks || w.nodesWithRoom(where) > mostDeepNodes {
		return false
	}
	d := &deepSearch{search: w}
	found := d.children(v, where, func() bool { return true })
	w.wasted += d.steps
	return found
}

// eachChoice calls f with every choice of n of the domains.
func eachChoice(all []placement.Domain, n int, f func(area)) {
	var choose func(from int, some area)
	choose = func(from int, some area) {
		if len(some) == n {
			f(slices.Clone(some))
			return
		}
		for i := from; i <= len(all)-(n-len(some)); i++ {
			choose(i+1, append(some, all[i]))
		}
	}
	choose(0, nil)
}

// evenly places what is inside v piece by piece, the hardest first, each where the
// fewest tasks of it are so far, and of these where most room is: a piece is a
// task, a slice, or what has a constraint of its own.
func (w *search) evenly(v int32, domains area) bool {
	given := make([]int32, len(domains))
	for _, child := range w.childrenOf(v) {
		s := w.g.tree[child].set
		if c := w.bound(child); s < 0 || c.Preferred > 0 || w.sliced(s) && w.broken(s) {
			if !w.onFewest(domains, given, make([]bool, len(domains)), w.tasksIn(child), func(where area) bool {
				return w.place(child, where, Constraint{})
			}) {
				return false
			}
			continue
		}
		cuts, size := w.slices(s), int32(1)
		if len(cuts) > 0 {
			size = cuts[0].Size
		}
		whole, _ := w.chunks(s)
		full := make([]bool, len(domains)) // what has not taken a piece takes no later one, which is alike
		for _, piece := range chunksOf(whole, size) {
			if !w.onFewest(domains, given, full, size, func(where area) bool { return w.fill(s, where, piece, cuts) }) {
				return false
			}
		}
	}
	return true
}

// onFewest places a piece of so many tasks in the domain that has been given the
// fewest so far and takes it, but for those that are full; those that do not take it
// are then.
func (w *search) onFewest(domains area, given []int32, full []bool, tasks int32, place func(area) bool) bool {
	for {
		best := -1
		for i := range domains {
			if !full[i] && (best < 0 || given[i] < given[best]) {
				best = i
			}
		}
		if best < 0 {
			return false
		}
		if w.attempt(func() bool { return place(domains[best : best+1]) }) {
			given[best] += tasks
			return true
		}
		full[best] = true
	}
}

// sliced says whether a set has slices.
func (w *search) sliced(s int32) bool { return len(w.slices(s)) > 0 }

// childrenOf lists the children of a node of the gang's tree of which the unit has
// tasks, the hardest first.
func (w *search) childrenOf(v int32) (children []int32) {
	for _, s := range w.setsIn(v) {
		if child := w.childOf(v, w.g.leaf[s]); !slices.Contains(children, child) {
			children = append(children, child)
		}
	}
	return children
}
