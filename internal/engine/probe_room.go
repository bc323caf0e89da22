package engine

import (
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/division"
	"github.com/allotsched/allot/quota"
)

// What solver.helped does for who has its turn, without doing it.

// divide divides the capacity of the pools of what is in the slot, which asks
// among the others (F1).
func (f *Probe) divide(k *cluster.Work) error {
	w := f.world
	touched := make([]bool, len(w.Pools))
	whole := false
	for at := range int16(1 + len(k.Others)) {
		pool := w.FormOf(k, at).Pool
		touched[pool] = true
		whole = whole || f.demand[pool].Asked == nil
		s := solverAt(w, pool) // which knows answers by other shares
		clear(s.refusals)
		clear(s.answers)
		clear(s.lacks)
	}
	if whole {
		return division.DivideShares(w)
	}
	for i, p := range w.Pools {
		if touched[i] {
			p.Demand.CopyFrom(f.demand[i])
		}
	}
	division.Of(w).EachLeafDemand(k, func(g *cluster.Form, a quota.Amounts, part int64) { division.AddDemand(w.Pools[g.Pool], g, a, part, 1) })
	if f.replaced != cluster.None {
		division.Of(w).EachLeafDemand(&w.Works[f.replaced], func(g *cluster.Form, a quota.Amounts, part int64) {
			if touched[g.Pool] && f.was != cluster.Ending {
				division.AddDemand(w.Pools[g.Pool], g, a, part, -1)
			}
		})
	}
	for i := range w.Pools {
		if !touched[i] {
			continue
		}
		if err := division.Of(w).DividePool(i); err != nil {
			return err
		}
	}
	return nil
}

// help makes room for a form, or for a smaller size of it (L2).
func (f *Probe) help(k *cluster.Work, at int16) (Answer, error) {
	w := f.world
	s, d, g := solverOf(w, k, at), w.Definition(k, at), w.FormOf(k, at)
	if !d.Verdict.OK {
		return f.refused(k), nil
	}
	s.phase = withinLines
	s.told = s.told[:0]
	if makesRoom(&s.pool.Policy) {
		made, err := f.roomForAny(k, at)
		if made || err != nil {
			return Answer{Ok: made, Room: true, Form: at, Availability: f.availability(k, at)}, err
		}
		s.refusals[questionOf(g, at)] = refusal{Memo: s.pool.UntilChanged(), reasons: slices.Clone(s.told), of: s.decision.Number}
	}
	return f.smaller(k, at, withinLines, true)
}

// smaller tries the smaller sizes of a halving form, in free space or, where room may be
// asked for, in places that others are leaving or in room made for it.
func (f *Probe) smaller(k *cluster.Work, at int16, now attempt, room bool) (Answer, error) {
	w := f.world
	s, d := solverOf(w, k, at), w.Definition(k, at)
	s.phase = now
	for i := 1; i < len(d.Ladder); i++ {
		unit := gang.Unit{Add: d.Ladder[i : i+1]}
		asks, err := s.unitAsks(d, unit, true)
		if err != nil {
			return Answer{}, err
		}
		asks = slices.Clone(asks)
		if s.fits(s.reaches(f.Slot, d, unit.Tasks()), w.FormOf(k, at), d, unit, asks) {
			return f.found(k, at, unit), nil
		}
		if !room {
			continue
		}
		made, err := false, error(nil)
		if mayClaim(s.pool, now) {
			s.claims = true
			made = s.fits(s.reaches(f.Slot, d, unit.Tasks()), w.FormOf(k, at), d, unit, asks)
			s.claims = false
		}
		if !made && now == withinLines && makesRoom(&s.pool.Policy) {
			made, err = f.roomFor(k, at, unit.Add, asks)
		}
		if made || err != nil {
			return Answer{Ok: made, Room: true, Form: at, Availability: f.availability(k, at)}, err
		}
	}
	return f.refused(k), nil
}

// roomForAny says whether room would be made for a form.
func (f *Probe) roomForAny(k *cluster.Work, at int16) (bool, error) {
	s := solverOf(f.world, k, at).preempting()
	return s.anyUnit(f.world.Definition(k, at), nil, func(add []int32, asks quota.Amounts) (bool, error) {
		return f.roomFor(k, at, add, asks)
	})
}

// roomFor is preempting.makeRoomFor up to where it would be carried out.
func (f *Probe) roomFor(k *cluster.Work, at int16, add []int32, asks quota.Amounts) (bool, error) {
	found, err := solverOf(f.world, k, at).preempting().wayFor(k, wholeItem(f.world, f.Slot, at), at, add, asks)
	return found != nil, err
}
