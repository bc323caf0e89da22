package allot_test

import (
	"fmt"
	"log"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// The examples of the presets have one node and print the plan's decisions, or
// the fair shares that it goes by.

// onOneNode is a state of one pool under the policy, on a node of some GPUs.
func onOneNode(gpus int, policy allot.Policy, queues []allot.Queue, workloads ...allot.Workload) *allot.State {
	return &allot.State{
		Nodes:     []allot.Node{{ID: "node", Devices: make([]allot.Device, gpus)}},
		Pools:     []allot.Pool{{ID: "pool", Policy: policy}},
		Queues:    queues,
		Workloads: workloads,
	}
}

// guaranteed is a queue's quota of GPUs.
func guaranteed(gpus int64) []allot.QueueResource {
	return []allot.QueueResource{{Resource: allot.GPU, Quota: quota.Of(1000 * gpus)}}
}

// singles is a pod set of a number of tasks of one GPU, of which one suffices.
func singles(count int) []allot.PodSet {
	return []allot.PodSet{{Count: count, Min: 1, Request: allot.Request{GPU: allot.GPURequest{Count: 1}}}}
}

// oneTask is a pod set of one task of a number of GPUs.
func oneTask(gpus int) []allot.PodSet {
	return []allot.PodSet{{Count: 1, Request: allot.Request{GPU: allot.GPURequest{Count: gpus}}}}
}

// printDecisions prints the plan's text without its table of shares.
func printDecisions(state *allot.State) {
	plan, err := allot.Solve(state)
	if err != nil {
		fmt.Println(err)
		return
	}
	plan.Shares = nil
	fmt.Print(plan.String())
}

// printShares prints what each queue is entitled to and what it uses.
func printShares(state *allot.State) {
	plan, err := allot.Solve(state)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range plan.Shares {
		if s.Resource == allot.GPU {
			fmt.Println(s.Queue, "demand", s.Demand/1000, "fair share", s.FairShare/1000, "used", s.Used/1000)
		}
	}
}

// HIGH and NORMAL, the default, are never preempted and live within the quota:
// normal-2 waits though a GPU is idle. LOW may borrow what is idle.
func ExampleOSMO() {
	printDecisions(onOneNode(5, allot.OSMO(),
		[]allot.Queue{{ID: "robots", Resources: guaranteed(2)}},
		allot.Workload{ID: "high", Queue: "robots", Class: "HIGH", PodSets: oneTask(1)},
		allot.Workload{ID: "low", Queue: "robots", Class: "LOW", PodSets: oneTask(2)},
		allot.Workload{ID: "normal-1", Queue: "robots", PodSets: oneTask(1)},
		allot.Workload{ID: "normal-2", Queue: "robots", PodSets: oneTask(1)},
	))
	// Output:
	// start robots/high node[0]
	// start robots/normal-1 node[1]
	// start robots/low node[2-3]
	// wait robots/normal-2  no-quota: is not preemptible and asks 1 GPU, and the quota of queue robots leaves 0 GPUs
}

// The over-quota part of 20 GPUs goes to the projects by weight, 2 to 3 to 1,
// in whole GPUs: 7, 10 and 3 beside the quotas of 14, 6 and none.
func ExampleRunAI() {
	weighted := func(quotaGPUs, weight int64) []allot.QueueResource {
		resources := guaranteed(quotaGPUs)
		resources[0].Weight = quota.Of(weight)
		return resources
	}
	printShares(onOneNode(40, allot.RunAI(),
		[]allot.Queue{
			{ID: "department"},
			{ID: "project-1", Parent: "department", Resources: weighted(14, 2)},
			{ID: "project-2", Parent: "department", Resources: weighted(6, 3)},
			{ID: "project-3", Parent: "department", Resources: weighted(0, 1)},
		},
		allot.Workload{ID: "train-1", Queue: "project-1", PodSets: singles(40)},
		allot.Workload{ID: "train-2", Queue: "project-2", PodSets: singles(40)},
		allot.Workload{ID: "train-3", Queue: "project-3", PodSets: singles(40)},
	))
	// Output:
	// department demand 120 fair share 40 used 40
	// project-1 demand 40 fair share 21 used 21
	// project-2 demand 40 fair share 16 used 16
	// project-3 demand 40 fair share 3 used 3
}

// Idle GPUs go to the projects by quota: of 4, 3 to the one of quota 3 and one
// to the one of quota 1 (F11).
func ExampleRunAI20() {
	printShares(onOneNode(8, allot.RunAI20(),
		[]allot.Queue{{ID: "a", Resources: guaranteed(3)}, {ID: "b", Resources: guaranteed(1)}},
		allot.Workload{ID: "a-train", Queue: "a", PodSets: singles(8)},
		allot.Workload{ID: "b-train", Queue: "b", PodSets: singles(8)},
	))
	// Output:
	// a demand 8 fair share 6 used 6
	// b demand 8 fair share 2 used 2
}

// The GPUs are divided among the experiments in proportion to what they ask,
// 10 to 30, times their weights (F8).
func ExampleDeterminedFairShare() {
	printShares(onOneNode(8, allot.DeterminedFairShare(),
		[]allot.Queue{{ID: "experiment-1"}, {ID: "experiment-2"}},
		allot.Workload{ID: "trials-1", Queue: "experiment-1", PodSets: singles(10)},
		allot.Workload{ID: "trials-2", Queue: "experiment-2", PodSets: singles(30)},
	))
	// Output:
	// experiment-1 demand 10 fair share 2 used 2
	// experiment-2 demand 30 fair share 6 used 6
}

// The lower number is the higher priority, over all experiments; what does not
// fit does not hold up what does.
func ExampleDeterminedPriority() {
	printDecisions(onOneNode(8, allot.DeterminedPriority(),
		[]allot.Queue{{ID: "experiment-1"}, {ID: "experiment-2"}},
		allot.Workload{ID: "urgent", Queue: "experiment-2", Priority: 1, PodSets: oneTask(6)},
		allot.Workload{ID: "usual", Queue: "experiment-1", PodSets: oneTask(4)}, // 42
		allot.Workload{ID: "whenever", Queue: "experiment-1", Priority: 90, PodSets: oneTask(2)},
	))
	// Output:
	// start experiment-2/urgent node[0-5]
	// start experiment-1/whenever node[6-7]
	// wait experiment-1/usual  no-capacity: asks 4 GPUs, and the nodes of queue experiment-1 have 0 GPUs free in all
}

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

// What users of OSMO turn on who want large gangs to start. A LOW gang borrows both nodes and is promised them from 12:00
// on, when what runs ends. LOW work passes it if it has ended by then; NORMAL work of a pool that has the
// quota for it does so in any case, as a promise of what is borrowed yields to what is guaranteed (B4).
func ExampleOSMO_reservations() {
	policy := allot.OSMO()
	policy.Reserve = allot.ReservePolicy{Backfill: queue.EASY, Depth: 10, GangsOnly: true, TrustDurations: true}
	now := time.Date(2030, 1, 1, 9, 0, 0, 0, time.UTC)
	job := func(id, pool, class string, tasks int, hours int64) allot.Workload {
		return allot.Workload{
			ID: id, Queue: pool, Submitted: now.Add(-time.Hour), Duration: quota.Of(hours * 3600), Class: class,
			PodSets: []allot.PodSet{{Count: tasks, Request: allot.Request{GPU: allot.GPURequest{Count: 8}}}},
		}
	}
	runs := job("runs", "robots", "NORMAL", 1, 4)
	runs.Tasks = []allot.Task{{Node: "n0", Devices: []int{0, 1, 2, 3, 4, 5, 6, 7}, Since: now.Add(-time.Hour)}}
	state := &allot.State{
		Now:       now,
		Pools:     []allot.Pool{{ID: "main", Policy: policy}},
		Nodes:     []allot.Node{{ID: "n0", Devices: make([]allot.Device, 8)}, {ID: "n1", Devices: make([]allot.Device, 8)}},
		Queues:    []allot.Queue{{ID: "cars", Resources: guaranteed(8)}, {ID: "robots", Resources: guaranteed(8)}},
		Workloads: []allot.Workload{runs, job("a-gang", "robots", "LOW", 2, 6), job("b-day", "robots", "LOW", 1, 24), job("c-hour", "robots", "LOW", 1, 1)},
	}
	show := func() {
		plan, err := allot.Solve(state)
		if err != nil {
			log.Fatal(err)
		}
		for _, a := range plan.Actions {
			fmt.Println(a.Kind, a.Workload)
		}
		for _, r := range plan.Reservations {
			fmt.Println(r.Workload, "is promised", r.Promise.At.Format("2 January 15:04"))
		}
	}
	show()
	state.Workloads = append(state.Workloads, job("normal", "cars", "NORMAL", 1, 24))
	fmt.Println("had NORMAL work of a day come in cars:")
	show()
	// Output:
	// start c-hour
	// a-gang is promised 1 January 12:00
	// had NORMAL work of a day come in cars:
	// start normal
	// a-gang is promised 2 January 09:00
}
