package verify

import (
	"slices"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/gang"
)

// A verifiedMove is a task that moves, and where it was.
type verifiedMove struct {
	task plannedTask
	work *verifiedWorkload
	from verifiedTask
}

// A needless finds out what is done for nothing.
type needless struct {
	v *verifier
	// promises are those of the plan, or nil.
	promises *promising
	// unsettled are the nodes on which something is claimed or leaves in the state, started
	// those on which something starts.
	unsettled, started map[string]bool
}

// judge checks that no task moves or goes whose staying would have hindered nothing
// (M4, M11): in the world after the plan something must be in the way.
func (n needless) judge() {
	v := n.v
	n.unsettled, n.started = make(map[string]bool), make(map[string]bool)
	if len(v.room.moves) > 0 {
		for i := range v.plan.Actions {
			if a := &v.plan.Actions[i]; a.Kind == allot.Start || a.Kind == allot.Resize {
				for _, t := range a.Tasks {
					n.started[t.Node] = true
				}
			}
		}
		for _, w := range v.workOrder {
			for _, t := range w.source.Tasks {
				n.unsettled[t.Node] = n.unsettled[t.Node] || t.Phase != allot.Running
			}
		}
	}
	for i := range v.room.moves {
		m := &v.room.moves[i]
		switch node := v.nodes[m.from.node]; {
		case m.work.forms[m.work.form].hasTopology() || !anywhere(m.work.forms[m.work.form].queue.pool):
		case len(node.unsuitable(&m.work.forms[m.work.form], m.task.request, m.from.devices)) > 0:
		case node == m.task.node && // claims and what leaves tell devices apart
			!n.unsettled[m.from.node] && onlyRenamed(m) && !n.standsBehind(m):
			v.failAt(m.task.at, ruleMove, "the task moves to other devices of its node that are like those it has")
		case n.wouldFit(m) && staysWithin(m, node):
			v.failAt(m.task.at, ruleMove, "the task moves, and nobody has its old place")
		}
	}
	for i := range v.room.victims {
		if x := &v.room.victims[i]; n.goesForNothing(x) {
			v.failAt(x.at, ruleUseful, "%q loses its places, and nobody has them or needs its use to go", x.action.Workload)
		}
	}
}

// standsBehind says whether a task moves to stand behind a workload, as what stays has come behind none (B6).
func (n needless) standsBehind(m *verifiedMove) bool {
	return n.promises != nil && n.promises.behind[m.task.name] != ""
}

// anywhere says whether a task of the pool may go to any node and device: neither is
// it placed on whole nodes (P8), nor is there a quota per class (Q8).
func anywhere(p *verifiedPool) bool {
	for key := range p.governed { // one that is of a class is enough: order cannot matter
		if key.class != "" {
			return false
		}
	}
	return p.policy.Fitting == gang.AnyNodes
}

// onlyRenamed says whether a task moves among devices of its node that nothing tells
// apart. Where others claim or leave devices there, these are told apart by that, and
// where some are reserved by that too (B9).
func onlyRenamed(m *verifiedMove) bool {
	n := m.task.node
	if len(n.source.Links) > 0 || n.source.Hardware != "" || len(m.from.devices) == 0 || !wholeDevices(m.task.request.GPU) {
		return false
	}
	first := n.source.Devices[m.from.devices[0]]
	for _, list := range [...][]int{m.from.devices, m.task.place.Devices} {
		for _, d := range list {
			if n.source.Devices[d] != first || !slices.Equal(n.reserved[d], n.reserved[m.from.devices[0]]) {
				return false
			}
		}
	}
	return true
}

// wholeDevices says whether a request is for devices that it shares with none.
func wholeDevices(g allot.GPURequest) bool {
	return g.Memory == 0 && (g.Milli == 0 || g.Milli == milliPerDevice)
}

// wouldFit says whether a task fits in its old place once all that is claimed runs and, where
// something starts beside what is leaving, as long as that is there too: the start would wait (M11).
func (n needless) wouldFit(m *verifiedMove) bool {
	v, t, old := n.v, m.task, m.from
	now, some := v.tasks[t.name]
	if !some {
		return false
	}
	v.nodes[now.node].book(t.request, now, -1)
	node := v.nodes[old.node]
	old.phase = allot.Running
	node.book(t.request, old, 1)
	fits := len(node.overfull(t.request, old.devices, n.unsettled[old.node] && n.started[old.node], true)) == 0
	node.book(t.request, old, -1)
	v.nodes[now.node].book(t.request, now, 1)
	return fits && n.promises.wouldStand(m.work, &m.work.forms[m.work.form], []allot.Placement{
		{PodSet: t.name.podSet, Index: t.name.index, Node: old.node, Devices: old.devices},
	})
}

// staysWithin says whether the queues' limits of classes admit the task on its old node, beside all
// that runs after the plan (Q3, Q8).
func staysWithin(m *verifiedMove, home *verifiedNode) bool {
	f := &m.work.forms[m.work.form]
	delta := make(map[verifiedKey]int64)
	for _, c := range charges(m.task.request, f.queue.pool, m.task.node, m.task.place.Devices) {
		delta[c.key] -= c.amount
	}
	for _, c := range charges(m.task.request, f.queue.pool, home, m.from.devices) {
		delta[c.key] += c.amount
	}
	for q := f.queue; q != nil; q = q.parent {
		for key, more := range delta { // one beyond its limit is enough: order cannot matter
			if more > 0 && q.used(key).all+more > min(q.limitOf(key), q.borrowingOf(key)) {
				return false
			}
		}
	}
	return true
}

// goesForNothing says whether all that an action takes away fits where it was, and the
// queues too.
func (n needless) goesForNothing(x *verifiedVictim) bool {
	v := n.v
	a, w := x.action, x.source
	f := &w.forms[a.Form]
	if a.Kind != allot.Evict && a.Kind != allot.Shrink || v.restarts[a.Workload] || w.places > 0 && (a.Kind == allot.Evict || w.form != a.Form) ||
		f.hasTopology() || !anywhere(f.queue.pool) || len(f.queue.pool.lends) > 0 || v.moved[a.Workload] || w.ended {
		return false
	}
	claims, charged := n.goesWith(x)
	for q := f.queue; q != nil; q = q.parent {
		for _, c := range charged {
			if q.used(c.key).all+c.amount > min(q.limitOf(c.key), q.borrowingOf(c.key)) {
				return false
			}
		}
		if w.active == 0 && q.cap.Given() && q.running >= q.cap.Amount() {
			return false
		}
	}
	fits, booked := true, 0
	tasks := slices.Concat(x.places, claims)
	for _, t := range tasks {
		node, request := v.nodes[t.Node], v.requestOf(w, a.Form, t.PodSet)
		if len(node.unsuitable(f, request, t.Devices)) > 0 {
			fits = false
			break
		}
		node.book(request, verifiedTask{allot.Running, t.Node, t.Devices}, 1)
		booked++
		if len(node.overfull(request, t.Devices, false, true)) > 0 {
			fits = false
			break
		}
	}
	for _, t := range tasks[:booked] {
		v.nodes[t.Node].book(v.requestOf(w, a.Form, t.PodSet), verifiedTask{allot.Running, t.Node, t.Devices}, -1)
	}
	return fits && !n.rightNeeds(x) && n.promises.wouldStand(w, f, x.places)
}

// rightNeeds says whether another was reclaimed by a right that was none if this had not
// gone: with it back a queue of what reclaimed, up to its subtree, is beyond its entitlement (R1).
func (n needless) rightNeeds(x *verifiedVictim) bool {
	for i := range n.v.room.victims {
		y := &n.v.room.victims[i]
		code, gains := y.action.Reason.Code, n.v.room.gained[y.action.Reason.Workload]
		if y.source == x.source || len(gains) == 0 || code != allot.ReclaimedByQuota && code != allot.ReclaimedByShare {
			continue
		}
		f := n.v.entitledForm(y, gains[0].form)
		_, own := part(y.queue, f.queue)
		for q := f.queue; own != nil && q != own.parent; q = q.parent {
			if q.above(x.queue) && slices.ContainsFunc(gains, func(g verifiedGain) bool { return n.crosses(q, &g, x, code) }) {
				return true
			}
		}
	}
	return false
}

// crosses says whether a queue is within its line of a right in what a start asks, and with
// what a victim was charged is not.
func (n needless) crosses(q *verifiedQueue, g *verifiedGain, x *verifiedVictim, code allot.Code) bool {
	return slices.ContainsFunc(g.charged, func(c verifiedCharge) bool {
		use, line := q.used(c.key).all, n.v.line(q, c.key, code == allot.ReclaimedByShare)
		return use <= line && use+amountIn(x.charged, c.key) > line
	})
}

// goesWith are what else the plan takes from the workload, if what an action takes away
// would be no lawful size without it: a unit goes whole (M6), and of its minimum or of a
// rung a part may only have been claimed; and what is above a minimum goes with that. It
// adds up what all of it is charged.
func (n needless) goesWith(x *verifiedVictim) (claims []allot.Placement, charged []verifiedCharge) {
	w := x.source
	f := &w.forms[x.action.Form]
	counts := slices.Clone(w.counts)
	if w.places == 0 {
		counts = make([]verifiedCounts, len(f.PodSets))
	}
	for _, t := range x.places {
		counts[f.set(t.PodSet)].running++
	}
	lawful := f.tree().reached(counts, heldTasks) && f.tree().inUnits(counts)
	for i := range f.PodSets {
		if ladder := ladderOf(&f.PodSets[i]); ladder != nil {
			lawful = lawful && slices.Contains(ladder, heldTasks(counts[i]))
		}
	}
	charged = slices.Clone(x.charged)
	if lawful {
		return nil, charged
	}
	for i := range n.v.room.victims {
		y := &n.v.room.victims[i]
		below := y.action.Kind == allot.Unclaim || y.action.Kind == allot.Evict && x.action.Kind == allot.Shrink
		if y.source == w && y != x && below && y.action.Form == x.action.Form {
			claims, charged = append(claims, y.places...), mergeCharges(charged, y.charged)
		}
	}
	return claims, charged
}
