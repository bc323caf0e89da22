package allot

import (
	"math"
	"slices"
	"strconv"
)

// A ledger holds by node what tasks take of it and of its devices, by phase. It goes by
// full capacity: foreign use, lost nodes and unhealthy devices make nothing
// overbooked (S7, S8).
type ledger []heldOn

// A heldOn is what tasks take of a node.
type heldOn struct {
	// amounts are those of the resources that the node lists, and behind them others that
	// tasks take there, of which it has nothing.
	amounts []amountHeld
	devices []held
	slots   held
}

type amountHeld struct {
	resource string
	held
}

// held is what tasks take of one thing. The phases' sums stop at the largest
// int64.
type held struct {
	capacity int64
	phases   [Terminating + 1]int64
}

// add adds an amount, or with a sign of −1 takes away what has been added and did not come
// near the largest int64.
func (h *held) add(phase Phase, n, sign int64) {
	if sign < 0 {
		h.phases[phase] -= n
		return
	}
	h.phases[phase] = addUpTo(h.phases[phase], n)
}

// addUpTo adds two amounts that are not negative.
func addUpTo(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// newLedger is that of nodes on which nothing stands. The lists lie together.
func newLedger(nodes []Node) ledger {
	resources, devices := 0, 0
	for i := range nodes {
		resources, devices = resources+len(nodes[i].Capacity), devices+len(nodes[i].Devices)
	}
	l, amounts, units := make(ledger, len(nodes)), make([]amountHeld, 0, resources), make([]held, 0, devices)
	for i := range nodes {
		h := &l[i]
		for name, n := range nodes[i].Capacity { // entries are found by name: order cannot matter
			amounts = append(amounts, amountHeld{resource: name, held: held{capacity: boundedAmount(n)}})
		}
		for _, d := range nodes[i].Devices {
			units = append(units, held{capacity: deviceUnits(d)})
		}
		h.amounts, amounts = slices.Clip(amounts), amounts[len(amounts):]
		h.devices, units = slices.Clip(units), units[len(units):]
		h.slots.capacity = math.MaxInt64
		if nodes[i].MaxTasks > 0 {
			h.slots.capacity = int64(nodes[i].MaxTasks)
		}
	}
	return l
}

// clone shares nothing with h.
func (h *heldOn) clone() heldOn {
	return heldOn{amounts: slices.Clone(h.amounts), devices: slices.Clone(h.devices), slots: h.slots}
}

// deviceUnits is what a device has to share out: 1000 for each byte, so that a
// fraction takes milli × memory and a memory request 1000 × bytes, exactly.
func deviceUnits(d Device) int64 { return 1000 * max(1, boundedAmount(d.Memory)) }

// boundedAmount keeps faulty amounts from overflowing; they are reported.
func boundedAmount(n int64) int64 { return min(max(0, n), MaxAmount) }

// enter adds a task of the node, or with a sign of −1 takes one away that was added.
func (h *heldOn) enter(node *Node, set *PodSet, t *Task, sign int64) {
	h.slots.add(t.Phase, 1, sign)
	for name, amount := range set.Request.Resources { // every entry is its own: order cannot matter
		if amount > 0 {
			h.amount(name).add(t.Phase, amount, sign)
		}
	}
	gpu := &set.Request.GPU
	for _, d := range t.Devices {
		memory := max(1, boundedAmount(node.Devices[d].Memory))
		units := 1000 * memory
		switch {
		case gpu.Memory != 0:
			units = 1000 * boundedAmount(gpu.Memory)
		case gpu.Milli != 0:
			units = min(max(0, gpu.Milli), 1000) * memory
		}
		h.devices[d].add(t.Phase, units, sign)
	}
}

// amount finds what is held of a resource.
func (h *heldOn) amount(resource string) *held {
	for i := range h.amounts {
		if h.amounts[i].resource == resource {
			return &h.amounts[i].held
		}
	}
	h.amounts = append(h.amounts, amountHeld{resource: resource})
	return &h.amounts[len(h.amounts)-1].held
}

// checkLedger reports what is overbooked.
func (c *checker) checkLedger(at *path) {
	list := at.field("nodes")
	for i := range c.ledger {
		node, h := &c.s.Nodes[i], &c.ledger[i]
		below := list.at(i)
		for j := range h.amounts { // the faults are sorted in the end
			if a := &h.amounts[j]; !a.fits() {
				capacity := below.field("capacity")
				entry := capacity.key(a.resource)
				c.overbooked(&entry, &a.held, 1)
			}
		}
		for j := range h.devices {
			if one := &h.devices[j]; !one.fits() {
				devices := below.field("devices")
				entry := devices.at(j)
				c.overbooked(&entry, one, max(1, boundedAmount(node.Devices[j].Memory)))
			}
		}
		if !h.slots.fits() {
			slots := below.field("maxTasks")
			c.overbooked(&slots, &h.slots, 1)
		}
	}
}

func (h *held) fits() bool {
	return addUpTo(h.phases[Running], max(h.phases[Terminating], h.phases[Claimed])) <= h.capacity
}

// overbooked reports what does not fit, in units of the given size, rounded up:
// a device is told in milli.
func (c *checker) overbooked(at *path, h *held, unit int64) {
	told := func(n int64) string {
		return strconv.FormatInt(n/unit+min(n%unit, 1), 10)
	}
	capacity := told(h.capacity)
	if use := addUpTo(h.phases[Running], h.phases[Terminating]); use > h.capacity {
		c.fault(at, FaultOverbooked, capacity, "must hold the "+told(use)+" of what runs or terminates")
	}
	if use := addUpTo(h.phases[Running], h.phases[Claimed]); use > h.capacity && h.phases[Claimed] > 0 {
		c.fault(at, FaultClaimOverRunning, capacity, "must hold the "+told(use)+" of what runs or claims")
	}
}
