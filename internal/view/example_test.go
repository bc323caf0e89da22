package view_test

import (
	"context"
	"fmt"
	"log"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/view"
)

// Where does a workload stand that waits, by the engine's numbers and by their names?
func Example() {
	snapshot, err := allot.NewSnapshot(&allot.State{
		Nodes:  []allot.Node{{ID: "n0", Devices: make([]allot.Device, 4)}},
		Queues: []allot.Queue{{ID: "speech"}, {ID: "vision"}},
		Workloads: []allot.Workload{{ID: "train", Queue: "vision", PodSets: []allot.PodSet{{
			Count: 1, Request: allot.Request{GPU: allot.GPURequest{Count: 8}},
		}}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	decision, err := snapshot.Decide()
	if err != nil {
		log.Fatal(err)
	}
	err = decision.View(context.Background(), view.Victims{}, func(v view.Decision[allot.Reason, allot.Share]) error {
		i, _ := v.Workload("train")
		w := v.World()
		form := w.FormOf(&w.Works[i], 0)
		fmt.Printf("workload %d of queue %d, which is %s\n", i, form.Queue, v.QueueID(form.Pool, form.Queue))
		reasons, err := v.Reasons(i)
		fmt.Println(reasons[0].Code)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// workload 0 of queue 1, which is vision
	// impossible-node
}
