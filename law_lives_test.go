package allot

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/deep"
	"github.com/allotsched/allot/quota"
)

// Rules that say what comes of a state after several plans: as in TestLaws, the
// world is read as the oracle reads it.

// G4: of gangs that each need everything one runs, whole, and never two halves;
// and when it ends the next.
func TestG4NoDeadlock(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 4))
	for range 100 {
		devices := 2 + random.IntN(6)
		s := &State{}
		for i := range devices {
			s.Nodes = append(s.Nodes, Node{ID: fmt.Sprint("n", i), Devices: make([]Device, 1)})
		}
		gangs := 2 + random.IntN(4)
		for i := range gangs {
			size := devices/2 + 1 + random.IntN(devices-devices/2)
			s.Workloads = append(s.Workloads, Workload{
				ID: fmt.Sprint("w", i), Priority: int32(random.IntN(3)),
				PodSets: []PodSet{{Count: size, Request: Request{GPU: GPURequest{Count: 1}}}},
			})
		}
		for left := gangs; left > 0; left-- {
			p, err := Solve(s)
			if err != nil {
				t.Fatal(err)
			}
			if len(p.Actions) != 1 || p.Actions[0].Kind != Start {
				t.Fatalf("want one gang started:\n%s\nof %s", p.String(), compact(s))
			}
			if s, err = Apply(s, p); err != nil {
				t.Fatal(err)
			}
			s.Workloads = slices.DeleteFunc(s.Workloads, func(w Workload) bool { return w.ID == p.Actions[0].Workload })
		}
	}
}

// O6: without arrivals, while what runs ends step by step, everything that can
// start at all starts in the end, under every preset too. Strict orders promise
// it as long as no head is one that only seems possible.
func TestO6EverythingPossibleStarts(t *testing.T) {
	presets := []func() Policy{OSMO, RunAI, RunAI20, DeterminedFairShare, DeterminedPriority}
	waited := 0
	lives := 0
	for seed := range deep.Seeds(t, 300) {
		lives++
		s, random := genDense(seed), rand.New(rand.NewPCG(seed, 6))
		if seed%2 == 0 {
			s.Pools[0].Policy = presets[seed/2%5]()
			s.Pools[0].Policy.Fitting = gang.AnyNodes // the oracle does not fit whole nodes (P8)
			for i := range s.Workloads {
				s.Workloads[i].Class = ""
			}
		}
		for range 4 * (len(s.Workloads) + 1) {
			p, err := Solve(s)
			if err != nil {
				t.Fatal(err)
			}
			if len(p.Pending) > 0 {
				waited++
			}
			if s, err = Apply(s, p); err != nil {
				t.Fatal(err)
			}
			endOne(s, random)
		}
		for _, pool := range oraclePools(s) {
			w := pool.couldStart()
			if w == nil {
				continue
			}
			seems := func(w *oracleWork) bool { return !pool.impossible(w) && !pool.startsAlone(w) }
			if pool.blocks() && slices.ContainsFunc(pool.work, seems) {
				continue
			}
			t.Fatalf("seed %d: %s never starts\nof %s", seed, w.source.ID, compact(s))
		}
	}
	if waited < lives/2 {
		t.Errorf("something waited in %d solves only", waited)
	}
}

// startsAlone says whether the workload could start if it were alone.
func (p *oraclePool) startsAlone(w *oracleWork) bool {
	return !w.wants() || p.admits(w, w.unit()) && p.place(w, w.unit()) != nil
}

// endOne lets what is leaving leave, and one workload that runs end.
func endOne(s *State, random *rand.Rand) {
	s.Workloads = slices.DeleteFunc(s.Workloads, func(w Workload) bool { return w.Ending })
	var runs []int
	for i := range s.Workloads {
		w := &s.Workloads[i]
		w.Tasks = slices.DeleteFunc(w.Tasks, func(task Task) bool { return task.Phase == Terminating })
		if slices.ContainsFunc(w.Tasks, func(task Task) bool { return task.Phase == Running }) {
			runs = append(runs, i)
		}
	}
	if len(runs) > 0 {
		i := runs[random.IntN(len(runs))]
		s.Workloads = slices.Delete(s.Workloads, i, i+1)
	}
}

// S7: whatever has been cut, lost or taken by others since, nothing panics, and
// nothing starts where a rule forbids it.
func TestS7CutsAndLosses(t *testing.T) {
	over, states := 0, 0
	for seed := range deep.Seeds(t, 500) {
		states++
		random := rand.New(rand.NewPCG(seed, 7))
		s := genDense(seed)
		p, err := Solve(s)
		if err != nil {
			t.Fatal(err)
		}
		if s, err = Apply(s, p); err != nil {
			t.Fatal(err)
		}
		cut(s, random)
		if p, err = Solve(s); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if len(p.Warnings) > 0 {
			over++
		}
		if err := cmp.Or(withinBounds(s, p), notOverbooked(s, p)); err != nil {
			t.Fatalf("seed %d: %v\nof %s\n%s", seed, err, compact(s), p.String())
		}
	}
	if over*5 < states {
		t.Errorf("only %d of %d states were over a bound", over, states)
	}
}

// cut takes from queues, nodes and devices what is in use.
func cut(s *State, random *rand.Rand) {
	for i := range s.Queues {
		r := &s.Queues[i].Resources[0]
		switch random.IntN(4) {
		case 0:
			r.Quota = quota.Of(int64(random.IntN(2)) * 500)
		case 1:
			r.Limit = quota.Of(int64(random.IntN(2)) * 500)
		case 2:
			s.Queues[i].MaxWorkloads = quota.Of(int64(random.IntN(2)))
		}
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		switch random.IntN(5) {
		case 0:
			n.Foreign = map[string]int64{CPU: int64(random.IntN(20))}
		case 1:
			n.Lost = true
		case 2:
			n.ForeignTasks = 3
		}
		for d := range n.Devices {
			if random.IntN(6) == 0 {
				n.Devices[d].Foreign = 1000
			}
			n.Devices[d].Unhealthy = n.Devices[d].Unhealthy || random.IntN(8) == 0
		}
	}
}
