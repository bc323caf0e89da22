package gang

import (
	"cmp"
	"math"
	"slices"

	"github.com/allotsched/allot/placement"
)

// Sets of several shapes that are parted together cannot be counted: they are
// placed for real, in few domains, or evenly in many.

// mostDomains is up to how many domains every choice of them is tried for sets of
// several shapes: 12 have 4,095 choices, of which most are ruled out by counting.
const mostDomains = 12

// stepsAChoice is how many steps of [Placer.Effort] it costs to count what a choice of
// domains takes.
const stepsAChoice = 8 * stepsEach

// parted places what is inside v, of several sets, in domains of the preferred level
// of one of the areas, by the mode: in the fewest in which it finds its places, for Balance
// in even parts if it can, and of those that are as few in the fullest. Where an area has many domains, those with the
// most room are looked at.
func (w *search) parted(v int32, areas []area, c Constraint) bool {
	if c.Preferred == 0 {
		return false
	}
	sets := w.setsIn(v)
	var among []area // by area: the domains of the preferred level to choose from
	most := 0
	for _, where := range areas {
		var all area
		for _, e := range w.divide(where, c.Preferred) {
			all = append(all, e...)
		}
		if len(all) < 2 {
			continue
		}
		if c.Mode == Spread {
			return w.attempt(func() bool { return w.evenly(v, all, math.MaxInt32) })
		}
		all = roomiest(w, sets, all)
		among, most = append(among, all), max(most, len(all))
	}
	for n := 1; c.Mode == Balance && n <= most; n++ {
		for _, one := range choices(w, sets, among, n) {
			if w.attempt(func() bool { return w.evenly(v, one.area, 1) }) {
				return true
			}
			if w.cut {
				return false
			}
		}
	}
	for n := 1; n <= most && !w.cut; n++ {
		choices := choices(w, sets, among, n)
		for _, place := range [...]func(area) bool{
			func(some area) bool { return w.inAll(v, some, c) },
			func(some area) bool { return w.exactly(v, some) },
		} {
			for i := range choices {
				if w.attempt(func() bool { return place(choices[i].area) }) {
					return true
				}
				if w.cut {
					return false
				}
			}
		}
	}
	return false
}

// inAll places what is inside v in some domains of the preferred level: in equal parts
// where it is balanced and finds its places so, else in few domains of the narrower levels.
func (w *search) inAll(v int32, some area, c Constraint) bool {
	if c.Mode == Balance && len(some) > 1 {
		return w.attempt(func() bool { return w.evenly(v, some, math.MaxInt32) }) || w.children(v, some, Constraint{})
	}
	return finds(w, v, some) && w.closest(v, some, c.Preferred+1)
}

// finds says whether what is inside v finds its places in an area the quick way; it takes
// none.
func finds(w *search, v int32, some area) (found bool) {
	w.attempt(func() bool {
		found = w.children(v, some, Constraint{})
		return false
	})
	return found
}

// roomiest are the domains of which every choice is tried, those with the most room.
func roomiest(w *search, sets []int32, all area) area {
	if len(all) <= mostDomains {
		return all
	}
	list := make([]candidate, len(all))
	for i, d := range all {
		list[i].area = all[i : i+1]
		for _, s := range sets {
			n := min(w.takes(s, area{d}, nil), int64(w.g.added(w.u, int(s))))
			list[i].room -= n * int64(max(1, w.g.sets[s].Devices))
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(a.room, b.room) })
	out := make(area, mostDomains)
	for i := range out {
		out[i] = list[i].area[0]
	}
	return out
}

// choices are those of n domains that might take the sets, the fullest first; no more
// than those of one area.
func choices(w *search, sets []int32, among []area, n int) (out []candidate) {
	looked := 0
	for _, all := range among {
		if n > len(all) || looked > 1<<mostDomains {
			continue
		}
		eachChoice(all, n, func(some area) {
			if w.Effort.Spend(stepsAChoice); w.choices > w.Effort.Narrow(w.choices) {
				w.cut = true
				return
			}
			w.choices += stepsAChoice
			if looked++; w.mayTake(sets, some) {
				out = append(out, candidate{area: some, room: w.takes(sets[0], some, nil)})
			}
		})
	}
	slices.SortStableFunc(out, func(a, b candidate) int { return cmp.Compare(a.room, b.room) })
	return out
}

// exactlyInOne tries every way to place what is inside v in one of some areas, where
// they are small, as it is tried at last where the areas are required: where the quick
// ways prove nothing.
func (w *search) exactlyInOne(v int32, areas []area) bool {
	sets := w.setsIn(v)
	if w.tasksIn(v) > mostDeepTasks || len(sets) < 2 && !w.choosy(sets[0]) {
		return false
	}
	d := newDeepSearch(w)
	for _, e := range areas {
		if w.nodesWithRoom(e) <= mostDeepNodes && w.attempt(func() bool { return d.inside(v, e, func() bool { return true }) }) {
			return true
		}
	}
	w.waste(d.steps)
	return false
}

// exactly tries every way to place what is inside v in an area, where it is small.
func (w *search) exactly(v int32, where area) bool {
	if w.tasksIn(v) > mostDeepTasks || w.nodesWithRoom(where) > mostDeepNodes {
		return false
	}
	d := newDeepSearch(w)
	found := d.children(v, where, func() bool { return true })
	w.waste(d.steps)
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
// task, a slice, or what has a constraint of its own. It fails where the largest part
// exceeds the smallest by more tasks than so many.
func (w *search) evenly(v int32, domains area, difference int32) bool {
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
	return slices.Max(given)-slices.Min(given) <= difference
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
