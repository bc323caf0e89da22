package cluster_test

import (
	"fmt"

	"github.com/allotsched/allot/internal/cluster"
)

// What a decision does to a workload is undone.
func ExampleJournal() {
	w := &cluster.World{
		Works: []cluster.Work{{Live: -1, Rare: cluster.Nothing}},
		Room:  cluster.NewTable(1),
	}
	var j cluster.Journal
	w.Journal = j.Begin()
	w.Journal.Keep(w, 0)
	w.Works[0].Status = cluster.Complete
	w.Journal.Undo(w)
	fmt.Println("waits:", w.Works[0].Status == cluster.Waiting)
	// Output:
	// waits: true
}
