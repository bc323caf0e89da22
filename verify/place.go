package verify

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/placement"
)

// milliPerDevice is a whole device (S2).
const milliPerDevice = 1000

// A verifiedNode is a node and what is held of it.
type verifiedNode struct {
	source  *allot.Node
	pool    *verifiedPool // nil is none
	amounts map[string]*verifiedRoom
	slots   verifiedRoom
	cpuOnly verifiedRoom // tasks without GPUs (P7)
	devices []verifiedDevice
	// leavers hold places until they have left, newcomers may wait for them.
	leavers   []leaver
	newcomers []newcomer
	islands   islandMap // as far as they have been asked for
	// maintained is what of it is reserved at the time without members (B9).
	maintained closedTo
	// reserved are by device the reservations that have not passed and have it, and not the
	// whole node (B9).
	reserved map[int][]*allot.Reservation
}

// A verifiedRoom is what a node can give of something, and what of it is held,
// by phase (S4).
type verifiedRoom struct {
	usable int64
	held   [allot.Terminating + 1]int64
}

// now is what is taken up at present, then what will be once claims run. Each
// must fit (S4).
func (r *verifiedRoom) now() int64  { return r.held[allot.Running] + r.held[allot.Terminating] }
func (r *verifiedRoom) then() int64 { return r.held[allot.Running] + r.held[allot.Claimed] }

// A verifiedDevice is what is held of a device: of its compute and, in bytes,
// of its memory. Both fill the same device: milli/1000 + bytes/memory ≤ 1.
type verifiedDevice struct {
	source       *allot.Device
	milli, bytes [allot.Terminating + 1]int64
}

func (d *verifiedDevice) now() (milli, bytes int64) {
	return d.milli[allot.Running] + d.milli[allot.Terminating], d.bytes[allot.Running] + d.bytes[allot.Terminating]
}

func (d *verifiedDevice) then() (milli, bytes int64) {
	return d.milli[allot.Running] + d.milli[allot.Claimed], d.bytes[allot.Running] + d.bytes[allot.Claimed]
}

// holds says whether the device can give that much at once, foreign use
// apart (P2, S8). The comparison is exact: where neither part alone is too
// much, products stay below 2^64 as memory is below 2^53.
func (d *verifiedDevice) holds(milli, bytes int64) bool {
	milli += d.source.Foreign
	memory := max(1, d.source.Memory)
	if milli > milliPerDevice || bytes > memory {
		return false
	}
	return uint64(memory)*uint64(milli)+milliPerDevice*uint64(bytes) <= milliPerDevice*uint64(memory)
}

func newVerifiedNode(source *allot.Node) *verifiedNode {
	n := &verifiedNode{
		source:  source,
		amounts: make(map[string]*verifiedRoom, len(source.Capacity)),
		slots:   verifiedRoom{usable: unbounded},
		cpuOnly: verifiedRoom{usable: unbounded},
		devices: make([]verifiedDevice, len(source.Devices)),
	}
	for resource, capacity := range source.Capacity { // into a map: order cannot matter
		n.amounts[resource] = &verifiedRoom{usable: capacity - source.Foreign[resource]}
	}
	if source.MaxTasks > 0 {
		n.slots.usable = int64(source.MaxTasks) - int64(source.ForeignTasks)
	}
	for d := range n.devices {
		n.devices[d].source = &source.Devices[d]
	}
	return n
}

// join makes the node one of p's.
func (n *verifiedNode) join(p *verifiedPool) {
	n.pool = p
	p.nodes = append(p.nodes, n)
	if limit := p.policy.MaxCPUOnlyTasksPerNode; limit > 0 {
		n.cpuOnly.usable = int64(limit)
	}
	for _, d := range n.source.Devices {
		if d.Memory > 0 && (p.smallestMemory == 0 || d.Memory < p.smallestMemory) {
			p.smallestMemory = d.Memory
		}
	}
}

// room is what the node has of a resource; of one that is not listed, nothing.
func (n *verifiedNode) room(resource string) *verifiedRoom {
	r := n.amounts[resource]
	if r == nil {
		r = &verifiedRoom{usable: -n.source.Foreign[resource]}
		n.amounts[resource] = r
	}
	return r
}

// book counts a task's place on the node n times.
func (n *verifiedNode) book(r *allot.Request, t verifiedTask, times int64) {
	for resource, amount := range r.Resources { // each its own sum: order cannot matter
		n.room(resource).held[t.phase] += times * amount
	}
	n.slots.held[t.phase] += times
	if deviceCount(r.GPU) == 0 {
		n.cpuOnly.held[t.phase] += times
	}
	for _, d := range t.devices {
		if r.GPU.Memory > 0 {
			n.devices[d].bytes[t.phase] += times * r.GPU.Memory
		} else {
			n.devices[d].milli[t.phase] += times * cmp.Or(r.GPU.Milli, milliPerDevice)
		}
	}
}

// An objection is a rule that keeps a task from a place, and what it says.
type objection struct{ rule, message string }

func object(rule, format string, args ...any) objection {
	return objection{rule, fmt.Sprintf(format, args...)}
}

// overfull lists what the task's request makes of the node overfull, the task
// counted already: at present and, if claims is true, once claims run.
func (n *verifiedNode) overfull(r *allot.Request, devices []int, present, claims bool) (list []objection) {
	check := func(rule, what string, room *verifiedRoom) {
		if present && room.now() > room.usable {
			list = append(list, object(rule, "%s of node %q: %d running and terminating, %d usable",
				what, n.source.ID, room.now(), room.usable))
		}
		if claims && room.then() > room.usable {
			list = append(list, object(ruleClaims, "%s of node %q: %d running and claimed, %d usable",
				what, n.source.ID, room.then(), room.usable))
		}
	}
	for _, resource := range sortedNames(r.Resources) {
		if r.Resources[resource] > 0 {
			check(rulePlace, resource, n.room(resource))
		}
	}
	check(rulePlace, "task slots", &n.slots)
	if deviceCount(r.GPU) == 0 {
		check(ruleCPUOnly, "slots for tasks without GPUs", &n.cpuOnly)
	}
	for _, index := range devices {
		d := &n.devices[index]
		if milli, bytes := d.now(); present && !d.holds(milli, bytes) {
			list = append(list, object(ruleDevices, "device %d of node %q: %d milli and %d bytes running and terminating, %d milli foreign",
				index, n.source.ID, milli, bytes, d.source.Foreign))
		}
		if milli, bytes := d.then(); claims && !d.holds(milli, bytes) {
			list = append(list, object(ruleClaims, "device %d of node %q: %d milli and %d bytes running and claimed, %d milli foreign",
				index, n.source.ID, milli, bytes, d.source.Foreign))
		}
	}
	return list
}

// unsuitable lists why a task may not be put on the node and devices whatever
// else is there (P1, P2).
func (n *verifiedNode) unsuitable(f *verifiedForm, r *allot.Request, devices []int) (list []objection) {
	q, id := f.queue, n.source.ID
	if f.closed[id].has(devices) {
		list = append(list, object(ruleReserved, "node %q is reserved for others", id))
	}
	if n.pool != q.pool {
		list = append(list, object(rulePlace, "node %q is not in pool %q", id, q.pool.id))
	}
	for up := q; up != nil; up = up.parent {
		if !inNodeSet(up.allowed, up.named, n.source) {
			list = append(list, object(rulePlace, "queue %q may not use node %q", up.id, id))
		}
	}
	if n.source.Lost {
		list = append(list, object(rulePlace, "node %q is lost", id))
	}
	if n.source.Cordoned {
		list = append(list, object(rulePlace, "node %q is cordoned", id))
	}
	if !selects(r.Selector, n.source.Labels) {
		list = append(list, object(rulePlace, "the selector does not match node %q", id))
	}
	for _, taint := range n.source.Taints {
		if turnsAway(taint, r.Tolerations) {
			list = append(list, object(rulePlace, "taint %q of node %q is not tolerated", taint.Key, id))
		}
	}
	if count := deviceCount(r.GPU); count != len(devices) {
		list = append(list, object(ruleDevices, "%d devices named, %d requested", len(devices), count))
	}
	for _, d := range devices {
		list = append(list, n.unsuitableDevice(r.GPU, d)...)
		if model, first := n.source.Devices[d].Model, n.source.Devices[devices[0]].Model; model != first {
			list = append(list, object(ruleDevices, "device %d of node %q is of model %q, another of %q", d, id, model, first))
		}
	}
	return list
}

// unsuitableDevice lists why no task of this request may use the device.
func (n *verifiedNode) unsuitableDevice(g allot.GPURequest, index int) (list []objection) {
	d, id := n.source.Devices[index], n.source.ID
	if d.Unhealthy {
		list = append(list, object(rulePlace, "device %d of node %q is unhealthy", index, id))
	}
	if len(g.Models) > 0 && !slices.Contains(g.Models, d.Model) {
		list = append(list, object(rulePlace, "device %d of node %q is of model %q, which is not accepted", index, id, d.Model))
	}
	if need := max(g.MinMemory, g.Memory); d.Memory < need {
		list = append(list, object(rulePlace, "device %d of node %q has %d bytes, %d needed", index, id, d.Memory, need))
	}
	return list
}

// lost is the reason why a task that holds this place loses it with the node
// or a device (S7), or 0.
func (n *verifiedNode) lost(devices []int) allot.Code {
	if n.source.Lost {
		return allot.NodeLost
	}
	for _, d := range devices {
		if n.source.Devices[d].Unhealthy {
			return allot.DeviceLost
		}
	}
	return 0
}

// claimLost is the reason why a claim of this place cannot be honoured (S4),
// or 0: the place is lost, the task might not be put there any more, its island
// included, or what runs and is claimed there, this claim included, does not fit.
func (n *verifiedNode) claimLost(f *verifiedForm, r *allot.Request, devices []int) allot.Code {
	if lost := n.lost(devices); lost != 0 {
		return lost
	}
	if _, _, apart := n.apart(r, devices); apart || len(n.unsuitable(f, r, devices)) > 0 || len(n.overfull(r, devices, false, true)) > 0 {
		return allot.PlaceLost
	}
	return 0
}

// inNodeSet says whether a set means the node: the zero set means all.
func inNodeSet(s allot.NodeSet, named map[string]bool, n *allot.Node) bool {
	if len(s.IDs) == 0 && s.Selector == nil {
		return true
	}
	return named[n.ID] || s.Selector != nil && selects(*s.Selector, n.Labels)
}

// selects says whether the labels satisfy all that the selector asks (P1).
func selects(s placement.Selector, labels map[string]string) bool {
	for key, want := range s.Labels { // all must hold: order cannot matter
		if have, ok := labels[key]; !ok || have != want {
			return false
		}
	}
	return !slices.ContainsFunc(s.Expressions, func(e placement.Expression) bool {
		return !holdsFor(e, labels)
	})
}

// holdsFor gives an expression the meaning that Kubernetes does.
func holdsFor(e placement.Expression, labels map[string]string) bool {
	value, present := labels[e.Key]
	switch e.Operator {
	case placement.In:
		return present && slices.Contains(e.Values, value)
	case placement.NotIn:
		return !present || !slices.Contains(e.Values, value)
	case placement.Exists:
		return present
	case placement.DoesNotExist:
		return !present
	}
	if !present || len(e.Values) != 1 {
		return false
	}
	have, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return false
	}
	bound, err := strconv.ParseInt(e.Values[0], 10, 64)
	if err != nil {
		return false
	}
	switch e.Operator {
	case placement.Gt:
		return have > bound
	case placement.Lt:
		return have < bound
	}
	return false
}

// turnsAway says whether a taint keeps off a task of these tolerations, by the
// meaning that Kubernetes gives them.
// No effect means NoSchedule in a taint and all effects in a toleration.
func turnsAway(t placement.Taint, tolerations []placement.Toleration) bool {
	effect := cmp.Or(t.Effect, placement.NoSchedule)
	if effect == placement.PreferNoSchedule {
		return false
	}
	return !slices.ContainsFunc(tolerations, func(l placement.Toleration) bool {
		switch {
		case l.Effect != placement.DefaultEffect && l.Effect != effect,
			l.Key != "" && l.Key != t.Key:
			return false
		case l.Operator == placement.TolerationExists:
			return true
		default:
			return l.Value == t.Value
		}
	})
}

// sortedNames are the resources of a request; most requests name none.
func sortedNames(amounts map[string]int64) []string {
	if len(amounts) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(amounts))
}

func setOfNames(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}
