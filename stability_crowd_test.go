package allot_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/deep"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/quota"
)

// TestStabilityOfCrowds: M5 and all laws on clusters of some dozens of nodes that gangs have
// filled node by node, on which most of who waits needs others to move.
func TestStabilityOfCrowds(t *testing.T) {
	total := newStabilityStats()
	failures := inParallel(deep.New(t, 40), (*stabilityStats).seeds, func(seed uint64, stats *stabilityStats) *failure {
		return atRest(crowdedState(seed), seed, stats)
	}, total)
	total.log(t)
	tellFailures(t, failures, total)
	for _, f := range failures { // a plan that is known to be amiss is a plan
		if f.broken.kind == "solve" {
			t.Errorf("%v (%s)", f.broken, f.cause)
		}
	}
}

// A crowdHost fills a cluster of nodes that are all alike.
type crowdHost struct {
	chance
	s    *allot.State
	free []int // devices by node, of which the last ones are free
}

// crowdNodeGPUs is how many devices a node of a crowded cluster has.
const crowdNodeGPUs = 4

// crowdedState draws a cluster of 8 to 32 nodes that is filled with gangs of a few tasks,
// and some more that wait.
func crowdedState(seed uint64) *allot.State {
	h := &crowdHost{chance: rand.New(rand.NewPCG(seed, 7)), s: &allot.State{Now: time.Unix(1_000_000_000, 0).UTC()}}
	h.s.Pools = []allot.Pool{{ID: "p", Policy: h.policy()}}
	for n := range 8 + h.IntN(25) {
		h.s.Nodes = append(h.s.Nodes, allot.Node{ID: fmt.Sprintf("n%02d", n), Devices: make([]allot.Device, crowdNodeGPUs)})
		h.free = append(h.free, crowdNodeGPUs)
	}
	h.queues()
	for range 3 * len(h.s.Nodes) {
		h.runs()
	}
	for range 2 + h.IntN(8) {
		h.submit(1+h.IntN(8), 1+h.IntN(3), int32(h.IntN(6)))
	}
	return h.s
}

func (h *crowdHost) policy() allot.Policy {
	switch h.IntN(5) {
	case 0:
		return allot.RunAI()
	case 1:
		p := allot.DeterminedPriority()
		p.Preempt = preempt.WithinPool
		return p
	case 2:
		return allot.OSMO()
	}
	return allot.Policy{}
}

// queues draws the leaves, and now and then one queue above some of them.
func (h *crowdHost) queues() {
	gpus := func(n int) []allot.QueueResource {
		return []allot.QueueResource{{Resource: allot.GPU, Quota: quota.Of(int64(n) * unit)}}
	}
	parent := ""
	leaves := 1 + h.IntN(4)
	if h.IntN(3) == 0 {
		parent = "top"
		h.s.Queues = append(h.s.Queues, allot.Queue{ID: parent, Resources: gpus(3 * len(h.s.Nodes))})
	}
	for q := range leaves {
		leaf := allot.Queue{ID: fmt.Sprint("q", q), Resources: gpus(h.IntN(crowdNodeGPUs * len(h.s.Nodes)))}
		if h.IntN(2) == 0 {
			leaf.Parent = parent
		}
		h.s.Queues = append(h.s.Queues, leaf)
	}
}

// submit adds a workload of so many tasks, to any leaf.
func (h *crowdHost) submit(tasks, gpus int, priority int32) *allot.Workload {
	first := 0
	if h.s.Queues[0].ID == "top" {
		first = 1
	}
	n := len(h.s.Workloads)
	h.s.Workloads = append(h.s.Workloads, allot.Workload{
		ID: fmt.Sprintf("w%03d", n), Queue: h.s.Queues[first+h.IntN(len(h.s.Queues)-first)].ID, Priority: priority,
		Submitted: h.s.Now.Add(-time.Duration(1000+h.IntN(1000)) * time.Second),
		PodSets:   []allot.PodSet{{Count: tasks, Request: allot.Request{GPU: allot.GPURequest{Count: gpus}}}},
	})
	return &h.s.Workloads[n]
}

// runs adds a workload that runs, wherever there is room on nodes that are drawn.
func (h *crowdHost) runs() {
	var tasks []allot.Task
	gpus, since := 1+h.IntN(2), h.s.Now.Add(-time.Duration(10+h.IntN(1000))*time.Second)
	for range 1 + h.IntN(4) {
		n := h.IntN(len(h.free))
		if h.free[n] < gpus {
			continue
		}
		t := allot.Task{Index: len(tasks), Node: h.s.Nodes[n].ID, Since: since.Add(time.Duration(len(tasks)) * time.Second)}
		for range gpus {
			h.free[n]--
			t.Devices = append([]int{h.free[n]}, t.Devices...)
		}
		tasks = append(tasks, t)
	}
	if len(tasks) == 0 {
		return
	}
	w := h.submit(len(tasks), gpus, int32(h.IntN(4)))
	if w.Tasks = tasks; h.IntN(4) == 0 {
		w.PodSets[0].Min = 1
	}
}
