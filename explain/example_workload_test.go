package explain_test

import (
	"context"
	"fmt"
	"log"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/explain"
)

// Why does it wait, who is before it, and who holds what it needs?
func ExampleWorkload() {
	s := teams()
	s.Workloads = append(s.Workloads, allot.Workload{ID: "train", Queue: "vision", PodSets: []allot.PodSet{{
		Count: 1, Request: allot.Request{GPU: allot.GPURequest{Count: 8}},
	}}})
	s.Workloads[0].Preemption = allot.NonPreemptible
	s.Workloads[1].Preemption = allot.NonPreemptible
	e, err := explain.Workload(context.Background(), decide(s), "train")
	if err != nil {
		panic(err)
	}
	fmt.Println(e.Workload, e.Status)
	for _, r := range e.Reasons {
		fmt.Println(r.Code, r)
	}
	for _, h := range e.Holders {
		fmt.Println(h.Queue, "holds", h.Held/1000, "GPUs; quota", h.Quota.Amount()/1000)
	}
	// Output:
	// train waits
	// no-capacity asks 8 GPUs, and the nodes of queue vision have 5 GPUs free in all
	// victims-protected 2 possible victims are protected: 2 of search not preemptible; the 1 that may be taken are not enough
	// search holds 9 GPUs; quota 6
	// vision holds 2 GPUs; quota 10
}

// Why is a fair share what it is? Enough to do the sum again by hand.
func ExampleQueue() {
	e, err := explain.Queue(context.Background(), decide(teams()), "search")
	if err != nil {
		panic(err)
	}
	d := e.Divisions[0]
	fmt.Println(d.Capacity/1000, "GPUs less quota parts of", d.QuotaParts/1000, "leave", d.Surplus/1000)
	for _, m := range d.Members {
		fmt.Println(m.Queue, "asks", m.Requestable/1000, "and gets", m.QuotaPart/1000, "+", m.SurplusPart/1000, m.End)
	}
	// Output:
	// 16 GPUs less quota parts of 8 leave 8
	// search asks 9 and gets 6 + 3 satisfied
	// vision asks 2 and gets 2 + 0 satisfied
}

// A host asks before it submits anything.
func ExampleFitter() {
	cluster, err := allot.NewSnapshot(visionAndSpeech())
	if err != nil {
		log.Fatal(err)
	}
	ctx, fitter := context.Background(), explain.NewFitter(cluster)
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
