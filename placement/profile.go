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
	stands  []Stay // what stands in the index and ends, by Until once it is sorted
	sorted  bool
	holds   map[int32][]Stay // what is held, by the holder
	behind  map[int32][]Stay // what stands where something is held, and goes for the holder
	gone    []Stay           // those of them who are out of the way, see Without
	opens   []int64          // when something else is more free than before
	// standsOn are what stands, by node; nil until it is asked for.
	standsOn map[int32][]Stay
	// earliest is by key the earliest start that was found, as long as nothing is given
	// up: whatever comes to it can only delay it.
	earliest  map[int64]int64
	burdening burdening
}

// NewProfile returns the profile of an index from now on, in which no end is known. Ends
// are rounded up to multiples of the resolution (below 2 nothing is rounded), and starts
// later than now + horizon are not looked for; a horizon of 0 is no bound.
func NewProfile(x *Index, now, resolution, horizon int64) *Profile {
	p := &Profile{
		index: x, now: now, resolution: resolution, last: Never - 1,
		holds: map[int32][]Stay{}, earliest: map[int64]int64{},
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
	clear(p.earliest)
}

// Stands tells of a task that was taken in the index when it is to end: at Until, or
// now if that has passed. From is not read.
func (p *Profile) Stands(s Stay) {
	if s.Until == Never {
		return
	}
	s.Until = max(p.now, p.Round(s.Until))
	p.stands, p.sorted = append(p.stands, s), false
	if p.standsOn != nil {
		p.standsOn[s.Place.Node] = append(p.standsOn[s.Place.Node], s)
	}
	clear(p.earliest)
}

// Behind tells of tasks that stand where places are held for a holder, or may be: while these are
// in use by it, the tasks are not there (B6). If they end, they are told by Stands too; From is
// not read. The list is the profile's from then on, instead of any before.
func (p *Profile) Behind(holder int32, stays []Stay) {
	if p.behind == nil {
		p.behind = map[int32][]Stay{}
	}
	p.behind[holder] = stays
}

// Behinds is what stands behind a holder; it must not be modified.
func (p *Profile) Behinds(holder int32) []Stay { return p.behind[holder] }

// Without calls do while what stands behind a holder is not there, as it is out of the way of
// that one alone.
func (p *Profile) Without(holder int32, do func()) {
	if len(p.behind[holder]) == 0 {
		do()
		return
	}
	m := p.index.Mark()
	for _, s := range p.behind[holder] {
		_ = p.index.Give(s.Shape, s.Place) // it was taken, by the caller's word
	}
	p.gone = p.behind[holder]
	do()
	p.gone = nil
	p.index.Undo(m)
}

// isGone says whether a task is out of the way.
func (p *Profile) isGone(s *Stay) bool {
	return slices.ContainsFunc(p.gone, func(one Stay) bool { return one.Place == s.Place && one.Shape == s.Shape })
}

// Opens tells of a time at which its caller lets more be found than before, whatever ends
// then: such as when nodes are open to a task again.
func (p *Profile) Opens(at int64) {
	p.opens = append(p.opens, p.Round(at))
	clear(p.earliest)
}

// Hold keeps places for a holder, which has none yet, all of them from one time up to
// another, which is rounded up as ends are. The list is the profile's from then on.
func (p *Profile) Hold(holder int32, stays []Stay) {
	for i := range stays {
		stays[i].Until = p.Round(stays[i].Until)
	}
	p.holds[holder] = stays
}

// Release gives up what is kept for a holder and returns it.
func (p *Profile) Release(holder int32) []Stay {
	stays := p.holds[holder]
	if len(stays) > 0 {
		delete(p.holds, holder)
		clear(p.earliest)
	}
	return stays
}

// Held is what is kept for a holder; it must not be modified.
func (p *Profile) Held(holder int32) []Stay { return p.holds[holder] }

// A Window is what is looked for: a start at From or later and before Before such that the
// Duration from then on is free, up to an end that is rounded up as ends are. Never is no bound, and a window without end.
type Window struct{ From, Before, Duration int64 }

// Earliest returns the earliest start of a window that is free for whatever fits asks of the
// index, which is then as During has it; fits is told the start. It tries From, or now where
// that has passed, and every later time at which something ends. It is false where none is
// found up to the horizon.
//
// What is held aside, more is free the later it is. If fits is monotone in what is free,
// exact says so, the latest start without which nothing can be found is looked for by
// halving first, and where nothing is held that is the answer; else every time is tried.
// Keys are the caller's: of two questions with one key neither fits nor the duration may differ,
// and 0 is no key.
func (p *Profile) Earliest(w Window, key int64, exact bool, fits func(at int64) bool) (int64, bool) {
	from := max(w.From, p.now)
	all := from == p.now
	if known, ok := p.earliest[key]; ok && key != 0 {
		from = max(from, known)
	}
	if from >= w.Before {
		return 0, false
	}
	outer := p.begin(from)
	defer p.index.Undo(outer)
	times := p.times(from, w.Before)
	first := 0
	if exact {
		first = p.halve(times, fits)
	}
	for i := first; i < len(times); i++ {
		p.advance(from, times[i])
		from = times[i]
		if p.tries(from, w.Duration, fits) {
			if all && key != 0 {
				p.earliest[key] = from
			}
			return from, true
		}
	}
	return 0, false
}

// During calls do while the index has free what is free in the whole window: from the
// time up to the duration later; what do takes is given back. What is releasing has left.
func (p *Profile) During(from, duration int64, do func()) {
	outer := p.begin(from)
	defer p.index.Undo(outer)
	p.tries(from, duration, func(int64) bool { do(); return false })
}

// KeepFree marks the index and has it keep free, from now on, what is held by those that are
// named and begins before a time: whatever is found then and ends by that time is in
// the way of none of them. It says whether there is anything to keep free. The caller ends
// the mark. What is releasing is in the index as it is. Steady keeps free too what is in use
// until something that stands there leaves: for a caller who takes out of the index what
// the profile does not know of.
func (p *Profile) KeepFree(until int64, steady bool, whose func(holder int32) bool) (Mark, bool) {
	m := p.index.Mark()
	return m, p.burden(p.now, until, steady, whose)
}

// Ends lists the times after another at which something ends, ascending, as far as starts
// are looked for.
func (p *Profile) Ends(after int64) []int64 {
	p.sort()
	if times := p.times(after, Never); len(times) > 0 {
		return times[1:]
	}
	return nil
}

// begin brings the index to what stands at a time, without what is held.
func (p *Profile) begin(at int64) Mark {
	outer := p.index.Mark()
	for _, s := range p.leaving {
		_ = p.index.Leave(s.Shape, s.Place) // it is releasing, by the caller's word
	}
	p.sort()
	p.advance(p.now-1, at)
	return outer
}

// sort orders what stands by its end.
func (p *Profile) sort() {
	if p.sorted {
		return
	}
	slices.SortFunc(p.stands, func(a, b Stay) int {
		return cmp.Or(cmp.Compare(a.Until, b.Until), cmp.Compare(a.Place.Node, b.Place.Node),
			cmp.Compare(a.Shape, b.Shape), cmp.Compare(a.Place.Devices, b.Place.Devices))
	})
	p.sorted = true
}

// advance has what ends after one time and up to another leave the index.
func (p *Profile) advance(after, upTo int64) {
	for i := p.endsAfter(after); i < len(p.stands) && p.stands[i].Until <= upTo; i++ {
		if !p.isGone(&p.stands[i]) {
			_ = p.index.Give(p.stands[i].Shape, p.stands[i].Place) // it was taken, by the caller's word
		}
	}
}

// endsAfter is where in what stands the first is that ends after a time.
func (p *Profile) endsAfter(t int64) int {
	at, _ := slices.BinarySearchFunc(p.stands, t, func(s Stay, t int64) int {
		if s.Until <= t {
			return -1
		}
		return 1
	})
	return at
}

// times are a time and those after it at which something ends, before another and up to
// the horizon.
func (p *Profile) times(from, before int64) []int64 {
	last := min(p.last, before-1)
	if from > last {
		return nil
	}
	times := []int64{from}
	for i := p.endsAfter(from); i < len(p.stands) && p.stands[i].Until <= last; i++ {
		if t := p.stands[i].Until; t > times[len(times)-1] {
			times = append(times, t)
		}
	}
	n := len(times)
	for _, stays := range p.holds { // they are sorted
		for i := range stays {
			if t := stays[i].Until; t > from && t <= last && (i == 0 || t != stays[i-1].Until) {
				times = append(times, t)
			}
		}
	}
	for _, t := range p.opens {
		if t > from && t <= last {
			times = append(times, t)
		}
	}
	if len(times) > n {
		slices.Sort(times)
		times = slices.Compact(times)
	}
	return times
}

// halve returns the first of the times at which fits holds with nothing held, where the
// index stands at the first one, and is left so.
func (p *Profile) halve(times []int64, fits func(int64) bool) int {
	low, high := 0, len(times) // it does not fit before low, and does at high
	if len(times) == 0 || p.probe(times[0], fits) {
		return 0
	}
	outer := p.index.Mark()
	defer p.index.Undo(outer)
	at := times[0]
	for low = 1; low < high; {
		middle := (low + high) / 2
		before := p.index.Mark()
		p.advance(at, times[middle])
		if p.probe(times[middle], fits) {
			high = middle
			p.index.Undo(before)
		} else {
			low, at = middle+1, times[middle]
			p.index.Commit(before)
		}
	}
	return low
}

// probe asks fits, and gives back what it takes.
func (p *Profile) probe(at int64, fits func(int64) bool) bool {
	m := p.index.Mark()
	defer p.index.Undo(m)
	return fits(at)
}

// tries asks fits with what is held in the window put in, where the index has what stands
// when it begins.
func (p *Profile) tries(from, duration int64, fits func(int64) bool) bool {
	m := p.index.Mark()
	defer p.index.Undo(m)
	p.burden(from, p.Round(after(from, duration)), false, func(int32) bool { return true })
	return fits(from)
}

// after is a time so much later than another; Never is never.
func after(t, duration int64) int64 {
	if duration >= Never-max(t, 0) {
		return Never
	}
	return t + duration
}
