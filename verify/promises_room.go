package verify

import (
	"slices"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/preempt"
)

// Whether what is promised is free when its time comes, beside all that stands and is promised besides (B2, B5).

// fits checks that the places of a promise are free while it lasts: beside what has not left by
// then, and all that is promised (B2, B4); and that they are, where they are those of the state
// and the time is too, beside what the plan has placed, as long as that may stay (B5).
func (v *promising) fits(p *promised) {
	seen := make(map[*verifiedNode]bool)
	for k, t := range p.tasks {
		if seen[t.node] {
			continue
		}
		seen[t.node] = true
		at := p.path + listPath(".promise.tasks", k)
		for _, now := range v.changesOn(t.node, p.from, p.to) {
			if list := v.overfullAt(p, t.node, now, func(one *standing) bool { return one.until.predicted > now }); len(list) > 0 {
				v.fail(at, rulePromises, "at %s %s", text(now), list[0].message)
				break
			}
		}
		if p.source.Change != allot.PromiseKept {
			continue
		}
		inWay := func(one *standing) bool {
			return one.fresh && one.until.sure > p.from && !p.yieldsTo(one) && !isDue(one) && !v.mayTake(one, p)
		}
		if list := v.overfullAt(p, t.node, p.from, func(one *standing) bool {
			return one.until.predicted > p.from || inWay(one)
		}); len(list) > 0 && !v.wasElsewhere(p, inWay) {
			v.fail(at, ruleBackfill, "what the plan places may be there at %s: %s", text(p.from), list[0].message)
		}
	}
}

// comes checks that a promise of which the time has come waits for something, as its workload would start else: it would be
// promised a later time by each solve by nothing but that time passes (B7). It need not start where one has its places that
// makes way for it: that one may be such as would come back at once (B6).
func (v *promising) comes(p *promised) {
	if p.from > v.at || len(p.source.Promise.WaitsFor) > 0 {
		return
	}
	for _, n := range p.nodes {
		for i := range v.stands[n] {
			if p.isServedBy(&v.stands[n][i]) {
				return
			}
		}
	}
	v.fail(p.path, ruleKept, "its time has come, and %q waits for nobody and does not start", p.workload.source.ID)
}

// changesOn are the times from one to another at which more may be in use of a node by what is promised than before:
// the first of them, and those at which something promised there begins or, as what stands behind it is there
// again, at which anything begins once it has ended.
func (v *promising) changesOn(n *verifiedNode, from, to int64) []int64 {
	times := []int64{from}
	for _, other := range v.on[n] {
		if other.from > from && other.from < to {
			times = append(times, other.from)
		}
		if k, _ := slices.BinarySearch(v.begin, other.to); k < len(v.begin) && v.begin[k] > from && v.begin[k] < to {
			times = append(times, v.begin[k])
		}
	}
	slices.Sort(times)
	return slices.Compact(times)
}

// wasElsewhere says whether tasks of a promise may have been given other places at its time when
// something was placed in its way (B5), and have come back when they were taken by what else the plan
// has placed: from then on they wait for what is expected to have ended.
func (v *promising) wasElsewhere(p *promised, inWay func(*standing) bool) bool {
	meets := func(one *standing) bool {
		return slices.ContainsFunc(p.tasks, func(t plannedTask) bool {
			return t.node.source.ID == one.task.node && (len(t.place.Devices) == 0 || len(one.task.devices) == 0 || reservedPart(t.place.Devices).has(one.task.devices))
		})
	}
	asks := make(map[*allot.Request]bool)
	for _, t := range p.tasks {
		if slices.ContainsFunc(v.stands[t.node], func(one standing) bool { return inWay(&one) && meets(&one) }) {
			asks[t.request] = true
		}
	}
	for _, n := range p.form.queue.pool.nodes {
		then, others := newVerifiedNode(n.source), false
		then.cpuOnly.usable = n.cpuOnly.usable
		for i := range v.stands[n] {
			one := &v.stands[n][i]
			others = others || one.fresh && !meets(one)
			if meets(one) && inWay(one) || !one.fresh && one.until.predicted > p.from && !p.isServedBy(one) {
				then.book(one.request, verifiedTask{allot.Running, one.task.node, one.task.devices}, 1)
			}
		}
		for request := range asks { // each is asked for by itself: order cannot matter
			if others && n.missLasting(&p.form, request).predicate == 0 && then.missNow(&p.form, request).predicate == 0 {
				delete(asks, request)
			}
		}
	}
	return len(asks) == 0
}

// isDue says whether what the plan has placed had been promised a time (B4), which may have come to be
// this one (B7): another may have been promised what is free once it is expected to have ended.
func isDue(one *standing) bool {
	was := one.workload.source.Reserved
	return !one.moves && was != nil && was.Rule != allot.ByGathering
}

// mayTake says whether what the plan starts has the right to preempt, from the workload that something is promised to,
// what that would start on, and the promise could begin now but for what the plan places: its workload may have started in
// this solve, have made way for it, and have been promised the same again (B7, E1).
func (v *promising) mayTake(one *standing, p *promised) bool {
	was := p.workload.source.Reserved
	return !one.moves && was != nil && was.Form >= 0 && was.Form < len(p.workload.forms) && mayPreempt(one.workload, p.workload) &&
		!slices.ContainsFunc(p.nodes, func(n *verifiedNode) bool {
			return len(v.overfullAt(p, n, v.at, func(other *standing) bool { return !other.fresh })) > 0
		})
}

// gathered checks that what is gathered for one fits beside all that is promised to others, and that
// nothing that need not comes into its way while it is kept (B8); what was there before leaves.
func (v *promising) gathered(p *promised) {
	pool := p.form.queue.pool
	if !pool.policy.Reserve.Gather {
		v.fail(p.path, ruleGather, "pool %q gathers nothing", pool.id)
	}
	for _, other := range v.list {
		if other != p && other.gathers && other.form.queue.pool == pool && other.workload.source.ID < p.workload.source.ID {
			v.fail(p.path, ruleGather, "pool %q gathers for %q too", pool.id, other.workload.source.ID)
		}
	}
	first, message := int64(forever), ""
	for _, n := range p.nodes {
		for _, now := range v.changesOn(n, p.from, first) {
			if list := v.overfullAt(p, n, now, func(one *standing) bool { return one.workload == p.workload && one.until.predicted > now }); len(list) > 0 && (now < first || message == "") {
				first, message = now, list[0].message
			}
		}
	}
	if message != "" {
		v.fail(p.path, ruleGather, "at %s, beside what is promised to others, %s", text(first), message)
		return
	}
	if p.source.Change != allot.PromiseKept {
		return
	}
	for _, t := range p.tasks {
		if list := v.overfullAt(p, t.node, p.from, func(one *standing) bool { return one.fresh && !p.yieldsTo(one) }); len(list) > 0 {
			v.fail(p.path, ruleGather, "beside what the plan places there, %s", list[0].message)
			return
		}
	}
	for _, o := range v.besideUsed(p, func(one *standing) bool { return one.fresh && !one.moves && !p.yieldsTo(one) }) {
		v.fail(p.path, o.rule, "beside what the plan starts, %s", o.message)
	}
}

// has says whether devices of a node are promised.
func (p *promised) has(n *verifiedNode, devices []int) bool {
	return slices.ContainsFunc(p.on[n], func(t plannedTask) bool {
		return slices.ContainsFunc(t.place.Devices, func(d int) bool { return slices.Contains(devices, d) })
	})
}

// overfullAt says what of a node is overfull at a time with what is promised of it and such as
// stands there: while those are there whose devices another gathers, and once they have left for it.
func (v *promising) overfullAt(p *promised, n *verifiedNode, now int64, stands func(*standing) bool) []objection {
	promises := v.on[n]
	gatherer := slices.IndexFunc(promises, func(other *promised) bool { return other != p && other.gathers })
	if gatherer < 0 {
		return overfullWith(v.stands[n], p, n, now, promises, stands)
	}
	other := promises[gatherer]
	rest := slices.DeleteFunc(slices.Clone(promises), func(one *promised) bool { return one == other })
	return append(overfullWith(v.stands[n], p, n, now, rest, stands),
		overfullWith(v.stands[n], p, n, now, promises, func(one *standing) bool { return stands(one) && !other.has(n, one.task.devices) })...)
}

// overfullWith is overfullAt with some promises. What stands behind any of those that are in use then
// has gone for it.
func overfullWith(standing []standing, p *promised, n *verifiedNode, now int64, promises []*promised, stands func(*standing) bool) (list []objection) {
	then := newVerifiedNode(n.source)
	then.cpuOnly.usable = n.cpuOnly.usable
	promises = slices.DeleteFunc(slices.Clone(promises), func(other *promised) bool { return other != p && (other.from > now || other.to <= now) })
	for i := range standing {
		if one := &standing[i]; stands(one) && !p.isServedBy(one) && !slices.ContainsFunc(promises, func(other *promised) bool { return other.isServedBy(one) }) {
			then.book(one.request, verifiedTask{allot.Running, one.task.node, one.task.devices}, 1)
		}
	}
	for _, other := range promises {
		for _, t := range other.on[n] {
			then.book(t.request, verifiedTask{allot.Running, t.place.Node, t.place.Devices}, 1)
		}
	}
	for _, t := range p.on[n] {
		list = append(list, then.overfull(t.request, t.place.Devices, true, false)...)
	}
	return list
}

// isServedBy says whether what stands on places of a promise goes when its time comes, as it stands
// behind it (B6) or was trusted to have left and has passed the workload that it is promised to (B5); but for
// none of its own leaf that stands after it, nor for one that it may preempt, nor for one beyond its entitlement that is
// told to wait for it, as it would come back by a better right (M5), whatever it was when it was promised that.
func (p *promised) isServedBy(one *standing) bool {
	if one.behind != p.workload.source.ID && one.overran-1 <= p.since {
		return false
	}
	if p.beyond && one.until.predicted <= p.from && slices.Contains(p.source.Promise.WaitsFor, one.workload.source.ID) {
		return false
	}
	if one.form.nonPreemptible || p.comesAfter(one) {
		return false
	}
	return slices.ContainsFunc(p.on[one.node], func(t plannedTask) bool {
		shared := slices.ContainsFunc(t.place.Devices, func(d int) bool { return slices.Contains(one.task.devices, d) })
		return shared || len(t.place.Devices) == 0 || len(one.task.devices) == 0
	})
}

// comesAfter says whether what stands is before the workload of a promise in its queue (O1), or may preempt it (E1).
func (p *promised) comesAfter(one *standing) bool {
	policy := p.form.queue.pool.policy
	if one.form.queue != p.form.queue {
		return policy.Preempt == preempt.WithinPool && one.form.queue.pool == p.form.queue.pool && !p.form.nonPreemptible &&
			priorityOf(one.workload.source, policy) > priorityOf(p.workload.source, policy)
	}
	return standsBefore(one.workload.source, p.workload.source, policy)
}

// yieldsTo says whether a promise may have yielded to what the plan has placed (B4): one that is beyond
// its entitlement may, or one that was, as the other may be within its own, though by now it is within its
// entitlement at the same places; and in its leaf every one may to what stands before it. What only moves so that
// others may start leaves all alone that is promised for a time.
func (p *promised) yieldsTo(one *standing) bool {
	if one.moves && !p.gathers || one.form.queue.pool != p.form.queue.pool {
		return false
	}
	was, policy := p.workload.source.Reserved, p.form.queue.pool.policy
	if !p.source.Promise.Entitled || was != nil && !was.Entitled || one.form.queue != p.form.queue {
		return !p.source.Promise.Entitled || was != nil && !was.Entitled
	}
	if one.grows && priorityOf(one.workload.source, policy) == priorityOf(p.workload.source, policy) {
		return false // what is below a minimum goes before what is at one (O1)
	}
	return standsBefore(one.workload.source, p.workload.source, policy)
}
