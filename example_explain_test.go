package allot_test

import (
	"context"
	"fmt"
	"log"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
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

// Why does it wait, who is before it, and who holds what it needs?
func ExampleDecision_Explain() {
	s := teams()
	s.Workloads = append(s.Workloads, allot.Workload{ID: "train", Queue: "vision", PodSets: []allot.PodSet{{
		Count: 1, Request: allot.Request{GPU: allot.GPURequest{Count: 8}},
	}}})
	s.Workloads[0].Preemption = allot.NonPreemptible
	s.Workloads[1].Preemption = allot.NonPreemptible
	e, err := decide(s).Explain(context.Background(), "train")
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
func ExampleDecision_ExplainQueue() {
	e, err := decide(teams()).ExplainQueue(context.Background(), "search")
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
