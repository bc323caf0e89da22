package allot

import (
	"fmt"
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
)

// topology draws levels, where nodes are and what joins their devices, and
// constraints (T1 to T4, P8), for one state in three; not for the still ones, which
// the oracle solves.
func (g *stateGen) topology() {
	if g.still || !g.chance(3) {
		return
	}
	g.s.Levels = []Level{{"zone"}, {"block"}, {"rack"}}[g.upTo(2):]
	for i := range g.s.Nodes {
		g.inside(&g.s.Nodes[i])
	}
	for i := range g.s.Pools {
		p := &g.s.Pools[i].Policy
		p.Fitting = pick(g, gang.AnyNodes, gang.AnyNodes, gang.AnyNodes, gang.WholeNodes, gang.MixedWholeNodes)
		p.LeastFreeDomainsFirst = g.chance(4)
	}
	for i := range g.s.Workloads {
		w := &g.s.Workloads[i]
		g.constrain(&w.Topology, w.PodSets, w.Groups)
		for a := range w.Alternatives {
			f := &w.Alternatives[a]
			g.constrain(&f.Topology, f.PodSets, f.Groups)
		}
	}
}

// inside draws the domains, hardware and links of a node.
func (g *stateGen) inside(n *Node) {
	for _, level := range g.s.Levels {
		if !g.chance(8) {
			if n.Domains == nil {
				n.Domains = make(map[string]string)
			}
			n.Domains[level.Name] = fmt.Sprint(level.Name[:1], g.upTo(2))
		}
	}
	switch len(n.Devices) {
	case 8:
		n.Hardware = pick(g, "", "cube-mesh-8", "nvswitch-8", "pcie-8")
	case 4:
		n.Hardware = pick(g, "", "nvlink-pairs-4", "pcie-4")
	}
	if count := len(n.Devices); count > 1 && g.chance(3) {
		n.Links = []Link{{A: count - 1, B: 0, NVLinks: pick(g, 0, 2, placement.MaxNVLinks)}}
	}
	for d := range n.Devices {
		if g.chance(8) {
			n.Devices[d].Socket, n.Devices[d].Switch = g.upTo(2), g.upTo(2)
		}
	}
}

// constrain draws the constraints of a form, some of one workload in two.
func (g *stateGen) constrain(whole *Topology, sets []PodSet, groups []Group) {
	if g.chance(2) {
		return
	}
	names := []string{""}
	for _, level := range g.s.Levels {
		names = append(names, level.Name)
	}
	names = append(names, NodeLevel)
	constraint := func(t *Topology) {
		if !g.chance(2) {
			return
		}
		t.Required = pick(g, names...)
		if g.chance(2) {
			t.Preferred = pick(g, names[slices.Index(names, t.Required):]...)
		}
		if t.Required+t.Preferred != "" {
			t.Mode = pick(g, gang.Pack, gang.Balance, gang.Spread)
		}
	}
	constraint(whole)
	for i := range groups {
		constraint(&groups[i].Topology)
	}
	for i := range sets {
		p := &sets[i]
		constraint(&p.Topology)
		g.slices(p, names)
		if r := &p.Request.GPU; r.devices() > 0 && g.chance(3) {
			r.Island = pick(g, placement.AnyIsland, placement.SocketIsland, placement.SwitchIsland, placement.NVLinkIsland)
			r.PreferIsland = pick(g, placement.AnyIsland, placement.NVLinkIsland)
		}
	}
}

// slices draws slices of a pod set, the widest first.
func (g *stateGen) slices(p *PodSet, names []string) {
	size, at := 4, max(1, slices.Index(names, p.Topology.Required), slices.Index(names, p.Topology.Preferred))
	for ; size > 0 && at < len(names); size /= 2 {
		if p.Count%size == 0 && p.Min%size == 0 && g.chance(3) {
			p.Topology.Slices = append(p.Topology.Slices, Slice{size, names[at]})
			at++
		}
	}
}

// topologyFeatures notes what a state has of a topology.
func topologyFeatures(s *State, features map[string]bool) {
	set := func(name string, has bool) { features[name] = features[name] || has }
	set("levels", len(s.Levels) > 0)
	for i := range s.Nodes {
		set("hardware", s.Nodes[i].Hardware != "")
		set("links", len(s.Nodes[i].Links) > 0)
	}
	for i := range s.Pools {
		set("fitting", s.Pools[i].Policy.Fitting != 0)
	}
	for i := range s.Workloads {
		w := &s.Workloads[i]
		set("constraint", w.Topology.Required != "")
		for j := range w.PodSets {
			set("slices", len(w.PodSets[j].Topology.Slices) > 0)
			set("island", w.PodSets[j].Request.GPU.Island != 0)
		}
		for j := range w.Groups {
			set("constraint of a group", w.Groups[j].Topology.Required != "")
		}
	}
}
