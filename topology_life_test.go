package allot_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/deep"
	"github.com/allotsched/allot/placement"
)

var topologyShown = flag.Int("topology.shown", 3, "broken laws that are told in full")

// TestTopologyLives lets small clusters with a topology live: work arrives and
// ends, nodes and devices are lost and come back, quotas change; who is evicted,
// moved or replaced is so under the laws of stability. What runs and is claimed
// keeps its constraints all the time, by a plain look at the state.
func TestTopologyLives(t *testing.T) {
	total, budget := newStabilityStats(), deep.New(t, 150)
	failures := inParallel(budget, (*stabilityStats).seeds, func(seed uint64, stats *stabilityStats) *failure {
		return liveOnTopology(seed, stats)
	}, total)
	kinds := make(map[string]int)
	for i, f := range failures {
		kinds[f.broken.kind]++
		if i < *topologyShown {
			t.Log(f.report())
		}
	}
	total.log(t)
	if len(failures) > 0 {
		t.Errorf("%d of %d solves break a law: %v", len(failures), total.solves, kinds)
	}
	if total.lives >= 250 {
		for feature, least := range map[string]int{ // each is judged by itself
			"constrained": 40, "pinned": 5, "slices": 5, "evict": 5, "move": 1, "displaced": 3, "islands": 5,
		} {
			if total.features[feature]*100 < least*total.decisions {
				t.Errorf("%s: %d of %d decisions, less than %d%%", feature, total.features[feature], total.decisions, least)
			}
		}
	}
}

// liveOnTopology is the life of one cluster, as in live.
func liveOnTopology(seed uint64, stats *stabilityStats) *failure {
	random := rand.New(rand.NewPCG(seed, 22))
	h := newStabilityHost(random)
	pave(h)
	known := make(map[string]bool)
	cause := "the beginning"
	for range causesPerLife {
		constrain(h, known)
		how := schedule{mode: oneOf(random, applies, begins, begins, appliesPart, beginsPart), seed: random.Uint64()}
		if random.IntN(10) > 0 {
			how.rounds = 1 + random.IntN(3)/2
		}
		if p, err := allot.Solve(h.s); err == nil {
			countTopology(h.s, p, stats)
			for _, carry := range []func(*allot.State, *allot.Plan) (*allot.State, error){allot.Apply, allot.Begin} {
				if next, err := carry(h.s, p); err == nil {
					if wrong := parted(next); wrong != "" {
						return &failure{h.s, how, cause, &restError{kind: "constraint", text: wrong + "\n" + p.String()}}
					}
				}
			}
		}
		next, broken := rest(h.s, how, stats)
		if broken == nil {
			if wrong := parted(next); wrong != "" {
				broken = &restError{kind: "constraint", text: wrong}
			}
		}
		if broken != nil {
			return &failure{h.s, how, cause, broken}
		}
		h.s = next
		cause = h.change()
		for random.IntN(3) == 0 {
			cause += ", " + h.change()
		}
		stats.hostSteps++
	}
	return nil
}

// pave gives the cluster levels, more nodes, and devices their sockets.
func pave(h *stabilityHost) {
	h.s.Levels = []allot.Level{{Name: "zone"}, {Name: "rack"}}
	for i := range 1 + h.IntN(4) {
		n := h.node(len(h.s.Nodes))
		pool := &h.s.Pools[i%len(h.s.Pools)]
		pool.Nodes.IDs = append(pool.Nodes.IDs, n.ID)
		h.s.Nodes = append(h.s.Nodes, n)
	}
	zones, racks := 1+h.IntN(2), 1+h.IntN(3)
	for i := range h.s.Nodes {
		n := &h.s.Nodes[i]
		n.Domains = make(map[string]string)
		if !h.rarely(10) {
			n.Domains["zone"] = fmt.Sprint("z", h.IntN(zones))
		}
		if !h.rarely(10) {
			n.Domains["rack"] = fmt.Sprint("r", h.IntN(racks))
		}
		for d := range n.Devices {
			n.Devices[d].Socket = 1 + d/2
		}
	}
}

// constrain gives work that is new constraints, or none.
func constrain(h *stabilityHost, known map[string]bool) {
	for i := range h.s.Workloads {
		w := &h.s.Workloads[i]
		if known[w.ID] {
			continue
		}
		known[w.ID] = true
		w.PodSets = slices.Clone(w.PodSets)
		h.topologyOf(&w.Topology)
		w.Groups = slices.Clone(w.Groups)
		for k := range w.Groups {
			h.topologyOf(&w.Groups[k].Topology)
		}
		for k := range w.PodSets {
			h.topologyOfSet(&w.PodSets[k])
		}
	}
}

func (h *stabilityHost) topologyOf(t *allot.Topology) {
	switch h.IntN(5) {
	case 0:
		t.Required = oneOf(h, "zone", "rack", "rack", allot.NodeLevel)
	case 1:
		t.Preferred = oneOf(h, "zone", "rack", allot.NodeLevel)
		t.Mode = oneOf(h, gang.Pack, gang.Balance, gang.Spread)
	case 2:
		t.Required, t.Preferred, t.Mode = "zone", "rack", oneOf(h, gang.Pack, gang.Balance, gang.Spread)
	}
}

func (h *stabilityHost) topologyOfSet(ps *allot.PodSet) {
	h.topologyOf(&ps.Topology)
	if ps.Count%2 == 0 && ps.Min%2 == 0 && ps.Step == gang.ByOne && !h.rarely(3) {
		ps.Topology = allot.Topology{Slices: []allot.Slice{{Size: 2, Level: oneOf(h, "zone", "rack", "rack", allot.NodeLevel)}}}
	}
	if ps.Request.GPU.Count > 1 && h.rarely(2) {
		ps.Request.GPU.Island = placement.SocketIsland
	}
}

// countTopology counts what a first plan has to do with the topology.
func countTopology(s *allot.State, p *allot.Plan, stats *stabilityStats) {
	if len(p.Actions) == 0 {
		return
	}
	met := make(map[string]bool)
	for _, a := range p.Actions {
		w := &s.Workloads[slices.IndexFunc(s.Workloads, func(w allot.Workload) bool { return w.ID == a.Workload })]
		places := a.Kind == allot.Start || a.Kind == allot.Resize || a.Kind == allot.Move
		bound := len(together(w)) > 0
		met["displaced"] = met["displaced"] || a.Kind == allot.Displace
		met["constrained"] = met["constrained"] || places && bound
		met["pinned"] = met["pinned"] || places && bound && len(w.Tasks) > 0
		for _, ps := range w.PodSets {
			met["slices"] = met["slices"] || places && len(ps.Topology.Slices) > 0
			met["islands"] = met["islands"] || places && ps.Request.GPU.Island != placement.AnyIsland
		}
	}
	for name, has := range met { // counting has no order
		if has {
			stats.features[name]++
		}
	}
}

// A sharing is a level and who shares a domain of it: what the tasks have in common
// for which it is the same.
type sharing struct {
	level string
	of    func(t *allot.Task) string // empty is nobody
}

// together lists what the first form of a workload binds.
func together(w *allot.Workload) (list []sharing) {
	add := func(level string, of func(t *allot.Task) string) {
		if level != "" {
			list = append(list, sharing{level, of})
		}
	}
	groupOf := make(map[string]string)
	add(w.Topology.Required, func(*allot.Task) string { return "all" })
	for _, ps := range w.PodSets {
		groupOf[ps.Name] = ps.Group
		mine := func(t *allot.Task) bool { return t.PodSet == ps.Name }
		add(ps.Topology.Required, func(t *allot.Task) string {
			if mine(t) {
				return "set"
			}
			return ""
		})
		for _, slice := range ps.Topology.Slices {
			add(slice.Level, func(t *allot.Task) string {
				if mine(t) {
					return fmt.Sprint("slice ", t.Index/slice.Size)
				}
				return ""
			})
		}
	}
	for _, g := range w.Groups { // the host nests none
		add(g.Topology.Required, func(t *allot.Task) string {
			if groupOf[t.PodSet] == g.Name {
				return "group"
			}
			return ""
		})
	}
	return list
}

// inPool says whether a node is in the pool of the workload's first form.
func inPool(s *allot.State, w *allot.Workload, node string) bool {
	queue := &s.Queues[slices.IndexFunc(s.Queues, func(q allot.Queue) bool { return q.ID == w.Queue })]
	return slices.ContainsFunc(s.Pools, func(p allot.Pool) bool {
		return p.ID == queue.Pool && slices.Contains(p.Nodes.IDs, node)
	})
}

// parted names a workload of which what runs and is claimed breaks a constraint;
// empty is none. What stands outside its pool pins nothing (S7).
func parted(s *allot.State) string {
	path := func(id, level string) string {
		n := &s.Nodes[slices.IndexFunc(s.Nodes, func(n allot.Node) bool { return n.ID == id })]
		switch {
		case level == allot.NodeLevel:
			return id
		case n.Domains[level] == "":
			return ""
		case level == "zone":
			return n.Domains["zone"]
		}
		return n.Domains["zone"] + "/" + n.Domains["rack"]
	}
	for i := range s.Workloads {
		w := &s.Workloads[i]
		if w.Form != 0 {
			continue // other forms ask for nothing
		}
		for _, sharing := range together(w) {
			home := make(map[string]string)
			for k := range w.Tasks {
				t := &w.Tasks[k]
				who := sharing.of(t)
				if t.Phase == allot.Terminating || who == "" || !inPool(s, w, t.Node) {
					continue
				}
				at := path(t.Node, sharing.level)
				if first, known := home[who]; at == "" || known && first != at {
					return strings.TrimSpace(fmt.Sprintf("%s: %s is not in one %s", w.ID, who, sharing.level))
				}
				home[who] = at
			}
		}
	}
	return ""
}
