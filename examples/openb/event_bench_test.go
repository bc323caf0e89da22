package main

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/allotsched/allot"
)

// BenchmarkOpenbEvent decides on single events of the cluster when it is full: what
// can start of the trace's load runs, the rest waits. One event is the end of one
// that runs, or the arrival of one more like one that waits; what the decision says is
// carried out before the next. It reports the median time of With and Decide, and how
// many decisions in a hundred were made from scratch.
func BenchmarkOpenbEvent(b *testing.B) {
	trace, err := readTrace("", "")
	if err != nil {
		b.Fatal(err)
	}
	for i := range presets {
		p := &presets[i]
		b.Run("nodes=1213/pods=8152/"+p.name+"/event", func(b *testing.B) { benchmarkEvents(b, trace, p) })
	}
}

func benchmarkEvents(b *testing.B, t *trace, p *preset) {
	snapshot, err := allot.NewSnapshot(buildState(t.machines, t.pods, p, p.policy()))
	if err != nil {
		b.Fatal(err)
	}
	snapshot = settled(b, snapshot)
	var running, waiting []allot.Workload
	for w := range snapshot.Workloads() {
		if len(w.Tasks) > 0 {
			running = append(running, w)
		} else {
			waiting = append(waiting, w)
		}
	}
	var took []time.Duration
	incremental := 0
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; b.Loop(); n++ {
		var change allot.Change
		if n%2 == 0 {
			change.Remove.Workloads = []string{running[n*7919/2%len(running)].ID}
		} else {
			arrives := waiting[n*104729%len(waiting)]
			arrives.ID = fmt.Sprint(arrives.ID, "-", n)
			change.Workloads = []allot.Workload{arrives}
		}
		begun := time.Now()
		next, err := snapshot.With(change)
		if err != nil {
			continue // it has ended before
		}
		decision, err := next.Decide()
		if err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(begun))
		if decision.Incremental() {
			incremental++
		}
		if snapshot, err = decision.Apply(); err != nil {
			b.Fatal(err)
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "p50-ns/op")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns/op")
	b.ReportMetric(100*float64(len(took)-incremental)/float64(len(took)), "scratch-%")
}

// settled carries out decisions until nothing is left to do.
func settled(b *testing.B, s *allot.Snapshot) *allot.Snapshot {
	for range 8 {
		decision, err := s.Decide()
		if err != nil {
			b.Fatal(err)
		}
		if len(decision.Actions()) == 0 {
			return s
		}
		if s, err = decision.Apply(); err != nil {
			b.Fatal(err)
		}
	}
	return s
}
