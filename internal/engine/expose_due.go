package engine

import (
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/queue"
)

// exposesWhenDue says whether somebody would have a right to what ran, once those have gone who stand behind a unit
// that is beyond its own lines, and that has started (M9): a workload that was refused within its lines, or one of
// those, which waits again. The former is tried, and of the latter it is a bound. Where the time of the unit has come
// those who were trusted to have left it wait for as well, if with the unit there they had a right to anything: they
// would take the places back from it at once, with others in some of these by then, and would have gone for nobody (M2).
func (s exposing) exposesWhenDue(it queue.Item, b *preempt.Preemptor, gone []preempt.Justification) (exposed bool, err error) {
	promised := s.behind().comes(b.Work)
	if b.Entitled || s.pool.Policy.Reclaim == preempt.NoReclaim || !promised && !s.ranBeside(b.Leaf) {
		return false, nil
	}
	gains := func(c *preempt.Preemptor) bool {
		return c != nil && c.Leaf != b.Leaf && s.gives(c, b.Leaf) && s.mayGain(c, b.Asks)
	}
	starts, err := s.onceGone(b, gone, func(before map[int32][]cluster.Seat, taken []placement.Place) (err error) {
		if promised {
			end := s.asStarted(it, b.Add, taken)
			exposed, err = s.wouldTakeBack(b.Work, gone, before, gains)
			end()
		} else {
			exposed, err = s.mayTakeFromOthers(b.Leaf, gone, before, gains)
		}
		if exposed || err != nil {
			return err
		}
		able, err := s.refusedThat(gains, b.Work)
		if len(able) == 0 || err != nil {
			return err
		}
		by, err := s.takesOnce(able, it, s.world.FormOf(&s.world.Works[b.Work], it.Form), b.Add, taken)
		exposed = by != nil
		return err
	})
	return err == nil && (exposed || !starts), err
}

// onceGone calls do where those have gone who are to go for a workload, and that has started, with what those had and the
// places that it has found; all is as it was then. It says whether the workload starts.
func (s exposing) onceGone(b *preempt.Preemptor, gone []preempt.Justification, do func(before map[int32][]cluster.Seat, taken []placement.Place) error) (starts bool, err error) {
	p := s.pool
	places, asks, claims, due := s.places, s.asks, s.claims, s.due
	nodes, use, units, left := p.Index.Mark(), p.Tree.Mark(), p.Room.Mark(), len(s.rest)
	for _, c := range gone {
		s.behind().leaveUnit(c.Victim, b.Work)
	}
	before, put := s.vacated(gone)
	defer func() {
		put()
		p.Index.Undo(nodes)
		p.Tree.Undo(use)
		p.Room.Undo(units)
		s.places, s.asks, s.claims, s.due, s.rest = places, asks, claims, due, s.rest[:left]
	}()
	for _, c := range gone {
		if err := p.Room.Take(c.Victim); err != nil {
			return false, err
		}
	}
	if !b.Start() {
		return false, nil
	}
	taken := slices.Clone(s.places)
	s.places, s.asks, s.claims, s.due = nil, nil, false, 0 // others ask by rights of their own
	return true, do(before, taken)
}

// takesBack is who waits and would reclaim at once what a workload would start with for which protected units of its
// queue are to go though it is less protected than they (E7), or nobody: they would go for nobody, and others would take
// the places by turns where the lines are not what keeps them apart (M2, M5). It says whether the workload starts at all.
func (s exposing) takesBack(it queue.Item, b *preempt.Preemptor, gone []preempt.Justification) (by int32, starts bool, err error) {
	by = cluster.None
	if s.pool.Policy.Reclaim == preempt.NoReclaim {
		return by, true, nil
	}
	starts, err = s.onceGone(b, gone, func(_ map[int32][]cluster.Seat, taken []placement.Place) error {
		defer s.asStarted(it, b.Add, taken)()
		asked := make(map[kind]bool)
		for _, i := range s.seekers() {
			c, err := s.claimantLike(i, b, asked)
			if err != nil {
				return err
			}
			if c != nil && s.reclaimsFrom(c, b.Work) {
				by = i
				return nil
			}
		}
		return nil
	})
	return by, starts, err
}

// claimantLike describes the next unit of a workload that may have a right to what another has in its leaf, as it stands
// now; nil where it has none, or one was asked that is like it.
func (s exposing) claimantLike(i int32, b *preempt.Preemptor, asked map[kind]bool) (*preempt.Preemptor, error) {
	w := s.world
	k := &w.Works[i]
	f := w.FormOf(k, 0)
	if f.Pool != s.index || f.Queue == b.Leaf || !wantsMore(w, k) && k.Status != cluster.WaitsForLeavers || !f.NonPreemptible && s.pool.Policy.ReclaimNonPreemptibleOnly {
		return nil, nil
	}
	if like := (kind{f.Queue, f.Definition, f.Priority, f.NonPreemptible}); !w.Holds(k) {
		if asked[like] {
			return nil, nil
		}
		asked[like] = true
	}
	it, some := itemOf(w, i, 0)
	if !some {
		return nil, nil
	}
	c, err := s.claimant(it, b.Work)
	if err != nil || c == nil || !s.gives(c, b.Leaf) || !s.mayGain(c, nil) {
		return nil, err
	}
	return c, nil
}

// reclaimsFrom says whether somebody who waits finds no place, and takes something of a workload by a reclaim.
func (s exposing) reclaimsFrom(c *preempt.Preemptor, work int32) bool {
	if s.pool.Index.Releasing() { // what it would claim counts as room
		defer letClaim(s.Solver, c)()
	}
	if s.preempting().wouldStart(c) {
		return false
	}
	proposal, found := s.wouldReclaim(c)
	return found && slices.ContainsFunc(proposal.Justifications, func(one preempt.Justification) bool {
		return !one.Moves && s.pool.Room.Unit(one.Victim).Work == work
	})
}

// mayTakeFromOthers is a bound: whether one of those that go may have a right to what ran of others on the side of a leaf.
func (s exposing) mayTakeFromOthers(leaf int32, gone []preempt.Justification, before map[int32][]cluster.Seat, gains func(*preempt.Preemptor) bool) (bool, error) {
	for _, c := range gone {
		u := s.pool.Room.Unit(c.Victim)
		own, _ := cluster.PartSeats(before[u.Work], u.Step)
		again, err := s.waitsAgain(c, own)
		if err != nil || gains(again) && s.othersRan(sideOf(s.pool, leaf, u.Leaf), gone) {
			return err == nil, err
		}
	}
	return false, nil
}

// wouldTakeBack says whether one of those that go and were trusted to have left (B5) has a right to what the workload
// has that they wait for, or to what ran, as it does not find a place beside it together with the others, nor one that
// something else holds that this solve has started, and that it may take from that (M9).
func (s exposing) wouldTakeBack(work int32, gone []preempt.Justification, before map[int32][]cluster.Seat, gains func(*preempt.Preemptor) bool) (back bool, err error) {
	units := s.pool.Room.Mark()
	defer s.pool.Room.Undo(units)
	s.preempting().undone(func() bool {
		for _, c := range gone {
			u := s.pool.Room.Unit(c.Victim)
			own, _ := cluster.PartSeats(before[u.Work], u.Step)
			if c.Moves || !s.isTrusted(own, work) {
				continue
			}
			again, failed := s.waitsAgain(c, own)
			if may := gains(again); failed == nil && again != nil && !again.Start() && may {
				back, failed = s.takesFrom(again, work)
			}
			if err = failed; back || err != nil {
				break
			}
		}
		return back
	})
	return back, err
}

// takesFrom says whether somebody who waits has a reclaim which takes what ran before, or what a workload has just
// started. Where it takes nothing but what others have, it does so.
func (s exposing) takesFrom(b *preempt.Preemptor, work int32) (bool, error) {
	room := s.pool.Room
	proposal, found := s.wouldReclaim(b)
	if !found {
		return false, nil
	}
	victims := slices.Clone(proposal.Justifications)
	if slices.ContainsFunc(victims, func(c preempt.Justification) bool {
		u := room.Unit(c.Victim)
		return u.Running > 0 || u.Work == work
	}) {
		return true, nil
	}
	for _, c := range victims {
		if err := room.Take(c.Victim); err != nil {
			return false, err
		}
	}
	return !b.Start(), nil
}

// wouldReclaim is what somebody who waits would take by a reclaim, with others that move beside that where none serves
// else (M10).
func (s exposing) wouldReclaim(b *preempt.Preemptor) (proposal preempt.Proposal, found bool) {
	for _, moves := range [...]int{0, relocations(s.pool)} {
		b.Relocations = moves
		for _, mode := range s.reclaims(b) {
			proposal, refusal, found := s.pool.Room.Find(b, mode)
			s.decision.Work.Candidates += int64(refusal.Steps)
			if found {
				return proposal, true
			}
		}
	}
	return proposal, false
}

// refusedThat are those of the workloads refused within their lines in this round for which a condition holds, while
// another starts.
func (s exposing) refusedThat(holds func(*preempt.Preemptor) bool, starts int32) (able []*preempt.Preemptor, err error) {
	if s.phase == withinLines { // they are those of the round before until then
		return nil, nil
	}
	for _, it := range s.claimants {
		c, err := s.claimant(it, starts)
		if err != nil {
			return nil, err
		}
		if holds(c) {
			able = append(able, c)
		}
	}
	return able, nil
}

// vacated has the table be without the seats of those who are to go, and returns what their workloads had, and what
// has it be there again.
func (s exposing) vacated(gone []preempt.Justification) (before map[int32][]cluster.Seat, put func()) {
	w := s.world
	before = make(map[int32][]cluster.Seat)
	for _, c := range gone {
		u := s.pool.Room.Unit(c.Victim)
		if _, some := before[u.Work]; !some {
			before[u.Work] = w.Room.Seats[u.Work]
		}
		w.Room.Seats[u.Work] = slices.DeleteFunc(slices.Clone(w.Room.Seats[u.Work]), func(one cluster.Seat) bool { return one.Step == u.Step })
	}
	return before, func() {
		for i, seats := range before { // each for itself: order cannot matter
			w.Room.Seats[i] = seats
		}
	}
}

// othersRan says whether something preemptible that ran in the state, and has its place still, is in a queue or below
// it, of another workload than those that go.
func (s exposing) othersRan(q int32, gone []preempt.Justification) bool {
	w, p := s.world, s.pool
	for at := range w.Holdings {
		h := &w.Holdings[at]
		f := w.FormOf(&w.Works[h.Work], h.Form)
		if h.Phase == cluster.Running && !h.Fresh && !f.NonPreemptible && f.Pool == s.index && under(p, f.Queue, q) &&
			slices.ContainsFunc(w.Room.Seats[h.Work], func(one cluster.Seat) bool { return one.Origin == int32(at) }) &&
			!slices.ContainsFunc(gone, func(c preempt.Justification) bool { return p.Room.Unit(c.Victim).Work == h.Work }) {
			return true
		}
	}
	return false
}

// isTrusted says whether seats are of what runs, and has not taken its place behind a workload as it knew (B6): it was
// trusted to have left (B5).
func (s exposing) isTrusted(seats []cluster.Seat, work int32) bool {
	w := s.world
	return slices.ContainsFunc(seats, func(one cluster.Seat) bool { return w.Booking().Ran(&one) }) &&
		!slices.ContainsFunc(seats, func(one cluster.Seat) bool { return one.Behind == work+1 })
}

// waitsAgain describes a victim, which had some seats, as it waits once it has gone; nil where it does not, or
// never reclaims.
func (s exposing) waitsAgain(c preempt.Justification, own []cluster.Seat) (*preempt.Preemptor, error) {
	w, u := s.world, s.pool.Room.Unit(c.Victim)
	if s.wouldEnd(c) || s.pool.Policy.ReclaimNonPreemptibleOnly {
		return nil, nil
	}
	k := &w.Works[u.Work]
	add := make([]int32, len(w.Definition(k, k.Current).Sets))
	for at := range own {
		add[own[at].Set]++
	}
	asks, err := s.unitAsks(w.Definition(k, k.Current), gang.Unit{Add: add}, u.Step == 0)
	if err != nil {
		return nil, err
	}
	it := wholeItem(w, u.Work, k.Current)
	if u.Step > 0 {
		it.Stage = queue.AboveMinimum
	}
	return s.preempting().preemptor(k, it, k.Current, add, slices.Clone(asks)), nil
}
