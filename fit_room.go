package allot

import (
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// What solver.helped does for who has its turn, without doing it.

// divide divides the capacity of the pools of what is in the slot, which asks
// among the others (F1).
func (f *fitWorld) divide(k *work) error {
	w := f.world
	touched := make([]bool, len(w.pools))
	whole := false
	for at := range int16(1 + len(k.others)) {
		pool := w.formOf(k, at).pool
		touched[pool] = true
		whole = whole || f.demand[pool] == nil
		s := w.solvers[pool] // which knows answers by other shares
		clear(s.refusals)
		clear(s.answers)
	}
	if whole {
		return w.divideShares()
	}
	for i, p := range w.pools {
		if touched[i] {
			copy(p.demand, f.demand[i])
		}
	}
	w.eachLeafDemand(k, func(g *form, a quota.Amounts) { w.pools[g.pool].addDemand(g, a, 1) })
	if f.replaced != none {
		w.eachLeafDemand(&w.works[f.replaced], func(g *form, a quota.Amounts) {
			if touched[g.pool] && f.was != ending {
				w.pools[g.pool].addDemand(g, a, -1)
			}
		})
	}
	for i := range w.pools {
		if !touched[i] {
			continue
		}
		if err := w.dividePool(i); err != nil {
			return err
		}
	}
	return nil
}

// help makes room for a form, or for a smaller size of it (L2).
func (f *fitWorld) help(k *work, at int16) (Fit, error) {
	w := f.world
	s, d, g := w.solverOf(k, at), w.definition(k, at), w.formOf(k, at)
	if !d.verdict.OK {
		return f.refused(k), nil
	}
	s.phase = withinLines
	s.told = s.told[:0]
	if s.pool.policy.makesRoom() {
		made, err := f.roomForAny(k, at)
		if made || err != nil {
			return Fit{OK: made, Room: true, Form: int(at), Availability: f.availability(k, at)}, err
		}
		asked := roomQuestion{question{g.definition, g.queue, none, at, g.nonPreemptible}, g.priority, false}
		s.refusals[asked] = &refusal{changes: s.pool.changes, reasons: slices.Clone(s.told)}
	}
	return f.smaller(k, at, withinLines, s.pool.policy.makesRoom())
}

// smaller tries the smaller sizes of a halving form, in free space or in room
// made for it.
func (f *fitWorld) smaller(k *work, at int16, now phase, room bool) (Fit, error) {
	w := f.world
	s, d := w.solverOf(k, at), w.definition(k, at)
	s.phase = now
	for i := 1; i < len(d.ladder); i++ {
		unit := gang.Unit{Add: d.ladder[i : i+1]}
		asks, err := s.unitAsks(d, unit, true)
		if err != nil {
			return Fit{}, err
		}
		asks = slices.Clone(asks)
		if s.fits(w.formOf(k, at), d, unit, asks) {
			return f.found(k, at, unit), nil
		}
		if !room {
			continue
		}
		made, err := f.roomFor(k, at, unit.Add, asks)
		if made || err != nil {
			return Fit{OK: made, Room: true, Form: int(at), Availability: f.availability(k, at)}, err
		}
	}
	return f.refused(k), nil
}

// roomForAny is solver.makeRoomForAny.
func (f *fitWorld) roomForAny(k *work, at int16) (bool, error) {
	s, d := f.world.solverOf(k, at), f.world.definition(k, at)
	if !d.unsure {
		return f.roomFor(k, at, d.unit.Add, slices.Clone(d.asks))
	}
	units, _ := d.gang.Units(nil, roomChoices)
	for _, unit := range units {
		asks, err := s.unitAsks(d, unit, true)
		if err != nil {
			return false, err
		}
		if made, err := f.roomFor(k, at, unit.Add, slices.Clone(asks)); made || err != nil {
			return made, err
		}
	}
	return false, nil
}

// roomFor is solver.makeRoomFor up to where it would be carried out.
func (f *fitWorld) roomFor(k *work, at int16, add []int32, asks quota.Amounts) (bool, error) {
	w := f.world
	s, g := w.solverOf(k, at), w.formOf(k, at)
	it := queue.Item{Priority: g.priority, Submitted: k.submitted, Rank: k.rank, ID: f.slot, Form: at}
	if s.beyondHelp(g, asks) {
		return false, nil
	}
	b := s.beneficiary(k, it, at, slices.Clone(add), asks)
	if !b.Entitled {
		if len(s.shortfalls) == 0 {
			s.tellLine(at, g, asks)
		}
		if s.wouldStart(b) {
			return false, nil
		}
	}
	if w.room == nil {
		w.openBook(f.decision)
	}
	entitled, err := s.propose(it, at, b)
	if !s.pool.index.Releasing() || err != nil {
		return entitled != nil, err
	}
	return s.wouldClaim(it, at, b, entitled)
}

// wouldClaim is solver.claimOrEvict.
func (s *solver) wouldClaim(it queue.Item, at int16, b *preempt.Preemptor, entitled *preempt.Proposal) (bool, error) {
	defer letClaim(s, b)()
	if s.wouldStart(b) {
		return entitled != nil, nil
	}
	proposal, err := s.propose(it, at, b)
	return proposal != nil, err
}

// reasons are why what is in the slot would wait (X1).
func (f *fitWorld) reasons() ([]Reason, error) {
	verdicts, err := f.world.reasons(f.slot)
	return (&teller{world: f.world}).reasons(verdicts), err
}
