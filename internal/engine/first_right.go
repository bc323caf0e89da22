package engine

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/queue"
)

// borrows says whether a seat, of a form that it is in, is of what is lent, at the time, by a
// reservation of which the other, in this form, is a member and its own workload is not. The other may use all that the
// seat is of. Where devices are reserved, and not their node, that one has a first right to something which asks for
// some.
func (s behind) borrows(one *cluster.Seat, own *cluster.Definition, work int32, form int16) bool {
	if len(s.pool.Reserved) == 0 {
		return false
	}
	w := s.world
	d := w.Definition(&w.Works[work], form)
	strange, asked := d.Stranger, one.Devices
	if !d.GPU {
		asked = 0
	}
	lent := false
	for _, r := range own.Stranger {
		of := &s.pool.Reserved[r]
		lent = lent || of.Lend && of.Lasts(max(w.Now, 0)) && !slices.Contains(strange, r) && s.pool.IsIn(of.Set, w.Position[one.Node], asked)
	}
	return lent && !slices.ContainsFunc(strange, func(r int32) bool {
		of := &s.pool.Reserved[r]
		return of.Lasts(max(w.Now, 0)) && s.pool.IsIn(of.Set, w.Position[one.Node], one.Devices)
	})
}

// takesBack says whether whose a unit is has the first right to something that a workload holds, and would take it at
// once: for that one it goes in vain, as all of it goes then (B9, M2). Room for a start is not made on such ground
// either, see ownGround.
func (s behind) takesBack(u *preempt.Unit, work int32) bool {
	w := s.world
	k, other := &w.Works[work], &w.Works[u.Work]
	d := w.Definition(k, k.Current)
	return !w.FormOf(k, k.Current).NonPreemptible && slices.ContainsFunc(w.Room.Seats[work], func(one cluster.Seat) bool {
		return s.borrows(&one, d, u.Work, other.Current)
	})
}

// stoodThere says whether what was taken stood where it had before the solve, if it was taken for
// who has the first right to that: who has come there only in the solve has lost its place by
// another right before (B6, B9).
func (s behind) stoodThere(t *cluster.Taking) bool {
	if t.Code != cluster.Behind {
		return true
	}
	w := s.world
	k, form := &w.Works[t.Work], w.Room.Commits[t.Commit].Form
	return slices.ContainsFunc(t.Seats, func(one cluster.Seat) bool {
		if one.Commit >= 0 {
			return false
		}
		passed := one.Behind == t.Preemptor+1 || hasOverrun(w, &one)
		return passed || s.borrows(&one, w.Definition(k, w.Live[k.Live].Form), t.Preemptor, form)
	})
}

// lends says whether something is lent, at the time, to whose members the workload belongs.
func (s behind) lends(d *cluster.Definition) bool {
	for r := range s.pool.Reserved {
		if of := &s.pool.Reserved[r]; of.Lend && of.Lasts(max(s.world.Now, 0)) && !slices.Contains(d.Stranger, int32(r)) {
			return true
		}
	}
	return false
}

// ownGround is the definition of a form for whom room is made: nobody goes for what is only
// borrowed.
func (s preempting) ownGround(i int32, at int16) *cluster.Definition {
	w := s.world
	d := w.Definition(&w.Works[i], at)
	if !slices.ContainsFunc(d.Stranger, func(r int32) bool { return s.pool.Reserved[r].Lend }) {
		return d
	}
	return s.promising().openAt(i, at, max(w.Now, 0), d.Unit.Tasks())
}

// take has whoever stands behind the next unit of a form make way for it, and says
// whether it has started: one within its lines in its turn, the others when nobody else
// moves.
func (s behind) take(it queue.Item, at int16) (bool, error) {
	w, p := s.world, s.pool
	k := &w.Works[it.ID]
	f, d := w.FormOf(k, at), w.Definition(k, at)
	if s.kept != nil || s.placer.UsedNodes || s.phase == growing || !d.Verdict.OK {
		return false, nil
	}
	promised := s.comes(it.ID)
	if !promised && !s.lends(d) {
		return false, nil
	}
	held := w.CountsOf(k)
	asked := questionOf(f, at)
	asked.above, asked.priority = it.Stage > 0, int32(s.phase) // in its place: no priority counts here
	if held == nil && !promised && s.stayed[asked].Stands(p) {
		s.decision.Work.Remembered++
		return false, nil
	}
	seats := len(w.Room.Seats[it.ID])
	s.due, s.victims, s.rest = at+1, s.victims[:0], s.rest[:0]
	made, err := s.preempting().makeRoomForAny(k, it, at, held)
	s.due = 0
	if made {
		for _, victim := range s.victims {
			s.served[servedBy{it.ID, seats, victim, 0}] = true
		}
	}
	if held == nil && !made && err == nil && !promised {
		s.stayed[asked] = p.UntilChanged()
	}
	return made, err
}

// findsPlaceBeside says whether a unit for which those are to go that borrow what is lent finds places beside them: its
// first right is to these, and what else it waits for is no reason for anybody to go by that (B9).
func (s behind) findsPlaceBeside(f *cluster.Form, b *preempt.Preemptor) bool {
	if s.comes(b.Work) {
		return false
	}
	d := s.preempting().ownGround(b.Work, s.due-1)
	defer s.tries()()
	return s.preempting().undone(func() bool {
		_, found, err := s.preempting().placeDue(f, d, b)
		return found && err == nil
	})
}

// A leftPlace is a place that is left for one who has the first right to others beside it.
type leftPlace struct {
	shape placement.Shape
	place placement.Place
}

// leave notes which of the seats that a workload leaves for the one that is due, if one is, did not stand behind that
// one: its right is to what did, and the rest is no more its than anybody's. What others have been promised of that is
// kept for them by their promises.
func (s behind) leave(i int32, seats []cluster.Seat, work int32) {
	if s.due == 0 {
		return
	}
	d := s.world.Definition(&s.world.Works[i], s.world.Works[i].Current)
	for at := range seats {
		one := &seats[at]
		promised := func(p *promise) bool {
			return p.work != work && p.overlaps(s.world.Position[one.Node], one.Devices)
		}
		if !s.standsBehind(one, i, work) && !slices.ContainsFunc(s.promises.list, promised) {
			s.rest = append(s.rest, leftPlace{d.Sets[one.Set].Placed, one.Place(s.world)})
		}
	}
}

// leaveUnit notes what of a unit that goes did not stand behind the workload that is due.
func (s behind) leaveUnit(id preempt.UnitID, work int32) {
	u := s.pool.Room.Unit(id)
	own, _ := cluster.PartSeats(s.world.Room.Seats[u.Work], u.Step)
	s.leave(u.Work, own, work)
}

// besideRest calls do, which finds places for the one that is due, while it leaves alone all that others leave for it
// and that did not stand behind it: what has left, and what the search at hand has taken.
func (s behind) besideRest(work int32, do func() error) error {
	if s.due == 0 {
		return do()
	}
	x, before := s.pool.Index, len(s.rest)
	for id := range preempt.AllTaken(s.pool.Room) {
		s.leaveUnit(id, work)
	}
	closed := s.rest
	defer func() { s.rest = closed[:before] }()
	open := x.Mark()
	for _, left := range closed {
		if err := x.Take(left.shape, left.place); err != nil {
			x.Undo(open)
			return err
		}
	}
	x.Commit(open)
	err := do()
	for _, left := range closed {
		err = cmp.Or(err, x.Give(left.shape, left.place))
	}
	return err
}

// A servedBy is a workload with so many places, for whom another has made way by this right. If it has lost the
// places again to somebody's better one, that one does not make way for it once more in the same solve. Nor does one do
// so that would give somebody a right to what ran, while nothing else starts: since is how often something has, plus
// one.
type servedBy struct {
	work   int32
	seats  int
	victim int32
	since  int
}

// hasServed says whether one has made way for another by this right, that has lost the places again, or would in vain.
func (s behind) hasServed(i, work int32) bool {
	seats := len(s.world.Room.Seats[work])
	return s.served[servedBy{work, seats, i, 0}] || s.wouldInVain(i, work)
}

// wouldInVain says whether one would make way by this right for another that may not start then, as things stand.
func (s behind) wouldInVain(i, work int32) bool {
	return s.served[servedBy{work, len(s.world.Room.Seats[work]), i, 1 + len(s.world.Room.Commits)}]
}

// stay has those who stand behind a workload stay there, as things are, so that it is promised another time (B7).
func (s behind) stay(work int32, gone []preempt.Justification) {
	for _, c := range gone {
		s.served[servedBy{work, len(s.world.Room.Seats[work]), s.pool.Room.Unit(c.Victim).Work, 1 + len(s.world.Room.Commits)}] = true
	}
	s.promises.at = 0 // the profile has them go
	s.promising().changed()
}

// comes says whether the time of a workload's promise has come, and somebody stands behind it.
func (s behind) comes(work int32) bool {
	p := s.promising().of(work)
	return s.hasComeFor(p) && len(s.staysBehind(p)) > 0
}
