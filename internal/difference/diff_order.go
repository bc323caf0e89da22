package difference

import (
	"slices"

	"github.com/allotsched/allot/internal/cluster"
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
// go before all moves and start after them (M11), behind who has reclaimed: with those gone
// it was within its lines (R1).
func (w Difference) cutCircles(d *cluster.Decision, from, to int) {
	moves := slices.Clone(d.Actions[from:to])
	of := make(map[int32][]int32, len(moves))
	for i := range moves {
		of[moves[i].Work] = append(of[moves[i].Work], int32(i))
	}
	waits, cost := make([][]int32, len(moves)), make([]int64, len(moves))
	for i := range moves {
		a := &moves[i]
		for _, other := range a.After {
			for _, at := range of[other] {
				if other != a.Work {
					waits[i] = append(waits[i], at)
				}
			}
		}
		cost[i] = w.costToLeave(a)
	}
	order, cut := sequence(waits, cost)
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

// reclaimersFirst parts the actions from one on into those of who has reclaimed something, and
// the others, among which is all of whose moves are cut.
func (w Difference) reclaimersFirst(d *cluster.Decision, from int, moves []cluster.Action, cut []int32) (first, others []cluster.Action) {
	if len(cut) == 0 {
		return nil, slices.Clone(d.Actions[from:])
	}
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
// gang is broken up for that time, and no host is to be told that a workload ends.
func (w Difference) costToLeave(a *cluster.Action) int64 {
	const breaks, ends = 1 << 32, 1 << 48
	cost := int64(a.To - a.From)
	if standsBefore(w, a.Work) > cost {
		cost += breaks
	}
	if k := &w.Works[a.Work]; w.FormOf(k, k.Current).Final {
		cost += ends
	}
	return cost
}

// standsBefore is how many tasks of the workload run when the moves begin: what ran, and what
// has started where it was claimed and stays there (S4).
func standsBefore(w Difference, work int32) int64 {
	n := w.RanOf(work)
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

// writeAfter finds out which starts and moves have to wait for whom: their places are
// tried, one after the other, in the state as it was.
func (w Difference) writeAfter(d *cluster.Decision, from int) error {
	if from == len(d.Actions) || w.nobodyLeaves() {
		return nil
	}
	l := leavers{world: w.World, number: make([]int32, len(w.Nodes))} // what stands elsewhere is in nobody's way
	some := int32(0)
	for at := range d.Actions[from:] {
		a := &d.Actions[from+at]
		for _, t := range d.Placed[a.From:a.To] {
			if l.number[t.Node] == 0 {
				some++
				l.number[t.Node] = some
			}
		}
	}
	l.on, l.position, l.listed = make([][]int32, some+1), make([]int32, some+1), make([]int32, some+1)
	for _, p := range w.Pools {
		var nodes []int32
		for at, n := range p.Nodes {
			if l.number[n] > 0 {
				l.position[l.number[n]] = int32(len(nodes))
				nodes = append(nodes, int32(at))
			}
		}
		l.before = append(l.before, placement.NewLedger(p.Index, nodes))
	}
	if err := l.occupy(goes(w.World)); err != nil {
		return err
	}
	var waiting []*cluster.Action
	for at := range d.Actions[from:] {
		a := &d.Actions[from+at]
		x := l.before[w.FormOf(&w.Works[a.Work], a.Form).Pool]
		m := x.Mark()
		if len(l.waitsFor(d, x, a, true)) == 0 {
			x.Commit(m)
			continue
		}
		x.Undo(m)
		waiting = append(waiting, a)
	}
	for _, a := range waiting { // beside all that starts at once, and the waiting ones before
		a.After = l.waitsFor(d, l.before[w.FormOf(&w.Works[a.Work], a.Form).Pool], a, false)
	}
	w.waitForThemselves(d, from)
	return nil
}

// nobodyLeaves says whether nothing was leaving, and nothing has been taken.
func (w Difference) nobodyLeaves() bool {
	return len(w.Room.Takings) == 0 && !slices.ContainsFunc(w.Pools, func(p *cluster.Pool) bool { return p.Index.Releasing() })
}

// waitForThemselves has what starts, and what claims the place that it moves to, wait for its
// own workload where tasks of that are leaving that wait again, or the plan evicts it: it
// starts once they have left (S5).
func (w Difference) waitForThemselves(d *cluster.Decision, from int) {
	var evicted []bool // most decisions evict nobody who starts
	isEvicted := func(work int32) bool {
		if w.Works[work].Live < 0 {
			return false // it has had nothing
		}
		if evicted == nil {
			evicted = make([]bool, len(w.Works))
			for at := range d.Actions {
				if a := &d.Actions[at]; a.Kind == cluster.Evict {
					evicted[a.Work] = true
				}
			}
		}
		return evicted[work]
	}
	for at := range d.Actions[from:] {
		a := &d.Actions[from+at]
		starts := a.Kind == cluster.Start || a.Kind == cluster.Resize ||
			a.Kind == cluster.Move && slices.ContainsFunc(d.Placed[a.From:a.To], func(t cluster.TaskPlace) bool { return w.waitsAt(a.Work, t) })
		if starts && (isEvicted(a.Work) || w.Works[a.Work].IsLeaving(w.World)) && !slices.Contains(a.After, a.Work) {
			a.After = append(a.After, a.Work)
			slices.SortFunc(a.After, w.CompareIDs)
		}
	}
}

// leavers are, by node, the holdings that leave it, and ledgers of the pools before
// anybody leaves, in which there are the nodes at hand alone, each at a position of its own.
type leavers struct {
	world  *cluster.World
	number []int32 // by node, of those at hand from 1 on: by it are the lists, where it is not said otherwise
	on     [][]int32
	before []*placement.Ledger // by pool
	// position is that in the ledger of its pool, listed the place of a node among the awaited, plus one.
	position, listed []int32
	told             map[int32]told // by node, of an action with one task
	awaited          []awaited      // of the action at hand
	one              []int32        // scratch of waitsFor
}

// A told is for whom an action waits whose one task lacks something of a node, and of which
// nothing leaves that: all that lack the same there wait for the same.
type told struct {
	lack  placement.Lack
	works []int32
}

// occupy tells the ledgers what runs, leaves and is claimed on the nodes at hand in the state once it is settled,
// and lists what leaves: what was terminating, and what runs and has to go. goes says of all holdings which
// do not stay where they are.
func (l *leavers) occupy(goes []bool) error {
	w := l.world
	into := func(p *cluster.Pool, node int32) (cluster.Ground, int32) {
		return l.before[slices.Index(w.Pools, p)], l.position[l.number[node]]
	}
	for i := range w.Holdings {
		h := &w.Holdings[i]
		givenUp := (h.Fresh || h.Phase == cluster.Claimed) && goes[i] // nobody leaves its place
		if l.number[h.Node] == 0 || h.Phase == cluster.Vacant {
			continue
		}
		if !givenUp {
			if err := w.OccupyBy(h, into); err != nil {
				return err
			}
		}
		if h.Phase == cluster.Terminating || goes[i] && h.Phase == cluster.Running && !h.Fresh {
			l.on[l.number[h.Node]] = append(l.on[l.number[h.Node]], int32(i))
		}
	}
	return nil
}

// waitsFor takes the places of an action, and lists whom it waits for: what goes and
// holds what the places lack, and behind what is leaving also that. The leavers of a node
// are looked at once for all of the action's tasks there. Where it is asked whether it waits for
// anybody, it may list one of them alone, and have taken some of the places.
func (l *leavers) waitsFor(d *cluster.Decision, x *placement.Ledger, a *cluster.Action, forAnybody bool) []int32 {
	w, definition := l.world, l.world.Definition(&l.world.Works[a.Work], a.Form)
	alone := a.To-a.From == 1
	l.awaited = l.awaited[:0]
	defer func() {
		for i := range l.awaited {
			l.listed[l.number[l.awaited[i].node]] = 0
		}
	}()
	for _, t := range d.Placed[a.From:a.To] {
		s := &definition.Sets[t.Set]
		place := placement.Place{Node: l.position[l.number[t.Node]], Devices: t.Devices}
		lack := x.Lacks(s.Placed, place)
		behind := w.Works[a.Work].Pipelined && Of(w).waitsAt(a.Work, t)
		if x.Take(s.Placed, place) != nil || lack.Nothing() && !behind || len(l.on[l.number[t.Node]]) == 0 {
			continue // the places of a decision exist
		}
		if known := l.told[t.Node]; alone && !behind && len(known.works) > 0 && sameLack(&known.lack, &lack) && !slices.Contains(known.works, a.Work) {
			return known.works
		}
		if l.listed[l.number[t.Node]] == 0 {
			l.awaited = append(l.awaited, l.awaitedOn(t.Node, a.Work))
			l.listed[l.number[t.Node]] = int32(len(l.awaited))
		}
		at := &l.awaited[l.listed[l.number[t.Node]]-1]
		at.lack(&lack)
		at.own(t, &lack)
		if behind {
			at.behind(t, &lack)
		}
		if forAnybody {
			if l.one = at.running(append(l.one[:0], at.out...), true); len(l.one) > 0 {
				return l.one
			}
		}
	}
	var out []int32
	for i := range l.awaited {
		at := &l.awaited[i]
		out = append(at.running(out, false), at.out...)
	}
	if len(out) == 0 {
		out = l.asksAlike(d, a)
	}
	out = slices.Clip(inTurn(out, w.CompareIDs))
	if alone && len(l.awaited) == 1 && len(l.awaited[0].mine)+len(l.awaited[0].out) == 0 {
		if l.told == nil {
			l.told = make(map[int32]told)
		}
		l.told[l.awaited[0].node] = told{l.awaited[0].lacks, out}
	}
	return out
}

// asksAlike are whoever was leaving and holds anything that tasks of an action ask which claim their places
// and lack nothing of them: they may be short of something only once others that wait have started.
func (l *leavers) asksAlike(d *cluster.Decision, a *cluster.Action) []int32 {
	w, definition := l.world, l.world.Definition(&l.world.Works[a.Work], a.Form)
	if !w.Works[a.Work].Pipelined {
		return nil
	}
	for _, t := range d.Placed[a.From:a.To] {
		if at := l.listed[l.number[t.Node]]; at > 0 && Of(w).waitsAt(a.Work, t) {
			all := Of(w).all(&definition.Sets[t.Set], t)
			l.awaited[at-1].behind(t, &all)
		}
	}
	var out []int32
	for i := range l.awaited {
		out = append(out, l.awaited[i].out...)
	}
	return out
}

func sameLack(a, b *placement.Lack) bool {
	return a.Devices == b.Devices && a.Slots == b.Slots && a.CPUOnlySlots == b.CPUOnlySlots && slices.Equal(a.Resources, b.Resources)
}

// inTurn are workloads in the order of their IDs, each once.
func inTurn(works []int32, byID func(a, b int32) int) []int32 {
	slices.SortFunc(works, byID)
	return slices.Compact(works)
}

// waitsAt says whether a task of the workload claims its place behind what leaves.
func (w Difference) waitsAt(work int32, t cluster.TaskPlace) bool {
	return slices.ContainsFunc(w.Room.Seats[work], func(s cluster.Seat) bool { return s.TaskPlace == t && s.Waits() })
}

// An awaited is whom an action waits for on one node.
type awaited struct {
	*leavers
	node, work int32
	lacks      placement.Lack // of all tasks of the action
	mine       []int32        // the leavers of the workload itself
	out        []int32        // found so far
}

func (l *leavers) awaitedOn(node, work int32) awaited {
	out := awaited{leavers: l, node: node, work: work}
	for _, i := range l.on[l.number[node]] {
		if l.world.Holdings[i].Work == work {
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
	if a.lacks.Resources == nil { // as of most: all lack the same
		a.lacks.Resources = slices.Clip(more.Resources)
	}
	if slices.Equal(a.lacks.Resources, more.Resources) {
		return
	}
	for _, r := range more.Resources {
		if !slices.Contains(a.lacks.Resources, r) {
			a.lacks.Resources = append(a.lacks.Resources, r)
		}
	}
}

// running adds the other workloads that run and have to go, or the first of them.
func (a *awaited) running(out []int32, first bool) []int32 {
	for _, i := range a.on[a.number[a.node]] {
		if first && len(out) > 0 {
			break
		}
		if h := &a.world.Holdings[i]; h.Phase == cluster.Running && h.Work != a.work && Of(a.world).inTheWay(h, &a.lacks) {
			out = append(out, h.Work)
		}
	}
	return out
}

// own adds the workload itself where others of its tasks are in the way of one: that it
// leaves its own place goes without saying.
func (a *awaited) own(t cluster.TaskPlace, lack *placement.Lack) {
	for _, i := range a.mine {
		if h := &a.world.Holdings[i]; h.Phase == cluster.Running && (h.Set != t.Set || h.Index != t.Index) && Of(a.world).inTheWay(h, lack) {
			a.out = append(a.out, h.Work)
		}
	}
}

// behind adds what was terminating before and holds what a task lacks that claims its place behind that,
// or of what it asks of its place.
func (a *awaited) behind(t cluster.TaskPlace, lacks *placement.Lack) {
	for _, i := range a.on[a.number[a.node]] {
		h := &a.world.Holdings[i]
		if itself := h.Work == a.work && h.Set == t.Set && h.Index == t.Index; h.Phase == cluster.Terminating && !itself && Of(a.world).inTheWay(h, lacks) {
			a.out = append(a.out, h.Work)
		}
	}
}

// inTheWay says whether a task holds something of what a place lacks.
func (w Difference) inTheWay(h *cluster.Holding, lack *placement.Lack) bool {
	theirs, _, _ := w.Asked(h) // who left a pool stands on nodes of another
	return lack.Slots || lack.CPUOnlySlots && theirs.GPUs == 0 || lack.Devices&h.Devices != 0 ||
		slices.ContainsFunc(lack.Resources, func(r int32) bool { return theirs.Request.Amounts.Of(r) > 0 })
}

// all is a place that has nothing of what the shape asks.
func (w Difference) all(s *cluster.Shape, t cluster.TaskPlace) placement.Lack {
	node := &w.Pools[w.NodePool[t.Node]].Placed[w.Position[t.Node]]
	out := placement.Lack{
		Devices: t.Devices, Slots: node.Slots < placement.NoCap,
		CPUOnlySlots: s.GPUs == 0 && node.CPUOnlySlots < placement.NoCap,
	}
	for _, a := range s.Request.Amounts {
		out.Resources = append(out.Resources, a.Resource)
	}
	return out
}

// goes says of every holding whether it is not where it was in the end: all are of a workload of
// which nothing has come or gone.
func goes(w *cluster.World) []bool {
	out := make([]bool, len(w.Holdings))
	for _, i := range w.Room.Touched {
		if live := w.Works[i].Live; live >= 0 {
			for at := w.Live[live].From; at < w.Live[live].To; at++ {
				out[at] = true
			}
		}
		for at := range w.Room.Seats[i] {
			if s := &w.Room.Seats[i][at]; s.Origin >= 0 && s.Commit < 0 {
				out[s.Origin] = false
			}
		}
	}
	return out
}
