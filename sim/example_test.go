package sim_test

import (
	"fmt"
	"log"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/sim"
	"github.com/allotsched/allot/sim/trace"
)

// Four jobs on one GPU: first in, first out, and the shortest first.
func ExampleRun() {
	in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 1)}}
	for i, hours := range []time.Duration{6, 2, 4, 1} {
		in.Jobs = append(in.Jobs, sim.Job{
			Duration: hours * time.Hour,
			Workload: allot.Workload{
				ID:      fmt.Sprint("job-", i),
				PodSets: []allot.PodSet{{Count: 1, Request: allot.Request{GPU: allot.GPURequest{Count: 1}}}},
			},
		})
	}
	for _, s := range []sim.Scheduler{sim.FIFO(), sim.SJF()} {
		r, err := sim.Run(in, sim.Options{Scheduler: s})
		if err != nil {
			log.Fatal(err)
		}
		var times []time.Duration
		for i := range r.Jobs {
			times = append(times, r.Jobs[i].CompletionTime())
		}
		fmt.Printf("%s: mean %s s, makespan %v\n", s.Name, sim.SpreadOf(times).Mean.Text(0), r.Makespan)
	}
	// Output:
	// fifo: mean 35100 s, makespan 13h0m0s
	// sjf: mean 21600 s, makespan 13h0m0s
}
