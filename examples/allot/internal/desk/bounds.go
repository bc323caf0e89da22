package desk

import (
	"errors"
	"strconv"

	"github.com/allotsched/allot"
)

// The bounds of a state that pages are made of, whatever the size of its file: what takes
// memory is not only what is in a file, but what a few words of it multiply.
const (
	MaxNodes, MaxDevices        = 10_000, 100_000
	MaxTasks, MaxWorkloads      = 50_000, 25_000
	MaxQueues, MaxPools         = 5_000, 100
	MaxDeep                     = 100          // queues one below the other
	MaxSets                     = 50_000       // pod sets and groups of all forms
	MaxNames, MaxShares         = 200, 100_000 // resources, models and classes; for each queue one share of each
	MaxBudgets, MaxReservations = 5_000, 5_000
	MaxAmounts                  = 2_000_000 // each may have devices of every node
)

// A size is how large a state is; adding to it may count what is replaced twice.
type size struct {
	nodes, devices, tasks, workloads, queues, pools, sets, budgets, reservations, amounts int
	names                                                                                 map[string]bool
}

// Bounded refuses a state that is larger than pages are made of, after the change if there
// is one.
func Bounded(s *allot.State, change *allot.Change) error {
	z := &size{names: map[string]bool{allot.GPU: true}}
	z.add(s.Nodes, s.Pools, s.Queues, s.Workloads)
	z.reserve(s.Reservations)
	z.budgets = len(s.Budgets)
	if change != nil {
		z.add(change.Nodes, change.Pools, change.Queues, change.Workloads)
		z.reserve(change.Reservations)
		z.budgets += len(change.Budgets)
	}
	for _, b := range []struct {
		n, most int
		what    string
	}{
		{z.queues, MaxQueues, "queues"}, {z.pools, MaxPools, "pools"}, {z.devices, MaxDevices, "devices"}, {z.nodes, MaxNodes, "nodes"},
		{z.workloads, MaxWorkloads, "workloads"}, {z.tasks, MaxTasks, "tasks in all their forms"}, {z.sets, MaxSets, "pod sets and groups"},
		{z.budgets, MaxBudgets, "budgets"}, {z.reservations, MaxReservations, "reservations"},
		{z.amounts * z.nodes, MaxAmounts, "nodes times amounts of reservations"},
		{len(z.names), MaxNames, "resources, models and classes"}, {z.queues * len(z.names), MaxShares, "shares: queues times resources, models and classes"},
	} {
		if b.n > b.most {
			return errors.New("pages are made of states of at most " + strconv.Itoa(b.most) + " " + b.what)
		}
	}
	if change != nil {
		return deep(s.Queues, change.Queues)
	}
	return deep(s.Queues)
}

// deep refuses queues too many of which are one below the other, where a later list replaces
// what an earlier one has.
func deep(lists ...[]allot.Queue) error {
	parents := make(map[string]string)
	for _, queues := range lists {
		for i := range queues {
			parents[queues[i].ID] = queues[i].Parent
		}
	}
	for first := range parents { // whichever is found first, the error is the same
		deep := 0
		for id := first; id != ""; id = parents[id] {
			if deep++; deep > MaxDeep {
				return errors.New("pages are made of states of at most " + strconv.Itoa(MaxDeep) + " queues one below the other")
			}
		}
	}
	return nil
}

// add counts what lists have; of more than is allowed no more is counted.
func (z *size) add(nodes []allot.Node, pools []allot.Pool, queues []allot.Queue, workloads []allot.Workload) {
	z.nodes, z.pools, z.queues, z.workloads = z.nodes+len(nodes), z.pools+len(pools), z.queues+len(queues), z.workloads+len(workloads)
	for i := range nodes {
		n := &nodes[i]
		z.devices += len(n.Devices)
		z.named(n.Capacity)
		z.named(n.Foreign)
		z.name(n.Class)
		for k := range n.Devices {
			z.name(n.Devices[k].Model)
		}
	}
	for i := range queues {
		for _, r := range queues[i].Resources {
			z.name(r.Resource)
			z.name(r.Class)
		}
	}
	for i := range workloads {
		w := &workloads[i]
		listed := 0
		z.form(w.PodSets, w.Groups, &listed)
		for k := range w.Alternatives {
			z.form(w.Alternatives[k].PodSets, w.Alternatives[k].Groups, &listed)
		}
		z.tasks = min(z.tasks+max(listed, len(w.Tasks)), MaxTasks+1)
	}
}

// reserve counts reservations and the amounts that they ask of domains.
func (z *size) reserve(list []allot.Reservation) {
	z.reservations += len(list)
	for i := range list {
		z.amounts += len(list[i].Domains)
	}
}

// form counts a form, and its tasks to those of the workload.
func (z *size) form(sets []allot.PodSet, groups []allot.Group, tasks *int) {
	z.sets += len(sets) + len(groups)
	for k := range sets {
		*tasks = min(*tasks+min(sets[k].Count, MaxTasks+1), MaxTasks+1)
		z.named(sets[k].Request.Resources)
		for _, model := range sets[k].Request.GPU.Models {
			z.name(model)
		}
	}
}

func (z *size) named(amounts map[string]int64) {
	for name := range amounts { // they are counted: order cannot matter
		z.name(name)
	}
}

func (z *size) name(name string) {
	if name != "" && len(z.names) <= MaxNames {
		z.names[name] = true
	}
}
