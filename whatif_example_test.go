package allot_test

import (
	"fmt"
	"log"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/quota"
	"github.com/allotsched/allot/sim/scenario"
)

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
	larger, err := allot.WhatIf(state, allot.Change{Queues: []allot.Queue{{ID: "research", Resources: gpus(8, 16)}}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(larger.Text())

	drained := state.Nodes[0]
	drained.Lost = true
	without, err := allot.WhatIf(state, allot.Change{Nodes: []allot.Node{drained}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println()
	fmt.Print(without.Text())
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
	for _, w := range allot.Diff(takes, waits).Workloads {
		fmt.Println(w.Workload, w.Before.Fate, "->", w.After.Fate)
	}
	// Output:
	// new evicted -> untouched
	// train starts -> waits
}
