package engine

import (
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/division"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/quota"
)

// In which places what is put back stands: where it ran, where it was placed, or anew.

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
		if place != was && (s.pool.Index.Give(shape, was) != nil || !takeIfFree(s.pool.Index, shape, place)) {
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
	defer s.tries()()
	units := s.movingWith(u)
	o := together(units)
	_, ok := s.pool.Tree.Check(int(u.Leaf), o.Unit.Charge, u.NonPreemptible)
	seats := slices.Clone(o.Seats)
	if !ok || s.broken(&o) || !s.takeNew(&o, seats, anew) || closesCircle(s.Solver, &o, seats) ||
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
		place, ok := s.nodes().Find(shape.Placed, d.StrategyFor(shape))
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
	s.touch(int(o.Unit.Leaf))
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
