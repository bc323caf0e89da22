package engine

import (
	"errors"
	"slices"

	"github.com/allotsched/allot/gang"
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
	if len(w.Room.out) == 0 {
		return w.redivide(s.decision)
	}
	own, others := make([]outUnit, 0, len(w.Room.out)), make([]outUnit, 0, len(w.Room.out))
	for _, o := range w.Room.out {
		if o.pool == s.index {
			own = append(own, o)
		} else {
			others = append(others, o)
		}
	}
	preempt.SortToReprieve(own, outUnit.standing)
	for i := range own {
		if w.startedAnew(&own[i]) {
			continue
		}
		back, err := s.putBack(&own[i], oldPlace)
		if !back && err == nil && !own[i].tried.stands(s.pool) {
			back, err = freeStarts(s).comeBack(&own[i])
		}
		if !back && err == nil && s.enoughFree(own[i].unit) {
			back, err = s.putBack(&own[i], newPlace)
		}
		if err != nil {
			return err
		}
		if partly, some := own[i].asItRan(s.Solver); some && !back && err == nil {
			back, err = s.putBack(&partly, oldPlace)
		}
		if err != nil {
			return err
		}
		if back {
			s.decision.changed = true
		} else {
			own[i].tried = s.pool.untilChanged()
			others = append(others, own[i])
		}
	}
	w.Room.out = others
	return w.redivide(s.decision)
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
// grown from between two rungs (L1): that start has cost nothing, and what ran comes back without it.
func (o *outUnit) asItRan(s *Solver) (outUnit, bool) {
	ran := 0 // of its seats
	for at := range o.seats {
		if one := &o.seats[at]; one.origin >= 0 {
			if ran++; !s.world.booking().ran(one) {
				return outUnit{}, false
			}
		}
	}
	if len(o.unit.Tasks) != len(o.seats) || o.status != complete || ran == 0 || ran == len(o.seats) {
		return outUnit{}, false
	}
	part, u := *o, *o.unit
	part.unit, part.seats = &u, nil
	if u.Step == 0 {
		part.status = waiting
	}
	u.Tasks, u.Charge = nil, nil
	for at := range o.seats {
		if o.seats[at].origin >= 0 {
			part.seats, u.Tasks = append(part.seats, o.seats[at]), append(u.Tasks, o.unit.Tasks[at])
			u.Charge = plus(u.Charge, o.unit.Tasks[at].Charge, len(u.Tasks))
		}
	}
	if s.pool.Counted && u.Step == 0 {
		u.Charge = append(slices.Clip(u.Charge), quota.Amount{Resource: int32(s.pool.Width - 1), Value: 1})
	}
	return part, true
}

// startedAnew says whether the workload has started again since, so that
// the unit is no longer what waits.
func (w *World) startedAnew(o *outUnit) bool {
	if o.unit.Step == 0 {
		return len(w.Room.Seats[o.unit.Work]) > 0
	}
	for _, old := range o.seats { // another task of that index runs: it has grown again
		for _, now := range w.Room.Seats[o.unit.Work] {
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
func (s reprieving) putBack(o *outUnit, where seating) (back bool, err error) {
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
func (s reprieving) seatUnit(o *outUnit, where seating) (back bool, err error) {
	w, p := s.world, s.pool
	i := o.unit.Work
	k := &w.Works[i]
	if !o.basisStands(s.Solver) {
		return false, nil
	}
	if tried := k.Current; tried != o.form { // it has tried others since (G5)
		k.Current = o.form
		defer func() {
			if !back {
				k.Current = tried
			}
		}()
	}
	if _, ok := p.Tree.Check(int(o.unit.Leaf), o.unit.Charge, o.unit.NonPreemptible); !ok {
		return false, nil
	}
	if where&oldPlace != 0 && !s.strays(o) && s.takeOld(o, o.seats) {
		return true, s.seatAgain(o, slices.Clone(o.seats))
	}
	if where&(newPlace|placedAnew) == 0 || k.Status == Failed || o.unit.Rooted || s.broken(o) {
		return false, nil
	}
	seats := slices.Clone(o.seats)
	if !s.takeNew(o, seats, where&placedAnew != 0) {
		return false, nil
	}
	w.booking().elsewhere(i, o.seats, seats, where&stillBegun != 0)
	return true, s.seatAgain(o, seats)
}

// broken says whether the unit is what is left of a gang (G1), or of a step between two
// rungs (L1): that has no use in another place.
func (s reprieving) broken(o *outUnit) bool {
	d := s.world.Definition(&s.world.Works[o.unit.Work], s.world.Works[o.unit.Work].Current)
	if o.unit.Step == 0 {
		return !d.Gang.AtMinimum(s.countsOf(o, d))
	}
	held := int32(len(o.seats))
	for _, one := range s.world.Room.Seats[o.unit.Work] {
		if one.step < o.unit.Step {
			held++
		}
	}
	return len(d.Ladder) > 0 && !slices.Contains(d.Ladder, held)
}

// basisStands says whether a unit above the minimum can be put back: the workload holds
// what it builds on, in the same form.
func (o *outUnit) basisStands(s *Solver) bool {
	k := &s.world.Works[o.unit.Work]
	held := k.Status == complete || k.Status == claiming || k.Status == leaving
	return o.unit.Step == 0 || held && k.Current == o.form && s.reprieving().stepsBelow(o)
}

// stepsBelow says whether everything below the step of the unit runs.
func (s reprieving) stepsBelow(o *outUnit) bool {
	steps := int32(0)
	for _, seat := range s.world.Room.Seats[o.unit.Work] {
		steps = max(steps, seat.step+1)
	}
	return steps >= o.unit.Step
}

// takeOld takes the unit's old places, in which its tasks have these seats, if all of them are
// free, and what is promised of them is as free then as it was.
func (s reprieving) takeOld(o *outUnit, seats []Seat) bool {
	if !s.trial && !s.promises.making && s.promising().layAgain() != nil {
		return false
	}
	m := s.pool.Index.Mark()
	for at, t := range o.unit.Tasks {
		if !retake(s.Solver, t.Shape, t.Place, &seats[at]) {
			s.pool.Index.Undo(m)
			return false
		}
	}
	if !s.promising().sparing().mayComeHome(o.unit, seats) {
		s.pool.Index.Undo(m)
		return false
	}
	s.pool.Index.Commit(m)
	return true
}

// takeNew takes other places for the unit and writes them into the seats: places that
// are free at once, else, where the start at hand may claim, those that others are
// leaving too (S4).
func (s reprieving) takeNew(o *outUnit, seats []Seat, anew bool) bool {
	if !s.claims {
		return takeOthers(s.Solver, o, seats, anew)
	}
	s.claims = false
	atOnce := takeOthers(s.Solver, o, seats, anew)
	s.claims = true
	if atOnce {
		return true
	}
	copy(seats, o.seats)
	return takeOthers(s.Solver, o, seats, anew)
}

// takeOthers takes other places for the unit in what is free for the start at hand.
// Tasks whose old place is free stay there, unless anew, if the others find one.
func takeOthers(s *Solver, o *outUnit, seats []Seat, anew bool) bool {
	x, d := s.pool.Index, s.reprieving().groundOf(o)
	if s.reprieving().movesApart(o, d) {
		return false
	}
	if !s.trial && !s.promises.making && s.promising().layAgain() != nil {
		return false
	}
	m := x.Mark()
	keeps := !anew && len(o.unit.Tasks) > 1 && s.pool.Policy.Fitting == gang.AnyNodes
	found := keeps && s.reprieving().keepSome(o, seats, d) && s.promising().sparing().leavesAlone(o, seats, d) && s.reprieving().asSafe(o, seats)
	if found && !d.Gang.Sliced() {
		stayWhereTheyCan(o.seats, seats) // alike tasks may have found each other's places
	} else if !found {
		x.Undo(m)
		copy(seats, o.seats)
		m = x.Mark()
		found = o.takeAnew(s, seats, d) && s.reprieving().asSafe(o, seats)
	}
	if !found || s.claims && !o.moveTogether(s, seats, d) {
		x.Undo(m)
		return false
	}
	x.Commit(m)
	return true
}

// groundOf is the definition by which a unit is put elsewhere: who moves for somebody does not
// come to stand on what is lent, from which it would have to go again (B9).
func (s reprieving) groundOf(o *outUnit) *Definition {
	form := s.world.Works[o.unit.Work].Current
	if o.asked {
		return s.safeGround(o, s.preempting().ownGround(o.unit.Work, form))
	}
	return s.world.Definition(&s.world.Works[o.unit.Work], form)
}

// takeAnew takes places for all tasks of the unit and writes them into the seats.
func (o *outUnit) takeAnew(s *Solver, seats []Seat, d *Definition) bool {
	p := s.pool
	if !s.reprieving().placeAnew(o) {
		return false
	}
	for at := range seats { // both are by pod set
		seats[at].sit(p.Nodes, s.places[at])
	}
	if !d.Gang.Sliced() { // there every index has its domain (T3)
		stayWhereTheyCan(o.seats, seats)
	}
	return true
}

// moveTogether has all tasks of the unit that start or move claim their places where
// one of them does, and those that stay run where they ran (S4).
func (o *outUnit) moveTogether(s *Solver, seats []Seat, d *Definition) bool {
	moves := func(at int) bool {
		return seats[at].origin < 0 || seats[at].Node != o.seats[at].Node || seats[at].Devices != o.seats[at].Devices
	}
	waits := false
	for at := range seats {
		waits = waits || moves(at) && seats[at].pipelined
	}
	for at := range seats {
		one, was := &seats[at], seats[at].place(s.world)
		if one.pipelined = waits; !moves(at) {
			one.pipelined = o.seats[at].pipelined
		}
		shape, place := d.Sets[one.Set].Placed, one.place(s.world)
		if place != was && (s.pool.Index.Give(shape, was) != nil || !s.pool.Index.Fits(shape, place) || s.pool.Index.Take(shape, place) != nil) {
			return false
		}
	}
	return true
}

// stayWhereTheyCan swaps new places between the tasks of a pod set, so that a task
// does not move whose old place is among them. O(n²) for n tasks.
func stayWhereTheyCan(old, seats []Seat) {
	for at := range seats {
		same := slices.IndexFunc(seats, func(other Seat) bool {
			return other.Set == old[at].Set && other.Node == old[at].Node && other.Devices == old[at].Devices
		})
		if same >= 0 {
			seats[at].exchange(&seats[same])
		}
	}
}

// countsOf is how many seats of each pod set a unit has, until it is called again.
func (s reprieving) countsOf(o *outUnit, d *Definition) []int32 {
	s.counted = append(s.counted[:0], make([]int32, len(d.Sets))...)
	for at := range o.seats {
		s.counted[o.seats[at].Set]++
	}
	return s.counted
}

// placeAnew takes places for a unit that was taken, where the quotas and limits
// per class admit it (Q8).
func (s reprieving) placeAnew(o *outUnit) bool {
	k := &s.world.Works[o.unit.Work]
	f, d := s.world.FormOf(k, k.Current), s.groundOf(o)
	unit := gang.Unit{Add: s.countsOf(o, d)}
	asks, err := s.unitAsks(d, unit, o.unit.Step == 0)
	if err != nil {
		return false
	}
	_, found, err := s.placeUnit(s.reachesStill(o), f, d, unit, s.besideUnit(o, d), slices.Clone(asks))
	return found && err == nil
}

// stays starts and charges a unit that consolidation has taken where it was, with these seats,
// in the journals only.
func (s reprieving) stays(u *preempt.Unit, seats []Seat) bool {
	k := &s.world.Works[u.Work]
	o := &outUnit{unit: u}
	_, ok := s.pool.Tree.Check(int(u.Leaf), u.Charge, u.NonPreemptible)
	return ok && !s.movesApart(o, s.world.Definition(k, k.Current)) && s.takeOld(o, seats) && s.pool.Tree.Charge(int(u.Leaf), u.Charge, u.NonPreemptible) == nil
}

// leaves takes back what stays has done.
func (s reprieving) leaves(u *preempt.Unit) error {
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
	before := s.trial
	s.trial = true
	defer func() { s.trial = before }()
	o := &outUnit{unit: u, asked: true}
	o.seats, _ = partSeats(s.world.Room.Seats[u.Work], u.Step)
	_, ok := s.pool.Tree.Check(int(u.Leaf), u.Charge, u.NonPreemptible)
	seats := slices.Clone(o.seats)
	if !ok || s.broken(o) || !s.takeNew(o, seats, anew) ||
		s.pool.Tree.Charge(int(u.Leaf), s.chargeAt(u, seats), u.NonPreemptible) != nil {
		return 0, false
	}
	k := &s.world.Works[u.Work]
	d, moved := s.world.Definition(k, k.Current), int64(0)
	for at := range seats {
		if seats[at].Node != o.seats[at].Node || seats[at].Devices != o.seats[at].Devices {
			moved += d.Sets[seats[at].Set].Charge.Of(0)
		}
	}
	return moved, true
}

// chargeAt is what the unit is charged on these seats.
func (s reprieving) chargeAt(u *preempt.Unit, seats []Seat) quota.Amounts {
	if !s.pool.Classed() {
		return u.Charge
	}
	k := &s.world.Works[u.Work]
	d := s.world.Definition(k, k.Current)
	charge := quota.Amounts(nil)
	for at := range seats {
		one := s.pool.chargeOf(&d.Sets[seats[at].Set], &s.world.Nodes[seats[at].Node], seats[at].Devices)
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
func (s reprieving) keepSome(o *outUnit, seats []Seat, d *Definition) bool {
	switch classed := s.pool.Classed(); {
	case d.Gang.Constrained():
		return !classed && s.keepSomeWithin(o, seats, d)
	case classed:
		return s.keepSomeByClass(o, seats, d)
	}
	p := s.pool
	var homeless []int
	for at, t := range o.unit.Tasks {
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
		seats[at].sit(p.Nodes, place)
	}
	return true
}

// seatAgain gives the unit its seats, charges it, and says that it runs.
func (s reprieving) seatAgain(o *outUnit, seats []Seat) error {
	w, p := s.world, s.pool
	i := o.unit.Work
	k := &w.Works[i]
	noteAtOnce(w, i, seats)
	w.booking().reprieve(i, seats)
	w.Room.redivide = w.Room.redivide || k.Status == Failed || w.dividing().asksBecause(k)
	if o.unit.Step == 0 || o.status == claiming {
		k.Status = o.status
		if k.Status == claiming && w.live[k.Live].claimed == 0 {
			k.Status = complete // its claims have become a start elsewhere
		}
	}
	w.reenter(i)
	if o.unit.Step == 0 { // it may have been promised something while it was out
		s.promising().fulfil(i)
	}
	// Which unit its tasks are in now may depend on what has not come back yet.
	if err := p.Tree.Charge(int(o.unit.Leaf), s.chargeAt(o.unit, seats), o.unit.NonPreemptible); err != nil {
		return err
	}
	p.changes++
	s.requeue(i)
	s.main.Touch(int(o.unit.Leaf))
	if s.apart != nil {
		s.apart.Touch(int(o.unit.Leaf))
	}
	return nil
}

// reenter follows a transition of a workload's rows: whether it claims what others are
// leaving, and its units.
func (w *World) reenter(i int32) {
	k := &w.Works[i]
	k.pipelined = slices.ContainsFunc(w.Room.Seats[i], func(one Seat) bool { return one.waits() })
	w.booking().retell(i)
}
