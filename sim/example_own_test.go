package sim_test

import (
	"fmt"
	"log"
	"slices"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/sim"
	"github.com/allotsched/allot/sim/trace"
)

// An algorithm of one's own: those run first who would end unfairest, as Themis has it
// (NSDI 2020), in rounds of ten minutes. A job that comes late is not far behind yet.
func ExampleScheduler_rank() {
	themis := sim.FirstFit()
	themis.Name = "themis"
	themis.Rank = func(v *sim.View) []sim.Turn {
		turns := make([]sim.Turn, len(v.Jobs))
		for i := range turns {
			turns[i].Job = i
		}
		slices.SortStableFunc(turns, func(a, b sim.Turn) int {
			return v.Jobs[b.Job].Rho().Cmp(v.Jobs[a.Job].Rho())
		})
		v.Wake(v.Now + 10*time.Minute)
		return turns
	}
	in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 1)}}
	for i, minutes := range []time.Duration{60, 30, 30} {
		in.Jobs = append(in.Jobs, sim.Job{
			Submit: time.Duration(i) * 5 * time.Minute, Duration: minutes * time.Minute,
			Workload: allot.Workload{ID: fmt.Sprint("job-", i), PodSets: []allot.PodSet{
				{Count: 1, Request: allot.Request{GPU: allot.GPURequest{Count: 1}}},
			}},
		})
	}
	for _, s := range []sim.Scheduler{sim.FIFO(), themis} {
		r, err := sim.Run(in, sim.Options{Scheduler: s})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s:", s.Name)
		for i := range r.Jobs {
			fmt.Printf(" %s ends at %v with ρ %s;", r.Jobs[i].Workload.ID, r.Jobs[i].End, r.Jobs[i].Fairness().Text(2))
		}
		fmt.Println()
	}
	// Output:
	// fifo: job-0 ends at 1h0m0s with ρ 0.36; job-1 ends at 1h30m0s with ρ 1.09; job-2 ends at 2h0m0s with ρ 1.68;
	// themis: job-0 ends at 2h0m0s with ρ 0.98; job-1 ends at 1h5m0s with ρ 0.69; job-2 ends at 1h15m0s with ρ 0.76;
}
