package allot

import (
	"cmp"
	"math"
	"slices"

	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// workloadsName is the resource that counts running workloads (Q10). No host
// resource can have this name: it is not one that Check admits.
const workloadsName = "\x00workloads"

// compileQueues lists the queues of each pool by ID, or the implicit one.
func (w *world) compileQueues() {
	s := w.state
	for _, i := range byID(s.Queues, func(q *Queue) string { return q.ID }) {
		p := w.pools[0]
		if len(s.Pools) > 1 {
			p = w.pools[w.poolID[s.Queues[i].Pool]]
		}
		p.queues = append(p.queues, i)
	}
	for _, p := range w.pools {
		p.linkQueues(s)
	}
}

// linkQueues finds the parents of the pool's queues.
func (p *pool) linkQueues(s *State) {
	if len(p.queues) == 0 {
		p.queues = []int32{-1}
	}
	p.IsLeaf = make([]bool, len(p.queues))
	for q := range p.IsLeaf {
		p.IsLeaf[q] = true
	}
	index := make(map[string]int32, len(p.queues))
	for q, source := range p.queues {
		if source >= 0 {
			index[s.Queues[source].ID] = int32(q)
		}
	}
	p.Parent = make([]int32, len(p.queues))
	for q, source := range p.queues {
		p.Parent[q] = -1
		if source >= 0 && s.Queues[source].Parent != "" {
			p.Parent[q] = index[s.Queues[source].Parent]
			p.IsLeaf[p.Parent[q]] = false
		}
	}
}

// compileResources collects, per pool, the names of all resources that its nodes
// have, its queues govern or its workloads request: GPU first, then by name.
func (w *world) compileResources() {
	s := w.state
	names := make([]map[string]bool, len(w.pools))
	classes := make([]map[resource]bool, len(w.pools))
	for i := range w.pools {
		names[i] = map[string]bool{GPU: true}
		classes[i] = map[resource]bool{}
	}
	for i, at := range w.NodePool {
		if at < 0 {
			continue
		}
		for name := range s.Nodes[i].Capacity { // into a set: order cannot matter
			names[at][name] = true
		}
	}
	for i, p := range w.pools {
		for _, source := range p.queues {
			if source < 0 {
				continue
			}
			for _, r := range s.Queues[source].Resources {
				names[i][r.Resource] = true
				if r.Class != "" {
					classes[i][resource{r.Resource, r.Class}] = true
				}
			}
			p.Counted = p.Counted || s.Queues[source].MaxWorkloads.Given()
		}
	}
	w.nameRequested(names)
	for i, p := range w.pools {
		for m := range p.given.Scoring.Mix {
			for name := range p.given.Scoring.Mix[m].Request.Resources { // into a set: order cannot matter
				names[i][name] = true
			}
		}
		w.nameResources(p, names[i], classes[i])
	}
}

func addRequested(names map[string]bool, sets []PodSet) {
	for i := range sets {
		for name := range sets[i].Request.Resources { // into a set: order cannot matter
			names[name] = true
		}
	}
}

// nameRequested adds by pool the names of what forms ask in it; of a kind the first in the pool tells it.
func (w *world) nameRequested(names []map[string]bool) {
	told := make(map[[2]int32]bool)
	add := func(k *Workload, queue string, sets []PodSet, kind int32) {
		if !slices.ContainsFunc(sets, func(p PodSet) bool { return len(p.Request.Resources) > 0 }) {
			return // whoever asks for devices alone names none
		}
		pool := w.leafOf(k, queue).Pool
		if as := [2]int32{pool, kind}; kind != none {
			if told[as] {
				return
			}
			told[as] = true
		}
		addRequested(names[pool], sets)
	}
	for i, k := range w.workloads {
		kind := int32(none)
		if w.kinds != nil && w.kinds.own != nil {
			kind = w.kinds.own[i]
		}
		add(k, k.Queue, k.PodSets, kind)
		for f := range k.Alternatives {
			add(k, k.Alternatives[f].Queue, k.Alternatives[f].PodSets, none)
		}
	}
}

func (w *world) nameResources(p *pool, names map[string]bool, classes map[resource]bool) {
	for name := range names { // sorted below
		if name != GPU {
			p.resources = append(p.resources, resource{name: name})
		}
	}
	byName := func(a, b resource) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.class, b.class))
	}
	slices.SortFunc(p.resources, byName)
	p.resources = slices.Insert(p.resources, 0, resource{name: GPU})
	p.Plain = len(p.resources)
	p.Numbers = make([]int32, p.Plain)
	p.byName = make(map[string]int32, p.Plain)
	for r, known := range p.resources {
		p.byName[known.name] = int32(r)
		p.Numbers[r] = number(w.resourceNumbers, known.name)
	}
	for c := range classes { // sorted below
		p.resources = append(p.resources, c)
	}
	slices.SortFunc(p.resources[p.Plain:], byName)
	for _, known := range p.resources[p.Plain:] {
		p.Classes = append(p.Classes, cluster.BoundClass{
			Plain: p.byName[known.name], Class: number(w.classNumbers, known.class), OfNodes: none, OfDevices: none,
		})
	}
	if p.Counted {
		p.resources = append(p.resources, resource{name: workloadsName})
	}
	p.Width = len(p.resources)
}

// compileTree builds the quota tree and the sets of nodes that queues use.
func (p *pool) compileTree(w *world) error {
	s := w.state
	p.Capacity = make([]int64, len(p.resources))
	for at, n := range p.Nodes {
		p.addUsable(p.Capacity, p.inUse(w, at, n))
	}
	if p.Counted {
		p.Capacity[len(p.resources)-1] = MaxAmount
	}
	p.compileNodeSets(w)
	p.compileReach(w)
	return p.growTree(s)
}

// growTree builds the quota tree.
func (p *pool) growTree(s *State) error {
	config := quota.Config{
		Capacity:                p.Capacity,
		Queues:                  make([]quota.Queue, len(p.queues)),
		NonPreemptibleOverQuota: p.Policy.NonPreemptibleOverQuota,
		CapOnly:                 make([]bool, len(p.resources)),
		GivenOnly:               make([]bool, len(p.resources)),
	}
	for i := range p.Classes {
		config.GivenOnly[p.Plain+i] = true
	}
	if p.Counted {
		config.CapOnly[len(p.resources)-1] = true
	}
	for q, source := range p.queues {
		if source >= 0 {
			p.Lends = p.Lends || slices.ContainsFunc(s.Queues[source].Resources, func(r QueueResource) bool {
				return r.LendingLimit.Given()
			})
		}
		bounds := make([]quota.Bounds, len(p.resources))
		if source >= 0 {
			p.fillBounds(bounds, &s.Queues[source])
		}
		config.Queues[q] = quota.Queue{Parent: p.Parent[q], Bounds: bounds}
	}
	var err error
	if p.Tree, err = quota.New(config); err != nil {
		return err
	}
	p.compileGuarantees(s)
	p.compileDivision(s)
	return nil
}

// compileGuarantees notes which queues give a quota for a class (Q8).
func (p *pool) compileGuarantees(s *State) {
	p.Guarantees = make([]bool, len(p.queues)*len(p.Classes))
	for q := range p.queues {
		for i := range p.Classes {
			p.Guarantees[q*len(p.Classes)+i] = p.said(s, q, p.Plain+i).Quota.Given()
		}
	}
}

// compileDivision reads what the queues say of their division and their protection.
func (p *pool) compileDivision(s *State) {
	width := len(p.resources)
	p.Tiers, p.Weights = make([]int32, len(p.queues)*width), make([]int64, len(p.queues)*width)
	p.Granules, p.Created, p.Usage = make([]int64, width), make([]int64, len(p.queues)), nil
	for r := range p.resources {
		p.Granules[r] = p.granule(r)
	}
	for q, source := range p.queues {
		p.Created[q] = math.MinInt64
		if source >= 0 {
			p.Created[q] = micros(s.Queues[source].Created)
		}
		for r := range p.Plain {
			said := p.said(s, q, r)
			p.Tiers[q*width+r] = said.OverQuotaPriority
			if said.Usage != (fairshare.Usage{}) && p.Usage == nil {
				p.Usage = make([]fairshare.Usage, len(p.queues)*width)
			}
			if p.Usage != nil {
				p.Usage[q*width+r] = said.Usage
			}
		}
	}
	for r := range p.Plain {
		p.weigh(s, r)
	}
	p.inherit(s)
}

// granule is the unit in which the resource's surplus is shared, and where quotas are
// more than there is (R8) what they guarantee (S2).
func (p *pool) granule(r int) int64 {
	if r >= p.Plain && r < p.Plain+len(p.Classes) {
		r = int(p.Classes[r-p.Plain].Plain)
	}
	if g, ok := p.given.Granules[p.resources[r].name]; ok {
		return g
	}
	if r == 0 {
		return cluster.WholeDevice
	}
	return 1
}

// said is what the queue says of resource r; the zero value if nothing.
func (p *pool) said(s *State, q, r int) QueueResource {
	if source := p.queues[q]; source >= 0 {
		list := s.Queues[source].Resources
		known := p.resources[r]
		if i := slices.IndexFunc(list, func(g QueueResource) bool {
			return g.Resource == known.name && g.Class == known.class
		}); i >= 0 {
			return list[i]
		}
	}
	return QueueResource{}
}

// weigh reads F4's weights of a resource: as given, and where absent the quota, or 1
// where the method divides without quotas.
func (p *pool) weigh(s *State, r int) {
	byQuota := make(map[int32]bool) // by parent: F4 for departments
	for q := range p.queues {
		if !p.IsLeaf[q] && p.given.InnerWeightByQuota {
			byQuota[p.Parent[q]] = true
		}
	}
	for q := range p.queues {
		weight, out := p.said(s, q, r).Weight, &p.Weights[q*len(p.resources)+r]
		switch {
		case weight.Given() && !byQuota[p.Parent[q]]:
			*out = weight.Amount()
		case p.Policy.Shares != fairshare.QuotaThenWeight:
			*out = 1
		default:
			*out = min(p.Tree.Quota(q, r), MaxAmount)
		}
	}
}

// inherit reads what queues say for themselves and those below them, from the uppermost down: as
// trees may be deep no queue looks further than to its parent.
func (p *pool) inherit(s *State) {
	n := len(p.queues)
	p.Runtimes, p.Queueing, p.Blocks, p.durations = make([]cluster.MinRuntime, n), make([]cluster.Queueing, n), false, make([]durations, n)
	for q := range p.topDown {
		runtime, how, lasts := p.given.MinRuntime, cluster.Queueing{How: p.Policy.Queueing}, p.given.Durations.orOf(durations{most: cluster.Never})
		if up := p.Parent[q]; up >= 0 {
			runtime, how, lasts = MinRuntime(p.Runtimes[up]), p.Queueing[up], p.durations[up]
		}
		if source := p.queues[q]; source >= 0 {
			said := &s.Queues[source]
			runtime, lasts = said.MinRuntime.orOf(runtime), said.Durations.orOf(lasts)
			if own, is := said.Queueing.Queueing(); is {
				how = cluster.Queueing{How: own, Own: true}
			}
		}
		p.Runtimes[q], p.Queueing[q], p.durations[q] = cluster.MinRuntime(runtime), how, lasts
		p.Blocks = p.Blocks || how.How != queue.BestEffort
	}
}

// topDown yields the queues, each after its parent.
func (p *pool) topDown(yield func(int32) bool) {
	path, told := []int32{}, make([]bool, len(p.queues))
	for q := range p.Parent {
		for at := int32(q); at >= 0 && !told[at]; at = p.Parent[at] {
			path, told[at] = append(path, at), true
		}
		for ; len(path) > 0; path = path[:len(path)-1] {
			if !yield(path[len(path)-1]) {
				return
			}
		}
	}
}

// orOf is what is said, and of what is not, what those above say (M1).
func (m MinRuntime) orOf(above MinRuntime) MinRuntime {
	return MinRuntime{Preempt: cmp.Or(m.Preempt, above.Preempt), Reclaim: cmp.Or(m.Reclaim, above.Reclaim)}
}

func (p *pool) fillBounds(bounds []quota.Bounds, q *Queue) {
	for _, given := range q.Resources {
		r := slices.Index(p.resources, resource{given.Resource, given.Class})
		bounds[r] = quota.Bounds{
			Quota:  given.Quota,
			Limit:  given.Limit,
			Borrow: given.BorrowingLimit,
			Lend:   given.LendingLimit,
		}
	}
	if q.MaxWorkloads.Given() {
		bounds[len(bounds)-1] = quota.Bounds{Limit: q.MaxWorkloads}
	}
}

// number interns a name; the numbers decide nothing, they only compare equal.
func number(known map[string]int32, name string) int32 {
	n, ok := known[name]
	if !ok {
		n = int32(len(known))
		known[name] = n
	}
	return n
}
