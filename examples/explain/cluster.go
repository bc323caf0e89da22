package main

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/allotsched/allot"
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
	// letter stands for it in the squares of its node.
	letter string
}

// A part is what a task has of a device, in thousandths.
type part struct {
	tenant int
	milli  int64
}

// A machine is a node with what is on it when the plan has been set going.
type machine struct {
	node    *allot.Node
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
			queue, podSets := formOf(w, w.FormOf(t))
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
	slices.SortFunc(machines, func(a, b *machine) int { return compareNames(a.node.ID, b.node.ID) })
	for _, m := range machines {
		m.settle()
	}
	return machines
}

// formOf is the queue and the pod sets of a form that the workload's tasks belong to.
func formOf(w *allot.Workload, form int) (queue string, podSets []allot.PodSet) {
	if form == 0 || len(w.Tasks) == 0 || form > len(w.Alternatives) {
		return w.Queue, w.PodSets
	}
	f := &w.Alternatives[form-1]
	return cmp.Or(f.Queue, w.Queue), f.PodSets
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
			milli = max(1, ratio(ask.Memory, m.node.Devices[d].Memory, 1000))
		}
		m.parts[d] = append(m.parts[d], part{at, milli})
	}
}

// settle brings the tenants into an order and gives them letters: first what has
// devices, by its first one.
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
		return cmp.Or(cmp.Compare(first(x), first(y)), cmp.Compare(x.standing, y.standing), compareNames(x.workload, y.workload))
	})
	sorted := make([]tenant, len(order))
	now := make([]int, len(order))
	for to, from := range order {
		sorted[to] = m.tenants[from]
		sorted[to].letter = letter(to)
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

// letter is a to z, and from then on a number.
func letter(n int) string {
	if n < 26 {
		return string(rune('a' + n))
	}
	return strconv.Itoa(n + 1)
}

// ranges is numbers in words: "0–3, 5".
func ranges(numbers []int) string {
	var texts []string
	for i := 0; i < len(numbers); {
		end := i + 1
		for end < len(numbers) && numbers[end] == numbers[end-1]+1 {
			end++
		}
		text := strconv.Itoa(numbers[i])
		if end > i+1 {
			text += "–" + strconv.Itoa(numbers[end-1])
		}
		texts = append(texts, text)
		i = end
	}
	return strings.Join(texts, ", ")
}

// compareNames orders names as people do: n2 stands before n10.
func compareNames(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		n, m := digits(x), digits(y)
		if n > 0 && m > 0 {
			p, q := strings.TrimLeft(x[:n], "0"), strings.TrimLeft(y[:m], "0")
			if c := cmp.Or(cmp.Compare(len(p), len(q)), cmp.Compare(p, q)); c != 0 {
				return c
			}
			x, y = x[n:], y[m:]
			continue
		}
		if x[0] != y[0] {
			return cmp.Compare(x[0], y[0])
		}
		x, y = x[1:], y[1:]
	}
	return cmp.Or(cmp.Compare(x, y), cmp.Compare(a, b))
}

// digits is how many digits the text begins with.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}
