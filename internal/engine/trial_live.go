package engine

import (
	"slices"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// look begins to look who may start of an order, unless it is over in this pass: nobody
// of the order has had a turn as things stand now.
func (l *keptLine) look(order *queue.Queues) {
	l.pool.look++
	l.order, l.witness, l.unseen = order, cluster.None, len(l.pool.active)
	if l.pool.solver.phase == growing || slices.Contains(l.over, order) {
		l.unseen = 0
	}
}

// someMayStart says whether somebody who has had no turn since the last look may start. It
// finds one kind of them, the witness, and keeps to it until it has its turn: after a start
// all others need not be looked at again.
func (l *keptLine) someMayStart() bool {
	q := l.pool
	if l.witness != cluster.None && q.kinds[l.witness].turned != q.look {
		return true
	}
	for l.witness = cluster.None; l.unseen > 0; l.unseen-- {
		l.at %= len(q.active)
		if l.witness = l.witnessOf(q.active[l.at]); l.witness != cluster.None {
			return true
		}
		l.at++
	}
	return false
}

// witnessOf is a kind of a definition that may start and has had no turn, or None. That there is no place is found out
// once for all its kinds.
func (l *keptLine) witnessOf(at int32) int32 {
	q := l.pool
	d := &q.pool.Definitions[at]
	if q.solver.orderOf(d) != l.order {
		return cluster.None
	}
	starts, grows := q.hasPlace(at, false), d.Elastic && q.hasPlace(at, true)
	if !starts && !grows {
		return cluster.None
	}
	for _, kind := range q.asked[at].kinds {
		k := &q.kinds[kind]
		if place := starts && !k.above || grows && k.above; place && k.turned != q.look && q.admits(k, q.solver.phase) {
			return kind
		}
	}
	return cluster.None
}

// mayStart says whether one of the kind may start as things stand: some node takes what it
// asks, and the rules of the queue admit it. Otherwise it would be refused now, and by
// whatever starts before it has its turn no less.
func (l *keptLine) mayStart(k *waitingClass) bool {
	q := l.pool
	return q.hasPlace(k.definition, k.above) && q.admits(k, q.solver.phase)
}

// pass takes note that an order is over in this pass: all who are left of it are plainly
// refused, and no start makes way for them.
func (l *keptLine) pass(order *queue.Queues) {
	q := l.pool
	if slices.Contains(l.over, order) {
		return
	}
	l.over = append(l.over, order)
	for i := 0; i < len(q.kinds) && len(l.starts) > 0 && q.solver.phase == withinLines && !l.decision.Unplain; i++ {
		l.decision.Unplain = q.kinds[i].items.Len() > 0 && l.mayReplace(&q.kinds[i])
	}
}

// asks is what one of the kind adds to use.
func (q *incrementalPool) asks(k *waitingClass) quota.Amounts {
	if k.above {
		return q.asked[k.definition].one
	}
	return q.pool.Definitions[k.definition].Asks
}

// admits is what solver.tryUnit asks of the rules.
func (q *incrementalPool) admits(k *waitingClass, now attempt) bool {
	asks := q.asks(k)
	if _, ok := q.pool.Tree.Check(int(k.leaf), asks, k.nonPreemptible); !ok {
		return false
	}
	return now != withinLines || q.solver.enqueuing().strict(k.leaf) || q.pool.Room.Entitled(k.leaf, asks)
}

// hasPlace says whether the nodes have a place for what a definition's workloads
// ask, to start or for one task more. What has none is remembered (O5). Where a
// failed search is no proof, so that none is made here, it says so as soon as
// there is a place for one task of each set.
func (q *incrementalPool) hasPlace(at int32, above bool) bool {
	s, p := q.solver, q.pool
	d := &p.Definitions[at]
	if above {
		return q.hasPlaceForOne(d, 0)
	}
	if d.Refused.Stands(p) {
		return false
	}
	for set, n := range d.Unit.Add {
		if n > 0 && !q.hasPlaceForOne(d, set) {
			return false
		}
	}
	if d.Unsure || d.Unit.Add[0] == 1 {
		return true
	}
	if q.stillRefused(d.Sets[0].Placed, d.Refused) {
		d.Refused = p.UntilRoom()
		return false
	}
	m := p.Index.Mark()
	places, verdict := s.placer.Place(p.Index, d.Gang, d.Unit, d.Place, s.places[:0])
	p.Index.Undo(m)
	s.places = places
	if !verdict.OK {
		d.Refused = p.UntilRoom()
	}
	return verdict.OK
}

// hasPlaceForOne says so of one task of a pod set.
func (q *incrementalPool) hasPlaceForOne(d *cluster.Definition, set int) bool {
	s, shape := q.solver, d.Sets[set].Placed
	if s.isRefused(shape) {
		return false
	}
	if int(shape) < len(s.refused) && q.stillRefused(shape, s.refused[shape]) {
		s.refuseShape(shape)
		return false
	}
	_, ok := q.pool.Index.Find(shape, d.StrategyFor(&d.Sets[set]))
	if !ok {
		s.refuseShape(shape)
	}
	return ok
}

// mayReplace says whether starts of this decision may make way for a kind that is
// within its lines and finds no place (M9). That a place for one task of each set is there
// proves no place where a failed search proves none.
func (l *keptLine) mayReplace(k *waitingClass) bool {
	q := l.pool
	d := &q.pool.Definitions[k.definition]
	if len(l.starts) == 0 || replacedStarts(&q.pool.Policy) == 0 || !q.pool.Room.Entitled(k.leaf, q.asks(k)) || !q.admits(k, withinLines) ||
		!d.Unsure && q.hasPlace(k.definition, k.above) {
		return false
	}
	need := make([]int64, q.pool.Plain)
	for set := range d.Sets {
		n := d.Unit.Add[set]
		if k.above {
			n = 1
		}
		cluster.AddNeed(need, &d.Sets[set], int64(n))
	}
	return freeStarts{q.solver}.isFreeInAll(need)
}

// mayMakeRoom says whether somebody may be made room for: a bound does not tell
// that nobody can (M8).
func (t *trial) mayMakeRoom() bool {
	for _, q := range t.pools {
		if !makesRoom(&q.pool.Policy) {
			continue
		}
		for leaf := range q.byLeaf {
			if t.leafMayMakeRoom(q, int32(leaf)) {
				return true
			}
		}
	}
	return false
}

// leafMayMakeRoom says so of one queue. A queue that has all that its lines give
// it may only preempt, and only who has somebody of lower priority.
func (t *trial) leafMayMakeRoom(q *incrementalPool, leaf int32) bool {
	if q.quiet[leaf] {
		return false
	}
	some := q.pool.Policy.Preempt == preempt.WithinPool // who runs in other queues counts too
	for _, at := range q.byLeaf[leaf] {
		k := &q.kinds[at]
		if !q.mayReclaim(k) && !q.mayPreempt(k) {
			continue
		}
		if some = true; !t.ruledOut(q, k) {
			return true
		}
	}
	q.quiet[leaf] = !some
	return false
}

// mayReclaim says whether a kind has a right to room beyond its queue: the use
// of the queue with it is within its lines in all that it asks. Consolidation
// may have other rules.
func (q *incrementalPool) mayReclaim(k *waitingClass) bool {
	p := q.pool
	if p.Policy.ConsolidateBeyondShare && !p.Policy.NoConsolidation {
		return true
	}
	for _, a := range q.asks(k) {
		line, divided := p.Room.Entitlement(k.leaf, a.Resource, true)
		if divided && p.Tree.Use(int(k.leaf), int(a.Resource))+a.Value > line {
			return false
		}
	}
	return true
}

// mayPreempt says whether somebody of lower priority runs whom a kind may evict.
func (q *incrementalPool) mayPreempt(k *waitingClass) bool {
	if k.above || q.pool.Policy.Preempt == preempt.NoPreemption {
		return false
	}
	if q.pool.Policy.Preempt == preempt.WithinPool {
		return slices.ContainsFunc(q.running, func(r runningClasses) bool { return r.lowest < k.priority })
	}
	return q.running[k.leaf].lowest < k.priority
}

// ruledOut says whether bounds alone tell that no room is made for a kind, as
// solver.makeRoomFor does before it looks at who runs; or whether it starts when
// it has its turn, if it is not asked again before.
func (t *trial) ruledOut(q *incrementalPool, kind *waitingClass) bool {
	s, d := q.solver, &q.pool.Definitions[kind.definition]
	it, _ := kind.items.First()
	k := &t.world.Works[it.ID]
	add, asks := d.Unit.Add, q.asks(kind)
	if kind.above {
		add = []int32{1}
	}
	admitted := q.admits(kind, withinLines)
	if admitted && !d.Unsure && q.hasPlace(kind.definition, kind.above) || s.preempting().beyondHelp(&k.Form, asks) {
		return true
	}
	b := s.preempting().preemptor(k, it, 0, add, asks)
	for _, mode := range s.preempting().modes(it, 0, b) {
		if mode == preempt.Preempt && !q.mayPreempt(kind) || s.preempting().infeasible(b, mode, q.largest) {
			continue
		}
		return (!b.Entitled || admitted) && s.preempting().wouldStart(b)
	}
	return true
}

// largest bounds what one workload of a queue holds of a resource.
func (q *incrementalPool) largest(leaf, resource int32) (most int64) {
	for run := range q.running[leaf].counts { // a maximum: order cannot matter
		most = max(most, q.pool.Definitions[run.definition].Demand.Of(resource))
	}
	return most
}
