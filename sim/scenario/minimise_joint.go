package scenario

import (
	"slices"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
)

// What only goes together: a gang that fills the nodes shows less than it
// should without a node, and without a task, but not without both; and of a
// full node that somebody wants, one that runs there and its devices.

// maxPairs bounds the pairs that are tried.
const maxPairs = 1000

// jointSteps are the steps that make two things smaller at once.
func jointSteps(s *allot.State) []step {
	var steps []step
	for _, less := range []func(int64) int64{
		func(n int64) int64 { return n / 2 },
		func(n int64) int64 { return n - 1 },
	} {
		steps = append(steps, trying(func(s *allot.State) bool { return fewerGPUs(s, less, true) }))
		steps = append(steps, trying(func(s *allot.State) bool { return fewerGPUs(s, less, false) }))
	}
	pairs := 0
	for i := range s.Workloads {
		w, id := &s.Workloads[i], s.Workloads[i].ID
		steps = append(steps, func(m *minimiser) bool {
			return m.try(func(s *allot.State) bool { return workloadAndDevices(s, m.plan, id) })
		})
		for f := range 1 + len(w.Alternatives) {
			for p := range podSets(w, f) {
				if podSets(w, f)[p].Count < 2 {
					continue
				}
				steps = append(steps, trying(func(s *allot.State) bool { return taskAndDevices(s, id, f, p) }))
				for _, node := range idsOf(s.Nodes, nodeID) {
					if pairs++; pairs <= maxPairs {
						steps = append(steps, trying(func(s *allot.State) bool { return nodeAndTask(s, node, id, f, p) }))
					}
				}
			}
		}
	}
	return steps
}

// A holding is some devices of a node.
type holding struct {
	node    string
	devices []int
}

// heldBy are those of some of a workload's tasks.
func heldBy(s *allot.State, id string, which func(*allot.Task) bool) (held []holding) {
	i := slices.IndexFunc(s.Workloads, func(w allot.Workload) bool { return w.ID == id })
	if i < 0 {
		return nil
	}
	for _, t := range s.Workloads[i].Tasks {
		if which(&t) && len(t.Devices) > 0 {
			held = append(held, holding{t.Node, slices.Clone(t.Devices)})
		}
	}
	return held
}

// givenTo are those that a plan gives to a workload that waits.
func givenTo(p *allot.Plan, id string) (held []holding) {
	for _, a := range p.Actions {
		if a.Kind != allot.Start || a.Workload != id {
			continue
		}
		for _, t := range a.Tasks {
			held = append(held, holding{t.Node, t.Devices})
		}
	}
	return held
}

// dropHeld drops devices that nothing uses any more.
func dropHeld(s *allot.State, held []holding) (changed bool) {
	for _, n := range idsOf(s.Nodes, nodeID) {
		for d := 63; d >= 0; d-- { // the last first, as those behind it get other indices
			if !usesDevice(s, n, d) && slices.ContainsFunc(held, func(x holding) bool { return x.node == n && slices.Contains(x.devices, d) }) {
				changed = dropDevice(s, n, d) || changed
			}
		}
	}
	return changed
}

// workloadAndDevices drops a workload with the devices it is on, or would get.
func workloadAndDevices(s *allot.State, p *allot.Plan, id string) bool {
	held := append(heldBy(s, id, func(*allot.Task) bool { return true }), givenTo(p, id)...)
	return dropWorkloads(s, []string{id}) && dropHeld(s, held)
}

// taskAndDevices has a pod set have a task less, and what it runs on not be
// there.
func taskAndDevices(s *allot.State, id string, form, p int) bool {
	w, set := podSetOf(s, id, form, p)
	if set == nil || set.Count < 2 {
		return false
	}
	name, last := set.Name, set.Count-1
	held := heldBy(s, id, func(t *allot.Task) bool { return w.FormOf(*t) == form && t.PodSet == name && t.Index >= last })
	return setCount(s, id, form, p, last) && dropHeld(s, held)
}

// nodeAndTask drops a node and has a pod set have a task less.
func nodeAndTask(s *allot.State, node, id string, form, p int) bool {
	n := countOf(s, id, form, p)
	return n > 1 && setCount(s, id, form, p, int(n-1)) && dropNodes(s, []string{node})
}

// fewerGPUs has every node have less devices, of those that nothing uses, every
// task that asks for several ask for less, and, with bounds, every queue be
// given less.
func fewerGPUs(s *allot.State, less func(int64) int64, bounds bool) (changed bool) {
	for i := range s.Workloads {
		w := &s.Workloads[i]
		for f := range 1 + len(w.Alternatives) {
			for p := range podSets(w, f) {
				if n := gpusOf(s, w.ID, f, p); n > 1 {
					changed = setGPUs(s, w.ID, f, p, int(less(n))) || changed
				}
			}
		}
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		left := max(1, int(less(int64(len(n.Devices)))))
		for d := len(n.Devices) - 1; d >= 0 && len(n.Devices) > left; d-- {
			if !usesDevice(s, n.ID, d) {
				dropDevice(s, n.ID, d)
			}
		}
	}
	for i := range s.Queues {
		for r := range s.Queues[i].Resources {
			given := &s.Queues[i].Resources[r]
			for _, b := range []*quota.Bound{&given.Quota, &given.Limit, &given.BorrowingLimit, &given.LendingLimit} {
				if bounds && given.Resource == allot.GPU && b.Given() && !b.IsUnlimited() && b.Amount() >= 2*wholeGPU {
					*b = quota.Of(less(b.Amount()/wholeGPU) * wholeGPU)
				}
			}
		}
	}
	return changed
}

// wholeGPU is a device in thousandths.
const wholeGPU = 1000

func usesDevice(s *allot.State, node string, device int) bool {
	return slices.ContainsFunc(s.Workloads, func(w allot.Workload) bool {
		return slices.ContainsFunc(w.Tasks, func(t allot.Task) bool { return t.Node == node && slices.Contains(t.Devices, device) })
	})
}
