package sim

import (
	"fmt"
	"slices"

	"github.com/allotsched/allot"
)

// A library holds the cluster as the engine knows it, and the snapshot in which the
// library was told of it. What has changed since is noted, and told with the next
// decision.
type library struct {
	state    *allot.State
	snapshot *allot.Snapshot
	// jobs are those of the state's workloads, by position.
	jobs []int
	// touched are the jobs that are otherwise than the snapshot has them, removed
	// the workloads that it has and the state has not; nodes and queues are those
	// that have changed, by position.
	touched []int
	removed []string
	nodes   []int
	queues  []int
	told    []allot.Workload            // in the last change, for its memory
	wanted  func(*Job, *allot.Workload) // by the scheduler
	// last is what was decided last, nil where that was nothing, as nobody waited.
	last *allot.Decision
	// anew: everything is planned anew at each decision, and engine.anew tells of the
	// workloads.
	anew bool
}

// begin opens the cluster for a run with some options, and refuses those that the scheduler
// does not take.
func (l *library) begin(in *Input, o *Options) error {
	if err := o.check(); err != nil {
		return err
	}
	s := &o.Scheduler
	if s.Rank != nil && (s.Plan != nil || s.ranking != nil) || s.Plan != nil && s.ranking != nil {
		return fmt.Errorf("sim: scheduler %s has more than one algorithm", s.Name)
	}
	if s.replans() && (o.Latency > 0 || o.Drop > 0) {
		return fmt.Errorf("sim: scheduler %s plans anew at each decision: its plans are carried out at once and in full, without Latency and Drop", s.Name)
	}
	return l.open(in.Cluster, *s)
}

// open takes a copy of the cluster, as the scheduler wants it.
func (l *library) open(cluster allot.State, s Scheduler) error {
	cluster.Nodes = slices.Clone(cluster.Nodes)
	for i := range cluster.Nodes {
		cluster.Nodes[i].Devices = slices.Clone(cluster.Nodes[i].Devices)
	}
	cluster.Pools = slices.Clone(cluster.Pools)
	cluster.Queues = slices.Clone(cluster.Queues)
	for i := range cluster.Queues {
		cluster.Queues[i].Resources = slices.Clone(cluster.Queues[i].Resources)
	}
	l.state, l.wanted, l.anew = &cluster, s.Submit, s.replans()
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
	if len(l.state.Workloads) > 0 {
		return fmt.Errorf("sim: scheduler %s gives the cluster workloads: only jobs have some", s.Name)
	}
	var err error
	l.snapshot, err = allot.NewSnapshot(l.state)
	return err
}

// add brings a job's workload into the state.
func (l *library) add(e *engine, j *job) {
	j.slot = len(l.jobs)
	l.jobs = append(l.jobs, j.index)
	l.state.Workloads = append(l.state.Workloads, j.Workload)
	w := e.workload(j)
	l.submit(j, w)
	w.Submitted = e.instant()
	l.touch(j)
}

// submitted is a job's workload as its scheduler wants it.
func (l *library) submitted(j *job) allot.Workload {
	w := j.Workload
	l.submit(j, &w)
	return w
}

// submit makes of a job's workload what its scheduler wants it to be.
func (l *library) submit(j *job, w *allot.Workload) {
	if j.priority != nil {
		w.Priority = *j.priority
	}
	if l.wanted != nil {
		l.wanted(j.Job, w)
	}
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
	if j.known {
		l.removed = append(l.removed, j.Workload.ID)
	}
}

// touch notes that a job's workload is otherwise than it was.
func (l *library) touch(j *job) {
	if !j.touched && !l.anew {
		j.touched = true
		l.touched = append(l.touched, j.index)
	}
}

// change is what is otherwise in the state than in the snapshot. The snapshot is
// taken to be told. The change is good until the next one.
func (l *library) change(e *engine) allot.Change {
	c := allot.Change{Now: e.instant(), Remove: allot.Removal{Workloads: l.removed}, Workloads: l.told[:0]}
	for _, i := range l.touched {
		j := e.jobs[i]
		if j == nil {
			continue // it has gone
		}
		j.touched = false
		if j.slot >= 0 {
			j.known = true
			c.Workloads = append(c.Workloads, *e.workload(j))
		}
	}
	slices.Sort(l.nodes)
	for _, i := range slices.Compact(l.nodes) {
		c.Nodes = append(c.Nodes, l.state.Nodes[i])
	}
	slices.Sort(l.queues)
	for _, i := range slices.Compact(l.queues) {
		c.Queues = append(c.Queues, l.state.Queues[i])
	}
	l.touched, l.removed, l.nodes, l.queues, l.told = l.touched[:0], l.removed[:0], l.nodes[:0], l.queues[:0], c.Workloads
	return c
}

// decide tells the library what has happened and asks it what to do.
func (l *library) decide(e *engine) (*allot.Decision, error) {
	l.state.Now = e.instant()
	next, err := l.snapshot.With(l.change(e))
	if err != nil {
		return nil, err
	}
	l.snapshot = next
	l.last, err = next.Decide()
	return l.last, err
}
