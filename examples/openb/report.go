package main

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot"
)

// A report is everything that is printed to standard output. All amounts of
// GPU are in milli-GPU.
type report struct {
	NodeSource  string `json:"nodeSource"`
	PodSource   string `json:"podSource"`
	Preset      string `json:"preset"`
	Strategy    string `json:"strategy"`
	LoadPercent int    `json:"loadPercent"`

	Nodes   int    `json:"nodes"`
	GPU     int64  `json:"gpu"`
	Arrived amount `json:"arrived"`
	Placed  amount `json:"placed"`
	Waiting amount `json:"waiting"`
	// Verified says that verify.Plan found the plan lawful; false if it was
	// not asked.
	Verified bool `json:"verified"`

	Models  []modelFigures `json:"models"`
	Queues  []queueFigures `json:"queues"`
	Reasons []waiting      `json:"reasons"`
	Free    freeFigures    `json:"free"`
	Work    allot.Work     `json:"work"`
}

// An amount counts pods and the milli-GPU that they ask.
type amount struct {
	Pods int   `json:"pods"`
	GPU  int64 `json:"gpu"`
}

func (a *amount) add(p *pod) {
	a.Pods++
	a.GPU += p.gpuMilliAsked()
}

// modelFigures are what is allocated on the nodes of one GPU model.
type modelFigures struct {
	Model     string `json:"model"`
	Nodes     int    `json:"nodes"`
	GPU       int64  `json:"gpu"`
	Allocated int64  `json:"allocated"`
	// FreeWhole is what is free on devices that nobody uses.
	FreeWhole int64 `json:"freeWhole"`
	CPU       int64 `json:"cpu"`
	CPUUsed   int64 `json:"cpuUsed"`
}

// queueFigures are a queue's share of GPU and what of it waits.
type queueFigures struct {
	allot.Share
	Waiting amount `json:"waiting"`
	parent  string
}

// waiting counts the pods whose most telling reason has one code, with the
// first such pod as an example.
type waiting struct {
	Code    allot.Code    `json:"code"`
	Amount  amount        `json:"amount"`
	Example allot.Pending `json:"example"`
}

// freeFigures say what the free GPU is good for.
type freeFigures struct {
	GPU int64 `json:"gpu"`
	// Whole is what is free on devices that nobody uses.
	Whole int64 `json:"whole"`
	// SharedDevices are those used in part.
	SharedDevices int `json:"sharedDevices"`
	IdleNodes     int `json:"idleNodes"`
	// Fragmented is FGD's measure: see fragmented.
	Fragmented int64 `json:"fragmented"`
}

// A nodeUse is what a plan leaves of one node.
type nodeUse struct {
	machine  *machine
	tasks    int
	cpuFree  int64
	freeGPUs []int64 // by device, in milli
}

// free is the node's free GPU in milli.
func (n *nodeUse) free() int64 {
	var sum int64
	for _, f := range n.freeGPUs {
		sum += f
	}
	return sum
}

// whole counts the devices that nobody uses.
func (n *nodeUse) whole() int64 {
	var count int64
	for _, f := range n.freeGPUs {
		if f == 1000 {
			count++
		}
	}
	return count
}

// newReport draws the figures from the trace, the pods that arrived and the
// plan; what the plan does not say of itself is derived from its actions.
func newReport(t *trace, pods []pod, plan *allot.Plan) *report {
	r := &report{Nodes: len(t.machines), Work: plan.Work}
	byName := make(map[string]*pod, len(pods))
	for i := range pods {
		byName[pods[i].name] = &pods[i]
		r.Arrived.add(&pods[i])
	}
	nodes := newNodeUses(t.machines)
	byNode := make(map[string]*nodeUse, len(nodes))
	for i := range nodes {
		byNode[nodes[i].machine.name] = &nodes[i]
	}
	for i := range plan.Actions {
		p := byName[plan.Actions[i].Workload]
		r.Placed.add(p)
		for _, task := range plan.Actions[i].Tasks {
			byNode[task.Node].take(p, task.Devices)
		}
	}
	for i := range plan.Pending {
		r.wait(byName[plan.Pending[i].Workload], &plan.Pending[i])
	}
	slices.SortStableFunc(r.Reasons, func(a, b waiting) int { return cmp.Compare(b.Amount.Pods, a.Amount.Pods) })
	r.Queues = queuesOf(plan, byName)
	r.Models = modelsOf(nodes)
	for i := range r.Models {
		r.GPU += r.Models[i].GPU
	}
	r.Free = freeOf(nodes, t.pods)
	return r
}

func newNodeUses(machines []machine) []nodeUse {
	out := make([]nodeUse, len(machines))
	for i := range machines {
		free := make([]int64, machines[i].gpus)
		for d := range free {
			free[d] = 1000
		}
		out[i] = nodeUse{machine: &machines[i], cpuFree: machines[i].cpuMilli, freeGPUs: free}
	}
	return out
}

func (n *nodeUse) take(p *pod, devices []int) {
	n.tasks++
	n.cpuFree -= p.cpuMilli
	for _, d := range devices {
		n.freeGPUs[d] -= p.gpuMilli
	}
}

// wait counts a pod that waits under its first reason.
func (r *report) wait(p *pod, pending *allot.Pending) {
	r.Waiting.add(p)
	code := pending.Reasons[0].Code
	at := slices.IndexFunc(r.Reasons, func(w waiting) bool { return w.Code == code })
	if at < 0 {
		at = len(r.Reasons)
		r.Reasons = append(r.Reasons, waiting{Code: code, Example: *pending})
	}
	r.Reasons[at].Amount.add(p)
}

// queuesOf takes the figures of GPU from the plan, in the order of the tree.
func queuesOf(plan *allot.Plan, byName map[string]*pod) []queueFigures {
	var out []queueFigures
	for _, q := range queueTree {
		for _, s := range plan.Shares {
			if s.Queue == q.ID && s.Resource == allot.GPU && s.Class == "" {
				out = append(out, queueFigures{Share: s, parent: q.Parent})
			}
		}
	}
	for i := range plan.Pending {
		for q := range out {
			if id := plan.Pending[i].Queue; out[q].Queue == id || out[q].Queue == parentOf(id) {
				out[q].Waiting.add(byName[plan.Pending[i].Workload])
			}
		}
	}
	return out
}

// modelsOf adds up the nodes of each GPU model, by name.
func modelsOf(nodes []nodeUse) []modelFigures {
	var out []modelFigures
	for i := range nodes {
		n := &nodes[i]
		at, found := slices.BinarySearchFunc(out, n.machine.model, func(m modelFigures, model string) int {
			return cmp.Compare(m.Model, model)
		})
		if !found {
			out = slices.Insert(out, at, modelFigures{Model: n.machine.model})
		}
		out[at].add(n)
	}
	return out
}

func (m *modelFigures) add(n *nodeUse) {
	m.Nodes++
	m.GPU += 1000 * int64(n.machine.gpus)
	m.Allocated += 1000*int64(n.machine.gpus) - n.free()
	m.FreeWhole += 1000 * n.whole()
	m.CPU += n.machine.cpuMilli
	m.CPUUsed += n.machine.cpuMilli - n.cpuFree
}

// freeOf says what the free GPU is good for, to the pods of the load.
func freeOf(nodes []nodeUse, load []pod) freeFigures {
	var out freeFigures
	for i := range nodes {
		n := &nodes[i]
		out.GPU += n.free()
		out.Whole += 1000 * n.whole()
		if n.tasks == 0 {
			out.IdleNodes++
		}
		for _, f := range n.freeGPUs {
			if 0 < f && f < 1000 {
				out.SharedDevices++
			}
		}
	}
	out.Fragmented = fragmented(nodes, load)
	return out
}

// fragmented is the free GPU, in milli, that a pod of the load cannot use, on
// average over its pods: the measure of FGD ('Beware of Fragmentation', USENIX
// ATC 2023), over all shapes of the load. To a pod that asks no GPU, or that
// the node cannot take for lack of CPU, of an accepted model or of GPUs with
// enough free, all that is free on the node is fragments; to another, what is
// free on GPUs with less free than it asks.
func fragmented(nodes []nodeUse, load []pod) int64 {
	counts := make(map[pod]int64)
	for i := range load {
		counts[load[i].shape()]++
	}
	var sum int64
	for i := range nodes {
		if nodes[i].free() == 0 {
			continue
		}
		// The order of the shapes cannot matter: whole numbers are added up.
		for shape, count := range counts {
			sum += count * nodes[i].fragments(&shape)
		}
	}
	return sum / int64(max(1, len(load)))
}

func (n *nodeUse) fragments(p *pod) int64 {
	var enough int
	var short int64
	for _, f := range n.freeGPUs {
		if f >= p.gpuMilli {
			enough++
		} else {
			short += f
		}
	}
	if p.gpus == 0 || enough < p.gpus || n.cpuFree < p.cpuMilli || !p.accepts(n.machine.model) {
		return n.free()
	}
	return short
}
