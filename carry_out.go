package allot

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// carryOut takes the victims and what moves, starts the beneficiary, and puts what
// moves elsewhere (C1, M10).
func (s *solver) carryOut(k *work, it queue.Item, at int16, b *preempt.Preemptor, proposal *preempt.Proposal) error {
	w, p := s.world, s.pool
	first, moves := len(w.room.out), false
	if w.traced != nil {
		w.traced.note(s, b, proposal)
	}
	freed := quota.Amounts(nil)
	var victims []int32
	for _, c := range proposal.Justifications {
		u, code := p.room.Unit(c.Victim), codeOf(c.Mode)
		if c.Moves {
			if code = Consolidated; !moves { // all that follow do
				first, moves = len(w.room.out), true
			}
		}
		var err error
		if freed, err = freed.AddScaled(u.Charge, 1); err != nil {
			return err
		}
		of := &w.works[u.Work]
		victims = append(victims, u.Work)
		if of.status != complete || w.definition(of, of.current).elastic { // it wanted more
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
		if a.Value > b.Asks.Of(a.Resource) && int(a.Resource) < p.plain {
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
	}
	return Consolidated
}

// begun starts the unit for which there is room now.
func (s *solver) begun(k *work, it queue.Item, at int16, b *preempt.Preemptor) (bool, error) {
	f, d := s.world.formOf(k, at), s.world.definition(k, at)
	if _, ok := s.pool.tree.Check(int(f.queue), b.Asks, f.nonPreemptible); !ok {
		return false, nil
	}
	charge, found, err := s.placeUnit(f, d, b.Add, s.beside(b.Work, d, b.Add), b.Asks)
	if !found || err != nil {
		return false, err
	}
	it.Form = at
	return true, s.commit(k, it, f, b.Add, charge)
}

// take takes one unit for a beneficiary, or for nobody (−1).
func (s *solver) take(c preempt.Justification, beneficiary int32, code Code) error {
	w, p, book := s.world, s.pool, s.world.room
	u := p.room.Unit(c.Victim)
	w.journal.keep(w, u.Work)
	k := &w.works[u.Work]
	out := outUnit{pool: s.index, unit: u, status: k.status, form: k.current}
	out.seats, book.seats[u.Work] = partSeats(book.seats[u.Work], u.Step)
	if err := p.room.Take(c.Victim); err != nil {
		return err
	}
	if k.live >= 0 {
		l := &w.live[k.live]
		for _, seat := range out.seats {
			l.held[seat.set]--
			if seat.claimed {
				l.claimed--
			}
		}
	}
	book.out = append(book.out, out)
	book.takings = append(book.takings, taking{u, beneficiary, code, s.index, c, int32(len(book.commits))})
	book.last[u.Work] = int32(len(book.takings))
	if beneficiary >= 0 && out.ran(w) { // what this solve has started has cost nothing (M9)
		book.paidFor[int32(len(book.commits))] = true
	}
	w.restatus(u.Work, &out, code)
	p.freed++
	p.changes++
	s.decision.work.Evicted++
	s.main.Touch(int(u.Leaf))
	if s.apart != nil {
		s.apart.Touch(int(u.Leaf))
	}
	return nil
}

// partSeats parts the seats of a step from the others.
func partSeats(seats []seat, step int32) (own, others []seat) {
	if !slices.ContainsFunc(seats, func(s seat) bool { return s.step != step }) {
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
func (w *world) restatus(i int32, out *outUnit, code Code) {
	k := &w.works[i]
	if out.unit.Step > 0 {
		if l := &w.live[k.live]; k.status == claiming && l.claimed == 0 {
			k.status = complete
		}
		return
	}
	k.status, k.pipelined = waiting, false
	if k.live >= 0 && w.live[k.live].leaving > 0 {
		k.status = leaving
	}
	if code != Consolidated && out.ran(w) && w.endingOf(k).Final {
		k.status = failed
		w.room.redivide = true
	}
}

// ran says whether some task of the unit ran before this solve.
func (o *outUnit) ran(w *world) bool {
	return slices.ContainsFunc(o.seats, func(one seat) bool { return w.ran(&one) })
}

// endingOf is what an eviction means for the workload (S6).
func (w *world) endingOf(k *work) Ending {
	policy, source := w.pools[w.formOf(k, k.current).pool].policy, w.source(k)
	out := Ending{
		Status: policy.PreemptedStatus, ExitCode: policy.PreemptedExitCode,
		Checkpoint: policy.CheckpointOnEviction,
	}
	actions := append(slices.Clip(source.ExitActions), policy.ExitActions...)
	if at := slices.IndexFunc(actions, func(a ExitAction) bool { return a.Code == out.ExitCode }); at >= 0 {
		out.Final = actions[at].Action == Fail
	}
	if source.Retries.Given() && source.Retries.Amount() == 0 {
		out.Final = true
	}
	return out
}

// redivide divides the capacity anew if a workload's demand has gone with it, or
// come back (S6, M5), and has the order read the new shares.
func (w *world) redivide(d *decision) error {
	if w.room == nil || !w.room.redivide {
		return nil
	}
	w.room.redivide = false
	d.restart, d.redivided = true, true
	if err := w.scorePools(); err != nil {
		return err
	}
	return w.divideShares()
}

// requeue lines a workload up again of which something has come or gone.
func (s *solver) requeue(i int32) {
	s.unqueue(i)
	s.queueAgain(i)
}

// unqueue takes a workload out of its order, in which it may stand for any stage.
func (s *solver) unqueue(i int32) {
	w := s.world
	k := &w.works[i]
	f := w.formOf(k, k.current)
	leaf, order := int(f.queue), s.orderOf(w.definition(k, k.current))
	stale := s.asOrdered(queue.Item{Priority: f.priority, Submitted: k.submitted, Rank: k.rank, ID: i, Form: k.current})
	for stage := queue.BelowMinimum; stage <= queue.AboveMinimum; stage++ {
		stale.Stage = stage
		order.Remove(leaf, stale)
	}
}

// queueAgain lines a workload up that stands in no order.
func (s *solver) queueAgain(i int32) {
	w := s.world
	k := &w.works[i]
	if len(k.others) > 0 || s.strict() {
		s.decision.restart = true
		return
	}
	if !w.wants(k) && !w.mayClaimAgain(i) {
		return
	}
	if it, ok := w.item(i, 0); ok {
		s.orderOf(w.definition(k, k.current)).Push(int(w.formOf(k, k.current).queue), s.asOrdered(it))
	}
}

// moveAll puts every unit that is out since first elsewhere, the best standing
// first; if staying, after those that can stay where they were.
func (s *solver) moveAll(first int, proposal *preempt.Proposal) error {
	units := slices.Clone(s.world.room.out[first:])
	preempt.SortToReprieve(units, outUnit.standing)
	stays := make([]bool, len(units)) // their places are kept for them
	for i := range units {
		stays[i] = proposal.Staying && s.takeOld(&units[i])
	}
	for i := range units {
		where := newPlace | stillBegun
		if proposal.Anew {
			where = placedAnew | stillBegun
		}
		if stays[i] {
			where = oldPlace
			for _, t := range units[i].unit.Tasks {
				if err := s.pool.index.Give(t.Shape, t.Place); err != nil {
					return err
				}
			}
		}
		moved, err := s.putBack(&units[i], where)
		if err != nil || !moved {
			return cmp.Or(err, errUnsound)
		}
	}
	s.world.room.out = s.world.room.out[:first]
	return nil
}
