package verify

import (
	"slices"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/queue"
)

// What a plan promises is judged here, as things stand when it has been carried out: whether its
// places exist and are free when they are promised (B2, B4), how much may be promised (B4), and
// that nothing is made later than it was but for a cause (B7), which what is placed is none (B5).

// promising judges promises.
type promising struct {
	*verifier
	at int64 // now
	// stands is what has a place after the plan, by node; list are the promises that stand.
	stands map[*verifiedNode][]standing
	list   []*promised
	// on are the promises that have places on a node, by node, in their order; begin are the times at which
	// any begins, each once.
	on    map[*verifiedNode][]*promised
	begin []int64
	// entries are those that use something of queues, entriesOf are theirs by workload, and ends is the order in
	// which they end.
	entries   []entry
	entriesOf map[*verifiedWorkload][]int
	ends      []int
	// ofNames are the promises by the names of their workloads, lasts is until when what has a place of a workload stands, and
	// waitedFor are the workloads that promises wait for, by their numbers.
	ofNames   map[string]*promised
	lasts     map[string]int64
	goes      map[string]int64 // when the first of what has a place of a workload has left, before which it may be completed
	waitedFor []*verifiedWorkload
	// wasLeaving is what was leaving before the plan, by node.
	wasLeaving map[*verifiedNode][]leavingTask
	// behind is which workload the plan starts a task behind (B6), after what leaves before it (S4).
	behind map[taskName]string
	after  map[taskName][]string
	grown  map[taskName]bool
	// inItsTurn is what was lawfully taken from its place, and has another as it has started again in its turn (M4, B9).
	inItsTurn map[taskName]bool
}

// A standing is a task that has a place, and until when; fresh is what the plan has placed, for
// which moves says that it had another place before, which nobody had a right to: else it was taken there, and has
// started in its turn (M4, B9). It is behind the workload of that name (B6);
// overran is since when it has its place, plus one, where it was trusted to have left (B5), and else 0.
type standing struct {
	workload     *verifiedWorkload
	form         *verifiedForm
	request      *allot.Request
	node         *verifiedNode
	task         verifiedTask
	until        end
	fresh, moves bool
	grows        bool // the plan has the workload grow by it beyond its minimum
	behind       string
	overran      int64
	claims       bool     // it claims its place, as before the plan or behind what was leaving before it
	after        []string // those that leave before it starts
	entry        int      // its number among the entries
}

// A leavingTask is a task that was leaving before the plan, and what it asks.
type leavingTask struct {
	workload *verifiedWorkload
	request  *allot.Request
	task     *allot.Task
}

// A promised is a promise that stands after the plan, with the form that starts, as it may use
// the nodes then, and what of it has a place. One that gathers has no time, and is held from now on.
type promised struct {
	path      string
	source    *allot.PlannedReservation
	workload  *verifiedWorkload
	form      verifiedForm
	from, to  int64
	since     int64 // since when it waits
	tasks     []plannedTask
	nodes     []*verifiedNode // those of its places, each once
	on        map[*verifiedNode][]plannedTask
	charged   []verifiedCharge // what its queue is charged for it
	entry     int              // its number among the entries
	through   names            // those that it waits for, and that these wait for
	reach     names            // those of them that have ended when those begin that wait for them
	begun     bool             // it has begun, where promises are taken in their order
	beyond    bool             // it is beyond its entitlement, or is so by now
	gathers   bool
	unsettled bool // it names what does not exist
	// objections are against its being let in, and against those that it is told to wait for.
	objections []objection
}

// readPlaces reads where the promises have their places, and when they begin.
func (v *promising) readPlaces() {
	v.on = make(map[*verifiedNode][]*promised)
	for _, p := range v.list {
		v.begin = append(v.begin, p.from)
		p.readPlaces()
		for _, n := range p.nodes {
			v.on[n] = append(v.on[n], p)
		}
	}
	slices.Sort(v.begin)
	v.begin = slices.Compact(v.begin)
}

// readPlaces reads where the promise has its places, and what its queue is charged for them.
func (p *promised) readPlaces() {
	p.on = make(map[*verifiedNode][]plannedTask)
	for _, t := range p.tasks {
		if p.on[t.node] == nil {
			p.nodes = append(p.nodes, t.node)
		}
		p.on[t.node] = append(p.on[t.node], t)
		p.charged = mergeCharges(p.charged, charges(t.request, p.form.queue.pool, t.node, t.place.Devices))
	}
}

// judgePromises judges all promises of the plan, and returns them; nil is that there are none.
func judgePromises(v *verifier) *promising {
	some := slices.ContainsFunc(v.poolOrder, func(p *verifiedPool) bool { return p.promises() })
	if !some && len(v.plan.Reservations) == 0 {
		return nil
	}
	judge := promising{verifier: v, at: nowOf(v.state)}
	judge.read()
	judge.kept()
	for _, p := range judge.list {
		judge.names(p)
		if !p.unsettled {
			judge.places(p)
			judge.together(p)
		}
	}
	judge.readPlaces()
	judge.changed()
	judge.readEntries()
	judge.letIn()
	judge.waits()
	for _, p := range judge.list {
		if !p.unsettled {
			if p.gathers {
				judge.gathered(p)
			} else {
				judge.fits(p)
				judge.comes(p)
			}
			for _, o := range p.objections {
				judge.fail(p.path, o.rule, "%s", o.message)
			}
		}
	}
	judge.bounds()
	return &judge
}

// promises says whether anything is promised in the pool.
func (p *verifiedPool) promises() bool { return p.policy.Reserve.Backfill != queue.NoBackfill }

// read reads what the plan promises, and what stands when it has been carried out.
func (v *promising) read() {
	last := ""
	for i := range v.plan.Reservations {
		r := &v.plan.Reservations[i]
		at, w := listPath("reservations", i), v.workloads[r.Workload]
		switch {
		case w == nil:
			v.fail(at, ruleNames, "no workload %q", r.Workload)
			continue
		case r.Promise.Form < 0 || r.Promise.Form >= len(w.forms):
			v.fail(at, ruleNames, "%q has no form %d", r.Workload, r.Promise.Form)
			continue
		}
		if r.Workload <= last {
			v.fail(at, ruleOrder, "%q is not behind %q", r.Workload, last)
		}
		last = r.Workload
		f := w.forms[r.Promise.Form]
		switch {
		case r.Queue != f.queue.id:
			v.fail(at, ruleNames, "form %d of %q is in queue %q, not %q", r.Promise.Form, r.Workload, f.queue.id, r.Queue)
		case r.Change != allot.PromiseWithdrawn && !f.queue.pool.promises():
			v.fail(at, rulePolicy, "pool %q promises nothing", f.queue.pool.id)
		}
		if r.Change == allot.PromiseWithdrawn {
			continue
		}
		v.canBeKept(at, &r.Promise)
		v.list = append(v.list, v.promisedBy(at, r, w, f))
	}
	v.readStanding()
	v.readLeaving()
	v.readClaiming()
}

// promisedBy is what is promised to a workload in a form.
func (v *promising) promisedBy(at string, r *allot.PlannedReservation, w *verifiedWorkload, f verifiedForm) *promised {
	from, gathers := micros(r.Promise.At), r.Promise.Rule == allot.ByGathering
	if gathers {
		from = v.at
	}
	lasts := lastingOf(w.source, f.queue, len(r.Promise.Tasks)+w.active)
	ends := after(from, f.queue.pool.inTheWay(lasts))
	f.closed = reserving{v.verifier}.closedFrom(from, ends, false, w.source, &f)
	to := f.queue.pool.rounded(after(from, lasts.expected))
	if gathers {
		to = forever
	}
	beyond := !r.Promise.Entitled || v.isOverLine(&r.Promise, w, w)
	return &promised{path: at, source: r, workload: w, form: f, from: from, to: to, since: w.waitingSince(v.at), gathers: gathers, beyond: beyond, entry: noEntry}
}

// canBeKept checks that what a host writes into the state of a promise may stand there (V1).
func (v *promising) canBeKept(at string, p *allot.Promise) {
	if p.Rule > allot.ByGathering {
		v.fail(at, ruleNames, "%d is no rule of a promise", p.Rule)
	}
	for _, t := range [...]struct {
		name string
		is   bool
	}{{"at", isTime(p.At)}, {"made", isTime(p.Made)}, {"first", isTime(p.First)}} {
		if !t.is {
			v.fail(at, ruleNames, "%s is not of the years 1970 to 9999", t.name)
		}
	}
}

// readLeaving reads what was leaving before the plan.
func (v *promising) readLeaving() {
	v.wasLeaving = make(map[*verifiedNode][]leavingTask)
	for _, w := range v.workOrder {
		f := &w.forms[leavingFormOf(w.source)]
		for i := range w.source.Tasks {
			if t := &w.source.Tasks[i]; t.Phase == allot.Terminating {
				n := v.nodes[t.Node]
				v.wasLeaving[n] = append(v.wasLeaving[n], leavingTask{w, &f.PodSets[f.set(t.PodSet)].Request, t})
			}
		}
	}
}

// readClaiming has what starts together claim its places where one of them waits for what was leaving it before the
// plan: there is no room for it yet, though all that the plan takes has left. A workload that waits for what was
// leaving of its own claims whatever it finds (S5).
func (v *promising) readClaiming() {
	claiming := make(map[string]bool)
	for n, leaving := range v.wasLeaving { // each is noted: order cannot matter
		for i := range v.stands[n] {
			one := &v.stands[n][i]
			waits := slices.ContainsFunc(leaving, func(l leavingTask) bool {
				return slices.Contains(one.after, l.workload.source.ID) && one.sharesPlace(&l)
			})
			if waits && !v.fitsBesideLeaving(n, one) {
				claiming[one.together()] = true
			}
		}
	}
	for _, list := range v.stands { // each for itself: order cannot matter
		for i := range list {
			one := &list[i]
			one.claims = one.claims || one.isAfterItself() || claiming[one.together()]
		}
	}
}

// isAfterItself says whether a task waits for what was leaving of its own workload before the plan.
func (one *standing) isAfterItself() bool {
	w := one.workload.source
	return slices.Contains(one.after, w.ID) && slices.ContainsFunc(w.Tasks, func(t allot.Task) bool { return t.Phase == allot.Terminating })
}

// together is the same of all tasks of a workload that start once the same have left.
func (one *standing) together() string {
	return strings.Join(append([]string{one.workload.source.ID}, one.after...), "\x00")
}

// fitsBesideLeaving says whether a task fits on a node beside what stands there and what was leaving before the plan.
func (v *promising) fitsBesideLeaving(n *verifiedNode, one *standing) bool {
	then := newVerifiedNode(n.source)
	then.cpuOnly.usable = n.cpuOnly.usable
	for i := range v.wasLeaving[n] {
		then.bookLeaving(&v.wasLeaving[n][i])
	}
	for _, other := range v.stands[n] {
		then.book(other.request, verifiedTask{allot.Running, other.task.node, other.task.devices}, 1)
	}
	return len(then.overfull(one.request, one.task.devices, true, false)) == 0
}

// readStanding reads what has a place when the plan has been carried out. Of what had one before
// the plan and has another, and may have been placed twice, nothing is known but that it has
// left by the earlier of its ends.
func (v *promising) readStanding() {
	v.stands, v.lasts, v.goes = make(map[*verifiedNode][]standing), make(map[string]int64), make(map[string]int64)
	v.behind, v.after, v.grown = make(map[taskName]string), make(map[taskName][]string), make(map[taskName]bool)
	v.inItsTurn = make(map[taskName]bool)
	lost, gone := make(map[taskName]bool), make(map[taskName]bool) // what has gone begins anew if it starts again (B1)
	for i := range v.plan.Actions {
		switch a := &v.plan.Actions[i]; a.Kind {
		case allot.Displace, allot.Unclaim:
			for _, t := range a.Tasks {
				gone[taskName{a.Workload, t.PodSet, t.Index}] = true
			}
		case allot.Evict, allot.Shrink:
			for _, t := range a.Tasks {
				lost[taskName{a.Workload, t.PodSet, t.Index}] = true
			}
		case allot.Start, allot.Resize, allot.Move:
			for _, t := range a.Tasks {
				name := taskName{a.Workload, t.PodSet, t.Index}
				v.behind[name], v.after[name], v.grown[name] = a.Behind, a.After, a.Kind == allot.Resize
				v.inItsTurn[name] = a.Kind == allot.Move && a.Reason.Code != allot.Consolidated
			}
		}
	}
	for _, w := range v.workOrder {
		if w.places == 0 {
			continue
		}
		f := &w.forms[w.form]
		before := make(map[taskName]*allot.Task, len(w.source.Tasks))
		for i := range w.source.Tasks {
			t := &w.source.Tasks[i]
			if name := (taskName{w.source.ID, t.PodSet, t.Index}); t.Phase != allot.Terminating && !gone[name] {
				before[name] = t
			}
		}
		done := v.doneAfter(w, f, before)
		for _, ps := range f.PodSets {
			for index := range ps.Count {
				name := taskName{w.source.ID, ps.Name, index}
				if t, has := v.tasks[name]; has {
					v.stand(w, f, &ps, t, name, before[name], lost[name], done)
				}
			}
		}
	}
}

// doneAfter is when fixed work of a workload is done by what has a place when the plan has been
// carried out; before are its tasks of the state that go on.
func (v *promising) doneAfter(w *verifiedWorkload, f *verifiedForm, before map[taskName]*allot.Task) int64 {
	if w.source.FixedWork == 0 {
		return forever
	}
	var began []int64
	for _, ps := range f.PodSets {
		for index := range ps.Count {
			name := taskName{w.source.ID, ps.Name, index}
			if _, has := v.tasks[name]; !has {
				continue
			}
			since := v.at
			if was := before[name]; was != nil {
				since = v.began(was)
			}
			began = append(began, since)
		}
	}
	return jointEnd(w.source.FixedWork-w.source.WorkDone, began)
}

// stand notes a task that has a place, and had one before the plan or none; fixed work of its workload
// is done by a time.
func (v *promising) stand(w *verifiedWorkload, f *verifiedForm, ps *allot.PodSet, t verifiedTask, name taskName, was *allot.Task, lost bool, done int64) {
	node := v.nodes[t.node]
	one := standing{workload: w, form: f, request: &ps.Request, node: node, task: t, entry: noEntry}
	one.moves = was != nil && !lost && !(was.Node == t.node && sameDevices(was.Devices, t.devices))
	one.fresh = was == nil || lost || one.moves
	one.moves = one.moves && !v.inItsTurn[name]
	starts := false
	one.after, starts = v.after[name]
	one.grows = v.grown[name]
	one.claims = !starts && was != nil && !one.fresh && was.Phase == allot.Claimed
	if one.behind = v.behind[name]; !one.fresh && one.behind == "" && v.isPromised(was.Behind) { // else it starts where it has claimed
		one.behind = was.Behind
	}
	if was != nil && !lost && overran(v.state, w.source, f.queue, was) { // also where it moves
		one.overran = micros(was.Since) + 1
	}
	one.until = v.endOfStarted(w.source, f.queue, done).by(w.cut)
	last := one.until.predicted // that it runs until, at most
	if was != nil {             // also outside its pool: its queue has the use of it until then (S7)
		other := v.endAmong(w.source, f.queue, was, done)
		if last = other.predicted; one.fresh {
			last = max(last, one.until.predicted)
			other.predicted, other.sure = min(other.predicted, one.until.predicted), min(other.sure, one.until.sure)
		}
		one.until = other
	}
	if node.pool == f.queue.pool {
		one.until.predicted = min(one.until.predicted, v.evictedAt(w, f, t))
	}
	one.until.predicted = f.queue.pool.rounded(one.until.predicted)
	v.stands[node] = append(v.stands[node], one)
	v.lasts[w.source.ID] = max(v.lasts[w.source.ID], one.until.predicted)
	if w.source.FixedWork > 0 && done <= v.at { // each task that joins would make its end a later guess
		last = v.at
	}
	if first, some := v.goes[w.source.ID]; !some || last < first {
		v.goes[w.source.ID] = last
	}
}

// isPromised says whether the state has something promised to a workload: what stands behind any other
// stands behind none (B6).
func (v *promising) isPromised(id string) bool {
	w := v.workloads[id]
	return w != nil && w.source.Reserved != nil
}

// evictedAt is when a reservation evicts what stands at a place.
func (v *promising) evictedAt(w *verifiedWorkload, f *verifiedForm, t verifiedTask) int64 {
	first := int64(forever)
	for i := range v.state.Reservations {
		r := &v.state.Reservations[i]
		if (reserving{v.verifier}).passed(r) || !evicts(r, w.source, f) {
			continue
		}
		for _, n := range r.Nodes {
			if n.Node == t.node && reservedPart(n.Devices).has(t.devices) {
				first = min(first, max(v.at, begins(r)))
			}
		}
	}
	return first
}

// names checks that what a promise names exists, and is as much as starts at once (G1).
func (v *promising) names(p *promised) {
	w, r := p.workload, &p.source.Promise
	if !w.waitsToStart() || w.active > 0 && r.Form != w.form || w.source.Ending || w.ended || isEarly(w.source, v.state) {
		v.fail(p.path, rulePromises, "%q does not wait for anything that could be promised", w.source.ID)
	}
	if goes, holds := v.goes[w.source.ID]; holds && p.from >= goes {
		v.fail(p.path, rulePromises, "what is left of %q has begun to end by %s, or is overdue", w.source.ID, text(p.from))
	}
	if p.from < v.at {
		v.fail(p.path, ruleKept, "the time has passed")
	}
	counts := make([]verifiedCounts, len(p.form.PodSets))
	if w.active > 0 && r.Form == w.form {
		copy(counts, w.counts)
	}
	lastSet, lastIndex := -1, -1
	for k, place := range r.Tasks {
		at := p.path + listPath(".promise.tasks", k)
		set := p.form.set(place.PodSet)
		n := v.nodes[place.Node]
		switch {
		case set < 0:
			v.fail(at, ruleNames, "form %d of %q has no pod set %q", r.Form, w.source.ID, place.PodSet)
		case n == nil || slices.ContainsFunc(place.Devices, func(d int) bool { return d < 0 || d >= len(n.devices) }):
			v.fail(at, ruleNames, "no such place on node %q", place.Node)
		case namesTwice(place.Devices):
			v.fail(at, ruleDevices, "a device is named twice")
		case set < lastSet || set == lastSet && place.Index <= lastIndex:
			v.fail(at, ruleOrder, "task %d of pod set %q is not behind the one before it", place.Index, place.PodSet)
		case place.Index < 0 || place.Index >= p.form.PodSets[set].Count:
			v.fail(at, ruleNames, "pod set %q has no task %d", place.PodSet, place.Index)
		case v.hasPlace(taskName{w.source.ID, place.PodSet, place.Index}):
			v.fail(at, rulePromises, "task %d of pod set %q has a place", place.Index, place.PodSet)
		default:
			lastSet, lastIndex = set, place.Index
			counts[set].running++
			p.tasks = append(p.tasks, plannedTask{spot{-1, k}, taskName{w.source.ID, place.PodSet, place.Index}, &p.form.PodSets[set].Request, n, place})
			continue
		}
		p.unsettled = true
	}
	if !p.unsettled && !p.form.tree().reached(counts, heldTasks) {
		v.fail(p.path, ruleGang, "what is promised to %q is not its minimum", w.source.ID)
	}
}

// hasPlace says whether a task has a place when the plan has been carried out.
func (v *promising) hasPlace(task taskName) bool {
	_, has := v.tasks[task]
	return has
}

// places checks that each place of a promise is one for its task, whatever else is there (P1,
// P2, T4, B9).
func (v *promising) places(p *promised) {
	for k, t := range p.tasks {
		at := p.path + listPath(".promise.tasks", k)
		for _, o := range t.node.unsuitable(&p.form, t.request, t.place.Devices) {
			v.fail(at, o.rule, "%s", o.message)
		}
		if a, b, apart := t.node.apart(t.request, t.place.Devices); apart {
			v.fail(at, ruleIsland, "devices %d and %d are not joined as tightly as is required", a, b)
		}
	}
}

// together checks that those tasks share a domain that have to (T2, T3): also with what is left of the gang that they
// complete (T6).
func (v *promising) together(p *promised) {
	for _, scope := range p.form.scopes() {
		first := make(map[int]*verifiedNode) // by slice
		sliceOf := func(index int) int {
			if scope.size == 0 {
				return 0
			}
			return index / scope.size
		}
		for _, set := range scope.sets {
			for index := range p.form.PodSets[set].Count {
				t, has := v.tasks[taskName{p.workload.source.ID, p.form.PodSets[set].Name, index}]
				if slice := sliceOf(index); has && first[slice] == nil && v.nodes[t.node].pool == p.form.queue.pool {
					first[slice] = v.nodes[t.node]
				}
			}
		}
		for k, t := range p.tasks {
			if !slices.Contains(scope.sets, p.form.set(t.name.podSet)) {
				continue
			}
			slice := sliceOf(t.name.index)
			if first[slice] == nil {
				first[slice] = t.node
			}
			if !hasLevel(t.node, scope.level) || !v.sameDomain(first[slice], t.node, scope.level) {
				v.fail(p.path+listPath(".promise.tasks", k), scope.rule(), "node %q is not in the %s of node %q, as %s asks",
					t.node.source.ID, scope.level, first[slice].source.ID, scope.what)
			}
		}
	}
}
