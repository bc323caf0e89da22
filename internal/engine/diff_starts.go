package engine

import (
	"iter"
	"slices"
)

// Starts are written in an order in which they are right. That of the commits is one
// but for what a solve does to its own starts (M9): what is given another place has a
// later commit than what started since, and what went for somebody and has come back
// was out when others were entitled to their places.

// A reclaimer is who something was reclaimed for in the end, by which right, and the
// side up to which it stays within its lines (R1).
type reclaimer struct {
	work int32
	code Code
	side int32
}

// reclaimers are those that something was reclaimed for.
type reclaimers struct {
	all []reclaimer
	// last is by workload the last of its own, plus one, and before, by reclaimer, the one of the same
	// workload before it.
	last, before []int32
}

// of yields those of a workload, by their numbers.
func (r *reclaimers) of(work int32) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		if !r.has(work) {
			return
		}
		for at := r.last[work] - 1; at >= 0 && yield(at); at = r.before[at] - 1 {
		}
	}
}

// has says whether some are of the workload.
func (r *reclaimers) has(work int32) bool { return r.last != nil && r.last[work] > 0 }

// add adds one that is not among them yet.
func (r *reclaimers) add(one reclaimer) {
	for at := range r.of(one.work) {
		if r.all[at] == one {
			return
		}
	}
	r.all, r.before = append(r.all, one), append(r.before, r.last[one.work])
	r.last[one.work] = int32(len(r.all))
}

// reclaimers are those that the actions written so far are told to be for.
func (w closing) reclaimers(d *Decision) *reclaimers {
	out := &reclaimers{}
	for at := range d.Actions[d.Settled:] {
		a := &d.Actions[d.Settled+at]
		chain := w.chainOf(d, a)
		if len(chain) != 1 { // what was handed on was right when it was taken
			continue
		}
		t := &w.Room.takings[chain[0]]
		if t.beneficiary >= 0 && (t.code == ReclaimedByQuota || t.code == ReclaimedByShare) {
			if out.last == nil { // most decisions reclaim nothing
				out.last = make([]int32, len(w.Works))
			}
			out.add(reclaimer{t.beneficiary, t.code, t.is.PreemptorSubtree})
		}
	}
	return out
}

// overtaken says whether some reclaimer has no start that leaves its queues within
// their lines where starts are written in the order of the commits.
func (w closing) overtaken(rights *reclaimers, from []int32, seats []seatOf) bool {
	if len(rights.all) == 0 {
		return false
	}
	uses := w.usesBefore()
	within := make([]bool, len(rights.all))
	for c := range w.Room.commits {
		i := w.Room.commits[c].work
		f, added := w.FormOf(&w.Works[i], w.Works[i].Current), false
		for _, at := range seats[from[c]:from[c+1]] {
			if s := w.seatAt(at); !w.booking().ran(s) {
				w.addUse(uses[f.Pool], i, s, 1)
				added = true
			}
		}
		for at := range rights.of(i) {
			within[at] = within[at] || added && w.keepsLines(uses[f.Pool], &rights.all[at])
		}
	}
	return slices.Contains(within, false)
}

// usesBefore are, by pool, the uses of its queues by resource without what starts.
func (w closing) usesBefore() [][]int64 {
	uses := make([][]int64, len(w.Pools))
	for i, p := range w.Pools {
		uses[i] = make([]int64, 0, len(p.Parent)*p.Plain)
		for q := range p.Parent {
			for r := range p.Plain {
				uses[i] = append(uses[i], p.Tree.Use(q, r))
			}
		}
	}
	for _, i := range w.Room.touched {
		for at := range w.Room.Seats[i] {
			if s := &w.Room.Seats[i][at]; s.commit >= 0 && !w.booking().ran(s) {
				k := &w.Works[i]
				w.addUse(uses[w.FormOf(k, k.Current).Pool], i, s, -1)
			}
		}
	}
	return uses
}

// addUse adds n times what a seat is charged to the uses of its queue and of those
// above it.
func (w closing) addUse(uses []int64, i int32, s *Seat, n int64) {
	k := &w.Works[i]
	f := w.FormOf(k, k.Current)
	p := w.Pools[f.Pool]
	for q := f.Queue; q >= 0; q = p.Parent[q] {
		for _, a := range w.Definition(k, k.Current).Sets[s.Set].Charge {
			uses[int(q)*p.Plain+int(a.Resource)] += n * a.Value
		}
	}
}

// keepsLines says whether the queues of a reclaimer, up to its side, are within the
// lines of its right in all divided resources that it asks for (R1).
func (w closing) keepsLines(uses []int64, right *reclaimer) bool {
	k := &w.Works[right.work]
	f := w.FormOf(k, k.Current)
	p := w.Pools[f.Pool]
	asks := w.Definition(k, k.Current).Demand
	for q := f.Queue; q >= 0; q = p.Parent[q] {
		for _, a := range asks {
			line := p.lineFor(ReclaimedByQuota, q, a.Resource)
			if right.code == ReclaimedByShare {
				line = max(line, p.lineFor(ReclaimedByShare, q, a.Resource))
			}
			if p.Divided[a.Resource] && a.Value > 0 && uses[int(q)*p.Plain+int(a.Resource)] > line {
				return false
			}
		}
		if q == right.side {
			break
		}
	}
	return true
}

// writeStarts writes what starts in the order of the commits or, if some reclaimer
// were beyond its lines there, what starts of the reclaimers first.
func (w closing) writeStarts(d *Decision, from []int32, seats []seatOf) {
	counts := make(map[int32][]int32) // by workload, read one by one: order cannot matter
	rights := w.reclaimers(d)
	if !w.overtaken(rights, from, seats) {
		w.writeFresh(d, from, seats, counts, func(int32) bool { return true })
		return
	}
	w.writeFresh(d, from, seats, counts, rights.has)
	w.writeFresh(d, from, seats, counts, func(work int32) bool { return !rights.has(work) })
}

// writeFresh writes what starts of the workloads that are wanted, in the order of the
// commits, from what committed says.
func (w closing) writeFresh(d *Decision, from []int32, seats []seatOf, counts map[int32][]int32, wanted func(work int32) bool) {
	var fresh []seatOf
	for c := range w.Room.commits {
		commit := &w.Room.commits[c]
		if from[c] == from[c+1] || !wanted(commit.work) {
			continue
		}
		fresh = fresh[:0]
		for _, at := range seats[from[c]:from[c+1]] {
			if !w.booking().ran(w.seatAt(at)) {
				fresh = append(fresh, at)
			}
		}
		if len(fresh) > 0 {
			w.writeSeats(d, commit, w.kindOf(counts, commit, fresh), fresh)
			a := &d.Actions[len(d.Actions)-1]
			a.commit, a.Until = int32(c)+1, w.seatAt(fresh[0]).until
		}
	}
}

// writeMoves writes what moves, a workload at a time, in the order of the commits.
func (w closing) writeMoves(d *Decision) {
	var moving []int32 // workloads, by the first commit that moved something of theirs
	first := make(map[int32]int32)
	for _, i := range w.Room.touched {
		for at := range w.Room.Seats[i] {
			if s := &w.Room.Seats[i][at]; s.commit >= 0 && w.booking().ran(s) {
				if known, some := first[i]; !some {
					moving, first[i] = append(moving, i), s.commit
				} else if s.commit < known {
					first[i] = s.commit
				}
			}
		}
	}
	slices.SortFunc(moving, func(a, b int32) int { return int(first[a] - first[b]) })
	for _, i := range moving {
		var moved []seatOf
		for at := range w.Room.Seats[i] {
			if s := &w.Room.Seats[i][at]; s.commit >= 0 && w.booking().ran(s) {
				moved = append(moved, seatOf{i, int32(at)})
			}
		}
		for _, part := range w.movedFor(i, moved) {
			w.writeSeats(d, &w.Room.commits[first[i]], Move, part)
			a := &d.Actions[len(d.Actions)-1]
			if why := w.whyMoved(i, part); why >= 0 {
				a.code, a.taking = w.Room.takings[why].code, int32(why)+1
			}
		}
	}
}

// movedFor parts what moves of a workload by those that it was consolidated for: what each
// may have moved has a bound (C3). What it was taken for otherwise is one part, and so is
// all of what moves on to a node that others of it leave: that goes at once.
func (w closing) movedFor(work int32, moved []seatOf) (parts [][]seatOf) {
	left := make(map[int32]bool)
	for _, one := range moved {
		left[w.Holdings[w.seatAt(one).origin].Node] = true
	}
	if slices.ContainsFunc(moved, func(one seatOf) bool { return left[w.seatAt(one).Node] }) {
		return [][]seatOf{moved}
	}
	at := make(map[int32]int) // by who it was consolidated for: its part
	for n, one := range moved {
		whose := int32(None)
		if why := w.whyMoved(work, moved[n:n+1]); why >= 0 && w.Room.takings[why].code == Consolidated {
			whose = w.Room.takings[why].beneficiary
		}
		part, known := at[whose]
		if !known {
			part = len(parts)
			at[whose], parts = part, append(parts, nil)
		}
		parts[part] = append(parts[part], one)
	}
	return parts
}

// whyMoved is the taking by which tasks of a workload move, −1 if there is none: of those
// before they were given their places the last that was no consolidation and took one of
// them in its unit, else the last that did.
func (w closing) whyMoved(work int32, moved []seatOf) int {
	book := w.Room
	last, gone := -1, -1
	for _, at := range moved {
		one := w.seatAt(at)
		for at := range book.takingsOf(work) {
			t := &book.takings[at]
			if t.commit >= one.commit || !slices.ContainsFunc(t.seats, func(s Seat) bool { return s.origin == one.origin }) {
				continue
			}
			if last = max(last, int(at)); t.code != Consolidated && w.Loops[t.pool].StoodThere(t) {
				gone = max(gone, int(at))
			}
		}
	}
	switch {
	case gone >= 0:
		return gone
	case last >= 0:
		return last
	}
	return int(book.lastOf(work))
}

// writeSeats writes that tasks of one workload are given their places.
func (w closing) writeSeats(d *Decision, c *commit, kind Kind, seats []seatOf) {
	byTask := func(a, b seatOf) int { return compareTasks(w.seatAt(a).TaskPlace, w.seatAt(b).TaskPlace) }
	if !slices.IsSortedFunc(seats, byTask) {
		slices.SortFunc(seats, byTask)
	}
	moved := int32(len(d.From))
	for _, at := range seats {
		s := w.seatAt(at)
		d.Placed = append(d.Placed, s.TaskPlace)
		if kind == Move {
			d.From = append(d.From, w.Holdings[s.origin].TaskPlace)
		}
	}
	d.add(kind, codeOfStart(kind), &w.Works[c.work], c.work, len(seats))
	a := &d.Actions[len(d.Actions)-1]
	if a.Form = c.form; kind == Move {
		a.Moved = moved
	}
}

// What starts of a workload starts in steps, each of which leaves it at its minimum,
// or on a rung of its ladder (G1, L1).

// startTogether has the claims that are left, where what runs with them is less
// than the minimum (G1), start with what starts of it elsewhere, or stay claims.
func (w closing) startTogether(k *Work, seats []Seat) {
	claimTogether(w.World, k, seats)
	growIntoClaims(w.World, k, seats)
	if !slices.ContainsFunc(seats, func(s Seat) bool { return claimStarts(w.World, s) }) {
		return
	}
	d := w.Definition(k, k.Current)
	held, last := make([]int32, len(d.Sets)), joined(seats)
	for _, s := range seats {
		if (s.commit < 0 || w.booking().ran(&s)) && !s.claimed {
			held[s.Set]++
		}
	}
	if with := w.startedAtOnce(d, seats); with >= 0 {
		for at := range seats {
			if s := &seats[at]; claimStarts(w.World, *s) {
				s.commit = with
			}
		}
		return
	}
	if d.Gang.AtMinimum(held) {
		return
	}
	startsFirst(w.World, seats, last)
	for at := range seats {
		s := &seats[at]
		fresh := s.commit < 0 && s.origin >= 0 && w.Holdings[s.origin].fresh
		switch {
		case s.step == 0 && last >= 0 && (fresh || startsFresh(*s)):
			s.commit = last
		case fresh && last >= 0 && len(d.Ladder) == 0: // it grows once the minimum has started
			s.commit = int32(len(w.Room.commits))
			w.Room.commits = append(w.Room.commits, w.Room.commits[last])
		case fresh: // the next solve starts it
			s.claimed = true
			w.Holdings[s.origin].Phase, w.Holdings[s.origin].fresh = Claimed, false
			w.live[k.Live].claimed++
			if last < 0 {
				k.Status = claiming
			}
		}
	}
	if last >= 0 {
		waitTogether(w.World, k, d, seats, last)
	}
}

// startedAtOnce is the start of this solve by which a workload with a ladder that held
// nothing has come to its rung, of which its claims are a part then; −1 if there is none.
func (w closing) startedAtOnce(d *Definition, seats []Seat) int32 {
	if len(d.Ladder) == 0 || slices.ContainsFunc(seats, func(s Seat) bool { return w.booking().ran(&s) }) {
		return None
	}
	at := slices.IndexFunc(seats, func(s Seat) bool { return startsFresh(s) && w.Room.commits[s.commit].kind == Start })
	if at < 0 {
		return None
	}
	return seats[at].commit
}

// startsFirst has claims that can start be of the minimum, before what starts elsewhere:
// tasks of a pod set are alike, and of these the rest grows after the minimum has started
// with a commit.
func startsFirst(w *World, seats []Seat, with int32) {
	later := int32(None)
	for at := range seats {
		s := &seats[at]
		if s.step == 0 || !claimStarts(w, *s) {
			continue
		}
		other := slices.IndexFunc(seats, func(o Seat) bool { return o.Set == s.Set && o.step == 0 && startsFresh(o) })
		if other < 0 {
			continue
		}
		if later < 0 {
			later = int32(len(w.Room.commits))
			w.Room.commits = append(w.Room.commits, w.Room.commits[with])
		}
		s.step, seats[other].step, seats[other].commit = 0, s.step, later
	}
}

// joined is the start elsewhere that the claims of a workload start with if they are too
// few: the last one of its minimum or, if all of that is claimed, the first growth beyond it;
// None if nothing starts elsewhere.
func joined(seats []Seat) int32 {
	last, growth := int32(None), int32(None)
	for _, s := range seats {
		switch {
		case !startsFresh(s):
		case s.step == 0:
			last = max(last, s.commit)
		case growth < 0 || s.commit < growth:
			growth = s.commit
		}
	}
	if last < 0 {
		return growth
	}
	return last
}

// startInSteps has what starts first be a minimum, and a rung of a ladder (G1, L1),
// also where a part of it has come to another place since: then that and what
// follows start together.
func (w closing) startInSteps(i int32, seats []Seat) {
	first := slices.IndexFunc(seats, func(s Seat) bool { return startsNow(w.World, s) })
	if first < 0 || !slices.ContainsFunc(seats, func(s Seat) bool { return startsNow(w.World, s) && s.commit != seats[first].commit }) {
		return // in one step
	}
	d := w.Definition(&w.Works[i], w.Works[i].Current)
	held := make([]int32, len(d.Sets))
	var commits []int32
	for at := range seats {
		switch s := &seats[at]; {
		case s.claimed:
		case startsNow(w.World, *s):
			commits = append(commits, s.commit)
		default:
			held[s.Set]++
		}
	}
	slices.Sort(commits)
	commits = slices.Compact(commits)
	for n := 0; n+1 < len(commits); n++ {
		if d.runs(held) && len(d.Ladder) == 0 {
			return
		}
		for at := range seats {
			if s := &seats[at]; startsNow(w.World, *s) && s.commit == commits[n] {
				held[s.Set]++
			}
		}
		if d.runs(held) {
			continue // of a ladder each step leads to a rung
		}
		w.startLater(d, seats, commits[n], commits[n+1], held)
	}
}

// claimStarts says whether a seat is a claim that starts where it is.
func claimStarts(w *World, s Seat) bool {
	return !s.claimed && s.commit < 0 && s.origin >= 0 && w.Holdings[s.origin].fresh
}

// startsNow says whether a task starts in the solve by a commit: one that did not run
// before it, be it where it was claimed.
func startsNow(w *World, s Seat) bool { return !s.claimed && s.commit >= 0 && !w.booking().ran(&s) }

// startsFresh says whether a task starts in the solve that did not run before it.
func startsFresh(s Seat) bool { return !s.claimed && s.origin < 0 && s.commit >= 0 }

// startLater has what of a start is the minimum, or a rung, start with a later one,
// and what is above it after that. It no longer counts as held.
func (w closing) startLater(d *Definition, seats []Seat, from, to int32, held []int32) {
	after := int32(-1)
	for at := range seats {
		s := &seats[at]
		if !startsNow(w.World, *s) || s.commit != from {
			continue
		}
		held[s.Set]--
		if s.step == 0 || len(d.Ladder) > 0 {
			s.commit = to
			continue
		}
		if after < 0 {
			after = int32(len(w.Room.commits))
			w.Room.commits = append(w.Room.commits, w.Room.commits[to])
		}
		s.commit = after
	}
}

// runs says whether a workload may run with so many tasks.
func (d *Definition) runs(held []int32) bool {
	return d.Gang.AtMinimum(held) && (len(d.Ladder) == 0 || slices.Contains(d.Ladder, held[0]))
}
