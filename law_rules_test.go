package allot

import (
	"fmt"
	"slices"
	"strings"

	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/queue"
)

// Laws by the number of their rule, each read off State and Plan. They know the
// world by the oracle's reading of a state, not by the solver's or by Verify's.

// makesRoom says whether the policy ever makes room.
func makesRoom(p *Policy) bool {
	return !p.NoConsolidation || p.Reclaim != preempt.NoReclaim || p.Preempt != preempt.NoPreemption
}

// asOracle compares actions, their order, places and devices, who waits, and fair
// shares with what the oracle decides, which makes no room.
func asOracle(j *Judged) error {
	s, p := j.State, j.Plan
	pools := oracleSolve(s)
	if slices.ContainsFunc(pools, func(p *oraclePool) bool { return makesRoom(&p.policy) }) {
		return nil
	}
	for _, pool := range pools {
		got, want := actionTexts(actionsOf(p, pool)), actionTexts(pool.actions)
		if !slices.Equal(got, want) {
			return fmt.Errorf("actions are\n%s\n\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	if got, want := pendingIDs(p), oracleWaiting(pools); !slices.Equal(got, want) {
		return fmt.Errorf("%v wait, want %v", got, want)
	}
	for i, share := range p.Shares {
		for _, pool := range pools {
			q := pool.queue(share.Queue)
			if q == nil || pool.id != share.Pool || share.Class != "" || len(s.Queues) == 0 {
				continue
			}
			if fair := q.fair[share.Resource]; fair != share.FairShare {
				return fmt.Errorf("shares[%d] of %s %s is %d, want %d", i, share.Queue, share.Resource, share.FairShare, fair)
			}
		}
	}
	return nil
}

// nothingOrMinimum: a workload of which nothing stood has nothing or at least its
// minimum after the plan, and whatever starts makes its workload whole.
func nothingOrMinimum(j *Judged) error {
	world, err := j.After()
	if err != nil {
		return err
	}
	for _, pool := range oraclePools(world) {
		for _, w := range pool.work {
			before := j.State.Workloads[slices.IndexFunc(j.State.Workloads, func(v Workload) bool { return v.ID == w.source.ID })]
			started := slices.ContainsFunc(j.Plan.Actions, func(a Action) bool {
				return a.Workload == w.source.ID && (a.Kind == Start || a.Kind == Resize)
			})
			if (started || len(before.Tasks) == 0 && w.holds()) && w.stage() == queue.BelowMinimum {
				return fmt.Errorf("%s holds less than its minimum", w.source.ID)
			}
		}
	}
	return nil
}

// blocks says whether some queue of the pool does not let all pass.
func (p *oraclePool) blocks() bool {
	return slices.ContainsFunc(p.queues, func(q *oracleQueue) bool {
		how, _ := p.queueing(q)
		return how != queue.BestEffort
	})
}

// progress: under best effort nothing waits that could start.
func progress(j *Judged) error {
	world, err := j.After()
	if err != nil {
		return err
	}
	for _, pool := range oraclePools(world) {
		if pool.blocks() {
			continue
		}
		if w := pool.couldStart(); w != nil {
			return fmt.Errorf("%s could start", w.source.ID)
		}
	}
	return nil
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

// givesUp says that places are given up for good.
func givesUp(a Action) bool {
	switch a.Kind {
	case Displace, Unclaim, Evict, Shrink:
		return true
	case Start, Resize, Move:
	}
	return false
}

// withinBounds says whether use that grew by starts is within quota (Q2),
// limits (Q3) and caps (Q10) in every queue.
func withinBounds(s *State, p *Plan) error {
	settled, err := after(s, p, givesUp)
	if err != nil {
		return err
	}
	world, err := Apply(s, p)
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

// notOverbooked says whether, after every prefix of the actions, nothing has
// come to be used beyond what there is: by what runs or leaves, nor by what
// runs or is claimed (S4, P2).
func notOverbooked(s *State, p *Plan) error {
	last := make(map[string]int64)
	for n := range len(p.Actions) + 1 {
		if exchanging(p, n) {
			continue
		}
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

// exchanging says whether one of the first n actions waits for a workload whose
// own turn comes after them: two that exchange places have both left before either
// arrives, so that between their moves there is no state to look at.
func exchanging(p *Plan, n int) bool {
	return slices.ContainsFunc(p.Actions[:n], func(a Action) bool {
		return slices.ContainsFunc(p.Actions[n:], func(b Action) bool { return slices.Contains(a.After, b.Workload) })
	})
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
