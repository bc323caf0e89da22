package explain_test

import (
	"context"
	"fmt"
	"log"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/explain"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/quota"
	"github.com/allotsched/allot/sim/scenario"
)

func decide(s *allot.State) *allot.Decision {
	snapshot, err := allot.NewSnapshot(s)
	if err != nil {
		log.Fatal(err)
	}
	d, err := snapshot.Decide()
	if err != nil {
		log.Fatal(err)
	}
	return d
}

// visionAndSpeech share 8 GPUs, 4 each; vision waits with a gang that wants a whole node.
func visionAndSpeech() *allot.State {
	gpus := func(n int) allot.Request { return allot.Request{GPU: allot.GPURequest{Count: n}} }
	team := func(id string) allot.Queue {
		return allot.Queue{ID: id, Resources: []allot.QueueResource{{Resource: allot.GPU, Quota: quota.Of(4000)}}}
	}
	return &allot.State{
		Nodes: []allot.Node{
			{ID: "n0", Devices: make([]allot.Device, 4)},
			{ID: "n1", Devices: make([]allot.Device, 4)},
		},
		Queues: []allot.Queue{team("vision"), team("speech")},
		Workloads: []allot.Workload{
			{
				ID: "label", Queue: "vision", Preemption: allot.NonPreemptible, PodSets: []allot.PodSet{{Count: 1, Request: gpus(1)}},
				Tasks: []allot.Task{{Node: "n0", Devices: []int{0}}},
			},
			{
				ID: "decode", Queue: "speech", Preemption: allot.NonPreemptible, PodSets: []allot.PodSet{{Count: 1, Request: gpus(2)}},
				Tasks: []allot.Task{{Node: "n1", Devices: []int{0, 1}}},
			},
			{
				ID: "train", Queue: "vision", Preemption: allot.NonPreemptible,
				PodSets: []allot.PodSet{{Count: 2, Request: gpus(2)}},
			},
		},
	}
}

// A user asks why 5 GPUs are free and his 4 do not start, and what would help.
func ExampleWhatHelps() {
	help, err := explain.WhatHelps(context.Background(), decide(visionAndSpeech()), "train", explain.HelpSearch{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(help.String())
	// Output:
	// train would start with any one of these
	// less-minimum: start with at least 1 task instead of 2
	// be-preemptible: let it be preemptible
	// more-quota: raise the quota of queue vision from 4 GPUs to 5 GPUs (1 GPU more)
	// end-of: the end of workload label
	// 8 solves
}

// teams are two queues on two nodes of 8 GPUs: search has a quota of 6 and runs
// 9, vision one of 10 and runs 2.
func teams() *allot.State {
	job := func(id, queue string, node string, devices ...int) allot.Workload {
		k := allot.Workload{ID: id, Queue: queue, PodSets: []allot.PodSet{{
			Count: 1, Request: allot.Request{GPU: allot.GPURequest{Count: len(devices)}},
		}}}
		if node != "" {
			k.Tasks = []allot.Task{{Node: node, Devices: devices}}
		}
		return k
	}
	quotaOf := func(n int64) []allot.QueueResource {
		return []allot.QueueResource{{Resource: allot.GPU, Quota: quota.Of(n * 1000)}}
	}
	return &allot.State{
		Nodes:  []allot.Node{{ID: "n0", Devices: make([]allot.Device, 8)}, {ID: "n1", Devices: make([]allot.Device, 8)}},
		Queues: []allot.Queue{{ID: "search", Resources: quotaOf(6)}, {ID: "vision", Resources: quotaOf(10)}},
		Workloads: []allot.Workload{
			job("index", "search", "n0", 0, 1, 2, 3),
			job("rank", "search", "n1", 0, 1, 2),
			job("tune", "search", "n1", 3, 4),
			job("detect", "vision", "n1", 5, 6),
		},
	}
}

// Who goes if vision asks for 8 GPUs more, where 5 are free?
func ExampleReclaim() {
	e, err := explain.Reclaim(context.Background(), decide(teams()), allot.Workload{Queue: "vision", PodSets: []allot.PodSet{{
		Count: 8, Request: allot.Request{GPU: allot.GPURequest{Count: 1}},
	}}})
	if err != nil {
		panic(err)
	}
	fmt.Println(e.Arrival.Status)
	for _, t := range e.Takings {
		fmt.Println(t.Kind, t.Workload, t.Reason.Code)
		for _, c := range t.Candidates {
			fmt.Println(" ", c.Workload, "is protected", c.Protection, "and", c.Fate)
		}
	}
	// Output:
	// claims
	// evict rank reclaim-quota
	//   tune is protected by-quota and not-needed
	//   rank is protected none and taken
	//   index is protected by-quota and protected
}

// research asks: what if our limit were 16 and not 12 GPUs, and node n2 were
// drained?
func ExampleWhatIf() {
	state, err := scenario.State(`
nodes n0..n2 gpu=8 cpu=64
queue research quota=8 limit=12 | queue batch quota=8
run batch/sweep gpu=6 on n0[0-5] | run research/eval gpu=8 on n1[0-7]
submit research/train gpu=8 | submit batch/tune gpu=2
`)
	if err != nil {
		log.Fatal(err)
	}
	gpus := func(quotaOf, limit int64) []allot.QueueResource {
		return []allot.QueueResource{{Resource: allot.GPU, Quota: quota.Of(quotaOf * 1000), Limit: quota.Of(limit * 1000)}}
	}
	snapshot, err := allot.NewSnapshot(state)
	if err != nil {
		log.Fatal(err)
	}
	larger, err := explain.WhatIf(context.Background(), snapshot, allot.Change{Queues: []allot.Queue{{ID: "research", Resources: gpus(8, 16)}}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(larger.String())

	drained := state.Nodes[0]
	drained.Lost = true
	without, err := explain.WhatIf(context.Background(), snapshot, allot.Change{Nodes: []allot.Node{drained}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println()
	fmt.Print(without.String())
	// Output:
	// Changed:
	//   queue research: gpu limit 12 -> 16
	// 1 workload starts now:
	//   research/train: starts on n2[0-7]
	//     before: waits: asks 8 GPUs, and the limit of queue research leaves 4 GPUs
	// Figures of the queues:
	//   queue     resource  limit     used     over-quota  fair-share  borrowed  state
	//   research  gpu       12 -> 16  8 -> 16  0 -> 8      12 -> 16    0 -> 8    in-quota -> over-quota
	//
	// Changed:
	//   node n0: lost no -> yes
	// 1 workload loses its place now:
	//   batch/sweep: loses its place on n0[0-5]: node n0 is lost; then starts on n2[0-5]
	// 1 workload starts elsewhere:
	//   batch/tune: starts on n2[6-7]
	//     before: starts on n0[6-7]
	// 1 workload waits for other reasons:
	//   research/train:
	//     now: asks 8 GPUs, and the nodes of queue research have 0 GPUs free in all
	// Figures of the queues:
	//   queue     resource  fair-share  reachable  pool-total
	//   batch     gpu       8           24 -> 16   24 -> 16
	//   research  gpu       12 -> 8     24 -> 16   24 -> 16
}

// The same cluster under two policies: what would be otherwise?
func ExampleDiff() {
	state, err := scenario.State(`
nodes n0 gpu=4
queue speech quota=2 | queue vision quota=2
run speech/old gpu=1 on n0[0] | run speech/new gpu=2 on n0[1-2]
submit vision/train gpu=2
`)
	if err != nil {
		log.Fatal(err)
	}
	takes, err := allot.Solve(state)
	if err != nil {
		log.Fatal(err)
	}
	state.Pools = []allot.Pool{{ID: "p", Policy: allot.Policy{Reclaim: preempt.NoReclaim}}}
	waits, err := allot.Solve(state)
	if err != nil {
		log.Fatal(err)
	}
	for _, w := range explain.Diff(takes, waits).Workloads {
		fmt.Println(w.Workload, w.Before.Fate, "->", w.After.Fate)
	}
	// Output:
	// old evicted -> untouched
	// train starts -> waits
}
