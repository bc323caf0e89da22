package allot

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/placement"
)

// A solve that has made room writes its actions from what is different in the
// end: who was taken and put back is no action, who found another place moves.
// What goes is told first, then what moves, then what starts.

// close writes the actions after the settling anew, from the book.
func (w *world) close(d *decision) error {
	if w.room == nil {
		return nil
	}
	placed := int32(0)
	if w.room.settled > 0 {
		placed = d.actions[w.room.settled-1].to
	}
	d.actions, d.placed = d.actions[:w.room.settled], d.placed[:placed]
	w.takeBackStarts(d)
	w.swapBack()
	w.writeGone(d)
	moves := len(d.actions)
	from, seats := w.committed()
	w.writeCommits(d, from, seats, func(kind ActionKind, _ int32) bool { return kind == Move })
	starts := len(d.actions)
	w.writeStarts(d, from, seats)
	if err := w.writeAfter(d, moves); err != nil {
		return err
	}
	orderMoves(d.actions[moves:starts])
	return nil
}

// orderMoves puts a move behind those that it waits for. Where they wait for
// each other in a circle, the first of them goes first.
func orderMoves(moves []action) {
	for at := range moves {
		ready := slices.IndexFunc(moves[at:], func(a action) bool {
			return !slices.ContainsFunc(moves[at:], func(other action) bool {
				return other.work != a.work && slices.Contains(a.after, other.work)
			})
		})
		if ready > 0 {
			first := moves[at+ready]
			copy(moves[at+1:], moves[at:at+ready])
			moves[at] = first
		}
	}
}

// rematch tells which task sits where in the end. The tasks of a pod set are
// alike: who sits where one of them ran that is left is that one and has not
// moved, and what started while others went has not started but moved.
func (w *world) rematch(i int32) {
	k := &w.works[i]
	if !w.tied(k) {
		return
	}
	seats, l := w.room.seats[i], &w.live[k.live]
	var left, gone []int32 // holdings that ran
	for at := l.from; at < l.to; at++ {
		switch {
		case w.holdings[at].phase != Running || w.holdings[at].fresh:
		case slices.ContainsFunc(seats, func(s seat) bool { return s.origin == at }):
			left = append(left, at)
		default:
			gone = append(gone, at)
		}
	}
	for _, at := range gone {
		h := &w.holdings[at]
		fresh := func(s seat) bool { return s.set == h.set && (s.origin < 0 || w.holdings[s.origin].fresh) }
		one := slices.IndexFunc(seats, func(s seat) bool { return fresh(s) && s.node == h.node && s.devices == h.devices })
		if one < 0 {
			one = slices.IndexFunc(seats, fresh)
		}
		if one >= 0 {
			other := slices.IndexFunc(seats, func(s seat) bool { return s.set == h.set && s.index == h.index })
			if other >= 0 {
				seats[other].index = seats[one].index
			}
			if seats[one].commit < 0 { // what was claimed is given up, and moved to
				w.room.commits = append(w.room.commits, commit{work: i, form: k.current, kind: Move})
				seats[one].commit = int32(len(w.room.commits) - 1)
			}
			seats[one].origin, seats[one].index = at, h.index
			left = append(left, at)
		}
	}
	for _, at := range left {
		w.stayIfYouCan(seats, at)
	}
}

// stayIfYouCan lets the task of a holding be the one that sits where it ran.
func (w *world) stayIfYouCan(seats []seat, at int32) {
	h := &w.holdings[at]
	here := slices.IndexFunc(seats, func(s seat) bool {
		return s.set == h.set && s.node == h.node && s.devices == h.devices && !s.claimed
	})
	had := slices.IndexFunc(seats, func(s seat) bool { return s.origin == at })
	if seats[had].node == h.node && seats[had].devices == h.devices {
		seats[had].commit = -1
		return
	}
	if here < 0 || seats[here].commit < 0 {
		return // who is here ran here
	}
	a, b := &seats[here], &seats[had]
	a.origin, b.origin = b.origin, a.origin
	a.index, b.index = b.index, a.index
	a.commit = -1
}

// writeGone writes what has lost its seat, in the order in which it was taken.
func (w *world) writeGone(d *decision) {
	book := w.room
	for i := range book.takings {
		work := book.takings[i].unit.Work
		if book.last[work] == 0 {
			continue // told with a later or earlier unit of the workload
		}
		at := book.last[work] - 1
		book.last[work] = 0
		w.writeGoneOf(d, work, int(at))
	}
}

// writeGoneOf writes what one workload has lost, for the last of its takings.
func (w *world) writeGoneOf(d *decision, i int32, at int) {
	k := &w.works[i]
	if k.live < 0 {
		return // it started in this solve
	}
	l := &w.live[k.live]
	kept, some := make([]bool, l.to-l.from), false
	for _, s := range w.room.seats[i] {
		if s.origin >= 0 {
			kept[s.origin-l.from], some = true, true
		}
	}
	var claims, gone []holding
	for h := l.from; h < l.to; h++ {
		switch {
		case kept[h-l.from] || w.holdings[h].phase == Terminating:
		case w.holdings[h].phase == Claimed || w.holdings[h].fresh:
			claims = append(claims, w.holdings[h])
		default:
			gone = append(gone, w.holdings[h])
		}
	}
	if len(claims) > 0 {
		w.writeTaken(d, Unclaim, claims, w.room.whyGone(at))
	}
	parts := w.partsOf(gone, at)
	for n, part := range parts {
		kind := Shrink // what is above the minimum goes first (M6)
		if !some && n == len(parts)-1 {
			kind = Evict
		}
		w.writeTaken(d, kind, part.tasks, part.why)
	}
}

// writeTaken writes that tasks of one workload have gone, for one reason.
func (w *world) writeTaken(d *decision, kind ActionKind, tasks []holding, why int) {
	slices.SortFunc(tasks, func(a, b holding) int {
		return cmp.Or(cmp.Compare(a.set, b.set), cmp.Compare(a.index, b.index))
	})
	d.giveUp(kind, tasks, w.room.takings[why].code)
	d.actions[len(d.actions)-1].taking = int32(why) + 1
}

// A takenPart is what has gone of a workload for one beneficiary by one right.
type takenPart struct {
	tasks       []holding
	why         int
	minimum     bool // of it
	beneficiary int32
	code        Code
}

// partsOf parts what has gone by whom it went for in the end (X2), in the order in
// which it was taken, the minimum last.
func (w *world) partsOf(gone []holding, at int) (parts []takenPart) {
	for _, h := range gone {
		one := takenPart{tasks: []holding{h}, why: w.room.whyGone(at)}
		if step, known := w.stepOf(h.work, h.taskPlace); known {
			one.minimum = step == 0
			for _, t := range w.room.takingsOf(h.work) {
				if other := &w.room.takings[t]; other.unit.Step == step && other.code != Consolidated {
					one.why = int(t)
				}
			}
		}
		t := w.room.takings[one.why]
		if w.followChain(&t); t.beneficiary >= 0 {
			one.beneficiary, one.code = t.beneficiary, t.code
		}
		same := slices.IndexFunc(parts, func(p takenPart) bool { return p.beneficiary == one.beneficiary && p.code == one.code })
		if same < 0 {
			parts = append(parts, one)
			continue
		}
		p := &parts[same]
		p.tasks, p.why, p.minimum = append(p.tasks, h), max(p.why, one.why), p.minimum || one.minimum
	}
	slices.SortStableFunc(parts, func(a, b takenPart) int {
		if a.minimum != b.minimum {
			if a.minimum {
				return 1
			}
			return -1
		}
		return cmp.Compare(a.why, b.why)
	})
	lastFirst(parts)
	return parts
}

// lastFirst has of each pod set, whose tasks are alike, the last go first (M6).
func lastFirst(parts []takenPart) {
	if len(parts) < 2 {
		return
	}
	var all []holding
	for i := range parts {
		all = append(all, parts[i].tasks...)
	}
	slices.SortFunc(all, func(a, b holding) int { return cmp.Or(cmp.Compare(a.set, b.set), cmp.Compare(b.index, a.index)) })
	for i := range parts {
		for t := range parts[i].tasks {
			set := parts[i].tasks[t].set
			next := slices.IndexFunc(all, func(h holding) bool { return h.set == set })
			parts[i].tasks[t] = all[next]
			all = slices.Delete(all, next, next+1)
		}
	}
}

// whyGone is the last taking of the workload, up to this one, that was no
// consolidation: that moves, and what is gone was taken otherwise.
func (b *roomBook) whyGone(at int) int {
	for _, why := range slices.Backward(b.takingsOf(b.takings[at].unit.Work)) {
		if int(why) <= at && b.takings[why].code != Consolidated {
			return int(why)
		}
	}
	return at
}

// lastOf is the last taking of the workload, −1 if there is none.
func (b *roomBook) lastOf(work int32) int {
	if list := b.takingsOf(work); len(list) > 0 {
		return int(list[len(list)-1])
	}
	return -1
}

// writeAfter finds out which starts and moves have to wait for whom: their
// places are tried, one after the other, in the state as it was.
func (w *world) writeAfter(d *decision, from int) error {
	if from == len(d.actions) {
		return nil
	}
	before := make([]*placement.Index, len(w.pools))
	for i, p := range w.pools {
		var err error
		if before[i], err = placement.NewIndex(p.placed, p.plain-1); err != nil {
			return err
		}
	}
	taken := make([]bool, len(w.state.Nodes)) // what stands elsewhere is in nobody's way
	for at := range d.actions[from:] {
		a := &d.actions[from+at]
		for _, t := range d.placed[a.from:a.to] {
			taken[t.node] = true
		}
	}
	index := func(p *pool) *placement.Index { return before[slices.Index(w.pools, p)] }
	if err := w.occupy(w.holdingsBefore(taken), index); err != nil {
		return err
	}
	var waiting []*action
	for at := range d.actions[from:] {
		a := &d.actions[from+at]
		x := before[w.formOf(&w.works[a.work], a.form).pool]
		m := x.Mark()
		if len(w.waitsFor(d, x, a)) == 0 {
			x.Commit(m)
			continue
		}
		x.Undo(m)
		waiting = append(waiting, a)
	}
	for at := range d.actions[from:] {
		if a := &d.actions[from+at]; (a.kind == Start || a.kind == Resize) && a.waitsForItself(d) {
			a.after = append(a.after, a.work)
		}
	}
	for _, a := range waiting { // beside all that starts at once, and the waiting ones before
		a.after = append(a.after, w.waitsFor(d, before[w.formOf(&w.works[a.work], a.form).pool], a)...)
		slices.Sort(a.after)
		a.after = slices.Compact(a.after)
	}
	return nil
}

// waitsForItself says whether tasks of the workload that starts are leaving that wait
// again, or the plan evicts it: it starts once they have left (S5).
func (a *action) waitsForItself(d *decision) bool {
	w := d.world
	return w.works[a.work].isLeaving(w) || slices.ContainsFunc(d.actions, func(other action) bool {
		return other.kind == Evict && other.work == a.work
	})
}

// waitsFor takes the places of an action, and lists whom it waits for.
func (w *world) waitsFor(d *decision, x *placement.Index, a *action) []int32 {
	var out []int32
	for _, t := range d.placed[a.from:a.to] {
		out = append(out, w.taskWaitsFor(x, w.definition(&w.works[a.work], a.form), t, a.work)...)
	}
	slices.SortFunc(out, w.compareIDs)
	return slices.Compact(out)
}

// taskWaitsFor takes the place for the task, and lists whom it waits for: who goes
// and holds what the place lacks, and of what it claims also who leaves.
func (w *world) taskWaitsFor(x *placement.Index, d *definition, t taskPlace, own int32) []int32 {
	shape := x.Shape(d.sets[t.set].request)
	place := placement.Place{Node: w.position[t.node], Devices: t.devices}
	lack := x.Lacks(shape, place)
	pipelined := w.works[own].pipelined && slices.ContainsFunc(w.room.seats[own], func(s seat) bool { return s.taskPlace == t && s.waits() })
	if x.Take(shape, place) != nil || lack.Nothing() && !pipelined {
		return nil // the places of a decision exist
	}
	var out []int32
	if pipelined {
		if out = w.inTheWay(&d.sets[t.set], t, own, &lack, Terminating); len(out) == 0 {
			// It is short of something only once others that wait have started.
			all := w.all(&d.sets[t.set], t)
			out = w.inTheWay(&d.sets[t.set], t, own, &all, Terminating)
		}
	}
	return append(out, w.inTheWay(&d.sets[t.set], t, own, &lack, Running)...)
}

// all is a place that has nothing of what the shape asks.
func (w *world) all(s *shape, t taskPlace) placement.Lack {
	node := &w.pools[w.nodePool[t.node]].placed[w.position[t.node]]
	out := placement.Lack{
		Devices: t.devices, Slots: node.Slots < placement.NoCap,
		CPUOnlySlots: s.gpus == 0 && node.CPUOnlySlots < placement.NoCap,
	}
	for _, a := range s.request.Amounts {
		out.Resources = append(out.Resources, a.Resource)
	}
	return out
}

// holdingsBefore are what runs, leaves and is claimed on some nodes in the state once
// it is settled.
func (w *world) holdingsBefore(on []bool) (before []holding) {
	for i := range w.holdings {
		if h := &w.holdings[i]; on[h.node] && h.phase != vacant && (!h.fresh || w.stays(int32(i))) { // what is given up, nobody leaves
			before = append(before, *h)
		}
	}
	return before
}

// inTheWay lists the workloads of which a task that leaves, or runs and has to
// go, holds something of what the place lacks. The task itself is not in its own
// way.
func (w *world) inTheWay(s *shape, t taskPlace, own int32, lack *placement.Lack, phase Phase) []int32 {
	var out []int32
	for _, i := range w.holdingsOn(t.node) {
		h := &w.holdings[i]
		if h.phase != phase || phase == Running && !w.goes(i) || h.work == own && h.set == t.set && h.index == t.index {
			continue
		}
		theirs := &w.definition(&w.works[h.work], h.form).sets[h.set]
		if lack.Slots || lack.CPUOnlySlots && theirs.gpus == 0 || lack.Devices&h.devices != 0 ||
			slices.ContainsFunc(lack.Resources, func(r int32) bool { return theirs.request.Amounts.Of(r) > 0 }) {
			out = append(out, h.work)
		}
	}
	return out
}

// goes says whether a holding that ran is not where it was in the end. It is asked
// when nobody changes seats any more.
func (w *world) goes(at int32) bool {
	book := w.room
	if book.gone == nil {
		book.gone = make([]bool, len(w.holdings))
		for i := range book.gone {
			book.gone[i] = w.holdings[i].phase == Running && !w.holdings[i].fresh
		}
		for _, seats := range book.seats {
			for i := range seats {
				if s := &seats[i]; s.origin >= 0 && s.commit < 0 {
					book.gone[s.origin] = false
				}
			}
		}
	}
	return book.gone[at]
}

// stays says whether a holding is where it was in the end.
func (w *world) stays(at int32) bool {
	for _, s := range w.room.seats[w.holdings[at].work] {
		if s.origin == at {
			return s.commit < 0
		}
	}
	return false
}
