package allot

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// What answers cost (X1): one explanation of a decision, and the reasons of all that
// wait beside the deciding.

// explainState is steadyState: 80,000 run and 20,000 wait on 10,000 nodes, in 200
// queues.
func explainState() *State { return steadyState(10_000) }

// BenchmarkExplain explains one workload that waits: the first that a decision is
// asked about, whose order is not known yet; one more; and from the state, which
// costs a solve; then a queue.
func BenchmarkExplain(b *testing.B) {
	s := explainState()
	var waits []string
	for i := range s.Workloads {
		if len(s.Workloads[i].Tasks) == 0 {
			waits = append(waits, s.Workloads[i].ID)
		}
	}
	whole := func() *Decision { return decisionOf(b, s) }
	explain := func(b *testing.B, d *Decision, i int) {
		e, err := d.Explain(b.Context(), waits[i*7919%len(waits)])
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
		b.ResetTimer()
		for i := range b.N {
			if _, err := d.ExplainQueue(b.Context(), steadyLeaf(i%200)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run(name+"scratch", func(b *testing.B) {
		for i := range b.N {
			explain(b, whole(), i)
		}
	})
}

// BenchmarkReasonsBeside times, in the same run, deciding on a compiled state and
// then the reasons of all that wait, and all of the plan: percent of the deciding.
func BenchmarkReasonsBeside(b *testing.B) {
	for name, s := range map[string]func() *State{ // each by itself: order cannot matter
		"Fill/nodes=1000": func() *State { return fillState(1000) }, "Fill/nodes=10000": func() *State { return fillState(10_000) },
		"Steady/nodes=1000": func() *State { return steadyState(1000) }, "Steady/nodes=10000": func() *State { return steadyState(10_000) },
		"Pending/nodes=500": func() *State {
			return singlesState(500, 8, 64_000, 8000, 4, Request{GPU: GPURequest{Count: 1}})
		},
	} {
		b.Run(name, func(b *testing.B) {
			state := s()
			var decide, reasons, plan time.Duration
			for range b.N {
				w := mustWorld(b, state)
				begin := time.Now()
				if _, err := w.Solve(context.Background()); err != nil {
					b.Fatal(err)
				}
				decide += time.Since(begin)
				begin = time.Now()
				if _, err := w.pending(); err != nil {
					b.Fatal(err)
				}
				reasons += time.Since(begin)
				w = mustWorld(b, state)
				d, err := w.Solve(context.Background())
				if err != nil {
					b.Fatal(err)
				}
				begin = time.Now()
				if _, err := w.write(d); err != nil {
					b.Fatal(err)
				}
				plan += time.Since(begin)
			}
			b.ReportMetric(100*float64(reasons)/float64(decide), "reasons-%")
			b.ReportMetric(100*float64(plan)/float64(decide), "plan-%")
		})
	}
}
