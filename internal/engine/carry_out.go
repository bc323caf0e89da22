package engine

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/division"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/queue"
)

// carryOut takes the victims and what moves, starts the preemptor, and puts what
// moves elsewhere (C1, M10).
func (s *Solver) carryOut(k *cluster.Work, it queue.Item, at int16, b *preempt.Preemptor, proposal *preempt.Proposal) error {
	w, p := s.world, s.pool
	defer p.Searching().Answered(p.Searching().Again(proposal.Bound))
	defer refills(s).end()
	first, moves := len(w.Room.Out), false
	noteChoice(w.Traced, s, b, proposal)
	freed, victims := s.freed[:0], s.victims[:0]
	for _, c := range proposal.Justifications {
		u, code := p.Room.Unit(c.Victim), codeOf(c.Mode)
		if c.Moves {
			if code = cluster.Consolidated; !moves { // all that follow do
				first, moves = len(w.Room.Out), true
			}
		}
		var err error
		if freed, err = freed.AddScaled(u.Charge, 1); err != nil {
			return err
		}
		of := &w.Works[u.Work]
		victims = append(victims, u.Work)
		if of.Status != cluster.Complete || w.Definition(of, of.Current).Elastic { // it wanted more
			s.unqueue(u.Work)
		}
		if err := s.take(c, it.ID, code); err != nil {
			return err
		}
		s.behind().leave(u.Work, w.Room.Out[len(w.Room.Out)-1].Seats, it.ID)
	}
	if started, err := s.begun(k, it, at, b); err != nil || !started {
		return cmp.Or(err, errUnsound)
	}
	if moves {
		if err := s.moveAll(first, proposal); err != nil {
			return err
		}
	}
	s.freed, s.victims = freed, victims
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
	return redivide(w, s.decision)
}

// A refilling is a stretch in which something is taken for somebody who starts in what it leaves.
type refilling struct {
	solver *Solver
	stayed int64
	from   placement.Mark
}

func refills(s *Solver) refilling { return refilling{s, s.pool.Stayed, s.pool.Index.Mark()} }

// end takes note if nothing has stayed free: then nobody finds a place who found none before. Where queues lend, or
// guarantee what is of a class, or something is promised, that is not all that was in the way.
func (r refilling) end() {
	s, p := r.solver, r.solver.pool
	if !p.Lends && !p.Classed() && !p.Index.Releasing() && !looksAhead(p) && len(s.promises.list) == 0 && !r.from.LeavesMore(p.Index) {
		p.Refilled(r.stayed)
	}
	p.Index.Commit(r.from)
}

func codeOf(mode preempt.Mode) cluster.Code {
	switch mode {
	case preempt.ReclaimByQuota:
		return cluster.ReclaimedByQuota
	case preempt.ReclaimByShare:
		return cluster.ReclaimedByShare
	case preempt.Preempt:
		return cluster.Preempted
	case preempt.Due:
		return cluster.Behind
	}
	return cluster.Consolidated
}

// begun starts the unit for which there is room now.
func (s *Solver) begun(k *cluster.Work, it queue.Item, at int16, b *preempt.Preemptor) (bool, error) {
	f, d := s.world.FormOf(k, at), s.preempting().ownGround(b.Work, at)
	if _, ok := s.pool.Tree.Check(int(f.Queue), b.Asks, f.NonPreemptible); !ok {
		return false, nil
	}
	charge, found, err := s.preempting().placeDue(f, d, b)
	if found && err == nil {
		err = runsOnAtHome(s, k, d, b.Add)
	}
	if !found || err != nil {
		return false, err
	}
	it.Form = at
	return true, s.commit(k, it, f, b.Add, charge, false)
}

// take takes one unit for a preemptor, or for nobody (−1).
func (s *Solver) take(c preempt.Justification, preemptor int32, code cluster.Code) error {
	w, p, book := s.world, s.pool, s.world.Room
	u := p.Room.Unit(c.Victim)
	w.Journal.Keep(w, u.Work)
	k := &w.Works[u.Work]
	out := cluster.OutUnit{Pool: s.index, Unit: u, Status: k.Status, Form: k.Current}
	if err := p.Room.Take(c.Victim); err != nil {
		return err
	}
	out.Seats = w.Booking().Release(u.Work, u.Step)
	book.Out = cluster.AppendMany(book.Out, out)
	book.AddTaking(cluster.Taking{Unit: u, Preemptor: preemptor, Code: code, Pool: s.index, Is: c, Commit: int32(len(book.Commits)), Seats: out.Seats})
	if preemptor >= 0 && slices.ContainsFunc(out.Seats, func(s cluster.Seat) bool { return s.Origin >= 0 }) { // a start has cost nothing (M9)
		book.PayFor(int32(len(book.Commits)))
	}
	restatus(w, u.Work, &out, code)
	p.Free()
	p.Changes++
	s.decision.Work.Evicted++
	s.touch(int(u.Leaf))
	return nil
}

// restatus says where a workload stands after a unit of it was taken.
func restatus(w *cluster.World, i int32, out *cluster.OutUnit, code cluster.Code) {
	k := &w.Works[i]
	k.Pipelined = slices.ContainsFunc(w.Room.Seats[i], func(one cluster.Seat) bool { return one.Waits() })
	if out.Unit.Step > 0 {
		if l := &w.Live[k.Live]; k.Status == cluster.Claiming && l.Claimed == 0 {
			k.Status = cluster.Complete
		}
		return
	}
	k.Status = cluster.Waiting
	if k.IsLeaving(w) {
		k.Status = cluster.WaitsForLeavers
	}
	if code != cluster.Consolidated && endsWith(w.Booking(), k) {
		k.Status = cluster.Failed
	}
	w.Room.Redivide = w.Room.Redivide || k.Status == cluster.Failed || division.Of(w).AsksBecause(k)
}

// endsWith says whether a workload ends for good with the last that it holds: some of it, which
// need not be of its minimum any more, ran before this solve (S6).
func endsWith(w cluster.Booking, k *cluster.Work) bool {
	if k.Live < 0 || !w.FormOf(k, k.Current).Final {
		return false
	}
	l := &w.Live[k.Live]
	return slices.ContainsFunc(w.Holdings[l.From:l.To], func(h cluster.Holding) bool { return h.Phase == cluster.Running && !h.Fresh })
}

// redivide divides the capacity anew if a workload's demand has gone with it, or
// come back (S6, M5), and has the order read the new shares.
func redivide(w *cluster.World, d *cluster.Decision) error {
	if !w.Room.Redivide {
		return nil
	}
	w.Room.Redivide = false
	d.Restart, d.Redivided = true, true
	return divideAnew(w)
}

// lasts says whether a unit that comes within its lines by a proposal is so too in the
// division that is left where victims end for good and take their demand along (S6). Else
// others would take its places, and what went for it would have gone for nobody (M5). ends says of whom that is so.
func (s preempting) lasts(b *preempt.Preemptor, proposal *preempt.Proposal, ends func(preempt.Justification) bool) (bool, error) {
	p := s.pool
	if !slices.ContainsFunc(proposal.Justifications, ends) {
		return true, nil
	}
	var ending []int32
	use := p.Tree.Mark()
	defer p.Tree.Undo(use)
	for _, c := range proposal.Justifications {
		u := p.Room.Unit(c.Victim)
		if c.Moves {
			continue
		}
		if ends(c) {
			ending = append(ending, u.Work)
		}
		if err := p.Tree.Release(int(u.Leaf), u.Charge, u.NonPreemptible); err != nil {
			return false, err
		}
	}
	if !p.Room.Entitled(b.Leaf, b.Asks) {
		return true, nil
	}
	lasts := false
	err := s.dividedWith(ending, cluster.Failed, func() { lasts = p.Room.Entitled(b.Leaf, b.Asks) })
	return lasts, err
}

// dividedWith asks something of the division that there is once these workloads stand otherwise than they do (S6),
// and leaves them and the division as they were.
func (s preempting) dividedWith(works []int32, status cluster.Status, ask func()) error {
	w := s.world
	changes, was := make([]int64, len(w.Pools)), make([]cluster.Status, len(works))
	for i, other := range w.Pools {
		changes[i] = other.Changes
	}
	for at, i := range works {
		was[at], w.Works[i].Status = w.Works[i].Status, status
	}
	s.decision.Redivided = true
	err := division.DivideShares(w)
	ask()
	for at, i := range slices.Backward(works) { // of one several units may go
		w.Works[i].Status = was[at]
	}
	err = cmp.Or(err, division.DivideShares(w))
	for i, other := range w.Pools { // nothing has changed but what is divided anew all the same
		if !w.Room.Redivide {
			other.Changes = changes[i]
		}
	}
	return err
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
	stale := s.asOrdered(wholeItem(w, i, k.Current))
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
		s.decision.Restart = true
		return
	}
	if !wantsMore(w, k) && !mayClaimAgain(w, i) {
		return
	}
	if it, ok := itemOf(w, i, 0); ok {
		s.enqueuing().lineUpAgain(it)
	}
}

// endsForGood says whether the workload of a victim ends with it (S6).
func (s preempting) endsForGood(c preempt.Justification) bool {
	u := s.pool.Room.Unit(c.Victim)
	return !c.Moves && u.Step == 0 && endsWith(s.world.Booking(), &s.world.Works[u.Work])
}

// moveAll puts every unit that is out since first elsewhere, the best standing
// first; if staying, after those that can stay where they were.
func (s *Solver) moveAll(first int, proposal *preempt.Proposal) error {
	units := slices.Clone(s.world.Room.Out[first:])
	preempt.SortToReprieve(units, cluster.OutUnit.Standing)
	s.seated, s.begins = s.seated[:0], triedStart{}
	stays := make([]bool, len(units)) // their places are kept for them
	for i := range units {
		stays[i] = proposal.Staying && s.reprieving().stays(units[i].Unit, units[i].Seats)
	}
	for _, turn := range s.reprieving().movesInTurn(units, stays) {
		turn.Asked = true
		where := newPlace | stillBegun
		if proposal.Anew {
			where = placedAnew | stillBegun
		}
		if turn.stays {
			where = oldPlace
			if err := s.reprieving().leaves(turn.Unit); err != nil {
				return err
			}
		}
		moved, err := s.reprieving().seatUnit(&turn.OutUnit, where)
		if err != nil || !moved {
			return cmp.Or(err, errUnsound)
		}
	}
	s.world.Room.Out = s.world.Room.Out[:first]
	return nil
}

// A moveTurn is a unit that finds its place after the others, or stays.
type moveTurn struct {
	cluster.OutUnit
	stays bool
}

// movesInTurn has what moves as one be one unit, in the turn of the first.
func (s reprieving) movesInTurn(units []cluster.OutUnit, stays []bool) (turns []moveTurn) {
	for i := range units {
		work := units[i].Unit.Work
		if stays[i] || !s.moveAsOne(work) {
			turns = append(turns, moveTurn{units[i], stays[i]})
			continue
		}
		if slices.ContainsFunc(turns, func(t moveTurn) bool { return t.Unit.Work == work && !t.stays }) {
			continue
		}
		var with []cluster.OutUnit
		for j := i; j < len(units); j++ {
			if units[j].Unit.Work == work && !stays[j] {
				with = append(with, units[j])
			}
		}
		turns = append(turns, moveTurn{together(with), false})
	}
	return turns
}
