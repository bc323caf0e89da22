package division_test

import (
	"fmt"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/cluster/sample"
	"github.com/allotsched/allot/internal/division"
)

// Two workloads ask for more than there is.
func ExampleDivideShares() {
	w := sample.World()
	w.Room = cluster.NewTable(len(w.Works))
	w.BareNodes()
	if err := division.DivideShares(w); err != nil {
		panic(err)
	}
	p := w.Pools[0]
	fmt.Println("demand", p.DemandTotal[0], "of", p.Capacity[0])
	// Output:
	// demand 4000 of 3000
}
