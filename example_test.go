package allot_test

import (
	"context"
	"fmt"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// twoTeams is the worked example of the package page: two queues with a quota
// of 2 GPUs each on one node of 4.
func twoTeams() *allot.State {
	twoGPUs := []allot.QueueResource{{Resource: allot.GPU, Quota: quota.Of(2000)}}
	gpus := func(n int) []allot.PodSet {
		return []allot.PodSet{{Count: 1, Request: allot.Request{GPU: allot.GPURequest{Count: n}}}}
	}
	return &allot.State{
		Nodes:  []allot.Node{{ID: "node", Devices: make([]allot.Device, 4)}},
		Queues: []allot.Queue{{ID: "speech", Resources: twoGPUs}, {ID: "vision", Resources: twoGPUs}},
		Workloads: []allot.Workload{
			{ID: "notebook", Queue: "speech", PodSets: gpus(1), Preemption: allot.NonPreemptible},
			{ID: "serve", Queue: "speech", PodSets: gpus(2), Preemption: allot.NonPreemptible},
			{ID: "train", Queue: "vision", PodSets: gpus(3)},
		},
	}
}

// The worked example of the package page.
func Example() {
	plan, err := allot.Solve(twoTeams())
	if err != nil {
		panic(err)
	}
	for _, a := range plan.Actions {
		fmt.Println(a.Kind, a.Workload, "on devices", a.Tasks[0].Devices)
	}
	for _, p := range plan.Pending {
		fmt.Println(p.Workload, "waits:", p.Reasons[0])
	}
	// Output:
	// start notebook on devices [0]
	// start train on devices [1 2 3]
	// serve waits: is not preemptible and asks 2 GPUs, and the quota of queue speech leaves 1 GPU
}

// A host acts upon codes and numbers; texts are for people.
func ExampleSolve() {
	plan, err := allot.Solve(twoTeams())
	if err != nil {
		panic(err) // the state is malformed: see Check
	}
	for _, p := range plan.Pending {
		for _, r := range p.Reasons {
			switch r.Code {
			case allot.NoQuota, allot.ImpossibleQuota:
				fmt.Println(p.Workload, "lacks", r.Need-r.Have, "milli-GPU of the quota of", r.Queue)
			case allot.NoCapacity:
				fmt.Println(p.Workload, "lacks", r.Need-r.Have, "milli-GPU of free capacity")
			}
		}
	}
	// Output:
	// serve lacks 1000 milli-GPU of the quota of speech
	// serve lacks 2000 milli-GPU of free capacity
}

// A solve that is given up decides nothing: time never shapes a plan.
func ExampleSolveContext() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	plan, err := allot.SolveContext(ctx, twoTeams())
	fmt.Println(plan, err)
	// Output: <nil> context canceled
}

// A host that has set a plan going describes what it sees with the next state;
// Begin says what that is if all goes well.
func ExampleBegin() {
	state := twoTeams()
	plan, err := allot.Solve(state)
	if err != nil {
		panic(err)
	}
	next, err := allot.Begin(state, plan)
	if err != nil {
		panic(err)
	}
	for _, w := range next.Workloads {
		for _, t := range w.Tasks {
			fmt.Println(w.ID, t.Phase, t.Node, t.Devices)
		}
	}
	again, err := allot.Solve(next)
	if err != nil {
		panic(err)
	}
	fmt.Println(len(again.Actions), "actions are left to do")
	// Output:
	// notebook running node [0]
	// train running node [1 2 3]
	// 0 actions are left to do
}

// People may reserve an amount of devices without saying which: here half of every node for a queue.
func ExampleReserved() {
	state := twoTeams()
	state.Reservations = []allot.Reservation{{
		ID: "course", Queue: state.Queues[0].ID,
		Domains: []allot.ReservedDomain{{Level: allot.NodeLevel, Devices: 2}},
	}}
	nodes, err := allot.Reserved(state)
	if err != nil {
		panic(err)
	}
	for _, of := range nodes[0] {
		fmt.Println(state.Reservations[0].ID, of.Node, of.Devices)
	}
	// Output: course node [0 1]
}

// Placement that keeps room for what is expected: of the two nodes that can take
// the notebook one would be left with a single GPU, of no use to trials of two
// such as run here. Bin-packing takes the node of which less is free, whatever is
// expected.
func ExampleScoring() {
	gpus := func(n int) []allot.PodSet {
		return []allot.PodSet{{Count: 1, Request: allot.Request{GPU: allot.GPURequest{Count: n}}}}
	}
	state := &allot.State{
		Nodes: []allot.Node{
			{ID: "four", Devices: make([]allot.Device, 4)},
			{ID: "three", Devices: make([]allot.Device, 3)},
			{ID: "two", Devices: make([]allot.Device, 2)},
		},
		Pools: []allot.Pool{{ID: "pool"}},
		Workloads: []allot.Workload{
			{ID: "notebook", PodSets: gpus(1)},
			{ID: "trial-1", PodSets: gpus(2), Tasks: []allot.Task{{Node: "four", Devices: []int{0, 1}}}},
			{ID: "trial-2", PodSets: gpus(2), Tasks: []allot.Task{{Node: "four", Devices: []int{2, 3}}}},
		},
	}
	for _, strategy := range []placement.Strategy{placement.BinPack, placement.FragmentationGradient} {
		state.Pools[0].Policy.GPUStrategy = strategy
		plan, err := allot.Solve(state)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%v takes node %s\n", strategy, plan.Actions[0].Tasks[0].Node)
	}
	// Output:
	// bin-pack takes node two
	// fragmentation-gradient takes node three
}

// A preset is a value: take one, turn a knob. Under OSMO's policy work that
// names no class is NORMAL, which is never preempted and so never beyond the
// quota; LOW may borrow.
func ExamplePolicy() {
	policy := allot.OSMO()
	policy.GPUStrategy = placement.Spread
	state := twoTeams()
	state.Pools = []allot.Pool{{ID: "pool", Policy: policy}}
	state.Workloads = append(state.Workloads, allot.Workload{
		ID: "batch", Queue: "vision", Class: "LOW", PodSets: state.Workloads[2].PodSets,
	})
	plan, err := allot.Solve(state)
	if err != nil {
		panic(err)
	}
	for _, a := range plan.Actions {
		fmt.Println(a.Kind, a.Workload)
	}
	for _, p := range plan.Pending {
		fmt.Println(p.Workload, "waits:", p.Reasons[0])
	}
	// Output:
	// start notebook
	// start batch
	// serve waits: is not preemptible and asks 2 GPUs, and the quota of queue speech leaves 1 GPU
	// train waits: is not preemptible and asks 3 GPUs, and the quota of queue vision is 2 GPUs
}
