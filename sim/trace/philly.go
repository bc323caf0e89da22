package trace

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
	"github.com/allotsched/allot/sim"
)

// Philly reads jobs of Microsoft's Philly clusters with their tenants. jobs has the
// columns timestamp, duration (seconds), num_gpus and cluster, tenants the columns
// vc and node num. Each tenant is a queue whose quota is the GPUs of its nodes, and
// all nodes, of 8 GPUs, are one pool. Jobs of a tenant without nodes are left out,
// and those that ask more than all nodes have. Time begins at the
// first submission. All jobs are preemptible.
func Philly(jobs, tenants io.Reader) (*sim.Input, error) {
	in := &sim.Input{}
	nodes, known := 0, make(map[string]bool)
	err := plainCSV.readBeside("philly tenants", "tenant", tenants, in, []string{"vc", "node num"}, func(r *row) {
		n := int(r.number("node num", 1, 1<<16))
		id := r.text("vc")
		if known[id] {
			r.fail("vc", "is listed twice")
		}
		if r.err != nil {
			return
		}
		nodes, known[id] = nodes+n, true
		in.Cluster.Queues = append(in.Cluster.Queues, allot.Queue{ID: id, Resources: []allot.QueueResource{
			{Resource: allot.GPU, Quota: quota.Of(int64(n) * nodeGPUs * 1000)},
		}})
	})
	if err != nil {
		return nil, err
	}
	if err := checkNodes(nodes, nodeGPUs); err != nil {
		return nil, none(in, err)
	}
	in.Cluster.Nodes = Nodes(nodes, nodeGPUs)
	shapes := make(gangs)
	zero := time.Date(2017, 1, 1, 0, 0, 0, 0, time.UTC)
	columns := []string{"duration", "num_gpus", "cluster"} // jobs have no names: they come at their times
	err = readJobs("philly jobs", jobs, in, "timestamp", columns, func(r *row) sim.Job {
		at, err := time.Parse(time.DateTime, r.text("timestamp"))
		if err != nil || at.Before(zero) || at.Sub(zero) > maxTime {
			r.fail("timestamp", "must be a time such as 2017-10-09 07:01:55")
		}
		submit := r.arrives(at.Sub(zero))
		gpus := int(r.number("num_gpus", 1, int64(nodes*nodeGPUs)))
		j := sim.Job{
			Submit: submit, Duration: r.duration("duration", time.Second),
			Workload: allot.Workload{Queue: r.text("cluster"), Preemption: allot.Preemptible, PodSets: shapes.of(gpus)},
		}
		if !known[j.Workload.Queue] {
			r.fail("cluster", "is no tenant with nodes")
		}
		return j
	})
	lineUp(in, true)
	return in, err
}

// Between is the input with the jobs that are submitted from one instant up to another,
// which is 0 for the end; time begins at from. Of what is left out of the trace that stays which
// was to come in this time, and what has no time that can be read. Changes stay, also those behind the last
// submission, while jobs still run; what has changed before from has from the beginning. Only
// changes of jobs that are not among these go.
func Between(in *sim.Input, from, to time.Duration) *sim.Input {
	if in == nil {
		return nil
	}
	out := *in
	out.Jobs, out.Changes, out.LeftOut = nil, nil, nil
	gone, stay := make(map[string]bool), make(map[string]bool)
	outside := func(at time.Duration) bool { return at < from || to > 0 && at >= to }
	for _, l := range in.LeftOut {
		if l.Timed && outside(l.Submit) {
			continue
		}
		l.Submit = max(l.Submit-from, 0)
		out.LeftOut = append(out.LeftOut, l)
	}
	for i := range in.Jobs {
		j := in.Jobs[i]
		if outside(j.Submit) {
			gone[j.Workload.ID] = true
			continue
		}
		j.Submit -= from
		stay[j.Workload.ID] = true
		out.Jobs = append(out.Jobs, j)
	}
	for _, c := range in.Changes {
		if ofJob := c.Kind == sim.PrioritySet || c.Kind == sim.Cancel; !ofJob || !gone[c.Job] || stay[c.Job] {
			out.Changes = append(out.Changes, c)
		}
	}
	slices.SortStableFunc(out.Changes, func(a, b sim.Change) int { return cmp.Compare(a.At, b.At) })
	for i := range out.Changes {
		out.Changes[i].At = max(out.Changes[i].At-from, 0)
	}
	return &out
}

// Scale is the input at another load, in percent: everything arrives so much faster,
// in the same order, and takes as long as before. Costs and changes stay. A job of an instant
// that no run has, negative or too late, has none either afterwards: a run says so.
func Scale(in *sim.Input, percent int64) (*sim.Input, error) {
	if in == nil {
		return nil, errNoInput
	}
	if percent <= 0 {
		return nil, fmt.Errorf("trace: a load of %d%% is none", percent)
	}
	out := *in
	out.Jobs, out.LeftOut = slices.Clone(in.Jobs), slices.Clone(in.LeftOut)
	for i := range out.Jobs {
		out.Jobs[i].Submit = sooner(out.Jobs[i].Submit, percent)
	}
	for i := range out.LeftOut {
		out.LeftOut[i].Submit = sooner(out.LeftOut[i].Submit, percent)
	}
	return &out, nil
}

// sooner is an instant at another load, the last that can be told where it would be later.
func sooner(at time.Duration, percent int64) time.Duration {
	if at < 0 {
		return at
	}
	high, low := bits.Mul64(uint64(at), 100)
	if high >= uint64(percent) {
		return math.MaxInt64
	}
	scaled, _ := bits.Div64(high, low, uint64(percent))
	return time.Duration(min(scaled, math.MaxInt64))
}
