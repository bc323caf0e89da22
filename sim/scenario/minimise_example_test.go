package scenario_test

import (
	"fmt"
	"log"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/sim/scenario"
)

// Half the cluster is free, and train waits for its limit. What does that hang
// on? On the limit of the queue above its own.
func ExampleMinimise() {
	state, err := scenario.State(`
nodes n0..n3 gpu=8 cpu=64 label=zone:a
nodes n4..n7 gpu=8 cpu=32 label=zone:b
queue research quota=24 limit=16 | queue batch quota=32
queue research/vision quota=8 | queue research/speech quota=16
run research/vision/a tasks=2 gpu=4 | run research/speech/b gpu=2 cpu=16 | run batch/c,batch/d tasks=2 gpu=4
submit research/vision/train tasks=2 gpu=4 selector=zone:b
submit batch/sweep tasks=4 gpu=1
`)
	if err != nil {
		log.Fatal(err)
	}
	small, err := scenario.Minimise(state, scenario.WaitsOnlyFor("train", allot.OverLimit), 0)
	if err != nil {
		log.Fatal(err)
	}
	report, err := scenario.Report("train waits though half the cluster is free", small.State)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(report)
	// Output:
	// # train waits though half the cluster is free
	// nodes n1 gpu=1
	// nodes n4 gpu=2
	// queue research limit=2
	// submit research/a at=unset gpu=1
	// submit research/train at=unset tasks=2 gpu=1
	// now unset
	// solve reasons
	// ----
	// start research/a n1[0]
	// wait research/train: over-limit research gpu have 1 need 2
}
