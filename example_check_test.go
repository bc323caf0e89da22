package allot_test

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/allotsched/allot"
)

// Check tells every fault at once, each with its place; errors.Is asks for a
// kind of fault, errors.As gives them all.
func ExampleCheck() {
	err := allot.Check(&allot.State{
		Nodes:     []allot.Node{{ID: "n0", Devices: make([]allot.Device, 2)}},
		Workloads: []allot.Workload{{ID: "w0", PodSets: []allot.PodSet{{Count: -1}}}, {ID: "w0", Queue: "q"}},
	})
	var invalid *allot.InvalidError
	fmt.Println(errors.Is(err, allot.FaultDuplicate), errors.As(err, &invalid), len(invalid.Faults))
	fmt.Println(err)
	// Output:
	// true true 4
	// allot: invalid: 4 faults
	// 	workloads[0] (w0).podSets[0].count: must be > 0, is -1
	// 	workloads[1].id: must differ from workloads[0].id, is "w0"
	// 	workloads[1] (w0).queue: must name a queue, is "q"
	// 	workloads[1] (w0).podSets: must have at least one pod set, is []
}

// The JSON of a state begins with its version; reading it is strict.
func ExampleState_UnmarshalJSON() {
	data, err := json.Marshal(allot.State{Nodes: []allot.Node{{ID: "n0"}}})
	fmt.Println(string(data), err)
	var s allot.State
	fmt.Println(s.UnmarshalJSON([]byte(`{"version":1,"nodes":[{"ID":"n0","rank":1.5}]}`)))
	// Output:
	// {"version":1,"nodes":[{"id":"n0"}]} <nil>
	// allot: invalid: 2 faults
	// 	nodes[0].ID: must not be there: no such field, is "n0"
	// 	nodes[0].rank: must be a whole number, without fraction or exponent, is 1.5
}

// The text of a plan is for people, one line per action and per reason.
func ExamplePlan_String() {
	plan := allot.Plan{
		Actions: []allot.Action{{
			Kind: allot.Start, Workload: "train", Queue: "team",
			Tasks: []allot.Placement{{PodSet: "workers", Node: "n0", Devices: []int{0, 1, 2, 3}}, {PodSet: "workers", Index: 1, Node: "n1", Devices: []int{0, 1, 2, 3}}},
		}},
		Pending: []allot.Pending{{Workload: "notebook", Queue: "team", Reasons: []allot.Reason{
			{Code: allot.OverLimit, Queue: "team", Resource: allot.GPU, Need: 500},
		}}},
	}
	fmt.Print(plan.String())
	// Output:
	// start team/train workers[0-1] n0[0-3] n1[0-3]
	// wait team/notebook  over-limit: asks 0.5 GPU, and the limit of queue team leaves 0 GPUs
}
