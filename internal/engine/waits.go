package engine

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// Whom a promise waits for is told when all is decided: who has the places now, or what its queue may
// use, and is gone by its time, as its end is known, or something is promised to it that is over then.

// waits are by workload whom what is promised waits for, the last to go first: of those who are gone by its time
// as few as serve, the first to go, without whom it could not begin then. Whom these wait for is not told again.
func (s telling) waits() map[int32][]int32 {
	all := &s.promises
	if all.waitsAt == s.pool.Changes+1 {
		return all.waits
	}
	var gathered, inTime []*promise
	for _, p := range all.list {
		if p.gathers {
			gathered = append(gathered, p)
		} else {
			inTime = append(inTime, p)
		}
	}
	slices.SortFunc(inTime, func(a, b *promise) int {
		return cmp.Or(cmp.Compare(a.at, b.at), s.world.CompareIDs(a.work, b.work))
	})
	all.waits, all.waitsAt = make(map[int32][]int32, len(all.list)), s.pool.Changes+1
	all.through = make(map[int32][]int32, len(all.list))
	s.waitInTime(inTime, []moment{{}})
	if len(gathered) > 0 {
		s.waitGathered(gathered, inTime)
		held := []moment{{}} // what is promised for a time has to be free whether what is gathered is in use or not
		for _, p := range gathered {
			all.goThrough(p.work)
			held = append(held, moment{s.world.Now, []*promise{p}})
		}
		s.waitInTime(inTime, held)
		s.waitGathered(gathered, inTime)
	}
	return all.waits
}

// waitInTime finds for whom the promises of a time wait, the first in time first, at some moments.
func (s telling) waitInTime(inTime []*promise, beside []moment) {
	for i, p := range inTime {
		one := awaiting{telling: s, p: p, before: inTime[:i], beside: beside}
		s.promises.waits[p.work] = one.list()
		s.promises.goThrough(p.work)
	}
}

// waitGathered finds for whom those wait that are gathered: what is gathered is held while each of the others
// is in use.
func (s telling) waitGathered(gathered, inTime []*promise) {
	beside := []moment{{}}
	for i, p := range inTime {
		if i+1 == len(inTime) || inTime[i+1].at > p.at {
			beside = append(beside, moment{p.at, inTime[:i+1]})
		}
	}
	for _, p := range gathered {
		one := awaiting{telling: s, p: p, beside: beside}
		s.promises.waits[p.work] = one.list()
	}
}

// goThrough notes for whom a promise waits, and for whom these wait.
func (all *promises) goThrough(work int32) {
	list := slices.Clone(all.waits[work])
	for _, by := range all.waits[work] {
		list = append(list, all.through[by]...)
	}
	slices.Sort(list)
	all.through[work] = slices.Compact(list)
}

// An awaiting asks whom a promise waits for, where those before it in time are given, of which all may be in use
// when it begins, and the moments at which others besides have begun: what is gathered is held at each of these.
type awaiting struct {
	telling
	p      *promise
	before []*promise
	beside []moment
	goers  []*goer // the last to go first
	// implied are those for whom one of these waits whom it waits for; stay are those that could last for ever.
	implied map[int32]bool
	stay    []*goer
}

// A moment is a time, and the promises that have begun by then.
type moment struct {
	at    int64
	begun []*promise
}

// A goer is somebody who is gone when a promise begins: up to when, what it has on the nodes of that, and
// what it is charged below queues that keep the promise out.
type goer struct {
	work    int32
	until   int64
	stays   []placement.Stay
	charges []charged
	// aside is what of its stays makes way for others, by those.
	aside map[int32][]placement.Stay
}

// list is whom the promise waits for. Whoever is gone by then is asked about, the last to go first: whether the
// promise could begin if this one were there, and those that it need not wait for.
func (s *awaiting) list() (named []int32) {
	x := s.pool.Index
	defer s.behind().onBehalfOf(s.p.work)()
	m := x.Mark()
	defer x.Undo(m)
	s.bringThere()
	if len(s.goers) == 0 {
		return nil
	}
	slices.SortFunc(s.goers, func(a, b *goer) int {
		return cmp.Or(cmp.Compare(s.goneBy(b), s.goneBy(a)), s.world.CompareIDs(b.work, a.work))
	})
	s.implied = make(map[int32]bool)
	ask := func() {
		for _, one := range s.goers {
			if !s.implied[one.work] && !s.couldStay(one) {
				named = append(named, one.work)
				s.imply(one.work)
			}
		}
	}
	if !slices.ContainsFunc(s.goers, func(one *goer) bool { return len(one.charges) > 0 }) {
		ask() // its queue lets it in beside all of them
	} else {
		s.during(s.p.at, s.isBefore, func() {
			s.leaveQueues()
			ask()
		})
	}
	return named
}

// goneBy is when somebody is gone with all that it has or is promised and is over when the promise begins: what of it
// is leaving does not go before those for whom the rest waits.
func (s *awaiting) goneBy(one *goer) int64 {
	if by := s.of(one.work); by != nil && s.until(by) <= s.p.at {
		return max(one.until, s.until(by))
	}
	return one.until
}

// using is what of the queues' use may be gone by the time of the promise: all where that is not known (B8).
func (s *awaiting) using() []ended {
	if s.p.gathers {
		return s.use()
	}
	return s.useOverTime()
}

// leaveQueues has those be gone from the queues too for whom one waits whose time is not known.
func (s *awaiting) leaveQueues() {
	if !s.p.gathers {
		return
	}
	for _, one := range s.goers {
		for _, c := range one.charges {
			_ = s.pool.Tree.Release(int(c.leaf), c.charge, c.nonPreemptible) // it was charged
		}
	}
}

// isBefore says whether a promise is one of those that are given.
func (s *awaiting) isBefore(other *promise) bool { return slices.Contains(s.before, other) }

// imply notes that all for whom somebody waits who is promised something are gone before that one is there.
func (s *awaiting) imply(work int32) {
	by := s.of(work)
	if by == nil {
		return
	}
	for _, i := range s.promises.waits[work] {
		if !s.implied[i] && s.lastOf(i) <= by.at {
			s.implied[i] = true
			s.imply(i)
		}
	}
}

// lastOf is until when a workload has anything, or is promised it: what is left of a gang has both.
func (s *awaiting) lastOf(i int32) (last int64) {
	if p := s.of(i); p != nil {
		last = s.until(p)
	}
	ends := endings{World: s.world}
	for at := range s.world.Room.Seats[i] {
		last = max(last, s.promises.profile.Round(s.stayOf(&ends, i, &s.world.Room.Seats[i][at]).Until))
	}
	return last
}

// couldStay says whether the promise could begin if somebody were still there who is gone by then, and has
// that one stay; but not one for whom others wait that are given.
func (s *awaiting) couldStay(one *goer) bool {
	x, tree := s.pool.Index, s.pool.Tree
	nodes, use, awaited := x.Mark(), tree.Mark(), false
	for _, other := range s.before { // who waits for it would not be there
		if s.waitsFor(other.work, one.work) {
			awaited = true
			s.takeBack(other)
		}
	}
	s.give(one, -1)
	could := !slices.ContainsFunc(s.beside, func(then moment) bool {
		m, before := x.Mark(), tree.Mark()
		defer tree.Undo(before)
		defer x.Undo(m)
		s.enter(then, one)
		return !s.begins(one)
	})
	if awaited || !could {
		x.Undo(nodes)
		tree.Undo(use)
		return could
	}
	x.Commit(nodes)
	tree.Commit(use)
	s.stay = append(s.stay, one)
	return true
}

// waitsFor says whether who is promised something waits for somebody, or for one who does.
func (s *awaiting) waitsFor(work, whom int32) bool {
	list := s.promises.through[work]
	_, found := slices.BinarySearch(list, whom)
	return found
}

// give has somebody be there, by 1 be gone again.
func (s *awaiting) give(one *goer, sign int) {
	for _, stay := range one.stays {
		if sign > 0 {
			_ = s.pool.Index.Give(stay.Shape, stay.Place) // it was taken
		} else {
			_ = s.pool.Index.Take(stay.Shape, stay.Place) // it is there now
		}
	}
	for _, c := range one.charges {
		if sign > 0 {
			_ = s.pool.Tree.Release(int(c.leaf), c.charge, c.nonPreemptible) // it was charged
		} else {
			_ = s.pool.Tree.Charge(int(c.leaf), c.charge, c.nonPreemptible) // it is charged now
		}
	}
}

// enter has those be in use that have begun at a moment and do not wait for somebody who is there; for whom they wait
// is not there any more, nor who makes way for them.
func (s *awaiting) enter(then moment, there *goer) {
	gone := make(map[int32]bool)
	for _, other := range then.begun {
		if s.waitsFor(other.work, there.work) {
			continue
		}
		for _, one := range s.stay {
			if !gone[one.work] && s.waitsFor(other.work, one.work) {
				gone[one.work] = true
				s.give(one, 1)
			}
		}
		for _, one := range append(s.stay, there) {
			for _, stay := range one.aside[other.work] {
				if !gone[one.work] {
					_ = s.pool.Index.Give(stay.Shape, stay.Place) // it is there
				}
			}
		}
		if s.until(other) > then.at {
			s.give(s.inUse(other), -1)
		}
	}
}

// begins says whether the promise could begin, as things stand where somebody has something.
func (s *awaiting) begins(one *goer) bool {
	if !s.fitsBeside(one) {
		return false
	}
	f := s.world.FormOf(&s.world.Works[s.p.work], s.p.form)
	_, ok := s.pool.Tree.Check(int(f.Queue), s.chargeOf(s.p), f.NonPreemptible)
	return ok || len(one.charges) == 0
}

// inUse is what another promise has on the nodes of this one, and is charged.
func (s *awaiting) inUse(other *promise) *goer {
	one, f := s.goerOf(other), s.world.FormOf(&s.world.Works[other.work], other.form)
	one.charges = []charged{{f.Queue, s.chargeOf(other), f.NonPreemptible}}
	return one
}

// takeBack has a promise not be there: one in use, or one that is over and could last.
func (s *awaiting) takeBack(other *promise) {
	if at := slices.IndexFunc(s.stay, func(g *goer) bool { return g.work == other.work }); at >= 0 {
		s.give(s.stay[at], 1)
	} else if s.until(other) > s.p.at {
		s.give(s.inUse(other), 1)
	}
}

// fitsBeside says whether the places of the promise are free on the nodes on which somebody has something.
func (s *awaiting) fitsBeside(one *goer) bool {
	x := s.pool.Index
	m := x.Mark()
	defer x.Undo(m)
	return !slices.ContainsFunc(s.p.stays, func(own placement.Stay) bool {
		return anyOn(one.stays, own.Place.Node) && !takeIfFree(x, own.Shape, own.Place)
	})
}

// anyOn says whether some of the stays are on a node.
func anyOn(stays []placement.Stay, node int32) bool {
	return slices.ContainsFunc(stays, func(one placement.Stay) bool { return one.Place.Node == node })
}

// goerOf is what another promise has on the nodes of this one.
func (s *awaiting) goerOf(other *promise) *goer {
	one := &goer{work: other.work, until: s.until(other)}
	for _, stay := range other.stays {
		if anyOn(s.p.stays, stay.Place.Node) {
			one.stays = append(one.stays, stay)
		}
	}
	return one
}

// bringThere brings the nodes of the promise to what is free when it begins but for itself, with those before
// it in use, and lists who is gone by then.
func (s *awaiting) bringThere() {
	x, byWork := s.pool.Index, make(map[int32]*goer)
	goes := func(i int32, until int64) *goer {
		one := byWork[i]
		if one == nil {
			one = &goer{work: i}
			byWork[i], s.goers = one, append(s.goers, one)
		}
		one.until = max(one.until, until)
		return one
	}
	s.standersGo(goes)
	bounds := s.bounds()
	if len(bounds) > 0 {
		for _, one := range s.using() {
			if one.work != s.p.work && s.ended(&one) && s.isBounded(one.leaf, bounds) {
				g := goes(one.work, s.promises.profile.Round(one.until))
				g.charges = append(g.charges, one.charged)
			}
		}
	}
	for _, other := range s.before {
		one, f := s.goerOf(other), s.world.FormOf(&s.world.Works[other.work], other.form)
		if one.until > s.p.at {
			for _, stay := range one.stays {
				_ = x.Take(stay.Shape, stay.Place) // it is held
			}
			continue
		}
		if s.isBounded(f.Queue, bounds) {
			one.charges = []charged{{f.Queue, s.chargeOf(other), f.NonPreemptible}}
		}
		if len(one.stays)+len(one.charges) > 0 {
			s.goers = append(s.goers, one)
		}
	}
}

// standersGo has those leave the index who are gone from the nodes of the promise when it begins, and lists
// them; but not those that make way for somebody then, and of what is leaving not what one of them waits for.
func (s *awaiting) standersGo(goes func(i int32, until int64) *goer) {
	w, p, x := s.world, s.p, s.pool.Index
	leave := s.leavingOn()
	for _, h := range leave {
		_ = x.Leave(s.footprintOf(h), h.Place(w)) // it is leaving, by its phase
	}
	ends := endings{World: w}
	for i, one := range s.behind().standingOn(p) {
		stay := s.stayOf(&ends, i, one)
		until := max(w.Now, s.promises.profile.Round(stay.Until), 0)
		gone := i != p.work && !s.behind().stepsAside(one, i, p) && (p.gathers || until <= p.at)
		if gone || s.makesWayByThen(one, i) {
			_ = x.Give(stay.Shape, stay.Place) // it stands there
		}
		if gone {
			leave = slices.DeleteFunc(leave, func(h *cluster.Holding) bool { return (one.Pipelined || one.Claimed) && s.waitsBehind(one, i, h) })
			stay.Place.Pipelined = false
			g := goes(i, until)
			g.stays = append(g.stays, stay)
			s.noteAside(g, one, stay)
		}
	}
	for _, h := range leave {
		g := goes(h.Work, max(w.Now, 0))
		g.stays = append(g.stays, placement.Stay{Shape: s.footprintOf(h), Place: h.Place(w)})
	}
}

// leavingOn is what is leaving the nodes of the promise.
func (s *awaiting) leavingOn() (list []*cluster.Holding) {
	w := s.world
	if !s.pool.Index.Releasing() {
		return nil
	}
	for i := range w.Holdings {
		if h := &w.Holdings[i]; h.Phase == cluster.Terminating && w.NodePool[h.Node] == s.index && anyOn(s.p.stays, w.Position[h.Node]) {
			list = append(list, h)
		}
	}
	return list
}

// waitsBehind says whether who claims a place may wait for what is leaving its node: both have a device, or ask
// a resource.
func (s *awaiting) waitsBehind(one *cluster.Seat, i int32, h *cluster.Holding) bool {
	if one.Node != h.Node || one.Devices&h.Devices != 0 {
		return one.Node == h.Node
	}
	k := &s.world.Works[i]
	own := s.world.Definition(k, k.Current).Sets[one.Set].Request.Amounts
	leaving, _ := s.world.Footprint(h)
	return slices.ContainsFunc(own, func(a quota.Amount) bool { return a.Value > 0 && leaving.Request.Amounts.Of(a.Resource) > 0 })
}

// footprintOf is what is leaving, for the index.
func (s *awaiting) footprintOf(h *cluster.Holding) placement.Shape {
	shape, _ := s.world.Footprint(h)
	return shape.Placed
}

// makesWayByThen says whether who stands somewhere has made way for the promise when it begins, or for one that
// is in use then.
func (s *awaiting) makesWayByThen(one *cluster.Seat, i int32) bool {
	return s.behind().stepsAside(one, i, s.p) || slices.ContainsFunc(s.before, func(other *promise) bool {
		return s.until(other) > s.p.at && s.behind().stepsAside(one, i, other)
	})
}

// noteAside notes for which others who have begun somebody makes way that is gone.
func (s *awaiting) noteAside(g *goer, one *cluster.Seat, stay placement.Stay) {
	for _, other := range s.beside[len(s.beside)-1].begun {
		if s.behind().stepsAside(one, g.work, other) {
			if g.aside == nil {
				g.aside = make(map[int32][]placement.Stay)
			}
			g.aside[other.work] = append(g.aside[other.work], stay)
		}
	}
}
