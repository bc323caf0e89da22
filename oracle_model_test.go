package allot

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/quota"
)

// The oracle is the whole decision once more, for states without alternatives
// (G5) and without groups that need m of n children (G3): written from RULES.md
// and from what the exported surface says of itself, without looking at the
// solver, and slow on purpose. It keeps no sum and no index: use is counted
// from the tasks each time it is asked for, queues are sorted anew for every
// step, and every node is looked at for every task.

// oracleNone is no bound.
const oracleNone = math.MaxInt64

// An oraclePool is one pool with everything that belongs to it.
type oraclePool struct {
	id     string
	policy Policy
	nodes  []*Node        // by position: rank, then ID (P6)
	queues []*oracleQueue // by ID
	work   []*oracleWork  // by ID
	// resources are all there are in the pool, GPU first, then by name.
	resources []string
	actions   []Action
	starts    []*oracleStart  // in their order
	within    bool            // only what is within its lines starts (M9)
	claiming  bool            // what is Terminating is put aside (S4)
	features  map[string]bool // what was met on the way, for the coverage
}

// An oracleQueue is a queue; the implicit one has no source.
type oracleQueue struct {
	id       string
	created  int64
	source   *Queue
	parent   *oracleQueue
	children []*oracleQueue
	work     []*oracleWork    // of a leaf
	fair     map[string]int64 // F1–F8, by resource
	// byQuota and byShare are the lines LQ and LF (R8), by resource.
	byQuota, byShare map[string]int64
}

// An oracleWork is a workload and what it holds.
type oracleWork struct {
	source         *Workload
	queue          *oracleQueue
	priority       int64 // higher first
	nonPreemptible bool
	submitted      int64
	tasks          []*oracleTask
	gaveUp         bool        // had its turn in vain
	placeless      func() bool // asked often, and the same throughout
}

// An oracleTask is a task that holds or claims a place.
type oracleTask struct {
	work    *oracleWork
	set     int
	index   int
	phase   Phase
	node    *Node
	devices []int
}

// oraclePools reads the state.
func oraclePools(s *State) []*oraclePool {
	sources := slices.Clone(s.Pools)
	if len(sources) == 0 {
		sources = []Pool{{}}
	}
	slices.SortFunc(sources, func(a, b Pool) int { return cmp.Compare(a.ID, b.ID) })
	var pools []*oraclePool
	for i := range sources {
		p := &oraclePool{id: sources[i].ID, policy: sources[i].Policy, features: make(map[string]bool)}
		for j := range s.Nodes {
			if oracleInSet(sources[i].Nodes, &s.Nodes[j]) {
				p.nodes = append(p.nodes, &s.Nodes[j])
			}
		}
		slices.SortFunc(p.nodes, func(a, b *Node) int {
			return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.ID, b.ID))
		})
		mine := func(pool string) bool { return pool == sources[i].ID || pool == "" && len(sources) == 1 }
		p.readQueues(s, mine)
		p.readWork(s, mine)
		p.readResources()
		pools = append(pools, p)
	}
	return pools
}

func oracleInSet(set NodeSet, n *Node) bool {
	if len(set.IDs) == 0 && set.Selector == nil {
		return true
	}
	return slices.Contains(set.IDs, n.ID) || set.Selector != nil && set.Selector.Matches(n.Labels)
}

func (p *oraclePool) readQueues(s *State, mine func(string) bool) {
	for i := range s.Queues {
		if q := &s.Queues[i]; mine(q.Pool) {
			p.queues = append(p.queues, &oracleQueue{id: q.ID, created: oracleTime(q.Created), source: q})
		}
	}
	slices.SortFunc(p.queues, func(a, b *oracleQueue) int { return cmp.Compare(a.id, b.id) })
	for _, q := range p.queues {
		if q.parent = p.queue(q.source.Parent); q.parent != nil {
			q.parent.children = append(q.parent.children, q)
		}
	}
	if len(p.queues) == 0 {
		p.queues = []*oracleQueue{{source: &Queue{}}} // the implicit one
	}
}

func (p *oraclePool) queue(id string) *oracleQueue {
	for _, q := range p.queues {
		if q.id == id {
			return q
		}
	}
	return nil
}

func (p *oraclePool) readWork(s *State, mine func(string) bool) {
	for i := range s.Workloads {
		source := &s.Workloads[i]
		q := p.queue(source.Queue)
		if q == nil || q.id == "" && !mine(source.Pool) {
			continue
		}
		w := &oracleWork{source: source, queue: q, submitted: oracleTime(source.Submitted)}
		w.placeless = sync.OnceValue(func() bool { return p.isPlaceless(w) })
		w.priority, w.nonPreemptible = oracleClass(source, &p.policy)
		for _, t := range source.Tasks {
			w.tasks = append(w.tasks, &oracleTask{
				work: w, set: slices.IndexFunc(source.PodSets, func(ps PodSet) bool { return ps.Name == t.PodSet }),
				index: t.Index, phase: t.Phase, devices: t.Devices,
				node: &s.Nodes[slices.IndexFunc(s.Nodes, func(n Node) bool { return n.ID == t.Node })],
			})
		}
		w.sortTasks()
		p.work = append(p.work, w)
		q.work = append(q.work, w)
	}
	byID := func(a, b *oracleWork) int { return cmp.Compare(a.source.ID, b.source.ID) }
	slices.SortFunc(p.work, byID)
	for _, q := range p.queues {
		slices.SortFunc(q.work, byID)
	}
}

// readResources collects what is named anywhere in the pool.
func (p *oraclePool) readResources() {
	names := make(map[string]bool)
	for _, n := range p.nodes {
		for name := range n.Capacity { // a set has no order
			names[name] = true
		}
	}
	for _, q := range p.queues {
		for _, r := range q.source.Resources {
			names[r.Resource] = true
		}
	}
	for _, w := range p.work {
		for _, set := range w.source.PodSets {
			for name := range set.Request.Resources { // a set has no order
				names[name] = true
			}
		}
	}
	delete(names, GPU)
	p.resources = append([]string{GPU}, slices.Sorted(maps.Keys(names))...)
}

// oracleTime is an instant in microseconds; zero stands before every other.
func oracleTime(t time.Time) int64 {
	if t.IsZero() {
		return math.MinInt64
	}
	return t.UnixMicro()
}

// oracleClass is a workload's priority, higher first, and whether it is
// non-preemptible.
func oracleClass(w *Workload, p *Policy) (priority int64, nonPreemptible bool) {
	name := cmp.Or(w.Class, p.DefaultClass)
	var class Class
	if i := slices.IndexFunc(p.Classes, func(c Class) bool { return c.Name == name }); i >= 0 {
		class = p.Classes[i]
	}
	number, nonPreemptible := class.Priority, class.NonPreemptible
	if w.Priority != 0 && (w.Class == "" || !p.ClassBeatsPriority) {
		number = w.Priority
		if p.NonPreemptibleFrom != 0 {
			nonPreemptible = number >= p.NonPreemptibleFrom
		}
	}
	if w.Preemption != PreemptionByClass {
		nonPreemptible = w.Preemption == NonPreemptible
	}
	if p.LowerFirst {
		return -int64(number), nonPreemptible
	}
	return int64(number), nonPreemptible
}

func (w *oracleWork) sortTasks() {
	slices.SortFunc(w.tasks, func(a, b *oracleTask) int {
		return cmp.Or(cmp.Compare(a.set, b.set), cmp.Compare(a.index, b.index))
	})
}

func (w *oracleWork) minimum(set int) int {
	return cmp.Or(w.source.PodSets[set].Min, w.source.PodSets[set].Count)
}

func (w *oracleWork) submittedTasks(set int) int {
	return w.source.PodSets[set].Count - w.source.PodSets[set].Missing
}

// held counts the running and claimed tasks of a pod set.
func (w *oracleWork) held(set int) int {
	n := 0
	for _, t := range w.tasks {
		if t.set == set && t.phase != Terminating {
			n++
		}
	}
	return n
}

// waitsAgain says whether a terminating task will be pending once it has left.
func (t *oracleTask) waitsAgain() bool {
	return t.phase == Terminating && !t.work.source.Ending && t.index < t.work.source.PodSets[t.set].Count
}

// leaving says whether tasks of its own keep the workload from starting (S5).
func (w *oracleWork) leaving() bool { return slices.ContainsFunc(w.tasks, (*oracleTask).waitsAgain) }

// cpuOnly says whether the workload asks no GPU at all (P7).
func (w *oracleWork) cpuOnly() bool {
	return !slices.ContainsFunc(w.source.PodSets, func(s PodSet) bool { return oracleDevices(s.Request.GPU) > 0 })
}

// oracleDevices is how many devices a task asks (P2).
func oracleDevices(g GPURequest) int {
	if g.Count == 0 && (g.Milli > 0 || g.Memory > 0) {
		return 1
	}
	return g.Count
}

// charge is what one task asks, and is charged, of a resource (F1).
func (p *oraclePool) charge(r *Request, resource string) int64 {
	if resource != GPU {
		return r.Resources[resource]
	}
	devices := int64(oracleDevices(r.GPU))
	if r.GPU.Memory == 0 {
		return devices * cmp.Or(r.GPU.Milli, 1000)
	}
	smallest := int64(0)
	for _, n := range p.nodes {
		for _, d := range n.Devices {
			if d.Memory > 0 && (smallest == 0 || d.Memory < smallest) {
				smallest = d.Memory
			}
		}
	}
	if smallest == 0 {
		return devices * 1000
	}
	return devices * ((1000*r.GPU.Memory + smallest - 1) / smallest)
}

// setCharge is charge of one task of a pod set.
func (p *oraclePool) setCharge(w *oracleWork, set int, resource string) int64 {
	return p.charge(&w.source.PodSets[set].Request, resource)
}

func (q *oracleQueue) leaves() []*oracleQueue {
	if len(q.children) == 0 {
		return []*oracleQueue{q}
	}
	var all []*oracleQueue
	for _, c := range q.children {
		all = append(all, c.leaves()...)
	}
	return all
}

// path is the queue and every one above it.
func (q *oracleQueue) path() (path []*oracleQueue) {
	for ; q != nil; q = q.parent {
		path = append(path, q)
	}
	return path
}

// siblings are the queues that stand beside each other under a parent.
func (p *oraclePool) siblings(parent *oracleQueue) (group []*oracleQueue) {
	for _, q := range p.queues {
		if q.parent == parent {
			group = append(group, q)
		}
	}
	return group
}

// use is what runs or is claimed in the queue and below (S7).
func (p *oraclePool) use(q *oracleQueue, resource string, nonPreemptibleOnly bool) (sum int64) {
	for _, leaf := range q.leaves() {
		for _, w := range leaf.work {
			for _, t := range w.tasks {
				if t.phase != Terminating && (w.nonPreemptible || !nonPreemptibleOnly) {
					sum += p.setCharge(w, t.set, resource)
				}
			}
		}
	}
	return sum
}

// runs counts the workloads that run or claim something (Q10).
func (q *oracleQueue) runs() (n int64) {
	for _, leaf := range q.leaves() {
		for _, w := range leaf.work {
			if w.holds() {
				n++
			}
		}
	}
	return n
}

func (w *oracleWork) holds() bool {
	return slices.ContainsFunc(w.tasks, func(t *oracleTask) bool { return t.phase != Terminating })
}

// given is what the queue is given of a resource.
func (q *oracleQueue) given(resource string) QueueResource {
	for _, r := range q.source.Resources {
		if r.Resource == resource && r.Class == "" {
			return r
		}
	}
	return QueueResource{}
}

// governed says whether some queue of the pool gives a quota (Q1).
func (p *oraclePool) governed(resource string) bool {
	return slices.ContainsFunc(p.queues, func(q *oracleQueue) bool { return q.given(resource).Quota.Given() })
}

// divided says whether the resource takes part in shares and order: where it
// is under quota, or, where shares are of a kind that knows no quota, GPU (F8).
func (p *oraclePool) divided(resource string) bool {
	return p.governed(resource) || resource == GPU && p.policy.Shares != fairshare.QuotaThenWeight
}

// quota is Q1's, for a governed resource.
func (q *oracleQueue) quota(resource string) int64 {
	if given := q.given(resource).Quota; given.Given() {
		return given.Amount()
	}
	sum := int64(0)
	for _, c := range q.children {
		sum = oracleSum(sum, c.quota(resource))
	}
	return sum
}

// limit is the most that Q3 lets the queue use.
func (p *oraclePool) limit(q *oracleQueue, resource string) int64 {
	given, most := q.given(resource), int64(oracleNone)
	if given.Limit.Given() {
		most = given.Limit.Amount()
	}
	if given.BorrowingLimit.Given() && p.governed(resource) {
		most = min(most, oracleSum(q.quota(resource), given.BorrowingLimit.Amount()))
	}
	return most
}

// oracleSum adds two amounts of which either may be none.
func oracleSum(a, b int64) int64 {
	if a == oracleNone || b == oracleNone {
		return oracleNone
	}
	return a + b
}

// oracleBound is the amount of a bound, or what holds where none is given.
func oracleBound(b quota.Bound, absent int64) int64 {
	if !b.Given() {
		return absent
	}
	return b.Amount()
}
