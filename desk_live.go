package allot

import (
	"slices"

	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/quota"
)

// findLive finds out which kinds may start as things stand, and how many they
// are: some node takes what they ask, and the rules of the queue admit it. All
// others would be refused now, and by whatever starts before they have their
// turn no less.
func (t *deskTurn) findLive(q *deskPool, now phase) (live int) {
	q.look++
	for _, d := range q.active {
		fresh, more := q.hasPlace(d, false), q.pool.definitions[d].elastic && q.hasPlace(d, true)
		if !fresh && !more {
			continue
		}
		for _, at := range q.asked[d].kinds {
			k := &q.kinds[at]
			if (k.above && more || !k.above && fresh) && k.items.Len() > 0 && q.admits(k, now) {
				k.live = q.look
				live++
			}
		}
	}
	return live
}

// asks is what one of the kind adds to use.
func (q *deskPool) asks(k *deskKind) quota.Amounts {
	if k.above {
		return q.asked[k.definition].one
	}
	return q.pool.definitions[k.definition].asks
}

// admits is what solver.tryUnit asks of the rules.
func (q *deskPool) admits(k *deskKind, now phase) bool {
	asks := q.asks(k)
	if _, ok := q.pool.tree.Check(int(k.leaf), asks, k.nonPreemptible); !ok {
		return false
	}
	return now != withinLines || q.pool.room.Within(k.leaf, asks)
}

// hasPlace says whether the nodes have a place for what a definition's workloads
// ask, to start or for one task more. What has none is remembered (O5).
func (q *deskPool) hasPlace(at int32, above bool) bool {
	s, p := q.solver, q.pool
	d := &p.definitions[at]
	shape := d.sets[0].placed
	strategy := d.place.CPUOnly
	if d.sets[0].gpus > 0 {
		strategy = d.place.GPU
	}
	if !above && d.refused != 0 {
		if d.refused == p.freed+1 || q.stillRefused(shape, d.refused) {
			d.refused = p.freed + 1
			return false
		}
	}
	if int(shape) < len(s.refused) && s.refused[shape] != 0 {
		if s.isRefused(shape) || q.stillRefused(shape, s.refused[shape]) {
			s.refuseShape(shape)
			return false
		}
	}
	if _, ok := p.index.Find(shape, strategy); !ok {
		s.refuseShape(shape)
		return false
	}
	if above || d.unit.Add[0] == 1 {
		return true
	}
	m := p.index.Mark()
	places, verdict := s.placer.Place(p.index, d.gang, d.unit, d.place, s.places[:0])
	p.index.Undo(m)
	s.places = places
	if !verdict.OK {
		d.refused = p.freed + 1
	}
	return verdict.OK
}

// mayMakeRoom says whether somebody may be made room for: a bound does not tell
// that nobody can (M8).
func (t *deskTurn) mayMakeRoom() bool {
	for _, q := range t.pools {
		if !q.pool.policy.makesRoom() {
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
func (t *deskTurn) leafMayMakeRoom(q *deskPool, leaf int32) bool {
	for _, at := range q.byLeaf[leaf] {
		k := &q.kinds[at]
		if k.items.Len() == 0 || !q.mayReclaim(k) && !q.mayPreempt(k) {
			continue
		}
		if q.admits(k, withinLines) && q.hasPlace(k.definition, k.above) {
			continue // it starts when it has its turn, if not before it is asked again
		}
		if !t.ruledOut(q, k) {
			return true
		}
	}
	return false
}

// mayReclaim says whether a kind has a right to room beyond its queue: the use
// of the queue with it is within its lines in all that it asks. Consolidation
// may have other rules.
func (q *deskPool) mayReclaim(k *deskKind) bool {
	p := q.pool
	if p.policy.ConsolidateBeyondShare && !p.policy.NoConsolidation {
		return true
	}
	for _, a := range q.asks(k) {
		line, divided := p.room.Line(k.leaf, a.Resource, true)
		if divided && p.tree.Use(int(k.leaf), int(a.Resource))+a.Value > line {
			return false
		}
	}
	return true
}

// mayPreempt says whether somebody of lower priority runs whom a kind may evict.
func (q *deskPool) mayPreempt(k *deskKind) bool {
	if k.above || q.pool.policy.Preempt == preempt.NoPreemption {
		return false
	}
	if q.pool.policy.Preempt == preempt.WithinPool {
		return slices.ContainsFunc(q.running, func(r deskRuns) bool { return r.lowest < k.priority })
	}
	return q.running[k.leaf].lowest < k.priority
}

// ruledOut says whether bounds alone tell that no room is made for a kind, as
// solver.makeRoomFor does before it looks at who runs.
func (t *deskTurn) ruledOut(q *deskPool, kind *deskKind) bool {
	s := q.solver
	it, _ := kind.items.First()
	k := &t.world.works[it.ID]
	add := q.pool.definitions[kind.definition].unit.Add
	if kind.above {
		add = []int32{1}
	}
	asks := q.asks(kind)
	if s.beyondHelp(&k.form, asks) {
		return true
	}
	b := s.beneficiary(k, it, 0, add, asks)
	for _, mode := range s.modes(it, 0, b) {
		if mode == preempt.Preempt && !q.mayPreempt(kind) {
			continue
		}
		if !q.pool.room.Futile(b, mode, q.largest) {
			return !b.Within && s.wouldStart(b)
		}
	}
	return true
}

// largest bounds what one workload of a queue holds of a resource.
func (q *deskPool) largest(leaf, resource int32) (most int64) {
	for run := range q.running[leaf].counts { // a maximum: order cannot matter
		most = max(most, q.pool.definitions[run.definition].demand.Of(resource))
	}
	return most
}
