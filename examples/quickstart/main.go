// Command quickstart is the smallest real use of Allot: two teams share three
// nodes, one borrows what is idle, and one has a job that must wait.
package main

import (
	"fmt"
	"log"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
)

func main() {
	fourGPUs := make([]allot.Device, 4)
	fourGuaranteed := []allot.QueueResource{{Resource: allot.GPU, Quota: quota.Of(quota.GPUs(4))}}
	tasks := func(count, gpusEach int) []allot.PodSet {
		return []allot.PodSet{{Count: count, Request: allot.Request{GPU: allot.GPURequest{Count: gpusEach}}}}
	}
	state := &allot.State{
		Nodes: []allot.Node{
			{ID: "node-a", Devices: fourGPUs},
			{ID: "node-b", Devices: fourGPUs},
			{ID: "node-c", Devices: fourGPUs},
		},
		Queues: []allot.Queue{
			{ID: "speech", Resources: fourGuaranteed},
			{ID: "vision", Resources: fourGuaranteed},
		},
		Workloads: []allot.Workload{
			// A gang: its three tasks start together or not at all. Preemptible
			// work may borrow, here 2 GPUs beyond the quota of 4.
			{ID: "train", Queue: "vision", PodSets: tasks(3, 2)},
			// Non-preemptible work is never evicted and so stays within quota.
			{ID: "notebook", Queue: "speech", PodSets: tasks(1, 1), Preemption: allot.NonPreemptible},
			{ID: "serve", Queue: "speech", PodSets: tasks(1, 4), Preemption: allot.NonPreemptible},
		},
	}
	plan, err := allot.Solve(state)
	if err != nil {
		log.Fatal(err) // the state is malformed; a full cluster is no error
	}
	fmt.Print(plan.String())
}
