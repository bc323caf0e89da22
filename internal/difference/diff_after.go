package difference

import (
	"slices"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/placement"
)

// After which others each action takes place (S4).

// writeAfter finds out which starts and moves have to wait for what: their places are
// tried, one after the other, in the state as it was.
func (w Difference) writeAfter(d *cluster.Decision, from int) error {
	if from == len(d.Actions) || w.nothingLeaves() {
		return nil
	}
	l := leavers{world: w.World, number: make([]int32, len(w.Nodes))} // what stands elsewhere is in the way of none
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
	l.on, l.position, l.listed, l.told = make([][]int32, some+1), make([]int32, some+1), make([]int32, some+1), make([]told, some+1)
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
	if err := l.takeFree(d, waiting); err != nil {
		return err
	}
	for _, a := range waiting { // beside all that starts at once, and the waiting ones before
		a.After = l.waitsFor(d, l.before[w.FormOf(&w.Works[a.Work], a.Form).Pool], a, false)
	}
	w.waitForThemselves(d, from)
	return nil
}

// nothingLeaves says whether nothing was leaving, and nothing has been taken.
func (w Difference) nothingLeaves() bool {
	return len(w.Room.Takings) == 0 && !slices.ContainsFunc(w.Pools, func(p *cluster.Pool) bool { return p.Index.Releasing() })
}

// waitForThemselves has what starts, and what claims the place that it moves to, wait for its
// own workload where tasks of that are leaving that wait again, or the plan evicts it: it
// starts once they have left (S5).
func (w Difference) waitForThemselves(d *cluster.Decision, from int) {
	var evicted []bool // most decisions evict nothing that starts
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
// anything leaves, in which there are the nodes at hand alone, each at a position of its own.
type leavers struct {
	world  *cluster.World
	number []int32 // by node, of those at hand from 1 on: by it are the lists, where it is not said otherwise
	on     [][]int32
	before []*placement.Ledger // by pool
	// position is that in the ledger of its pool, listed the place of a node among the awaited, plus one.
	position, listed []int32
	told             []told    // of an action with one task
	awaited          []awaited // of the action at hand
	one              []int32   // scratch of waitsFor
	has              []bool    // by task placed: it has its place already, and lacks nothing of it
}

// A told is what an action waits for if its one task lacks something of a node, and its workload
// leaves nothing there: all that lack the same on the node wait for the same.
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
	all := cluster.NewOccupation(w, len(l.on), into)
	for i := range w.Holdings {
		h := &w.Holdings[i]
		givenUp := (h.Fresh || h.Phase == cluster.Claimed) && goes[i] // nothing leaves its place
		if l.number[h.Node] == 0 || h.Phase == cluster.Vacant {
			continue
		}
		if !givenUp {
			if err := all.Add(h, l.number[h.Node]); err != nil {
				return err
			}
		}
		if h.Phase == cluster.Terminating || goes[i] && h.Phase == cluster.Running && !h.Fresh {
			l.on[l.number[h.Node]] = append(l.on[l.number[h.Node]], int32(i))
		}
	}
	return all.End()
}

// takeFree takes the places that waiting actions find free without claiming them: what others claim beside them they
// have only once something else has left.
func (l *leavers) takeFree(d *cluster.Decision, waiting []*cluster.Action) error {
	w := l.world
	if !slices.ContainsFunc(waiting, func(a *cluster.Action) bool { return w.Works[a.Work].Pipelined }) {
		return nil
	}
	l.has = make([]bool, len(d.Placed))
	for _, a := range waiting {
		x, definition := l.before[w.FormOf(&w.Works[a.Work], a.Form).Pool], w.Definition(&w.Works[a.Work], a.Form)
		for at := a.From; at < a.To; at++ {
			t := d.Placed[at]
			shape, place := definition.Sets[t.Set].Placed, l.placeOf(t)
			if lack := x.Lacks(shape, place); !lack.Nothing() || Of(w).waitsAt(a.Work, t) {
				continue
			}
			if err := x.Take(shape, place); err != nil {
				return err
			}
			l.has[at] = true
		}
	}
	return nil
}

// placeOf is the place of a task in the ledger of its pool.
func (l *leavers) placeOf(t cluster.TaskPlace) placement.Place {
	return placement.Place{Node: l.position[l.number[t.Node]], Devices: t.Devices}
}

// waitsFor takes the places of an action, and lists what it waits for: what goes and
// holds what the places lack, and behind what is leaving also that. The leavers of a node
// are looked at once for all of the action's tasks there. Where it is asked whether it waits at
// all, it may list one of them alone, and have taken some of the places.
func (l *leavers) waitsFor(d *cluster.Decision, x *placement.Ledger, a *cluster.Action, forAny bool) []int32 {
	w, definition := l.world, l.world.Definition(&l.world.Works[a.Work], a.Form)
	alone := a.To-a.From == 1
	l.awaited = l.awaited[:0]
	defer func() {
		for i := range l.awaited {
			l.listed[l.number[l.awaited[i].node]] = 0
		}
	}()
	for n := a.From; n < a.To; n++ {
		if l.has != nil && l.has[n] {
			continue
		}
		t := d.Placed[n]
		s, place := &definition.Sets[t.Set], l.placeOf(t)
		node := l.number[t.Node]
		lack := x.Lacks(s.Placed, place)
		behind := w.Works[a.Work].Pipelined && Of(w).waitsAt(a.Work, t)
		if x.Take(s.Placed, place) != nil || lack.Nothing() && !behind || len(l.on[node]) == 0 {
			continue // the places of a decision exist
		}
		if known := &l.told[node]; alone && !behind && len(known.works) > 0 && sameLack(&known.lack, &lack) && !slices.Contains(known.works, a.Work) {
			return known.works
		}
		if l.listed[node] == 0 {
			l.awaited = cluster.AppendMany(l.awaited, l.awaitedOn(t.Node, a.Work))
			l.listed[node] = int32(len(l.awaited))
		}
		at := &l.awaited[l.listed[node]-1]
		at.lack(&lack)
		at.own(t, &lack)
		if behind {
			at.behind(t, &lack)
		}
		if forAny {
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
		l.told[l.number[l.awaited[0].node]] = told{l.awaited[0].lacks, out}
	}
	return out
}

// asksAlike lists what was leaving and holds anything that is asked by tasks of an action that claim their places
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

// An awaited is what an action waits for on one node.
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
	theirs, _, _ := w.Asked(h) // what left a pool stands on nodes of another
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
