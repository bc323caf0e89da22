package allot_test

import (
	"fmt"
	"log"

	"github.com/allotsched/allot"
)

// A host keeps the snapshot of its cluster, changes it by what happens, and
// carries out what is decided.
func ExampleNewSnapshot() {
	single := func(id string) allot.Workload {
		return allot.Workload{ID: id, PodSets: []allot.PodSet{{Count: 1, Request: allot.Request{GPU: allot.GPURequest{Count: 1}}}}}
	}
	cluster, err := allot.NewSnapshot(&allot.State{Nodes: []allot.Node{{ID: "n0", Devices: make([]allot.Device, 1)}}})
	if err != nil {
		log.Fatal(err)
	}
	events := []allot.Change{
		{Workloads: []allot.Workload{single("first")}},
		{Workloads: []allot.Workload{single("second")}},
		{Remove: allot.Removal{Workloads: []string{"first"}}},
	}
	for _, event := range events {
		if cluster, err = cluster.With(event); err != nil {
			log.Fatal(err)
		}
		decision, err := cluster.Decide()
		if err != nil {
			log.Fatal(err)
		}
		for _, a := range decision.Actions() {
			fmt.Println(a.Kind, a.Workload, a.Tasks[0].Node)
		}
		for p, err := range decision.Pending() {
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println(p.Workload, "waits:", p.Reasons[0].Code)
		}
		if cluster, err = decision.Apply(); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// start first n0
	// second waits: no-capacity
	// start second n0
}
