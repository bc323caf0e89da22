package allot

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// What this solve has started has cost nothing yet (M9): no action tells of it
// before the plan is written. So a start is lifted and put somewhere else, or
// waits again, at no price. A start is known by its commit.

// freeStarts are what a solver has started in this solve.
type freeStarts struct{ *solver }

// A lifted start is one that is out of the table, and what it takes to put it back.
type lifted struct {
	commit int32
	kind   ActionKind
	work   int32
	own    []seat // those of the start
	// before and held are what the workload held, charge what is not charged now.
	before []seat
	held   []int32
	charge quota.Amounts
}

// isFree says whether a commit is a start of this solve that stands, of tasks
// none of which ran or was claimed before. It may claim what others are leaving.
func (s freeStarts) isFree(commit int32) bool {
	book := s.world.room
	c := &book.commits[commit]
	if s.world.formOf(&s.world.works[c.work], c.form).pool != s.index || s.world.works[c.work].current != c.form {
		return false
	}
	some := false
	for i := range book.seats[c.work] {
		one := &book.seats[c.work][i]
		if one.commit != commit {
			continue
		}
		if one.origin >= 0 || one.claimed {
			return false
		}
		some = true
	}
	return some
}

// lift takes a start out of the table, the nodes and the uses. Nobody else learns
// of it before settleLifted or restatusLifted.
func (s freeStarts) lift(commit int32) (*lifted, error) {
	w, p, c := s.world, s.pool, s.world.room.commits[commit]
	k := &w.works[c.work]
	d := w.definition(k, c.form)
	out := &lifted{commit: commit, kind: c.kind, work: c.work, before: w.room.seats[c.work]}
	var others []seat
	for _, one := range out.before {
		if one.commit == commit {
			out.own = append(out.own, one)
		} else {
			others = append(others, one)
		}
	}
	var err error
	if out.charge, err = s.chargeOf(d, out.own, len(others) == 0); err != nil {
		return nil, err
	}
	for i := range out.own {
		if err := p.index.Give(d.sets[out.own[i].set].placed, s.placeOf(&out.own[i])); err != nil {
			return nil, err
		}
	}
	f := w.formOf(k, c.form)
	if err := p.tree.Release(int(f.queue), out.charge, f.nonPreemptible); err != nil {
		return nil, err
	}
	if k.live >= 0 {
		out.held = slices.Clone(w.live[k.live].held)
	}
	w.room.seats[c.work] = others
	s.countHeld(k, out.own, -1)
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
		w.room.seats[l.work] = l.before
		if live := w.works[l.work].live; live >= 0 {
			w.live[live].held = l.held
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
// too; it reports whether there are any. What claimed may claim again.
func (s freeStarts) putDown(l *lifted) (bool, error) {
	w, p := s.world, s.pool
	k := &w.works[l.work]
	f, d := w.formOf(k, k.current), w.definition(k, k.current)
	unit := gang.Unit{Add: make([]int32, len(d.sets))}
	seats := slices.Clone(l.own)
	all := make([]int, len(seats))
	slices.SortStableFunc(seats, func(a, b seat) int { return int(a.set) - int(b.set) })
	for i := range seats {
		unit.Add[seats[i].set]++
		all[i] = i
	}
	var beside gang.Siblings
	if d.gang.Constrained() {
		beside = gang.Siblings{Held: w.heldBy(l.work), Indices: indicesOf(seats, all, len(d.sets))}
	}
	asks, err := s.unitAsks(d, unit, len(w.room.seats[l.work]) == 0)
	if err != nil {
		return false, err
	}
	asks = slices.Clone(asks)
	if _, ok := p.tree.Check(int(f.queue), asks, f.nonPreemptible); !ok {
		return false, nil
	}
	s.claims, s.waitsForItself = slices.ContainsFunc(seats, func(one seat) bool { return one.pipelined }), k.isLeaving(w)
	charge, found, err := s.placeUnit(f, d, unit, beside, asks)
	s.claims, s.waitsForItself = false, false
	if !found || err != nil {
		return false, err
	}
	for i := range seats {
		seats[i].sit(p.nodes, s.places[i])
	}
	noteAtOnce(w, l.work, seats)
	if err := p.tree.Charge(int(f.queue), charge, f.nonPreemptible); err != nil {
		return false, err
	}
	w.room.seats[l.work] = append(slices.Clip(w.room.seats[l.work]), seats...)
	s.countHeld(k, seats, 1)
	return true, nil
}

// restatusLifted makes it final that a lifted start waits again.
func (s freeStarts) restatusLifted(l *lifted) {
	w := s.world
	k := &w.works[l.work]
	w.reenter(l.work)
	if l.kind == Resize || l.kind == Move && len(w.room.seats[l.work]) > 0 {
		return
	}
	if k.status = waiting; k.live >= 0 && w.live[k.live].leaving > 0 {
		k.status = leaving
	}
}

// afterLift takes note that places have come free.
func (s freeStarts) afterLift(work int32) {
	k := &s.world.works[work]
	leaf := int(s.world.formOf(k, k.current).queue)
	s.pool.freed++
	s.pool.changes++
	s.main.Touch(leaf)
	if s.apart != nil {
		s.apart.Touch(leaf)
	}
}

// chargeOf is what seats of a workload are charged; first says that it holds
// nothing else.
func (s freeStarts) chargeOf(d *definition, seats []seat, first bool) (quota.Amounts, error) {
	var charge quota.Amounts
	for i := range seats {
		one := s.pool.chargeOf(&d.sets[seats[i].set], &s.world.state.Nodes[seats[i].node], seats[i].devices)
		var err error
		if charge, err = charge.AddScaled(one, 1); err != nil {
			return nil, err
		}
	}
	if first && s.pool.counted {
		charge = append(charge, quota.Amount{Resource: int32(len(s.pool.resources) - 1), Value: 1})
	}
	return charge, nil
}

// countHeld counts seats that a workload has gained or lost.
func (s freeStarts) countHeld(k *work, seats []seat, n int32) {
	if k.live < 0 {
		return
	}
	for i := range seats {
		s.world.live[k.live].held[seats[i].set] += n
	}
}

// placeOf is where a seat is, for the index.
func (s freeStarts) placeOf(one *seat) placement.Place {
	return one.place(s.world)
}

// Nobody alike and older waits for a place that a younger one got in the same plan
// (M9): where room was made, the younger may have had its turn first.

// exchange has workloads that wait take the places of starts of this solve in their
// queue that stand behind them in O1 and ask the same.
func (s freeStarts) exchange() error {
	w := s.world
	if w.room == nil || !s.replaced && len(w.room.takings) == 0 {
		return nil
	}
	lists := s.waitingByLeaf()
	for c := range slices.Backward(w.room.commits) {
		one := &w.room.commits[c]
		k := &w.works[one.work]
		if one.kind == Resize || !s.isFree(int32(c)) || w.room.paidFor[int32(c)] || len(k.others) > 0 ||
			slices.ContainsFunc(w.room.seats[one.work], func(t seat) bool { return t.commit != int32(c) }) {
			continue
		}
		for _, it := range lists[k.form.queue] {
			if it.Compare(s.whole(one.work)) >= 0 {
				break
			}
			other := &w.works[it.ID]
			// Where order goes by age alone (P7), priority still says who may preempt whom.
			if other.status != waiting || other.form.priority < k.form.priority ||
				other.form.definition != k.form.definition || other.form.nonPreemptible != k.form.nonPreemptible {
				continue
			}
			if done, err := s.takesPlaceOf(it, int32(c)); done || err != nil {
				s.decision.changed = s.decision.changed || done
				return err
			}
		}
	}
	return nil
}

// whole is the item of a workload that holds nothing.
func (s freeStarts) whole(i int32) queue.Item {
	k := &s.world.works[i]
	return s.asOrdered(queue.Item{Priority: k.form.priority, Submitted: k.submitted, Rank: k.rank, ID: i})
}

// waitingByLeaf lists by queue what waits as a whole, in the order O1.
func (s freeStarts) waitingByLeaf() map[int32][]queue.Item {
	w := s.world
	out := make(map[int32][]queue.Item)
	for _, i := range s.pool.works {
		k := &w.works[i]
		if k.status == waiting && len(k.others) == 0 && k.form.pool == s.index && len(w.room.seats[i]) == 0 && w.definition(k, 0).verdict.OK {
			out[k.form.queue] = append(out[k.form.queue], s.whole(i))
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
	nodes, use := p.index.Mark(), p.tree.Mark()
	l, err := s.lift(commit)
	if err != nil {
		return false, err
	}
	taken, err := s.startOrComeBack(it)
	if !taken || err != nil {
		s.unliftAll([]*lifted{l})
		p.index.Undo(nodes)
		p.tree.Undo(use)
		return false, err
	}
	p.index.Commit(nodes)
	p.tree.Commit(use)
	s.restatusLifted(l)
	s.afterLift(l.work)
	s.requeue(l.work)
	s.requeue(it.ID)
	return true, nil
}

// startOrComeBack starts a workload that waits as a whole or, if this solve has
// taken it, puts it back.
func (s freeStarts) startOrComeBack(it queue.Item) (bool, error) {
	w, p := s.world, s.pool
	k := &w.works[it.ID]
	at := slices.IndexFunc(w.room.out, func(o outUnit) bool { return o.unit.Work == it.ID && o.unit.Step == 0 })
	if at >= 0 {
		o := w.room.out[at]
		back, err := s.putBack(&o, oldPlace|newPlace)
		if back {
			w.room.out = slices.Delete(w.room.out, at, at+1)
		}
		return back, err
	}
	d := w.definition(k, 0)
	if d.unsure || k.live >= 0 && w.tied(k) {
		return false, nil
	}
	asks, err := s.unitAsks(d, d.unit, true)
	if err != nil {
		return false, err
	}
	asks = slices.Clone(asks)
	if _, ok := p.tree.Check(int(k.form.queue), asks, k.form.nonPreemptible); !ok {
		return false, nil
	}
	charge, found, err := s.placeUnit(&k.form, d, d.unit, s.beside(it.ID, d, d.unit), asks)
	if !found || err != nil {
		return false, err
	}
	s.unqueue(it.ID)
	return true, s.commit(k, it, &k.form, d.unit, charge)
}
