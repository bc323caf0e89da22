package placement

import (
	"cmp"
	"math"
	"slices"
)

// Never is the end of what has no known end, in a [Profile].
const Never = math.MaxInt64

// A Stay is one task at a place from one time up to another, in the caller's unit of
// time; From is in it and Until is not.
type Stay struct {
	Shape       Shape
	Place       Place
	From, Until int64
	// Of tells the caller's tasks apart, of which several of one shape may be at one place; it is read of
	// what stands. Zero is one more.
	Of int32
}

// A Profile is an index over time (B2): what stands in the index now and when it is to
// leave, and what is held for later. It answers when at the earliest something fits for
// a whole window; where, its caller finds out on the index itself, which is brought
// to what is free during all of the window and back again.
//
// Everything that stands in the index and of which no end is told stays for ever. Ends are
// rounded up to the resolution, counted from time zero. While a profile is in use, the
// index is changed by what the profile is told of alone, and a profile is told of
// what changes: it is cheap to make a new one.
type Profile struct {
	index      *Index
	now        int64
	resolution int64
	last       int64 // the latest start that is looked for

	leaving []Stay // what is releasing: it is gone from now on
	stands  []Stay // what stands in the index and ends, as it was told
	// ends are those by their end, once they are sorted; first is by node the last of them that
	// was told, next by each the one on its node before it, all plus one.
	ends        []int32
	sorted      bool
	first, next []int32
	holds       map[int32][]Stay // what is held, by the holder
	holders     []int32          // of them, ascending
	// byFrom and byUntil are the holders as what they hold begins, and as it ends.
	byFrom, byUntil []holding
	heldOn          map[int32][]heldStay
	behind          map[int32][]Stay // what stands where something is held, and goes for the holder
	awaiting        []int32          // holders who wait for that, ascending, see Awaits
	gone            []Stay           // those of them who are out of the way, see Without
	opens           []int64          // when something else is more free than before
	// earliest is by key the earliest start that was found, as long as nothing is given
	// up: whatever comes to it can only delay it.
	earliest map[int64]int64
	// roomless are by shape for how many tasks of it there is no room, up to when; as long too.
	roomless  map[Shape][]roomless
	burdening burdening
	using     using
	spare     []*sweep // those that are not in use, kept for the next
}

// NewProfile returns the profile of an index from now on, in which no end is known. Ends
// are rounded up to multiples of the resolution (below 2 nothing is rounded), and starts
// later than now + horizon are not looked for; a horizon of 0 is no bound.
func NewProfile(x *Index, now, resolution, horizon int64) *Profile {
	p := &Profile{
		index: x, now: now, resolution: resolution, last: Never - 1,
		holds: map[int32][]Stay{}, heldOn: map[int32][]heldStay{}, earliest: map[int64]int64{}, roomless: map[Shape][]roomless{},
	}
	if horizon > 0 && now < Never-1-horizon {
		p.last = now + horizon
	}
	return p
}

// Round is a time rounded up to the resolution; Never, and what would be beyond it, is
// Never.
func (p *Profile) Round(t int64) int64 {
	if p.resolution < 2 || t >= Never-p.resolution {
		return t
	}
	if rest := t % p.resolution; rest > 0 {
		return t - rest + p.resolution
	} else if rest < 0 {
		return t - rest
	}
	return t
}

// Leaves tells of a task that is releasing: it is in the way of nothing that is looked
// for, as what is held may wait for it. Until is not read.
func (p *Profile) Leaves(s Stay) {
	p.leaving = append(p.leaving, s)
	p.freed()
}

// Stands tells of a task that was taken in the index when it is to end: at Until, or
// now if that has passed. From is not read.
func (p *Profile) Stands(s Stay) {
	if s.Until == Never {
		return
	}
	s.Until = max(p.now, p.Round(s.Until))
	i := int32(len(p.stands))
	p.stands = append(p.stands, s)
	if p.first == nil {
		p.first = make([]int32, len(p.index.nodes))
	}
	p.burdening.forget()
	p.next = append(p.next, p.first[s.Place.Node])
	p.first[s.Place.Node] = i + 1
	if p.sorted {
		at, _ := slices.BinarySearchFunc(p.ends, i, p.compareEnds)
		p.ends = slices.Insert(p.ends, at, i)
	} else {
		p.ends = append(p.ends, i)
	}
	p.freed()
}

// Behind tells of tasks that stand where places are held for a holder, or may be: while these are
// in use by it, the tasks are not there (B6). If they end, they are told by Stands too; From is
// not read. The list is the profile's from then on, instead of any before.
func (p *Profile) Behind(holder int32, stays []Stay) {
	p.burdening.forget()
	at, awaits := slices.BinarySearch(p.awaiting, holder)
	if awaits {
		p.awaiting = slices.Delete(p.awaiting, at, at+1)
	}
	if len(stays) == 0 {
		delete(p.behind, holder)
		return
	}
	if p.behind == nil {
		p.behind = map[int32][]Stay{}
	}
	for i, one := range stays {
		stays[i].Until = max(p.now, p.Round(one.Until))
	}
	p.behind[holder] = stays
	p.freed()
}

// SomeBehind says whether somebody stands behind a holder, or is awaited by one.
func (p *Profile) SomeBehind() bool { return len(p.behind) > 0 }

// freed forgets what is known of times at which nothing is found, as something may be free that was not.
func (p *Profile) freed() {
	clear(p.earliest)
	clear(p.roomless)
}

// Awaits tells of tasks that stand where places are held for a holder, which waits for them to leave:
// nobody knows when, and what is held may be in use from any time on (B8). What is looked for fits both
// beside these, with nothing in use by the holder, and beside it, with these gone. Else it is as Behind.
func (p *Profile) Awaits(holder int32, stays []Stay) {
	p.Behind(holder, stays)
	if len(stays) > 0 {
		at, _ := slices.BinarySearch(p.awaiting, holder)
		p.awaiting = slices.Insert(p.awaiting, at, holder)
	}
}

// Behinds is what stands behind a holder, or is awaited by it; it must not be modified.
func (p *Profile) Behinds(holder int32) []Stay { return p.behind[holder] }

// Afresh is a profile of the same index in which nothing is held, and nothing is known to end
// but what is releasing: for a caller who has taken out of the index, or put into it, what
// this one does not know of. One of the two is asked at a time.
func (p *Profile) Afresh() *Profile {
	q := NewProfile(p.index, p.now, p.resolution, 0)
	q.last, q.leaving, q.opens, q.spare = p.last, slices.Clip(p.leaving), slices.Clip(p.opens), slices.Clip(p.spare)
	return q
}

// Without calls do while what stands behind a holder is not there, as it is out of the way of
// that one alone. Who is out of the way of another already stays so.
func (p *Profile) Without(holder int32, do func()) {
	if len(p.behind[holder]) == 0 {
		do()
		return
	}
	m := p.index.Mark()
	for _, s := range p.behind[holder] {
		_ = p.index.Give(s.Shape, s.Place) // it was taken, by the caller's word
	}
	p.burdening.forget()
	before := p.gone
	p.gone = append(slices.Clip(before), p.behind[holder]...)
	do()
	p.gone = before
	p.burdening.forget()
	p.index.Undo(m)
}

// isGone says whether a task is out of the way.
func (p *Profile) isGone(s *Stay) bool {
	return slices.ContainsFunc(p.gone, s.IsAlike)
}

// Opens tells of a time at which its caller lets more be found than before, whatever ends
// then: such as when nodes are open to a task again.
func (p *Profile) Opens(at int64) {
	p.opens = append(p.opens, p.Round(at))
	p.freed()
}

// Hold keeps places for a holder, which has none yet, all of them from one time up to
// another, which is rounded up as ends are. The list is the profile's from then on.
func (p *Profile) Hold(holder int32, stays []Stay) {
	p.letGo(holder)
	if len(stays) == 0 {
		return
	}
	p.burdening.forget()
	at, _ := slices.BinarySearch(p.holders, holder)
	p.holders = slices.Insert(p.holders, at, holder)
	for i := range stays {
		stays[i].Until = p.Round(stays[i].Until)
		v := stays[i].Place.Node
		p.heldOn[v] = append(p.heldOn[v], heldStay{&stays[i], holder})
	}
	p.holds[holder] = stays
	one := holding{holder, stays[0].From, stays[0].Until} // of one holder all are held for one window
	at, _ = slices.BinarySearchFunc(p.byFrom, one, holding.compareFrom)
	p.byFrom = slices.Insert(p.byFrom, at, one)
	at, _ = slices.BinarySearchFunc(p.byUntil, one, holding.compareUntil)
	p.byUntil = slices.Insert(p.byUntil, at, one)
}

// Release gives up what is kept for a holder and returns it.
func (p *Profile) Release(holder int32) []Stay {
	stays := p.letGo(holder)
	if len(stays) > 0 {
		p.freed()
	}
	return stays
}

// letGo has nothing be held for a holder.
func (p *Profile) letGo(holder int32) []Stay {
	stays := p.holds[holder]
	if len(stays) == 0 {
		return nil
	}
	p.burdening.forget()
	delete(p.holds, holder)
	at, _ := slices.BinarySearch(p.holders, holder)
	p.holders = slices.Delete(p.holders, at, at+1)
	one := holding{holder, stays[0].From, stays[0].Until}
	at, _ = slices.BinarySearchFunc(p.byFrom, one, holding.compareFrom)
	p.byFrom = slices.Delete(p.byFrom, at, at+1)
	at, _ = slices.BinarySearchFunc(p.byUntil, one, holding.compareUntil)
	p.byUntil = slices.Delete(p.byUntil, at, at+1)
	for i := range stays {
		v := stays[i].Place.Node
		if on := p.heldOn[v]; len(on) > 0 {
			p.heldOn[v] = slices.DeleteFunc(on, func(s heldStay) bool { return s.holder == holder })
		}
	}
	return stays
}

// Held is what is kept for a holder; it must not be modified.
func (p *Profile) Held(holder int32) []Stay { return p.holds[holder] }

// HasRoom says whether the index has room for each of some needs by itself, as its nodes stand.
// It takes the time of the nodes that have changed since the shape was last asked for.
func HasRoom(x *Index, needs []Need) bool {
	return !slices.ContainsFunc(needs, func(n Need) bool { return roomInAll(x, n.Shape) < n.Tasks })
}

// During calls do while the index has free what is free in the whole window: from the
// time up to the duration later; what do takes is given back. What is releasing has left.
func (p *Profile) During(from, duration int64, do func()) {
	s := p.begin(from, duration)
	defer s.end()
	m := p.index.Mark()
	defer p.index.Undo(m)
	do()
}

// Free says whether all of some places, each for a task of its shape, are free together in the
// whole window from a time up to the duration later; what else they say is not read. It looks at their nodes alone.
func (p *Profile) Free(from, duration int64, stays []Stay) bool {
	s := p.open(from, duration)
	defer s.end()
	for i := range stays {
		s.touch(stays[i].Place.Node)
	}
	s.bringThere()
	return !slices.ContainsFunc(stays, func(one Stay) bool {
		return !p.index.Fits(one.Shape, one.Place) || p.index.Take(one.Shape, one.Place) != nil
	})
}

// HasRoomOn says whether a node may take a task of any of some needs for the duration of a window, from
// some start in it that is looked for.
func (p *Profile) HasRoomOn(node int32, w Window, needs []Need) bool {
	for at := max(w.From, p.now); at < w.Before && at <= p.last; {
		s := p.open(at, w.Duration)
		s.touch(node)
		s.bringThere()
		room := slices.ContainsFunc(needs, func(n Need) bool { return n.Tasks > 0 && p.index.RoomOn(n.Shape, node) > 0 })
		if s.end(); room {
			return true
		}
		at = p.nextOn(node, at)
	}
	return false
}

// nextOn is the next time after another at which something on a node ends, or something opens.
func (p *Profile) nextOn(node int32, after int64) int64 {
	next := int64(Never)
	note := func(t int64) {
		if t > after {
			next = min(next, t)
		}
	}
	for i := p.lastOn(node); i >= 0; i = p.next[i] - 1 {
		note(p.stands[i].Until)
	}
	for _, one := range p.heldOn[node] {
		note(one.Until)
	}
	for _, t := range p.opens {
		note(t)
	}
	return next
}

// KeepFree marks the index and has it keep free, from now on, what is held by those that are
// named and begins before a time: whatever is found then and ends by that time is in
// the way of none of them. It says whether there is anything to keep free. The caller ends
// the mark. What is releasing is in the index as it is. Steady keeps free too what is in use
// until something that stands there leaves: for a caller who takes out of the index what
// the profile does not know of. Where, if not nil, says of a node whether the caller is to look at
// it: the others stay as they are.
func (p *Profile) KeepFree(until int64, steady bool, where func(node int32) bool, whose func(holder int32) bool) (Mark, bool) {
	m := p.index.Mark()
	return m, p.burden(until, steady, where, whose)
}

// NextEnd returns the first time after another at which something ends or opens, if that is
// one of those at which starts are looked for. It takes time in the logarithm of what stands and is held.
func (p *Profile) NextEnd(after int64) (int64, bool) {
	p.sort()
	next := int64(Never)
	if at := p.endsAfter(after); at < len(p.ends) {
		next = p.stands[p.ends[at]].Until
	}
	at, _ := slices.BinarySearchFunc(p.byUntil, after, func(h holding, t int64) int {
		if h.until <= t {
			return -1
		}
		return 1
	})
	if at < len(p.byUntil) {
		next = min(next, p.byUntil[at].until)
	}
	for _, t := range p.opens {
		if t > after {
			next = min(next, t)
		}
	}
	return next, next <= p.last
}

// sort orders what stands by its end.
func (p *Profile) sort() {
	if !p.sorted {
		slices.SortFunc(p.ends, p.compareEnds)
		p.sorted = true
	}
}

func (p *Profile) compareEnds(a, b int32) int {
	return cmp.Or(cmp.Compare(p.stands[a].Until, p.stands[b].Until), cmp.Compare(a, b))
}

// advance has what ends after one time and up to another leave the index.
func (p *Profile) advance(after, upTo int64) {
	for i := p.endsAfter(after); i < len(p.ends); i++ {
		s := &p.stands[p.ends[i]]
		if s.Until > upTo {
			return
		}
		if !p.isGone(s) {
			_ = p.index.Give(s.Shape, s.Place) // it was taken, by the caller's word
		}
	}
}

// endsAfter is how many of what stands end up to a time.
func (p *Profile) endsAfter(t int64) int {
	at, _ := slices.BinarySearchFunc(p.ends, t, func(i int32, t int64) int {
		if p.stands[i].Until <= t {
			return -1
		}
		return 1
	})
	return at
}

// leap returns the first time from one to a last one at which fits holds with nothing held, by
// steps over what ends that double, and by halving the last of them.
func (p *Profile) leap(from, last int64, fits func(int64) bool) (int64, bool) {
	outer := p.index.Mark()
	defer p.index.Undo(outer)
	p.leave()
	p.sort()
	p.advance(p.now-1, from)
	if p.probe(from, fits) {
		return from, true
	}
	at, low, high, n := from, p.endsAfter(from), -1, p.endsAfter(last)
	for step := 1; low < n && low != high; step *= 2 { // it does not fit before low, and does at high
		middle := min(low+step, n) - 1
		if high >= 0 {
			middle = (low + high) / 2
		}
		before, t := p.index.Mark(), p.stands[p.ends[middle]].Until
		p.advance(at, t)
		if p.probe(t, fits) {
			high = p.endsAfter(t - 1)
			p.index.Undo(before)
		} else {
			at, low = t, p.endsAfter(t)
			p.index.Commit(before)
		}
	}
	if low >= n {
		return 0, false
	}
	return p.stands[p.ends[low]].Until, true
}

// leave has what is releasing be gone from the index.
func (p *Profile) leave() {
	for _, s := range p.leaving {
		_ = p.index.Leave(s.Shape, s.Place) // it is releasing, by the caller's word
	}
}

// probe asks fits, and gives back what it takes.
func (p *Profile) probe(at int64, fits func(int64) bool) bool {
	m := p.index.Mark()
	defer p.index.Undo(m)
	return fits(at)
}

// after is a time so much later than another; Never is never.
func after(t, duration int64) int64 {
	if duration >= Never-max(t, 0) {
		return Never
	}
	return t + duration
}
