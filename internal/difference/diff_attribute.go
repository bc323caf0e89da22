package difference

import (
	"slices"

	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/internal/cluster"
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

// A tookFrom is a taking as attribute reads it: which workload lost to which, and the commit that
// it was for. What moves hands nothing on.
type tookFrom struct {
	loser, gainer, commit int32
	moves                 bool
	next                  int32 // see Taking.Next
}

// attribute is the chain of takings that begins with one: of what its gainer has lost
// again the next taking is the first later one that took from it or, if the gainer is
// where it was after all, any. The chain ends with the first gainer that holds what
// was taken for it, else with the last that holds anything that it has started. last is the last taking from
// a loser, −1 if there is none; a taking without a gainer is a chain of its own. It is in the
// memory of into.
func attribute(into []int32, first int32, takings func(int32) tookFrom, last func(loser int32) int32, fated func(work, commit int32) fate) []int32 {
	chain, firm := append(into[:0], first), 1
	start := takings(first)
	if start.gainer < 0 {
		return chain
	}
	for at, t := first, start; ; {
		f := fated(t.gainer, t.commit)
		if f == holdsOther || f == holdsIt { // what stays where it was starts nothing (M2)
			firm = len(chain)
		}
		if f == holdsIt {
			return chain
		}
		later := func(n int32) bool { return n > at || f == staysHome }
		next := int32(cluster.None)
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
		if next == cluster.None {
			return chain[:firm]
		}
		at, t = next, takings(next)
		chain = append(chain, next)
	}
}

// chainFrom is the chain that begins with a taking, in the memory of into.
func (w Difference) chainFrom(into []int32, first int32) []int32 {
	book := w.Room
	return attribute(into, first, func(at int32) tookFrom {
		t := &book.Takings[at]
		return tookFrom{t.Work, t.Preemptor, t.Commit, t.Code == cluster.Consolidated, t.Next}
	}, book.LastOf, w.fateOf)
}

// fateOf says what the workload holds in the end of what it has started by a commit. Where its minimum
// is where it was it stays there, whatever has grown since: for that nothing was taken (G2).
func (w Difference) fateOf(work, commit int32) fate {
	out, home := holdsNothing, false
	for at := range w.Room.Seats[work] {
		switch s := &w.Room.Seats[work][at]; {
		case s.Commit == commit:
			return holdsIt
		case s.Commit >= 0:
			out = holdsOther
		default:
			home = true
		}
	}
	if !home {
		return out
	}
	definition := w.Definition(&w.Works[work], w.Works[work].Current)
	if out == holdsNothing || definition.Gang.AtMinimum(heldInPlace(w.World, work, definition)) {
		return staysHome
	}
	return out
}

// ChainOf is the chain by which an action is told, in memory that the next call uses again; nil where
// nothing was taken.
func (w Difference) ChainOf(d *cluster.Decision, a *cluster.Action) []int32 {
	if a.Taking == 0 {
		return nil
	}
	known := &w.Room.Known
	if known.Chain = w.chainFrom(known.Chain, a.Taking-1); w.Room.Takings[known.Chain[0]].Preemptor >= 0 {
		return known.Chain
	}
	return nil
}

// goneBy are the places that an action takes away.
func goneBy(d *cluster.Decision, a *cluster.Action) []cluster.TaskPlace {
	if a.Kind == cluster.Move {
		return d.From[a.Moved : a.Moved+a.To-a.From]
	}
	return d.Placed[a.From:a.To]
}

// takenOf is what was taken of a workload. It is asked when seats do not change any
// more.
func (w Difference) takenOf(work int32) *cluster.TakenWork {
	book := w.Room
	if known := book.Known.TakenWorks[work]; known != nil {
		return known
	}
	out := new(cluster.TakenWork)
	note := func(seats []cluster.Seat, step func(*cluster.Seat) int32) {
		for at := range seats {
			if s := &seats[at]; s.Origin >= 0 {
				h := &w.Holdings[s.Origin]
				out.Steps = append(out.Steps, cluster.TaskStep{Set: h.Set, Index: h.Index, Step: step(s)})
			}
		}
	}
	for at := range book.TakingsOf(work) {
		step := book.Takings[at].Unit.Step
		note(book.Takings[at].Seats, func(*cluster.Seat) int32 { return step }) // it may have started in another form since (G5)
		for int(step) >= len(out.Last) {
			out.Last = append(out.Last, cluster.None)
		}
		out.Last[step] = at
	}
	note(book.Seats[work], func(s *cluster.Seat) int32 { return s.Step })
	for _, at := range outsOf(book, work) {
		note(book.Out[at].Seats, func(*cluster.Seat) int32 { return book.Out[at].Unit.Step })
	}
	slices.SortStableFunc(out.Steps, cluster.TaskStep.Compare)
	if book.Known.TakenWorks == nil {
		book.Known.TakenWorks = make(map[int32]*cluster.TakenWork)
	}
	book.Known.TakenWorks[work] = out
	return out
}

// stepOf is the unit of the workload that a task was in.
func (w Difference) stepOf(work int32, g cluster.TaskPlace) (step int32, known bool) {
	steps, asked := w.takenOf(work).Steps, cluster.TaskStep{Set: g.Set, Index: g.Index + 1}
	after, _ := slices.BinarySearchFunc(steps, asked, cluster.TaskStep.Compare)
	if after == 0 || steps[after-1].Set != g.Set || steps[after-1].Index != g.Index {
		return 0, false
	}
	return steps[after-1].Step, true
}

// outsOf are what is out of a workload in the end, in the order of out.
func outsOf(b *cluster.Table, work int32) []int32 {
	if b.Known.OutOf == nil {
		b.Known.OutOf = make(map[int32][]int32)
		for at := range b.Out {
			of := b.Out[at].Unit.Work
			b.Known.OutOf[of] = append(b.Known.OutOf[of], int32(at))
		}
	}
	return b.Known.OutOf[work]
}

// TellTaken tells why something was taken (X2): the right by which the first of its chain
// took it, the last of the chain as the preemptor, and all of the chain where there is
// more than one.
func (w Difference) TellTaken(d *cluster.Decision, a *cluster.Action, v *cluster.Verdict) {
	chain := w.ChainOf(d, a)
	if chain == nil {
		if v.Code = w.Room.Takings[a.Taking-1].Code; v.Code == cluster.ReservationBegan {
			v.Reservation = cluster.Reserving(w).ReservedFrom(a.Work)
			return
		}
		v.Have, v.Need = w.ranOf(a.Work), leastOf(w.Definition(&w.Works[a.Work], a.Form))
		return
	}
	t := basisOf(w.Room, w.Room.Takings[chain[0]])
	w.drawAtEnd(&t)
	w.figure(&t, a.Form, w.takenFor(&t, w.madeWay(d, a, &t)), len(chain) == 1)
	first := w.takerOf(&t)
	v.Code, v.Pool, v.Reclaim, v.Workload = first.Code, first.Pool, first.Reclaim, first.Workload
	if len(chain) == 1 {
		return
	}
	v.Chain = append(v.Chain, first)
	for _, at := range chain[1:] {
		next := w.Room.Takings[at]
		w.drawAtEnd(&next)
		v.Chain = append(v.Chain, w.takerOf(&next))
	}
	v.Workload = v.Chain[len(chain)-1].Workload
}

// drawAtEnd has a taking tell the entitlements at the end: the capacity may have been divided
// anew since, as the demand of a victim went with it or came back (M5, F1). The entitlements by
// which the victim went are told where its going is what brings its subtree within the entitlement,
// where that of the other subtree has gone down with what went of that, or where by the
// entitlements at the end its subtree would be spared (R4) or within the margin (R5).
func (w Difference) drawAtEnd(t *cluster.Taking) {
	c, p := &t.Is, w.Pools[t.Pool]
	if c.Subtree < 0 || c.Resource < 0 {
		return
	}
	line, own := p.LineFor(t.Code, c.Subtree, c.Resource), p.LineFor(t.Code, c.PreemptorSubtree, c.Resource)
	if c.Before > line && c.OwnAfter <= max(own, p.LineFor(cluster.ReclaimedByQuota, c.PreemptorSubtree, c.Resource)) &&
		(comesFar(p, t, line, own) || !comesFar(p, t, c.Entitlement, c.OwnEntitlement)) {
		c.Entitlement, c.OwnEntitlement = line, own
	}
}

// comesFar says whether by these entitlements, in the resource that is told, the victim's subtree is
// as far above its own as the policy's straddling (R4) and margin (R5) ask. With several resources it may be
// so in another.
func comesFar(p *cluster.Pool, t *cluster.Taking, line, own int64) bool {
	c := &t.Is
	if p.Room.Straddle == preempt.Spare && c.After < line {
		return false
	}
	victim, preemptor := fairshare.Ratio{Num: c.Before, Den: line}, fairshare.Ratio{Num: c.OwnAfter, Den: own}
	return t.Code != cluster.ReclaimedByShare || victim.Exceeds(preemptor, p.Room.MarginMilli)
}

// takerOf tells one taking of a chain.
func (w Difference) takerOf(t *cluster.Taking) cluster.Taker {
	out := cluster.Taker{Workload: t.Preemptor, Code: t.Code, Pool: t.Pool}
	if t.Is.Subtree >= 0 && t.Is.Resource >= 0 {
		out.Reclaim = w.Room.KeepCase(&t.Is)
	}
	return out
}

// ranOf is how many tasks of the workload ran before anything was decided.
func (w Difference) ranOf(work int32) (n int64) {
	l := &w.Live[w.Works[work].Live]
	for at := l.From; at < l.To; at++ {
		if h := &w.Holdings[at]; h.Phase == cluster.Running && !h.Fresh {
			n++
		}
	}
	return n
}

// leastOf is how many tasks are the minimum, in the preferred choice of sets.
func leastOf(d *cluster.Definition) int64 {
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
func basisOf(book *cluster.Table, t cluster.Taking) cluster.Taking {
	if t.Is.Subtree < 0 || t.Is.Resource >= 0 {
		return t
	}
	for at := range book.TakingsOf(t.Work) {
		if b := &book.Takings[at]; b.Commit == t.Commit && b.Preemptor == t.Preemptor && b.Code == t.Code && b.Is.Resource >= 0 {
			return *b
		}
	}
	return t
}

// madeWay are the tasks that a taking is told with: those that the action takes away or, where
// these hold nothing of what was reclaimed, all of the unit as it was before the solve, what it
// claimed too, also where that claim has since become a start elsewhere: it was taken as one, and what of it holds that
// is told by an action of its own, or has come back to where it was (M4).
func (w Difference) madeWay(d *cluster.Decision, a *cluster.Action, t *cluster.Taking) []cluster.TaskPlace {
	gone := goneBy(d, a)
	if c := t.Is; c.Subtree < 0 || c.Resource < 0 || w.amountOf(a.Work, a.Form, gone, c.Resource) > 0 {
		return gone
	}
	var unit []cluster.TaskPlace
	startsElsewhere := make(map[[2]int32]bool) // by pod set and index
	for at := range t.Seats {
		if s := &t.Seats[at]; s.Origin >= 0 {
			unit = append(unit, w.Holdings[s.Origin].TaskPlace)
		} else {
			startsElsewhere[[2]int32{s.Set, s.Index}] = true
		}
	}
	l := &w.Live[w.Works[t.Work].Live]
	for _, h := range w.Holdings[l.From:l.To] {
		if h.Form == a.Form && (h.Fresh || h.Phase == cluster.Claimed) && startsElsewhere[[2]int32{h.Set, h.Index}] {
			unit = append(unit, h.TaskPlace)
		}
	}
	return unit
}

// takenFor are the tasks without other units of the workload that were last taken
// for another or by another right, and moves the case to before the first of
// them.
func (w Difference) takenFor(t *cluster.Taking, gone []cluster.TaskPlace) (out []cluster.TaskPlace) {
	if last := w.Room.LastOf(t.Work); last < 0 || w.Room.Takings[last].Next == last {
		return gone // there is no other
	}
	last := w.takenOf(t.Work).Last
	for _, g := range gone {
		other := t
		if step, known := w.stepOf(t.Work, g); known {
			if int(step) < len(last) && last[step] != cluster.None {
				other = &w.Room.Takings[last[step]]
			}
		}
		if other.Preemptor == t.Preemptor && other.Code == t.Code &&
			other.Is.Subtree == t.Is.Subtree && other.Is.Resource == t.Is.Resource {
			out = append(out, g)
			t.Is.Before = max(t.Is.Before, other.Is.Before)
		}
	}
	if out == nil {
		return gone
	}
	return out
}

// figure makes the victim's subtree of a reclaim lose exactly the tasks that are gone. Where the
// reclaim is told for the workload that was entitled itself, the preemptor's subtree gains exactly
// what that has got, if it has come in several steps. Both begin where they stood when the solve judged it.
func (w Difference) figure(t *cluster.Taking, form int16, gone []cluster.TaskPlace, itself bool) {
	c := &t.Is
	if c.Subtree < 0 || c.Resource < 0 {
		return
	}
	lost := w.amountOf(t.Work, form, gone, c.Resource)
	c.Before = max(c.Before, lost) // what went by itself may have been back when the rest was taken
	c.After = c.Before - lost
	if itself {
		gain := w.gainOf(t.Preemptor, c.Resource, c.OwnAfter-c.OwnBefore)
		if in := w.Pools[t.Pool].Tree.Use(int(c.PreemptorSubtree), int(c.Resource)); gain > c.OwnAfter-c.OwnBefore && c.OwnBefore+gain > in {
			c.OwnBefore = max(0, in-gain) // part of it is where it was: of what went by itself other tasks move
		}
		c.OwnAfter = c.OwnBefore + gain
	}
}

// amountOf is what tasks of a workload are charged of a resource in the form in
// which they ran.
func (w Difference) amountOf(work int32, form int16, tasks []cluster.TaskPlace, resource int32) (sum int64) {
	k := &w.Works[work]
	for _, t := range tasks {
		sum += w.chargedAt(w.FormOf(k, form), t, resource)
	}
	return sum
}

// chargedAt is what a task is charged of a resource, or of a class, where it is.
func (w Difference) chargedAt(f *cluster.Form, t cluster.TaskPlace, resource int32) int64 {
	p := w.Pools[f.Pool]
	shape := &p.Definitions[f.Definition].Sets[t.Set]
	if int(resource) < p.Plain {
		return shape.Charge.Of(resource)
	}
	return p.ChargeOf(shape, &w.Nodes[t.Node], t.Devices).Of(resource)
}

// gainOf is what the workload has got of the resource by one of its starts: the
// one that is told so, else the first.
func (w Difference) gainOf(work, resource int32, told int64) int64 {
	if seats := w.Room.Seats[work]; len(seats) == 1 && seats[0].Commit >= 0 && seats[0].Origin < 0 { // as of most
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

// gainsOf are what the workload has got of the resource by each of its starts: by a commit,
// and of a unit that moves by all commits that led there and what has come back to where it
// was, as it moves whole. All that went for it ask.
func (w Difference) gainsOf(work, resource int32) []int64 {
	known := &w.Room.Known
	if gains, some := known.Gains[cluster.Gain{Work: work, Resource: resource}]; some {
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
		if s.Commit < 0 || s.Origin >= 0 && !w.Booking().Ran(&s) { // a claim is its queue's use already (S7)
			continue
		}
		one := start{s.Commit, w.Booking().Ran(&s)}
		if first, some := movedBy[s.Step]; one.moves && some {
			one.commit = first
		} else if one.moves {
			movedBy[s.Step] = s.Commit
		}
		at := slices.Index(starts, one)
		if at < 0 {
			at, starts, gains = len(starts), append(starts, one), append(gains, 0)
		}
		gains[at] += w.chargedAt(w.FormOf(k, k.Current), s.TaskPlace, resource)
	}
	for _, s := range w.Room.Seats[work] { // what of a unit has come home has moved with it
		if first, some := movedBy[s.Step]; some && s.Commit < 0 && w.Booking().Ran(&s) {
			gains[slices.Index(starts, start{first, true})] += w.chargedAt(w.FormOf(k, k.Current), s.TaskPlace, resource)
		}
	}
	if known.Gains == nil {
		known.Gains = make(map[cluster.Gain][]int64)
	}
	known.Gains[cluster.Gain{Work: work, Resource: resource}] = gains
	return gains
}
