package engine

import (
	"context"
	"slices"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/difference"
	"github.com/allotsched/allot/internal/settling"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// An Incremental goes the rounds of a solve (Decide) with the orders that it keeps,
// and with a bound: of whom it is plain that they are refused, a turn is none. Where the
// bound does not hold, as room may have to be made, the rounds are gone once more without
// it, by orders that are filled anew.

// mostStarts is after how many starts the bound is given up: to fill the orders anew
// starts many at less cost each.
const mostStarts = 256

// A trial is one decision by the orders that are kept, and what it takes to take it back.
type trial struct {
	*Incremental
	decision *cluster.Decision

	starts []int32 // works
	held   int     // len of world.Live before
	told   bool    // of the table
	moves  []orderMove
	memos  []trialMemo
	marks  []trialMark
}

// An orderMove is an item that came or went: into an order, or else into those of
// a kind.
type orderMove struct {
	pool  *incrementalPool
	order *queue.Queues
	kind  int32
	leaf  int
	item  queue.Item
	came  bool
}

// A trialMemo is what a definition remembered before the first start.
type trialMemo struct {
	definition *cluster.Definition
	refused    cluster.Memo
}

// A trialMark is how far the journals of a pool were, and what its solver knew.
type trialMark struct {
	index   placement.Mark
	tree    quota.Mark
	refused []cluster.Memo
}

// A keptLine is who waits in a pool, in the orders that are kept: of each kind the first.
type keptLine struct {
	*trial
	pool   *incrementalPool
	before int             // how many moves there were when the pass at hand began
	over   []*queue.Queues // those of the pass at hand that are over
	// Of the order at hand: witness is a kind that may start, None if none is known; of
	// pool.active, unseen definitions from the one at on, round about, may have another.
	order      *queue.Queues
	witness    int32
	at, unseen int
}

// Decide decides on what has been told, and leaves it as it was.
func (t *Incremental) Decide(ctx context.Context) (*cluster.Decision, error) {
	d, ok, err := t.decide(ctx)
	if ok || err != nil {
		return d, err
	}
	return t.solve(ctx)
}

// decide goes the rounds by the orders that are kept; ok is false where the bound does
// not tell what is decided.
func (t *Incremental) decide(ctx context.Context) (d *cluster.Decision, ok bool, err error) {
	if err := ctx.Err(); err != nil || t.special > 0 || !t.suited {
		return nil, false, err
	}
	w := t.world
	t.resumeEffort()
	t.decided++
	d = &cluster.Decision{World: w, Number: t.decided}
	one := &trial{Incremental: t, decision: d, held: len(w.Live), told: w.Room.Told, moves: t.spareMoves[:0]}
	w.Journal = t.journal.Begin()
	w.Room.Told = false // nobody asks the evaluators, who need not follow
	t.displace(d)
	for _, q := range t.pools {
		q.solver.ctx, q.solver.decision, q.solver.kept = ctx, d, &keptLine{trial: one, pool: q}
		one.marks = append(one.marks, trialMark{q.pool.Index.Mark(), q.pool.Tree.Mark(), nil})
	}
	if d.Unplain = one.mayMakeRoom(); !d.Unplain {
		err = rounds(w, d)
	}
	if ok = err == nil && !d.Unplain; ok {
		if err = difference.Close(w, d); err == nil {
			tellActions(w, d)
			keepPromises(d)
		}
	}
	one.takeBack()
	return d, ok && !t.cut(), err
}

// displace writes what has been lost with nodes (S7), by workload.
func (t *Incremental) displace(d *cluster.Decision) {
	w := t.world
	list := SortedKeys(t.displaced)
	slices.SortFunc(list, w.CompareIDs)
	for _, i := range list {
		settling.Of(w).ReadTasks(d, i, nil, nil)
	}
}

// lineUp gives who was refused in the last pass another turn, and who was blocked.
func (l *keptLine) lineUp() {
	l.pool.solver.enqueuing().unblock()
	for _, m := range l.moves[l.before:] { // and not what comes to them meanwhile
		if k := &l.world.Works[m.item.ID]; m.pool == l.pool && m.order != nil && !m.came && l.isHead(k, m.item) {
			l.move(m.order, m.leaf, m.item, true)
		}
	}
	l.before, l.over = len(l.moves), l.over[:0]
}

// isHead says whether the item is the first of its kind.
func (l *keptLine) isHead(k *cluster.Work, it queue.Item) bool {
	first, some := l.kindOf(k, it).items.First()
	return some && first == it
}

// kindOf is the kind of an item.
func (l *keptLine) kindOf(k *cluster.Work, it queue.Item) *waitingClass {
	return &l.pool.kinds[l.pool.kindAt(l.pool.keyOf(it.ID, k, it.Stage > 0))]
}

// plainlyRefused says of who has its turn whether he would be refused; otherwise it is
// tried, and what the definitions remember is kept. Before the first start that he has no
// place is found out first, as it will be true of the next decision as well.
func (l *keptLine) plainlyRefused(k *cluster.Work, it queue.Item) bool {
	kind := l.kindOf(k, it)
	kind.turned = l.pool.look
	if len(l.starts) == 0 && !l.mayStart(kind) || len(l.starts) > 0 && !l.pool.admits(kind, l.pool.solver.phase) {
		return true
	}
	l.remember()
	return false
}

// started takes note of a start: the next of its kind stands in the order, and the
// workload itself waits for its next task (G2). Then others may start than before, and
// room may be made.
func (l *keptLine) started(order *queue.Queues, it queue.Item) {
	w, q := l.world, l.pool
	k := &w.Works[it.ID]
	l.starts = append(l.starts, it.ID)
	q.run(&k.Form, true) // it might be evicted again
	l.drop(q.kindAt(q.keyOf(it.ID, k, it.Stage > 0)), it)
	if d := w.Definition(k, 0); d.Elastic && wantsMore(w, k) {
		if next, ok := itemOf(w, it.ID, 0); ok {
			l.join(q.solver.asOrdered(next), k)
		}
	}
	if l.decision.Unplain = len(l.starts) > mostStarts || l.mayMakeRoom(); !l.decision.Unplain {
		l.look(order)
	}
}

// block takes who waits in a queue out of the order (O4).
func (l *keptLine) block(leaf int32) {
	q := l.pool
	for _, at := range q.byLeaf[leaf] {
		if kind := &q.kinds[at]; q.orderOf(kind) == q.solver.main {
			first, _ := kind.items.First()
			l.move(q.solver.main, int(leaf), first, false)
		}
	}
}

// drop takes an item that started out of its kind, and lets the next stand in
// the order.
func (l *keptLine) drop(at int32, it queue.Item) {
	q := l.pool
	k := &q.kinds[at]
	q.remove(at, it)
	l.moves = append(l.moves, orderMove{pool: q, kind: at, item: it})
	if next, some := k.items.First(); some {
		l.move(q.orderOf(k), int(k.leaf), next, true)
	}
}

// join lets a workload that started wait for its next task.
func (l *keptLine) join(it queue.Item, k *cluster.Work) {
	q := l.pool
	at := q.kindAt(q.keyOf(it.ID, k, it.Stage > 0))
	kind := &q.kinds[at]
	first, some := kind.items.First()
	q.add(at, it)
	l.moves = append(l.moves, orderMove{pool: q, kind: at, item: it, came: true})
	if some && first.Compare(it) < 0 {
		return
	}
	if some {
		l.move(q.orderOf(kind), int(kind.leaf), first, false)
	}
	l.move(q.orderOf(kind), int(kind.leaf), it, true)
}

// move takes an item out of an order or puts it there, unless its queue is blocked.
func (l *keptLine) move(order *queue.Queues, leaf int, it queue.Item, came bool) {
	q := l.pool
	if came && order == q.solver.main && q.solver.enqueuing().dropped(int32(leaf)) {
		return
	}
	if came && order.Push(leaf, it) || !came && order.Remove(leaf, it) {
		l.moves = append(l.moves, orderMove{pool: q, order: order, leaf: leaf, item: it, came: came})
	}
}

// remember keeps before the first try what the definitions remember: what is refused
// after a start may be possible when it has been taken back.
func (t *trial) remember() {
	if t.memos != nil {
		return
	}
	t.memos = []trialMemo{}
	for at, q := range t.pools {
		for _, d := range q.active {
			d := &q.pool.Definitions[d]
			t.memos = append(t.memos, trialMemo{d, d.Refused})
		}
		t.marks[at].refused = slices.Clone(q.solver.refused)
	}
}

// takeBack brings all back to rest.
func (t *trial) takeBack() {
	w := t.world
	t.spareMoves = t.moves
	for _, m := range slices.Backward(t.moves) {
		switch {
		case m.order != nil && m.came:
			m.order.Remove(m.leaf, m.item)
		case m.order != nil:
			m.order.Push(m.leaf, m.item)
		case m.came:
			m.pool.remove(m.kind, m.item)
		default:
			m.pool.add(m.kind, m.item)
		}
	}
	w.Journal.Undo(w)
	w.Journal, w.Room.Told = nil, t.told
	w.Room.Rest()
	for _, i := range t.starts {
		f := &w.Works[i].Form
		t.pools[f.Pool].run(f, false)
	}
	clear(w.Live[t.held:])
	w.Live = w.Live[:t.held]
	for at, q := range t.pools {
		q.solver.kept, q.solver.phase = nil, withinLines
		q.solver.enqueuing().unblock()
		q.pool.Index.Undo(t.marks[at].index)
		q.pool.Tree.Undo(t.marks[at].tree)
		if t.memos != nil {
			q.solver.refused = t.marks[at].refused
		}
	}
	for _, i := range t.starts {
		f := &w.Works[i].Form
		t.pools[f.Pool].touch(f.Queue)
	}
	for _, m := range t.memos {
		m.definition.Refused = m.refused
	}
}
