package main

import (
	"slices"
	"testing"

	"github.com/allotsched/allot/placement"
)

// BenchmarkFGD places the pods of openb, up to 130% of its GPUs, by fragmentation
// gradient descent: only the search for places and their taking, no measure.
func BenchmarkFGD(b *testing.B) { benchmark(b, placement.FragmentationGradient) }

// BenchmarkPolicies is the same for the strategies that FGD is compared with.
func BenchmarkPolicies(b *testing.B) {
	for _, policy := range slices.DeleteFunc(slices.Clone(usual), func(s placement.Strategy) bool { return s == placement.FragmentationGradient }) {
		b.Run(policy.String(), func(b *testing.B) { benchmark(b, policy) })
	}
}

func benchmark(b *testing.B, policy placement.Strategy) {
	c, err := readCluster("")
	if err != nil {
		b.Fatal(err)
	}
	w, err := readWorkload("")
	if err != nil {
		b.Fatal(err)
	}
	pods, rank := w.arrivals(c, 130, 42)
	b.ReportAllocs()
	for b.Loop() {
		s, err := newSimulation(c, w, rank, 42)
		if err != nil {
			b.Fatal(err)
		}
		for i := range pods {
			shape := s.shape(&pods[i].demand)
			if place, ok := s.index.Find(shape, policy); ok {
				if err := s.index.Take(shape, place); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(pods))/1000, "µs/pod")
}
