package verify

import (
	"fmt"
	"testing"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
)

// Of a gang that waits for its own tasks to leave no plan says whether it is possible, so
// that verify looks for those that ask what the plan says. Of very many it does not find them,
// and believes the plan (F1); more than they ask in all it does not believe.
//
// Of 28 gangs of 29 tasks 14 are impossible, as each of the 28 nodes takes one task of them
// alone. What each asks has a bit of its own, so that no others ask what those ask that are
// possible.
func TestF1ManyUntold(t *testing.T) {
	const some, all = 14, 1 << 40
	s := &allot.State{
		Pools:  []allot.Pool{{ID: "p"}},
		Queues: []allot.Queue{{ID: "q", Resources: []allot.QueueResource{{Resource: allot.CPU, Quota: quota.Of(all)}}}},
	}
	for i := range 2 * some {
		cpu := int64(all/4*3 + 1<<i)
		if i >= some {
			cpu = all/4 + 1<<i
		}
		on := fmt.Sprintf("n%02d", i)
		s.Nodes = append(s.Nodes, allot.Node{ID: on, Capacity: map[string]int64{allot.CPU: all}})
		s.Workloads = append(s.Workloads, allot.Workload{
			ID: fmt.Sprintf("w%02d", i), Queue: "q", Tasks: []allot.Task{task(allot.Terminating, 0, on)},
			PodSets: []allot.PodSet{{Count: 2*some + 1, Request: allot.Request{Resources: map[string]int64{allot.CPU: cpu}}}},
		})
	}
	plan, err := allot.Solve(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := Plan(s, plan); err != nil {
		t.Fatal(err)
	}
	for i := range plan.Shares {
		plan.Shares[i].Demand *= 8
	}
	if Plan(s, plan) == nil {
		t.Fatal("a plan is believed that says they ask eight times as much")
	}
}
