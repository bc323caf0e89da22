package engine

import (
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// A workload that is refused may be promised a time and places (B3, B4), and from then on
// nothing is placed that would be in its way (B5). Promises are a part of the loop: what is
// held for them is in the index whenever places are looked for that reach its time, those
// who are refused are promised something in their turn, and when nothing else changes every
// promise is tried earlier, which is a change like others (B7).

// promises are those of a pool, and its profile; the zero promises have nothing.
type promises struct {
	profile *placement.Profile
	at      int64      // Pool.Changes when the profile was what stands, plus one
	list    []*promise // in their order
	byWork  map[int32]*promise
	asked   []charged // see [admitting.promisedTo]; nil until it is asked for
	// tree is what of the queues' use ends, by its end; nil until it is asked for.
	tree      []ended
	withdrawn []*promise
	made      int32 // how many were made
	ranks     int32 // how many ranks have been given
	// madeBefore is made as the pass at hand began; sought: room was looked for in vain, see [refusal.stands].
	madeBefore int32
	sought     bool
	// passed: in the pass at hand somebody could have been promised something but for how much is promised.
	passed bool
	// hadTurn are the leaves of which a workload has had its turn in the pass at hand for which others of it make way.
	hadTurn map[int32]bool
	// refused are what found no place beside what is held (O5).
	refused map[reaching]cluster.Memo
	// open are definitions as they may be used later, see [promising.open].
	open       map[string]*cluster.Definition
	standersOn standersOn
	// waits are whom each waits for, by workload, and waitsAt is Pool.Changes when that was asked, plus one; through
	// are also those for whom these wait, sorted.
	waits, through map[int32][]int32
	waitsAt        int64
	// making: room is made, so that what stands may leave before it ends.
	making bool
	// intact: nothing has left yet, see [promising.whileIntact].
	intact bool
	// serves is who is to start while others go, move or are placed anew, plus one: what it has been
	// promised is in nobody's way then, as it has no promise once it has started.
	serves int32
	// displaced: some have been laid elsewhere, maybe on what is held for others that yield to who is
	// being placed; these are laid again once it is.
	displaced bool
	askedAnew putOff // see [laying.askAnew]
	foresight
	// taken is scratch of a [seeker].
	taken devicesTaken
	// seeking is for whom a time is looked for, plus one: who stands behind it is not in its way.
	seeking int32
	givenUp
}

// A promise is what a workload has been promised, as things stand in the solve.
type promise struct {
	work     int32
	form     int16
	entitled bool
	order    int32 // 0 of those that the state had
	rank     int32 // its place among those of its pass, see [laying.compare]
	within   bool  // it is within the lines of today, see [laying.readLines]
	at       int64
	from     int64 // before which it does not begin: in a forecast, or as it would expose others, see [laying.mayNotYet]
	// putOffFor is for whose sake it is put off, plus one: it yields to a start of that one, who may wait for nothing else.
	putOffFor int32
	duration  int64
	unit      gang.Unit
	indices   []int32 // of the tasks of the unit
	held      []int32 // what is left of a gang that the unit completes, by pod set; nil is that all starts together
	asks      quota.Amounts
	stays     []placement.Stay // by pod set, then task
	asFound   []placement.Stay // as the index names devices, where the plan names them otherwise, or nil
	lost      bool             // some place is not there any more
	// firm: it is where it was laid for one whom it need not yield to, maybe on places of such as do; these
	// are laid again after it. movedFor is the workload for which it has other places since than before, plus one.
	firm     bool
	movedFor int32
	gathers  bool             // its time is not known, and its places are held from now on
	after    int32            // how many commits there were when its places were gathered in this solve
	was      *cluster.Promise // as the state has it, or nil
	cause    *cluster.Verdict // why it is later, or is gone
	made     int64
	first    int64
	behindIt []*promise // see [sparing.behindDue]
	// tried is Pool.Freed when it was last found that nothing earlier is free, plus one: what
	// is only taken does not make it so. sought is what had been given up by then, see givenUp.since; 0
	// is that it is not known of all earlier times that there is no room. soughtAll: nothing else was in the
	// way of what was looked for last.
	tried, sought int64
	soughtAll     bool
	wentFirst     bool // what is made in this solve has made way for it, see [laying.anew]
}

// reserves says whether the pool promises anything.
func reserves(p *cluster.Pool) bool { return p.Policy.Reserve.Depth > 0 }

// looksAhead says whether what the pool decides depends on what time it is, as something is promised or
// reserved there.
func looksAhead(p *cluster.Pool) bool { return reserves(p) || len(p.Reserved) > 0 }

// of is the promise of a workload, or nil.
func (s promising) of(work int32) *promise {
	return s.promises.byWork[work]
}

// add adds a promise behind the others.
func (all *promises) add(p *promise) {
	if all.byWork == nil {
		all.byWork = make(map[int32]*promise)
	}
	all.list, all.byWork[p.work], all.asked = append(all.list, p), p, nil
}

// remove forgets a promise, if it is one of them.
func (all *promises) remove(p *promise) {
	if all.byWork[p.work] == p {
		all.list = slices.DeleteFunc(all.list, func(other *promise) bool { return other == p })
		delete(all.byWork, p.work)
		all.asked = nil
	}
}

// keep has all promises of the state stand at their time and places, if they can, and then
// each be tried earlier, before anybody has a turn (B7).
func (s promising) keep() error {
	if err := layKept(s); err != nil || !reserves(s.pool) {
		return err
	}
	_, err := s.improve()
	return err
}

// layKept is keep without that any is tried earlier.
func layKept(s promising) error {
	if !reserves(s.pool) {
		return nil
	}
	w := s.world
	s.promises.refused = make(map[reaching]cluster.Memo)
	for _, i := range s.pool.Works {
		k := &w.Works[i]
		if k.Reserved == nil || int(k.Reserved.Form) > len(k.Others) || w.FormOf(k, k.Reserved.Form).Pool != s.index {
			continue
		}
		if p := s.read(i); p != nil {
			s.promises.add(p)
		} else if v := cluster.NewVerdict(cluster.PromiseChanged, k.Reserved.Form, s.index); startsAnew(k) {
			if k.Reserved.Gathers && k.NotBefore >= 0 { // it lets go
				v.Code, v.Until = cluster.NotBefore, k.NotBefore
			}
			s.promises.withdrawn = append(s.promises.withdrawn, &promise{work: i, was: k.Reserved, cause: &v})
		}
	}
	laying := s.laying()
	laying.rankKept()
	for last := laying.tooMany(nil); last != nil; last = laying.tooMany(nil) { // of a policy that promised more
		s.withdraw(last, s.telling().tooMany(last))
	}
	for at, p := range laying.gatherers() {
		if at > 0 { // in a pool places are gathered for one at most (B8)
			v := cluster.NewVerdict(cluster.PromiseChanged, p.form, s.index)
			s.withdraw(p, &v)
		}
	}
	err := s.layAgain()
	laying.readLines()
	return err
}

// read reads a promise of the state; nil is one of a workload that does not wait any more,
// or asks something else, be it that its places are to be together otherwise (T2, T3), or for whom places are
// gathered where the policy gathers none any more.
func (s promising) read(i int32) *promise {
	w := s.world
	k := &w.Works[i]
	was := k.Reserved
	d := w.Definition(k, was.Form)
	if !waitsToStart(w, k, was.Form) || !d.Verdict.OK || was.Gathers && !s.pool.Policy.Reserve.Gather {
		return nil
	}
	p := &promise{
		work: i, form: was.Form, entitled: was.Entitled, at: max(was.At, w.Now),
		was: was, made: was.Made, first: was.First, unit: gang.Unit{Add: make([]int32, len(d.Sets))}, held: slices.Clone(w.CountsOf(k)),
	}
	if was.Gathers {
		p.at, p.duration, p.gathers = max(w.Now, 0), cluster.Never, true
	}
	for _, t := range was.Tasks {
		if int(t.Set) >= len(d.Sets) {
			return nil
		}
		p.unit.Add[t.Set]++
		p.indices = append(p.indices, t.Index)
		place := placement.Place{Node: cluster.None, Devices: t.Devices}
		if p.lost = p.lost || t.Node == cluster.None; !p.lost {
			place.Node = w.Position[t.Node]
		}
		p.stays = append(p.stays, placement.Stay{Place: place})
	}
	if p.held == nil || d.Gang.Sliced() || !s.laying().lacks(p) {
		p.indices = s.laying().indicesOf(p)
	}
	if !p.lost && !obeys(s.Solver, p, d) {
		return nil
	}
	if !p.gathers {
		p.duration = d.Times.Lasts(p.tasks())
	}
	asks, err := s.unitAsks(d, p.unit, p.held == nil)
	if err != nil || !slices.ContainsFunc(unitsOf(d, p.held), func(u gang.Unit) bool { return slices.Equal(u.Add, p.unit.Add) }) {
		return nil
	}
	p.asks = slices.Clone(asks)
	s.window(p)
	return p
}

// obeys says whether the places of a promise of the state are together and apart as the workload asks.
func obeys(s *Solver, p *promise, d *cluster.Definition) bool {
	if !d.Gang.Constrained() {
		return true
	}
	var held []gang.Held
	if p.held != nil {
		held = slices.Clone(s.world.HeldBy(p.work))
	}
	for task, set := range cluster.TasksOf(p.unit) {
		held = append(held, gang.Held{Set: int32(set), Index: p.indices[task], Node: p.stays[task].Place.Node})
	}
	return s.placer.Obeyed(d.Gang, held)
}

// startsAnew says whether a workload waits to start, be it that all that ran of it is leaving first (S5).
func startsAnew(k *cluster.Work) bool {
	return k.Status == cluster.Waiting || k.Status == cluster.WaitsForLeavers
}

// waitsToStart says whether a workload waits to start in a form, or for what completes what is left of a gang (G1).
func waitsToStart(w *cluster.World, k *cluster.Work, form int16) bool {
	if !startsAnew(k) || !w.Holds(k) {
		return startsAnew(k)
	}
	d, held := w.Definition(k, k.Current), w.Live[k.Live].Held
	return form == k.Current && !d.Gang.AtMinimum(held) && !isEnough(d, held) && !strayed(w, k)
}

// unitsOf are the units by which a workload may go on from what it holds, in order of preference:
// from nothing one that halves starts as asked, before it comes to less (L2).
func unitsOf(d *cluster.Definition, held []int32) []gang.Unit {
	if held == nil && d.HasOneStart() {
		return []gang.Unit{d.Unit}
	}
	units, _ := d.Gang.Units(held, roomChoices)
	return units
}

// window has all that is held be held for the time of the promise, as what is open then lets
// it be asked for.
func (s promising) window(p *promise) {
	d := s.openAt(p.work, p.form, p.at, p.tasks())
	for task, set := range cluster.TasksOf(p.unit) {
		one := &p.stays[task]
		one.Shape, one.From, one.Until = d.Sets[set].Placed, p.at, cluster.TimeAfter(p.at, p.duration)
	}
}

// changed notes that what is held has changed so that somebody may be served who was not.
func (s promising) changed() {
	fresh, on := s.isFresh(), &s.promises.standersOn
	listed := on.changes == s.pool.Changes+1
	s.forgoing().free()
	s.pool.Changes++
	if fresh {
		s.promises.at = s.pool.Changes + 1
	}
	if listed { // all stand where they did
		on.changes = s.pool.Changes + 1
	}
	s.decision.Changed, s.decision.Again = true, true
}

// isFresh says whether the profile is what stands now.
func (s promising) isFresh() bool { return s.promises.at == s.pool.Changes+1 }

// layAgain has every promise stand again after something has changed: those whose places
// are free then keep them, the others find equal ones at their time, or else at the next
// that there is, beside all others but those that yield to them.
func (s promising) layAgain() error {
	all := &s.promises
	if s.isFresh() || !reserves(s.pool) {
		return nil
	}
	all.profile, all.tree, all.at = s.newProfile(), nil, s.pool.Changes+1
	slices.SortStableFunc(all.list, s.laying().compare)
	s.laying().withdrawOthers()
	var broken []*promise
	for _, p := range firmFirst(all.list) {
		if s.stands(p) {
			s.hold(p)
		} else {
			broken = append(broken, p)
		}
	}
	defer func() {
		for _, p := range all.list {
			p.firm = false
		}
	}()
	if len(broken) > 0 {
		if laid, kept := s.together(func(*promise) bool { return true }); kept {
			for i := range laid {
				p := s.of(laid[i].work)
				s.promises.profile.Release(p.work)
				s.forgoing().giveUp(p.stays)
				p.stays = laid[i].stays
			}
			for _, p := range s.promises.list {
				s.hold(p)
			}
			s.changed()
			return nil
		}
	}
	s.laying().allElsewhere(broken)
	return s.ctx.Err()
}

// allElsewhere has layElsewhere for promises that do not stand, and for those that stand no more for them. Those that
// are later than the state has them for no more than that others are earlier stand in time again, before anybody starts
// in between; each is tried once, as two may yield to each other in turns.
func (s laying) allElsewhere(broken []*promise) {
	for _, p := range s.eachElsewhere(broken) {
		if s.of(p.work) == p {
			s.inTime(p)
		}
	}
}

// eachElsewhere is allElsewhere without a try in time. It returns all that it has laid, or withdrawn.
func (s laying) eachElsewhere(broken []*promise) []*promise {
	for next := 0; next < len(broken) && s.ctx.Err() == nil; next++ {
		broken = append(broken, s.layElsewhere(broken[next])...)
	}
	return broken
}

// firmFirst are promises with those first that are firm.
func firmFirst(list []*promise) []*promise {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b *promise) int { return trueFirst(a.firm, b.firm) })
	return list
}

// stands says whether the places of a promise are free at its time, and its queue lets it in.
func (s promising) stands(p *promise) (stands bool) {
	defer s.behind().onBehalfOf(p.work)()
	if p.lost || !s.laying().completes(p) || !s.admitted(p) {
		return false
	}
	if p.gathers {
		return s.gathering().stands(p) && s.gathering().sparesOthers(p)
	}
	s.promises.profile.Without(p.work, func() { stands = s.promises.profile.Free(p.at, p.duration, p.stays) })
	return stands
}

// layElsewhere finds other places for a promise that does not stand, at its time or as soon
// after it as there are any, and returns the promises that yield to it and do not stand any
// more. One that finds none is withdrawn.
func (s promising) layElsewhere(p *promise) (broken []*promise) {
	was := p.at
	p.movedFor = 0
	if p.was != nil && !p.was.Gathers { // it may have been earlier in this solve
		was = max(was, p.was.At)
	}
	var cause *cluster.Verdict
	if p.was != nil && p.cause == nil { // else nobody is told of it
		cause = s.telling().causeOf(p, was)
	}
	return s.laying().anew(p, p.at, was, cause)
}

// isLaidFirst says whether a promise that the state has is laid before one that this solve has made.
func (s laying) isLaidFirst(p, made *promise) bool {
	return p.was != nil && made.was == nil && s.compare(p, made) < 0 && !s.yields(p, made)
}

// anew is layElsewhere from a time on, of a promise that is told to be later than one for a cause. What was made in this
// solve makes way once for one that the state has, as those are laid first (B4): if it did again, two that make way each
// for another might go round.
func (s laying) anew(p *promise, from, was int64, cause *cluster.Verdict) (broken []*promise) {
	s.forgoing().giveUp(p.stays)
	p.sought = 0
	first := !p.wentFirst
	lifted := s.lift(func(other *promise) bool {
		goes := first && s.isLaidFirst(p, other)
		p.wentFirst = p.wentFirst || goes
		return goes || s.yields(other, p)
	})
	gathered := p.gathers
	found := gathered && s.gathering().gatherAgain(p)
	if !found && !gathered {
		found = s.findEarliest(p, placement.Window{From: from, Before: placement.Never, Duration: s.lasts(p)})
	}
	if !found && !gathered && p.was != nil && p.was.Gathers { // a time was known for it, and is none any more
		found = s.gathering().gatherAgain(p)
	}
	if found {
		if p.at > was {
			s.later(p, cause)
		}
		s.hold(p)
	} else {
		s.withdraw(p, cause)
	}
	s.changed()
	if !found {
		p = nil
	}
	return s.layBack(lifted, p)
}

// later notes why a promise is later than it was, or gone: the first cause for which it is later than the
// state has it.
func (s promising) later(p *promise, cause *cluster.Verdict) {
	if p.cause == nil {
		p.cause = cause
	}
}

// hold keeps the places of a promise, and knows who stands there behind it.
func (s promising) hold(p *promise) {
	profile, now := s.promises.profile, s.makesWay(p)
	if len(profile.Behinds(p.work))+len(now) > 0 {
		p.tellWay(profile, now)
		s.promises.tree = nil
	}
	if p.held != nil {
		s.promises.tree = nil
	}
	profile.Hold(p.work, p.stays)
}

// makesWay are the tasks that are gone once the promise is in use, whenever else they would be: those
// behind it, and those for whose places it gathers.
func (s promising) makesWay(p *promise) []placement.Stay {
	if p.gathers {
		return s.gathering().waitedFor(p)
	}
	return s.behind().staysBehind(p)
}

// tellWay tells a profile of who makes way for the promise: when its time comes, or that is when they
// have left.
func (p *promise) tellWay(profile *placement.Profile, stays []placement.Stay) {
	if p.gathers {
		profile.Awaits(p.work, stays)
	} else {
		profile.Behind(p.work, stays)
	}
}

// withdraw takes a promise back.
func (s promising) withdraw(p *promise, cause *cluster.Verdict) {
	all := &s.promises
	all.remove(p)
	if all.profile != nil {
		all.profile.Release(p.work)
		all.profile.Behind(p.work, nil)
	}
	if p.was != nil && !slices.ContainsFunc(all.withdrawn, func(other *promise) bool { return other.work == p.work }) {
		s.later(p, cause)
		all.withdrawn = append(all.withdrawn, p)
	}
	if len(all.list) < s.pool.Policy.Reserve.Depth {
		s.opens()
	}
	s.forgoing().giveUp(p.stays)
	s.changed()
}

// opens notes that one promise more may be made. Where somebody has had its turn while there were enough, all have
// theirs again, as new ones are made by O2, and nobody passes whom they are made to (B4, B5).
func (s promising) opens() {
	s.decision.Restart = s.decision.Restart || s.promises.passed
}

// fulfil forgets the promise of a workload that starts, but for that it was one of the state:
// whoever takes what has started so takes that too.
func (s promising) fulfil(work int32) {
	all := &s.promises
	if s.pool.Lends { // what its queue keeps from lending binds others less from now on (Q5)
		for _, p := range all.list {
			p.tried, p.sought = 0, 0
		}
	}
	if p := s.of(work); p != nil {
		all.remove(p)
		if all.profile != nil {
			all.profile.Release(work)
		}
		if p.was != nil {
			all.withdrawn = append(all.withdrawn, p)
		}
		s.opens()
		s.forgoing().giveUp(p.stays)
		s.forgoing().free()
	}
}
