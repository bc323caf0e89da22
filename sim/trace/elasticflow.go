package trace

import (
	"fmt"
	"io"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/sim"
)

// ElasticFlow reads the jobs of one of ElasticFlow's clusters, with the columns
// job_id, submission_time, duration (seconds) and num_gpu, onto so many nodes of 8
// GPUs. Time begins at the first submission. A job of no duration is left out.
func ElasticFlow(jobs io.Reader, nodes int) (*sim.Input, error) {
	const what = "elasticflow jobs"
	in, err := clusterOf(what, nodes)
	if err != nil {
		return nil, err
	}
	shapes := make(gangs)
	err = plainCSV.readJobs(what, jobs, in, "job_id", []string{"job_id", "submission_time", "duration", "num_gpu"}, func(r *row) *sim.Job {
		j := &sim.Job{
			Workload: allot.Workload{ID: r.text("job_id"), PodSets: shapes.of(int(r.number("num_gpu", 1, maxGPUs)))},
			Submit:   r.times("submission_time", time.Second), Duration: r.times("duration", time.Second),
		}
		if j.Duration == 0 {
			r.leaveOut("no duration", "it ran for no time")
		}
		return j
	})
	return lined(in, true, err)
}

// clusterOf is an input of so many nodes of 8 GPUs, and no job yet.
func clusterOf(what string, nodes int) (*sim.Input, error) {
	list, err := nodesOf(nodes, nodeGPUs)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return &sim.Input{Cluster: allot.State{Nodes: list}}, nil
}

// lined is the input with its jobs in line, unless there is an error.
func lined(in *sim.Input, from bool, err error) (*sim.Input, error) {
	if err != nil {
		return nil, err
	}
	lineUp(in.Jobs, from)
	return in, nil
}
