package allot

import "slices"

// What starts of a workload starts in steps, each of which leaves it at its minimum,
// or on a rung of its ladder (G1, L1).

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

// kindOf is what fresh tasks are to their workload: growth if what ran before,
// and has started up to here, is its minimum, else a start. It counts them.
func (w *world) kindOf(counts map[int32][]int32, c *commit, fresh []seat) ActionKind {
	d := w.definition(&w.works[c.work], c.form)
	if len(fresh) == len(w.room.seats[c.work]) && !d.elastic {
		return Start // all of it, which none follows
	}
	held := counts[c.work]
	if held == nil {
		held = make([]int32, len(d.sets))
		for _, s := range w.room.seats[c.work] {
			if s.origin >= 0 && (s.commit < 0 || !w.holdings[s.origin].fresh) {
				held[s.set]++
			}
		}
		counts[c.work] = held
	}
	kind := Start
	if d.gang.AtMinimum(held) {
		kind = Resize
	}
	for _, s := range fresh {
		held[s.set]++
	}
	return kind
}
