package verify

import (
	"cmp"
	"slices"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// A verifier follows a plan through the state it was made for. What it knows
// of the world it reads from the State by the rules, in maps by name.
type verifier struct {
	state *allot.State
	plan  *allot.Plan
	found []Violation

	nodes     map[string]*verifiedNode
	pools     map[string]*verifiedPool
	poolOrder []*verifiedPool // by ID
	queues    map[string]*verifiedQueue
	workloads map[string]*verifiedWorkload
	workOrder []*verifiedWorkload // as in the state

	tasks   map[taskName]verifiedTask // running and claimed
	leaving map[taskName]verifiedTask // terminating since before the plan
	// restarts are the workloads of which the plan has something leave and claim again
	// behind itself: what moves in a circle that is cut (M11), and what no lesser work is to
	// overtake while it leaves (S5).
	restarts map[string]bool
	// moved are the workloads of which the plan moves tasks: one that was taken
	// and has started anew with more tasks is told as a move and one growth (M9).
	moved map[string]bool
	// evictedTasks counts the tasks that the plan evicts, by workload.
	evictedTasks map[string]int
	// closed remembers what reservations reserve by node, by which of them (B9).
	closed map[string]map[string]closedTo
	// budgets are the state's, by owner.
	budgets map[string][]allot.DisruptionBudget
	// waitsAmong remembers what among has found.
	waitsAmong map[[2]*awaited]bool
	// started is what firstStarted has found.
	started map[*verifiedPool]map[*verifiedQueue]*verifiedWorkload
	// missed and freeOf remember, once the plan has been carried out, what turns
	// tasks away and what is free.
	missed map[verifiedAsker]map[verifiedMiss]int
	freeOf map[verifiedFree]int64
	// domains are those that tasks must share, as found, until some of them leave (T6).
	domains map[*verifiedWorkload]map[sharedDomain]domainTaken
	// demanded is what demands has found, for lines that were cut.
	demanded verifiedDemands
	// reasons are the plan's by workload, once they are asked for.
	reasons map[string][]allot.Reason
	room    verifiedRoomMaking
	lent    []verifiedLoan
}

// A verifiedKey is what quota may be given for: a resource or a class of it.
type verifiedKey struct{ resource, class string }

type verifiedPool struct {
	id     string
	policy *allot.Policy
	// withheld are, by node, the reservations that have it as a whole now, for members (B9).
	withheld  map[*verifiedNode][]*allot.Reservation
	nodes     []*verifiedNode
	queues    []*verifiedQueue // by ID
	top       []*verifiedQueue // those without a parent
	leaves    []*verifiedQueue // those without children, by number
	downwards []*verifiedQueue // all, parents before their children
	// smallestMemory is that of the devices that tell it, 0 if none does.
	smallestMemory int64
	governed       map[verifiedKey]bool // some queue gives a quota (Q1)
	lends          map[verifiedKey]bool // some queue bounds what it lends (Q5)
	capacities     map[verifiedKey]int64
	kept           map[verifiedKey]*verifiedKept // of what some queue bounds what it lends
	running        map[string]int                // each owner's tasks that run and have been left alone (M7)
	disturbed      map[string]bool               // workloads that others have made leave (M7)
	ends           bool                          // something ends for good, or cannot start again, and its demand with it (M5)
}

type verifiedQueue struct {
	id       string
	pool     *verifiedPool
	parent   *verifiedQueue
	children []*verifiedQueue
	// number is that of the queue in its pool, behind which come those of the queues below it: within counts
	// it and them.
	number, within int
	allowed        allot.NodeSet
	named          map[string]bool // allowed.IDs
	given          map[verifiedKey]allot.QueueResource
	cap            quota.Bound // MaxWorkloads
	runtime        allot.MinRuntime
	// durations are what it says of those of its work (B1).
	durations allot.Durations
	// names are of the workloads with a form in it, where anything is reserved.
	names  []string
	quotas map[verifiedKey]int64
	canUse map[string]int64      // requestable, once asked for
	asked  *verifiedPart         // part, once asked for
	counts map[string]int64      // what of it counts in proportion to demand, in reach or not (F8)
	below  map[verifiedKey]int64 // the capacity that some queue below it may use, once asked for

	use     map[verifiedKey]*verifiedUse
	running int64 // workloads with running or claimed tasks, those below included
	// first is the use before the plan; moved is what of it has another place
	// afterwards; grown says that something started in the queue or below.
	first, moved map[verifiedKey]int64
	grown        bool
	// keeps is what the queue keeps from lending, by what its pool lends (Q5).
	keeps map[verifiedKey]*verifiedKept
	// capped: it or one below it caps its running workloads; narrowed is it or
	// the nearest above it that names nodes, nil where all are meant.
	capped     bool
	narrowed   *verifiedQueue
	reachables map[verifiedKey]int64 // of one that names nodes, once asked for
	// how says what the queue's heads stop (O4), by its own word if says is true.
	how  queue.Queueing
	says bool
	// last are the last in standing that have started, without GPUs and with: by what
	// they ask, where a head stops only those alike.
	last map[verifiedTurn]*verifiedWorkload
}

// A verifiedUse is a queue's use of something, the queues below included.
type verifiedUse struct{ all, nonPreemptible int64 }

// A verifiedTurn is what workloads have in common of which the last that started is kept.
type verifiedTurn struct {
	gpus bool
	asks string
}

type verifiedWorkload struct {
	source *allot.Workload
	forms  []verifiedForm
	// form is that which what runs and claims belongs to, else what leaves; it says
	// nothing while places is 0. leavingForm is that of what leaves in the state.
	form, leavingForm int
	// counts are by pod set of the form; nil is none. elsewhere are the tasks that
	// leave another, all of which it waits for (S5, G5).
	counts    []verifiedCounts
	elsewhere int
	places    int   // tasks that hold or claim a place, however they do
	active    int   // those of them that are running or claimed (S7)
	cut       int64 // when the host ends what the plan starts of it, in microseconds; 0 is none (B1)
	// taken: the plan evicts it, so that it starts nothing (S5);
	// disturbed: another is entitled to something of it, or it is stale;
	// ended: it waits no more (S6).
	taken, disturbed, ended bool
	// redirected are tasks that still leave one place, and whose claim of
	// another the plan has given up for a third.
	redirected map[taskName]bool
	// stale is how many of its tasks ran when it was found stale.
	stale int64
	// admitted is nil until something of it is taken (M1).
	admitted *verifiedAdmission
	// waitedFor is its number among the workloads that promises wait for (B7), from 1 on; 0 is that none does.
	waitedFor int
}

type verifiedForm struct {
	allot.Form
	queue          *verifiedQueue
	nonPreemptible bool
	closed         map[string]closedTo // by node, what is reserved for others (B9)
	lent           []string            // reservations of others that lend (B9)
	// What follows is found once it is asked for: asked is what all submitted
	// tasks ask together, root the tree of groups, scopes what the topology has
	// to heed, sets the pod sets by name where they are many.
	asked  map[string]int64
	root   *gangNode
	scoped []verifiedScope
	sets   map[string]int
}

// verifiedCounts are the tasks of a pod set. Terminating are only those that
// wait again (S5) or move.
type verifiedCounts struct{ running, claimed, terminating int }

type verifiedTask struct {
	phase   allot.Phase
	node    string
	devices []int
}

func newVerifier(s *allot.State, p *allot.Plan) *verifier {
	v := &verifier{
		state:        s,
		plan:         p,
		closed:       make(map[string]map[string]closedTo),
		nodes:        make(map[string]*verifiedNode, len(s.Nodes)),
		pools:        make(map[string]*verifiedPool),
		queues:       make(map[string]*verifiedQueue, len(s.Queues)),
		workloads:    make(map[string]*verifiedWorkload, len(s.Workloads)),
		tasks:        make(map[taskName]verifiedTask, len(s.Workloads)),
		leaving:      make(map[taskName]verifiedTask),
		restarts:     make(map[string]bool),
		moved:        make(map[string]bool),
		evictedTasks: make(map[string]int),
		budgets:      make(map[string][]allot.DisruptionBudget),

		waitsAmong: make(map[[2]*awaited]bool),
		missed:     make(map[verifiedAsker]map[verifiedMiss]int),
		freeOf:     make(map[verifiedFree]int64),
		domains:    make(map[*verifiedWorkload]map[sharedDomain]domainTaken),
	}
	v.readPools()
	v.readQueues()
	reserving{v}.readAmounts()
	reserving{v}.readNodes()
	for i := range s.Workloads {
		v.readWorkload(&s.Workloads[i])
	}
	for _, b := range s.Budgets {
		v.budgets[b.Owner] = append(v.budgets[b.Owner], b)
	}
	left, shrunk := make(map[string]bool), make(map[string]bool)
	for i := range p.Actions {
		switch a := &p.Actions[i]; a.Kind {
		case allot.Move:
			v.moved[a.Workload] = true
		case allot.Evict:
			v.evictedTasks[a.Workload] += len(a.Tasks)
			left[a.Workload] = true
		case allot.Shrink:
			left[a.Workload], shrunk[a.Workload] = true, true
		case allot.Start, allot.Resize:
			completes := shrunk[a.Workload] && a.Kind == allot.Start // with other pod sets than those that leave (S5)
			if completes || left[a.Workload] && slices.Contains(a.After, a.Workload) {
				v.restarts[a.Workload] = true
			}
		case allot.Displace, allot.Unclaim:
		}
	}
	for _, pool := range v.poolOrder {
		pool.readKept()
	}
	v.readRoomMaking()
	return v
}

// readPools reads pools and nodes. Without pools there is one of all nodes.
func (v *verifier) readPools() {
	pools := v.state.Pools
	if len(pools) == 0 {
		pools = []allot.Pool{{}}
	}
	for i := range pools {
		p := &verifiedPool{
			id:         pools[i].ID,
			policy:     &pools[i].Policy,
			governed:   make(map[verifiedKey]bool),
			lends:      make(map[verifiedKey]bool),
			capacities: make(map[verifiedKey]int64),
			running:    make(map[string]int),
			disturbed:  make(map[string]bool),
		}
		v.pools[p.id] = p
		v.poolOrder = append(v.poolOrder, p)
	}
	named := make([]map[string]bool, len(pools))
	for i := range pools {
		named[i] = setOfNames(pools[i].Nodes.IDs)
	}
	for i := range v.state.Nodes {
		n := newVerifiedNode(&v.state.Nodes[i])
		v.nodes[n.source.ID] = n
		for k, p := range v.poolOrder {
			if inNodeSet(pools[k].Nodes, named[k], n.source) {
				n.join(p)
				break
			}
		}
	}
	slices.SortFunc(v.poolOrder, func(a, b *verifiedPool) int { return strings.Compare(a.id, b.id) })
}

// readQueues reads the queue trees; a pool without queues gets its implicit
// queue, which is found by the pool and not by its name.
func (v *verifier) readQueues() {
	for i := range v.state.Queues {
		source := &v.state.Queues[i]
		q := newVerifiedQueue(source.ID, v.poolOf(source.Pool))
		q.allowed, q.cap, q.runtime, q.durations = source.Nodes, source.MaxWorkloads, source.MinRuntime, source.Durations
		q.named = setOfNames(source.Nodes.IDs)
		q.how, q.says = ownQueueing[source.Queueing]
		for _, r := range source.Resources {
			key := verifiedKey{r.Resource, r.Class}
			q.given[key] = r
			if r.Quota.Given() {
				q.pool.governed[key] = true
			}
			if r.LendingLimit.Given() && !r.LendingLimit.IsUnlimited() {
				q.pool.lends[key] = true
			}
		}
		v.queues[q.id] = q
		q.pool.queues = append(q.pool.queues, q)
	}
	for i := range v.state.Queues {
		q := v.queues[v.state.Queues[i].ID]
		if q.parent = v.queues[v.state.Queues[i].Parent]; q.parent != nil {
			q.parent.children = append(q.parent.children, q)
		}
	}
	for _, p := range v.poolOrder {
		if len(p.queues) == 0 {
			p.queues = append(p.queues, newVerifiedQueue("", p))
		}
		slices.SortFunc(p.queues, func(a, b *verifiedQueue) int { return strings.Compare(a.id, b.id) })
		for _, q := range p.queues {
			if q.parent == nil {
				p.top = append(p.top, q)
			}
		}
		p.walk()
	}
}

func newVerifiedQueue(id string, p *verifiedPool) *verifiedQueue {
	return &verifiedQueue{
		id:     id,
		pool:   p,
		given:  make(map[verifiedKey]allot.QueueResource),
		quotas: make(map[verifiedKey]int64),
		use:    make(map[verifiedKey]*verifiedUse),
	}
}

// poolOf is the pool of that name, which may be left out where there is one.
func (v *verifier) poolOf(name string) *verifiedPool {
	if len(v.poolOrder) == 1 {
		return v.poolOrder[0]
	}
	return v.pools[name]
}

// queueOf is the leaf queue of that name, or the implicit queue of the
// workload's pool.
func (v *verifier) queueOf(name string, w *allot.Workload) *verifiedQueue {
	if name == "" {
		return v.poolOf(w.Pool).queues[0]
	}
	return v.queues[name]
}

// readWorkload reads a workload, what it holds and what its queues use by it.
func (v *verifier) readWorkload(source *allot.Workload) {
	w := &verifiedWorkload{source: source, form: source.Form, leavingForm: leavingFormOf(source)}
	if !slices.ContainsFunc(source.Tasks, func(t allot.Task) bool { return t.Phase != allot.Terminating }) {
		w.form = w.leavingForm
	}
	for i := range 1 + len(source.Alternatives) {
		f := verifiedForm{Form: formOf(source, i)}
		if isEarly(source, v.state) {
			f.PodSets = notSubmitted(f.PodSets)
		}
		f.queue = v.queueOf(f.Queue, source)
		f.nonPreemptible = isNonPreemptible(source, f.queue.pool.policy)
		w.forms = append(w.forms, f)
	}
	if len(v.state.Reservations) > 0 {
		reserving{v}.readReserved(w)
	}
	v.workloads[source.ID] = w
	v.workOrder = append(v.workOrder, w)
	for _, t := range source.Tasks {
		v.putIn(w, taskName{source.ID, t.PodSet, t.Index}, verifiedTask{t.Phase, t.Node, t.Devices})
		if t.Phase == allot.Running {
			w.forms[w.form].queue.pool.running[source.Owner]++
		}
	}
}

// isNonPreemptible says whether w may be neither evicted nor, under Q2, over
// quota: by its own word, else, where its number is its own Priority and the
// policy draws a line, by that, else by its class.
func isNonPreemptible(w *allot.Workload, p *allot.Policy) bool {
	switch w.Preemption {
	case allot.Preemptible:
		return false
	case allot.NonPreemptible:
		return true
	}
	ownNumber := w.Priority != 0 && (w.Class == "" || !p.ClassBeatsPriority)
	if ownNumber && p.NonPreemptibleFrom != 0 {
		return w.Priority >= p.NonPreemptibleFrom
	}
	for _, c := range p.Classes {
		if c.Name == cmp.Or(w.Class, p.DefaultClass) {
			return c.NonPreemptible
		}
	}
	return false
}

// placed are the tasks of a phase by name. One that moves stands in both maps.
func (v *verifier) placed(p allot.Phase) map[taskName]verifiedTask {
	if p == allot.Terminating {
		return v.leaving
	}
	return v.tasks
}

// putIn gives a task its place: in the world, on the node, in the queues.
func (v *verifier) putIn(w *verifiedWorkload, name taskName, t verifiedTask) {
	if w.places == 0 {
		w.counts = make([]verifiedCounts, len(w.forms[w.form].PodSets))
	}
	w.places++
	v.book(w, name, t, 1)
	v.placed(t.phase)[name] = t
}

// takeOut takes a task's place away again.
func (v *verifier) takeOut(w *verifiedWorkload, name taskName, t verifiedTask) {
	w.places--
	delete(v.placed(t.phase), name)
	v.book(w, name, t, -1)
}

// formOf is the form of a task of the phase.
func (w *verifiedWorkload) formOf(p allot.Phase) int {
	if p == allot.Terminating {
		return w.leavingForm
	}
	return w.form
}

// formShown is the form that w waits in: that in which it holds something, else that
// which it leaves.
func (w *verifiedWorkload) formShown() int {
	if w.active == 0 {
		return w.leavingForm
	}
	return w.form
}

// enter has w, of which nothing but what leaves has a place, start in a form.
func (w *verifiedWorkload) enter(form int, leaving map[taskName]verifiedTask) {
	if w.form == form {
		return
	}
	w.form, w.elsewhere = form, 0
	w.counts = make([]verifiedCounts, len(w.forms[form].PodSets))
	for _, t := range w.source.Tasks {
		if _, leaves := leaving[taskName{w.source.ID, t.PodSet, t.Index}]; leaves && t.Phase == allot.Terminating {
			w.countLeaving(t.PodSet, t.Index, 1)
		}
	}
}

// countLeaving counts a task that leaves n times, if w waits for it.
func (w *verifiedWorkload) countLeaving(podSet string, index, n int) {
	f := &w.forms[w.leavingForm]
	switch set := f.set(podSet); {
	case w.source.Ending:
	case w.leavingForm != w.form:
		w.elsewhere += n
	case len(w.forms) > 1 || index < f.PodSets[set].Count:
		w.counts[set].terminating += n
	}
}

// book counts a task's place n times: once, or less once.
func (v *verifier) book(w *verifiedWorkload, name taskName, t verifiedTask, n int) {
	f := &w.forms[w.formOf(t.phase)]
	set := f.set(name.podSet)
	request := &f.PodSets[set].Request
	node := v.nodes[t.node]
	if t.phase == allot.Terminating {
		node.leave(leaver{name, request, t}, n)
		w.countLeaving(name.podSet, name.index, n)
		return
	}
	node.book(request, t, int64(n))
	if t.phase == allot.Running {
		w.counts[set].running += n
	} else {
		w.counts[set].claimed += n
	}
	before := w.active
	w.active += n
	list := charges(request, f.queue.pool, node, t.devices)
	for q := f.queue; q != nil; q = q.parent {
		switch {
		case before == 0:
			q.running++
		case w.active == 0:
			q.running--
		}
		q.charge(list, int64(n), f.nonPreemptible)
	}
}

// charge adds n times the list to the queue's use.
func (q *verifiedQueue) charge(list []verifiedCharge, n int64, nonPreemptible bool) {
	for _, c := range list {
		u := q.use[c.key]
		if u == nil {
			u = new(verifiedUse)
			q.use[c.key] = u
		}
		u.all += n * c.amount
		if nonPreemptible {
			u.nonPreemptible += n * c.amount
		}
		if k := q.keeps[c.key]; k != nil {
			q.keepAnew(c.key, k, n*c.amount)
		}
	}
}

// total adds up the counts over the pod sets.
func (w *verifiedWorkload) total() (sum verifiedCounts) {
	if w.places == 0 {
		return sum
	}
	for _, c := range w.counts {
		sum.running += c.running
		sum.claimed += c.claimed
		sum.terminating += c.terminating
	}
	sum.terminating += w.elsewhere
	return sum
}

// set is the index of the pod set of that name, or −1.
func (f *verifiedForm) set(name string) int {
	const few = 8 // so many are compared sooner than looked up
	if len(f.PodSets) > few {
		if f.sets == nil {
			f.sets = make(map[string]int, len(f.PodSets))
			for i, ps := range f.PodSets {
				f.sets[ps.Name] = i
			}
		}
		if i, known := f.sets[name]; known {
			return i
		}
		return -1
	}
	return slices.IndexFunc(f.PodSets, func(ps allot.PodSet) bool { return ps.Name == name })
}
