package allot

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/quota"
)

// genFull is a cluster full of small jobs in which one workload waits for which
// room may have to be made: minimum runtimes, budgets and protection stand
// against some.
func genFull(seed uint64) *State {
	random := rand.New(rand.NewPCG(seed, 23))
	s := &State{Now: time.Unix(100, 0).UTC(), Pools: []Pool{{ID: "p"}}}
	policy := &s.Pools[0].Policy
	policy.NoConsolidation = random.IntN(4) > 0
	policy.Straddle = preempt.Straddle(random.IntN(2))
	if random.IntN(2) == 0 {
		policy.MinRuntime = MinRuntime{Preempt: quota.Of(int64(random.IntN(40))), Reclaim: quota.Of(int64(random.IntN(40)))}
	}
	if random.IntN(2) == 0 {
		s.Budgets = []DisruptionBudget{{Owner: "o", MinRunning: random.IntN(4)}}
	}
	s.Queues = append(s.Queues, gpuQueue("d", "", int64(random.IntN(4))))
	for q, parent := range []string{"", "d", "d"} {
		s.Queues = append(s.Queues, gpuQueue(fmt.Sprint("q", q), parent, int64(random.IntN(4))))
	}
	for n := range 1 + random.IntN(3) {
		id, devices := fmt.Sprint("n", n), 2+random.IntN(3)
		s.Nodes = append(s.Nodes, node(id, devices))
		for d := 0; d < devices; d++ {
			running := task(Running, 0, id, d)
			running.Since = time.Unix(int64(60+20*random.IntN(2)), 0).UTC()
			w := single(fmt.Sprint("w", n, d), fmt.Sprint("q", random.IntN(3)), gpus(1), running)
			w.Priority = int32(1 + random.IntN(3))
			if w.Submitted = running.Since; random.IntN(3) == 0 {
				w.Owner = "o"
			}
			if d+1 < devices && random.IntN(4) == 0 { // one task more, which may go alone
				more := task(Running, 1, id, d+1)
				more.Since = running.Since
				w.PodSets[0].Count, w.PodSets[0].Min = 2, 1
				w.Tasks = append(w.Tasks, more)
				d++
			}
			s.Workloads = append(s.Workloads, w)
		}
	}
	w := single("x", fmt.Sprint("q", random.IntN(3)), gpus(1+random.IntN(2)))
	w.Priority = 3
	s.Workloads = append(s.Workloads, w)
	return s
}
