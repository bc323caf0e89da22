package allot

import (
	"math"
	"slices"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/placement"
)

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
					capacity[r] += cluster.WholeDevice - device.Foreign
				}
			}
		case known.class == "" || known.class == node.Class:
			capacity[r] += max(0, node.Capacity[known.name]-node.Foreign[known.name])
		}
	}
}

// compileNodeSets finds for each queue the set of the pool's nodes that it and
// its parents may use, as one of few distinct sets.
func (p *pool) compileNodeSets(w *world) {
	s := w.state
	p.NodeSet = make([]int32, len(p.queues))
	known, find := make(map[string]int32), newNodeFinder(s.Nodes, w.nodeID)
	done := make([]bool, len(p.queues))
	var resolve func(q int32) int32
	resolve = func(q int32) int32 {
		if done[q] {
			return p.NodeSet[q]
		}
		done[q] = true
		set := int32(-1)
		if p.Parent[q] >= 0 {
			set = resolve(p.Parent[q])
		}
		if source := p.queues[q]; source >= 0 && !s.Queues[source].Nodes.all() {
			set = p.internSet(known, set, find.members(&s.Queues[source].Nodes))
		}
		p.NodeSet[q] = set
		return set
	}
	for q := range p.queues {
		resolve(int32(q))
	}
}

// compileReach finds for each queue what it, or some queue below it, may use (F1).
func (p *pool) compileReach(w *world) {
	p.Reach = make([]int32, len(p.queues))
	known, below, ofSet := make(map[string]int32), make([][]int32, len(p.queues)), make(map[int32]int32)
	for q, up := range p.Parent {
		if up >= 0 {
			below[up] = append(below[up], int32(q))
		}
	}
	var reach func(q int32) int32
	reach = func(q int32) int32 {
		var parts []int32
		for _, child := range below[q] {
			parts = append(parts, reach(child))
		}
		own := make([]bool, 0)
		if len(p.reserved) > 0 && len(parts) == 0 {
			own = p.nodesOf(q)
		}
		switch {
		case len(own) > 0 && p.withoutReserved(w, q, own):
			p.Reach[q] = p.internReach(known, w, own)
		case len(parts) == 0 && p.NodeSet[q] < 0 || slices.Contains(parts, none):
			p.Reach[q] = none
		case len(parts) == 0:
			set := p.NodeSet[q]
			if _, done := ofSet[set]; !done {
				ofSet[set] = p.internReach(known, w, p.sets[set])
			}
			p.Reach[q] = ofSet[set]
		default:
			in := make([]bool, len(p.Nodes))
			for _, part := range parts {
				for at, is := range p.Reaches[part].In {
					in[at] = in[at] || is
				}
			}
			p.Reach[q] = p.internReach(known, w, in)
		}
		return p.Reach[q]
	}
	for q, up := range p.Parent {
		if up < 0 {
			reach(int32(q))
		}
	}
}

// nodesOf says by position which nodes a queue may use.
func (p *pool) nodesOf(q int32) []bool {
	if set := p.NodeSet[q]; set >= 0 {
		return slices.Clone(p.sets[set])
	}
	return slices.Repeat([]bool{true}, len(p.Nodes))
}

// internReach is the reach of the nodes at those positions.
func (p *pool) internReach(known map[string]int32, w *world, in []bool) int32 {
	key := make([]byte, len(in))
	out := make([]int64, len(p.resources))
	for at, n := range p.Nodes {
		if in[at] {
			key[at] = 1
		} else {
			p.addUsable(out, p.inUse(w, at, n))
		}
	}
	if reach, ok := known[string(key)]; ok {
		return reach
	}
	p.Reaches = append(p.Reaches, cluster.Reach{In: in, Out: out})
	known[string(key)] = int32(len(p.Reaches) - 1)
	return int32(len(p.Reaches) - 1)
}

// internSet narrows the set around (−1: all) to the given members, which are
// by State.Nodes; sets are by position.
func (p *pool) internSet(known map[string]int32, around int32, members []bool) int32 {
	in := make([]bool, len(p.Nodes))
	key := make([]byte, len(p.Nodes))
	for at, n := range p.Nodes {
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
	nodes := make([]placement.Node, len(p.Nodes))
	for at, n := range p.Nodes {
		nodes[at] = p.compileNode(&s.Nodes[n])
		for set := range p.sets {
			if p.sets[set][at] {
				nodes[at].Sets = append(nodes[at].Sets, int32(set))
			}
		}
	}
	p.markReserved(nodes)
	for i := range p.Classes {
		c, name := &p.Classes[i], p.resources[p.Plain+i].class
		if n, some := p.class[name]; some {
			c.OfNodes = n
		}
		if n, some := p.models[name]; some {
			c.OfDevices = n
		}
	}
	p.ClassCount, p.ModelCount = int32(len(p.class)), int32(len(p.models))
	p.Placed, p.Unused = nodes, p.unused(s, nodes)
	var err error
	if p.Index, err = placement.NewIndex(nodes, p.Plain-1); err != nil || !p.levelled(s) {
		return err
	}
	p.Topology = p.treeOf(s)
	return p.Index.SetTopology(p.Topology)
}

// unused are the nodes with nothing of them in foreign use; nil where nothing is (F1).
func (p *pool) unused(s *State, nodes []placement.Node) []placement.Node {
	var out []placement.Node
	for at, n := range p.Nodes {
		bare, foreign := s.Nodes[n].withoutForeign()
		if !foreign {
			continue
		}
		if out == nil {
			out = slices.Clone(nodes)
		}
		out[at] = p.compileNode(&bare)
		out[at].Sets = nodes[at].Sets
	}
	return out
}

// withoutForeign is the node with nothing of it in foreign use, and whether something was.
func (n *Node) withoutForeign() (bare Node, foreign bool) {
	bare = *n
	foreign = n.ForeignTasks > 0 || len(n.Foreign) > 0
	bare.Foreign, bare.ForeignTasks = nil, 0
	for d := range n.Devices {
		if n.Devices[d].Foreign == 0 {
			continue
		}
		if &bare.Devices[0] == &n.Devices[0] {
			bare.Devices = slices.Clone(n.Devices)
		}
		bare.Devices[d].Foreign, foreign = 0, true
	}
	return bare, foreign
}

// compileFacts notes of every node what the solve reads of it.
func (w *world) compileFacts() {
	s := w.state
	w.Nodes = make([]cluster.Node, len(s.Nodes))
	for rank, n := range byID(s.Nodes, func(n *Node) string { return n.ID }) {
		w.Nodes[n].Rank = int32(rank)
	}
	classed := slices.ContainsFunc(w.pools, (*pool).Classed)
	for n := range s.Nodes {
		w.Nodes[n].Class = none
		if classed {
			w.classify(int32(n))
		}
		w.readHealth(int32(n))
	}
}

// classify numbers the classes of a node and of its devices (Q8).
func (w *world) classify(n int32) {
	node, out := &w.state.Nodes[n], &w.Nodes[n]
	out.Class = number(w.classNumbers, node.Class)
	out.Models = make([]int32, len(node.Devices))
	for d := range node.Devices {
		out.Models[d] = number(w.classNumbers, node.Devices[d].Model)
	}
}

// readHealth reads whether a node is lost, and which of its devices are unhealthy.
func (w *world) readHealth(n int32) {
	node, out := &w.state.Nodes[n], &w.Nodes[n]
	out.Lost, out.Unhealthy = node.Lost, 0
	for d := range node.Devices {
		if node.Devices[d].Unhealthy {
			out.Unhealthy |= 1 << d
		}
	}
}

// compileNode gives what of a node is not in foreign use.
func (p *pool) compileNode(node *Node) placement.Node {
	out := placement.Node{
		Capacity:     make([]int64, p.Plain-1),
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
	model := int32(none)
	for d := range node.Devices {
		device := &node.Devices[d]
		if d == 0 || device.Model != node.Devices[d-1].Model { // most are of one
			model = number(p.models, device.Model)
		}
		out.Devices[d] = placement.Device{
			Model:     model,
			Memory:    device.Memory,
			Unhealthy: device.Unhealthy,
			Foreign:   device.Foreign,
		}
	}
	p.compileInside(&out, node)
	if node.MaxTasks > 0 {
		out.Slots = int32(max(node.MaxTasks-node.ForeignTasks, math.MinInt32))
	}
	if c := p.given.MaxCPUOnlyTasksPerNode; c > 0 {
		out.CPUOnlySlots = int32(min(c, math.MaxInt32))
	}
	return out
}
