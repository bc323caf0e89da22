package allot

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// workloadsName is the resource that counts running workloads (Q10). No host
// resource can have this name: it is not one that Check admits.
const workloadsName = "\x00workloads"

// compileQueues lists the pool's queues by ID, or the implicit one.
func (p *pool) compileQueues(s *State) {
	for _, i := range byID(s.Queues, func(q *Queue) string { return q.ID }) {
		if s.Queues[i].Pool == p.id || len(s.Pools) <= 1 {
			p.queues = append(p.queues, i)
		}
	}
	if len(p.queues) == 0 {
		p.queues = []int32{-1}
	}
	p.isLeaf = make([]bool, len(p.queues))
	for q := range p.isLeaf {
		p.isLeaf[q] = true
	}
	index := make(map[string]int32, len(p.queues))
	for q, source := range p.queues {
		if source >= 0 {
			index[s.Queues[source].ID] = int32(q)
		}
	}
	p.parent = make([]int32, len(p.queues))
	for q, source := range p.queues {
		p.parent[q] = -1
		if source >= 0 && s.Queues[source].Parent != "" {
			p.parent[q] = index[s.Queues[source].Parent]
			p.isLeaf[p.parent[q]] = false
		}
	}
}

// compileResources collects, per pool, the names of all resources that nodes
// have, queues govern or workloads request: GPU first, then by name.
func (w *world) compileResources() {
	s := w.state
	names := make([]map[string]bool, len(w.pools))
	classes := make([]map[resource]bool, len(w.pools))
	for i := range w.pools {
		names[i] = map[string]bool{GPU: true}
		classes[i] = map[resource]bool{}
	}
	for i, at := range w.nodePool {
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
			p.counted = p.counted || s.Queues[source].MaxWorkloads.Given()
		}
	}
	// A workload may have forms in several pools: its resources are known to
	// every pool, which costs nothing where they are not used.
	requested := make(map[string]bool)
	for i := range s.Workloads {
		k := &s.Workloads[i]
		addRequested(requested, k.PodSets)
		for f := range k.Alternatives {
			addRequested(requested, k.Alternatives[f].PodSets)
		}
	}
	for i, p := range w.pools {
		for m := range p.policy.Scoring.Mix {
			for name := range p.policy.Scoring.Mix[m].Request.Resources { // into a set: order cannot matter
				names[i][name] = true
			}
		}
		maps.Copy(names[i], requested)
		p.nameResources(names[i], classes[i])
	}
}

func addRequested(names map[string]bool, sets []PodSet) {
	for i := range sets {
		for name := range sets[i].Request.Resources { // into a set: order cannot matter
			if !names[name] { // reading is cheaper than writing, and mostly enough
				names[name] = true
			}
		}
	}
}

func (p *pool) nameResources(names map[string]bool, classes map[resource]bool) {
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
	p.plain = len(p.resources)
	p.byName = make(map[string]int32, p.plain)
	for r, known := range p.resources {
		p.byName[known.name] = int32(r)
	}
	for c := range classes { // sorted below
		p.resources = append(p.resources, c)
	}
	slices.SortFunc(p.resources[p.plain:], byName)
	if p.counted {
		p.resources = append(p.resources, resource{name: workloadsName})
	}
}

// compileTree builds the quota tree and the sets of nodes that queues use.
func (p *pool) compileTree(s *State) error {
	p.capacity = make([]int64, len(p.resources))
	for _, n := range p.nodes {
		p.addUsable(p.capacity, &s.Nodes[n])
	}
	if p.counted {
		p.capacity[len(p.resources)-1] = MaxAmount
	}
	p.compileNodeSets(s)
	return p.growTree(s)
}

// growTree builds the quota tree.
func (p *pool) growTree(s *State) error {
	config := quota.Config{
		Capacity:                p.capacity,
		Queues:                  make([]quota.Queue, len(p.queues)),
		NonPreemptibleOverQuota: p.policy.NonPreemptibleOverQuota,
		CapOnly:                 make([]bool, len(p.resources)),
	}
	if p.counted {
		config.CapOnly[len(p.resources)-1] = true
	}
	for q, source := range p.queues {
		if source >= 0 {
			p.lends = p.lends || slices.ContainsFunc(s.Queues[source].Resources, func(r QueueResource) bool {
				return r.LendingLimit.Given()
			})
		}
		bounds := make([]quota.Bounds, len(p.resources))
		if source >= 0 {
			p.fillBounds(bounds, &s.Queues[source])
		}
		config.Queues[q] = quota.Queue{Parent: p.parent[q], Bounds: bounds}
	}
	var err error
	p.tree, err = quota.New(config)
	return err
}

// addUsable adds what the node can give to the capacity (F1): nothing if it is
// cordoned, and no device that is unhealthy.
func (p *pool) addUsable(capacity []int64, node *Node) {
	if node.Cordoned {
		return
	}
	for r, known := range p.resources {
		switch {
		case known.name == GPU:
			for d := range node.Devices {
				device := &node.Devices[d]
				if !device.Unhealthy && (known.class == "" || known.class == node.Class || known.class == device.Model) {
					capacity[r] += wholeDevice - device.Foreign
				}
			}
		case known.class == "" || known.class == node.Class:
			capacity[r] += max(0, node.Capacity[known.name]-node.Foreign[known.name])
		}
	}
}

// wholeDevice is one device in milli-GPU (S2).
const wholeDevice = 1000

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

// compileNodeSets finds for each queue the set of the pool's nodes that it and
// its parents may use, as one of few distinct sets.
func (p *pool) compileNodeSets(s *State) {
	p.nodeSet = make([]int32, len(p.queues))
	known := make(map[string]int32)
	done := make([]bool, len(p.queues))
	var resolve func(q int32) int32
	resolve = func(q int32) int32 {
		if done[q] {
			return p.nodeSet[q]
		}
		done[q] = true
		set := int32(-1)
		if p.parent[q] >= 0 {
			set = resolve(p.parent[q])
		}
		if source := p.queues[q]; source >= 0 && !s.Queues[source].Nodes.all() {
			set = p.internSet(known, set, s.Queues[source].Nodes.members(s.Nodes))
		}
		p.nodeSet[q] = set
		return set
	}
	for q := range p.queues {
		resolve(int32(q))
	}
}

// internSet narrows the set around (−1: all) to the given members, which are
// by State.Nodes; sets are by position.
func (p *pool) internSet(known map[string]int32, around int32, members []bool) int32 {
	in := make([]bool, len(p.nodes))
	key := make([]byte, len(p.nodes))
	for at, n := range p.nodes {
		in[at] = members[n] && (around < 0 || p.sets[around][at])
		if in[at] {
			key[at] = 1
		}
	}
	if set, ok := known[string(key)]; ok {
		return set
	}
	p.sets = append(p.sets, in)
	known[string(key)] = int32(len(p.sets) - 1)
	return int32(len(p.sets) - 1)
}

// compileNodes builds the placement index over the pool's nodes.
func (p *pool) compileNodes(s *State) error {
	p.models, p.class = make(map[string]int32), make(map[string]int32)
	nodes := make([]placement.Node, len(p.nodes))
	for at, n := range p.nodes {
		nodes[at] = p.compileNode(&s.Nodes[n])
		for set := range p.sets {
			if p.sets[set][at] {
				nodes[at].Sets = append(nodes[at].Sets, int32(set))
			}
		}
	}
	p.placed = nodes
	var err error
	if p.index, err = placement.NewIndex(nodes, p.plain-1); err != nil || !p.levelled(s) {
		return err
	}
	p.topology = p.treeOf(s)
	return p.index.SetTopology(p.topology)
}

// compileNode gives what of a node is not in foreign use.
func (p *pool) compileNode(node *Node) placement.Node {
	out := placement.Node{
		Capacity:     make([]int64, p.plain-1),
		Devices:      make([]placement.Device, len(node.Devices)),
		Slots:        math.MaxInt32,
		CPUOnlySlots: math.MaxInt32,
		Class:        number(p.class, node.Class),
		Labels:       node.Labels,
		Taints:       node.Taints,
		Cordoned:     node.Cordoned,
	}
	for r := range out.Capacity {
		name := p.resources[r+1].name
		out.Capacity[r] = node.Capacity[name] - node.Foreign[name]
	}
	for d := range node.Devices {
		device := &node.Devices[d]
		out.Devices[d] = placement.Device{
			Model:     number(p.models, device.Model),
			Memory:    device.Memory,
			Unhealthy: device.Unhealthy,
			Foreign:   device.Foreign,
		}
	}
	p.compileInside(&out, node)
	if node.MaxTasks > 0 {
		out.Slots = int32(max(node.MaxTasks-node.ForeignTasks, math.MinInt32))
	}
	if c := p.policy.MaxCPUOnlyTasksPerNode; c > 0 {
		out.CPUOnlySlots = int32(min(c, math.MaxInt32))
	}
	return out
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
