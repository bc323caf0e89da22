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
	// beside are the moments at which others besides have begun: what is gathered is held while each of the others
	// is in use, and all else is both while others wait for what is gathered and once they have it (B8).
	beside []moment
	// through are by ID for whom each waits, and for whom these wait.
	through map[string]map[string]bool
}

// A moment is a time, and the promises that have begun by then.
type moment struct {
	at    int64
	begun []*promised
}

// waitsFor checks whom a promise is told to wait for.
func (v *promising) waitsFor(p *promised) {
	w := waiting{promising: v, p: p, gone: make(map[string]bool), beside: []moment{{}}, through: make(map[string]map[string]bool)}
	promises := make(map[string]*promised)
	for _, other := range v.list {
		promises[other.workload.source.ID] = other
	}
	for _, other := range v.list {
		w.goThrough(promises, other.workload.source.ID, other)
		switch {
		case other == p || other.unsettled || other.form.queue.pool != p.form.queue.pool:
		case other.gathers:
			w.beside = append(w.beside, moment{other.from, []*promised{other}})
		case p.gathers:
			w.beside = append(w.beside, moment{other.from, slices.DeleteFunc(slices.Clone(v.list), func(one *promised) bool {
				return one == p || one.unsettled || one.form.queue.pool != p.form.queue.pool || one.from > other.from
			})})
		case other.from < p.from || other.from == p.from && other.workload.source.ID < p.workload.source.ID:
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
		if by == nil || by == p || by.to > p.from { // what it has itself may be leaving, and so what of that one is waited for
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
		if v.workloads[id] == nil {
			v.fail(p.path, ruleNames, "no workload %q", id)
			return
		}
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

// goThrough notes for whom a promise waits, and for whom these wait: not of one that is promised something for
// later, of which it waits for what is leaving.
func (w *waiting) goThrough(promises map[string]*promised, of string, p *promised) {
	if w.through[of] == nil {
		w.through[of] = make(map[string]bool)
	}
	for _, id := range p.source.Promise.WaitsFor {
		if w.through[of][id] = true; promises[id] == nil || promises[id] == p || promises[id].to > p.from { // for what it has itself may be leaving
			continue
		}
		if w.through[id] == nil {
			w.goThrough(promises, id, promises[id])
		}
		for other := range w.through[id] { // each is noted: order cannot matter
			w.through[of][other] = true
		}
	}
}

// couldBegin says whether the promise could begin beside all who need not be gone by then, and somebody
// besides, who is not named; those who wait for that one are not there.
func (w *waiting) couldBegin(besides string) bool {
	return !slices.ContainsFunc(w.beside, func(then moment) bool { return !w.couldBeginAt(then, besides) })
}

// couldBeginAt is couldBegin where others have begun at a moment.
func (w *waiting) couldBeginAt(then moment, besides string) bool {
	begun := slices.DeleteFunc(slices.Clone(then.begun), func(other *promised) bool { return w.through[other.workload.source.ID][besides] })
	stays := func(id string) bool {
		return id == besides || !w.gone[id] && !slices.ContainsFunc(begun, func(other *promised) bool { return w.through[other.workload.source.ID][id] })
	}
	var inUse, lasting []*promised
	for _, other := range w.before {
		switch id := other.workload.source.ID; {
		case id != besides && w.through[id][besides]: // who is leaving waits for itself
		case other.to > w.p.from:
			inUse = append(inUse, other)
		case stays(id):
			lasting = append(lasting, other)
		}
	}
	for _, other := range begun {
		if other.to > then.at {
			inUse = append(inUse, other)
		}
	}
	stands := func(one *standing) bool {
		id := one.workload.source.ID
		if w.p.isServedBy(one) || slices.ContainsFunc(begun, func(other *promised) bool { return other.isServedBy(one) }) || id != besides && slices.ContainsFunc(inUse, func(other *promised) bool {
			return other.isServedBy(one) || other.gathers && w.through[other.workload.source.ID][id] && other.has(w.nodes[one.task.node], one.task.devices)
		}) {
			return false
		}
		return !w.p.gathers && one.until.predicted > w.p.from || stays(id)
	}
	promises := slices.Concat([]*promised{w.p}, inUse, lasting)
	for _, t := range w.p.tasks {
		if !w.fitsOn(t.node, promises, stands, stays) {
			return false
		}
	}
	return len(w.outOfBounds(w.p, promises, func(one *standing) bool {
		return !w.p.isServedBy(one) && (!w.p.gathers && one.until.predicted > w.p.from || stays(one.workload.source.ID))
	})) == 0
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
	for _, l := range w.wasLeaving[n] {
		if stays(l.workload.source.ID) && !w.isClaimed(n, &l) {
			then.bookLeaving(&l)
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
func (w *waiting) isClaimed(n *verifiedNode, l *leavingTask) bool {
	return slices.ContainsFunc(w.stands[n], func(one standing) bool {
		goes := !w.p.isServedBy(&one) && (w.p.gathers || one.until.predicted <= w.p.from)
		return goes && one.claims && one.sharesPlace(l)
	})
}

// bookLeaving books what is leaving as if it ran.
func (n *verifiedNode) bookLeaving(l *leavingTask) {
	n.book(l.request, verifiedTask{allot.Running, l.task.Node, l.task.Devices}, 1)
}

// sharesPlace says whether somebody shares a device with what is leaving, or both ask a resource.
func (one *standing) sharesPlace(l *leavingTask) bool {
	if slices.ContainsFunc(one.task.devices, func(d int) bool { return slices.Contains(l.task.Devices, d) }) {
		return true
	}
	for resource, amount := range one.request.Resources { // whether there is one: order cannot matter
		if amount > 0 && l.request.Resources[resource] > 0 {
			return true
		}
	}
	return false
}
