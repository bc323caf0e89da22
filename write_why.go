package allot

import (
	"slices"

	"github.com/allotsched/allot/preempt"
)

// Why something was taken is known when all that the solve has taken and put
// back is (M9): the figures of a reason count what its action takes, and what
// its beneficiary has got in the end (X2).

// reasonOf is why something was taken (X2). The beneficiary is the end of the
// chain: who was itself taken for another is that one, by the right of the
// other (M9).
func (w *world) reasonOf(d *decision, a *action) Reason {
	t, gone := w.takingOf(d, a)
	if t.beneficiary < 0 {
		return Reason{
			Code: t.code, Form: int(a.form), Have: w.ranOf(a.work),
			Need: w.definition(&w.works[a.work], a.form).least(),
		}
	}
	w.figure(&t, a.form, gone)
	r := Reason{Code: t.code, Form: int(a.form), Workload: w.source(&w.works[t.beneficiary]).ID}
	if c := &t.is; c.Subtree >= 0 && c.Resource >= 0 {
		p := w.pools[t.pool]
		r.Queue, r.Resource = p.queueID(w.state, int(c.Subtree)), p.resources[c.Resource].name
		r.Have, r.Need = c.Before, toldLine(c.Entitlement)
		r.Subtrees = &Subtrees{
			Victim:    Subtree{Queue: r.Queue, Before: c.Before, After: c.After, Entitlement: toldLine(c.Entitlement)},
			Preemptor: Subtree{Queue: p.queueID(w.state, int(c.PreemptorSubtree)), Before: c.OwnBefore, After: c.OwnAfter, Entitlement: toldLine(c.OwnEntitlement)},
		}
	}
	return r
}

// takingOf is the taking by which an action is told, with the beneficiary at the
// end of its chain, and the tasks that went by it.
func (w *world) takingOf(d *decision, a *action) (t taking, gone []taskPlace) {
	gone = d.placed[a.from:a.to]
	if a.kind == Move {
		gone = d.from[a.moved : a.moved+a.to-a.from]
	}
	t = w.room.takings[w.whyTaken(gone, int(a.taking)-1)]
	if t.beneficiary < 0 {
		return t, gone
	}
	gone = w.takenFor(&t, gone)
	w.followChain(&t)
	return t, gone
}

// toldLine is a line as it is told: an unlimited quota as the largest amount that
// every reader of JSON keeps. A fair share is no amount of the state, and may be
// more.
func toldLine(line int64) int64 {
	if line >= maxSum {
		return MaxAmount
	}
	return line
}

// ranOf is how many tasks of the workload ran before anything was decided.
func (w *world) ranOf(work int32) (n int64) {
	l := &w.live[w.works[work].live]
	for at := l.from; at < l.to; at++ {
		if h := &w.holdings[at]; h.phase == Running && !h.fresh {
			n++
		}
	}
	return n
}

// least is how many tasks are the minimum, in the preferred choice of sets.
func (d *definition) least() int64 {
	if len(d.ladder) > 0 {
		return int64(d.ladder[len(d.ladder)-1])
	}
	if d.verdict.OK {
		return int64(d.unit.Tasks())
	}
	sum := int64(0)
	for set := range d.sets {
		sum += int64(d.gang.Set(set).Min)
	}
	return sum
}

// whyTaken is the last taking of the same workload and of the same kind of right
// as that at 'at' that took one of the tasks in the unit in which it went.
func (w *world) whyTaken(gone []taskPlace, at int) int {
	last := &w.room.takings[at]
	for _, why := range slices.Backward(w.room.takingsOf(last.unit.Work)) {
		t := &w.room.takings[why]
		if (t.code == Consolidated) == (last.code == Consolidated) && slices.ContainsFunc(gone, func(g taskPlace) bool {
			step, known := w.stepOf(t.unit.Work, g)
			return known && step == t.unit.Step
		}) {
			return int(why)
		}
	}
	return at
}

// outsOf are what is out of a workload in the end, in the order of out.
func (b *roomBook) outsOf(work int32) []int32 {
	if b.outOf == nil {
		b.outOf = make(map[int32][]int32)
		for at := range b.out {
			of := b.out[at].unit.Work
			b.outOf[of] = append(b.outOf[of], int32(at))
		}
	}
	return b.outOf[work]
}

// stepOf is the unit of the workload that a task was in when it went or, if it
// has moved, is in now.
func (w *world) stepOf(work int32, g taskPlace) (step int32, known bool) {
	of := func(s seat) bool {
		return s.origin >= 0 && w.holdings[s.origin].set == g.set && w.holdings[s.origin].index == g.index
	}
	for _, at := range slices.Backward(w.room.outsOf(work)) {
		if o := &w.room.out[at]; slices.ContainsFunc(o.seats, of) {
			return o.unit.Step, true
		}
	}
	if at := slices.IndexFunc(w.room.seats[work], of); at >= 0 {
		return w.room.seats[work][at].step, true
	}
	return 0, false
}

// takenFor are the tasks without other units of the workload that were last taken
// for another or by another right, and moves the case to before the first of
// them.
func (w *world) takenFor(t *taking, gone []taskPlace) (out []taskPlace) {
	same := func(other *taking) bool {
		return other.beneficiary == t.beneficiary && other.code == t.code &&
			other.is.Subtree == t.is.Subtree && other.is.Resource == t.is.Resource
	}
	for _, g := range gone {
		last := t
		if step, known := w.stepOf(t.unit.Work, g); known {
			for _, at := range w.room.takingsOf(t.unit.Work) {
				if other := &w.room.takings[at]; other.unit.Step == step {
					last = other
				}
			}
		}
		if same(last) {
			out = append(out, g)
			t.is.Before = max(t.is.Before, last.is.Before)
		}
	}
	if out == nil {
		return gone
	}
	return out
}

// followChain replaces a beneficiary that has lost what this was taken for by the
// one that took it.
func (w *world) followChain(t *taking) {
	if t.beneficiary < 0 {
		return
	}
	at := w.room.takenFor(t.unit.Work, t.commit)
	for range 2 * len(w.room.takings) { // never in a circle
		if slices.ContainsFunc(w.room.seats[t.beneficiary], func(s seat) bool { return s.commit == t.commit }) {
			return
		}
		next := slices.IndexFunc(w.room.takingsOf(t.beneficiary), func(other int32) bool {
			o := &w.room.takings[other]
			return int(other) > at && o.beneficiary >= 0 && o.code != Consolidated
		})
		if next < 0 && at >= 0 && w.startsNothing(t.beneficiary) {
			// It is where it ran after all: then it is the one that took it before.
			at, t.commit = -1, -2
			continue
		}
		if next < 0 || w.room.takings[w.room.takingsOf(t.beneficiary)[next]].beneficiary == t.unit.Work {
			return // nobody goes for itself, in whatever form
		}
		at = int(w.room.takingsOf(t.beneficiary)[next])
		w.inherit(t, &w.room.takings[at])
		t.commit = w.room.takings[at].commit
	}
}

// startsNothing says whether all that the workload holds is where it ran.
func (w *world) startsNothing(work int32) bool {
	return !slices.ContainsFunc(w.room.seats[work], func(s seat) bool { return s.commit >= 0 })
}

// inherit makes the beneficiary of the next taking that of this one. A preemption
// hands the right of its victim on, and so does whoever has something moved; of
// two reclaims the one counts whose level is that where the paths of the victim
// and the last beneficiary part.
func (w *world) inherit(t, next *taking) {
	t.beneficiary = next.beneficiary
	if t.code == Consolidated || next.code != ReclaimedByQuota && next.code != ReclaimedByShare {
		return
	}
	p := w.pools[t.pool]
	k := &w.works[t.beneficiary]
	side, own := p.sides(t.unit.Leaf, w.formOf(k, k.current).queue)
	switch {
	case side < 0, side == t.is.Subtree && own == t.is.PreemptorSubtree: // its own right holds there
	case side == t.is.Subtree && own == next.is.PreemptorSubtree && t.is.Resource == next.is.Resource:
		t.code = next.code
		t.is.Entitlement = p.lineFor(next.code, side, t.is.Resource)
		t.is.PreemptorSubtree = own
		t.is.OwnBefore, t.is.OwnAfter, t.is.OwnEntitlement = next.is.OwnBefore, next.is.OwnAfter, next.is.OwnEntitlement
	case side == next.is.Subtree && own == next.is.PreemptorSubtree:
		t.code, t.is = next.code, next.is
	default:
		t.code = next.code
		t.is = preempt.Justification{Victim: t.is.Victim, Subtree: side, PreemptorSubtree: own, Resource: -1}
	}
}

// sides are the queues of two leaves just below the one where their paths part,
// −1 where the leaves are one.
func (p *pool) sides(a, b int32) (side, own int32) {
	for side = a; side >= 0; side = p.parent[side] {
		for own = b; own >= 0; own = p.parent[own] {
			if side != own && p.parent[side] == p.parent[own] {
				return side, own
			}
		}
	}
	return -1, -1
}

// figure makes the sides of a reclaim lose exactly the tasks that are gone, and
// gain exactly what the beneficiary has got. Where the case is of a resource
// that the tasks do not hold, as at the end of a chain, it is told in another,
// with the uses in the end.
func (w *world) figure(t *taking, form int16, gone []taskPlace) {
	c := &t.is
	if c.Subtree < 0 {
		return
	}
	if c.Resource < 0 || w.amountOf(t.unit.Work, form, gone, c.Resource) == 0 {
		w.figureInTheEnd(t, form, gone)
	}
	if c.Resource < 0 {
		return
	}
	c.After = c.Before - w.amountOf(t.unit.Work, form, gone, c.Resource)
	gain := w.gainOf(t.beneficiary, c.Resource, c.OwnAfter-c.OwnBefore)
	// At the end of a chain others of its own side may have gone for it too.
	c.OwnAfter = min(c.OwnBefore+gain, w.pools[t.pool].tree.Use(int(c.PreemptorSubtree), int(c.Resource)))
	c.OwnBefore = c.OwnAfter - gain
}

// figureInTheEnd tells the case in the first resource that the tasks hold and the
// beneficiary has got, else in the first that they hold.
func (w *world) figureInTheEnd(t *taking, form int16, gone []taskPlace) {
	c, p := &t.is, w.pools[t.pool]
	c.Resource = -1
	for r := range int32(p.plain) {
		gain := w.gainOf(t.beneficiary, r, 0)
		if !p.divided[r] || w.amountOf(t.unit.Work, form, gone, r) == 0 || c.Resource >= 0 && gain == 0 {
			continue
		}
		c.Resource = r
		c.Before = p.tree.Use(int(c.Subtree), int(r)) + w.amountOf(t.unit.Work, form, gone, r)
		c.OwnBefore = p.tree.Use(int(c.PreemptorSubtree), int(r)) - gain
		c.OwnAfter = c.OwnBefore + gain
		c.Entitlement, c.OwnEntitlement = p.lineFor(t.code, c.Subtree, r), p.lineFor(t.code, c.PreemptorSubtree, r)
		if gain > 0 {
			return
		}
	}
}

// amountOf is what tasks of a workload are charged of a resource in the form in
// which they ran.
func (w *world) amountOf(work int32, form int16, tasks []taskPlace, resource int32) (sum int64) {
	k := &w.works[work]
	for _, t := range tasks {
		sum += w.definition(k, form).sets[t.set].charge.Of(resource)
	}
	return sum
}

// gainOf is what the workload has got of the resource by one of its starts: the
// one that is told so, else the first.
func (w *world) gainOf(work, resource int32, told int64) int64 {
	type start struct {
		commit int32
		moves  bool // which is an action of its own
	}
	var starts []start
	var gains []int64
	k := &w.works[work]
	for _, s := range w.room.seats[work] {
		if s.commit < 0 {
			continue
		}
		one := start{s.commit, w.ran(&s)}
		at := slices.Index(starts, one)
		if at < 0 {
			at, starts, gains = len(starts), append(starts, one), append(gains, 0)
		}
		gains[at] += w.definition(k, k.current).sets[s.set].charge.Of(resource)
	}
	if told > 0 && slices.Contains(gains, told) {
		return told
	}
	if at := slices.IndexFunc(gains, func(gain int64) bool { return gain > 0 }); at >= 0 {
		return gains[at]
	}
	return 0
}

// lineFor is the line of a side that the rule goes by.
func (p *pool) lineFor(code Code, q, res int32) int64 {
	at := int(q)*len(p.resources) + int(res)
	if code == ReclaimedByShare {
		return p.room.Shares[at]
	}
	return p.room.Quotas[at]
}
