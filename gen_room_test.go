package allot

import (
	"fmt"
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/quota"
)

// What genState draws about making room (SPEC §9).

// roomPolicy draws the knobs of a policy about making room.
func (g *stateGen) roomPolicy(p *Policy) {
	p.NoConsolidation = g.chance(3)
	p.ConsolidateBeyondShare = g.chance(4)
	p.Reclaim = pick(g, preempt.ByQuotaAndShare, preempt.ByQuotaAndShare, preempt.ByQuota, preempt.NoReclaim)
	p.ReclaimNonPreemptibleOnly = g.chance(6)
	p.Straddle = pick(g, preempt.Take, preempt.Take, preempt.Spare)
	p.Preempt = pick(g, preempt.WithinQueue, preempt.WithinQueue, preempt.WithinPool, preempt.NoPreemption)
	p.MinRuntime = g.minRuntime()
	p.StaleGangGrace = g.maybe(3, 0, 5, 20)
	p.CheckpointOnEviction = g.chance(4)
	if g.chance(4) {
		p.MaxMovedPercent = pick[int64](g, 50, 100, maxMoved)
		p.ReclaimMarginMilli = pick[int64](g, leastMargin, 1500, maxMargin)
	}
	if g.chance(6) {
		p.MaxEvictions = 1 + g.upTo(2)
	}
	if g.chance(6) {
		p.SearchBudget = pick(g, 1, 5, maxCount)
	}
	if g.chance(4) {
		p.PreemptedStatus, p.PreemptedExitCode = "FAILED_PREEMPTED", 3006
		p.ExitActions = g.exitActions()
	}
}

func (g *stateGen) minRuntime() MinRuntime {
	return MinRuntime{Preempt: g.maybe(6, 0, 5, 20), Reclaim: g.maybe(6, 0, 5, 20)}
}

func (g *stateGen) exitActions() []ExitAction {
	actions := []ExitAction{{Code: 3006, Action: pick(g, Reschedule, Fail)}, {Code: 1, Action: pick(g, Reschedule, Fail)}}
	if n := g.upTo(2); n > 0 {
		return actions[:n]
	}
	return nil
}

// roomWorkload draws what a workload says about being evicted.
func (g *stateGen) roomWorkload(w *Workload) {
	w.Owner = pick(g, "", "", "team", "ops", "nobody")
	if g.chance(4) {
		w.Checkpoint = g.time()
	}
	w.Retries = g.maybe(4, 0, 1, 2)
	if g.chance(6) {
		w.PartialSince = g.time()
	}
	w.ExitActions = g.exitActions()
}

// budgets draws the disruption budgets.
func (g *stateGen) budgets() {
	for _, owner := range []string{"team", "ops"} {
		if g.chance(4) {
			g.s.Budgets = append(g.s.Budgets, DisruptionBudget{Owner: owner, MinRunning: g.upTo(3)})
		}
	}
}

// moves lets some running tasks of a workload be under way to another place.
func (g *stateGen) moves(w *Workload, sets []PodSet, pool int, leaf string) {
	for k := range w.Tasks {
		if w.Tasks[k].Phase != Running || !g.chance(10) {
			continue
		}
		claim := w.Tasks[k]
		claim.Phase = Claimed
		set := slices.IndexFunc(sets, func(p PodSet) bool { return p.Name == claim.PodSet })
		if !g.place(&claim, &sets[set].Request, pool, leaf) {
			continue
		}
		g.leave(&w.Tasks[k], &sets[set].Request)
		w.Tasks = append(w.Tasks, claim)
	}
}

// leave makes a running task a terminating one.
func (g *stateGen) leave(task *Task, r *Request) {
	node := g.s.Nodes[slices.IndexFunc(g.s.Nodes, func(n Node) bool { return n.ID == task.Node })]
	change := func(thing string, n int64) {
		g.hold(thing, Running, -n)
		g.hold(thing, Terminating, n)
	}
	change(node.ID, 1)
	for name, amount := range r.Resources { // each for itself: order cannot matter
		change(node.ID+"/"+name, amount)
	}
	for _, d := range task.Devices {
		change(fmt.Sprint(node.ID, "/", d), deviceTake(r, node.Devices[d]))
	}
	task.Phase = Terminating
}

// halving lets the only pod set of a form go by halves.
func (g *stateGen) halving(sets []PodSet, groups []Group) {
	if len(sets) == 1 && len(groups) == 0 && g.chance(4) {
		sets[0].Step = gang.Halving
	}
}

// roomFeatures are what the coverage of the generator counts about making room.
func roomFeatures(s *State, features map[string]bool) {
	set := func(name string, has bool) { features[name] = features[name] || has }
	set("disruption budget", len(s.Budgets) > 0)
	for _, p := range s.Pools {
		set("minimum runtime", p.Policy.MinRuntime.Preempt.Given() || p.Policy.MinRuntime.Reclaim.Given())
		set("cap of evictions", p.Policy.MaxEvictions > 0)
	}
	for i := range s.Workloads {
		w := &s.Workloads[i]
		set("retries", w.Retries != quota.Bound{})
		set("halving", w.PodSets[0].Step == gang.Halving)
		set("moving task", slices.ContainsFunc(w.Tasks, func(t Task) bool {
			return t.Phase == Claimed && slices.ContainsFunc(w.Tasks, func(u Task) bool {
				return u.PodSet == t.PodSet && u.Index == t.Index && u.Phase == Terminating
			})
		}))
	}
}
