package engine

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// carryOut takes the victims and what moves, starts the beneficiary, and puts what
// moves elsewhere (C1, M10).
func (s *Solver) carryOut(k *Work, it queue.Item, at int16, b *preempt.Preemptor, proposal *preempt.Proposal) error {
	w, p := s.world, s.pool
	defer p.effort().Answered(p.effort().Again(proposal.Bound))
	first, moves := len(w.Room.out), false
	w.Traced.note(s, b, proposal)
	freed := quota.Amounts(nil)
	var victims []int32
	for _, c := range proposal.Justifications {
		u, code := p.Room.Unit(c.Victim), codeOf(c.Mode)
		if c.Moves {
			if code = Consolidated; !moves { // all that follow do
				first, moves = len(w.Room.out), true
			}
		}
		var err error
		if freed, err = freed.AddScaled(u.Charge, 1); err != nil {
			return err
		}
		of := &w.Works[u.Work]
		victims = append(victims, u.Work)
		if of.Status != complete || w.Definition(of, of.Current).Elastic { // it wanted more
			s.unqueue(u.Work)
		}
		if err := s.take(c, it.ID, code); err != nil {
			return err
		}
	}
	if started, err := s.begun(k, it, at, b); err != nil || !started {
		return cmp.Or(err, errUnsound)
	}
	if moves {
		if err := s.moveAll(first, proposal); err != nil {
			return err
		}
	}
	slices.Sort(victims)
	for _, victim := range slices.Compact(victims) {
		if moves { // it may stand in an order again
			s.unqueue(victim)
		}
		s.queueAgain(victim)
	}
	for _, a := range freed { // what is left over may serve who was refused before
		if a.Value > b.Asks.Of(a.Resource) && int(a.Resource) < p.Plain {
			s.leftover = true
		}
	}
	return w.redivide(s.decision)
}

func codeOf(mode preempt.Mode) Code {
	switch mode {
	case preempt.ReclaimByQuota:
		return ReclaimedByQuota
	case preempt.ReclaimByShare:
		return ReclaimedByShare
	case preempt.Preempt:
		return Preempted
	case preempt.Due:
		return Behind
	}
	return Consolidated
}

// begun starts the unit for which there is room now.
func (s *Solver) begun(k *Work, it queue.Item, at int16, b *preempt.Preemptor) (bool, error) {
	f, d := s.world.FormOf(k, at), s.preempting().ownGround(b.Work, at)
	if _, ok := s.pool.Tree.Check(int(f.Queue), b.Asks, f.NonPreemptible); !ok {
		return false, nil
	}
	charge, found, err := s.placeUnit(s.reaches(b.Work, d), f, d, b.Add, s.reprieving().beside(b.Work, d, b.Add), b.Asks)
	if found && err == nil {
		found, err = runsOnAtHome(s, k, d, b.Add)
	}
	if !found || err != nil {
		return false, err
	}
	it.Form = at
	return true, s.commit(k, it, f, b.Add, charge)
}

// take takes one unit for a beneficiary, or for nobody (−1).
func (s *Solver) take(c preempt.Justification, beneficiary int32, code Code) error {
	w, p, book := s.world, s.pool, s.world.Room
	u := p.Room.Unit(c.Victim)
	w.journal.keep(w, u.Work)
	k := &w.Works[u.Work]
	out := outUnit{pool: s.index, unit: u, status: k.Status, form: k.Current}
	if err := p.Room.Take(c.Victim); err != nil {
		return err
	}
	out.seats = w.booking().release(u.Work, u.Step)
	book.out = appendMany(book.out, out)
	book.tookOf(taking{unit: u, beneficiary: beneficiary, code: code, pool: s.index, is: c, commit: int32(len(book.commits)), seats: out.seats})
	if beneficiary >= 0 && slices.ContainsFunc(out.seats, func(s Seat) bool { return s.origin >= 0 }) { // a start has cost nothing (M9)
		book.paidFor[int32(len(book.commits))] = true
	}
	w.restatus(u.Work, &out, code)
	p.freed++
	p.changes++
	s.decision.Work.Evicted++
	s.main.Touch(int(u.Leaf))
	if s.apart != nil {
		s.apart.Touch(int(u.Leaf))
	}
	return nil
}

// partSeats parts the seats of a step from the others.
func partSeats(seats []Seat, step int32) (own, others []Seat) {
	if !slices.ContainsFunc(seats, func(s Seat) bool { return s.step != step }) {
		return seats, nil
	}
	for _, s := range seats {
		if s.step == step {
			own = append(own, s)
		} else {
			others = append(others, s)
		}
	}
	return own, others
}

// restatus says where a workload stands after a unit of it was taken.
func (w *World) restatus(i int32, out *outUnit, code Code) {
	k := &w.Works[i]
	k.pipelined = slices.ContainsFunc(w.Room.Seats[i], func(one Seat) bool { return one.waits() })
	if out.unit.Step > 0 {
		if l := &w.live[k.Live]; k.Status == claiming && l.claimed == 0 {
			k.Status = complete
		}
		return
	}
	k.Status = waiting
	if k.Live >= 0 && w.live[k.Live].leaving > 0 {
		k.Status = leaving
	}
	if code != Consolidated && w.booking().endsWith(k) {
		k.Status = Failed
	}
	w.Room.redivide = w.Room.redivide || k.Status == Failed || w.dividing().asksBecause(k)
}

// endsWith says whether a workload ends for good with the last that it holds: some of it, which
// need not be of its minimum any more, ran before this solve (S6).
func (w booking) endsWith(k *Work) bool {
	if k.Live < 0 || !w.FormOf(k, k.Current).Final {
		return false
	}
	l := &w.live[k.Live]
	return slices.ContainsFunc(w.Holdings[l.from:l.to], func(h Holding) bool { return h.Phase == Running && !h.fresh })
}

// ran says whether some task of the unit ran before this solve.
func (o *outUnit) ran(w *World) bool {
	return slices.ContainsFunc(o.seats, func(one Seat) bool { return w.booking().ran(&one) })
}

// redivide divides the capacity anew if a workload's demand has gone with it, or
// come back (S6, M5), and has the order read the new shares.
func (w *World) redivide(d *Decision) error {
	if !w.Room.redivide {
		return nil
	}
	w.Room.redivide = false
	d.restart, d.redivided = true, true
	return w.divideAnew()
}

// lasts says whether a unit that comes within its lines by a proposal is so too in the
// division that is left where victims end for good and take their demand along (S6). Else
// others would take its places, and what went for it would have gone for nobody (M5).
func (s preempting) lasts(b *preempt.Preemptor, proposal *preempt.Proposal) (bool, error) {
	w, p := s.world, s.pool
	if !slices.ContainsFunc(proposal.Justifications, s.endsForGood) {
		return true, nil
	}
	before := make(map[int32]Status)
	use := p.Tree.Mark()
	defer p.Tree.Undo(use)
	for _, c := range proposal.Justifications {
		u := p.Room.Unit(c.Victim)
		k := &w.Works[u.Work]
		if c.Moves {
			continue
		}
		if s.endsForGood(c) {
			before[u.Work] = k.Status
		}
		if err := p.Tree.Release(int(u.Leaf), u.Charge, u.NonPreemptible); err != nil {
			return false, err
		}
	}
	if !p.Room.Entitled(b.Leaf, b.Asks) {
		return true, nil
	}
	changes := make([]int64, len(w.Pools))
	for i, other := range w.Pools {
		changes[i] = other.changes
	}
	for i := range before { // each for itself: order cannot matter
		w.Works[i].Status = Failed
	}
	s.decision.redivided = true
	err := w.DivideShares()
	lasts := p.Room.Entitled(b.Leaf, b.Asks)
	for i, status := range before { // each for itself: order cannot matter
		w.Works[i].Status = status
	}
	err = cmp.Or(err, w.DivideShares())
	for i, other := range w.Pools { // nothing has
		other.changes = changes[i]
	}
	return lasts, err
}

// requeue lines a workload up again of which something has come or gone.
func (s *Solver) requeue(i int32) {
	s.unqueue(i)
	s.queueAgain(i)
}

// unqueue takes a workload out of its order, in which it may stand for any stage.
func (s *Solver) unqueue(i int32) {
	w := s.world
	k := &w.Works[i]
	f := w.FormOf(k, k.Current)
	leaf, order := int(f.Queue), s.orderOf(w.Definition(k, k.Current))
	stale := s.asOrdered(queue.Item{Priority: f.Priority, Due: s.world.due(k, f), Submitted: k.Submitted, Rank: k.Rank, ID: i, Form: k.Current})
	for stage := queue.BelowMinimum; stage <= queue.AboveMinimum; stage++ {
		stale.Stage = stage
		order.Remove(leaf, stale)
	}
	s.enqueuing().unfollow(i)
}

// queueAgain lines a workload up that stands in no order.
func (s *Solver) queueAgain(i int32) {
	w := s.world
	k := &w.Works[i]
	if leaf := w.FormOf(k, k.Current).Queue; len(k.Others) > 0 || s.enqueuing().strict(leaf) {
		s.decision.restart = true
		return
	}
	if !w.wants(k) && !w.mayClaimAgain(i) {
		return
	}
	if it, ok := w.item(i, 0); ok {
		s.enqueuing().lineUpAgain(it)
	}
}

// endsForGood says whether the workload of a victim ends with it (S6).
func (s preempting) endsForGood(c preempt.Justification) bool {
	u := s.pool.Room.Unit(c.Victim)
	return !c.Moves && u.Step == 0 && s.world.booking().endsWith(&s.world.Works[u.Work])
}

// moveAll puts every unit that is out since first elsewhere, the best standing
// first; if staying, after those that can stay where they were.
func (s *Solver) moveAll(first int, proposal *preempt.Proposal) error {
	units := slices.Clone(s.world.Room.out[first:])
	preempt.SortToReprieve(units, outUnit.standing)
	stays := make([]bool, len(units)) // their places are kept for them
	for i := range units {
		stays[i] = proposal.Staying && s.reprieving().stays(units[i].unit, units[i].seats)
	}
	for i := range units {
		units[i].asked = true
		where := newPlace | stillBegun
		if proposal.Anew {
			where = placedAnew | stillBegun
		}
		if stays[i] {
			where = oldPlace
			if err := s.reprieving().leaves(units[i].unit); err != nil {
				return err
			}
		}
		moved, err := s.reprieving().seatUnit(&units[i], where)
		if err != nil || !moved {
			return cmp.Or(err, errUnsound)
		}
	}
	s.world.Room.out = s.world.Room.out[:first]
	return nil
}
