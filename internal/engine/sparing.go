package engine

import (
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
)

// Whether what is placed, or promised, leaves what is promised to others as it stands: for as long
// as it may be there, and of all resources of a node (B5); and what is given up for now so that one
// may be laid, and held again.

// sparing judges that.
type sparing struct{ promising }

func (s promising) sparing() sparing { return sparing{s} }

// mayStand says whether tasks of a workload that are there until a time leave what is promised to
// others as it stands, of all resources of their nodes: tasks at places that are free, beside all
// that stands.
func (s sparing) mayStand(i int32, until int64, tasks []placement.Stay) bool {
	inItsWay := func(p *promise) bool { return s.isOfAnother(p, i) && p.at < until }
	if len(tasks) == 0 || !slices.ContainsFunc(s.promises.list, inItsWay) {
		return true
	}
	x := s.pool.Index
	there := func(v int32) bool {
		return slices.ContainsFunc(tasks, func(one placement.Stay) bool { return one.Place.Node == v })
	}
	m, _ := s.promises.profile.KeepFree(until, !s.seesAll(), there, func(holder int32) bool {
		p := s.of(holder)
		return p != nil && inItsWay(p)
	})
	defer x.Undo(m)
	return !slices.ContainsFunc(tasks, func(one placement.Stay) bool {
		return !takeIfFree(x, one.Shape, one.Place)
	})
}

// lookedAt says of which nodes anything is asked when places are looked for, nil that it may be of any: it
// is of those that take a task where nothing but what a node has free decides about it.
func (s promising) lookedAt(d *cluster.Definition, unit gang.Unit) func(node int32) bool {
	x, p := s.pool.Index, s.pool
	if s.claims || s.placer.UsedNodes || x.Releasing() || p.Scored || p.Classed() || x.ByDomains() || d.Constrained || p.Policy.Fitting != gang.AnyNodes ||
		d.Place.GPU == placement.Random || d.Place.CPUOnly == placement.Random {
		return nil
	}
	all := s.rooms[:0]
	for set, n := range unit.Add {
		if n > 0 {
			all = append(all, x.Rooms(d.Sets[set].Placed))
		}
	}
	s.rooms = all
	return func(v int32) bool {
		return slices.ContainsFunc(all, func(rooms []int32) bool { return rooms[v] > 0 })
	}
}

// mayMove returns a sound bound, as long as nothing changes: whether any task of a unit that moves finds a
// place beside what is promised. One does that has left by the first promise beside which no node takes a task
// of its shape.
func (s sparing) mayMove() func(u *preempt.Unit) bool {
	until := make(map[placement.Shape]int64)
	return func(u *preempt.Unit) bool {
		last := int64(-1)
		for i := range u.Tasks {
			shape := u.Tasks[i].Shape
			of, known := until[shape]
			if !known {
				of = s.roomUntil(shape)
				until[shape] = of
			}
			last = max(last, of)
		}
		o := &cluster.OutUnit{Unit: u}
		o.Seats, _ = cluster.PartSeats(s.world.Room.Seats[u.Work], u.Step)
		return s.of(u.Work) != nil || last >= 0 && s.reachesStill(o).until <= last
	}
}

// roomUntil is until when a task of a shape may be there, at most, for which some node has room beside what
// is promised, whatever else leaves; it is negative where none has any.
func (s sparing) roomUntil(shape placement.Shape) int64 {
	x, one := s.pool.Index, []placement.Need{{Shape: shape, Tasks: 1}}
	if !placement.HasRoom(x, one) {
		return -1
	}
	var times []int64
	for _, p := range s.promises.list {
		if s.isOfAnother(p, cluster.None) {
			times = append(times, p.at)
		}
	}
	slices.Sort(times)
	full := func(at int64) bool {
		rooms := x.Rooms(shape)
		m, _ := s.promises.profile.KeepFree(cluster.TimeAfter(at, 1), true, func(v int32) bool { return rooms[v] > 0 }, func(holder int32) bool {
			p := s.of(holder)
			return p != nil && s.isOfAnother(p, cluster.None)
		})
		defer x.Undo(m)
		return !placement.HasRoom(x, one)
	}
	first, _ := slices.BinarySearchFunc(times, true, func(at int64, _ bool) int {
		if full(at) {
			return 1
		}
		return -1
	})
	if first == len(times) {
		return cluster.Never
	}
	return times[first]
}

// isPromised says whether something of a place is promised to another than a workload from before a
// time on: of its devices, or of its node where it has none.
func (s sparing) isPromised(i int32, until int64, node int32, devices uint64) bool {
	return slices.ContainsFunc(s.promises.list, func(p *promise) bool {
		return s.isOfAnother(p, i) && p.at < until && p.overlaps(node, devices)
	})
}

// seesAll says whether the profile knows of all that stands in the index, and nothing is tried
// that it does not know of.
func (s sparing) seesAll() bool { return !s.trial && !s.promises.making && s.isFresh() }

// leavesAlone says whether the tasks of a unit that move leave alone what is promised to others,
// where all of them have their places in the index.
func (s sparing) leavesAlone(o *cluster.OutUnit, seats []cluster.Seat, d *cluster.Definition) bool {
	if len(s.promises.list) == 0 {
		return true
	}
	x := s.pool.Index
	var moved []placement.Stay
	var home []cluster.Seat
	for at := range seats {
		if one, was := &seats[at], &o.Seats[at]; one.Node == was.Node && one.Devices == was.Devices {
			home = append(home, *one)
		}
	}
	if !s.mayComeHome(o.Unit, home) {
		return false
	}
	m := x.Mark()
	defer x.Undo(m)
	for at := range seats {
		one, was := &seats[at], &o.Seats[at]
		if one.Node == was.Node && one.Devices == was.Devices {
			continue
		}
		task := placement.Stay{Shape: d.Sets[one.Set].Placed, Place: one.Place(s.world)}
		_ = x.Give(task.Shape, task.Place) // it has that
		moved = append(moved, task)
	}
	return s.mayStand(o.Unit.Work, s.reachesStill(o).until, moved)
}

// mayComeHome says whether tasks of a unit that was taken leave what is promised to others as it
// stands, now that they have their places in the index again, in which they ran: others may have
// been given since what was free while they were out. They are there no longer than they were
// expected to be, and step aside as they did.
func (s sparing) mayComeHome(u *preempt.Unit, home []cluster.Seat) bool {
	if len(s.promises.list) == 0 || len(home) == 0 {
		return true
	}
	use := s.pool.Tree.Mark()
	defer s.pool.Tree.Undo(use)
	return s.pool.Tree.Charge(int(u.Leaf), u.Charge, u.NonPreemptible) == nil && s.sparesFromHome(u.Work, home)
}

// sparesFromHome is mayComeHome of what its queue is charged for.
func (s sparing) sparesFromHome(work int32, home []cluster.Seat) bool {
	now := s.promises.profile
	tried := s.trial || s.promises.making
	var meets []*promise
	for _, p := range s.promises.list { // what is promised in this solve finds other places
		if s.isOfAnother(p, work) && !p.gathers && len(now.Held(p.work)) > 0 && (tried || p.was != nil) && s.meets(p, work, home) {
			meets = append(meets, p)
		}
	}
	if len(meets) == 0 {
		return true
	}
	stands := false
	s.asItIs(meets, func() {
		stands = !slices.ContainsFunc(meets, func(p *promise) bool { return !s.standsStill(p) })
	})
	if !stands && !tried {
		s.asItIs(s.promises.list, func() { _, stands = s.together(func(p *promise) bool { return p.was != nil }) })
	}
	return stands
}

// meets says whether tasks of a workload are in the way of a promise, or of its queue, when its time
// comes.
func (s sparing) meets(p *promise, i int32, home []cluster.Seat) bool {
	w := s.world
	f := w.FormOf(&w.Works[p.work], p.form)
	binds, ends := s.binds(f, s.chargeOf(p)), endings{World: w, withReleased: true}
	return slices.ContainsFunc(home, func(one cluster.Seat) bool {
		return s.promises.profile.Round(ends.leavesAt(i, &one)) > p.at && (binds || p.overlaps(w.Position[one.Node], 0)) && !s.behind().stepsAside(&one, i, p)
	})
}

// asItIs calls do with a profile that knows of the nodes of some promises what stands there in the
// index, though it be tried only.
func (s sparing) asItIs(known []*promise, do func()) {
	all, w := &s.promises, s.world
	before, tree, listed := all.profile, all.tree, all.standersOn
	defer func() { all.profile, all.tree, all.standersOn = before, tree, listed }()
	all.profile, all.tree, all.standersOn = before.Afresh(), nil, standersOn{}
	nodes := make(map[int32]bool)
	for _, p := range known {
		for at := range p.stays {
			nodes[p.stays[at].Place.Node] = true
		}
	}
	var stands []placement.Stay
	outs, ends := s.behind().outs(), endings{World: w, withReleased: true, begins: s.begins}
	note := func(i int32, one *cluster.Seat) {
		if nodes[w.Position[one.Node]] {
			stay := s.stayOf(&ends, i, one)
			all.profile.Stands(stay)
			stands = append(stands, stay)
		}
	}
	for i, one := range s.behind().standing() {
		if !outs.has(i, one.Step) {
			note(i, one)
		}
	}
	if all.making { // what is tried has left in time, as it will when it is carried out
		s.eachTried(note)
	}
	for _, p := range all.list {
		if !s.isOfAnother(p, cluster.None) {
			continue // it has no promise once it has started
		}
		p.tellWay(all.profile, slices.DeleteFunc(slices.Clone(before.Behinds(p.work)), func(one placement.Stay) bool {
			return !slices.ContainsFunc(stands, func(other placement.Stay) bool {
				return other.Place == one.Place && other.Shape == one.Shape && other.Of == one.Of
			})
		}))
		if held := before.Held(p.work); len(held) > 0 {
			all.profile.Hold(p.work, held)
		}
	}
	do()
}

// eachTried goes through the tasks that have their places by what is tried alone: those that would start, and those that
// move for them or stay.
func (s sparing) eachTried(do func(i int32, one *cluster.Seat)) {
	if begins := &s.begins; begins.work > 0 {
		k := &s.world.Works[begins.work-1]
		before := k.Current
		k.Current = begins.form // it starts in that
		for at := range begins.seats {
			do(begins.work-1, &begins.seats[at])
		}
		k.Current = before
	}
	for _, again := range s.seated {
		for at := range again.seats {
			do(again.unit.Work, &again.seats[at])
		}
	}
}

// due is the promise of who would start, if its time has come, or nil: it is not in the way of those
// that were promised its places from when it is expected to have ended (B2, B4).
func (s sparing) due(r reach) *promise {
	if p := s.of(r.work); p != nil && !r.moves && !p.gathers && p.was != nil && p.at <= max(s.world.Now, 0) {
		return p
	}
	return nil
}

// behindDue are the promises that stand only because one that is due is expected to end, if its places
// reach them. While what is tried hides what stands they are those that were.
func (s sparing) behindDue(due *promise, r reach, trial bool) []*promise {
	switch {
	case due == nil:
		return nil
	case trial:
		return due.behindIt
	}
	due.behindIt = nil
	for _, p := range s.promises.list {
		if p != due && p.at >= s.until(due) && p.at < r.until && !s.standsBeside(p, due, due.stays) {
			due.behindIt = append(due.behindIt, p)
		}
	}
	return due.behindIt
}

// surely is when a promise has ended for sure, if it begins at its time (B5).
func (s sparing) surely(p *promise) int64 {
	return cluster.TimeAfter(p.at, s.laying().mostOf(p))
}

// mostOf is for how long a promise is in use for sure, as far as that is trusted.
func (s laying) mostOf(p *promise) int64 {
	return s.pool.Most(&s.world.Definition(&s.world.Works[p.work], p.form).Times, p.tasks())
}

// standsBeside says whether a promise stands where another lasts as long as it may, on some places and in its queues.
func (s sparing) standsBeside(other, p *promise, stays []placement.Stay) bool {
	own, profile, expected := slices.Clone(stays), s.promises.profile, p.duration
	p.duration = s.laying().mostOf(p)
	defer func() { p.duration = expected }()
	for i := range own {
		own[i].Until = s.surely(p)
	}
	before := profile.Release(p.work)
	profile.Hold(p.work, own)
	stands := s.standsStill(other)
	profile.Release(p.work)
	if len(before) > 0 {
		profile.Hold(p.work, before)
	}
	return stands
}

// standsStill says whether a promise that is held stands beside all else that is.
func (s sparing) standsStill(p *promise) bool {
	stays := s.promises.profile.Release(p.work)
	stands := s.stands(p)
	s.promises.profile.Hold(p.work, stays)
	return stands
}

// givenUp is what of what was promised has been given up since something else became free in
// the pool. Who was sought a time in vain, or found none earlier, finds none until it is there that a task of it
// has room: most promises have nothing to do with one that moves.
type givenUp struct {
	stays []placement.Stay
	gone  int64 // how many were forgotten
	freed int64 // Pool.Freed as it is by what was given up alone
	seen  map[int32]bool
}

// forgoing is what a solver knows of that.
type forgoing struct{ promising }

func (s promising) forgoing() forgoing { return forgoing{s} }

// giveUp notes places that are promised no longer.
func (s forgoing) giveUp(stays []placement.Stay) {
	s.since()
	g := &s.promises.givenUp
	g.stays = append(g.stays, stays...)
}

// since is a number of now; what is given up from now on comes after it.
func (s forgoing) since() int64 {
	g := &s.promises.givenUp
	if g.freed != s.pool.Freed { // by something else too
		g.gone, g.stays, g.freed = g.gone+int64(len(g.stays))+1, g.stays[:0], s.pool.Freed
	}
	return g.gone + int64(len(g.stays)) + 1
}

// free notes that something is free that was given up.
func (s forgoing) free() {
	s.since()
	s.pool.Free()
	s.promises.givenUp.freed = s.pool.Freed
}

// noteSought notes that all times before that of a promise have been looked at, if no more was in the way
// than that there was no room.
func (s forgoing) noteSought(p *promise) {
	if p.sought = 0; p.soughtAll {
		p.sought = s.since()
	}
}

// stillNone is a sound bound: whether a promise finds no room earlier, as it found none before and nothing
// that was given up since has room for any task of it before its time.
func (s forgoing) stillNone(p *promise) bool {
	now, g := s.since(), &s.promises.givenUp
	if p.gathers || p.sought <= g.gone {
		return false
	}
	if g.seen == nil {
		g.seen = make(map[int32]bool)
	}
	clear(g.seen)
	d := s.world.Definition(&s.world.Works[p.work], p.form)
	window := placement.Window{From: max(s.world.Now, 0), Before: p.at, Duration: p.duration}
	for _, one := range g.stays[len(g.stays)-int(now-p.sought):] {
		if v := one.Place.Node; !g.seen[v] {
			g.seen[v] = true
			if s.promises.profile.HasRoomOn(v, window, needsOf(d, p.unit)) {
				return false
			}
		}
	}
	return true
}

// samePlaces says whether tasks have the same places.
func samePlaces(a, b []placement.Stay) bool {
	return slices.EqualFunc(a, b, func(one, other placement.Stay) bool { return one.Place == other.Place })
}

// settles has all be laid again where some were displaced, now that who was placed stands or has given
// its places back.
func (s promising) settles() (stale bool) {
	all := &s.promises
	if stale = all.displaced; stale {
		all.displaced, all.at = false, 0
	}
	return stale
}

// lift gives up what is held for some promises, for now.
func (s promising) lift(which func(*promise) bool) (lifted []*promise) {
	for _, p := range s.promises.list {
		if which(p) && len(s.promises.profile.Release(p.work)) > 0 {
			lifted = append(lifted, p)
		}
	}
	return lifted
}

// layBack holds again what was given up for now so that one could be laid, and returns what does
// not stand any more: of what stood before only what that one can have to do with.
func (s promising) layBack(lifted []*promise, laid *promise) (broken []*promise) {
	allIn := s.allLetIn(laid)
	for _, p := range lifted {
		if laid == nil || p != laid && allIn && !s.meet(p, laid) || s.stands(p) {
			s.hold(p)
		} else {
			broken = append(broken, p)
		}
	}
	return broken
}

// meet says whether two promises have some node for some time in common.
func (s promising) meet(a, b *promise) bool {
	return a.at < s.until(b) && b.at < s.until(a) && share(a, b)
}

// share says whether two promises have some node in common.
func share(a, b *promise) bool {
	return slices.ContainsFunc(b.stays, func(one placement.Stay) bool { return a.overlaps(one.Place.Node, 0) })
}
