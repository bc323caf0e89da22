package difference

import (
	"iter"
	"slices"

	"github.com/allotsched/allot/internal/cluster"
)

// Starts are written in an order in which they are right. That of the commits is one
// but for what a solve does to its own starts (M9): what is given another place has a
// later commit than what started since, and what went for another and has come back
// was out when others were entitled to their places.

// A reclaimer is a workload that something was reclaimed for in the end, or moves, by which right, and the
// subtree up to which it stays within its entitlement (R1, C5).
type reclaimer struct {
	work    int32
	code    cluster.Code
	subtree int32
}

// reclaimers are those that something was reclaimed for.
type reclaimers struct {
	all []reclaimer
	// last is by workload the last of its own, plus one, of the few that have some, and before, by
	// reclaimer, the one of the same workload before it.
	last   map[int32]int32
	before []int32
	most   int // as many as there are at most
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
func (r *reclaimers) has(work int32) bool { return r.last[work] > 0 }

// add adds one that is not among them yet.
func (r *reclaimers) add(one reclaimer) {
	for at := range r.of(one.work) {
		if r.all[at] == one {
			return
		}
	}
	if r.last == nil { // most decisions reclaim nothing
		r.last = make(map[int32]int32, r.most)
	}
	r.all, r.before = append(r.all, one), append(r.before, r.last[one.work])
	r.last[one.work] = int32(len(r.all))
}

// reclaimers are those that the actions written so far are told to be for.
func (w Difference) reclaimers(d *cluster.Decision) *reclaimers { return reclaimersOf(w.toldFor(d)) }

// reclaimersOf are those of some takings.
func reclaimersOf(told []*cluster.Taking) *reclaimers {
	out := &reclaimers{most: len(told)}
	for _, t := range told {
		if t.Code == cluster.ReclaimedByQuota || t.Code == cluster.ReclaimedByShare {
			out.add(reclaimer{t.Preemptor, t.Code, t.Is.PreemptorSubtree})
		}
	}
	return out
}

// reclaimersAndMoved are reclaimers, and those for whom others only move: these have a right to that within their
// entitlement at every level (C5).
func (w Difference) reclaimersAndMoved(d *cluster.Decision) *reclaimers {
	told := w.toldFor(d)
	out := reclaimersOf(told)
	if !slices.ContainsFunc(told, func(t *cluster.Taking) bool { return t.Code == cluster.Consolidated }) {
		return out
	}
	byRight := make(map[int32]bool)
	for _, t := range told {
		if t.Code != cluster.Consolidated {
			byRight[t.Preemptor] = true
		}
	}
	for _, t := range told {
		if !byRight[t.Preemptor] && !w.Pools[t.Pool].Policy.ConsolidateBeyondShare {
			out.add(reclaimer{t.Preemptor, t.Code, cluster.None})
		}
	}
	return out
}

// toldFor are the takings for somebody by which the actions written so far are told.
func (w Difference) toldFor(d *cluster.Decision) []*cluster.Taking {
	out := make([]*cluster.Taking, 0, len(w.Room.Takings))
	for at := range d.Actions[d.Settled:] {
		chain := w.ChainOf(d, &d.Actions[d.Settled+at])
		if len(chain) != 1 { // what was handed on was right when it was taken
			continue
		}
		if t := &w.Room.Takings[chain[0]]; t.Preemptor >= 0 {
			out = append(out, t)
		}
	}
	return out
}

// overtaken says whether some reclaimer has no start that leaves its queues within
// their entitlement where starts are written in the order of the commits.
func (w Difference) overtaken(rights *reclaimers, from []int32, seats []seatOf) bool {
	if len(rights.all) == 0 {
		return false
	}
	uses := w.usesBefore()
	within := make([]bool, len(rights.all))
	for c := range w.Room.Commits {
		i := w.Room.Commits[c].Work
		f, added := w.FormOf(&w.Works[i], w.Works[i].Current), false
		for _, at := range seats[from[c]:from[c+1]] {
			if s := w.seatAt(at); !w.Booking().Ran(s) {
				w.addUse(uses[f.Pool], i, s, 1)
				added = true
			}
		}
		for at := range rights.of(i) {
			within[at] = within[at] || added && w.keepsEntitlement(uses[f.Pool], &rights.all[at])
		}
	}
	return slices.Contains(within, false)
}

// usesBefore are, by pool, the uses of its queues by resource without what starts.
func (w Difference) usesBefore() [][]int64 {
	uses := make([][]int64, len(w.Pools))
	for i, p := range w.Pools {
		uses[i] = make([]int64, 0, len(p.Parent)*p.Plain)
		for q := range p.Parent {
			for r := range p.Plain {
				uses[i] = append(uses[i], p.Tree.Use(q, r))
			}
		}
	}
	for _, i := range w.Room.Touched {
		for at := range w.Room.Seats[i] {
			if s := &w.Room.Seats[i][at]; s.Commit >= 0 && !w.Booking().Ran(s) {
				k := &w.Works[i]
				w.addUse(uses[w.FormOf(k, k.Current).Pool], i, s, -1)
			}
		}
	}
	return uses
}

// addUse adds n times what a seat is charged to the uses of its queue and of those
// above it.
func (w Difference) addUse(uses []int64, i int32, s *cluster.Seat, n int64) {
	k := &w.Works[i]
	f := w.FormOf(k, k.Current)
	p := w.Pools[f.Pool]
	for q := f.Queue; q >= 0; q = p.Parent[q] {
		for _, a := range w.Definition(k, k.Current).Sets[s.Set].Charge {
			uses[int(q)*p.Plain+int(a.Resource)] += n * a.Value
		}
	}
}

// keepsEntitlement says whether the queues of a reclaimer, up to its subtree, are within the
// entitlement of its right in all divided resources that it asks for (R1).
func (w Difference) keepsEntitlement(uses []int64, right *reclaimer) bool {
	k := &w.Works[right.work]
	f := w.FormOf(k, k.Current)
	p := w.Pools[f.Pool]
	asks := w.Definition(k, k.Current).Demand
	for q := f.Queue; q >= 0; q = p.Parent[q] {
		for _, a := range asks {
			line := p.LineFor(cluster.ReclaimedByQuota, q, a.Resource)
			if right.code != cluster.ReclaimedByQuota {
				line = max(line, p.LineFor(cluster.ReclaimedByShare, q, a.Resource))
			}
			if p.Divided[a.Resource] && a.Value > 0 && uses[int(q)*p.Plain+int(a.Resource)] > line {
				return false
			}
		}
		if q == right.subtree {
			break
		}
	}
	return true
}

// writeStarts writes what starts in the order of the commits or, if some reclaimer
// were beyond its entitlement there, what starts of the reclaimers first.
func (w Difference) writeStarts(d *cluster.Decision, from []int32, seats []seatOf) {
	counts := make(map[int32][]int32) // by workload, read one by one: order cannot matter
	rights := w.reclaimersAndMoved(d)
	if !w.overtaken(rights, from, seats) {
		w.writeFresh(d, from, seats, counts, func(int32) bool { return true })
		return
	}
	w.writeFresh(d, from, seats, counts, rights.has)
	w.writeFresh(d, from, seats, counts, func(work int32) bool { return !rights.has(work) })
}

// writeFresh writes what starts of the workloads that are wanted, in the order of the
// commits, from what committed says.
func (w Difference) writeFresh(d *cluster.Decision, from []int32, seats []seatOf, counts map[int32][]int32, wanted func(work int32) bool) {
	var fresh []seatOf
	for c := range w.Room.Commits {
		commit := &w.Room.Commits[c]
		if from[c] == from[c+1] || !wanted(commit.Work) {
			continue
		}
		fresh = fresh[:0]
		for _, at := range seats[from[c]:from[c+1]] {
			if !w.Booking().Ran(w.seatAt(at)) {
				fresh = append(fresh, at)
			}
		}
		if len(fresh) > 0 {
			w.writeSeats(d, commit, w.kindOf(counts, commit, fresh), fresh)
			a := &d.Actions[len(d.Actions)-1]
			a.Commit, a.Until = int32(c)+1, w.seatAt(fresh[0]).Until
		}
	}
}

// writeMoves writes what moves, a workload at a time, in the order of the commits.
func (w Difference) writeMoves(d *cluster.Decision) {
	var moving []int32 // workloads, by the first commit that moved something of theirs
	first := make(map[int32]int32)
	for _, i := range w.Room.Touched {
		for at := range w.Room.Seats[i] {
			if s := &w.Room.Seats[i][at]; s.Commit >= 0 && w.Booking().Ran(s) {
				if known, some := first[i]; !some {
					moving, first[i] = append(moving, i), s.Commit
				} else if s.Commit < known {
					first[i] = s.Commit
				}
			}
		}
	}
	slices.SortFunc(moving, func(a, b int32) int { return int(first[a] - first[b]) })
	for _, i := range moving {
		var moved []seatOf
		for at := range w.Room.Seats[i] {
			if s := &w.Room.Seats[i][at]; s.Commit >= 0 && w.Booking().Ran(s) {
				moved = append(moved, seatOf{i, int32(at)})
			}
		}
		for _, part := range w.movedFor(i, moved) {
			w.writeSeats(d, &w.Room.Commits[first[i]], cluster.Move, part)
			a := &d.Actions[len(d.Actions)-1]
			if why := w.whyMoved(i, part); why >= 0 {
				a.Code, a.Taking = w.Room.Takings[why].Code, int32(why)+1
			}
		}
	}
}

// movedFor parts what moves of a workload by those that it was consolidated for: what each
// may have moved has a bound (C3). What it was taken for otherwise is one part, and so is
// all of what moves on to a node that others of it leave: that goes at once.
func (w Difference) movedFor(work int32, moved []seatOf) (parts [][]seatOf) {
	left := make(map[int32]bool)
	for _, one := range moved {
		left[w.Holdings[w.seatAt(one).Origin].Node] = true
	}
	if slices.ContainsFunc(moved, func(one seatOf) bool { return left[w.seatAt(one).Node] }) {
		return [][]seatOf{moved}
	}
	at := make(map[int32]int) // by the workload that it was consolidated for: its part
	for n, one := range moved {
		whose := int32(cluster.None)
		if why := w.whyMoved(work, moved[n:n+1]); why >= 0 && w.Room.Takings[why].Code == cluster.Consolidated {
			whose = w.Room.Takings[why].Preemptor
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
func (w Difference) whyMoved(work int32, moved []seatOf) int {
	book := w.Room
	last, gone := -1, -1
	for _, at := range moved {
		one := w.seatAt(at)
		for at := range book.TakingsOf(work) {
			t := &book.Takings[at]
			if t.Commit > one.Commit || !slices.ContainsFunc(t.Seats, func(s cluster.Seat) bool { return s.Origin == one.Origin }) {
				continue
			}
			if last = max(last, int(at)); t.Code != cluster.Consolidated && w.Loops[t.Pool].StoodThere(t) {
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
	return int(book.LastOf(work))
}

// writeSeats writes that tasks of one workload are given their places.
func (w Difference) writeSeats(d *cluster.Decision, c *cluster.Commit, kind cluster.Kind, seats []seatOf) {
	byTask := func(a, b seatOf) int { return cluster.CompareTasks(w.seatAt(a).TaskPlace, w.seatAt(b).TaskPlace) }
	if !slices.IsSortedFunc(seats, byTask) {
		slices.SortFunc(seats, byTask)
	}
	moved := int32(len(d.From))
	for _, at := range seats {
		s := w.seatAt(at)
		d.Placed = append(d.Placed, s.TaskPlace)
		if kind == cluster.Move {
			d.From = append(d.From, w.Holdings[s.Origin].TaskPlace)
		}
	}
	d.Add(kind, cluster.CodeOfStart(kind), &w.Works[c.Work], c.Work, len(seats))
	a := &d.Actions[len(d.Actions)-1]
	if a.Form = c.Form; kind == cluster.Move {
		a.Moved = moved
	}
}

// mayRun says whether a workload may run with so many tasks.
func mayRun(d *cluster.Definition, held []int32) bool {
	return d.Gang.AtMinimum(held) && (len(d.Ladder) == 0 || slices.Contains(d.Ladder, held[0]))
}
