package allot

import "slices"

// reasonOf is why something was taken (X2): the right by which the first of its chain
// took it, the last of the chain as the preemptor, and all of the chain where there is
// more than one.
func (w *world) reasonOf(d *decision, a *action) Reason {
	chain := w.chainOf(d, a)
	if chain == nil {
		return Reason{
			Code: w.room.takings[a.taking-1].code, Form: int(a.form), Have: w.ranOf(a.work),
			Need: w.definition(&w.works[a.work], a.form).least(),
		}
	}
	t := w.room.takings[chain[0]]
	w.figure(&t, a.form, w.takenFor(&t, d.goneBy(a)), len(chain) == 1)
	r := Reason{Code: t.code, Form: int(a.form)}
	first := w.taker(&t)
	if r.Queue, r.Resource, r.Subtrees = first.Queue, first.Resource, first.Subtrees; r.Subtrees != nil {
		r.Have, r.Need = r.Subtrees.Victim.Before, r.Subtrees.Victim.Entitlement
	}
	if r.Workload = first.Workload; len(chain) == 1 {
		return r
	}
	r.Chain = append(r.Chain, first)
	for _, at := range chain[1:] {
		r.Chain = append(r.Chain, w.taker(&w.room.takings[at]))
	}
	r.Workload = r.Chain[len(chain)-1].Workload
	return r
}

// taker tells one taking of a chain.
func (w *world) taker(t *taking) Taker {
	out := Taker{Code: t.code, Workload: w.source(&w.works[t.beneficiary]).ID}
	c := &t.is
	if c.Subtree < 0 || c.Resource < 0 {
		return out
	}
	p := w.pools[t.pool]
	out.Queue, out.Resource = p.queueID(w.state, int(c.Subtree)), p.resources[c.Resource].name
	own := p.queueID(w.state, int(c.PreemptorSubtree))
	out.Subtrees = &Subtrees{
		Victim:    Subtree{Queue: out.Queue, Before: c.Before, After: c.After, Entitlement: toldLine(c.Entitlement)},
		Preemptor: Subtree{Queue: own, Before: c.OwnBefore, After: c.OwnAfter, Entitlement: toldLine(c.OwnEntitlement)},
	}
	return out
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

// takenFor are the tasks without other units of the workload that were last taken
// for another or by another right, and moves the case to before the first of
// them.
func (w *world) takenFor(t *taking, gone []taskPlace) (out []taskPlace) {
	last := w.takenOf(t.unit.Work).any
	for _, g := range gone {
		other := t
		if step, known := w.stepOf(t.unit.Work, g); known {
			if at, some := last[step]; some {
				other = &w.room.takings[at]
			}
		}
		if other.beneficiary == t.beneficiary && other.code == t.code &&
			other.is.Subtree == t.is.Subtree && other.is.Resource == t.is.Resource {
			out = append(out, g)
			t.is.Before = max(t.is.Before, other.is.Before)
		}
	}
	if out == nil {
		return gone
	}
	return out
}

// figure makes the side of a reclaim lose exactly the tasks that are gone. Where it is
// told for who was entitled itself, the other side gains exactly what that has got, if
// it has come in several steps. Both begin where they stood when the solve judged it.
// A case of a resource that the tasks do not hold, as when a part of a unit has gone, is
// told in another.
func (w *world) figure(t *taking, form int16, gone []taskPlace, itself bool) {
	c := &t.is
	if c.Subtree < 0 {
		return
	}
	if c.Resource < 0 || w.amountOf(t.unit.Work, form, gone, c.Resource) == 0 {
		w.figureAnew(t, form, gone)
	}
	if c.Resource < 0 {
		return
	}
	c.After = c.Before - w.amountOf(t.unit.Work, form, gone, c.Resource)
	if itself {
		c.OwnAfter = c.OwnBefore + w.gainOf(t.beneficiary, c.Resource, c.OwnAfter-c.OwnBefore)
	}
}

// figureAnew tells the case in the first resource that the tasks hold and the
// beneficiary has got, else in the first that they hold, with the uses in the end.
func (w *world) figureAnew(t *taking, form int16, gone []taskPlace) {
	c, p := &t.is, w.pools[t.pool]
	c.Resource = -1
	for r := range int32(p.plain) {
		gain := w.gainOf(t.beneficiary, r, 0)
		held := w.amountOf(t.unit.Work, form, gone, r)
		if !p.divided[r] || held == 0 || c.Resource >= 0 && gain == 0 {
			continue
		}
		c.Resource = r
		c.Before = p.tree.Use(int(c.Subtree), int(r)) + held
		c.OwnBefore = max(0, p.tree.Use(int(c.PreemptorSubtree), int(r))-gain)
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
