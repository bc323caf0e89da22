package verify

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/allotsched/allot"
)

// A waiting judges which workloads a promise is told to wait for (B7): with those that go by its time and are named
// gone, and with them all that these wait for, it could begin though all others stayed; and of those that are named
// none could stay besides. Promises before it in time are given: so those of a pool are taken in their order.
type waiting struct {
	*promising
	pool *verifiedPool
	p    *promised
	// order are the promises of the pool in the order in which they begin, and begun those that have.
	order, begun []*promised
	// before are those that the promises wait for which have begun; gone are those that need not be there: they, those
	// that the promise names, and those that these wait for.
	before, gone names
	// moments are those at which others besides have begun: what is gathered is held while each of the others
	// is in use, and all else is both while others wait for what is gathered and once they have it (B8).
	moments []*moment
	// near are the nodes of the promise on which a workload has anything or is leaving, by the number of the workload.
	near map[int][]*verifiedNode
}

// A moment is a time, the promises besides that have begun by then, those that these wait for, and what is in
// use of the queues then.
type moment struct {
	at      int64
	begun   []*promised
	has     func(*promised) bool
	through names
	used    *ledger // nil is that it has to be found anew
}

// waits checks what the promises are told to wait for.
func (v *promising) waits() {
	v.readWaits()
	for _, pool := range v.poolOrder {
		w := waiting{promising: v, pool: pool}
		for _, p := range v.list {
			if !p.unsettled && p.form.queue.pool == pool {
				w.order = append(w.order, p)
			}
		}
		if len(w.order) > 0 {
			slices.SortStableFunc(w.order, isLater)
			w.inOrder()
			w.gathering()
		}
	}
}

// isLater compares promises by when they begin.
func isLater(a, b *promised) int {
	return cmp.Or(cmp.Compare(a.from, b.from), strings.Compare(a.workload.source.ID, b.workload.source.ID))
}

// readWaits reads what the promises wait for, and what these wait for.
func (v *promising) readWaits() {
	v.ofNames, v.waitedFor = make(map[string]*promised), []*verifiedWorkload{nil}
	for _, p := range v.list {
		v.ofNames[p.workload.source.ID] = p
		for _, id := range p.source.Promise.WaitsFor {
			if w := v.workloads[id]; w != nil && w.waitedFor == 0 {
				w.waitedFor = len(v.waitedFor)
				v.waitedFor = append(v.waitedFor, w)
			}
		}
	}
	through := make(map[*verifiedWorkload]*names)
	for _, p := range v.list {
		v.goThrough(through, p)
	}
	for _, p := range v.list {
		p.through = *through[p.workload]
		v.reach(p)
	}
}

// goThrough notes what a promise waits for, and what these wait for: not of one that is promised something for
// later, of which it waits for what is leaving.
func (v *promising) goThrough(through map[*verifiedWorkload]*names, p *promised) {
	if through[p.workload] == nil {
		through[p.workload] = new(names)
	}
	for _, id := range p.source.Promise.WaitsFor {
		if v.workloads[id] == nil {
			continue
		}
		through[p.workload].add(v.workloads[id].waitedFor)
		next := v.ofNames[id]
		if next == nil || next == p || next.to > p.from { // for what it has itself may be leaving
			continue
		}
		if through[next.workload] == nil {
			v.goThrough(through, next)
		}
		through[p.workload].addAll(*through[next.workload])
	}
}

// reach is what a promise waits for that has ended when it begins, and what these wait for in the same way.
func (v *promising) reach(p *promised) names {
	if p.reach != nil {
		return p.reach
	}
	p.reach = make(names, 1)
	for _, id := range p.source.Promise.WaitsFor {
		w, next := v.workloads[id], v.ofNames[id]
		switch {
		case w == nil:
		case next != nil && next.to <= p.from && v.lasts[id] <= p.from:
			p.reach.add(w.waitedFor)
			p.reach.addAll(v.reach(next))
		case next == nil && v.lasts[id] <= p.from:
			p.reach.add(w.waitedFor)
		}
	}
	return p.reach
}

// inOrder checks the promises of the pool that have a time, in the order in which they begin.
func (w *waiting) inOrder() {
	all := func(one *standing) bool { return one.form.queue.pool == w.pool }
	nobody := func(*promised) bool { return false }
	w.moments = []*moment{{has: nobody, used: w.ledgerOf(all, nobody)}}
	for k, p := range w.order {
		if p.gathers {
			itself := func(other *promised) bool { return other == p }
			w.moments = append(w.moments, &moment{p.from, w.order[k : k+1], itself, p.through, w.ledgerOf(all, itself)})
		}
	}
	begun, ended := 0, 0
	for _, p := range w.order {
		if p.gathers {
			continue
		}
		w.p = p
		for ; isLater(w.order[begun], p) < 0; begun++ {
			if !w.order[begun].gathers {
				w.begin(w.order[begun])
			}
		}
		for ; ended < len(w.ends) && w.entries[w.ends[ended]].until <= p.from; ended++ {
			w.update(w.ends[ended])
		}
		w.judge()
	}
}

// begin notes that a promise has begun, and that those need not be there any more that it waits for.
func (w *waiting) begin(p *promised) {
	w.begun = append(w.begun, p)
	p.begun = true
	w.update(p.entry)
	for _, id := range p.source.Promise.WaitsFor {
		if by := w.workloads[id]; by != nil {
			w.before.add(by.waitedFor)
		}
	}
	w.gone = w.before
	for _, id := range p.source.Promise.WaitsFor {
		w.updateAll(w.workloads[id])
	}
}

// gathering checks those promises of the pool that gather, beside the others as these begin.
func (w *waiting) gathering() {
	w.before, w.begun = nil, nil
	for _, p := range w.order {
		if !p.gathers {
			continue
		}
		w.p, w.moments = p, []*moment{{has: func(*promised) bool { return false }}}
		var through names
		for k, other := range w.order {
			if other != p {
				through = slices.Clone(through)
				through.addAll(other.through)
			}
			if other != p && other.gathers {
				w.moments = append(w.moments, &moment{other.from, w.order[k : k+1], func(one *promised) bool { return one == other }, other.through, nil})
			}
			if last := k+1 == len(w.order) || w.order[k+1].from > other.from; last {
				w.moments = append(w.moments, &moment{other.from, w.order[:k+1], func(one *promised) bool {
					return one != p && !one.unsettled && one.form.queue.pool == w.pool && one.from <= other.from
				}, through, nil})
			}
		}
		w.judge()
	}
}

// judge checks what the promise is told to wait for, where those before it have begun.
func (w *waiting) judge() {
	own, known := w.named()
	if !known {
		return
	}
	w.gone = slices.Clone(w.before)
	w.gone.addAll(own)
	anew := func(number int) {
		if !w.before.has(number) {
			w.updateAll(w.waitedFor[number])
		}
	}
	own.each(anew)
	w.couldBegin()
	w.gone = w.before
	own.each(anew)
}

// named are those that the promise is told to wait for, and that these wait for; known says whether they exist.
func (w *waiting) named() (own names, known bool) {
	named := w.p.source.Promise.WaitsFor
	var implied names
	for k, id := range named {
		if w.workloads[id] == nil {
			w.object(ruleNames, "no workload %q", id)
			return nil, false
		}
		if own.add(w.workloads[id].waitedFor); k > 0 && named[k-1] >= id {
			w.object(ruleReasons, "%q is not behind %q", id, named[k-1])
		}
		// What it has itself may be leaving, and so what of that one is waited for.
		if by := w.ofNames[id]; by != nil && by != w.p && by.to <= w.p.from {
			implied.addAll(by.reach)
		}
	}
	for _, id := range named {
		if by := w.workloads[id]; implied.has(by.waitedFor) && by.cut == 0 { // of what is cut not all may be
			w.object(ruleReasons, "another that it waits for waits for %q", id)
		}
	}
	own.addAll(implied)
	return own, true
}

// object notes what is wrong with the promise.
func (w *waiting) object(rule, format string, args ...any) {
	w.p.objections = append(w.p.objections, objection{rule, fmt.Sprintf(format, args...)})
}

// couldBegin checks that the promise could begin beside all that need not be gone by then, and not with any of
// those besides that it names.
func (w *waiting) couldBegin() {
	w.readNear()
	fits, could := make([][]bool, len(w.moments)), true
	for i, then := range w.moments {
		for _, n := range w.p.nodes {
			fits[i] = append(fits[i], w.fitsOn(n, then, 0))
		}
		could = could && !slices.Contains(fits[i], false) && w.letsIn(then, 0)
	}
	if !could {
		w.object(ruleReasons, "it waits for others than %q", w.p.source.Promise.WaitsFor)
	}
	for _, id := range w.p.source.Promise.WaitsFor {
		if len(w.pool.lends) == 0 && w.couldBeginWith(w.workloads[id].waitedFor, fits) { // what is kept from lending is not judged here (Q5)
			w.object(ruleReasons, "it need not wait for %q", id)
		}
	}
}

// couldBeginWith says whether the promise could begin with one besides that is named; those that wait for that one
// are not there. On which of its nodes the promise fits without that one, at each moment, is given.
func (w *waiting) couldBeginWith(besides int, fits [][]bool) bool {
	for i, all := range w.moments {
		then := all.without(w.p, besides)
		if then != all && !w.p.gathers { // as where none has begun
			continue
		}
		for _, n := range w.near[besides] {
			if !w.fitsOn(n, then, besides) {
				return false
			}
		}
		for k, n := range w.p.nodes {
			if slices.Contains(w.near[besides], n) {
				continue
			}
			same := then == all && !slices.ContainsFunc(w.on[n], func(other *promised) bool { return other.through.has(besides) })
			if same && !fits[i][k] || !same && !w.fitsOn(n, then, besides) {
				return false
			}
		}
		if !w.letsIn(then, besides) {
			return false
		}
	}
	return true
}

// without is the moment without those that wait for one.
func (m *moment) without(p *promised, besides int) *moment {
	waits := func(other *promised) bool { return other.through.has(besides) }
	if !slices.ContainsFunc(m.begun, waits) {
		return m
	}
	out := &moment{at: m.at, has: func(other *promised) bool { return m.has(other) && !waits(other) }}
	for _, other := range m.begun {
		if other != p && !waits(other) {
			out.begun = append(out.begun, other)
			out.through.addAll(other.through)
		}
	}
	return out
}

// readNear reads on which of its nodes each workload in the way of the promise has anything.
func (w *waiting) readNear() {
	w.near = make(map[int][]*verifiedNode)
	note := func(by *verifiedWorkload, n *verifiedNode) {
		if number := by.waitedFor; number > 0 && !slices.Contains(w.near[number], n) {
			w.near[number] = append(w.near[number], n)
		}
	}
	for _, n := range w.p.nodes {
		for i := range w.stands[n] {
			note(w.stands[n][i].workload, n)
		}
		for _, l := range w.wasLeaving[n] {
			note(l.workload, n)
		}
		for _, other := range w.on[n] {
			note(other.workload, n)
		}
	}
}

// stays says whether a workload is there at a moment, whatever is expected, and with one besides.
func (w *waiting) stays(by *verifiedWorkload, then *moment, besides int) bool {
	number := by.waitedFor
	return number > 0 && number == besides || !w.gone.has(number) && !then.through.has(number)
}

// update has an entry be in the ledgers of the moments as long as it is there.
func (w *waiting) update(k int) {
	for _, then := range w.moments {
		if k != noEntry && then.used != nil {
			then.used.set(k, w.uses(k, then, 0))
		}
	}
}

// updateAll is update for all that a workload has.
func (w *waiting) updateAll(by *verifiedWorkload) {
	for _, k := range w.entriesOf[by] {
		w.update(k)
	}
}

// uses says whether an entry is there at a moment, with one besides.
func (w *waiting) uses(k int, then *moment, besides int) bool {
	e := &w.entries[k]
	switch {
	case e.form.queue.pool != w.pool:
		return false
	case e.promise != nil && then.has(e.promise):
		return e.promise.to > then.at
	case e.promise != nil && !e.promise.begun:
		return false
	}
	return e.until > w.p.from || w.stays(e.workload, then, besides)
}

// letsIn says whether its queues let the promise in at a moment, with one besides.
func (w *waiting) letsIn(then *moment, besides int) bool {
	if w.p.entry == noEntry {
		return true
	}
	if then.used == nil {
		return len(w.outOfBounds(w.ledgerOf(func(one *standing) bool {
			return one.form.queue.pool == w.pool && w.stays(one.workload, then, besides)
		}, func(other *promised) bool { return then.has(other) && other.to > then.at }), w.p, besides)) == 0
	}
	var changed []int
	if besides > 0 {
		for _, k := range w.entriesOf[w.waitedFor[besides]] {
			then.used.set(k, w.uses(k, then, besides))
			changed = append(changed, k)
		}
		for _, other := range w.begun {
			if other.entry != noEntry && other.workload.waitedFor != besides && other.through.has(besides) { // what is leaving waits for itself
				then.used.set(other.entry, false)
				changed = append(changed, other.entry)
			}
		}
	}
	objections := w.outOfBounds(then.used, w.p, besides)
	for _, k := range changed {
		then.used.set(k, w.uses(k, then, 0))
	}
	return len(objections) == 0
}

// fitsOn says whether what is promised of a node fits at a moment beside what stands there, is leaving and is
// promised, with one besides.
func (w *waiting) fitsOn(n *verifiedNode, then *moment, besides int) bool {
	inUse, lasting := w.promisedOn(n, then, besides)
	room := newVerifiedNode(n.source)
	room.cpuOnly.usable = n.cpuOnly.usable
	for i := range w.stands[n] {
		if one := &w.stands[n][i]; w.standsOn(n, one, then, besides, inUse) {
			room.book(one.request, verifiedTask{allot.Running, one.task.node, one.task.devices}, 1)
		}
	}
	for _, l := range w.wasLeaving[n] {
		if w.stays(l.workload, then, besides) && !w.isClaimed(n, &l) {
			room.bookLeaving(&l)
		}
	}
	for _, one := range append(inUse, lasting...) {
		for _, t := range one.on[n] {
			room.book(t.request, verifiedTask{allot.Running, t.place.Node, t.place.Devices}, 1)
		}
	}
	for _, t := range w.p.on[n] {
		if room.book(t.request, verifiedTask{allot.Running, t.place.Node, t.place.Devices}, 1); len(room.overfull(t.request, t.place.Devices, true, false)) > 0 {
			return false
		}
	}
	return true
}

// promisedOn are the promises that have places on a node at a moment, with one besides: those in use, and those
// that need not have ended.
func (w *waiting) promisedOn(n *verifiedNode, then *moment, besides int) (inUse, lasting []*promised) {
	for _, other := range w.on[n] {
		switch {
		case other == w.p:
		case then.has(other):
			if other.to > then.at {
				inUse = append(inUse, other)
			}
		case w.p.gathers || !other.begun || other.form.queue.pool != w.pool:
		case other.workload.waitedFor != besides && other.through.has(besides): // what is leaving waits for itself
		case other.to > w.p.from:
			inUse = append(inUse, other)
		case w.stays(other.workload, then, besides):
			lasting = append(lasting, other)
		}
	}
	return inUse, lasting
}

// standsOn says whether what stands on a node is there at a moment, with one besides, where some promises are
// in use.
func (w *waiting) standsOn(n *verifiedNode, one *standing, then *moment, besides int, inUse []*promised) bool {
	number := one.workload.waitedFor
	if w.p.isServedBy(one) || slices.ContainsFunc(w.on[n], func(other *promised) bool { return then.has(other) && other.isServedBy(one) }) {
		return false
	}
	itself := number > 0 && number == besides
	if !itself && slices.ContainsFunc(inUse, func(other *promised) bool {
		return other.isServedBy(one) || other.gathers && other.through.has(number) && other.has(n, one.task.devices)
	}) {
		return false
	}
	return !w.p.gathers && one.until.predicted > w.p.from || w.stays(one.workload, then, besides)
}

// isClaimed says whether a workload that is gone by then claims what a task asks that is leaving, and so waits
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

// sharesPlace says whether a task shares a device with what is leaving, or both ask a resource.
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
