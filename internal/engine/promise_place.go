package engine

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// A reach is for whom places are looked for and by when it has left them, for sure (B5).
type reach struct {
	work  int32
	until int64
	// moves: it stands already, and nobody makes way for it.
	moves bool
	// cut is until, of what has left them by then because it is cut to fit a hole; or 0.
	cut int64
}

// cutTo is a reach that is cut to end by a time.
func (r reach) cutTo(end int64) reach {
	r.until = min(r.until, end)
	r.cut = r.until
	return r
}

// within is the reach of what has these seats, of which some may be cut.
func (r reach) within(seats []cluster.Seat) reach {
	for at := range seats {
		if end := seats[at].Until; end > 0 {
			r = r.cutTo(end)
		}
	}
	return r
}

// startOrCut starts the next unit of a workload or, where it is content with less than its
// limit and finds no places until that, in a hole that ends earlier (B1): the one that ends
// last of those in which it finds some.
func (s promising) startOrCut(k *cluster.Work, it queue.Item, f *cluster.Form) (outcome, error) {
	result, err := s.start(k, it, f)
	if result != byCapacity || err != nil {
		return result, err
	}
	return startInHole(s, k, it, s.world.Definition(k, it.Form).Unit.Tasks(), func() (outcome, error) {
		result, _, err := s.tryUnits(k, it, f, nil)
		return result, err
	})
}

// startInHole tries to start so many tasks of a workload, for which there is no place until their limit, in each of the
// holes that end earlier, if it is content with one (B1).
func startInHole(s promising, k *cluster.Work, it queue.Item, tasks int32, try func() (outcome, error)) (outcome, error) {
	d := s.world.Definition(k, it.Form)
	if d.Times.Least == 0 || k.Status != cluster.Waiting || s.world.Holds(k) {
		return byCapacity, nil
	}
	defer func() { s.cut = 0 }()
	for _, s.cut = range s.holesFor(it.ID, d, tasks) {
		if result, err := try(); result == started || err != nil {
			return result, err
		}
	}
	return byCapacity, nil
}

// holesFor are the ends of holes that are no shorter than a workload is content with, and too short
// for so many tasks of it uncut, the latest first: where somebody has been promised something, or people have
// reserved something.
func (s promising) holesFor(i int32, d *cluster.Definition, tasks int32) (ends []int64) {
	now := max(s.world.Now, 0)
	least, most := cluster.TimeAfter(now, d.Times.Least), s.reaches(i, d, tasks).until
	note := func(at int64) {
		if at >= least && at < most {
			ends = append(ends, at)
		}
	}
	for _, p := range s.promises.list {
		if p.work != i {
			note(p.at)
		}
	}
	for _, r := range d.Stranger {
		note(s.pool.Reserved[r].From)
	}
	slices.Sort(ends)
	ends = slices.Compact(ends)
	slices.Reverse(ends)
	return ends
}

// reaches is until when so many tasks of a workload are in the way that would start now.
func (s *Solver) reaches(i int32, d *cluster.Definition, tasks int32) reach {
	now := max(s.world.Now, 0)
	switch {
	case !reserves(s.pool):
		return reach{work: i, until: cluster.Never}
	case !s.pool.Policy.Reserve.TrustDurations || !d.Times.Fixed:
		return reach{work: i, until: cluster.TimeAfter(now, s.pool.Most(&d.Times, tasks))}
	}
	joint := jointOf(s.world, i, &d.Times, false)
	joint.Join(now, tasks)
	return reach{work: i, until: cluster.PredictedEnd(now, joint.Done(), cluster.TimeAfter(now, d.Times.Limit), 0)}
}

// reachesAgain is until when a start of this solve is in the way that is placed anew, for which
// nobody makes way.
func (s *Solver) reachesAgain(i int32, d *cluster.Definition, tasks int32) reach {
	out := s.reaches(i, d, tasks)
	out.moves = true
	return out
}

// reachesStill is until when a unit is in the way that was taken, and ran or was started in this solve.
func (s *Solver) reachesStill(o *cluster.OutUnit) reach {
	w, i := s.world, o.Unit.Work
	k := &w.Works[i]
	d, trusts, ends := w.Definition(k, k.Current), s.pool.Policy.Reserve.TrustDurations, endings{World: w, withReleased: true}
	out := s.reachesAgain(i, d, int32(len(o.Seats)))
	if trusts && d.Times.Fixed { // it goes on with what it does
		out.until = max(w.Now, 0)
	}
	out = out.within(o.Seats)
	for at := range o.Seats {
		if one := &o.Seats[at]; one.Origin >= 0 || trusts && d.Times.Fixed {
			end := endsForSure(one, w)
			if trusts {
				end = min(end, ends.endsIn(i, one))
			}
			out.until = max(out.until, end)
		}
	}
	return out
}

// A reaching is what a refusal beside what is held depends on, of the unit that is first of
// its definition: what is asked, how many promises it reaches, and whether those within their
// lines only bind it; of what is cut also to when it is.
type reaching struct {
	definition, reached              int32
	entitled, claims, nonPreemptible bool
	cutTo                            int64
}

// yieldsToStart says whether a promise need not be kept for a workload that would start in a
// form: its own, one that is put off for it, one that is beyond its lines where that is within its own, and, to one that
// has been promised nothing itself, that of one of its leaf that it stands before (B4); but not
// where one that asks the same stands before both and keeps to its own promise (M9).
func (s promising) yieldsToStart(p *promise, i int32, f *cluster.Form, entitled bool) bool {
	if p.work == i || p.isPutOffFor(i) || entitled && !p.entitled && !p.within {
		return true
	}
	w := s.world
	grows := w.Works[i].Status == cluster.Complete
	return s.of(i) == nil && s.laying().goesBefore(i, f, grows, p) && !slices.ContainsFunc(s.promises.list, func(x *promise) bool {
		other := w.FormOf(&w.Works[x.work], x.form)
		return other.Queue == f.Queue && other.Definition == f.Definition && !s.laying().goesBefore(i, f, grows, x)
	})
}

// placeBeside takes places for a unit beside what is held that it reaches. Where there are none
// it takes others, if every promise in whose way it is finds equal places at the same time
// (B5).
func (s promising) placeBeside(r reach, f *cluster.Form, d *cluster.Definition, unit gang.Unit, beside gang.Siblings, asks quota.Amounts) (quota.Amounts, bool, error) {
	all := &s.promises
	trial := s.trial || all.making
	if !trial {
		if err := s.layAgain(); err != nil {
			return nil, false, err
		}
	}
	entitled := s.pool.Room.Entitled(f.Queue, asks)
	reached, own := int32(0), false
	due := s.sparing().due(r)
	keeps := func(p *promise) bool {
		return s.isOfAnother(p, r.work) && (r.moves || !s.yieldsToStart(p, r.work, f, entitled))
	}
	bound := func(p *promise) bool { return p.at < r.until && keeps(p) }
	for _, p := range all.list {
		switch {
		case bound(p):
			reached++
			own = own || s.behind().comesFirst(r.work, f, p) // others that ask the same may take places behind it
		case p.at < r.until && (p.entitled || !entitled):
			own = true // it yields to this one, and not to others that ask the same
		}
	}
	if reached == 0 {
		return s.placeAnywhere(f, d, unit, beside, asks)
	}
	asked := reaching{f.Definition, reached, entitled, s.claims, f.NonPreemptible, r.cut}
	remembers := !trial && !own && due == nil && !(s.pool.Policy.Reserve.Evictable && s.of(r.work) != nil) && len(beside.Held) == 0 && !s.placer.UsedNodes &&
		s.world.Works[r.work].Live < 0 && slices.Equal(unit.Add, d.Unit.Add)
	if remembers && all.refused[asked].Stands(s.pool) {
		s.decision.Work.Remembered++
		return nil, false, nil
	}
	behindIt := s.sparing().behindDue(due, r, trial) // also for whoever makes room for it then
	if !s.hasRoom(d, unit) {
		if remembers {
			all.refused[asked] = s.pool.UntilFreed()
		}
		return nil, false, nil
	}
	charge, found, err := s.placeFree(r, f, d, unit, beside, asks, keeps)
	if !found && err == nil && len(behindIt) > 0 {
		charge, found, err = s.placeFree(r, f, d, unit, beside, asks, func(p *promise) bool { return keeps(p) && !slices.Contains(behindIt, p) })
	}
	some := false
	if !found && err == nil && !trial && !r.moves {
		charge, found, some, err = s.behind().place(r, f, d, unit, beside, asks, bound)
	}
	if found || err != nil {
		return charge, found, err
	}
	if remembers {
		all.refused[asked] = s.pool.UntilRoom()
		if d.Unsure || some {
			all.refused[asked] = s.pool.UntilChanged()
		}
	}
	return nil, false, nil
}

// hasRoom says whether there is room for the tasks of each set of a unit by itself, were nothing held:
// whoever has none has none beside what is held.
func (s promising) hasRoom(d *cluster.Definition, unit gang.Unit) bool {
	x := s.pool.Index // what is not free yet may be taken too
	return s.claims || x.Releasing() || placement.HasRoom(x, needsOf(d, unit))
}

// needsOf is for how many tasks of which shapes there has to be room.
func needsOf(d *cluster.Definition, unit gang.Unit) []placement.Need {
	needs := make([]placement.Need, len(unit.Add))
	for set, n := range unit.Add {
		needs[set] = placement.Need{Shape: d.Sets[set].Placed, Tasks: int64(n)}
	}
	return needs
}

// placeFree takes places for a unit beside what is held by those promises that it reaches and that are to be
// kept, or where each of these finds equal places beside all that are.
func (s promising) placeFree(r reach, f *cluster.Form, d *cluster.Definition, unit gang.Unit, beside gang.Siblings, asks quota.Amounts, keeps func(*promise) bool) (quota.Amounts, bool, error) {
	all, x, trial := &s.promises, s.pool.Index, s.trial || s.promises.making
	bound := func(p *promise) bool { return p.at < r.until && keeps(p) }
	if !s.admittedUntil(r, f, asks, bound) {
		return nil, false, nil
	}
	free := x.Mark()
	_, some := all.profile.KeepFree(r.until, trial && !all.intact, s.lookedAt(d, unit), func(holder int32) bool {
		p := s.of(holder)
		return p != nil && bound(p)
	})
	if some || trial { // while room is made nothing else is tried
		tried := s.tries() // what is refused here is refused beside what is held
		charge, found, err := s.placeAnywhere(f, d, unit, beside, asks)
		tried()
		x.Undo(free)
		if found || err != nil {
			return charge, found, cmp.Or(err, s.takeAll(d, unit))
		}
	} else {
		x.Undo(free)
	}
	if !trial {
		m := x.Mark()
		charge, found, err := s.gathering().placeOffGathered(r, f, d, unit, beside, asks, bound)
		if err != nil || found && s.stillKept(r.work, keeps) {
			x.Commit(m)
			return charge, found, err
		}
		x.Undo(m)
	}
	return nil, false, nil
}

// takeAll takes the places that were found for a unit.
func (s promising) takeAll(d *cluster.Definition, unit gang.Unit) error {
	for task, set := range cluster.TasksOf(unit) {
		if err := s.pool.Index.Take(d.Sets[set].Placed, s.places[task]); err != nil {
			return err
		}
	}
	return nil
}

// stillKept says whether, with the places taken that were found for a workload, all promises that are to be kept are
// so at their times, on equal places; these are theirs then, as what is placed may stay on the others
// beyond what is expected. One that what is placed does not reach may be reached by another that it moves.
func (s promising) stillKept(work int32, keeps func(*promise) bool) bool {
	places := slices.Clone(s.places)
	defer func() { s.places = append(s.places[:0], places...) }()
	laid, kept := s.together(keeps)
	if !kept {
		return false
	}
	moved := false
	for i := range laid {
		p := s.of(laid[i].work)
		same := samePlaces(p.stays, laid[i].stays)
		if !same {
			moved, p.movedFor = true, work+1
		}
		s.promises.displaced = s.promises.displaced || len(laid) < len(s.promises.list) && !same
		s.promises.profile.Release(p.work)
		s.forgoing().giveUp(p.stays)
		p.stays, p.lost = laid[i].stays, false
		s.hold(p)
	}
	for i := range laid {
		s.of(laid[i].work).firm = s.promises.displaced
	}
	if moved { // what they have left may serve another that is promised something
		s.forgoing().free()
	}
	return true
}

// together lays those of the promises that are named at their own times, one beside the other
// in the order of these, on their places or on equal ones, and returns them so if all find some. What
// is held stays as it is.
func (s promising) together(which func(*promise) bool) (laid []promise, all bool) {
	lifted := s.lift(func(p *promise) bool { return true })
	inTime := slices.DeleteFunc(slices.Clone(s.promises.list), func(p *promise) bool { return !which(p) })
	slices.SortStableFunc(inTime, func(a, b *promise) int { return cmp.Compare(a.at, b.at) })
	for _, p := range firmFirst(inTime) {
		again := *p
		again.stays = slices.Clone(p.stays)
		if !s.stands(&again) && (p.lost || !s.layAtItsTime(&again)) {
			break
		}
		s.hold(&again)
		laid = append(laid, again)
	}
	for i := range laid {
		s.promises.profile.Release(laid[i].work)
	}
	for _, p := range lifted {
		s.hold(p)
	}
	return laid, len(laid) == len(inTime)
}

// layAtItsTime finds equal places for a promise at its own time: of a unit with constraints
// as many domains of every level as it has (T2).
func (s promising) layAtItsTime(p *promise) bool {
	d := s.world.Definition(&s.world.Works[p.work], p.form)
	before := s.spread(p, d)
	found := p.at < s.laying().goesBy(p) && s.behind().laid(p, func() (found bool) {
		defer s.behind().onBehalfOf(p.work)()
		s.behind().without(p.work, p.at, p.duration, func() { found = s.placeHeld(p, p.at) })
		if !found || !s.admittedThere(p, p.duration) {
			return false
		}
		for i := range p.stays {
			p.stays[i].Place = s.places[i]
			p.stays[i].Place.Pipelined = false
		}
		return true
	})
	return found && slices.Equal(before, s.spread(p, d))
}

// spread is over how many domains of every level the places of a promise with constraints
// are spread, with what is held of its workload.
func (s promising) spread(p *promise, d *cluster.Definition) (domains []int) {
	t := s.pool.Topology
	if t == nil || !d.Constrained {
		return nil
	}
	var held []gang.Held
	if p.held != nil {
		held = s.world.HeldBy(p.work)
	}
	for level := placement.Level(1); level < t.NodeLevel(); level++ {
		in := make(map[placement.Domain]bool)
		for i := range p.stays {
			in[t.Of(p.stays[i].Place.Node, level)] = true
		}
		for _, one := range held {
			in[t.Of(one.Node, level)] = true
		}
		domains = append(domains, len(in))
	}
	return domains
}

// started tells the profile of the last tasks of a workload in the table, which have just started, where they are in
// the way of nobody who is promised any of their nodes; else all is laid again.
func (s promising) started(i int32, tasks int) {
	all, seats, k := &s.promises, s.world.Room.Seats[i], &s.world.Works[i]
	if len(seats) > tasks && s.world.Definition(k, k.Current).Times.Fixed {
		s.pool.Free() // the others of it end the sooner
		return
	}
	if s.settles() || all.at != s.pool.Changes {
		return // it was not what stood before that either
	}
	stays, ends := make([]placement.Stay, 0, tasks), endings{World: s.world}
	for at := len(seats) - tasks; at < len(seats); at++ {
		stays = append(stays, s.stayOf(&ends, i, &seats[at]))
	}
	inTheWay := func(p *promise) bool { // on other devices of a node it may lack something else
		return slices.ContainsFunc(stays, func(one placement.Stay) bool {
			return p.at < all.profile.Round(one.Until) && p.overlaps(one.Place.Node, 0)
		})
	}
	if slices.ContainsFunc(all.list, inTheWay) || !s.allLetIn(nil) {
		return
	}
	for _, one := range stays {
		all.profile.Stands(one)
	}
	all.tree, all.at = nil, s.pool.Changes+1
}

// makesRoom begins to make room: all that is held is kept free from what does not
// leave by itself.
func (s promising) makesRoom() error {
	if len(s.promises.list) == 0 {
		return nil
	}
	err := s.layAgain()
	s.promises.making = true
	return err
}

// whileIntact says that nobody is out of the index who stands, though room is made, so that what is promised need be
// kept free only from its time on; it returns what ends that.
func (s promising) whileIntact() (end func()) {
	before := s.promises.intact
	s.promises.intact = s.isFresh()
	return func() { s.promises.intact = before }
}

// serve has others make way for a workload, and returns what ends that.
func (all *promises) serve(work int32) (end func()) {
	before := all.serves
	all.serves = work + 1
	return func() { all.serves = before }
}

// isOfAnother says whether a promise is in the way of a workload in that it is not its own, nor that of
// whom it makes way for.
func (s promising) isOfAnother(p *promise, i int32) bool {
	return p.work != i && p.work+1 != s.promises.serves
}

// ratherWaits says whether a workload has a promise that is so near that it makes no room
// (B4).
func (s promising) ratherWaits(i int32) bool {
	near := s.pool.Policy.Reserve.RatherWait
	if near == 0 || len(s.promises.list) == 0 {
		return false
	}
	p := s.of(i)
	return p != nil && !p.gathers && p.at <= cluster.TimeAfter(max(s.world.Now, 0), near)
}
