package trace

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
	"github.com/allotsched/allot/sim"
)

// Faults say what goes wrong, and how often. A mean of 0 switches its kind off.
type Faults struct {
	// Seed decides everything that is drawn, Until is when it ends.
	Seed  uint64
	Until time.Duration
	// NodeLost is the mean time between two losses of one node, NodeBack the mean
	// time that it is away. So for a GPU, and for a node that is cordoned.
	NodeLost, NodeBack     time.Duration
	DeviceLost, DeviceBack time.Duration
	Cordon, Uncordon       time.Duration
	// TaskFails is the mean time between two failures of what runs on one GPU.
	TaskFails time.Duration
	// QueueSet is the mean time between two changes of one queue: its quotas become
	// half to one and a half times what they were at first, its weights likewise, in
	// whole numbers.
	QueueSet time.Duration
	// CancelPercent of the jobs are given up by their users, evenly between their
	// submission and twice their duration.
	CancelPercent int64
	// PriorityPercent of the jobs change their priority to 0 to 9 as late.
	PriorityPercent int64
}

// FaultsOf is the input with faults: changes of its cluster and of its jobs.
func FaultsOf(in *sim.Input, f Faults) (*sim.Input, error) {
	if in == nil {
		return nil, errNoInput
	}
	if min(f.Until, f.NodeLost, f.NodeBack, f.DeviceLost, f.DeviceBack, f.Cordon, f.Uncordon, f.TaskFails, f.QueueSet) < 0 ||
		min(f.CancelPercent, f.PriorityPercent) < 0 || max(f.CancelPercent, f.PriorityPercent) > 100 || f.Until > maxTime {
		return nil, errors.New("trace: a fault is out of range")
	}
	if err := f.few(in); err != nil {
		return nil, err
	}
	out := *in
	out.Changes = slices.Clone(in.Changes)
	m := &faultMaker{Faults: f, in: &out, draw: newDraw(f.Seed, faultStream)}
	nodes := out.Cluster.Nodes
	var devices []sim.Change
	for i := range nodes {
		for d := range nodes[i].Devices {
			devices = append(devices, sim.Change{Node: nodes[i].ID, Device: d})
		}
	}
	names := make([]sim.Change, len(nodes))
	for i := range nodes {
		names[i].Node = nodes[i].ID
	}
	m.outages(names, f.NodeLost, f.NodeBack, sim.NodeLost, sim.NodeBack)
	m.outages(names, f.Cordon, f.Uncordon, sim.Cordon, sim.Uncordon)
	m.outages(devices, f.DeviceLost, f.DeviceBack, sim.DeviceLost, sim.DeviceBack)
	m.outages(devices, f.TaskFails, 0, sim.TaskFails, 0)
	m.queues()
	m.jobs()
	slices.SortStableFunc(out.Changes, func(a, b sim.Change) int { return cmp.Compare(a.At, b.At) })
	return &out, nil
}

// maxFaults bounds how many faults are to be expected.
const maxFaults = 1 << 24

// few refuses faults that come too often to be listed.
func (f *Faults) few(in *sim.Input) error {
	devices := 0
	for i := range in.Cluster.Nodes {
		devices += len(in.Cluster.Nodes[i].Devices)
	}
	for _, kind := range []struct {
		things  int
		between time.Duration
	}{
		{len(in.Cluster.Nodes), f.NodeLost}, {len(in.Cluster.Nodes), f.Cordon}, {devices, f.DeviceLost}, {devices, f.TaskFails}, {len(in.Cluster.Queues), f.QueueSet},
	} {
		if kind.between > 0 && kind.things > 0 && int64(f.Until/kind.between) > int64(maxFaults/kind.things) {
			return fmt.Errorf("trace: every %v up to %v, a fault of each of %d is more than %d", kind.between, f.Until, kind.things, maxFaults)
		}
	}
	return nil
}

// A faultMaker draws faults.
type faultMaker struct {
	Faults
	in   *sim.Input
	draw draw
}

// outages lets each of the things fail every now and then, and come back. What has
// not come back by the end does so then.
func (m *faultMaker) outages(things []sim.Change, between, away time.Duration, lost, back sim.ChangeKind) {
	if between == 0 {
		return
	}
	for _, c := range things {
		for at := m.draw.exponential(between); at < m.Until; at += m.draw.exponential(between) {
			c.At, c.Kind = at, lost
			m.in.Changes = append(m.in.Changes, c)
			if back != 0 {
				at = min(at+m.draw.exponential(away), m.Until)
				c.At, c.Kind = at, back
				m.in.Changes = append(m.in.Changes, c)
			}
		}
	}
}

// queues changes quotas and weights.
func (m *faultMaker) queues() {
	if m.QueueSet == 0 {
		return
	}
	vary := func(b quota.Bound) quota.Bound {
		if !b.Given() || b.IsUnlimited() {
			return b
		}
		n, thousandths := b.Amount(), 500+m.draw.below(1001)
		return quota.Of(max(n/1000*thousandths+n%1000*thousandths/1000, min(n, 1)))
	}
	for i := range m.in.Cluster.Queues {
		for at := m.draw.exponential(m.QueueSet); at < m.Until; at += m.draw.exponential(m.QueueSet) {
			q := m.in.Cluster.Queues[i]
			q.Resources = slices.Clone(q.Resources)
			for k := range q.Resources {
				r := &q.Resources[k]
				r.Quota = vary(r.Quota)
				if r.Weight.Given() {
					r.Weight = vary(r.Weight)
				}
			}
			m.in.Changes = append(m.in.Changes, sim.Change{At: at, Kind: sim.QueueSet, Queue: &q})
		}
	}
}

// jobs draws which jobs are given up, and which change their priority.
func (m *faultMaker) jobs() {
	const priorities = 10
	m.in.Jobs = slices.Clone(m.in.Jobs)
	for i := range m.in.Jobs {
		j := &m.in.Jobs[i]
		if m.draw.below(100) < m.CancelPercent {
			j.CancelAfter = 1 + time.Duration(m.draw.below(int64(2*j.Duration)))
		}
		if m.draw.below(100) < m.PriorityPercent {
			at := j.Submit + time.Duration(m.draw.below(int64(2*j.Duration)))
			m.in.Changes = append(m.in.Changes, sim.Change{At: at, Kind: sim.PrioritySet, Job: j.Workload.ID, Priority: int32(m.draw.below(priorities))})
		}
	}
}

// elasticStep is how many tasks an elastic job keeps at least, of two.
const elasticStep = 2

// Elastic is the input in which every nth job of several tasks of one kind is
// elastic: it runs with half of them or more, each task above the first adding nine
// tenths of what the one before added.
func Elastic(in *sim.Input, n int) *sim.Input {
	if in == nil {
		return nil
	}
	out := *in
	out.Jobs = slices.Clone(in.Jobs)
	seen := 0
	for i := range out.Jobs {
		j := &out.Jobs[i]
		if len(j.Workload.PodSets) != 1 || j.Workload.PodSets[0].Count < elasticStep || j.Workload.PodSets[0].Count > maxGPUs {
			continue
		}
		if seen++; seen%max(n, 1) != 0 {
			continue
		}
		set := j.Workload.PodSets[0]
		set.Min = (set.Count + 1) / elasticStep
		j.Workload.PodSets = []allot.PodSet{set}
		j.Speed = nil
		total, step := int64(0), int64(100)
		for range set.Count {
			total += step
			step = max(step*9/10, 1)
			j.Speed = append(j.Speed, total)
		}
	}
	return &out
}
