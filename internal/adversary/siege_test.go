package adversary_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// A siegeKnob is one thing of which an adversarial state may have much or little.
type siegeKnob int

const (
	kNodes siegeKnob = iota
	kDevices
	kResources
	kQueues
	kDepth
	kFill   // percent of the devices that are in use
	kSpan   // tasks of what runs
	kParted // percent of requests for a part of a device
	kKinds  // of requests
	kPending
	kGang
	kSets
	kLinks // percent of pairs of devices that are joined
	kLevels
	kRequired
	kPreferred
	kSlices
	kForms
	kLeaving // percent
	kPriorities
	kPreset
	kElastic // percent
	kBudgets
	kStale
	kQuotas
	kHeld // percent that is non-preemptible
	knobs
)

// mostOf is how much of each there may be, beginning with none or one.
var mostOf = [knobs]int{
	kNodes: 192, kDevices: 32, kResources: 12, kQueues: 48, kDepth: 24, kFill: 100, kSpan: 16, kParted: 100, kKinds: 256,
	kPending: 256, kGang: 48, kSets: 5, kLinks: 100, kLevels: 2, kRequired: 2, kPreferred: 3, kSlices: 2, kForms: 5,
	kLeaving: 40, kPriorities: 40, kPreset: 5, kElastic: 100, kBudgets: 1, kStale: 1, kQuotas: 3, kHeld: 100,
}

// An adversary is what a state is built of: how much of what, and a seed for the rest.
type adversary struct {
	seed uint64
	much [knobs]int
}

func drawAdversary(r *rand.Rand) (a adversary) {
	a.seed = r.Uint64()
	for k := range a.much {
		a.much[k] = r.IntN(1 + mostOf[k])
	}
	return a
}

// mutated has one to three things be otherwise.
func (a adversary) mutated(r *rand.Rand) adversary {
	for range 1 + r.IntN(3) {
		k := r.IntN(int(knobs) + 1)
		if k == int(knobs) {
			a.seed = r.Uint64()
			continue
		}
		switch most := mostOf[k]; r.IntN(4) {
		case 0:
			a.much[k] = r.IntN(1 + most)
		case 1:
			a.much[k] /= 2
		default:
			a.much[k] = min(most, 1+2*a.much[k])
		}
	}
	return a
}

// A siege builds the state of an adversary.
type siege struct {
	adversary
	*rand.Rand
	state *allot.State
	leafs []string
}

func (a adversary) build() *allot.State {
	s := &siege{adversary: a, Rand: rand.New(rand.NewPCG(a.seed, 18)), state: &allot.State{Now: time.Unix(1_700_000_000, 0).UTC()}}
	presets := [...]func() allot.Policy{
		func() allot.Policy { return allot.Policy{} }, allot.RunAI, allot.RunAI20, allot.OSMO, allot.DeterminedFairShare, allot.DeterminedPriority,
	}
	policy := presets[a.much[kPreset]]()
	if a.much[kStale] > 0 {
		policy.StaleGangGrace = quota.Of(0)
	}
	s.state.Pools = []allot.Pool{{ID: "pool", Policy: policy}}
	s.nodes()
	s.queues()
	s.running()
	for range 1 + a.much[kPending] {
		w := s.workload(1+s.IntN(1+a.much[kGang]), 1+s.IntN(1+a.much[kSets]))
		s.state.Workloads = append(s.state.Workloads, w)
	}
	return s.state
}

func (s *siege) percent(k siegeKnob) bool { return s.IntN(100) < s.much[k] }

func (s *siege) nodes() {
	for i := range min(s.much[kLevels], 2) {
		s.state.Levels = append(s.state.Levels, allot.Level{Name: fmt.Sprint("level", i)})
	}
	for i := range 2 + s.much[kNodes] {
		n := allot.Node{ID: fmt.Sprintf("n%03d", i), Devices: make([]allot.Device, 1+s.much[kDevices]), Capacity: map[string]int64{allot.CPU: 64_000}}
		for r := range s.much[kResources] {
			n.Capacity[fmt.Sprint("resource", r)] = 1000
		}
		for l, level := range s.state.Levels {
			if n.Domains == nil {
				n.Domains = map[string]string{}
			}
			n.Domains[level.Name] = fmt.Sprint("d", i/(32>>(3*l)))
		}
		for b := range min(len(n.Devices), 16) * min(1, s.much[kLinks]) {
			for a := range b {
				if s.percent(kLinks) {
					n.Links = append(n.Links, allot.Link{A: a, B: b, NVLinks: 1 + s.IntN(3)})
				}
			}
		}
		s.state.Nodes = append(s.state.Nodes, n)
	}
}

func (s *siege) queues() {
	capacity := len(s.state.Nodes) * (1 + s.much[kDevices]) * 1000
	chains := 1 + s.much[kQueues]
	for i := range chains {
		parent := ""
		for depth := range 1 + s.IntN(1+s.much[kDepth]) {
			q := allot.Queue{ID: fmt.Sprintf("q%02d-%02d", i, depth), Parent: parent}
			if s.much[kQuotas] > 0 {
				part := [...]int{0, capacity / chains, s.IntN(1 + 2*capacity/chains), s.IntN(1+i) * capacity / (1 + chains*chains)}[s.much[kQuotas]]
				q.Resources = []allot.QueueResource{{Resource: allot.GPU, Quota: quota.Of(int64(part / 1000 * 1000))}}
			}
			s.state.Queues = append(s.state.Queues, q)
			parent = q.ID
		}
		s.leafs = append(s.leafs, parent)
	}
}

// running fills devices with work of so many tasks each, one device a task.
func (s *siege) running() {
	var w allot.Workload
	for d := range 1 + s.much[kDevices] {
		for _, n := range s.state.Nodes {
			if !s.percent(kFill) {
				continue
			}
			if len(w.PodSets) == 0 {
				w = s.workload(1+s.IntN(1+s.much[kSpan]), 1)
				w.Alternatives, w.Topology = nil, allot.Topology{}
				w.PodSets[0].Topology, w.PodSets[0].Request.GPU.Island = allot.Topology{}, 0
				w.PodSets[0].Request.GPU.Count = min(1, w.PodSets[0].Request.GPU.Count)
				w.PodSets[0].Request.Resources = map[string]int64{allot.CPU: int64(1 + s.IntN(1+s.much[kKinds]))}
			}
			t := allot.Task{PodSet: "s0", Index: len(w.Tasks), Node: n.ID, Devices: []int{d}, Since: s.state.Now.Add(-time.Hour)}
			if len(w.Tasks) == 0 && s.percent(kLeaving) {
				t.Phase = allot.Terminating
			}
			if w.Tasks = append(w.Tasks, t); len(w.Tasks) == w.PodSets[0].Count {
				s.state.Workloads = append(s.state.Workloads, w)
				w = allot.Workload{}
			}
		}
	}
	if len(w.Tasks) > 0 { // it has lost the others
		s.state.Workloads = append(s.state.Workloads, w)
	}
}

// workload draws one that waits.
func (s *siege) workload(tasks, sets int) allot.Workload {
	w := allot.Workload{
		ID: fmt.Sprintf("w%05d", len(s.state.Workloads)), Queue: s.leafs[s.IntN(len(s.leafs))], Priority: int32(s.IntN(1 + s.much[kPriorities])),
		Submitted: s.state.Now.Add(-time.Duration(1+s.IntN(7200)) * time.Second), PodSets: s.podSets(tasks, sets),
	}
	if s.much[kBudgets] > 0 {
		w.Owner = fmt.Sprint("owner", s.IntN(8))
	}
	if s.percent(kHeld) {
		w.Preemption = allot.NonPreemptible
	}
	if levels := len(s.state.Levels); levels > 0 && s.much[kRequired]+s.much[kPreferred] > 0 {
		if s.much[kRequired] > 0 {
			w.Topology.Required = s.state.Levels[min(levels, s.much[kRequired])-1].Name
		}
		if p := s.much[kPreferred]; p > 0 && levels == 2 {
			w.Topology.Preferred = s.state.Levels[1].Name
			w.Topology.Mode = [...]gang.Mode{0, 0, gang.Balance, gang.Spread}[p]
		}
	}
	for i := range s.IntN(1 + s.much[kForms]) {
		w.Alternatives = append(w.Alternatives, allot.Form{PodSets: s.podSets(tasks+i, 1)})
	}
	return w
}

func (s *siege) podSets(tasks, sets int) (out []allot.PodSet) {
	for i := range sets {
		p := allot.PodSet{Name: fmt.Sprint("s", i), Count: tasks, Request: allot.Request{Resources: map[string]int64{allot.CPU: int64(1 + s.IntN(1+s.much[kKinds]))}}}
		for r := range s.IntN(1 + s.much[kResources]) {
			p.Request.Resources[fmt.Sprint("resource", r)] = int64(1 + s.IntN(500))
		}
		switch g := &p.Request.GPU; {
		case s.percent(kParted):
			g.Milli = int64(50 + s.IntN(950))
		default:
			if g.Count = 1 + s.IntN(1+s.much[kDevices]); s.percent(kLinks) {
				g.Island = placement.NVLinkIsland
			}
		}
		if s.percent(kElastic) {
			p.Min = 1
		}
		if levels := len(s.state.Levels); s.much[kSlices] > 0 && levels > 0 && tasks > 1 && p.Min == 0 {
			p.Topology.Slices = []allot.Slice{{Size: s.divisor(tasks), Level: s.state.Levels[levels-1].Name}}
		}
		out = append(out, p)
	}
	return out
}

// divisor is some divisor of n.
func (s *siege) divisor(n int) int {
	for d := 1 + s.IntN(n); ; d-- {
		if n%d == 0 {
			return d
		}
	}
}
