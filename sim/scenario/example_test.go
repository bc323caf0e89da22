package scenario_test

import (
	"fmt"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/sim/scenario"
)

// A scenario says what must be decided; running it says what is decided.
func ExampleRun() {
	script, err := scenario.Parse(`# LOW runs beyond the quota, NORMAL does not.
policy preset=osmo
nodes n0 gpu=4
queue q quota=2
run q/first normal gpu=2
submit q/second normal gpu=1 | submit q/third low gpu=1
solve waits
----
`)
	if err != nil {
		fmt.Println(err)
		return
	}
	outputs, err := scenario.Run(script, scenario.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(outputs[0])
	// Output:
	// start q/third n0[2]
	// wait q/second: no-quota q gpu have 0 need 1
}

// Statements make a state for any other use.
func ExampleState() {
	state, err := scenario.State(`
nodes n0..n3 gpu=8 model=H100
queue team quota=16
submit team/train tasks=2 gpu=8
`)
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := allot.Solve(state)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(plan.Actions), plan.Actions[0].Kind, plan.Actions[0].Workload)
	// Output:
	// 1 start train
}

// A state that does something unexpected makes a bug report.
func ExampleFormat() {
	state := &allot.State{
		Nodes:  []allot.Node{{ID: "n0", Devices: make([]allot.Device, 8)}},
		Queues: []allot.Queue{{ID: "team"}},
		Workloads: []allot.Workload{{
			ID: "train", Queue: "team",
			PodSets: []allot.PodSet{{Count: 2, Request: allot.Request{GPU: allot.GPURequest{Count: 4}}}},
		}},
	}
	fmt.Print(scenario.Format(state))
	// Output:
	// nodes n0 gpu=8
	// queue team
	// submit team/train at=unset tasks=2 gpu=4
	// now unset
}

// An error says where it is.
func ExampleParse() {
	_, err := scenario.Parse("nodes n0 gpu=8\nqeue team")
	fmt.Println(err)
	// Output:
	// 2:1: unknown statement "qeue"
}
