package difference

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/internal/cluster"
)

// A plan is the difference of two tables of allocations, and never the history of
// the solve between them (M9, M11).
//
// # The tables
//
// Before is what the reconciliation has found: a row for each task that ran, was
// claimed or was releasing its place, which are world.holdings. A claim that the
// reconciliation has started because its place came free is still a claim before.
// After is what every workload holds in the end, which are the seats: a row for each
// task that runs or claims a place. Besides the rows the solve has noted two lists in
// the order of time, which only choose among differences and add none: the commits,
// each of which gave some rows of a workload their places, and the takings, each of
// which took the rows of a unit for the sake of one commit, or of none.
//
// # The functions
//
// Each takes values of the types in its own file, dense integers, and returns values;
// none reads a state, a policy or the other two. What joins them to the world stands
// beside them.
//
//   - match (diff_match.go) assigns identities. The tasks of a pod set are alike, so it
//     says which row after continues which row before: first whatever stands in the same
//     place, then what ran, nearest first; what is left of after starts, what is left of
//     before has gone. restoreDevices does the same with the devices of a node, which are
//     alike too: what runs on the node before and after keeps its devices. Invariants:
//     the places that are in use stay the same up to devices that are alike, and no other
//     assignment has fewer tasks that leave a place.
//   - startInUnits (diff_starts.go) parts what a workload holds into its minimum and the units
//     above it, each of which starts by one commit and leaves it at its minimum or a rung (G1,
//     G2, L1). It chooses which of alike rows these are, and may have some claim their places.
//   - sequence (diff_order.go) says which action waits for what and in which order the moves go, so
//     that the cluster is lawful after every prefix (S4). Moves that wait for each other in
//     a circle are cut: one of them leaves first, as an eviction, and claims its new place
//     with the starts. Invariant: what an action waits for left in an earlier action, or
//     was releasing before the solve.
//   - attribute (diff_attribute.go) finds for a loser the chain of those that took its place
//     one from the other, by the takings. Invariants: each taking of the chain is by the
//     gainer of the next one's loser, in figures of the moment in which the solve judged
//     it; the last gainer holds something in the end.
//
// # Order of the actions
//
// What was lost and the claims that start come first, as the reconciliation told them;
// then what goes, in the order in which it was taken; then what moves; then what starts,
// in the order of the commits.
//
// # Cost
//
// For n rows of the workloads that anything was taken from or given to, match is
// O(n log n), steps and attribute are O(n) but for chains, which cost their length;
// sequence looks, for each action and each node on which it is given places, once at
// what leaves that node, and at nodes that nothing leaves not at all.

// Close writes the actions after the reconciliation anew, as the difference of the two
// tables.
func Close(w *cluster.World, d *cluster.Decision) error { return Of(w).close(d) }

// close is Close.
func (w Difference) close(d *cluster.Decision) error {
	if len(w.Room.Takings) > 0 {
		w.keepDevices() // of places that differ in names alone a claim knows its own
	}
	for _, i := range w.Booking().TouchedByID() {
		if w.Works[i].Live >= 0 && !w.Room.Told {
			w.Booking().Step(i)
		}
		w.matchWorkload(i)
	}
	from, seats := w.committed()
	w.keepStarted(d, len(w.Room.Commits)+len(w.Room.Takings), len(seats)+len(w.Room.Takings))
	if len(w.Room.Takings) == 0 { // then nothing has gone, and what ran is where it was
		moves := len(d.Actions)
		w.writeStarts(d, from, seats)
		err := w.writeAfter(d, moves)
		w.waitForThemselves(d, moves)
		return err
	}
	w.keepDevices()
	from, seats = w.committed()
	w.writeGone(d)
	moves := len(d.Actions)
	w.writeMoves(d)
	starts := len(d.Actions)
	w.writeStarts(d, from, seats)
	if err := w.writeAfter(d, moves); err != nil {
		return err
	}
	w.cutCircles(d, moves, starts)
	w.waitForThemselves(d, moves)
	turns{w}.claim(d, moves)
	licenseFirst(w.World, d)
	w.nameGrowth(d)
	return nil
}

// keepStarted keeps of the starts of claims, which the reconciliation wrote before
// it was known what has a better right to the places, those that stand in the end: a
// claim that others have taken is given up, and does not start to be evicted (S4). Those
// that stay are what was settled. There is room for about so many actions and tasks more.
func (w Difference) keepStarted(d *cluster.Decision, more, tasks int) {
	actions, placed := d.Actions, d.Placed
	d.Actions, d.Placed = nil, make([]cluster.TaskPlace, 0, len(placed)+tasks)
	if len(actions)+more > 0 {
		d.Actions = make([]cluster.Action, 0, len(actions)+more)
	}
	for _, a := range actions {
		from := int32(len(d.Placed))
		started := w.startedClaims(&a)
		for _, t := range placed[a.From:a.To] {
			if a.Kind != cluster.Start || started[t] {
				d.Placed = append(d.Placed, t)
			}
		}
		if a.From, a.To = from, int32(len(d.Placed)); a.To > a.From {
			d.Actions = append(d.Actions, a)
		}
	}
	d.Settled = len(d.Actions)
}

// startedClaims are the claims of a workload that run in the end, where they were.
func (w Difference) startedClaims(a *cluster.Action) map[cluster.TaskPlace]bool {
	if a.Kind != cluster.Start {
		return nil
	}
	out := make(map[cluster.TaskPlace]bool)
	for _, s := range w.Room.Seats[a.Work] {
		if s.Origin >= 0 && s.Commit < 0 && !s.Claimed {
			out[w.Holdings[s.Origin].TaskPlace] = true
		}
	}
	return out
}

// A seatOf is the place of a seat in the table.
type seatOf struct{ work, at int32 }

// committed are the seats that some start or move has given, in the order of the
// commits: those of a commit begin at from.
func (w Difference) committed() (from []int32, seats []seatOf) {
	from = make([]int32, len(w.Room.Commits)+1)
	each := func(do func(commit int32, s seatOf)) {
		for _, i := range w.Room.Touched {
			own := w.Room.Seats[i]
			for at := range own {
				if own[at].Commit >= 0 {
					do(own[at].Commit, seatOf{i, int32(at)})
				}
			}
		}
	}
	each(func(commit int32, _ seatOf) { from[commit+1]++ })
	for c := range w.Room.Commits {
		from[c+1] += from[c]
	}
	seats = make([]seatOf, from[len(from)-1])
	each(func(commit int32, s seatOf) {
		seats[from[commit]] = s
		from[commit]++ // where that of the next begins, for now
	})
	copy(from[1:], from)
	from[0] = 0
	return from, seats
}

// kindOf is what fresh tasks are to their workload: growth if what ran before,
// and has started up to here, is its minimum, else a start. It counts them.
func (w Difference) kindOf(counts map[int32][]int32, c *cluster.Commit, fresh []seatOf) cluster.Kind {
	d := w.Definition(&w.Works[c.Work], c.Form)
	if len(fresh) == len(w.Room.Seats[c.Work]) && !d.Elastic {
		return cluster.Start // all of it, which none follows
	}
	held := counts[c.Work]
	if held == nil {
		held = make([]int32, len(d.Sets))
		for _, s := range w.Room.Seats[c.Work] {
			if s.Origin >= 0 && !s.Claimed && (s.Commit < 0 || w.Booking().Ran(&s)) { // a claim given anew starts
				held[s.Set]++
			}
		}
		counts[c.Work] = held
	}
	kind := cluster.Start
	if d.Gang.AtMinimum(held) {
		kind = cluster.Resize
	}
	for _, at := range fresh {
		held[w.seatAt(at).Set]++
	}
	if !slices.ContainsFunc(fresh, func(at seatOf) bool { return w.seatAt(at).Origin < 0 }) {
		return cluster.Start // of claims
	}
	return kind
}

// seatAt is a seat of the table.
func (w Difference) seatAt(at seatOf) *cluster.Seat { return &w.Room.Seats[at.work][at.at] }

// nameGrowth has what grows name the first of those whose place it takes (X2).
func (w Difference) nameGrowth(d *cluster.Decision) {
	if !slices.ContainsFunc(d.Actions, func(a cluster.Action) bool { return a.Kind == cluster.Resize && a.Commit > 0 }) {
		return
	}
	type grown struct{ work, commit int32 }
	first := make(map[grown]int32)
	for at := range d.Actions {
		a := &d.Actions[at]
		if chain := w.ChainOf(d, a); len(chain) > 0 {
			last := &w.Room.Takings[chain[len(chain)-1]]
			key := grown{last.Preemptor, last.Commit + 1}
			if _, known := first[key]; !known {
				first[key] = a.Work
			}
		}
		if a.Kind == cluster.Resize && a.Commit > 0 {
			if work, known := first[grown{a.Work, a.Commit}]; known {
				a.Replaces = work + 1
			}
		}
	}
}

// writeGone writes what has lost its seat, in the order in which it was taken.
func (w Difference) writeGone(d *cluster.Decision) {
	book := w.Room
	for i := range book.Takings {
		work := book.Takings[i].Work
		if at := book.Last[work]; at > 0 && book.Takings[at-1].Next == int32(i) { // a workload at a time
			w.writeGoneOf(d, work, int(at)-1)
		}
	}
}

// writeGoneOf writes what one workload has lost, for the last of its takings.
func (w Difference) writeGoneOf(d *cluster.Decision, i int32, at int) {
	k := &w.Works[i]
	if k.Live < 0 {
		return // it started in this solve
	}
	l := &w.Live[k.Live]
	if l.To == l.From+1 && len(w.Room.Seats[i]) == 0 { // as mostly: it was one task
		kind := cluster.Evict
		switch h := &w.Holdings[l.From]; {
		case h.Phase == cluster.Terminating:
			return
		case h.Phase == cluster.Claimed || h.Fresh:
			kind = cluster.Unclaim
		}
		w.writeTaken(d, kind, w.Holdings[l.From:l.To], w.whyLost(l.From, at))
		return
	}
	kept, some := make([]bool, l.To-l.From), false
	for _, s := range w.Room.Seats[i] {
		if s.Origin >= 0 {
			kept[s.Origin-l.From], some = true, true
		}
	}
	var claims, gone []int32
	for h := l.From; h < l.To; h++ {
		switch {
		case kept[h-l.From] || w.Holdings[h].Phase == cluster.Terminating:
		case w.Holdings[h].Phase == cluster.Claimed || w.Holdings[h].Fresh:
			claims = append(claims, h)
		default:
			gone = append(gone, h)
		}
	}
	for _, part := range w.chained(claims, at) { // of which one may have moved, and another gone
		w.writeTaken(d, cluster.Unclaim, part.tasks, part.why)
	}
	parts := w.partsOf(gone, at)
	for n, part := range parts {
		kind := cluster.Shrink // what is above the minimum goes first (M6)
		if !some && n == len(parts)-1 {
			kind = cluster.Evict
		}
		w.writeTaken(d, kind, part.tasks, part.why)
	}
}

// writeTaken writes that tasks of one workload have gone, for one reason.
func (w Difference) writeTaken(d *cluster.Decision, kind cluster.Kind, tasks []cluster.Holding, why int) {
	slices.SortFunc(tasks, func(a, b cluster.Holding) int { return cluster.CompareTasks(a.TaskPlace, b.TaskPlace) })
	d.GiveUp(kind, tasks, w.Room.Takings[why].Code)
	d.Actions[len(d.Actions)-1].Taking = int32(why) + 1
}

// A takenPart is what has gone of a workload by one chain.
type takenPart struct {
	tasks   []cluster.Holding
	why     int
	minimum bool // of it
	chain   []int32
}

// partsOf parts what has gone by its chains (X2), in the order in which it was taken,
// the minimum last.
func (w Difference) partsOf(gone []int32, at int) (parts []takenPart) {
	if len(gone) > 1 {
		if h := &w.Holdings[gone[0]]; len(w.Definition(&w.Works[h.Work], h.Form).Ladder) > 0 {
			return rungsOf(w, gone, at)
		}
	}
	parts = w.chained(gone, at)
	lastFirst(w, parts)
	return parts
}

// chained parts what has gone as partsOf does, before the tasks of a set are told apart.
func (w Difference) chained(gone []int32, at int) (parts []takenPart) {
	if len(gone) == 1 {
		return []takenPart{{tasks: []cluster.Holding{w.Holdings[gone[0]]}, why: w.whyLost(gone[0], at)}}
	}
	chains := make(map[int][]int32) // by taking
	for _, i := range gone {
		h := w.Holdings[i]
		one := takenPart{tasks: []cluster.Holding{h}, why: w.whyLost(i, at)}
		if step, known := w.stepOf(h.Work, h.TaskPlace); known {
			one.minimum = step == 0
		}
		known := false
		if one.chain, known = chains[one.why]; !known {
			one.chain = w.chainFrom(nil, int32(one.why))
			chains[one.why] = one.chain
		}
		same := slices.IndexFunc(parts, func(p takenPart) bool { return sameChain(w.Room.Takings, p.chain, one.chain) })
		if same < 0 {
			parts = append(parts, one)
			continue
		}
		p := &parts[same]
		p.tasks, p.why, p.minimum = append(p.tasks, h), max(p.why, one.why), p.minimum || one.minimum
	}
	slices.SortStableFunc(parts, func(a, b takenPart) int {
		if a.minimum != b.minimum {
			if a.minimum {
				return 1
			}
			return -1
		}
		return cmp.Compare(a.why, b.why)
	})
	return parts
}

// rungsOf parts what has gone of a ladder by its chains from the top down, so that each part
// leaves a rung (L1).
func rungsOf(w Difference, gone []int32, at int) (parts []takenPart) {
	stepOf := func(i int32) int32 {
		step, _ := w.stepOf(w.Holdings[i].Work, w.Holdings[i].TaskPlace)
		return step
	}
	fromTop := slices.SortedStableFunc(slices.Values(gone), func(a, b int32) int { return cmp.Compare(stepOf(b), stepOf(a)) })
	for n, i := range fromTop {
		why := w.whyLost(i, at)
		one := takenPart{tasks: []cluster.Holding{w.Holdings[i]}, why: why, chain: w.chainFrom(nil, int32(why))}
		last := len(parts) - 1
		if n == 0 || stepOf(i) != stepOf(fromTop[n-1]) && !sameChain(w.Room.Takings, parts[last].chain, one.chain) {
			parts = append(parts, one)
			continue
		}
		parts[last].tasks, parts[last].why = append(parts[last].tasks, w.Holdings[i]), max(parts[last].why, why)
	}
	lastFirst(w, parts)
	return parts
}

// sameChain says whether two chains are of the same workloads by the same rights.
func sameChain(takings []cluster.Taking, a, b []int32) bool {
	return slices.EqualFunc(a, b, func(x, y int32) bool {
		t, u := &takings[x], &takings[y]
		return t.Preemptor == u.Preemptor && t.Code == u.Code
	})
}

// lastFirst has of each pod set, whose tasks are alike, the last go first (M6), but for those that go as people
// have reserved their places (B9).
func lastFirst(w Difference, parts []takenPart) {
	if len(parts) < 2 {
		return
	}
	bySet := make(map[int32][]cluster.Holding) // the first last; read one by one: order cannot matter
	goes := func(h *cluster.Holding) bool { return w.IsReserved(&w.Works[h.Work], &h.TaskPlace) }
	for i := range parts {
		for _, h := range parts[i].tasks {
			if !goes(&h) {
				bySet[h.Set] = append(bySet[h.Set], h)
			}
		}
	}
	for _, list := range bySet { // each for itself: order cannot matter
		slices.SortFunc(list, func(a, b cluster.Holding) int { return cmp.Compare(a.Index, b.Index) })
	}
	for i := range parts {
		for t := range parts[i].tasks {
			if h := &parts[i].tasks[t]; !goes(h) {
				list := bySet[h.Set]
				bySet[h.Set], *h = list[:len(list)-1], list[len(list)-1]
			}
		}
	}
}

// whyLost is the last taking that took what was held before, up to that at 'at', if it was no
// consolidation: that moves, and starts by the same name. If none is known to have, it is the last of the workload; so
// it is of what was moved to the place of its like, and of what has lost the place to which it was moved: that starts
// nowhere else, though others of its pod set do. A taking elsewhere, for a
// workload that stays where it was in the end, has cost it nothing.
func (w Difference) whyLost(held int32, at int) int {
	book, last, gone := w.Room, cluster.None, cluster.None
	for why := range book.TakingsOf(w.Holdings[held].Work) {
		t := &book.Takings[why]
		if int(why) > at || !slices.ContainsFunc(t.Seats, func(s cluster.Seat) bool { return s.Origin == held }) {
			continue
		}
		if last = int(why); t.Code != cluster.Consolidated && w.Loops[t.Pool].StoodThere(t) && tookThere(w, t, held) && !w.costNothing(t) {
			gone = last
		}
	}
	h := &w.Holdings[held]
	if gone != cluster.None {
		return gone
	}
	if last != cluster.None && slices.ContainsFunc(book.Seats[h.Work], func(s cluster.Seat) bool { return s.Set == h.Set && s.Index == h.Index }) {
		return last
	}
	return whyGone(book, at)
}

// costNothing says whether a taking was for a workload that has not left its place.
func (w Difference) costNothing(t *cluster.Taking) bool {
	return t.Preemptor >= 0 && w.fateOf(t.Preemptor, t.Commit) == staysHome
}

// tookThere says whether a reclaim of a class took a task where it was held before: it may have
// come elsewhere since it lost that, and have been in the class there alone (Q8).
func tookThere(w Difference, t *cluster.Taking, held int32) bool {
	h, r := &w.Holdings[held], t.Is.Resource
	if t.Is.Subtree < 0 || r < 0 || int(r) < w.Pools[t.Pool].Plain {
		return true
	}
	return w.chargedAt(w.FormOf(&w.Works[h.Work], h.Form), h.TaskPlace, r) > 0
}

// whyGone is the last taking of the workload, up to this one, that was no
// consolidation: that moves, and what is gone was taken otherwise.
func whyGone(b *cluster.Table, at int) int {
	last := at
	for why := range b.TakingsOf(b.Takings[at].Work) {
		if int(why) <= at && b.Takings[why].Code != cluster.Consolidated {
			last = int(why)
		}
	}
	return last
}

// Difference makes the plan of the difference between two tables.
type Difference struct{ *cluster.World }

// Of is the world as its plan is made.
func Of(w *cluster.World) Difference { return Difference{w} }
