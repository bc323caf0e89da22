package engine

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// What this solve has started has cost nothing yet (M9): no action tells of it
// before the plan is written. So a start is lifted and put somewhere else, or
// waits again, at no price. A start is known by its commit.

// freeStarts are what a solver has started in this solve.
type freeStarts struct{ *Solver }

// A lifted start is one that is out of the table, and what it takes to put it back.
type lifted struct {
	commit int32
	work   int32
	own    []cluster.Seat // those of the start
	// before and held are what the workload held, charge what is not charged now.
	before []cluster.Seat
	held   []int32
	charge quota.Amounts
}

// isFree says whether a commit is a start of this solve that stands, of tasks
// none of which ran or was claimed before. It may claim what others are leaving.
func (s freeStarts) isFree(commit int32) bool {
	book := s.world.Room
	c := &book.Commits[commit]
	if s.world.FormOf(&s.world.Works[c.Work], c.Form).Pool != s.index || s.world.Works[c.Work].Current != c.Form {
		return false
	}
	some := false
	for i := range book.Seats[c.Work] {
		one := &book.Seats[c.Work][i]
		if one.Commit != commit {
			continue
		}
		if one.Origin >= 0 || one.Claimed {
			return false
		}
		some = true
	}
	return some
}

// lift takes a start out of the table, the nodes and the uses. Nobody else learns
// of it before settleLifted or restatusLifted.
func (s freeStarts) lift(commit int32) (*lifted, error) {
	w, p, c := s.world, s.pool, s.world.Room.Commits[commit]
	k := &w.Works[c.Work]
	d := w.Definition(k, c.Form)
	out := &lifted{commit: commit, work: c.Work, before: w.Room.Seats[c.Work]}
	if k.Live >= 0 {
		out.held = slices.Clone(w.Live[k.Live].Held)
	}
	var others []cluster.Seat
	out.own, others = w.Booking().Withdraw(commit)
	var err error
	if out.charge, err = s.chargeOf(d, out.own, len(others) == 0); err != nil {
		return nil, err
	}
	for i := range out.own {
		if err := p.Index.Give(d.Sets[out.own[i].Set].Placed, s.placeOf(&out.own[i])); err != nil {
			return nil, err
		}
	}
	f := w.FormOf(k, c.Form)
	if err := p.Tree.Release(int(f.Queue), out.charge, f.NonPreemptible); err != nil {
		return nil, err
	}
	return out, nil
}

// liftAll lifts starts, the latest first.
func (s freeStarts) liftAll(commits []int32) (lifts []*lifted, err error) {
	for _, c := range commits {
		l, err := s.lift(c)
		if err != nil {
			return lifts, err
		}
		lifts = append(lifts, l)
	}
	return lifts, nil
}

// unliftAll puts starts back into the table as they were before they were lifted.
// The caller takes the journals back.
func (s freeStarts) unliftAll(lifts []*lifted) {
	w := s.world
	for _, l := range slices.Backward(lifts) {
		w.Room.Seats[l.work] = l.before
		if live := w.Works[l.work].Live; live >= 0 {
			w.Live[live].Held = l.held
			w.Booking().ForgetGrowth(l.work)
		}
	}
}

// putDownAll gives lifted starts new places, the earliest first or else those that
// hold the most GPUs, until one finds none.
func (s freeStarts) putDownAll(lifts []*lifted, largest bool) (bool, error) {
	order := slices.Clone(lifts)
	slices.Reverse(order)
	if largest {
		slices.SortStableFunc(order, func(a, b *lifted) int { return cmp.Compare(b.charge.Of(0), a.charge.Of(0)) })
	}
	for _, l := range order {
		if found, err := s.putDown(l); !found || err != nil {
			return false, err
		}
	}
	return true, nil
}

// putDown gives a lifted start new places, which it takes and charges, in the table
// too; it reports whether there are any. What claimed may claim again. For whom room was made stands on its own ground,
// wherever it is placed (B9).
func (s freeStarts) putDown(l *lifted) (bool, error) {
	w, p := s.world, s.pool
	k := &w.Works[l.work]
	f, d := w.FormOf(k, k.Current), w.Definition(k, k.Current)
	if len(p.Reserved) > 0 && s.madeRoom(l.commit) {
		d = s.preempting().ownGround(l.work, k.Current)
	}
	unit := gang.Unit{Add: make([]int32, len(d.Sets))}
	seats := slices.Clone(l.own)
	all := make([]int, len(seats))
	slices.SortStableFunc(seats, func(a, b cluster.Seat) int { return int(a.Set) - int(b.Set) })
	for i := range seats {
		unit.Add[seats[i].Set]++
		all[i] = i
	}
	var beside gang.Siblings
	if d.Gang.Constrained() {
		beside = gang.Siblings{Held: w.HeldBy(l.work), Indices: indicesOf(seats, all, len(d.Sets))}
	}
	asks, err := s.unitAsks(d, unit, len(w.Room.Seats[l.work]) == 0)
	if err != nil {
		return false, err
	}
	asks = slices.Clone(asks)
	if _, ok := p.Tree.Check(int(f.Queue), asks, f.NonPreemptible); !ok {
		return false, nil
	}
	s.claims, s.waitsForItself = slices.ContainsFunc(seats, func(one cluster.Seat) bool { return one.Pipelined }), k.IsLeaving(w)
	r := s.reachesAgain(l.work, d, unit.Tasks()).within(l.own)
	charge, found, err := s.placeUnit(r, f, d, unit, beside, asks)
	if !found && err == nil && !s.claims && w.Room.IsPaidFor(l.commit) && p.Index.Releasing() { // it waits for somebody anyway
		s.claims = true
		charge, found, err = s.placeUnit(r, f, d, unit, beside, asks)
	}
	s.claims, s.waitsForItself = false, false
	if !found || err != nil {
		return false, err
	}
	for i := range seats {
		seats[i].Sit(p.Nodes, s.places[i])
	}
	cluster.NoteAtOnce(w, l.work, seats)
	if err := p.Tree.Charge(int(f.Queue), charge, f.NonPreemptible); err != nil {
		return false, err
	}
	w.Booking().Restart(l.work, seats)
	return true, nil
}

// madeRoom says whether room was made for a start, if only by what has started in this solve as well and has cost nothing.
func (s freeStarts) madeRoom(commit int32) bool {
	return slices.ContainsFunc(s.world.Room.Takings, func(t cluster.Taking) bool { return t.Commit == commit && t.Preemptor >= 0 })
}

// restatusLifted makes it final that a lifted start waits again: its workload is what it is with what it holds without
// that, complete where it has only grown by it.
func (s freeStarts) restatusLifted(l *lifted) {
	w := s.world
	k := &w.Works[l.work]
	reenter(w, l.work)
	k.Status = cluster.Waiting
	k.SettleStatus(w)
}

// withoutCompletions is the way for a unit once those victims that this solve had completed
// are what they were before (G1): the completion has cost nothing (M9), and of a unit that
// ran in part nobody loses more, or is judged by more, than what ran. Where there is no way
// then they stay complete, and the way is the one that was found. Who starts in what they leave
// may be beyond its lines: its right was to preempt them (E8), and who is within its own has had
// its turn before (O2).
func (s preempting) withoutCompletions(k *cluster.Work, it queue.Item, at int16, found *way) (*way, error) {
	w, p, free := s.world, s.pool, freeStarts(s)
	starts := free.completionsAmong(found.proposal)
	if len(starts) == 0 || free.letsGo(starts) {
		return found, nil
	}
	nodes, use := p.Index.Mark(), p.Tree.Mark()
	lifts, err := free.liftAll(starts)
	before := make([]cluster.Status, len(lifts))
	for i, l := range lifts {
		before[i] = w.Works[l.work].Status
		free.restatusLifted(l)
	}
	b, left := found.preemptor, len(s.rest)
	for _, l := range lifts {
		s.behind().leave(l.work, l.own, b.Work)
	}
	var other *way
	switch {
	case err != nil:
	case k.Status != cluster.WaitsForLeavers && s.wouldStart(b):
		other = &way{preemptor: b}
	default:
		other, err = s.wayFor(k, it, at, b.Add.Add, b.Asks)
	}
	if other == nil {
		s.rest = s.rest[:left]
		free.unliftAll(lifts)
		p.Index.Undo(nodes)
		p.Tree.Undo(use)
		for i, l := range lifts {
			w.Works[l.work].Status = before[i]
			reenter(w, l.work)
		}
		if err != nil {
			return nil, err
		}
		return s.wayFor(k, it, at, b.Add.Add, b.Asks) // their units are told by other names now
	}
	p.Index.Commit(nodes)
	p.Tree.Commit(use)
	for _, l := range lifts {
		free.afterLift(l.work)
		s.requeue(l.work)
	}
	return other, nil
}

// completionsAmong are the starts of this solve that have completed what ran of a proposal's
// victims, the latest first. What was claimed and has moved completes nothing, as it was there (S4), and what starts
// again beside a claim that it has kept is a start as a whole.
func (s freeStarts) completionsAmong(proposal *preempt.Proposal) (starts []int32) {
	w := s.world
	for _, c := range proposal.Justifications {
		u := s.pool.Room.Unit(c.Victim)
		if c.Moves || u.Step > 0 || u.Started || w.Works[u.Work].Live < 0 ||
			!slices.ContainsFunc(w.Room.Seats[u.Work], func(one cluster.Seat) bool { return w.Booking().Ran(&one) }) {
			continue
		}
		for at := range w.Room.Seats[u.Work] {
			one := &w.Room.Seats[u.Work][at]
			if one.Step == 0 && cluster.StartsFresh(*one) && w.Room.Commits[one.Commit].Kind != cluster.Move && s.isFree(one.Commit) && !w.Room.IsPaidFor(one.Commit) {
				starts = append(starts, one.Commit)
			}
		}
	}
	slices.Sort(starts)
	slices.Reverse(starts)
	return slices.Compact(starts)
}

// afterLift takes note that places have come free.
func (s freeStarts) afterLift(work int32) {
	k := &s.world.Works[work]
	leaf := int(s.world.FormOf(k, k.Current).Queue)
	s.pool.Free()
	s.pool.Changes++
	s.touch(leaf)
}

// chargeOf is what seats of a workload are charged; first says that it holds
// nothing else.
func (s freeStarts) chargeOf(d *cluster.Definition, seats []cluster.Seat, first bool) (quota.Amounts, error) {
	var charge quota.Amounts
	for i := range seats {
		one := s.pool.ChargeOf(&d.Sets[seats[i].Set], &s.world.Nodes[seats[i].Node], seats[i].Devices)
		var err error
		if charge, err = charge.AddScaled(one, 1); err != nil {
			return nil, err
		}
	}
	if first && s.pool.Counted {
		charge = append(charge, quota.Amount{Resource: int32(s.pool.Width - 1), Value: 1})
	}
	return charge, nil
}

// placeOf is where a seat is, for the index.
func (s freeStarts) placeOf(one *cluster.Seat) placement.Place {
	return one.Place(s.world)
}

// Nobody alike and older waits for a place that a younger one got in the same plan
// (M9): where room was made, the younger may have had its turn first, and so where the older has been promised
// something and what is promised to others has changed since its turn.

// claimHasMoved says whether by a commit what was claimed in the state has moved, and starts elsewhere instead (C1).
func claimHasMoved(w *cluster.World, c *cluster.Commit) bool {
	k := &w.Works[c.Work]
	return c.Kind == cluster.Move && k.Live >= 0 && slices.ContainsFunc(w.Holdings[w.Live[k.Live].From:w.Live[k.Live].To], func(h cluster.Holding) bool {
		return h.Phase == cluster.Claimed || h.Fresh
	})
}

// exchange has workloads that wait take the places of starts of this solve in their
// queue that stand behind them in O1 and ask the same. What was claimed and has moved is no such start: it was there
// before, and nobody alike may take its place from it (S4, C1).
func (s freeStarts) exchange() error {
	w := s.world
	all := s.replaced || len(w.Room.Takings) > 0
	if !all && len(s.promises.list) == 0 && !(reserves(s.pool) && s.startedToClaim) {
		return nil
	}
	var lists map[int32][]queue.Item // of who waits, once some start may give way
	costs := s.costOfStarts()
	for c := range slices.Backward(w.Room.Commits) {
		one := &w.Room.Commits[c]
		k := &w.Works[one.Work]
		if one.Kind == cluster.Resize || claimHasMoved(w, one) || !s.isFree(int32(c)) || len(k.Others) > 0 ||
			slices.ContainsFunc(w.Room.Seats[one.Work], func(t cluster.Seat) bool { return t.Commit != int32(c) }) {
			continue
		}
		paidThere := costs.starts[c] && slices.ContainsFunc(w.Room.Seats[one.Work], func(t cluster.Seat) bool { return costs.left[t.Node] })
		if !paidThere && s.changesPlaces(int32(c)) {
			s.decision.Changed = true
			return nil
		}
		if costs.starts[c] {
			continue
		}
		if lists == nil {
			lists = s.waitingByLeaf(all)
		}
		for _, it := range lists[k.Form.Queue] {
			if it.Compare(s.itemOf(one.Work)) >= 0 {
				break
			}
			other := &w.Works[it.ID]
			// Where order goes by age alone (P7), priority still says who may preempt whom.
			if other.Status != cluster.Waiting || other.Form.Priority < k.Form.Priority ||
				other.Form.Definition != k.Form.Definition || other.Form.NonPreemptible != k.Form.NonPreemptible {
				continue
			}
			if done, err := s.takesPlaceOf(it, int32(c)); done || err != nil {
				s.decision.Changed = s.decision.Changed || done
				return err
			}
		}
	}
	return nil
}

// A cost is what starts of this solve have cost those who ran or claimed before, and are not there now: by start
// whether somebody was taken for its workload, which may have lost those places since and stand elsewhere, and the
// nodes that they have left.
type cost struct {
	starts []bool
	left   []bool // by node
}

// costOfStarts is that of all starts.
func (s freeStarts) costOfStarts() cost {
	w := s.world
	out, by := cost{make([]bool, len(w.Room.Commits)), make([]bool, len(w.Nodes))}, make(map[int32]bool, len(w.Room.Takings))
	for at := range w.Room.Takings {
		t := &w.Room.Takings[at]
		for i := range t.Seats {
			was := &t.Seats[i]
			if was.Origin < 0 || slices.ContainsFunc(w.Room.Seats[t.Work], func(is cluster.Seat) bool {
				return is.Origin == was.Origin && is.Where() == w.Holdings[was.Origin].Where()
			}) {
				continue
			}
			out.left[w.Holdings[was.Origin].Node] = true
			if t.Commit >= 0 && int(t.Commit) < len(out.starts) && w.Room.IsPaidFor(t.Commit) { // it may have come to no start
				by[t.Preemptor] = true
			}
		}
	}
	for c := range out.starts {
		out.starts[c] = by[w.Room.Commits[c].Work]
	}
	return out
}

// changesPlaces has a start that runs at once change places with one alike that stands before
// it in O1 and claims what others are leaving: that need not wait longer.
func (s freeStarts) changesPlaces(c int32) bool {
	w := s.world
	one := &w.Room.Commits[c]
	k, seats := &w.Works[one.Work], w.Room.Seats[one.Work]
	if !s.startedToClaim || slices.ContainsFunc(seats, func(t cluster.Seat) bool { return t.Waits() }) {
		return false
	}
	for at := range w.Room.Commits {
		i := w.Room.Commits[at].Work
		other := &w.Works[i]
		if i == one.Work || len(other.Others) > 0 || other.Form.Queue != k.Form.Queue || other.Form.Definition != k.Form.Definition ||
			other.Form.NonPreemptible != k.Form.NonPreemptible || other.Form.Priority < k.Form.Priority || other.IsLeaving(w) ||
			s.itemOf(i).Compare(s.itemOf(one.Work)) >= 0 || !s.isFree(int32(at)) || len(w.Room.Seats[i]) != len(seats) ||
			!slices.ContainsFunc(w.Room.Seats[i], func(t cluster.Seat) bool { return t.Waits() }) {
			continue
		}
		alike := true
		for n, t := range w.Room.Seats[i] {
			alike = alike && t.Set == seats[n].Set && t.Step == seats[n].Step && t.Commit == int32(at)
		}
		if !alike {
			continue
		}
		for n := range seats {
			seats[n].Exchange(&w.Room.Seats[i][n])
		}
		reenter(w, i)
		reenter(w, one.Work)
		s.pool.Changes++
		return true
	}
	return false
}

// itemOf is the item of a workload that holds nothing.
func (s freeStarts) itemOf(i int32) queue.Item {
	return s.asOrdered(wholeItem(s.world, i, 0))
}

// waitingByLeaf lists by queue what waits as a whole, in the order O1: all or, where no room was made, those alone
// who have been promised something.
func (s freeStarts) waitingByLeaf(all bool) map[int32][]queue.Item {
	w := s.world
	out := make(map[int32][]queue.Item)
	for _, i := range s.seekers() {
		k := &w.Works[i]
		if (all || s.promising().of(i) != nil) && k.Status == cluster.Waiting && len(k.Others) == 0 && k.Form.Pool == s.index && len(w.Room.Seats[i]) == 0 && w.Definition(k, 0).Verdict.OK {
			out[k.Form.Queue] = append(out[k.Form.Queue], s.itemOf(i))
		}
	}
	for _, items := range out { // each is sorted by itself: order cannot matter
		slices.SortFunc(items, queue.Item.Compare)
	}
	return out
}

// takesPlaceOf has a workload start, or come back, where a start of this solve is
// lifted, which waits then.
func (s freeStarts) takesPlaceOf(it queue.Item, commit int32) (bool, error) {
	p := s.pool
	if s.letsGo([]int32{commit}) {
		return false, nil
	}
	nodes, use := p.Index.Mark(), p.Tree.Mark()
	l, err := s.lift(commit)
	if err != nil {
		return false, err
	}
	s.promises.at = 0 // the profile knows of the start
	taken, err := s.startOrComeBack(it, l.own)
	if !taken || err != nil {
		s.unliftAll([]*lifted{l})
		p.Index.Undo(nodes)
		p.Tree.Undo(use)
		s.promises.at = 0
		return false, err
	}
	p.Index.Commit(nodes)
	p.Tree.Commit(use)
	s.restatusLifted(l)
	s.afterLift(l.work)
	s.requeue(l.work)
	s.requeue(it.ID)
	return true, nil
}

// startOrComeBack starts a workload that waits as a whole or, if this solve has
// taken it, puts it back, in place of one that had these seats, and for as long if that was cut to fit a hole (B1).
func (s freeStarts) startOrComeBack(it queue.Item, instead []cluster.Seat) (bool, error) {
	w, p := s.world, s.pool
	k := &w.Works[it.ID]
	at := slices.IndexFunc(w.Room.Out, func(o cluster.OutUnit) bool { return o.Unit.Work == it.ID && o.Unit.Step == 0 })
	if at >= 0 {
		o := w.Room.Out[at]
		back, err := s.reprieving().putBack(&o, oldPlace|newPlace)
		if back {
			w.Room.Out = slices.Delete(w.Room.Out, at, at+1)
		}
		return back, err
	}
	d := w.Definition(k, 0)
	unit, promised := d.Unit, s.promising().of(it.ID) != nil
	if d.Unsure && !promised || k.Live >= 0 && isTied(w, k) {
		return false, nil
	}
	instead = slices.Clone(instead)
	slices.SortStableFunc(instead, func(a, b cluster.Seat) int { return cmp.Compare(a.Set, b.Set) })
	if promised {
		unit, s.places = gang.Unit{Add: make([]int32, len(d.Sets))}, s.places[:0]
		for i := range instead {
			unit.Add[instead[i].Set]++
			s.places = append(s.places, s.placeOf(&instead[i]))
		}
	}
	asks, err := s.unitAsks(d, unit, true)
	if err != nil {
		return false, err
	}
	asks = slices.Clone(asks)
	if _, ok := p.Tree.Check(int(k.Form.Queue), asks, k.Form.NonPreemptible); !ok {
		return false, nil
	}
	charge, found := asks, true
	defer func() { s.cut = 0 }()
	if !promised {
		charge, found, err = s.placeUnit(s.reaches(it.ID, d, unit.Tasks()), &k.Form, d, unit, s.reprieving().beside(it.ID, d, unit), asks)
	} else if charge, err = s.withClasses(d, unit, asks, s.places); err == nil { // they are alike, and the place is as good
		s.cut, s.passes, err = instead[0].Until, instead[0].Behind, s.promising().takeAll(d, unit)
	}
	if !found || err != nil {
		return false, err
	}
	s.unqueue(it.ID)
	return true, s.commit(k, it, &k.Form, unit, charge, false)
}
