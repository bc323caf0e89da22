package engine

import (
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/division"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// A place may be taken though another has the first right to it: what is promised (B6), and
// what is reserved and lent (B9). Who has taken it stands behind that one, and goes for it when
// it comes: whatever its own right, and however short it has run, as it knew. Nobody else gets
// it by that.

// behind is what a solver knows of who stands behind whom.
type behind struct{ *Solver }

func (s *Solver) behind() behind { return behind{s} }

// isBehind says whether a unit has its place behind a workload that waits, in the form that
// is due.
func (s behind) isBehind(u *preempt.Unit, work int32) bool {
	w := s.world
	return !s.hasServed(u.Work, work) && slices.ContainsFunc(w.Room.Seats[u.Work], func(one cluster.Seat) bool {
		return one.Step == u.Step && s.standsBehind(&one, u.Work, work)
	})
}

// standsBehind says whether a seat of one workload is behind another.
func (s behind) standsBehind(one *cluster.Seat, i, work int32) bool {
	k := &s.world.Works[i]
	if i == work || s.due == 0 || s.world.FormOf(k, k.Current).NonPreemptible || s.world.Outside(k, one.Node) {
		return false
	}
	p := s.promising().of(work)
	due := s.hasComeFor(p) && p.form == s.due-1
	f := s.world.FormOf(k, k.Current)
	head := s.enqueuing().strict(f.Queue) && division.Of(s.world).Precedes(i, f, work, s.due-1) // nobody passes it (O4)
	return !head && s.borrows(one, s.world.Definition(k, k.Current), work, s.due-1) || due && s.stepsAside(one, i, p)
}

// hasComeFor says whether the time of a promise has come; that of one for which places are gathered is not known.
func (s behind) hasComeFor(p *promise) bool {
	return p != nil && !p.gathers && p.at <= max(s.world.Now, 0)
}

// stepsAside says whether a seat of a workload is where something is promised, behind that: it
// has taken the place so, or was trusted to have left, and has passed whom it is promised to.
// Nobody steps aside for one from whom it would have the places back at once (M5): of one leaf for one that stands
// after it, and for none that it may preempt. Nor does anybody do so once more for one that is beyond its lines, and has
// lost the places again to the better right of such as had (M9).
func (s behind) stepsAside(one *cluster.Seat, i int32, p *promise) bool {
	w := s.world
	k := &w.Works[i]
	f := w.FormOf(k, k.Current)
	if p.work == i || f.NonPreemptible || w.Outside(k, one.Node) || f.Pool != s.index || !p.overlaps(w.Position[one.Node], one.Devices) {
		return false
	}
	return (one.Behind == p.work+1 || s.overran(one, p)) && (p.entitled || p.within || !s.hasServed(i, p.work)) && !s.comesFirst(i, f, p)
}

// comesFirst says whether a workload stands before one that has a promise in its leaf (O1), or may preempt it (E1).
func (s behind) comesFirst(i int32, f *cluster.Form, p *promise) bool {
	other := s.world.FormOf(&s.world.Works[p.work], p.form)
	preempts := s.pool.Policy.Preempt == preempt.WithinPool && !other.NonPreemptible && f.Priority > other.Priority
	return preempts || s.promising().laying().standsBefore(i, f, p)
}

// comesBehind says whether a task that ran has come to stand behind somebody in this solve.
func (s behind) comesBehind(one *cluster.Seat) bool {
	h := &s.world.Holdings[one.Origin]
	if one.Behind == 0 || one.Behind == h.Behind {
		return false
	}
	p := s.promising().of(one.Behind - 1)
	return p != nil && s.stepsAside(one, h.Work, p)
}

// overran says whether a seat was given while one waited who has been promised its place, and
// was expected to have ended by now (B5).
func (s behind) overran(one *cluster.Seat, p *promise) bool {
	w := s.world
	return s.pool.Policy.Reserve.TrustDurations && hasOverrun(w, one) && one.Admitted > waitingSince(&w.Works[p.work], w)
}

// staysBehind are the tasks that stand where something is promised, behind that.
func (s behind) staysBehind(p *promise) (stays []placement.Stay) {
	if !s.some() {
		return nil
	}
	ends := endings{World: s.world}
	for i, one := range s.standingOn(p) {
		if s.stepsAside(one, i, p) {
			stays = append(stays, s.promising().stayOf(&ends, i, one))
		}
	}
	return stays
}

// laid says whether a promise has been laid by what finds places for it, once more with nobody out of
// its way where those who stand behind its places so far would not do so behind the new ones: they
// go for those alone (B6).
func (s behind) laid(p *promise, lay func() bool) bool {
	all, gone := &s.promises, s.promises.profile.Behinds(p.work)
	if !lay() {
		return false
	}
	if len(gone) == 0 {
		return true
	}
	all.tellsOf(p, s.staysBehind(p))
	if s.promising().stands(p) {
		return true
	}
	all.tellsOf(p, nil)
	if lay() {
		return true
	}
	all.tellsOf(p, gone)
	return false
}

// tellsOf has the profile and the queues know of those who stand behind a promise.
func (all *promises) tellsOf(p *promise, stays []placement.Stay) {
	all.profile.Behind(p.work, stays)
	all.tree = nil
}

// some says whether anybody may stand behind a promise.
func (s behind) some() bool {
	r := &s.pool.Policy.Reserve
	return r.Evictable || r.TrustDurations || s.world.SomeBehind
}

// whom are those behind whose promises a seat of a workload stands, as the profile knows it.
func (s behind) whom(i int32, one *cluster.Seat) (holders []int32) {
	if !s.some() {
		return nil
	}
	stay := s.promising().stayOf(&endings{World: s.world}, i, one)
	stay.Until = max(s.world.Now, s.promises.profile.Round(stay.Until), 0)
	for _, p := range s.promises.list {
		if (!p.gathers || s.stepsAside(one, i, p)) && slices.ContainsFunc(s.promises.profile.Behinds(p.work), stay.IsAlike) {
			holders = append(holders, p.work)
		}
	}
	return holders
}

// without calls do as [placement.Profile.During] does, where nobody stands behind a holder.
func (s behind) without(holder int32, at, duration int64, do func()) {
	s.promises.profile.Without(holder, func() { s.promises.profile.During(at, duration, do) })
}

// seek has time be looked for on behalf of a workload, and returns what ends that.
func (s behind) seek(work int32) (end func()) {
	before := s.promises.seeking
	s.promises.seeking = work + 1
	return func() { s.promises.seeking = before }
}

// place takes places for a unit that are promised to one other alone, behind that one, if the
// policy lets it: all that is promised stands as it does, with what is in the way of that one
// gone (B6).
func (s behind) place(r reach, f *cluster.Form, d *cluster.Definition, unit gang.Unit, with gang.Siblings, asks quota.Amounts, bound func(*promise) bool) (quota.Amounts, bool, error) {
	if !s.pool.Policy.Reserve.Evictable || f.NonPreemptible {
		return nil, false, nil
	}
	x := s.pool.Index
	for _, p := range slices.Clone(s.promises.list) {
		if !bound(p) || s.hasComeFor(p) || s.comesFirst(r.work, f, p) {
			continue
		}
		others := func(other *promise) bool { return other != p && bound(other) }
		if !s.promising().admittedUntil(r, f, asks, others) {
			continue
		}
		m := x.Mark()
		s.promises.profile.KeepFree(r.until, false, s.promising().lookedAt(d, unit), func(holder int32) bool {
			other := s.promising().of(holder)
			return other != nil && others(other)
		})
		before := s.trial
		s.trial = true // what is refused here is refused beside what is held
		charge, found, err := s.placeAnywhere(f, d, unit, with, asks)
		s.trial = before
		x.Undo(m)
		if err != nil {
			return nil, false, err
		}
		if found && s.leavesTo(p, r.work, d, unit) && !s.hasCome(p) {
			s.passes = p.work + 1
			return charge, true, s.promising().takeAll(d, unit)
		}
	}
	return nil, false, nil
}

// hasCome says whether the time of a promise has come that is tried earlier, as something has left its
// places since it was: who is to start there would go at once.
func (s behind) hasCome(p *promise) bool {
	places, now := slices.Clone(s.places), max(s.world.Now, 0)
	defer func() { s.places = append(s.places[:0], places...) }()
	again, makeWay := *p, s.promises.profile.Behinds(p.work)
	again.stays = slices.Clone(p.stays)
	if p.gathers { // any time that is known is earlier
		s.promising().gathering().knowTime(&again)
	}
	lifted := s.promising().lift(func(other *promise) bool { return other == p || other.isBeyond(p) })
	has := s.promising().seek(&again, placement.Window{From: now, Before: cluster.TimeAfter(now, 1), Duration: again.duration})
	if p.gathers {
		p.tellWay(s.promises.profile, makeWay)
		s.promises.tree = nil
	}
	for _, other := range lifted {
		s.promising().hold(other)
	}
	return has
}

// leavesTo says whether some of the places that were found are promised to one, none of them to
// another besides, and the promise stands once those have left that are: but for tasks that have come
// back to where they ran, and stand there as they did.
func (s behind) leavesTo(p *promise, work int32, d *cluster.Definition, unit gang.Unit) bool {
	x, some := s.pool.Index, false
	m := x.Mark()
	defer x.Undo(m)
	at := 0
	for set, n := range unit.Add {
		for range n {
			place := s.places[at]
			at++
			if p.overlaps(place.Node, place.Devices) && s.world.Booking().StoodAt(work, int32(set), place, cluster.Running) == cluster.None {
				some = true
				if slices.ContainsFunc(s.promises.list, func(other *promise) bool { return other != p && other.overlaps(place.Node, place.Devices) }) {
					return false
				}
				continue
			}
			if x.Take(d.Sets[set].Placed, place) != nil {
				return false
			}
		}
	}
	if !some {
		return false
	}
	return s.promising().sparing().standsStill(p)
}

// borrows says whether a seat, of a form that it is in, is of what is lent, at the time, by a
// reservation of which the other, in this form, is a member and its own workload is not. The other may use all that the
// seat is of.
func (s behind) borrows(one *cluster.Seat, own *cluster.Definition, work int32, form int16) bool {
	if len(s.pool.Reserved) == 0 {
		return false
	}
	w := s.world
	strange := w.Definition(&w.Works[work], form).Stranger
	lent := false
	for _, r := range own.Stranger {
		of := &s.pool.Reserved[r]
		lent = lent || of.Lend && of.Lasts(max(w.Now, 0)) && !slices.Contains(strange, r) && s.pool.IsIn(of.Set, w.Position[one.Node], one.Devices)
	}
	return lent && !slices.ContainsFunc(strange, func(r int32) bool {
		of := &s.pool.Reserved[r]
		return of.Lasts(max(w.Now, 0)) && s.pool.IsIn(of.Set, w.Position[one.Node], one.Devices)
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
	k, form := &w.Works[t.Unit.Work], w.Room.Commits[t.Commit].Form
	return slices.ContainsFunc(t.Seats, func(one cluster.Seat) bool {
		if one.Commit >= 0 {
			return false
		}
		passed := one.Behind == t.Beneficiary+1 || hasOverrun(w, &one)
		return passed || s.borrows(&one, w.Definition(k, w.Live[k.Live].Form), t.Beneficiary, form)
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
	var held []int32
	if k.Live >= 0 && w.Holds(k) {
		held = w.Live[k.Live].Held
	}
	asked := roomQuestion{question{f.Definition, f.Queue, cluster.None, at, f.NonPreemptible}, int32(s.phase), it.Stage > 0}
	if held == nil && !promised && s.stayed[asked].Stands(p) {
		s.decision.Work.Remembered++
		return false, nil
	}
	seats := len(w.Room.Seats[it.ID])
	s.due, s.victims = at+1, s.victims[:0]
	made, err := s.preempting().makeRoomForAny(k, it, at, held)
	s.due = 0
	for _, victim := range s.victims {
		if made {
			s.served[servedBy{it.ID, seats, victim, 0}] = true
		}
	}
	if held == nil && !made && err == nil && !promised {
		s.stayed[asked] = p.UntilChanged()
	}
	return made, err
}

// A servedBy is a workload with so many places, for whom another has made way by this right. If it has lost the
// places again to somebody's better one, that one does not make way for it once more in the same solve. Nor does one do
// so that would give somebody a right to what ran, while nothing else starts: since is how often something has, plus one.
type servedBy struct {
	work   int32
	seats  int
	victim int32
	since  int
}

// hasServed says whether one has made way for another by this right, that has lost the places again, or would in vain.
func (s behind) hasServed(i, work int32) bool {
	seats := len(s.world.Room.Seats[work])
	return s.served[servedBy{work, seats, i, 0}] || s.served[servedBy{work, seats, i, 1 + len(s.world.Room.Commits)}]
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

// wouldExpose says whether somebody who was refused within its lines would have a right to what ran, once those have gone
// who stand behind a unit that is beyond its own, and that has started (M9).
func (s exposing) wouldExpose(it queue.Item, b *preempt.Preemptor, gone []preempt.Justification) (exposed bool, err error) {
	p := s.pool
	if s.phase == withinLines || b.Entitled || len(s.claimants) == 0 || !s.ranBeside(b.Leaf) {
		return false, nil
	}
	places, asks, claims := s.places, s.asks, s.claims
	nodes, use, units := p.Index.Mark(), p.Tree.Mark(), p.Room.Mark()
	put := s.vacated(gone)
	defer func() {
		put()
		p.Index.Undo(nodes)
		p.Tree.Undo(use)
		p.Room.Undo(units)
		s.places, s.asks, s.claims = places, asks, claims
	}()
	for _, c := range gone {
		if err := p.Room.Take(c.Victim); err != nil {
			return false, err
		}
	}
	if !b.Start() {
		return true, nil
	}
	taken := slices.Clone(s.places)
	s.places, s.asks, s.claims = nil, nil, false
	var able []*preempt.Preemptor
	for _, other := range s.claimants {
		c, err := s.claimant(other, b.Work)
		if err != nil {
			return false, err
		}
		if c != nil && c.Leaf != b.Leaf && s.gives(c, b.Leaf) && s.mayGain(c, b.Asks) {
			able = append(able, c)
		}
	}
	if len(able) == 0 {
		return false, nil
	}
	by, err := s.takesOnce(able, it, s.world.FormOf(&s.world.Works[b.Work], it.Form), b.Add, taken)
	return by != nil, err
}

// vacated has the table be without the seats of those who are to go, and returns what has them be there again.
func (s exposing) vacated(gone []preempt.Justification) (put func()) {
	w, before := s.world, make(map[int32][]cluster.Seat)
	for _, c := range gone {
		u := s.pool.Room.Unit(c.Victim)
		if _, some := before[u.Work]; !some {
			before[u.Work] = w.Room.Seats[u.Work]
		}
		w.Room.Seats[u.Work] = slices.DeleteFunc(slices.Clone(w.Room.Seats[u.Work]), func(one cluster.Seat) bool { return one.Step == u.Step })
	}
	return func() {
		for i, seats := range before { // each for itself: order cannot matter
			w.Room.Seats[i] = seats
		}
	}
}

// behindWhom is the workload whose promised places what starts or moves by an action has taken, none
// if it has taken nobody's.
func behindWhom(d *cluster.Decision, a *cluster.Action) int32 {
	w := d.World
	if a.Kind != cluster.Start && a.Kind != cluster.Resize && a.Kind != cluster.Move {
		return cluster.None
	}
	k := &w.Works[a.Work]
	s := solverOf(w, k, k.Current).behind()
	if len(s.promises.list) == 0 {
		return cluster.None
	}
	for at := range w.Room.Seats[a.Work] {
		one := &w.Room.Seats[a.Work][at]
		if one.Behind == 0 || one.Commit < 0 || !slices.Contains(d.Placed[a.From:a.To], one.TaskPlace) {
			continue
		}
		if p := s.promising().of(one.Behind - 1); p != nil && s.stepsAside(one, a.Work, p) {
			return p.work
		}
	}
	return cluster.None
}

// outs are the units that the search at hand has taken out of the index, which stand in the table. Of a
// workload of many units, asked about one after the other, it is known whether it has taken any.
type outs struct {
	behind
	asked int32 // about whom, plus one
	some  bool
}

// outs are those of the pool.
func (s behind) outs() outs { return outs{behind: s} }

// has says whether a unit is one of them.
func (o *outs) has(i, step int32) bool {
	if !o.promises.making || !o.world.Room.Told {
		return false
	}
	room := o.pool.Room
	if o.asked != i+1 {
		o.asked, o.some = i+1, false
		for id := range room.Of(i) {
			o.some = o.some || room.Taken(id)
		}
	}
	if !o.some {
		return false
	}
	for id := range room.Of(i) {
		if room.Taken(id) && room.Unit(id).Step == step {
			return true
		}
	}
	return false
}

// letGo is what ends and has no place in what is tried: the search at hand has taken it, or places it anew
// (M9). Its queue is not charged for it then.
type letGo struct {
	outs
	at int // where among its seats the start was found of what was asked about last
}

// has says whether what ends is of that.
func (l *letGo) has(a *ended) bool {
	seats := l.world.Room.Seats[a.work]
	return len(seats) == 0 || a.start >= 0 && !l.stands(seats, a.start) || l.outs.has(a.work, a.step)
}

// stands says whether a start is among the seats of a workload. What is asked about one after the other
// mostly is there one after the other.
func (l *letGo) stands(seats []cluster.Seat, start int32) bool {
	of := func(one cluster.Seat) bool { return one.Commit == start }
	if next := min(l.at, len(seats)); slices.ContainsFunc(seats[next:min(next+2, len(seats))], of) {
		l.at = next + slices.IndexFunc(seats[next:], of)
		return true
	}
	l.at = max(0, slices.IndexFunc(seats, of))
	return of(seats[l.at])
}
