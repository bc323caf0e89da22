package allot

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/allotsched/allot/internal/cluster"
)

// busyState is nodes × 8 GPUs of which all run a single but those of the last
// hundredth, and a quarter as many that wait, in 200 queues in 3 levels.
func busyState(nodes int) *State {
	s := &State{Now: time.Unix(1_700_000_000, 0)}
	for i := range nodes {
		s.Nodes = append(s.Nodes, Node{
			ID: fmt.Sprintf("node-%06d", i), Capacity: map[string]int64{CPU: 128_000, Memory: 1 << 40}, Devices: make([]Device, 8),
		})
	}
	leaves := fillQueues(s, int64(nodes)*8*cluster.WholeDevice)
	for i := range nodes * 10 {
		w := busyWorkload(s, i, leaves[i%len(leaves)])
		if i < nodes*8-nodes*8/100 {
			w.Tasks = []Task{{Node: s.Nodes[i/8].ID, Devices: []int{i % 8}, Since: w.Submitted}}
		}
		s.Workloads = append(s.Workloads, w)
	}
	return s
}

func busyWorkload(s *State, i int, leaf string) Workload {
	return Workload{
		ID: fmt.Sprintf("workload-%08d", i), Queue: leaf, Submitted: s.Now.Add(-time.Duration(i*7919%1_000_003) * time.Second),
		PodSets: []PodSet{{Count: 1, Request: Request{GPU: GPURequest{Count: 1}, Resources: map[string]int64{CPU: 8000, Memory: 1 << 30}}}},
	}
}

// BenchmarkWith is With alone, without a decision: one change to a busy state.
func BenchmarkWith(b *testing.B) {
	for _, nodes := range []int{1_000, 10_000, 100_000} {
		s := busyState(nodes)
		snapshot, err := NewSnapshot(s)
		if err != nil {
			b.Fatal(err)
		}
		last := len(s.Workloads) - 1
		arrival := busyWorkload(s, len(s.Workloads), s.Workloads[0].Queue)
		started := s.Workloads[last]
		started.Tasks = []Task{{Node: s.Nodes[nodes-1].ID, Devices: []int{7}, Since: s.Now}}
		lost := s.Nodes[nodes/2]
		lost.Lost = true
		queue := s.Queues[len(s.Queues)-1]
		queue.Resources = queue.Resources[:0:0]
		for _, change := range []struct {
			name   string
			change func(i int) Change
		}{
			{"arrival", func(int) Change { return Change{Workloads: []Workload{arrival}} }},
			{"end", func(i int) Change {
				return Change{Remove: Removal{Workloads: []string{s.Workloads[i*7919%len(s.Workloads)].ID}}}
			}},
			{"start", func(int) Change { return Change{Workloads: []Workload{started}} }},
			{"lost", func(int) Change { return Change{Nodes: []Node{lost}} }},
			{"time", func(i int) Change { return Change{Now: s.Now.Add(time.Duration(i) * time.Second)} }},
			{"quota", func(int) Change { return Change{Queues: []Queue{queue}} }},
		} {
			b.Run(fmt.Sprintf("nodes=%d/%s", nodes, change.name), func(b *testing.B) {
				b.ReportAllocs()
				for i := range b.N {
					if _, err := snapshot.With(change.change(i)); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkNewSnapshot is the price of a first version.
func BenchmarkNewSnapshot(b *testing.B) {
	for _, nodes := range []int{1_000, 10_000} {
		s := busyState(nodes)
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			for range b.N {
				if _, err := NewSnapshot(s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestSnapshotMemory: however long a host goes on, with a number of versions
// kept, it holds no more memory than when it had begun.
func TestSnapshotMemory(t *testing.T) {
	const kept = 100
	s := busyState(50)
	now, err := NewSnapshot(s)
	if err != nil {
		t.Fatal(err)
	}
	leaf, running := s.Workloads[0].Queue, s.Workloads[:50*8-4]
	history := make([]*Snapshot, kept)
	early, steps := int64(0), 20_000
	for i := range steps {
		w := busyWorkload(s, len(s.Workloads)+i, leaf)
		old := busyWorkload(s, len(s.Workloads)+i-kept, leaf)
		moved := running[i*31%len(running)]
		moved.Priority = int32(i % 5)
		c := Change{Now: now.Now().Add(time.Second), Workloads: []Workload{w, moved}}
		if i >= kept {
			c.Remove.Workloads = []string{old.ID}
		}
		if now, err = now.With(c); err != nil {
			t.Fatal(err)
		}
		history[i%kept] = now
		if i == steps/4 {
			early = liveHeap()
		}
	}
	late := liveHeap()
	t.Logf("%d versions kept: %d bytes after %d steps, %d after %d", kept, early, steps/4, late, steps)
	if late > early+early/4 {
		t.Errorf("the memory grows")
	}
	runtime.KeepAlive(history)
}
