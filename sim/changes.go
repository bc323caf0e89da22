package sim

import (
	"slices"

	"github.com/allotsched/allot"
)

// change carries out a change of the input.
func (e *engine) change(c *Change) error {
	e.dirty = true
	e.note(Event{Kind: ChangeEvent, Change: c})
	state := e.library.state
	switch c.Kind {
	case QueueSet:
		at := slices.IndexFunc(state.Queues, func(q allot.Queue) bool { return q.ID == c.Queue.ID })
		if at < 0 {
			return nil // the scheduler compared knows no queues
		}
		state.Queues[at] = *c.Queue
		e.usage.queueSet()
		if e.scheduler.Cluster != nil {
			e.scheduler.Cluster(state)
		}
		for i := range state.Queues { // what the scheduler makes of others may be by this one
			e.library.queues = append(e.library.queues, i)
		}
		e.meter.requota(c.Queue)
		e.protects = protects(state)
		if err := allot.Check(state); err != nil {
			return e.wrong("after %v: %w", c.Kind, err)
		}
	case PrioritySet:
		j := e.foreseen(c.Job)
		if j == nil {
			return nil // it has ended
		}
		j.priority = &c.Priority
		if j.slot >= 0 {
			w := e.library.submitted(j)
			e.workload(j).Priority = w.Priority
			e.library.touch(j)
			if e.ranking != nil {
				j.told, j.kin = rank{}, e.replanner.kinOf(j)
			}
		}
	case Cancel:
		if j := e.foreseen(c.Job); j != nil {
			e.cancel(j)
		}
	default:
		at, known := e.nodes[c.Node]
		if !known {
			return nil // the scheduler compared has no such node
		}
		e.library.nodes = append(e.library.nodes, at)
		e.changeNode(c, &state.Nodes[at])
	}
	return nil
}

// changeNode carries out a change of a node. What ran there finds out.
func (e *engine) changeNode(c *Change, n *allot.Node) {
	present := e.present()
	defer func() {
		for _, j := range present {
			e.settle(j)
		}
	}()
	switch c.Kind {
	case NodeLost:
		n.Lost = true
	case NodeBack:
		if n.Lost { // else what runs there goes on
			e.forget(n, -1)
			n.Lost = false
		}
	case Cordon:
		n.Cordoned = true
	case Uncordon:
		n.Cordoned = false
	case DeviceLost, DeviceBack:
		if c.Device < len(n.Devices) {
			d := &n.Devices[c.Device]
			if c.Kind == DeviceBack && d.Unhealthy { // else what runs there goes on
				e.forget(n, c.Device)
			}
			d.Unhealthy = c.Kind == DeviceLost
		}
	case TaskFails:
		device := c.Device
		if len(n.Devices) == 0 {
			device = -1
		}
		e.forget(n, device)
	}
	e.meter.capacity(e)
	e.usage.capacities(e.library.state)
}

// forget drops the tasks that are on a device of the node, or anywhere on it with
// −1: they are gone, and the library has not taken note of it yet.
func (e *engine) forget(n *allot.Node, device int) {
	for _, j := range e.present() {
		w := e.workload(j)
		e.filter(j, func(k int) bool {
			t := &w.Tasks[k]
			return t.Node != n.ID || t.Phase == allot.Claimed || device >= 0 && !slices.Contains(t.Devices, device)
		})
	}
}

// present are the jobs in the system that hold or claim something.
func (e *engine) present() []*job {
	var list []*job
	for slot, i := range e.library.jobs {
		if len(e.library.state.Workloads[slot].Tasks) > 0 {
			list = append(list, e.jobs[i])
		}
	}
	return list
}
