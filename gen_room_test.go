package allot

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/quota"
)

// What the general generator draws for making room. A still one
// draws none of it.

// roomPolicy draws the knobs of a policy.
func (g *stateGen) roomPolicy(p *Policy) {
	if g.still {
		p.NoConsolidation, p.Reclaim, p.Preempt = true, preempt.NoReclaim, preempt.NoPreemption
		return
	}
	p.NoConsolidation = g.chance(3)
	p.MaxMovedPercent = min(maxMoved, pick(g, 0, 0, g.amount(50, 100, 400)))
	p.ConsolidateBeyondShare = g.chance(4)
	p.MaxRelocations = pick(g, quota.Bound{}, quota.Bound{}, quota.Of(0), quota.Of(1), quota.Of(3))
	p.Reclaim = pick(g, preempt.ByQuotaAndShare, preempt.ByQuotaAndShare, preempt.ByQuota, preempt.NoReclaim)
	p.ReclaimNonPreemptibleOnly = g.chance(6)
	p.ReclaimMarginMilli = pick[int64](g, 0, 0, 1000, 1500, 3000)
	p.Straddle = pick(g, preempt.Take, preempt.Take, preempt.Spare)
	p.Preempt = pick(g, preempt.WithinQueue, preempt.WithinQueue, preempt.WithinPool, preempt.NoPreemption)
	if p.Preempt == preempt.WithinPool {
		p.Reclaim = preempt.NoReclaim
	}
	p.MinRuntime = g.minRuntime(4)
	if g.chance(5) {
		p.MaxEvictions = 1 + g.upTo(2)
	}
	if g.chance(8) {
		p.SearchBudget = 1 + g.upTo(4)
	}
	p.StaleGangGrace = g.maybe(3, 0, 5, 60)
	p.CheckpointOnEviction = g.chance(4)
	if g.chance(3) {
		p.PreemptedStatus, p.PreemptedExitCode = "FAILED_PREEMPTED", 3006
		p.ExitActions = g.exitActions()
	}
}

// exitActions draws at most one action for each exit code.
func (g *stateGen) exitActions() (actions []ExitAction) {
	for _, code := range []int{137, 3006} {
		if g.chance(2) {
			actions = append(actions, ExitAction{Code: code, Action: pick(g, Reschedule, Fail)})
		}
	}
	return actions
}

// minRuntime draws each part once in n times.
func (g *stateGen) minRuntime(n int) (m MinRuntime) {
	if g.still {
		return m
	}
	m.Preempt, m.Reclaim = g.maybe(n, 0, 4, 15), g.maybe(n, 0, 4, 15)
	return m
}

// budgets draws budgets for some of the owners.
func (g *stateGen) budgets() {
	if g.still {
		return
	}
	for _, owner := range []string{"ann", "bob", "nobody's"} {
		if g.chance(4) {
			g.s.Budgets = append(g.s.Budgets, DisruptionBudget{Owner: owner, MinRunning: g.upTo(4)})
		}
	}
	g.s.Budgets = shuffled(g, g.s.Budgets)
}

// roomWorkload draws what eviction asks of a workload.
func (g *stateGen) roomWorkload(w *Workload) {
	if g.still {
		return
	}
	w.Owner = pick(g, "", "", "ann", "bob")
	if g.chance(4) {
		w.Checkpoint = g.time()
	}
	if g.chance(5) {
		w.ExitActions = g.exitActions()
	}
	if g.chance(5) {
		w.Retries = quota.Of(int64(g.upTo(2)))
	}
	if len(w.Tasks) > 1 && g.chance(3) { // a gang that lost some
		w.Tasks = w.Tasks[:1+g.upTo(len(w.Tasks)-2)]
	}
	if len(w.Tasks) > 0 && g.chance(3) {
		w.PartialSince = g.time()
	}
}

// step lets a lone set double and halve, once in a while.
func (g *stateGen) step(sets []PodSet) {
	if !g.still && len(sets) == 1 && g.chance(3) {
		sets[0].Step = gang.Halving
	}
}

// moving makes a claimed task one that moves, now and then: it also leaves
// another place (M4).
func (g *stateGen) moving(w *Workload, task Task, r *Request, pool int, leaf string) {
	if g.still || task.Phase != Claimed || g.chance(2) {
		return
	}
	task.Phase = Terminating
	if g.place(&task, r, pool, leaf) {
		w.Tasks = append(w.Tasks, task)
	}
}

// roomFeatures are those of roomPolicy and roomWorkload.
func roomFeatures(s *State, features map[string]bool) {
	set := func(name string, has bool) { features[name] = features[name] || has }
	set("budget", len(s.Budgets) > 0)
	for i := range s.Pools {
		p := &s.Pools[i].Policy
		set("reclaim", p.Reclaim == preempt.ByQuotaAndShare)
		set("reclaim by quota", p.Reclaim == preempt.ByQuota)
		set("preemption", p.Preempt != preempt.NoPreemption)
		set("consolidation", !p.NoConsolidation)
		set("minimum runtime", p.MinRuntime.Preempt.Given())
		set("cap of evictions", p.MaxEvictions > 0)
		set("exit action", len(p.ExitActions) > 0)
	}
	for i := range s.Workloads {
		w := &s.Workloads[i]
		set("retries", w.Retries.Given())
		running, least := 0, 0
		for k := range w.PodSets {
			least += max(w.PodSets[k].Min, 1)
		}
		for k, task := range w.Tasks {
			set("moving", slices.ContainsFunc(w.Tasks[:k], func(other Task) bool {
				return other.PodSet == task.PodSet && other.Index == task.Index && !w.leavesAnother()
			}))
			if task.Phase == Running {
				running++
			}
		}
		if len(w.PodSets) == 1 {
			set("halving", w.PodSets[0].Step == gang.Halving)
		}
		set("leaves another form", w.leavesAnother() && slices.ContainsFunc(w.Tasks, func(t Task) bool { return t.Phase == Claimed }))
		set("partial gang", w.Form == 0 && running > 0 && running < least)
	}
}

// genRoom is a state of genDense in which everything has been started that can
// be; then quotas and priorities have changed, and the policy makes room.
func genRoom(seed uint64) *State {
	s := genDense(seed)
	p, err := Solve(s)
	if err != nil {
		panic(err)
	}
	if s, err = Apply(s, p); err != nil {
		panic(err)
	}
	random := rand.New(rand.NewPCG(seed, 2))
	policy := &s.Pools[0].Policy
	policy.NoConsolidation = random.IntN(3) == 0
	policy.Reclaim = []preempt.Reclaim{preempt.ByQuotaAndShare, preempt.ByQuotaAndShare, preempt.ByQuota, preempt.NoReclaim}[random.IntN(4)]
	if policy.Preempt = preempt.Scope(random.IntN(3)); policy.Preempt == preempt.WithinPool {
		policy.Reclaim = preempt.NoReclaim
	}
	policy.Straddle = preempt.Straddle(random.IntN(2))
	if random.IntN(4) == 0 {
		policy.MinRuntime.Reclaim = quota.Of(int64(random.IntN(120)))
	}
	for i := range s.Queues {
		if r := &s.Queues[i].Resources[0]; random.IntN(2) == 0 && !r.Quota.IsUnlimited() {
			r.Quota = quota.Of(1000 * int64(random.IntN(4)))
		}
	}
	for i := range s.Workloads {
		if w := &s.Workloads[i]; random.IntN(3) == 0 {
			w.Priority = int32(random.IntN(4))
		}
	}
	s.Now = s.Now.Add(time.Second)
	return s
}
