package difference

import (
	"slices"

	"github.com/allotsched/allot/internal/cluster"
)

// sequence orders n moves so that each comes after those that it waits for, among what
// may come next the earlier. Where moves wait for each other in a circle, one of it that
// costs least, the first of such, is cut: it counts as gone before all of them. The order
// leaves out what was cut. O(n log n) and what the circles are long.
func sequence(waits [][]int32, cost []int64) (order, cut []int32) {
	n := len(waits)
	open, before := make([]int, n), make([][]int32, n)
	for i, list := range waits {
		open[i] = len(list)
		for _, other := range list {
			before[other] = append(before[other], int32(i))
		}
	}
	done := make([]bool, n)
	var ready []int32 // descending
	for i := n - 1; i >= 0; i-- {
		if open[i] == 0 {
			ready = append(ready, int32(i))
		}
	}
	free := func(i int32) {
		done[i] = true
		for _, other := range before[i] {
			if open[other]--; open[other] == 0 && !done[other] {
				at, _ := slices.BinarySearchFunc(ready, other, func(a, b int32) int { return int(b - a) })
				ready = slices.Insert(ready, at, other)
			}
		}
	}
	for next := 0; ; {
		if len(ready) > 0 {
			i := ready[len(ready)-1]
			ready = ready[:len(ready)-1]
			order = append(order, i)
			free(i)
			continue
		}
		for next < n && done[next] {
			next++
		}
		if next == n {
			return order, cut
		}
		i := cheapest(circleFrom(int32(next), waits, done), cost)
		cut = append(cut, i)
		free(i)
	}
}

// circleFrom is a circle of moves that are not done, found from one of them along what
// each still waits for.
func circleFrom(i int32, waits [][]int32, done []bool) []int32 {
	var path []int32
	at := make(map[int32]int)
	for {
		if from, seen := at[i]; seen {
			return path[from:]
		}
		at[i] = len(path)
		path = append(path, i)
		for _, other := range waits[i] {
			if !done[other] {
				i = other
				break
			}
		}
	}
}

// cheapest is the one of the moves that costs least, the lowest of such.
func cheapest(moves []int32, cost []int64) int32 {
	best := moves[0]
	for _, i := range moves[1:] {
		if cost[i] < cost[best] || cost[i] == cost[best] && i < best {
			best = i
		}
	}
	return best
}

// cutCircles orders the moves, which are d.actions[from:to], and has those that are cut
// go before all moves and start after them (M11), behind what has reclaimed: with those gone
// it was within its entitlement (R1).
func (w Difference) cutCircles(d *cluster.Decision, from, to int) {
	moves := slices.Clone(d.Actions[from:to])
	order, cut := w.orderMoves(d, moves)
	for at := breaksUp(w.World, d, moves, cut); at >= 0; at = breaksUp(w.World, d, moves, cut) {
		moves = joined(w.World, d, moves, at)
		order, cut = w.orderMoves(d, moves)
	}
	if len(cut) == 0 && len(order) == to-from { // as mostly
		for n, i := range order {
			d.Actions[from+n] = moves[i]
		}
		return
	}
	var leaves, rest, starts []cluster.Action
	first, later := w.reclaimersFirst(d, to, moves, cut)
	for _, i := range cut {
		leaves = append(leaves, w.leaveFirst(d, &moves[i]))
		later = startTogetherWith(w.World, d, &moves[i], later)
		starts = append(starts, w.startBehindItself(d, &moves[i])...)
	}
	for _, i := range order {
		rest = append(rest, moves[i])
	}
	d.Actions = slices.Concat(d.Actions[:from], leaves, rest, first, starts, later)
}

// orderMoves says in which order moves go, and which of them are cut. One waits for those that leave its nodes: of a
// workload that it waits for what moves may leave others alone, as what it waits for has gone before all moves.
func (w Difference) orderMoves(d *cluster.Decision, moves []cluster.Action) (order, cut []int32) {
	of := make(map[int32][]int32, len(moves))
	for i := range moves {
		of[moves[i].Work] = append(of[moves[i].Work], int32(i))
	}
	waits, cost := make([][]int32, len(moves)), make([]int64, len(moves))
	for i := range moves {
		a := &moves[i]
		for _, other := range a.After {
			for _, at := range of[other] {
				if other != a.Work && leavesNodeOf(d, &moves[at], a) {
					waits[i] = append(waits[i], at)
				}
			}
		}
		cost[i] = w.costToLeave(a)
	}
	return sequence(waits, cost)
}

// leavesNodeOf says whether a move leaves a node on which another one comes to a place.
func leavesNodeOf(d *cluster.Decision, one, other *cluster.Action) bool {
	return slices.ContainsFunc(goneBy(d, one), func(gone cluster.TaskPlace) bool {
		return slices.ContainsFunc(d.Placed[other.From:other.To], func(to cluster.TaskPlace) bool { return to.Node == gone.Node })
	})
}

// breaksUp is a move that is cut of a workload of which more moves, and which has less than its minimum without what
// leaves; none is −1.
func breaksUp(w *cluster.World, d *cluster.Decision, moves []cluster.Action, cut []int32) int {
	for _, at := range cut {
		a := &moves[at]
		if !slices.ContainsFunc(moves, func(b cluster.Action) bool { return b.Work == a.Work && b.Moved != a.Moved }) {
			continue
		}
		definition := w.Definition(&w.Works[a.Work], a.Form)
		held := heldInPlace(w, a.Work, definition)
		for i := range moves {
			if b := &moves[i]; b.Work == a.Work && b.Moved != a.Moved {
				for _, t := range goneBy(d, b) {
					held[t.Set]++
				}
			}
		}
		if !definition.Gang.AtMinimum(held) {
			return int(at)
		}
	}
	return -1
}

// joined has all that moves of the workload of one move go at once (M6), told for whom that asks the most (C3).
func joined(w *cluster.World, d *cluster.Decision, moves []cluster.Action, at int) (out []cluster.Action) {
	all := moves[at]
	var placed, gone []cluster.TaskPlace
	for i := range moves {
		b := &moves[i]
		if b.Work != all.Work {
			out = append(out, *b)
			continue
		}
		placed, gone = append(placed, d.Placed[b.From:b.To]...), append(gone, goneBy(d, b)...)
		all.After = append(slices.Clip(all.After), b.After...)
		if askedBy(w, b) > askedBy(w, &all) {
			all.Taking, all.Code = b.Taking, b.Code
		}
	}
	all.After = inTurn(all.After, w.CompareIDs)
	all.From, all.Moved = int32(len(d.Placed)), int32(len(d.From))
	d.Placed, d.From = append(d.Placed, placed...), append(d.From, gone...)
	all.To = int32(len(d.Placed))
	return append(out, all)
}

// askedBy is how many GPUs the workload asks for which one moves.
func askedBy(w *cluster.World, a *cluster.Action) int64 {
	if a.Taking == 0 || w.Room.Takings[a.Taking-1].Preemptor < 0 {
		return 0
	}
	k := &w.Works[w.Room.Takings[a.Taking-1].Preemptor]
	return w.Definition(k, k.Current).Demand.Of(0)
}

// reclaimersFirst parts the actions from one on into those of workloads that have reclaimed
// something, and the others, among which are all moves that are cut.
func (w Difference) reclaimersFirst(d *cluster.Decision, from int, moves []cluster.Action, cut []int32) (first, others []cluster.Action) {
	rights := w.reclaimers(d)
	for _, i := range cut {
		if rights.has(moves[i].Work) {
			rights.last[moves[i].Work] = 0
		}
	}
	for _, a := range d.Actions[from:] {
		if rights.has(a.Work) {
			first = append(first, a)
		} else {
			others = append(others, a)
		}
	}
	return first, others
}

// costToLeave is what it costs that a move is told as what leaves and what starts: the
// gang is broken up for that time, no host is to be told that a workload ends, and what is left of a
// gang that this plan does not complete may not start again (G1).
func (w Difference) costToLeave(a *cluster.Action) int64 {
	const breaks, ends, strands = 1 << 32, 1 << 48, 1 << 49
	cost := int64(a.To - a.From)
	if staysBelowMinimum(w.World, a) {
		cost += strands
	}
	if standsBefore(w, a.Work) > cost {
		cost += breaks
	}
	if k := &w.Works[a.Work]; w.FormOf(k, k.Current).Final {
		cost += ends
	}
	return cost
}

// staysBelowMinimum says whether the workload of an action has less than its minimum in the end.
func staysBelowMinimum(w *cluster.World, a *cluster.Action) bool {
	definition := w.Definition(&w.Works[a.Work], a.Form)
	held := make([]int32, len(definition.Sets))
	for at := range w.Room.Seats[a.Work] {
		held[w.Room.Seats[a.Work][at].Set]++
	}
	return !definition.Gang.AtMinimum(held)
}

// standsBefore is how many tasks of the workload run when the moves begin: what ran, and what
// has started where it was claimed and stays there (S4).
func standsBefore(w Difference, work int32) int64 {
	n := w.ranOf(work)
	for at := range w.Room.Seats[work] {
		if s := &w.Room.Seats[work][at]; s.Origin >= 0 && s.Commit < 0 && w.Holdings[s.Origin].Fresh {
			n++
		}
	}
	return n
}

// leaveFirst is what a move begins with that was cut: an eviction, or where a part of the
// workload stays a shrinking.
func (w Difference) leaveFirst(d *cluster.Decision, a *cluster.Action) cluster.Action {
	out := *a
	out.Kind, out.After, out.Cut, out.From = cluster.Shrink, nil, true, int32(len(d.Placed))
	if standsBefore(w, a.Work) == int64(a.To-a.From) {
		out.Kind = cluster.Evict
	}
	d.Placed = append(d.Placed, goneBy(d, a)...)
	out.To = int32(len(d.Placed))
	return out
}

// startTogetherWith adds to a move that was cut, of a gang that ran below its minimum, what
// this plan completes it with: what moves of it starts no sooner than that (G1). It returns
// the starts that are left.
func startTogetherWith(w *cluster.World, d *cluster.Decision, a *cluster.Action, starts []cluster.Action) []cluster.Action {
	definition := w.Definition(&w.Works[a.Work], a.Form)
	held := heldInPlace(w, a.Work, definition)
	for _, t := range d.Placed[a.From:a.To] {
		held[t.Set]++
	}
	for !definition.Gang.AtMinimum(held) {
		at := slices.IndexFunc(starts, func(b cluster.Action) bool { return b.Work == a.Work })
		if at < 0 {
			return starts
		}
		b := starts[at]
		starts = slices.Delete(starts, at, at+1)
		tasks := slices.Concat(d.Placed[a.From:a.To], d.Placed[b.From:b.To])
		for _, t := range d.Placed[b.From:b.To] {
			held[t.Set]++
		}
		a.From = int32(len(d.Placed))
		d.Placed = append(d.Placed, tasks...)
		a.To = int32(len(d.Placed))
		a.After = inTurn(append(slices.Clip(a.After), b.After...), w.CompareIDs)
	}
	return starts
}

// heldInPlace counts by pod set what of a workload runs where it ran.
func heldInPlace(w *cluster.World, work int32, definition *cluster.Definition) []int32 {
	held := make([]int32, len(definition.Sets))
	for at := range w.Room.Seats[work] {
		if s := &w.Room.Seats[work][at]; s.Commit < 0 && !s.Claimed {
			held[s.Set]++
		}
	}
	return held
}

// startBehindItself are the starts that a move ends with that was cut: what the minimum
// needs with what has stayed, or all of what halves, and task by task what is above that.
func (w Difference) startBehindItself(d *cluster.Decision, a *cluster.Action) []cluster.Action {
	definition := w.Definition(&w.Works[a.Work], a.Form)
	held, step := heldInPlace(w.World, a.Work, definition), make(map[cluster.TaskPlace]int32)
	ends := make(map[cluster.TaskPlace]int64) // of what was cut to fit a hole
	for at := range w.Room.Seats[a.Work] {
		s := &w.Room.Seats[a.Work][at]
		step[s.TaskPlace] = s.Step
		if s.Origin >= 0 {
			ends[s.TaskPlace] = w.Holdings[s.Origin].Until
		}
	}
	tasks := slices.Clone(d.Placed[a.From:a.To])
	slices.SortStableFunc(tasks, func(a, b cluster.TaskPlace) int { return int(step[a] - step[b]) })
	var out []cluster.Action
	for at := 0; at < len(tasks); {
		one := cluster.Action{Kind: cluster.Start, Form: a.Form, Work: a.Work, From: int32(len(d.Placed)), Cut: true}
		if definition.Gang.AtMinimum(held) { // also between two rungs, or below the lowest
			one.Kind, one.Code = cluster.Resize, cluster.Grown
		}
		one.Until = ends[tasks[at]]
		for first := true; at < len(tasks) && (first || !mayRun(definition, held)); first = false {
			held[tasks[at].Set]++
			d.Placed = append(d.Placed, tasks[at])
			at++
		}
		one.To = int32(len(d.Placed))
		slices.SortFunc(d.Placed[one.From:one.To], cluster.CompareTasks)
		one.After = inTurn(append(leaversAmong(w.World, a.After, d.Placed[one.From:one.To]), a.Work), w.CompareIDs)
		out = append(out, one)
	}
	return out
}

// leaversAmong are those of some workloads that leave something on a node of the tasks.
func leaversAmong(w *cluster.World, works []int32, tasks []cluster.TaskPlace) (out []int32) {
	for _, i := range works {
		stays := make(map[int32]bool)
		for at := range w.Room.Seats[i] {
			if s := &w.Room.Seats[i][at]; s.Commit < 0 && s.Origin >= 0 {
				stays[s.Origin] = true
			}
		}
		l := &w.Live[w.Works[i].Live]
		for at := l.From; at < l.To; at++ {
			h := &w.Holdings[at]
			gone := h.Phase == cluster.Terminating || h.Phase == cluster.Running && !h.Fresh && !stays[at]
			if gone && slices.ContainsFunc(tasks, func(t cluster.TaskPlace) bool { return t.Node == h.Node }) {
				out = append(out, i)
				break
			}
		}
	}
	return out
}
