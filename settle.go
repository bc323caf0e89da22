package allot

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// Settling reads what the workloads hold (S4, S5, S7) before anything is
// decided: what lost its place with a node or device is displaced, claims that
// can no longer be honoured are given up, claims whose places came free start,
// and what is left occupies the nodes and is charged to the queues.

// A holding is one listed task behind the compile line.
type holding struct {
	taskPlace
	since int64
	work  int32
	form  int16 // in which the task stands
	phase taskPhase
	fresh bool // a claim that the settling has started
}

// A taskPhase is the phase of a task (S4).
type taskPhase uint8

const (
	taskRunning taskPhase = iota
	taskClaimed
	taskTerminating
	// taskVacant is that of a holding that a desk keeps of who holds nothing any more.
	taskVacant
)

// taskPlace is a task and its place; node is an index into State.Nodes.
type taskPlace struct {
	set, index, node int32
	devices          uint64
}

// settle returns what the workloads of all pools hold after the losses and the
// claims have been looked at, and writes the actions that this takes.
func (w *coreWorld) settle(d *decision) error {
	held, claims := w.readHoldings(d)
	if err := w.occupy(held, func(p *corePool) *placement.Index { return p.index }); err != nil {
		return err
	}
	claims = w.dropClaims(d, claims)
	held, claims = w.startClaims(d, held, claims)
	w.holdings = append(held, claims...)
	if len(claims) > 0 || d.actions != nil { // otherwise they are in this order
		slices.SortStableFunc(w.holdings, func(a, b holding) int { return cmp.Compare(a.work, b.work) })
	}
	for i := range w.holdings {
		if err := w.hold(int32(i)); err != nil {
			return err
		}
	}
	for i := range w.works {
		w.works[i].settleStatus(w)
	}
	return nil
}

// occupy tells the placement indices what runs, is releasing and is claimed (S4).
func (w *coreWorld) occupy(held []holding, into func(*corePool) *placement.Index) error {
	for i := range held {
		h := &held[i]
		if w.nodePool[h.node] < 0 {
			continue
		}
		shape, p := w.footprint(h)
		x, name := into(p), shape.placed
		if x != p.index { // another index has other names
			name = x.Shape(shape.request)
		}
		err := x.Take(name, h.place(w))
		if err == nil && h.phase == taskTerminating {
			err = x.Release(name, h.place(w))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// place is the place of a task, pipelined where it has only been claimed.
func (h *holding) place(w *coreWorld) placement.Place {
	return placement.Place{Node: w.position[h.node], Devices: h.devices, Pipelined: h.phase == taskClaimed}
}

// footprint is the task's shape in the pool of its node, which is another than
// the workload's when a node has changed pools under it.
func (w *coreWorld) footprint(h *holding) (shape, *corePool) {
	k := &w.works[h.work]
	own, at := w.pools[w.formOf(k, h.form).pool], w.pools[w.nodePool[h.node]]
	known := w.definition(k, h.form).sets[h.set]
	if own == at {
		return known, at
	}
	known.request.Set, known.request.Models, known.request.Classes = -1, nil, nil
	known.request.Amounts = nil
	for r := range at.plain - 1 { // in the order of the other pool's resources
		if value := known.charge.Of(int32(slices.Index(own.numbers, at.numbers[r+1]))); value > 0 {
			known.request.Amounts = append(known.request.Amounts, quota.Amount{Resource: int32(r), Value: value})
		}
	}
	known.placed = at.index.Shape(known.request)
	return known, at
}

// readHoldings lists what stands and what is claimed, and displaces what is
// lost (S7), by workload, pod set and index.
func (w *coreWorld) readHoldings(d *decision) (held, claims []holding) {
	for i := range w.works {
		k := &w.works[i]
		if len(k.tasks) == 0 {
			continue
		}
		k.live = int32(len(w.live))
		w.live = append(w.live, live{held: w.newCounts(len(w.definition(k, k.current).sets)), form: k.current})
		held, claims = w.readTasks(d, int32(i), held, claims)
	}
	return held, claims
}

// readTasks appends what one workload has standing and claimed, and displaces
// what of it is lost.
func (w *coreWorld) readTasks(d *decision, i int32, held, claims []holding) (_, _ []holding) {
	k := &w.works[i]
	tasks := k.tasks
	for from := 0; from < len(tasks); {
		lost, to := w.lossOf(&tasks[from]), from+1
		for to < len(tasks) && tasks[to].node == tasks[from].node && lost != 0 &&
			w.lossOf(&tasks[to]) == lost && (tasks[to].phase == taskClaimed) == (tasks[from].phase == taskClaimed) {
			to++
		}
		switch {
		case lost != 0 && tasks[from].phase == taskClaimed:
			d.giveUp(kindUnclaim, tasks[from:to], lost)
		case lost != 0:
			d.giveUp(kindDisplace, tasks[from:to], lost)
		case tasks[from].phase == taskClaimed:
			claims = append(claims, tasks[from])
		default:
			held = append(held, tasks[from])
		}
		from = to
	}
	return held, claims
}

// newCounts cuts n zeros from an arena: there is one per workload that holds
// something, mostly of length 1.
func (w *coreWorld) newCounts(n int) []int32 {
	if len(w.counts) < n {
		w.counts = make([]int32, max(n, 4096))
	}
	out := w.counts[:n:n]
	w.counts = w.counts[n:]
	return out
}

// compareNodes orders nodes by ID.
func (w *coreWorld) compareNodes(a, b int32) int {
	return cmp.Compare(w.nodes[a].rank, w.nodes[b].rank)
}

// lossOf says why the task has lost its place, or 0.
func (w *coreWorld) lossOf(h *holding) code {
	switch node := &w.nodes[h.node]; {
	case node.lost:
		return codeNodeLost
	case h.devices&node.unhealthy != 0:
		return codeDeviceLost
	}
	return 0
}

// dropClaims gives up the claims whose place can no longer take them: the node
// would not take the task were it empty (P1), or what runs and what else is
// claimed fills it. Where not
// all claims fit any more, those first in the order of O1 stay.
func (w *coreWorld) dropClaims(d *decision, claims []holding) []holding {
	slices.SortFunc(claims, w.compareClaims)
	kept := claims[:0]
	for from := 0; from < len(claims); from++ {
		h := claims[from]
		if x, shape := h.claimed(w); x != nil && x.Fits(shape, h.place(w)) && x.Take(shape, h.place(w)) == nil {
			kept = append(kept, h)
			continue
		}
		d.giveUp(kindUnclaim, claims[from:from+1], codePlaceLost)
	}
	return kept
}

// claimed is in what index a task claims its place, and its shape there; nil if the
// node is not in its pool any more.
func (h *holding) claimed(w *coreWorld) (*placement.Index, placement.Shape) {
	k := &w.works[h.work]
	if w.outside(k, h.node) {
		return nil, 0
	}
	return w.pools[w.formOf(k, k.current).pool].index, w.definition(k, k.current).sets[h.set].placed
}

// outside says whether what a workload has on a node stands outside its pool, as
// the node is in no pool any more, or in another. Such work is left alone: it is
// its queue's use, and neither goes nor moves (S7).
func (w *coreWorld) outside(k *work, node int32) bool {
	return w.nodePool[node] != w.formOf(k, k.current).pool
}

// compareClaims is O1 over the workloads, then pod set and index.
func (w *coreWorld) compareClaims(a, b holding) int {
	x, y := &w.works[a.work], &w.works[b.work]
	return cmp.Or(
		cmp.Compare(w.formOf(y, y.current).priority, w.formOf(x, x.current).priority),
		cmp.Compare(x.submitted, y.submitted),
		w.compareIDs(a.work, b.work),
		cmp.Compare(a.set, b.set),
		cmp.Compare(a.index, b.index),
	)
}

// startClaims starts, workload by workload, the claims whose places are free
// now (S4), if the workload is at its minimum with them (G1). Claims that would
// not be enough even together are given up.
func (w *coreWorld) startClaims(d *decision, held, claims []holding) (all, waiting []holding) {
	leaves := make(map[int32]bool) // tasks of the workload still leave that wait again (S5)
	for _, h := range held {
		if h.phase == taskTerminating {
			k := &w.works[h.work]
			leaves[h.work] = leaves[h.work] || h.index < w.definition(k, k.current).counts[h.set]
		} else {
			w.live[w.works[h.work].live].held[h.set]++
		}
	}
	for from := 0; from < len(claims); {
		to := from + 1
		for to < len(claims) && claims[to].work == claims[from].work {
			to++
		}
		k := &w.works[claims[from].work]
		if w.brokenClaims(k, claims[from:to]) {
			d.giveUp(kindUnclaim, claims[from:to], codeClaimBroken)
			for i := range claims[from:to] {
				x, shape := claims[from+i].claimed(w)
				_ = x.Give(shape, claims[from+i].place(w)) // it was taken
			}
			from = to
			continue
		}
		counts := slices.Clone(w.live[k.live].held)
		var free, rest []holding
		x, _ := claims[from].claimed(w)
		m := x.Mark()
		for _, h := range claims[from:to] {
			if !leaves[h.work] && h.startsNow(w, x) {
				counts[h.set]++
				free = append(free, h)
			} else {
				rest = append(rest, h)
			}
		}
		if !w.definition(k, k.current).gang.AtMinimum(counts) {
			x.Undo(m)
			free, rest = nil, claims[from:to]
		}
		x.Commit(m) // which an Undo has ended
		if len(free) > 0 {
			d.startClaimed(free)
		}
		for _, h := range free {
			h.phase, h.fresh = taskRunning, true
			held = append(held, h)
		}
		waiting = append(waiting, rest...)
		from = to
	}
	for _, list := range [...][]holding{held, waiting} {
		for i := range list {
			clear(w.live[w.works[list[i].work].live].held) // hold counts afresh
		}
	}
	return held, waiting
}

// startsNow has a claim start if its place has come free.
func (h *holding) startsNow(w *coreWorld, x *placement.Index) bool {
	_, shape := h.claimed(w)
	claim := h.place(w)
	now := claim
	now.Pipelined = false
	if x.Give(shape, claim) != nil {
		return false
	}
	if !x.Fits(shape, now) {
		_ = x.Take(shape, claim) // it was just given
		return false
	}
	return x.Take(shape, now) == nil
}

// brokenClaims says whether what runs and is claimed is below the minimum.
func (w *coreWorld) brokenClaims(k *work, claims []holding) bool {
	counts := slices.Clone(w.live[k.live].held)
	for i := range claims {
		counts[claims[i].set]++
	}
	return !w.definition(k, k.current).gang.AtMinimum(counts)
}

// hold charges one standing or claimed task and notes it in its workload.
func (w *coreWorld) hold(at int32) error {
	h := &w.holdings[at]
	k := &w.works[h.work]
	f := w.formOf(k, k.current)
	p := w.pools[f.pool]
	l := &w.live[k.live]
	definition := &p.definitions[f.definition]
	if l.to == 0 {
		l.from = at
	}
	l.to = at + 1
	if h.phase == taskTerminating {
		if k.status != ending && h.index < definition.counts[h.set] {
			l.leaving++
		}
		return nil
	}
	l.held[h.set]++
	if h.phase == taskClaimed {
		l.claimed++
	}
	charge := p.chargeOf(&definition.sets[h.set], &w.nodes[h.node], h.devices)
	if p.counted && !l.counted {
		l.counted = true
		charge = append(slices.Clip(charge), quota.Amount{Resource: int32(p.width - 1), Value: 1})
	}
	return p.tree.Charge(int(f.queue), charge, f.nonPreemptible)
}

// chargeOf is what a task of the shape is charged on the node and devices: the
// plain resources, and their classes where the pool has any (Q8).
func (p *corePool) chargeOf(s *shape, node *nodeFacts, devices uint64) quota.Amounts {
	if len(p.classes) == 0 {
		return s.charge
	}
	charge, model := slices.Clip(s.charge), int32(none)
	if devices != 0 {
		model = node.models[bits.TrailingZeros64(devices)]
	}
	for i, c := range p.classes {
		if c.class != node.class && (c.plain != 0 || c.class != model) {
			continue
		}
		if value := s.charge.Of(c.plain); value > 0 {
			charge = append(charge, quota.Amount{Resource: int32(p.plain + i), Value: value})
		}
	}
	return charge
}

// settleStatus says what the workload is after settling.
func (k *work) settleStatus(w *coreWorld) {
	if k.live < 0 || k.status == ending {
		return
	}
	l := &w.live[k.live]
	switch {
	case l.leaving > 0:
		k.status = leaving
	case l.claimed > 0:
		k.status = claiming
	case w.definition(k, k.current).gang.AtMinimum(l.held):
		k.status = complete
	}
}

// nextIndex returns the lowest task index of the pod set that is not in use,
// and uses it up. What is in use is read once, when it is first asked for.
func (w *coreWorld) nextIndex(l *live, set int32) int32 {
	if l.next == nil {
		l.next = make([]int32, len(l.held))
		l.taken = make(map[[2]int32]bool, l.to-l.from)
		for i := l.from; i < l.to; i++ {
			l.taken[[2]int32{w.holdings[i].set, w.holdings[i].index}] = true
		}
	}
	for l.taken[[2]int32{set, l.next[set]}] {
		l.next[set]++
	}
	l.next[set]++
	return l.next[set] - 1
}
