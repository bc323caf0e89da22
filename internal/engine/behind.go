package engine

import (
	"slices"

	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// A place may be taken though another has the first right to it: what is reserved and lent
// (B9). Who has taken it stands behind that one, and goes for it when it comes: whatever its
// own right, and however short it has run, as it knew. Nobody else gets it by that.

// behind is what a solver knows of who stands behind whom.
type behind struct{ *Solver }

// isBehind says whether a unit has its place behind a workload that waits, in the form that
// is due.
func (s behind) isBehind(u *preempt.Unit, work int32) bool {
	w := s.world
	return slices.ContainsFunc(w.Room.Seats[u.Work], func(one Seat) bool {
		return one.step == u.Step && s.standsBehind(&one, u.Work, work)
	})
}

// standsBehind says whether a seat of one workload is behind another.
func (s behind) standsBehind(one *Seat, i, work int32) bool {
	k := &s.world.Works[i]
	if i == work || s.due == 0 || s.world.FormOf(k, k.Current).NonPreemptible || s.world.Outside(k, one.Node) {
		return false
	}
	return s.borrows(one, i, work)
}

// borrows says whether a seat is of what is lent, at the time, by a reservation of which the
// other is a member and its own workload is not. The other may use all that the seat is of.
func (s behind) borrows(one *Seat, i, work int32) bool {
	if len(s.pool.Reserved) == 0 {
		return false
	}
	w := s.world
	k, b := &w.Works[i], &w.Works[work]
	strange := w.Definition(b, s.due-1).Stranger
	lent := false
	for _, r := range w.Definition(k, k.Current).Stranger {
		of := &s.pool.Reserved[r]
		lent = lent || of.Lend && of.lasts(max(w.Now, 0)) && !slices.Contains(strange, r) && s.pool.isIn(of.Set, w.Position[one.Node], one.Devices)
	}
	return lent && !slices.ContainsFunc(strange, func(r int32) bool {
		of := &s.pool.Reserved[r]
		return of.lasts(max(w.Now, 0)) && s.pool.isIn(of.Set, w.Position[one.Node], one.Devices)
	})
}

// lends says whether something is lent, at the time, to whose members the workload belongs.
func (s behind) lends(d *Definition) bool {
	for r := range s.pool.Reserved {
		if of := &s.pool.Reserved[r]; of.Lend && of.lasts(max(s.world.Now, 0)) && !slices.Contains(d.Stranger, int32(r)) {
			return true
		}
	}
	return false
}

// ownGround is the definition of a form for whom room is made: nobody goes for what is only
// borrowed.
func (s preempting) ownGround(i int32, at int16) *Definition {
	w := s.world
	d := w.Definition(&w.Works[i], at)
	if !slices.ContainsFunc(d.Stranger, func(r int32) bool { return s.pool.Reserved[r].Lend }) {
		return d
	}
	return s.promising().openAt(i, at, max(w.Now, 0))
}

// take has whoever stands behind the next unit of a form make way for it, and says
// whether it has started: one within its lines in its turn, the others when nobody else
// moves.
func (s behind) take(it queue.Item, at int16) (bool, error) {
	w, p := s.world, s.pool
	k := &w.Works[it.ID]
	f, d := w.FormOf(k, at), w.Definition(k, at)
	if s.kept != nil || s.placer.UsedNodes || s.phase == growing || !d.Verdict.OK || !s.lends(d) {
		return false, nil
	}
	var held []int32
	if k.Live >= 0 && w.holds(k) {
		held = w.live[k.Live].held
	}
	asked := roomQuestion{question{f.Definition, f.Queue, None, at, f.NonPreemptible}, int32(s.phase), it.Stage > 0}
	if held == nil && s.stayed[asked].stands(p) {
		s.decision.Work.Remembered++
		return false, nil
	}
	s.due = at + 1
	made, err := s.preempting().makeRoomForAny(k, it, at, held)
	s.due = 0
	if held == nil && !made && err == nil {
		s.stayed[asked] = p.untilChanged()
	}
	return made, err
}

// wouldExpose is a bound: whether somebody who was refused within its lines may have a right
// to what ran, once those have gone who stand behind a unit that is beyond its own (M9).
func (s exposing) wouldExpose(b *preempt.Preemptor, gone []preempt.Justification) bool {
	p := s.pool
	if b.Entitled || len(s.claimants) == 0 || !s.ranBeside(b.Leaf) {
		return false
	}
	use := p.Tree.Mark()
	defer p.Tree.Undo(use)
	for _, c := range gone {
		u := p.Room.Unit(c.Victim)
		if p.Tree.Release(int(u.Leaf), u.Charge, u.NonPreemptible) != nil {
			return true
		}
	}
	if p.Tree.Charge(int(b.Leaf), b.Asks, b.NonPreemptible) != nil {
		return true
	}
	asks := s.asks
	defer func() { s.asks = asks }()
	s.asks = nil
	return slices.ContainsFunc(s.claimants, func(it queue.Item) bool {
		other, err := s.claimant(it, b.Work)
		return err != nil || other != nil && other.Leaf != b.Leaf && s.mayGain(other, b.Leaf, quota.Amounts(b.Asks))
	})
}
