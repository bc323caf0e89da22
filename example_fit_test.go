package allot_test

import (
	"context"
	"fmt"
	"log"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
)

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

// A host asks before it submits anything.
func ExampleFitter() {
	cluster, err := allot.NewSnapshot(visionAndSpeech())
	if err != nil {
		log.Fatal(err)
	}
	ctx, fitter := context.Background(), cluster.Fitter()
	for _, gpus := range []int{1, 3, 4, 8} {
		k := allot.Workload{ID: "asked", Queue: "speech", PodSets: []allot.PodSet{{
			Count: 1, Request: allot.Request{GPU: allot.GPURequest{Count: gpus}},
		}}}
		now, err := fitter.Now(ctx, k)
		if err != nil {
			log.Fatal(err)
		}
		ever, err := fitter.Ever(ctx, k)
		if err != nil {
			log.Fatal(err)
		}
		copies, err := fitter.Copies(ctx, k, 100)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%d GPUs: now %t, ever %t, %d copies, %s\n", gpus, now.OK, ever.OK, copies, now.Availability)
		if now.OK {
			continue
		}
		why, err := fitter.Why(ctx, k)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("  " + why[0].String())
	}
	// Output:
	// 1 GPUs: now true, ever true, 5 copies, within-quota
	// 3 GPUs: now true, ever true, 1 copies, by-borrowing
	// 4 GPUs: now false, ever true, 0 copies, by-borrowing
	//   no node takes a task now: too few devices free (2 nodes); nearest is node n0: has 3 of 4 devices with room; 5 GPUs free in all, at most 3 GPUs on one node (n0)
	// 8 GPUs: now false, ever false, 0 copies, by-making-room
	//   no node, however empty, takes a task: too few such devices (2 nodes); nearest is node n0: has 4 of 8 devices
}
