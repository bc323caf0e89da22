package verify

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/gang"
)

// pending checks that exactly what waits is pending, in order and with true
// reasons (X1).
func (v *verifier) pending() {
	v.carriedOut()
	listed := make(map[string]bool, len(v.plan.Pending))
	last := ""
	for i, p := range v.plan.Pending {
		at := listPath("pending", i)
		w := v.workloads[p.Workload]
		if w == nil {
			v.fail(at, ruleNames, "no workload %q", p.Workload)
			continue
		}
		if i > 0 && p.Workload <= last {
			v.fail(at, ruleOrder, "%q is not behind %q", p.Workload, last)
		}
		last = p.Workload
		listed[p.Workload] = true
		if !w.waits() && !v.claims(w) && !w.belowLadder() {
			v.fail(at, ruleReasons, "%q does not wait", p.Workload)
		}
		if p.Queue != w.forms[0].queue.id && (w.places == 0 || p.Queue != w.forms[w.formShown()].queue.id) {
			v.fail(at, ruleNames, "%q does not wait in queue %q", p.Workload, p.Queue)
		}
		if len(p.Reasons) == 0 {
			v.fail(at, ruleReasons, "%q has no reason to wait", p.Workload)
		}
		for k, r := range p.Reasons {
			v.reason(reasonSpot{i, k}, w, r)
		}
	}
	for _, w := range v.workOrder {
		if w.waits() && !listed[w.source.ID] && !w.belowLadder() {
			v.fail("pending", ruleReasons, "%q waits and is not listed", w.source.ID)
		}
	}
}

// waits says whether w waits: what runs of it is below its minimum. What it
// claims, or would take beyond, does not make it wait.
func (w *verifiedWorkload) waits() bool {
	return !w.source.Ending && !w.ended && !w.atMinimum(runningTasks)
}

// claims says whether w, though it has all that it needs, may wait for claims that the plan gives it.
func (v *verifier) claims(w *verifiedWorkload) bool {
	return w.atMinimum(runningTasks) && mayClaim(v, w) > 0
}

// mayClaim is to how many tasks of w the plan gives places for which they wait, at most: one waits for
// what was terminating before the plan and goes on to when the plan has been carried out, and what starts with it
// waits as well.
func mayClaim(v *verifier, w *verifiedWorkload) int {
	if !slices.ContainsFunc(v.room.waitsFor[w.source.ID], func(id string) bool {
		other := v.workloads[id]
		return other != nil && slices.ContainsFunc(other.source.Tasks, func(t allot.Task) bool { return t.Phase == allot.Terminating })
	}) {
		return 0
	}
	return v.room.placed[w.source.ID]
}

// reasonClaims checks for how many tasks a workload holds claims: for those that held one before the plan and
// keep it, and for some to which the plan gives a place for which they wait.
func reasonClaims(v *verifier, at reasonSpot, w *verifiedWorkload, r allot.Reason) {
	held := w.total().claimed
	if r.Need <= 0 || r.Need < int64(held) || r.Need > int64(held+mayClaim(v, w)) {
		v.reasonNeed(at, r, held)
	}
}

// reason checks what a reason says, as far as it can be told without solving.
func (v *verifier) reason(at reasonSpot, w *verifiedWorkload, r allot.Reason) {
	if r.Code < allot.ImpossibleNode || r.Code > allot.SearchCut {
		v.failAt(at, ruleReasons, "%d is no code of a reason to wait", r.Code)
		return
	}
	if r.Form < 0 || r.Form >= len(w.forms) {
		v.failAt(at, ruleNames, "%q has no form %d", w.source.ID, r.Form)
		return
	}
	f := &w.forms[r.Form]
	if r.PodSet != "" && f.set(r.PodSet) < 0 {
		v.failAt(at, ruleNames, "form %d of %q has no pod set %q", r.Form, w.source.ID, r.PodSet)
	}
	if r.Workload != "" && v.workloads[r.Workload] == nil {
		v.failAt(at, ruleNames, "no workload %q", r.Workload)
	}
	if r.Nearest != nil && v.nodes[r.Nearest.Node] == nil {
		v.failAt(at, ruleNames, "no node %q", r.Nearest.Node)
	}
	if r.Queue != "" && v.queues[r.Queue] == nil {
		v.failAt(at, ruleNames, "no queue %q", r.Queue)
		return
	}
	v.reasonNumbers(at, w, f, r)
}

// reasonNumbers checks Have and Need. A queue that bounds the workload is its
// own or an ancestor; the implicit queue has no bounds.
func (v *verifier) reasonNumbers(at reasonSpot, w *verifiedWorkload, f *verifiedForm, r allot.Reason) {
	q := v.queues[r.Queue]
	key := verifiedKey{r.Resource, r.Class}
	switch r.Code {
	case allot.ImpossibleQuota, allot.ImpossibleLimit, allot.MaxWorkloads, allot.OverLimit, allot.OverBorrowingLimit, allot.NoQuota:
		if q == nil || !q.above(f.queue) {
			v.failAt(at, ruleReasons, "queue %q does not bound %q", r.Queue, w.source.ID)
			return
		}
	}
	have := func(want int64) {
		if r.Have != want {
			v.failAt(at, ruleReasons, "have is %d, it should be %d", r.Have, want)
		}
	}
	v.reasonNeeds(at, w, f, &r)
	switch r.Code {
	case allot.ImpossibleQuota:
		have(q.bindingQuotaOf(key))
	case allot.ImpossibleLimit:
		if r.Have != q.borrowingOf(key) {
			have(q.limitOf(key))
		}
	case allot.OverLimit:
		have(q.limitOf(key) - q.used(key).all)
	case allot.OverBorrowingLimit:
		have(q.borrowingOf(key) - q.used(key).all)
	case allot.NoQuota:
		have(q.bindingQuotaOf(key) - q.used(key).nonPreemptible)
	case allot.MaxWorkloads:
		have(q.running)
		if r.Need != q.cap.Amount() || r.Have < r.Need {
			v.failAt(at, ruleReasons, "queue %q runs %d workloads, cap %d", q.id, q.running, q.cap.Amount())
		}
		return
	case allot.NotSubmitted:
		v.reasonSubmitted(at, f, r)
	case allot.Leaving:
		v.reasonLeaving(at, w, r)
		return
	case allot.ClaimHeld:
		reasonClaims(v, at, w, r)
		return
	case allot.ProtectedUntil, allot.NotBefore:
		reasonUntil(v, at, w, r)
		return
	case allot.BudgetSpent, allot.SaturationTurns, allot.VictimsProtected, allot.Overtaken, allot.SearchCut:
		v.reasonCounts(at, r)
		return
	case allot.ImpossibleNode, allot.NoNode:
		v.reasonNodes(at, f, &r)
		return
	case allot.NoCapacity:
		have(v.freeFor(f.queue, r.Resource))
	case allot.OverLine, allot.GuaranteeCut, allot.LargerThanShare, allot.KeptFromLending, allot.GangShort, allot.ImpossibleGang, allot.OverHeld:
	default:
		return
	}
	if r.Have >= r.Need {
		v.failAt(at, ruleReasons, "have %d is enough for need %d", r.Have, r.Need)
	}
}

// reasonNeeds checks what a reason says that the workload needs of a resource:
// what the tasks ask that are missing to its minimum. Where there is a choice of
// tasks (G3), or a smaller number would do (L2), it is that of one of them. What
// is given per class is asked by those tasks only that come to it.
func (v *verifier) reasonNeeds(at reasonSpot, w *verifiedWorkload, f *verifiedForm, r *allot.Reason) {
	switch r.Code {
	case allot.OverLimit, allot.OverBorrowingLimit, allot.NoQuota, allot.KeptFromLending, allot.ImpossibleLimit, allot.ImpossibleQuota, allot.NoCapacity, allot.OverLine, allot.LargerThanShare:
	default:
		return
	}
	if len(f.Groups) > 0 || r.Class != "" || f.PodSets[0].Step == gang.Halving || w.places > 0 && &w.forms[w.form] != f {
		return
	}
	var need int64
	for i := range f.PodSets {
		ps := &f.PodSets[i]
		missing := cmp.Or(ps.Min, ps.Count)
		if w.places > 0 {
			missing = max(0, missing-heldTasks(w.counts[i]))
		}
		switch amount := int64(missing); {
		case r.Resource != allot.GPU:
			need += amount * ps.Request.Resources[r.Resource]
		case r.Code != allot.NoCapacity || ps.Request.GPU.Memory == 0: // which is different on each device
			need += amount * chargedGPU(ps.Request.GPU, f.queue.pool)
		}
	}
	if r.Need != need {
		v.failAt(at, ruleReasons, "need is %d, it should be %d", r.Need, need)
	}
}

// freeFor is free, looked for once.
func (v *verifier) freeFor(q *verifiedQueue, resource string) int64 {
	asked := verifiedFree{q.pool, q.narrowed, resource}
	sum, known := v.freeOf[asked]
	if !known {
		sum = q.free(resource)
		v.freeOf[asked] = sum
	}
	return sum
}

// A verifiedFree is a resource on the nodes that a queue may use.
type verifiedFree struct {
	pool     *verifiedPool
	narrowed *verifiedQueue
	resource string
}

// free is what is free of a resource on the nodes that the queue may use, of
// each device as many thousandths as are whole.
func (q *verifiedQueue) free(resource string) (sum int64) {
	for _, n := range q.pool.nodes {
		if n.source.Lost || n.source.Cordoned || !q.reaches(n) {
			continue
		}
		if resource != allot.GPU {
			room := n.room(resource)
			sum += max(0, room.usable-max(room.now(), room.then()))
			continue
		}
		for i := range n.devices {
			if d := &n.devices[i]; !d.source.Unhealthy {
				sum += min(d.left(d.now()), d.left(d.then()))
			}
		}
	}
	return sum
}

// left are the whole thousandths of the device beside that much. The products
// are below 2^64 as memory is below 2^53.
func (d *verifiedDevice) left(milli, bytes int64) int64 {
	memory := uint64(max(1, d.source.Memory))
	whole, taken := milliPerDevice*memory, memory*uint64(milli+d.source.Foreign)+milliPerDevice*uint64(bytes)
	return int64((whole - min(whole, taken)) / memory)
}

// reasonSubmitted checks NotSubmitted: too few tasks of a pod set are there.
func (v *verifier) reasonSubmitted(at reasonSpot, f *verifiedForm, r allot.Reason) {
	k := f.set(r.PodSet)
	if k < 0 {
		return // told already, or of a group
	}
	ps := f.PodSets[k]
	have, need := ps.Count-ps.Missing, cmp.Or(ps.Min, ps.Count)
	if lowest := lowestOf(&ps); r.Need == int64(lowest) {
		need = lowest
	}
	if r.Have != int64(have) || r.Need != int64(need) {
		v.failAt(at, ruleReasons, "pod set %q has %d of %d, not %d of %d", r.PodSet, have, need, r.Have, r.Need)
	}
}

// reasonCounts checks a reason whose need counts something.
func (v *verifier) reasonCounts(at reasonSpot, r allot.Reason) {
	if r.Need <= 0 {
		v.failAt(at, ruleReasons, "need is %d, and it counts something", r.Need)
	}
}

// moving counts the tasks of w that leave one place and claim another (M4).
func (v *verifier) moving(w *verifiedWorkload) (n int) {
	if w.form != w.leavingForm {
		return 0
	}
	for _, t := range w.source.Tasks {
		name := taskName{w.source.ID, t.PodSet, t.Index}
		if _, leaves := v.leaving[name]; leaves && t.Phase == allot.Claimed && v.tasks[name].phase == allot.Claimed {
			n++
		}
	}
	return n
}

func (v *verifier) reasonNeed(at reasonSpot, r allot.Reason, need int) {
	if r.Need != int64(need) || need == 0 {
		v.failAt(at, ruleReasons, "need is %d, it should be %d", r.Need, need)
	}
}

// reasonLeaving checks how many of the workload's tasks have to leave.
func (v *verifier) reasonLeaving(at reasonSpot, w *verifiedWorkload, r allot.Reason) {
	leaving := w.total().terminating
	if w.taken && leaving == 0 { // it starts with others of its tasks once these have left (S5)
		leaving = v.evictedTasks[w.source.ID]
	}
	if r.Need != int64(leaving-v.moving(w)) {
		v.reasonNeed(at, r, leaving)
	}
}
