package engine_test

import (
	"context"
	"fmt"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/cluster/sample"
	"github.com/allotsched/allot/internal/engine"
)

// Two workloads of two GPUs each wait for a node of three.
func ExampleSolve() {
	w := sample.World()
	d, err := engine.Solve(context.Background(), w)
	if err != nil {
		panic(err)
	}
	for _, a := range d.Actions {
		for _, t := range d.Placed[a.From:a.To] {
			fmt.Printf("workload %d starts on node %d, devices %b\n", a.Work, t.Node, t.Devices)
		}
	}
	why, err := engine.Reasons(w, 1)
	if err != nil {
		panic(err)
	}
	fmt.Println("workload 1 has no capacity:", why[0].Code == cluster.NoCapacity, why[0].Have, "of", why[0].Need)
	// Output:
	// workload 0 starts on node 0, devices 11
	// workload 1 has no capacity: true 1000 of 2000
}
