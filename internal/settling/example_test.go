package settling_test

import (
	"fmt"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/cluster/sample"
	"github.com/allotsched/allot/internal/settling"
)

// One workload runs on a node that is lost, the other where it may stay.
func ExampleSettle() {
	w := sample.World()
	w.Nodes = append(w.Nodes, cluster.Node{Rank: 1, Lost: true})
	w.NodePool, w.Position = append(w.NodePool, -1), append(w.Position, -1)
	for i := range w.Works {
		place := cluster.TaskPlace{Node: int32(i), Devices: 0b11}
		w.Works[i].Rare = &cluster.Rare{
			Tasks: []cluster.Holding{{TaskPlace: place, Work: int32(i), Phase: cluster.Running}},
			Owner: cluster.None,
		}
	}
	d := &cluster.Decision{World: w}
	if err := settling.Settle(w, d); err != nil {
		panic(err)
	}
	for _, a := range d.Actions {
		fmt.Println("displaced:", a.Kind == cluster.Displace, "workload", a.Work)
	}
	fmt.Println("holds a place: workload", w.Holdings[0].Work)
	fmt.Println("its queue uses", w.Pools[0].Tree.Use(0, 0))
	// Output:
	// displaced: true workload 1
	// holds a place: workload 0
	// its queue uses 2000
}
