package allot

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/allotsched/allot/internal/table"
)

// A change is checked by the checker of [Check] on a small part of the state:
// what changed, and what stands on the nodes that it concerns. What looks at the
// whole of a state is either kept in bounds, or has all of it checked again.

// bounds are what a snapshot keeps of the checks that look at the whole state.
type bounds struct {
	// frame is a checker that knows the levels, the pools and the queues. It has nothing of
	// nodes and workloads, is never written to, and shared by versions.
	frame *checker
	// named are the nodes that pools and queues name, and least those that tell
	// the least memory of a pool: nodes without which something else is checked
	// otherwise.
	named, least map[string]bool
	// requested and tasks are of all workloads, capacity and foreign of all
	// nodes: exact, as nothing overflows in a state that is no fault.
	requested, capacity, foreign sums
	tasks                        int64
	// given is at least how many resources there are that queues give, each by itself and by class.
	given int
	// longest is at least the longest duration, in seconds: with a later Now it may go
	// beyond all times.
	longest int64
}

// checkWhole checks all, in the words of [Check], and finds the bounds.
func checkWhole(n *objects) (bounds, error) {
	c := &checker{s: n.frame(), workloads: n.works(), kinds: new(kinds)}
	c.state()
	if len(c.faults) > 0 {
		return bounds{}, Check(n.state()) // which names the workloads
	}
	c.smallestMemory(0)
	b := bounds{requested: c.requested, tasks: c.tasks, longest: c.longest, capacity: c.capacity, named: namedNodes(c.s), least: c.leastNodes()}
	for i := range c.s.Nodes {
		b.foreign.addAmounts(c.s.Nodes[i].Foreign)
	}
	b.given = distinctlyGiven(c.s.Queues)
	b.frame = &checker{
		s:      &State{Levels: c.s.Levels, Pools: c.s.Pools},
		levels: c.levels, pools: c.pools, queues: c.queues, queuePool: c.queuePool, parent: c.parent, inner: c.inner, hasQueues: c.hasQueues,
		classes: c.classes, leastMemory: c.leastMemory,
	}
	return b, nil
}

// namedNodes are the nodes that pools and queues name.
func namedNodes(s *State) map[string]bool {
	named := make(map[string]bool)
	note := func(set *NodeSet) {
		for _, id := range set.IDs {
			named[id] = true
		}
	}
	for i := range s.Pools {
		note(&s.Pools[i].Nodes)
	}
	for i := range s.Queues {
		note(&s.Queues[i].Nodes)
	}
	for i := range s.Reservations {
		for _, n := range s.Reservations[i].Nodes {
			named[n.Node] = true
		}
	}
	return named
}

// leastNodes are a node for each pool that has the least device memory of it.
func (c *checker) leastNodes() map[string]bool {
	found, find := make(map[string]bool), newNodeFinder(c.s.Nodes, c.nodes)
	for i, memory := range c.leastMemory {
		set := new(NodeSet)
		if len(c.s.Pools) > 0 {
			set = &c.s.Pools[i].Nodes
		}
		for _, n := range find.of(set) {
			if memory > 0 && leastMemory(c.s.Nodes, []int32{n}) == memory {
				found[c.s.Nodes[n].ID] = true
				break
			}
		}
	}
	return found
}

func (s *sums) addAmounts(amounts map[string]int64) {
	for name, n := range amounts { // sums have no order
		s.of(name).add(n, 1)
	}
}

// checkChange checks the state that a change has come to from one that has been
// checked: the error is that of [Check].
func checkChange(before, after *objects, known bounds) (bounds, error) {
	d := &delta{
		before: before, after: after,
		nodes: table.Differences(before.nodes, after.nodes), queues: table.Differences(before.queues, after.queues),
		workloads: after.changedSince(before.workloads),
	}
	next, sure := d.check(known)
	if !sure {
		var err error
		if next, err = checkWhole(after); err != nil {
			return bounds{}, err
		}
	}
	for _, k := range d.workloads {
		after.regulate(k.Before, k.After)
	}
	return next, nil
}

// A delta is what two versions do not share.
type delta struct {
	before, after *objects
	nodes         []table.Difference[Node]
	queues        []table.Difference[Queue]
	workloads     []table.Difference[Workload]
}

// check checks the parts that are concerned. It is sure only where all is well
// for sure.
func (d *delta) check(known bounds) (next bounds, sure bool) {
	if !slices.Equal(d.before.levels, d.after.levels) || d.before.pools != d.after.pools || d.before.reserved != d.after.reserved || slices.ContainsFunc(d.queues, rehung) {
		return next, false
	}
	c := known.checker(d.after)
	for _, n := range d.nodes {
		if reshaped(n) && !d.stillHolds(n, &known, c) || otherDevices(n) && known.named[n.After.ID] {
			return next, false
		}
	}
	at := root()
	c.time(&at, "now", c.s.Now)
	c.text(&at, "revision", c.s.Revision)
	if d.before.budgets != d.after.budgets {
		c.s.Budgets = listed(d.after.budgets)
		c.checkBudgets(&at)
	}
	d.checkNodes(c, &at)
	if len(d.queues) > 0 {
		d.checkQueues(c, &at)
	}
	for _, k := range d.workloads {
		if k.After != nil && !c.know(d.after, k.After.Tasks) {
			return next, false
		}
	}
	books := d.open(c)
	list := at.field("workloads")
	here := list.at(0) // which one it is, the check of the whole tells
	for _, k := range d.workloads {
		if k.After != nil {
			c.checkWorkload(&here, k.After)
		}
	}
	next, sure = known.moved(d, c)
	if !sure || len(c.faults) > 0 {
		return next, false
	}
	d.enterResidents(c, books, &here)
	if c.checkLedger(&at); len(c.faults) > 0 {
		return next, false
	}
	books.close(c)
	return next, true
}

// checker is one that knows the pools and queues, and of all else what it is
// told.
func (b *bounds) checker(n *objects) *checker {
	c := *b.frame
	c.s = &State{Now: n.now, Revision: n.revision, Levels: b.frame.s.Levels, Pools: b.frame.s.Pools}
	return &c
}

// reshaped says that a node came or went, or changed in what others see of it:
// in which pools and queues it is, and the memory by which requests are charged.
func reshaped(n table.Difference[Node]) bool {
	return n.Before == nil || n.After == nil || !maps.Equal(n.Before.Labels, n.After.Labels) ||
		!slices.EqualFunc(n.Before.Devices, n.After.Devices, func(a, b Device) bool { return a.Memory == b.Memory })
}

// otherDevices says that a node has another number of devices, of which a reservation may
// name some.
func otherDevices(n table.Difference[Node]) bool {
	return n.Before != nil && n.After != nil && len(n.Before.Devices) != len(n.After.Devices)
}

// stillHolds says that nothing is otherwise for others by what became of a node:
// it is in one pool at most, nothing that names it misses it, and no least memory changes.
func (d *delta) stillHolds(n table.Difference[Node], known *bounds, c *checker) bool {
	if n.Before != nil && known.least[n.Before.ID] {
		return false
	}
	if n.After == nil {
		return !known.named[n.Before.ID] && d.after.residents.Get(n.Before.ID) == nil
	}
	memory := leastMemory([]Node{*n.After}, []int32{0})
	pools := 0
	for i := range c.leastMemory {
		if len(c.s.Pools) > 0 && !c.s.Pools[i].Nodes.takes(n.After) {
			continue
		}
		pools++
		if least := c.leastMemory[i]; memory > 0 && (least == 0 || memory < least) {
			return false
		}
	}
	return pools < 2
}

// rehung says that a queue came or went, or that something else than what it is
// given has changed.
func rehung(q table.Difference[Queue]) bool {
	return q.Before == nil || q.After == nil || q.Before.Pool != q.After.Pool || q.Before.Parent != q.After.Parent ||
		!reflect.DeepEqual(q.Before.Nodes, q.After.Nodes)
}

// checkNodes checks the nodes that came or changed, and lists for the ledger
// those on which something else may fit now.
func (d *delta) checkNodes(c *checker, at *path) {
	list := at.field("nodes")
	here := list.at(0)
	for _, n := range d.nodes {
		if n.After == nil {
			continue
		}
		c.checkNode(&here, n.After)
		if n.Before == nil || n.Before.MaxTasks != n.After.MaxTasks || !maps.Equal(n.Before.Capacity, n.After.Capacity) ||
			!slices.EqualFunc(n.Before.Devices, n.After.Devices, func(a, b Device) bool { return a.Model == b.Model && a.Memory == b.Memory }) {
			c.list(n.After)
		}
	}
}

func (c *checker) list(n *Node) {
	if c.nodes == nil {
		c.nodes = make(map[string]int32)
	}
	c.nodes[n.ID] = int32(len(c.s.Nodes))
	c.s.Nodes = append(c.s.Nodes, *n)
}

// know lists the nodes of tasks; false if there is one that does not exist.
func (c *checker) know(all *objects, tasks []Task) bool {
	for i := range tasks {
		if _, listed := c.nodes[tasks[i].Node]; listed {
			continue
		}
		n := all.nodes.Get(tasks[i].Node)
		if n == nil {
			return false
		}
		c.list(n)
	}
	return true
}

// checkQueues checks all queues, whose sums go up to the roots, but for the
// nodes that they name.
func (d *delta) checkQueues(c *checker, at *path) {
	q := checker{s: &State{Pools: c.s.Pools, Queues: listed(d.after.queues)}, pools: c.pools}
	q.hasQueues = make([]bool, len(c.hasQueues))
	for i := range q.s.Queues {
		q.s.Queues[i].Nodes = NodeSet{}
	}
	q.checkQueues(at)
	c.faults = append(c.faults, q.faults...)
}

// moved are the bounds after a change of which the checker has seen all that
// came; not sure where they are too large.
func (b *bounds) moved(d *delta, came *checker) (next bounds, sure bool) {
	next = *b
	gone := new(checker) // of nothing, as most often only somebody has come
	if slices.ContainsFunc(d.workloads, func(k table.Difference[Workload]) bool { return k.Before != nil }) {
		gone = b.checker(d.before)
	}
	top := root()
	list := top.field("workloads")
	here := list.at(0)
	for _, k := range d.workloads {
		if k.Before != nil {
			asked := *k.Before
			asked.Tasks = nil
			gone.checkWorkload(&here, &asked)
		}
	}
	var newCapacity, newForeign, oldCapacity, oldForeign sums
	for _, n := range d.nodes {
		if n.After != nil {
			newCapacity.addAmounts(n.After.Capacity)
			newForeign.addAmounts(n.After.Foreign)
		}
		if n.Before != nil {
			oldCapacity.addAmounts(n.Before.Capacity)
			oldForeign.addAmounts(n.Before.Foreign)
		}
	}
	next.tasks += came.tasks - gone.tasks
	next.longest = max(next.longest, came.longest)
	if secondsOf(d.after.now) >= endSecond-next.longest {
		return next, false
	}
	sure = next.tasks <= fewestTasks(came.s.Pools) // else the check of all counts by pool
	sure = next.requested.move(&came.requested, &gone.requested) && sure
	sure = next.capacity.move(&newCapacity, &oldCapacity) && sure
	for _, q := range d.queues {
		next.given += 2 * len(q.After.Resources) // of one that came or went all is checked
	}
	queues := d.after.queues.Len()
	sure = sure && queues*(1+next.given+len(next.capacity.list)+len(next.requested.list)) <= mostFigures(queues, 0)
	return next, next.foreign.move(&newForeign, &oldForeign) && sure
}

// move adds what came and takes away what has gone, in a copy where that makes a
// difference. It is false if a total is too large.
func (s *sums) move(came, gone *sums) bool {
	var next sums
	change := func(from *sums, sign total) {
		for _, sum := range from.list {
			*next.of(sum.name) += sign * sum.total
		}
	}
	change(came, 1)
	change(gone, -1)
	if !slices.ContainsFunc(next.list, func(s sum) bool { return s.total != 0 }) {
		return true
	}
	change(s, 1)
	fits := true
	*s = sums{}
	for _, sum := range next.list {
		if sum.total != 0 {
			*s.of(sum.name) = sum.total
		}
		fits = fits && sum.total < tooLarge
	}
	return fits
}

// regulate keeps the list of what is irregular: a workload has taken the place
// of another.
func (n *objects) regulate(before, after *Workload) {
	was, is := irregular(before), irregular(after)
	switch {
	case is:
		n.irregular = n.irregular.Put(after.ID, after)
	case was:
		n.irregular = n.irregular.Remove(before.ID)
	}
}

// irregular says that [Apply] may change the workload though no action names
// it: its PartialSince is not what its tasks say (G1), or it was promised something, or some of it is behind a promise (B6, B7).
func irregular(k *Workload) bool {
	if k == nil {
		return false
	}
	if k.Reserved != nil || !k.HeldSince.IsZero() || k.isBehind() {
		return true
	}
	if len(k.Tasks) == 0 { // as all who wait
		return !k.PartialSince.IsZero()
	}
	kept := *k
	ap := applier{state: &State{Now: time.Unix(firstSecond, 0)}}
	ap.keepPartial(&kept)
	return !kept.PartialSince.Equal(k.PartialSince)
}
