package verify

import (
	"slices"

	"github.com/allotsched/allot"
)

// action checks one action and carries it out, as far as it names what
// exists, so that the next one meets the world that the plan means.
func (v *verifier) action(i int, a *allot.Action) {
	at := spot{i, -1}
	w := v.workloads[a.Workload]
	switch {
	case w == nil:
		v.failAt(at, ruleNames, "no workload %q", a.Workload)
		return
	case a.Form < 0 || a.Form >= len(w.forms):
		v.failAt(at, ruleNames, "%q has no form %d", a.Workload, a.Form)
		return
	case len(a.Tasks) == 0:
		v.failAt(at, ruleNames, "no tasks")
		return
	}
	f := &w.forms[a.Form]
	if a.Queue != f.queue.id {
		v.failAt(at, ruleNames, "form %d of %q is in queue %q, not %q", a.Form, a.Workload, f.queue.id, a.Queue)
	}
	if held, tied := w.tiedTo(a); tied && held != a.Form {
		v.failAt(at, ruleForm, "%q is in form %d, not %d", a.Workload, held, a.Form)
		return
	}
	tasks := v.known(i, a, f)
	v.onlyWhereItBelongs(at, a)
	reserving{v}.startsBehind(at, a, w)
	switch {
	case a.Kind == allot.Start, a.Kind == allot.Resize:
		w.enter(a.Form, v.leaving)
		v.start(at, a, w, tasks)
	case a.Kind == allot.Move:
		v.move(at, a, w, tasks)
	case a.Kind == allot.Evict, a.Kind == allot.Shrink, a.Kind == allot.Unclaim && (takes(a.Reason.Code, allot.Unclaim, false) || endsForNobody(a.Reason.Code)):
		v.takeAway(at, a, w, tasks)
	case a.Kind == allot.Displace, a.Kind == allot.Unclaim:
		for _, t := range tasks {
			v.giveUp(a, w, t)
		}
	default:
		v.failAt(at, ruleNames, "%d is no kind of action", a.Kind)
	}
}

// tiedTo is the form that an action has to be of: that which w has, or leaves where it
// is displaced. What starts behind what leaves may be of any (S5), and so may what w grows by
// that has nothing.
func (w *verifiedWorkload) tiedTo(a *allot.Action) (form int, tied bool) {
	switch {
	case a.Kind == allot.Displace && w.total().running == 0:
		return w.leavingForm, w.places > w.active
	case a.Kind == allot.Start && w.active == 0 || a.Kind == allot.Resize && w.places == 0:
		return w.form, false
	}
	return w.form, true
}

// onlyWhereItBelongs checks the fields that only some kinds of action have.
func (v *verifier) onlyWhereItBelongs(at spot, a *allot.Action) {
	if len(a.From) > 0 && a.Kind != allot.Move {
		v.failAt(at, ruleNames, "only what moves has old places")
	}
	if len(a.After) > 0 && a.Kind != allot.Start && a.Kind != allot.Resize && a.Kind != allot.Move {
		v.failAt(at, ruleNames, "only what gets a place waits for somebody")
	}
	if !a.Until.IsZero() && a.Kind != allot.Start && a.Kind != allot.Resize {
		v.failAt(at, ruleNames, "only what starts is cut to fit a hole")
	}
	if a.Ending != (allot.Ending{}) && a.Kind != allot.Evict {
		v.failAt(at, ruleEnding, "only an eviction says how a workload ends")
	}
}

// A plannedTask is a task of an action whose names all exist.
type plannedTask struct {
	at      spot
	name    taskName
	request *allot.Request
	node    *verifiedNode
	place   allot.Placement
}

// known lists the tasks of an action that name what exists, and checks that
// they are in order.
func (v *verifier) known(i int, a *allot.Action, f *verifiedForm) []plannedTask {
	var list []plannedTask
	lastSet, lastIndex := -1, -1
	for k, place := range a.Tasks {
		at := spot{i, k}
		set := f.set(place.PodSet)
		if set < 0 {
			v.failAt(at, ruleNames, "form %d of %q has no pod set %q", a.Form, a.Workload, place.PodSet)
			continue
		}
		if set < lastSet || set == lastSet && place.Index <= lastIndex {
			v.failAt(at, ruleOrder, "task %d of pod set %q is not behind the one before it", place.Index, place.PodSet)
		}
		lastSet, lastIndex = set, place.Index
		if n := v.existing(at, place); n != nil {
			name := taskName{a.Workload, place.PodSet, place.Index}
			list = append(list, plannedTask{at, name, &f.PodSets[set].Request, n, place})
		}
	}
	return list
}

// existing is the node of a placement, nil unless it and the devices exist.
func (v *verifier) existing(at spot, place allot.Placement) *verifiedNode {
	n := v.nodes[place.Node]
	if n == nil {
		v.failAt(at, ruleNames, "no node %q", place.Node)
		return nil
	}
	for k, d := range place.Devices {
		if d < 0 || d >= len(n.devices) {
			v.failAt(at, ruleNames, "node %q has no device %d", place.Node, d)
			return nil
		}
		if slices.Contains(place.Devices[:k], d) {
			v.failAt(at, ruleDevices, "device %d is named twice", d)
			return nil
		}
	}
	return n
}

// start checks a Start or Resize and gives the tasks their places.
func (v *verifier) start(at spot, a *allot.Action, w *verifiedWorkload, tasks []plannedTask) {
	switch {
	case a.Kind == allot.Start && a.Reason.Code != 0:
		v.failAt(at, ruleActionReason, "a start has no reason")
	case a.Kind == allot.Resize && a.Reason.Code != allot.Grown:
		v.failAt(at, ruleActionReason, "the reason's code is %d, that of a resize is %d", a.Reason.Code, allot.Grown)
	}
	if w.source.Ending || w.ended {
		v.failAt(at, ruleLeaving, "%q ends for good", a.Workload)
		return
	}
	reserving{v}.cut(at, a, w)
	before, leaves := w.snapshot(a.Form), v.leaves(w)
	queue := w.forms[a.Form].queue
	rooms := queue.lendingRooms()
	fresh, claims := 0, 0
	var charged, claimed []verifiedCharge
	v.afters(at, a, tasks)
	waits := newAwaited(a.After)
	for _, t := range tasks {
		has, placed := v.tasks[t.name]
		switch {
		case placed:
			if v.startClaim(w, t, has, waits) {
				claims++
				claimed = mergeCharges(claimed, charges(t.request, queue.pool, t.node, t.place.Devices))
			}
		case leaves && !waits.has(a.Workload) || w.redirected[t.name] && waits == nil:
			v.failAt(t.at, ruleLeaving, "tasks of %q are terminating and wait again", a.Workload)
		case v.startPending(w, t, waits):
			fresh++
			if waits == nil { // else it may be long until it counts for its owner's budget (M7)
				queue.pool.running[w.source.Owner]++
			}
			charged = mergeCharges(charged, charges(t.request, queue.pool, t.node, t.place.Devices))
		}
	}
	if fresh+claims < len(a.Tasks) {
		return // what is told already would only be told again
	}
	v.whole(at, a, w, before, fresh)
	switch {
	case fresh == 0 && waits != nil: // other work may go for its claims
		v.gains(a, &w.forms[a.Form], tasks, claimed, true)
	case fresh > 0:
		v.noteStarted(w)
		v.withinQuotas(at, &w.forms[a.Form], charged, rooms, before.active == 0)
		queue.noteGrown()
		v.gains(a, &w.forms[a.Form], tasks, charged, false)
	}
}

// startPending gives a pending task its place. Where the task is not pending it
// starts nothing.
func (v *verifier) startPending(w *verifiedWorkload, t plannedTask, after *awaited) bool {
	f := &w.forms[w.form]
	ps := f.PodSets[f.set(t.name.podSet)]
	if t.name.index < 0 || t.name.index >= ps.Count-ps.Missing {
		v.failAt(t.at, ruleNames, "task %d is none of the %d submitted", t.name.index, ps.Count-ps.Missing)
		return false
	}
	v.giveWay(w, t, after)
	return true
}

// startClaim lets a claimed task run where it claims its place (S4), which is free or comes
// free with those that its whole gang waits for, among them what leaves of itself (S5). Use of the queues does not change (S7), nor what runs and is claimed on the node.
func (v *verifier) startClaim(w *verifiedWorkload, t plannedTask, claim verifiedTask, after *awaited) bool {
	if claim.phase != allot.Claimed {
		v.failAt(t.at, ruleClaims, "the task runs already, on node %q", claim.node)
		return false
	}
	if claim.node != t.place.Node || !sameDevices(claim.devices, t.place.Devices) {
		v.failAt(t.at, ruleClaims, "the task claims another place on node %q", claim.node)
		return false
	}
	if old, moves := v.leaving[t.name]; moves && !after.has(w.source.ID) {
		v.failAt(t.at, ruleClaims, "the task still leaves its old place on node %q", old.node)
	}
	if t.node.source.Cordoned || t.node.lost(claim.devices) != 0 {
		v.failAt(t.at, ruleClaims, "node %q or its devices take nothing new", claim.node)
	}
	v.takeOut(w, t.name, claim)
	claim.phase = allot.Running
	v.putIn(w, t.name, claim)
	w.forms[w.form].queue.pool.running[w.source.Owner]++ // and counts for its owner's budget from now on (M7)
	v.arrive(t, claim, after, true)
	if len(t.node.leavers) == 0 {
		for _, r := range t.node.overfull(t.request, claim.devices, true, false) {
			v.failAt(t.at, ruleClaims, "%s", r.message)
		}
	}
	return true
}

// endsForNobody says whether a reason is one for which what runs, or has and claims, goes whoever comes.
func endsForNobody(code allot.Code) bool {
	return code == allot.ReservationBegan || code == allot.StaleGang
}

// giveUp checks that a task's place is lost and takes it away.
func (v *verifier) giveUp(a *allot.Action, w *verifiedWorkload, t plannedTask) {
	task, ok := v.holder(a, t)
	if !ok {
		v.failAt(t.at, ruleNames, "the task does not hold this place")
		return
	}
	if (task.phase == allot.Claimed) != (a.Kind == allot.Unclaim) {
		v.failAt(t.at, ruleClaims, "claims are given up, and nothing else is")
		return
	}
	var why allot.Code
	if a.Kind == allot.Displace {
		if why = t.node.lost(task.devices); why == 0 {
			v.failAt(t.at, ruleDisplaced, "node %q and its devices are not lost", task.node)
		}
	} else if why = v.claimGivenUp(w, t, task); why == 0 {
		v.failAt(t.at, ruleClaims, "the claimed place can take the task")
	}
	if why != 0 && a.Reason.Code != why {
		v.failAt(t.at, ruleActionReason, "the reason's code is %d, it should be %d", a.Reason.Code, why)
	}
	if task.phase == allot.Running {
		w.forms[w.form].queue.pool.running[w.source.Owner]--
	}
	v.takeOut(w, t.name, task)
}

// holder is the task in its place: one that moves has two, and one that leaves a form
// may be named as one of another that claims its place.
func (v *verifier) holder(a *allot.Action, t plannedTask) (verifiedTask, bool) {
	order := [...]map[taskName]verifiedTask{v.tasks, v.leaving}
	if a.Kind == allot.Displace && v.tasks[t.name].phase == allot.Claimed {
		slices.Reverse(order[:])
	}
	for _, placed := range order {
		task, ok := placed[t.name]
		if ok && task.node == t.place.Node && sameDevices(task.devices, t.place.Devices) {
			return task, true
		}
	}
	return verifiedTask{}, false
}

// claimGivenUp is why the claim has to be given up, or 0: its place is lost, or
// what the workload runs and claims is less than its minimum (G1), and it has yet to begin: what of a
// gang has goes on where it moves (M10).
func (v *verifier) claimGivenUp(w *verifiedWorkload, t plannedTask, task verifiedTask) allot.Code {
	if why := t.node.claimLost(reserving{v}.claiming(w, t.name), t.request, task.devices); why != 0 {
		return why
	}
	if !begunIn(w, t.name) && (!w.atMinimum(heldTasks) || w.belowLadder()) {
		return allot.ClaimBroken
	}
	return 0
}

// leftBehind checks what the actions should have dealt with: tasks on lost
// places (S7), claims of lost places and claims whose places are free (S4).
func (v *verifier) leftBehind() {
	for _, w := range v.workOrder {
		whole := w.atMinimum(heldTasks)
		for _, t := range w.source.Tasks {
			name := taskName{w.source.ID, t.PodSet, t.Index}
			now, ok := v.placed(t.Phase)[name]
			if !ok || now.phase != t.Phase || now.node != t.Node || !sameDevices(now.devices, t.Devices) {
				continue // given up or started
			}
			node, request := v.nodes[t.Node], v.requestOf(w, w.formOf(t.Phase), t.PodSet)
			if t.Phase != allot.Terminating && (reserving{v}).goesNow(w, &t) && !v.strayed(w) {
				v.fail("actions", ruleReserved, "task %d of pod set %q of %q stays on node %q, which people have reserved", t.Index, t.PodSet, name.workload, t.Node)
			}
			switch {
			case t.Phase == allot.Claimed:
				if node.claimLost(reserving{v}.claiming(w, name), request, t.Devices) != 0 || !whole && !hasBegun(&t) {
					v.fail("actions", ruleClaims, "task %d of pod set %q of %q keeps a claim on node %q that cannot be honoured",
						t.Index, t.PodSet, name.workload, t.Node)
				}
			case node.lost(t.Devices) != 0:
				v.fail("actions", ruleDisplaced, "task %d of pod set %q of %q is not displaced from node %q",
					t.Index, t.PodSet, name.workload, t.Node)
			}
		}
		if sum := w.total(); sum.claimed > 0 && sum.terminating == 0 && v.couldStart(w) {
			v.fail("actions", ruleClaims, "the places that %q claims are free, and it does not start", w.source.ID)
		}
		v.leftPartial(w)
	}
}

func (v *verifier) requestOf(w *verifiedWorkload, form int, podSet string) *allot.Request {
	f := &w.forms[form]
	return &f.PodSets[f.set(podSet)].Request
}

// couldStart says whether all claims of w could run now and bring it to its
// minimum, or all that has begun of them could go on (M10): it lets them run, looks, and takes it back.
func (v *verifier) couldStart(w *verifiedWorkload) bool {
	var claims, begun []allot.Task
	for _, t := range w.source.Tasks {
		if v.tasks[taskName{w.source.ID, t.PodSet, t.Index}].phase != allot.Claimed {
			continue
		}
		if claims = append(claims, t); hasBegun(&t) {
			begun = append(begun, t)
		}
	}
	all := couldRun(v, w, claims, func() bool { return w.atMinimum(runningTasks) })
	return all || len(begun) > 0 && couldRun(v, w, begun, func() bool { return true })
}

// couldRun says whether these claims of w could run now, and it would be as is asked then.
func couldRun(v *verifier, w *verifiedWorkload, claims []allot.Task, isEnough func() bool) bool {
	move := func(from, to allot.Phase) {
		for _, t := range claims {
			name := taskName{w.source.ID, t.PodSet, t.Index}
			v.takeOut(w, name, verifiedTask{from, t.Node, t.Devices})
			v.putIn(w, name, verifiedTask{to, t.Node, t.Devices})
		}
	}
	move(allot.Claimed, allot.Running)
	fits := !slices.ContainsFunc(claims, func(t allot.Task) bool {
		n := v.nodes[t.Node]
		form := (reserving{v}).claiming(w, taskName{w.source.ID, t.PodSet, t.Index})
		return n.claimLost(form, v.requestOf(w, w.form, t.PodSet), t.Devices) != 0 ||
			len(n.overfull(v.requestOf(w, w.form, t.PodSet), t.Devices, true, false)) > 0
	})
	fits = fits && isEnough()
	move(allot.Running, allot.Claimed)
	return fits
}
