package trace

import (
	"io"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/sim"
)

// ElasticFlow reads the jobs of one of ElasticFlow's clusters, with the columns
// job_id, submission_time, duration (seconds) and num_gpu, onto so many nodes of 8
// GPUs. Time begins at the first submission. A job of no duration is left out.
func ElasticFlow(jobs io.Reader, nodes int) (*sim.Input, error) {
	if err := checkNodes(nodes, nodeGPUs); err != nil {
		return nil, err
	}
	in := &sim.Input{Cluster: allot.State{Nodes: Nodes(nodes, nodeGPUs)}}
	shapes := make(gangs)
	err := readJobs("elasticflow jobs", jobs, in, "job_id", []string{"submission_time", "duration", "num_gpu"}, func(r *row) sim.Job {
		return sim.Job{
			Submit: r.arrives(r.times("submission_time", time.Second)), Duration: r.duration("duration", time.Second),
			Workload: allot.Workload{ID: r.text("job_id"), PodSets: shapes.of(int(r.number("num_gpu", 1, maxGPUs)))},
		}
	})
	lineUp(in, true)
	return in, err
}
