package allot

import (
	"fmt"
	"testing"
	"time"

	"github.com/allotsched/allot/quota"
)

// manyWorkloads is a State of n one-pod-set workloads that wait, in 200 queues
// on 1,000 nodes of 8 GPUs. Every fourth runs where running is set.
func manyWorkloads(n int, running bool) *State {
	s := &State{Nodes: make([]Node, 1000)}
	for i := range s.Nodes {
		s.Nodes[i] = Node{ID: fmt.Sprintf("n%04d", i), Capacity: map[string]int64{CPU: MaxAmount / 1000, Memory: MaxAmount / 1000}, Devices: make([]Device, 8)}
	}
	for i := range 200 {
		s.Queues = append(s.Queues, Queue{ID: fmt.Sprintf("q%03d", i), Resources: []QueueResource{{Resource: GPU, Quota: quota.Of(40000)}}})
	}
	s.Workloads = make([]Workload, n)
	submitted := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range s.Workloads {
		s.Workloads[i] = Workload{
			ID: fmt.Sprintf("w%07d", i), Queue: s.Queues[i%200].ID, Submitted: submitted,
			PodSets: []PodSet{{Count: 1, Request: Request{
				GPU: GPURequest{Count: 1}, Resources: map[string]int64{CPU: 4000, Memory: 1 << 30},
			}}},
		}
		if at := i / 4; running && i%4 == 0 && at < 8000 {
			s.Workloads[i].Tasks = []Task{{Node: s.Nodes[at/8].ID, Devices: []int{at % 8}}}
		}
	}
	return s
}

func BenchmarkCheck(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000} {
		b.Run(fmt.Sprintf("workloads=%d", n), func(b *testing.B) {
			benchmarkCheck(b, manyWorkloads(n, true))
		})
	}
	b.Run("workloads=100000/unsorted", func(b *testing.B) {
		s := manyWorkloads(100_000, true)
		s.Workloads[0], s.Workloads[1] = s.Workloads[1], s.Workloads[0]
		benchmarkCheck(b, s)
	})
}

func benchmarkCheck(b *testing.B, s *State) {
	b.ReportAllocs()
	for b.Loop() {
		if err := Check(s); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(s.Workloads)), "ns/workload")
}

func BenchmarkStateJSON(b *testing.B) {
	s := manyWorkloads(100_000, true)
	data, err := s.MarshalJSON()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("marshal/workloads=100000", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.MarshalJSON(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("unmarshal/workloads=100000", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			if err := new(State).UnmarshalJSON(data); err != nil {
				b.Fatal(err)
			}
		}
	})
}
