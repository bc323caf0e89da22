package preempt_test

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/quota"
)

// A harmReader reads a state of one pool into a harmCase, in the plainest way.
// Fair shares are those that a plan reports for the state: another oracle, that
// of the root, draws them.
type harmReader struct {
	*harmCase
	state     *allot.State
	source    allot.Policy
	queueOf   map[string]int // by ID
	nodesOf   []*allot.Node  // by position: rank, then ID (P6)
	queuesOf  []*allot.Queue // by ID
	worksOf   []*allot.Workload
	resources []string // GPU first, then by name
}

// newHarmCase reads a state in which the named workload waits for something.
func newHarmCase(s *allot.State, preemptor string) *harmCase {
	r := &harmReader{harmCase: &harmCase{uses: make(map[uint32]*harmUse), starting: make(map[uint32]bool)},
		state: s, queueOf: make(map[string]int)}
	if len(s.Pools) > 0 {
		r.source = s.Pools[0].Policy
	}
	r.readPolicy()
	for i := range s.Nodes {
		r.nodesOf = append(r.nodesOf, &s.Nodes[i])
	}
	slices.SortFunc(r.nodesOf, func(a, b *allot.Node) int { return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.ID, b.ID)) })
	for i := range s.Queues {
		r.queuesOf = append(r.queuesOf, &s.Queues[i])
	}
	slices.SortFunc(r.queuesOf, func(a, b *allot.Queue) int { return cmp.Compare(a.ID, b.ID) })
	for i, q := range r.queuesOf {
		r.queueOf[q.ID] = i
	}
	for i := range s.Workloads {
		r.worksOf = append(r.worksOf, &s.Workloads[i])
	}
	slices.SortFunc(r.worksOf, func(a, b *allot.Workload) int { return cmp.Compare(a.ID, b.ID) })
	for _, w := range r.worksOf {
		priority, nonPreemptible := harmClass(w, &r.source)
		r.works = append(r.works, harmWork{name: w.ID, leaf: r.queueOf[w.Queue], priority: priority,
			nonPreemptible: nonPreemptible, holds: len(w.Tasks) > 0, owner: w.Owner})
	}
	r.readNodes()
	r.readQueues()
	for i, w := range r.worksOf {
		r.readUnits(i, w, w.ID == preemptor)
	}
	r.finishUnits()
	for _, b := range s.Budgets {
		r.addBudget(b.Owner, b.MinRunning)
	}
	r.prepare()
	return r.harmCase
}

func (r *harmReader) readPolicy() {
	p := &r.source
	r.policy = harmPolicy{
		consolidates: !p.NoConsolidation, beyondShare: p.ConsolidateBeyondShare, reclaim: p.Reclaim,
		fixedOnly: p.ReclaimNonPreemptibleOnly, scope: p.Preempt, straddle: p.Straddle,
		margin: max(1000, p.ReclaimMarginMilli), moved: cmp.Or(p.MaxMovedPercent, 200),
		cap: p.MaxEvictions, overQuota: p.NonPreemptibleOverQuota,
	}
	if p.MaxEvictions == 0 {
		r.policy.cap = math.MaxInt
	}
}

func harmTime(t time.Time) int64 {
	if t.IsZero() {
		return math.MinInt64
	}
	return t.UnixMicro()
}

// harmClass is a workload's priority, higher first, and whether it is never
// evicted.
func harmClass(w *allot.Workload, p *allot.Policy) (priority int64, nonPreemptible bool) {
	name := cmp.Or(w.Class, p.DefaultClass)
	var class allot.Class
	if i := slices.IndexFunc(p.Classes, func(c allot.Class) bool { return c.Name == name }); i >= 0 {
		class = p.Classes[i]
	}
	number, nonPreemptible := class.Priority, class.NonPreemptible
	if w.Priority != 0 && (w.Class == "" || !p.ClassBeatsPriority) {
		number = w.Priority
		if p.NonPreemptibleFrom != 0 {
			nonPreemptible = number >= p.NonPreemptibleFrom
		}
	}
	if w.Preemption != allot.PreemptionByClass {
		nonPreemptible = w.Preemption == allot.NonPreemptible
	}
	if p.LowerFirst {
		return -int64(number), nonPreemptible
	}
	return int64(number), nonPreemptible
}

func (r *harmReader) readNodes() {
	names := make(map[string]bool)
	for _, n := range r.nodesOf {
		for name := range n.Capacity { // a set has no order
			names[name] = true
		}
	}
	for _, q := range r.queuesOf {
		for _, given := range q.Resources {
			names[given.Resource] = true
		}
	}
	for _, w := range r.worksOf {
		for _, set := range w.PodSets {
			for name := range set.Request.Resources { // a set has no order
				names[name] = true
			}
		}
	}
	delete(names, allot.GPU)
	r.resources = append([]string{allot.GPU}, slices.Sorted(maps.Keys(names))...)
	if len(r.resources) > harmResources || len(r.nodesOf) > harmNodes || len(r.queuesOf) > harmQueues {
		panic("too large for the oracle of least harm")
	}
	r.empty.nodes = len(r.nodesOf)
	for i, n := range r.nodesOf {
		r.nodeNames = append(r.nodeNames, n.ID)
		r.empty.count[i] = int16(len(n.Devices))
		r.capacity[0] += 1000 * int64(len(n.Devices))
		if len(r.resources) > 1 {
			r.empty.cpu[i] = n.Capacity[r.resources[1]]
			r.capacity[1] += r.empty.cpu[i]
		}
	}
}

// readQueues reads the queues, with the fair shares that a plan reports.
func (r *harmReader) readQueues() {
	shares := make(map[[2]string]allot.Share)
	for _, share := range r.reported() {
		if share.Class == "" {
			shares[[2]string{share.Queue, share.Resource}] = share
		}
	}
	for _, q := range r.queuesOf {
		h := harmQueue{name: q.ID, parent: -1, leaf: true, created: harmTime(q.Created),
			most: harmBound(q.MaxWorkloads, math.MaxInt64)}
		if parent, ok := r.queueOf[q.Parent]; ok {
			h.parent = parent
		}
		h.preemptRuntime = r.minRuntime(q, func(m allot.MinRuntime) quota.Bound { return m.Preempt })
		h.reclaimRuntime = r.minRuntime(q, func(m allot.MinRuntime) quota.Bound { return m.Reclaim })
		r.queues = append(r.queues, h)
	}
	for i := range r.queues {
		if parent := r.queues[i].parent; parent >= 0 {
			r.queues[parent].leaf = false
		}
	}
	for res, name := range r.resources {
		for _, q := range r.queuesOf {
			r.governed[res] = r.governed[res] || harmGiven(q, name).Quota.Given()
		}
		r.divided[res] = r.governed[res] || res == 0 && r.source.Shares != fairshare.QuotaThenWeight
		r.granule[res] = 1
		if res == 0 {
			r.granule[res] = 0 // by what is asked
		}
		if g := r.source.Granules[name]; g > 0 {
			r.granule[res] = g
		}
		for i, q := range r.queuesOf {
			h, given := &r.queues[i], harmGiven(q, name)
			h.fixed[res] = r.quotaOf(i, name)
			if r.source.Shares == fairshare.QuotaThenWeight {
				h.quota[res] = h.fixed[res]
			}
			h.limit[res] = harmBound(given.Limit, math.MaxInt64)
			if given.BorrowingLimit.Given() && r.governed[res] {
				h.limit[res] = min(h.limit[res], harmSum(h.fixed[res], given.BorrowingLimit.Amount()))
			}
			h.share[res] = shares[[2]string{q.ID, name}].FairShare
			if h.kept[res] = -1; r.governed[res] && given.LendingLimit.Given() {
				h.kept[res] = max(0, h.fixed[res]-given.LendingLimit.Amount())
			}
		}
		for i := range r.queues {
			r.queues[i].requestable[res] = r.requestableOf(i, res)
			if res == 0 && r.queues[i].requestable[res] > 0 {
				r.readParts(i)
			}
		}
	}
	r.drawLines(-1)
	r.cutQuotas()
}

// cutQuotas has quotas be what is left of them where they exceed what is handed down (F2).
func (r *harmReader) cutQuotas() {
	for i := range r.queues {
		h := &r.queues[i]
		h.whole = h.quota
		for res := range h.quota {
			if r.divided[res] && h.LQ[res] < min(h.quota[res], h.requestable[res]) {
				h.quota[res] = h.LQ[res]
			}
		}
	}
}

// reported are the shares of the state: no start and no victim changes them (M5).
func (r *harmReader) reported() []allot.Share {
	s := *r.state
	s.Pools = slices.Clone(s.Pools)
	if len(s.Pools) > 0 {
		p := &s.Pools[0].Policy
		p.NoConsolidation, p.Reclaim, p.Preempt = true, preempt.NoReclaim, preempt.NoPreemption
	}
	plan, err := allot.Solve(&s)
	if err != nil {
		return nil // the caller tells what is wrong with it
	}
	return plan.Shares
}

func harmGiven(q *allot.Queue, resource string) allot.QueueResource {
	for _, given := range q.Resources {
		if given.Resource == resource && given.Class == "" {
			return given
		}
	}
	return allot.QueueResource{}
}

// quotaOf is Q1's.
func (r *harmReader) quotaOf(q int, resource string) (sum int64) {
	if given := harmGiven(r.queuesOf[q], resource).Quota; given.Given() {
		return given.Amount()
	}
	for child := range r.queues {
		if r.queues[child].parent == q {
			sum = harmSum(sum, r.quotaOf(child, resource))
		}
	}
	return sum
}

// requestableOf is F1's, as R8 needs it.
func (r *harmReader) requestableOf(q, res int) int64 {
	h, sum := &r.queues[q], int64(0)
	if !h.leaf {
		for child := range r.queues {
			if r.queues[child].parent == q {
				sum += r.requestableOf(child, res)
			}
		}
		return min(h.limit[res], sum, max(0, r.capacity[res])) // nobody reaches more (F1)
	}
	var free, fixed, running int64
	for i, w := range r.worksOf {
		if r.works[i].leaf != q || w.Ending || r.asksNothing(w) {
			continue
		}
		for set, ps := range w.PodSets {
			one := r.charge(r.shape(w, set))[res]
			asked := int64(ps.Count-ps.Missing) * one
			if !r.works[i].nonPreemptible {
				free += asked
				continue
			}
			fixed += asked
			for _, t := range w.Tasks {
				if t.PodSet == ps.Name {
					running += one
				}
			}
		}
	}
	if !r.policy.overQuota {
		fixed = max(running, min(h.quota[res], fixed))
	}
	return min(h.limit[res], free+fixed, max(0, r.capacity[res]))
}

// asksNothing says whether a workload that waits has a set that the nodes would not take
// with nothing on them (F1).
func (r *harmReader) asksNothing(w *allot.Workload) bool {
	if len(w.Tasks) > 0 {
		return false
	}
	for i := range w.PodSets {
		ps := &w.PodSets[i]
		need, could := int64(ps.Count), int64(0)
		if ps.Min > 0 {
			need = int64(ps.Min)
		}
		for n := range r.state.Nodes {
			could += takesAlone(&r.state.Nodes[n], &ps.Request)
		}
		if could < need {
			return true
		}
	}
	return false
}

// takesAlone is how many tasks an empty node would take.
func takesAlone(n *allot.Node, q *allot.Request) int64 {
	most := int64(math.MaxInt64)
	if n.Lost || !q.Selector.Matches(n.Labels) {
		return 0
	}
	for name, amount := range q.Resources { // the least: order cannot matter
		if amount > 0 {
			most = min(most, n.Capacity[name]/amount)
		}
	}
	switch count := int64(max(q.GPU.Count, 0)); {
	case q.GPU.Milli > 0:
		most = min(most, int64(len(n.Devices))*(1000/q.GPU.Milli)/max(1, count))
	case count > 0:
		most = min(most, int64(len(n.Devices))/count)
	}
	return most
}

// readParts notes what a queue asks of each device at the queue, and above it as far
// as what is asked there can be used.
func (r *harmReader) readParts(q int) {
	for i, w := range r.worksOf {
		if r.works[i].leaf != q || w.Ending {
			continue
		}
		for set, ps := range w.PodSets {
			if shape := r.shape(w, set); shape.devices > 0 && ps.Count > ps.Missing {
				for up := q; up >= 0 && r.requestableOf(up, 0) > 0; up = r.queues[up].parent {
					r.queues[up].parts = append(r.queues[up].parts, r.charge(shape)[0]/int64(shape.devices))
				}
			}
		}
	}
}

// minRuntime is M1's for a queue, in microseconds: its own, else that of the
// next above that has one, else the policy's.
func (r *harmReader) minRuntime(q *allot.Queue, which func(allot.MinRuntime) quota.Bound) int64 {
	for q != nil {
		if own := which(q.MinRuntime); own.Given() {
			return own.Amount() * 1_000_000
		}
		above, ok := r.queueOf[q.Parent]
		if !ok {
			break
		}
		q = r.queuesOf[above]
	}
	return harmBound(which(r.source.MinRuntime), 0) * 1_000_000
}

// harmBound is the amount of a bound, or what holds where none is given.
func harmBound(b quota.Bound, absent int64) int64 {
	if !b.Given() {
		return absent
	}
	return b.Amount()
}

// harmSum adds two amounts of which either may be without end.
func harmSum(a, b int64) int64 {
	if sum := a + b; sum >= 0 {
		return sum
	}
	return math.MaxInt64
}

// devicesAsked is how many devices a task asks (P2).
func devicesAsked(g allot.GPURequest) int {
	if g.Count == 0 && g.Milli > 0 {
		return 1
	}
	return g.Count
}

func (r *harmReader) shape(w *allot.Workload, set int) *harmShape {
	request := &w.PodSets[set].Request
	s := &harmShape{devices: devicesAsked(request.GPU), milli: cmp.Or(request.GPU.Milli, 1000),
		strategy: cmp.Or(w.Strategy, r.source.CPUStrategy)}
	if s.devices > 0 {
		s.strategy = cmp.Or(w.Strategy, r.source.GPUStrategy)
	}
	if len(r.resources) > 1 {
		s.cpu = request.Resources[r.resources[1]]
	}
	for i, n := range r.nodesOf {
		s.accepts[i] = request.Selector.Matches(n.Labels)
	}
	return s
}

// minimumOf is how many tasks of a set are of the minimum.
func minimumOf(w *allot.Workload, set int) int {
	return cmp.Or(w.PodSets[set].Min, w.PodSets[set].Count)
}

// readUnits adds the units of a workload, and what it waits for if it is the
// preemptor.
func (r *harmReader) readUnits(i int, w *allot.Workload, preemptor bool) {
	shapes := make([]*harmShape, len(w.PodSets))
	for set := range shapes {
		shapes[set] = r.shape(w, set)
	}
	frame := harmUnit{work: i, leaf: r.works[i].leaf, priority: r.works[i].priority,
		nonPreemptible: r.works[i].nonPreemptible, submitted: harmTime(w.Submitted)}
	minimum, seen := frame, make([]int, len(shapes))
	tasks := slices.Clone(w.Tasks)
	slices.SortFunc(tasks, func(a, b allot.Task) int { return cmp.Compare(a.Index, b.Index) })
	for _, t := range tasks {
		set := slices.IndexFunc(w.PodSets, func(ps allot.PodSet) bool { return ps.Name == t.PodSet })
		node := slices.IndexFunc(r.nodesOf, func(n *allot.Node) bool { return n.ID == t.Node })
		placed := harmTask{shapes[set], node, t.Devices, taskName{w.ID, t.PodSet, t.Index}}
		if seen[set]++; seen[set] <= minimumOf(w, set) {
			minimum.admitted = max(minimum.admitted, harmTime(t.Since))
			minimum.add(r.harmCase, placed)
			continue
		}
		unit := frame
		unit.step = seen[set] - minimumOf(w, set)
		unit.admitted = harmTime(t.Since)
		unit.add(r.harmCase, placed)
		r.finish(unit)
	}
	if len(minimum.tasks) > 0 {
		r.finish(minimum)
	}
	if preemptor {
		r.readPreemptor(w, frame, shapes, seen)
	}
}

// readPreemptor says what starts: what is missing to the minimum, or one
// task above it. Its unit is all of the minimum, admitted now.
func (r *harmReader) readPreemptor(w *allot.Workload, frame harmUnit, shapes []*harmShape, seen []int) {
	missing := false
	for set, shape := range shapes {
		if n := minimumOf(w, set) - seen[set]; n > 0 {
			r.want = append(r.want, harmWant{shape, n})
			missing = true
		}
		for range minimumOf(w, set) {
			frame.amount = frame.amount.plus(r.charge(shape))
		}
	}
	if !missing {
		set := slices.IndexFunc(w.PodSets, func(ps allot.PodSet) bool { return seen[0] < ps.Count })
		r.step, r.want = true, []harmWant{{shapes[set], 1}}
		frame.amount = r.charge(shapes[set])
		frame.step = seen[set] - minimumOf(w, set) + 1
	}
	frame.admitted = harmTime(r.state.Now)
	if len(w.Tasks) > 0 && missing { // what runs of it keeps its standing
		frame.admitted = harmTime(w.Tasks[0].Since)
	}
	r.unit = frame
}

// finish adds a unit that runs, with what follows from when it started.
func (r *harmReader) finish(u harmUnit) {
	now := harmTime(r.state.Now)
	if since := max(u.admitted, harmTime(r.worksOf[u.work].Checkpoint)); !r.source.CheckpointOnEviction {
		u.lost = u.amount[0] * (now - since)
	}
	leaf := &r.queues[u.leaf]
	u.free = u.admitted+leaf.reclaimRuntime <= now
	u.still = u.admitted+leaf.preemptRuntime <= now
	r.units = append(r.units, u)
}
