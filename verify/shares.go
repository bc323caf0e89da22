package verify

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/quota"
)

// shares checks the figures of the queues against the world after the plan
// (Q6) and that the fair shares add up (F2, F7).
func (v *verifier) shares() {
	rows := make(verifiedRows)
	demand := v.demands()
	given := make(map[*verifiedPool]map[verifiedKey]bool, len(v.poolOrder))
	for _, p := range v.poolOrder {
		given[p] = p.givenKeys()
	}
	for i := range v.plan.Shares {
		row := &v.plan.Shares[i]
		at := listPath("shares", i)
		if i > 0 && compareShares(&v.plan.Shares[i-1], row) >= 0 {
			v.fail(at, ruleOrder, "not behind the row before it")
		}
		q := v.queueOfRow(row)
		if q == nil {
			v.fail(at, ruleNames, "no queue %q in pool %q", row.Queue, row.Pool)
			continue
		}
		if rows[q] == nil {
			rows[q] = make(map[verifiedKey]*allot.Share)
		}
		rows[q][verifiedKey{row.Resource, row.Class}] = row
		v.figures(at, q, row)
		if row.Class == "" {
			v.share(at, q, row, demand[q][row.Resource])
		}
		unruled(v, at, row, given[q.pool])
	}
	for _, p := range v.poolOrder {
		need := rowKeys(given[p])
		for _, q := range p.queues {
			v.missingRows(q, rows[q], need)
		}
		groups := []*verifiedQueue{nil}
		for _, q := range p.queues {
			if len(q.children) > 0 {
				groups = append(groups, q)
			}
		}
		for _, parent := range groups {
			group := p.top
			if parent != nil {
				group = parent.children
			}
			v.shareSums(parent, group, rows, demand)
			for _, key := range need {
				v.lends(parent, group, key, rows)
			}
		}
	}
}

// verifiedRows are the plan's rows where they belong.
type verifiedRows map[*verifiedQueue]map[verifiedKey]*allot.Share

// compareShares is the order of rows: by pool and queue; in these GPU first, then
// by name, and what is given per class behind the total.
func compareShares(a, b *allot.Share) int {
	afterGPU := func(row *allot.Share) int {
		if row.Resource == allot.GPU {
			return 0
		}
		return 1
	}
	return cmp.Or(
		strings.Compare(a.Pool, b.Pool),
		strings.Compare(a.Queue, b.Queue),
		cmp.Compare(afterGPU(a), afterGPU(b)),
		strings.Compare(a.Resource, b.Resource),
		strings.Compare(a.Class, b.Class),
	)
}

// queueOfRow is the queue that a row is about; the implicit one has no name.
func (v *verifier) queueOfRow(row *allot.Share) *verifiedQueue {
	p := v.pools[row.Pool]
	if p == nil {
		return nil
	}
	k, found := slices.BinarySearchFunc(p.queues, row.Queue, func(q *verifiedQueue, id string) int {
		return strings.Compare(q.id, id)
	})
	if !found {
		return nil
	}
	return p.queues[k]
}

// givenKeys are what some queue of the pool says something about.
func (p *verifiedPool) givenKeys() map[verifiedKey]bool {
	given := make(map[verifiedKey]bool)
	for _, q := range p.queues {
		for key := range q.given { // into a set: order cannot matter
			given[key] = true
		}
	}
	return given
}

// rowKeys are what each queue of the pool has a row for: GPU and everything
// that some queue of the pool says something about.
func rowKeys(given map[verifiedKey]bool) []verifiedKey {
	need := maps.Clone(given)
	need[verifiedKey{allot.GPU, ""}] = true
	return slices.SortedFunc(maps.Keys(need), func(a, b verifiedKey) int {
		return cmp.Or(strings.Compare(a.resource, b.resource), strings.Compare(a.class, b.class))
	})
}

// missingRows checks that the queue has its rows.
func (v *verifier) missingRows(q *verifiedQueue, rows map[verifiedKey]*allot.Share, need []verifiedKey) {
	for _, key := range need {
		if rows[key] == nil {
			v.fail("shares", ruleFigures, "no row for queue %q, resource %q, class %q", q.id, key.resource, key.class)
		}
	}
}

// figures checks everything in a row that is counted and not divided.
func (v *verifier) figures(at string, q *verifiedQueue, row *allot.Share) {
	key := verifiedKey{row.Resource, row.Class}
	quotaAmount, use := q.quotaOf(key), q.used(key)
	if want := boundOf(quotaAmount); row.Quota != want {
		v.fail(at, ruleFigures, "quota is %s, it should be %s", row.Quota, want)
	}
	if want := boundOf(q.limitOf(key)); row.Limit != want {
		v.fail(at, ruleFigures, "limit is %s, it should be %s", row.Limit, want)
	}
	within := min(use.all, quotaAmount)
	for _, figure := range [...]struct {
		name       string
		have, want int64
	}{
		{"used", row.Used, use.all},
		{"in quota", row.InQuota, within},
		{"over quota", row.OverQuota, use.all - within},
		{"borrowed", row.Borrowed, use.all - within},
		{"non-preemptible", row.NonPreemptible, use.nonPreemptible},
		{"reachable", row.Reachable, q.reachBelow(key)},
		{"pool total", row.PoolTotal, q.pool.capacity(key)},
	} {
		if figure.have != figure.want {
			v.fail(at, ruleFigures, "%s is %d, it should be %d", figure.name, figure.have, figure.want)
		}
	}
}

// unruled checks what a row must not say: a class has neither demand nor fair share,
// and of what no queue gives a quota none lends.
func unruled(v *verifier, at string, row *allot.Share, given map[verifiedKey]bool) {
	if row.Class != "" && (row.Demand != 0 || row.Divided || row.FairShare != 0 || row.State != fairshare.InQuota) {
		v.fail(at, ruleQueueState, "demand %d, fair share %d and state %d of a class", row.Demand, row.FairShare, row.State)
	}
	if !given[verifiedKey{row.Resource, row.Class}] {
		if row.Class != "" {
			v.fail(at, ruleFigures, "no queue of the pool gives anything for class %q", row.Class)
		}
		if row.Lent != 0 && row.Resource != allot.GPU { // of GPU it is checked with the siblings'
			v.fail(at, ruleFigures, "lent is %d, it should be 0", row.Lent)
		}
	}
}

// boundOf is the Bound that stands for a resolved amount.
func boundOf(amount int64) quota.Bound {
	if amount == unbounded {
		return quota.Unlimited()
	}
	return quota.Of(amount)
}

// A verifiedDemand is what is asked of a queue, running and waiting (F1); of each device
// some multiple of each, and of unsure, if forms ask too of which the plan does not say
// whether they do. These two are of leaves alone. What is mixed may be preemptible to some part
// that is counted as the other, where both come to what the plan says that is asked.
type verifiedDemand struct {
	preemptible, nonPreemptible, each, unsure int64
	mixed                                     bool
}

// verifiedDemands are by queue and resource.
type verifiedDemands map[*verifiedQueue]map[string]verifiedDemand

func (d verifiedDemand) all() int64 { return d.preemptible + d.nonPreemptible }

// demands adds up what all submitted tasks ask, per queue and resource. Of the
// forms that a workload has in one leaf the largest counts; an inner queue's
// demand is that of those below.
func (v *verifier) demands() verifiedDemands {
	sums := make(verifiedDemands)
	var untold []untoldDemand
	for _, w := range v.workOrder {
		if w.source.Ending || w.ended {
			continue
		}
		if len(w.forms) == 1 {
			switch asks, told := asking(v, w, 0); {
			case !told:
				untold = append(untold, untoldDemand{&w.forms[0], make(map[string]int64)})
			case asks:
				sums.add(&w.forms[0], w.forms[0].asks())
				sums.divide(&w.forms[0])
			}
			continue
		}
		var untoldForms []*verifiedForm
		largest := make(map[*verifiedQueue]map[string]int64)
		last := make(map[*verifiedQueue]*verifiedForm)
		for i := range w.forms {
			f := &w.forms[i]
			switch asks, told := asking(v, w, i); {
			case !told:
				untoldForms = append(untoldForms, f)
				continue
			case !asks:
				continue
			}
			sums.divide(f)
			if last[f.queue] = f; largest[f.queue] == nil {
				largest[f.queue] = make(map[string]int64)
			}
			for resource, amount := range f.asks() { // each its own maximum: order cannot matter
				largest[f.queue][resource] = max(largest[f.queue][resource], amount)
			}
		}
		for _, f := range untoldForms {
			if largest[f.queue] == nil {
				last[f.queue], largest[f.queue] = f, make(map[string]int64)
			}
			untold = append(untold, untoldDemand{f, largest[f.queue]})
		}
		for leaf, asked := range largest { // into sums: order cannot matter
			sums.add(last[leaf], asked) // all forms of a leaf are of one policy
		}
	}
	addUntold(v, sums, untold)
	for _, p := range v.poolOrder {
		for _, q := range slices.Backward(p.downwards) {
			if q.parent != nil {
				sums.addBelow(q.parent, q)
			}
		}
	}
	return sums
}

// add counts what a form asks in its queue.
func (sums verifiedDemands) add(f *verifiedForm, asked map[string]int64) {
	all := sums.of(f.queue)
	for resource, amount := range asked { // into sums: order cannot matter
		sum := all[resource]
		if f.nonPreemptible {
			sum.nonPreemptible += amount
		} else {
			sum.preemptible += amount
		}
		all[resource] = sum
	}
}

// addBelow counts in a queue what is asked of one below it.
func (sums verifiedDemands) addBelow(q, below *verifiedQueue) {
	for resource, asked := range sums[below] { // into sums: order cannot matter
		all := sums.of(q)
		sum := all[resource]
		sum.preemptible += asked.preemptible
		sum.nonPreemptible += asked.nonPreemptible
		sum.mixed = sum.mixed || asked.mixed
		all[resource] = sum
	}
}

// divide notes what the form asks of each device.
func (sums verifiedDemands) divide(f *verifiedForm) {
	if each := f.each(); each > 0 {
		sum := sums.of(f.queue)[allot.GPU]
		sum.each = divisor(sum.each, each)
		sums[f.queue][allot.GPU] = sum
	}
}

// doubt notes what the form may ask of each device, beside what is asked anyway.
func (sums verifiedDemands) doubt(f *verifiedForm) {
	if each := f.each(); each > 0 {
		sum := sums.of(f.queue)[allot.GPU]
		sum.unsure = divisor(sum.unsure, each)
		sums[f.queue][allot.GPU] = sum
	}
}

// of is what is asked of a queue, to be added to.
func (sums verifiedDemands) of(q *verifiedQueue) map[string]verifiedDemand {
	if sums[q] == nil {
		sums[q] = make(map[string]verifiedDemand)
	}
	return sums[q]
}

// asks is what all submitted tasks of the form ask together. It is not to be changed.
func (f *verifiedForm) asks() map[string]int64 {
	if f.asked != nil {
		return f.asked
	}
	sum := make(map[string]int64)
	for i := range f.PodSets {
		ps := &f.PodSets[i]
		submitted := int64(ps.Count - ps.Missing)
		if amount := chargedGPU(ps.Request.GPU, f.queue.pool); amount > 0 {
			sum[allot.GPU] += submitted * amount
		}
		for resource, amount := range ps.Request.Resources { // into sums: order cannot matter
			sum[resource] += submitted * amount
		}
	}
	f.asked = sum
	return sum
}

// divided says whether fair shares are computed for a resource: where some
// queue gives a quota (Q1), and for GPU where the method needs none (F8).
func (p *verifiedPool) divided(resource string) bool {
	return p.governed[verifiedKey{resource, ""}] ||
		resource == allot.GPU && p.policy.Shares != fairshare.QuotaThenWeight
}

// share checks what is said of demand, fair share and state of a queue.
func (v *verifier) share(at string, q *verifiedQueue, row *allot.Share, d verifiedDemand) {
	// By which of the workloads the cap counts is a matter of their order.
	if row.Demand > d.all() || row.Demand < 0 || row.Demand < d.all() && !q.capsDemand() {
		v.fail(at, ruleDemand, "demand is %d, it should be %d", row.Demand, d.all())
	}
	if row.FairShare < 0 {
		v.fail(at, ruleShareSum, "fair share is %d, below 0", row.FairShare)
	}
	if divided := q.pool.divided(row.Resource); row.Divided != divided {
		v.fail(at, ruleQueueState, "divided is %t, it should be %t", row.Divided, divided)
	}
	if !q.pool.divided(row.Resource) {
		if row.FairShare != 0 || row.State != fairshare.InQuota {
			v.fail(at, ruleQueueState, "fair share %d and state %d of what is not divided", row.FairShare, row.State)
		}
		return
	}
	quotaAmount := q.quotaOf(verifiedKey{row.Resource, ""})
	if !q.pool.governed[verifiedKey{row.Resource, ""}] {
		quotaAmount = 0 // no queue gives one, and the method needs none
	}
	state := fairshare.InQuota
	switch {
	case row.Used <= quotaAmount:
	case row.Used <= row.FairShare:
		state = fairshare.OverQuota
	default:
		state = fairshare.OverFairShare
	}
	if row.State != state {
		v.fail(at, ruleQueueState, "state is %d, it should be %d", row.State, state)
	}
}

// requestable is the most that the queue can use of what is asked of it (F1).
func (q *verifiedQueue) requestable(resource string, demand verifiedDemands) int64 {
	if amount, known := q.canUse[resource]; known {
		return amount
	}
	key := verifiedKey{resource, ""}
	var asked int64
	switch d := demand[q][resource]; {
	case len(q.children) > 0:
		for _, child := range q.children {
			asked += child.requestable(resource, demand)
		}
	case q.pool.policy.NonPreemptibleOverQuota || q.pool.policy.Shares != fairshare.QuotaThenWeight:
		asked = d.all()
	default:
		asked = d.preemptible + max(q.used(key).nonPreemptible, min(q.quotaOf(key), d.nonPreemptible))
	}
	asked = min(asked, q.limitOf(key), q.borrowingOf(key))
	if q.pool.policy.Shares == fairshare.ByDemand {
		if q.counts == nil {
			q.counts = make(map[string]int64)
		}
		q.counts[resource] = asked
	}
	asked = min(asked, max(0, q.reachBelow(key)))
	if q.canUse == nil {
		q.canUse = make(map[string]int64)
	}
	q.canUse[resource] = asked
	return asked
}

// shareSums checks the fair shares of a group of siblings, the children of
// parent or, where that is nil, the top level, resource by resource.
func (v *verifier) shareSums(parent *verifiedQueue, group []*verifiedQueue, rows verifiedRows, demand verifiedDemands) {
	resources := make(map[string]bool)
	for _, q := range group {
		for key := range rows[q] { // into a set, sorted below
			if key.class == "" && q.pool.divided(key.resource) {
				resources[key.resource] = true
			}
		}
	}
	for _, resource := range slices.Sorted(maps.Keys(resources)) {
		key := verifiedKey{resource, ""}
		there := max(0, group[0].pool.capacity(key))
		scaled := parent != nil || group[0].pool.policy.ScaleGuarantees
		if parent != nil {
			if rows[parent][key] == nil {
				continue // told already
			}
			there = rows[parent][key].FairShare
		}
		var sum, quotaParts int64
		for _, q := range group {
			if row := rows[q][key]; row != nil {
				sum = addBounded(sum, row.FairShare)
				quotaParts = addBounded(quotaParts, v.shareBounds(q, row, demand))
			}
		}
		guaranteed(v, parent, group, key, there, rows, demand)
		if !scaled {
			there = max(there, quotaParts)
		}
		if sum > there {
			v.fail("shares", ruleShareSum, "fair shares of %s sum to %d, and there are %d", resource, sum, there)
		}
		if scaled && quotaParts > there {
			handedDown(v, group, key, there, rows, demand)
			continue
		}
		v.divisions(group, key, there, rows, demand)
	}
}

// shareBounds checks that a fair share is neither beyond what the queue can
// use (F7) nor less than its quota part (F2), which it returns. Where queues
// keep from lending what they cannot use (Q5), what is kept below an inner
// queue is no part of its share, nor of what it hands down.
func (v *verifier) shareBounds(q *verifiedQueue, row *allot.Share, demand verifiedDemands) (part int64) {
	requestable := q.requestable(row.Resource, demand)
	if q.pool.policy.Shares == fairshare.QuotaThenWeight {
		part = min(q.quotaOf(verifiedKey{row.Resource, ""}), requestable)
	}
	if row.FairShare > requestable {
		v.fail("shares", ruleShareSum, "fair share of %q is %d %s, it can use %d", q.id, row.FairShare, row.Resource, requestable)
	}
	keepsBelow := (len(q.children) > 0 || q.parent != nil) && q.pool.lends[verifiedKey{row.Resource, ""}]
	if row.FairShare < part-row.Cut && !keepsBelow {
		v.fail("shares", ruleQuotaPart, "fair share of %q is %d %s, its quota part is %d", q.id, row.FairShare, row.Resource, part)
	}
	return part
}
