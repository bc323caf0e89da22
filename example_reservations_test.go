package allot_test

import (
	"fmt"
	"log"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// What users of a preset turn on who want large gangs to start: of two nodes one is held until
// 12:00. The gang is promised both from then on; an hour's work passes it, a day's does not.
func ExampleRunAI_reservations() {
	policy := allot.RunAI()
	policy.Reserve = allot.ReservePolicy{Backfill: queue.EASY, Depth: 10, GangsOnly: true, TrustDurations: true}
	now := time.Date(2030, 1, 1, 9, 0, 0, 0, time.UTC)
	job := func(id string, tasks int, hours int64) allot.Workload {
		return allot.Workload{
			ID: id, Queue: "vision", Submitted: now.Add(-time.Hour), Duration: quota.Of(hours * 3600), Class: "train",
			PodSets: []allot.PodSet{{Count: tasks, Request: allot.Request{GPU: allot.GPURequest{Count: 8}}}},
		}
	}
	runs := job("runs", 1, 4)
	runs.Tasks = []allot.Task{{Node: "n0", Devices: []int{0, 1, 2, 3, 4, 5, 6, 7}, Since: now.Add(-time.Hour)}}
	plan, err := allot.Solve(&allot.State{
		Now:   now,
		Pools: []allot.Pool{{ID: "main", Policy: policy}},
		Nodes: []allot.Node{{ID: "n0", Devices: make([]allot.Device, 8)}, {ID: "n1", Devices: make([]allot.Device, 8)}},
		Queues: []allot.Queue{{ID: "vision", Resources: []allot.QueueResource{
			{Resource: allot.GPU, Quota: quota.Of(16000)},
		}}},
		Workloads: []allot.Workload{runs, job("a-gang", 2, 6), job("b-day", 1, 24), job("c-hour", 1, 1)},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, a := range plan.Actions {
		fmt.Println(a.Kind, a.Workload)
	}
	for _, r := range plan.Reservations {
		fmt.Println(r.Workload, "starts by", r.Promise.At.Format(time.Kitchen))
	}
	// Output:
	// start c-hour
	// a-gang starts by 12:00PM
}
