package explain

import (
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/quota"
)

// TestHelpCases are small clusters in which one workload w waits, and what would
// help it.
func TestHelpCases(t *testing.T) {
	gpus := func(n int) allot.Request { return allot.Request{GPU: allot.GPURequest{Count: n}} }
	devices := func(from, to int) (list []int) {
		for i := from; i < to; i++ {
			list = append(list, i)
		}
		return list
	}
	runs := func(id, queue, node string, from, to int, since time.Time) allot.Workload {
		return allot.Workload{
			ID: id, Queue: queue, PodSets: []allot.PodSet{{Count: 1, Request: gpus(to - from)}},
			Tasks: []allot.Task{{Node: node, Devices: devices(from, to), Since: since}},
		}
	}
	node := func(id, rack string) allot.Node {
		return allot.Node{ID: id, Devices: make([]allot.Device, 4), Domains: map[string]string{"rack": rack}}
	}
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	still := allot.Policy{NoConsolidation: true, Reclaim: preempt.NoReclaim, Preempt: preempt.NoPreemption}
	for _, test := range []struct {
		name  string
		state allot.State
		want  string
	}{
		{
			"16 are free, and not in one rack (T2)",
			allot.State{
				Levels: []allot.Level{{Name: "rack"}}, Pools: []allot.Pool{{ID: "p", Policy: still}},
				Nodes:     []allot.Node{node("n0", "r0"), node("n1", "r0"), node("n2", "r1")},
				Workloads: []allot.Workload{runs("a", "", "n0", 0, 2, at), {ID: "w", Topology: allot.Topology{Required: "rack"}, PodSets: []allot.PodSet{{Count: 2, Request: gpus(4)}}}},
			},
			`w would start with any one of these
wider-domain: do not ask for one domain of level rack
less-minimum: start with at least 1 task instead of 2
end-of: the end of workload a
more-gpus: add 4 GPUs: 1 node like n0 in rack r0
more-gpus: add 4 GPUs: 1 node like n2 in rack r1
9 solves
`,
		},
		{
			"the minimum runtime of a victim ends (M1)",
			allot.State{
				Now: at, Nodes: []allot.Node{{ID: "n0", Devices: make([]allot.Device, 4)}},
				Pools: []allot.Pool{{ID: "p", Policy: allot.Policy{MinRuntime: allot.MinRuntime{Preempt: quota.Of(3600)}}}},
				Workloads: []allot.Workload{
					runs("a", "", "n0", 0, 4, at.Add(-time.Minute)),
					{ID: "w", Priority: 1, PodSets: []allot.PodSet{{Count: 1, Request: gpus(4)}}},
				},
			},
			`w would start with any one of these
end-of: the end of workload a
more-gpus: add 4 GPUs: 1 node like n0
wait-until: wait until 2026-11-21T10:59:00Z, when what may go is protected no more; evicts a
6 solves
`,
		},
		{
			"a taint, a label and a queue that is full (P1, Q3)",
			allot.State{
				Pools: []allot.Pool{{ID: "p", Policy: still}},
				Nodes: []allot.Node{
					{ID: "n0", Devices: make([]allot.Device, 4), Taints: []placement.Taint{{Key: "dedicated", Value: "x"}}, Labels: map[string]string{"zone": "a"}},
					{ID: "n1", Devices: make([]allot.Device, 4), Labels: map[string]string{"zone": "b"}},
				},
				Queues: []allot.Queue{
					{ID: "free", Resources: []allot.QueueResource{{Resource: allot.GPU, Quota: quota.Of(4000)}}},
					{ID: "full", Resources: []allot.QueueResource{{Resource: allot.GPU, Quota: quota.Of(4000), Limit: quota.Of(4000)}}},
				},
				Workloads: []allot.Workload{{ID: "w", Queue: "full", PodSets: []allot.PodSet{{Count: 1, Request: allot.Request{
					GPU: allot.GPURequest{Count: 4}, Selector: placement.Selector{Labels: map[string]string{"zone": "a"}},
				}}}}},
			},
			`w would start with any one of these
tolerate: tolerate the taint dedicated=x (NoSchedule)
drop-selector: do not ask for the label zone
3 solves
`,
		},
		{
			"what leaves, and then a node that is closed (S4)",
			allot.State{
				Pools: []allot.Pool{{ID: "p", Policy: still}},
				Nodes: []allot.Node{{ID: "n0", Devices: make([]allot.Device, 4)}, {ID: "n1", Devices: make([]allot.Device, 4), Cordoned: true}},
				Workloads: []allot.Workload{
					{ID: "a", PodSets: []allot.PodSet{{Count: 1, Request: gpus(4)}}, Ending: true, Tasks: []allot.Task{{Node: "n0", Devices: devices(0, 4), Phase: allot.Terminating}}},
					{ID: "w", PodSets: []allot.PodSet{{Count: 1, Request: gpus(4)}}},
				},
			},
			`w would start with any one of these
wait-for-leaving: wait until what is terminating of workload a is gone
uncordon: uncordon node n1
more-gpus: add 4 GPUs: 1 node like n0
4 solves
`,
		},
		{
			"a gang that has lost a part of itself ends, and leaves room (G1)",
			allot.State{
				Now: at, Pools: []allot.Pool{{ID: "p", Policy: allot.Policy{StaleGangGrace: quota.Of(60), NoConsolidation: true, Reclaim: preempt.NoReclaim, Preempt: preempt.NoPreemption}}},
				Nodes: []allot.Node{{ID: "n0", Devices: make([]allot.Device, 3)}},
				Workloads: []allot.Workload{
					{
						ID: "gang", PodSets: []allot.PodSet{{Count: 4, Request: gpus(1)}}, PartialSince: at.Add(-time.Hour),
						Tasks: []allot.Task{{Node: "n0", Devices: devices(0, 1)}, {Index: 1, Node: "n0", Devices: devices(1, 2)}, {Index: 2, Node: "n0", Devices: devices(2, 3)}},
					},
					{ID: "w", PodSets: []allot.PodSet{{Count: 4, Request: gpus(1)}}},
				},
			},
			`w would start with any one of these
less-minimum: start with at least 3 tasks instead of 4; runs after the end of gang
more-gpus: add 5 GPUs: 2 nodes like n0; also starts gang
9 solves
`,
		},
		{
			"who is evicted may stay (X3)",
			allot.State{
				Pools: []allot.Pool{{ID: "p", Policy: allot.Policy{Classes: []allot.Class{{Name: "low", Priority: 10}, {Name: "high", Priority: 50}}}}},
				Nodes: []allot.Node{{ID: "n0", Devices: make([]allot.Device, 1)}},
				Workloads: []allot.Workload{
					{ID: "w", Class: "low", PodSets: []allot.PodSet{{Count: 1, Request: gpus(1)}}, Tasks: []allot.Task{{Node: "n0", Devices: devices(0, 1)}}},
					{ID: "b", Class: "high", PodSets: []allot.PodSet{{Count: 1, Request: gpus(1)}}},
				},
			},
			`w is evicted, and would stay or start again with any one of these
more-gpus: add 1 GPU: 1 node like n0
other-priority: give it priority 50 instead of 10; delays b
other-class: put it into class high; delays b
4 solves
`,
		},
		{
			"more of the quota of a model, which is a guarantee (Q8)",
			allot.State{
				Pools: []allot.Pool{{ID: "p", Policy: allot.Policy{NoConsolidation: true, Preempt: preempt.NoPreemption}}},
				Nodes: []allot.Node{{ID: "n0", Devices: []allot.Device{{Model: "H100"}, {Model: "H100"}}}},
				Queues: []allot.Queue{
					{ID: "a", Resources: []allot.QueueResource{{Resource: allot.GPU, Class: "H100", Quota: quota.Of(0)}}},
					{ID: "b"},
				},
				Workloads: []allot.Workload{
					runs("x", "b", "n0", 0, 2, at),
					{ID: "w", Queue: "a", PodSets: []allot.PodSet{{Count: 1, Request: gpus(1)}}},
				},
			},
			`w would start with any one of these
end-of: the end of workload x
more-gpus: add 1 GPU: 1 node like n0
more-quota: raise the quota of queue a from 0 GPUs of H100 to 1 GPU of H100 (1 GPU more); evicts x
5 solves
`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			h, err := WhatHelps(t.Context(), decide(t, &test.state), "w", HelpSearch{})
			if err != nil {
				t.Fatal(err)
			}
			if got := h.String(); got != test.want {
				t.Errorf("got\n%swant\n%s", got, test.want)
			}
		})
	}
}
