package queue

import (
	"github.com/google/btree"

	"github.com/allotsched/allot/quota"
)

// Queues are the pending workloads of one pool, in order. Make them with [New].
// They are not safe for concurrent use. Methods that are given an index of no
// leaf of the tree do nothing and report false.
type Queues struct {
	tree    *quota.Tree
	request func(Item) quota.Amounts
	ranking ranking

	parent     []int32     // by queue; noQueue above the topmost
	place      []int32     // by queue: where it enters its group
	groups     []group     // by parent + 1
	contenders []contender // by queue

	divided   []int32   // the tree's indices of the divided resources
	requested []int64   // what each leaf's first item requests of them
	pending   []pending // by queue; inner ones stay empty
	dropped   []bool
	count     int
	stale     int32 // the leaf that has changed since the tournaments were played, or noQueue
	used      bool  // and so has the use on its path
	spare     *btree.FreeListG[Item]
}

// New returns the queues of a tree with nothing in them. O(queues × resources).
func New(c Config) *Queues {
	if c.Tree == nil {
		return &Queues{groups: make([]group, 1), stale: noQueue}
	}
	n := c.Tree.Queues()
	q := &Queues{
		tree:       c.Tree,
		request:    c.Request,
		ranking:    c.Order.ranking(),
		parent:     make([]int32, n),
		place:      make([]int32, n),
		groups:     make([]group, n+1),
		contenders: make([]contender, n),
		divided:    c.divided(),
		pending:    make([]pending, n),
		dropped:    make([]bool, n),
		stale:      noQueue,
		spare:      btree.NewFreeListG[Item](btree.DefaultFreeListSize),
	}
	q.requested = make([]int64, n*len(q.divided))
	q.enter(&c)
	q.arrange()
	return q
}

// enter makes every queue a contender without pending work.
func (q *Queues) enter(c *Config) {
	width := len(q.divided)
	given := make([]entitlement, len(q.parent)*width)
	for i := range q.contenders {
		q.parent[i] = int32(q.tree.Parent(i))
		own := given[i*width:][:width:width]
		for j, r := range q.divided {
			own[j] = c.entitlement(i, r)
		}
		q.contenders[i] = contender{
			queue:        int32(i),
			created:      instant(entry(c.Created, i)),
			entitlements: own,
			leaf:         noQueue,
		}
	}
}

// arrange gives every queue its place in the tournament of its sibling group.
func (q *Queues) arrange() {
	size := make([]int32, len(q.groups))
	for i, parent := range q.parent {
		q.place[i] = size[parent+1] // for now its number among its siblings
		size[parent+1]++
	}
	places := make([]int32, 2*len(q.parent))
	for i := range places {
		places[i] = noQueue
	}
	for i, n := range size {
		q.groups[i].places, places = places[:2*n:2*n], places[2*n:]
	}
	for i, parent := range q.parent {
		q.place[i] += size[parent+1]
	}
}

// Fill adds items to a leaf, in any order; what waits there already is not
// added again. It is meant for what is known at the beginning, in bulk: linear
// if the items come sorted by O1, else O(n log n). It reports whether the leaf
// takes part, and copies the items.
func (q *Queues) Fill(leaf int, items []Item) bool {
	if !q.takesPart(leaf) {
		return false
	}
	p := &q.pending[leaf]
	q.count -= p.len()
	p.fill(items)
	q.count += p.len()
	q.changed(leaf, false)
	return true
}

// Push adds one item to a leaf: one that waits again, or an elastic workload
// that asks for its next task (G2). It reports whether it was added; it is not
// if it waits there already or the leaf was dropped. O(log items), and
// O(depth × log siblings) where it becomes the leaf's first.
func (q *Queues) Push(leaf int, it Item) bool {
	if !q.takesPart(leaf) || !q.pending[leaf].push(it, q.spare) {
		return false
	}
	q.count++
	q.changed(leaf, false)
	return true
}

// Remove takes an item away, the first of its leaf or any other, and reports
// whether it waited. Costs are those of Push; removing the first of what came
// by Fill searches nothing.
func (q *Queues) Remove(leaf int, it Item) bool {
	if !q.takesPart(leaf) || !q.pending[leaf].remove(it) {
		return false
	}
	q.count--
	q.changed(leaf, false)
	if c := &q.contenders[leaf]; it == c.best {
		c.leaf = noQueue // so that it is asked anew should it come back
	}
	return true
}

// Best returns the item that is next in the pool's order, and its leaf; ok is
// false when nothing waits. It is what O2, walked from the root down, comes to.
// O(1).
func (q *Queues) Best() (leaf int, it Item, ok bool) {
	q.settle()
	top := q.groups[0].winner()
	if top == noQueue {
		return 0, Item{}, false
	}
	c := &q.contenders[top]
	return int(c.leaf), c.best, true
}

// Touch takes note that the use of a leaf, and so of every queue above it, has
// changed in the tree (O2: 're-evaluated after every start'). The queues of this
// path are weighed anew, and no others, with what the tree says when it comes to
// matter: at the next Best, or when another leaf changes. O(depth × log siblings)
// comparisons, no allocation.
func (q *Queues) Touch(leaf int) {
	if !q.isLeaf(leaf) {
		return
	}
	q.changed(leaf, true)
}

// Redraw replaces the fair shares, laid out as [Config.Shares], and what is guaranteed,
// as [Config.Guaranteed] where that was given, and weighs every queue anew.
// O(leaves × depth × log siblings).
func (q *Queues) Redraw(shares, guaranteed []int64) {
	q.settle()
	for i := range q.contenders {
		own := q.contenders[i].entitlements
		for j := range own {
			at := i*q.tree.Resources() + int(own[j].resource)
			own[j].share = max(0, entry(shares, at))
			if guaranteed != nil {
				own[j].guaranteed = max(0, entry(guaranteed, at))
			}
		}
	}
	for i := range q.contenders {
		if q.isLeaf(i) && q.contenders[i].leaf != noQueue {
			q.climb(int32(i), true)
		}
	}
}

// Drop ends the part of a leaf: what waits there is forgotten and nothing is
// added any more. It serves [StrictQueue], whose blocked head blocks its queue.
func (q *Queues) Drop(leaf int) {
	if !q.takesPart(leaf) {
		return
	}
	q.dropped[leaf] = true
	q.count -= q.pending[leaf].len()
	q.pending[leaf].clear()
	q.changed(leaf, false)
}

// Len returns the number of items that wait, those of dropped leaves not
// counted. O(1).
func (q *Queues) Len() int { return q.count }

func (q *Queues) isLeaf(leaf int) bool {
	return leaf >= 0 && leaf < len(q.parent) && len(q.groups[leaf+1].places) == 0
}

func (q *Queues) takesPart(leaf int) bool { return q.isLeaf(leaf) && !q.dropped[leaf] }

// changed notes that a leaf has changed. What follows from it waits until it
// matters, as one turn changes the same leaf several times: its first item
// goes, its use grows, an item comes back.
func (q *Queues) changed(leaf int, used bool) {
	if q.stale != int32(leaf) {
		q.settle()
		q.stale = int32(leaf)
	}
	q.used = q.used || used
}

// settle brings the tournaments up to date with the leaf that has changed.
func (q *Queues) settle() {
	if q.stale == noQueue {
		return
	}
	c, used := &q.contenders[q.stale], q.used
	q.stale, q.used = noQueue, false
	it, waits := q.pending[c.queue].first()
	switch {
	case !waits:
		c.leaf = noQueue
	case used || c.leaf == noQueue || it != c.best:
		c.leaf, c.best = c.queue, it
		q.ask(c)
	default:
		return
	}
	q.climb(c.queue, used)
}

// ask notes what the first item of a leaf requests of the divided resources.
func (q *Queues) ask(leaf *contender) {
	if q.ranking.weigh == nil || q.request == nil {
		return
	}
	requested := q.requestedBy(leaf.queue)
	clear(requested)
	amounts := q.request(leaf.best)
	for i, r := range q.divided {
		// Both lists are short and sorted by resource.
		for len(amounts) > 0 && amounts[0].Resource < r {
			amounts = amounts[1:]
		}
		if len(amounts) > 0 && amounts[0].Resource == r {
			requested[i] = max(0, amounts[0].Value)
		}
	}
}

func (q *Queues) requestedBy(leaf int32) []int64 {
	n := len(q.divided)
	return q.requested[int(leaf)*n:][:n]
}

// climb weighs queue anew, plays it against its siblings, and goes on with its
// parent. Unless the use on the path has changed it ends where a group's winner
// is what it was.
func (q *Queues) climb(queue int32, used bool) {
	for ; queue != noQueue; queue = q.parent[queue] {
		c := &q.contenders[queue]
		if below := q.groups[queue+1]; len(below.places) > 0 {
			c.leaf = below.winner()
			if c.leaf != noQueue {
				winner := &q.contenders[c.leaf]
				c.leaf, c.best = winner.leaf, winner.best
			}
		}
		if c.leaf != noQueue && q.ranking.weigh != nil {
			q.ranking.weigh(c, q.tree, q.requestedBy(c.leaf))
		}
		if !q.replay(queue) && !used {
			return
		}
	}
}
