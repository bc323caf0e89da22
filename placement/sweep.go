package placement

import (
	"cmp"
	"slices"
)

// A sweep brings the index of a profile to what is free in the whole of a window, and moves the
// window on. It reads the nodes on which something begins or ends with that, and no others. Of each it
// knows by how much less is free than now, so that what ends and is taken at once by somebody for
// whom it is held costs nothing.
type sweep struct {
	profile             *Profile
	mark                Mark
	at, until, duration int64
	// ended is how many of what stands has ended, in the order of the ends.
	ended int
	// byFrom and byUntil are who holds something, as it begins and as it ends; in each those
	// that have begun before the window ends, and that have ended before it begins.
	byFrom, byUntil []holding
	begun, over     int
	opens           []int64 // ascending

	freed  []int32 // the nodes that are more free than in the window before
	opened bool    // something else is, see Profile.Opens

	touched []int32
	stamps  []uint32 // by node: the last step in which it was touched
	stamp   uint32
	// applied is by node where in loads it begins by how much less is free, plus one.
	applied     []int32
	changed     []int32 // the nodes of which it is not 0
	loads       cells
	target, now cells
	teams       int
}

// A holding is when something is held for a holder.
type holding struct {
	holder      int32
	from, until int64
}

func (h holding) compareFrom(other holding) int {
	return cmp.Or(cmp.Compare(h.from, other.from), cmp.Compare(h.holder, other.holder))
}

func (h holding) compareUntil(other holding) int {
	return cmp.Or(cmp.Compare(h.until, other.until), cmp.Compare(h.holder, other.holder))
}

// open returns a sweep at a time that knows of nothing yet, and marks the index.
func (p *Profile) open(at, duration int64) *sweep {
	var s *sweep
	if last := len(p.spare) - 1; last >= 0 {
		s, p.spare = p.spare[last], p.spare[:last]
	} else {
		n := len(p.index.nodes)
		s = &sweep{stamps: make([]uint32, n), applied: make([]int32, n)}
	}
	s.profile = p
	s.mark = p.index.Mark()
	s.at, s.duration, s.until, s.teams = at, duration, p.Round(after(at, duration)), len(p.index.teams)
	s.step()
	return s
}

// end gives all back.
func (s *sweep) end() {
	s.profile.index.Undo(s.mark)
	for _, v := range s.changed {
		s.applied[v] = 0
	}
	s.changed, s.loads = s.changed[:0], s.loads[:0]
	s.profile.spare = append(s.profile.spare, s)
}

// begin opens a sweep and brings the index to the window that begins at a time.
func (p *Profile) begin(at, duration int64) *sweep {
	s := p.open(at, duration)
	p.leave()
	p.sort()
	s.ended, s.begun, s.over = 0, 0, 0
	s.byFrom, s.byUntil = p.byFrom, p.byUntil
	s.opens = append(s.opens[:0], p.opens...)
	slices.Sort(s.opens)
	s.moveTo(at)
	return s
}

// aside calls do while the index is as it is outside of the sweep, and brings it back to the window: what that
// is of each node is known.
func (s *sweep) aside(do func()) {
	p := s.profile
	p.index.Undo(s.mark)
	do()
	s.mark = p.index.Mark()
	p.leave()
	for _, i := range p.ends[:s.ended] {
		s.leaveClaim(&p.stands[i])
	}
	for _, v := range s.changed {
		s.loads[s.applied[v]-1:][:s.target.width(p.index, v)+s.teams].burden(p.index, v)
	}
	s.byFrom, s.byUntil = p.byFrom, p.byUntil
}

// nextTime is the next time up to a last one at which something ends or opens.
func (s *sweep) nextTime(last int64) (int64, bool) {
	p, next := s.profile, int64(Never)
	if s.ended < len(p.ends) {
		next = p.stands[p.ends[s.ended]].Until
	}
	for i := s.over; i < len(s.byUntil) && next > s.at; i++ {
		if until := s.byUntil[i].until; until > s.at {
			next = min(next, until)
			break
		}
	}
	for _, t := range s.opens {
		if t > s.at {
			next = min(next, t)
			break
		}
	}
	return next, next <= last
}

// moveTo has the window begin at a time, and notes what is more free in it than in the one before.
func (s *sweep) moveTo(at int64) {
	p := s.profile
	s.at, s.until = at, p.Round(after(at, s.duration))
	s.step()
	for ; s.ended < len(p.ends); s.ended++ {
		one := &p.stands[p.ends[s.ended]]
		if one.Until > at {
			break
		}
		s.touch(one.Place.Node)
		if s.leaveClaim(one) {
			s.freed = append(s.freed, one.Place.Node)
		}
	}
	for ; s.over < len(s.byUntil) && s.byUntil[s.over].until <= at; s.over++ {
		s.touchAll(s.byUntil[s.over].holder)
	}
	for ; s.begun < len(s.byFrom) && s.byFrom[s.begun].from < s.until; s.begun++ {
		s.touchAll(s.byFrom[s.begun].holder)
	}
	if len(p.behind) > 0 { // who stands behind somebody is gone once that one has begun
		for i := 0; i < s.begun && s.byFrom[i].from <= at; i++ {
			s.touchAll(s.byFrom[i].holder)
		}
	}
	s.opened = slices.Contains(s.opens, at)
	s.bring()
}

// mayServe says whether what is more free than in the window before may serve somebody with some needs: what fits now
// and did not before takes some of it.
func (s *sweep) mayServe(needs []Need) bool {
	if s.opened || len(needs) == 0 {
		return s.opened || len(s.freed) > 0
	}
	return slices.ContainsFunc(s.freed, func(v int32) bool {
		return slices.ContainsFunc(needs, func(n Need) bool { return n.Tasks > 0 && s.profile.index.RoomOn(n.Shape, v) > 0 })
	})
}

// leaveClaims has the claims leave the nodes that are touched that have ended.
func (s *sweep) leaveClaims() {
	p := s.profile
	for _, v := range s.touched {
		for i := p.lastOn(v); i >= 0; i = p.next[i] - 1 {
			if one := &p.stands[i]; one.Until <= s.at {
				s.leaveClaim(one)
			}
		}
	}
}

// leaveClaim has something that has ended leave its node if it is a claim, of two layers, which it leaves as any
// claim does; it says whether it is one.
func (s *sweep) leaveClaim(one *Stay) bool {
	if !one.Place.Pipelined || s.profile.isGone(one) {
		return false
	}
	_ = s.profile.index.Give(one.Shape, one.Place)
	return true
}

// step begins a new step, in which nothing is touched or more free.
func (s *sweep) step() {
	s.touched, s.freed, s.opened = s.touched[:0], s.freed[:0], false
	if s.stamp++; s.stamp == 0 {
		clear(s.stamps)
		s.stamp = 1
	}
}

// touch notes that a node is to be read in this step.
func (s *sweep) touch(v int32) {
	if !s.isTouched(v) {
		s.stamps[v] = s.stamp
		s.touched = append(s.touched, v)
	}
}

func (s *sweep) isTouched(v int32) bool { return s.stamps[v] == s.stamp }

// touchAll touches the nodes on which something is held for a holder.
func (s *sweep) touchAll(holder int32) {
	stays := s.profile.holds[holder]
	for i := range stays {
		s.touch(stays[i].Place.Node)
	}
}

// bringThere brings what is free of the nodes that are touched to what is free in the whole window,
// where nothing has left the index yet.
func (s *sweep) bringThere() {
	for _, one := range s.profile.leaving {
		if s.isTouched(one.Place.Node) {
			_ = s.profile.index.Leave(one.Shape, one.Place) // it is releasing, by the caller's word
		}
	}
	s.leaveClaims()
	s.bring()
}

// bring brings what is free of the nodes that are touched to what is free in the whole window.
func (s *sweep) bring() {
	for _, v := range s.touched {
		if s.bringNode(v) {
			s.freed = append(s.freed, v)
		}
	}
}

// bringNode is bring for one node.
func (s *sweep) bringNode(v int32) (freer bool) {
	p, x := s.profile, s.profile.index
	s.target, s.now = s.target.none(x, v), s.now.none(x, v)
	if held := p.heldOn[v]; len(held) > 0 {
		p.mostOn(s.target, s.now, v, held, s.at, s.until, false)
	}
	n := len(s.target)
	for range s.teams {
		s.target = append(s.target, 0)
	}
	for i := p.lastOn(v); i >= 0; i = p.next[i] - 1 {
		if one := &p.stands[i]; one.Until <= s.at && !one.Place.Pipelined && !p.isGone(one) {
			s.target.add(x, one, -1)
			if sh := x.shape(one.Shape); sh.count > 0 {
				s.target[n+int(sh.team)]--
			}
		}
	}
	if s.applied[v] == 0 {
		if !slices.ContainsFunc(s.target, func(n int64) bool { return n != 0 }) {
			return false
		}
		s.changed = append(s.changed, v)
		s.applied[v] = int32(len(s.loads)) + 1
		for range s.target {
			s.loads = append(s.loads, 0)
		}
	}
	applied := s.loads[s.applied[v]-1:][:len(s.target)]
	for c, n := range s.target {
		s.target[c], applied[c] = n-applied[c], n
		freer = freer || c < len(s.target)-s.teams && s.target[c] < 0
	}
	s.target.burden(x, v)
	return freer
}
