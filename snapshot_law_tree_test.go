package allot_test

import (
	"fmt"
	"maps"
	"slices"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
)

// A treeHost is a calm one whose nodes are in blocks and racks, with work that asks
// to be near to each other, always, often or rarely.
type treeHost struct {
	*calmHost
	every int // one workload in so many is constrained
	known map[string]bool
}

func newTreeHost(c chance) *treeHost {
	h := &treeHost{newCalmHost(c), oneOf(c, 1, 2, 12), make(map[string]bool)}
	h.s.Levels = []allot.Level{{Name: "block"}, {Name: "rack"}}
	for i := range h.s.Nodes {
		h.settle(&h.s.Nodes[i])
	}
	h.meet()
	h.knob()
	return h
}

// treeEvents are what happens to a tree beside what happens to a calm host.
var treeEvents = []struct {
	name string
	do   func(*treeHost)
}{
	{"node moved", func(h *treeHost) { h.settle(h.anyNode()) }},
	{"level", (*treeHost).level},
	{"knob", (*treeHost).knob},
	{"link", (*treeHost).link},
	{"constraint", func(h *treeHost) {
		if w := h.workload(anyWorkload); w != nil {
			h.constrain(w)
		}
	}},
}

func (h *treeHost) happen() string {
	if h.rarely(4) {
		e := &treeEvents[h.IntN(len(treeEvents))]
		e.do(h)
		return e.name
	}
	what := h.calmHost.happen()
	h.meet()
	return what
}

// meet constrains some of the workloads that are new.
func (h *treeHost) meet() {
	for i := range h.s.Workloads {
		w := &h.s.Workloads[i]
		if !h.known[w.ID] && h.rarely(h.every) {
			h.constrain(w)
		}
		h.known[w.ID] = true
	}
}

// settle draws where a node is and what joins its devices.
func (h *treeHost) settle(n *allot.Node) {
	n.Domains = nil
	for _, level := range h.s.Levels {
		if !h.rarely(10) {
			n.Domains = maps.Clone(n.Domains)
			if n.Domains == nil {
				n.Domains = make(map[string]string)
			}
			n.Domains[level.Name] = fmt.Sprint(level.Name[:1], h.IntN(3))
		}
	}
	n.Hardware, n.Links = "", nil
	if len(n.Devices) == 8 {
		n.Hardware = oneOf(h, "", "cube-mesh-8", "nvswitch-8", "pcie-8")
	}
	if len(n.Devices) == 4 {
		n.Hardware = oneOf(h, "", "nvlink-pairs-4", "pcie-4")
	}
}

// link has a link of a node go down or come up.
func (h *treeHost) link() {
	n := h.anyNode()
	switch {
	case len(n.Links) > 0:
		n.Links = nil
	case len(n.Devices) > 1:
		n.Links = []allot.Link{{A: 0, B: 1, NVLinks: 2 * h.IntN(2)}}
	}
}

// level adds a level that no node has, or takes the last one away, or all.
func (h *treeHost) level() {
	levels := slices.Clone(h.s.Levels)
	switch h.IntN(4) {
	case 0, 1:
		h.named++
		h.s.Levels = append(levels, allot.Level{Name: fmt.Sprint("level", h.named)})
		return
	case 2:
		if len(levels) > 0 {
			h.s.Levels = levels[:len(levels)-1]
		}
	default:
		h.s.Levels = nil
	}
	known := func(name string) bool {
		return name == "" || name == allot.NodeLevel || slices.Contains(h.s.Levels, allot.Level{Name: name})
	}
	for i := range h.s.Nodes {
		n := &h.s.Nodes[i]
		n.Domains = maps.Clone(n.Domains)
		maps.DeleteFunc(n.Domains, func(level, _ string) bool { return !known(level) })
	}
	for i := range h.s.Workloads {
		w := &h.s.Workloads[i]
		w.PodSets = slices.Clone(w.PodSets)
		for _, t := range []*allot.Topology{&w.Topology, &w.PodSets[0].Topology} {
			if !known(t.Required) || !known(t.Preferred) || slices.ContainsFunc(t.Slices, func(s allot.Slice) bool { return !known(s.Level) }) {
				*t = allot.Topology{}
			}
		}
	}
	if h.s.Levels == nil && h.rarely(2) {
		h.s.Levels = []allot.Level{{Name: "block"}, {Name: "rack"}}
	}
}

// knob draws how the pools use nodes and domains.
func (h *treeHost) knob() {
	for i := range h.s.Pools {
		p := &h.s.Pools[i].Policy
		p.Fitting = oneOf(h, gang.AnyNodes, gang.AnyNodes, gang.AnyNodes, gang.WholeNodes, gang.MixedWholeNodes)
		p.LeastFreeDomainsFirst = h.rarely(3)
		p.GPUStrategy = oneOf(h, placement.Default, placement.BinPack, placement.Spread)
		p.CPUStrategy = oneOf(h, placement.Default, placement.BinPack, placement.Spread)
	}
}

// constrain draws the constraints of a workload and its set.
func (h *treeHost) constrain(w *allot.Workload) {
	levels := []string{"", allot.NodeLevel}
	for _, level := range h.s.Levels {
		levels = slices.Insert(levels, len(levels)-1, level.Name)
	}
	topology := func() allot.Topology {
		t := allot.Topology{Required: oneOf(h, levels...)}
		if h.rarely(2) {
			t.Preferred = oneOf(h, levels[slices.Index(levels, t.Required):]...)
		}
		if t.Required+t.Preferred != "" {
			t.Mode = oneOf(h, gang.Pack, gang.Pack, gang.Balance, gang.Spread)
		}
		return t
	}
	w.Topology = topology()
	w.PodSets = slices.Clone(w.PodSets)
	p := &w.PodSets[0]
	p.Topology = allot.Topology{}
	switch {
	case h.rarely(3):
		p.Topology = topology()
	case p.Count%2 == 0 && p.Min%2 == 0:
		p.Topology.Slices = []allot.Slice{{Size: 2, Level: oneOf(h, levels[1:]...)}}
	}
	if p.Request.GPU.Count > 1 && p.Request.GPU.Milli == 0 {
		p.Request.GPU.Island = oneOf(h, placement.AnyIsland, placement.AnyIsland, placement.SocketIsland, placement.SwitchIsland, placement.NVLinkIsland)
		p.Request.GPU.PreferIsland = oneOf(h, placement.AnyIsland, placement.NVLinkIsland)
	}
}

// treeFeatures adds what a version has of a topology.
func treeFeatures(f map[string]bool, s *allot.State, p *allot.Plan) {
	f["no levels"] = len(s.Levels) == 0
	for i := range s.Nodes {
		f["hardware"] = f["hardware"] || s.Nodes[i].Hardware != ""
	}
	for i := range s.Pools {
		f["fitting"] = f["fitting"] || s.Pools[i].Policy.Fitting != 0
	}
	for i := range s.Workloads {
		w := &s.Workloads[i]
		set := &w.PodSets[0]
		slices := len(set.Topology.Slices) > 0
		constrained := slices || w.Topology.Required+w.Topology.Preferred+set.Topology.Required+set.Topology.Preferred != ""
		f["slices"] = f["slices"] || slices
		f["island"] = f["island"] || set.Request.GPU.Island != 0
		f["constrained"] = f["constrained"] || constrained
		f["runs constrained"] = f["runs constrained"] || constrained && len(w.Tasks) > 0
	}
	f["unconstrained"] = !f["constrained"]
	for i := range p.Pending {
		for j := range p.Pending[i].Reasons {
			code := p.Pending[i].Reasons[j].Code
			f["no domain"] = f["no domain"] || code == allot.NoDomain || code == allot.ImpossibleDomain
		}
	}
}

// A busyHost is a cluster on which more is asked than there is: workloads come and
// end, time passes, nodes are lost and come back, plans are carried out or set going.
// Nobody changes its nodes, pools and queues. What a snapshot of it decides has to be
// incremental nearly always.
type busyHost struct{ *treeHost }

// busyPolicies are those under which busy hosts live, with their loads in percent.
var busyPolicies = []struct {
	policy func() allot.Policy
	load   int
}{
	{allot.RunAI, 120}, {allot.RunAI, 120}, {allot.RunAI20, 120}, {allot.OSMO, 120},
	{allot.DeterminedFairShare, 95}, {allot.DeterminedPriority, 95},
}

// newBusyHost draws one; half of them have levels, and gangs that ask for one domain.
func newBusyHost(c chance) lawHost {
	calm := newCalmHost(c)
	h := busyHost{&treeHost{calm, 1 << 30, make(map[string]bool)}}
	one := busyPolicies[h.IntN(len(busyPolicies))]
	h.load, h.classes = one.load, []string{""}
	first := ""
	if len(h.s.Pools) > 0 {
		first = h.s.Pools[0].ID
	}
	h.s.Pools = []allot.Pool{{ID: "p", Policy: one.policy()}}
	kept := h.s.Queues[:0]
	for _, q := range h.s.Queues {
		if q.Pool == first {
			q.Pool = "p"
			kept = append(kept, q)
		}
	}
	h.s.Queues, h.s.Workloads = kept, nil
	if h.rarely(2) {
		h.every = oneOf(c, 2, 4)
		h.s.Levels = []allot.Level{{Name: "block"}, {Name: "rack"}}
		for i := range h.s.Nodes {
			h.settle(&h.s.Nodes[i])
		}
	}
	for h.wanted()*100 < h.load*h.gpus*len(h.s.Nodes) && len(h.s.Workloads) < 150 {
		h.arrive()
	}
	h.near()
	return h
}

// near has some of the new gangs ask for one rack.
func (h busyHost) near() {
	for i := range h.s.Workloads {
		w := &h.s.Workloads[i]
		if !h.known[w.ID] && w.PodSets[0].Count > 1 && h.rarely(h.every) {
			w.Topology = allot.Topology{Required: oneOf(h, "rack", "block"), Mode: gang.Pack}
		}
		h.known[w.ID] = true
	}
}

func (h busyHost) happen() string {
	defer h.near()
	switch n := h.IntN(20); {
	case n < 9:
		h.arrive()
		return "arrival"
	case n < 16:
		h.end()
		return "end"
	case n < 18:
		h.time()
		return "time"
	case n == 18:
		h.lose()
		return "node lost"
	}
	h.back()
	return "node back"
}

// A fewHost is a host of the stability tests that has few nodes, of unlike devices, which are
// lost, come back, are cordoned and change pools all the time: what is left of a pool is often one
// node, where what stands can only change its devices, or none.
type fewHost struct{ tightHost }

func newFewHost(c chance) lawHost {
	h := newStabilityHost(c)
	for i := range h.s.Pools {
		if !h.rarely(4) {
			h.s.Pools[i].Policy = oneOf(h, allot.RunAI, allot.RunAI20, allot.OSMO, allot.DeterminedFairShare, allot.DeterminedPriority, plainPolicy)()
		}
	}
	h.models = []string{"A", "H"} // of which work asks for one
	for i := range h.s.Nodes {
		devices := make([]allot.Device, 2+h.IntN(3))
		for d := range devices {
			devices[d] = allot.Device{Model: oneOf(h, "A", "A", "H"), Memory: oneOf[int64](h, 4, 4, 8)}
		}
		h.s.Nodes[i].Devices = devices
	}
	return fewHost{tightHost{h}}
}

func plainPolicy() allot.Policy { return allot.Policy{} }

func (h fewHost) happen() string {
	switch h.IntN(10) {
	case 0, 1, 2:
		h.use()
		return "use of a node"
	case 3, 4:
		h.arrival()
		h.plain()
		return "arrival"
	case 5:
		h.end()
		return "end"
	case 6:
		h.timePasses()
		return "time"
	}
	return h.change()
}

// plain has who came last mostly be one task, for devices of one model: few of them fill a node.
func (h fewHost) plain() {
	w := &h.s.Workloads[len(h.s.Workloads)-1]
	if h.rarely(4) {
		return
	}
	gpus := allot.GPURequest{Count: oneOf(h, 1, 1, 1, 2), Models: []string{oneOf(h, "A", "A", "H")}}
	if h.rarely(2) {
		gpus.Models = nil
	}
	w.PodSets, w.Groups, w.Alternatives = []allot.PodSet{{Count: 1, Request: allot.Request{GPU: gpus}}}, nil, nil
	w.Preemption = allot.Preemptible
}

// use has a node be lost or cordoned, or no longer, which is as likely, or change its pool.
func (h fewHost) use() {
	out := h.IntN(2) == 0
	var of []*allot.Node
	for i := range h.s.Nodes {
		if n := &h.s.Nodes[i]; out == (!n.Lost && !n.Cordoned) {
			of = append(of, n)
		}
	}
	switch {
	case h.rarely(10):
		h.poolChange(oneOf(h, h.s.Nodes...).ID)
	case len(of) == 0:
	case !out:
		n := oneOf(h, of...)
		n.Lost, n.Cordoned = n.Lost && h.rarely(8), false
	case len(of) > 1 || h.rarely(8): // mostly some node is left
		n := oneOf(h, of...)
		n.Lost = !h.rarely(3)
		n.Cordoned = !n.Lost || h.rarely(4)
	}
}
