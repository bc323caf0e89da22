package allot

import "slices"

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

// reclaimers are those that the actions written so far are told to be for.
func (w *world) reclaimers(d *decision) map[reclaimer]bool {
	out := make(map[reclaimer]bool)
	for at := range d.actions[w.room.settled:] {
		a := &d.actions[w.room.settled+at]
		chain := w.chainOf(d, a)
		if len(chain) != 1 { // what was handed on was right when it was taken
			continue
		}
		t := &w.room.takings[chain[0]]
		if t.beneficiary >= 0 && (t.code == ReclaimedByQuota || t.code == ReclaimedByShare) {
			out[reclaimer{t.beneficiary, t.code, t.is.PreemptorSubtree}] = true
		}
	}
	return out
}

// overtaken says whether some reclaimer has no start that leaves its queues within
// their lines where starts are written in the order of the commits.
func (w *world) overtaken(rights map[reclaimer]bool, from []int32, seats []seat) bool {
	if len(rights) == 0 {
		return false
	}
	uses := w.usesBefore()
	within := make(map[reclaimer]bool)
	for c := range w.room.commits {
		i := w.room.commits[c].work
		f, added := w.formOf(&w.works[i], w.works[i].current), false
		for _, s := range seats[from[c]:from[c+1]] {
			if !w.ran(&s) {
				w.addUse(uses[f.pool], i, &s, 1)
				added = true
			}
		}
		for right := range rights { // each for itself: order cannot matter
			if added && right.work == i && w.keepsLines(uses[f.pool], &right) {
				within[right] = true
			}
		}
	}
	return len(within) < len(rights)
}

// usesBefore are, by pool, the uses of its queues by resource without what starts.
func (w *world) usesBefore() [][]int64 {
	uses := make([][]int64, len(w.pools))
	for i, p := range w.pools {
		uses[i] = make([]int64, 0, len(p.queues)*p.plain)
		for q := range p.queues {
			for r := range p.plain {
				uses[i] = append(uses[i], p.tree.Use(q, r))
			}
		}
	}
	for i := range w.room.seats {
		for at := range w.room.seats[i] {
			if s := &w.room.seats[i][at]; s.commit >= 0 && !w.ran(s) {
				k := &w.works[i]
				w.addUse(uses[w.formOf(k, k.current).pool], int32(i), s, -1)
			}
		}
	}
	return uses
}

// addUse adds n times what a seat is charged to the uses of its queue and of those
// above it.
func (w *world) addUse(uses []int64, i int32, s *seat, n int64) {
	k := &w.works[i]
	f := w.formOf(k, k.current)
	p := w.pools[f.pool]
	for q := f.queue; q >= 0; q = p.parent[q] {
		for _, a := range w.definition(k, k.current).sets[s.set].charge {
			uses[int(q)*p.plain+int(a.Resource)] += n * a.Value
		}
	}
}

// keepsLines says whether the queues of a reclaimer, up to its side, are within the
// lines of its right in all divided resources that it asks for (R1).
func (w *world) keepsLines(uses []int64, right *reclaimer) bool {
	k := &w.works[right.work]
	f := w.formOf(k, k.current)
	p := w.pools[f.pool]
	asks := w.definition(k, k.current).demand
	for q := f.queue; q >= 0; q = p.parent[q] {
		for _, a := range asks {
			line := p.lineFor(ReclaimedByQuota, q, a.Resource)
			if right.code == ReclaimedByShare {
				line = max(line, p.lineFor(ReclaimedByShare, q, a.Resource))
			}
			if p.divided[a.Resource] && a.Value > 0 && uses[int(q)*p.plain+int(a.Resource)] > line {
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
func (w *world) writeStarts(d *decision, from []int32, seats []seat) {
	counts := make(map[int32][]int32) // by workload, read one by one: order cannot matter
	rights := w.reclaimers(d)
	if !w.overtaken(rights, from, seats) {
		w.writeFresh(d, from, seats, counts, func(int32) bool { return true })
		return
	}
	first := make(map[int32]bool)
	for right := range rights { // into a set: order cannot matter
		first[right.work] = true
	}
	w.writeFresh(d, from, seats, counts, func(work int32) bool { return first[work] })
	w.writeFresh(d, from, seats, counts, func(work int32) bool { return !first[work] })
}

// writeFresh writes what starts of the workloads that are wanted, in the order of the
// commits, from what committed says.
func (w *world) writeFresh(d *decision, from []int32, seats []seat, counts map[int32][]int32, wanted func(work int32) bool) {
	var fresh []seat
	for c := range w.room.commits {
		commit := &w.room.commits[c]
		if from[c] == from[c+1] || !wanted(commit.work) {
			continue
		}
		fresh = fresh[:0]
		for _, s := range seats[from[c]:from[c+1]] {
			if !w.ran(&s) {
				fresh = append(fresh, s)
			}
		}
		if len(fresh) > 0 {
			w.writeSeats(d, commit, w.kindOf(counts, commit, fresh), fresh)
			d.actions[len(d.actions)-1].commit = int32(c) + 1
		}
	}
}

// writeMoves writes what moves, a workload at a time, in the order of the commits.
func (w *world) writeMoves(d *decision) {
	var moving []int32 // workloads, by the first commit that moved something of theirs
	first := make(map[int32]int32)
	for i := range w.room.seats {
		for at := range w.room.seats[i] {
			if s := &w.room.seats[i][at]; s.commit >= 0 && w.ran(s) {
				if known, some := first[int32(i)]; !some {
					moving, first[int32(i)] = append(moving, int32(i)), s.commit
				} else if s.commit < known {
					first[int32(i)] = s.commit
				}
			}
		}
	}
	slices.SortFunc(moving, func(a, b int32) int { return int(first[a] - first[b]) })
	for _, i := range moving {
		var moved []seat
		for _, s := range w.room.seats[i] {
			if s.commit >= 0 && w.ran(&s) {
				moved = append(moved, s)
			}
		}
		w.writeSeats(d, &w.room.commits[first[i]], Move, moved)
		a := &d.actions[len(d.actions)-1]
		if last := w.room.lastOf(i); last >= 0 {
			why := w.room.whyGone(last)
			a.code, a.taking = w.room.takings[why].code, int32(why)+1
		}
	}
}

// writeSeats writes that tasks of one workload are given their places.
func (w *world) writeSeats(d *decision, c *commit, kind ActionKind, seats []seat) {
	sortSeats(seats)
	moved := int32(len(d.from))
	for _, s := range seats {
		d.placed = append(d.placed, s.taskPlace)
		if kind == Move {
			d.from = append(d.from, w.holdings[s.origin].taskPlace)
		}
	}
	d.add(kind, codeOfStart(kind), &w.works[c.work], c.work, len(seats))
	a := &d.actions[len(d.actions)-1]
	if a.form = c.form; kind == Move {
		a.moved = moved
	}
}
