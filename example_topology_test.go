package allot_test

import (
	"fmt"
	"log"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/gang"
)

// Two racks of three nodes, of which one is in use. A gang of four nodes is to be in
// one block, and in one rack if it can be; it cannot, and is parted evenly. Another
// needs three nodes of one rack, and is told what the best one takes.
func ExampleTopology() {
	gpus := make([]allot.Device, 8)
	state := &allot.State{Levels: []allot.Level{{Name: "block"}, {Name: "rack"}}}
	for i, id := range []string{"a1", "a2", "a3", "b1", "b2", "b3"} {
		rack := []string{"r1", "r2"}[i/3]
		state.Nodes = append(state.Nodes, allot.Node{
			ID: id, Domains: map[string]string{"block": "main", "rack": rack}, Hardware: "nvswitch-8", Devices: gpus,
		})
	}
	state.Nodes[2].Cordoned = true
	nodes := func(n int) []allot.PodSet {
		return []allot.PodSet{{Count: n, Request: allot.Request{GPU: allot.GPURequest{Count: 8}}}}
	}
	state.Workloads = []allot.Workload{
		{ID: "pretrain", PodSets: nodes(4), Topology: allot.Topology{Required: "block", Preferred: "rack", Mode: gang.Balance}},
		{ID: "tune", PodSets: nodes(3), Topology: allot.Topology{Required: "rack"}},
	}
	plan, err := allot.Solve(state)
	if err != nil {
		log.Fatal(err)
	}
	for _, t := range plan.Actions[0].Tasks {
		fmt.Println(t.Node)
	}
	for _, r := range plan.Pending[0].Reasons {
		if r.Code == allot.NoDomain {
			fmt.Println(r)
		}
	}
	// Output:
	// a1
	// a2
	// b1
	// b2
	// no domain takes all 3 tasks that must be in one: the best rack, main/r2, takes 1 of 3
}
