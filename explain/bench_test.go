package explain

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/quota"
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

// gangsThatWait is a cluster of full nodes of 8 GPUs, each taken by one workload that ends, and as many gangs that
// wait.
func gangsThatWait(n int) *allot.State {
	s := &allot.State{Now: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)}
	whole := allot.Request{GPU: allot.GPURequest{Count: 8}}
	for q := range 10 {
		s.Queues = append(s.Queues, allot.Queue{ID: fmt.Sprint("q", q)})
	}
	for i := range n {
		node, took := fmt.Sprintf("n%06d", i), int64(60+i*7919%86_400)
		s.Nodes = append(s.Nodes, allot.Node{ID: node, Devices: make([]allot.Device, 8)})
		s.Workloads = append(s.Workloads, allot.Workload{
			ID: fmt.Sprintf("gang-%06d", i), Queue: fmt.Sprint("q", i*7%10), Submitted: s.Now.Add(time.Duration(i-n) * time.Second),
			PodSets: []allot.PodSet{{Count: 1 + i*13%8, Request: whole}}, Duration: quota.Of(int64(1800 * (1 + i*31%24))),
		}, allot.Workload{
			ID: fmt.Sprintf("runs-%06d", i), Queue: fmt.Sprint("q", i%10), Submitted: s.Now.Add(-2 * time.Hour), Duration: quota.Of(took),
			PodSets: []allot.PodSet{{Count: 1, Request: whole}},
			Tasks:   []allot.Task{{Node: node, Devices: []int{0, 1, 2, 3, 4, 5, 6, 7}, Since: s.Now}},
		})
	}
	slices.SortFunc(s.Workloads, func(a, b allot.Workload) int { return strings.Compare(a.ID, b.ID) })
	return s
}

// BenchmarkForecasts says of all gangs that wait on full nodes, as many as these, when they start.
func BenchmarkForecasts(b *testing.B) {
	for _, n := range []int{250, 500, 1000, 2000} {
		d := decide(b, gangsThatWait(n))
		b.Run(fmt.Sprintf("gangs=%d", n), func(b *testing.B) {
			for b.Loop() {
				if list, err := Forecasts(b.Context(), d, n); err != nil || len(list) != n || list[n-1].Start.IsZero() {
					b.Fatal(len(list), err)
				}
			}
		})
	}
}
