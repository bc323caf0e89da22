package allot

import (
	"fmt"
	"testing"
)

// BenchmarkVerify checks a plan that fills the cluster, and carries it out:
// nodes × 8 workloads of one GPU.
func BenchmarkVerify(b *testing.B) {
	for _, nodes := range []int{1_000, 10_000, 100_000} {
		s, p := filled(nodes)
		b.Run(fmt.Sprintf("nodes=%d/tasks=%d/verify", nodes, 8*nodes), func(b *testing.B) {
			for b.Loop() {
				if err := Verify(s, p); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("nodes=%d/tasks=%d/apply", nodes, 8*nodes), func(b *testing.B) {
			for b.Loop() {
				if _, err := Apply(s, p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// filled is an idle cluster with as many single-GPU workloads as it has GPUs,
// and the plan that starts them all.
func filled(nodes int) (*State, *Plan) {
	s, p := new(State), new(Plan)
	for i := range nodes {
		s.Nodes = append(s.Nodes, node(fmt.Sprintf("n%06d", i), 8))
	}
	for i := range 8 * nodes {
		id := fmt.Sprintf("w%07d", i)
		s.Workloads = append(s.Workloads, single(id, "", gpus(1)))
		p.Actions = append(p.Actions, Action{Kind: Start, Workload: id,
			Tasks: []Placement{at(0, s.Nodes[i/8].ID, i%8)}})
	}
	total := int64(8000 * nodes)
	p.Shares = []Share{{Resource: GPU, Quota: boundOf(unbounded), Limit: boundOf(unbounded),
		Used: total, InQuota: total, Demand: total, Reachable: total, PoolTotal: total}}
	return s, p
}
