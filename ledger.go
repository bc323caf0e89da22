package allot

import (
	"math/bits"
	"slices"

	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

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
	own, at := w.pools[w.formOf(k, h.form).pool], w.pools[w.nodePool[h.node]]
	known := w.definition(k, h.form).sets[h.set]
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

func (l *ledgers) unclaim(h *holding) { l.add(l.byNode[h.node].claimed, h, -1) }

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
		if n > 0 && n > ledger.usable[i]-a[i]-b[i] { // a sum of device units might overflow
			return false
		}
	}
	l.add(into, h, 1)
	return true
}

// reserve tells the placement indices what is in use: every task that runs or is
// claimed, and on top, per resource and device, what leaves beyond what is claimed
// behind it, so that a new task fits both now and when the claims start.
func (l *ledgers) reserve(held, claims []holding, into func(*pool) *placement.Index) error {
	w := l.world
	for _, list := range [...][]holding{held, claims} {
		for i := range list {
			h := &list[i]
			if w.nodePool[h.node] < 0 || h.phase == Terminating {
				continue
			}
			shape, p := l.footprint(h)
			place := placement.Place{Node: w.position[h.node], Devices: h.devices}
			x, name := into(p), shape.placed
			if x != p.index { // another index has other names
				name = x.Shape(shape.request)
			}
			if err := x.Take(name, place); err != nil {
				return err
			}
		}
	}
	for _, n := range l.nodes {
		u := l.passing(n)
		if err := into(w.pools[w.nodePool[n]]).Occupy(u.node, u.amounts, u.devices, u.slots, u.cpuOnlySlots); err != nil {
			return err
		}
	}
	return nil
}

// passing is what leaves the node beyond what is claimed behind it.
func (l *ledgers) passing(n int32) use {
	ledger := l.byNode[n]
	amounts := make([]int64, len(ledger.usable))
	for i := range amounts {
		amounts[i] = max(0, ledger.leaving[i]-ledger.claimed[i])
	}
	return l.world.pools[l.world.nodePool[n]].use(l.world.position[n], amounts)
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
