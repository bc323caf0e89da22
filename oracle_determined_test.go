package allot

import (
	"math/rand/v2"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// genDetermined is genDense under the Determined presets and the knobs that their source
// has: kinds of task, priorities, weights, max slots and max concurrent trials, and no quota.
// What evicts is off, as the oracle knows nothing of it.
func genDetermined(seed uint64) *State {
	s := genDense(seed)
	g := rand.New(rand.NewPCG(seed, 19))
	for i := range s.Pools {
		s.Pools[i].Policy = determinedPolicy(g)
	}
	for i := range s.Queues {
		q := &s.Queues[i]
		q.Queueing = queue.OwnQueueing(0)
		for r := range q.Resources {
			one := &q.Resources[r]
			one.Quota, one.LendingLimit, one.BorrowingLimit = quota.Bound{}, quota.Bound{}, quota.Bound{}
			if one.Weight.Given() {
				one.Weight = quota.Of(int64(1 + g.IntN(4)))
			}
			if one.Resource == GPU && g.IntN(5) == 0 {
				one.Limit = quota.Of(1000 * int64(1+g.IntN(6)))
			}
		}
	}
	for i := range s.Workloads {
		w := &s.Workloads[i]
		w.Class = []string{"", "", "trial", "notebook", "command"}[g.IntN(5)]
		w.Preemption = PreemptionByClass
		if g.IntN(3) == 0 && len(w.Tasks) == 0 {
			w.PodSets = []PodSet{{Name: "s0", Count: 1 + g.IntN(8), Request: Request{GPU: GPURequest{Count: 1}}}}
		}
	}
	return s
}

func determinedPolicy(g *rand.Rand) Policy {
	p := DeterminedFairShare()
	if g.IntN(2) == 0 {
		p = DeterminedPriority()
		p.LowerFirst, p.ClassBeatsPriority = g.IntN(4) > 0, g.IntN(4) == 0
		if g.IntN(2) == 0 {
			p.Queueing = queue.BackfillPreemptible
		}
	}
	p.Reclaim = preempt.NoReclaim
	if g.IntN(3) == 0 {
		p.Fitting = gang.MixedWholeNodes
	}
	return p
}
