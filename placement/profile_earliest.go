package placement

import "slices"

// What a [Profile] is asked: when at the earliest something fits for all of a window.

// A Window is what is looked for: a start at From or later and before Before such that the
// Duration from then on is free, up to an end that is rounded up as ends are. Never is no bound, and a window without end.
type Window struct{ From, Before, Duration int64 }

// A Question is what [Profile.Earliest] is asked of a window: whether Fits holds of the index,
// told the start.
type Question struct {
	// Key is the caller's: of two questions with one key neither Fits nor the duration may
	// differ; 0 is no key.
	Key int64
	// Exact says that Fits is monotone in what is free.
	Exact bool
	// Needs are tasks for which there has to be room, of each shape by itself, for Fits to
	// hold at any time. None says nothing of it.
	Needs []Need
	// Fits is to leave the index as it is, or to be undone.
	Fits func(at int64) bool
	// Refuses is a sound bound on Accepts that costs less: it is asked before that of each start at which Fits holds, in
	// the index as Fits has it, and the next time is tried where it holds. Nil refuses none.
	Refuses func(at int64) bool
	// Accepts is asked of each start at which Fits holds, in the index as it is outside of the search, until it
	// is content; else it says from when on to go on, which is later. What is held and told is to be as it was when
	// it returns. Nil is content with the first.
	Accepts func(at int64) (content bool, from int64)
}

// A Need is so many tasks of a shape.
type Need struct {
	Shape Shape
	Tasks int64
}

// Earliest returns the earliest start of a window that is free for what the question asks of the
// index, which is then as During has it. It tries From, or now where
// that has passed, and every later time at which something ends. It is false where none is
// found up to the horizon.
//
// It is one sweep over these times, which reads of each the nodes on which something changes with
// it. Fits is not asked where there is no room for what it needs, nor, if it is monotone, where
// no node that is more free than at the time before has room for any task of that. What is held aside, more is free
// the later it is: if Fits is monotone, and there was room where it did not hold, the first time without which nothing
// can be found is looked for by leaps that double, then by halving, and the sweep goes on from there. Where a start is
// not accepted the sweep is set aside while that is found out, and goes on: many starts cost little more than one.
func (p *Profile) Earliest(w Window, q Question) (int64, bool) {
	l := look{Question: q, duration: w.Duration, last: min(p.last, w.Before-1)}
	from := max(w.From, p.now)
	if q.Key != 0 {
		l.notes = from == p.now
		from = max(from, p.earliest[q.Key])
	}
	if from = max(from, p.roomFrom(&q, w.Duration)); from > l.last {
		return 0, false
	}
	l.leaps = p.mayLeap(&q)
	at, found, refused := p.search(&l, from)
	for refused { // some time before that must have more free, with nothing held
		if from, found = p.leap(at, l.last, q.Fits); !found {
			return 0, false
		}
		l.leaps = false
		at, found, refused = p.search(&l, from)
	}
	return at, found
}

// mayLeap says whether more is free the later it is, for a question, what is held aside.
func (p *Profile) mayLeap(q *Question) bool { return q.Exact && len(p.opens) == 0 }

// A look is how a question is looked at.
type look struct {
	Question
	duration, last int64
	// notes is that the first start at which Fits holds is the earliest there is; leaps, that the
	// search is to stop where what is asked does not fit though there is room for what it needs.
	notes, leaps bool
}

// search sweeps over the times from one to a last one. It is refused where it is to leap.
func (p *Profile) search(l *look, from int64) (at int64, found, refused bool) {
	s := p.begin(from, l.duration)
	defer s.end()
	known := from <= max(p.now, p.roomFrom(&l.Question, l.duration))
	for freer := true; ; {
		if (freer || !l.Exact) && HasRoom(p.index, l.Needs) {
			if known {
				known = false
				p.noteRoomless(&l.Question, l.duration, s.at)
			}
			if p.probe(s.at, l.Fits) {
				content, next := p.accepts(l, s)
				if content {
					return s.at, true, false
				} else if next > l.last {
					return 0, false, false
				}
				s.moveTo(next)
				continue // whatever is more free, as it fitted before
			}
			if l.leaps {
				return s.at, false, true
			}
		}
		next, some := s.nextTime(l.last)
		if !some {
			if known {
				p.noteRoomless(&l.Question, l.duration, l.last+1)
			}
			return 0, false, false
		}
		s.moveTo(next)
		freer = l.Exact && s.mayServe(l.Needs)
	}
}

// accepts says whether a start is one that is accepted, of those at which what is asked fits, or from when on to go on.
func (p *Profile) accepts(l *look, s *sweep) (content bool, from int64) {
	if l.notes {
		l.notes, p.earliest[l.Key] = false, s.at
	}
	l.leaps = p.mayLeap(&l.Question)
	switch {
	case l.Accepts == nil:
		return true, 0
	case l.Refuses != nil && l.Refuses(s.at):
		if next, some := s.nextTime(l.last); some {
			return false, next
		}
		return false, Never
	}
	s.aside(func() { content, from = l.Accepts(s.at) })
	return content, from
}

// A roomless is that there is no room for so many tasks of a shape, or more, for a duration, or longer, that
// begin before a time.
type roomless struct{ tasks, duration, before int64 }

// roomFrom is a sound bound: before it there is no room for what a question needs, as there was none for
// less. What stands behind a holder is in the way of some and not of others.
func (p *Profile) roomFrom(q *Question, duration int64) (from int64) {
	if len(p.behind) > 0 {
		return p.now
	}
	for _, n := range q.Needs {
		for _, one := range p.roomless[n.Shape] {
			if one.tasks <= n.Tasks && one.duration <= duration {
				from = max(from, one.before)
			}
		}
	}
	return max(from, p.now)
}

// noteRoomless notes that there is no room before a time for what a question needs, of one shape.
func (p *Profile) noteRoomless(q *Question, duration, before int64) {
	if len(q.Needs) != 1 || len(p.behind) > 0 || before <= p.now {
		return
	}
	n := q.Needs[0]
	p.roomless[n.Shape] = append(slices.DeleteFunc(p.roomless[n.Shape], func(one roomless) bool {
		return one.tasks >= n.Tasks && one.duration >= duration && one.before <= before
	}), roomless{n.Tasks, duration, before})
}
