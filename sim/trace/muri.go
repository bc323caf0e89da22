package trace

import (
	"io"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/sim"
)

// muriStretch is by how many thousandths Muri's simulator makes an iteration longer
// than the trace says when jobs run unshared.
const muriStretch = 1015

// Muri reads a cut of Philly's jobs as published with Muri, with the columns job_id,
// num_gpu, submit_time (ms), iterations and iteration_time (ms), onto so many nodes
// of 8 GPUs. A job's duration is iterations × iteration_time × 1.015, as the
// published results have it. (The column duration, which is iterations ×
// iteration_time rounded to seconds, is not read.)
func Muri(jobs io.Reader, nodes int) (*sim.Input, error) {
	if err := checkNodes(nodes, nodeGPUs); err != nil {
		return nil, err
	}
	in := &sim.Input{Cluster: allot.State{Nodes: Nodes(nodes, nodeGPUs)}}
	const maxIterations, maxMillis = 1 << 40, 1 << 20
	shapes := make(gangs)
	err := readJobs("muri jobs", jobs, in, "job_id", []string{"num_gpu", "submit_time", "iterations", "iteration_time"}, func(r *row) sim.Job {
		submit := r.arrives(r.times("submit_time", time.Millisecond))
		iterations := r.number("iterations", 1, maxIterations)
		each := r.number("iteration_time", 1, maxMillis)
		if iterations > int64(maxTime/time.Microsecond)/(each*muriStretch) {
			r.fail("iterations", "is too long a job")
			return sim.Job{}
		}
		return sim.Job{
			Workload: allot.Workload{ID: r.text("job_id"), PodSets: shapes.of(int(r.number("num_gpu", 1, maxGPUs)))},
			Submit:   submit,
			Duration: time.Duration(iterations*each*muriStretch) * time.Microsecond,
		}
	})
	lineUp(in, false)
	return in, err
}
