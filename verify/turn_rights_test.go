package verify

import (
	"slices"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/preempt"
)

// The rights of one unit to another, for couldTurn.

// entitled says whether there is any right of one unit to another.
func (t *turns) entitled(next, taken turnUnit) bool {
	policy := taken.form.queue.pool.policy
	if next.form.queue.pool != taken.form.queue.pool || taken.form.nonPreemptible || !t.useful(next, taken) {
		return false
	}
	if policy.Preempt != preempt.NoPreemption && t.mayPreempt(next, taken) {
		return true
	}
	if policy.Reclaim == preempt.NoReclaim || policy.ReclaimNonPreemptibleOnly && !next.form.nonPreemptible {
		return false
	}
	return t.mayReclaim(next, taken, false) || policy.Reclaim == preempt.ByQuotaAndShare && t.mayReclaim(next, taken, true)
}

// useful says whether some task of the one might ever be where one of the other
// is.
func (t *turns) useful(next, taken turnUnit) bool {
	return slices.ContainsFunc(taken.nodes, func(id string) bool {
		n := t.nodes[id]
		return slices.ContainsFunc(next.form.PodSets, func(ps allot.PodSet) bool {
			r := ps.Request
			r.GPU = allot.GPURequest{}
			devices := 0
			for d := range n.devices {
				if len(n.unsuitableDevice(ps.Request.GPU, d)) == 0 {
					devices++
				}
			}
			return len(n.unsuitable(next.form, &r, nil)) == 0 && devices >= deviceCount(ps.Request.GPU)
		})
	})
}

// mayPreempt is E1, E7 and E8.
func (t *turns) mayPreempt(next, taken turnUnit) bool {
	policy, leaf := taken.form.queue.pool.policy, taken.form.queue
	if next.step > 0 || priorityOf(next.w.source, policy) <= priorityOf(taken.w.source, policy) ||
		policy.Preempt == preempt.WithinQueue && next.form.queue != leaf {
		return false
	}
	becomes := t.protection(next.form.queue, next, &taken, &next)
	if t.protection(leaf, taken, nil, nil) > becomes && !t.withinAfter(next, taken) {
		return false
	}
	for q := next.form.queue; q != nil; q = q.parent {
		for r, lines := range t.byName[q] { // one that is beyond is enough: order cannot matter
			before := q.used(verifiedKey{r, ""}).all
			use := before + next.charge[r]
			if q.above(leaf) {
				use -= taken.charge[r]
			}
			if next.charge[r] > 0 && use > max(q.quotaOf(verifiedKey{r, ""}), lines.fair, before) {
				return false
			}
		}
	}
	return true
}

// withinAfter says whether the queues of the one stay within their lines once the
// other is gone and it has started (E7).
func (t *turns) withinAfter(next, taken turnUnit) bool {
	for q := next.form.queue; q != nil; q = q.parent {
		for r, lines := range t.byName[q] { // one that is beyond is enough: order cannot matter
			use, line := q.used(verifiedKey{r, ""}).all+next.charge[r], max(q.quotaOf(verifiedKey{r, ""}), lines.fair)
			if q == next.form.queue {
				line = lines.share
			}
			if q.above(taken.form.queue) {
				use -= taken.charge[r]
			}
			if next.charge[r] > 0 && use > line {
				return false
			}
		}
	}
	return true
}

// mayReclaim is R1, R2, R4, R5 and R9.
func (t *turns) mayReclaim(next, taken turnUnit, byShare bool) bool {
	leaf, policy := taken.form.queue, taken.form.queue.pool.policy
	side, own := part(leaf, next.form.queue)
	if side == nil {
		return false
	}
	for q := next.form.queue; q != own.parent; q = q.parent { // R1
		for r, lines := range t.byName[q] { // one that is beyond is enough: order cannot matter
			line := q.quotaOf(verifiedKey{r, ""})
			switch {
			case q == next.form.queue && byShare:
				line = lines.share
			case q == next.form.queue:
				line = lines.quota
			case byShare:
				line = lines.fair
			}
			if next.charge[r] > 0 && q.used(verifiedKey{r, ""}).all+next.charge[r] > line {
				return false
			}
		}
	}
	over, stays, excess := false, false, false
	for _, r := range t.short(next) {
		key, lines := verifiedKey{r, ""}, t.byName[side][r]
		line := side.quotaOf(key)
		if byShare {
			line = max(line, lines.fair)
		}
		mine := t.byName[leaf][r].quota
		if byShare {
			mine = t.byName[leaf][r].share
		}
		if taken.charge[r] > 0 && side.pool.divided(r) {
			over = over || side.used(key).all > line
			stays = stays || side.used(key).all > line && side.used(key).all-taken.charge[r] >= line
			excess = excess || leaf.used(key).all-taken.charge[r] >= mine
		}
	}
	if !over || policy.Straddle == preempt.Spare && !stays {
		return false
	}
	protected := t.protection(leaf, taken, nil, nil)
	if !excess && (protected == protectedByQuota || byShare && protected != unprotected) {
		return false
	}
	return !byShare || t.moreSaturated(side, own, next)
}

// moreSaturated is R5.
func (t *turns) moreSaturated(side, own *verifiedQueue, next turnUnit) bool {
	margin := max(milliPerDevice, side.pool.policy.ReclaimMarginMilli)
	dominant := func(q *verifiedQueue, more map[string]int64) (largest fairshare.Ratio) {
		for _, r := range q.pool.dividedResources() {
			ratio := fairshare.Ratio{Num: q.used(verifiedKey{r, ""}).all + more[r], Den: t.byName[q][r].fair}
			largest = fairshare.Dominant(largest, ratio)
		}
		return largest
	}
	before, after := dominant(side, nil), dominant(own, next.charge)
	switch {
	case after.Infinite() || before.Num == 0:
		return false
	case before.Infinite() || after.Num == 0:
		return true
	}
	return less(product{uint64(after.Num), uint64(margin), uint64(before.Den)},
		product{uint64(before.Num), milliPerDevice, uint64(after.Den)})
}

// short are the resources of which what is free would not be enough, asked for
// alone, or else all that are asked for.
func (t *turns) short(next turnUnit) (list []string) {
	var all []string
	for _, r := range next.form.queue.pool.dividedResources() {
		if next.charge[r] == 0 {
			continue
		}
		all = append(all, r)
		if !t.fitsAlone(next, r) {
			list = append(list, r)
		}
	}
	if len(list) == 0 {
		return all
	}
	return list
}

// fitsAlone places the tasks of the unit as if they asked for one resource, one
// after the other, and takes them back.
func (t *turns) fitsAlone(next turnUnit, resource string) bool {
	type placed struct {
		n *verifiedNode
		r *allot.Request
		t verifiedTask
	}
	var done []placed
	fits := true
	for i := range next.form.PodSets {
		ps := &next.form.PodSets[i]
		r := ps.Request
		r.Resources = map[string]int64{resource: ps.Request.Resources[resource]}
		if resource != allot.GPU {
			r.GPU = allot.GPURequest{}
		} else {
			r.Resources = nil
		}
		tasks := lowestOf(ps)
		if next.step > 0 {
			tasks = 1
		}
		for ; tasks > 0 && fits; tasks-- {
			fits = false
			for _, n := range next.form.queue.pool.nodes {
				devices, ok := n.someDevices(r.GPU)
				if !ok || len(n.unsuitable(next.form, &r, devices)) > 0 {
					continue
				}
				task := verifiedTask{allot.Running, n.source.ID, devices}
				n.book(&r, task, 1)
				if len(n.overfull(&r, devices, true, true)) == 0 {
					done, fits = append(done, placed{n, &r, task}), true
					break
				}
				n.book(&r, task, -1)
			}
		}
	}
	for _, d := range done {
		d.n.book(d.r, d.t, -1)
	}
	return fits
}
