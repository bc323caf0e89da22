package cluster

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// HeldBy lists what runs or is claimed of a workload.
func (w *World) HeldBy(i int32) (held []gang.Held) {
	k := &w.Works[i]
	for at := range w.Room.Seats[i] {
		held = append(held, w.HeldIn(k, &w.Room.Seats[i][at].TaskPlace))
	}
	return held
}

// HeldIn is a task of a workload that is held at a place, which pins nothing outside its pool (S7).
func (w *World) HeldIn(k *Work, t *TaskPlace) gang.Held {
	node := w.Position[t.Node]
	if w.Outside(k, t.Node) {
		node = -1
	}
	return gang.Held{Set: t.Set, Index: t.Index, Node: node}
}

// Together says whether what a workload holds keeps its constraints.
func (w *World) Together(i int32) bool {
	k := &w.Works[i]
	d := w.Definition(k, k.Current)
	placer := w.Pools[w.FormOf(k, k.Current).Pool].placer()
	return !d.Gang.Constrained() || placer.Obeyed(d.Gang, w.HeldBy(i))
}

// Holds says whether the workload has tasks that run or are claimed.
func (w *World) Holds(k *Work) bool { return w.CountsOf(k) != nil }

// CountsOf is how many tasks of each pod set of the workload run or are claimed, nil if none does.
func (w *World) CountsOf(k *Work) []int32 {
	if k.Live < 0 {
		return nil
	}
	held := w.Live[k.Live].Held
	for _, n := range held {
		if n > 0 {
			return held
		}
	}
	return nil
}

// Asks is what the item would add to use, for the order of queues (O2).
func (w *World) Asks(k *Work, f int16) quota.Amounts {
	if w.Holds(k) {
		return w.Live[k.Live].Asks
	}
	return w.Definition(k, f).Asks
}

// IsLeaving says whether tasks of the workload are Terminating that wait again (S5).
func (k *Work) IsLeaving(w *World) bool { return k.Live >= 0 && w.Live[k.Live].Leaving > 0 }

// A Holding is one listed task, compiled.
type Holding struct {
	TaskPlace
	Since int64
	// Started is when it began to run, if it has Begun: it runs, or claims where it moves, and goes
	// on there (B1).
	Started int64
	// Until is when it is ended, of what was cut to fit a hole (B1); 0 is of all else.
	Until int64
	Work  int32
	// Behind is the workload whose promised place it has taken, plus one (B6).
	Behind int32
	Begun  bool
	Form   int16 // in which the task stands
	Phase  Phase
	Fresh  bool // a claim that the settling has started
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
	// Vacant is that of a holding that an Incremental keeps of a task that holds nothing any more.
	Vacant
)

// TaskPlace is a task and its place; node is an index into State.Nodes.
type TaskPlace struct {
	Set, Index, Node int32
	Devices          uint64
}

// Occupy tells the placement indices what runs, is releasing and is claimed (S4).
func (w *World) Occupy(held []Holding) error {
	for i := range held {
		if err := w.OccupyBy(&held[i], w.own); err != nil {
			return err
		}
	}
	return nil
}

// OccupyAll is Occupy of very many, who are told of together.
func (w *World) OccupyAll(held []Holding) error {
	all := NewOccupation(w, len(w.Nodes), w.own)
	for i := range held {
		if err := all.Add(&held[i], held[i].Node); err != nil {
			return err
		}
	}
	return all.End()
}

// own are a pool's index and the node's position in it.
func (w *World) own(p *Pool, node int32) (Ground, int32) { return whole{p.Index}, w.Position[node] }

// Place is the place of a task, pipelined where it has only been claimed.
func (h *Holding) Place(w *World) placement.Place {
	return placement.Place{Node: w.Position[h.Node], Devices: h.Devices, Pipelined: h.Phase == Claimed}
}

// Footprint is the task's shape in the pool of its node, which is another than
// the workload's when a node has changed pools under it.
func (w *World) Footprint(h *Holding) (*Shape, *Pool) {
	known, own, at := w.Asked(h)
	if own != at {
		known.Placed = at.Index.Shape(known.Request)
	}
	return known, at
}

// Asked is what the task asks in the names of the pool of its node, at; own is the
// workload's. Its name in the index is that of own.
func (w *World) Asked(h *Holding) (known *Shape, own, at *Pool) {
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

// NewCounts cuts n zeros from an arena: there is one per workload that holds
// something, mostly of length 1.
func (w *World) NewCounts(n int) []int32 {
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

// Outside says whether what a workload has on a node stands outside its pool, as
// the node is in no pool any more, or in another. Such work is left alone: it is
// its queue's use, and neither goes nor moves (S7).
func (w *World) Outside(k *Work, node int32) bool {
	return w.NodePool[node] != w.FormOf(k, k.Current).Pool
}

// ChargeOf is what a task of the shape is charged on the node and devices: the
// plain resources, and their classes where the pool has any (Q8).
func (p *Pool) ChargeOf(s *Shape, node *Node, devices uint64) quota.Amounts {
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

// SettleStatus says what the workload is after settling.
func (k *Work) SettleStatus(w *World) {
	if k.Live < 0 || k.Status == Ending {
		return
	}
	l := &w.Live[k.Live]
	switch {
	case l.Leaving > 0:
		k.Status = WaitsForLeavers
	case l.Claimed > 0:
		k.Status = Claiming
	case w.Definition(k, k.Current).Gang.AtMinimum(l.Held):
		k.Status = Complete
	}
}
