package desk

import (
	"fmt"
	"strings"
	"testing"

	"github.com/allotsched/allot"
)

// What is larger than pages are made of is refused and named, also where a change makes
// it so, and whatever a few words multiply.
func TestBounded(t *testing.T) {
	queues := func(n int) (out []allot.Queue) {
		for i := range n {
			out = append(out, allot.Queue{ID: fmt.Sprint("q", i)})
		}
		return out
	}
	below := queues(MaxDeep + 1)
	for i := range below[1:] {
		below[i+1].Parent = below[i].ID
	}
	capacity := func(n int) map[string]int64 {
		out := make(map[string]int64)
		for i := range n {
			out[fmt.Sprint("r", i)] = 1
		}
		return out
	}
	tasks := func(n int) []allot.PodSet { return []allot.PodSet{{Count: n}} }
	amounts := func(n int) []allot.Reservation {
		return []allot.Reservation{{Domains: make([]allot.ReservedDomain, n)}}
	}
	for _, c := range []struct {
		name string
		add  allot.State // beside what fits
		want string      // "" fits
	}{
		{"nothing", allot.State{}, ""},
		{"nodes", allot.State{Nodes: make([]allot.Node, MaxNodes)}, "10000 nodes"},
		{"devices", allot.State{Nodes: []allot.Node{{Devices: make([]allot.Device, MaxDevices+1)}}}, "100000 devices"},
		{"pools", allot.State{Pools: make([]allot.Pool, MaxPools+1)}, "100 pools"},
		{"queues", allot.State{Queues: queues(MaxQueues + 1)}, "5000 queues"},
		{"deep queues", allot.State{Queues: below}, "100 queues one below the other"},
		{"workloads", allot.State{Workloads: make([]allot.Workload, MaxWorkloads)}, "25000 workloads"},
		{"tasks", allot.State{Workloads: []allot.Workload{{PodSets: tasks(MaxTasks)}}}, "50000 tasks"},
		{"so many tasks that sums overflow", allot.State{Workloads: []allot.Workload{{PodSets: append(tasks(1<<62), tasks(1<<62)...)}}}, "50000 tasks"},
		{"tasks of another form", allot.State{Workloads: []allot.Workload{{PodSets: tasks(1), Alternatives: []allot.Form{{PodSets: tasks(MaxTasks)}}}}}, "50000 tasks"},
		{"tasks that leave", allot.State{Workloads: []allot.Workload{{Tasks: make([]allot.Task, MaxTasks)}}}, "50000 tasks"},
		{"sets", allot.State{Workloads: []allot.Workload{{Alternatives: []allot.Form{{Groups: make([]allot.Group, MaxSets)}}}}}, "50000 pod sets"},
		{"budgets", allot.State{Budgets: make([]allot.DisruptionBudget, MaxBudgets+1)}, "5000 budgets"},
		{"reservations", allot.State{Reservations: make([]allot.Reservation, MaxReservations+1)}, "5000 reservations"},
		{"amounts", allot.State{Nodes: make([]allot.Node, 1000), Reservations: amounts(2000)}, "2000000 nodes times amounts"},
		{"amounts of a few nodes", allot.State{Nodes: make([]allot.Node, 100), Reservations: amounts(2000)}, ""},
		{"resources", allot.State{Nodes: []allot.Node{{Capacity: capacity(MaxNames)}}}, "200 resources"},
		{"asked resources", allot.State{Workloads: []allot.Workload{{PodSets: []allot.PodSet{{Request: allot.Request{Resources: capacity(MaxNames)}}}}}}, "200 resources"},
		{"shares", allot.State{Queues: queues(1000), Nodes: []allot.Node{{Capacity: capacity(100)}}}, "100000 shares"},
		{"fewer shares", allot.State{Queues: queues(800), Nodes: []allot.Node{{Capacity: capacity(100)}}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			small := allot.State{Nodes: make([]allot.Node, 1), Queues: queues(1), Workloads: []allot.Workload{{PodSets: tasks(1)}}}
			whole := c.add
			whole.Nodes, whole.Queues, whole.Workloads = append(whole.Nodes, small.Nodes...), append(whole.Queues, small.Queues[1:]...), append(whole.Workloads, small.Workloads...)
			refused(t, "a state", Bounded(&whole, nil), c.want)
			refused(t, "a change", Bounded(&small, &allot.Change{Nodes: c.add.Nodes, Pools: c.add.Pools, Queues: c.add.Queues,
				Workloads: c.add.Workloads, Budgets: c.add.Budgets, Reservations: c.add.Reservations}), c.want)
		})
	}
}

func refused(t *testing.T, what string, err error, want string) {
	t.Helper()
	if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), "at most "+want) {
		t.Errorf("%s: %v, not %q", what, err, want)
	}
}

// A queue may be named before and after a change: what counts is where it stands then.
func TestDeepOnceChanged(t *testing.T) {
	row := func(first, last int) (out []allot.Queue) {
		for i := first; i <= last; i++ {
			out = append(out, allot.Queue{ID: fmt.Sprint("q", i), Parent: fmt.Sprint("q", i-1)})
		}
		out[0].Parent = ""
		return out
	}
	const half = MaxDeep/2 + 1
	two := append(row(1, half), row(half+1, 2*half)...)
	refused(t, "two trees", Bounded(&allot.State{Queues: two}, nil), "")
	one := allot.Queue{ID: two[half].ID, Parent: two[half-1].ID}
	refused(t, "one below the other", Bounded(&allot.State{Queues: two}, &allot.Change{Queues: []allot.Queue{one}}), "100 queues one below the other")
	back := allot.Queue{ID: two[half].ID}
	refused(t, "apart again", Bounded(&allot.State{Queues: row(1, 2*half)}, &allot.Change{Queues: []allot.Queue{back}}), "")
}
