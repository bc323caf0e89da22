package explain

import (
	"fmt"
	"testing"

	"github.com/allotsched/allot"
)

// fitQuestions are singles and gangs, with and without GPUs, of 150 kinds.
func fitQuestions(n int) []allot.Workload {
	out := make([]allot.Workload, n)
	for i := range out {
		shape := i % 150
		request := allot.Request{Resources: map[string]int64{allot.CPU: int64(1+shape%10) * 500}}
		if shape%15 > 0 {
			request.GPU.Count = 1 + shape%8
		}
		out[i] = allot.Workload{
			ID: fmt.Sprintf("asked-%04d", i), Queue: steadyLeaf(i % 200),
			PodSets: []allot.PodSet{{Count: 1 + shape/30, Request: request}},
		}
	}
	return out
}

// halfState is steadyState where every second GPU is free.
func halfState(nodes int) *allot.State {
	s := steadyState(nodes)
	kept := s.Workloads[:0]
	for i, k := range s.Workloads {
		if len(k.Tasks) == 0 || i%2 == 0 {
			kept = append(kept, k)
		}
	}
	s.Workloads = kept
	return s
}

// BenchmarkFit is a thousand questions on one snapshot (issue 7: under 50 ms at
// 10,000 nodes): cold with the compiling of the version, warm without it and
// without what was learnt about shapes, and again, where all is remembered.
func BenchmarkFit(b *testing.B) {
	for _, nodes := range []int{1000, 10_000} {
		for name, state := range map[string]func(int) *allot.State{"half": halfState, "full": steadyState} { // each by its name: order cannot matter
			b.Run(fmt.Sprintf("%s/nodes=%d", name, nodes), func(b *testing.B) { benchFit(b, state(nodes)) })
		}
	}
}

func benchFit(b *testing.B, s *allot.State) {
	snapshot, err := allot.NewSnapshot(s)
	if err != nil {
		b.Fatal(err)
	}
	questions := fitQuestions(1000)
	ask := func(b *testing.B, f *Fitter) {
		fits := 0
		for i := range questions {
			fit, err := f.Now(b.Context(), questions[i])
			if err != nil {
				b.Fatal(err)
			}
			if fit.OK {
				fits++
			}
		}
		b.ReportMetric(float64(fits), "fit")
	}
	one := allot.Workload{ID: "first", Queue: steadyLeaf(0), PodSets: []allot.PodSet{{Count: 1}}}
	b.Run("cold", func(b *testing.B) {
		for range b.N {
			ask(b, NewFitter(snapshot))
		}
	})
	b.Run("warm", func(b *testing.B) {
		for range b.N {
			b.StopTimer()
			f := NewFitter(snapshot)
			if _, err := f.Now(b.Context(), one); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			ask(b, f)
		}
	})
	b.Run("again", func(b *testing.B) {
		f := NewFitter(snapshot)
		ask(b, f)
		b.ResetTimer()
		for range b.N {
			ask(b, f)
		}
	})
	b.Run("room", func(b *testing.B) {
		for range b.N {
			b.StopTimer()
			f := NewFitter(snapshot)
			if _, err := f.Now(b.Context(), one); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			for i := range questions {
				if _, err := f.WithRoom(b.Context(), questions[i]); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
