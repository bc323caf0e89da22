package allot

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
func (s *solver) putBackAll() error {
	w := s.world
	if w.room == nil {
		return nil
	}
	var own, others []outUnit
	for _, o := range w.room.out {
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
		if !back && err == nil && own[i].tried != s.pool.changes+1 {
			back, err = freeStarts{s}.comeBack(&own[i])
		}
		if !back && err == nil {
			back, err = s.putBack(&own[i], newPlace)
		}
		if err != nil {
			return err
		}
		if partly, some := own[i].asItRan(s); some && !back && err == nil {
			back, err = s.putBack(&partly, oldPlace)
		}
		if err != nil {
			return err
		}
		if back {
			s.decision.changed = true
		} else {
			own[i].tried = s.pool.changes + 1
			others = append(others, own[i])
		}
	}
	w.room.out = others
	return w.redivide(s.decision)
}

// asItRan is the part of a unit that ran, where this solve had completed it (G1): its start
// has cost nothing, and what ran comes back without it.
func (o *outUnit) asItRan(s *solver) (outUnit, bool) {
	part, u := *o, *o.unit
	if len(o.unit.Tasks) != len(o.seats) {
		return outUnit{}, false
	}
	part.unit, part.seats, part.status = &u, nil, waiting
	u.Tasks, u.Charge = nil, nil
	for at := range o.seats {
		if o.seats[at].origin < 0 {
			continue
		}
		part.seats, u.Tasks = append(part.seats, o.seats[at]), append(u.Tasks, o.unit.Tasks[at])
		u.Charge = plus(u.Charge, o.unit.Tasks[at].Charge, len(u.Tasks))
	}
	if u.Step > 0 || o.status != complete || len(part.seats) == 0 || len(part.seats) == len(o.seats) ||
		slices.ContainsFunc(part.seats, func(one seat) bool { return !s.world.ran(&one) }) {
		return outUnit{}, false
	}
	if s.pool.counted {
		u.Charge = append(slices.Clip(u.Charge), quota.Amount{Resource: int32(len(s.pool.resources) - 1), Value: 1})
	}
	return part, true
}

// startedAnew says whether the workload has started again since, so that
// the unit is no longer what waits.
func (w *world) startedAnew(o *outUnit) bool {
	if o.unit.Step == 0 {
		return len(w.room.seats[o.unit.Work]) > 0
	}
	for _, old := range o.seats { // another task of that index runs: it has grown again
		for _, now := range w.room.seats[o.unit.Work] {
			if now.set == old.set && now.index == old.index {
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

// putBack puts a unit back, at its old place if it may be; it reports whether
// there was a place.
func (s *solver) putBack(o *outUnit, where seating) (back bool, err error) {
	w, p := s.world, s.pool
	i := o.unit.Work
	k := &w.works[i]
	if !o.basisStands(s) {
		return false, nil
	}
	if tried := k.current; tried != o.form { // it has tried others since (G5)
		k.current = o.form
		defer func() {
			if !back {
				k.current = tried
			}
		}()
	}
	if _, ok := p.tree.Check(int(o.unit.Leaf), o.unit.Charge, o.unit.NonPreemptible); !ok {
		return false, nil
	}
	seats := slices.Clone(o.seats)
	switch {
	case where&oldPlace != 0 && !s.strays(o) && s.takeOld(o):
	case where&(newPlace|placedAnew) == 0 || k.status == failed || o.unit.Rooted || s.broken(o) || !s.takeNew(o, seats, where&placedAnew != 0):
		return false, nil
	default:
		w.elsewhere(i, o.seats, seats, where&stillBegun != 0)
	}
	return true, s.seatAgain(o, seats)
}

// elsewhere notes that seats are at new places: what ran moves, what has only
// been claimed starts there instead. Those that stayed are as they were. What had its
// places without a break, as what moves beside others has, stays the start that it was.
func (w *world) elsewhere(i int32, old, seats []seat, stillBegun bool) {
	w.room.commits = append(w.room.commits, commit{work: i, form: w.works[i].current, kind: Move})
	for at := range seats {
		s := &seats[at]
		if s.origin >= 0 && s.node == old[at].node && s.devices == old[at].devices {
			continue // what starts in this solve starts together
		}
		if stillBegun && s.origin < 0 && s.commit >= 0 && !s.claimed {
			continue
		}
		if s.claimed {
			s.origin, s.claimed = -1, false
		}
		s.commit = int32(len(w.room.commits) - 1)
		if s.origin >= 0 && w.holdings[s.origin].node == s.node && w.holdings[s.origin].devices == s.devices {
			s.commit = -1 // back where it was
		}
	}
}

// broken says whether the unit is what is left of a gang (G1), or of a step between two
// rungs (L1): that has no use in another place.
func (s *solver) broken(o *outUnit) bool {
	d := s.world.definition(&s.world.works[o.unit.Work], s.world.works[o.unit.Work].current)
	if o.unit.Step == 0 {
		return !d.gang.AtMinimum(s.countsOf(o, d))
	}
	held := int32(len(o.seats))
	for _, one := range s.world.room.seats[o.unit.Work] {
		if one.step < o.unit.Step {
			held++
		}
	}
	return len(d.ladder) > 0 && !slices.Contains(d.ladder, held)
}

// basisStands says whether a unit above the minimum can be put back: the workload holds
// what it builds on, in the same form.
func (o *outUnit) basisStands(s *solver) bool {
	k := &s.world.works[o.unit.Work]
	held := k.status == complete || k.status == claiming || k.status == leaving
	return o.unit.Step == 0 || held && k.current == o.form && s.stepsBelow(o)
}

// stepsBelow says whether everything below the step of the unit runs.
func (s *solver) stepsBelow(o *outUnit) bool {
	steps := int32(0)
	for _, seat := range s.world.room.seats[o.unit.Work] {
		steps = max(steps, seat.step+1)
	}
	return steps >= o.unit.Step
}

// takeOld takes the unit's old places if all of them are free.
func (s *solver) takeOld(o *outUnit) bool {
	m := s.pool.index.Mark()
	for _, t := range o.unit.Tasks {
		if !s.pool.index.Fits(t.Shape, t.Place) || s.pool.index.Take(t.Shape, t.Place) != nil {
			s.pool.index.Undo(m)
			return false
		}
	}
	s.pool.index.Commit(m)
	return true
}

// takeNew takes other places for the unit and writes them into the seats. Tasks
// whose old place is free stay there, unless anew, if the others find one.
func (s *solver) takeNew(o *outUnit, seats []seat, anew bool) bool {
	x, d := s.pool.index, s.world.definition(&s.world.works[o.unit.Work], s.world.works[o.unit.Work].current)
	if s.movesApart(o, d) {
		return false
	}
	m := x.Mark()
	keeps := !anew && len(o.unit.Tasks) > 1 && !s.pool.classed() && s.pool.policy.Fitting == gang.AnyNodes
	found := keeps && s.keepSome(o, seats, d)
	if !found {
		x.Undo(m)
		copy(seats, o.seats)
		m = x.Mark()
		found = o.takeAnew(s, seats, d)
	}
	if !found || s.claims && !o.moveTogether(s, seats, d) {
		x.Undo(m)
		return false
	}
	x.Commit(m)
	return true
}

// takeAnew takes places for all tasks of the unit and writes them into the seats.
func (o *outUnit) takeAnew(s *solver, seats []seat, d *definition) bool {
	p := s.pool
	if !s.placeAnew(o) {
		return false
	}
	for at := range seats { // both are by pod set
		seats[at].sit(p.nodes, s.places[at])
	}
	if !d.gang.Sliced() { // there every index has its domain (T3)
		stayWhereTheyCan(o.seats, seats)
	}
	return true
}

// moveTogether has all tasks of the unit that start or move claim their places where
// one of them does, and those that stay run where they ran (S4).
func (o *outUnit) moveTogether(s *solver, seats []seat, d *definition) bool {
	moves := func(at int) bool {
		return seats[at].origin < 0 || seats[at].node != o.seats[at].node || seats[at].devices != o.seats[at].devices
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
		shape, place := d.sets[one.set].placed, one.place(s.world)
		if place != was && (s.pool.index.Give(shape, was) != nil || !s.pool.index.Fits(shape, place) || s.pool.index.Take(shape, place) != nil) {
			return false
		}
	}
	return true
}

// stayWhereTheyCan swaps new places between the tasks of a pod set, so that a task
// does not move whose old place is among them. O(n²) for n tasks.
func stayWhereTheyCan(old, seats []seat) {
	for at := range seats {
		same := slices.IndexFunc(seats, func(other seat) bool {
			return other.set == old[at].set && other.node == old[at].node && other.devices == old[at].devices
		})
		if same >= 0 {
			a, b := &seats[at], &seats[same]
			a.node, a.devices, a.pipelined, b.node, b.devices, b.pipelined =
				b.node, b.devices, b.pipelined, a.node, a.devices, a.pipelined
		}
	}
}

// countsOf is how many seats of each pod set a unit has, until it is called again.
func (s *solver) countsOf(o *outUnit, d *definition) []int32 {
	s.counted = append(s.counted[:0], make([]int32, len(d.sets))...)
	for at := range o.seats {
		s.counted[o.seats[at].set]++
	}
	return s.counted
}

// placeAnew takes places for a unit that was taken, where the quotas and limits
// per class admit it (Q8).
func (s *solver) placeAnew(o *outUnit) bool {
	k := &s.world.works[o.unit.Work]
	f, d := s.world.formOf(k, k.current), s.world.definition(k, k.current)
	unit := gang.Unit{Add: s.countsOf(o, d)}
	asks, err := s.unitAsks(d, unit, o.unit.Step == 0)
	if err != nil {
		return false
	}
	_, found, err := s.placeUnit(f, d, unit, s.besideUnit(o, d), slices.Clone(asks))
	return found && err == nil
}

// stays starts and charges a unit that consolidation has taken where it was, in
// the journals only.
func (s *solver) stays(u *preempt.Unit) bool {
	k := &s.world.works[u.Work]
	o := &outUnit{unit: u}
	_, ok := s.pool.tree.Check(int(u.Leaf), u.Charge, u.NonPreemptible)
	return ok && !s.movesApart(o, s.world.definition(k, k.current)) && s.takeOld(o) && s.pool.tree.Charge(int(u.Leaf), u.Charge, u.NonPreemptible) == nil
}

// moves places and charges a unit that consolidation would move, in the
// journals only, and returns the GPUs that move.
func (s *solver) moves(u *preempt.Unit, anew bool) (int64, bool) {
	before := s.trial
	s.trial = true
	defer func() { s.trial = before }()
	o := &outUnit{unit: u}
	o.seats, _ = partSeats(s.world.room.seats[u.Work], u.Step)
	_, ok := s.pool.tree.Check(int(u.Leaf), u.Charge, u.NonPreemptible)
	seats := slices.Clone(o.seats)
	if !ok || s.broken(o) || !s.takeNew(o, seats, anew) ||
		s.pool.tree.Charge(int(u.Leaf), s.chargeAt(u, seats), u.NonPreemptible) != nil {
		return 0, false
	}
	k := &s.world.works[u.Work]
	d, moved := s.world.definition(k, k.current), int64(0)
	for at := range seats {
		if seats[at].node != o.seats[at].node || seats[at].devices != o.seats[at].devices {
			moved += d.sets[seats[at].set].charge.Of(0)
		}
	}
	return moved, true
}

// chargeAt is what the unit is charged on these seats.
func (s *solver) chargeAt(u *preempt.Unit, seats []seat) quota.Amounts {
	if !s.pool.classed() {
		return u.Charge
	}
	k := &s.world.works[u.Work]
	d := s.world.definition(k, k.current)
	charge := quota.Amounts(nil)
	for at := range seats {
		one := s.pool.chargeOf(&d.sets[seats[at].set], &s.world.state.Nodes[seats[at].node], seats[at].devices)
		if sum, err := charge.AddScaled(one, 1); err == nil { // Check bounds every sum
			charge = sum
		}
	}
	if u.Step == 0 && s.pool.counted {
		charge = append(charge, quota.Amount{Resource: int32(len(s.pool.resources) - 1), Value: 1})
	}
	return charge
}

// keepSome keeps every task at its old place that it may, and finds one for
// each of the others.
func (s *solver) keepSome(o *outUnit, seats []seat, d *definition) bool {
	if d.gang.Constrained() {
		return s.keepSomeWithin(o, seats, d)
	}
	p := s.pool
	var homeless []int
	for at, t := range o.unit.Tasks {
		if p.index.Fits(t.Shape, t.Place) && p.index.Take(t.Shape, t.Place) == nil {
			continue
		}
		homeless = append(homeless, at)
	}
	for _, at := range homeless {
		shape := &d.sets[seats[at].set]
		strategy := d.place.CPUOnly
		if shape.gpus > 0 {
			strategy = d.place.GPU
		}
		place, ok := s.nodes().Find(shape.placed, strategy)
		if !ok || p.index.Take(shape.placed, place) != nil {
			return false
		}
		seats[at].sit(p.nodes, place)
	}
	return true
}

// sit gives a seat a place.
func (s *seat) sit(nodes []int32, at placement.Place) {
	s.node, s.devices, s.pipelined = nodes[at.Node], at.Devices, at.Pipelined
}

// seatAgain gives the unit its seats, charges it, and says that it runs.
func (s *solver) seatAgain(o *outUnit, seats []seat) error {
	w, p := s.world, s.pool
	i := o.unit.Work
	k := &w.works[i]
	w.room.seats[i] = append(w.room.seats[i], seats...)
	if k.live >= 0 {
		l := &w.live[k.live]
		for _, seat := range seats {
			l.held[seat.set]++
			if seat.claimed {
				l.claimed++
			}
		}
	}
	if k.status == failed {
		w.room.redivide = true
	}
	if o.unit.Step == 0 || o.status == claiming {
		k.status = o.status
		if k.status == claiming && w.live[k.live].claimed == 0 {
			k.status = complete // its claims have become a start elsewhere
		}
	}
	w.reenter(i)
	charge := quota.Amounts(nil)
	for _, id := range p.room.Of(i) {
		if u := p.room.Unit(id); u.Step == o.unit.Step {
			charge = u.Charge
		}
	}
	if err := p.tree.Charge(int(o.unit.Leaf), charge, o.unit.NonPreemptible); err != nil {
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

// reenter tells the room of a workload's units anew.
func (w *world) reenter(i int32) {
	k := &w.works[i]
	room := w.pools[w.formOf(k, k.current).pool].room
	for _, id := range slices.Clone(room.Of(i)) {
		room.Forget(id)
	}
	k.pipelined = slices.ContainsFunc(w.room.seats[i], func(one seat) bool { return one.waits() })
	w.step(i)
	w.enter(i, 0)
}
