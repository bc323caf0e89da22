package allot

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// What this solve has started has cost nothing yet (M9): no action tells of it
// before the plan is written. So a start is lifted and put somewhere else, or
// waits again, at no price. A start is known by its commit.

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
// none of which ran or was claimed before, and none of which waits for what leaves.
func (s *solver) isFree(commit int32) bool {
	book := s.world.room
	c := &book.commits[commit]
	if c.kind == Move || s.world.formOf(&s.world.works[c.work], c.form).pool != s.index || s.world.works[c.work].current != c.form {
		return false
	}
	some := false
	for i := range book.seats[c.work] {
		one := &book.seats[c.work][i]
		if one.commit != commit {
			continue
		}
		if one.origin >= 0 || one.overlaps || one.claimed {
			return false
		}
		some = true
	}
	return some
}

// lift takes a start out of the table, the nodes and the uses. Nobody else learns
// of it before settleLifted or restatusLifted.
func (s *solver) lift(commit int32) (*lifted, error) {
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
		if err := p.index.Give(d.sets[out.own[i].set].placed, w.placeOf(&out.own[i])); err != nil {
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
	w.countHeld(k, out.own, -1)
	return out, nil
}

// liftAll lifts starts, the latest first.
func (s *solver) liftAll(commits []int32) (lifts []*lifted, err error) {
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
func (s *solver) unliftAll(lifts []*lifted) {
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
func (s *solver) putDownAll(lifts []*lifted, largest bool) (bool, error) {
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
// too; it reports whether there are any.
func (s *solver) putDown(l *lifted) (bool, error) {
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
	charge, found, err := s.placeUnit(f, d, unit, beside, asks)
	if !found || err != nil {
		return false, err
	}
	for i := range seats {
		seats[i].node, seats[i].devices = p.nodes[s.places[i].Node], s.places[i].Devices
	}
	if err := p.tree.Charge(int(f.queue), charge, f.nonPreemptible); err != nil {
		return false, err
	}
	w.room.seats[l.work] = append(slices.Clip(w.room.seats[l.work]), seats...)
	w.countHeld(k, seats, 1)
	return true, nil
}

// restatusLifted makes it final that a lifted start waits again.
func (w *world) restatusLifted(l *lifted) {
	k := &w.works[l.work]
	w.reenter(l.work)
	if l.kind != Start {
		return
	}
	if k.status = waiting; k.live >= 0 && w.live[k.live].leaving > 0 {
		k.status = leaving
	}
}

// afterLift takes note that places have come free.
func (s *solver) afterLift(work int32) {
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
func (s *solver) chargeOf(d *definition, seats []seat, first bool) (quota.Amounts, error) {
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
func (w *world) countHeld(k *work, seats []seat, n int32) {
	if k.live < 0 {
		return
	}
	for i := range seats {
		w.live[k.live].held[seats[i].set] += n
	}
}

// placeOf is where a seat is, for the index.
func (w *world) placeOf(s *seat) placement.Place {
	return placement.Place{Node: w.position[s.node], Devices: s.devices}
}
