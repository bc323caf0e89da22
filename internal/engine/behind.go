package engine

import (
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/division"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
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
// after it, and for none that it may preempt. Nor does anybody do so once more for one that is beyond its lines, and
// has lost the places again to the better right of such as had (M9), nor while it leaves another place and can take
// back nothing by its right (S5); but for a workload for which places are gathered the time is yet to come (B8). For
// nobody it does so in vain, whatever that was promised as: who is beyond its lines by now waits for who overruns (M9).
func (s behind) stepsAside(one *cluster.Seat, i int32, p *promise) bool {
	w := s.world
	k := &w.Works[i]
	f := w.FormOf(k, k.Current)
	if p.work == i || f.NonPreemptible || w.Outside(k, one.Node) || f.Pool != s.index || !p.overlaps(w.Position[one.Node], one.Devices) {
		return false
	}
	if s.wouldInVain(i, p.work) {
		return false
	}
	return (one.Behind == p.work+1 || s.overran(one, p)) && (p.entitled || p.within || p.gathers || !s.hasServed(i, p.work) && !k.IsLeaving(w)) && !s.comesFirst(i, f, p)
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

// holdersAhead are those behind whose promises a seat of a workload stands, as the profile knows it.
func (s behind) holdersAhead(i int32, one *cluster.Seat) (holders []int32) {
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

// onBehalfOf has time be looked for on behalf of a workload, and returns what ends that.
func (s behind) onBehalfOf(work int32) (end func()) {
	before := s.promises.seeking
	s.promises.seeking = work + 1
	return func() { s.promises.seeking = before }
}

// place takes places for a unit that are promised to one other alone, behind that one, if the
// policy lets it: all that is promised stands as it does, with what is in the way of that one
// gone (B6). some says that there are places that it may not take as things stand: beside what else starts it may find
// others, or the one that they are promised to begin no earlier any more.
func (s behind) place(r reach, f *cluster.Form, d *cluster.Definition, unit gang.Unit, with gang.Siblings, asks quota.Amounts, bound func(*promise) bool) (charge quota.Amounts, found, some bool, err error) {
	if !s.pool.Policy.Reserve.Evictable || f.NonPreemptible {
		return nil, false, false, nil
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
		tried := s.tries() // what is refused here is refused beside what is held
		charge, found, err := s.placeAnywhere(f, d, unit, with, asks)
		tried()
		x.Undo(m)
		if err != nil {
			return nil, false, some, err
		}
		if found && s.leavesTo(p, r.work, d, unit) && !s.hasCome(p) {
			s.passes = p.work + 1
			return charge, true, true, s.promising().takeAll(d, unit)
		}
		some = some || found
	}
	return nil, false, some, nil
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
	has := s.promising().findEarliest(&again, placement.Window{From: now, Before: cluster.TimeAfter(now, 1), Duration: again.duration})
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
	home := s.world.Booking().Homes(work, cluster.Running)
	for task, set := range cluster.TasksOf(unit) {
		place := s.places[task]
		if stands := home(int32(set), place) != cluster.None; p.overlaps(place.Node, place.Devices) && (!stands || p.gathers) {
			if stands {
				continue // where places are gathered it is until it goes (B8)
			}
			some = true
			if slices.ContainsFunc(s.promises.list, func(other *promise) bool { return other != p && other.overlaps(place.Node, place.Devices) }) {
				return false
			}
			continue
		}
		_ = x.Take(d.Sets[set].Placed, place) // it was found free
	}
	if !some {
		return false
	}
	return s.promising().sparing().standsStill(p)
}

// promiseTakenBy is the workload whose promised places what starts or moves by an action has taken, none
// if it has taken nobody's.
func promiseTakenBy(d *cluster.Decision, a *cluster.Action) int32 {
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
