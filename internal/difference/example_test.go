package difference_test

import (
	"fmt"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/cluster/sample"
	"github.com/allotsched/allot/internal/difference"
	"github.com/allotsched/allot/placement"
)

// A workload has started since the tables were alike.
func ExampleClose() {
	w := sample.World()
	w.Room = cluster.NewTable(len(w.Works))
	k := &w.Works[0]
	places := []placement.Place{{Node: 0, Devices: 0b11}}
	w.Booking().Start(0, cluster.Start, w.Definition(k, 0).Unit, places, 0, 0, false)
	d := &cluster.Decision{World: w}
	if err := difference.Close(w, d); err != nil {
		panic(err)
	}
	for _, a := range d.Actions {
		for _, t := range d.Placed[a.From:a.To] {
			fmt.Printf("starts: %v, workload %d on node %d, devices %b\n", a.Kind == cluster.Start, a.Work, t.Node, t.Devices)
		}
	}
	// Output:
	// starts: true, workload 0 on node 0, devices 11
}
