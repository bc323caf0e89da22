package allot

import (
	"math"
	"slices"
	"strconv"

	"github.com/allotsched/allot/internal/prose"
)

// A taskID is a task within its workload: the index of the pod set, and the
// task's own.
type taskID struct{ set, index int }

// checkTasks checks the places of a workload's tasks (S4, S5) and enters what
// they hold into the ledger.
func (c *checker) checkTasks(at *path, w *Workload) {
	sets, form := w.setsOf(w.Form), w.Form
	leavesAnother := w.leavesAnother()
	list := at.field("tasks")
	set := 0
	previous := taskID{set: none}
	sorted := true
	for i := range w.Tasks {
		task := &w.Tasks[i]
		below := list.at(i)
		if at := w.FormOf(*task); at != form {
			sets, form, set, sorted = w.setsOf(at), at, 0, false
		}
		if leavesAnother && task.Phase == Running {
			c.faultAt(&below, "phase", FaultTaskPhase, task.Phase.String(), "must be claimed, as tasks of another form are leaving")
		}
		// Tasks mostly come by pod set.
		if set >= len(sets) || sets[set].Name != task.PodSet {
			set = slices.IndexFunc(sets, func(p PodSet) bool { return p.Name == task.PodSet })
		}
		if set < 0 {
			c.faultAt(&below, "podSet", FaultUnknownPodSet, strconv.QuoteToASCII(task.PodSet), "must name a pod set of the form")
			set, sorted = len(sets), false
			continue
		}
		id := taskID{set, task.Index}
		sorted = sorted && (previous.set < id.set || previous.set == id.set && previous.index < id.index)
		previous = id
		c.checkTask(&below, w, &sets[set], task)
	}
	if !sorted {
		c.checkTwice(&list, w.Tasks)
	}
}

// setsOf are the pod sets of a form.
func (k *Workload) setsOf(form int) []PodSet {
	if form > 0 {
		return k.Alternatives[form-1].PodSets
	}
	return k.PodSets
}

// leavesAnother says whether tasks of another form than Form are Terminating.
func (k *Workload) leavesAnother() bool {
	return k.LeavingForm.Given() && k.LeavingForm.Amount() != int64(k.Form) &&
		slices.ContainsFunc(k.Tasks, func(t Task) bool { return t.Phase == Terminating })
}

// checkTwice reports tasks that are listed twice, but for a task that moves: it
// leaves one place and claims another (M4). So may tasks of two forms that are
// named alike.
func (c *checker) checkTwice(list *path, tasks []Task) {
	type named struct {
		set   string
		index int
	}
	seen := make(map[named]int, len(tasks))
	moves := make(map[named]bool)
	for i := range tasks {
		id := named{tasks[i].PodSet, tasks[i].Index}
		if first, twice := seen[id]; twice {
			if !moves[id] && movesBetween(tasks[first].Phase, tasks[i].Phase) {
				moves[id] = true
				continue
			}
			here, there := list.at(i), list.at(first)
			c.fault(&here, FaultTaskTwice, strconv.QuoteToASCII(id.set)+" "+strconv.Itoa(id.index), "must be another task than "+there.String())
			continue
		}
		seen[id] = i
	}
}

// movesBetween says whether a task in both phases is one that moves.
func movesBetween(a, b Phase) bool {
	return a == Terminating && b == Claimed || a == Claimed && b == Terminating
}

func (c *checker) checkTask(at *path, w *Workload, set *PodSet, t *Task) {
	if !prose.Known(phaseNames[:], t.Phase) {
		unknownValue(c, at, "phase", t.Phase)
		return
	}
	if w.Ending && t.Phase != Terminating {
		c.faultAt(at, "phase", FaultTaskPhase, t.Phase.String(), "must be terminating, as the workload is ending")
	}
	if c.within(at, "index", int64(t.Index), 0, maxCount) && t.Phase != Terminating && t.Index >= set.Count-set.Missing {
		c.faultAt(at, "index", FaultTaskIndex, strconv.Itoa(t.Index), "must be < "+strconv.Itoa(set.Count-set.Missing)+", the tasks submitted")
	}
	c.time(at, "since", t.Since)
	c.time(at, "started", t.Started)
	c.time(at, "until", t.Until)
	n, ok := c.nodes[t.Node]
	if !ok {
		c.faultAt(at, "node", FaultUnknownNode, strconv.QuoteToASCII(t.Node), "must name a node")
		return
	}
	enterTask(c, at, n, set, t)
}

// enterTask enters into the ledger what a task holds of node n, if its devices are sound.
func enterTask(c *checker, at *path, n int32, set *PodSet, t *Task) {
	if !c.checkDevices(at, &c.s.Nodes[n], set, t) {
		return
	}
	if c.ledger == nil {
		c.ledger = newLedger(c.s.Nodes)
	}
	c.ledger.enter(c.s.Nodes, n, set, t)
}

// checkDevices checks the devices of a task and reports whether they are sound.
func (c *checker) checkDevices(at *path, n *Node, set *PodSet, t *Task) bool {
	sound := true
	var seen [maxDevices]bool
	for i, d := range t.Devices {
		if d >= 0 && d < min(len(n.Devices), maxDevices) && !seen[d] {
			seen[d] = true
			continue
		}
		sound = false
		list := at.field("devices")
		below := list.at(i)
		if d >= 0 && d < min(len(n.Devices), maxDevices) {
			c.fault(&below, FaultDeviceTwice, strconv.Itoa(d), "must be listed once")
			continue
		}
		c.fault(&below, FaultUnknownDevice, strconv.Itoa(d),
			"must be the index of one of the "+strconv.Itoa(len(n.Devices))+" devices of "+strconv.QuoteToASCII(n.ID))
	}
	if want := set.Request.GPU.devices(); int64(len(t.Devices)) != want {
		sound = false
		c.faultAt(at, "devices", FaultDeviceCount, strconv.Itoa(len(t.Devices)), "must be "+strconv.FormatInt(want, 10)+" devices, as requested")
	}
	if !sound {
		return false
	}
	for _, d := range t.Devices {
		if first := t.Devices[0]; n.Devices[d].Model != n.Devices[first].Model {
			c.faultAt(at, "devices", FaultMixedModels,
				strconv.QuoteToASCII(n.Devices[first].Model)+" and "+strconv.QuoteToASCII(n.Devices[d].Model), "must be of one model")
			break
		}
	}
	return true
}

// A ledger holds what tasks take of nodes and devices, by phase. It goes by
// full capacity: foreign use, lost nodes and unhealthy devices make nothing
// overbooked (S7, S8).
type ledger struct {
	first   []int32 // by node: its first amount
	amounts []amountHeld
	device  []int32 // by node: its first device
	devices []held
	slots   []held // by node
	// beyond are amounts of resources that the node does not list.
	beyond map[nodeResource]*held
}

type amountHeld struct {
	resource string
	held
}

type nodeResource struct {
	node     int32
	resource string
}

// held is what tasks take of one thing. The phases' sums stop at the largest
// int64.
type held struct {
	capacity int64
	phases   [Terminating + 1]int64
}

func (h *held) add(phase Phase, n int64) {
	h.phases[phase] = addUpTo(h.phases[phase], n)
}

// addUpTo adds two amounts that are not negative.
func addUpTo(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func newLedger(nodes []Node) *ledger {
	l := &ledger{
		first: make([]int32, len(nodes)+1), device: make([]int32, len(nodes)+1),
		slots: make([]held, len(nodes)), beyond: make(map[nodeResource]*held),
	}
	for i := range nodes {
		for name, n := range nodes[i].Capacity { // entries are found by name: order cannot matter
			l.amounts = append(l.amounts, amountHeld{resource: name, held: held{capacity: boundedAmount(n)}})
		}
		for _, d := range nodes[i].Devices {
			l.devices = append(l.devices, held{capacity: deviceUnits(d)})
		}
		l.first[i+1], l.device[i+1] = int32(len(l.amounts)), int32(len(l.devices))
		l.slots[i].capacity = math.MaxInt64
		if nodes[i].MaxTasks > 0 {
			l.slots[i].capacity = int64(nodes[i].MaxTasks)
		}
	}
	return l
}

// deviceUnits is what a device has to share out: 1000 for each byte, so that a
// fraction takes milli × memory and a memory request 1000 × bytes, exactly.
func deviceUnits(d Device) int64 { return 1000 * max(1, boundedAmount(d.Memory)) }

// boundedAmount keeps faulty amounts from overflowing; they are reported.
func boundedAmount(n int64) int64 { return min(max(0, n), MaxAmount) }

// enter adds a task of node n.
func (l *ledger) enter(nodes []Node, n int32, set *PodSet, t *Task) {
	l.slots[n].add(t.Phase, 1)
	for name, amount := range set.Request.Resources { // every entry is its own: order cannot matter
		if amount > 0 {
			l.amount(n, name).add(t.Phase, amount)
		}
	}
	gpu := &set.Request.GPU
	for _, d := range t.Devices {
		memory := max(1, boundedAmount(nodes[n].Devices[d].Memory))
		units := 1000 * memory
		switch {
		case gpu.Memory != 0:
			units = 1000 * boundedAmount(gpu.Memory)
		case gpu.Milli != 0:
			units = min(max(0, gpu.Milli), 1000) * memory
		}
		l.devices[l.device[n]+int32(d)].add(t.Phase, units)
	}
}

// amount finds what is held of a resource of node n.
func (l *ledger) amount(n int32, resource string) *held {
	for i := l.first[n]; i < l.first[n+1]; i++ {
		if l.amounts[i].resource == resource {
			return &l.amounts[i].held
		}
	}
	key := nodeResource{n, resource}
	if l.beyond[key] == nil {
		l.beyond[key] = new(held)
	}
	return l.beyond[key]
}

// checkLedger reports what is overbooked.
func (c *checker) checkLedger(at *path) {
	l := c.ledger
	if l == nil {
		return
	}
	list := at.field("nodes")
	for i := range c.s.Nodes {
		below := list.at(i)
		for j := l.first[i]; j < l.first[i+1]; j++ {
			if a := &l.amounts[j]; !a.fits() {
				capacity := below.field("capacity")
				entry := capacity.key(a.resource)
				c.overbooked(&entry, &a.held, 1)
			}
		}
		for j := range c.s.Nodes[i].Devices {
			if h := &l.devices[int(l.device[i])+j]; !h.fits() {
				devices := below.field("devices")
				entry := devices.at(j)
				c.overbooked(&entry, h, max(1, boundedAmount(c.s.Nodes[i].Devices[j].Memory)))
			}
		}
		if h := &l.slots[i]; !h.fits() {
			slots := below.field("maxTasks")
			c.overbooked(&slots, h, 1)
		}
	}
	for key, h := range l.beyond { // the faults are sorted in the end
		below := list.at(int(key.node))
		capacity := below.field("capacity")
		entry := capacity.key(key.resource)
		c.overbooked(&entry, h, 1)
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
