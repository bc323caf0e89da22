package allot

import "slices"

// A fate is what has become of a workload that something was taken for.
type fate uint8

const (
	holdsNothing fate = iota
	holdsOther        // places that it has otherwise
	staysHome         // all that it has is where it was
	holdsIt           // a place that it was taken for
)

// A tookFrom is a taking as attribute reads it: who lost to whom, and the commit that
// it was for. What moves hands nothing on.
type tookFrom struct {
	loser, gainer, commit int32
	moves                 bool
}

// attribute is the chain of takings that begins with one: of what its gainer has lost
// again the next taking is the first later one that took from it or, if the gainer is
// where it was after all, any. The chain ends with the first gainer that holds what
// was taken for it, else with the last that holds anything. of lists the takings from
// a loser, in their order; a taking for nobody is a chain of its own.
func attribute(first int32, takings func(int32) tookFrom, of func(loser int32) []int32, fated func(work, commit int32) fate) []int32 {
	chain, firm := []int32{first}, 1
	start := takings(first)
	if start.gainer < 0 {
		return chain
	}
	for at, t := first, start; ; {
		f := fated(t.gainer, t.commit)
		if f != holdsNothing {
			firm = len(chain)
		}
		if f == holdsIt {
			return chain
		}
		later := func(n int32) bool { return n > at || f == staysHome }
		next := int32(none)
		for _, n := range of(t.gainer) {
			if other := takings(n); later(n) && other.gainer >= 0 && !other.moves && !slices.Contains(chain, n) {
				next = n
				break
			}
		}
		if next == none {
			return chain[:firm]
		}
		at, t = next, takings(next)
		chain = append(chain, next)
	}
}

// chainFrom is the chain that begins with a taking.
func (w *world) chainFrom(first int32) []int32 {
	book := w.room
	return attribute(first, func(at int32) tookFrom {
		t := &book.takings[at]
		return tookFrom{t.unit.Work, t.beneficiary, t.commit, t.code == Consolidated}
	}, book.takingsOf, w.fateOf)
}

// fateOf says what the workload holds in the end of what it has started by a commit.
func (w *world) fateOf(work, commit int32) fate {
	out := holdsNothing
	for at := range w.room.seats[work] {
		switch s := &w.room.seats[work][at]; {
		case s.commit == commit:
			return holdsIt
		case s.commit >= 0:
			out = holdsOther
		case out == holdsNothing:
			out = staysHome
		}
	}
	return out
}

// chainOf is the chain by which an action is told; nil where nothing was taken.
func (w *world) chainOf(d *decision, a *action) []int32 {
	if a.taking == 0 {
		return nil
	}
	if chain := w.chainFrom(w.whyTaken(d.goneBy(a), a.taking-1)); w.room.takings[chain[0]].beneficiary >= 0 {
		return chain
	}
	return nil
}

// goneBy are the places that an action takes away.
func (d *decision) goneBy(a *action) []taskPlace {
	if a.kind == Move {
		return d.from[a.moved : a.moved+a.to-a.from]
	}
	return d.placed[a.from:a.to]
}

// A takenWork is what was taken of one workload, task by task and unit by unit.
type takenWork struct {
	// steps are by pod set and index the unit that a task was in when it went or, if
	// it has moved, is in now.
	steps map[[2]int32]int32
	// any and gone are by unit the last of its takings, and the last that was no
	// consolidation.
	any, gone map[int32]int32
}

// takenOf is what was taken of a workload. It is asked when nobody changes seats any
// more.
func (w *world) takenOf(work int32) *takenWork {
	book := w.room
	if known := book.takenWorks[work]; known != nil {
		return known
	}
	out := &takenWork{make(map[[2]int32]int32), make(map[int32]int32), make(map[int32]int32)}
	note := func(seats []seat, step func(*seat) int32) {
		for at := range seats {
			if s := &seats[at]; s.origin >= 0 {
				h := &w.holdings[s.origin]
				out.steps[[2]int32{h.set, h.index}] = step(s)
			}
		}
	}
	note(book.seats[work], func(s *seat) int32 { return s.step })
	for _, at := range book.outsOf(work) {
		note(book.out[at].seats, func(*seat) int32 { return book.out[at].unit.Step })
	}
	for _, at := range book.takingsOf(work) {
		t := &book.takings[at]
		out.any[t.unit.Step] = at
		if t.code != Consolidated {
			out.gone[t.unit.Step] = at
		}
	}
	if book.takenWorks == nil {
		book.takenWorks = make(map[int32]*takenWork)
	}
	book.takenWorks[work] = out
	return out
}

// stepOf is the unit of the workload that a task was in.
func (w *world) stepOf(work int32, g taskPlace) (step int32, known bool) {
	step, known = w.takenOf(work).steps[[2]int32{g.set, g.index}]
	return step, known
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

// whyTaken is the last taking of the same workload and of the same kind of right
// as that at 'at' that took one of the tasks in the unit in which it went.
func (w *world) whyTaken(gone []taskPlace, at int32) int32 {
	last := &w.room.takings[at]
	steps := make(map[int32]bool)
	for _, g := range gone {
		if step, known := w.stepOf(last.unit.Work, g); known {
			steps[step] = true
		}
	}
	for _, why := range slices.Backward(w.room.takingsOf(last.unit.Work)) {
		if t := &w.room.takings[why]; (t.code == Consolidated) == (last.code == Consolidated) && steps[t.unit.Step] {
			return why
		}
	}
	return at
}

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
		if s.commit < 0 || s.origin >= 0 && !w.ran(&s) { // a claim is its queue's use already (S7)
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
