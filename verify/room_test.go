package verify

import (
	"slices"
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/quota"
)

// A roomMutant is a change of a scene that makes its plan unlawful.
type roomMutant struct {
	scene  scene
	mutant mutant
}

func roomMutants() (list []roomMutant) {
	for _, of := range []struct {
		scene   scene
		mutants []mutant
	}{
		{reclaimScene, mutantsOfReclaim()},
		{reclaimScene, mutantsOfReclaimFigures()},
		{reclaimScene, mutantsOfVictims()},
		{reclaimScene, mutantsOfAfter()},
		{shareScene, mutantsOfShareReclaim()},
		{preemptScene, mutantsOfPreemption()},
		{scopeScene, mutantsOfScope()},
		{moveScene, mutantsOfMoves()},
		{besideScene, mutantsOfMovesBeside()},
		{reclaimMoveScene, mutantsOfReclaimMoves()},
		{shrinkScene, mutantsOfShrinking()},
		{ladderScene, mutantsOfLadders()},
		{claimScene, mutantsOfTakenClaims()},
		{staleScene, mutantsOfStaleGangs()},
		{endingScene, mutantsOfEndings()},
		{finalScene, mutantsOfFinalEndings()},
		{divisionScene, mutantsOfDivision()},
		{strictScene, mutantsOfOrder()},
		{numbersScene, mutantsOfNumbers()},
	} {
		for _, m := range of.mutants {
			list = append(list, roomMutant{of.scene, m})
		}
	}
	return list
}

func TestVerifyRefusesRoom(t *testing.T) {
	for _, m := range roomMutants() {
		m.mutant.refused(t, m.scene)
	}
}

// withPolicy changes the policy of a scene's one pool.
func withPolicy(change func(*allot.Policy)) func(*allot.State, *allot.Plan) {
	return func(s *allot.State, _ *allot.Plan) { change(&s.Pools[0].Policy) }
}

// onReason is a mutation of the first action's reason.
func onReason(change func(r *allot.Reason)) func(*allot.State, *allot.Plan) {
	return onPlan(func(p *allot.Plan) { change(&p.Actions[0].Reason) })
}

const victimAction, preemptorAction = "actions[0]", "actions[1]"

func mutantsOfReclaim() []mutant {
	quotas := func(queue int, devices int64) func(*allot.State, *allot.Plan) {
		return func(s *allot.State, _ *allot.Plan) { s.Queues[queue].Resources[0].Quota = quota.Of(1000 * devices) }
	}
	const leafQ1, leafQ2, d2 = 1, 3, 2
	return []mutant{
		{"R1", victimAction, "off", withPolicy(func(p *allot.Policy) { p.Reclaim = preempt.NoReclaim })},
		{"R1", victimAction, "by share where only quota counts", func(s *allot.State, p *allot.Plan) {
			withPolicy(func(p *allot.Policy) { p.Reclaim = preempt.ByQuota })(s, p)
			p.Actions[0].Reason.Code = allot.ReclaimedByShare
		}},
		{"R1", victimAction, "preemptible preemptor", withPolicy(func(p *allot.Policy) { p.ReclaimNonPreemptibleOnly = true })},
		{"R1", victimAction, "beyond the leaf's quota", quotas(leafQ2, 1)},
		{"R1", victimAction, "beyond the side's quota", quotas(d2, 1)},
		{"R1", victimAction, "told beyond the side's quota", onReason(func(r *allot.Reason) {
			r.Subtrees.Preemptor.Before, r.Subtrees.Preemptor.After = 2000, 3000
		})},
		{"R1", victimAction, "same queue", func(s *allot.State, p *allot.Plan) {
			workload(s, "wf5").Queue, p.Actions[1].Queue = "q1", "q1"
		}},
		{"R1", victimAction, "another pool", func(s *allot.State, p *allot.Plan) {
			s.Pools = []allot.Pool{{ID: "p", Nodes: allot.NodeSet{IDs: []string{"n"}}}, {ID: "x", Nodes: allot.NodeSet{IDs: []string{"m"}}}}
			for i := range s.Queues {
				s.Queues[i].Pool = "p"
			}
			s.Nodes = append(s.Nodes, node("m", 1))
			s.Queues = append(s.Queues, allot.Queue{ID: "x", Pool: "x"})
			workload(s, "wf5").Queue, p.Actions[1] = "x", allot.Action{Kind: allot.Start, Workload: "wf5", Queue: "x", Tasks: []allot.Placement{at(0, "m", 0)}}
		}},
		{"R2", victimAction, "told within the quota", onReason(func(r *allot.Reason) {
			r.Have, r.Subtrees.Victim.Before, r.Subtrees.Victim.After = 2000, 2000, 1000
		})},
		{"R2", victimAction, "holds nothing of it", onReason(func(r *allot.Reason) { r.Resource = allot.CPU })},
		{"R3", victimAction, "within the quota before", func(s *allot.State, p *allot.Plan) {
			s.Queues[0].Resources[0].Quota = quota.Of(3000)
			p.Actions[0].Reason.Need, p.Actions[0].Reason.Subtrees.Victim.Entitlement = 3000, 3000
		}},
		{"R4", victimAction, "straddles", func(s *allot.State, p *allot.Plan) {
			withPolicy(func(p *allot.Policy) { p.Straddle = preempt.Spare })(s, p)
			workload(s, "wf3").PodSets[0].Request = gpus(2)
			workload(s, "wf3").Tasks[0].Devices = []int{2, 3}
			s.Workloads = slices.DeleteFunc(s.Workloads, func(w allot.Workload) bool { return w.ID == "wf4" })
			p.Actions[0].Tasks[0].Devices = []int{2, 3}
			r := &p.Actions[0].Reason
			r.Have, r.Subtrees.Victim.Before, r.Subtrees.Victim.After = 4000, 3000, 1000
			r.Subtrees.Preemptor.Before, r.Subtrees.Preemptor.After = 0, 1000
		}},
		{"M2", victimAction, "nobody starts", func(s *allot.State, p *allot.Plan) { p.Actions = p.Actions[:1] }},
		{"M2", victimAction, "another starts", onReason(func(r *allot.Reason) { r.Workload = "wf4" })},
		{"M2", victimAction, "for itself", onReason(func(r *allot.Reason) { r.Workload = "wf3" })},
		{"M2", victimAction, "only a claim starts", func(s *allot.State, p *allot.Plan) {
			s.Nodes[0] = node("n", 5)
			workload(s, "wf5").Tasks = []allot.Task{task(allot.Claimed, 0, "n", 4)}
			p.Actions[1] = allot.Action{Kind: allot.Start, Workload: "wf5", Queue: "q2", Tasks: []allot.Placement{at(0, "n", 4)}}
		}},
		{"Q2", preemptorAction, "over quota with the victims gone", func(s *allot.State, p *allot.Plan) {
			workload(s, "wf5").Preemption, workload(s, "wf4").Preemption = allot.NonPreemptible, allot.NonPreemptible
			quotas(leafQ2, 1)(s, p)
		}},
		{"Q3", preemptorAction, "over limit with the victims gone", func(s *allot.State, p *allot.Plan) {
			s.Queues[d2].Resources[0].Limit = quota.Of(1000)
		}},
		{"Q10", preemptorAction, "over the cap with the victims gone", func(s *allot.State, _ *allot.Plan) { s.Queues[leafQ2].MaxWorkloads = quota.Of(1) }},
		{"V1", victimAction, "unknown preemptor", onReason(func(r *allot.Reason) { r.Workload = "x" })},
	}
}

func mutantsOfReclaimFigures() []mutant {
	return []mutant{
		{"X2", victimAction, "no code", onReason(func(r *allot.Reason) { r.Code = 0 })},
		{"X2", victimAction, "code of a move", onReason(func(r *allot.Reason) { r.Code = allot.Consolidated })},
		{"X2", victimAction, "code of a loss", onReason(func(r *allot.Reason) { r.Code = allot.NodeLost })},
		{"X2", victimAction, "leaf for the side", onReason(func(r *allot.Reason) { r.Queue = "q1" })},
		{"X2", victimAction, "no sides", onReason(func(r *allot.Reason) { r.Subtrees = nil })},
		{"X2", victimAction, "victim's side", onReason(func(r *allot.Reason) { r.Subtrees.Victim.Queue = "q1" })},
		{"X2", victimAction, "preemptor's side", onReason(func(r *allot.Reason) { r.Subtrees.Preemptor.Queue = "q2" })},
		{"X2", victimAction, "have", onReason(func(r *allot.Reason) { r.Have = 4000 })},
		{"X2", victimAction, "need", onReason(func(r *allot.Reason) { r.Need = 1000 })},
		{"X2", victimAction, "victim's line", onReason(func(r *allot.Reason) { r.Need, r.Subtrees.Victim.Entitlement = 1000, 1000 })},
		{"X2", victimAction, "preemptor's line", onReason(func(r *allot.Reason) { r.Subtrees.Preemptor.Entitlement = 3000 })},
		{"X2", victimAction, "victim loses more", onReason(func(r *allot.Reason) { r.Subtrees.Victim.After = 1000 })},
		{"X2", victimAction, "victim loses less", onReason(func(r *allot.Reason) { r.Subtrees.Victim.After = 2500 })},
		{"X2", victimAction, "preemptor takes more", onReason(func(r *allot.Reason) { r.Subtrees.Preemptor.Before = 0 })},
		{"X2", victimAction, "preemptor takes less", onReason(func(r *allot.Reason) { r.Subtrees.Preemptor.Before = 1500 })},
		{"X2", victimAction, "victim loses nothing", onReason(func(r *allot.Reason) { r.Subtrees.Victim.After = 3000 })},
		{"X2", victimAction, "preemptor takes nothing", onReason(func(r *allot.Reason) { r.Subtrees.Preemptor.Before = 2000 })},
	}
}

// mutantsOfVictims are of what no right to make room goes against.
func mutantsOfVictims() []mutant {
	runtime := func(queue int, m allot.MinRuntime) func(*allot.State, *allot.Plan) {
		return func(s *allot.State, _ *allot.Plan) {
			if queue < 0 {
				s.Pools[0].Policy.MinRuntime = m
			} else {
				s.Queues[queue].MinRuntime = m
			}
		}
	}
	return []mutant{
		{"M1", victimAction, "non-preemptible", func(s *allot.State, _ *allot.Plan) { workload(s, "wf3").Preemption = allot.NonPreemptible }},
		{"M1", victimAction, "minimum runtime", runtime(1, allot.MinRuntime{Reclaim: quota.Of(98)})},
		{"M1", victimAction, "minimum runtime for ever", runtime(1, allot.MinRuntime{Reclaim: quota.Unlimited()})},
		{"M1", victimAction, "minimum runtime of the parent", runtime(0, allot.MinRuntime{Reclaim: quota.Of(98)})},
		{"M1", victimAction, "minimum runtime of the policy", runtime(-1, allot.MinRuntime{Reclaim: quota.Of(98)})},
		{"M6", victimAction, "half of a gang", func(s *allot.State, p *allot.Plan) {
			w := workload(s, "wf3")
			w.PodSets[0].Count, w.Tasks = 2, append(w.Tasks, since(task(allot.Running, 1, "n", 3), 3))
			s.Workloads = slices.DeleteFunc(s.Workloads, func(w allot.Workload) bool { return w.ID == "wf4" })
		}},
		{"M6", "actions", "claims of a gang", func(s *allot.State, p *allot.Plan) {
			w := workload(s, "wf3")
			w.PodSets[0].Count, w.Tasks[0].Phase = 2, allot.Claimed
			w.Tasks = append(w.Tasks, since(task(allot.Running, 1, "n", 3), 3))
			s.Workloads = slices.DeleteFunc(s.Workloads, func(w allot.Workload) bool { return w.ID == "wf4" })
			p.Actions[0].Kind = allot.Unclaim
		}},
		{"M7", victimAction, "disruption budget", func(s *allot.State, _ *allot.Plan) {
			s.Budgets = []allot.DisruptionBudget{{Owner: "o", MinRunning: 2}}
			workload(s, "wf3").Owner, workload(s, "wf4").Owner = "o", "o"
		}},
		{"M7", preemptorAction, "cap", func(s *allot.State, p *allot.Plan) {
			withPolicy(func(p *allot.Policy) { p.MaxEvictions = 1 })(s, p)
			second := p.Actions[0]
			second.Workload, second.Tasks = "wf2", []allot.Placement{at(0, "n", 1)}
			p.Actions = slices.Insert(p.Actions, 1, second)
		}},
		{"S4", victimAction + ".tasks[0]", "evicted claim", func(s *allot.State, _ *allot.Plan) { workload(s, "wf3").Tasks[0].Phase = allot.Claimed }},
		{"S4", victimAction + ".tasks[0]", "unclaimed while running", onPlan(func(p *allot.Plan) { p.Actions[0].Kind = allot.Unclaim })},
		{"S5", "actions[2].tasks[0]", "starts again", func(s *allot.State, p *allot.Plan) {
			s.Nodes = append(s.Nodes, node("m", 1))
			p.Actions = append(p.Actions, allot.Action{Kind: allot.Start, Workload: "wf3", Queue: "q1", Tasks: []allot.Placement{at(0, "m", 0)}})
		}},
		{"S6", victimAction, "final for no reason", onPlan(func(p *allot.Plan) { p.Actions[0].Ending.Final = true })},
		{"S6", victimAction, "checkpoint", onPlan(func(p *allot.Plan) { p.Actions[0].Ending.Checkpoint = true })},
		{"S6", preemptorAction, "ending of a start", onPlan(func(p *allot.Plan) { p.Actions[1].Ending.ExitCode = 1 })},
		{"S7", victimAction + ".tasks[0]", "lost", func(s *allot.State, _ *allot.Plan) { s.Nodes[0].Devices[2].Unhealthy = true }},
		{"V1", victimAction + ".tasks[0]", "evicted elsewhere", onPlan(func(p *allot.Plan) { p.Actions[0].Tasks[0].Devices = []int{1} })},
		{"V1", victimAction, "old places of an eviction", onPlan(func(p *allot.Plan) { p.Actions[0].From = p.Actions[0].Tasks })},
		{"V1", victimAction, "eviction that waits", onPlan(func(p *allot.Plan) { p.Actions[0].After = []string{"wf2"} })},
		{"X1", "pending", "not told", onPlan(func(p *allot.Plan) { p.Pending = nil })},
		{"X1", "pending[1]", "waits for a place that is given", onPlan(func(p *allot.Plan) { p.Pending = append(p.Pending, stillWaits("wf5", "q2")) })},
	}
}

func mutantsOfAfter() []mutant {
	const first = preemptorAction + ".tasks[0]"
	return []mutant{
		{"P2", first, "waits for nobody", onPlan(func(p *allot.Plan) { p.Actions[1].After = nil })},
		{"P2", first, "waits for another", func(s *allot.State, p *allot.Plan) {
			w := single("leaves", "q1", gpus(1), task(allot.Terminating, 0, "n", 4))
			s.Nodes[0], s.Workloads = node("n", 5), append(s.Workloads, w)
			p.Actions[1].After = []string{"leaves"}
		}},
		{"S4", victimAction + ".tasks[0]", "before it leaves", onPlan(func(p *allot.Plan) { slices.Reverse(p.Actions) })},
		{"S4", preemptorAction, "for one who stays", onPlan(func(p *allot.Plan) { p.Actions[1].After = []string{"wf2", "wf3"} })},
		{"S4", preemptorAction, "for one elsewhere", func(s *allot.State, p *allot.Plan) {
			s.Nodes = append(s.Nodes, node("m", 1))
			s.Workloads = append(s.Workloads, single("leaves", "q1", gpus(1), task(allot.Terminating, 0, "m", 0)))
			p.Actions[1].After = []string{"leaves", "wf3"}
		}},
		{"S3", preemptorAction, "twice", onPlan(func(p *allot.Plan) { p.Actions[1].After = []string{"wf3", "wf3"} })},
		{"V1", preemptorAction, "unknown", onPlan(func(p *allot.Plan) { p.Actions[1].After = []string{"wf3", "x"} })},
	}
}

func mutantsOfShareReclaim() []mutant {
	return []mutant{
		{"R1", victimAction, "beyond the share", onPlan(func(p *allot.Plan) { p.Shares[0].FairShare = 4000 })},
		{"R2", victimAction, "within the share", func(s *allot.State, p *allot.Plan) {
			p.Shares[1].FairShare = 3000
			r := &p.Actions[0].Reason
			r.Need, r.Subtrees.Victim.Entitlement = 3000, 3000
		}},
		{"R3", victimAction, "within the share before", onPlan(func(p *allot.Plan) { p.Shares[1].FairShare = 3000 })},
		{"R5", victimAction, "saturation turns", func(s *allot.State, p *allot.Plan) {
			withPolicy(func(p *allot.Policy) { p.ReclaimMarginMilli = 1500 })(s, p)
		}},
		{"X2", victimAction, "line", onReason(func(r *allot.Reason) { r.Subtrees.Preemptor.Entitlement = 6000 })},
	}
}

func mutantsOfPreemption() []mutant {
	return []mutant{
		{"E1", victimAction, "off", withPolicy(func(p *allot.Policy) { p.Preempt = preempt.NoPreemption })},
		{"E1", victimAction, "equal priority", func(s *allot.State, _ *allot.Plan) { workload(s, "young").Priority = 5 }},
		{"E1", victimAction, "the lower number first", withPolicy(func(p *allot.Policy) { p.LowerFirst = true })},
		{"E1", victimAction, "priority of the class", withPolicy(func(p *allot.Policy) {
			p.Classes, p.DefaultClass = []allot.Class{{Name: "c", Priority: 5}}, "c"
		})},
		{"E1", victimAction, "another queue", func(s *allot.State, p *allot.Plan) {
			workload(s, "high").Queue, p.Actions[1].Queue = "other", "other"
		}},
		{"E8", victimAction, "takes more than it releases", func(s *allot.State, p *allot.Plan) {
			s.Nodes[0] = node("n", 5)
			workload(s, "high").PodSets[0].Request = gpus(4)
			p.Actions[1].Tasks[0].Devices = []int{1, 2, 3, 4}
		}},
		{"G2", victimAction, "above the minimum", func(s *allot.State, p *allot.Plan) {
			w := workload(s, "high")
			s.Nodes = append(s.Nodes, node("m", 1))
			w.PodSets[0] = allot.PodSet{Count: 2, Min: 1, Request: gpus(1)}
			w.Tasks = []allot.Task{task(allot.Running, 0, "m", 0)}
			p.Actions[1].Kind, p.Actions[1].Tasks[0].Index, p.Actions[1].Reason.Code = allot.Resize, 1, allot.Grown
		}},
		{"M1", victimAction, "minimum runtime", withPolicy(func(p *allot.Policy) { p.MinRuntime.Preempt = quota.Of(99) })},
	}
}

func mutantsOfScope() []mutant {
	return []mutant{
		{"E1", victimAction, "within the queue only", withPolicy(func(p *allot.Policy) { p.Preempt = preempt.WithinQueue })},
		{"E8", victimAction, "beyond its line", func(s *allot.State, p *allot.Plan) {
			s.Queues[1].Resources[0].Quota, p.Shares[0].FairShare = quota.Of(0), 0
		}},
	}
}

func mutantsOfMovesBeside() []mutant {
	const move = "actions[1]"
	return []mutant{
		{"M10", move, "none may move", withPolicy(func(p *allot.Policy) { p.MaxRelocations = quota.Of(0) })},
		{"C3", move, "too many GPUs", withPolicy(func(p *allot.Policy) { p.MaxMovedPercent = 49 })},
		{"C4", move, "off", withPolicy(func(p *allot.Policy) { p.NoConsolidation = true })},
		{"M1", move, "non-preemptible", func(s *allot.State, _ *allot.Plan) { workload(s, "old").Preemption = allot.NonPreemptible }},
		{"M1", move, "minimum runtime", withPolicy(func(p *allot.Policy) { p.MinRuntime.Preempt = quota.Of(99) })},
	}
}

func mutantsOfMoves() []mutant {
	const first = victimAction + ".tasks[0]"
	return []mutant{
		{"C3", victimAction, "too many GPUs", withPolicy(func(p *allot.Policy) { p.MaxMovedPercent = 49 })},
		{"C4", victimAction, "off", withPolicy(func(p *allot.Policy) { p.NoConsolidation = true })},
		{"C5", victimAction, "beyond the share", func(s *allot.State, p *allot.Plan) {
			s.Queues[0].Resources[0].Quota, p.Shares[0].FairShare = quota.Of(7000), 7000
		}},
		{"M1", victimAction, "non-preemptible", func(s *allot.State, _ *allot.Plan) { workload(s, "young").Preemption = allot.NonPreemptible }},
		{"M1", victimAction, "minimum runtime", withPolicy(func(p *allot.Policy) { p.MinRuntime.Preempt = quota.Of(99) })},
		{"M2", victimAction, "nobody starts", func(s *allot.State, p *allot.Plan) { p.Actions = p.Actions[:1] }},
		{"M4", victimAction, "fewer old places", onPlan(func(p *allot.Plan) { p.Actions[0].From = nil })},
		{"M4", first, "old place of another task", onPlan(func(p *allot.Plan) { p.Actions[0].From[0].Index = 1 })},
		{"M4", first, "stays", onPlan(func(p *allot.Plan) { p.Actions[0].Tasks[0] = p.Actions[0].From[0] })},
		{"M7", victimAction, "budget", func(s *allot.State, _ *allot.Plan) {
			s.Budgets = []allot.DisruptionBudget{{Owner: "o", MinRunning: 1}}
			workload(s, "young").Owner = "o"
		}},
		{"P2", first, "smaller", onPlan(func(p *allot.Plan) { p.Actions[0].Tasks[0].Devices = []int{2} })},
		{"P2", first, "onto another", onPlan(func(p *allot.Plan) { p.Actions[0].Tasks[0].Devices = []int{1, 2} })},
		{"P1", first, "onto a cordoned node", func(s *allot.State, _ *allot.Plan) { s.Nodes[0].Cordoned = true }},
		{"Q8", victimAction, "into a class over its limit", func(s *allot.State, _ *allot.Plan) {
			s.Nodes[0].Class = "spot"
			s.Queues[0].Resources = append(s.Queues[0].Resources, allot.QueueResource{Resource: allot.GPU, Class: "spot", Limit: quota.Of(3000)})
		}},
		{"S7", first, "lost", func(s *allot.State, _ *allot.Plan) { s.Nodes[1].Devices[0].Unhealthy = true }},
		{"V1", first, "runs elsewhere", onPlan(func(p *allot.Plan) { p.Actions[0].From[0].Devices = []int{1, 2} })},
		{"V1", first, "is claimed", func(s *allot.State, _ *allot.Plan) { workload(s, "young").Tasks[0].Phase = allot.Claimed }},
		{"X2", victimAction, "code of a stale gang", onReason(func(r *allot.Reason) { r.Code = allot.StaleGang })},
	}
}

func mutantsOfReclaimMoves() []mutant {
	return []mutant{
		{"M1", victimAction, "non-preemptible", func(s *allot.State, _ *allot.Plan) { workload(s, "new").Preemption = allot.NonPreemptible }},
		{"P2", victimAction + ".tasks[0]", "no room", func(s *allot.State, _ *allot.Plan) { workload(s, "old").PodSets[0].Request.GPU.Milli = 501 }},
		{"R3", victimAction, "within the quota", func(s *allot.State, p *allot.Plan) {
			s.Queues[1].Resources[0].Quota = quota.Of(500)
			p.Actions[0].Reason.Need, p.Actions[0].Reason.Subtrees.Victim.Entitlement = 500, 500
		}},
		{"X2", victimAction, "side loses more", onReason(func(r *allot.Reason) { r.Have, r.Subtrees.Victim.Before = 1000, 1000 })},
		{"Q6", "shares", "lent by another", onPlan(func(p *allot.Plan) { p.Shares[2].Lent = 999 })},
	}
}

func mutantsOfShrinking() []mutant {
	const first = victimAction + ".tasks[0]"
	return []mutant{
		{"M6", first, "the first", onPlan(func(p *allot.Plan) { p.Actions[0].Tasks[0] = at(0, "n", 0) })},
		{"M6", victimAction, "below the minimum", func(s *allot.State, _ *allot.Plan) { workload(s, "elastic").PodSets[0].Min = 2 }},
		{"M1", victimAction, "minimum runtime of the last", withPolicy(func(p *allot.Policy) { p.MinRuntime.Reclaim = quota.Of(99) })},
		{"G1", preemptorAction, "half the preemptor", onPlan(func(p *allot.Plan) { p.Actions[1].Tasks = p.Actions[1].Tasks[1:] })},
		{"X2", victimAction, "loses more than the task", onReason(func(r *allot.Reason) { r.Have, r.Subtrees.Victim.Before = 4000, 4000 })},
		{"X2", victimAction, "gains", onReason(func(r *allot.Reason) { r.Subtrees.Victim.After = 3000 })},
		{"B9", "actions", "stays where it may not", reservesFirst},
		{"B9", first, "in place of what is reserved", func(s *allot.State, p *allot.Plan) {
			reservesFirst(s, p)
			p.Actions[0].Reason = allot.Reason{Code: allot.ReservationBegan, Reservation: "r"}
		}},
	}
}

// reservesFirst has the first device be reserved for nobody, and what stands there go.
func reservesFirst(s *allot.State, _ *allot.Plan) {
	s.Reservations = []allot.Reservation{{ID: "r", Evict: true, Nodes: []allot.ReservedNode{{Node: "n", Devices: []int{0}}}}}
}

func mutantsOfLadders() []mutant {
	const resize = "actions[2]"
	return []mutant{
		{"L1", victimAction, "by one", func(s *allot.State, p *allot.Plan) {
			p.Actions[0].Tasks = p.Actions[0].Tasks[1:]
			p.Actions[1].Tasks[0].Devices, s.Nodes[0] = []int{7}, node("n", 8)
		}},
		{"L1", preemptorAction, "three of four", func(s *allot.State, p *allot.Plan) {
			s.Nodes[0] = node("n", 8)
			p.Actions[1].Tasks = append(p.Actions[1].Tasks, at(2, "n", 7))
		}},
		{"L1", resize, "three of five", func(s *allot.State, p *allot.Plan) {
			s.Nodes[0] = node("n", 8)
			p.Actions[2].Tasks = append(p.Actions[2].Tasks, at(2, "n", 7))
		}},
		{"L1", victimAction, "evicts to grow", func(s *allot.State, p *allot.Plan) {
			p.Actions[0].Reason.Workload, p.Actions[2].Tasks[0].Devices, p.Actions[2].After = "up", []int{3}, []string{"down"}
		}},
		{"X2", resize, "no reason to grow", onPlan(func(p *allot.Plan) { p.Actions[2].Reason = allot.Reason{} })},
		{"M1", victimAction, "minimum runtime of the step", withPolicy(func(p *allot.Policy) { p.MinRuntime.Reclaim = quota.Of(100) })},
	}
}

func mutantsOfTakenClaims() []mutant {
	return []mutant{
		{"M1", victimAction, "non-preemptible claimant", func(s *allot.State, _ *allot.Plan) { workload(s, "claims").Preemption = allot.NonPreemptible }},
		{"M2", victimAction, "nobody starts", func(s *allot.State, p *allot.Plan) { p.Actions = p.Actions[:1] }},
		{"P2", preemptorAction + ".tasks[0]", "before the place is free", onPlan(func(p *allot.Plan) { p.Actions[1].After = nil })},
		{"S4", victimAction + ".tasks[0]", "given up without a cause", onReason(func(r *allot.Reason) { r.Code = allot.PlaceLost })},
		{"M4", victimAction, "consolidated to nowhere", onReason(func(r *allot.Reason) { r.Code = allot.Consolidated })},
		{"R2", victimAction, "within the quota", func(s *allot.State, p *allot.Plan) {
			r := &p.Actions[0].Reason
			s.Queues[1].Resources[0].Quota, r.Need, r.Subtrees.Victim.Entitlement = quota.Of(1000), 1000, 1000
		}},
	}
}

func mutantsOfStaleGangs() []mutant {
	return []mutant{
		{"G1", victimAction, "whole", func(s *allot.State, _ *allot.Plan) { workload(s, "gang").PodSets[0].Min = 1 }},
		{"G1", victimAction, "for ever", withPolicy(func(p *allot.Policy) { p.StaleGangGrace = quota.Bound{} })},
		{"G1", victimAction, "within its grace", withPolicy(func(p *allot.Policy) { p.StaleGangGrace = quota.Of(61) })},
		{"G1", victimAction, "only since now", func(s *allot.State, _ *allot.Plan) { workload(s, "gang").PartialSince = time.Time{} }},
		{"B9", victimAction, "drains nobody", func(s *allot.State, p *allot.Plan) {
			s.Reservations = []allot.Reservation{{ID: "r", Evict: true, Nodes: []allot.ReservedNode{{Node: "n"}}}}
			p.Actions[0].Reason = allot.Reason{Code: allot.ReservationBegan, Reservation: "r"}
		}},
		{"V1", victimAction, "by no reservation", onReason(func(r *allot.Reason) { *r = allot.Reason{Code: allot.ReservationBegan, Reservation: "r"} })},
		{"G1", "actions", "left", func(s *allot.State, p *allot.Plan) {
			workload(s, "gang").PartialSince = sceneNow.Add(-61 * time.Second)
			p.Actions = nil
		}},
		{"M6", victimAction, "half of it", func(s *allot.State, _ *allot.Plan) {
			w := workload(s, "gang")
			s.Nodes[0], w.PodSets[0].Min, w.Tasks = node("n", 2), 3, append(w.Tasks, task(allot.Running, 2, "n", 1))
		}},
		{"X2", victimAction, "tasks", onReason(func(r *allot.Reason) { r.Have = 2 })},
	}
}

func mutantsOfEndings() []mutant {
	return []mutant{
		{"S6", victimAction, "no status", onPlan(func(p *allot.Plan) { p.Actions[0].Ending.Status = "" })},
		{"S6", victimAction, "no code", onPlan(func(p *allot.Plan) { p.Actions[0].Ending.ExitCode = 0 })},
		{"S6", victimAction, "retries left", onPlan(func(p *allot.Plan) { p.Actions[0].Ending.Final = true })},
		{"S6", victimAction, "fails by the workload", func(s *allot.State, _ *allot.Plan) { workload(s, "low").ExitActions[0].Action = allot.Fail }},
		{"S6", victimAction, "fails by the policy", func(s *allot.State, p *allot.Plan) {
			workload(s, "low").ExitActions[0].Code = 1
			withPolicy(func(p *allot.Policy) { p.ExitActions = []allot.ExitAction{{Code: 3006, Action: allot.Fail}} })(s, p)
		}},
		{"S6", victimAction, "no checkpoint", withPolicy(func(p *allot.Policy) { p.CheckpointOnEviction = true })},
	}
}

func mutantsOfFinalEndings() []mutant {
	return []mutant{
		{"S6", victimAction, "retries spent", onPlan(func(p *allot.Plan) { p.Actions[0].Ending.Final = false })},
		{"X1", "pending[0]", "waits", onPlan(func(p *allot.Plan) { p.Pending = []allot.Pending{stillWaits("low", "q")} })},
		{"S5", "actions[2]", "starts again", func(s *allot.State, p *allot.Plan) {
			s.Nodes = append(s.Nodes, node("m", 1))
			p.Actions = append(p.Actions, allot.Action{Kind: allot.Start, Workload: "low", Queue: "q", Tasks: []allot.Placement{at(0, "m", 0)}})
		}},
		{"F1", "shares[0]", "demand", onPlan(func(p *allot.Plan) { p.Shares[0].Demand = 2000 })},
	}
}

// TestVerifyLadder: the numbers of tasks on a ladder (L1, L2).
func TestVerifyLadder(t *testing.T) {
	for _, c := range []struct {
		count, least, missing int
		want                  []int
	}{
		{8, 2, 0, []int{2, 4, 8}},
		{8, 3, 0, []int{4, 8}},
		{7, 1, 0, []int{1, 3, 7}},
		{8, 0, 0, []int{8}},
		{8, 2, 3, []int{2, 4, 5}},
	} {
		ps := allot.PodSet{Count: c.count, Min: c.least, Missing: c.missing, Step: gang.Halving}
		if have := ladderOf(&ps); !slices.Equal(have, c.want) {
			t.Errorf("%+v: %d", c, have)
		}
	}
}
