package allot

import (
	"slices"

	"github.com/allotsched/allot/placement"
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
// go before all moves and start after them (M11).
func (w *world) cutCircles(d *decision, from, to int) {
	moves := slices.Clone(d.actions[from:to])
	of := make(map[int32]int32, len(moves))
	for i := range moves {
		of[moves[i].work] = int32(i)
	}
	waits, cost := make([][]int32, len(moves)), make([]int64, len(moves))
	for i := range moves {
		a := &moves[i]
		for _, other := range a.after {
			if at, some := of[other]; some && at != int32(i) {
				waits[i] = append(waits[i], at)
			}
		}
		cost[i] = w.costToLeave(a)
	}
	order, cut := sequence(waits, cost)
	var leaves, rest, starts []action
	later := slices.Clone(d.actions[to:])
	for _, i := range cut {
		leaves = append(leaves, w.leaveFirst(d, &moves[i]))
		later = startTogetherWith(w, d, &moves[i], later)
		starts = append(starts, w.startBehindItself(d, &moves[i])...)
	}
	for _, i := range order {
		rest = append(rest, moves[i])
	}
	d.actions = slices.Concat(d.actions[:from], leaves, rest, starts, later)
}

// costToLeave is what it costs that a move is told as what leaves and what starts: the
// gang is broken up for that time, and no host is to be told that a workload ends.
func (w *world) costToLeave(a *action) int64 {
	const breaks, ends = 1 << 32, 1 << 48
	cost := int64(a.to - a.from)
	if w.ranOf(a.work) > cost {
		cost += breaks
	}
	if w.endingOf(&w.works[a.work]).Final {
		cost += ends
	}
	return cost
}

// leaveFirst is what a move begins with that was cut: an eviction, or where a part of the
// workload stays a shrinking.
func (w *world) leaveFirst(d *decision, a *action) action {
	out := *a
	out.kind, out.after, out.cut, out.from = Shrink, nil, true, int32(len(d.placed))
	if w.ranOf(a.work) == int64(a.to-a.from) {
		out.kind = Evict
	}
	d.placed = append(d.placed, d.goneBy(a)...)
	out.to = int32(len(d.placed))
	return out
}

// startTogetherWith adds to a move that was cut, of a gang that ran below its minimum, what
// this plan completes it with: what moves of it starts no sooner than that (G1). It returns
// the starts that are left.
func startTogetherWith(w *world, d *decision, a *action, starts []action) []action {
	definition := w.definition(&w.works[a.work], a.form)
	held := heldInPlace(w, a.work, definition)
	for _, t := range d.placed[a.from:a.to] {
		held[t.set]++
	}
	for !definition.gang.AtMinimum(held) {
		at := slices.IndexFunc(starts, func(b action) bool { return b.work == a.work })
		if at < 0 {
			return starts
		}
		b := starts[at]
		starts = slices.Delete(starts, at, at+1)
		tasks := slices.Concat(d.placed[a.from:a.to], d.placed[b.from:b.to])
		for _, t := range d.placed[b.from:b.to] {
			held[t.set]++
		}
		a.from = int32(len(d.placed))
		d.placed = append(d.placed, tasks...)
		a.to = int32(len(d.placed))
		a.after = inTurn(append(slices.Clip(a.after), b.after...), w.compareIDs)
	}
	return starts
}

// heldInPlace counts by pod set what of a workload runs where it ran.
func heldInPlace(w *world, work int32, definition *definition) []int32 {
	held := make([]int32, len(definition.sets))
	for at := range w.room.seats[work] {
		if s := &w.room.seats[work][at]; s.commit < 0 && !s.claimed {
			held[s.set]++
		}
	}
	return held
}

// startBehindItself are the starts that a move ends with that was cut: what the minimum
// needs with what has stayed, or all of what halves, and task by task what is above that.
func (w *world) startBehindItself(d *decision, a *action) []action {
	definition := w.definition(&w.works[a.work], a.form)
	held, step := heldInPlace(w, a.work, definition), make(map[taskPlace]int32)
	for at := range w.room.seats[a.work] {
		s := &w.room.seats[a.work][at]
		step[s.taskPlace] = s.step
	}
	tasks := slices.Clone(d.placed[a.from:a.to])
	slices.SortStableFunc(tasks, func(a, b taskPlace) int { return int(step[a] - step[b]) })
	var out []action
	for at := 0; at < len(tasks); {
		one := action{kind: Start, form: a.form, work: a.work, from: int32(len(d.placed)), cut: true}
		if definition.gang.AtMinimum(held) { // also between two rungs, or below the lowest
			one.kind, one.code = Resize, Grown
		}
		for first := true; at < len(tasks) && (first || !definition.runs(held)); first = false {
			held[tasks[at].set]++
			d.placed = append(d.placed, tasks[at])
			at++
		}
		one.to = int32(len(d.placed))
		slices.SortFunc(d.placed[one.from:one.to], compareTasks)
		one.after = inTurn(append(leaversAmong(w, a.after, d.placed[one.from:one.to]), a.work), w.compareIDs)
		out = append(out, one)
	}
	return out
}

// leaversAmong are those of some workloads that leave something on a node of the tasks.
func leaversAmong(w *world, works []int32, tasks []taskPlace) (out []int32) {
	for _, i := range works {
		stays := make(map[int32]bool)
		for at := range w.room.seats[i] {
			if s := &w.room.seats[i][at]; s.commit < 0 && s.origin >= 0 {
				stays[s.origin] = true
			}
		}
		l := &w.live[w.works[i].live]
		for at := l.from; at < l.to; at++ {
			h := &w.holdings[at]
			gone := h.phase == Terminating || h.phase == Running && !h.fresh && !stays[at]
			if gone && slices.ContainsFunc(tasks, func(t taskPlace) bool { return t.node == h.node }) {
				out = append(out, i)
				break
			}
		}
	}
	return out
}

// writeAfter finds out which starts and moves have to wait for whom: their places are
// tried, one after the other, in the state as it was.
func (w *world) writeAfter(d *decision, from int) error {
	if from == len(d.actions) {
		return nil
	}
	l := leavers{world: w, on: make([][]int32, len(w.state.Nodes))}
	for _, p := range w.pools {
		x, err := placement.NewIndex(p.placed, p.plain-1)
		if err != nil {
			return err
		}
		l.before = append(l.before, x)
	}
	taken := make([]bool, len(w.state.Nodes)) // what stands elsewhere is in nobody's way
	for at := range d.actions[from:] {
		a := &d.actions[from+at]
		for _, t := range d.placed[a.from:a.to] {
			taken[t.node] = true
		}
	}
	index := func(p *pool) *placement.Index { return l.before[slices.Index(w.pools, p)] }
	if err := w.occupy(w.holdingsBefore(taken), index); err != nil {
		return err
	}
	l.read(taken)
	var waiting []*action
	for at := range d.actions[from:] {
		a := &d.actions[from+at]
		x := l.before[w.formOf(&w.works[a.work], a.form).pool]
		m := x.Mark()
		if len(l.waitsFor(d, x, a)) == 0 {
			x.Commit(m)
			continue
		}
		x.Undo(m)
		waiting = append(waiting, a)
	}
	for _, a := range waiting { // beside all that starts at once, and the waiting ones before
		a.after = l.waitsFor(d, l.before[w.formOf(&w.works[a.work], a.form).pool], a)
	}
	w.waitForThemselves(d, from)
	return nil
}

// waitForThemselves has what starts, and what claims the place that it moves to, wait for its
// own workload where tasks of that are leaving that wait again, or the plan evicts it: it
// starts once they have left (S5).
func (w *world) waitForThemselves(d *decision, from int) {
	evicted := make(map[int32]bool)
	for at := range d.actions {
		if a := &d.actions[at]; a.kind == Evict {
			evicted[a.work] = true
		}
	}
	for at := range d.actions[from:] {
		a := &d.actions[from+at]
		starts := a.kind == Start || a.kind == Resize ||
			a.kind == Move && slices.ContainsFunc(d.placed[a.from:a.to], func(t taskPlace) bool { return w.waitsAt(a.work, t) })
		if starts && (evicted[a.work] || w.works[a.work].isLeaving(w)) && !slices.Contains(a.after, a.work) {
			a.after = append(a.after, a.work)
			slices.SortFunc(a.after, w.compareIDs)
		}
	}
}

// leavers are, by node, the holdings that leave it, and the indices of the pools before
// anybody leaves.
type leavers struct {
	world  *world
	on     [][]int32
	before []*placement.Index
}

// read lists what leaves some nodes: what was terminating, and what runs and has to go.
func (l *leavers) read(nodes []bool) {
	w := l.world
	goes := make([]bool, len(w.holdings))
	for i := range goes {
		goes[i] = w.holdings[i].phase == Running && !w.holdings[i].fresh
	}
	for _, seats := range w.room.seats {
		for i := range seats {
			if s := &seats[i]; s.origin >= 0 && s.commit < 0 {
				goes[s.origin] = false
			}
		}
	}
	for i := range w.holdings {
		if h := &w.holdings[i]; nodes[h.node] && (goes[i] || h.phase == Terminating) {
			l.on[h.node] = append(l.on[h.node], int32(i))
		}
	}
}

// waitsFor takes the places of an action, and lists whom it waits for: what goes and
// holds what the places lack, and behind what is leaving also that. The leavers of a node
// are looked at once for all of the action's tasks there.
func (l *leavers) waitsFor(d *decision, x *placement.Index, a *action) []int32 {
	w, definition := l.world, l.world.definition(&l.world.works[a.work], a.form)
	var list []*awaited
	byNode := make(map[int32]*awaited)
	for _, t := range d.placed[a.from:a.to] {
		s := &definition.sets[t.set]
		shape, place := x.Shape(s.request), placement.Place{Node: w.position[t.node], Devices: t.devices}
		lack := x.Lacks(shape, place)
		behind := w.works[a.work].pipelined && w.waitsAt(a.work, t)
		if x.Take(shape, place) != nil || lack.Nothing() && !behind || len(l.on[t.node]) == 0 {
			continue // the places of a decision exist
		}
		at := byNode[t.node]
		if at == nil {
			at = l.awaitedOn(t.node, a.work)
			byNode[t.node] = at
			list = append(list, at)
		}
		at.lack(&lack)
		at.own(t, &lack)
		if behind {
			at.behind(t, s, &lack)
		}
	}
	var out []int32
	for _, at := range list {
		out = append(at.running(out), at.out...)
	}
	return inTurn(out, w.compareIDs)
}

// inTurn are workloads in the order of their IDs, each once.
func inTurn(works []int32, byID func(a, b int32) int) []int32 {
	slices.SortFunc(works, byID)
	return slices.Compact(works)
}

// waitsAt says whether a task of the workload claims its place behind what leaves.
func (w *world) waitsAt(work int32, t taskPlace) bool {
	return slices.ContainsFunc(w.room.seats[work], func(s seat) bool { return s.taskPlace == t && s.waits() })
}

// An awaited is whom an action waits for on one node.
type awaited struct {
	*leavers
	node, work int32
	lacks      placement.Lack // of all tasks of the action
	mine       []int32        // the leavers of the workload itself
	out        []int32        // found so far
}

func (l *leavers) awaitedOn(node, work int32) *awaited {
	out := &awaited{leavers: l, node: node, work: work}
	for _, i := range l.on[node] {
		if l.world.holdings[i].work == work {
			out.mine = append(out.mine, i)
		}
	}
	return out
}

// lack adds what one task lacks.
func (a *awaited) lack(more *placement.Lack) {
	a.lacks.Devices |= more.Devices
	a.lacks.Slots = a.lacks.Slots || more.Slots
	a.lacks.CPUOnlySlots = a.lacks.CPUOnlySlots || more.CPUOnlySlots
	for _, r := range more.Resources {
		if !slices.Contains(a.lacks.Resources, r) {
			a.lacks.Resources = append(a.lacks.Resources, r)
		}
	}
}

// running adds the other workloads that run and have to go.
func (a *awaited) running(out []int32) []int32 {
	for _, i := range a.on[a.node] {
		if h := &a.world.holdings[i]; h.phase == Running && h.work != a.work && a.world.inTheWay(h, &a.lacks) {
			out = append(out, h.work)
		}
	}
	return out
}

// own adds the workload itself where others of its tasks are in the way of one: that it
// leaves its own place goes without saying.
func (a *awaited) own(t taskPlace, lack *placement.Lack) {
	for _, i := range a.mine {
		if h := &a.world.holdings[i]; h.phase == Running && (h.set != t.set || h.index != t.index) && a.world.inTheWay(h, lack) {
			a.out = append(a.out, h.work)
		}
	}
}

// behind adds what was terminating before and is in the way of a task that claims its
// place behind that. It may be short of something only once others that wait have
// started: then that is whatever holds anything that it asks for.
func (a *awaited) behind(t taskPlace, s *shape, lack *placement.Lack) {
	found := len(a.out)
	all := a.world.all(s, t)
	for _, lacks := range [...]*placement.Lack{lack, &all} {
		for _, i := range a.on[a.node] {
			h := &a.world.holdings[i]
			if itself := h.work == a.work && h.set == t.set && h.index == t.index; h.phase == Terminating && !itself && a.world.inTheWay(h, lacks) {
				a.out = append(a.out, h.work)
			}
		}
		if len(a.out) > found {
			return
		}
	}
}

// inTheWay says whether a task holds something of what a place lacks.
func (w *world) inTheWay(h *holding, lack *placement.Lack) bool {
	theirs := &w.definition(&w.works[h.work], h.form).sets[h.set]
	return lack.Slots || lack.CPUOnlySlots && theirs.gpus == 0 || lack.Devices&h.devices != 0 ||
		slices.ContainsFunc(lack.Resources, func(r int32) bool { return theirs.request.Amounts.Of(r) > 0 })
}

// all is a place that has nothing of what the shape asks.
func (w *world) all(s *shape, t taskPlace) placement.Lack {
	node := &w.pools[w.nodePool[t.node]].placed[w.position[t.node]]
	out := placement.Lack{
		Devices: t.devices, Slots: node.Slots < placement.NoCap,
		CPUOnlySlots: s.gpus == 0 && node.CPUOnlySlots < placement.NoCap,
	}
	for _, a := range s.request.Amounts {
		out.Resources = append(out.Resources, a.Resource)
	}
	return out
}

// holdingsBefore are what runs, leaves and is claimed on some nodes in the state once it
// is settled.
func (w *world) holdingsBefore(on []bool) (before []holding) {
	stays := make([]bool, len(w.holdings))
	for _, seats := range w.room.seats {
		for i := range seats {
			if s := &seats[i]; s.origin >= 0 && s.commit < 0 {
				stays[s.origin] = true
			}
		}
	}
	for i := range w.holdings {
		h := &w.holdings[i]
		givenUp := (h.fresh || h.phase == Claimed) && !stays[i] // nobody leaves its place
		if on[h.node] && h.phase != vacant && !givenUp {
			before = append(before, *h)
		}
	}
	return before
}
