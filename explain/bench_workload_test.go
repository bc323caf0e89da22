package explain

import (
	"fmt"
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
)

// What answers cost (X1), on the cluster at rest that the benchmarks of snapshots have.

// steadyState is n nodes × 8 GPUs full of 8n singles of eight sizes, 2n more that
// wait, in 200 queues in 3 levels, each of which runs its quota.
func steadyState(nodes int) *allot.State {
	s := &allot.State{Now: time.Unix(1_700_000_000, 0), Pools: []allot.Pool{{ID: "p"}}}
	for i := range nodes {
		s.Nodes = append(s.Nodes, allot.Node{
			ID: fmt.Sprintf("node-%05d", i), Capacity: map[string]int64{allot.CPU: 128_000}, Devices: make([]allot.Device, 8),
		})
	}
	const tops, middles, leaves = 4, 5, 10
	queue := func(id, parent string, of int) {
		s.Queues = append(s.Queues, allot.Queue{
			ID: id, Parent: parent, Resources: []allot.QueueResource{{Resource: allot.GPU, Quota: quota.Of(int64(nodes * 8 / of * wholeGPU))}},
		})
	}
	for top := range tops {
		t := fmt.Sprintf("top-%d", top)
		queue(t, "", tops)
		for middle := range middles {
			m := fmt.Sprintf("%s-%d", t, middle)
			queue(m, t, tops*middles)
			for leaf := range leaves {
				queue(steadyLeaf(top*50+middle*10+leaf), m, tops*middles*leaves)
			}
		}
	}
	for i := range 10 * nodes {
		single := i % (8 * nodes) // those that wait begin anew
		k := allot.Workload{
			ID: fmt.Sprintf("workload-%06d", i), Queue: steadyLeaf(single % 200),
			Submitted: s.Now.Add(time.Duration(i*7919%100_003-200_000) * time.Second),
			PodSets: []allot.PodSet{{Count: 1, Request: allot.Request{
				GPU: allot.GPURequest{Count: 1}, Resources: map[string]int64{allot.CPU: int64(1+single/200%8) * 1000},
			}}},
		}
		if i < 8*nodes {
			since := k.Submitted.Add(time.Duration((i+1)*104_729%7919) * time.Second)
			k.Tasks = []allot.Task{{Node: s.Nodes[i%nodes].ID, Devices: []int{i / nodes}, Since: since}}
		}
		s.Workloads = append(s.Workloads, k)
	}
	return s
}

func steadyLeaf(i int) string { return fmt.Sprintf("leaf-%03d", i) }

// BenchmarkExplain explains one workload that waits: the first that a decision is
// asked about, whose order is not known yet; one more; and from the state, which
// costs a solve; then a queue.
func BenchmarkExplain(b *testing.B) {
	s := steadyState(10_000)
	var waits []string
	for i := range s.Workloads {
		if len(s.Workloads[i].Tasks) == 0 {
			waits = append(waits, s.Workloads[i].ID)
		}
	}
	whole := func() *allot.Decision { return decide(b, s) }
	explain := func(b *testing.B, d *allot.Decision, i int) {
		e, err := Workload(b.Context(), d, waits[i*7919%len(waits)])
		if err != nil || len(e.Reasons) == 0 || len(e.Holders) == 0 {
			b.Fatal(e, err)
		}
	}
	name := fmt.Sprintf("nodes=%d/workloads=%d/queues=%d/", len(s.Nodes), len(s.Workloads), len(s.Queues))
	b.Run(name+"first", func(b *testing.B) {
		for i := range b.N {
			b.StopTimer()
			d := whole()
			b.StartTimer()
			explain(b, d, i)
		}
	})
	b.Run(name+"next", func(b *testing.B) {
		d := whole()
		explain(b, d, 0)
		b.ResetTimer()
		for i := range b.N {
			explain(b, d, i)
		}
	})
	b.Run(name+"queue", func(b *testing.B) {
		d := whole()
		explain(b, d, 0) // the first question decides in full
		b.ResetTimer()
		for i := range b.N {
			if _, err := Queue(b.Context(), d, steadyLeaf(i%200)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run(name+"scratch", func(b *testing.B) {
		for i := range b.N {
			e, err := WorkloadIn(b.Context(), s, waits[i*7919%len(waits)])
			if err != nil || len(e.Reasons) == 0 || len(e.Holders) == 0 {
				b.Fatal(e, err)
			}
		}
	})
}
