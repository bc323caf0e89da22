package trace

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/sim"
)

// nodeGPUs is how many GPUs the nodes have where a trace does not say: it is the
// shape of all the clusters whose jobs are read here.
const nodeGPUs = 8

// Nodes are n alike nodes of so many GPUs each, named by their order; none where a number
// is negative, or there are more than 2^20 nodes, or 2^24 GPUs.
func Nodes(n, gpus int) []allot.Node {
	if gpus < 0 || checkNodes(n, gpus) != nil {
		return nil
	}
	digits := len(strconv.Itoa(max(n-1, 0)))
	nodes := make([]allot.Node, n)
	for i := range nodes {
		nodes[i] = allot.Node{ID: fmt.Sprintf("node-%0*d", digits, i), Devices: make([]allot.Device, gpus)}
	}
	return nodes
}

// Bounds of what [Nodes] makes.
const maxNodes, maxDevices = 1 << 20, 1 << 24

// checkNodes refuses nodes of which [Nodes] makes none.
func checkNodes(n, gpus int) error {
	if n < 1 || n > maxNodes {
		return fmt.Errorf("trace: %d nodes make no cluster: there must be 1 to %d", n, maxNodes)
	}
	if gpus > maxDevices/n {
		return fmt.Errorf("trace: %d nodes of %d GPUs make no cluster: there must be at most %d GPUs", n, gpus, maxDevices)
	}
	return nil
}

// gangs are the pod sets of jobs by their GPUs: jobs that ask alike share them.
type gangs map[int][]allot.PodSet

func (g gangs) of(gpus int) []allot.PodSet {
	if g[gpus] == nil {
		g[gpus] = gang(gpus, nodeGPUs)
	}
	return g[gpus]
}

// gang is a job of so many GPUs on nodes of so many: whole nodes and the rest.
func gang(gpus, perNode int) []allot.PodSet {
	set := func(name string, count, each int) allot.PodSet {
		return allot.PodSet{Name: name, Count: count, Request: allot.Request{GPU: allot.GPURequest{Count: each}}}
	}
	whole, rest := gpus/perNode, gpus%perNode
	switch {
	case gpus <= perNode:
		return []allot.PodSet{set("", 1, gpus)}
	case rest == 0:
		return []allot.PodSet{set("", whole, perNode)}
	}
	return []allot.PodSet{set("whole", whole, perNode), set("rest", 1, rest)}
}

// lineUp sorts jobs by submission, those submitted at once as they are, lets time
// begin at the first if from is true, and puts their place in front of their IDs. What is left
// out and was to come before the first comes with it.
func lineUp(in *sim.Input, from bool) {
	jobs := in.Jobs
	slices.SortStableFunc(jobs, func(a, b sim.Job) int { return cmp.Compare(a.Submit, b.Submit) })
	var zero time.Duration
	if from && len(jobs) > 0 {
		zero = jobs[0].Submit
	}
	digits := len(strconv.Itoa(max(len(jobs)-1, 0)))
	numbers := make([]byte, 0, len(jobs)*digits) // in one piece: there may be millions
	for i := range jobs {
		numbers = fmt.Appendf(numbers, "%0*d", digits, i)
	}
	names := string(numbers)
	for i := range jobs {
		j := &jobs[i]
		j.Submit -= zero
		number := names[i*digits : (i+1)*digits]
		if name := j.Workload.ID; name != "" {
			j.Workload.ID = number + "-" + name
		} else {
			j.Workload.ID = number
		}
	}
	for i := range in.LeftOut {
		in.LeftOut[i].Submit = max(in.LeftOut[i].Submit-zero, 0)
	}
}

// maxGPUs bounds what one job may ask, and what the nodes of a native trace have in all.
const maxGPUs = 1 << 20
