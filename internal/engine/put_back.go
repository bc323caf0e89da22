package engine

import (
	"errors"
	"slices"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/quota"
)

// putBackAll puts the pool's victims back where room is left for them, the best
// standing first: at their old place, which is no eviction at all, also where
// starts of this solve that stand there may be placed anew; else at another, which
// is a move (M4, M9).
func (s reprieving) putBackAll() error {
	w := s.world
	if len(w.Room.Out) == 0 {
		return redivide(w, s.decision)
	}
	own, others := make([]cluster.OutUnit, 0, len(w.Room.Out)), []cluster.OutUnit(nil)
	for _, o := range w.Room.Out {
		if o.Pool == s.index {
			own = append(own, o)
		} else {
			others = append(others, o)
		}
	}
	preempt.SortToReprieve(own, cluster.OutUnit.Standing)
	stay := own[:0]
	for i := range own {
		if startedAnew(w, &own[i]) {
			continue
		}
		back, err := s.comesBack(&own[i])
		if err != nil {
			return err
		}
		if back {
			s.decision.Changed = true
		} else {
			own[i].Tried = s.pool.UntilChanged()
			stay = append(stay, own[i])
		}
	}
	if w.Room.Out = stay; len(others) > 0 {
		w.Room.Out = append(others, stay...)
	}
	return redivide(w, s.decision)
}

// comesBack puts one unit of the pool's victims back, whole or else what of it ran.
func (s reprieving) comesBack(o *cluster.OutUnit) (back bool, err error) {
	back, err = s.putBack(o, oldPlace)
	if back || err != nil {
		return back, err
	}
	if home := whereItRan(o, s.world); home != nil {
		back, err = s.putBack(home, oldPlace)
	}
	if !back && err == nil {
		back, err = freeStarts(s).comeBack(o)
	}
	if !back && err == nil && s.enoughFree(o.Unit) {
		back, err = s.putBack(o, newPlace)
	}
	if back || err != nil {
		return back, err
	}
	partly := asItRan(o, s.Solver)
	if partly == nil {
		return false, nil
	}
	if back, err = s.putBack(partly, oldPlace); back || err != nil {
		return back, err
	}
	return freeStarts(s).comeBack(partly)
}

// whereItRan is a unit in the places in which it ran, where it had moved before it was taken: for whom it moved may
// have gone since. It is nil where it had not.
func whereItRan(o *cluster.OutUnit, w *cluster.World) *cluster.OutUnit {
	moved := false
	for at := range o.Seats {
		one := &o.Seats[at]
		if !w.Booking().Ran(one) {
			return nil
		}
		moved = moved || one.Where() != w.Holdings[one.Origin].Where()
	}
	if !moved {
		return nil
	}
	home, u := *o, *o.Unit
	home.Unit, home.Seats, u.Tasks = &u, slices.Clone(o.Seats), slices.Clone(u.Tasks)
	for at := range home.Seats {
		one := &home.Seats[at]
		h := &w.Holdings[one.Origin]
		one.Node, one.Devices, one.Pipelined, one.Behind, one.Commit = h.Node, h.Devices, false, h.Behind, cluster.None
		u.Tasks[at].Place = one.Place(w)
	}
	return &home
}

// enoughFree is a bound: where less is free on all nodes together than a unit of one task holds,
// that finds no other place. What is leaving may be claimed as well, so that nothing is plain then.
func (s reprieving) enoughFree(u *preempt.Unit) bool {
	x := s.pool.Index
	return len(u.Tasks) > 1 || x.Releasing() || !slices.ContainsFunc(u.Charge, func(a quota.Amount) bool {
		return int(a.Resource) < s.pool.Plain && placement.FreeOf(x, -1, a.Resource) < a.Value
	})
}

// asItRan is the part of a unit that ran, where this solve had completed it (G1), or had it
// grown from between two rungs (L1): that start has cost nothing, and what ran comes back without it. What ran
// below its minimum was one unit (M6): what ran above the minimum, now that there was one, comes back with it.
// It is nil where nothing of it was started, as of most.
func asItRan(o *cluster.OutUnit, s *Solver) *cluster.OutUnit {
	if o.Status != cluster.Complete || !slices.ContainsFunc(o.Seats, func(one cluster.Seat) bool { return one.Origin < 0 }) {
		return nil
	}
	part, u := *o, *o.Unit
	part.Unit, part.Seats = &u, nil
	u.Tasks, u.Charge = nil, nil
	if !addWhatRan(&part, o, s) || len(u.Tasks) == 0 {
		return nil
	}
	if u.Step > 0 {
		d := s.world.Definition(&s.world.Works[u.Work], o.Form)
		if onRung, besideStarts := comesToRung(s.reprieving(), &part, d); len(d.Ladder) > 0 && besideStarts && !onRung {
			return nil // it was between two rungs by what ran alone, and not beside a start
		}
		return &part
	}
	if part.Status = cluster.Waiting; s.reprieving().hadItsMinimum(o) {
		return nil
	}
	for i := range s.world.Room.Out {
		if above := &s.world.Room.Out[i]; above.Unit.Work == u.Work && above.Unit.Step > 0 && !addWhatRan(&part, above, s) {
			return nil
		}
	}
	if s.pool.Counted {
		u.Charge = append(slices.Clip(u.Charge), quota.Amount{Resource: int32(s.pool.Width - 1), Value: 1})
	}
	return &part
}

// hadItsMinimum says whether the workload of a unit held its minimum before this solve, with what it
// claimed: of that no part comes back without the rest (M6).
func (s reprieving) hadItsMinimum(o *cluster.OutUnit) bool {
	w := s.world
	k := &w.Works[o.Unit.Work]
	d := w.Definition(k, o.Form)
	held := make([]int32, len(d.Sets))
	for at := w.Live[k.Live].From; at < w.Live[k.Live].To; at++ {
		if h := &w.Holdings[at]; h.Phase != cluster.Terminating {
			held[h.Set]++
		}
	}
	return d.Gang.AtMinimum(held)
}

// addWhatRan adds to a unit what of another one ran, and says whether all else of that was started in this solve.
func addWhatRan(to, of *cluster.OutUnit, s *Solver) bool {
	for at, one := range of.Seats {
		switch {
		case one.Origin < 0:
			continue
		case !s.world.Booking().Ran(&one):
			return false
		}
		to.Seats, to.Unit.Tasks = append(to.Seats, one), append(to.Unit.Tasks, of.Unit.Tasks[at])
		to.Unit.Charge = cluster.Plus(to.Unit.Charge, of.Unit.Tasks[at].Charge, len(to.Unit.Tasks))
	}
	return true
}

// startedAnew says whether the workload has started again since, so that
// the unit is no longer what waits.
func startedAnew(w *cluster.World, o *cluster.OutUnit) bool {
	if o.Unit.Step == 0 {
		return len(w.Room.Seats[o.Unit.Work]) > 0
	}
	for _, old := range o.Seats { // another task of that index runs: it has grown again
		for _, now := range w.Room.Seats[o.Unit.Work] {
			if now.Set == old.Set && now.Index == old.Index {
				return true
			}
		}
	}
	return false
}

// errUnsound would be a proposal that does not hold when it is carried out.
var errUnsound = errors.New("allot: room that was found is not there")

// seating says where a unit may be put back.
type seating uint8

const (
	oldPlace seating = 1 << iota
	newPlace
	placedAnew // a new place for which no task is kept where it was
	stillBegun // what of it this solve has started counts as started when it was (M10)
)

// putBack puts a unit back that is out, at its old place if it may be; it reports whether
// there was a place and nobody's right ends by it.
func (s reprieving) putBack(o *cluster.OutUnit, where seating) (back bool, err error) {
	if ends, err := s.endsRights(o); ends || err != nil {
		return false, err
	}
	s.inStep, s.seated, s.begins = true, s.seated[:0], triedStart{} // what has a place has its rows
	defer func() { s.inStep = false }()
	return s.seatUnit(o, where)
}

// seatUnit gives a unit that has left its rows a place, at its old one if it may be; it
// reports whether there was one. No right can end by a unit that only moves, or that comes
// back in the place of what moves for it: it was counted when the right was judged.
func (s reprieving) seatUnit(o *cluster.OutUnit, where seating) (back bool, err error) {
	w, p := s.world, s.pool
	i := o.Unit.Work
	k := &w.Works[i]
	if !basisStands(o, s.Solver) {
		return false, nil
	}
	if tried := k.Current; tried != o.Form { // it has tried others since (G5)
		k.Current = o.Form
		defer func() {
			if !back {
				k.Current = tried
			}
		}()
	}
	_, admitted := p.Tree.Check(int(o.Unit.Leaf), o.Unit.Charge, o.Unit.NonPreemptible)
	if where&oldPlace != 0 && (admitted || s.runsOnOverLimits(o)) && !s.strays(o) && s.takeOld(o, o.Seats) {
		return true, s.seatAgain(o, slices.Clone(o.Seats))
	}
	if !admitted || where&(newPlace|placedAnew) == 0 || k.Status == cluster.Failed || o.Unit.Rooted || s.broken(o) {
		return false, nil
	}
	seats := slices.Clone(o.Seats)
	if !s.takeNew(o, seats, where&placedAnew != 0) {
		return false, nil
	}
	w.Booking().Elsewhere(i, o.Seats, seats, where&stillBegun != 0)
	return true, s.seatAgain(o, seats)
}

// runsOnOverLimits says whether a unit that its queues do not admit may run on where it ran all the same: to stay is no
// start (M11), as long as what it exceeds are limits (Q3, Q10) of queues in which nothing has started in this solve.
func (s reprieving) runsOnOverLimits(o *cluster.OutUnit) bool {
	w := s.world
	if slices.ContainsFunc(o.Seats, func(one cluster.Seat) bool {
		return !w.Booking().Ran(&one) || one.Where() != w.Holdings[one.Origin].Where()
	}) {
		return false
	}
	short := s.pool.Tree.Shortfalls(nil, int(o.Unit.Leaf), o.Unit.Charge, o.Unit.NonPreemptible)
	return !slices.ContainsFunc(short, func(one quota.Shortfall) bool {
		return one.Kind != quota.OverLimit && one.Kind != quota.OverBorrowing || s.someStartedIn(int32(one.Queue))
	})
}

// someStartedIn says whether anything that this solve has started is in a queue.
func (s reprieving) someStartedIn(q int32) bool {
	w := s.world
	return slices.ContainsFunc(w.Room.Touched, func(i int32) bool { // of all others nothing has a commit
		f := w.FormOf(&w.Works[i], w.Works[i].Current)
		return f.Pool == s.index && under(s.pool, f.Queue, q) && slices.ContainsFunc(w.Room.Seats[i], func(one cluster.Seat) bool {
			return one.Commit >= 0 && !w.Booking().Ran(&one)
		})
	})
}

// broken says whether the unit is what is left of a gang (G1), or of a step between two
// rungs (L1), and some of it has yet to start: only what runs can move, and in another place that
// would start with less than starts together. What is above it and starts where it is claimed has
// started by then.
func (s reprieving) broken(o *cluster.OutUnit) bool {
	if !slices.ContainsFunc(o.Seats, func(one cluster.Seat) bool { return !s.world.Booking().Ran(&one) }) {
		return false
	}
	d := s.world.Definition(&s.world.Works[o.Unit.Work], s.world.Works[o.Unit.Work].Current)
	if o.Unit.Step == 0 {
		return !d.Gang.AtMinimum(s.countsOf(o, d))
	}
	if len(d.Ladder) == 0 {
		return false
	}
	onRung, _ := comesToRung(s, o, d)
	return !onRung
}

// comesToRung says whether a halving workload comes to a rung of its ladder with a step that comes back (L1), and whether
// it does so beside something that this solve has started.
func comesToRung(s reprieving, o *cluster.OutUnit, d *cluster.Definition) (onRung, besideStarts bool) {
	held := int32(len(o.Seats))
	for one := range s.seatsNow(o.Unit.Work) {
		if one.Step < o.Unit.Step || !one.Claimed && !one.Pipelined {
			held++
			besideStarts = besideStarts || one.Origin < 0
		}
	}
	return slices.Contains(d.Ladder, held), besideStarts
}

// basisStands says whether a unit above the minimum can be put back: the workload holds
// what it builds on, in the same form.
func basisStands(o *cluster.OutUnit, s *Solver) bool {
	k := &s.world.Works[o.Unit.Work]
	held := k.Status == cluster.Complete || k.Status == cluster.Claiming || k.Status == cluster.WaitsForLeavers
	return o.Unit.Step == 0 || held && k.Current == o.Form && s.reprieving().stepsBelow(o)
}

// stepsBelow says whether everything below the step of the unit runs.
func (s reprieving) stepsBelow(o *cluster.OutUnit) bool {
	steps := int32(0)
	for _, seat := range s.world.Room.Seats[o.Unit.Work] {
		steps = max(steps, seat.Step+1)
	}
	return steps >= o.Unit.Step
}
