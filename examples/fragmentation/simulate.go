package main

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/allotsched/allot/examples/internal/openb"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// The resources of the index.
const (
	resourceCPU = iota
	resourceMemory
	resources
)

// slots are the pods that a node holds at most, as in the published runs.
const slots = 1001

// A series is one run: by percent of the GPUs that the arrived pods ask, what is
// allocated and what is fragmented, in hundredths of a percent of all GPUs, and how
// many nodes are idle.
type series struct {
	Allocated  []int64 `json:"allocated"`
	Fragmented []int64 `json:"fragmented"`
	// Idle is how many nodes of the most GPUs have all of them free, in tenths of
	// a node.
	Idle []int64 `json:"idle"`
	pods int
}

// A simulation is a cluster that fills up.
type simulation struct {
	cluster *cluster
	index   *placement.Index
	models  map[string]int32
	// accepted says by model which shares of the mix take it.
	accepted map[string][]bool
	shapes   map[demand]placement.Shape
	nodes    []nodeState // by rank
	mix      []share
	weight   int64 // of the mix
	// allocated is in milli; fragmented in milli times the weight of the mix.
	allocated, fragmented int64
	idle                  int64 // nodes of the most GPUs
	most                  int
}

// simulate makes one run.
func simulate(c *cluster, w *workload, policy placement.Strategy, load int, seed int64) (*series, error) {
	pods, rank := w.arrivals(c, load, seed)
	s, err := newSimulation(c, w, rank, seed)
	if err != nil {
		return nil, err
	}
	return s.run(pods, policy, load)
}

func (s *simulation) run(pods []pod, policy placement.Strategy, load int) (*series, error) {
	cells := make([]cell, load+1)
	arrived, idle := int64(0), 10*s.idle
	for i := range pods {
		if err := s.place(&pods[i].demand, policy); err != nil {
			return nil, fmt.Errorf("%s: %w", pods[i].name, err)
		}
		arrived += pods[i].milli()
		if k := halfToEven(arrived*100, s.cluster.milli); k <= int64(load) {
			cells[k].events++
			cells[k].allocated += (s.allocated*20_000 + s.cluster.milli) / (2 * s.cluster.milli)
			cells[k].idle += s.idle
			cells[k].fragmented.Add(&cells[k].fragmented, big.NewInt(s.fragmented))
		}
	}
	out := s.series(cells, len(pods))
	for k := 0; k <= load && cells[k].events == 0; k++ {
		out.Idle[k] = idle
	}
	return out, nil
}

func newSimulation(c *cluster, w *workload, rank []int, seed int64) (*simulation, error) {
	s := &simulation{
		cluster: c, models: make(map[string]int32), accepted: make(map[string][]bool), shapes: make(map[demand]placement.Shape),
		nodes: make([]nodeState, len(c.machines)), mix: w.mix,
	}
	for i := range w.mix {
		s.weight += w.mix[i].count
	}
	nodes := make([]placement.Node, len(c.machines))
	for i := range c.machines {
		s.most = max(s.most, c.machines[i].gpus)
	}
	for i := range c.machines {
		m := &c.machines[i]
		devices := make([]placement.Device, m.gpus)
		left := make([]int64, m.gpus)
		for d := range devices {
			devices[d].Model, left[d] = s.model(m.model), 1000
		}
		nodes[rank[i]] = placement.Node{
			Capacity: []int64{resourceCPU: m.cpuMilli, resourceMemory: m.memoryMiB},
			Devices:  devices, Slots: slots, CPUOnlySlots: placement.NoCap,
		}
		s.nodes[rank[i]] = nodeState{accepted: s.accepts(m.model), cpuLeft: m.cpuMilli, left: left}
	}
	for v := range s.nodes {
		s.nodes[v].measure(s.mix)
		s.fragmented += s.nodes[v].fragmented
		s.idle += s.whole(&s.nodes[v])
	}
	index, err := placement.NewIndex(nodes, resources)
	if err != nil {
		return nil, err
	}
	s.index = index
	scoring := placement.Scoring{Seed: uint64(seed), CPU: resourceCPU}
	for i := range w.mix {
		scoring.Mix = append(scoring.Mix, placement.Target{Request: s.request(&w.mix[i].demand), Weight: w.mix[i].count})
	}
	return s, index.SetScoring(scoring)
}

// model numbers the models of GPUs.
func (s *simulation) model(name string) int32 {
	number, ok := s.models[name]
	if !ok {
		number = int32(len(s.models))
		s.models[name] = number
	}
	return number
}

// accepts says which shares of the mix take GPUs of a model.
func (s *simulation) accepts(model string) []bool {
	accepted, ok := s.accepted[model]
	if !ok {
		for i := range s.mix {
			accepted = append(accepted, s.mix[i].accepts(model))
		}
		s.accepted[model] = accepted
	}
	return accepted
}

func (s *simulation) request(d *demand) placement.Request {
	r := placement.Request{Devices: int32(d.gpus), Milli: d.gpuMilli, Set: -1}
	for resource, value := range [resources]int64{resourceCPU: d.cpuMilli, resourceMemory: d.memoryMiB} {
		if value > 0 {
			r.Amounts = append(r.Amounts, quota.Amount{Resource: int32(resource), Value: value})
		}
	}
	if d.models != "" {
		for name := range strings.SplitSeq(d.models, openb.ModelSeparator) {
			r.Models = append(r.Models, s.model(name))
		}
		slices.Sort(r.Models)
		r.Models = slices.Compact(r.Models)
	}
	return r
}

func (s *simulation) shape(d *demand) placement.Shape {
	shape, ok := s.shapes[*d]
	if !ok {
		shape = s.index.Shape(s.request(d))
		s.shapes[*d] = shape
	}
	return shape
}

// place finds a place for one pod and takes it.
func (s *simulation) place(d *demand, policy placement.Strategy) error {
	shape := s.shape(d)
	place, ok := s.index.Find(shape, policy)
	if !ok {
		return nil
	}
	if err := s.index.Take(shape, place); err != nil {
		return err
	}
	s.allocated += d.milli()
	n := &s.nodes[place.Node]
	s.fragmented -= n.fragmented
	s.idle -= s.whole(n)
	n.cpuLeft -= d.cpuMilli
	for i := range n.left {
		if place.Devices&(1<<i) != 0 {
			n.left[i] -= d.gpuMilli
		}
	}
	n.measure(s.mix)
	s.fragmented += n.fragmented
	s.idle += s.whole(n)
	return nil
}

// whole is 1 for a node of the most GPUs all of which are free.
func (s *simulation) whole(n *nodeState) int64 {
	if len(n.left) < s.most || slices.ContainsFunc(n.left, func(l int64) bool { return l < 1000 }) {
		return 0
	}
	return 1
}

// A nodeState is what is left of a node, as far as the mix minds it.
type nodeState struct {
	accepted   []bool // by share of the mix: whether it takes GPUs of the node's model
	cpuLeft    int64
	left       []int64 // by device, in milli
	fragmented int64   // in milli times the weight of the mix
}

// measure is FGD's measure of fragmentation: to a demand that asks no GPU, or that
// the node cannot take for lack of CPU, of an accepted model or of GPUs with enough
// free, all that is free is fragments; to another, what is free on GPUs with less
// free than it asks.
func (n *nodeState) measure(mix []share) {
	free := int64(0)
	for _, l := range n.left {
		free += l
	}
	n.fragmented = 0
	if free == 0 {
		return
	}
	for i := range mix {
		d := &mix[i]
		enough, short := 0, int64(0)
		for _, l := range n.left {
			if l >= d.gpuMilli {
				enough++
			} else {
				short += l
			}
		}
		if d.gpus == 0 || enough < d.gpus || n.cpuLeft < d.cpuMilli || !n.accepted[i] {
			short = free
		}
		n.fragmented += d.count * short
	}
}

// A cell sums over the arrivals that round to one percentage. Allocated is in
// hundredths of a percent, each rounded, as in the published runs; fragmented is in
// milli times the weight of the mix.
type cell struct {
	events, allocated, idle int64
	fragmented              big.Int
}

// series are the means of the cells; where nothing arrived, that of the cell before.
func (s *simulation) series(cells []cell, pods int) *series {
	out := &series{Allocated: make([]int64, len(cells)), Fragmented: make([]int64, len(cells)), Idle: make([]int64, len(cells)), pods: pods}
	for k := range cells {
		c := &cells[k]
		if c.events == 0 {
			if k > 0 {
				out.Allocated[k], out.Fragmented[k], out.Idle[k] = out.Allocated[k-1], out.Fragmented[k-1], out.Idle[k-1]
			}
			continue
		}
		out.Allocated[k] = halfToEven(c.allocated, c.events)
		out.Idle[k] = halfToEven(10*c.idle, c.events)
		out.Fragmented[k] = hundredths(&c.fragmented, c.events, s.weight, s.cluster.milli)
	}
	return out
}

// halfToEven is a/b rounded to the nearest whole number, for a ≥ 0 and b > 0.
func halfToEven(a, b int64) int64 {
	q, rest := a/b, a%b
	if rest > b-rest || rest == b-rest && q%2 == 1 {
		q++
	}
	return q
}

// hundredths is a/(b1·b2·…) in hundredths of a percent, rounded half up.
func hundredths(a *big.Int, by ...int64) int64 {
	above := new(big.Int).Mul(a, big.NewInt(10_000))
	below := big.NewInt(1)
	for _, b := range by {
		below.Mul(below, big.NewInt(b))
	}
	above.Add(above.Lsh(above, 1), below)
	return above.Div(above, below.Lsh(below, 1)).Int64()
}
