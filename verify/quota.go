package verify

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot"
)

// walk notes of every queue what those above and below it say, so that a deep tree
// is climbed only once.
func (p *verifiedPool) walk() {
	p.downwards = slices.Clone(p.top)
	for i := 0; i < len(p.downwards); i++ {
		q := p.downwards[i]
		if len(q.allowed.IDs) > 0 || q.allowed.Selector != nil {
			q.narrowed = q
		} else if q.parent != nil {
			q.narrowed = q.parent.narrowed
		}
		p.downwards = append(p.downwards, q.children...)
	}
	for _, q := range slices.Backward(p.downwards) {
		q.capped, q.within = q.capped || q.cap.Given(), q.within+1
		if q.parent != nil {
			q.parent.capped, q.parent.within = q.parent.capped || q.capped, q.parent.within+q.within
		}
	}
	number(p.top, 0)
	for _, q := range p.downwards {
		number(q.children, q.number+1)
		if len(q.children) == 0 {
			p.leaves = append(p.leaves, q)
		}
	}
	slices.SortFunc(p.leaves, func(a, b *verifiedQueue) int { return cmp.Compare(a.number, b.number) })
}

// number gives the queues of a group their numbers, of which each leaves as many to those below it as there are.
func number(group []*verifiedQueue, next int) {
	for _, q := range group {
		q.number = next
		next += q.within
	}
}

// leaves are those of the queue and of the queues below it that have none below them.
func (q *verifiedQueue) leaves() []*verifiedQueue {
	first := func(number int) int {
		at, _ := slices.BinarySearchFunc(q.pool.leaves, number, func(leaf *verifiedQueue, number int) int { return cmp.Compare(leaf.number, number) })
		return at
	}
	return q.pool.leaves[first(q.number):first(q.number+q.within)]
}

// above says whether q is another queue or an ancestor of it.
func (q *verifiedQueue) above(other *verifiedQueue) bool {
	return q.pool == other.pool && q.number <= other.number && other.number < q.number+q.within
}

// mergeCharges adds more to list, one entry per key.
func mergeCharges(list, more []verifiedCharge) []verifiedCharge {
	for _, c := range more {
		k := slices.IndexFunc(list, func(have verifiedCharge) bool { return have.key == c.key })
		if k < 0 {
			list = append(list, c)
		} else {
			list[k].amount += c.amount
		}
	}
	return list
}

// withinQuotas checks, after new tasks have been charged, the queue and its
// ancestors in what was charged (Q2, Q3, Q8), what others keep from lending
// (Q5; rooms are what they left before) and, where the workload did not run
// before, the caps of running workloads (Q10). What was not charged may be
// beyond its bounds by the state itself (S7).
func (v *verifier) withinQuotas(at spot, f *verifiedForm, charged []verifiedCharge, rooms map[verifiedKey]int64, begins bool) {
	policy := f.queue.pool.policy
	for q := f.queue; q != nil; q = q.parent {
		for _, c := range charged {
			rule, what := ruleLimit, c.key.resource
			if c.key.class != "" {
				rule, what = ruleClass, what+" of class "+c.key.class
			}
			use := q.used(c.key)
			if limit := min(q.limitOf(c.key), q.borrowingOf(c.key)); use.all > limit {
				v.failAt(at, rule, "queue %q would use %d %s, limit %d", q.id, use.all, what, limit)
			}
			if !f.nonPreemptible || policy.NonPreemptibleOverQuota {
				continue
			}
			if c.key.class == "" {
				rule = ruleQuota
			}
			if quota := q.bindingQuotaOf(c.key); use.nonPreemptible > quota {
				v.failAt(at, rule, "queue %q would use %d non-preemptible %s, quota %d", q.id, use.nonPreemptible, what, quota)
			}
		}
		if begins && q.cap.Given() && q.running > q.cap.Amount() {
			v.failAt(at, ruleMaxWorkloads, "queue %q would run %d workloads, cap %d", q.id, q.running, q.cap.Amount())
		}
	}
	for _, c := range charged {
		if room, bounded := rooms[c.key]; bounded && c.amount > room {
			v.lent = append(v.lent, verifiedLoan{at, f.queue, c, room})
		}
	}
}

// A verifiedLoan is a start beyond what other queues do not keep, as things
// stood when it is written.
type verifiedLoan struct {
	at      spot
	queue   *verifiedQueue
	charged verifiedCharge
	room    int64
}

// keptFromLending tells the starts that take what others keep also as things
// stand after the plan (Q5): it is not written in the order of its decisions, in
// which some work may have been away for a moment.
func (v *verifier) keptFromLending() {
	for _, l := range v.lent {
		list := []verifiedCharge{l.charged}
		for q := l.queue; q != nil; q = q.parent {
			q.charge(list, -1, false)
		}
		room, bounded := l.queue.lendingRooms()[l.charged.key]
		for q := l.queue; q != nil; q = q.parent {
			q.charge(list, 1, false)
		}
		if bounded && l.charged.amount > room {
			v.failAt(l.at, ruleLending, "%d %s would be taken where other queues keep all but %d", l.charged.amount, l.charged.key.resource, l.room)
		}
	}
}

// A verifiedKept is what a queue keeps from lending of something, and what the
// queues below it keep together; of a pool, what its top queues keep and use.
type verifiedKept struct{ own, below, used int64 }

// lendingRooms are what a start in q may take, by key, of what other queues
// keep from lending (Q5); a key of which they keep nothing is not among them.
//
// They leave what is free less what they keep. Where more is kept than is free
// a queue may still take what its own path keeps, as that is not borrowed.
func (q *verifiedQueue) lendingRooms() map[verifiedKey]int64 {
	if len(q.pool.lends) == 0 {
		return nil
	}
	rooms := make(map[verifiedKey]int64)
	for key, top := range q.pool.kept { // each its own room: order cannot matter
		others := top.below
		for up := q; up != nil; up = up.parent {
			others += up.keeps[key].below - up.keeps[key].own
		}
		if others > 0 {
			rooms[key] = max(q.pool.capacity(key)-top.used, top.below) - others
		}
	}
	return rooms
}

// readKept finds what every queue keeps from lending, by what it uses then.
func (p *verifiedPool) readKept() {
	p.kept = make(map[verifiedKey]*verifiedKept, len(p.lends))
	if len(p.lends) == 0 {
		return
	}
	for key := range p.lends { // each for itself: order cannot matter
		p.kept[key] = new(verifiedKept)
	}
	for _, q := range p.downwards {
		q.keeps = make(map[verifiedKey]*verifiedKept, len(p.lends))
		for key := range p.lends { // each for itself: order cannot matter
			q.keeps[key] = new(verifiedKept)
		}
	}
	for _, q := range slices.Backward(p.downwards) {
		for key, kept := range q.keeps { // each for itself: order cannot matter
			q.keepAnew(key, kept, q.used(key).all)
		}
	}
}

// keepAnew finds what the queue keeps from lending (Q5) when its use has changed
// by so much, those below it having been told before: what is neither lent by
// its lending limit nor in use of its quota, or what the queues below it keep if
// that is more. An unlimited quota is as large as the pool.
func (q *verifiedQueue) keepAnew(key verifiedKey, kept *verifiedKept, more int64) {
	var own int64
	if limit := q.given[key].LendingLimit; limit.Given() && !limit.IsUnlimited() && q.pool.governed[key] {
		quota := q.quotaOf(key)
		if quota == unbounded {
			quota = q.pool.capacity(key)
		}
		own = quota - limit.Amount() - q.used(key).all
	}
	before := kept.own
	kept.own = max(0, own, kept.below)
	above := q.pool.kept[key]
	if q.parent != nil {
		above = q.parent.keeps[key]
	} else {
		above.used += more
	}
	above.below += kept.own - before
}

// capacity is what the pool's nodes can give of a resource or a class of it
// (F1).
func (p *verifiedPool) capacity(key verifiedKey) int64 {
	sum, known := p.capacities[key]
	if !known {
		for _, n := range p.nodes {
			sum += n.gives(key)
		}
		p.capacities[key] = sum
	}
	return sum
}

// reachable is the capacity of the nodes that the queue may use (Q6).
func (q *verifiedQueue) reachable(key verifiedKey) (sum int64) {
	at := q.narrowed
	if at == nil {
		return q.pool.capacity(key)
	}
	if sum, known := at.reachables[key]; known {
		return sum
	}
	for _, n := range q.pool.nodes {
		if at.reaches(n) {
			sum += n.gives(key)
		}
	}
	if at.reachables == nil {
		at.reachables = make(map[verifiedKey]int64)
	}
	at.reachables[key] = sum
	return sum
}

// reaches says whether the queue and all its ancestors may use the node.
func (q *verifiedQueue) reaches(n *verifiedNode) bool {
	for up := q.narrowed; up != nil; {
		if !inNodeSet(up.allowed, up.named, n.source) {
			return false
		}
		if up = up.parent; up != nil {
			up = up.narrowed
		}
	}
	return true
}

// gives is what the node adds to a capacity, foreign use apart (S8): nothing
// if it is lost or cordoned, and no unhealthy device.
func (n *verifiedNode) gives(key verifiedKey) (sum int64) {
	if n.source.Lost || n.source.Cordoned || n.maintained.whole {
		return 0
	}
	ofClass := key.class == "" || key.class == n.source.Class
	if key.resource != allot.GPU {
		if !ofClass {
			return 0
		}
		return max(0, n.source.Capacity[key.resource]-n.source.Foreign[key.resource])
	}
	for i, d := range n.source.Devices {
		if !d.Unhealthy && !n.maintained.hasDevice(i) && (ofClass || key.class == d.Model) {
			sum += milliPerDevice - d.Foreign
		}
	}
	return sum
}
