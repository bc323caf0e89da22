package allot

import (
	"slices"
	"sync"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/engine"
	"github.com/allotsched/allot/internal/table"
)

// A follower keeps a settled world at a version of a snapshot, and has it go on to another by
// what differs between them, forth or back.
type follower struct {
	*engine.Incremental
	at       objects
	compiled table.Table[Node] // the nodes of the version that the world was compiled for
	world    *world
	slots    map[string]int32 // work by ID
}

// isEstranged says whether other nodes are in use than when the world was compiled. One that is
// lost since is a cordoned one here, and what queues lend is told by the capacity of then: the
// same is decided, and told otherwise.
func (t *follower) isEstranged() bool {
	return slices.ContainsFunc(table.Differences(t.compiled, t.at.nodes), func(c table.Difference[Node]) bool {
		return c.Before.Lost != c.After.Lost || c.Before.Cordoned != c.After.Cordoned
	})
}

// followers are the idle ones of the versions of one snapshot. There are
// as many as decisions were ever made at once, up to a few.
type followers struct {
	lock sync.Mutex
	idle []*follower
	// lent are the decisions whose questions are answered in the world of one, the longest
	// lent first.
	lent []*Decision
	// pools and queues are those that were last found to be nothing for a follower, and
	// unsuited for how many decisions more they are not looked at again: it may
	// have been a workload that made them so.
	unsuited int
	pools    table.Table[Pool]
	queues   table.Table[Queue]
}

// unsuitedFor is how many decisions are made from scratch before it is tried
// again whether there can be a follower.
const unsuitedFor = 64

// mostFollowers bounds the memory that followers keep between decisions and questions.
const mostFollowers = 4

// take gets a follower that is at the version, or nil if it cannot have one. One that is
// lent is taken back where none is idle and as many as said are lent.
func (d *followers) take(n *objects, lent int) *follower {
	t, unsuited := d.some(n, lent)
	switch {
	case unsuited:
		return nil
	case t != nil && t.follow(n):
		return t
	}
	if t = newFollower(n); t == nil {
		d.lock.Lock()
		d.unsuited, d.pools, d.queues = unsuitedFor, n.pools, n.queues
		d.lock.Unlock()
	}
	return t
}

// some is a follower at whatever version, if there is one, and whether the version is
// known to be nothing for a follower.
func (d *followers) some(n *objects, lent int) (t *follower, unsuited bool) {
	d.lock.Lock()
	defer d.lock.Unlock()
	unsuited = d.unsuited > 0 && d.pools == n.pools && d.queues == n.queues
	d.unsuited = max(0, d.unsuited-1)
	if last := len(d.idle) - 1; last >= 0 {
		t, d.idle = d.idle[last], d.idle[:last]
	} else if len(d.lent) >= lent {
		t = d.recall()
	}
	return t, unsuited
}

// recall takes back the follower that was lent the longest and that nobody looks at, if
// there is one. The lock is held.
func (d *followers) recall() *follower {
	for i, by := range d.lent {
		if by.lock.TryLock() {
			defer by.lock.Unlock()
			d.lent = slices.Delete(d.lent, i, i+1)
			return by.giveUp()
		}
	}
	return nil
}

// lend takes note that a follower is lent to a decision. Where that makes too many, those that
// were lent the longest are let go.
func (d *followers) lend(to *Decision) {
	d.lock.Lock()
	defer d.lock.Unlock()
	for len(d.idle)+len(d.lent) >= mostFollowers && d.recall() != nil {
	}
	d.lent = append(d.lent, to)
}

// unlend takes note that a decision gives up what was lent to it.
func (d *followers) unlend(by *Decision) {
	d.lock.Lock()
	defer d.lock.Unlock()
	d.lent = slices.DeleteFunc(d.lent, func(other *Decision) bool { return other == by })
}

func (d *followers) giveBack(t *follower) {
	d.lock.Lock()
	defer d.lock.Unlock()
	if len(d.idle)+len(d.lent) < mostFollowers {
		d.idle = append(d.idle, t)
	}
}

// newFollower compiles a version; nil if its policies are not for one.
func newFollower(n *objects) *follower {
	w, err := compileWith(n.frame(), n.works(), false)
	if err != nil {
		return nil
	}
	t := &follower{Incremental: engine.NewIncremental(w.World), at: *n, compiled: n.nodes, world: w, slots: make(map[string]int32, len(w.Works))}
	if t.Incremental == nil {
		return nil
	}
	for i := range w.Works {
		t.slots[w.source(&w.Works[i]).ID] = int32(i)
	}
	w.slots = t.slots
	return t
}

// follow goes to another version; false if a new follower is the better way: then
// this one is spoilt.
func (t *follower) follow(n *objects) bool {
	if !t.sameReserved(n) || t.at.pools != n.pools || t.at.budgets != n.budgets || !slices.Equal(t.at.levels, n.levels) {
		return false
	}
	nodes, works := table.Differences(t.at.nodes, n.nodes), n.changedSince(t.at.workloads)
	queues := table.Differences(t.at.queues, n.queues)
	if len(works) > 1000+t.at.workloads.Len()/4 || t.Stale() {
		return false
	}
	touched := make(map[int32]bool)
	for _, c := range queues {
		if !t.canSet(c) {
			return false
		}
	}
	for _, c := range nodes {
		if !t.canChange(c) {
			return false
		}
		for _, k := range t.residentsOf(c.After.ID) {
			touched[k] = true
		}
	}
	works = t.addAnew(works, nodes, n)
	for _, c := range works {
		if c.Before != nil {
			touched[t.slots[c.Before.ID]] = true
		}
		if c.After != nil && !t.world.knows(c.After) {
			return false
		}
	}
	w := t.world
	w.Now, w.state.Now, w.state.Revision = micros(n.now), n.now, n.revision
	t.RefreshUnits()
	for i := range touched { // each workload for itself: order cannot matter
		if t.Unsettle(i) != nil {
			return false
		}
	}
	for _, c := range nodes {
		if !t.changeNode(c) {
			return false
		}
	}
	for _, p := range w.pools {
		p.compileHeld()
	}
	if !t.replace(works, n, touched) {
		return false
	}
	for _, i := range engine.SortedKeys(touched) {
		if t.Settle(i) != nil {
			return false
		}
	}
	t.at = *n
	if slices.ContainsFunc(w.Pools, func(p *cluster.Pool) bool { return p.Drawn }) && t.isEstranged() {
		return false // a lost node counts for what is drawn, which is another state of all nodes (P5)
	}
	return t.set(queues) && t.Rest()
}

// residentsOf are the works that have tasks on a node, before and after.
func (t *follower) residentsOf(node string) (works []int32) {
	if r := t.at.residents.Get(node); r != nil {
		for _, id := range r.workloads {
			works = append(works, t.slots[id])
		}
	}
	return works
}

// canChange says whether a change of a node is one that can be followed: it
// is lost or cordoned, or no longer.
func (t *follower) canChange(c table.Difference[Node]) bool {
	if c.Before == nil || c.After == nil {
		return false
	}
	w := t.world
	n, known := w.nodeID[c.After.ID]
	if !known || w.NodePool[n] < 0 {
		return false
	}
	if t.at.reserved.Len() > 0 {
		return false // which work may use what there is depends on what of it is reserved
	}
	// Where what is impossible for ever blocks nothing (O4), a lost node is no change of use alone.
	p := w.pools[w.NodePool[n]]
	blocks := p.Blocks
	// Where quotas are kept from lending, their tree was grown with the capacity (Q5).
	return equalButUse(c.Before, c.After) && (c.Before.Lost == c.After.Lost || !blocks) && !p.Lends
}

// knows says whether every resource that a form of a workload requests is one that its pool was
// compiled with.
func (w *world) knows(k *Workload) bool {
	known := func(queue string, sets []PodSet) bool {
		p := w.pools[w.leafOf(k, queue).Pool]
		for i := range sets {
			for name := range sets[i].Request.Resources { // all or not: order cannot matter
				if _, ok := p.byName[name]; !ok {
					return false
				}
			}
		}
		return true
	}
	return known(k.Queue, k.PodSets) && !slices.ContainsFunc(k.Alternatives, func(a Form) bool { return !known(a.Queue, a.PodSets) })
}

// changeNode takes a node into use or out of it.
func (t *follower) changeNode(c table.Difference[Node]) bool {
	w := t.world
	n := w.nodeID[c.After.ID]
	w.state.Nodes[n] = *c.After
	w.readHealth(n)
	defer t.Follow(n, c.Before.Lost != c.After.Lost)
	was, is := !c.Before.Lost && !c.Before.Cordoned, !c.After.Lost && !c.After.Cordoned
	if was == is {
		return true
	}
	p := w.pools[w.NodePool[n]]
	open, amounts := *c.After, make([]int64, len(p.Capacity))
	open.Cordoned = false
	p.addUsable(amounts, &open)
	return t.Use(n, is, amounts)
}

// replace has the works be those of the version.
func (t *follower) replace(changed []table.Difference[Workload], n *objects, touched map[int32]bool) bool {
	w := t.world
	var came []string
	for _, c := range changed {
		switch {
		case c.After == nil:
			i := t.slots[c.Before.ID]
			delete(t.slots, c.Before.ID)
			delete(touched, i)
			t.Drop(i)
			w.forget(i)
			w.workloads[i] = new(Workload)
		case c.Before == nil:
			came = append(came, c.After.ID)
		}
	}
	if !t.seat(came, n) {
		return false
	}
	for _, c := range changed { // some say of others that they are behind them
		if c.After != nil {
			w.workloads[t.slots[c.After.ID]] = c.After
		}
	}
	for _, c := range changed {
		if c.After == nil {
			continue
		}
		i := t.slots[c.After.ID]
		touched[i] = true
		rank := w.Works[i].Rank
		if w.compileWork(i) != nil {
			return false
		}
		w.Works[i].Rank = rank
	}
	w.SomeBehind = false
	for i := range w.behinds { // whether any is: order cannot matter
		w.SomeBehind = w.SomeBehind || slices.ContainsFunc(w.Works[i].Tasks, func(h cluster.Holding) bool { return h.Behind > 0 })
	}
	return t.Suits()
}

// canSet says whether a change of a queue is one of its settings alone, and of
// resources that the world was compiled with.
func (t *follower) canSet(c table.Difference[Queue]) bool {
	if rehung(c) {
		return false
	}
	p := t.world.pools[t.world.leaf[c.After.ID].Pool]
	if (p.Policy.Reserve.Depth > 0 || len(p.Reserved) > 0) && c.Before.Durations != c.After.Durations {
		return false // they are of all its workloads
	}
	if p.Blocks || c.After.Queueing != c.Before.Queueing { // what is impossible for ever may be otherwise
		return false
	}
	return (p.Counted || !c.After.MaxWorkloads.Given()) &&
		!slices.ContainsFunc(c.After.Resources, func(r QueueResource) bool {
			return !slices.Contains(p.resources, resource{r.Resource, r.Class})
		})
}

// set gives queues other settings: their pools get new trees, with the use of the
// old ones.
func (t *follower) set(changed []table.Difference[Queue]) bool {
	w := t.world
	for _, c := range changed {
		at := w.leaf[c.After.ID]
		w.state.Queues[w.pools[at.Pool].queues[at.Queue]] = *c.After
		t.Unrest(at.Pool)
	}
	if len(changed) > 0 {
		t.ForgetUnits() // minimum runtimes may be others
	}
	for i := range w.pools {
		if t.Unordered(i) && t.Replant(i, func() error { return w.pools[i].growTree(w.state) }) != nil {
			return false
		}
	}
	return t.Suits()
}
