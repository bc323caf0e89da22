package allot_test

import (
	"fmt"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/quota"
)

// teams is a cluster of two nodes of 8 GPUs that two teams share: search has a
// quota of 6 and runs 9, vision one of 10 and runs 5.
func teams() *allot.State {
	gpus := func(n int) []int {
		var out []int
		for i := range n {
			out = append(out, i)
		}
		return out
	}
	at := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	job := func(id, queue string, n int, after time.Duration, tasks ...allot.Task) allot.Workload {
		for i := range tasks {
			tasks[i].Since = at.Add(after)
		}
		return allot.Workload{
			ID: id, Queue: queue, Submitted: at.Add(after), Tasks: tasks,
			PodSets: []allot.PodSet{{Count: 1, Request: allot.Request{GPU: allot.GPURequest{Count: n}}}},
		}
	}
	quotaOf := func(n int64) []allot.QueueResource {
		return []allot.QueueResource{{Resource: allot.GPU, Quota: quota.Of(n * 1000)}}
	}
	return &allot.State{
		Now:    at.Add(time.Hour),
		Pools:  []allot.Pool{{ID: "research", Policy: allot.Policy{Reclaim: preempt.ByQuotaAndShare, NoConsolidation: true}}},
		Nodes:  []allot.Node{{ID: "n0", Devices: make([]allot.Device, 8)}, {ID: "n1", Devices: make([]allot.Device, 8)}},
		Queues: []allot.Queue{{ID: "search", Resources: quotaOf(6)}, {ID: "vision", Resources: quotaOf(10)}},
		Workloads: []allot.Workload{
			job("index", "search", 4, 0, allot.Task{Node: "n0", Devices: gpus(4)}),
			job("rank", "search", 3, time.Minute, allot.Task{Node: "n1", Devices: gpus(3)}),
			job("tune", "search", 2, 2*time.Minute, allot.Task{Node: "n1", Devices: []int{3, 4}}),
			job("detect", "vision", 5, 3*time.Minute, allot.Task{Node: "n1", Devices: []int{5, 6}}),
			job("train", "vision", 8, 4*time.Minute),
		},
	}
}

func ExampleExplain() {
	s := teams()
	s.Workloads[3].PodSets[0].Request.GPU.Count = 2
	e, err := allot.Explain(s, "train")
	if err != nil {
		panic(err)
	}
	fmt.Print(e)
	v, err := allot.Explain(s, "tune")
	if err != nil {
		panic(err)
	}
	fmt.Print(v)
	q, err := allot.ExplainQueue(s, "search")
	if err != nil {
		panic(err)
	}
	fmt.Print(q)
}
