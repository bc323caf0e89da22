package allot

import (
	"context"
	"testing"
	"time"

	"github.com/allotsched/allot/internal/engine"
)

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
				if _, err := engine.Solve(context.Background(), w.World); err != nil {
					b.Fatal(err)
				}
				decide += time.Since(begin)
				begin = time.Now()
				if _, err := w.pending(); err != nil {
					b.Fatal(err)
				}
				reasons += time.Since(begin)
				w = mustWorld(b, state)
				d, err := engine.Solve(context.Background(), w.World)
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
