package main

import (
	"math"
	"math/rand"
	"slices"
	"strconv"

	"github.com/allotsched/allot/placement"
)

// The oracle is the published policies with the floating-point numbers of the
// published runs, as plainly as can be: it gives every cell of the published tables.
// It takes nothing from package placement but the names of the strategies.
type oracle struct {
	policy placement.Strategy
	nodes  []*oracleNode // by rank
	mix    []share
	freq   []float64 // by share of the mix
	// accepted says by model which shares of the mix take it.
	accepted map[string][]bool
	unit     float64 // by which what is fragmented is divided
	random   *rand.Rand
}

type oracleNode struct {
	machine   *machine
	cpu, mem  int64
	gpus      []int64
	pods      int
	teams     map[string]int // the pods that ask GPUs, by how many
	version   int
	fragments float64
}

// oracleRun makes one run and returns its cells at two decimals. If it is exact, the
// frequencies are counts, so that sums of what is fragmented are whole numbers and
// nothing is rounded but in the sigmoid.
func oracleRun(c *cluster, w *workload, policy placement.Strategy, load int, seed int64, exact bool) (allocated, fragmented []string) {
	pods, rank := w.arrivals(c, load, seed)
	o := newOracle(c, w, policy, rank, seed, exact)
	var counts, sumAllocated, sumFragmented [maxLoad + 2]float64
	arrived, taken, fragments := int64(0), int64(0), 0.0
	for _, n := range o.nodes {
		fragments += n.fragments
	}
	remembered := make(map[demand][]oracleScore)
	all := float64(c.milli)
	for i := range pods {
		d := &pods[i].demand
		scores, ok := remembered[*d]
		if !ok {
			scores = make([]oracleScore, len(o.nodes))
			remembered[*d] = scores
		}
		if n, devices := o.choose(d, scores); n != nil {
			fragments -= n.fragments
			o.take(n, d, devices)
			fragments += n.fragments
			taken += d.milli()
		}
		arrived += d.milli()
		k := int(math.RoundToEven(float64(arrived) * 100 / all))
		counts[k]++
		sumAllocated[k] += math.Round(float64(taken)*100/all*100) / 100
		sumFragmented[k] += fragments * 100 / all / o.unit
	}
	for k := range load + 1 {
		allocated = append(allocated, strconv.FormatFloat(sumAllocated[k]/counts[k], 'f', 2, 64))
		fragmented = append(fragmented, strconv.FormatFloat(sumFragmented[k]/counts[k], 'f', 2, 64))
	}
	return allocated, fragmented
}

func newOracle(c *cluster, w *workload, policy placement.Strategy, rank []int, seed int64, exact bool) *oracle {
	o := &oracle{policy: policy, nodes: make([]*oracleNode, len(rank)), mix: w.mix, accepted: make(map[string][]bool), random: rand.New(rand.NewSource(seed))}
	covered := int64(0)
	for i := range w.mix {
		covered += w.mix[i].count
	}
	all := float64(len(w.pods))
	o.unit = 1
	if exact {
		o.unit = float64(covered)
	}
	for i := range w.mix {
		count := float64(w.mix[i].count)
		if !exact {
			count = count / all / (float64(covered) / all)
		}
		o.freq = append(o.freq, count)
	}
	for i := range c.machines {
		m := &c.machines[i]
		n := &oracleNode{machine: m, cpu: m.cpuMilli, mem: m.memoryMiB, teams: make(map[string]int), version: 1}
		for range m.gpus {
			n.gpus = append(n.gpus, 1000)
		}
		if _, ok := o.accepted[m.model]; !ok {
			for k := range w.mix {
				o.accepted[m.model] = append(o.accepted[m.model], w.mix[k].accepts(m.model))
			}
		}
		n.fragments = o.fragments(n, n.cpu)
		o.nodes[rank[i]] = n
	}
	return o
}

// An oracleScore is remembered until the node changes.
type oracleScore struct {
	version int
	fits    bool
	score   int64
	devices []int
}

// choose returns the feasible node of the highest score, the lowest rank of
// several, and the devices there.
func (o *oracle) choose(d *demand, scores []oracleScore) (*oracleNode, []int) {
	var feasible []int
	lowest, highest := int64(math.MaxInt64), int64(math.MinInt64)
	for v, n := range o.nodes {
		s := &scores[v]
		if s.version != n.version {
			*s = oracleScore{version: n.version, fits: n.fits(d)}
			if s.fits {
				s.score, s.devices = o.score(n, d)
			}
		}
		if s.fits {
			feasible = append(feasible, v)
			lowest, highest = min(lowest, s.score), max(highest, s.score)
		}
	}
	if len(feasible) == 0 {
		return nil, nil
	}
	if o.policy == placement.Random {
		v := feasible[o.random.Intn(len(feasible))]
		return o.nodes[v], o.anyOf(o.nodes[v], d)
	}
	best, bestScore := -1, int64(-1)
	for _, v := range feasible {
		score := scores[v].score
		if o.policy == placement.BestFit && highest > lowest {
			score = (score - lowest) * 100 / (highest - lowest)
		}
		if score > bestScore {
			best, bestScore = v, score
		}
	}
	return o.nodes[best], scores[best].devices
}

func (n *oracleNode) fits(d *demand) bool {
	if n.cpu < d.cpuMilli || n.mem < d.memoryMiB || n.pods >= slots {
		return false
	}
	return d.gpus == 0 || d.accepts(n.machine.model) && len(n.withRoom(d)) >= d.gpus
}

func (n *oracleNode) withRoom(d *demand) (devices []int) {
	for i, left := range n.gpus {
		if left >= d.gpuMilli {
			devices = append(devices, i)
		}
	}
	return devices
}

func (n *oracleNode) left() (sum int64) {
	for _, left := range n.gpus {
		sum += left
	}
	return sum
}

// tightest are the devices that a pod gets: the fullest for a part of one, else the
// first.
func (n *oracleNode) tightest(d *demand) []int {
	devices := n.withRoom(d)
	if d.gpus == 1 {
		return []int{slices.MinFunc(devices, func(a, b int) int { return int(n.gpus[a] - n.gpus[b]) })}
	}
	return devices[:d.gpus]
}

func (o *oracle) anyOf(n *oracleNode, d *demand) []int {
	devices := n.withRoom(d)
	if d.gpus == 1 {
		return []int{devices[o.random.Intn(len(devices))]}
	}
	return devices[:d.gpus]
}

// take places the pod.
func (o *oracle) take(n *oracleNode, d *demand, devices []int) {
	n.cpu -= d.cpuMilli
	n.mem -= d.memoryMiB
	n.pods++
	if d.gpus > 0 {
		n.teams[team(d)]++
		for _, i := range devices {
			n.gpus[i] -= d.gpuMilli
		}
	}
	n.version++
	n.fragments = o.fragments(n, n.cpu)
}

// team is how many GPUs a pod asks; a part of one is not one.
func team(d *demand) string {
	if d.gpus == 1 && d.gpuMilli < 1000 {
		return "part"
	}
	return strconv.Itoa(d.gpus)
}

// score is what the policy gives a feasible node, and the devices there.
func (o *oracle) score(n *oracleNode, d *demand) (int64, []int) {
	const mostCPU, mostGPU = 128_000, 8_000
	left := n.left()
	if d.gpus == 0 && (o.policy == placement.GPUPacking || o.policy == placement.GPUClustering) {
		return 0, nil
	}
	devices := n.devices(d)
	switch o.policy {
	case placement.DotProduct:
		cpu := float64(n.cpu) / mostCPU * float64(d.cpuMilli) / mostCPU
		gpu := float64(left) / mostGPU * float64(d.milli()) / mostGPU
		return int64((1 - (cpu+gpu)/2) * 100), devices
	case placement.BestFit:
		return int64((1 - 0.5*float64(n.cpu-d.cpuMilli)/mostCPU - 0.5*float64(left-d.milli())/mostGPU) * 100), devices
	case placement.GPUPacking:
		return n.packing(d, devices), devices
	case placement.GPUClustering:
		ours := n.teams[team(d)] > 0
		base := 0.0
		switch {
		case ours && len(n.teams) == 1:
			base = 75
		case ours:
			base = 50
		case len(n.teams) == 0:
			base = 25
		}
		return int64(base + 25*float64(mostGPU-left)/mostGPU), devices
	case placement.FragmentationGradient:
		return o.gradient(n, d)
	}
	return 0, devices
}

// devices are what a pod gets on the node.
func (n *oracleNode) devices(d *demand) []int {
	if d.gpus == 0 {
		return nil
	}
	return n.tightest(d)
}

// packing: 100 less a tenth of what is free of a shared GPU, in percent; 50 less the
// GPUs opened on a used node; 33 less the GPUs of an idle one.
func (n *oracleNode) packing(d *demand, devices []int) int64 {
	switch free := n.gpus[devices[0]]; {
	case free < 1000:
		return 100 - free/100
	case n.left() < int64(1000*len(n.gpus)):
		return 50 - int64(d.gpus)
	}
	return 33 - int64(len(n.gpus))
}

// gradient is 100 sigmoids of how much less is fragmented after than before, cut off
// to a whole number.
func (o *oracle) gradient(n *oracleNode, d *demand) (best int64, devices []int) {
	options := [][]int{nil}
	switch {
	case d.gpus == 1 && d.gpuMilli < 1000:
		options = nil
		for _, i := range n.withRoom(d) {
			options = append(options, []int{i})
		}
	case d.gpus > 0:
		options = [][]int{n.withRoom(d)[:d.gpus]}
	}
	best = -1
	for _, option := range options {
		for _, i := range option {
			n.gpus[i] -= d.gpuMilli
		}
		after := o.fragments(n, n.cpu-d.cpuMilli)
		for _, i := range option {
			n.gpus[i] += d.gpuMilli
		}
		if score := int64(100 / (1 + math.Exp(-(n.fragments-after)/o.unit/1000))); score > best {
			best, devices = score, option
		}
	}
	return best, devices
}

// fragments is F of a node. The sum is in parts, by why a demand cannot use what is
// free, and those are added up last: the order of the additions shows in the last
// bits, and the last bits in the published table, see testdata/gaps.txt.
func (o *oracle) fragments(n *oracleNode, cpu int64) float64 {
	const lacksBoth, lacksGPU, lacksCPU, cpuOnly, cpuOnlyLacks, lacksModel, reasons = 0, 1, 2, 3, 4, 5, 6
	var sums [reasons]float64
	left := n.left()
	for i := range o.mix {
		d, amount := &o.mix[i], left
		room, short := 0, int64(0)
		for _, free := range n.gpus {
			if free >= d.gpuMilli {
				room++
			} else {
				short += free
			}
		}
		enough := room >= d.gpus
		why := lacksBoth
		switch {
		case d.gpus == 0 && cpu >= d.cpuMilli:
			why = cpuOnly
		case d.gpus == 0:
			why = cpuOnlyLacks
		case !o.accepted[n.machine.model][i]:
			why = lacksModel
		case enough && cpu >= d.cpuMilli:
			why, amount = lacksGPU, short
		case enough:
			why = lacksCPU
		case cpu >= d.cpuMilli:
			why = lacksGPU
		}
		sums[why] += o.freq[i] * float64(amount)
	}
	total := 0.0
	for _, sum := range sums {
		total += sum
	}
	return total
}
