package allot

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/preempt"
)

// A topologyGen draws small clusters of one to three levels, uneven, with nodes
// that lack some, and one gang that wants in beside what runs and cannot be moved.
type topologyGen struct {
	*rand.Rand
	s *State
}

func newTopologyGen(seed, stream uint64) *topologyGen {
	g := &topologyGen{rand.New(rand.NewPCG(seed, stream)), &State{}}
	g.s.Pools = []Pool{{ID: "p", Nodes: NodeSet{}, Policy: Policy{
		NoConsolidation: true, Reclaim: preempt.NoReclaim, Preempt: preempt.NoPreemption,
	}}}
	return g
}

func (g *topologyGen) rarely(n int) bool { return g.IntN(n) == 0 }

// some draws one of the values.
func (g *topologyGen) some(from ...int) int { return from[g.IntN(len(from))] }

// cluster draws the nodes: which of them are alike varies from all to none.
func (g *topologyGen) cluster(most int) {
	levels := 1 + g.IntN(3)
	for l := range levels {
		g.s.Levels = append(g.s.Levels, Level{Name: fmt.Sprint("l", l)})
	}
	alike := g.rarely(3)
	gpu, cpu := g.some(1, 2, 2, 3, 4), g.some(2, 4, 6)
	lacks := g.some(0, 0, 0, 6, 12) // one in so many levels of nodes; 0 is none
	widths := []int{1 + g.IntN(3), 1 + g.IntN(3), 1 + g.IntN(3)}
	for i := range 2 + g.IntN(most-1) {
		if !alike {
			gpu, cpu = g.some(0, 1, 2, 2, 3, 4), g.some(1, 2, 4, 6)
		}
		n := node(fmt.Sprintf("n%02d", i), gpu)
		n.Capacity = map[string]int64{CPU: int64(cpu)}
		n.Domains = make(map[string]string)
		for l := range levels {
			if lacks == 0 || !g.rarely(lacks) {
				n.Domains[g.s.Levels[l].Name] = string(rune('a' + g.IntN(widths[l])))
			}
		}
		g.s.Nodes = append(g.s.Nodes, n)
	}
	for i := range g.s.Nodes { // what runs
		n := &g.s.Nodes[i]
		for d := range n.Devices {
			if g.rarely(5) {
				g.s.Workloads = append(g.s.Workloads, Workload{ID: fmt.Sprint("r", len(g.s.Workloads)), Preemption: NonPreemptible,
					PodSets: []PodSet{{Count: 1, Request: gpus(1)}}, Tasks: []Task{task(Running, 0, n.ID, d)}})
			}
		}
	}
}

// level draws the name of a level, of the named ones and of the nodes, no wider
// than the one of that number; empty if none is asked for.
func (g *topologyGen) level(from, none int) string {
	if g.IntN(100) < none {
		return ""
	}
	at := from + g.IntN(len(g.s.Levels)+1-from)
	if at == len(g.s.Levels) {
		return NodeLevel
	}
	return g.s.Levels[at].Name
}

func (g *topologyGen) depth(level string) int {
	if level == "" {
		return 0
	}
	if level == NodeLevel {
		return len(g.s.Levels)
	}
	return slices.IndexFunc(g.s.Levels, func(l Level) bool { return l.Name == level })
}

// request draws what a task asks: mixed shapes.
func (g *topologyGen) request() Request {
	r := gpus(g.some(0, 1, 1, 1, 2, 2, 3))
	if r.GPU.Count == 0 || g.rarely(2) {
		r.Resources = map[string]int64{CPU: int64(g.some(1, 1, 2, 3))}
	}
	return r
}

// slices draws the nested slices of a set of so many tasks.
func (g *topologyGen) slices(count, depth int) (list []Slice) {
	size := count
	for depth <= len(g.s.Levels) && size > 1 && g.rarely(3) {
		var divisors []int
		for d := 1; d < size; d++ {
			if size%d == 0 && (d > 1 || g.rarely(8)) {
				divisors = append(divisors, d)
			}
		}
		if len(divisors) == 0 {
			break
		}
		size = g.some(divisors...)
		level := g.level(depth, 0)
		depth = g.depth(level) + 1
		list = append(list, Slice{Size: size, Level: level})
	}
	return list
}

// gang draws the gang: one to three sets, in groups or not, with required levels
// at each height; and slices.
func (g *topologyGen) gang() *Workload {
	w := Workload{ID: "w"}
	w.Topology.Required = g.level(0, 50)
	depth := g.depth(w.Topology.Required)
	sets, tasks := g.some(1, 1, 2, 2, 3), 0
	grouped := sets > 1 && g.rarely(2)
	if grouped {
		w.Groups = []Group{{Name: "g", Topology: Topology{Required: g.level(depth, 40)}}}
	}
	for k := range sets {
		ps := PodSet{Name: fmt.Sprint("s", k), Count: g.some(1, 1, 2, 2, 3, 4, 4, 6), Request: g.request()}
		most := 8
		if *topologyLarge {
			ps.Count, most = g.some(1, 2, 3, 4, 4, 6), 12
		}
		if tasks += ps.Count; tasks > most && k > 0 {
			break
		}
		below := depth
		if grouped && !g.rarely(3) {
			ps.Group, below = "g", max(depth, g.depth(w.Groups[0].Topology.Required))
		}
		ps.Topology.Required = g.level(below, 50)
		ps.Topology.Slices = g.slices(ps.Count, max(below, g.depth(ps.Topology.Required)))
		w.PodSets = append(w.PodSets, ps)
	}
	if grouped {
		g.someOfGroup(&w)
	}
	g.s.Workloads = append(g.s.Workloads, w)
	return &g.s.Workloads[len(g.s.Workloads)-1]
}

// someOfGroup lets fewer than all of a group's sets do, now and then.
func (g *topologyGen) someOfGroup(w *Workload) {
	inside := 0
	for i := range w.PodSets {
		if w.PodSets[i].Group == "g" {
			inside++
		}
	}
	switch {
	case inside == 0:
		w.Groups = nil
	case g.rarely(3):
		w.Groups[0].Min = 1 + g.IntN(inside)
	}
}

// begun has a part of the gang, which fits, run already where brute force has
// found places for all of it; then nodes that it would use are cordoned, now and
// then. It returns false where groups need less than all, of which it knows nothing.
func (g *topologyGen) begun(w *Workload) bool {
	var sets []int
	for k := range w.PodSets {
		sets = append(sets, k)
	}
	o := readTopology(g.s, w, sets)
	if len(w.Groups) > 0 && w.Groups[0].Min > 0 || !o.fits(o.everywhere()) {
		return false
	}
	free := make([][]int, len(g.s.Nodes))
	for n := range g.s.Nodes {
		for d := range g.s.Nodes[n].Devices {
			used := func(r Workload) bool {
				return slices.ContainsFunc(r.Tasks, func(t Task) bool { return t.Node == g.s.Nodes[n].ID && slices.Contains(t.Devices, d) })
			}
			if !slices.ContainsFunc(g.s.Workloads, used) {
				free[n] = append(free[n], d)
			}
		}
	}
	for t, n := range o.found {
		if task := &o.tasks[t]; g.rarely(2) {
			w.Tasks = append(w.Tasks, Task{PodSet: w.PodSets[task.set].Name, Index: task.index,
				Node: g.s.Nodes[n].ID, Devices: slices.Clone(free[n][:task.gpu])})
			free[n] = free[n][task.gpu:]
		}
	}
	for range g.some(0, 1, 2) { // of the nodes that it would use some take nothing new
		g.s.Nodes[o.found[g.IntN(len(o.found))]].Cordoned = true
	}
	return len(w.Tasks) > 0 && len(w.Tasks) < len(o.tasks)
}

// preferring draws a gang of one set or two with a preferred level and a mode.
func (g *topologyGen) preferring() *Workload {
	w := Workload{ID: "w"}
	t := Topology{Required: g.level(0, 60), Mode: gang.Mode(g.some(0, 0, 0, 1, 2))}
	t.Preferred = g.level(g.depth(t.Required), 0)
	ps := PodSet{Name: "s0", Count: g.some(2, 3, 4, 4, 5, 6, 7, 8), Request: g.request()}
	if g.rarely(2) {
		ps.Topology = t
		ps.Topology.Slices = g.slices(ps.Count, g.depth(t.Preferred))
	} else {
		w.Topology = t
	}
	w.PodSets = []PodSet{ps}
	if w.Topology.Preferred != "" && g.rarely(2) {
		more := PodSet{Name: "s1", Count: g.some(1, 1, 2, 3), Request: g.request()}
		w.PodSets = append(w.PodSets, more)
	}
	g.s.Workloads = append(g.s.Workloads, w)
	return &g.s.Workloads[len(g.s.Workloads)-1]
}
