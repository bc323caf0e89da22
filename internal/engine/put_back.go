package engine

import (
	"errors"
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/division"
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
	own, others := make([]cluster.OutUnit, 0, len(w.Room.Out)), make([]cluster.OutUnit, 0, len(w.Room.Out))
	for _, o := range w.Room.Out {
		if o.Pool == s.index {
			own = append(own, o)
		} else {
			others = append(others, o)
		}
	}
	preempt.SortToReprieve(own, cluster.OutUnit.Standing)
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
			others = append(others, own[i])
		}
	}
	w.Room.Out = others
	return redivide(w, s.decision)
}

// comesBack puts one unit of the pool's victims back, whole or else what of it ran.
func (s reprieving) comesBack(o *cluster.OutUnit) (back bool, err error) {
	back, err = s.putBack(o, oldPlace)
	if home, moved := whereItRan(o, s.world); moved && !back && err == nil {
		back, err = s.putBack(&home, oldPlace)
	}
	if !back && err == nil {
		back, err = freeStarts(s).comeBack(o)
	}
	if !back && err == nil && s.enoughFree(o.Unit) {
		back, err = s.putBack(o, newPlace)
	}
	partly, some := asItRan(o, s.Solver)
	if back || err != nil || !some {
		return back, err
	}
	if back, err = s.putBack(&partly, oldPlace); back || err != nil {
		return back, err
	}
	return freeStarts(s).comeBack(&partly)
}

// whereItRan is a unit in the places in which it ran, where it had moved before it was taken: for whom it moved may have
// gone since.
func whereItRan(o *cluster.OutUnit, w *cluster.World) (home cluster.OutUnit, moved bool) {
	for at := range o.Seats {
		one := &o.Seats[at]
		if !w.Booking().Ran(one) {
			return home, false
		}
		moved = moved || one.Where() != w.Holdings[one.Origin].Where()
	}
	if !moved || len(o.Seats) != len(o.Unit.Tasks) {
		return home, false
	}
	u := *o.Unit
	home = *o
	home.Unit, home.Seats, u.Tasks = &u, slices.Clone(o.Seats), slices.Clone(u.Tasks)
	for at := range home.Seats {
		one := &home.Seats[at]
		h := &w.Holdings[one.Origin]
		one.Node, one.Devices, one.Pipelined, one.Behind, one.Commit = h.Node, h.Devices, false, h.Behind, cluster.None
		u.Tasks[at].Place = one.Place(w)
	}
	return home, true
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
func asItRan(o *cluster.OutUnit, s *Solver) (cluster.OutUnit, bool) {
	if o.Status != cluster.Complete {
		return cluster.OutUnit{}, false
	}
	part, u := *o, *o.Unit
	part.Unit, part.Seats = &u, nil
	u.Tasks, u.Charge = nil, nil
	if started, ok := addWhatRan(&part, o, s); !ok || !started || len(u.Tasks) == 0 {
		return cluster.OutUnit{}, false
	}
	if u.Step > 0 {
		return part, true
	}
	if part.Status = cluster.Waiting; s.reprieving().hadItsMinimum(o) {
		return cluster.OutUnit{}, false
	}
	for i := range s.world.Room.Out {
		if above := &s.world.Room.Out[i]; above.Unit.Work == u.Work && above.Unit.Step > 0 {
			if _, ok := addWhatRan(&part, above, s); !ok {
				return cluster.OutUnit{}, false
			}
		}
	}
	if s.pool.Counted {
		u.Charge = append(slices.Clip(u.Charge), quota.Amount{Resource: int32(s.pool.Width - 1), Value: 1})
	}
	return part, true
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

// addWhatRan adds to a unit what of another one ran, and says whether some of that was started in this solve; ok is that
// all else of it ran.
func addWhatRan(to, of *cluster.OutUnit, s *Solver) (started, ok bool) {
	if len(of.Unit.Tasks) != len(of.Seats) {
		return false, false
	}
	for at, one := range of.Seats {
		switch {
		case one.Origin < 0:
			started = true
			continue
		case !s.world.Booking().Ran(&one):
			return false, false
		}
		to.Seats, to.Unit.Tasks = append(to.Seats, one), append(to.Unit.Tasks, of.Unit.Tasks[at])
		to.Unit.Charge = cluster.Plus(to.Unit.Charge, of.Unit.Tasks[at].Charge, len(to.Unit.Tasks))
	}
	return started, true
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
	if s.endsRights(o) {
		return false, nil
	}
	s.inStep = true
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
// would start with less than starts together.
func (s reprieving) broken(o *cluster.OutUnit) bool {
	if !slices.ContainsFunc(o.Seats, func(one cluster.Seat) bool { return !s.world.Booking().Ran(&one) }) {
		return false
	}
	d := s.world.Definition(&s.world.Works[o.Unit.Work], s.world.Works[o.Unit.Work].Current)
	if o.Unit.Step == 0 {
		return !d.Gang.AtMinimum(s.countsOf(o, d))
	}
	held := int32(len(o.Seats))
	for _, one := range s.world.Room.Seats[o.Unit.Work] {
		if one.Step < o.Unit.Step {
			held++
		}
	}
	return len(d.Ladder) > 0 && !slices.Contains(d.Ladder, held)
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

// takeOld takes the unit's old places, in which its tasks have these seats, if all of them are
// free, and what is promised of them is as free then as it was.
func (s reprieving) takeOld(o *cluster.OutUnit, seats []cluster.Seat) bool {
	if !s.trial && !s.promises.making && s.promising().layAgain() != nil {
		return false
	}
	m := s.pool.Index.Mark()
	for at, t := range o.Unit.Tasks {
		if !retake(s.Solver, t.Shape, t.Place, &seats[at]) {
			s.pool.Index.Undo(m)
			return false
		}
	}
	if !s.promising().sparing().mayComeHome(o.Unit, seats) {
		s.pool.Index.Undo(m)
		return false
	}
	s.pool.Index.Commit(m)
	return true
}

// takeNew takes other places for the unit and writes them into the seats: places that
// are free at once, else, where the start at hand may claim, those that others are
// leaving too (S4).
func (s reprieving) takeNew(o *cluster.OutUnit, seats []cluster.Seat, anew bool) bool {
	if !s.claims {
		return takeOthers(s.Solver, o, seats, anew)
	}
	s.claims = false
	atOnce := takeOthers(s.Solver, o, seats, anew)
	s.claims = true
	if atOnce {
		return true
	}
	copy(seats, o.Seats)
	return takeOthers(s.Solver, o, seats, anew)
}

// takeOthers takes other places for the unit in what is free for the start at hand.
// Tasks whose old place is free stay there, unless anew, if the others find one.
func takeOthers(s *Solver, o *cluster.OutUnit, seats []cluster.Seat, anew bool) bool {
	x, d := s.pool.Index, s.reprieving().groundOf(o)
	if s.reprieving().movesApart(o, d) {
		return false
	}
	if !s.trial && !s.promises.making && s.promising().layAgain() != nil {
		return false
	}
	m := x.Mark()
	keeps := !anew && len(o.Unit.Tasks) > 1 && s.pool.Policy.Fitting == gang.AnyNodes
	found := keeps && s.reprieving().keepSome(o, seats, d) && s.promising().sparing().leavesAlone(o, seats, d) && s.reprieving().asSafe(o, seats)
	if found && !d.Gang.Sliced() {
		stayWhereTheyCan(o.Seats, seats) // alike tasks may have found each other's places
	} else if !found {
		x.Undo(m)
		copy(seats, o.Seats)
		m = x.Mark()
		found = takeAnew(o, s, seats, d) && s.reprieving().asSafe(o, seats)
	}
	if !found || s.claims && !moveTogether(o, s, seats, d) {
		x.Undo(m)
		return false
	}
	x.Commit(m)
	return true
}

// groundOf is the definition by which a unit is put elsewhere: who moves for somebody does not
// come to stand on what is lent, from which it would have to go again (B9).
func (s reprieving) groundOf(o *cluster.OutUnit) *cluster.Definition {
	form := s.world.Works[o.Unit.Work].Current
	if o.Asked {
		return s.safeGround(o, s.preempting().ownGround(o.Unit.Work, form))
	}
	return s.world.Definition(&s.world.Works[o.Unit.Work], form)
}

// takeAnew takes places for all tasks of the unit and writes them into the seats.
func takeAnew(o *cluster.OutUnit, s *Solver, seats []cluster.Seat, d *cluster.Definition) bool {
	p := s.pool
	if !s.reprieving().placeAnew(o) {
		return false
	}
	for at := range seats { // both are by pod set
		seats[at].Sit(p.Nodes, s.places[at])
	}
	if !d.Gang.Sliced() { // there every index has its domain (T3)
		stayWhereTheyCan(o.Seats, seats)
	}
	return true
}

// moveTogether has all tasks of the unit that start or move claim their places where
// one of them does, and those that stay run where they ran (S4).
func moveTogether(o *cluster.OutUnit, s *Solver, seats []cluster.Seat, d *cluster.Definition) bool {
	moves := func(at int) bool {
		return seats[at].Origin < 0 || seats[at].Node != o.Seats[at].Node || seats[at].Devices != o.Seats[at].Devices
	}
	waits := false
	for at := range seats {
		waits = waits || moves(at) && seats[at].Pipelined
	}
	for at := range seats {
		one, was := &seats[at], seats[at].Place(s.world)
		if one.Pipelined = waits; !moves(at) {
			one.Pipelined = o.Seats[at].Pipelined
		}
		shape, place := d.Sets[one.Set].Placed, one.Place(s.world)
		if place != was && (s.pool.Index.Give(shape, was) != nil || !s.pool.Index.Fits(shape, place) || s.pool.Index.Take(shape, place) != nil) {
			return false
		}
	}
	return true
}

// stayWhereTheyCan swaps new places between the tasks of a pod set, so that a task
// does not move whose old place is among them. O(n²) for n tasks.
func stayWhereTheyCan(old, seats []cluster.Seat) {
	for at := range seats {
		same := slices.IndexFunc(seats, func(other cluster.Seat) bool {
			return other.Set == old[at].Set && other.Node == old[at].Node && other.Devices == old[at].Devices
		})
		if same >= 0 {
			seats[at].Exchange(&seats[same])
		}
	}
}

// countsOf is how many seats of each pod set a unit has, until it is called again.
func (s reprieving) countsOf(o *cluster.OutUnit, d *cluster.Definition) []int32 {
	s.counted = append(s.counted[:0], make([]int32, len(d.Sets))...)
	for at := range o.Seats {
		s.counted[o.Seats[at].Set]++
	}
	return s.counted
}

// placeAnew takes places for a unit that was taken, where the quotas and limits
// per class admit it (Q8).
func (s reprieving) placeAnew(o *cluster.OutUnit) bool {
	k := &s.world.Works[o.Unit.Work]
	f, d := s.world.FormOf(k, k.Current), s.groundOf(o)
	unit := gang.Unit{Add: s.countsOf(o, d)}
	asks, err := s.unitAsks(d, unit, o.Unit.Step == 0)
	if err != nil {
		return false
	}
	_, found, err := s.placeUnit(s.reachesStill(o), f, d, unit, s.besideUnit(o, d), slices.Clone(asks))
	return found && err == nil
}

// stays starts and charges a unit that consolidation has taken where it was, with these seats,
// in the journals only.
func (s reprieving) stays(u *preempt.Unit, seats []cluster.Seat) bool {
	k := &s.world.Works[u.Work]
	o := &cluster.OutUnit{Unit: u}
	_, ok := s.pool.Tree.Check(int(u.Leaf), u.Charge, u.NonPreemptible)
	if !ok || s.movesApart(o, s.world.Definition(k, k.Current)) || !s.takeOld(o, seats) || s.pool.Tree.Charge(int(u.Leaf), u.Charge, u.NonPreemptible) != nil {
		return false
	}
	s.seated = append(s.seated, seatedUnit{u, seats})
	return true
}

// leaves takes back what stays has done.
func (s reprieving) leaves(u *preempt.Unit) error {
	s.seated = slices.DeleteFunc(s.seated, func(again seatedUnit) bool { return again.unit == u })
	for _, t := range u.Tasks {
		if err := s.pool.Index.Give(t.Shape, t.Place); err != nil {
			return err
		}
	}
	return s.pool.Tree.Release(int(u.Leaf), u.Charge, u.NonPreemptible)
}

// moves places and charges a unit that consolidation would move, in the
// journals only, and returns the GPUs that move.
func (s reprieving) moves(u *preempt.Unit, anew bool) (int64, bool) {
	if again := s.seatsAgain(u); again != nil { // it has been placed with what it builds on
		return s.movedGPUs(u, again), true
	}
	before := s.trial
	s.trial = true
	defer func() { s.trial = before }()
	units := s.movingWith(u)
	o := together(units)
	_, ok := s.pool.Tree.Check(int(u.Leaf), o.Unit.Charge, u.NonPreemptible)
	seats := slices.Clone(o.Seats)
	if !ok || s.broken(&o) || !s.takeNew(&o, seats, anew) ||
		s.pool.Tree.Charge(int(u.Leaf), s.chargeAt(o.Unit, seats), u.NonPreemptible) != nil {
		return 0, false
	}
	for i := range units {
		own, _ := cluster.PartSeats(seats, units[i].Unit.Step)
		s.seated = append(s.seated, seatedUnit{units[i].Unit, own})
	}
	return s.movedGPUs(u, s.seatsAgain(u)), true
}

// seatsAgain are the seats that a unit has in the journals, nil if it has none there.
func (s reprieving) seatsAgain(u *preempt.Unit) []cluster.Seat {
	for i := range s.seated {
		if s.seated[i].unit == u {
			return s.seated[i].seats
		}
	}
	return nil
}

// movedGPUs are what moves of a unit that has these seats instead of those in the table.
func (s reprieving) movedGPUs(u *preempt.Unit, seats []cluster.Seat) (moved int64) {
	k := &s.world.Works[u.Work]
	d := s.world.Definition(k, k.Current)
	old, _ := cluster.PartSeats(s.world.Room.Seats[u.Work], u.Step)
	for at := range seats {
		if seats[at].Where() != old[at].Where() {
			moved += d.Sets[seats[at].Set].Charge.Of(0)
		}
	}
	return moved
}

// chargeAt is what the unit is charged on these seats.
func (s reprieving) chargeAt(u *preempt.Unit, seats []cluster.Seat) quota.Amounts {
	if !s.pool.Classed() {
		return u.Charge
	}
	k := &s.world.Works[u.Work]
	d := s.world.Definition(k, k.Current)
	charge := quota.Amounts(nil)
	for at := range seats {
		one := s.pool.ChargeOf(&d.Sets[seats[at].Set], &s.world.Nodes[seats[at].Node], seats[at].Devices)
		if sum, err := charge.AddScaled(one, 1); err == nil { // Check bounds every sum
			charge = sum
		}
	}
	if u.Step == 0 && s.pool.Counted {
		charge = append(charge, quota.Amount{Resource: int32(s.pool.Width - 1), Value: 1})
	}
	return charge
}

// keepSome keeps every task at its old place that it may, and finds one for
// each of the others.
func (s reprieving) keepSome(o *cluster.OutUnit, seats []cluster.Seat, d *cluster.Definition) bool {
	switch classed := s.pool.Classed(); {
	case d.Gang.Constrained():
		return !classed && s.keepSomeWithin(o, seats, d)
	case classed:
		return s.keepSomeByClass(o, seats, d)
	}
	p := s.pool
	var homeless []int
	for at, t := range o.Unit.Tasks {
		if retake(s.Solver, t.Shape, t.Place, &seats[at]) {
			continue
		}
		homeless = append(homeless, at)
	}
	for _, at := range homeless {
		shape := &d.Sets[seats[at].Set]
		strategy := d.Place.CPUOnly
		if shape.GPUs > 0 {
			strategy = d.Place.GPU
		}
		place, ok := s.nodes().Find(shape.Placed, strategy)
		if !ok || p.Index.Take(shape.Placed, place) != nil {
			return false
		}
		seats[at].Sit(p.Nodes, place)
	}
	return true
}

// seatAgain gives the unit its seats, charges it, and says that it runs.
func (s reprieving) seatAgain(o *cluster.OutUnit, seats []cluster.Seat) error {
	w, p := s.world, s.pool
	i := o.Unit.Work
	k := &w.Works[i]
	cluster.NoteAtOnce(w, i, seats)
	w.Booking().Reprieve(i, seats)
	w.Room.Redivide = w.Room.Redivide || k.Status == cluster.Failed || division.Of(w).AsksBecause(k)
	if o.Unit.Step == 0 || o.Status == cluster.Claiming {
		k.Status = o.Status
		if k.Status == cluster.Claiming && w.Live[k.Live].Claimed == 0 {
			k.Status = cluster.Complete // its claims have become a start elsewhere
		}
	}
	reenter(w, i)
	if o.Unit.Step == 0 { // it may have been promised something while it was out
		s.promising().fulfil(i)
	}
	// Which unit its tasks are in now may depend on what has not come back yet.
	if err := p.Tree.Charge(int(o.Unit.Leaf), s.chargeAt(o.Unit, seats), o.Unit.NonPreemptible); err != nil {
		return err
	}
	p.Changes++
	s.requeue(i)
	s.main.Touch(int(o.Unit.Leaf))
	if s.apart != nil {
		s.apart.Touch(int(o.Unit.Leaf))
	}
	return nil
}

// reenter follows a transition of a workload's rows: whether it claims what others are
// leaving, and its units.
func reenter(w *cluster.World, i int32) {
	k := &w.Works[i]
	k.Pipelined = slices.ContainsFunc(w.Room.Seats[i], func(one cluster.Seat) bool { return one.Waits() })
	w.Booking().ForgetGrowth(i)
	w.Booking().Retell(i)
}
