package verify

import (
	"fmt"
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/queue"
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

// BenchmarkVerifyPromises checks a plan that promises something to everybody who waits, by the ends of what
// runs, and BenchmarkVerifyDeep one where many wait below a chain of queues that all bound them, each
// beside the Solve that makes the plan: Verify must take no longer, or grow like it.
func BenchmarkVerifyPromises(b *testing.B) {
	for _, waiting := range []int{100, 200, 400} {
		s := overbooked(200, waiting)
		benchmarkBeside(b, fmt.Sprintf("waiting=%d", waiting), s, func(p *allot.Plan) bool { return len(p.Reservations) == waiting })
	}
}

func BenchmarkVerifyDeep(b *testing.B) {
	for _, depth := range []int{700, 1400, 2800} {
		s := chained(depth, 100)
		benchmarkBeside(b, fmt.Sprintf("depth=%d", depth), s, func(p *allot.Plan) bool { return len(p.Pending) > 0 })
	}
}

// benchmarkBeside measures Solve and Verify of a state of which the plan is as it should be.
func benchmarkBeside(b *testing.B, name string, s *allot.State, is func(*allot.Plan) bool) {
	p, err := allot.Solve(s)
	if err != nil || !is(p) {
		b.Fatal(err, p)
	}
	b.Run(name+"/solve", func(b *testing.B) {
		for b.Loop() {
			if _, err := allot.Solve(s); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run(name+"/verify", func(b *testing.B) {
		for b.Loop() {
			if err := Plan(s, p); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// overbooked is a cluster full of single-GPU workloads that end one after the other, and gangs of many sizes that
// wait for them.
func overbooked(nodes, waiting int) *allot.State {
	now := time.Unix(1_000_000, 0)
	s := &allot.State{Now: now, Pools: []allot.Pool{{ID: "pool", Policy: allot.Policy{Reserve: allot.ReservePolicy{Backfill: queue.Conservative, Depth: 1000}}}}}
	for i := range nodes {
		s.Nodes = append(s.Nodes, node(fmt.Sprintf("n%03d", i), 4))
		for d := range 4 {
			w := single(fmt.Sprintf("r%03d-%d", i, d), "", gpus(1), task(allot.Running, 0, s.Nodes[i].ID, d))
			w.Duration = quota.Of(int64(60 + 13*(4*i+d)))
			w.Tasks[0].Since, w.Tasks[0].Started = now, now
			s.Workloads = append(s.Workloads, w)
		}
	}
	for i := range waiting {
		s.Workloads = append(s.Workloads, allot.Workload{ID: fmt.Sprintf("w%04d", i), Submitted: now, Duration: quota.Of(int64(100 + 37*i%5000)),
			PodSets: []allot.PodSet{{Count: 1 + i%30, Request: gpus(1 + i%4)}}})
	}
	return s
}

// chained is a cluster of 80 devices, and workloads that wait for more in the lowest of a chain of queues.
func chained(depth, waiting int) *allot.State {
	s := new(allot.State)
	for i := range 10 {
		s.Nodes = append(s.Nodes, node(fmt.Sprintf("n%d", i), 8))
	}
	for i := range depth {
		q := allot.Queue{ID: fmt.Sprintf("q%04d", i), Resources: []allot.QueueResource{{Resource: allot.GPU, Quota: quota.Of(80_000), Limit: quota.Of(80_000)}}}
		if i > 0 {
			q.Parent = s.Queues[i-1].ID
		}
		s.Queues = append(s.Queues, q)
	}
	for i := range waiting {
		s.Workloads = append(s.Workloads, single(fmt.Sprintf("w%03d", i), s.Queues[depth-1].ID, gpus(1+i%3)))
	}
	return s
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
