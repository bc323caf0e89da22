package backfill

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/deep"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// The stream of small work of TestB13PossibleGangsStart ends after so many seconds.
const streamEnds = 60

// With finite arrivals every gang that is possible starts, under EASY and conservative backfill, and by gathering
// where nobody says how long it takes (B13, O6, B8); and it does so while small work still comes, which without
// promises passes it to the end. What asks more than there is holds up nobody.
func TestB13PossibleGangsStart(t *testing.T) {
	for _, way := range []struct {
		name    string
		reserve allot.ReservePolicy
		ends    bool // work says how long it takes
	}{
		{"none", allot.ReservePolicy{}, true},
		{"easy", allot.ReservePolicy{Backfill: queue.EASY}, true},
		{"conservative", allot.ReservePolicy{Backfill: queue.Conservative}, true},
		{"gathering", allot.ReservePolicy{Backfill: queue.EASY, Gather: true}, false},
	} {
		gangs, late := 0, 0
		for seed := range deep.Seeds(t, 20) {
			for id, start := range stream(t, seed, way.reserve, way.ends) { // counts have no order
				if start < 0 {
					t.Errorf("%s, seed %d: %s never starts", way.name, seed, id)
				}
				if gangs++; start >= streamEnds {
					late++
				}
			}
		}
		t.Logf("%s: %d of %d gangs start after all else has come", way.name, late, gangs)
		if promised := way.reserve.Backfill != queue.NoBackfill; promised && late > 0 || !promised && 3*late < gangs {
			t.Errorf("%s: %d of %d gangs start after all else has come", way.name, late, gangs)
		}
	}
}

// stream has small work come for a while, always more than there is room for, beside two gangs that ask more than half of
// the cluster and one that asks more than all: when each of the two starts, −1 for never.
func stream(t *testing.T, seed uint64, reserve allot.ReservePolicy, ends bool) map[string]int {
	d := rand.New(rand.NewPCG(seed, 8))
	nodes := 4 + d.IntN(4)
	s := &allot.State{Pools: []allot.Pool{{ID: "p", Policy: allot.Policy{NoConsolidation: true, Reclaim: preempt.NoReclaim, Reserve: reserve}}}}
	for i := range nodes {
		s.Nodes = append(s.Nodes, allot.Node{ID: fmt.Sprintf("n%02d", i), Devices: make([]allot.Device, 1)})
	}
	starts, lasts, until, came := map[string]int{"gang-a": -1, "gang-b": -1}, make(map[string]int), make(map[string]int), 0
	come := func(id string, size, runs int) {
		w := allot.Workload{
			ID: id, Submitted: s.Now, Preemption: allot.NonPreemptible,
			PodSets: []allot.PodSet{{Count: size, Request: allot.Request{GPU: allot.GPURequest{Count: 1}}}},
		}
		if lasts[id] = runs; ends {
			w.TimeLimit, w.Duration = quota.Of(int64(runs)), quota.Of(int64(runs))
		}
		s.Workloads = append(s.Workloads, w)
	}
	for now := 0; now < streamEnds+100; now++ {
		s.Now = epoch.Add(time.Duration(now) * time.Second)
		s.Workloads = slices.DeleteFunc(s.Workloads, func(w allot.Workload) bool { return len(w.Tasks) > 0 && until[w.ID] == now })
		switch now {
		case 2:
			come("gang-a", nodes/2+1+d.IntN(nodes-nodes/2), 1+d.IntN(6))
			come("too-large", nodes+1, 1)
		case 9:
			come("gang-b", nodes/2+1+d.IntN(nodes-nodes/2), 1+d.IntN(6))
		}
		for waits := len(s.Workloads); now < streamEnds && waits < 2*nodes; waits++ {
			come(fmt.Sprintf("small-%03d", came), 1, 1+d.IntN(6))
			came++
		}
		plan, err := allot.Solve(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range plan.Actions {
			if until[a.Workload] = now + lasts[a.Workload]; starts[a.Workload] < 0 {
				starts[a.Workload] = now
			}
		}
		if s, err = allot.Apply(s, plan); err != nil {
			t.Fatal(err)
		}
	}
	for _, w := range s.Workloads {
		if w.ID != "too-large" {
			t.Errorf("seed %d: %s is still there", seed, w.ID)
		}
	}
	return starts
}
