package verify

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/preempt"
)

// reclaimed checks what was taken by one queue from another (R1–R5).
func (v *verifier) reclaimed(x *verifiedVictim, gains []verifiedGain) {
	reason, f := &x.action.Reason, gains[0].form
	byShare := reason.Code == allot.ReclaimedByShare
	policy := x.queue.pool.policy
	switch {
	case policy.Reclaim == preempt.NoReclaim, policy.Reclaim == preempt.ByQuota && byShare:
		v.failAt(x.at, ruleReclaimer, "the policy knows no such reclaim")
	case policy.ReclaimNonPreemptibleOnly && !f.nonPreemptible:
		v.failAt(x.at, ruleReclaimer, "the policy lets only non-preemptible work reclaim, and %q is preemptible", reason.Workload)
	}
	entitled := v.entitledForm(x, f)
	side, own := part(x.queue, entitled.queue)
	if side == nil {
		v.failAt(x.at, ruleReclaimer, "%q is of the same queue", reason.Workload)
		return
	}
	if entitled == f {
		v.withinLines(x, gains, own, byShare)
	}
	v.withinBefore(x, gains, side, byShare)
	if reason.Subtrees != nil {
		v.lawfulSides(x, side, own, verifiedKey{reason.Resource, reason.Class})
	}
}

// withinLines checks that with one of its starts the preemptor stays within its
// lines, up to its side, in all that it asks for that (R1). Of units that move together one
// may have had the right, and the others have grown beyond the lines after that (Q4), as what is
// above a minimum that moves may have where it ran.
func (v *verifier) withinLines(x *verifiedVictim, gains []verifiedGain, own *verifiedQueue, byShare bool) {
	var told string
	for i := range gains {
		f, beyond := gains[i].form, ""
		for level, q := 0, f.queue; q != own.parent && beyond == ""; level, q = level+1, q.parent {
			if key, use, line, over := v.overLine(&gains[i], q, level, byShare); over && use-gains[i].beside[key]-amountIn(gains[i].grown, key)-v.returnable(x, q, f, key) > line {
				beyond = fmt.Sprintf("%q takes queue %q to %d %s, line %d", x.action.Reason.Workload, q.id, use, key.resource, line)
			}
		}
		if beyond == "" {
			return
		}
		told = cmp.Or(told, beyond)
	}
	v.failAt(x.at, ruleReclaimer, "%s", told)
}

// returnable is the most of the queue's use that the preemptor can have taken
// and that was then put back where it was, which the plan does not show (M9).
func (v *verifier) returnable(x *verifiedVictim, q *verifiedQueue, f *verifiedForm, key verifiedKey) (sum int64) {
	b := v.workloads[x.action.Reason.Workload]
	asked := verifiedReturn{b, f.queue, q, key, x.action.Reason.Code}
	if sum, known := v.room.returnable[asked]; known {
		return sum
	}
	for _, w := range v.workOrder {
		if w.places == 0 || w == b || w.forms[w.form].nonPreemptible || !q.above(w.forms[w.form].queue) {
			continue
		}
		if other := w.forms[w.form].queue; !v.mayTake(b, f.queue, w, other, x.action.Reason.Code) && !v.mayTake(b, f.queue, w, other, allot.Preempted) {
			continue
		}
		for _, t := range w.source.Tasks {
			if now := v.tasks[taskName{w.source.ID, t.PodSet, t.Index}]; now.node == t.Node && sameDevices(now.devices, t.Devices) && t.Phase != allot.Terminating {
				sum += amountIn(charges(v.requestOf(w, w.form, t.PodSet), q.pool, v.nodes[t.Node], t.Devices), key)
			}
		}
	}
	v.room.returnable[asked] = sum
	return sum
}

// entitledForm is the form of the preemptor that was entitled to the victim:
// the one that has started or, where the reason tells of another side, one of
// that side, in which it started first and lost it again in the same solve.
func (v *verifier) entitledForm(x *verifiedVictim, started *verifiedForm) *verifiedForm {
	told := x.action.Reason.Subtrees
	if _, own := part(x.queue, started.queue); told == nil || own != nil && own.id == told.Preemptor.Queue {
		return started
	}
	w := v.workloads[x.action.Reason.Workload]
	for i := range w.forms {
		if _, own := part(x.queue, w.forms[i].queue); own != nil && own.id == told.Preemptor.Queue {
			return &w.forms[i]
		}
	}
	return started
}

// withinBefore checks that a side within its line before the plan, in which
// nothing starts, loses nothing (R2, R3).
func (v *verifier) withinBefore(x *verifiedVictim, gains []verifiedGain, side *verifiedQueue, byShare bool) {
	if side.grown {
		return
	}
	for _, c := range x.charged {
		line := v.line(side, c.key, byShare)
		switch {
		case side.pool.ends && c.key.class == "" && side.pool.divided(c.key.resource):
			return // what has gone for good may have cut the lines of that moment (R8)
		case c.key.class != "" && !gains[0].form.queue.guarantees(c.key):
		case c.key.class != "" && side.first[c.key] > line:
			return // whether it lands in that class or in another that it accepts
		case side.first[c.key] > line && slices.ContainsFunc(gains, func(g verifiedGain) bool { return amountIn(g.charged, c.key) > 0 }):
			return
		case byShare && line == unbounded && side.pool.divided(c.key.resource):
			return // the shares of that moment are not known
		}
	}
	if v.mayHaveGrown(x, gains[0].form, side, byShare) {
		return
	}
	v.failAt(x.at, ruleWithin, "queue %q is within its line before the plan and loses %q", side.id, x.action.Workload)
}

// mayHaveGrown says whether something that waits in the side can have started
// there, taken it over its line, and gone for the preemptor in turn, which the
// plan does not show (M9).
func (v *verifier) mayHaveGrown(x *verifiedVictim, f *verifiedForm, side *verifiedQueue, byShare bool) bool {
	asked := v.mostAsked(v.workloads[x.action.Reason.Workload], f.queue, side)
	return slices.ContainsFunc(x.charged, func(c verifiedCharge) bool {
		most := asked[c.key.resource]
		return (c.key.class == "" || f.queue.guarantees(c.key)) && most > 0 && side.first[c.key]+most > v.line(side, c.key, byShare)
	})
}

// sides checks what a reason tells of the two sides against each other, and
// against what the queues and workloads are (X2): what was used before each
// change is known to the solve alone.
func (v *verifier) sides(x *verifiedVictim, gains []verifiedGain) {
	r := &x.action.Reason
	f := v.entitledForm(x, gains[0].form)
	side, own := part(x.queue, f.queue)
	switch {
	case side == nil:
		return // told already
	case r.Queue != side.id:
		v.failAt(x.at, ruleActionReason, "the side is %q, not %q", side.id, r.Queue)
		return
	case r.Subtrees == nil:
		v.failAt(x.at, ruleActionReason, "the sides are not told")
		return
	}
	key := verifiedKey{r.Resource, r.Class}
	victim, preemptor := r.Subtrees.Victim, r.Subtrees.Preemptor
	if victim.Queue != side.id || preemptor.Queue != own.id {
		v.failAt(x.at, ruleActionReason, "the sides are %q and %q, not %q and %q", side.id, own.id, victim.Queue, preemptor.Queue)
		return
	}
	if r.Have != victim.Before || r.Need != victim.Entitlement {
		v.failAt(x.at, ruleActionReason, "have %d and need %d are not the side's use %d and line %d", r.Have, r.Need, victim.Before, victim.Entitlement)
	}
	v.toldLine(x, side, key, victim.Entitlement)
	v.toldLine(x, own, key, preemptor.Entitlement)
	v.sidesChange(x, gains, f, key)
}

// sidesChange checks that the resource of a reclaim is one that the victim holds
// and the preemptor requests (R2), and that the sides lose and gain exactly
// what the action takes and the preemptor gets (X2).
func (v *verifier) sidesChange(x *verifiedVictim, gains []verifiedGain, f *verifiedForm, key verifiedKey) {
	victim, preemptor := x.action.Reason.Subtrees.Victim, x.action.Reason.Subtrees.Preemptor
	held := amountIn(x.charged, key)
	if held == 0 {
		v.failAt(x.at, ruleOver, "%q holds no %s", x.action.Workload, key.resource)
		return
	}
	victimLoses(v, x, victim, key)
	got, start := preemptor.After-preemptor.Before, int64(0)
	for i := range gains {
		amount := amountIn(gains[i].charged, key)
		if gains[i].claimed && got == 0 && amount > 0 {
			return
		}
		if start = max(start, amount); got > 0 && (amount == got || gains[i].inUnits && got < amount) {
			return
		}
	}
	if start == 0 && got == 0 && f.asksClass(v, key) {
		return // it has found its place in another class that it accepts
	}
	if start == 0 && got == 0 {
		v.failAt(x.at, ruleOver, "%q requests no %s", x.action.Reason.Workload, key.resource)
		return
	}
	v.failAt(x.at, ruleActionReason, "the preemptor's side grows by %d %s, and %q takes %d", got, key.resource, x.action.Reason.Workload, start)
}

// victimLoses checks what a reason tells that the side of a victim loses against what that holds. It loses all of it but
// where the action tells of several units, some of them taken for others, or goes along with a minimum (M6) of which
// something may stay, or come back.
func victimLoses(v *verifier, x *verifiedVictim, side allot.Subtree, key verifiedKey) {
	held, lost := amountIn(x.charged, key), side.Before-side.After
	inPart := x.source.inUnits(x.action) || amountIn(chargesAt(v, &x.source.forms[x.action.Form], x.places), key) == 0
	if held == 0 || lost != held && (lost <= 0 || lost > held || !inPart) {
		v.failAt(x.at, ruleActionReason, "the victim's side loses %d %s, and %q holds %d", lost, key.resource, x.action.Workload, held)
	}
}

// asksClass says whether the form could land in the class, and its queue gives a quota for
// it (Q8).
func (f *verifiedForm) asksClass(v *verifier, key verifiedKey) bool {
	return f.queue.guarantees(key) && slices.ContainsFunc(f.PodSets, func(ps allot.PodSet) bool {
		return slices.ContainsFunc(v.state.Nodes, func(n allot.Node) bool {
			devices := key.resource == allot.GPU && slices.ContainsFunc(n.Devices, func(d allot.Device) bool { return d.Model == key.class })
			return (n.Class == key.class || devices) && selects(ps.Request.Selector, n.Labels)
		})
	})
}

// inUnits says whether the tasks of the action may be several units of the
// workload, which can go for different preemptors.
func (w *verifiedWorkload) inUnits(a *allot.Action) bool {
	return len(a.Tasks) > 1 && w.hasUnits(&w.forms[a.Form])
}

// hasUnits says whether what the workload holds may be several units.
func (w *verifiedWorkload) hasUnits(f *verifiedForm) bool {
	held := make(map[string]int)
	for _, t := range w.source.Tasks {
		if t.Phase != allot.Terminating {
			held[t.PodSet]++
		}
	}
	return len(f.Groups) > 0 || slices.ContainsFunc(f.PodSets, func(ps allot.PodSet) bool {
		return held[ps.Name] > cmp.Or(ps.Min, ps.Count)
	})
}

// toldLine checks the line of a side that a reason tells.
func (v *verifier) toldLine(x *verifiedVictim, q *verifiedQueue, key verifiedKey, told int64) {
	v.lineTold(x, q, key, x.action.Reason.Code == allot.ReclaimedByShare, told)
}

// lineTold checks the quota or, by share, the fair share that is told of a queue.
func (v *verifier) lineTold(x *verifiedVictim, q *verifiedQueue, key verifiedKey, byShare bool, told int64) {
	want, known := quotaLine(v, q, key), !q.pool.ends
	if byShare {
		want, known = v.fairShare(q, key.resource)
		if key.class != "" {
			v.failAt(x.at, ruleActionReason, "there are no shares of class %q", key.class)
		}
	}
	if want == unbounded {
		told = max(told, allot.MaxAmount) // the largest that every reader of JSON keeps
		want = allot.MaxAmount
	}
	if known && told != want {
		v.failAt(x.at, ruleActionReason, "the line of %q is %d %s, not %d", q.id, want, key.resource, told)
	}
}

// lawfulSides checks R2 and, where one resource alone is divided, R4 and R5: with
// several, saturation may be that in another.
func (v *verifier) lawfulSides(x *verifiedVictim, side, own *verifiedQueue, key verifiedKey) {
	s, policy := x.action.Reason.Subtrees, side.pool.policy
	byShare := x.action.Reason.Code == allot.ReclaimedByShare
	over := s.Victim.Entitlement
	if byShare && policy.Shares == fairshare.QuotaThenWeight && !side.pool.ends {
		over = max(over, quotaLine(v, side, key))
	}
	if s.Victim.Before <= over {
		v.failAt(x.at, ruleOver, "queue %q uses %d %s, which is not over %d", side.id, s.Victim.Before, key.resource, over)
	}
	allowed := s.Preemptor.Entitlement
	if byShare {
		allowed = max(allowed, quotaLine(v, own, key))
	}
	if s.Preemptor.After > allowed {
		v.failAt(x.at, ruleReclaimer, "queue %q would use %d %s, which is over %d", own.id, s.Preemptor.After, key.resource, allowed)
	}
	if key.class != "" || !side.pool.dividesOnly(key.resource) {
		return
	}
	if policy.Straddle == preempt.Spare && s.Victim.After < s.Victim.Entitlement {
		v.failAt(x.at, ruleStraddle, "queue %q falls to %d %s, line %d", side.id, s.Victim.After, key.resource, s.Victim.Entitlement)
	}
	margin := max(milliPerDevice, policy.ReclaimMarginMilli)
	before := product{uint64(s.Victim.Before), milliPerDevice, uint64(s.Preemptor.Entitlement)}
	after := product{uint64(s.Preemptor.After), uint64(margin), uint64(s.Victim.Entitlement)}
	if byShare && !less(after, before) {
		v.failAt(x.at, ruleMargin, "saturation %d/%d is not above %d/1000 of %d/%d", s.Victim.Before, s.Victim.Entitlement,
			margin, s.Preemptor.After, s.Preemptor.Entitlement)
	}
}

// dividesOnly says whether that resource and no other is divided.
func (p *verifiedPool) dividesOnly(resource string) bool {
	for key := range p.governed { // one that differs is enough: order cannot matter
		if key.class == "" && key.resource != resource {
			return false
		}
	}
	return resource == allot.GPU || !p.divided(allot.GPU)
}
