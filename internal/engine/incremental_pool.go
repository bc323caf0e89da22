package engine

import (
	"math"
	"slices"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/division"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// An incrementalPool is what an Incremental keeps of a pool beside its world.
type incrementalPool struct {
	pool   *cluster.Pool
	solver *Solver
	// orders hold of all that are alike the first: of workloads without GPUs, where
	// the policy decides them by themselves (P7), and then of all others. They are
	// nil where they have to be made.
	orders []*queue.Queues

	kinds   []waitingClass
	kindOf  map[waitingKey]int32
	byLeaf  [][]int32 // kinds by queue, of which somebody waits
	asked   []waitingAsks
	active  []int32          // definitions that somebody waits with
	running []runningClasses // by queue
	// quiet says by queue that nobody who waits there has a right to room, as its use, its
	// line, who waits and who runs there are what they were when that was found out.
	quiet []bool
	lines []int64 // by queue × Width + resource: what of them that was found out by
	look  uint64  // the last, see keptLine.look

	recount bool    // what was impossible is possible, or the other way round
	divided []int64 // what the shares were divided by, see inputs
	spare   []int64 // for its memory
	shares  []int64 // what the orders know of them
	// guaranteed is what the orders know that the queues may defend.
	guaranteed []int64
	used       []int32 // leaves of which the use is not what the order knows
	// freed are the nodes on which something became free, the last of them when
	// pool.Freed became what it is.
	freed []int32
	// size is what the pool's workloads count for in what its searches may cost; resumed are
	// the pool's changes when what they cost was last resumed, and renewed is that nothing that costs
	// was remembered then: it was forgotten, or there was nothing.
	size    int
	resumed int64
	renewed bool
}

// A waitingKey is what workloads have in common of which all are refused when
// one is: a kind, and whether they run and want one task more (G2). Where the
// order looks at the age of who waits, alone is a work that stands by itself, as
// in solver.gather, plus one: the next like it is younger.
type waitingKey struct {
	kind
	above bool
	alone int32
}

// keyOf is the kind of a work that waits, above its minimum or not.
func (q *incrementalPool) keyOf(i int32, k *cluster.Work, above bool) waitingKey {
	f := &k.Form
	key := waitingKey{kind{f.Queue, f.Definition, f.Priority, f.NonPreemptible}, above, 0}
	if p := q.pool.Policy; p.Order == queue.ShareThenAge && (k.Live >= 0 || q.pool.Blocks) {
		key.alone = i + 1
	}
	return key
}

// A waitingClass are the workloads of one kind that wait.
type waitingClass struct {
	waitingKey
	items queue.List
	// inLeaf and inAsked are where in the lists of its queue and definition it is,
	// while somebody waits.
	inLeaf, inAsked int32
	turned          uint64 // the look since which the first of them has had its turn
}

// A waitingAsks is what a definition's workloads wait for.
type waitingAsks struct {
	kinds  []int32 // of which somebody waits
	waits  int32   // workloads in them
	active int32   // where in incrementalPool.active, plus one
	one    quota.Amounts
}

// runningClasses are how many workloads of a queue hold something, and the lowest
// priority of those that may be evicted; the highest there is if there is none.
type runningClasses struct {
	counts map[runningClass]int32
	lowest int32
}

// readLines reads the lines of the queues, which have been divided anew (see quiet).
func (q *incrementalPool) readLines() {
	p := q.pool
	for at := range p.Shares {
		if line := max(p.Shares[at].FairShare, p.Shares[at].Guaranteed); line != q.lines[at] {
			q.lines[at], q.quiet[at/p.Width] = line, false
		}
	}
}

// run counts a workload of a queue that comes to hold something, or holds nothing any more.
func (q *incrementalPool) run(f *cluster.Form, holds bool) {
	q.quiet[f.Queue] = false
	if holds {
		q.running[f.Queue].add(runOf(f))
	} else {
		q.running[f.Queue].remove(runOf(f))
	}
}

func (r *runningClasses) add(run runningClass) {
	r.counts[run]++
	if !run.nonPreemptible {
		r.lowest = min(r.lowest, run.priority)
	}
}

func (r *runningClasses) remove(run runningClass) {
	if r.counts[run]--; r.counts[run] > 0 {
		return
	}
	delete(r.counts, run)
	if run.nonPreemptible || run.priority > r.lowest {
		return
	}
	r.lowest = math.MaxInt32
	for other := range r.counts { // a minimum: order cannot matter
		if !other.nonPreemptible {
			r.lowest = min(r.lowest, other.priority)
		}
	}
}

// A runningClass is what matters of a workload that runs for who might evict it.
type runningClass struct {
	definition, priority int32
	nonPreemptible       bool
}

func newDeskPool(p *cluster.Pool, s *Solver) *incrementalPool {
	q := &incrementalPool{
		pool: p, solver: s, kindOf: make(map[waitingKey]int32),
		byLeaf: make([][]int32, len(p.Parent)), running: make([]runningClasses, len(p.Parent)),
		quiet: make([]bool, len(p.Parent)), lines: make([]int64, len(p.Parent)*p.Width),
	}
	for i := range q.running {
		q.running[i] = runningClasses{make(map[runningClass]int32), math.MaxInt32}
	}
	s.enqueuing().unblock()
	if p.Policy.CPUOnlyApart {
		s.apart = new(queue.Queues) // until there are orders, so that items are as in theirs
	}
	return q
}

// inputs are what the division of the pool depends on and what changes: capacity
// and demand, with the parts of devices that it comes in. They are good until the next time.
func (q *incrementalPool) inputs() []int64 {
	p := q.pool
	in := append(slices.Grow(q.spare[:0], len(p.Capacity)+3*len(p.Demand.Asked)+len(p.Parent)), p.Capacity...)
	for i := range p.Reaches {
		in = append(in, p.Reaches[i].Out...)
	}
	for i, d := range p.Demand.Asked {
		running := p.Tree.NonPreemptible(i/p.Width, i%p.Width)
		in = append(in, d.Preemptible, d.NonPreemptible, running)
	}
	for q := range p.Demand.Parts {
		in = append(in, int64(p.Demand.Parts[q].Some))
	}
	q.spare = in
	return in
}

// kindAt is the index of a kind.
func (q *incrementalPool) kindAt(key waitingKey) int32 {
	at, known := q.kindOf[key]
	if known {
		return at
	}
	at = int32(len(q.kinds))
	q.kindOf[key] = at
	q.kinds = append(q.kinds, waitingClass{waitingKey: key})
	for len(q.asked) <= int(key.definition) {
		q.asked = append(q.asked, waitingAsks{})
	}
	q.asked[key.definition].one = q.pool.Definitions[key.definition].Sets[0].Charge
	return at
}

// add puts an item into a kind, and remove takes it out.
func (q *incrementalPool) add(at int32, it queue.Item) {
	k := &q.kinds[at]
	if k.items.Len() == 0 {
		q.quiet[k.leaf] = false
		leaf, a := &q.byLeaf[k.leaf], &q.asked[k.definition]
		k.inLeaf, k.inAsked = int32(len(*leaf)), int32(len(a.kinds))
		*leaf, a.kinds = append(*leaf, at), append(a.kinds, at)
	}
	k.items.Push(it)
}

func (q *incrementalPool) remove(at int32, it queue.Item) {
	k := &q.kinds[at]
	if !k.items.Remove(it) || k.items.Len() > 0 {
		return
	}
	leaf, a := q.byLeaf[k.leaf], &q.asked[k.definition]
	last := leaf[len(leaf)-1]
	leaf[k.inLeaf], q.kinds[last].inLeaf = last, k.inLeaf
	q.byLeaf[k.leaf] = leaf[:len(leaf)-1]
	last = a.kinds[len(a.kinds)-1]
	a.kinds[k.inAsked], q.kinds[last].inAsked = last, k.inAsked
	a.kinds = a.kinds[:len(a.kinds)-1]
}

// push lets a workload wait, and pull lets it wait no more.
func (q *incrementalPool) push(at int32, it queue.Item) {
	k := &q.kinds[at]
	first, some := k.items.First()
	q.add(at, it)
	a := &q.asked[k.definition]
	if a.waits++; a.active == 0 {
		q.active = append(q.active, k.definition)
		a.active = int32(len(q.active))
	}
	q.head(k, first, some)
}

func (q *incrementalPool) pull(at int32, it queue.Item) {
	k := &q.kinds[at]
	first, some := k.items.First()
	q.remove(at, it)
	a := &q.asked[k.definition]
	if a.waits--; a.waits == 0 {
		last := q.active[len(q.active)-1]
		q.active[a.active-1] = last
		q.asked[last].active = a.active
		q.active = q.active[:len(q.active)-1]
		a.active = 0
	}
	q.head(k, first, some)
}

// head has the first of a kind stand in its order, which was another, or none.
func (q *incrementalPool) head(k *waitingClass, was queue.Item, some bool) {
	first, more := k.items.First()
	if q.orders == nil || some == more && first == was {
		return
	}
	order := q.orderOf(k)
	if some {
		order.Remove(int(k.leaf), was)
	}
	if more {
		order.Push(int(k.leaf), first)
	}
}

func (q *incrementalPool) orderOf(k *waitingClass) *queue.Queues {
	return q.solver.orderOf(&q.pool.Definitions[k.definition])
}

// touch tells the orders that the use of a leaf has changed.
func (q *incrementalPool) touch(leaf int32) {
	q.quiet[leaf] = false
	for _, order := range q.orders {
		order.Touch(int(leaf))
	}
}

// newOrders makes the orders and puts the first of every kind into its own.
func (q *incrementalPool) newOrders(w *cluster.World) {
	s := q.solver
	s.main = division.NewOrder(q.pool, w, q.pool.Policy.Order)
	q.orders = []*queue.Queues{s.main}
	if q.pool.Policy.CPUOnlyApart {
		s.apart = division.NewOrder(q.pool, w, queue.Global)
		q.orders = []*queue.Queues{s.apart, s.main}
	}
	for leaf, kinds := range q.byLeaf {
		items := make(map[*queue.Queues][]queue.Item, len(q.orders))
		for _, at := range kinds {
			k := &q.kinds[at]
			if first, some := k.items.First(); some {
				items[q.orderOf(k)] = append(items[q.orderOf(k)], first)
			}
		}
		for _, order := range q.orders {
			order.Fill(leaf, items[order])
		}
	}
}

// free takes note that something has become free on a node.
func (q *incrementalPool) free(node int32) {
	q.pool.Free()
	q.pool.Changes++
	if len(q.freed) == 4*mostFreed { // those before are too long ago to be looked at
		q.freed = append(q.freed[:0], q.freed[len(q.freed)-mostFreed:]...)
	}
	q.freed = append(q.freed, node)
}

// mostFreed is on how many nodes something may have become free before a search
// of all is cheaper than a look at these.
const mostFreed = 32

// stillRefused says whether a shape for which there was no node has none now: nothing
// that has become free since takes it.
func (q *incrementalPool) stillRefused(shape placement.Shape, then cluster.Memo) bool {
	since := q.pool.Freed + 1 - then.Freed
	if then.Freed == 0 || since > int64(min(mostFreed, len(q.freed))) {
		return false
	}
	return !slices.ContainsFunc(q.freed[len(q.freed)-int(since):], func(node int32) bool {
		return q.pool.Index.RoomOn(shape, node) > 0
	})
}
