package engine

import (
	"cmp"
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

// What of a workload starts in which step is one partition of its rows, in three parts.
//
//   - The rows of a pod set are alike, so that which of them are the minimum is a choice: what
//     ran, what the settling has started, then what is free, each time claims before starts of
//     this solve. Where all that is free is less than a minimum, nothing starts now, and every
//     claim comes before every start (preference).
//   - In that order they are a minimum and the units in which it would have grown to what it is
//     (growth). Of a ladder the first is what the solve has started as one (L2).
//   - The minimum starts by one commit, all of it at once or all of it by claims (G1, S4); what
//     ran and claims that came free need none if they are one. Each unit above it starts by a
//     commit of its own after that (G2, L3), and by a claim where the minimum does. A claim above
//     it that is not free stays one.

// A unitStart is such a partition in progress.
type unitStart struct {
	closing
	work  int32
	k     *Work
	d     *Definition
	seats []Seat
	// counts of the rows by pod set: what ran, with that what the settling has started, with that
	// what is free now, and all.
	ran, stood, free, all []int32
	// first is the step up to which all is the minimum, or what started as one of a ladder.
	first int32
	// began says that the minimum starts by a commit, and waits that it claims its places; last is
	// the commit by which the step before started, none if it needed none.
	last         int32
	began, waits bool
}

// startInUnits has what starts of a workload start in steps, each of which leaves it at its
// minimum or on a rung of its ladder.
func (w closing) startInUnits(i int32, seats []Seat) {
	if !slices.ContainsFunc(seats, func(s Seat) bool { return !s.claimed && !w.booking().ran(&s) }) {
		return // it is as it was, or has moved
	}
	k := &w.Works[i]
	d := w.Definition(k, k.Current)
	if k.Live < 0 && !slices.ContainsFunc(seats, func(s Seat) bool { return s.commit != seats[0].commit }) {
		return // as mostly: all of it starts by one
	}
	u := unitStart{closing: w, work: i, k: k, d: d, seats: seats, last: None}
	u.count()
	steps := u.part()
	if u.began = u.first > 0 || !d.Gang.AtMinimum(u.stood); u.began {
		u.startMinimum()
	}
	for step := u.first + 1; step < steps; step++ {
		u.grow(step)
	}
	if k.pipelined = slices.ContainsFunc(seats, func(s Seat) bool { return s.waits() }); k.Status == claiming && k.Live >= 0 && w.live[k.Live].claimed == 0 {
		k.Status = complete
	}
}

// settled says whether a row is a claim that the settling has started and that stands.
func (u *unitStart) settled(s *Seat) bool {
	return !s.claimed && s.commit < 0 && s.origin >= 0 && u.Holdings[s.origin].fresh
}

// count counts the rows.
func (u *unitStart) count() {
	n := len(u.d.Sets)
	all := make([]int32, 4*n)
	u.ran, u.stood, u.free, u.all = all[:n], all[n:2*n], all[2*n:3*n], all[3*n:]
	for at := range u.seats {
		s := &u.seats[at]
		ran := u.booking().ran(s)
		u.all[s.Set]++
		if ran {
			u.ran[s.Set]++
		}
		if ran || u.settled(s) {
			u.stood[s.Set]++
		}
		if ran || !s.claimed && !s.pipelined {
			u.free[s.Set]++
		}
	}
	u.waits = !u.d.Gang.AtMinimum(u.free)
}

// preference is where a row comes among those of its pod set, the lowest first.
func (u *unitStart) preference(s *Seat) int {
	at := 0
	switch {
	case u.booking().ran(s):
		return 0
	case u.settled(s):
		return 1
	case s.origin < 0:
		at++
	}
	if !u.waits && (s.claimed || s.pipelined) {
		at += 2
	}
	return 2 + at
}

// part gives the rows their steps, and says how many there are. Where there is a choice of pod sets
// it is as the solve has made it: the starts come in their order.
func (u *unitStart) part() (steps int32) {
	slices.SortStableFunc(u.seats, func(a, b Seat) int {
		return cmp.Or(cmp.Compare(a.Set, b.Set), cmp.Compare(u.preference(&a), u.preference(&b)), cmp.Compare(a.commit, b.commit),
			cmp.Compare(a.step, b.step), cmp.Compare(a.Index, b.Index))
	})
	var starts []*Seat // in their order
	counts := slices.Clone(u.stood)
	for at := range u.seats {
		switch s := &u.seats[at]; {
		case u.booking().ran(s) || u.settled(s):
		case u.waits && s.origin >= 0: // all that is claimed
			counts[s.Set]++
		case u.waits || !s.claimed && !s.pipelined:
			starts = append(starts, s)
		}
	}
	slices.SortStableFunc(starts, func(a, b *Seat) int { return cmp.Compare(a.commit, b.commit) })
	stages := [][]int32{u.ran, slices.Clone(counts)}
	for at, s := range starts {
		if counts[s.Set]++; at+1 == len(starts) || starts[at+1].commit != s.commit {
			stages = append(stages, slices.Clone(counts))
		}
	}
	steps = u.d.giveSteps(u.seats, append(stages, u.all)...)
	if len(u.d.Ladder) > 0 && slices.Max(u.ran) == 0 {
		for at := range u.seats {
			if s := &u.seats[at]; startsFresh(*s) && u.Room.commits[s.commit].kind == Start {
				u.first = max(u.first, s.step)
			}
		}
	}
	return steps
}

// startMinimum has the minimum start where what ran, and what the settling has started, is none.
// If nothing of this solve starts with it or after it and it waits, all that is claimed stays so.
func (u *unitStart) startMinimum() {
	by, growth := int32(None), int32(None)
	for at := range u.seats {
		switch s := &u.seats[at]; {
		case u.booking().ran(s) || s.commit < 0:
		case s.step <= u.first && (s.origin < 0 || !u.waits):
			by = max(by, s.commit)
		case s.origin < 0 && (growth < 0 || s.commit < growth):
			growth = s.commit
		}
	}
	if by < 0 {
		by = growth
	}
	if by < 0 {
		u.each(0, u.stayClaim)
		if u.k.Status = claiming; u.k.isLeaving(u.World) {
			u.k.Status = leaving
		}
		return
	}
	for step := range u.first + 1 {
		u.each(step, func(s *Seat) { u.begin(s, by) })
	}
	u.last, u.k.Status = by, complete
}

// grow has a step above the minimum start after the one before: of what is claimed what is free, and
// then what starts elsewhere, as a claim starts and does not grow.
func (u *unitStart) grow(step int32) {
	stays := func(s *Seat) bool {
		return u.waits || s.claimed || s.pipelined || s.commit < 0 && len(u.d.Ladder) > 0
	}
	u.startAfter(step, func(s *Seat) bool { return s.origin >= 0 && !stays(s) })
	u.each(step, func(s *Seat) {
		if s.origin >= 0 && stays(s) {
			u.stayClaim(s)
		}
	})
	u.startAfter(step, func(s *Seat) bool { return s.origin < 0 })
}

// startAfter has some of a step start together after what has started before.
func (u *unitStart) startAfter(step int32, which func(*Seat) bool) {
	by, some, waits := int32(None), false, u.waits
	u.each(step, func(s *Seat) {
		if which(s) {
			some, waits, by = true, waits || s.pipelined, max(by, s.commit)
		}
	})
	switch {
	case !some:
		return
	case by <= u.last:
		by = int32(len(u.Room.commits))
		u.Room.commits = append(u.Room.commits, u.Room.commits[u.last])
	}
	before := u.waits
	u.waits = waits
	u.each(step, func(s *Seat) {
		if which(s) {
			u.begin(s, by)
		}
	})
	u.waits, u.last = before, by
}

// each does something with what of a step the settling has not told to run.
func (u *unitStart) each(step int32, do func(*Seat)) {
	for at := range u.seats {
		if s := &u.seats[at]; s.step == step && !u.booking().ran(s) && (u.began || !u.settled(s)) {
			do(s)
		}
	}
}

// begin has a row start by a commit, by a claim where its step does.
func (u *unitStart) begin(s *Seat, by int32) {
	if s.commit = by; s.claimed {
		s.claimed = false
		u.live[u.k.Live].claimed--
	}
	if u.waits {
		u.wait(s)
	}
}

// stayClaim has a row be the claim that it was.
func (u *unitStart) stayClaim(s *Seat) {
	if s.origin < 0 || s.claimed {
		return
	}
	u.wait(s)
	h := &u.Holdings[s.origin]
	s.claimed, s.commit, h.Phase, h.fresh = true, None, Claimed, false
	u.live[u.k.Live].claimed++
}

// wait has a row claim its place, whatever is free.
func (u *unitStart) wait(s *Seat) {
	x, shape := u.Pools[u.FormOf(u.k, u.k.Current).Pool].Index, u.d.Sets[s.Set].Placed
	if s.pipelined {
		return
	}
	m := x.Mark()
	now, later := s.place(u.World), s.place(u.World)
	later.Pipelined = true
	if x.Give(shape, now) != nil || x.Take(shape, later) != nil {
		x.Undo(m)
		return
	}
	x.Commit(m)
	s.pipelined = true
}

// startsFresh says whether a task starts in the solve that did not run before it.
func startsFresh(s Seat) bool { return !s.claimed && s.origin < 0 && s.commit >= 0 }

// runs says whether a workload may run with so many tasks.
func (d *Definition) runs(held []int32) bool {
	return d.Gang.AtMinimum(held) && (len(d.Ladder) == 0 || slices.Contains(d.Ladder, held[0]))
}
