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

// maxNodes bounds the nodes of a cluster that is made from a number.
const maxNodes = 1 << 20

// nodesOf are n alike nodes, as far as that makes a cluster.
func nodesOf(n, gpus int) ([]allot.Node, error) {
	if n < 1 || n > maxNodes || gpus < 0 || gpus > maxDevices || n*gpus > maxGPUs {
		return nil, fmt.Errorf("%d nodes of %d GPUs make no cluster: nodes are from 1 to %d, of up to %d GPUs, %d in all", n, gpus, maxNodes, maxDevices, maxGPUs)
	}
	return Nodes(n, gpus), nil
}

// maxDevices is how many GPUs a node has at most.
const maxDevices = 64

// Nodes are n alike nodes of so many GPUs each, named by their order; none if either is
// negative.
func Nodes(n, gpus int) []allot.Node {
	n, gpus = max(n, 0), max(gpus, 0)
	digits := len(strconv.Itoa(max(n-1, 0)))
	nodes := make([]allot.Node, n)
	for i := range nodes {
		nodes[i] = allot.Node{ID: fmt.Sprintf("node-%0*d", digits, i), Devices: make([]allot.Device, gpus)}
	}
	return nodes
}

// gangs are the pod sets of jobs by their GPUs on nodes of 8: jobs that ask alike share
// them.
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
// begin at the first if from is true, and puts their place in front of their IDs.
func lineUp(jobs []sim.Job, from bool) []sim.Job {
	slices.SortStableFunc(jobs, func(a, b sim.Job) int { return cmp.Compare(a.Submit, b.Submit) })
	var zero time.Duration
	if from && len(jobs) > 0 {
		zero = jobs[0].Submit
	}
	digits := len(strconv.Itoa(max(len(jobs)-1, 0)))
	for i := range jobs {
		j := &jobs[i]
		j.Submit -= zero
		if name := j.Workload.ID; name != "" {
			j.Workload.ID = fmt.Sprintf("%0*d-%s", digits, i, name)
		} else {
			j.Workload.ID = fmt.Sprintf("%0*d", digits, i)
		}
	}
	return jobs
}

// maxGPUs bounds what one job may ask.
const maxGPUs = 1 << 20
