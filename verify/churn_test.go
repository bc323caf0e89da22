package verify

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
)

// drawn is the state of drawState that a seed stands for.
func drawn(seed int) *allot.State { return rapid.Custom(drawState).Example(seed) }

// churned is a drawn state, crowded with workloads of one GPU, in which everything
// has been started that can be; then quotas and priorities have changed, and more
// has arrived, so that much goes for somebody else.
func churned(t *testing.T, seed int) *allot.State {
	t.Helper()
	s := drawn(seed)
	random := rand.New(rand.NewPCG(uint64(seed), 2))
	s.Pools[0].Policy.NonPreemptibleFrom = 0
	var leaves []string
	for _, q := range s.Queues {
		if !slices.ContainsFunc(s.Queues, func(child allot.Queue) bool { return child.Parent == q.ID }) {
			leaves = append(leaves, q.ID)
		}
	}
	arrive := func(id string, n int) {
		for i := range n {
			w := single(fmt.Sprint(id, i), "", gpus(1))
			if w.Priority = int32(random.IntN(3)); len(leaves) > 0 {
				w.Queue = leaves[random.IntN(len(leaves))]
			}
			s.Workloads = append(s.Workloads, w)
		}
	}
	arrive("early", 8)
	p, err := allot.Solve(s)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	if s, err = allot.Apply(s, p); err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	for i := range s.Queues {
		for k := range s.Queues[i].Resources {
			if r := &s.Queues[i].Resources[k]; random.IntN(2) == 0 && r.Resource == allot.GPU && !r.Quota.IsUnlimited() {
				r.Quota = quota.Of(1000 * int64(random.IntN(4)))
			}
		}
	}
	for i := range s.Workloads {
		if w := &s.Workloads[i]; random.IntN(3) == 0 {
			w.Priority = int32(random.IntN(4))
		}
	}
	arrive("late", 4)
	s.Now = s.Now.Add(time.Second)
	if err := allot.Check(s); err != nil {
		t.Fatalf("seed %d: the test's own state: %v", seed, err)
	}
	return s
}
