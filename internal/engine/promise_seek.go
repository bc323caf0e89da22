package engine

import (
	"slices"

	"github.com/allotsched/allot/placement"
)

// When at the earliest, and where, a promise may be used that leaves others as they stand (B2, B5).

// A seeker looks for a time of one promise in a profile in which nothing else changes meanwhile.
type seeker struct {
	sparing
	p   *promise
	had []placement.Stay // where it is held, which is not in its way, or nil
	// beside are the others that are known to stand, or not to, beside it where it is held; apart those of whom the
	// same is known of all that is held, whoever is sought a time of as many rights.
	beside map[besideKey]bool
	apart  map[apartKey]bool
	// alone is [seeker.isAlone], once that is known.
	alone, knowsAlone bool
}

// devicesTaken are by node the whole devices of the places at hand, and the nodes of which there are any.
type devicesTaken struct {
	by    []uint64
	nodes []int32
}

// A besideKey is of whom it is known, and how long the promise may last that is sought.
type besideKey struct {
	other  *promise
	surely int64
}

// An apartKey is who has no node in common with a promise where that is held, and whether those beyond their lines
// are lifted for it.
type apartKey struct {
	other  *promise
	lifted bool
}

// findEarliest finds the earliest time and places of a promise in a window.
func (s promising) findEarliest(p *promise, window placement.Window) bool {
	by := seeker{sparing: s.sparing(), p: p, apart: make(map[apartKey]bool)}
	return by.findEarliest(window)
}

// findEarliest is [promising.findEarliest] with what is known of others.
func (s *seeker) findEarliest(window placement.Window) bool {
	p := s.p
	window.Before = min(window.Before, s.laying().goesBy(p))
	return s.behind().laid(p, func() (found bool) {
		defer s.behind().onBehalfOf(p.work)()
		s.had, s.beside, s.knowsAlone = nil, nil, false // it may have been laid before
		if !p.lost && s.of(p.work) == p {
			s.had = slices.Clone(p.stays)
		}
		s.promises.profile.Without(p.work, func() { found = s.findIn(window) })
		return found
	})
}

// findIn is findEarliest where nobody stands behind whom it is for.
func (s *seeker) findIn(window placement.Window) bool {
	p := s.p
	d := s.world.Definition(&s.world.Works[p.work], p.form)
	f := s.world.FormOf(&s.world.Works[p.work], p.form)
	exact, key := !d.Unsure && !s.promises.profile.SomeBehind(), int64(0)
	if exact && p.was == nil && p.held == nil { // of what asks the same only the first looks at every time
		key = 2*int64(f.Definition) + 1
		if f.NonPreemptible && len(d.Stranger) > 0 { // what is reserved is closed to it earlier
			key++
		}
	}
	from, some := s.admittedFrom(p, window)
	p.soughtAll = exact && len(d.Stranger) == 0 && some && from == max(window.From, s.world.Now, 0) &&
		!s.behind().some() // else somebody may step aside later for what is laid then
	if !some {
		return false
	}
	asks := placement.Question{Key: key, Exact: exact, Fits: func(at int64) bool { return s.placeHeld(p, at) }}
	if len(d.Stranger) > 0 { // other nodes are open at other times: what is closed opens at times that the profile knows
		d = s.closedTo(f.Definition, nil)
	}
	asks.Needs = needsOf(d, p.unit)
	asks.Refuses = s.refuses
	asks.Accepts = func(at int64) (bool, int64) {
		if s.accepts(at) {
			return true, 0
		}
		p.soughtAll = false
		return false, s.nextAdmitted(p, window, at)
	}
	window.From = from
	_, found := s.promises.profile.Earliest(window, asks)
	return found
}

// placeHeld finds places for a promise that begins at a time in the index as it is.
func (s promising) placeHeld(p *promise, at int64) bool {
	d, f := s.openAt(p.work, p.form, at, p.tasks()), s.world.FormOf(&s.world.Works[p.work], p.form)
	used, claims, trial := s.placer.UsedNodes, s.claims, s.trial
	s.placer.UsedNodes, s.claims, s.trial = false, false, true
	_, found, err := s.findPlaces(f, d, p.unit, s.laying().siblings(p, d), p.asks)
	s.placer.UsedNodes, s.claims, s.trial = used, claims, trial
	if !found || err != nil {
		return false
	}
	if len(p.stays) != len(s.places) {
		p.stays = make([]placement.Stay, len(s.places))
	}
	return true
}

// accepts has a promise begin at a time on the places that were found, if its queues have room for it there and
// it leaves others as they stand.
func (s *seeker) accepts(at int64) bool {
	p := s.p
	if p.at = at; !s.admittedThere(p, s.laying().lasts(p)) || s.promises.foresees && s.foreseeing().refusedNow(p) {
		return false
	}
	for i := range p.stays {
		p.stays[i].Place = s.places[i]
		p.stays[i].Place.Pipelined = false
	}
	s.window(p)
	if !s.leavesOthers() {
		return false
	}
	p.lost = false
	return true
}

// leavesOthers says whether a promise could be used at its time: what is promised to others stands
// too where it lasts as long as it may, and not only as long as it is expected to (B5). It does not
// stand so behind the places that it had before.
func (s *seeker) leavesOthers() bool {
	p := s.p
	if p.gathers || s.promises.foresees { // its window is free for as long as it may last
		return true
	}
	surely, ends, alone := s.surely(p), s.until(p), s.isAlone()
	if !alone && s.of(p.work) == nil { // their queues count it too
		s.promises.add(p)
		defer s.promises.remove(p)
	}
	return !slices.ContainsFunc(s.promises.list, func(other *promise) bool {
		return other != p && other.at >= ends && other.at < surely && len(s.promises.profile.Held(other.work)) > 0 &&
			!(alone && !share(other, p)) && // it has nothing to do with that one
			!s.standsBeside(other, p, p.stays) && s.stoodBeside(other)
	})
}

// isAlone says whether others have to do with the promise only where they have a node in common with it.
func (s *seeker) isAlone() bool {
	if !s.knowsAlone || s.pool.Classed() { // what its queues are charged, its places decide
		s.alone, s.knowsAlone = !s.behind().some() && s.allLetIn(s.p), true
	}
	return s.alone
}

// stoodBeside says whether another stands beside the promise where that is held, if it is held anywhere.
func (s *seeker) stoodBeside(other *promise) bool {
	if s.had == nil {
		return true
	}
	stood, known := s.knownBeside(other)
	if known {
		return stood
	}
	at := s.p.at
	s.p.at = s.had[0].From // when it is held
	stood = s.standsBeside(other, s.p, s.had)
	if s.p.at = at; s.isApart(other) {
		s.apart[apartKey{other, s.p.entitled}] = stood
		return stood
	}
	if s.beside == nil {
		s.beside = make(map[besideKey]bool)
	}
	s.beside[besideKey{other, s.surely(s.p)}] = stood
	return stood
}

// knownBeside is stoodBeside as far as it is known.
func (s *seeker) knownBeside(other *promise) (stood, known bool) {
	if stood, known = s.beside[besideKey{other, s.surely(s.p)}]; !known && s.isApart(other) {
		stood, known = s.apart[apartKey{other, s.p.entitled}]
	}
	return stood, known
}

// isApart says whether it makes no difference to another how long the promise lasts where it is held, or whether it
// is there at all.
func (s *seeker) isApart(other *promise) bool {
	return !other.gathers && !s.pool.Classed() && s.isAlone() && !s.promises.profile.SomeBehind() && !share(other, &promise{stays: s.had})
}

// refuses is a sound bound: whether the promise would be in the way of another at a time on the places that were
// found, as both take whole devices of which they have one in common, and the other stands where that does not last.
func (s *seeker) refuses(at int64) (refuses bool) {
	p, taken := s.p, &s.promises.taken
	if p.gathers || s.promises.foresees || !s.takeWhole() {
		return false
	}
	before := p.at
	p.at = at
	defer func() { p.at = before }()
	surely, ends := s.surely(p), s.until(p)
	refuses = slices.ContainsFunc(s.promises.list, func(other *promise) bool {
		if other == p || other.gathers || other.at < ends || other.at >= surely {
			return false
		}
		return slices.ContainsFunc(s.promises.profile.Held(other.work), func(one placement.Stay) bool {
			return taken.by[one.Place.Node]&one.Place.Devices != 0 && s.pool.Index.Whole(one.Shape)
		}) && s.surelyStood(other)
	})
	for _, v := range taken.nodes {
		taken.by[v] = 0
	}
	taken.nodes = taken.nodes[:0]
	p.soughtAll = p.soughtAll && !refuses
	return refuses
}

// surelyStood is stoodBeside where that is known to be so; else it is found out in time.
func (s *seeker) surelyStood(other *promise) bool {
	stood, _ := s.knownBeside(other)
	return s.had == nil || stood
}

// takeWhole notes the whole devices of the places that were found, if there are any.
func (s *seeker) takeWhole() bool {
	d, at, taken := s.world.Definition(&s.world.Works[s.p.work], s.p.form), 0, &s.promises.taken
	if len(taken.by) != len(s.pool.Nodes) {
		taken.by = make([]uint64, len(s.pool.Nodes))
	}
	for set, n := range s.p.unit.Add {
		whole := n > 0 && s.pool.Index.Whole(d.Sets[set].Placed)
		for _, place := range s.places[at:][:n] {
			if whole {
				taken.by[place.Node] |= place.Devices
				taken.nodes = append(taken.nodes, place.Node)
			}
		}
		at += int(n)
	}
	return len(taken.nodes) > 0
}
