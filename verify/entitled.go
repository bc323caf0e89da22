package verify

import (
	"math/bits"
	"slices"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/preempt"
)

// verifiedRoomMaking is what a plan says about making room. Which workload was
// entitled to what is judged when all actions are known.
//
// A solve goes one change at a time (M9), and a plan shows only what has come of
// it: what was given a place and lost it again in the same solve is not seen.
// So what a reason says of a moment within the solve is checked against
// itself, and against the plan as far as nothing unseen could make it right.
type verifiedRoomMaking struct {
	victims  []verifiedVictim
	moves    []verifiedMove
	gained   map[string][]verifiedGain // by workload, of those that others are disturbed for
	sought   map[string]bool           // those that others are disturbed for
	claims   map[string]bool           // those of them that have victims by right
	waitsFor map[string][]string       // by workload: what must leave before it runs
	placed   map[string]int            // by workload: its tasks to which the plan gives places
	fair     map[*verifiedQueue]map[string]int64
	cut      map[*verifiedQueue]map[string]int64 // of guarantees
	// What follows remembers what the functions of these names have found, as
	// thousands of victims may go for one preemptor.
	asked      map[verifiedReclaimer]map[string]int64 // mostAsked
	returnable map[verifiedReturn]int64
	releasable map[verifiedRelease]int64
}

// A verifiedVictim is an action that takes something from a workload for
// another, and what is taken.
type verifiedVictim struct {
	at      spot
	action  *allot.Action
	source  *verifiedWorkload
	queue   *verifiedQueue
	places  []allot.Placement
	charged []verifiedCharge
}

// A verifiedGain is an action that gives a workload places, what it is charged
// for them, and the use of its queue and all above right afterwards. Of what moves, or
// leaves and starts, it is charged its whole minimum, of which stays is what has come back
// to where it ran: what goes as one has its right as one (M4, M6).
type verifiedGain struct {
	kind    allot.ActionKind
	form    *verifiedForm
	charged []verifiedCharge
	stays   []verifiedCharge
	uses    []map[verifiedKey]int64 // from the leaf up
	// inUnits: it may tell of several units, each with a right of its own; beside is what the
	// others of a task of it are charged at most.
	inUnits bool
	beside  map[verifiedKey]int64
	// grown is what of it is above the minimum where that moves, and is where it ran: it left with the minimum,
	// and has come back or grown again once that had its right (M6, Q4).
	grown []verifiedCharge
	// claimed: only claims start, which are its queues' use already (S7).
	claimed bool
}

// readRoomMaking reads which workloads are named as preemptors and, if any is, what
// the queues use before the plan.
func (v *verifier) readRoomMaking() {
	v.room.sought, v.room.gained = make(map[string]bool), make(map[string][]verifiedGain)
	v.room.claims = make(map[string]bool)
	v.room.waitsFor, v.room.placed = make(map[string][]string), make(map[string]int)
	for i := range v.plan.Actions {
		r := &v.plan.Actions[i].Reason
		if entitles(r.Code) {
			v.room.claims[r.Workload] = true
		}
		if entitles(r.Code) || r.Code == allot.Consolidated {
			v.room.sought[r.Workload] = true
		}
	}
	if len(v.room.sought) == 0 {
		return
	}
	for _, p := range v.poolOrder {
		for _, q := range p.queues {
			q.first = make(map[verifiedKey]int64, len(q.use))
			for key, use := range q.use { // into a map: order cannot matter
				q.first[key] = use.all
			}
		}
	}
}

// gains notes that an action has given tasks of a workload of that form places that are
// charged so.
func (v *verifier) gains(a *allot.Action, f *verifiedForm, tasks []plannedTask, charged []verifiedCharge, claimed bool) {
	if len(a.After) > 0 {
		v.room.waitsFor[a.Workload] = append(v.room.waitsFor[a.Workload], a.After...)
	}
	v.room.placed[a.Workload] += len(a.Tasks)
	if !v.room.sought[a.Workload] || a.Reason.Code == allot.Consolidated {
		return // what moves so that another starts is no start of its own
	}
	g, w := verifiedGain{kind: a.Kind, form: f, claimed: claimed}, v.workloads[a.Workload]
	if a.Kind == allot.Move || v.restarts[a.Workload] && w.admitted != nil { // which is a move in two parts (M11)
		home, above := backHome(v, a)
		g.inUnits = len(a.Tasks)+len(home) > 1 && w.hasUnits(f)
		g.stays, g.grown = chargesAt(v, f, home), chargesAt(v, f, above)
		charged = mergeCharges(slices.Clone(charged), g.stays)
	}
	for _, c := range charged {
		if c.key.class == "" || f.queue.guarantees(c.key) {
			g.charged = append(g.charged, c)
		}
	}
	if g.inUnits {
		g.beside = besideOne(f, tasks, g.charged)
	}
	for q := f.queue; q != nil; q = q.parent {
		uses := make(map[verifiedKey]int64, len(g.charged))
		for _, c := range g.charged {
			uses[c.key] = q.used(c.key).all
		}
		g.uses = append(g.uses, uses)
	}
	v.room.gained[a.Workload] = append(v.room.gained[a.Workload], g)
}

// backHome are the tasks of a minimum of which others move that are where they ran, and those above it that are.
func backHome(v *verifier, a *allot.Action) (minimum, more []allot.Placement) {
	w := v.workloads[a.Workload]
	above := aboveNow(v, w)
	moves := make(map[taskName]bool, len(a.Tasks))
	some := false // of the minimum moves
	for _, t := range a.Tasks {
		name := taskName{a.Workload, t.PodSet, t.Index}
		moves[name], some = true, some || !above[name]
	}
	for i := range w.source.Tasks {
		t := &w.source.Tasks[i]
		name := taskName{a.Workload, t.PodSet, t.Index}
		now := v.tasks[name]
		if !some || moves[name] || t.Phase != allot.Running || now.node != t.Node || !sameDevices(now.devices, t.Devices) {
			continue
		}
		place := allot.Placement{PodSet: t.PodSet, Index: t.Index, Node: t.Node, Devices: t.Devices}
		if above[name] {
			more = append(more, place)
		} else {
			minimum = append(minimum, place)
		}
	}
	return minimum, more
}

// aboveNow are the tasks of a workload above its minimum: where some of that has gone, as people have reserved its
// place (B9), as many of the same pod set are of the minimum instead.
func aboveNow(v *verifier, w *verifiedWorkload) map[taskName]bool {
	above, gone := make(map[taskName]bool, len(w.admitted.above)), make(map[string]int)
	each := func(do func(name taskName, placed bool)) {
		for i := range w.source.Tasks {
			if t := &w.source.Tasks[i]; t.Phase == allot.Running {
				name := taskName{w.source.ID, t.PodSet, t.Index}
				_, placed := v.tasks[name]
				do(name, placed)
			}
		}
	}
	each(func(name taskName, placed bool) {
		if _, above[name] = w.admitted.above[name]; !above[name] && !placed {
			gone[name.podSet]++
		}
	})
	each(func(name taskName, placed bool) {
		if above[name] && placed && gone[name.podSet] > 0 {
			above[name] = false
			gone[name.podSet]--
		}
	})
	return above
}

// besideOne is what all tasks that an action has placed but one are charged, at most.
func besideOne(f *verifiedForm, tasks []plannedTask, charged []verifiedCharge) map[verifiedKey]int64 {
	beside := make(map[verifiedKey]int64)
	for _, t := range tasks {
		own := charges(t.request, f.queue.pool, t.node, t.place.Devices)
		for _, c := range charged {
			beside[c.key] = max(beside[c.key], c.amount-amountIn(own, c.key))
		}
	}
	return beside
}

// noteGrown notes that something starts in the queue.
func (q *verifiedQueue) noteGrown() {
	for up := q; up != nil && !up.grown; up = up.parent {
		up.grown = true
	}
}

// judge checks that everything that was taken was taken for a workload that starts
// by it (M2) and is entitled to it.
func (v *verifier) judge() {
	v.room.fair, v.room.cut = make(map[*verifiedQueue]map[string]int64), readCuts(v)
	v.room.asked, v.room.returnable = make(map[verifiedReclaimer]map[string]int64), make(map[verifiedReturn]int64)
	v.room.releasable = make(map[verifiedRelease]int64)
	for i := range v.plan.Shares {
		row := &v.plan.Shares[i]
		if q := v.queueOfRow(row); q != nil && row.Class == "" && row.Divided {
			if v.room.fair[q] == nil {
				v.room.fair[q] = make(map[string]int64)
			}
			v.room.fair[q][row.Resource] = row.FairShare
		}
	}
	for i := range v.room.victims {
		x := &v.room.victims[i]
		gains := v.room.gained[x.action.Reason.Workload]
		v.foundElsewhere(x)
		goesWithMinimum(v, x)
		switch b := v.workloads[x.action.Reason.Workload]; {
		case b == nil:
			v.failAt(x.at, ruleNames, "no workload %q", x.action.Reason.Workload)
			continue
		case b == x.source && len(x.action.Reason.Chain) < 2:
			v.failAt(x.at, ruleUseful, "%q is its own preemptor", b.source.ID)
			continue
		case len(gains) == 0:
			v.failAt(x.at, ruleUseful, "%q, for which it is, starts nothing in this plan", b.source.ID)
			continue
		case gains[0].form.queue.pool != x.queue.pool:
			v.failAt(x.at, ruleReclaimer, "%q is of another pool", b.source.ID)
			continue
		}
		if len(x.action.Reason.Chain) > 0 {
			chainJudge{v, x}.judge()
			continue
		}
		v.entitled(x, gains)
		v.growsByRight(x, gains)
		if c := x.action.Reason.Code; c == allot.ReclaimedByQuota || c == allot.ReclaimedByShare {
			v.sides(x, gains)
		}
	}
	v.movedForEach()
	movedBeside(v)
	v.growsAlone()
}

// entitled checks that the preemptor was entitled to the victim by one of its
// starts: its minimum or a task above that; and tells the faults of the first.
func (v *verifier) entitled(x *verifiedVictim, gains []verifiedGain) {
	told := len(v.found)
	var first []Violation
	for i := range gains {
		v.found = v.found[:told:told]
		switch one := gains[i : i+1]; x.action.Reason.Code {
		case allot.Consolidated:
			v.consolidated(x, one)
		case allot.Preempted:
			v.preempted(x, one)
		case allot.Behind:
			reserving{v}.stoodBehind(x, one[0].form)
		default:
			v.reclaimed(x, one)
		}
		if len(v.found) == told {
			return
		}
		if first == nil {
			first = v.found
		}
	}
	v.found = first
}

// foundElsewhere checks that a claim that is consolidated is another afterwards
// (C1).
func (v *verifier) foundElsewhere(x *verifiedVictim) {
	if x.action.Reason.Code != allot.Consolidated {
		return
	}
	for _, t := range x.action.Tasks {
		if v.tasks[taskName{x.action.Workload, t.PodSet, t.Index}].node == "" {
			v.failAt(x.at, ruleMove, "task %d of pod set %q of %q finds no other place", t.Index, t.PodSet, x.action.Workload)
		}
	}
}

// growsAlone checks that nothing goes for what only grows on its ladder (L3).
func (v *verifier) growsAlone() {
	for i := range v.room.victims {
		x := &v.room.victims[i]
		gains := v.room.gained[x.action.Reason.Workload]
		if len(gains) == 0 || x.action.Kind == allot.Move || gains[0].kind != allot.Resize {
			continue
		}
		if gains[0].form.PodSets[0].Step == gang.Halving {
			v.failAt(x.at, ruleLadder, "%q only grows, and never evicts for that", x.action.Reason.Workload)
		}
	}
}

// mayTake says whether by queues, priorities and policy alone one workload may
// take from another for a reason of that code.
func (v *verifier) mayTake(w *verifiedWorkload, queue *verifiedQueue, other *verifiedWorkload, otherQueue *verifiedQueue, code allot.Code) bool {
	switch policy := queue.pool.policy; code {
	case allot.Consolidated:
		return !policy.NoConsolidation
	case allot.Preempted:
		return policy.Preempt != preempt.NoPreemption && (policy.Preempt == preempt.WithinPool || queue == otherQueue) &&
			priorityOf(w.source, policy) > priorityOf(other.source, policy)
	case allot.Behind:
		return w.source.Reserved != nil || slices.ContainsFunc(v.plan.Reservations, func(r allot.PlannedReservation) bool { return r.Workload == w.source.ID }) ||
			reserving{v}.borrows(w, queue, other, otherQueue, nil) || reserving{v}.trustedToHaveLeft(w, other, otherQueue)
	default:
		return policy.Reclaim != preempt.NoReclaim && queue != otherQueue
	}
}

// growsByRight checks what tasks above a minimum may cause: by one, reclaim and
// consolidation (G2); on a ladder, nothing (L3).
func (v *verifier) growsByRight(x *verifiedVictim, gains []verifiedGain) {
	if slices.ContainsFunc(gains, func(g verifiedGain) bool { return g.kind != allot.Resize }) {
		return
	}
	b := x.action.Reason.Workload
	if x.action.Reason.Code == allot.Preempted {
		v.failAt(x.at, ruleUnit, "%q only grows, and what is above a minimum never preempts", b)
	}
}

// fairShare is the queue's fair share by the plan, and whether the resource is
// divided. Where something ends for good, shares were others before (M5).
func (v *verifier) fairShare(q *verifiedQueue, resource string) (int64, bool) {
	amount, ok := v.room.fair[q][resource]
	return amount, ok && !q.pool.ends
}

// line is what a queue may defend: its quota or, by share, the larger of its
// quota and its fair share (R8). Not all methods of division know quotas (F8).
func (v *verifier) line(q *verifiedQueue, key verifiedKey, byShare bool) int64 {
	if key.class != "" { // there are no shares of it (Q8)
		if byShare || q.pool.policy.Shares != fairshare.QuotaThenWeight {
			return unbounded
		}
		return q.quotaOf(key)
	}
	if !q.pool.divided(key.resource) {
		return unbounded
	}
	own := quotaLine(v, q, key)
	if !byShare {
		return own
	}
	fair, known := v.fairShare(q, key.resource)
	if !known {
		return unbounded // nothing can be told
	}
	return max(own, fair)
}

// overLine is a resource of the gain in which the queue, so many levels above
// the gain's leaf, was taken beyond its line, or none. What has moved by the
// plan may have been out of the queue at that moment.
func (v *verifier) overLine(g *verifiedGain, q *verifiedQueue, level int, byShare bool) (key verifiedKey, use, line int64, over bool) {
	for _, c := range g.charged {
		use, line = g.uses[level][c.key]-q.moved[c.key], v.line(q, c.key, byShare)
		if g.kind == allot.Move {
			use += c.amount - amountIn(g.stays, c.key)
		}
		if use > line {
			return c.key, use, line, true
		}
	}
	return verifiedKey{}, 0, 0, false
}

// part finds the sides of two leaves: the queues just below the one where
// their paths part. Both are nil where the leaves are one.
func part(a, b *verifiedQueue) (x, y *verifiedQueue) {
	for x = a; x != nil; x = x.parent {
		for y = b; y != nil; y = y.parent {
			if x != y && x.parent == y.parent {
				return x, y
			}
		}
	}
	return nil, nil
}

// preempted checks E1, E8 and that the policy lets work be preempted.
func (v *verifier) preempted(x *verifiedVictim, gains []verifiedGain) {
	b, f := v.workloads[x.action.Reason.Workload], gains[0].form
	policy := x.queue.pool.policy
	switch {
	case policy.Preempt == preempt.NoPreemption:
		v.failAt(x.at, rulePreempt, "the policy knows no preemption")
	case policy.Preempt == preempt.WithinQueue && x.queue != f.queue:
		v.failAt(x.at, rulePreempt, "%q is of queue %q, the victim of %q", b.source.ID, f.queue.id, x.queue.id)
	}
	mine, other := priorityOf(b.source, policy), priorityOf(x.source.source, policy)
	if mine <= other {
		v.failAt(x.at, rulePreempt, "%q does not have the higher priority", b.source.ID)
	}
	for level, q := 0, f.queue; q != nil; level, q = level+1, q.parent {
		key, use, line, over := v.overLine(&gains[0], q, level, true)
		if !over {
			continue
		}
		beside := gains[0].beside[key] // which may start by itself, in what is free (Q4)
		if most := v.releasable(q, f.queue, mine, key); use-beside-most > line && most < amountIn(gains[0].charged, key)-beside {
			v.failAt(x.at, ruleRelease, "%q takes queue %q to %d %s, line %d, and cannot release as much as it starts",
				b.source.ID, q.id, use, key.resource, line)
			return
		}
	}
}

func amountIn(list []verifiedCharge, key verifiedKey) int64 {
	for _, c := range list {
		if c.key == key {
			return c.amount
		}
	}
	return 0
}

// priorityOf is the workload's rank in its policy: a higher number goes first.
func priorityOf(w *allot.Workload, p *allot.Policy) int64 {
	number := int64(w.Priority)
	class := w.Class
	if class == "" {
		class = p.DefaultClass
	}
	if number == 0 || w.Class != "" && p.ClassBeatsPriority {
		for _, c := range p.Classes {
			if c.Name == class {
				number = int64(c.Priority)
			}
		}
	}
	if p.LowerFirst {
		return -number
	}
	return number
}

// consolidated checks C4 and, where nothing goes by right as well (M10), C5 for one
// move.
func (v *verifier) consolidated(x *verifiedVictim, gains []verifiedGain) {
	policy, f := x.queue.pool.policy, gains[0].form
	if policy.NoConsolidation {
		v.failAt(x.at, ruleConsolidate, "the policy knows no consolidation")
	}
	key, use, line, over := v.overLine(&gains[0], f.queue, 0, true)
	b := v.workloads[x.action.Reason.Workload]
	if over && policy.Preempt != preempt.NoPreemption && relocations(policy) > 0 { // what went for it may have started in this solve
		most := v.releasable(f.queue, f.queue, priorityOf(b.source, policy), key)
		over = use-most > line && most < amountIn(gains[0].charged, key)
	}
	if over && !policy.ConsolidateBeyondShare && !v.room.claims[b.source.ID] {
		v.failAt(x.at, ruleBeyondShare, "%q takes queue %q to %d %s, line %d", x.action.Reason.Workload, f.queue.id, use, key.resource, line)
	}
}

// movedForEach checks, per preemptor, that no more GPUs move than the policy
// lets for what it requests (C3).
func (v *verifier) movedForEach() {
	const standard = 200
	gpu := verifiedKey{allot.GPU, ""}
	moved, requests, others := make(map[string]int64), make(map[string]int64), make(map[string]int64)
	for i := range v.room.victims {
		x := &v.room.victims[i]
		gains := v.room.gained[x.action.Reason.Workload]
		if x.action.Reason.Code != allot.Consolidated || len(gains) == 0 || len(x.action.Reason.Chain) > 0 {
			continue
		}
		requested, known := requests[x.action.Reason.Workload]
		if !known {
			for k := range gains {
				requested += amountIn(gains[k].charged, gpu)
			}
			requests[x.action.Reason.Workload] = requested
		}
		percent := x.queue.pool.policy.MaxMovedPercent
		if percent == 0 {
			percent = standard
		}
		moved[x.action.Reason.Workload] += amountIn(x.charged, gpu)
		others[x.action.Reason.Workload] += alsoForOthers(v, x)
		requested += others[x.action.Reason.Workload]
		if sum := moved[x.action.Reason.Workload]; less(product{uint64(percent), uint64(requested), 1}, product{uint64(sum), 100, 1}) {
			v.failAt(x.at, ruleMovedGPUs, "%d milli-GPU move for %d requested, at most %d percent may", sum, requested, percent)
		}
	}
}

// alsoForOthers are the GPUs of workloads that start where several tasks move away, and are not
// named: a move is told for one of those that a part of it was for.
func alsoForOthers(v *verifier, x *verifiedVictim) (sum int64) {
	if len(x.action.From) < 2 {
		return 0
	}
	for i := range v.plan.Actions {
		a := &v.plan.Actions[i]
		w := v.workloads[a.Workload]
		if a.Kind != allot.Start && a.Kind != allot.Resize || a.Workload == x.action.Reason.Workload || w == nil {
			continue
		}
		for _, t := range a.Tasks {
			set := w.forms[w.form].set(t.PodSet)
			if set >= 0 && slices.ContainsFunc(x.action.From, func(old allot.Placement) bool { return old.Node == t.Node }) {
				sum += chargedGPU(w.forms[w.form].PodSets[set].Request.GPU, x.queue.pool)
			}
		}
	}
	return sum
}

// movedBeside checks, per preemptor that has victims and starts once, that no more
// workloads move beside them than the policy lets units (M10).
func movedBeside(v *verifier) {
	movers := make(map[string]map[string]bool)
	for i := range v.room.victims {
		x := &v.room.victims[i]
		b := x.action.Reason.Workload
		if gains := v.room.gained[b]; x.action.Reason.Code != allot.Consolidated || !v.room.claims[b] || len(gains) != 1 || len(x.action.Reason.Chain) > 0 {
			continue
		}
		if movers[b] == nil {
			movers[b] = make(map[string]bool)
		}
		movers[b][x.action.Workload] = true
		most := relocations(x.queue.pool.policy)
		if n := len(movers[b]); n > most {
			v.failAt(x.at, ruleRelocations, "%d workloads move beside the victims for %q, at most %d may", n, b, most)
		}
	}
}

// relocations is how many units a policy lets move beside victims (M10).
func relocations(p *allot.Policy) int {
	const standard = 2
	if p.MaxRelocations.Given() {
		return int(p.MaxRelocations.Amount())
	}
	return standard
}

// A product is one of three amounts, for exact comparisons.
type product [3]uint64

// less says whether a's value is less than b's.
func less(a, b product) bool {
	x, y := a.value(), b.value()
	for i := range x {
		if x[i] != y[i] {
			return x[i] < y[i]
		}
	}
	return false
}

// value is the product in 192 bits, the highest first.
func (p product) value() [3]uint64 {
	high, low := bits.Mul64(p[0], p[1])
	carry, lowest := bits.Mul64(low, p[2])
	top, middle := bits.Mul64(high, p[2])
	middle, over := bits.Add64(middle, carry, 0)
	return [3]uint64{top + over, middle, lowest}
}
