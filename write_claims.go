package allot

import "slices"

// The settling starts the claims whose places are free before anybody knows who
// has a better right to them. What became of those starts is seen in the end.

// takeBackStarts takes back the starts of claims that others have taken since:
// such a claim is given up, and does not start to be evicted at once (S4).
func (w *world) takeBackStarts(d *decision) {
	for i, seats := range w.room.seats {
		for at := range seats {
			if s := &seats[at]; s.origin >= 0 && s.commit >= 0 && w.holdings[s.origin].fresh {
				s.origin = -1 // it starts elsewhere instead
			}
		}
		if k := &w.works[i]; k.live >= 0 && w.live[k.live].form == k.current {
			var decided []seat
			if w.definition(k, k.current).gang.Sliced() {
				decided = slices.Clone(seats)
			}
			w.startAgain(seats, &w.live[k.live])
			if w.room.last[i] > 0 {
				w.rematch(int32(i))
			}
			if decided != nil && !w.together(int32(i)) { // not every task can be any other (T3)
				copy(seats, decided)
			}
			w.startTogether(k, seats)
		}
		w.startInSteps(int32(i), seats)
	}
	actions, placed := d.actions, d.placed
	d.actions, d.placed = nil, make([]taskPlace, 0, len(placed))
	for _, a := range actions {
		from := int32(len(d.placed))
		for _, t := range placed[a.from:a.to] {
			if a.kind != Start || w.started(a.work, t) {
				d.placed = append(d.placed, t)
			}
		}
		if a.from, a.to = from, int32(len(d.placed)); a.to > a.from {
			d.actions = append(d.actions, a)
		}
	}
}

// startAgain lets a task that starts where a claim of its workload was taken be
// the one that claimed the place.
func (w *world) startAgain(seats []seat, l *live) {
	for at := l.from; at < l.to; at++ {
		h := &w.holdings[at]
		if !h.fresh || slices.ContainsFunc(seats, func(s seat) bool { return s.origin == at }) {
			continue
		}
		here := slices.IndexFunc(seats, func(s seat) bool {
			return s.origin < 0 && s.set == h.set && s.node == h.node && s.devices == h.devices
		})
		if here < 0 {
			continue
		}
		s := &seats[here]
		if other := slices.IndexFunc(seats, func(o seat) bool { return o.set == s.set && o.index == h.index }); other >= 0 {
			seats[other].index = s.index
		}
		s.origin, s.index, s.commit = at, h.index, -1
	}
}

// startTogether has the claims that are left, where what runs with them is less
// than the minimum (G1), start with what starts of it elsewhere, or stay claims.
func (w *world) startTogether(k *work, seats []seat) {
	if !slices.ContainsFunc(seats, func(s seat) bool {
		return s.commit < 0 && s.origin >= 0 && w.holdings[s.origin].fresh && !s.claimed
	}) {
		return
	}
	d := w.definition(k, k.current)
	held, last := make([]int32, len(d.sets)), int32(-1)
	for _, s := range seats {
		if (s.commit < 0 || w.ran(&s)) && !s.claimed {
			held[s.set]++
		}
		if s.origin < 0 && s.step == 0 {
			last = max(last, s.commit)
		}
	}
	if d.gang.AtMinimum(held) {
		return
	}
	for at := range seats {
		s := &seats[at]
		fresh := s.commit < 0 && s.origin >= 0 && w.holdings[s.origin].fresh
		switch {
		case s.step == 0 && last >= 0 && (fresh || s.origin < 0):
			s.commit = last
		case fresh: // the next solve starts it
			s.claimed = true
			w.holdings[s.origin].phase, w.holdings[s.origin].fresh = Claimed, false
			w.live[k.live].claimed++
			if last < 0 {
				k.status = claiming
			}
		}
	}
}

// startInSteps has what starts first be a minimum, and a rung of a ladder (G1, L1),
// also where a part of it has come to another place since: then that and what
// follows start together.
func (w *world) startInSteps(i int32, seats []seat) {
	first := slices.IndexFunc(seats, startsFresh)
	if first < 0 || !slices.ContainsFunc(seats, func(s seat) bool { return startsFresh(s) && s.commit != seats[first].commit }) {
		return // in one step
	}
	d := w.definition(&w.works[i], w.works[i].current)
	held := make([]int32, len(d.sets))
	var commits []int32
	for at := range seats {
		switch s := &seats[at]; {
		case s.claimed:
		case startsFresh(*s):
			commits = append(commits, s.commit)
		default:
			held[s.set]++
		}
	}
	slices.Sort(commits)
	commits = slices.Compact(commits)
	for n := 0; n+1 < len(commits); n++ {
		if d.runs(held) {
			return
		}
		for at := range seats {
			if s := &seats[at]; s.origin < 0 && s.commit == commits[n] {
				held[s.set]++
			}
		}
		if d.runs(held) {
			return
		}
		w.startLater(d, seats, commits[n], commits[n+1], held)
	}
}

// startsFresh says whether a task starts in the solve that did not run before it.
func startsFresh(s seat) bool { return !s.claimed && s.origin < 0 && s.commit >= 0 }

// startLater has what of a start is the minimum, or a rung, start with a later one,
// and what is above it after that. It no longer counts as held.
func (w *world) startLater(d *definition, seats []seat, from, to int32, held []int32) {
	after := int32(-1)
	for at := range seats {
		s := &seats[at]
		if s.origin >= 0 || s.commit != from {
			continue
		}
		held[s.set]--
		if s.step == 0 || len(d.ladder) > 0 {
			s.commit = to
			continue
		}
		if after < 0 {
			after = int32(len(w.room.commits))
			w.room.commits = append(w.room.commits, w.room.commits[to])
		}
		s.commit = after
	}
}

// runs says whether a workload may run with so many tasks.
func (d *definition) runs(held []int32) bool {
	return d.gang.AtMinimum(held) && (len(d.ladder) == 0 || slices.Contains(d.ladder, held[0]))
}

// started says whether a claim that the settling started runs in the end.
func (w *world) started(i int32, t taskPlace) bool {
	return slices.ContainsFunc(w.room.seats[i], func(s seat) bool {
		return s.origin >= 0 && s.commit < 0 && !s.claimed && w.holdings[s.origin].taskPlace == t
	})
}
