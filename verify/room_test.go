package allot

import (
	"slices"
	"testing"
	"time"

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
		t.Run(m.mutant.rule+"/"+m.mutant.name, func(t *testing.T) {
			s, p := m.scene()
			m.mutant.change(s, p)
			found := broken(t, s, p)
			if !breaks(found, m.mutant.path, m.mutant.rule) {
				t.Errorf("no %s at %s in %v", m.mutant.rule, m.mutant.path, found)
			}
		})
	}
}

// withPolicy changes the policy of a scene's one pool.
func withPolicy(change func(*Policy)) func(*State, *Plan) {
	return func(s *State, _ *Plan) { change(&s.Pools[0].Policy) }
}

// onReason is a mutation of the first action's reason.
func onReason(change func(r *Reason)) func(*State, *Plan) {
	return onPlan(func(p *Plan) { change(&p.Actions[0].Reason) })
}

const victimAction, beneficiaryAction = "actions[0]", "actions[1]"

func mutantsOfReclaim() []mutant {
	quotas := func(queue int, devices int64) func(*State, *Plan) {
		return func(s *State, _ *Plan) { s.Queues[queue].Resources[0].Quota = quota.Of(1000 * devices) }
	}
	const leafQ1, leafQ2, d2 = 1, 3, 2
	return []mutant{
		{"R1", victimAction, "off", withPolicy(func(p *Policy) { p.Reclaim = preempt.NoReclaim })},
		{"R1", victimAction, "by share where only quota counts", func(s *State, p *Plan) {
			withPolicy(func(p *Policy) { p.Reclaim = preempt.ByQuota })(s, p)
			p.Actions[0].Reason.Code = ReclaimedByShare
		}},
		{"R1", victimAction, "preemptible beneficiary", withPolicy(func(p *Policy) { p.ReclaimNonPreemptibleOnly = true })},
		{"R1", victimAction, "beyond the leaf's quota", quotas(leafQ2, 1)},
		{"R1", victimAction, "beyond the side's quota", quotas(d2, 1)},
		{"R1", victimAction, "told beyond the side's quota", onReason(func(r *Reason) {
			r.Sides.Beneficiary.Before, r.Sides.Beneficiary.After = 2000, 3000
		})},
		{"R1", victimAction, "same queue", func(s *State, p *Plan) {
			workload(s, "wf5").Queue, p.Actions[1].Queue = "q1", "q1"
		}},
		{"R1", victimAction, "another pool", func(s *State, p *Plan) {
			s.Pools = []Pool{{ID: "p", Nodes: NodeSet{IDs: []string{"n"}}}, {ID: "x", Nodes: NodeSet{IDs: []string{"m"}}}}
			for i := range s.Queues {
				s.Queues[i].Pool = "p"
			}
			s.Nodes = append(s.Nodes, node("m", 1))
			s.Queues = append(s.Queues, Queue{ID: "x", Pool: "x"})
			workload(s, "wf5").Queue, p.Actions[1] = "x", Action{Kind: Start, Workload: "wf5", Queue: "x", Tasks: []Placement{at(0, "m", 0)}}
		}},
		{"R2", victimAction, "told within the quota", onReason(func(r *Reason) {
			r.Have, r.Sides.Victim.Before, r.Sides.Victim.After = 2000, 2000, 1000
		})},
		{"R2", victimAction, "holds nothing of it", onReason(func(r *Reason) { r.Resource = CPU })},
		{"R3", victimAction, "within the quota before", func(s *State, p *Plan) {
			s.Queues[0].Resources[0].Quota = quota.Of(3000)
			p.Actions[0].Reason.Need, p.Actions[0].Reason.Sides.Victim.Line = 3000, 3000
		}},
		{"R4", victimAction, "straddles", func(s *State, p *Plan) {
			withPolicy(func(p *Policy) { p.Straddle = preempt.Spare })(s, p)
			workload(s, "wf3").PodSets[0].Request = gpus(2)
			workload(s, "wf3").Tasks[0].Devices = []int{2, 3}
			s.Workloads = slices.DeleteFunc(s.Workloads, func(w Workload) bool { return w.ID == "wf4" })
			p.Actions[0].Tasks[0].Devices = []int{2, 3}
			r := &p.Actions[0].Reason
			r.Have, r.Sides.Victim.Before, r.Sides.Victim.After = 4000, 3000, 1000
			r.Sides.Beneficiary.Before, r.Sides.Beneficiary.After = 0, 1000
		}},
		{"M2", victimAction, "nobody starts", func(s *State, p *Plan) { p.Actions = p.Actions[:1] }},
		{"M2", victimAction, "another starts", onReason(func(r *Reason) { r.Workload = "wf4" })},
		{"M2", victimAction, "for itself", onReason(func(r *Reason) { r.Workload = "wf3" })},
		{"M2", victimAction, "only a claim starts", func(s *State, p *Plan) {
			s.Nodes[0] = node("n", 5)
			workload(s, "wf5").Tasks = []Task{task(Claimed, 0, "n", 4)}
			p.Actions[1] = Action{Kind: Start, Workload: "wf5", Queue: "q2", Tasks: []Placement{at(0, "n", 4)}}
		}},
		{"Q2", beneficiaryAction, "over quota with the victims gone", func(s *State, p *Plan) {
			workload(s, "wf5").Preemption, workload(s, "wf4").Preemption = NonPreemptible, NonPreemptible
			quotas(leafQ2, 1)(s, p)
		}},
		{"Q3", beneficiaryAction, "over limit with the victims gone", func(s *State, p *Plan) {
			s.Queues[d2].Resources[0].Limit = quota.Of(1000)
		}},
		{"Q10", beneficiaryAction, "over the cap with the victims gone", func(s *State, _ *Plan) { s.Queues[leafQ2].MaxWorkloads = quota.Of(1) }},
		{"V1", victimAction, "unknown beneficiary", onReason(func(r *Reason) { r.Workload = "x" })},
	}
}

func mutantsOfReclaimFigures() []mutant {
	return []mutant{
		{"X2", victimAction, "no code", onReason(func(r *Reason) { r.Code = 0 })},
		{"X2", victimAction, "code of a move", onReason(func(r *Reason) { r.Code = Consolidated })},
		{"X2", victimAction, "code of a loss", onReason(func(r *Reason) { r.Code = NodeLost })},
		{"X2", victimAction, "leaf for the side", onReason(func(r *Reason) { r.Queue = "q1" })},
		{"X2", victimAction, "no sides", onReason(func(r *Reason) { r.Sides = nil })},
		{"X2", victimAction, "victim's side", onReason(func(r *Reason) { r.Sides.Victim.Queue = "q1" })},
		{"X2", victimAction, "beneficiary's side", onReason(func(r *Reason) { r.Sides.Beneficiary.Queue = "q2" })},
		{"X2", victimAction, "have", onReason(func(r *Reason) { r.Have = 4000 })},
		{"X2", victimAction, "need", onReason(func(r *Reason) { r.Need = 1000 })},
		{"X2", victimAction, "victim's line", onReason(func(r *Reason) { r.Need, r.Sides.Victim.Line = 1000, 1000 })},
		{"X2", victimAction, "beneficiary's line", onReason(func(r *Reason) { r.Sides.Beneficiary.Line = 3000 })},
		{"X2", victimAction, "victim loses more", onReason(func(r *Reason) { r.Sides.Victim.After = 1000 })},
		{"X2", victimAction, "victim loses less", onReason(func(r *Reason) { r.Sides.Victim.After = 2500 })},
		{"X2", victimAction, "beneficiary takes more", onReason(func(r *Reason) { r.Sides.Beneficiary.Before = 0 })},
		{"X2", victimAction, "beneficiary takes less", onReason(func(r *Reason) { r.Sides.Beneficiary.Before = 1500 })},
		{"X2", victimAction, "victim loses nothing", onReason(func(r *Reason) { r.Sides.Victim.After = 3000 })},
		{"X2", victimAction, "beneficiary takes nothing", onReason(func(r *Reason) { r.Sides.Beneficiary.Before = 2000 })},
	}
}

// mutantsOfVictims are of what no right to make room goes against.
func mutantsOfVictims() []mutant {
	runtime := func(queue int, m MinRuntime) func(*State, *Plan) {
		return func(s *State, _ *Plan) {
			if queue < 0 {
				s.Pools[0].Policy.MinRuntime = m
			} else {
				s.Queues[queue].MinRuntime = m
			}
		}
	}
	return []mutant{
		{"M1", victimAction, "non-preemptible", func(s *State, _ *Plan) { workload(s, "wf3").Preemption = NonPreemptible }},
		{"M1", victimAction, "minimum runtime", runtime(1, MinRuntime{Reclaim: quota.Of(98)})},
		{"M1", victimAction, "minimum runtime for ever", runtime(1, MinRuntime{Reclaim: quota.Unlimited()})},
		{"M1", victimAction, "minimum runtime of the parent", runtime(0, MinRuntime{Reclaim: quota.Of(98)})},
		{"M1", victimAction, "minimum runtime of the policy", runtime(-1, MinRuntime{Reclaim: quota.Of(98)})},
		{"M6", victimAction, "half of a gang", func(s *State, p *Plan) {
			w := workload(s, "wf3")
			w.PodSets[0].Count, w.Tasks = 2, append(w.Tasks, since(task(Running, 1, "n", 3), 3))
			s.Workloads = slices.DeleteFunc(s.Workloads, func(w Workload) bool { return w.ID == "wf4" })
		}},
		{"M6", "actions", "claims of a gang", func(s *State, p *Plan) {
			w := workload(s, "wf3")
			w.PodSets[0].Count, w.Tasks[0].Phase = 2, Claimed
			w.Tasks = append(w.Tasks, since(task(Running, 1, "n", 3), 3))
			s.Workloads = slices.DeleteFunc(s.Workloads, func(w Workload) bool { return w.ID == "wf4" })
			p.Actions[0].Kind = Unclaim
		}},
		{"M7", victimAction, "disruption budget", func(s *State, _ *Plan) {
			s.Budgets = []DisruptionBudget{{Owner: "o", MinRunning: 2}}
			workload(s, "wf3").Owner, workload(s, "wf4").Owner = "o", "o"
		}},
		{"M7", beneficiaryAction, "cap", func(s *State, p *Plan) {
			withPolicy(func(p *Policy) { p.MaxEvictions = 1 })(s, p)
			second := p.Actions[0]
			second.Workload, second.Tasks = "wf2", []Placement{at(0, "n", 1)}
			p.Actions = slices.Insert(p.Actions, 1, second)
		}},
		{"S4", victimAction + ".tasks[0]", "evicted claim", func(s *State, _ *Plan) { workload(s, "wf3").Tasks[0].Phase = Claimed }},
		{"S4", victimAction + ".tasks[0]", "unclaimed while running", onPlan(func(p *Plan) { p.Actions[0].Kind = Unclaim })},
		{"S5", "actions[2].tasks[0]", "starts again", func(s *State, p *Plan) {
			s.Nodes = append(s.Nodes, node("m", 1))
			p.Actions = append(p.Actions, Action{Kind: Start, Workload: "wf3", Queue: "q1", Tasks: []Placement{at(0, "m", 0)}})
		}},
		{"S6", victimAction, "final for no reason", onPlan(func(p *Plan) { p.Actions[0].Ending.Final = true })},
		{"S6", victimAction, "checkpoint", onPlan(func(p *Plan) { p.Actions[0].Ending.Checkpoint = true })},
		{"S6", beneficiaryAction, "ending of a start", onPlan(func(p *Plan) { p.Actions[1].Ending.ExitCode = 1 })},
		{"S7", victimAction + ".tasks[0]", "lost", func(s *State, _ *Plan) { s.Nodes[0].Devices[2].Unhealthy = true }},
		{"V1", victimAction + ".tasks[0]", "evicted elsewhere", onPlan(func(p *Plan) { p.Actions[0].Tasks[0].Devices = []int{1} })},
		{"V1", victimAction, "old places of an eviction", onPlan(func(p *Plan) { p.Actions[0].From = p.Actions[0].Tasks })},
		{"V1", victimAction, "eviction that waits", onPlan(func(p *Plan) { p.Actions[0].After = []string{"wf2"} })},
		{"X1", "pending", "not told", onPlan(func(p *Plan) { p.Pending = nil })},
		{"X1", "pending[1]", "waits for a place that is given", onPlan(func(p *Plan) { p.Pending = append(p.Pending, stillWaits("wf5", "q2")) })},
	}
}

func mutantsOfAfter() []mutant {
	const first = beneficiaryAction + ".tasks[0]"
	return []mutant{
		{"P2", first, "waits for nobody", onPlan(func(p *Plan) { p.Actions[1].After = nil })},
		{"P2", first, "waits for another", func(s *State, p *Plan) {
			w := single("leaves", "q1", gpus(1), task(Terminating, 0, "n", 4))
			s.Nodes[0], s.Workloads = node("n", 5), append(s.Workloads, w)
			p.Actions[1].After = []string{"leaves"}
		}},
		{"S4", victimAction + ".tasks[0]", "before it leaves", onPlan(func(p *Plan) { slices.Reverse(p.Actions) })},
		{"S4", beneficiaryAction, "for one who stays", onPlan(func(p *Plan) { p.Actions[1].After = []string{"wf2", "wf3"} })},
		{"S4", beneficiaryAction, "for one elsewhere", func(s *State, p *Plan) {
			s.Nodes = append(s.Nodes, node("m", 1))
			s.Workloads = append(s.Workloads, single("leaves", "q1", gpus(1), task(Terminating, 0, "m", 0)))
			p.Actions[1].After = []string{"leaves", "wf3"}
		}},
		{"S3", beneficiaryAction, "twice", onPlan(func(p *Plan) { p.Actions[1].After = []string{"wf3", "wf3"} })},
		{"V1", beneficiaryAction, "unknown", onPlan(func(p *Plan) { p.Actions[1].After = []string{"wf3", "x"} })},
	}
}

func mutantsOfShareReclaim() []mutant {
	return []mutant{
		{"R1", victimAction, "beyond the share", onPlan(func(p *Plan) { p.Shares[0].FairShare = 4000 })},
		{"R2", victimAction, "within the share", func(s *State, p *Plan) {
			p.Shares[1].FairShare = 3000
			r := &p.Actions[0].Reason
			r.Need, r.Sides.Victim.Line = 3000, 3000
		}},
		{"R3", victimAction, "within the share before", onPlan(func(p *Plan) { p.Shares[1].FairShare = 3000 })},
		{"R5", victimAction, "saturation turns", func(s *State, p *Plan) {
			withPolicy(func(p *Policy) { p.ReclaimMarginMilli = 1500 })(s, p)
		}},
		{"X2", victimAction, "line", onReason(func(r *Reason) { r.Sides.Beneficiary.Line = 6000 })},
	}
}

func mutantsOfPreemption() []mutant {
	return []mutant{
		{"E1", victimAction, "off", withPolicy(func(p *Policy) { p.Preempt = preempt.NoPreemption })},
		{"E1", victimAction, "equal priority", func(s *State, _ *Plan) { workload(s, "young").Priority = 5 }},
		{"E1", victimAction, "the lower number first", withPolicy(func(p *Policy) { p.LowerFirst = true })},
		{"E1", victimAction, "priority of the class", withPolicy(func(p *Policy) {
			p.Classes, p.DefaultClass = []Class{{Name: "c", Priority: 5}}, "c"
		})},
		{"E1", victimAction, "another queue", func(s *State, p *Plan) {
			workload(s, "high").Queue, p.Actions[1].Queue = "other", "other"
		}},
		{"E8", victimAction, "takes more than it releases", func(s *State, p *Plan) {
			s.Nodes[0] = node("n", 5)
			workload(s, "high").PodSets[0].Request = gpus(4)
			p.Actions[1].Tasks[0].Devices = []int{1, 2, 3, 4}
		}},
		{"G2", victimAction, "above the minimum", func(s *State, p *Plan) {
			w := workload(s, "high")
			s.Nodes = append(s.Nodes, node("m", 1))
			w.PodSets[0] = PodSet{Count: 2, Min: 1, Request: gpus(1)}
			w.Tasks = []Task{task(Running, 0, "m", 0)}
			p.Actions[1].Kind, p.Actions[1].Tasks[0].Index, p.Actions[1].Reason.Code = Resize, 1, Grown
		}},
		{"M1", victimAction, "minimum runtime", withPolicy(func(p *Policy) { p.MinRuntime.Preempt = quota.Of(99) })},
	}
}

func mutantsOfScope() []mutant {
	return []mutant{
		{"E1", victimAction, "within the queue only", withPolicy(func(p *Policy) { p.Preempt = preempt.WithinQueue })},
		{"E8", victimAction, "beyond its line", func(s *State, p *Plan) {
			s.Queues[1].Resources[0].Quota, p.Shares[0].FairShare = quota.Of(0), 0
		}},
	}
}

func mutantsOfMoves() []mutant {
	const first = victimAction + ".tasks[0]"
	return []mutant{
		{"C3", victimAction, "too many GPUs", withPolicy(func(p *Policy) { p.MaxMovedPercent = 49 })},
		{"C4", victimAction, "off", withPolicy(func(p *Policy) { p.NoConsolidation = true })},
		{"C5", victimAction, "beyond the share", func(s *State, p *Plan) {
			s.Queues[0].Resources[0].Quota, p.Shares[0].FairShare = quota.Of(7000), 7000
		}},
		{"M1", victimAction, "non-preemptible", func(s *State, _ *Plan) { workload(s, "young").Preemption = NonPreemptible }},
		{"M1", victimAction, "minimum runtime", withPolicy(func(p *Policy) { p.MinRuntime.Preempt = quota.Of(99) })},
		{"M2", victimAction, "nobody starts", func(s *State, p *Plan) { p.Actions = p.Actions[:1] }},
		{"M4", victimAction, "fewer old places", onPlan(func(p *Plan) { p.Actions[0].From = nil })},
		{"M4", first, "old place of another task", onPlan(func(p *Plan) { p.Actions[0].From[0].Index = 1 })},
		{"M4", first, "stays", onPlan(func(p *Plan) { p.Actions[0].Tasks[0] = p.Actions[0].From[0] })},
		{"M7", victimAction, "budget", func(s *State, _ *Plan) {
			s.Budgets = []DisruptionBudget{{Owner: "o", MinRunning: 1}}
			workload(s, "young").Owner = "o"
		}},
		{"P2", first, "smaller", onPlan(func(p *Plan) { p.Actions[0].Tasks[0].Devices = []int{2} })},
		{"P2", first, "onto another", onPlan(func(p *Plan) { p.Actions[0].Tasks[0].Devices = []int{1, 2} })},
		{"P1", first, "onto a cordoned node", func(s *State, _ *Plan) { s.Nodes[0].Cordoned = true }},
		{"Q8", victimAction, "into a class over its limit", func(s *State, _ *Plan) {
			s.Nodes[0].Class = "spot"
			s.Queues[0].Resources = append(s.Queues[0].Resources, QueueResource{Resource: GPU, Class: "spot", Limit: quota.Of(3000)})
		}},
		{"S7", first, "lost", func(s *State, _ *Plan) { s.Nodes[1].Devices[0].Unhealthy = true }},
		{"V1", first, "runs elsewhere", onPlan(func(p *Plan) { p.Actions[0].From[0].Devices = []int{1, 2} })},
		{"V1", first, "is claimed", func(s *State, _ *Plan) { workload(s, "young").Tasks[0].Phase = Claimed }},
		{"X2", victimAction, "code of a stale gang", onReason(func(r *Reason) { r.Code = StaleGang })},
	}
}

func mutantsOfReclaimMoves() []mutant {
	return []mutant{
		{"M1", victimAction, "non-preemptible", func(s *State, _ *Plan) { workload(s, "new").Preemption = NonPreemptible }},
		{"P2", victimAction + ".tasks[0]", "no room", func(s *State, _ *Plan) { workload(s, "old").PodSets[0].Request.GPU.Milli = 501 }},
		{"R3", victimAction, "within the quota", func(s *State, p *Plan) {
			s.Queues[1].Resources[0].Quota = quota.Of(500)
			p.Actions[0].Reason.Need, p.Actions[0].Reason.Sides.Victim.Line = 500, 500
		}},
		{"X2", victimAction, "side loses more", onReason(func(r *Reason) { r.Have, r.Sides.Victim.Before = 1000, 1000 })},
		{"Q6", "shares", "lent by another", onPlan(func(p *Plan) { p.Shares[2].Lent = 999 })},
	}
}

func mutantsOfShrinking() []mutant {
	const first = victimAction + ".tasks[0]"
	return []mutant{
		{"M6", first, "the first", onPlan(func(p *Plan) { p.Actions[0].Tasks[0] = at(0, "n", 0) })},
		{"M6", victimAction, "below the minimum", func(s *State, _ *Plan) { workload(s, "elastic").PodSets[0].Min = 2 }},
		{"M1", victimAction, "minimum runtime of the last", withPolicy(func(p *Policy) { p.MinRuntime.Reclaim = quota.Of(99) })},
		{"G1", beneficiaryAction, "half the beneficiary", onPlan(func(p *Plan) { p.Actions[1].Tasks = p.Actions[1].Tasks[1:] })},
		{"X2", victimAction, "loses more than the task", onReason(func(r *Reason) { r.Have, r.Sides.Victim.Before = 4000, 4000 })},
		{"X2", victimAction, "gains", onReason(func(r *Reason) { r.Sides.Victim.After = 3000 })},
	}
}

func mutantsOfLadders() []mutant {
	const resize = "actions[2]"
	return []mutant{
		{"L1", victimAction, "by one", func(s *State, p *Plan) {
			p.Actions[0].Tasks = p.Actions[0].Tasks[1:]
			p.Actions[1].Tasks[0].Devices, s.Nodes[0] = []int{7}, node("n", 8)
		}},
		{"L1", beneficiaryAction, "three of four", func(s *State, p *Plan) {
			s.Nodes[0] = node("n", 8)
			p.Actions[1].Tasks = append(p.Actions[1].Tasks, at(2, "n", 7))
		}},
		{"L1", resize, "three of five", func(s *State, p *Plan) {
			s.Nodes[0] = node("n", 8)
			p.Actions[2].Tasks = append(p.Actions[2].Tasks, at(2, "n", 7))
		}},
		{"L1", victimAction, "evicts to grow", func(s *State, p *Plan) {
			p.Actions[0].Reason.Workload, p.Actions[2].Tasks[0].Devices, p.Actions[2].After = "up", []int{3}, []string{"down"}
		}},
		{"X2", resize, "no reason to grow", onPlan(func(p *Plan) { p.Actions[2].Reason = Reason{} })},
		{"M1", victimAction, "minimum runtime of the step", withPolicy(func(p *Policy) { p.MinRuntime.Reclaim = quota.Of(100) })},
	}
}

func mutantsOfTakenClaims() []mutant {
	return []mutant{
		{"M1", victimAction, "non-preemptible claimant", func(s *State, _ *Plan) { workload(s, "claims").Preemption = NonPreemptible }},
		{"M2", victimAction, "nobody starts", func(s *State, p *Plan) { p.Actions = p.Actions[:1] }},
		{"P2", beneficiaryAction + ".tasks[0]", "before the place is free", onPlan(func(p *Plan) { p.Actions[1].After = nil })},
		{"S4", victimAction + ".tasks[0]", "given up without a cause", onReason(func(r *Reason) { r.Code = PlaceLost })},
		{"M4", victimAction, "consolidated to nowhere", onReason(func(r *Reason) { r.Code = Consolidated })},
		{"R2", victimAction, "within the quota", func(s *State, p *Plan) {
			r := &p.Actions[0].Reason
			s.Queues[1].Resources[0].Quota, r.Need, r.Sides.Victim.Line = quota.Of(1000), 1000, 1000
		}},
	}
}

func mutantsOfStaleGangs() []mutant {
	return []mutant{
		{"G1", victimAction, "whole", func(s *State, _ *Plan) { workload(s, "gang").PodSets[0].Min = 1 }},
		{"G1", victimAction, "for ever", withPolicy(func(p *Policy) { p.StaleGangGrace = quota.Bound{} })},
		{"G1", victimAction, "within its grace", withPolicy(func(p *Policy) { p.StaleGangGrace = quota.Of(61) })},
		{"G1", victimAction, "only since now", func(s *State, _ *Plan) { workload(s, "gang").PartialSince = time.Time{} }},
		{"G1", "actions", "left", func(s *State, p *Plan) {
			workload(s, "gang").PartialSince = sceneNow.Add(-61 * time.Second)
			p.Actions = nil
		}},
		{"M6", victimAction, "half of it", func(s *State, _ *Plan) {
			w := workload(s, "gang")
			s.Nodes[0], w.PodSets[0].Min, w.Tasks = node("n", 2), 3, append(w.Tasks, task(Running, 2, "n", 1))
		}},
		{"X2", victimAction, "tasks", onReason(func(r *Reason) { r.Have = 2 })},
	}
}

func mutantsOfEndings() []mutant {
	return []mutant{
		{"S6", victimAction, "no status", onPlan(func(p *Plan) { p.Actions[0].Ending.Status = "" })},
		{"S6", victimAction, "no code", onPlan(func(p *Plan) { p.Actions[0].Ending.ExitCode = 0 })},
		{"S6", victimAction, "retries left", onPlan(func(p *Plan) { p.Actions[0].Ending.Final = true })},
		{"S6", victimAction, "fails by the workload", func(s *State, _ *Plan) { workload(s, "low").ExitActions[0].Action = Fail }},
		{"S6", victimAction, "fails by the policy", func(s *State, p *Plan) {
			workload(s, "low").ExitActions[0].Code = 1
			withPolicy(func(p *Policy) { p.ExitActions = []ExitAction{{Code: 3006, Action: Fail}} })(s, p)
		}},
		{"S6", victimAction, "no checkpoint", withPolicy(func(p *Policy) { p.CheckpointOnEviction = true })},
	}
}

func mutantsOfFinalEndings() []mutant {
	return []mutant{
		{"S6", victimAction, "retries spent", onPlan(func(p *Plan) { p.Actions[0].Ending.Final = false })},
		{"X1", "pending[0]", "waits", onPlan(func(p *Plan) { p.Pending = []Pending{stillWaits("low", "q")} })},
		{"S5", "actions[2]", "starts again", func(s *State, p *Plan) {
			s.Nodes = append(s.Nodes, node("m", 1))
			p.Actions = append(p.Actions, Action{Kind: Start, Workload: "low", Queue: "q", Tasks: []Placement{at(0, "m", 0)}})
		}},
		{"F1", "shares[0]", "demand", onPlan(func(p *Plan) { p.Shares[0].Demand = 2000 })},
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
		ps := PodSet{Count: c.count, Min: c.least, Missing: c.missing, Step: gang.Halving}
		if have := ladderOf(&ps); !slices.Equal(have, c.want) {
			t.Errorf("%+v: %d", c, have)
		}
	}
}
