package report

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/words"
)

// A taskStanding says what a task does in the place where it is drawn.
type taskStanding uint8

const (
	// runs: it ran before the plan and goes on.
	runs taskStanding = iota
	// starts: the plan starts it here, at once.
	starts
	// waitsForPlace: the place is given to it, and others are leaving it.
	waitsForPlace
	// leaves: it is leaving the place.
	leaves
)

var standingTexts = [...]string{
	runs:          "runs",
	starts:        "starts now",
	waitsForPlace: "starts here when the place is free",
	leaves:        "is leaving",
}

// A tenant is a workload's tasks of one standing on a node.
type tenant struct {
	workload, queue string
	standing        taskStanding
	tasks           int
	devices         []int
	// letter stands for the workload in the squares of all nodes, and nodes is on
	// how many it is.
	letter string
	nodes  int
}

// A part is what a task has of a device, in thousandths.
type part struct {
	tenant int
	milli  int64
}

// A machine is a node with what is on it when the plan has been set going.
type machine struct {
	node *allot.Node
	// number is its place among all nodes by name.
	number  int
	tenants []tenant
	// parts are those of the node's devices.
	parts [][]part
	// touched: the plan changes something here.
	touched bool
}

// usableMilli is what of a device can be used at all.
func (m *machine) usableMilli(device int) int64 {
	d := &m.node.Devices[device]
	if m.node.Cordoned || m.node.Lost || d.Unhealthy {
		return 0
	}
	return 1000 - d.Foreign
}

// usedMilli is what of a device is in use or claimed.
func (m *machine) usedMilli(device int) int64 {
	used := int64(0)
	for _, p := range m.parts[device] {
		if m.tenants[p.tenant].standing != leaves {
			used += p.milli
		}
	}
	return used
}

// gpus sums what is usable and what is used on the node.
func (m *machine) gpus() (usable, used int64) {
	for i := range m.node.Devices {
		usable += m.usableMilli(i)
		used += m.usedMilli(i)
	}
	return usable, used
}

// A placeOf names a task in a place.
type placeOf struct {
	workload, podSet string
	index            int
	node             string
}

// machinesOf puts the tasks of a state that a plan has been set going on (Begin)
// to their nodes. before is the state that the plan was made from.
func machinesOf(before, after *allot.State) []*machine {
	machines := make([]*machine, len(after.Nodes))
	byID := make(map[string]*machine, len(after.Nodes))
	for i := range after.Nodes {
		n := &after.Nodes[i]
		machines[i] = &machine{node: n, parts: make([][]part, len(n.Devices))}
		byID[n.ID] = machines[i]
	}
	had := make(map[placeOf]allot.Phase)
	for i := range before.Workloads {
		w := &before.Workloads[i]
		for _, t := range w.Tasks {
			had[placeOf{w.ID, t.PodSet, t.Index, t.Node}] = t.Phase
		}
	}
	for i := range after.Workloads {
		w := &after.Workloads[i]
		for _, t := range w.Tasks {
			queue, podSets := words.FormOf(w, w.FormOf(t))
			m := byID[t.Node]
			phase, known := had[placeOf{w.ID, t.PodSet, t.Index, t.Node}]
			m.touched = m.touched || !known || phase != t.Phase
			s := runs
			switch {
			case t.Phase == allot.Terminating:
				s = leaves
			case t.Phase == allot.Claimed:
				s = waitsForPlace
			case !known || phase != t.Phase:
				s = starts
			}
			m.add(w.ID, queue, s, &t, podSets)
		}
	}
	slices.SortFunc(machines, func(a, b *machine) int { return words.CompareNames(a.node.ID, b.node.ID) })
	for i, m := range machines {
		m.number = i
		m.settle()
	}
	nameAll(machines)
	return machines
}

// nameAll gives every workload that holds a device its letters, the same on all nodes:
// the shortest to what the plan changes and to what is on several nodes.
func nameAll(machines []*machine) {
	type job struct {
		name, workload string
		nodes          int
		changes        bool
	}
	jobs := make(map[string]*job)
	var order []*job
	for _, m := range machines {
		seen := make(map[string]bool, len(m.tenants))
		for i := range m.tenants {
			o := &m.tenants[i]
			j := jobs[o.workload]
			if j == nil {
				j = &job{name: words.WorkName(o.queue, o.workload), workload: o.workload}
				jobs[o.workload] = j
				order = append(order, j)
			}
			j.changes = j.changes || o.standing != runs
			if len(o.devices) > 0 && !seen[o.workload] {
				seen[o.workload] = true
				j.nodes++
			}
		}
	}
	slices.SortFunc(order, func(a, b *job) int {
		return cmp.Or(first(a.changes, b.changes), first(a.nodes > 1, b.nodes > 1), words.CompareNames(a.name, b.name), cmp.Compare(a.workload, b.workload))
	})
	letters, n := make(map[string]string, len(order)), 0
	for _, j := range order {
		if j.nodes > 0 {
			letters[j.workload] = words.Letters(n)
			n++
		}
	}
	for _, m := range machines {
		for i := range m.tenants {
			o := &m.tenants[i]
			o.letter, o.nodes = letters[o.workload], jobs[o.workload].nodes
		}
	}
}

// add puts a task to the node.
func (m *machine) add(workload, queue string, s taskStanding, t *allot.Task, podSets []allot.PodSet) {
	at := slices.IndexFunc(m.tenants, func(o tenant) bool { return o.workload == workload && o.standing == s })
	if at < 0 {
		at = len(m.tenants)
		m.tenants = append(m.tenants, tenant{workload: workload, queue: queue, standing: s})
	}
	o := &m.tenants[at]
	o.tasks++
	var ask allot.GPURequest
	for i := range podSets {
		if podSets[i].Name == t.PodSet {
			ask = podSets[i].Request.GPU
		}
	}
	for _, d := range t.Devices {
		if !slices.Contains(o.devices, d) {
			o.devices = append(o.devices, d)
		}
		milli := cmp.Or(ask.Milli, 1000)
		if ask.Memory > 0 {
			milli = max(1, words.Ratio(ask.Memory, m.node.Devices[d].Memory, 1000))
		}
		m.parts[d] = append(m.parts[d], part{at, milli})
	}
}

// settle brings the tenants into an order: first what has devices, by its first one.
func (m *machine) settle() {
	order := make([]int, len(m.tenants))
	for i := range m.tenants {
		order[i] = i
		slices.Sort(m.tenants[i].devices)
	}
	first := func(o *tenant) int {
		if len(o.devices) == 0 {
			return len(m.node.Devices)
		}
		return o.devices[0]
	}
	slices.SortFunc(order, func(a, b int) int {
		x, y := &m.tenants[a], &m.tenants[b]
		return cmp.Or(cmp.Compare(first(x), first(y)), cmp.Compare(x.standing, y.standing), words.CompareNames(x.workload, y.workload))
	})
	sorted := make([]tenant, len(order))
	now := make([]int, len(order))
	for to, from := range order {
		sorted[to] = m.tenants[from]
		now[from] = to
	}
	m.tenants = sorted
	for _, parts := range m.parts {
		for i := range parts {
			parts[i].tenant = now[parts[i].tenant]
		}
		slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(a.tenant, b.tenant) })
	}
}
