package sample_test

import (
	"fmt"

	"github.com/allotsched/allot/internal/cluster/sample"
)

func ExampleWorld() {
	w := sample.World()
	p := w.Pools[0]
	fmt.Println("workloads:", len(w.Works))
	fmt.Println("each asks", p.Definitions[0].Asks.Of(0), "of", p.Capacity[0])
	// Output:
	// workloads: 2
	// each asks 2000 of 3000
}
