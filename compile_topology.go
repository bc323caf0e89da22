package allot

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/placement"
)

// levelNumbers are the levels' numbers in a [placement.Topology], that of the nodes
// included; 0, the whole cluster, has no name.
func levelNumbers(levels []Level) map[string]placement.Level {
	numbers := make(map[string]placement.Level, len(levels)+1)
	for i := range levels {
		numbers[levels[i].Name] = placement.Level(i + 1)
	}
	numbers[NodeLevel] = placement.Level(len(levels) + 1)
	return numbers
}

// constraint is a Topology by the numbers of its levels.
func (w *world) constraint(t *Topology) gang.Constraint {
	c := gang.Constraint{Required: w.levels[t.Required], Preferred: w.levels[t.Preferred], Mode: t.Mode}
	for _, s := range t.Slices {
		c.Slices = append(c.Slices, gang.Slice{Size: int32(s.Size), Level: w.levels[s.Level]})
	}
	return c
}

// appendTopology appends bytes that are equal exactly for equal constraints.
func appendTopology(b []byte, t *Topology) []byte {
	b = append(appendText(appendText(b, t.Required), t.Preferred), byte(t.Mode))
	b = binary.AppendUvarint(b, uint64(len(t.Slices)))
	for _, s := range t.Slices {
		b = appendText(binary.AppendUvarint(b, uint64(s.Size)), s.Level)
	}
	return b
}

// compileTopologies builds the trees of the pools of which no node is in a domain and in
// which a form asks for one all the same, be it a node (T1), or gangs for whole nodes (P8).
func (w *world) compileTopologies() {
	for _, p := range w.pools {
		if p.Topology == nil && (p.Policy.Fitting != gang.AnyNodes || slices.ContainsFunc(p.Definitions, func(d cluster.Definition) bool { return d.Constrained })) {
			p.Topology = p.treeOf(w.state)
		}
	}
}

// levelled says whether some node of the pool is in a domain of some level.
func (p *pool) levelled(s *State) bool {
	return slices.ContainsFunc(s.Levels, func(l Level) bool {
		return slices.ContainsFunc(p.Nodes, func(n int32) bool { return s.Nodes[n].Domains[l.Name] != "" })
	})
}

// treeOf is the tree of levels of the pool's nodes by position.
func (p *pool) treeOf(s *State) *placement.Topology {
	levels, names := s.Levels, make([][]string, len(p.Nodes))
	all := make([]string, len(p.Nodes)*len(levels))
	for at, n := range p.Nodes {
		names[at] = all[at*len(levels) : (at+1)*len(levels)]
		for i := range levels {
			names[at][i] = s.Nodes[n].Domains[levels[i].Name]
		}
	}
	return placement.NewTopology(len(levels), names)
}

// compileInside gives what joins the devices of a node: what is said of each, and
// else what its hardware says (T4).
func (p *pool) compileInside(out *placement.Node, node *Node) {
	hardware, _ := placement.HardwareNamed(node.Hardware)
	for d := range node.Devices {
		out.Devices[d].Socket = cmp.Or(int32(node.Devices[d].Socket), hardware.Socket(d))
		out.Devices[d].Switch = cmp.Or(int32(node.Devices[d].Switch), hardware.Switch(d))
	}
	if len(node.Links) == 0 { // as all nodes of the hardware
		links, known := p.links[node.Hardware]
		if !known {
			links = hardware.Links(nil)
			if p.links == nil {
				p.links = make(map[string][]placement.Link)
			}
			p.links[node.Hardware] = links
		}
		out.Links = links
		return
	}
	overrides := make([]placement.Link, len(node.Links))
	for i, l := range node.Links {
		overrides[i] = placement.Link{A: int32(l.A), B: int32(l.B), NVLinks: int32(l.NVLinks)}
	}
	out.Links = hardware.Links(overrides)
}
