package allot

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/engine"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// fillState is the fill of examples/benchmarks: nodes × 8 GPUs to the brim; by GPUs 70%
// singles, 15% fractions (100–500 milli), 10% whole-node gangs of 2–32, 5%
// elastic singles; CPU-only tasks 5% of all; demand 1.05 × capacity; 200
// queues in 3 levels.
func fillState(nodes int) *State {
	random := rand.New(rand.NewPCG(1, uint64(nodes)))
	s := &State{Now: time.Unix(1_700_000_000, 0)}
	for i := range nodes {
		s.Nodes = append(s.Nodes, Node{
			ID:       fmt.Sprintf("node-%06d", i),
			Capacity: map[string]int64{CPU: 128_000, Memory: 1 << 40},
			Devices:  make([]Device, 8),
		})
	}
	leaves := fillQueues(s, int64(nodes)*8*cluster.WholeDevice)
	add := func(sets ...PodSet) {
		s.Workloads = append(s.Workloads, Workload{
			ID:        fmt.Sprintf("workload-%08d", len(s.Workloads)),
			Queue:     leaves[random.IntN(len(leaves))],
			Submitted: s.Now.Add(-time.Duration(random.IntN(1_000_000)) * time.Millisecond),
			PodSets:   sets,
		})
	}
	request := func(gpus int, milli, cpu int64) Request {
		return Request{
			GPU:       GPURequest{Count: gpus, Milli: milli},
			Resources: map[string]int64{CPU: cpu, Memory: cpu << 20},
		}
	}
	demand := float64(nodes) * 8 * cluster.WholeDevice * 1.05
	tasks := 0
	spend := func(share float64, next func() (gpuMilli, n int)) {
		for left := share * demand; left > 0; {
			milli, n := next()
			left -= float64(milli)
			tasks += n
		}
	}
	spend(0.70, func() (int, int) {
		add(PodSet{Count: 1, Request: request(1, 0, 8000)})
		return cluster.WholeDevice, 1
	})
	spend(0.15, func() (int, int) {
		milli := 100 * (1 + random.IntN(5))
		add(PodSet{Count: 1, Request: request(1, int64(milli), 2000)})
		return milli, 1
	})
	spend(0.10, func() (int, int) {
		n := 2 << random.IntN(5)
		add(PodSet{Count: n, Request: request(8, 0, 64_000)})
		return 8 * n * cluster.WholeDevice, n
	})
	spend(0.05, func() (int, int) {
		n := 2 + random.IntN(7)
		add(PodSet{Count: n, Min: 1, Request: request(1, 0, 8000)})
		return n * cluster.WholeDevice, n
	})
	for range tasks / 20 {
		add(PodSet{Count: 1, Request: request(0, 0, 1000)})
	}
	return s
}

// fillQueues adds 200 queues in 3 levels: 5 over 35 over 160. It returns the
// leaves.
func fillQueues(s *State, capacity int64) (leaves []string) {
	gpu := func(amount int64) []QueueResource {
		return []QueueResource{{Resource: GPU, Quota: quota.Of(amount / cluster.WholeDevice * cluster.WholeDevice)}}
	}
	for top := range 5 { // each over 7 queues, over 32 leaves
		t := fmt.Sprintf("top-%d", top)
		s.Queues = append(s.Queues, Queue{ID: t, Resources: gpu(capacity / 5)})
		for middle := range 7 {
			m := fmt.Sprintf("%s/middle-%d", t, middle)
			s.Queues = append(s.Queues, Queue{ID: m, Parent: t, Resources: gpu(capacity / 35)})
			leavesHere := 4
			if middle < 4 {
				leavesHere = 5
			}
			for leaf := range leavesHere {
				l := fmt.Sprintf("%s/leaf-%d", m, leaf)
				s.Queues = append(s.Queues, Queue{ID: l, Parent: m, Resources: gpu(capacity / 175)})
				leaves = append(leaves, l)
			}
		}
	}
	return leaves
}

// floor is the least that any scheduler does: sort the workloads by O1 and
// write one placement per task, without a decision. It is what Decide is
// measured against, and frozen.
func floor(w *world) int {
	items := make([]queue.Item, len(w.Works))
	for i := range w.Works {
		k := &w.Works[i]
		items[i] = queue.Item{Priority: k.Form.Priority, Submitted: k.Submitted, ID: int32(i)}
	}
	slices.SortFunc(items, queue.Item.Compare)
	tasks := 0
	for i := range w.Works {
		for _, n := range w.Definition(&w.Works[i], 0).Counts {
			tasks += int(n)
		}
	}
	out := make([]cluster.TaskPlace, 0, tasks)
	for _, it := range items {
		for set, n := range w.Definition(&w.Works[it.ID], 0).Counts {
			for index := range n {
				out = append(out, cluster.TaskPlace{Set: int32(set), Index: index, Node: it.ID, Devices: 1})
			}
		}
	}
	return len(out)
}

func mustWorld(b *testing.B, s *State) *world {
	w, err := newWorld(s)
	if err != nil {
		b.Fatal(err)
	}
	return w
}

// benchShape times floor, Decide on the compiled state, and Solve from plain
// data to plain data, in one run.
func benchShape(b *testing.B, s *State) {
	benchFloor(b, s)
	b.Run("decide", func(b *testing.B) {
		var placed int64
		live := benchDecide(b, s, func(d *cluster.Decision) { placed = d.Work.Placed })
		b.ReportMetric(float64(live)/float64(placed), "B/task")
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(placed), "ns/task")
		b.ReportMetric(float64(placed), "tasks")
	})
	benchSolve(b, s)
}

func benchFloor(b *testing.B, s *State) {
	b.Run("floor", func(b *testing.B) {
		w := mustWorld(b, s)
		n := 0
		b.ResetTimer()
		for range b.N {
			n = floor(w)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/task")
	})
}

func benchSolve(b *testing.B, s *State) {
	b.Run("solve", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			if _, err := Solve(s); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// benchDecide times the solve of the compiled state, and looks at the decisions.
// The live heap is what the compiled state and the decisions hold together,
// beyond State and Plan (the target is at most 400 B a task).
func benchDecide(b *testing.B, s *State, look func(*cluster.Decision)) (live int64) {
	b.ReportAllocs()
	for i := range b.N {
		b.StopTimer()
		if i == 0 {
			live = -liveHeap()
		}
		w := mustWorld(b, s)
		runtime.GC()
		b.StartTimer()
		d, err := engine.Solve(context.Background(), w.World)
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		look(d)
		if i == 0 {
			live += liveHeap()
		}
		runtime.KeepAlive(d)
		runtime.KeepAlive(w)
		b.StartTimer()
	}
	b.ReportMetric(float64(live), "live-B")
	return live
}

func BenchmarkFill(b *testing.B) {
	for _, nodes := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) { benchShape(b, fillState(nodes)) })
	}
}

// BenchmarkPending is n nodes of 8 GPUs and 8n pending single-GPU workloads in 4
// queues.
func BenchmarkPending(b *testing.B) {
	for _, n := range []int{125, 500, 2000} {
		b.Run(fmt.Sprintf("nodes=%d/pending=%d/queues=4", n, 8*n), func(b *testing.B) {
			benchShape(b, singlesState(n, 8, 0, 8*n, 4, wholeGPUs(1)))
		})
	}
}

// BenchmarkHeads is n queues of one waiting head each: the order between queues,
// decided anew after every start.
func BenchmarkHeads(b *testing.B) {
	for _, n := range []int{200, 1000, 5000} {
		b.Run(fmt.Sprintf("queues=%d", n), func(b *testing.B) {
			benchShape(b, singlesState(n/8, 8, 0, n, n, wholeGPUs(1)))
		})
	}
}

// BenchmarkCores is n nodes of 32 cores filled by 32n pending singles of one core
// in ten queues.
func BenchmarkCores(b *testing.B) {
	for _, n := range []int{100, 300, 1000} {
		b.Run(fmt.Sprintf("nodes=%d/pending=%d/queues=10", n, 32*n), func(b *testing.B) {
			benchShape(b, singlesState(n, 0, 32_000, 32*n, 10, Request{Resources: map[string]int64{CPU: 1000}}))
		})
	}
}

// singlesState has equal nodes, and pending workloads of one task in queues of
// equal quota of the first resource that the request asks.
func singlesState(nodes, gpus int, cpu int64, pending, queues int, request Request) *State {
	s := &State{Now: time.Unix(1_700_000_000, 0)}
	for i := range nodes {
		s.Nodes = append(s.Nodes, Node{
			ID: fmt.Sprintf("node-%05d", i), Capacity: map[string]int64{CPU: cpu}, Devices: make([]Device, gpus),
		})
	}
	governed := QueueResource{Resource: GPU, Quota: quota.Of(int64(nodes*gpus/queues) * cluster.WholeDevice)}
	if gpus == 0 {
		governed = QueueResource{Resource: CPU, Quota: quota.Of(int64(nodes) * cpu / int64(queues))}
	}
	for q := range queues {
		s.Queues = append(s.Queues, Queue{ID: fmt.Sprintf("queue-%04d", q), Resources: []QueueResource{governed}})
	}
	for i := range pending {
		s.Workloads = append(s.Workloads, Workload{
			ID:        fmt.Sprintf("workload-%06d", i),
			Queue:     s.Queues[i%queues].ID,
			Submitted: s.Now.Add(time.Duration(i*7919%pending) * -time.Second),
			PodSets:   []PodSet{{Count: 1, Request: request}},
		})
	}
	return s
}

// BenchmarkReasons is the writing of a plan in which 2,000 gangs of ten shapes
// in 200 queues wait for 10,000 nodes of which all but five are full: as many
// different questions, each about gangs of which a part finds a place (X1).
func BenchmarkReasons(b *testing.B) {
	b.Run("nodes=10000/gangs=2000/queues=200", func(b *testing.B) {
		const nodes, queues, shapes = 10_000, 200, 10
		s := singlesState(nodes, 8, 64_000, nodes-5, 1, Request{GPU: GPURequest{Count: 8}})
		for q := range queues {
			id := fmt.Sprintf("waiting-%03d", q)
			s.Queues = append(s.Queues, Queue{ID: id})
			for k := range shapes {
				s.Workloads = append(s.Workloads, Workload{
					ID: fmt.Sprintf("%s-%d", id, k), Queue: id, Submitted: s.Now,
					PodSets: []PodSet{{Count: 100 + k, Request: Request{GPU: GPURequest{Count: 1 + k%4}}}},
				})
			}
		}
		for range b.N {
			b.StopTimer()
			w := mustWorld(b, s)
			d, err := engine.Solve(context.Background(), w.World)
			if err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			plan, err := w.write(d)
			if err != nil || len(plan.Pending) != queues*shapes {
				b.Fatalf("%d wait: %v", len(plan.Pending), err)
			}
		}
	})
}

func liveHeap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
