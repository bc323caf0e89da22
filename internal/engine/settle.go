package engine

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

// A Holding is one listed task behind the compile line.
type Holding struct {
	TaskPlace
	Since int64
	// Ends is when it is predicted to end (B1), Enforced when it has ended for sure; Never is
	// not known.
	Ends, Enforced int64
	// Until is when it is ended, of what was cut to fit a hole (B1); 0 is of all else.
	Until int64
	Work  int32
	// Behind is the workload whose promised place it has taken, plus one (B6). Begun: it runs, or
	// claims where it moves, and goes on there (B1). Overran: it was expected to have ended.
	Behind  int32
	Begun   bool
	Overran bool
	Form    int16 // in which the task stands
	Phase   Phase
	fresh   bool // a claim that the settling has started
}

// A Phase is the phase of a task (S4).
type Phase uint8

const (
	// Running holds its place.
	Running Phase = iota
	// Claimed waits for a place that others are leaving.
	Claimed
	// Terminating is leaving its place.
	Terminating
	// Vacant is that of a holding that an Incremental keeps of who holds nothing any more.
	Vacant
)

// TaskPlace is a task and its place; node is an index into State.Nodes.
type TaskPlace struct {
	Set, Index, Node int32
	Devices          uint64
}

// Settle returns what the workloads of all pools hold after the losses and the
// claims have been looked at, and writes the actions that this takes.
func (w *World) Settle(d *Decision) error { return w.settling().settle(d) }

// settle is World.Settle.
func (w settling) settle(d *Decision) error {
	w.bareNodes()
	held, claims := w.readHoldings(d)
	if err := w.occupy(held); err != nil {
		return err
	}
	claims = w.dropClaims(d, claims)
	held, claims = w.startClaims(d, held, claims)
	w.Holdings = append(held, claims...)
	if len(claims) > 0 || d.Actions != nil { // otherwise they are in this order
		slices.SortStableFunc(w.Holdings, func(a, b Holding) int { return cmp.Compare(a.Work, b.Work) })
	}
	for i := range w.Holdings {
		if err := w.hold(int32(i)); err != nil {
			return err
		}
	}
	w.booking().settled()
	w.seeking = seekersOf(w.World)
	return nil
}

// A ground is what is told of what stands on nodes: a pool's index, or a ledger of it.
type ground interface {
	Take(placement.Shape, placement.Place) error
	Release(placement.Shape, placement.Place) error
}

// occupy tells the placement indices what runs, is releasing and is claimed (S4).
func (w settling) occupy(held []Holding) error {
	for i := range held {
		if err := w.occupyBy(&held[i], w.own); err != nil {
			return err
		}
	}
	return nil
}

// occupyBy is occupy of one task: into names what is told of its node, and the node's position there.
func (w settling) occupyBy(h *Holding, into func(p *Pool, node int32) (ground, int32)) error {
	if w.NodePool[h.Node] < 0 {
		return nil
	}
	shape, p := w.footprint(h)
	x, at := into(p, h.Node)
	place := placement.Place{Node: at, Devices: h.Devices, Pipelined: h.Phase == Claimed}
	if err := x.Take(shape.Placed, place); err != nil || h.Phase != Terminating {
		return err
	}
	return x.Release(shape.Placed, place)
}

// own are a pool's index and the node's position in it.
func (w settling) own(p *Pool, node int32) (ground, int32) { return p.Index, w.Position[node] }

// place is the place of a task, pipelined where it has only been claimed.
func (h *Holding) place(w *World) placement.Place {
	return placement.Place{Node: w.Position[h.Node], Devices: h.Devices, Pipelined: h.Phase == Claimed}
}

// footprint is the task's shape in the pool of its node, which is another than
// the workload's when a node has changed pools under it.
func (w settling) footprint(h *Holding) (*Shape, *Pool) {
	known, own, at := w.asked(h)
	if own != at {
		known.Placed = at.Index.Shape(known.Request)
	}
	return known, at
}

// asked is what the task asks in the names of the pool of its node, at; own is the
// workload's. Its name in the index is that of own.
func (w settling) asked(h *Holding) (known *Shape, own, at *Pool) {
	f := w.FormOf(&w.Works[h.Work], h.Form)
	own, at = w.Pools[f.Pool], w.Pools[w.NodePool[h.Node]]
	asked := &own.Definitions[f.Definition].Sets[h.Set]
	if own == at {
		return asked, own, at
	}
	copied := *asked
	known = &copied
	known.Request.Set, known.Request.Models, known.Request.Classes = -1, nil, nil
	known.Request.Amounts = nil
	for r := range at.Plain - 1 { // in the order of the other pool's resources
		if value := known.Charge.Of(int32(slices.Index(own.Numbers, at.Numbers[r+1]))); value > 0 {
			known.Request.Amounts = append(known.Request.Amounts, quota.Amount{Resource: int32(r), Value: value})
		}
	}
	return known, own, at
}

// readHoldings lists what stands and what is claimed, and displaces what is
// lost (S7), by workload, pod set and index.
func (w settling) readHoldings(d *Decision) (held, claims []Holding) {
	works, tasks := 0, 0 // that hold something
	for i := range w.Works {
		if n := len(w.Works[i].Tasks); n > 0 {
			works, tasks = works+1, tasks+n
		}
	}
	held, w.live = make([]Holding, 0, tasks), slices.Grow(w.live, works)
	for i := range w.Works {
		k := &w.Works[i]
		if len(k.Tasks) == 0 {
			continue
		}
		k.Live = int32(len(w.live))
		w.live = append(w.live, Live{held: w.newCounts(len(w.Definition(k, k.Current).Sets)), form: k.Current})
		held, claims = w.readTasks(d, int32(i), held, claims)
	}
	return held, claims
}

// readTasks appends what one workload has standing and claimed, and displaces
// what of it is lost.
func (w settling) readTasks(d *Decision, i int32, held, claims []Holding) (_, _ []Holding) {
	k := &w.Works[i]
	tasks := k.Tasks
	for from := 0; from < len(tasks); {
		lost, to := w.lossOf(&tasks[from]), from+1
		for to < len(tasks) && tasks[to].Node == tasks[from].Node && lost != 0 &&
			w.lossOf(&tasks[to]) == lost && (tasks[to].Phase == Claimed) == (tasks[from].Phase == Claimed) {
			to++
		}
		switch {
		case lost != 0 && tasks[from].Phase == Claimed:
			d.giveUp(Unclaim, tasks[from:to], lost)
		case lost != 0:
			d.giveUp(Displace, tasks[from:to], lost)
		case tasks[from].Phase == Claimed:
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
func (w settling) newCounts(n int) []int32 {
	if len(w.counts) < n {
		w.counts = make([]int32, max(n, 4096))
	}
	out := w.counts[:n:n]
	w.counts = w.counts[n:]
	return out
}

// CompareNodes orders nodes by ID.
func (w *World) CompareNodes(a, b int32) int {
	return cmp.Compare(w.Nodes[a].Rank, w.Nodes[b].Rank)
}

// lossOf says why the task has lost its place, or 0.
func (w settling) lossOf(h *Holding) Code {
	switch node := &w.Nodes[h.Node]; {
	case node.Lost:
		return NodeLost
	case h.Devices&node.Unhealthy != 0:
		return DeviceLost
	}
	return 0
}

// dropClaims gives up the claims whose place can no longer take them: the node
// would not take the task were it empty (P1), or what runs and what else is
// claimed fills it. Where not
// all claims fit any more, those first in the order of O1 stay.
func (w settling) dropClaims(d *Decision, claims []Holding) []Holding {
	slices.SortFunc(claims, w.compareClaims)
	kept := claims[:0]
	for from := 0; from < len(claims); from++ {
		h := claims[from]
		if x, shape := h.claimed(w.World); x != nil && x.Fits(shape, h.place(w.World)) && x.Take(shape, h.place(w.World)) == nil {
			kept = append(kept, h)
			continue
		}
		d.giveUp(Unclaim, claims[from:from+1], PlaceLost)
	}
	return kept
}

// claimed is in what index a task claims its place, and its shape there; nil if the
// node is not in its pool any more.
func (h *Holding) claimed(w *World) (*placement.Index, placement.Shape) {
	k := &w.Works[h.Work]
	if w.Outside(k, h.Node) {
		return nil, 0
	}
	return w.Pools[w.FormOf(k, k.Current).Pool].Index, w.Definition(k, k.Current).Sets[h.Set].Placed
}

// Outside says whether what a workload has on a node stands outside its pool, as
// the node is in no pool any more, or in another. Such work is left alone: it is
// its queue's use, and neither goes nor moves (S7).
func (w *World) Outside(k *Work, node int32) bool {
	return w.NodePool[node] != w.FormOf(k, k.Current).Pool
}

// compareClaims is O1 over the workloads, then pod set and index.
func (w settling) compareClaims(a, b Holding) int {
	x, y := &w.Works[a.Work], &w.Works[b.Work]
	return cmp.Or(
		cmp.Compare(w.FormOf(y, y.Current).Priority, w.FormOf(x, x.Current).Priority),
		cmp.Compare(x.Submitted, y.Submitted),
		w.dividing().compareIDs(a.Work, b.Work),
		cmp.Compare(a.Set, b.Set),
		cmp.Compare(a.Index, b.Index),
	)
}

// startClaims starts, workload by workload, the claims whose places are free
// now (S4), if the workload is at its minimum with them (G1). Claims that would
// not be enough even together are given up.
func (w settling) startClaims(d *Decision, held, claims []Holding) (all, waiting []Holding) {
	if len(claims) == 0 {
		return held, nil
	}
	leaves := make(map[int32]bool) // tasks of the workload still leave that wait again (S5)
	for _, h := range held {
		if h.Phase == Terminating {
			leaves[h.Work] = leaves[h.Work] || h.waitsAgain(w.World)
		} else {
			w.live[w.Works[h.Work].Live].held[h.Set]++
		}
	}
	for from := 0; from < len(claims); {
		to := from + 1
		for to < len(claims) && claims[to].Work == claims[from].Work {
			to++
		}
		k := &w.Works[claims[from].Work]
		if w.brokenClaims(k, claims[from:to]) {
			d.giveUp(Unclaim, claims[from:to], ClaimBroken)
			for i := range claims[from:to] {
				x, shape := claims[from+i].claimed(w.World)
				_ = x.Give(shape, claims[from+i].place(w.World)) // it was taken
			}
			from = to
			continue
		}
		counts := slices.Clone(w.live[k.Live].held)
		var free, rest []Holding
		x, _ := claims[from].claimed(w.World)
		m := x.Mark()
		for _, h := range claims[from:to] {
			if !leaves[h.Work] && h.startsNow(w.World, x) {
				counts[h.Set]++
				free = append(free, h)
			} else {
				rest = append(rest, h)
			}
		}
		if !w.Definition(k, k.Current).Gang.AtMinimum(counts) {
			x.Undo(m)
			free, rest = nil, claims[from:to]
		}
		x.Commit(m) // which an Undo has ended
		if len(free) > 0 {
			d.startClaimed(free)
		}
		for _, h := range free {
			h.Phase, h.fresh = Running, true
			held = append(held, h)
		}
		waiting = append(waiting, rest...)
		from = to
	}
	for _, list := range [...][]Holding{held, waiting} {
		for i := range list {
			clear(w.live[w.Works[list[i].Work].Live].held) // hold counts afresh
		}
	}
	return held, waiting
}

// waitsAgain says whether a task that leaves is one that its workload waits for before it
// starts (S5): it would start again, or the workload may be in another form by then, and
// is in one at a time (G5).
func (h *Holding) waitsAgain(w *World) bool {
	k := &w.Works[h.Work]
	return len(k.Others) > 0 || h.Index < w.Definition(k, h.Form).Counts[h.Set]
}

// startsNow has a claim start if its place has come free.
func (h *Holding) startsNow(w *World, x *placement.Index) bool {
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
func (w settling) brokenClaims(k *Work, claims []Holding) bool {
	counts := slices.Clone(w.live[k.Live].held)
	for i := range claims {
		counts[claims[i].Set]++
	}
	return !w.Definition(k, k.Current).Gang.AtMinimum(counts)
}

// hold charges one standing or claimed task and notes it in its workload.
func (w settling) hold(at int32) error {
	h := &w.Holdings[at]
	k := &w.Works[h.Work]
	f := w.FormOf(k, k.Current)
	p := w.Pools[f.Pool]
	l := &w.live[k.Live]
	definition := &p.Definitions[f.Definition]
	if l.to == 0 {
		l.from = at
	}
	l.to = at + 1
	if h.Phase == Terminating {
		if k.Status != Ending && h.waitsAgain(w.World) {
			l.leaving++
		}
		return nil
	}
	l.held[h.Set]++
	if h.Phase == Claimed {
		l.claimed++
	}
	charge := p.chargeOf(&definition.Sets[h.Set], &w.Nodes[h.Node], h.Devices)
	if p.Counted && !l.counted {
		l.counted = true
		charge = append(slices.Clip(charge), quota.Amount{Resource: int32(p.Width - 1), Value: 1})
	}
	return p.Tree.Charge(int(f.Queue), charge, f.NonPreemptible)
}

// chargeOf is what a task of the shape is charged on the node and devices: the
// plain resources, and their classes where the pool has any (Q8).
func (p *Pool) chargeOf(s *Shape, node *Node, devices uint64) quota.Amounts {
	if len(p.Classes) == 0 {
		return s.Charge
	}
	charge, model := slices.Clip(s.Charge), int32(None)
	if devices != 0 {
		model = node.Models[bits.TrailingZeros64(devices)]
	}
	for i, c := range p.Classes {
		if c.Class != node.Class && (c.Plain != 0 || c.Class != model) {
			continue
		}
		if value := s.Charge.Of(c.Plain); value > 0 {
			charge = append(charge, quota.Amount{Resource: int32(p.Plain + i), Value: value})
		}
	}
	return charge
}

// settleStatus says what the workload is after settling.
func (k *Work) settleStatus(w *World) {
	if k.Live < 0 || k.Status == Ending {
		return
	}
	l := &w.live[k.Live]
	switch {
	case l.leaving > 0:
		k.Status = leaving
	case l.claimed > 0:
		k.Status = claiming
	case w.Definition(k, k.Current).Gang.AtMinimum(l.held):
		k.Status = complete
	}
}
