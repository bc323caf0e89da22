package verify

import (
	"fmt"
	"slices"

	"github.com/allotsched/allot"
)

// A leaver is a task that is to leave a place, by the plan or since before it,
// and holds it until then (S4).
type leaver struct {
	name    taskName
	request *allot.Request
	task    verifiedTask
}

// leave has the node hold a leaver's place n times: once, or less once.
func (n *verifiedNode) leave(l leaver, times int) {
	l.task.phase = allot.Terminating
	n.book(l.request, l.task, int64(times))
	if times > 0 {
		n.leavers = append(n.leavers, l)
		return
	}
	k := slices.IndexFunc(n.leavers, func(have leaver) bool {
		return have.name == l.name && sameDevices(have.task.devices, l.task.devices)
	})
	n.leavers = slices.Delete(n.leavers, k, k+1)
}

// A newcomer is a task that an action gives a place on a node where others
// still leave. It runs as soon as those have left that the action names.
type newcomer struct {
	at      spot
	after   *awaited
	request *allot.Request
	task    verifiedTask
	// rule is what is broken where the place does not come free.
	rule string
}

// An awaited is what an action waits for, once for all of its tasks: they may be
// thousands, on hundreds of nodes. Nil is nothing.
type awaited struct {
	names []string
	set   map[string]bool
}

// newAwaited is nil where there are no names.
func newAwaited(names []string) *awaited {
	if len(names) == 0 {
		return nil
	}
	return &awaited{names, setOfNames(names)}
}

// has says whether the workload is waited for.
func (w *awaited) has(workload string) bool { return w != nil && w.set[workload] }

// length is how many names there are.
func (w *awaited) length() int {
	if w == nil {
		return 0
	}
	return len(w.names)
}

// among says whether other waits for all that w waits for. Two
// actions may meet on many nodes, so that what is found is remembered.
func (v *verifier) among(w, other *awaited) bool {
	switch {
	case w == nil || w == other:
		return true
	case other == nil || len(w.set) > len(other.set):
		return false
	}
	pair := [2]*awaited{w, other}
	result, known := v.waitsAmong[pair]
	if !known {
		result = !slices.ContainsFunc(w.names, func(id string) bool { return !other.set[id] })
		v.waitsAmong[pair] = result
	}
	return result
}

// arrive notes that a task is given a place on its node. Where nothing leaves
// there is nothing to wait for: what runs and is claimed fits, as was checked.
func (v *verifier) arrive(t plannedTask, task verifiedTask, after *awaited, claim bool) {
	if len(t.node.leavers) == 0 {
		return
	}
	c := newcomer{at: t.at, after: after, request: t.request, task: task}
	if claim {
		c.rule = ruleClaims
	}
	t.node.newcomers = append(t.node.newcomers, c)
}

// afters checks what an action waits for: each is named once, in order, and
// leaves something on a node that the action uses, or is the workload itself, some of
// which is leaving (S5).
func (v *verifier) afters(at spot, a *allot.Action, tasks []plannedTask) {
	if len(a.After) == 0 {
		return
	}
	left := leftBy(tasks)
	for i, id := range a.After {
		if i > 0 && id <= a.After[i-1] {
			v.failAt(at, ruleOrder, "after %q is not behind %q", id, a.After[i-1])
		}
		if v.workloads[id] == nil {
			v.failAt(at, ruleNames, "no workload %q", id)
			continue
		}
		itself := id == a.Workload && (v.restarts[id] || v.leaves(v.workloads[id]))
		if !left[id] && !itself {
			v.failAt(at, ruleClaims, "waits for %q, which leaves nothing where the tasks are", id)
		}
	}
}

// leftBy are the workloads that leave something on a node of the tasks.
func leftBy(tasks []plannedTask) map[string]bool {
	left, seen := make(map[string]bool), make(map[*verifiedNode]bool)
	for _, t := range tasks {
		if seen[t.node] {
			continue
		}
		seen[t.node] = true
		for _, l := range t.node.leavers {
			left[l.name.workload] = true
		}
	}
	return left
}

// comeFree checks that the newcomers of every node fit when those have left that
// they wait for, and no others have (S4).
func (v *verifier) comeFree() {
	for i := range v.state.Nodes {
		n := v.nodes[v.state.Nodes[i].ID]
		for k := range n.newcomers {
			v.comesFree(n, k)
		}
	}
}

// comesFree has leave what leaves before newcomer k and hides what starts later,
// looks, and takes it back.
func (v *verifier) comesFree(n *verifiedNode, k int) {
	c := n.newcomers[k]
	change := func(times int64) {
		for _, l := range n.leavers {
			if c.after.has(l.name.workload) {
				n.book(l.request, verifiedTask{allot.Terminating, l.task.node, l.task.devices}, -times)
			}
		}
		for i := range n.newcomers {
			if other := &n.newcomers[i]; !v.runsBefore(other, &c) {
				n.book(other.request, other.task, -times)
			}
		}
	}
	change(1)
	objections := n.overfull(c.request, c.task.devices, true, false)
	change(-1)
	for _, o := range objections {
		if c.rule != "" {
			o.rule = c.rule
		}
		if c.after != nil {
			o.message += fmt.Sprintf(" once %q have left", c.after.names)
		}
		v.failAt(c.at, o.rule, "%s", o.message)
	}
}

// runsBefore says whether c may run when d may: all that c waits for have left
// then. Of two that wait for the same the earlier action goes first.
func (v *verifier) runsBefore(c, d *newcomer) bool {
	return v.among(c.after, d.after) && (c.at.action <= d.at.action || c.after.length() < d.after.length())
}

// takeAway checks an Evict, Shrink or Unclaim to which a workload is entitled, and
// carries it out. What ran stays where it is until it has left.
func (v *verifier) takeAway(at spot, a *allot.Action, w *verifiedWorkload, tasks []plannedTask) {
	v.victim(at, a, w)
	whole := w.atMinimum(heldTasks)
	phase, ran := allot.Running, 0
	if a.Kind == allot.Unclaim {
		phase = allot.Claimed
	}
	for _, t := range tasks {
		task, ok := v.tasks[t.name]
		if !ok || task.node != t.place.Node || !sameDevices(task.devices, t.place.Devices) {
			v.failAt(t.at, ruleNames, "the task does not hold this place")
			continue
		}
		if task.phase != phase {
			v.failAt(t.at, ruleClaims, "what runs is evicted, what is claimed is unclaimed")
			continue
		}
		if t.node.lost(task.devices) != 0 {
			v.failAt(t.at, ruleDisplaced, "the place is lost, which displaces the task")
		}
		v.leftAlone(w, t, t.node)
		v.takeOut(w, t.name, task)
		if _, leaves := v.leaving[t.name]; leaves && a.Reason.Code == allot.Consolidated {
			if w.redirected == nil {
				w.redirected = make(map[taskName]bool)
			}
			w.redirected[t.name] = true
		}
		if phase == allot.Running {
			ran++
			t.node.leave(leaver{t.name, t.request, task}, 1)
		}
	}
	switch a.Kind {
	case allot.Evict:
		w.taken = true
		v.evicted(at, a, w)
	case allot.Shrink:
		v.shrunk(at, w, tasks, whole)
	}
	v.withinBudget(at, a, w, ran)
}

// strayed says whether something of w runs outside its pool, where it is left
// alone (S7).
func (v *verifier) strayed(w *verifiedWorkload) bool {
	return slices.ContainsFunc(w.source.Tasks, func(t allot.Task) bool {
		now := v.tasks[taskName{w.source.ID, t.PodSet, t.Index}]
		return now.phase == allot.Running && now.node == t.Node && v.nodes[t.Node].pool != w.forms[w.form].queue.pool
	})
}

// leftAlone checks that a task which goes or moves for another stands in its
// pool (S7).
func (v *verifier) leftAlone(w *verifiedWorkload, t plannedTask, from *verifiedNode) {
	if p := w.forms[w.form].queue.pool; from.pool != p {
		v.failAt(t.at, ruleDisplaced, "node %q is not in pool %q, and what runs there is left alone", from.source.ID, p.id)
	}
}

// leaves says whether something of w is leaving that waits again, so that nothing of it
// starts (S5). What the plan evicts may claim behind itself.
func (v *verifier) leaves(w *verifiedWorkload) bool {
	return w.taken || w.total().terminating > len(w.redirected)
}

// move checks a Move and carries it out: each task leaves its old place and is
// given the new one.
func (v *verifier) move(at spot, a *allot.Action, w *verifiedWorkload, tasks []plannedTask) {
	v.victim(at, a, w)
	if len(a.From) != len(a.Tasks) {
		v.failAt(at, ruleMove, "%d tasks move from %d places", len(a.Tasks), len(a.From))
		return
	}
	f := &w.forms[w.form]
	moved, freed := v.depart(at, a, w, tasks)
	var charged []verifiedCharge
	v.withinBudget(at, a, w, len(moved))
	v.afters(at, a, tasks)
	rooms := f.queue.lendingRooms()
	after := a.After
	if !slices.Contains(after, a.Workload) { // that it leaves itself goes without saying
		after = append(slices.Clip(after), a.Workload)
	}
	waits := newAwaited(after)
	for _, t := range moved {
		charged = mergeCharges(charged, charges(t.request, f.queue.pool, t.node, t.place.Devices))
		v.giveWay(w, t, waits)
	}
	if a.Reason.Code != allot.Consolidated {
		f.queue.noteMoved(charged)
	} else { // it never was out of its queue, but may have come to its class last
		f.queue.noteMoved(beyond(charged, freed))
	}
	v.gains(a, f, moved, charged, false)
	// It stays in its queue, but may come to another class of nodes (Q8).
	v.withinQuotas(at, f, beyond(charged, freed), rooms, false)
}

// depart has the tasks of a Move leave their old places, and returns those that do and
// what these places were charged. What they wait for has left in earlier actions: moves
// that wait for each other in a circle are in no order in which a host could carry them
// out (S4, M11).
func (v *verifier) depart(at spot, a *allot.Action, w *verifiedWorkload, tasks []plannedTask) (moved []plannedTask, freed []verifiedCharge) {
	f := &w.forms[a.Form]
	if w.admitted == nil { // what moves after others is judged when it has left too (M1)
		w.admitted = v.admissions(w)
	}
	for _, t := range tasks {
		from, ok := v.movesFrom(t, a.From[t.at.task])
		if !ok {
			continue
		}
		node := v.nodes[from.node]
		freed = mergeCharges(freed, charges(t.request, f.queue.pool, node, from.devices))
		v.leftAlone(w, t, node)
		v.takeOut(w, t.name, from)
		node.leave(leaver{t.name, t.request, from}, 1)
		moved = append(moved, t)
		v.room.moves = append(v.room.moves, verifiedMove{t, w, from})
	}
	return moved, freed
}

// movesFrom is where a task of a Move runs, if it does and moves elsewhere.
func (v *verifier) movesFrom(t plannedTask, from allot.Placement) (verifiedTask, bool) {
	task, ok := v.tasks[t.name]
	switch {
	case from.PodSet != t.place.PodSet || from.Index != t.place.Index:
		v.failAt(t.at, ruleMove, "task %d of pod set %q moves, and from is that of task %d of %q",
			t.place.Index, t.place.PodSet, from.Index, from.PodSet)
		return task, false
	case !ok || task.phase != allot.Running || task.node != from.Node || !sameDevices(task.devices, from.Devices):
		v.failAt(t.at, ruleNames, "the task does not run in the place that it moves from")
		return task, false
	case from.Node == t.place.Node && sameDevices(from.Devices, t.place.Devices):
		v.failAt(t.at, ruleMove, "the task moves to the place that it has")
	case v.nodes[from.Node].lost(task.devices) != 0:
		v.failAt(t.at, ruleDisplaced, "the place is lost, which displaces the task")
	}
	return task, true
}

// giveWay gives a pending or moving task its place. Where the place is wrong it
// says so and goes on.
func (v *verifier) giveWay(w *verifiedWorkload, t plannedTask, after *awaited) {
	for _, r := range t.node.unsuitable(&w.forms[w.form], t.request, t.place.Devices) {
		v.failAt(t.at, r.rule, "%s", r.message)
	}
	task := verifiedTask{allot.Running, t.place.Node, t.place.Devices}
	v.putIn(w, t.name, task)
	nobodyLeaves := len(t.node.leavers) == 0
	for _, r := range t.node.overfull(t.request, t.place.Devices, nobodyLeaves, true) {
		v.failAt(t.at, r.rule, "%s", r.message)
	}
	v.arrive(t, task, after, false)
}

// beyond is what list has of each key beyond less.
func beyond(list, less []verifiedCharge) (more []verifiedCharge) {
	for _, c := range list {
		for _, l := range less {
			if l.key == c.key {
				c.amount -= l.amount
			}
		}
		if c.amount > 0 {
			more = append(more, c)
		}
	}
	return more
}

// noteMoved adds what moves to what the queue and its ancestors keep.
func (q *verifiedQueue) noteMoved(charged []verifiedCharge) {
	for up := q; up != nil; up = up.parent {
		if up.moved == nil {
			up.moved = make(map[verifiedKey]int64)
		}
		for _, c := range charged {
			up.moved[c.key] += c.amount
		}
	}
}
