package engine

import (
	"slices"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/queue"
)

// promise promises the workload something that has been refused in its turn, if it may have a
// promise: within its lines first, and others when nobody else moves (B4).
func (s promising) promise(order *queue.Queues, leaf int, it queue.Item) error {
	if !reserves(s.pool) || it.Stage > 0 || s.phase == growing {
		return nil
	}
	k := &s.world.Works[it.ID]
	not, err := s.laying().mayNotYet(it)
	if err != nil {
		return err
	}
	if p := s.of(it.ID); p == nil {
		if !s.mayPromise(k, it) {
			return nil
		}
		if err := s.layAgain(); err != nil {
			return err
		}
		s.promises.from = not.from
		made := s.make(k, it)
		if s.promises.from = 0; !made {
			return nil
		}
	} else {
		s.laying().deferWhere(p, not)
	}
	if k.Bucket > 0 { // those that are alike may be promised something too
		s.enqueuing().nextOf(order, leaf, k)
	}
	return nil
}

// mayPromise says whether the workload is one of those to whom the pool promises anything,
// by what is known of it alone.
func (s promising) mayPromise(k *cluster.Work, it queue.Item) bool {
	if !s.laying().isOfThose(k, it.Form) || !s.laying().hasWaited(k) {
		return false
	}
	may := s.laying().mayBeOneMore(&promise{work: it.ID, form: it.Form, entitled: s.phase == withinLines})
	s.promises.passed = s.promises.passed || !may
	return may
}

// hasWaited says whether a workload has waited for as long as it has to before it is promised anything.
func (s laying) hasWaited(k *cluster.Work) bool {
	return cluster.TimeAfter(waitingSince(k, s.world), s.pool.Policy.Reserve.After) <= max(s.world.Now, 0)
}

// isOfThose is mayPromise for as long as it has to have waited, and however much is promised.
func (s laying) isOfThose(k *cluster.Work, form int16) bool {
	if !waitsToStart(s.world, k, form) {
		return false // and what has gone is of no definition
	}
	r, f, d := &s.pool.Policy.Reserve, s.world.FormOf(k, form), s.world.Definition(k, form)
	if !d.Verdict.OK {
		return false
	}
	if r.GangsOnly && d.Unit.Tasks() < 2 || f.Priority < r.FromPriority {
		return false
	}
	_, ok := s.pool.Tree.Never(int(f.Queue), d.Asks, f.NonPreemptible)
	return ok
}

// waitingSince is since when a workload waits, which is never later than now: the clock of who
// submitted it may be ahead.
func waitingSince(k *cluster.Work, w *cluster.World) int64 {
	return min(waitsFrom(k, w), max(w.Now, 0))
}

// waitsFrom is the time from which on a workload waits. What is left of a gang waits since tasks of it were lost. A workload
// of which everything has gone in this solve, or was lost before it (S7), waits from now on.
func waitsFrom(k *cluster.Work, w *cluster.World) int64 {
	switch {
	case w.Holds(k): // what is left of a gang
		return partialSince(w, k)
	case slices.ContainsFunc(k.Tasks, func(h cluster.Holding) bool { return h.Begun }):
		return max(w.Now, 0)
	case k.WaitingSince >= 0:
		return k.WaitingSince
	}
	return k.Submitted
}

// make lays a new promise for a workload, if there is a time and it may be held. A head that stops others has its
// turn before those that are beyond their lines (O4), and is promised something then, though it is beyond its own.
func (s promising) make(k *cluster.Work, it queue.Item) bool {
	all := &s.promises
	p, lifted, found := s.layNew(it, s.phase == withinLines)
	if !found && p.entitled && s.enqueuing().strict(s.world.FormOf(k, it.Form).Queue) {
		s.layBack(lifted, nil)
		if !s.laying().hasRoom(&promise{work: it.ID, form: it.Form}, s.laying().yields) {
			all.passed = true
			return false
		}
		p, lifted, found = s.layNew(it, false)
	}
	if found {
		if gone := slices.IndexFunc(all.withdrawn, func(other *promise) bool { return other.work == p.work }); gone >= 0 {
			before := all.withdrawn[gone] // what is said of it is said against what the state has
			p.was, p.cause, p.made, p.first = before.was, before.cause, before.was.Made, before.was.First
		}
		s.hold(p)
		s.forgoing().noteSought(p)
	}
	if !found {
		s.layBack(lifted, nil)
		return false
	}
	s.laying().rank(p)
	all.add(p) // its queues count it when others are held again
	slices.SortStableFunc(all.list, s.laying().compare)
	broken := s.layBack(lifted, p)
	all.made++
	// Whoever stands behind it where it is promised this very moment goes for it in another turn.
	s.decision.Changed = s.decision.Changed || all.sought || s.behind().comes(p.work)
	if s.pool.Lends { // what is kept from lending binds nobody any more once it is promised (Q5)
		s.pool.Free()
	}
	if p.gathers || len(all.profile.Behinds(p.work)) == 0 { // else it may be earlier yet, as those go for it
		p.tried = s.pool.Freed + 1
	}
	for last := s.laying().tooMany(p); last != nil; last = s.laying().tooMany(p) {
		broken = slices.DeleteFunc(broken, func(other *promise) bool { return other == last })
		s.withdraw(last, s.yieldsTo(last, p.work))
	}
	s.laying().allElsewhere(broken)
	return true
}

// layNew lays a new promise, within its lines or beyond them, and says whether it may be held; its cause is why not,
// where too much would be idle. Others are lifted who yield to it.
func (s promising) layNew(it queue.Item, entitled bool) (p *promise, lifted []*promise, found bool) {
	w := s.world
	p = &promise{work: it.ID, form: it.Form, entitled: entitled, order: s.promises.made + 1, made: w.Now, from: s.promises.from}
	if !s.laying().define(p) {
		return p, nil, false
	}
	lifted = s.lift(func(other *promise) bool { return s.laying().yields(other, p) })
	found = s.findEarliest(p, placement.Window{From: max(w.Now, p.from), Before: placement.Never, Duration: s.laying().lasts(p)})
	if s.promises.foresees && s.foreseeing().beginsWithOthers(p, found) {
		found = true
	}
	if found {
		if entitled && !s.entitledAt(p) {
			return p, lifted, false
		}
		p.cause = s.overHeld(p)
		return p, lifted, p.cause == nil
	}
	may, why := s.gathering().mayGather(p)
	p.cause = why
	return p, lifted, may && s.gathering().gather(p)
}

// improve tries every promise earlier, in their order, and puts it back no later, until
// none moves (B7). It says whether one did.
func (s promising) improve() (moved bool, err error) {
	if err := s.layAgain(); err != nil || len(s.promises.list) == 0 {
		return false, err
	}
	apart := make(map[apartKey]bool)
	for round := 0; round < 4+len(s.promises.list); round++ {
		some := false
		for _, p := range slices.Clone(s.promises.list) {
			stays := !p.gathers && p.at <= s.world.Now || s.promises.foresees && p.was != nil // what the plan promises stands
			if stays || p.tried == s.pool.Freed+1 || s.of(p.work) != p {
				continue
			}
			if s.laying().inTime(p) || s.earlier(p, apart) {
				some = true
				clear(apart)
			} else {
				p.tried = s.pool.Freed + 1
			}
			if err := s.ctx.Err(); err != nil {
				return moved, err
			}
		}
		if !some {
			return s.gathering().letGoIdle() || moved, nil
		}
		moved = true
	}
	s.decision.Work.Stopped = true
	return moved, nil
}

// inTime has a promise that became later in this solve stand at the time again that the state has, if it can beside
// all but others to which it need not yield and that are later than that too, or were made now, or else are earlier
// than it: all that is kept stands at its time first, before any is tried earlier or made (B4, B7).
func (s laying) inTime(p *promise) bool {
	if s.promises.foresees || !s.isLate(p) {
		return false
	}
	was, before := p.at, s.asLaid()
	within := p.within
	p.within = s.isWithin(p, s.timeOfState(p)) // as it is asked of there: what gave it a right may be that it is late
	stood := s.standsInTime(p, s.comesAfterKept) || slices.ContainsFunc(s.promises.list, s.isEarly) &&
		s.standsInTime(p, func(other *promise) bool { return s.comesAfterKept(other) || s.isEarly(other) })
	if !stood {
		p.within = within
	}
	return stood && !s.inVain(p, was, before)
}

// timeOfState is the time at which the state has a promise, or from which on it may begin.
func (s laying) timeOfState(p *promise) int64 { return max(p.was.At, s.world.Now, p.from, 0) }

// inVain says whether a try has come to nothing, and undoes it then: the promise is not earlier than it was, as it had to
// yield to one that went on for it, or one that need not yield to it is later for it than the state has it.
func (s laying) inVain(p *promise, was int64, before asLaid) bool {
	vain := s.of(p.work) != p || p.at >= was
	for at, other := range before.list {
		vain = vain || other != p && other.was != nil && !s.isLate(&before.were[at]) && !s.yields(other, p) &&
			(s.of(other.work) != other || s.isLate(other))
	}
	if vain {
		s.layAs(before)
	}
	return vain
}

// An asLaid is all that is promised at a moment, so that what came of a try in vain is undone: left as it came to be, those
// that had made way for it would be tried earlier, and it in time again, by turns without end.
type asLaid struct {
	list, withdrawn         []*promise
	were                    []promise
	changed, again, restart bool
}

// asLaid notes what is promised as things stand.
func (s laying) asLaid() (all asLaid) {
	d := s.decision
	all = asLaid{
		list: slices.Clone(s.promises.list), withdrawn: slices.Clone(s.promises.withdrawn),
		changed: d.Changed, again: d.Again, restart: d.Restart,
	}
	for _, p := range all.list {
		was := *p
		was.stays = slices.Clone(p.stays)
		all.were = append(all.were, was)
	}
	return all
}

// layAs holds all again as it was noted, and nothing has changed.
func (s laying) layAs(before asLaid) {
	all, d := &s.promises, s.decision
	for _, p := range slices.Clone(all.list) {
		all.remove(p)
	}
	all.profile, all.tree, all.at = s.newProfile(), nil, s.pool.Changes+1
	for at, p := range before.list {
		*p = before.were[at]
		all.add(p)
		s.hold(p)
	}
	all.withdrawn = before.withdrawn
	d.Changed, d.Again, d.Restart = before.changed, before.again, before.restart
}

// standsInTime is inTime of a promise for which some others make way where it need not yield to them: those that are
// earlier than the state has them by no more than that.
func (s laying) standsInTime(p *promise, makesWay func(*promise) bool) bool {
	lifted := s.lift(func(other *promise) bool { return other == p })
	lifted = append(lifted, s.lift(func(other *promise) bool {
		return other.isBeyond(p) || makesWay(other) && !s.yields(p, other)
	})...)
	var before []promise
	for _, other := range lifted {
		if other != p && (other.isBeyond(p) || !s.isEarly(other)) {
			continue
		}
		before = append(before, *other)
		if !(other != p && s.stands(other)) && !s.layInTime(other) {
			s.layBackAs(before, lifted)
			return false
		}
		s.hold(other)
	}
	for i := range before {
		if other := s.of(before[i].work); !samePlaces(other.stays, before[i].stays) || other.at != before[i].at {
			s.forgoing().giveUp(before[i].stays)
			other.tried, other.sought = 0, 0
		}
	}
	if p.cause = nil; p.putOffFor > 0 && p.at > max(p.was.At, s.world.Now, 0) { // as early as it may begin, and that is later
		p.cause = s.yieldsTo(p, p.putOffFor-1)
	}
	broken := s.holdAgain(slices.DeleteFunc(lifted, func(other *promise) bool { return len(s.promises.profile.Held(other.work)) > 0 }))
	s.changed()
	s.eachElsewhere(broken)
	return true
}

// holdAgain holds again what was given up for now so that several could be laid, and returns what does not stand beside
// all of these any more.
func (s laying) holdAgain(lifted []*promise) (broken []*promise) {
	for _, p := range lifted {
		if s.stands(p) {
			s.hold(p)
		} else {
			broken = append(broken, p)
		}
	}
	return broken
}

// layInTime has a promise that is lifted be laid when the state has it, on its places or on equal ones, if that is
// another time than its own and it can.
func (s laying) layInTime(p *promise) bool {
	at := s.timeOfState(p)
	if at == p.at {
		return false
	}
	p.at, p.stays, p.movedFor = at, slices.Clone(p.stays), 0
	s.window(p)
	return s.stands(p) || !p.lost && s.layAtItsTime(p)
}

// layBackAs holds again what was lifted, of which some were tried at other times, as they were before.
func (s laying) layBackAs(before []promise, lifted []*promise) {
	for i := range before {
		p := s.of(before[i].work)
		s.promises.profile.Release(p.work)
		*p = before[i]
	}
	s.layBack(lifted, nil)
}

// comesAfterKept says whether a promise is later than the state has it, or was made in this solve.
func (s laying) comesAfterKept(p *promise) bool { return p.was == nil || s.isLate(p) }

// isEarly says whether a promise is earlier than the state has it.
func (s laying) isEarly(p *promise) bool {
	return p.was != nil && !p.was.Gathers && !p.gathers && p.at < max(p.was.At, s.world.Now, 0)
}

// isLate says whether a promise is later than the state has it, and than it may begin: one that is put off is in time where it
// begins as early as it may.
func (s laying) isLate(p *promise) bool {
	return p.was != nil && !p.was.Gathers && !p.gathers && p.at > s.timeOfState(p)
}

// earlier tries one promise earlier, where it is known of some others whether they stand.
func (s promising) earlier(p *promise, apart map[apartKey]bool) bool {
	lifted := s.lift(func(other *promise) bool { return other == p || other.isBeyond(p) })
	before := *p
	before.stays = slices.Clone(p.stays)
	window := placement.Window{From: max(s.world.Now, p.from), Before: p.at, Duration: s.laying().lasts(p)}
	if p.gathers { // any time that is known is earlier
		s.gathering().knowTime(p)
		p.stays = nil // what is gathered has no time beside which others stand or not (B5)
		window.Before, window.Duration = placement.Never, s.laying().lasts(p)
	}
	by := seeker{sparing: s.sparing(), p: p, apart: apart}
	found := !s.forgoing().stillNone(p) && by.findEarliest(window)
	if !found {
		before.soughtAll = p.soughtAll && !p.gathers
		*p = before
	}
	laid := p
	if !found {
		laid = nil
	}
	var all asLaid
	was := before.at
	if found {
		all = s.laying().asLaid()
		all.were[slices.Index(all.list, p)] = before
		s.forgoing().giveUp(before.stays)
	}
	if before.gathers {
		was = placement.Never
	}
	broken := s.layBack(lifted, laid)
	if found {
		p.movedFor = 0
		if p.was == nil || p.at <= p.was.At {
			p.cause = nil
		}
		s.changed()
	}
	s.forgoing().noteSought(p)
	s.laying().allElsewhere(broken)
	return found && !s.laying().inVain(p, was, all)
}
