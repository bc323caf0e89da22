package explain

import (
	"fmt"
	"testing"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/preempt"
)

// fullOfSingles is a cluster of nodes of 8 GPUs, all taken by workloads of one, with
// a gang of four whole nodes that waits.
func fullOfSingles(nodes int, policy allot.Policy) *allot.State {
	s := &allot.State{Pools: []allot.Pool{{ID: "p", Policy: policy}}}
	gpus := func(count, each int) []allot.PodSet {
		return []allot.PodSet{{Count: count, Request: allot.Request{GPU: allot.GPURequest{Count: each}}}}
	}
	for q := range 100 {
		s.Queues = append(s.Queues, allot.Queue{ID: fmt.Sprint("q", q)})
	}
	for n := range nodes {
		id := fmt.Sprintf("n%04d", n)
		s.Nodes = append(s.Nodes, allot.Node{ID: id, Devices: make([]allot.Device, 8)})
		for d := range 8 {
			s.Workloads = append(s.Workloads, allot.Workload{
				ID: fmt.Sprintf("w%04d-%d", n, d), Queue: fmt.Sprint("q", (8*n+d)%100), PodSets: gpus(1, 1),
				Tasks: []allot.Task{{Node: id, Devices: []int{d}}},
			})
		}
	}
	s.Workloads = append(s.Workloads, allot.Workload{ID: "gang", Queue: "q7", PodSets: gpus(4, 8)})
	return s
}

// BenchmarkWhatHelps asks what would help a gang of whole nodes that waits on a full
// cluster, where no room is made and where it is.
func BenchmarkWhatHelps(b *testing.B) {
	for _, still := range []bool{true, false} {
		b.Run(fmt.Sprintf("still=%t/nodes=1000", still), func(b *testing.B) {
			var policy allot.Policy
			if still {
				policy = allot.Policy{NoConsolidation: true, Reclaim: preempt.NoReclaim, Preempt: preempt.NoPreemption}
			}
			d := decide(b, fullOfSingles(1000, policy))
			for b.Loop() {
				h, err := WhatHelps(b.Context(), d, "gang", HelpSearch{})
				if err != nil || !h.Waits {
					b.Fatal(h, err)
				}
				b.ReportMetric(float64(h.Solves), "solves")
				b.ReportMetric(float64(len(h.Remedies)), "remedies")
			}
		})
	}
}
