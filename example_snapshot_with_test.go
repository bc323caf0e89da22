package allot_test

import (
	"context"
	"fmt"
	"log"

	"github.com/allotsched/allot"
)

// A planner asks what would be if: each question is a version of its own, and
// what it was asked of stays as it is.
func ExampleSnapshot_With() {
	cluster, err := allot.NewSnapshot(&allot.State{
		Nodes: []allot.Node{{ID: "n0", Devices: make([]allot.Device, 4)}},
		Workloads: []allot.Workload{
			{ID: "train", PodSets: []allot.PodSet{{Count: 3, Request: allot.Request{GPU: allot.GPURequest{Count: 2}}}}},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	ask := func(question string, s *allot.Snapshot) {
		decision, err := s.Decide()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s, does it start? %t\n", question, len(decision.Actions()) > 0)
	}
	ask("as the cluster is", cluster)
	for _, gpus := range []int{1, 2, 4} {
		question := fmt.Sprintf("with a node of %d more", gpus)
		larger, err := cluster.With(allot.Change{Nodes: []allot.Node{{ID: "n1", Devices: make([]allot.Device, gpus)}}})
		if err != nil {
			log.Fatal(err)
		}
		ask(question, larger)
	}
	ask("as it still is", cluster)

	_, err = cluster.With(allot.Change{Remove: allot.Removal{Nodes: []string{"n1"}}})
	fmt.Println(err)
	// Output:
	// as the cluster is, does it start? false
	// with a node of 1 more, does it start? false
	// with a node of 2 more, does it start? true
	// with a node of 4 more, does it start? true
	// as it still is, does it start? false
	// allot: invalid: changes[0].remove.nodes[0]: must be there, is "n1"
}

// A decision has its actions at once, and the reasons of one workload when it
// is asked for them.
func ExampleDecision_Why() {
	cluster, err := allot.NewSnapshot(&allot.State{
		Nodes: []allot.Node{{ID: "n0", Devices: make([]allot.Device, 4)}},
		Workloads: []allot.Workload{
			{ID: "train", PodSets: []allot.PodSet{{Count: 3, Request: allot.Request{GPU: allot.GPURequest{Count: 2}}}}},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	decision, err := cluster.Decide()
	if err != nil {
		log.Fatal(err)
	}
	reasons, err := decision.Why(context.Background(), "train")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(decision.Actions()), "actions, as train waits:")
	for _, r := range reasons {
		fmt.Println(r)
	}
	// Output:
	// 0 actions, as train waits:
	// the empty cluster takes at most 2 of the 3 tasks that must start together
}
