package verify

import (
	"slices"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/quota"
)

// What people have reserved is judged here (B9): what may stand where, what it evicts, and what
// is no capacity while it lasts.

// reserving judges what people have reserved.
type reserving struct{ *verifier }

// lasts says whether a reservation has begun and is not over.
func (v reserving) lasts(r *allot.Reservation) bool {
	return begins(r) <= nowOf(v.state) && !v.passed(r)
}

func (v reserving) passed(r *allot.Reservation) bool {
	return ends(r) <= nowOf(v.state)
}

// isMember says whether something is reserved for a form of a workload: by name, or for its
// queue or one above that.
func isMember(r *allot.Reservation, w *allot.Workload, q *verifiedQueue) bool {
	if slices.Contains(r.Workloads, w.ID) {
		return true
	}
	for ; q != nil && r.Queue != ""; q = q.parent {
		if q.id == r.Queue {
			return true
		}
	}
	return false
}

// evicts says whether a form of a workload has to go where a reservation begins.
func evicts(r *allot.Reservation, w *allot.Workload, f *verifiedForm) bool {
	return r.Evict && !isMember(r, w, f.queue) && (r.Drain || !f.nonPreemptible) && (f.nonPreemptible || !r.Lend)
}

// isForNobody says whether it is maintenance.
func isForNobody(r *allot.Reservation) bool { return r.Queue == "" && len(r.Workloads) == 0 }

// readReserved notes what is closed now to each form of a workload, and what is only lent to it.
func (v reserving) readReserved(w *verifiedWorkload) {
	now := nowOf(v.state)
	for i := range w.forms {
		f := &w.forms[i]
		f.queue.names = append(f.queue.names, w.source.ID)
		f.closed = v.closedFrom(now, after(now, f.queue.pool.inTheWay(lastingOf(w.source, f.queue, f.tree().fewest()))), true, w.source, f)
		for k := range v.state.Reservations {
			if r := &v.state.Reservations[k]; r.Lend && !v.passed(r) && !isMember(r, w.source, f.queue) {
				f.lent = append(f.lent, r.ID)
			}
		}
	}
}

// closedFrom is what is closed to a form that starts at a time and has left for sure by another,
// by node: all of it, or some devices. Before a reservation begins it is open to work that has left by
// then, and to work that it evicts; preemptible work may borrow of it where it lends and the form borrows.
func (v reserving) closedFrom(at, left int64, borrows bool, w *allot.Workload, f *verifiedForm) map[string]closedTo {
	by, some := make([]byte, len(v.state.Reservations)), false // which of them close something
	for k := range v.state.Reservations {
		r := &v.state.Reservations[k]
		if ends(r) <= at || isMember(r, w, f.queue) || borrows && r.Lend && !f.nonPreemptible {
			continue
		}
		if from := begins(r); from > at && (r.Evict && !f.nonPreemptible || left <= from) {
			continue
		}
		by[k], some = 1, true
	}
	if !some {
		return nil
	}
	closed, known := v.closed[string(by)]
	if !known {
		closed = v.closedBy(by)
		v.closed[string(by)] = closed
	}
	return closed
}

// closedBy is what reservations reserve, by node: nil where they reserve nothing. They are marked by 1.
func (v reserving) closedBy(marked []byte) (closed map[string]closedTo) {
	for k, mark := range marked {
		if mark == 0 {
			continue
		}
		for _, n := range v.state.Reservations[k].Nodes {
			if closed == nil {
				closed = make(map[string]closedTo)
			}
			c := closed[n.Node]
			c.add(n.Devices)
			closed[n.Node] = c
		}
	}
	return closed
}

// cut checks what is cut to fit a hole (B1), which may use what is reserved after that. What moves
// in a circle and starts again ends when it did.
func (v reserving) cut(at spot, a *allot.Action, w *verifiedWorkload) {
	if a.Until.IsZero() {
		return
	}
	until, least := micros(a.Until), w.source.MinDuration
	if !isTime(a.Until) {
		v.failAt(at, ruleNames, "until is not of the years 1970 to 9999")
	}
	if was := slices.ContainsFunc(w.source.Tasks, func(t allot.Task) bool { return micros(t.Until) == until }); !was && (least <= 0 || until < after(nowOf(v.state), seconds(quota.Of(least)))) {
		v.failAt(at, ruleCut, "%q is content with no less than %d s from now on", a.Workload, least)
	}
	f := &w.forms[a.Form]
	f.closed = v.closedFrom(nowOf(v.state), until, true, w.source, f)
	w.cut = until
}

// claiming is the form in which a workload claims the place of a task: one that was cut to fit a hole may use what is
// reserved after that (B1).
func (v reserving) claiming(w *verifiedWorkload, name taskName) *verifiedForm {
	f := &w.forms[w.form]
	at := slices.IndexFunc(w.source.Tasks, func(t allot.Task) bool {
		return t.Phase == allot.Claimed && t.PodSet == name.podSet && t.Index == name.index && !t.Until.IsZero()
	})
	if at < 0 {
		return f
	}
	again := *f
	again.closed = v.closedFrom(nowOf(v.state), micros(w.source.Tasks[at].Until), true, w.source, f)
	return &again
}

// A closedTo is what of a node is closed to a form: all of it, or devices, a bit for each.
type closedTo struct {
	whole   bool
	devices uint64
}

// reservedPart is what of a node some of its devices are; none is all of it.
func reservedPart(devices []int) (c closedTo) {
	c.add(devices)
	return c
}

// add adds devices; none is all of the node.
func (c *closedTo) add(devices []int) {
	c.whole = c.whole || len(devices) == 0
	for _, d := range devices {
		c.devices |= 1 << uint(d)
	}
}

// has says whether a place of devices has something of it.
func (c closedTo) has(devices []int) bool {
	return c.whole || slices.ContainsFunc(devices, c.hasDevice)
}

func (c closedTo) hasDevice(d int) bool { return c.devices&(1<<uint(d)) != 0 }

// readNodes notes of nodes which devices what has not passed tells apart, and what is reserved
// at the time: for maintenance, and whole nodes for members.
func (v reserving) readNodes() {
	for i := range v.state.Reservations {
		r := &v.state.Reservations[i]
		if v.passed(r) {
			continue
		}
		for _, of := range r.Nodes {
			n := v.nodes[of.Node]
			if n.reserved == nil {
				n.reserved = make(map[int][]*allot.Reservation)
			}
			for _, d := range of.Devices {
				n.reserved[d] = append(n.reserved[d], r)
			}
			if !v.lasts(r) {
				continue
			}
			if !isForNobody(r) && n.pool != nil && len(of.Devices) == 0 {
				if n.pool.withheld == nil {
					n.pool.withheld = make(map[*verifiedNode][]*allot.Reservation)
				}
				n.pool.withheld[n] = append(n.pool.withheld[n], r)
			}
			if !isForNobody(r) {
				continue
			}
			n.maintained.add(of.Devices)
		}
	}
}

// isWithheld says whether the node as a whole is reserved, at the time, for others than the
// queue, those below it and what stands in it.
func (q *verifiedQueue) isWithheld(n *verifiedNode) bool {
	return slices.ContainsFunc(q.pool.withheld[n], func(r *allot.Reservation) bool {
		return q.id != "" && !isMember(r, new(allot.Workload), q) && !slices.ContainsFunc(q.names, func(id string) bool { return slices.Contains(r.Workloads, id) })
	})
}

// vacated checks that something goes because what it runs on is reserved for others (B9).
func (v reserving) vacated(at spot, a *allot.Action, w *verifiedWorkload) {
	k := slices.IndexFunc(v.state.Reservations, func(r allot.Reservation) bool { return r.ID == a.Reason.Reservation })
	if k < 0 {
		v.failAt(at, ruleNames, "no reservation %q", a.Reason.Reservation)
		return
	}
	r, f := &v.state.Reservations[k], &w.forms[w.form]
	places := a.Tasks
	if a.Kind == allot.Move {
		places = a.From
	}
	switch stands := func(t allot.Task) bool { return t.Phase == allot.Running && hasOf(r, &t) }; {
	case !v.lasts(r) || !evicts(r, w.source, f):
		v.failAt(at, ruleReserved, "%q evicts nobody of %q now", r.ID, a.Workload)
	case len(places) == 0 || !slices.ContainsFunc(w.source.Tasks, stands):
		v.failAt(at, ruleReserved, "%q has nothing on what %q reserves", a.Workload, r.ID)
	case v.staysAlone(w):
		v.onlyReserved(at, a, w)
	}
}

// hasOf says whether a reservation has something of the place of a task.
func hasOf(r *allot.Reservation, t *allot.Task) bool {
	return slices.ContainsFunc(r.Nodes, func(of allot.ReservedNode) bool {
		return of.Node == t.Node && reservedPart(of.Devices).has(t.Devices)
	})
}

// goesNow says whether a task has to leave its place, as people have reserved that; outside its pool it is
// left alone (S7).
func (v reserving) goesNow(w *verifiedWorkload, t *allot.Task) bool {
	f := &w.forms[w.formOf(t.Phase)]
	return v.nodes[t.Node].pool == f.queue.pool && slices.ContainsFunc(v.state.Reservations, func(r allot.Reservation) bool {
		return v.lasts(&r) && evicts(&r, w.source, f) && hasOf(&r, t)
	})
}

// wasReserved says whether a task had to leave the place that it has in the state.
func (v reserving) wasReserved(w *verifiedWorkload, name taskName) bool {
	return slices.ContainsFunc(w.source.Tasks, func(t allot.Task) bool {
		return t.Phase != allot.Terminating && t.PodSet == name.podSet && t.Index == name.index && v.goesNow(w, &t)
	})
}

// staysAlone says whether what of a workload runs elsewhere than where people have reserved is at its minimum.
func (v reserving) staysAlone(w *verifiedWorkload) bool {
	f := &w.forms[w.form]
	counts := make([]verifiedCounts, len(f.PodSets))
	for i := range w.source.Tasks {
		if t := &w.source.Tasks[i]; t.Phase == allot.Running && v.nodes[t.Node].lost(t.Devices) == 0 && !v.goesNow(w, t) {
			counts[f.set(t.PodSet)].running++
		}
	}
	return f.tree().reached(counts, runningTasks)
}

// onlyReserved checks that of a workload whose rest is at its minimum nothing goes for a reservation but what
// stands there (M6), and a claim whose place passes on to that. What is halved goes by its steps, and parts of groups
// go together.
func (v reserving) onlyReserved(at spot, a *allot.Action, w *verifiedWorkload) {
	f := &w.forms[w.form]
	for i, place := range a.Tasks {
		set := f.set(place.PodSet)
		if set < 0 || f.PodSets[set].Step != gang.ByOne || len(f.Groups) > 0 || v.wasReserved(w, taskName{a.Workload, place.PodSet, place.Index}) {
			continue
		}
		if a.Kind == allot.Unclaim && v.passesOn(w, place) {
			continue
		}
		v.failAt(spot{at.action, i}, ruleReserved, "the task stands on nothing that is reserved, and the rest of %q is at its minimum", a.Workload)
	}
}

// passesOn says whether a place that a workload claimed goes to a task of its own by the plan, which had to leave what
// people have reserved: it runs on there, as what runs comes before what is only claimed (M4, M6).
func (v reserving) passesOn(w *verifiedWorkload, claim allot.Placement) bool {
	return slices.ContainsFunc(v.plan.Actions, func(a allot.Action) bool {
		return a.Kind == allot.Move && a.Workload == w.source.ID && slices.ContainsFunc(a.Tasks, func(t allot.Placement) bool {
			return t.PodSet == claim.PodSet && t.Node == claim.Node && sameDevices(t.Devices, claim.Devices) &&
				v.wasReserved(w, taskName{a.Workload, t.PodSet, t.Index})
		})
	})
}

// isOnlyReserved says whether the node has devices of an accepted model with enough memory, and
// all of them are reserved for others.
func (n *verifiedNode) isOnlyReserved(f *verifiedForm, r *allot.Request) bool {
	some := false
	for i, d := range n.source.Devices {
		if deviceCount(r.GPU) == 0 || len(r.GPU.Models) > 0 && !slices.Contains(r.GPU.Models, d.Model) || d.Memory < max(r.GPU.MinMemory, r.GPU.Memory) {
			continue
		}
		if some = true; !f.closed[n.source.ID].hasDevice(i) {
			return false
		}
	}
	return some
}

// stoodBehind checks that something goes for one that had the first right to its place: what
// it stood on was lent to it (B9), or was promised to the other (B6).
func (v reserving) stoodBehind(x *verifiedVictim, f *verifiedForm) {
	b := v.workloads[x.action.Reason.Workload]
	standing := func(is func(t *allot.Task) bool) bool {
		return slices.ContainsFunc(x.source.source.Tasks, func(t allot.Task) bool { return t.Phase != allot.Terminating && is(&t) })
	}
	stands := func(of *allot.ReservedNode) bool {
		return standing(func(t *allot.Task) bool {
			return of.Node == t.Node && reservedPart(of.Devices).has(t.Devices)
		})
	}
	passed := v.trustedToHaveLeft(b, x.source, x.queue) || standing(func(t *allot.Task) bool { return b.source.Reserved != nil && t.Behind == b.source.ID })
	if !passed && !v.borrows(b, f.queue, x.source, x.queue, stands) {
		v.failAt(x.at, ruleReserved, "%q has not its place behind %q", x.action.Workload, x.action.Reason.Workload)
	}
}

// trustedToHaveLeft says whether something of a workload in a queue has passed b, which waited, and was expected to have
// ended by now (B5).
func (v reserving) trustedToHaveLeft(b, other *verifiedWorkload, queue *verifiedQueue) bool {
	return slices.ContainsFunc(other.source.Tasks, func(t allot.Task) bool {
		return t.Phase != allot.Terminating && overran(v.state, other.source, queue, &t) && micros(t.Since) > b.waitingSince(nowOf(v.state))
	})
}

// startsBehind checks that what starts or moves behind another has taken places that are promised
// to that, which the policy lets what is preemptible do (B6), and what stood behind it.
func (v reserving) startsBehind(at spot, a *allot.Action, w *verifiedWorkload) {
	f := &w.forms[a.Form]
	if a.Behind == "" {
		return
	}
	stood := a.Kind == allot.Move && slices.ContainsFunc(w.source.Tasks, func(t allot.Task) bool { return t.Behind == a.Behind })
	if a.Kind != allot.Start && a.Kind != allot.Resize && a.Kind != allot.Move || f.nonPreemptible || !stood && !f.queue.pool.policy.Reserve.Evictable {
		v.failAt(at, rulePassed, "%q does not start behind anybody", a.Workload)
	}
	if !slices.ContainsFunc(v.plan.Reservations, func(r allot.PlannedReservation) bool {
		return r.Workload == a.Behind && r.Change != allot.PromiseWithdrawn && (micros(r.Promise.At) > nowOf(v.state) || r.Promise.Rule == allot.ByGathering) && slices.ContainsFunc(r.Promise.Tasks, func(p allot.Placement) bool {
			return slices.ContainsFunc(a.Tasks, func(t allot.Placement) bool {
				return t.Node == p.Node && (len(p.Devices) == 0 || len(t.Devices) == 0 || reservedPart(p.Devices).has(t.Devices))
			})
		})
	}) {
		v.failAt(at, rulePassed, "nothing of where %q starts is promised to %q", a.Workload, a.Behind)
	}
}

// borrows says whether one workload has lent something that it may use itself to another in
// these queues; only of what stands says, nil is anything. Who asks for no devices has none to lend.
func (v reserving) borrows(w *verifiedWorkload, queue *verifiedQueue, other *verifiedWorkload, otherQueue *verifiedQueue, stands func(*allot.ReservedNode) bool) bool {
	for i := range v.state.Reservations {
		r := &v.state.Reservations[i]
		if !r.Lend || !v.lasts(r) || !isMember(r, w.source, queue) || isMember(r, other.source, otherQueue) {
			continue
		}
		if slices.ContainsFunc(r.Nodes, func(of allot.ReservedNode) bool {
			return (stands == nil || stands(&of)) && (len(of.Devices) == 0 || slices.ContainsFunc(w.forms, asksDevices))
		}) {
			return true
		}
	}
	return false
}

// asksDevices says whether a form asks for any.
func asksDevices(f verifiedForm) bool { return f.asks()[allot.GPU] > 0 }
