package allot

import (
	"cmp"
	"fmt"
	"github.com/allotsched/allot/gang"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// Properties by the number of their rule, each read off State and Plan. They
// know the world by the oracle's reading of a state, not by the solver's or by
// Verify's.

// eachState solves many states and hands them on.
func eachState(t *testing.T, check func(name string, s *State, p *Plan) error) {
	t.Helper()
	one := func(name string, s *State) {
		p, err := Solve(s)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := check(name, s, p); err != nil {
			t.Fatalf("%s: %v\nof %s\n%s", name, err, compact(s), p.Text())
		}
	}
	for seed := range uint64(1000) {
		one(fmt.Sprint("seed ", seed), genDense(seed))
		one(fmt.Sprint("with room, seed ", seed), genRoom(seed))
	}
	drawn := rapid.Custom(genStillState)
	for seed := range 100 {
		one(fmt.Sprint("example ", seed), plainState(drawn.Example(seed)))
	}
}

// after is the state in which the actions have been carried out.
func after(s *State, p *Plan, wanted func(Action) bool) (*State, error) {
	part := &Plan{Revision: p.Revision}
	for _, a := range p.Actions {
		if wanted(a) {
			part.Actions = append(part.Actions, a)
		}
	}
	return Apply(s, part)
}

func everyAction(Action) bool { return true }

// givesUp says that places are given up for good.
func givesUp(a Action) bool {
	switch a.Kind {
	case Displace, Unclaim, Evict, Shrink:
		return true
	case Start, Resize, Move:
	}
	return false
}

// G1: a workload of which nothing stood has nothing or at least its minimum
// after the plan, and whatever starts makes its workload whole.
func TestG1NothingOrTheMinimum(t *testing.T) {
	eachState(t, func(_ string, s *State, p *Plan) error {
		world, err := after(s, p, everyAction)
		if err != nil {
			return err
		}
		for _, pool := range oraclePools(world) {
			for _, w := range pool.work {
				before := s.Workloads[slices.IndexFunc(s.Workloads, func(v Workload) bool { return v.ID == w.source.ID })]
				started := slices.ContainsFunc(p.Actions, func(a Action) bool {
					return a.Workload == w.source.ID && (a.Kind == Start || a.Kind == Resize)
				})
				if (started || len(before.Tasks) == 0 && w.holds()) && w.stage() == queue.BelowMinimum {
					return fmt.Errorf("%s holds less than its minimum", w.source.ID)
				}
			}
		}
		return nil
	})
}

// G4: of gangs that each need everything one runs, whole, and never two halves;
// and when it ends the next.
func TestG4NoDeadlock(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 4))
	for range 300 {
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
				t.Fatalf("want one gang started:\n%s\nof %s", p.Text(), compact(s))
			}
			if s, err = Apply(s, p); err != nil {
				t.Fatal(err)
			}
			s.Workloads = slices.DeleteFunc(s.Workloads, func(w Workload) bool { return w.ID == p.Actions[0].Workload })
		}
	}
}

// withinBounds says whether use that grew by starts is within quota (Q2),
// limits (Q3) and caps (Q10) in every queue.
func withinBounds(s *State, p *Plan) error {
	settled, err := after(s, p, givesUp)
	if err != nil {
		return err
	}
	world, err := after(s, p, everyAction)
	if err != nil {
		return err
	}
	before := oraclePools(settled)
	for i, pool := range oraclePools(world) {
		for j, q := range pool.queues {
			was := before[i].queues[j]
			if most := oracleBound(q.source.MaxWorkloads, oracleNone); q.runs() > max(was.runs(), most) {
				return fmt.Errorf("Q10: %s runs %d workloads, its cap is %d", q.id, q.runs(), most)
			}
			for _, r := range pool.resources {
				use, had := pool.use(q, r, false), before[i].use(was, r, false)
				if most := pool.limit(q, r); use > max(had, most) {
					return fmt.Errorf("Q3: %s uses %d of %s, its limit is %d", q.id, use, r, most)
				}
				use, had = pool.use(q, r, true), before[i].use(was, r, true)
				bound := pool.governed(r) && !pool.policy.NonPreemptibleOverQuota
				if own := q.quota(r); bound && use > max(had, own) {
					return fmt.Errorf("Q2: %s uses %d of %s non-preemptibly, its quota is %d", q.id, use, r, own)
				}
			}
		}
	}
	return nil
}

// Q2, Q3, Q10: no start takes a queue beyond its bounds.
func TestQ2Q3Q10StartsStayWithinBounds(t *testing.T) {
	eachState(t, func(_ string, s *State, p *Plan) error { return withinBounds(s, p) })
}

// notOverbooked says whether, after every prefix of the actions, nothing has
// come to be used beyond what there is: by what runs or leaves, nor by what
// runs or is claimed (S4, P2).
func notOverbooked(s *State, p *Plan) error {
	last := make(map[string]int64)
	for n := range len(p.Actions) + 1 {
		world, err := Apply(s, &Plan{Revision: p.Revision, Actions: p.Actions[:n]})
		if err != nil {
			return err
		}
		now := make(map[string]int64)
		for i, pool := range oraclePools(world) {
			for _, node := range pool.nodes {
				for j, thing := range pool.things(node) {
					for _, phase := range []Phase{Terminating, Claimed} {
						key := fmt.Sprint(i, node.ID, j, phase)
						now[key] = pool.usedWith(node, thing, phase)
						if was, seen := last[key]; seen && now[key] > max(was, thing.usable) {
							return fmt.Errorf("P2: action %d takes %d of the %d of thing %d on %s", n-1, now[key], thing.usable, j, node.ID)
						}
					}
				}
			}
		}
		last = now
	}
	return nil
}

// usedWith is what runs and what is of a phase takes of a thing.
func (p *oraclePool) usedWith(n *Node, thing oracleThing, phase Phase) (sum int64) {
	for _, w := range p.work {
		for _, t := range w.tasks {
			if t.node == n && (t.phase == Running || t.phase == phase) {
				sum += thing.amount(t.request(), t.devices)
			}
		}
	}
	return sum
}

// P2, S4: nothing is overbooked, nor half-way through the actions.
func TestP2NothingOverbooked(t *testing.T) {
	eachState(t, func(_ string, s *State, p *Plan) error { return notOverbooked(s, p) })
}

// couldStart is a workload that waits, or wants one task more, although rules
// admit it and nodes take it as they are; nil if there is none.
func (p *oraclePool) couldStart() *oracleWork {
	for _, w := range p.work {
		if !w.wants() || w.leaving() || len(w.claims()) > 0 {
			continue
		}
		units := [][]int{w.unit()}
		if w.runsMinimum() {
			units = w.extras()
		}
		for _, unit := range units {
			if p.admits(w, unit) && p.place(w, unit) != nil {
				return w
			}
		}
	}
	return nil
}

// O4, Q4: under best effort nothing waits that could start.
func TestO4Q4Progress(t *testing.T) {
	eachState(t, func(_ string, s *State, p *Plan) error {
		world, err := after(s, p, everyAction)
		if err != nil {
			return err
		}
		for _, pool := range oraclePools(world) {
			if pool.policy.Queueing != queue.BestEffort {
				continue
			}
			if w := pool.couldStart(); w != nil {
				return fmt.Errorf("%s could start", w.source.ID)
			}
		}
		return nil
	})
}

// O6: without arrivals, while what runs ends step by step, everything that can
// start at all starts in the end, under every preset too. Strict orders promise
// it as long as no head is one that only seems possible.
func TestO6EverythingPossibleStarts(t *testing.T) {
	presets := []func() Policy{OSMO, RunAI, RunAI20, DeterminedFairShare, DeterminedPriority}
	waited := 0
	for seed := range uint64(1500) {
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
			if pool.policy.Queueing != queue.BestEffort && slices.ContainsFunc(pool.work, seems) {
				continue
			}
			t.Fatalf("seed %d: %s never starts\nof %s", seed, w.source.ID, compact(s))
		}
	}
	if waited < 1000 {
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
	over := 0
	for seed := range uint64(1500) {
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
			t.Fatalf("seed %d: %v\nof %s\n%s", seed, err, compact(s), p.Text())
		}
	}
	if over < 300 {
		t.Errorf("only %d states were over a bound", over)
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

// F4: all weights times k leave the plan as it is.
func TestF4WeightsTimesK(t *testing.T) {
	eachState(t, func(name string, s *State, p *Plan) error {
		k := int64(2 + len(name)%5)
		times := *s
		times.Queues = slices.Clone(s.Queues)
		for i := range times.Queues {
			q := &times.Queues[i]
			q.Resources = slices.Clone(q.Resources)
			for j := range q.Resources {
				if w := q.Resources[j].Weight; w.Given() && !w.IsUnlimited() {
					q.Resources[j].Weight = quota.Of(k * w.Amount())
				}
			}
		}
		return samePlan(&times, p, everyShare)
	})
}

// samePlan says whether the state has the plan, its cost and some shares aside.
func samePlan(s *State, want *Plan, wanted func(Share) bool) error {
	got, err := Solve(s)
	if err != nil {
		return err
	}
	plain := func(p *Plan) string {
		q := Plan{Actions: p.Actions, Pending: p.Pending, Shares: slices.Clone(p.Shares)}
		q.Shares = slices.DeleteFunc(q.Shares, func(share Share) bool { return !wanted(share) })
		return q.Text()
	}
	if plain(got) != plain(want) {
		return fmt.Errorf("another plan:\n%s", got.Text())
	}
	return nil
}

func everyShare(Share) bool { return true }

// F2, F3: a queue in which nothing waits and nothing runs, without quota and
// weight, leaves the plan as it is.
func TestF3EmptyQueue(t *testing.T) {
	eachState(t, func(name string, s *State, p *Plan) error {
		if len(s.Queues) == 0 {
			return nil
		}
		beside := s.Queues[len(name)%len(s.Queues)]
		empty := Queue{ID: "~empty", Pool: beside.Pool, Parent: beside.Parent}
		for _, r := range beside.Resources {
			given := QueueResource{Resource: r.Resource}
			if r.Weight.Given() {
				given.Weight = quota.Of(0)
			}
			empty.Resources = append(empty.Resources, given)
		}
		more := *s
		more.Queues = append(slices.Clone(s.Queues), empty)
		return samePlan(&more, p, func(share Share) bool { return share.Queue != empty.ID })
	})
}

// M5, X1: where much is wanted and little is there, too, a plan applied leaves
// nothing to do and Verify nothing to say, under strict queueing included: the
// order that decides who is reached before a block changes with every start.
func TestM5FixpointUnderContention(t *testing.T) {
	states, broken := *oracleStates, 0
	for seed := range uint64(states) {
		s := genDense(1<<32 + seed/2)
		if seed%2 == 1 {
			s = genRoom(1<<32 + seed/2)
		}
		if err := atRest(s); err != nil {
			broken++
			t.Logf("seed %d: %v", seed, err)
		}
	}
	if broken > 0 {
		t.Errorf("%d of %d states break a law", broken, states)
	}
}

// atRest says what is wrong with the plan of a state, or what is left to do once
// it is applied.
func atRest(s *State) error {
	p, err := Solve(s)
	if err != nil {
		return err
	}
	if err := VerifyPlan(s, p); err != nil {
		return err
	}
	after, err := Apply(s, p)
	if err != nil {
		return err
	}
	again, err := Solve(after)
	if err != nil {
		return err
	}
	again.Actions = slices.DeleteFunc(again.Actions, func(a Action) bool { return startsClaims(after, a) })
	if len(again.Actions) > 0 && !mayBeCut(s, p) {
		return fmt.Errorf("not at rest:\n%s\nafter\n%s\nof %s", again.Text(), p.Text(), compact(s))
	}
	return nil
}

// startsClaims says whether the action starts what is claimed: its place is free.
func startsClaims(s *State, a Action) bool {
	return a.Kind == Start && slices.ContainsFunc(s.Workloads, func(w Workload) bool {
		return w.ID == a.Workload && slices.ContainsFunc(w.Tasks, func(t Task) bool { return t.Phase == Claimed })
	})
}
