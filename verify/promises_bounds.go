package verify

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/queue"
)

// What a pool may promise at all is judged here: how much, and that nothing is made later than it was
// but for a cause (B4, B7).

// wouldStand says whether all that is promised would be free at its time if tasks of a workload stayed
// where they ran, for as long as they are expected to: what leaves so that another may be placed does
// not come home where a promise would be later for it (B5).
func (v *promising) wouldStand(w *verifiedWorkload, f *verifiedForm, places []allot.Placement) bool {
	if v == nil {
		return true
	}
	stay := func(place allot.Placement) standing {
		one := standing{workload: w, form: f, request: &f.PodSets[f.set(place.PodSet)].Request, node: v.nodes[place.Node], entry: noEntry, task: verifiedTask{allot.Running, place.Node, place.Devices}}
		for i := range w.source.Tasks {
			if t := &w.source.Tasks[i]; t.Phase != allot.Terminating && t.PodSet == place.PodSet && t.Index == place.Index {
				one.until, one.behind = v.endOf(w.source, f.queue, t), t.Behind
			}
		}
		one.until.predicted = f.queue.pool.rounded(one.until.predicted)
		return one
	}
	before := make(map[*verifiedNode][]standing)
	defer func() {
		for n, list := range before { // each for itself: order cannot matter
			v.stands[n] = list
		}
	}()
	for _, place := range places {
		n := v.nodes[place.Node]
		if _, some := before[n]; !some {
			before[n] = v.stands[n]
		}
		v.stands[n] = append(slices.Clip(v.stands[n]), stay(place))
	}
	for n := range before { // each for itself: order cannot matter
		if slices.ContainsFunc(v.on[n], func(p *promised) bool {
			return !p.unsettled && !p.gathers && len(v.overfullAt(p, n, p.from, func(one *standing) bool { return one.until.predicted > p.from })) > 0
		}) {
			return false
		}
	}
	return true
}

// bounds checks how many promises there are, and what new ones keep idle (B3, B4). What leaves, and
// what is promised anew, changes what is idle after something was promised.
func (v *promising) bounds() {
	type counted struct {
		all   int64
		own   map[*verifiedQueue]int
		list  []*promised
		still bool
		first *promised
	}
	pools := make(map[*verifiedPool]*counted)
	for _, p := range v.list {
		pool := p.form.queue.pool
		c := pools[pool]
		if c == nil {
			c = &counted{own: make(map[*verifiedQueue]int), still: true}
			pools[pool] = c
		}
		c.all++
		c.own[p.form.queue]++
		idle := v.idle(p)
		c.list = append(c.list, p)
		c.still = c.still && (p.source.Change == allot.PromiseKept || p.source.Change == allot.PromiseMade)
		if p.source.Change != allot.PromiseMade {
			continue
		}
		if idle > 0 { // which else adds nothing to what the others keep
			c.first = cmp.Or(c.first, p)
		}
		r := &pool.policy.Reserve
		if r.MaxHold.Given() && idle > 0 && p.from > after(v.at, seconds(r.MaxHold)) && !v.leaves(pool) {
			v.fail(p.path, rulePromises, "%d milli-GPU would be idle until %s", idle, text(p.from))
		}
		if r.Horizon.Given() && seconds(r.Horizon) > 0 && p.from > after(v.at, seconds(r.Horizon)) {
			v.fail(p.path, ruleProfile, "%s is beyond the horizon", text(p.from))
		}
	}
	for _, pool := range v.poolOrder {
		c, r := pools[pool], &pool.policy.Reserve
		if c == nil {
			continue
		}
		if most := int64(depthOf(r)); c.all > most {
			v.fail("reservations", rulePromises, "pool %q makes %d promises, at most %d", pool.id, c.all, most)
		}
		for _, q := range pool.queues {
			if r.MaxPromises > 0 && c.own[q] > r.MaxPromises {
				v.fail("reservations", rulePromises, "queue %q has %d promises, at most %d", q.id, c.own[q], r.MaxPromises)
			}
		}
		if most := r.MaxHeldPercent; most.Given() && !most.IsUnlimited() && c.first != nil && c.still && !v.leaves(pool) {
			have, idle := pool.capacity(verifiedKey{allot.GPU, ""})/100*most.Amount(), v.idle(c.list...)
			if idle > have {
				v.fail("reservations", rulePromises, "promises keep %d milli-GPU idle in pool %q, at most %d", idle, pool.id, have)
			}
		}
	}
}

// depthOf is how many promises there may be (B3): unless it is said one under EASY, and 100 under
// conservative.
func depthOf(r *allot.ReservePolicy) int {
	if r.Depth == 0 && r.Backfill == queue.Conservative {
		return 100
	}
	return cmp.Or(r.Depth, 1)
}

// leaves says whether anything in the pool goes or moves by the plan.
func (v *promising) leaves(p *verifiedPool) bool {
	return slices.ContainsFunc(v.plan.Actions, func(a allot.Action) bool {
		w := v.workloads[a.Workload]
		return a.Kind != allot.Start && a.Kind != allot.Resize && w != nil && a.Form >= 0 && a.Form < len(w.forms) && w.forms[a.Form].queue.pool == p
	})
}

// idle is how much of the places of some promises is not in use when the plan has been carried out. What several have
// is idle once, for the first that begins.
func (v *promising) idle(list ...*promised) (milli int64) {
	slices.SortFunc(list, func(a, b *promised) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.workload.source.ID, b.workload.source.ID))
	})
	book := func(t *plannedTask, n int64) {
		t.node.book(t.request, verifiedTask{allot.Running, t.place.Node, t.place.Devices}, n)
	}
	for _, p := range list {
		for i := range p.tasks {
			t := &p.tasks[i]
			if book(t, 1); len(t.node.overfull(t.request, t.place.Devices, true, true)) == 0 {
				milli += chargedGPU(t.request.GPU, p.form.queue.pool)
				defer book(t, -1)
			} else {
				book(t, -1)
			}
		}
	}
	return milli
}

// kept checks that every promise of the state is kept, or that a cause is told, and that what is
// said of the change is true (B7).
func (v *promising) kept() {
	told := make(map[string]bool, len(v.plan.Reservations))
	for i := range v.plan.Reservations {
		r := &v.plan.Reservations[i]
		told[r.Workload] = true
		if w := v.workloads[r.Workload]; w != nil {
			v.change(listPath("reservations", i), r, w)
		}
	}
	for _, w := range v.workOrder {
		was := w.source.Reserved
		if was == nil || told[w.source.ID] || !w.waitsToStart() || w.source.Ending || w.ended || was.Form < 0 || was.Form >= len(w.forms) || isEarly(w.source, v.state) {
			continue
		}
		if w.forms[was.Form].queue.pool.promises() {
			v.fail("reservations", ruleKept, "%q was promised something, of which nothing is told", w.source.ID)
		}
	}
}

// change checks what is said of one promise against that of the state.
func (v *promising) change(at string, r *allot.PlannedReservation, w *verifiedWorkload) {
	was, is := w.source.Reserved, &r.Promise
	letsGo := was != nil && was.Rule == allot.ByGathering && r.Change == allot.PromiseWithdrawn
	if !r.NotBefore.IsZero() && (!letsGo || micros(r.NotBefore) != micros(w.source.NotBefore)) {
		v.fail(at, ruleGather, "nothing that was gathered for %q is let go until then", r.Workload)
	}
	if was == nil {
		switch {
		case r.Change != allot.PromiseMade:
			v.fail(at, ruleKept, "%q was promised nothing", r.Workload)
		case r.Cause.Code != 0:
			v.fail(at, ruleKept, "what is made has no cause")
		case micros(is.Made) != micros(v.state.Now) || micros(is.First) != micros(is.At):
			v.fail(at, ruleKept, "it is made now, for a first time")
		}
		return
	}
	before, now := timeOf(was), timeOf(is)
	wrong := false
	switch r.Change {
	case allot.PromiseMade: // of another pool or form, or of what asks something else
		wrong = now > before
	case allot.PromiseKept:
		wrong = now != before || !samePlaces(is.Tasks, was.Tasks)
	case allot.PromiseMoved:
		wrong = now != before || samePlaces(is.Tasks, was.Tasks)
	case allot.PromiseEarlier:
		wrong = now >= before
	case allot.PromiseLater:
		wrong = now <= before
	case allot.PromiseWithdrawn:
	}
	if made := micros(is.Made); r.Change == allot.PromiseKept && made != micros(was.Made) || r.Change != allot.PromiseKept && r.Change != allot.PromiseWithdrawn && made != micros(v.state.Now) {
		v.fail(at, ruleKept, "it is told as %v, and as made %s", r.Change, text(made))
	}
	if first := firstOf(was, is); r.Change != allot.PromiseMade && micros(is.First) != first {
		v.fail(at, ruleKept, "%q was first promised %s", r.Workload, text(first))
	}
	if wrong {
		v.fail(at, ruleKept, "it is told as %v: promised %s, before %s", r.Change, text(now), text(before))
	}
	if r.Change == allot.PromiseLater || r.Change == allot.PromiseWithdrawn {
		v.cause(at, r, w)
	} else if r.Cause.Code != 0 {
		v.fail(at, ruleKept, "it has a cause, and is not later")
	}
}

// timeOf is when a promise begins; for ever is not known.
func timeOf(p *allot.Promise) int64 {
	if p.Rule == allot.ByGathering {
		return forever
	}
	return micros(p.At)
}

// firstOf is the time that a workload was first promised, where what it was promised before is known: that of now where
// places were gathered for it and no time had been known.
func firstOf(was, is *allot.Promise) int64 {
	if was.Rule == allot.ByGathering && was.First.IsZero() {
		return micros(is.At)
	}
	return micros(was.First)
}

// samePlaces says whether two lists have the same places for the same tasks.
func samePlaces(a, b []allot.Placement) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(one allot.Placement) bool {
		return !slices.ContainsFunc(b, func(other allot.Placement) bool {
			return one.PodSet == other.PodSet && one.Index == other.Index && one.Node == other.Node && sameDevices(one.Devices, other.Devices)
		})
	})
}

// cause checks why a promise is later, or gone (B7).
func (v *promising) cause(at string, r *allot.PlannedReservation, w *verifiedWorkload) {
	was, c := w.source.Reserved, &r.Cause
	other := v.workloads[c.Workload]
	switch c.Code {
	case allot.Overruns:
		late := other != nil && slices.ContainsFunc(other.source.Tasks, func(t allot.Task) bool {
			q := other.forms[other.source.Form].queue
			return t.Phase == allot.Terminating && micros(was.At) < v.at || t.Phase != allot.Terminating && q.pool.rounded(v.endOf(other.source, q, &t).predicted) > micros(was.At)
		})
		if !late && (other == nil || v.lasts[c.Workload] <= micros(was.At)) {
			v.fail(at, ruleKept, "%q had nothing that would still run at %s", c.Workload, text(micros(was.At)))
		}
	case allot.PlaceGone:
		if !slices.ContainsFunc(was.Tasks, func(t allot.Placement) bool { return v.gone(w, was.Form, t) }) {
			v.fail(at, ruleKept, "all of its places are there")
		}
	case allot.Yields:
		v.mayYield(at, r, w, other)
	case allot.NotBefore: // its pool has gathered for as long as may be
		if was.Rule != allot.ByGathering || micros(r.NotBefore) <= v.at {
			v.fail(at, ruleGather, "nothing that was gathered for %q is let go", r.Workload)
		}
	case allot.PromiseChanged, allot.OverLimit, allot.OverBorrowingLimit, allot.NoQuota, allot.MaxWorkloads, allot.KeptFromLending,
		allot.ImpossibleQuota, allot.ImpossibleLimit:
	default:
		v.fail(at, ruleKept, "%d is no code of a cause", c.Code)
	}
}

// gone says whether a place is none any more.
func (v *promising) gone(w *verifiedWorkload, form int, t allot.Placement) bool {
	n := v.nodes[t.Node]
	return n == nil || form < 0 || form >= len(w.forms) || n.pool != w.forms[form].queue.pool || n.source.Lost || n.source.Cordoned ||
		slices.ContainsFunc(t.Devices, func(d int) bool { return d < 0 || d >= len(n.devices) || n.source.Devices[d].Unhealthy })
}

// mayYield checks that a promise gives way to one to which it has to (B4, B5): what is placed, or waits, is no
// cause for one within its entitlement, except in its own queue, before it.
func (v *promising) mayYield(at string, r *allot.PlannedReservation, w, to *verifiedWorkload) {
	was := w.source.Reserved
	switch {
	case to == nil || to == w:
		v.fail(at, ruleNames, "it yields to %q", r.Cause.Workload)
		return
	case was.Form < 0 || was.Form >= len(w.forms) || !was.Entitled || len(to.source.Tasks) > 0 || v.isOverLine(was, w, to) || v.couldNotBe(was):
		return
	}
	mine, other := w.forms[was.Form].queue, to.forms[to.form].queue
	if mayPreempt(to, w) || v.mayReclaim(to, w) || mayStop(to, w) {
		return
	}
	if (mine != other || !standsBefore(to.source, w.source, mine.pool.policy)) && !v.isPromisedTwice(w) {
		v.fail(at, ruleBackfill, "it need not yield to %q", to.source.ID)
	}
}

// mayStop says whether another, of another queue, stops one while it waits, as the policy has it (O4), or has idle nodes kept
// from it (P8): it may start in what that one lets go of. Which of two queues is first, their saturation decides (O2), of which nothing is said here.
func mayStop(head, other *verifiedWorkload) bool {
	f, leaf := &other.forms[other.source.Reserved.Form], head.forms[head.form].queue
	if f.queue.pool != leaf.pool || f.queue == leaf {
		return false // in one queue it does so if it stands before that one
	}
	policy := leaf.pool.policy
	switch how, own := leaf.queueing(); {
	case own:
		return false
	case how == queue.BackfillPreemptible:
		return f.nonPreemptible && priorityOf(other.source, policy) < priorityOf(head.source, policy)
	case how == queue.BackfillSingles:
		return len(f.PodSets) != 1 || f.PodSets[0].Count > 1 || deviceCount(f.PodSets[0].Request.GPU) > 0
	default:
		return how == queue.StrictPool
	}
}

// mayPreempt says whether one has the right to preempt another: that may have started in this solve, so
// that it had no promise any more, and have made way for it (B7).
func mayPreempt(one, other *verifiedWorkload) bool {
	f, victim := &one.forms[one.form], &other.forms[other.source.Reserved.Form]
	policy := f.queue.pool.policy
	return f.queue.pool == victim.queue.pool && !victim.nonPreemptible && policy.Preempt != preempt.NoPreemption &&
		(policy.Preempt == preempt.WithinPool || f.queue == victim.queue) && priorityOf(one.source, policy) > priorityOf(other.source, policy)
}

// mayReclaim is mayPreempt by reclaim for quota (R1, R2), as far as it is of the one that would be taken: with it some
// queue that the other is not below is over what it is guaranteed, in something that it asks.
func (v *promising) mayReclaim(one, other *verifiedWorkload) bool {
	f, victim := &one.forms[one.form], &other.forms[other.source.Reserved.Form]
	if pool := f.queue.pool; pool != victim.queue.pool || victim.nonPreemptible || pool.policy.Reclaim == preempt.NoReclaim {
		return false
	}
	for q := victim.queue; q != nil && !q.above(f.queue); q = q.parent {
		for resource, amount := range v.asksOf(other.source.Reserved, other) { // one that is over is enough: order cannot matter
			key := verifiedKey{resource, ""}
			if amount > 0 && q.used(key).all+amount > v.line(q, key, false) {
				return true
			}
		}
	}
	return false
}

// isPromisedTwice says whether the state promises others, that come before it (B4), what it promises a workload, so that
// not all of it can stand (B7): it may have begun to be late, or a start was planned and is not carried out, after
// others were promised what its end leaves free.
func (v *promising) isPromisedTwice(w *verifiedWorkload) bool {
	own := v.keptOf(w)
	if own == nil || own.gathers {
		return false
	}
	stand, times := []*promised{own}, []int64{own.from}
	for _, other := range v.workOrder {
		p := v.keptOf(other)
		if p == nil || other == w || p.gathers || p.to <= own.from || p.from >= own.to || !p.isKeptBefore(own) {
			continue
		}
		stand = append(stand, p)
		times = append(times, max(p.from, own.from))
	}
	for _, n := range own.nodes {
		for _, now := range times {
			if len(overfullWith(nil, own, n, now, stand, nil)) > 0 {
				return true
			}
		}
	}
	return false
}

// isKeptBefore says whether a promise of the state is laid before another of it (B4).
func (p *promised) isKeptBefore(other *promised) bool {
	a, b := p.workload.source, other.workload.source
	if a.Reserved.Entitled != b.Reserved.Entitled {
		return a.Reserved.Entitled
	}
	return cmp.Or(cmp.Compare(micros(a.Reserved.At), micros(b.Reserved.At)), cmp.Compare(a.ID, b.ID)) < 0
}

// keptOf is what the state promises a workload, as far as its places are there, from now on where its time has come;
// nil is nothing.
func (v *promising) keptOf(w *verifiedWorkload) *promised {
	was := w.source.Reserved
	if was == nil || was.Form < 0 || was.Form >= len(w.forms) {
		return nil
	}
	f := w.forms[was.Form]
	p := &promised{workload: w, form: f, from: max(micros(was.At), v.at), gathers: was.Rule == allot.ByGathering}
	held := 0 // of a gang of which a part was left
	for i := range w.source.Tasks {
		if w.source.Tasks[i].Phase != allot.Terminating {
			held++
		}
	}
	p.to = f.queue.pool.rounded(after(p.from, lastingOf(w.source, f.queue, len(was.Tasks)+held).expected))
	for _, t := range was.Tasks {
		if set := f.set(t.PodSet); set >= 0 && !v.gone(w, was.Form, t) {
			p.tasks = append(p.tasks, plannedTask{place: t, request: &f.PodSets[set].Request, node: v.nodes[t.Node]})
		}
	}
	p.readPlaces()
	return p
}

// isOverLine says whether a workload that waits is beyond its entitlement by now beside all that has a
// place but one, whatever it was promised as: in strict orders the first starts beyond
// it, and makes way for what is within its own (Q4, R1). So it is where it asks what another
// queue keeps from lending (Q5). Where shares were others before nothing can be told (M5).
func (v *promising) isOverLine(as *allot.Promise, w, but *verifiedWorkload) bool {
	f, own := &w.forms[as.Form], but.forms[but.form].queue
	if f.queue.pool.ends || slices.ContainsFunc(v.plan.Pending, func(p allot.Pending) bool {
		return p.Workload == w.source.ID && slices.ContainsFunc(p.Reasons, func(r allot.Reason) bool { return r.Code == allot.KeptFromLending })
	}) {
		return true
	}
	asks := v.asksOf(as, w)
	held := v.chargedNow(but)
	for q := f.queue; q != nil; q = q.parent {
		for resource, amount := range asks { // one that is over is enough: order cannot matter
			key := verifiedKey{resource, ""}
			use := q.used(key).all
			if q.above(own) {
				use -= amountIn(held, key)
			}
			if amount > 0 && use+amount > v.line(q, key, true) {
				return true
			}
		}
	}
	return false
}

// asksOf is what a workload asks of each resource by what is promised to it.
func (v *promising) asksOf(as *allot.Promise, w *verifiedWorkload) map[string]int64 {
	f, asks := &w.forms[as.Form], make(map[string]int64)
	for _, t := range as.Tasks {
		if set := f.set(t.PodSet); set >= 0 {
			request := &f.PodSets[set].Request
			asks[allot.GPU] += chargedGPU(request.GPU, f.queue.pool)
			for resource, amount := range request.Resources { // into sums: order cannot matter
				asks[resource] += amount
			}
		}
	}
	return asks
}

// chargedNow is what a workload is charged when the plan has been carried out.
func (v *promising) chargedNow(w *verifiedWorkload) (list []verifiedCharge) {
	f := &w.forms[w.form]
	for _, ps := range f.PodSets {
		for index := range ps.Count {
			if t, has := v.tasks[taskName{w.source.ID, ps.Name, index}]; has {
				list = mergeCharges(list, charges(&ps.Request, f.queue.pool, v.nodes[t.node], t.devices))
			}
		}
	}
	return list
}

// couldNotBe says whether something that had a place before the plan is in the way of a promise of
// the state: then it is later whatever else comes.
func (v *promising) couldNotBe(was *allot.Promise) bool {
	at := micros(was.At)
	for _, w := range v.workOrder {
		for i := range w.source.Tasks {
			t := &w.source.Tasks[i]
			q := w.forms[w.formOf(t.Phase)].queue
			if t.Phase == allot.Terminating && at > v.at || t.Phase != allot.Terminating && q.pool.rounded(v.endOf(w.source, q, t).predicted) <= at {
				continue
			}
			if slices.ContainsFunc(was.Tasks, func(place allot.Placement) bool { return place.Node == t.Node }) {
				return true
			}
		}
	}
	return false
}
