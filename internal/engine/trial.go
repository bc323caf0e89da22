package engine

import (
	"context"
	"slices"

	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// mostStarts is after how many starts a trial leaves the decision to a solve from
// scratch, which starts many at less cost each.
const mostStarts = 256

// A trial is one short decision, and what it takes to take it back.
type trial struct {
	*Incremental
	ctx      context.Context
	decision *Decision

	starts []int32 // works
	held   int     // len of world.live before
	told   bool    // of the table
	moves  []orderMove
	memos  []trialMemo
	marks  []trialMark
	unsure bool // it cannot tell what is decided
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
	definition         *Definition
	refused, refusedAt int64
}

// A trialMark is how far the journals of a pool were, and what its solver knew.
type trialMark struct {
	index   placement.Mark
	tree    quota.Mark
	refused []int64
}

// Decide decides on what has been told, and leaves it as it was: by a trial of
// those who may plainly start, or by the loop of a solve.
func (t *Incremental) Decide(ctx context.Context) (*Decision, error) {
	d, ok, err := t.decide(ctx)
	if ok || err != nil {
		return d, err
	}
	return t.solve(ctx)
}

// decide is a trial; ok is false if it cannot tell what is decided.
func (t *Incremental) decide(ctx context.Context) (d *Decision, ok bool, err error) {
	if err := ctx.Err(); err != nil || t.special > 0 || !t.suited {
		return nil, false, err
	}
	w := t.world
	turn := &trial{Incremental: t, ctx: ctx, decision: &Decision{World: w}, held: len(w.live), told: w.Room.told}
	w.journal = &journal{known: make(map[int32]bool)}
	w.Room.told = false // nobody asks the evaluators, who need not follow
	turn.displace()
	for _, q := range t.pools {
		q.solver.ctx, q.solver.decision = ctx, turn.decision
		turn.marks = append(turn.marks, trialMark{q.pool.Index.Mark(), q.pool.Tree.Mark(), nil})
	}
	err = turn.rounds()
	if ok = err == nil && !turn.unsure; ok {
		if err = w.Close(turn.decision); err == nil {
			w.tellActions(turn.decision)
		}
	}
	turn.takeBack()
	return turn.decision, ok, err
}

// displace writes what has been lost with nodes (S7), by workload.
func (t *trial) displace() {
	w := t.world
	list := SortedKeys(t.displaced)
	slices.SortFunc(list, w.dividing().compareIDs)
	for _, i := range list {
		w.settling().readTasks(t.decision, i, nil, nil)
	}
	t.decision.Settled = len(t.decision.Actions)
}

// rounds are those of world.round (M9) for who makes no room, puts nobody back
// and grows by no ladder.
func (t *trial) rounds() error {
	if t.mayMakeRoom() {
		t.unsure = true
		return nil
	}
	for {
		before := len(t.starts)
		for _, now := range [...]attempt{withinLines, beyondLines} {
			if err := t.runPhase(now); err != nil || t.unsure {
				return err
			}
		}
		if len(t.starts) == before {
			return nil
		}
	}
}

// runPhase is world.runPhase: the passes of all pools, again where something has
// started after somebody was refused by a search that is no proof, or where heads
// block.
func (t *trial) runPhase(now attempt) error {
	d := t.decision
	for again := true; again && !t.unsure; {
		d.unsure, d.again, d.blocked = false, false, false
		before := len(t.starts)
		for _, q := range t.pools {
			q.solver.phase = now
			first := len(t.moves)
			for _, order := range q.orders {
				if err := t.pass(q, order, now); err != nil || t.unsure {
					return err
				}
			}
			t.rearm(q, first)
		}
		again = d.again || d.blocked && len(t.starts) > before
	}
	return nil
}

// pass gives the workloads of an order their turns, until nobody is left who may
// start. A turn of whom it is plain that he is refused is none; but he stands in
// the way of those behind him in his queue until it would be his (O2), and blocks
// what the policy says (O4).
func (t *trial) pass(q *incrementalPool, order *queue.Queues, now attempt) error {
	s := q.solver
	for live := t.findLive(q, order, now); live > 0 && !t.unsure; {
		leaf, it, ok := order.Best()
		if !ok || order == s.main && s.blocker != None && q.pool.Policy.Queueing == queue.StrictPool {
			break
		}
		t.decision.Work.Turns++
		if t.decision.Work.Turns%cancelTurns == 0 && t.ctx.Err() != nil {
			return t.ctx.Err()
		}
		k := &t.world.Works[it.ID]
		at := q.kindAt(q.keyOf(it.ID, k, it.Stage > 0))
		t.move(q, order, leaf, it, false)
		if s.blocker != None && k.Form.NonPreemptible && order == s.main {
			continue // only preemptible work backfills
		}
		if q.kinds[at].live == q.look {
			started, err := t.try(q, at, it)
			if err != nil {
				return err
			}
			if started {
				t.decision.again = t.decision.again || t.decision.unsure
				live = t.findLive(q, order, now)
				continue
			}
			q.kinds[at].live = 0
			live--
		}
		if now == withinLines && t.mayReplace(q, &q.kinds[at]) {
			t.unsure = true
			return nil
		}
		if err := t.refuse(q, k, it); err != nil {
			return err
		}
	}
	for i := range q.kinds {
		t.unsure = t.unsure || now == withinLines && q.kinds[i].items.Len() > 0 && t.mayReplace(q, &q.kinds[i])
	}
	return nil
}

// refuse is what solver.refuse does of it where no room is made.
func (t *trial) refuse(q *incrementalPool, k *Work, it queue.Item) error {
	t.decision.unsure = t.decision.unsure || t.world.Definition(k, 0).Unsure
	if it.Stage > 0 {
		return nil // it blocks nothing
	}
	leaf, err := q.solver.enqueuing().blocks(it.ID, 0)
	if leaf == None || err != nil {
		return err
	}
	for _, at := range q.byLeaf[leaf] {
		if kind := &q.kinds[at]; q.orderOf(kind) == q.solver.main {
			first, _ := kind.items.First()
			t.move(q, q.solver.main, int(leaf), first, false)
		}
	}
	return nil
}

// rearm gives who was refused since a move another turn in the next pass, and
// who was blocked.
func (t *trial) rearm(q *incrementalPool, first int) {
	q.solver.enqueuing().unblock()
	for _, m := range slices.Clone(t.moves[first:]) {
		if k := &t.world.Works[m.item.ID]; m.order != nil && !m.came && t.isHead(q, k, m.item) {
			t.move(q, m.order, m.leaf, m.item, true)
		}
	}
}

// isHead says whether the item is the first of its kind.
func (t *trial) isHead(q *incrementalPool, k *Work, it queue.Item) bool {
	first, some := q.kinds[q.kindAt(q.keyOf(it.ID, k, it.Stage > 0))].items.First()
	return some && first == it
}

// try starts the first of a kind if it can.
func (t *trial) try(q *incrementalPool, at int32, it queue.Item) (bool, error) {
	w := t.world
	k := &w.Works[it.ID]
	t.remember()
	result, err := q.solver.start(k, it, &k.Form)
	if err != nil || result != started {
		return false, err
	}
	t.starts = append(t.starts, it.ID)
	q.running[k.Form.Queue].add(runOf(&k.Form)) // it might be evicted again
	q.touch(k.Form.Queue)
	t.drop(q, at, it)
	if d := w.Definition(k, 0); d.Elastic && w.wants(k) {
		if next, ok := w.item(it.ID, 0); ok {
			t.join(q, q.solver.asOrdered(next), k)
		}
	}
	t.unsure = len(t.starts) > mostStarts || t.mayMakeRoom()
	return true, nil
}

// drop takes an item that started out of its kind, and lets the next stand in
// the order.
func (t *trial) drop(q *incrementalPool, at int32, it queue.Item) {
	k := &q.kinds[at]
	q.remove(at, it)
	t.moves = append(t.moves, orderMove{pool: q, kind: at, item: it})
	if next, some := k.items.First(); some {
		t.move(q, q.orderOf(k), int(k.leaf), next, true)
	}
}

// join lets a workload that started wait for its next task.
func (t *trial) join(q *incrementalPool, it queue.Item, k *Work) {
	at := q.kindAt(q.keyOf(it.ID, k, it.Stage > 0))
	kind := &q.kinds[at]
	first, some := kind.items.First()
	q.add(at, it)
	t.moves = append(t.moves, orderMove{pool: q, kind: at, item: it, came: true})
	if some && first.Compare(it) < 0 {
		return
	}
	if some {
		t.move(q, q.orderOf(kind), int(kind.leaf), first, false)
	}
	t.move(q, q.orderOf(kind), int(kind.leaf), it, true)
}

// move takes an item out of an order or puts it there, unless its queue is blocked.
func (t *trial) move(q *incrementalPool, order *queue.Queues, leaf int, it queue.Item, came bool) {
	if came && order == q.solver.main && q.solver.blockers[leaf] != None {
		return
	}
	if came && order.Push(leaf, it) || !came && order.Remove(leaf, it) {
		t.moves = append(t.moves, orderMove{pool: q, order: order, leaf: leaf, item: it, came: came})
	}
}

// remember keeps before the first start what the definitions remember: what is refused
// after it may be possible when it has been taken back.
func (t *trial) remember() {
	if t.memos != nil {
		return
	}
	t.memos = []trialMemo{}
	for at, q := range t.pools {
		for _, d := range q.active {
			d := &q.pool.Definitions[d]
			t.memos = append(t.memos, trialMemo{d, d.refused, d.refusedAt})
		}
		t.marks[at].refused = slices.Clone(q.solver.refused)
	}
}

// takeBack brings all back to rest.
func (t *trial) takeBack() {
	w := t.world
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
	w.journal.undo(w)
	w.journal, w.Room.told = nil, t.told
	w.Room.rest()
	for _, i := range t.starts {
		f := &w.Works[i].Form
		t.pools[f.Pool].running[f.Queue].remove(runOf(f))
	}
	clear(w.live[t.held:])
	w.live = w.live[:t.held]
	for at, q := range t.pools {
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
		m.definition.refused, m.definition.refusedAt = m.refused, m.refusedAt
	}
}
