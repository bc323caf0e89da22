package verify_test

import (
	"errors"
	"fmt"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/verify"
)

func ExamplePlan() {
	state := &allot.State{
		Revision: "1",
		Nodes:    []allot.Node{{ID: "n", Devices: []allot.Device{{Model: "H100"}, {Model: "H100"}}}},
		Workloads: []allot.Workload{
			{ID: "w", PodSets: []allot.PodSet{{Count: 1, Request: allot.Request{GPU: allot.GPURequest{Count: 2}}}}},
		},
	}
	plan, err := allot.Solve(state)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("as solved:", verify.Plan(state, plan))

	plan.Actions[0].Tasks[0].Devices = []int{0}
	var unlawful *verify.Error
	if errors.As(verify.Plan(state, plan), &unlawful) {
		fmt.Println(unlawful.Violations[0])
	}
	// Output:
	// as solved: <nil>
	// actions[0].tasks[0]: 1 devices named, 2 requested (P2)
}
