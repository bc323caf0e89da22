package allot

import (
	"context"
	"slices"
	"sync"

	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/table"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// A desk is where decisions are prepared: a world that stays compiled and
// settled, and follows from one version of a snapshot to another by what differs
// between them, forth or back. A decision at a desk is taken back when it has
// been written down, so that the desk is at rest again.
//
// It decides by the same functions as a solve from scratch. First it lets only those
// have their turn of whom it is not plain that they are refused (desk.decide). Where
// that is not sure to decide the same, as room may have to be made, claims are in
// flight or forms are to be chosen between, it goes the rounds of a solve (desk.solve).
type desk struct {
	at    nouns
	world *world
	slots map[string]int32 // work by ID
	spare []int32          // works that nobody is
	lives []int32          // and what they would hold
	pools []*deskPool

	// special counts workloads with which only the loop of a solve decides, displaced
	// are those that have lost tasks with a node. Those that claim places are settled
	// when that is decided upon, as it depends on all others.
	special      int
	alternatives int     // workloads with several forms
	all          []int32 // works
	suited       bool    // to a trial, see suitsTrial
	unlike       []bool  // by work: it is one of the special
	claiming     map[int32]bool
	displaced    map[int32]bool
	// book is who stands where between decisions, nil until the loop of a solve has
	// been asked.
	book  *roomBook
	built int // desk.gathered when it was built
	alive int // holdings that are somebody's
}

// desks are those of the versions of one snapshot that nobody sits at. There are
// as many as decisions were ever made at once, up to a few.
type desks struct {
	lock sync.Mutex
	idle []*desk
	// pools and queues are those that were last found to be nothing for a desk, and
	// unsuited for how many decisions more they are not looked at again: it may
	// have been a workload that made them so.
	unsuited int
	pools    table.Table[Pool]
	queues   table.Table[Queue]
}

// unsuitedFor is how many decisions are made from scratch before it is tried
// again whether there can be a desk.
const unsuitedFor = 64

// mostDesks bounds the memory that idle desks keep.
const mostDesks = 4

// take gets a desk that is at the version, or nil if it cannot have one.
func (d *desks) take(n *nouns) *desk {
	d.lock.Lock()
	var t *desk
	if last := len(d.idle) - 1; last >= 0 {
		t, d.idle = d.idle[last], d.idle[:last]
	}
	unsuited := d.unsuited > 0 && d.pools == n.pools && d.queues == n.queues
	d.unsuited = max(0, d.unsuited-1)
	d.lock.Unlock()
	switch {
	case unsuited:
		return nil
	case t != nil && t.follow(n):
		return t
	}
	if t = newDesk(n); t == nil {
		d.lock.Lock()
		d.unsuited, d.pools, d.queues = unsuitedFor, n.pools, n.queues
		d.lock.Unlock()
	}
	return t
}

func (d *desks) giveBack(t *desk) {
	d.lock.Lock()
	defer d.lock.Unlock()
	if len(d.idle) < mostDesks {
		d.idle = append(d.idle, t)
	}
}

// newDesk compiles a version; nil if its policies are not for a desk.
func newDesk(n *nouns) *desk {
	w, err := compile(n.state())
	if err != nil || !suitsDesk(w) {
		return nil
	}
	t := &desk{
		at: *n, world: w, displaced: make(map[int32]bool), claiming: make(map[int32]bool),
		unlike: make([]bool, len(w.works)),
		slots:  make(map[string]int32, len(w.works)),
	}
	t.suited = suitsTrial(w)
	w.newSolvers(context.Background(), &decision{world: w})
	if w.scorePools() != nil {
		return nil
	}
	for i := range w.works {
		t.all = append(t.all, int32(i))
	}
	for i, p := range w.pools {
		p.works = t.all
		t.pools = append(t.pools, newDeskPool(p, w.solvers[i]))
		p.demand = make([]fairshare.Demand, len(p.queues)*len(p.resources))
	}
	for i := range w.works {
		w.works[i].rank = int64(i) * rankGap
		t.slots[w.source(&w.works[i]).ID] = int32(i)
		if t.settle(int32(i)) != nil {
			return nil
		}
	}
	if t.built = t.gathered(); !t.rest() {
		return nil
	}
	return t
}

// suitsDesk says whether the policies of all pools are such that a desk can
// decide by them.
func suitsDesk(w *world) bool {
	return !slices.ContainsFunc(w.pools, func(p *pool) bool {
		return p.mixed || p.domains && p.topology == nil // the topology is compiled with all else
	})
}

// suitsTrial says whether they are such that it is enough to try those who may
// plainly start.
func suitsTrial(w *world) bool {
	return !slices.ContainsFunc(w.pools, func(p *pool) bool {
		return p.lends || p.scored || p.constrained || p.policy.Fitting != gang.AnyNodes || p.policy.Queueing == queue.BackfillSingles ||
			p.capsDemand()
	})
}

// follow goes to another version; false if a new desk is the better way: then
// this one is spoilt.
func (t *desk) follow(n *nouns) bool {
	if t.at.pools != n.pools || t.at.budgets != n.budgets || !slices.Equal(t.at.levels, n.levels) {
		return false
	}
	nodes, works := table.Differences(t.at.nodes, n.nodes), table.Differences(t.at.workloads, n.workloads)
	queues := table.Differences(t.at.queues, n.queues)
	if len(works) > 1000+t.at.workloads.Len()/4 || t.stale() {
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
	for _, c := range works {
		if c.Before != nil {
			touched[t.slots[c.Before.ID]] = true
		}
		if c.After != nil && !t.knows(c.After) {
			return false
		}
	}
	w := t.world
	w.now, w.state.Now, w.state.Revision = micros(n.now), n.now, n.revision
	t.refreshBook()
	for i := range touched { // each workload for itself: order cannot matter
		if t.unsettle(i) != nil {
			return false
		}
	}
	for _, c := range nodes {
		if !t.changeNode(c) {
			return false
		}
	}
	if !t.replace(works, n, touched) {
		return false
	}
	for _, i := range sortedKeys(touched) {
		if t.settle(i) != nil {
			return false
		}
	}
	t.at = *n
	return t.set(queues) && t.rest()
}

func sortedKeys(set map[int32]bool) []int32 {
	keys := make([]int32, 0, len(set))
	for key := range set { // sorted below
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// stale says whether the desk has gathered so much of what is no longer there
// that it is time for a new one.
func (t *desk) stale() bool { return t.gathered() > 2*t.built+4096 }

// gathered is how many definitions and kinds there are, be it of nobody.
func (t *desk) gathered() (n int) {
	for _, q := range t.pools {
		n += len(q.pool.definitions) + len(q.kinds)
	}
	return n
}

// rest divides the capacity anew where that has become necessary, and tells the
// orders what the queues use.
func (t *desk) rest() bool {
	for i, q := range t.pools {
		if q.pool.capsDemand() {
			countDemand(t.world, int32(i))
		}
		if in := q.inputs(); !slices.Equal(in, q.divided) {
			q.divided = in
			if t.world.dividePool(i) != nil {
				return false
			}
			if shares := q.pool.fairShares(); !slices.Equal(shares, q.shares) {
				q.shares = shares
				for _, order := range q.orders {
					order.Redraw(shares)
				}
			}
		}
		if q.orders == nil {
			q.newOrders(t.world)
		}
		for _, leaf := range q.used {
			q.touch(leaf)
		}
		q.used = q.used[:0]
	}
	return true
}

// residentsOf are the works that have tasks on a node, before and after.
func (t *desk) residentsOf(node string) (works []int32) {
	if r := t.at.residents.Get(node); r != nil {
		for _, id := range r.workloads {
			works = append(works, t.slots[id])
		}
	}
	return works
}

// canChange says whether a change of a node is one that the desk can follow: it
// is lost or cordoned, or no longer.
func (t *desk) canChange(c table.Difference[Node]) bool {
	if c.Before == nil || c.After == nil {
		return false
	}
	w := t.world
	n, known := w.nodeID[c.After.ID]
	if !known || w.nodePool[n] < 0 {
		return false
	}
	// Where what is impossible for ever blocks nobody (O4), a lost node is none.
	p := w.pools[w.nodePool[n]]
	blocks := p.policy.Queueing != queue.BestEffort
	// Where quotas are kept from lending, their tree was grown with the capacity (Q5).
	return equalButUse(c.Before, c.After) && (c.Before.Lost == c.After.Lost || !blocks) && !p.lends
}

// knows says whether every resource that a workload requests is one that the
// world was compiled with: every pool, as if it had been there then.
func (t *desk) knows(k *Workload) bool {
	known := func(sets []PodSet) bool {
		for i := range sets {
			for name := range sets[i].Request.Resources { // all or not: order cannot matter
				if slices.ContainsFunc(t.world.pools, func(p *pool) bool {
					_, ok := p.byName[name]
					return !ok
				}) {
					return false
				}
			}
		}
		return true
	}
	for a := range k.Alternatives {
		if !known(k.Alternatives[a].PodSets) {
			return false
		}
	}
	return known(k.PodSets)
}

// changeNode takes a node into use or out of it.
func (t *desk) changeNode(c table.Difference[Node]) bool {
	w := t.world
	n := w.nodeID[c.After.ID]
	q := t.pools[w.nodePool[n]]
	p, position := q.pool, w.position[n]
	w.state.Nodes[n] = *c.After
	w.readHealth(n)
	was, is := !c.Before.Lost && !c.Before.Cordoned, !c.After.Lost && !c.After.Cordoned
	if was == is {
		return true
	}
	if !p.index.Cordon(position, !is) {
		return false
	}
	if p.placed[position].Cordoned = !is; q.solver.sound == p.index {
		q.solver.sound = nil // it was sound as long as nothing was cordoned
	}
	open, amounts := *c.After, make([]int64, len(p.capacity))
	open.Cordoned = false
	p.addUsable(amounts, &open)
	for r, n := range amounts {
		if was {
			n = -n
		}
		p.capacity[r] += n
	}
	p.changes++
	if p.room != nil {
		p.room.Touch(position)
	}
	if is {
		q.free(position)
	}
	return true
}

// replace has the works be those of the version.
func (t *desk) replace(changed []table.Difference[Workload], n *nouns, touched map[int32]bool) bool {
	w := t.world
	var came []string
	for _, c := range changed {
		switch {
		case c.After == nil:
			i := t.slots[c.Before.ID]
			delete(t.slots, c.Before.ID)
			delete(touched, i)
			w.works[i] = work{live: -1, status: ending}
			w.state.Workloads[i] = Workload{}
			t.spare = append(t.spare, i)
		case c.Before == nil:
			came = append(came, c.After.ID)
		}
	}
	if !t.seat(came, n) {
		return false
	}
	for _, c := range changed {
		if c.After == nil {
			continue
		}
		i := t.slots[c.After.ID]
		touched[i] = true
		w.state.Workloads[i] = *c.After
		rank := w.works[i].rank
		if w.compileWork(i, i) != nil {
			return false
		}
		w.works[i].rank = rank
	}
	t.suited = suitsTrial(w)
	return suitsDesk(w)
}

// canSet says whether a change of a queue is one of its settings alone, and of
// resources that the world was compiled with.
func (t *desk) canSet(c table.Difference[Queue]) bool {
	if rehung(c) {
		return false
	}
	p := t.world.pools[t.world.leaf[c.After.ID].pool]
	if p.policy.Queueing != queue.BestEffort { // what is impossible for ever may be otherwise
		return false
	}
	return (p.counted || !c.After.MaxWorkloads.Given()) &&
		!slices.ContainsFunc(c.After.Resources, func(r QueueResource) bool {
			return !slices.Contains(p.resources, resource{r.Resource, r.Class})
		})
}

// set gives queues other settings: their pools get new trees, with the use of the
// old ones.
func (t *desk) set(changed []table.Difference[Queue]) bool {
	w := t.world
	for _, c := range changed {
		at := w.leaf[c.After.ID]
		w.state.Queues[w.pools[at.pool].queues[at.queue]] = *c.After
		t.pools[at.pool].divided, t.pools[at.pool].orders = nil, nil
	}
	if len(changed) > 0 {
		t.closeBook() // minimum runtimes may be others
	}
	for i, q := range t.pools {
		if q.orders == nil && regrow(w, i) != nil {
			return false
		}
	}
	t.suited = suitsTrial(w)
	return suitsDesk(w)
}

// regrow makes the tree of a pool anew.
func regrow(w *world, index int) error {
	p := w.pools[index]
	old := p.tree
	p.room = nil // it is of the old tree
	if err := p.growTree(w.state); err != nil {
		return err
	}
	for q, leaf := range p.isLeaf {
		if !leaf {
			continue
		}
		var preemptible, rest quota.Amounts
		for r := range p.resources {
			use, non := old.Use(q, r), old.NonPreemptible(q, r)
			preemptible = append(preemptible, quota.Amount{Resource: int32(r), Value: use - non})
			rest = append(rest, quota.Amount{Resource: int32(r), Value: non})
		}
		if err := p.tree.Charge(q, preemptible, false); err != nil {
			return err
		}
		if err := p.tree.Charge(q, rest, true); err != nil {
			return err
		}
	}
	return nil
}
