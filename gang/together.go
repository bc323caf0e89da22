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

// stepsAChoice is how many steps of [Placer.Effort] it costs to count what a choice of
// domains takes.
const stepsAChoice = 8 * stepsEach

// parted places what is inside v, of several sets, in domains of the preferred level
// of one of the areas, by the mode: in the fewest in which it finds its places, for Balance
// in parts that differ as little as they can, and of those that are as few in the fullest.
// Where an area has many domains, those with the most room are looked at; nodes that lack
// the level, each for itself, where the domains are not enough.
func (w *search) parted(v int32, areas []area, c Constraint) bool {
	if c.Preferred == 0 {
		return false
	}
	sets := w.setsIn(v)
	among, beside := toChoose(w, sets, areas, c)
	switch c.Mode {
	case Spread:
		return slices.ContainsFunc(slices.Concat(among, beside), func(all area) bool { return spread(w, v, all) })
	case Balance:
		if balanced(w, v, sets, among) {
			return true
		}
	}
	return inFewest(w, v, sets, among, c) || inFewest(w, v, sets, beside, c)
}

// toChoose are, by area, the domains of the preferred level, and these with the nodes that
// lack it, where there are any: of either at least two.
func toChoose(w *search, sets []int32, areas []area, c Constraint) (among, beside []area) {
	choose := func(all area) area {
		if c.Mode == Spread {
			return all
		}
		return roomiest(w, sets, all)
	}
	for _, where := range areas {
		var all area
		for _, e := range w.divide(where, c.Preferred) {
			all = append(all, e...)
		}
		if len(all) > 1 {
			among = append(among, choose(all))
		}
		if lacking := lacking(w, where, c.Preferred); len(lacking) > 0 && len(all)+len(lacking) > 1 {
			beside = append(beside, choose(slices.Concat(all, lacking)))
		}
	}
	return among, beside
}

// lacking are the nodes of an area that lack a level and take something of the unit.
func lacking(w *search, where area, level placement.Level) (out area) {
	for _, d := range where {
		if w.t.LevelOf(d) >= level {
			continue
		}
		for _, v := range w.t.Nodes(d) {
			if e := w.t.Of(v, w.t.NodeLevel()); w.t.Of(v, level) < 0 && w.nodesWithRoom(area{e}) > 0 {
				out = append(out, e)
			}
		}
	}
	return out
}

// spread places what is inside v in some domains, as evenly as it goes.
func spread(w *search, v int32, domains area) bool {
	return w.attempt(func() bool {
		_, found := w.evenly(v, domains)
		return found
	})
}

// inFewest places what is inside v in the fewest of some domains in which it finds its
// places, the quick way or, of as many, any.
func inFewest(w *search, v int32, sets []int32, among []area, c Constraint) bool {
	for n := 1; n <= mostOf(among) && !w.cut; n++ {
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

// mostOf is how many domains the area with the most has.
func mostOf(among []area) (most int) {
	for _, all := range among {
		most = max(most, len(all))
	}
	return most
}

// inAll places what is inside v in some domains of the preferred level: in equal parts
// where it is balanced and finds its places so, else in few domains of the narrower levels.
func (w *search) inAll(v int32, some area, c Constraint) bool {
	if c.Mode == Balance && len(some) > 1 {
		return spread(w, v, some) || w.children(v, some, Constraint{})
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
// fewest tasks of it are so far, and of these where the fewest sets have room: a piece is a
// task, a slice, or what has a constraint of its own. It tells by how many tasks the
// largest part exceeds the smallest.
func (w *search) evenly(v int32, domains area) (difference int32, found bool) {
	given := make([]int32, len(domains))
	domains = leastWanted(w, w.setsIn(v), domains)
	for _, child := range w.childrenOf(v) {
		s := w.g.tree[child].set
		if c := w.bound(child); s < 0 || c.Preferred > 0 || w.sliced(s) && w.broken(s) {
			if !w.onFewest(domains, given, make([]bool, len(domains)), w.tasksIn(child), func(where area) bool {
				return w.place(child, where, Constraint{})
			}) {
				return 0, false
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
				return 0, false
			}
		}
	}
	return slices.Max(given) - slices.Min(given), true
}

// leastWanted orders domains by how many of the sets have room there, the fewest first: a set
// that has a choice leaves the others theirs.
func leastWanted(w *search, sets []int32, domains area) area {
	list := make([]candidate, len(domains))
	for i := range domains {
		list[i].area = domains[i : i+1]
		for _, s := range sets {
			if w.takes(s, list[i].area, nil) > 0 {
				list[i].room++
			}
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(a.room, b.room) })
	out := make(area, len(list))
	for i := range list {
		out[i] = list[i].area[0]
	}
	return out
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
