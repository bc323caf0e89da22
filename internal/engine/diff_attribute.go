package engine

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/preempt"
)

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
	next                  int32 // see taking.next
}

// attribute is the chain of takings that begins with one: of what its gainer has lost
// again the next taking is the first later one that took from it or, if the gainer is
// where it was after all, any. The chain ends with the first gainer that holds what
// was taken for it, else with the last that holds anything. last is the last taking from
// a loser, −1 if there is none; a taking for nobody is a chain of its own. It is in the memory of into.
func attribute(into []int32, first int32, takings func(int32) tookFrom, last func(loser int32) int32, fated func(work, commit int32) fate) []int32 {
	chain, firm := append(into[:0], first), 1
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
		next := int32(None)
		for end, n := last(t.gainer), last(t.gainer); n >= 0; {
			n = takings(n).next
			if other := takings(n); later(n) && other.gainer >= 0 && !other.moves && !slices.Contains(chain, n) {
				next = n
				break
			}
			if n == end {
				break
			}
		}
		if next == None {
			return chain[:firm]
		}
		at, t = next, takings(next)
		chain = append(chain, next)
	}
}

// chainFrom is the chain that begins with a taking, in the memory of into.
func (w closing) chainFrom(into []int32, first int32) []int32 {
	book := w.Room
	return attribute(into, first, func(at int32) tookFrom {
		t := &book.takings[at]
		return tookFrom{t.unit.Work, t.beneficiary, t.commit, t.code == Consolidated, t.next}
	}, book.lastOf, w.fateOf)
}

// fateOf says what the workload holds in the end of what it has started by a commit.
func (w closing) fateOf(work, commit int32) fate {
	out := holdsNothing
	for at := range w.Room.Seats[work] {
		switch s := &w.Room.Seats[work][at]; {
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

// chainOf is the chain by which an action is told, in memory that the next call uses again; nil where
// nothing was taken.
func (w closing) chainOf(d *Decision, a *Action) []int32 {
	if a.taking == 0 {
		return nil
	}
	known := &w.Room.known
	if known.chain = w.chainFrom(known.chain, a.taking-1); w.Room.takings[known.chain[0]].beneficiary >= 0 {
		return known.chain
	}
	return nil
}

// goneBy are the places that an action takes away.
func (d *Decision) goneBy(a *Action) []TaskPlace {
	if a.Kind == Move {
		return d.From[a.Moved : a.Moved+a.To-a.From]
	}
	return d.Placed[a.From:a.To]
}

// A takenWork is what was taken of one workload, task by task and unit by unit.
type takenWork struct {
	// steps are the units that tasks were in when they went or, if they have moved, are in
	// now, by pod set and index; of one task the last counts.
	steps []taskStep
	// last is by unit the last of its takings, None where there is none.
	last []int32
}

// A taskStep is the unit that a task is in.
type taskStep struct{ set, index, step int32 }

// compare is the order of a list of them.
func (t taskStep) compare(other taskStep) int {
	return cmp.Or(cmp.Compare(t.set, other.set), cmp.Compare(t.index, other.index))
}

// takenOf is what was taken of a workload. It is asked when nobody changes seats any
// more.
func (w closing) takenOf(work int32) *takenWork {
	book := w.Room
	if known := book.known.takenWorks[work]; known != nil {
		return known
	}
	out := new(takenWork)
	note := func(seats []Seat, step func(*Seat) int32) {
		for at := range seats {
			if s := &seats[at]; s.origin >= 0 {
				h := &w.Holdings[s.origin]
				out.steps = append(out.steps, taskStep{h.Set, h.Index, step(s)})
			}
		}
	}
	for at := range book.takingsOf(work) {
		step := book.takings[at].unit.Step
		note(book.takings[at].seats, func(*Seat) int32 { return step }) // it may have started in another form since (G5)
		for int(step) >= len(out.last) {
			out.last = append(out.last, None)
		}
		out.last[step] = at
	}
	note(book.Seats[work], func(s *Seat) int32 { return s.step })
	for _, at := range book.outsOf(work) {
		note(book.out[at].seats, func(*Seat) int32 { return book.out[at].unit.Step })
	}
	slices.SortStableFunc(out.steps, taskStep.compare)
	if book.known.takenWorks == nil {
		book.known.takenWorks = make(map[int32]*takenWork)
	}
	book.known.takenWorks[work] = out
	return out
}

// stepOf is the unit of the workload that a task was in.
func (w closing) stepOf(work int32, g TaskPlace) (step int32, known bool) {
	steps, asked := w.takenOf(work).steps, taskStep{set: g.Set, index: g.Index + 1}
	after, _ := slices.BinarySearchFunc(steps, asked, taskStep.compare)
	if after == 0 || steps[after-1].set != g.Set || steps[after-1].index != g.Index {
		return 0, false
	}
	return steps[after-1].step, true
}

// outsOf are what is out of a workload in the end, in the order of out.
func (b *Table) outsOf(work int32) []int32 {
	if b.known.outOf == nil {
		b.known.outOf = make(map[int32][]int32)
		for at := range b.out {
			of := b.out[at].unit.Work
			b.known.outOf[of] = append(b.known.outOf[of], int32(at))
		}
	}
	return b.known.outOf[work]
}

// takenBy is why something was taken (X2): the right by which the first of its chain
// took it, the last of the chain as the preemptor, and all of the chain where there is
// more than one.
func (w closing) takenBy(d *Decision, a *Action, v Verdict) Verdict {
	chain := w.chainOf(d, a)
	if chain == nil {
		if v.Code = w.Room.takings[a.taking-1].code; v.Code == ReservationBegan {
			v.Reservation = reserving(w).reservedFrom(a.Work)
			return v
		}
		return v.counting(w.ranOf(a.Work), w.Definition(&w.Works[a.Work], a.Form).least())
	}
	t := basisOf(w.Room, w.Room.takings[chain[0]])
	w.drawAtEnd(&t)
	w.figure(&t, a.Form, w.takenFor(&t, w.madeWay(d, a, &t)), len(chain) == 1)
	first := takerOf(&t)
	v.Code, v.Pool, v.Reclaim, v.Workload = first.Code, first.Pool, first.Reclaim, first.Workload
	if len(chain) == 1 {
		return v
	}
	v.Chain = append(v.Chain, first)
	for _, at := range chain[1:] {
		next := w.Room.takings[at]
		w.drawAtEnd(&next)
		v.Chain = append(v.Chain, takerOf(&next))
	}
	v.Workload = v.Chain[len(chain)-1].Workload
	return v
}

// drawAtEnd has a taking tell the lines that stand at the end: the capacity may have been
// divided anew since, as the demand of a victim went with it or came back (M5, F1). Where
// its going is what brings its side within the line, the line of the other side has gone down with
// what went of that, or by the lines at the end its side would be spared (R4) or within the margin
// (R5), those by which it went are told.
func (w closing) drawAtEnd(t *taking) {
	c, p := &t.is, w.Pools[t.pool]
	if c.Subtree < 0 || c.Resource < 0 {
		return
	}
	line, own := p.lineFor(t.code, c.Subtree, c.Resource), p.lineFor(t.code, c.PreemptorSubtree, c.Resource)
	if c.Before > line && c.OwnAfter <= max(own, p.lineFor(ReclaimedByQuota, c.PreemptorSubtree, c.Resource)) &&
		(p.comesFar(t, line, own) || !p.comesFar(t, c.Entitlement, c.OwnEntitlement)) {
		c.Entitlement, c.OwnEntitlement = line, own
	}
}

// comesFar says whether by these lines, in the resource that is told, the victim's side is as far
// above its own as the policy's straddling (R4) and margin (R5) ask. With several resources it may be
// so in another.
func (p *Pool) comesFar(t *taking, line, own int64) bool {
	c := &t.is
	if p.Room.Straddle == preempt.Spare && c.After < line {
		return false
	}
	victim, preemptor := fairshare.Ratio{Num: c.Before, Den: line}, fairshare.Ratio{Num: c.OwnAfter, Den: own}
	return t.code != ReclaimedByShare || victim.Exceeds(preemptor, p.Room.MarginMilli)
}

// takerOf tells one taking of a chain.
func takerOf(t *taking) Taker {
	out := Taker{Workload: t.beneficiary, Code: t.code, Pool: t.pool}
	if c := t.is; c.Subtree >= 0 && c.Resource >= 0 {
		out.Reclaim = &c
	}
	return out
}

// ranOf is how many tasks of the workload ran before anything was decided.
func (w closing) ranOf(work int32) (n int64) {
	l := &w.live[w.Works[work].Live]
	for at := l.from; at < l.to; at++ {
		if h := &w.Holdings[at]; h.Phase == Running && !h.fresh {
			n++
		}
	}
	return n
}

// least is how many tasks are the minimum, in the preferred choice of sets.
func (d *Definition) least() int64 {
	if len(d.Ladder) > 0 {
		return int64(d.Ladder[len(d.Ladder)-1])
	}
	if d.Verdict.OK {
		return int64(d.Unit.Tasks())
	}
	sum := int64(0)
	for set := range d.Sets {
		sum += int64(d.Gang.Set(set).Min)
	}
	return sum
}

// basisOf is the taking by which a unit is told that was reclaimed and holds nothing of what
// was asked: that of the unit on which it builds, and with which it went (M6).
func basisOf(book *Table, t taking) taking {
	if t.is.Subtree < 0 || t.is.Resource >= 0 {
		return t
	}
	for at := range book.takingsOf(t.unit.Work) {
		if b := &book.takings[at]; b.commit == t.commit && b.beneficiary == t.beneficiary && b.code == t.code && b.is.Resource >= 0 {
			return *b
		}
	}
	return t
}

// madeWay are the tasks that a taking is told with: those that the action takes away or, where
// these hold nothing of what was reclaimed, all of the unit as it was before the solve: it was
// taken as one, and what of it holds that is told by an action of its own, or has come back to
// where it was (M4).
func (w closing) madeWay(d *Decision, a *Action, t *taking) []TaskPlace {
	gone := d.goneBy(a)
	if c := t.is; c.Subtree < 0 || c.Resource < 0 || w.amountOf(a.Work, a.Form, gone, c.Resource) > 0 {
		return gone
	}
	var unit []TaskPlace
	for at := range t.seats {
		if s := &t.seats[at]; w.booking().ran(s) || a.Kind != Move && s.origin >= 0 {
			unit = append(unit, w.Holdings[s.origin].TaskPlace)
		}
	}
	return unit
}

// takenFor are the tasks without other units of the workload that were last taken
// for another or by another right, and moves the case to before the first of
// them.
func (w closing) takenFor(t *taking, gone []TaskPlace) (out []TaskPlace) {
	if last := w.Room.lastOf(t.unit.Work); last < 0 || w.Room.takings[last].next == last {
		return gone // there is no other
	}
	last := w.takenOf(t.unit.Work).last
	for _, g := range gone {
		other := t
		if step, known := w.stepOf(t.unit.Work, g); known {
			if int(step) < len(last) && last[step] != None {
				other = &w.Room.takings[last[step]]
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
func (w closing) figure(t *taking, form int16, gone []TaskPlace, itself bool) {
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
		gain := w.gainOf(t.beneficiary, c.Resource, c.OwnAfter-c.OwnBefore)
		if in := w.Pools[t.pool].Tree.Use(int(c.PreemptorSubtree), int(c.Resource)); gain > c.OwnAfter-c.OwnBefore && c.OwnBefore+gain > in {
			c.OwnBefore = max(0, in-gain) // part of it is where it was: of what went by itself other tasks move
		}
		c.OwnAfter = c.OwnBefore + gain
	}
}

// figureAnew tells the case in the first resource that the tasks hold and the
// beneficiary has got, else in the first that they hold, with the uses in the end.
func (w closing) figureAnew(t *taking, form int16, gone []TaskPlace) {
	c, p := &t.is, w.Pools[t.pool]
	c.Resource = -1
	for r := range int32(p.Plain + len(p.Classes)) {
		classed := int(r) >= p.Plain && t.code == ReclaimedByQuota && p.Room.Classed[r] // (Q8)
		gain := w.gainOf(t.beneficiary, r, 0)
		held := w.amountOf(t.unit.Work, form, gone, r)
		if !p.Divided[r] && !classed || held == 0 || c.Resource >= 0 && gain == 0 {
			continue
		}
		c.Resource = r
		c.Before = p.Tree.Use(int(c.Subtree), int(r)) + held
		c.OwnBefore = max(0, p.Tree.Use(int(c.PreemptorSubtree), int(r))-gain)
		c.OwnAfter = c.OwnBefore + gain
		c.Entitlement, c.OwnEntitlement = p.lineFor(t.code, c.Subtree, r), p.lineFor(t.code, c.PreemptorSubtree, r)
		if gain > 0 {
			return
		}
	}
}

// amountOf is what tasks of a workload are charged of a resource in the form in
// which they ran.
func (w closing) amountOf(work int32, form int16, tasks []TaskPlace, resource int32) (sum int64) {
	k := &w.Works[work]
	for _, t := range tasks {
		sum += w.chargedAt(w.FormOf(k, form), t, resource)
	}
	return sum
}

// chargedAt is what a task is charged of a resource, or of a class, where it is.
func (w closing) chargedAt(f *Form, t TaskPlace, resource int32) int64 {
	p := w.Pools[f.Pool]
	shape := &p.Definitions[f.Definition].Sets[t.Set]
	if int(resource) < p.Plain {
		return shape.Charge.Of(resource)
	}
	return p.chargeOf(shape, &w.Nodes[t.Node], t.Devices).Of(resource)
}

// gainOf is what the workload has got of the resource by one of its starts: the
// one that is told so, else the first.
func (w closing) gainOf(work, resource int32, told int64) int64 {
	if seats := w.Room.Seats[work]; len(seats) == 1 && seats[0].commit >= 0 && seats[0].origin < 0 { // as of most
		k := &w.Works[work]
		return max(0, w.chargedAt(w.FormOf(k, k.Current), seats[0].TaskPlace, resource))
	}
	gains := w.gainsOf(work, resource)
	if told > 0 && slices.Contains(gains, told) {
		return told
	}
	if at := slices.IndexFunc(gains, func(gain int64) bool { return gain > 0 }); at >= 0 {
		return gains[at]
	}
	return 0
}

// A gain is what some workload has got of a resource, or of a class.
type gain struct{ work, resource int32 }

// gainsOf are what the workload has got of the resource by each of its starts: by a commit,
// and of a unit that moves by all commits that led there and what has come back to where it
// was, as it moves whole. All that went for it ask.
func (w closing) gainsOf(work, resource int32) []int64 {
	known := &w.Room.known
	if gains, some := known.gains[gain{work, resource}]; some {
		return gains
	}
	type start struct {
		commit int32
		moves  bool // which is an action of its own
	}
	var starts []start
	var gains []int64
	k := &w.Works[work]
	movedBy := make(map[int32]int32) // by unit: the first commit
	for _, s := range w.Room.Seats[work] {
		if s.commit < 0 || s.origin >= 0 && !w.booking().ran(&s) { // a claim is its queue's use already (S7)
			continue
		}
		one := start{s.commit, w.booking().ran(&s)}
		if first, some := movedBy[s.step]; one.moves && some {
			one.commit = first
		} else if one.moves {
			movedBy[s.step] = s.commit
		}
		at := slices.Index(starts, one)
		if at < 0 {
			at, starts, gains = len(starts), append(starts, one), append(gains, 0)
		}
		gains[at] += w.chargedAt(w.FormOf(k, k.Current), s.TaskPlace, resource)
	}
	for _, s := range w.Room.Seats[work] { // what of a unit has come home has moved with it
		if first, some := movedBy[s.step]; some && s.commit < 0 && w.booking().ran(&s) {
			gains[slices.Index(starts, start{first, true})] += w.chargedAt(w.FormOf(k, k.Current), s.TaskPlace, resource)
		}
	}
	if known.gains == nil {
		known.gains = make(map[gain][]int64)
	}
	known.gains[gain{work, resource}] = gains
	return gains
}

// lineFor is the line of a side that the rule goes by.
func (p *Pool) lineFor(code Code, q, res int32) int64 {
	at := int(q)*p.Width + int(res)
	if code == ReclaimedByShare {
		return p.Room.Shares[at]
	}
	return p.Room.Quotas[at]
}
