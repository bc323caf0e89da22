package preempt_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// What is chosen, as the page of package preempt says it, over all places.

// best is the answer: of the first way of making room that has one.
func (c *harmCase) best() *harmRun {
	for _, kind := range c.kinds() {
		if best := c.bestBy(kind); best != nil {
			return best
		}
	}
	return nil
}

// bestBy is the answer of one way of making room.
func (c *harmCase) bestBy(kind harmKind) (best *harmRun) {
	if kind == harmBoth {
		return c.bestBoth()
	}
	better := func(found *harmRun) {
		if found != nil && c.withinCap(found.gone) && (best == nil || found.less(best)) {
			best = found
		}
	}
	for _, place := range c.places {
		better(c.clear(place, kind))
	}
	if kind == harmConsolidate { // fewest moved first (C3), whatever the places
		c.eachSet(func(set uint32) bool {
			found, _ := c.replay(set, kind, harmInOrder, c.anywhere())
			better(found)
			return true
		})
	}
	return best
}

// clear is the procedure for one place: take what stands there in order until
// the preemptor starts, spare what can be spared, and fall back on the other
// orders where that does not free enough.
func (c *harmCase) clear(place harmPlace, kind harmKind) *harmRun {
	for _, order := range kind.variants() {
		r := &harmRun{harmCase: c, kind: kind, order: order, place: place, gone: c.base}
		if order == harmOne {
			if r = r.one(); r != nil {
				return c.spare(r)
			}
			continue
		}
		for !r.lawful() {
			if !r.takeNext(place.units) {
				r = nil
				break
			}
		}
		if r != nil {
			return c.spare(r)
		}
	}
	return nil
}

// one takes the first that is enough, with its later steps, each tried by itself.
func (r *harmRun) one() *harmRun {
	for from := r.place.units; ; {
		one := *r
		u := one.nextWithSteps(from)
		if u < 0 {
			return nil
		}
		for one.gone&(1<<u) == 0 {
			if !one.takeNext(r.above[u] | 1<<u) {
				break
			}
		}
		if one.lawful() {
			return &one
		}
		from &^= 1 << u
	}
}

// takeNext takes the first unit in order, after the later steps of its workload.
func (r *harmRun) takeNext(from uint32) bool {
	u := r.nextWithSteps(from)
	if u < 0 {
		return false
	}
	steps := unitsOf(r.above[u]&^r.gone | 1<<u)
	slices.SortFunc(steps, func(a, b int) int { return cmp.Compare(r.units[b].step, r.units[a].step) })
	r.take(steps[0])
	return true
}

// nextWithSteps is the first unit in order that may be taken, once the later
// steps of its workload are, which must go before it (M6).
func (r *harmRun) nextWithSteps(from uint32) int {
	best := -1
	for _, u := range unitsOf(from &^ r.gone) {
		if best >= 0 && !r.before(u, best) {
			continue
		}
		steps := unitsOf(r.above[u]&^r.gone | 1<<u)
		slices.SortFunc(steps, func(a, b int) int { return cmp.Compare(r.units[b].step, r.units[a].step) })
		trial := *r
		trial.taken = slices.Clone(r.taken)
		if !slices.ContainsFunc(steps, func(step int) bool {
			may := trial.may(step)
			if may {
				trial.take(step)
			}
			return !may
		}) {
			best = u
		}
	}
	return best
}

// spare gives back, best standing first, every unit without which the rest is
// lawful too, replayed in order.
func (c *harmCase) spare(r *harmRun) *harmRun {
	for _, u := range unitsOf(r.gone &^ c.base) {
		if shorter, ok := c.replay(r.gone&^(1<<u), r.kind, r.order, r.place); ok {
			r = shorter
		}
	}
	if final, ok := c.replay(r.gone, r.kind, r.order, r.place); ok {
		return final
	}
	return r
}

// judge says whether a set of victims is lawful: by which way and order, and
// whether a victim of it is superfluous: whether the rest is found to be enough,
// as for unlike tasks the search for places proves nothing where it fails.
func (c *harmCase) judge(set uint32) (found *harmRun, superfluous bool) {
	for _, kind := range c.kinds() {
		if r := c.judgeBoth(set); kind == harmBoth && r != nil && found == nil {
			found = r
		}
		for _, order := range kind.variants() {
			c.staying = true // that the others find places so is lawful, not the procedure
			r, ok := c.replayAt(set, kind, order)
			c.staying = false
			if !ok || !c.withinCap(set) {
				continue
			}
			c.searched = len(c.want) > 1
			rest := c.spare(r)
			// Whoever makes way so that fewer GPUs move is needed for that (C3).
			spared := rest.gone != set && (kind != harmConsolidate || rest.moved <= r.moved)
			c.searched = false
			if found == nil || superfluous && !spared {
				found, superfluous = r, spared
			}
		}
	}
	return found, superfluous
}

// replayAt is replay at some place on which all of the set stand: sizes depend on
// it, as far as somebody stands on several nodes.
func (c *harmCase) replayAt(set uint32, kind harmKind, order harmVariant) (*harmRun, bool) {
	var several uint32
	for _, u := range unitsOf(set) {
		if nodes := c.units[u].nodes; nodes&(nodes-1) != 0 {
			several |= nodes
		}
	}
	if order != harmLargest && order != harmSmallest || several == 0 {
		return c.replay(set, kind, order, c.anywhere())
	}
	all := c.anywhere()
	for some := several; some != 0; some = (some - 1) & several {
		place := harmPlace{all.nodes&^several | some, all.units}
		if slices.ContainsFunc(unitsOf(set), func(u int) bool { return c.units[u].nodes&place.nodes == 0 }) {
			continue
		}
		if r, ok := c.replay(set, kind, order, place); ok {
			return r, true
		}
	}
	return nil, false
}

// exists looks for any lawful set at all.
func (c *harmCase) exists() (found *harmRun) {
	c.eachSet(func(set uint32) bool {
		for _, kind := range c.kinds() {
			if r := c.judgeBoth(set); kind == harmBoth && r != nil {
				found = r
				return false
			}
			for _, order := range kind.variants() {
				if r, ok := c.replayAt(set, kind, order); ok && c.withinCap(set) {
					found = r
					return false
				}
			}
		}
		return true
	})
	return found
}

// eachSet yields the sets of units with which the preemptor might start, until
// it is told to stop.
func (c *harmCase) eachSet(yield func(uint32) bool) {
	var eligible uint32
	for u := range c.units {
		if !c.units[u].nonPreemptible && c.units[u].work != c.unit.work {
			eligible |= 1 << u
		}
	}
	for set := eligible; set != 0; set = (set - 1) & eligible {
		if c.starts(set) && !yield(set) {
			return
		}
	}
}

// less compares two sets of victims of one way of making room.
func (r *harmRun) less(s *harmRun) bool {
	if r.kind == harmConsolidate {
		if c := cmp.Compare(r.moved, s.moved); c != 0 {
			return c < 0
		}
	}
	if c := slices.CompareFunc(r.pairs(), s.pairs(), func(a, b [2]int64) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	}); c != 0 {
		return c < 0
	}
	if c := cmp.Or(cmp.Compare(r.lostWork(), s.lostWork()), cmp.Compare(r.worksOf(r.gone), s.worksOf(s.gone))); c != 0 {
		return c < 0
	}
	at := &harmRun{harmCase: r.harmCase, kind: r.kind}
	for i := range min(len(r.taken), len(s.taken)) {
		if u, v := r.taken[i].unit, s.taken[i].unit; u != v {
			return at.before(u, v)
		}
		at.take(r.taken[i].unit)
	}
	return false
}

// pairs are class and priority of the victims, the best protected first.
func (r *harmRun) pairs() (pairs [][2]int64) {
	for _, t := range r.taken {
		pairs = append(pairs, [2]int64{int64(t.class), r.units[t.unit].priority})
	}
	slices.SortFunc(pairs, func(a, b [2]int64) int {
		return cmp.Or(cmp.Compare(b[0], a[0]), cmp.Compare(b[1], a[1]))
	})
	return pairs
}

func (r *harmRun) lostWork() (sum int64) {
	for _, t := range r.taken {
		sum += r.units[t.unit].lost
	}
	return sum
}

// String is the way and the units in the order in which they are taken; a step
// is named by its number behind the workload.
func (r *harmRun) String() string {
	if r == nil {
		return ""
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%v:", r.kind)
	for _, t := range r.taken {
		u := &r.units[t.unit]
		text.WriteString(" " + r.works[u.work].name)
		if u.step > 0 {
			fmt.Fprintf(&text, "+%d", u.step)
		}
	}
	return text.String()
}
