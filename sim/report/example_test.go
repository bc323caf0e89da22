package report_test

import (
	"log"
	"os"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/sim"
	"github.com/allotsched/allot/sim/report"
	"github.com/allotsched/allot/sim/trace"
)

func ExampleWriteJobs() {
	in := &sim.Input{
		Cluster: allot.State{Nodes: trace.Nodes(1, 1)},
		Jobs: []sim.Job{{Duration: time.Hour, Workload: allot.Workload{
			ID:      "job",
			PodSets: []allot.PodSet{{Count: 1, Request: allot.Request{GPU: allot.GPURequest{Count: 1}}}},
		}}},
	}
	r, err := sim.Run(in, sim.Options{Scheduler: sim.FIFO()})
	if err != nil {
		log.Fatal(err)
	}
	if err := report.WriteJobs(os.Stdout, r); err != nil {
		log.Fatal(err)
	}
	// Output:
	// job,queue,priority,gpus,tasks,submit,first_start,end,duration,pending,outcome,starts,evictions,moves,shrinks,useful,lost,vain,unsaved,overhead,waiting,leaving,slowdown,rho
	// job,,0,1.000,1,0,0,3600,3600,0,done,1,0,0,0,3600.000000,0.000000,0.000000,0.000000,0.000000,0.000000,0.000000,1.000000,1.000000
}
