package verify

import (
	"fmt"
	"testing"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
)

// BenchmarkVerify checks a plan that fills the cluster, and carries it out:
// nodes × 8 workloads of one GPU.
func BenchmarkVerify(b *testing.B) {
	for _, nodes := range []int{1_000, 10_000, 100_000} {
		s, p := filled(nodes)
		b.Run(fmt.Sprintf("nodes=%d/tasks=%d/verify", nodes, 8*nodes), func(b *testing.B) {
			for b.Loop() {
				if err := Plan(s, p); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("nodes=%d/tasks=%d/apply", nodes, 8*nodes), func(b *testing.B) {
			for b.Loop() {
				if _, err := allot.Apply(s, p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkVerifyGang checks the plan that evicts what borrows on all nodes for
// one gang of half as many tasks, beside the Solve that makes the plan: Verify
// must take no longer, and grow like it.
func BenchmarkVerifyGang(b *testing.B) {
	for _, nodes := range []int{100, 200, 400, 800} {
		for _, of := range []struct {
			name           string
			devices, tasks int // of a node, and of the gang
		}{{"halves", 8, nodes / 2}, {"all", 1, nodes / 2}, {"each", 8, nodes}} {
			s := borrowed(nodes, of.devices, of.tasks)
			p, err := allot.Solve(s)
			if err != nil || len(p.Pending) > len(p.Actions) {
				b.Fatal(err, len(p.Actions))
			}
			size := fmt.Sprintf("%s/nodes=%d/actions=%d", of.name, nodes, len(p.Actions))
			b.Run(size+"/solve", func(b *testing.B) {
				for b.Loop() {
					if _, err := allot.Solve(s); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run(size+"/verify", func(b *testing.B) {
				for b.Loop() {
					if err := Plan(s, p); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// borrowed is a cluster full of single-GPU workloads of a queue without quota,
// and one gang that is entitled to all of it.
func borrowed(nodes, devices, tasks int) *allot.State {
	s := &allot.State{Queues: []allot.Queue{
		{ID: "lender", Resources: []allot.QueueResource{{Resource: allot.GPU, Quota: quota.Of(int64(1000 * nodes * devices))}}},
		{ID: "borrower", Resources: []allot.QueueResource{{Resource: allot.GPU, Quota: quota.Of(0)}}},
	}}
	for i := range nodes {
		s.Nodes = append(s.Nodes, node(fmt.Sprintf("n%06d", i), devices))
		for d := range devices {
			s.Workloads = append(s.Workloads, single(fmt.Sprintf("b%06d-%d", i, d), "borrower", gpus(1), task(allot.Running, 0, s.Nodes[i].ID, d)))
		}
	}
	s.Workloads = append(s.Workloads, allot.Workload{ID: "gang", Queue: "lender",
		PodSets: []allot.PodSet{{Count: tasks, Request: gpus(devices)}}})
	return s
}

// filled is an idle cluster with as many single-GPU workloads as it has GPUs,
// and the plan that starts them all.
func filled(nodes int) (*allot.State, *allot.Plan) {
	s, p := new(allot.State), new(allot.Plan)
	for i := range nodes {
		s.Nodes = append(s.Nodes, node(fmt.Sprintf("n%06d", i), 8))
	}
	for i := range 8 * nodes {
		id := fmt.Sprintf("w%07d", i)
		s.Workloads = append(s.Workloads, single(id, "", gpus(1)))
		p.Actions = append(p.Actions, allot.Action{Kind: allot.Start, Workload: id,
			Tasks: []allot.Placement{at(0, s.Nodes[i/8].ID, i%8)}})
	}
	total := int64(8000 * nodes)
	p.Shares = []allot.Share{{Resource: allot.GPU, Quota: boundOf(unbounded), Limit: boundOf(unbounded),
		Used: total, InQuota: total, Demand: total, Reachable: total, PoolTotal: total}}
	return s, p
}
