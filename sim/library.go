package sim

import (
	"slices"

	"github.com/allotsched/allot"
)

// A library holds the state as the library is given it, and asks it for plans.
// Everything else changes workloads, nodes and queues in place.
type library struct {
	state *allot.State
	// jobs are those of the workloads, by position.
	jobs   []int
	submit func(*Job, *allot.Workload)
}

// open takes a copy of the cluster, as the scheduler wants it.
func (l *library) open(cluster allot.State, s Scheduler) {
	cluster.Nodes = slices.Clone(cluster.Nodes)
	for i := range cluster.Nodes {
		cluster.Nodes[i].Devices = slices.Clone(cluster.Nodes[i].Devices)
	}
	cluster.Pools = slices.Clone(cluster.Pools)
	cluster.Queues = slices.Clone(cluster.Queues)
	for i := range cluster.Queues {
		cluster.Queues[i].Resources = slices.Clone(cluster.Queues[i].Resources)
	}
	l.state, l.submit = &cluster, s.Submit
	if s.Policy != nil {
		if len(cluster.Pools) == 0 {
			cluster.Pools = []allot.Pool{{ID: "pool"}}
		}
		for i := range cluster.Pools {
			cluster.Pools[i].Policy = *s.Policy
		}
	}
	if s.Cluster != nil {
		s.Cluster(l.state)
	}
}

// add brings a job's workload into the state.
func (l *library) add(e *engine, j *job) {
	w := j.Workload
	w.Submitted = e.instant()
	if l.submit != nil {
		l.submit(j.Job, &w)
	}
	j.slot = len(l.jobs)
	l.jobs = append(l.jobs, j.index)
	l.state.Workloads = append(l.state.Workloads, w)
}

// remove takes it out again. The last one takes its position: order never matters
// (S3).
func (l *library) remove(e *engine, j *job) {
	last := len(l.jobs) - 1
	l.state.Workloads[j.slot], l.jobs[j.slot] = l.state.Workloads[last], l.jobs[last]
	e.jobs[l.jobs[j.slot]].slot = j.slot
	l.state.Workloads[last] = allot.Workload{}
	l.state.Workloads, l.jobs = l.state.Workloads[:last], l.jobs[:last]
	j.slot = -1
}

// decide asks for a plan.
func (l *library) decide(e *engine) (*allot.Plan, error) {
	l.state.Now = e.instant()
	return allot.Solve(l.state)
}
