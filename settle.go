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
	work  int32
	phase Phase
}

// taskPlace is a task and its place; node is an index into State.Nodes.
type taskPlace struct {
	set, index, node int32
	devices          uint64
}

// settle returns what the workloads of all pools hold after the losses and the
// claims have been looked at, and writes the actions that this takes.
func (w *world) settle(d *decision) error {
	held, claims := w.readHoldings(d)
	ledgers := newLedgers(w, held, claims)
	claims = w.dropClaims(d, ledgers, claims)
	held, claims = w.startClaims(d, ledgers, held, claims)
	if err := ledgers.reserve(held); err != nil {
		return err
	}
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

// readHoldings lists what stands and what is claimed, and displaces what is
// lost (S7), by workload, pod set and index.
func (w *world) readHoldings(d *decision) (held, claims []holding) {
	for i := range w.works {
		k := &w.works[i]
		source := w.source(k)
		if len(source.Tasks) == 0 {
			continue
		}
		definition := w.definition(k, k.current)
		k.live = int32(len(w.live))
		w.live = append(w.live, live{held: w.newCounts(len(definition.sets))})
		tasks := w.sortedTasks(int32(i), definition, source)
		for from := 0; from < len(tasks); {
			lost, to := w.lossOf(&tasks[from]), from+1
			for to < len(tasks) && tasks[to].node == tasks[from].node && lost != 0 &&
				w.lossOf(&tasks[to]) == lost && (tasks[to].phase == Claimed) == (tasks[from].phase == Claimed) {
				to++
			}
			switch {
			case lost != 0 && tasks[from].phase == Claimed:
				d.giveUp(Unclaim, tasks[from:to], lost)
			case lost != 0:
				d.giveUp(Displace, tasks[from:to], lost)
			case tasks[from].phase == Claimed:
				claims = append(claims, tasks[from])
			default:
				held = append(held, tasks[from])
			}
			from = to
		}
	}
	return held, claims
}

// newCounts cuts n zeros from an arena: there is one per workload that holds
// something, mostly of length 1.
func (w *world) newCounts(n int) []int32 {
	if len(w.counts) < n {
		w.counts = make([]int32, max(n, 4096))
	}
	out := w.counts[:n:n]
	w.counts = w.counts[n:]
	return out
}

// sortedTasks are the workload's listed tasks by node, pod set and index: the
// order of the list says nothing (S3). The result is valid until the next call.
func (w *world) sortedTasks(i int32, definition *definition, source *Workload) []holding {
	tasks := slices.Grow(w.scratch[:0], len(source.Tasks))[:len(source.Tasks)]
	w.scratch = tasks
	for t := range source.Tasks {
		task := &source.Tasks[t]
		h := holding{work: i, phase: task.Phase}
		h.set = int32(slices.Index(definition.names, task.PodSet))
		h.index, h.node = int32(task.Index), w.nodeID[task.Node]
		for _, device := range task.Devices {
			h.devices |= 1 << device
		}
		tasks[t] = h
	}
	slices.SortFunc(tasks, func(a, b holding) int {
		return cmp.Or(w.compareNodes(a.node, b.node), cmp.Compare(a.set, b.set),
			cmp.Compare(a.index, b.index), cmp.Compare(a.phase, b.phase))
	})
	return tasks
}

// compareNodes orders nodes by ID.
func (w *world) compareNodes(a, b int32) int {
	return cmp.Compare(w.state.Nodes[a].ID, w.state.Nodes[b].ID)
}

// lossOf says why the task has lost its place, or 0.
func (w *world) lossOf(h *holding) Code {
	node := &w.state.Nodes[h.node]
	if node.Lost {
		return NodeLost
	}
	for rest := h.devices; rest != 0; rest &= rest - 1 {
		if node.Devices[bits.TrailingZeros64(rest)].Unhealthy {
			return DeviceLost
		}
	}
	return 0
}

// dropClaims gives up the claims whose place can no longer take them: the node
// takes nothing new, or what runs and what else is claimed fills it. Where not
// all claims fit any more, those first in the order of O1 stay.
func (w *world) dropClaims(d *decision, ledgers *ledgers, claims []holding) []holding {
	slices.SortFunc(claims, w.compareClaims)
	kept := claims[:0]
	for from := 0; from < len(claims); from++ {
		h := claims[from]
		if !w.state.Nodes[h.node].Cordoned && ledgers.claim(&h) {
			kept = append(kept, h)
			continue
		}
		d.giveUp(Unclaim, claims[from:from+1], PlaceLost)
	}
	return kept
}

// compareClaims is O1 over the workloads, then pod set and index.
func (w *world) compareClaims(a, b holding) int {
	x, y := &w.works[a.work], &w.works[b.work]
	return cmp.Or(
		cmp.Compare(w.formOf(y, y.current).priority, w.formOf(x, x.current).priority),
		cmp.Compare(x.submitted, y.submitted),
		cmp.Compare(a.work, b.work),
		cmp.Compare(a.set, b.set),
		cmp.Compare(a.index, b.index),
	)
}

// startClaims starts, workload by workload, the claims whose places are free
// now (S4), if the workload is at its minimum with them (G1).
func (w *world) startClaims(d *decision, ledgers *ledgers, held, claims []holding) (all, waiting []holding) {
	leaves := make(map[[3]int32]bool) // the task itself still leaves its old place
	for _, h := range held {
		if h.phase == Terminating {
			leaves[[3]int32{h.work, h.set, h.index}] = true
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
		counts := slices.Clone(w.live[k.live].held)
		var free, rest []holding
		for _, h := range claims[from:to] {
			if !leaves[[3]int32{h.work, h.set, h.index}] && ledgers.start(&h) {
				counts[h.set]++
				free = append(free, h)
			} else {
				rest = append(rest, h)
			}
		}
		if !w.definition(k, k.current).gang.AtMinimum(counts) {
			for i := range free {
				ledgers.unstart(&free[i])
			}
			free, rest = nil, claims[from:to]
		}
		if len(free) > 0 {
			d.startClaimed(free)
		}
		for _, h := range free {
			h.phase = Running
			held = append(held, h)
		}
		waiting = append(waiting, rest...)
		from = to
	}
	for i := range w.live {
		clear(w.live[i].held) // hold counts afresh
	}
	return held, waiting
}

// hold charges one standing or claimed task and notes it in its workload.
func (w *world) hold(at int32) error {
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
	if h.phase == Terminating {
		if k.status != ending && h.index < definition.counts[h.set] {
			l.leaving++
		}
		return nil
	}
	l.held[h.set]++
	if h.phase == Claimed {
		l.claimed++
	}
	charge := p.chargeOf(&definition.sets[h.set], &w.state.Nodes[h.node], h.devices)
	if p.counted && !l.counted {
		l.counted = true
		charge = append(slices.Clip(charge), quota.Amount{Resource: int32(len(p.resources) - 1), Value: 1})
	}
	return p.tree.Charge(int(f.queue), charge, f.nonPreemptible)
}

// chargeOf is what a task of the shape is charged on the node and devices: the
// plain resources, and their classes where the pool has any (Q8).
func (p *pool) chargeOf(s *shape, node *Node, devices uint64) quota.Amounts {
	if len(p.resources) == p.plain || p.counted && len(p.resources) == p.plain+1 {
		return s.charge
	}
	charge := slices.Clip(s.charge)
	model := ""
	if devices != 0 {
		model = node.Devices[bits.TrailingZeros64(devices)].Model
	}
	for r := p.plain; r < len(p.resources); r++ {
		known := p.resources[r]
		if known.class == "" || known.class != node.Class && (known.name != GPU || known.class != model) {
			continue
		}
		if value := s.charge.Of(p.byName[known.name]); value > 0 {
			charge = append(charge, quota.Amount{Resource: int32(r), Value: value})
		}
	}
	return charge
}

// settleStatus says what the workload is after settling.
func (k *work) settleStatus(w *world) {
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
func (w *world) nextIndex(l *live, set int32) int32 {
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

// ledgers keep, for the nodes where something leaves or is claimed, what runs,
// leaves and is claimed apart: Running + Terminating must fit, and Running +
// Claimed must (S4). Everywhere else the placement index alone knows.
type ledgers struct {
	world  *world
	byNode map[int32]*nodeLedger
	nodes  []int32
}

// A nodeLedger's amounts are, in this order: the resources of the placement index,
// the units of each device, task slots, slots for tasks without devices.
type nodeLedger struct {
	usable, running, leaving, claimed []int64
}

func newLedgers(w *world, held, claims []holding) *ledgers {
	l := &ledgers{world: w, byNode: make(map[int32]*nodeLedger)}
	for _, list := range [...][]holding{held, claims} {
		for i := range list {
			if list[i].phase != Running && w.nodePool[list[i].node] >= 0 && l.byNode[list[i].node] == nil {
				l.byNode[list[i].node] = l.open(list[i].node)
				l.nodes = append(l.nodes, list[i].node)
			}
		}
	}
	for i := range held {
		h := &held[i]
		switch ledger := l.byNode[h.node]; {
		case ledger == nil:
		case h.phase == Running:
			l.add(ledger.running, h, 1)
		default:
			l.add(ledger.leaving, h, 1)
		}
	}
	return l
}

func (l *ledgers) open(n int32) *nodeLedger {
	p := l.world.pools[l.world.nodePool[n]]
	node := &p.placed[l.world.position[n]]
	size := len(node.Capacity) + len(node.Devices) + 2
	out := &nodeLedger{
		usable:  slices.Clone(node.Capacity),
		running: make([]int64, size), leaving: make([]int64, size), claimed: make([]int64, size),
	}
	for i := range node.Devices { // in share units, see placement.Index.Units
		device := &node.Devices[i]
		out.usable = append(out.usable, (wholeDevice-device.Foreign)*max(1, device.Memory))
	}
	out.usable = append(out.usable, int64(node.Slots), int64(node.CPUOnlySlots))
	return out
}

// add books what the task takes of its node, times n.
func (l *ledgers) add(amounts []int64, h *holding, n int64) {
	shape, p := l.footprint(h)
	for _, a := range shape.request.Amounts {
		amounts[a.Resource] += n * a.Value
	}
	at := l.world.position[h.node]
	for rest := h.devices; rest != 0; rest &= rest - 1 {
		device := bits.TrailingZeros64(rest)
		amounts[p.plain-1+device] += n * p.index.Units(shape.placed, at, device)
	}
	amounts[len(amounts)-2] += n
	if shape.request.Devices == 0 {
		amounts[len(amounts)-1] += n
	}
}

// footprint is the task's shape in the pool of its node, which is another than
// the workload's when a node has changed pools under it.
func (l *ledgers) footprint(h *holding) (shape, *pool) {
	w := l.world
	k := &w.works[h.work]
	own, at := w.pools[w.formOf(k, k.current).pool], w.pools[w.nodePool[h.node]]
	known := w.definition(k, k.current).sets[h.set]
	if own == at {
		return known, at
	}
	known.request.Set, known.request.Models, known.request.Classes = -1, nil, nil
	known.request.Amounts = nil
	for r := range at.plain - 1 { // in the order of the other pool's resources
		if value := known.charge.Of(own.byName[at.resources[r+1].name]); value > 0 {
			known.request.Amounts = append(known.request.Amounts, quota.Amount{Resource: int32(r), Value: value})
		}
	}
	known.placed = at.index.Shape(known.request)
	return known, at
}

// claim books the claim if what runs and is claimed fits with it. Only what
// the task asks is looked at: a node may be short of something else (S7).
func (l *ledgers) claim(h *holding) bool {
	ledger := l.byNode[h.node]
	if ledger == nil { // in no pool: nothing is known of the node
		return false
	}
	return l.book(ledger, ledger.claimed, h, ledger.running, ledger.claimed)
}

// start turns the claim into running use if what runs and leaves fits with it.
func (l *ledgers) start(h *holding) bool {
	ledger := l.byNode[h.node]
	if !l.book(ledger, ledger.running, h, ledger.running, ledger.leaving) {
		return false
	}
	l.add(ledger.claimed, h, -1)
	return true
}

func (l *ledgers) unstart(h *holding) {
	ledger := l.byNode[h.node]
	l.add(ledger.running, h, -1)
	l.add(ledger.claimed, h, 1)
}

// book adds the task to into if the sum of a and b fits with it.
func (l *ledgers) book(ledger *nodeLedger, into []int64, h *holding, a, b []int64) bool {
	asked := make([]int64, len(into))
	l.add(asked, h, 1)
	for i, n := range asked {
		if n > 0 && a[i]+b[i]+n > ledger.usable[i] {
			return false
		}
	}
	l.add(into, h, 1)
	return true
}

// reserve tells the placement indices what is in use: all that runs, and on
// top, per resource and device, the larger of what leaves and what is claimed,
// so that a new task fits both now and when the claims start.
func (l *ledgers) reserve(held []holding) error {
	w := l.world
	for i := range held {
		h := &held[i]
		if w.nodePool[h.node] < 0 || l.byNode[h.node] != nil {
			continue
		}
		shape, p := l.footprint(h)
		place := placement.Place{Node: w.position[h.node], Devices: h.devices}
		if err := p.index.Take(shape.placed, place); err != nil {
			return err
		}
	}
	for _, n := range l.nodes {
		p, ledger := w.pools[w.nodePool[n]], l.byNode[n]
		lasting, passing := make([]int64, len(ledger.usable)), make([]int64, len(ledger.usable))
		for i := range lasting {
			lasting[i] = ledger.running[i] + ledger.claimed[i]
			passing[i] = max(0, ledger.leaving[i]-ledger.claimed[i])
		}
		passes := p.use(w.position[n], passing)
		for _, u := range [...]use{p.use(w.position[n], lasting), passes} {
			if err := p.index.Occupy(u.node, u.amounts, u.devices, u.slots, u.cpuOnlySlots); err != nil {
				return err
			}
		}
		p.leaves = append(p.leaves, passes)
	}
	return nil
}

// A use is a part of a node in the words of the placement index.
type use struct {
	node                int32
	amounts             quota.Amounts
	devices             []placement.DeviceUse
	slots, cpuOnlySlots int32
}

// use translates the amounts of a ledger.
func (p *pool) use(node int32, amounts []int64) use {
	out := use{node: node, slots: int32(amounts[len(amounts)-2]), cpuOnlySlots: int32(amounts[len(amounts)-1])}
	for r, value := range amounts[:p.plain-1] {
		if value > 0 {
			out.amounts = append(out.amounts, quota.Amount{Resource: int32(r), Value: value})
		}
	}
	for d, units := range amounts[p.plain-1 : len(amounts)-2] {
		if units > 0 {
			out.devices = append(out.devices, placement.DeviceUse{Device: d, Units: units})
		}
	}
	return out
}
