package verify

import (
	"slices"

	"github.com/allotsched/allot"
)

// A waiting is how whom a promise waits for is judged (B7): with those who go by its time and are named gone, and
// with them all for whom these wait, it could begin though everybody else stayed; and of those who are
// named none could stay besides. Promises before it in time are given.
type waiting struct {
	*promising
	p      *promised
	before []*promised
	// gone are those who need not be there, by ID: who is named, for whom these wait, and for whom those before wait.
	gone map[string]bool
}

// waitsFor checks whom a promise is told to wait for.
func (v *promising) waitsFor(p *promised) {
	w := waiting{promising: v, p: p, gone: make(map[string]bool)}
	promises := make(map[string]*promised)
	for _, other := range v.list {
		promises[other.workload.source.ID] = other
		if other != p && !other.unsettled && (other.from < p.from || other.from == p.from && other.workload.source.ID < p.workload.source.ID) {
			w.before = append(w.before, other)
			for _, id := range other.source.Promise.WaitsFor {
				w.gone[id] = true
			}
		}
	}
	named, implied := p.source.Promise.WaitsFor, make(map[string]bool)
	var imply func(id string)
	imply = func(id string) {
		by := promises[id]
		if by == nil || by == p { // what it has itself may be leaving
			return
		}
		for _, before := range by.source.Promise.WaitsFor {
			if !implied[before] && v.lastOf(before, promises[before]) <= by.from {
				implied[before], w.gone[before] = true, true
				imply(before)
			}
		}
	}
	for k, id := range named {
		if w.gone[id] = true; k > 0 && named[k-1] >= id {
			v.fail(p.path, ruleReasons, "%q is not behind %q", id, named[k-1])
		}
		imply(id)
	}
	for _, id := range named {
		if implied[id] && v.workloads[id].cut == 0 { // of what is cut not all may be
			v.fail(p.path, ruleReasons, "another that it waits for waits for %q", id)
		}
	}
	if !w.couldBegin("") {
		v.fail(p.path, ruleReasons, "it waits for others than %q", named)
	}
	for _, id := range named {
		if len(p.form.queue.pool.lends) == 0 && w.couldBegin(id) { // what is kept from lending is not judged here (Q5)
			v.fail(p.path, ruleReasons, "it need not wait for %q", id)
		}
	}
}

// lastOf is until when a workload has anything, or is promised it.
func (v *promising) lastOf(id string, p *promised) (last int64) {
	if p != nil {
		return p.to
	}
	for _, list := range v.stands { // the latest: order cannot matter
		for i := range list {
			if list[i].workload.source.ID == id {
				last = max(last, list[i].until.predicted)
			}
		}
	}
	return last
}

// couldBegin says whether the promise could begin beside all who need not be gone by then, and somebody
// besides, who is not named; those who wait for that one are not there.
func (w *waiting) couldBegin(besides string) bool {
	stays := func(id string) bool { return id == besides || !w.gone[id] }
	promises := []*promised{w.p}
	for _, other := range w.before {
		if (other.to > w.p.from || stays(other.workload.source.ID)) && (besides == "" || !slices.Contains(other.source.Promise.WaitsFor, besides)) {
			promises = append(promises, other)
		}
	}
	inUse := promises[1:]
	stands := func(one *standing) bool {
		id := one.workload.source.ID
		if w.p.isServedBy(one) || id != besides && slices.ContainsFunc(inUse, func(other *promised) bool {
			return other.to > w.p.from && (other.isServedBy(one) || other.awaits(id) && other.has(w.nodes[one.task.node], one.task.devices))
		}) {
			return false
		}
		return !w.p.gathers && one.until.predicted > w.p.from || stays(id)
	}
	for _, t := range w.p.tasks {
		if !w.fitsOn(t.node, promises, stands, stays) {
			return false
		}
	}
	return len(w.outOfBounds(w.p, promises, func(one *standing) bool {
		return !w.p.isServedBy(one) && (one.until.predicted > w.p.from || stays(one.workload.source.ID))
	})) == 0
}

// awaits says whether places are gathered for a promise where a workload stands for which it waits (B8).
func (p *promised) awaits(id string) bool {
	return p.gathers && slices.Contains(p.source.Promise.WaitsFor, id)
}

// fitsOn says whether what is promised of a node fits beside what stands there, is leaving and is promised.
func (w *waiting) fitsOn(n *verifiedNode, promises []*promised, stands func(*standing) bool, stays func(id string) bool) bool {
	then := newVerifiedNode(n.source)
	then.cpuOnly.usable = n.cpuOnly.usable
	for i := range w.stands[n] {
		if one := &w.stands[n][i]; stands(one) {
			then.book(one.request, verifiedTask{allot.Running, one.task.node, one.task.devices}, 1)
		}
	}
	for _, other := range w.workOrder {
		for i := range other.source.Tasks {
			t := &other.source.Tasks[i]
			if t.Phase == allot.Terminating && t.Node == n.source.ID && stays(other.source.ID) {
				f := &other.forms[leavingFormOf(other.source)]
				if asks := &f.PodSets[f.set(t.PodSet)].Request; !w.isClaimed(n, other.source.ID, t, asks) {
					then.book(asks, verifiedTask{allot.Running, t.Node, t.Devices}, 1)
				}
			}
		}
	}
	for _, one := range promises {
		for _, t := range one.tasks {
			if t.node == n && one != w.p {
				then.book(t.request, verifiedTask{allot.Running, t.place.Node, t.place.Devices}, 1)
			}
		}
	}
	for _, t := range w.p.tasks {
		if t.node == n {
			if then.book(t.request, verifiedTask{allot.Running, t.place.Node, t.place.Devices}, 1); len(then.overfull(t.request, t.place.Devices, true, false)) > 0 {
				return false
			}
		}
	}
	return true
}

// isClaimed says whether somebody who is gone by then claims what a task asks that is leaving, and so waits
// for it first.
func (w *waiting) isClaimed(n *verifiedNode, id string, t *allot.Task, asks *allot.Request) bool {
	return slices.ContainsFunc(w.stands[n], func(one standing) bool {
		goes := !w.p.isServedBy(&one) && (w.p.gathers || one.until.predicted <= w.p.from)
		return goes && (one.claims || slices.Contains(one.after, id)) && sharesPlace(one.request, one.task.devices, asks, t.Devices)
	})
}

// sharesPlace says whether two tasks of a node share a device, or ask a resource both.
func sharesPlace(a *allot.Request, on []int, b *allot.Request, devices []int) bool {
	if slices.ContainsFunc(on, func(d int) bool { return slices.Contains(devices, d) }) {
		return true
	}
	for resource, amount := range a.Resources { // whether there is one: order cannot matter
		if amount > 0 && b.Resources[resource] > 0 {
			return true
		}
	}
	return false
}
