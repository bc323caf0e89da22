package gang

import (
	"math"

	"github.com/allotsched/allot/placement"
)

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
	of          map[int32]int32 // by node the number of its domain; all that are looked at are in one
	given       []int32         // by domain
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
	return p.given[of] < p.most && (p.given[of] < p.least || p.missing < p.left)
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

// A balancing is the search for parts that differ as little as they can.
type balancing struct {
	*search
	v     int32
	total int32 // tasks
	rooms map[placement.Domain]partRoom
	steps int // places that may still be taken
}

// A partRoom is what a domain takes of what is parted: tasks, each set by itself, on how
// many nodes.
type partRoom struct {
	takes int64
	nodes int
}

// balanced places what is inside v in parts that differ as little as they can, of those
// that do in the fewest domains: parts that differ by one at most wherever they are found
// first.
func balanced(w *search, v int32, sets []int32, among []area) bool {
	b := &balancing{search: w, v: v, total: w.tasksIn(v), steps: w.most(mostEvenSteps)}
	b.look(sets, among)
	var best area
	least, byCount := int32(math.MaxInt32), make([][]candidate, 1+min(mostOf(among), int(b.total)))
	for n := 1; n < len(byCount); n++ {
		byCount[n] = choices(w, sets, among, n)
		for _, one := range byCount[n] {
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
		if low := b.total / int32(n); b.inParts(byCount[n], low, (b.total+int32(n)-1)/int32(n)) {
			return true
		}
	}
	return b.differing(byCount, least, len(best)) || best != nil && !w.cut && spread(w, v, best)
}

// look finds out what the domains take, where there is little enough to try every way.
func (b *balancing) look(sets []int32, among []area) {
	if b.total > mostDeepTasks {
		b.steps = 0
		return
	}
	b.rooms = make(map[placement.Domain]partRoom)
	for _, all := range among {
		for i, d := range all {
			one := partRoom{nodes: b.nodesWithRoom(all[i : i+1])}
			for _, s := range sets {
				one.takes += min(b.takes(s, all[i:i+1], nil), int64(b.g.added(b.u, int(s))))
			}
			b.rooms[d] = one
		}
	}
}

// differing places what is inside v in parts that differ by two or more, by less than so
// many or in fewer domains.
func (b *balancing) differing(byCount [][]candidate, least int32, count int) bool {
	for more := int32(2); more <= least && more < b.total && b.steps > 0; more++ {
		for n := 2; n < len(byCount) && (more < least || n < count); n++ {
			for low := b.total / int32(n); low > 0 && (low+more)*int32(n) >= b.total; low-- {
				if b.inParts(byCount[n], low, low+more) {
					return true
				}
			}
		}
	}
	return false
}

// inParts tries every way to place what is inside v in one of some choices of domains, of
// which each takes at least and at most so many tasks.
func (b *balancing) inParts(choices []candidate, least, most int32) bool {
	for i := range choices {
		some := choices[i].area
		if b.steps <= 0 || b.cut {
			return false
		}
		if b.steps--; !b.mayPart(some, least, most) {
			continue
		}
		d := newDeepSearch(b.search)
		d.most = min(d.most, mostEvenStepsEach, b.steps)
		d.parting = b.parting(some, least, most)
		found := d.children(b.v, some, func() bool { return true })
		b.steps -= d.steps
		if b.waste(d.steps); found {
			return true
		}
	}
	return false
}

// mayPart is a sound bound: each domain takes so many tasks as it is to be given, each set
// by itself. It also says no where the domains have more nodes than every way is tried on.
func (b *balancing) mayPart(some area, least, most int32) bool {
	takes, nodes := int64(0), 0
	for _, d := range some {
		room := b.rooms[d]
		if room.takes < int64(least) {
			return false
		}
		takes += min(room.takes, int64(most))
		nodes += room.nodes
	}
	return takes >= int64(b.total) && nodes <= mostDeepNodes
}

// parting bounds the tasks of each of some domains.
func (b *balancing) parting(some area, least, most int32) *parting {
	p := &parting{of: make(map[int32]int32), given: make([]int32, len(some)),
		least: least, most: most, missing: least * int32(len(some)), left: b.total}
	for i, d := range some {
		for _, node := range b.t.Nodes(d) {
			p.of[node] = int32(i)
		}
	}
	return p
}
