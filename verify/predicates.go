package verify

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/placement"
)

// A verifiedMiss is the first predicate that a task fails on a node, and for
// amounts of which resource.
type verifiedMiss struct {
	predicate placement.Predicate
	resource  string
}

// reasonNodes checks how many nodes a reason says that each predicate has
// turned away (X1), of all nodes of the pool.
func (v *verifier) reasonNodes(at reasonSpot, f *verifiedForm, r *allot.Reason) {
	set := f.set(r.PodSet)
	if set < 0 {
		return // told already
	}
	counts := maps.Clone(v.misses(f, &f.PodSets[set].Request))
	for _, c := range r.Nodes {
		miss := verifiedMiss{orFree(c.Predicate), c.Resource}
		if counts[miss] -= c.Nodes; counts[miss] == 0 {
			delete(counts, miss)
		}
	}
	if len(counts) == 0 {
		return
	}
	first := slices.MinFunc(slices.Collect(maps.Keys(counts)), func(a, b verifiedMiss) int { // so is it in any order
		return cmp.Or(cmp.Compare(a.predicate, b.predicate), strings.Compare(a.resource, b.resource))
	})
	v.failAt(at, ruleReasons, "%d nodes too few or, below 0, too many that %v %s turns away", counts[first], first.predicate, first.resource)
}

// A verifiedAsker is a queue, by the nodes that it may use, and what is asked for
// there: what asks alike is turned away alike.
type verifiedAsker struct {
	pool     *verifiedPool
	narrowed *verifiedQueue
	request  string
}

// misses counts what turns a task of the queue away, by node: of thousands that
// wait for the same the nodes are looked at once.
func (v *verifier) misses(f *verifiedForm, r *allot.Request) map[verifiedMiss]int {
	q := f.queue
	asker := verifiedAsker{q.pool, q.narrowed, fmt.Sprintf("%#v", *r)}
	if f.closed != nil {
		asker.request += fmt.Sprint(f.closed)
	}
	counts, known := v.missed[asker]
	if known {
		return counts
	}
	counts = make(map[verifiedMiss]int)
	for _, n := range q.pool.nodes {
		if n.source.Lost {
			continue
		}
		if miss := n.miss(f, r); miss.predicate != 0 {
			counts[miss]++
		}
	}
	v.missed[asker] = counts
	return counts
}

// carriedOut makes of the nodes what they are once the plan has been carried out:
// what goes by it has left, and what waits for those that left before it claims, if it does not
// fit beside them, or waits for itself (S5). What starts by an action claims together, and so does
// what moves by one, where too few for the minimum are left (G1): then whatever else of the workload
// waits for something claims too.
func (v *verifier) carriedOut() {
	c := carrying{v, make(map[int]map[string]int), make(map[*newcomer]bool)}
	for i := range v.state.Nodes {
		c.leave(v.nodes[v.state.Nodes[i].ID])
	}
	isShort := c.isShort()
	c.claimAll(func(one *newcomer, _ *allot.Action, w *verifiedWorkload) bool { return c.waiting[one] && isShort(w) })
	c.claimAll(func(one *newcomer, a *allot.Action, w *verifiedWorkload) bool {
		return c.claiming[one.at.action] != nil && (a.Kind != allot.Move || isShort(w))
	})
	keepFree(v)
}

// keepFree has what moves since before the plan, and has yet to leave its old place, keep its new one free, if all
// of a workload is: nothing else comes beside what is leaving there (S4). Where a task moves on its node, its old
// place keeps that room.
func keepFree(v *verifier) {
	moves := make(map[*verifiedWorkload][]allot.Task)
	for _, w := range v.workOrder {
		for _, t := range w.source.Tasks {
			if v.tasks[taskName{w.source.ID, t.PodSet, t.Index}].phase == allot.Claimed && hasBegun(&t) && !leavesItself(w, &t) {
				moves[w] = append(moves[w], t)
			}
		}
	}
	for _, w := range slices.SortedFunc(maps.Keys(moves), func(a, b *verifiedWorkload) int { return strings.Compare(a.source.ID, b.source.ID) }) {
		book := func(p allot.Phase, times int64) {
			for _, t := range moves[w] {
				v.nodes[t.Node].book(v.requestOf(w, w.form, t.PodSet), verifiedTask{p, t.Node, t.Devices}, times)
			}
		}
		book(allot.Claimed, -1)
		book(allot.Running, 1)
		if slices.ContainsFunc(moves[w], func(t allot.Task) bool {
			return len(v.nodes[t.Node].overfull(v.requestOf(w, w.form, t.PodSet), t.Devices, true, false)) > 0
		}) {
			book(allot.Running, -1)
			book(allot.Claimed, 1)
		}
	}
}

// leavesItself says whether a task that claims is still leaving another place of the same node.
func leavesItself(w *verifiedWorkload, claim *allot.Task) bool {
	return slices.ContainsFunc(w.source.Tasks, func(t allot.Task) bool {
		return t.Phase == allot.Terminating && t.Node == claim.Node && t.PodSet == claim.PodSet && t.Index == claim.Index
	})
}

// carrying is what is known while a plan is carried out.
type carrying struct {
	*verifier
	claiming map[int]map[string]int // by action and pod set
	waiting  map[*newcomer]bool     // for those that left before
}

// leave has those leave a node that go by the plan, and those claim that wait for the others.
func (c *carrying) leave(n *verifiedNode) {
	before := make(map[string]bool)
	for _, l := range slices.Clone(n.leavers) {
		if task, ok := c.leaving[l.name]; ok && task.node == l.task.node && sameDevices(task.devices, l.task.devices) {
			before[l.name.workload] = true
		} else {
			n.leave(l, -1)
		}
	}
	var asked []*newcomer
	for k := range n.newcomers {
		one := &n.newcomers[k]
		for id := range before { // one is enough: order cannot matter
			c.waiting[one] = c.waiting[one] || one.after.has(id)
		}
		switch {
		case forItself(c.verifier, one):
			c.claim(n, one)
		case c.waiting[one]:
			n.book(one.request, one.task, -1)
			asked = append(asked, one)
		}
	}
	for _, one := range asked { // what comes first runs where all of them do not fit
		n.book(one.request, one.task, 1)
		if len(n.overfull(one.request, one.task.devices, true, false)) > 0 {
			c.claim(n, one)
		}
	}
}

// claim has a newcomer claim its place.
func (c *carrying) claim(n *verifiedNode, one *newcomer) {
	n.book(one.request, one.task, -1)
	one.task.phase = allot.Claimed
	n.book(one.request, one.task, 1)
	if c.claiming[one.at.action] == nil {
		c.claiming[one.at.action] = make(map[string]int)
	}
	c.claiming[one.at.action][c.plan.Actions[one.at.action].Tasks[one.at.task].PodSet]++
}

// claimAll has those claim of which claims says so.
func (c *carrying) claimAll(claims func(one *newcomer, a *allot.Action, w *verifiedWorkload) bool) {
	for i := range c.state.Nodes {
		n := c.nodes[c.state.Nodes[i].ID]
		for k := range n.newcomers {
			one := &n.newcomers[k]
			a := &c.plan.Actions[one.at.action]
			if one.task.phase != allot.Claimed && claims(one, a, c.workloads[a.Workload]) {
				c.claim(n, one)
			}
		}
	}
}

// isShort says of workloads whether what runs without those that claim by now is too few for the minimum.
func (c *carrying) isShort() func(*verifiedWorkload) bool {
	left := make(map[*verifiedWorkload][]verifiedCounts) // what runs of workloads that claim
	for action, sets := range c.claiming {               // each adds to what is left: order cannot matter
		w := c.workloads[c.plan.Actions[action].Workload]
		if left[w] == nil {
			left[w] = slices.Clone(w.counts)
		}
		for set, n := range sets { // each for itself: order cannot matter
			left[w][w.forms[w.form].set(set)].running -= n
		}
	}
	return func(w *verifiedWorkload) bool {
		return left[w] != nil && !w.forms[w.form].tree().reached(left[w], runningTasks)
	}
}

// forItself says whether the newcomer waits for what its own workload was leaving before (S5).
func forItself(v *verifier, c *newcomer) bool {
	a := &v.plan.Actions[c.at.action]
	return slices.Contains(a.After, a.Workload) && slices.ContainsFunc(v.workloads[a.Workload].source.Tasks, func(t allot.Task) bool {
		return t.Phase == allot.Terminating
	})
}

// orFree is the predicate, that of fragments being the one it stands in for.
func orFree(p placement.Predicate) placement.Predicate {
	if p == placement.Fragmented {
		return placement.FreeDevices
	}
	return p
}

// miss is the first predicate that a task of the queue fails on the node, 0 if
// it fails none.
func (n *verifiedNode) miss(f *verifiedForm, r *allot.Request) verifiedMiss {
	if miss := n.missLasting(f, r); miss.predicate != 0 {
		return miss
	}
	return n.missNow(f, r)
}

// missLasting is the first of those that do not depend on what is on the node.
func (n *verifiedNode) missLasting(f *verifiedForm, r *allot.Request) verifiedMiss {
	switch {
	case !f.queue.reaches(n):
		return verifiedMiss{predicate: placement.NodeSet}
	case f.closed[n.source.ID].whole || n.isOnlyReserved(f, r):
		return verifiedMiss{predicate: placement.Reserved}
	case n.source.Cordoned:
		return verifiedMiss{predicate: placement.Cordoned}
	case !selects(r.Selector, n.source.Labels):
		return verifiedMiss{predicate: placement.Labels}
	case slices.ContainsFunc(n.source.Taints, func(t placement.Taint) bool { return turnsAway(t, r.Tolerations) }):
		return verifiedMiss{predicate: placement.Taints}
	}
	if count := deviceCount(r.GPU); count > 0 {
		if p := n.missDevices(f, r.GPU, count); p != 0 {
			return verifiedMiss{predicate: p}
		}
	}
	for _, resource := range sortedNames(r.Resources) {
		if n.room(resource).usable < r.Resources[resource] && r.Resources[resource] > 0 {
			return verifiedMiss{placement.Capacity, resource}
		}
	}
	return verifiedMiss{}
}

// serves says whether a task could use the device, were it empty.
func (d *verifiedDevice) serves(g allot.GPURequest) bool {
	return (len(g.Models) == 0 || slices.Contains(g.Models, d.source.Model)) && d.source.Memory >= max(g.MinMemory, g.Memory) &&
		!d.source.Unhealthy && d.takes(g, 0, 0)
}

// missDevices is the first predicate about what devices the node has at all.
func (n *verifiedNode) missDevices(f *verifiedForm, g allot.GPURequest, count int) placement.Predicate {
	accepted, large, able := false, false, make(map[string][]int)
	for i := range n.devices {
		d := &n.devices[i]
		if len(g.Models) > 0 && !slices.Contains(g.Models, d.source.Model) {
			continue
		}
		accepted = true
		if d.source.Memory < max(g.MinMemory, g.Memory) {
			continue
		}
		large = true
		if !d.source.Unhealthy && !f.closed[n.source.ID].has([]int{i}) && d.takes(g, 0, 0) {
			able[d.source.Model] = append(able[d.source.Model], i)
		}
	}
	switch {
	case !accepted:
		return placement.Model
	case !large:
		return placement.DeviceMemory
	}
	return n.missAlike(able, g, count, placement.DeviceCount, placement.IslandSize)
}

// missAlike says what so many devices fail of those that are able, by model: their
// number, or that they are in one island. 0 is neither.
func (n *verifiedNode) missAlike(able map[string][]int, g allot.GPURequest, count int, number, island placement.Predicate) placement.Predicate {
	miss := number
	for _, devices := range able { // any will do: order cannot matter
		switch {
		case len(devices) < count:
		case g.Island == placement.AnyIsland || n.hasIsland(devices, g.Island, count):
			return 0
		default:
			miss = island
		}
	}
	return miss
}

// takes says whether the device holds one part of the request beside that much.
func (d *verifiedDevice) takes(g allot.GPURequest, milli, bytes int64) bool {
	if g.Memory > 0 {
		return d.holds(milli, bytes+g.Memory)
	}
	return d.holds(milli+cmp.Or(g.Milli, milliPerDevice), bytes)
}

// missNow is the first predicate about what is held of the node.
func (n *verifiedNode) missNow(f *verifiedForm, r *allot.Request) verifiedMiss {
	free := func(room *verifiedRoom) int64 { return room.usable - max(room.now(), room.then()) }
	count := deviceCount(r.GPU)
	switch {
	case free(&n.slots) < 1:
		return verifiedMiss{predicate: placement.TaskSlots}
	case count == 0 && free(&n.cpuOnly) < 1:
		return verifiedMiss{predicate: placement.CPUOnlySlots}
	}
	for _, resource := range sortedNames(r.Resources) {
		if amount := r.Resources[resource]; amount > 0 && free(n.room(resource)) < amount {
			return verifiedMiss{placement.Resources, resource}
		}
	}
	able := make(map[string][]int)
	for i := range n.devices {
		d := &n.devices[i]
		nowMilli, nowBytes := d.now()
		thenMilli, thenBytes := d.then()
		if !f.closed[n.source.ID].has([]int{i}) && len(n.unsuitableDevice(r.GPU, i)) == 0 && d.takes(r.GPU, nowMilli, nowBytes) && d.takes(r.GPU, thenMilli, thenBytes) {
			able[d.source.Model] = append(able[d.source.Model], i)
		}
	}
	if count > 0 {
		return verifiedMiss{predicate: n.missAlike(able, r.GPU, count, placement.FreeDevices, placement.FreeIsland)}
	}
	return verifiedMiss{}
}
