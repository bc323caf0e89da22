package gang

import "math"

// Even parts of sets of several shapes are found piece by piece, or, where the pieces that
// went first stand in the way, by trying every way to part them, within a budget.

const (
	// mostEvenSteps is how many places are taken at most, for one unit, to part it more
	// evenly than piece by piece: few beside MostWasted, as what it looks for is only better.
	mostEvenSteps = 8_000
	// mostEvenStepsEach bounds one choice of domains and sizes, so that one that cannot be
	// does not use up what others need.
	mostEvenStepsEach = 800
)

// A parting bounds how many tasks each of some domains is given.
type parting struct {
	of          []int32 // by node its domain's number, −1 where it is in none
	given       []int32 // by domain
	least, most int32
	missing     int32 // tasks without which some domain has less than the least
	left        int32 // tasks that have no place yet
}

// open says whether a node may be given one task more, and the least of each domain be
// reached then.
func (p *parting) open(node int32) bool {
	if p == nil {
		return true
	}
	of := p.of[node]
	return of >= 0 && p.given[of] < p.most && (p.given[of] < p.least || p.missing < p.left)
}

// give counts a task that is placed on a node, or with −1 one that is taken back.
func (p *parting) give(node, tasks int32) {
	if p == nil {
		return
	}
	given := &p.given[p.of[node]]
	before := max(0, p.least-*given)
	*given += tasks
	p.missing += max(0, p.least-*given) - before
	p.left -= tasks
}

// balanced places what is inside v in parts that differ as little as they can, of those
// that do in the fewest domains: parts that differ by one at most wherever they are found
// first.
func (w *search) balanced(v int32, sets []int32, among []area) bool {
	var best area
	least, most, steps := int32(math.MaxInt32), mostOf(among), w.most(mostEvenSteps)
	total := w.tasksIn(v)
	for n := 1; n <= min(most, int(total)); n++ {
		choices := choices(w, sets, among, n)
		for _, one := range choices {
			if w.attempt(func() bool {
				difference, found := w.evenly(v, one.area)
				if found && difference < least {
					best, least = one.area, difference
				}
				return found && difference <= 1
			}) {
				return true
			}
			if w.cut {
				return false
			}
		}
		low := total / int32(n)
		if w.partedBy(v, choices, low, (total+int32(n)-1)/int32(n), &steps) {
			return true
		}
	}
	for more := int32(2); more <= least && more < total && steps > 0; more++ {
		for n := 2; n <= min(most, int(total)) && (more < least || n < len(best)); n++ {
			choices := choices(w, sets, among, n)
			for low := total / int32(n); low > 0 && (low+more)*int32(n) >= total; low-- {
				if w.partedBy(v, choices, low, low+more, &steps) {
					return true
				}
			}
		}
	}
	return best != nil && !w.cut && w.spread(v, best)
}

// partedBy tries every way to place what is inside v in one of some choices of domains, of
// which each takes at least and at most so many tasks, where it is small. It counts down
// the steps that are left.
func (w *search) partedBy(v int32, choices []candidate, least, most int32, steps *int) bool {
	if w.tasksIn(v) > mostDeepTasks {
		return false
	}
	for i := range choices {
		if *steps <= 0 || w.cut {
			return false
		}
		some := choices[i].area
		if !w.mayPart(v, some, least, most) || w.nodesWithRoom(some) > mostDeepNodes {
			continue
		}
		d := newDeepSearch(w)
		d.most = min(d.most, mostEvenStepsEach, *steps)
		d.parting = w.partingOf(v, some, least, most)
		found := d.children(v, some, func() bool { return d.parting.missing == 0 })
		*steps -= max(1, d.steps)
		if w.waste(d.steps); found {
			return true
		}
	}
	return false
}

// mayPart is a sound bound: each domain takes so many of what is inside v, each set by
// itself, as it is to be given.
func (w *search) mayPart(v int32, some area, least, most int32) bool {
	sets, total := w.setsIn(v), int64(0)
	for i := range some {
		takes := int64(0)
		for _, s := range sets {
			takes += min(w.takes(s, some[i:i+1], nil), int64(w.g.added(w.u, int(s))))
		}
		if takes < int64(least) {
			return false
		}
		total += min(takes, int64(most))
	}
	return total >= int64(w.tasksIn(v))
}

func (w *search) partingOf(v int32, some area, least, most int32) *parting {
	p := &parting{of: make([]int32, len(w.x.Rooms(w.g.sets[w.order[0]].Shape))), given: make([]int32, len(some)),
		least: least, most: most, missing: least * int32(len(some)), left: w.tasksIn(v)}
	for node := range p.of {
		p.of[node] = -1
	}
	for i, d := range some {
		for _, node := range w.t.Nodes(d) {
			p.of[node] = int32(i)
		}
	}
	return p
}
