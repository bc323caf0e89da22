package allot

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/prose"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// sound is a State without faults or warnings that has something of
// everything: two pools, a tree of queues, groups, alternatives, all phases, a
// task that moves, and every knob about making room.
func sound() *State {
	gpus := func(n int, model string) []Device {
		devices := make([]Device, n)
		for i := range devices {
			devices[i] = Device{Model: model, Memory: 80}
		}
		return devices
	}
	second := func(n int64) time.Time { return time.Unix(1_700_000_000+n, 0).UTC() }
	return &State{
		Now:    second(60),
		Levels: []Level{{Name: "block"}, {Name: "rack"}},
		Nodes: []Node{
			{ID: "n0", Capacity: map[string]int64{CPU: 4000}, Devices: gpus(4, "A"), MaxTasks: 3,
				Domains: map[string]string{"block": "b0", "rack": "r0"}, Links: []Link{{A: 0, B: 1, NVLinks: 4}, {A: 3, B: 1}}},
			{ID: "n1", Hardware: "nvlink-4", Domains: map[string]string{"rack": "r0"}, Capacity: map[string]int64{CPU: 4000}, Devices: append(gpus(2, "A"), gpus(2, "B")...)},
			{ID: "n2"},
		},
		Pools: []Pool{
			{ID: "p0", Nodes: NodeSet{IDs: []string{"n0", "n1"}}, Policy: Policy{
				Classes: []Class{{Name: "high", Priority: 100}, {Name: "low"}}, DefaultClass: "low",
				Granules: map[string]int64{GPU: 1000},
			}},
			{ID: "p1", Nodes: NodeSet{IDs: []string{"n2"}}, Policy: Policy{
				NoConsolidation: true, MaxMovedPercent: 150, ConsolidateBeyondShare: true, MaxRelocations: quota.Of(1),
				Reclaim: preempt.ByQuota, ReclaimNonPreemptibleOnly: true, ReclaimMarginMilli: 1250, Straddle: preempt.Spare,
				Preempt:    preempt.NoPreemption,
				MinRuntime: MinRuntime{Preempt: quota.Of(60), Reclaim: quota.Unlimited()}, MaxEvictions: 10, SearchBudget: 1000, MaxReplacedStarts: quota.Of(1),
				StaleGangGrace: quota.Of(60), PreemptedStatus: "FAILED_PREEMPTED", PreemptedExitCode: 3006,
				ExitActions: []ExitAction{{Code: 3006, Action: Fail}, {Code: -1}}, CheckpointOnEviction: true,
			}},
		},
		Queues: []Queue{
			{ID: "d", Pool: "p0", MinRuntime: MinRuntime{Preempt: quota.Unlimited(), Reclaim: quota.Of(0)}, Resources: []QueueResource{{Resource: GPU, Quota: quota.Of(8000)}}},
			{ID: "q0", Pool: "p0", Parent: "d", Resources: []QueueResource{{Resource: GPU, Quota: quota.Of(4000), Weight: quota.Of(1)}}},
			{ID: "q1", Pool: "p0", Parent: "d", Resources: []QueueResource{
				{Resource: GPU, Quota: quota.Of(4000), Weight: quota.Of(2)},
				{Resource: GPU, Class: "A", Limit: quota.Of(2000)},
			}},
		},
		Workloads: []Workload{
			{ID: "w0", Queue: "q0", Class: "high", Topology: Topology{Preferred: "block", Mode: gang.Balance}, PodSets: []PodSet{{Count: 2, Topology: Topology{
				Required: "rack", Slices: []Slice{{Size: 1, Level: NodeLevel}},
			}, Request: Request{
				GPU: GPURequest{Count: 2, Island: placement.SwitchIsland, PreferIsland: placement.NVLinkIsland}, Resources: map[string]int64{CPU: 1000},
			}}}, Tasks: []Task{{Node: "n0", Devices: []int{0, 1}}},
				Owner: "team", Checkpoint: second(30), ExitActions: []ExitAction{{Code: 3006}}, Retries: quota.Of(3), PartialSince: second(40)},
			{ID: "w1", Queue: "q1",
				PodSets: []PodSet{{Name: "a", Count: 2, Group: "g"}, {Name: "b", Count: 1, Group: "h"}},
				Groups:  []Group{{Name: "g", Min: 1, Topology: Topology{Required: "block"}}, {Name: "h", Parent: "g"}},
				Alternatives: []Form{
					{Queue: "q0", PodSets: []PodSet{{Count: 1, Request: Request{GPU: GPURequest{Milli: 500}}}}},
				},
				Form: 1, Tasks: []Task{{Phase: Claimed, Node: "n1", Devices: []int{3}}},
			},
			{ID: "w2", Pool: "p1", PodSets: []PodSet{{Count: 1}}, Ending: true, Tasks: []Task{{Phase: Terminating, Node: "n2"}}},
			{ID: "w3", Pool: "p1", Owner: "nobody", PodSets: []PodSet{{Count: 4, Min: 1, Step: gang.Halving}}, Tasks: []Task{
				{Node: "n2", Since: second(1)},
				{Index: 1, Phase: Terminating, Node: "n2", Since: second(2)}, {Index: 1, Phase: Claimed, Node: "n2", Since: second(2)},
			}},
		},
		Budgets: []DisruptionBudget{{Owner: "team", MinRunning: 1}, {Owner: "ops"}},
	}
}

// leaveOther has the workload that claims a place in its second form leave one in its
// first (S5).
func leaveOther(s *State) {
	w := &s.Workloads[1]
	w.LeavingForm, w.Tasks = quota.Of(0), append(w.Tasks, Task{PodSet: "b", Phase: Terminating, Node: "n1"})
}

// faultRows break sound in one way each; every row cites the rule it breaks
// and tells the whole line that Check must answer. The fault of a row is often
// not the only one.
var faultRows = []struct {
	code  FaultCode
	want  string
	spoil func(s *State)
}{
	// Names.
	{FaultEmpty, `nodes[0].id: must not be empty, is ""`, func(s *State) { s.Nodes[0].ID = "" }},
	{FaultEmpty, `pools[1].id: must not be empty, is ""`, func(s *State) { s.Pools[1].ID = "" }},
	{FaultEmpty, `queues[0].id: must not be empty, is ""`, func(s *State) { s.Queues[0].ID = "" }},
	{FaultEmpty, `workloads[2].id: must not be empty, is ""`, func(s *State) { s.Workloads[2].ID = "" }},
	{FaultEmpty, `queues[1].resources[0].resource: must not be empty, is ""`, func(s *State) { s.Queues[1].Resources[0].Resource = "" }},
	{FaultEmpty, `nodes[0].capacity[""]: must not have an empty name, is ""`, func(s *State) { s.Nodes[0].Capacity[""] = 1 }},
	{FaultEmpty, `workloads[2].podSets: must have at least one pod set, is []`, func(s *State) { s.Workloads[2].PodSets = nil }},
	{FaultEmpty, `workloads[1].podSets[0].name: must not be empty where there are several pod sets, is ""`, func(s *State) { s.Workloads[1].PodSets[0].Name = "" }},
	{FaultEmpty, `workloads[1].groups[1].name: must not be empty, is ""`, func(s *State) { s.Workloads[1].Groups[1].Name = "" }},
	{FaultEmpty, `workloads[1].groups[2]: must be the group of a pod set or the parent of a group, is "i"`, func(s *State) { s.Workloads[1].Groups = append(s.Workloads[1].Groups, Group{Name: "i"}) }},
	{FaultEmpty, `workloads[0].podSets[0].request.gpu.models[0]: must not be empty, is ""`, func(s *State) { s.Workloads[0].PodSets[0].Request.GPU.Models = []string{""} }},
	{FaultText, `workloads[0].id: must be UTF-8 without control characters, is "w\n"`, func(s *State) { s.Workloads[0].ID = "w\n" }},
	{FaultText, `nodes[1].id: must be UTF-8 without control characters, is "\xff"`, func(s *State) { s.Nodes[1].ID = "\xff" }},
	{FaultText, `revision: must be UTF-8 without control characters, is "\u0085"`, func(s *State) { s.Revision = "\u0085" }},
	{FaultText, `nodes[1].class: must have at most 1024 bytes, is 1025 bytes long`, func(s *State) { s.Nodes[1].Class = strings.Repeat("x", maxText+1) }},
	{FaultText, `nodes[0].labels["k"]: must be UTF-8 without control characters, is "\x00"`, func(s *State) { s.Nodes[0].Labels = map[string]string{"k": "\x00"} }},
	{FaultText, `workloads[0].podSets[0].request.gpu.models[0]: must be UTF-8 without control characters, is "\a"`, func(s *State) { s.Workloads[0].PodSets[0].Request.GPU.Models = []string{"\a"} }},
	{FaultText, `pools[0].nodes.selector.expressions[0].values[0]: must be UTF-8 without control characters, is "\x01"`, func(s *State) {
		s.Pools[0].Nodes.Selector = &placement.Selector{Expressions: []placement.Expression{{Key: "k", Values: []string{"\x01"}}}}
	}},
	{FaultDuplicate, `nodes[2].id: must differ from nodes[0].id, is "n0"`, func(s *State) { s.Nodes[2].ID = "n0" }},
	{FaultDuplicate, `pools[1].id: must differ from pools[0].id, is "p0"`, func(s *State) { s.Pools[1].ID = "p0" }},
	{FaultDuplicate, `queues[2].id: must differ from queues[1].id, is "q0"`, func(s *State) { s.Queues[2].ID = "q0" }},
	{FaultDuplicate, `workloads[2].id: must differ from workloads[0].id, is "w0"`, func(s *State) { s.Workloads[2].ID = "w0" }},
	{FaultDuplicate, `pools[0].nodes.ids[1]: must differ from pools[0].nodes.ids[0], is "n0"`, func(s *State) { s.Pools[0].Nodes.IDs[1] = "n0" }},
	{FaultDuplicate, `pools[0].policy.classes[1].name: must be the only class of this name, is "high"`, func(s *State) { s.Pools[0].Policy.Classes[1].Name = "high" }},
	{FaultDuplicate, `queues[2].resources[1]: must be of another resource or class than queues[2].resources[0], is "gpu"`, func(s *State) { s.Queues[2].Resources[1].Class = "" }},
	{FaultDuplicate, `workloads[1].podSets[1].name: must differ from workloads[1].podSets[0].name, is "a"`, func(s *State) { s.Workloads[1].PodSets[1].Name = "a" }},
	{FaultDuplicate, `workloads[1].groups[0].name: must be the only pod set or group of this name, is "a"`, func(s *State) { s.Workloads[1].Groups[0].Name = "a" }},
	{FaultDuplicate, `workloads[1].groups[1].name: must be the only pod set or group of this name, is "g"`, func(s *State) { s.Workloads[1].Groups[1].Name = "g" }},

	{FaultEmpty, `budgets[1].owner: must not be empty, is ""`, func(s *State) { s.Budgets[1].Owner = "" }},
	{FaultText, `budgets[0].owner: must be UTF-8 without control characters, is "\n"`, func(s *State) { s.Budgets[0].Owner = "\n" }},
	{FaultText, `workloads[0].owner: must be UTF-8 without control characters, is "\n"`, func(s *State) { s.Workloads[0].Owner = "\n" }},
	{FaultText, `pools[1].policy.preemptedStatus: must be UTF-8 without control characters, is "\n"`, func(s *State) { s.Pools[1].Policy.PreemptedStatus = "\n" }},
	{FaultDuplicate, `budgets[1].owner: must differ from budgets[0].owner, is "team"`, func(s *State) { s.Budgets[1].Owner = "team" }},
	{FaultDuplicate, `pools[1].policy.exitActions[1].code: must differ from pools[1].policy.exitActions[0].code, is 3006`, func(s *State) { s.Pools[1].Policy.ExitActions[1].Code = 3006 }},
	{FaultDuplicate, `workloads[0].exitActions[1].code: must differ from workloads[0].exitActions[0].code, is 3006`, func(s *State) {
		s.Workloads[0].ExitActions = append(s.Workloads[0].ExitActions, ExitAction{Code: 3006, Action: Fail})
	}},

	// References.
	{FaultUnknownNode, `pools[1].nodes.ids[0]: must name a node, is "x"`, func(s *State) { s.Pools[1].Nodes.IDs[0] = "x" }},
	{FaultUnknownNode, `queues[0].nodes.ids[0]: must name a node, is ""`, func(s *State) { s.Queues[0].Nodes.IDs = []string{""} }},
	{FaultUnknownNode, `workloads[0].tasks[0].node: must name a node, is "x"`, func(s *State) { s.Workloads[0].Tasks[0].Node = "x" }},
	{FaultUnknownPool, `queues[0].pool: must name a pool, is "x"`, func(s *State) { s.Queues[0].Pool = "x" }},
	{FaultUnknownPool, `workloads[2].pool: must name a pool, is "x"`, func(s *State) { s.Workloads[2].Pool = "x" }},
	{FaultUnknownPool, `queues[0].pool: must name a pool, is "p0"`, func(s *State) { s.Pools = nil }},
	{FaultUnknownQueue, `queues[1].parent: must name a queue, is "x"`, func(s *State) { s.Queues[1].Parent = "x" }},
	{FaultUnknownQueue, `workloads[0].queue: must name a queue, is "x"`, func(s *State) { s.Workloads[0].Queue = "x" }},
	{FaultUnknownQueue, `workloads[1].alternatives[0].queue: must name a queue, is "x"`, func(s *State) { s.Workloads[1].Alternatives[0].Queue = "x" }},
	{FaultUnknownClass, `workloads[0].class: must name a class of the policy of pool "p0", is "x"`, func(s *State) { s.Workloads[0].Class = "x" }},
	{FaultUnknownClass, `workloads[2].class: must name a class of the policy of pool "p1", is "high"`, func(s *State) { s.Workloads[2].Class = "high" }},
	{FaultUnknownClass, `pools[0].policy.defaultClass: must name a class of the policy, is "x"`, func(s *State) { s.Pools[0].Policy.DefaultClass = "x" }},
	{FaultUnknownClass, `workloads[0].class: must be empty, as there is no pool with classes, is "high"`, func(s *State) { *s = State{Workloads: s.Workloads[:1]}; s.Workloads[0].Queue = "" }},
	{FaultUnknownClass, `workloads[0].alternatives[0].queue: must be in a pool with the workload's class, is "high"`, func(s *State) {
		s.Queues = append(s.Queues, Queue{ID: "r", Pool: "p1"})
		s.Workloads[0].Alternatives = []Form{{Queue: "r", PodSets: []PodSet{{Count: 1}}}}
	}},
	{FaultUnknownPodSet, `workloads[0].tasks[0].podSet: must name a pod set of the form, is "x"`, func(s *State) { s.Workloads[0].Tasks[0].PodSet = "x" }},
	{FaultUnknownPodSet, `workloads[1].tasks[0].podSet: must name a pod set of the form, is ""`, func(s *State) { s.Workloads[1].Form = 0 }},
	{FaultUnknownGroup, `workloads[1].podSets[0].group: must name a group of the form, is "x"`, func(s *State) { s.Workloads[1].PodSets[0].Group = "x" }},
	{FaultUnknownGroup, `workloads[1].groups[1].parent: must name a group of the form, is "x"`, func(s *State) { s.Workloads[1].Groups[1].Parent = "x" }},
	{FaultUnknownGroup, `workloads[0].podSets[0].group: must name a group of the form, is "x"`, func(s *State) { s.Workloads[0].PodSets[0].Group = "x" }},
	{FaultUnknownDevice, `workloads[0].tasks[0].devices[1]: must be the index of one of the 4 devices of "n0", is 4`, func(s *State) { s.Workloads[0].Tasks[0].Devices[1] = 4 }},
	{FaultUnknownDevice, `workloads[0].tasks[0].devices[0]: must be the index of one of the 4 devices of "n0", is -1`, func(s *State) { s.Workloads[0].Tasks[0].Devices[0] = -1 }},
	{FaultUnknownValue, `workloads[0].preemption: must be by-class, preemptible or non-preemptible, is Preemption(9)`, func(s *State) { s.Workloads[0].Preemption = 9 }},
	{FaultUnknownValue, `workloads[3].podSets[0].step: must be by-one or halving, is Step(9)`, func(s *State) { s.Workloads[3].PodSets[0].Step = 9 }},
	{FaultUnknownValue, `workloads[0].exitActions[0].action: must be reschedule or fail, is Exit(9)`, func(s *State) { s.Workloads[0].ExitActions[0].Action = 9 }},
	{FaultUnknownValue, `pools[1].policy.exitActions[1].action: must be reschedule or fail, is Exit(2)`, func(s *State) { s.Pools[1].Policy.ExitActions[1].Action = 2 }},
	{FaultUnknownValue, `pools[1].policy.reclaim: must be quota-and-share, quota or off, is Reclaim(3)`, func(s *State) { s.Pools[1].Policy.Reclaim = 3 }},
	{FaultUnknownValue, `pools[1].policy.straddle: must be take or spare, is Straddle(2)`, func(s *State) { s.Pools[1].Policy.Straddle = 2 }},
	{FaultUnknownValue, `pools[0].policy.preempt: must be queue, pool or off, is Scope(3)`, func(s *State) { s.Pools[0].Policy.Preempt = 3 }},
	{FaultUnknownValue, `workloads[0].tasks[0].phase: must be running, claimed or terminating, is Phase(9)`, func(s *State) { s.Workloads[0].Tasks[0].Phase = 9 }},
	{FaultUnknownValue, `pools[0].policy.order: must be fair-share, priority-first, global, deprived or share-then-age, is Order(99)`, func(s *State) { s.Pools[0].Policy.Order = queue.Order(99) }},
	{FaultUnknownValue, `pools[1].policy.gpuStrategy: must be bin-pack, spread, first, fragmentation-gradient, dot-product, gpu-packing, gpu-clustering, best-fit, random or shadow-price, is ` + placement.Strategy(99).String(), func(s *State) { s.Pools[1].Policy.GPUStrategy = 99 }},
	{FaultUnknownValue, `pools[1].policy.scoring.mixFrom: must be both, pending, running or given, is MixSource(4)`, func(s *State) { s.Pools[1].Policy.Scoring.MixFrom = 4 }},
	{FaultUnknownValue, `pools[1].policy.scoring.ties: must be least-gpu-left or least-cpu-left, is ` + placement.TieOrder(9).String(), func(s *State) { s.Pools[1].Policy.Scoring.Ties = 9 }},
	{FaultUnknownValue, `nodes[0].taints[0].effect: must be NoSchedule, PreferNoSchedule or NoExecute, is ` + placement.Effect(9).String(), func(s *State) {
		s.Nodes[0].Taints = []placement.Taint{{Key: "k", Effect: 9}}
	}},
	{FaultUnknownValue, `workloads[0].podSets[0].request.selector.expressions[0].operator: must be In, NotIn, Exists, DoesNotExist, Gt or Lt, is ` + placement.Operator(9).String(), func(s *State) {
		s.Workloads[0].PodSets[0].Request.Selector.Expressions = []placement.Expression{{Key: "k", Operator: 9}}
	}},

	// Pools and queues.
	{FaultPoolRequired, `queues[0].pool: must say which of the pools, is ""`, func(s *State) { s.Queues[0].Pool = "" }},
	{FaultPoolRequired, `workloads[2].pool: must say which of the pools, is ""`, func(s *State) { s.Workloads[2].Pool = "" }},
	{FaultWrongPool, `queues[1].parent: must be a queue of the same pool, is "d"`, func(s *State) { s.Queues[1].Pool = "p1" }},
	{FaultWrongPool, `workloads[0].pool: must be the pool of its queue, is "p1"`, func(s *State) { s.Workloads[0].Pool = "p1" }},
	{FaultNodeInTwoPools, `nodes[1]: must be in one pool, is in "p0" and "p1"`, func(s *State) { s.Pools[1].Nodes.IDs = []string{"n1"} }},
	{FaultNodeInTwoPools, `nodes[0]: must be in one pool, is in "p0" and "p1"`, func(s *State) { s.Pools[1].Nodes = NodeSet{} }},
	{FaultNodeInTwoPools, `nodes[0]: must be in one pool, is in "p0", "p1", "x0" and "x1"`, func(s *State) { addPools(s, 2) }},
	{FaultNodeInTwoPools, `nodes[0]: must be in one pool, is in "p0", "p1", "x0" and 2 more`, func(s *State) { addPools(s, 3) }},
	{FaultCycle, `queues[0].parent: must not lead back to the queue, is "q0"`, func(s *State) { s.Queues[0].Parent = "q0" }},
	{FaultCycle, `queues[2].parent: must not lead back to the queue, is "q1"`, func(s *State) { s.Queues[2].Parent = "q1" }},
	{FaultCycle, `workloads[1].groups[0].parent: must not lead back to the group, is "h"`, func(s *State) { s.Workloads[1].Groups[0].Parent = "h" }},
	{FaultNotLeaf, `workloads[0].queue: must be a leaf queue, with none below it, is "d"`, func(s *State) { s.Workloads[0].Queue = "d" }},
	{FaultQueueRequired, `workloads[2].queue: must name a queue, as its pool has some, is ""`, func(s *State) { s.Workloads[2].Pool = "p0" }},
	{FaultExclusive, `queues[2].resources[1].weight: must not be given for a class (Q8), is 1`, func(s *State) { s.Queues[2].Resources[1].Weight = quota.Of(1) }},
	{FaultExclusive, `queues[2].resources[1].lendingLimit: must not be given for a class (Q8), is 1`, func(s *State) { s.Queues[2].Resources[1].LendingLimit = quota.Of(1) }},
	{FaultExclusive, `queues[2].resources[1].overQuotaPriority: must not be given for a class (Q8), is 1`, func(s *State) { s.Queues[2].Resources[1].OverQuotaPriority = 1 }},
	{FaultMixedWeights, `queues[2].resources[0].weight: must give a weight for "gpu" as its siblings do, or none must (F4), is absent`, func(s *State) { s.Queues[2].Resources[0].Weight = quota.Bound{} }},
	{FaultMixedWeights, `queues[1].resources: must give a weight for "gpu" as its siblings do, or none must (F4), is absent`, func(s *State) { s.Queues[1].Resources = nil }},

	// Numbers.
	{FaultRange, `workloads[0].podSets[0].count: must be > 0, is -1`, func(s *State) { s.Workloads[0].PodSets[0].Count = -1 }},
	{FaultRange, `workloads[0].podSets[0].min: must be ≥ 0, is -1`, func(s *State) { s.Workloads[0].PodSets[0].Min = -1 }},
	{FaultRange, `workloads[0].podSets[0].missing: must be ≥ 0, is -1`, func(s *State) { s.Workloads[0].PodSets[0].Missing = -1 }},
	{FaultRange, `workloads[0].podSets[0].request.gpu.milli: must be ≤ 1000, is 1001`, func(s *State) { s.Workloads[0].PodSets[0].Request.GPU.Milli = 1001 }},
	{FaultRange, `workloads[0].podSets[0].request.gpu.memory: must be ≥ 0, is -1`, func(s *State) { s.Workloads[0].PodSets[0].Request.GPU.Memory = -1 }},
	{FaultRange, `workloads[0].podSets[0].request.resources["cpu"]: must be ≤ 9007199254740991, is 9007199254740992`, func(s *State) { s.Workloads[0].PodSets[0].Request.Resources[CPU] = MaxAmount + 1 }},
	{FaultRange, `workloads[1].groups[0].min: must be ≥ 0, is -1`, func(s *State) { s.Workloads[1].Groups[0].Min = -1 }},
	{FaultRange, `workloads[1].form: must be ≤ 1, is 2`, func(s *State) { s.Workloads[1].Form = 2 }},
	{FaultRange, `workloads[1].leavingForm: must be ≤ 1, is 2`, func(s *State) { s.Workloads[1].LeavingForm = quota.Of(2) }},
	{FaultRange, `workloads[1].leavingForm: must be ≥ 0, is -1`, func(s *State) { s.Workloads[1].LeavingForm = quota.Of(-1) }},
	{FaultRange, `workloads[0].priority: must be ≥ -2147483647, is -2147483648`, func(s *State) { s.Workloads[0].Priority = math.MinInt32 }},
	{FaultRange, `workloads[0].tasks[0].index: must be ≥ 0, is -1`, func(s *State) { s.Workloads[0].Tasks[0].Index = -1 }},
	{FaultRange, `nodes[0].devices[3].foreign: must be ≤ 1000, is 1001`, func(s *State) { s.Nodes[0].Devices[3].Foreign = 1001 }},
	{FaultRange, `nodes[0].foreign["cpu"]: must be ≥ 0, is -1`, func(s *State) { s.Nodes[0].Foreign = map[string]int64{CPU: -1} }},
	{FaultRange, `nodes[2].maxTasks: must be ≥ 0, is -1`, func(s *State) { s.Nodes[2].MaxTasks = -1 }},
	{FaultRange, `queues[1].resources[0].quota: must be ≥ 0, is -1`, func(s *State) { s.Queues[1].Resources[0].Quota = quota.Of(-1) }},
	{FaultRange, `queues[1].resources[0].weight: must be a number, is unlimited`, func(s *State) { s.Queues[1].Resources[0].Weight = quota.Unlimited() }},
	{FaultRange, `queues[1].maxWorkloads: must be ≤ 9007199254740991, is 9007199254740992`, func(s *State) { s.Queues[1].MaxWorkloads = quota.Of(MaxAmount + 1) }},
	{FaultRange, `pools[0].policy.granules["gpu"]: must be > 0, is 0`, func(s *State) { s.Pools[0].Policy.Granules[GPU] = 0 }},
	{FaultRange, `now: must be of the years 1970 to 9999, is 1969-12-31T23:59:59Z`, func(s *State) { s.Now = time.Unix(-1, 0) }},
	{FaultRange, `workloads[0].tasks[0].since: must be of the years 1970 to 9999, is 10000-01-01T00:00:00Z`, func(s *State) { s.Workloads[0].Tasks[0].Since = time.Unix(endSecond, 0) }},
	{FaultRange, `queues[0].minRuntime.preempt: must be ≥ 0, is -1`, func(s *State) { s.Queues[0].MinRuntime.Preempt = quota.Of(-1) }},
	{FaultRange, `queues[0].minRuntime.reclaim: must be ≤ 9007199254740991, is 9007199254740992`, func(s *State) { s.Queues[0].MinRuntime.Reclaim = quota.Of(MaxAmount + 1) }},
	{FaultRange, `pools[1].policy.minRuntime.preempt: must be ≥ 0, is -1`, func(s *State) { s.Pools[1].Policy.MinRuntime.Preempt = quota.Of(-1) }},
	{FaultRange, `pools[1].policy.minRuntime.reclaim: must be ≥ 0, is -1`, func(s *State) { s.Pools[1].Policy.MinRuntime.Reclaim = quota.Of(-1) }},
	{FaultRange, `pools[1].policy.maxMovedPercent: must be ≥ 0, is -1`, func(s *State) { s.Pools[1].Policy.MaxMovedPercent = -1 }},
	{FaultRange, `pools[1].policy.maxMovedPercent: must be ≤ 1000000, is 1000001`, func(s *State) { s.Pools[1].Policy.MaxMovedPercent = 1_000_001 }},
	{FaultRange, `pools[1].policy.maxRelocations: must be ≥ 0, is -1`, func(s *State) { s.Pools[1].Policy.MaxRelocations = quota.Of(-1) }},
	{FaultRange, `pools[1].policy.maxRelocations: must be ≤ 4, is 5`, func(s *State) { s.Pools[1].Policy.MaxRelocations = quota.Of(5) }},
	{FaultRange, `pools[1].policy.maxRelocations: must be ≤ 4, is 9223372036854775807`, func(s *State) { s.Pools[1].Policy.MaxRelocations = quota.Unlimited() }},
	{FaultRange, `pools[1].policy.reclaimMarginMilli: must be ≥ 1000, is 999`, func(s *State) { s.Pools[1].Policy.ReclaimMarginMilli = 999 }},
	{FaultRange, `pools[1].policy.reclaimMarginMilli: must be ≤ 1048576, is 1048577`, func(s *State) { s.Pools[1].Policy.ReclaimMarginMilli = 1<<20 + 1 }},
	{FaultRange, `pools[1].policy.maxEvictions: must be ≥ 0, is -1`, func(s *State) { s.Pools[1].Policy.MaxEvictions = -1 }},
	{FaultRange, `pools[1].policy.searchBudget: must be ≥ 0, is -1`, func(s *State) { s.Pools[1].Policy.SearchBudget = -1 }},
	{FaultRange, `pools[1].policy.maxReplacedStarts: must be ≥ 0, is -1`, func(s *State) { s.Pools[1].Policy.MaxReplacedStarts = quota.Of(-1) }},
	{FaultRange, `pools[1].policy.staleGangGrace: must be ≥ 0, is -1`, func(s *State) { s.Pools[1].Policy.StaleGangGrace = quota.Of(-1) }},
	{FaultRange, `pools[1].policy.scoring.coverage: must be ≥ 0, is -1`, func(s *State) { s.Pools[1].Policy.Scoring.Coverage = -1 }},
	{FaultRange, `pools[1].policy.scoring.coverage: must be ≤ 100, is 101`, func(s *State) { s.Pools[1].Policy.Scoring.Coverage = 101 }},
	{FaultRange, `pools[1].policy.scoring.scale: must be ≥ 0, is -1`, func(s *State) { s.Pools[1].Policy.Scoring.Scale = -1 }},
	{FaultRange, `pools[1].policy.scoring.scale: must be ≤ 1048576, is 1048577`, func(s *State) { s.Pools[1].Policy.Scoring.Scale = 1<<20 + 1 }},
	{FaultRange, `pools[1].policy.scoring.steps: must be ≥ 0, is -1`, func(s *State) { s.Pools[1].Policy.Scoring.Steps = -1 }},
	{FaultRange, `pools[1].policy.scoring.steps: must be ≤ 10000, is 10001`, func(s *State) { s.Pools[1].Policy.Scoring.Steps = 10_001 }},
	{FaultRange, `pools[1].policy.scoring.seed: must be ≥ 0, is -1`, func(s *State) { s.Pools[1].Policy.Scoring.Seed = -1 }},
	{FaultRange, `pools[1].policy.scoring.seed: must be ≤ 9007199254740991, is 9007199254740992`, func(s *State) { s.Pools[1].Policy.Scoring.Seed = MaxAmount + 1 }},
	{FaultRange, `pools[1].policy.scoring.mix[0].weight: must be > 0, is 0`, func(s *State) { s.Pools[1].Policy.Scoring.Mix = []MixShape{{}} }},
	{FaultRange, `pools[1].policy.scoring.mix[1].weight: must be ≤ 549755813887, is 549755813888`, func(s *State) {
		s.Pools[1].Policy.Scoring.Mix = []MixShape{{Weight: 1}, {Weight: 1 << 39}}
	}},
	{FaultRange, `pools[1].policy.scoring.mix[0].request.gpu.milli: must be ≤ 1000, is 1001`, func(s *State) {
		s.Pools[1].Policy.Scoring.Mix = []MixShape{{Weight: 1, Request: Request{GPU: GPURequest{Milli: 1001}}}}
	}},
	{FaultSum, `pools[1].policy.scoring.mix: must have weights below 2^39 in all, is 549755813888`, func(s *State) {
		s.Pools[1].Policy.Scoring.Mix = []MixShape{{Weight: 1 << 38}, {Weight: 1 << 38}}
	}},
	{FaultTooMany, `pools[1].policy.scoring.mix: must be at most 1024, is 1025`, func(s *State) {
		s.Pools[1].Policy.Scoring.Mix = make([]MixShape, cluster.MaxMix+1)
	}},
	{FaultExclusive, `pools[1].policy.scoring.exact: must not be given together with scale or steps, is true`, func(s *State) {
		s.Pools[1].Policy.Scoring = Scoring{Exact: true, Steps: 100}
	}},
	{FaultReservedResource, `pools[1].policy.scoring.mix[0].request.resources["gpu"]: must not be listed here: devices are the GPUs, is 1`, func(s *State) {
		s.Pools[1].Policy.Scoring.Mix = []MixShape{{Weight: 1, Request: Request{Resources: map[string]int64{GPU: 1}}}}
	}},
	{FaultRange, `workloads[0].retries: must be ≥ 0, is -1`, func(s *State) { s.Workloads[0].Retries = quota.Of(-1) }},
	{FaultRange, `workloads[0].checkpoint: must be of the years 1970 to 9999, is 1969-12-31T23:59:59Z`, func(s *State) { s.Workloads[0].Checkpoint = time.Unix(-1, 0) }},
	{FaultRange, `workloads[0].partialSince: must be of the years 1970 to 9999, is 10000-01-01T00:00:00Z`, func(s *State) { s.Workloads[0].PartialSince = time.Unix(endSecond, 0) }},
	{FaultRange, `budgets[0].minRunning: must be ≥ 0, is -1`, func(s *State) { s.Budgets[0].MinRunning = -1 }},
	{FaultSum, `workloads: must request less than 2^62 of "cpu" in all, is 2^62 or more`, func(s *State) {
		s.Workloads[0].PodSets[0].Count = 512
		s.Workloads[0].PodSets[0].Request.Resources[CPU] = MaxAmount
		s.Workloads[2].PodSets[0] = s.Workloads[0].PodSets[0]
	}},
	{FaultSum, `workloads: must request less than 2^62 of "gpu" in all, is 2^62 or more`, func(s *State) {
		s.Workloads[0].PodSets[0].Count = math.MaxInt32
		s.Workloads[0].PodSets[0].Request.GPU.Count = math.MaxInt32
	}},
	{FaultSum, `workloads: must request less than 2^62 of "gpu" in all, is 2^62 or more`, func(s *State) {
		s.Nodes[1].Devices[3].Memory = 1 // F1: what is asked is charged by the smallest memory of the pool
		s.Workloads[0].PodSets[0].Request.GPU.Memory = MaxAmount
	}},
	{FaultSum, `nodes: must have less than 2^62 of "cpu" in all, is 2^62 or more`, func(s *State) {
		for i := range 513 {
			s.Nodes = append(s.Nodes, Node{ID: fmt.Sprint("m", i), Capacity: map[string]int64{CPU: MaxAmount}})
		}
	}},
	{FaultSum, `queues[0]: must give its queues quotas of less than 2^62 of "gpu" in all, is 2^62 or more`, func(s *State) {
		for i := range 513 {
			s.Queues = append(s.Queues, Queue{ID: fmt.Sprint("m", i), Pool: "p0", Parent: "d",
				Resources: []QueueResource{{Resource: GPU, Quota: quota.Of(MaxAmount), Weight: quota.Of(1)}}})
		}
	}},
	{FaultSum, `queues: must give its queues quotas of less than 2^62 of "gpu" in all, is 2^62 or more`, func(s *State) {
		s.Queues[0].Resources = nil // Q1: the sum of its children's
		for i := range 510 {
			s.Queues = append(s.Queues,
				Queue{ID: fmt.Sprint("m", i), Pool: "p0", Parent: "d", Resources: []QueueResource{{Resource: GPU, Quota: quota.Of(MaxAmount), Weight: quota.Of(1)}}},
				Queue{ID: fmt.Sprint("o", i), Pool: "p0", Resources: []QueueResource{{Resource: GPU, Quota: quota.Of(MaxAmount)}}})
		}
	}},
	{FaultSum, `queues[0]: must give its queues weights of less than 2^62 of "gpu" in all, is 2^62 or more`, func(s *State) {
		for i := range 513 {
			s.Queues = append(s.Queues, Queue{ID: fmt.Sprint("m", i), Pool: "p0", Parent: "d",
				Resources: []QueueResource{{Resource: GPU, Weight: quota.Of(MaxAmount)}}})
		}
	}},
	// Usage (F6, B12).
	{FaultRange, `queues[1].resources[0].usage.used: must be ≥ 0, is -1`, func(s *State) { s.Queues[1].Resources[0].Usage.Used = -1 }},
	{FaultRange, `queues[1].resources[0].usage.capacity: must be ≥ 0, is -1`, func(s *State) { s.Queues[1].Resources[0].Usage.Capacity = -1 }},
	{FaultExclusive, `queues[2].resources[1].usage: must not be given for a class (Q8), is 1`, func(s *State) { s.Queues[2].Resources[1].Usage = fairshare.Usage{Used: 1, Capacity: 2} }},
	{FaultRange, `pools[0].policy.usageStrengthMilli: must be ≤ 1000000, is 1000001`, func(s *State) { s.Pools[0].Policy.UsageStrengthMilli = 1_000_001 }},
	{FaultRange, `pools[0].policy.usagePeriod: must be > 0, is 0`, func(s *State) { s.Pools[0].Policy.UsagePeriod = quota.Of(0) }},
	{FaultRange, `pools[0].policy.usagePeriod: must be a number, is unlimited`, func(s *State) { s.Pools[0].Policy.UsagePeriod = quota.Unlimited() }},
	{FaultUnknownValue, `pools[0].policy.usageDecay: must be half-life, sliding or tumbling, is Decay(9)`, func(s *State) { s.Pools[0].Policy.UsageDecay = 9 }},
	// Time (B1–B11).
	{FaultRange, `workloads[0].duration: must be > 0, is 0`, func(s *State) { s.Workloads[0].Duration = quota.Of(0) }},
	{FaultRange, `workloads[0].timeLimit: must be ≤ 253402300800, is 253402300801`, func(s *State) { s.Workloads[0].TimeLimit = quota.Of(253402300801) }},
	{FaultRange, `workloads[0].timeLimit: must end before the year 10000, and from now on be < 251702300740, is 251702300740`, func(s *State) { s.Workloads[0].TimeLimit = quota.Of(251702300740) }},
	{FaultRange, `workloads[0].minDuration: must be ≥ 0, is -1`, func(s *State) { s.Workloads[0].MinDuration = -1 }},
	{FaultRange, `workloads[0].minDuration: must be ≤ 60, is 61`, func(s *State) { w := &s.Workloads[0]; w.MinDuration, w.Duration = 61, quota.Of(60) }},
	{FaultRange, `workloads[0].minDuration: must be ≤ 60, is 61`, func(s *State) { w := &s.Workloads[0]; w.MinDuration, w.TimeLimit = 61, quota.Of(60) }},
	{FaultRange, `workloads[0].fixedWork: must be ≥ 0, is -1`, func(s *State) { s.Workloads[0].FixedWork = -1 }},
	{FaultRange, `workloads[0].workDone: must be ≥ 0, is -1`, func(s *State) { s.Workloads[0].WorkDone = -1 }},
	{FaultRange, `queues[0].durations.max: must be > 0, is 0`, func(s *State) { s.Queues[0].Durations.Max = quota.Of(0) }},
	{FaultRange, `pools[0].policy.durations.default: must be > 0, is 0`, func(s *State) { s.Pools[0].Policy.Durations.Default = quota.Of(0) }},
	{FaultRange, `pools[0].policy.killGrace: must be ≥ 0, is -1`, func(s *State) { s.Pools[0].Policy.KillGrace = quota.Of(-1) }},
	{FaultRange, `pools[0].policy.reserve.depth: must be ≥ 0, is -1`, func(s *State) { s.Pools[0].Policy.Reserve.Depth = -1 }},
	{FaultRange, `pools[0].policy.reserve.maxHeldPercent: must be ≤ 100, is 101`, func(s *State) { s.Pools[0].Policy.Reserve.MaxHeldPercent = quota.Of(101) }},
	{FaultRange, `pools[0].policy.reserve.resolution: must be a number, is unlimited`, func(s *State) { s.Pools[0].Policy.Reserve.Resolution = quota.Unlimited() }},
	{FaultUnknownValue, `pools[0].policy.reserve.backfill: must be none, easy or conservative, is Backfill(9)`, func(s *State) { s.Pools[0].Policy.Reserve.Backfill = 9 }},
	{FaultUnknownDevice, `workloads[0].reserved.tasks[0].devices[0]: must be the index of a device, is 64`, func(s *State) {
		s.Workloads[0].Reserved = &Promise{Tasks: []Placement{{Node: "n0", Devices: []int{64}}}}
	}},
	{FaultDeviceTwice, `workloads[0].reserved.tasks[0].devices[1]: must be listed once, is 1`, func(s *State) {
		s.Workloads[0].Reserved = &Promise{Tasks: []Placement{{Node: "gone", Devices: []int{1, 1}}}}
	}},
	{FaultText, `workloads[0].reserved.waitsFor[0]: must be UTF-8 without control characters, is "\n"`, func(s *State) { s.Workloads[0].Reserved = &Promise{WaitsFor: []string{"\n"}} }},
	{FaultText, `workloads[0].tasks[0].behind: must be UTF-8 without control characters, is "\n"`, func(s *State) { s.Workloads[0].Tasks[0].Behind = "\n" }},
	{FaultEmpty, `reservations[0].nodes: must have at least one node, or domains one, is []`, func(s *State) { s.Reservations = []Reservation{{ID: "r"}} }},
	{FaultEmpty, `reservations[0].id: must not be empty, is ""`, func(s *State) { s.Reservations = []Reservation{{Nodes: []ReservedNode{{Node: "n0"}}}} }},
	{FaultEmpty, `reservations[0].workloads[0]: must not be empty, is ""`, func(s *State) { s.Reservations = []Reservation{{ID: "r", Workloads: []string{""}}} }},
	{FaultDuplicate, `reservations[1].id: must differ from reservations[0].id, is "r"`, func(s *State) { s.Reservations = []Reservation{{ID: "r"}, {ID: "r"}} }},
	{FaultDuplicate, `reservations[0].workloads[1]: must differ from reservations[0].workloads[0], is "w"`, func(s *State) { s.Reservations = []Reservation{{ID: "r", Workloads: []string{"w", "w"}}} }},
	{FaultDuplicate, `reservations[0].nodes[1].node: must differ from reservations[0].nodes[0].node, is "n0"`, func(s *State) {
		s.Reservations = []Reservation{{ID: "r", Nodes: []ReservedNode{{Node: "n0"}, {Node: "n0"}}}}
	}},
	{FaultUnknownNode, `reservations[0].nodes[0].node: must name a node, is "x"`, func(s *State) { s.Reservations = []Reservation{{ID: "r", Nodes: []ReservedNode{{Node: "x"}}}} }},
	{FaultUnknownDevice, `reservations[0].nodes[0].devices[0]: must be the index of one of the 4 devices of "n0", is 4`, func(s *State) {
		s.Reservations = []Reservation{{ID: "r", Nodes: []ReservedNode{{Node: "n0", Devices: []int{4}}}}}
	}},
	{FaultUnknownLevel, `reservations[0].domains[0].level: must name a level that is listed, or node, is ""`, func(s *State) {
		s.Reservations = []Reservation{{ID: "r", Domains: []ReservedDomain{{Devices: 1}}}}
	}},
	{FaultRange, `reservations[0].domains[0].devices: must be > 0, is 0`, func(s *State) {
		s.Reservations = []Reservation{{ID: "r", Domains: []ReservedDomain{{Level: NodeLevel}}}}
	}},
	{FaultText, `reservations[0].domains[0].domain: must be UTF-8 without control characters, is "\n"`, func(s *State) {
		s.Reservations = []Reservation{{ID: "r", Domains: []ReservedDomain{{Level: NodeLevel, Domain: "\n", Devices: 1}}}}
	}},
	{FaultDuplicate, `reservations[0].domains[1]: must be of another domain than reservations[0].domains[0], is "x"`, func(s *State) {
		s.Reservations = []Reservation{{ID: "r", Domains: []ReservedDomain{{Level: NodeLevel, Domain: "x", Devices: 1}, {Level: NodeLevel, Domain: "x", Devices: 2}}}}
	}},
	{FaultUnknownQueue, `reservations[0].queue: must name a queue, is "x"`, func(s *State) { s.Reservations = []Reservation{{ID: "r", Queue: "x"}} }},
	{FaultRange, `reservations[0].until: must be later than from, is 2023-11-14T22:13:20Z`, func(s *State) {
		s.Reservations = []Reservation{{ID: "r", From: time.Unix(1_700_000_000, 0), Until: time.Unix(1_700_000_000, 0)}}
	}},
	{FaultExclusive, `reservations[0].lend: must not be given where nobody is a member, is true`, func(s *State) { s.Reservations = []Reservation{{ID: "r", Lend: true}} }},
	{FaultExclusive, `reservations[0].drain: must not be given without evict, is true`, func(s *State) { s.Reservations = []Reservation{{ID: "r", Drain: true}} }},
	{FaultTooMany, `nodes[2].devices: must be at most 64, is 65`, func(s *State) { s.Nodes[2].Devices = make([]Device, 65) }},
	{FaultTooMany, `workloads: must have at most 16777216 tasks in all, is 2147483657 tasks`, func(s *State) { s.Workloads[2].PodSets[0].Count = math.MaxInt32 }},
	{FaultRange, `pools[1].maxTasks: must be ≥ 0, is -1`, func(s *State) { s.Pools[1].MaxTasks = -1 }},
	{FaultRange, `pools[1].maxTasksPerWorkload: must be ≤ 16777216, is 16777217`, func(s *State) { s.Pools[1].MaxTasksPerWorkload = 1<<24 + 1 }},
	{FaultTooMany, `workloads: must have at most 100 tasks in pool "p1", is 105 tasks`, func(s *State) {
		s.Pools[1].MaxTasks = 100
		s.Workloads[2].PodSets[0].Count = 101
	}},
	{FaultTooMany, `workloads[2].podSets: must have at most 100 tasks in all forms, is 101 tasks`, func(s *State) {
		s.Pools[1].MaxTasksPerWorkload = 100
		s.Workloads[2].PodSets[0].Count = 101
	}},
	{FaultTooMany, `workloads[2].alternatives: must be at most 32766, is 32767`, func(s *State) {
		s.Workloads[2].Alternatives = make([]Form, maxAlternatives+1)
	}},
	{FaultMinAboveCount, `workloads[0].podSets[0].min: must be ≤ 2, the count, is 3`, func(s *State) { s.Workloads[0].PodSets[0].Min = 3 }},
	{FaultMinAboveCount, `workloads[1].groups[0].min: must be ≤ 2, the number of its children, is 3`, func(s *State) { s.Workloads[1].Groups[0].Min = 3 }},
	{FaultMissingAboveCount, `workloads[0].podSets[0].missing: must be ≤ 2, the count, is 3`, func(s *State) { s.Workloads[0].PodSets[0].Missing = 3 }},
	{FaultExclusive, `workloads[1].alternatives[0].podSets[0].request.gpu.memory: must not be given together with milli, is 8`, func(s *State) {
		s.Workloads[1].Alternatives[0].PodSets[0].Request.GPU.Memory = 8
	}},
	{FaultExclusive, `workloads[1].podSets[0].step: must be by-one where there are several pod sets or groups (L1), is halving`, func(s *State) { s.Workloads[1].PodSets[0].Step = gang.Halving }},
	{FaultExclusive, `workloads[3].podSets[0].step: must be by-one where there are several pod sets or groups (L1), is halving`, func(s *State) {
		s.Workloads[3].PodSets[0].Group, s.Workloads[3].Groups = "g", []Group{{Name: "g"}}
	}},
	{FaultReservedResource, `nodes[0].capacity["gpu"]: must not be listed here: devices are the GPUs, is 4`, func(s *State) { s.Nodes[0].Capacity[GPU] = 4 }},
	{FaultReservedResource, `workloads[0].podSets[0].request.resources["gpu"]: must not be listed here: devices are the GPUs, is 4`, func(s *State) { s.Workloads[0].PodSets[0].Request.Resources[GPU] = 4 }},
	{FaultSelector, `queues[0].nodes.selector.expressions[0].values: must have a value for the operator, is ""`, func(s *State) {
		s.Queues[0].Nodes.Selector = &placement.Selector{Expressions: []placement.Expression{{Key: "k"}}}
	}},
	{FaultSelector, `workloads[0].podSets[0].request.selector.expressions[1].values[0]: must be a whole number, is "x"`, func(s *State) {
		s.Workloads[0].PodSets[0].Request.Selector.Expressions = []placement.Expression{
			{Key: "k", Operator: placement.Exists}, {Key: "k", Operator: placement.Gt, Values: []string{"x"}}}
	}},
	{FaultToleration, `workloads[0].podSets[0].request.tolerations[0].key: must not be empty, is ""`, func(s *State) {
		s.Workloads[0].PodSets[0].Request.Tolerations = []placement.Toleration{{}}
	}},
	{FaultToleration, `nodes[1].taints[1].key: must not be empty, is ""`, func(s *State) { s.Nodes[1].Taints = []placement.Taint{{Key: "k"}, {}} }},

	// The topology (T1 to T4, P8).
	{FaultEmpty, `levels[0].name: must not be empty, is ""`, func(s *State) { s.Levels[0].Name = "" }},
	{FaultText, `levels[1].name: must be UTF-8 without control characters, is "\n"`, func(s *State) { s.Levels[1].Name = "\n" }},
	{FaultDuplicate, `levels[1].name: must differ from levels[0].name, is "block"`, func(s *State) { s.Levels[1].Name = "block" }},
	{FaultDuplicate, `levels[1].name: must not be the name of the level of nodes, which is always there, is "node"`, func(s *State) { s.Levels[1].Name = NodeLevel }},
	{FaultTooMany, `levels: must be at most 64, is 65`, func(s *State) { s.Levels = make([]Level, maxLevels+1) }},
	{FaultUnknownLevel, `nodes[2].domains["zone"]: must name a level that is listed, is "zone"`, func(s *State) { s.Nodes[2].Domains = map[string]string{"zone": "z"} }},
	{FaultUnknownLevel, `nodes[2].domains["node"]: must name a level that is listed, is "node"`, func(s *State) { s.Nodes[2].Domains = map[string]string{NodeLevel: "n2"} }},
	{FaultText, `nodes[0].domains["rack"]: must be UTF-8 without control characters, is "\x00"`, func(s *State) { s.Nodes[0].Domains["rack"] = "\x00" }},
	{FaultRange, `nodes[0].devices[1].socket: must be ≥ 0, is -1`, func(s *State) { s.Nodes[0].Devices[1].Socket = -1 }},
	{FaultRange, `nodes[0].devices[1].switch: must be ≤ 64, is 65`, func(s *State) { s.Nodes[0].Devices[1].Switch = 65 }},
	{FaultUnknownHardware, `nodes[0].hardware: must name a known hardware, is "abacus"`, func(s *State) { s.Nodes[0].Hardware = "abacus" }},
	{FaultDeviceCount, `nodes[1].devices: must be the 8 devices of nvswitch-8, is 4`, func(s *State) { s.Nodes[1].Hardware = "nvswitch-8" }},
	{FaultUnknownDevice, `nodes[0].links[0].b: must be the index of one of the 4 devices, is 4`, func(s *State) { s.Nodes[0].Links[0].B = 4 }},
	{FaultUnknownDevice, `nodes[0].links[1].a: must be the index of one of the 4 devices, is -1`, func(s *State) { s.Nodes[0].Links[1].A = -1 }},
	{FaultDeviceTwice, `nodes[0].links[0].b: must be another device than a, is 0`, func(s *State) { s.Nodes[0].Links[0].B = 0 }},
	{FaultDuplicate, `nodes[0].links[1]: must be of another pair than nodes[0].links[0], is 0 and 1`, func(s *State) { s.Nodes[0].Links[1] = Link{A: 1, B: 0} }},
	{FaultRange, `nodes[0].links[0].nvlinks: must be ≤ 64, is 65`, func(s *State) { s.Nodes[0].Links[0].NVLinks = 65 }},
	{FaultTooMany, `nodes[0].links: must be at most 2016, is 2017`, func(s *State) { s.Nodes[0].Links = make([]Link, 2017) }},
	{FaultUnknownLevel, `workloads[0].topology.required: must name a level, is "zone"`, func(s *State) { s.Workloads[0].Topology.Required = "zone" }},
	{FaultUnknownLevel, `workloads[1].alternatives[0].topology.preferred: must name a level, is "zone"`, func(s *State) { s.Workloads[1].Alternatives[0].Topology.Preferred = "zone" }},
	{FaultUnknownLevel, `workloads[3].podSets[0].topology.slices[0].level: must name a level, is "zone"`, func(s *State) {
		s.Workloads[3].PodSets[0].Topology.Slices = []Slice{{1, "zone"}}
	}},
	{FaultLevelOrder, `workloads[0].topology.preferred: must be no wider than the required level, is "block"`, func(s *State) { s.Workloads[0].Topology.Required = NodeLevel }},
	{FaultLevelOrder, `workloads[1].groups[1].topology.preferred: must be no wider than the required level, is "block"`, func(s *State) {
		s.Workloads[1].Groups[1].Topology = Topology{Required: "rack", Preferred: "block"}
	}},
	{FaultUnknownValue, `workloads[0].topology.mode: must be pack, balance or spread, is Mode(9)`, func(s *State) { s.Workloads[0].Topology.Mode = 9 }},
	{FaultLevelRequired, `workloads[1].groups[0].topology.mode: must stand beside a required or preferred level, is spread`, func(s *State) {
		s.Workloads[1].Groups[0].Topology = Topology{Mode: gang.Spread}
	}},
	{FaultSlice, `workloads[0].topology.slices: must not be there: slices are of a pod set (T3), is 1`, func(s *State) { s.Workloads[0].Topology.Slices = []Slice{{1, "rack"}} }},
	{FaultSlice, `workloads[1].groups[0].topology.slices: must not be there: slices are of a pod set (T3), is 1`, func(s *State) {
		s.Workloads[1].Groups[0].Topology.Slices = []Slice{{1, "rack"}}
	}},
	{FaultRange, `workloads[0].podSets[0].topology.slices[0].size: must be > 0, is 0`, func(s *State) { s.Workloads[0].PodSets[0].Topology.Slices[0].Size = 0 }},
	{FaultEmpty, `workloads[0].podSets[0].topology.slices[0].level: must not be empty, is ""`, func(s *State) { s.Workloads[0].PodSets[0].Topology.Slices[0].Level = "" }},
	{FaultSlice, `workloads[0].podSets[0].topology.slices[0].size: must divide the count, 2, is 3`, func(s *State) { s.Workloads[0].PodSets[0].Topology.Slices[0].Size = 3 }},
	{FaultSlice, `workloads[3].podSets[0].topology.slices[0].size: must divide the minimum, 1, is 2`, func(s *State) {
		s.Workloads[3].PodSets[0].Topology.Slices = []Slice{{2, "rack"}}
	}},
	{FaultSlice, `workloads[0].podSets[0].topology.slices[1].size: must divide the size before, 1, is 2`, func(s *State) {
		s.Workloads[0].PodSets[0].Topology.Slices = []Slice{{1, "rack"}, {2, NodeLevel}}
	}},
	{FaultLevelOrder, `workloads[0].podSets[0].topology.slices[1].level: must be narrower than the level before, and no wider than the preferred, is "rack"`, func(s *State) {
		s.Workloads[0].PodSets[0].Topology.Slices = []Slice{{2, "rack"}, {1, "rack"}}
	}},
	{FaultLevelOrder, `workloads[0].podSets[0].topology.slices[0].level: must be narrower than the level before, and no wider than the preferred, is "block"`, func(s *State) {
		s.Workloads[0].PodSets[0].Topology.Slices[0].Level = "block"
	}},
	{FaultUnknownValue, `workloads[0].podSets[0].request.gpu.island: must be any, socket, switch or nvlink, is Island(9)`, func(s *State) { s.Workloads[0].PodSets[0].Request.GPU.Island = 9 }},
	{FaultUnknownValue, `workloads[0].podSets[0].request.gpu.preferIsland: must be any, socket, switch or nvlink, is Island(9)`, func(s *State) { s.Workloads[0].PodSets[0].Request.GPU.PreferIsland = 9 }},
	{FaultLevelOrder, `workloads[0].podSets[0].request.gpu.preferIsland: must be no wider than the island, is socket`, func(s *State) {
		s.Workloads[0].PodSets[0].Request.GPU.PreferIsland = placement.SocketIsland
	}},
	{FaultDevicesRequired, `workloads[3].podSets[0].request.gpu.island: must stand beside devices, is nvlink`, func(s *State) {
		s.Workloads[3].PodSets[0].Request.GPU.Island = placement.NVLinkIsland
	}},
	{FaultDevicesRequired, `pools[1].policy.scoring.mix[0].request.gpu.preferIsland: must stand beside devices, is socket`, func(s *State) {
		s.Pools[1].Policy.Scoring.Mix = []MixShape{{Weight: 1, Request: Request{GPU: GPURequest{PreferIsland: placement.SocketIsland}}}}
	}},
	{FaultUnknownValue, `pools[1].policy.fitting: must be any-nodes, whole-nodes or mixed-whole-nodes, is Fitting(3)`, func(s *State) { s.Pools[1].Policy.Fitting = 3 }},

	// Tasks and their places (S4, S5).
	{FaultOverbooked, `nodes[0].devices[1]: must hold the 2000 of what runs or terminates, is 1000`, func(s *State) {
		s.Workloads[0].Tasks = append(s.Workloads[0].Tasks, Task{Index: 1, Node: "n0", Devices: []int{1, 2}, Phase: Terminating})
	}},
	{FaultOverbooked, `nodes[0].capacity["cpu"]: must hold the 1000 of what runs or terminates, is 999`, func(s *State) { s.Nodes[0].Capacity[CPU] = 999 }},
	{FaultOverbooked, `nodes[0].capacity["cpu"]: must hold the 1000 of what runs or terminates, is 0`, func(s *State) { delete(s.Nodes[0].Capacity, CPU) }},
	{FaultOverbooked, `nodes[2].maxTasks: must hold the 4 of what runs or terminates, is 3`, func(s *State) {
		s.Nodes[2].MaxTasks = 3
		s.Workloads[2].Tasks = append(s.Workloads[2].Tasks, Task{Index: 7, Phase: Terminating, Node: "n2"})
	}},
	{FaultOverbooked, `nodes[0].devices[1]: must hold the 2000 of what runs or terminates, is 1000`, func(s *State) { // the old place of a move
		s.Workloads[0].Tasks = append(s.Workloads[0].Tasks,
			Task{Index: 1, Node: "n0", Devices: []int{1, 2}, Phase: Terminating}, Task{Index: 1, Node: "n0", Devices: []int{2, 3}, Phase: Claimed})
	}},
	{FaultOverbooked, `nodes[1].devices[3]: must hold the 1013 of what runs or terminates, is 1000`, func(s *State) {
		s.Workloads[1].Alternatives[0].PodSets[0] = PodSet{Count: 3, Request: Request{GPU: GPURequest{Memory: 27}}} // 81 of 80 bytes
		s.Workloads[1].Tasks = []Task{{Node: "n1", Devices: []int{3}}, {Index: 1, Node: "n1", Devices: []int{3}}, {Index: 2, Node: "n1", Devices: []int{3}}}
	}},
	{FaultClaimOverRunning, `nodes[0].devices[1]: must hold the 2000 of what runs or claims, is 1000`, func(s *State) {
		s.Workloads[0].Tasks = append(s.Workloads[0].Tasks, Task{Index: 1, Node: "n0", Devices: []int{1, 2}, Phase: Claimed})
	}},
	{FaultClaimOverRunning, `nodes[0].devices[1]: must hold the 2000 of what runs or claims, is 1000`, func(s *State) { // the new place of a move
		s.Workloads[0].Tasks = append(s.Workloads[0].Tasks,
			Task{Index: 1, Node: "n0", Devices: []int{2, 3}, Phase: Terminating}, Task{Index: 1, Node: "n0", Devices: []int{1, 2}, Phase: Claimed})
	}},
	{FaultTaskTwice, `workloads[3].tasks[2]: must be another task than workloads[3].tasks[1], is "" 1`, func(s *State) { s.Workloads[3].Tasks[1].Phase = Running }},
	{FaultTaskTwice, `workloads[3].tasks[2]: must be another task than workloads[3].tasks[1], is "" 1`, func(s *State) { s.Workloads[3].Tasks[1].Phase = Claimed }},
	{FaultTaskTwice, `workloads[3].tasks[2]: must be another task than workloads[3].tasks[1], is "" 1`, func(s *State) { s.Workloads[3].Tasks[2].Phase = Terminating }},
	{FaultTaskTwice, `workloads[3].tasks[3]: must be another task than workloads[3].tasks[1], is "" 1`, func(s *State) {
		s.Workloads[3].Tasks = append(s.Workloads[3].Tasks, s.Workloads[3].Tasks[2])
	}},
	{FaultTaskTwice, `workloads[0].tasks[1]: must be another task than workloads[0].tasks[0], is "" 0`, func(s *State) {
		s.Workloads[0].Tasks = append(s.Workloads[0].Tasks, Task{Node: "n1", Devices: []int{0, 1}, Phase: Terminating})
	}},
	{FaultTaskIndex, `workloads[0].tasks[0].index: must be < 2, the tasks submitted, is 2`, func(s *State) { s.Workloads[0].Tasks[0].Index = 2 }},
	{FaultTaskIndex, `workloads[0].tasks[0].index: must be < 1, the tasks submitted, is 1`, func(s *State) {
		s.Workloads[0].Tasks[0].Index, s.Workloads[0].PodSets[0].Missing = 1, 1
	}},
	{FaultTaskPhase, `workloads[1].tasks[0].phase: must be claimed, as tasks of another form are leaving, is running`, func(s *State) {
		leaveOther(s)
		s.Workloads[1].Tasks[0].Phase = Running
	}},
	{FaultUnknownPodSet, `workloads[1].tasks[1].podSet: must name a pod set of the form, is ""`, func(s *State) {
		leaveOther(s)
		s.Workloads[1].Tasks[1].PodSet = ""
	}},
	{FaultDeviceCount, `workloads[1].tasks[1].devices: must be 0 devices, as requested, is 1`, func(s *State) {
		leaveOther(s)
		s.Workloads[1].Tasks[1].Devices = []int{0}
	}},
	{FaultTaskPhase, `workloads[0].tasks[0].phase: must be terminating, as the workload is ending, is running`, func(s *State) { s.Workloads[0].Ending = true }},
	{FaultDeviceTwice, `workloads[0].tasks[0].devices[1]: must be listed once, is 0`, func(s *State) { s.Workloads[0].Tasks[0].Devices[1] = 0 }},
	{FaultDeviceCount, `workloads[0].tasks[0].devices: must be 2 devices, as requested, is 1`, func(s *State) { s.Workloads[0].Tasks[0].Devices = []int{0} }},
	{FaultDeviceCount, `workloads[1].tasks[0].devices: must be 1 devices, as requested, is 0`, func(s *State) { s.Workloads[1].Tasks[0].Devices = nil }},
	{FaultMixedModels, `workloads[0].tasks[0].devices: must be of one model, is "A" and "B"`, func(s *State) {
		s.Workloads[0].Tasks[0].Node, s.Workloads[0].Tasks[0].Devices = "n1", []int{1, 2}
	}},
}

// V1: every fault is found, told in full, and found again by its code.
func TestCheckFaults(t *testing.T) {
	if err := Check(sound()); err != nil {
		t.Fatal(err)
	}
	for _, row := range faultRows {
		t.Run(row.want, func(t *testing.T) {
			s := sound()
			row.spoil(s)
			err := Check(s)
			var all *InvalidError
			if !errors.As(err, &all) || !errors.Is(err, row.code) {
				t.Fatalf("got %v, want code %v", err, row.code)
			}
			for _, f := range all.Faults {
				if f.ID == idOf(s, f.Path) && nameless(f) == row.want && f.Code == row.code && f.Path != "" && f.Value != "" {
					return
				}
			}
			t.Errorf("got %v", err)
		})
	}
}

// nameless is the text of a fault without the ID of its object.
func nameless(f Fault) string {
	f.ID = ""
	return f.String()
}

// idOf is the ID of the object into which a path leads but for the ID itself, found by
// looking at all objects that there are.
func idOf(s *State, path string) string {
	ids := make(map[string]string)
	note := func(list, field string, i int, id string) {
		ids[fmt.Sprintf("%s[%d]", list, i)] = id
		ids[fmt.Sprintf("%s[%d].%s", list, i, field)] = ""
	}
	for i, n := range s.Nodes {
		note("nodes", "id", i, n.ID)
	}
	for i, p := range s.Pools {
		note("pools", "id", i, p.ID)
	}
	for i, q := range s.Queues {
		note("queues", "id", i, q.ID)
	}
	for i, w := range s.Workloads {
		note("workloads", "id", i, w.ID)
	}
	for i, b := range s.Budgets {
		note("budgets", "owner", i, b.Owner)
	}
	for i, l := range s.Levels {
		note("levels", "name", i, l.Name)
	}
	for i, r := range s.Reservations {
		note("reservations", "id", i, r.ID)
	}
	if id, known := ids[path]; known {
		return id
	}
	return ids[path[:strings.IndexByte(path+"]", ']')]+"]"]
}

// V1: a fault names its object beside the place in the list.
func TestFaultNamesItsNoun(t *testing.T) {
	const want = "workloads[0] (\"my train\").podSets[0].count: must be > 0, is 0"
	err := Check(&State{Workloads: []Workload{{ID: "my train", PodSets: []PodSet{{}}}}})
	var all *InvalidError
	if !errors.As(err, &all) || all.Faults[0].String() != want || all.Faults[0].ID != "my train" {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Every code has a text of its own and a row in a test.
func TestFaultCodesHaveRows(t *testing.T) {
	rows := make(map[FaultCode]bool)
	for _, row := range faultRows {
		rows[row.code] = true
	}
	for _, row := range jsonRows {
		rows[row.code] = true
	}
	for _, row := range warningRows {
		rows[row.code] = true
	}
	// These need the use of queues, or of strategies, which only a solve knows.
	rows[WarnNonPreemptibleOverQuota], rows[WarnOverLimit] = true, true
	rows[WarnMixUnused], rows[WarnMixEmpty], rows[WarnWorkOutsidePool], rows[WarnQuotaOutOfReach] = true, true, true, true
	rows[WarnDeadlineMissed], rows[WarnAmountUnmet] = true, true
	rows[WarnQuotaForNobody], rows[WarnSurplusForNobody] = true, true
	// Nothing of a State can name what is not there so, but a Change can.
	rows[FaultUnknownWorkload], rows[FaultUnknownBudget], rows[FaultUnknownReservation] = true, true, true
	texts := make(map[string]FaultCode)
	for code := FaultCode(1); code < faultCodes; code++ {
		text, err := code.MarshalText()
		if err != nil || len(text) == 0 {
			t.Errorf("code %d has no text", code)
		}
		if first, twice := texts[string(text)]; twice {
			t.Errorf("codes %d and %d are both %s", first, code, text)
		}
		texts[string(text)] = code
		var back FaultCode
		if err := back.UnmarshalText(text); err != nil || back != code {
			t.Errorf("code %d comes back from %s as %d, %v", code, text, back, err)
		}
		if !rows[code] {
			t.Errorf("no row tests %v", code)
		}
	}
}

// V1: all at once, in the order of the state.
func TestCheckReportsAllFaults(t *testing.T) {
	s := sound()
	s.Revision = "\n"
	s.Nodes[0].Capacity[CPU] = 999 // found last, by the tasks
	s.Nodes[0].Capacity["b"], s.Nodes[0].Capacity["a"] = -1, -1
	s.Nodes[1].Devices[2].Memory = -1
	s.Queues[2].Parent = "q1"
	s.Workloads[1].Alternatives[0].PodSets[0].Count = 0
	s.Workloads[1].PodSets[0].Count = 0
	s.Workloads[1].Queue = "nowhere"
	var got []string
	var all *InvalidError
	if !errors.As(Check(s), &all) {
		t.Fatal("no faults")
	}
	for _, f := range all.Faults {
		got = append(got, f.Path)
	}
	want := []string{
		"revision", `nodes[0].capacity["a"]`, `nodes[0].capacity["b"]`, `nodes[0].capacity["cpu"]`, "nodes[1].devices[2].memory",
		"queues[2].parent", "workloads[1].queue", "workloads[1].podSets[0].count",
		"workloads[1].alternatives[0].podSets[0].count", "workloads[1].tasks[0].index",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got, want := strings.Count(all.Error(), "\n"), len(want); got != want {
		t.Errorf("%d lines, want %d", got, want)
	}
}

func TestCheckZero(t *testing.T) {
	if err := Check(nil); err != nil {
		t.Error(err)
	}
	if err := Check(new(State)); err != nil {
		t.Error(err)
	}
}

// S7, S8: what went wrong in the cluster is no fault of the state.
func TestCheckAllowsWhatHappens(t *testing.T) {
	s := sound()
	s.Nodes[0].Lost = true
	s.Nodes[1].Devices[3].Unhealthy = true
	s.Nodes[0].Foreign = map[string]int64{CPU: MaxAmount, "other": 1}
	s.Nodes[0].Devices[0].Foreign = 1000
	s.Nodes[0].ForeignTasks = math.MaxInt32
	s.Queues[1].Resources[0].Limit = quota.Of(0)
	s.Queues[2].Resources = append(s.Queues[2].Resources, QueueResource{Resource: "no node has it"})
	s.Workloads[2].PodSets[0].Request.Resources = map[string]int64{"nor this": 0}
	s.Workloads[0].PodSets[0].Request.GPU.Models = []string{"gone"}
	s.Budgets = nil // an owner needs no budget
	if err := Check(s); err != nil {
		t.Error(err)
	}
}

// V1: whatever is put where, Check answers, and every fault has a place, a code
// and a sentence.
func TestCheckNeverPanics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genState(t)
		for range rapid.IntRange(1, 4).Draw(t, "spoils") {
			row := rapid.SampledFrom(faultRows).Draw(t, "row")
			func() {
				defer func() { _ = recover() }() // the row wants more than there is
				row.spoil(s)
			}()
		}
		var all *InvalidError
		if err := Check(s); err != nil && !errors.As(err, &all) {
			t.Fatalf("unexpected error: %v", err)
		}
		if all == nil {
			return
		}
		for _, f := range all.Faults {
			if f.Path == "" || f.Want == "" || !prose.Known(faultNames[:], f.Code) {
				t.Fatalf("bare fault %#v", f)
			}
		}
	})
}

// V1: an exit code is one of 32 bits, which is only a question where int has
// more.
func TestCheckExitCodes(t *testing.T) {
	if strconv.IntSize == 32 {
		t.Skip("an int cannot be out of range here")
	}
	above, below := int64(math.MaxInt32)+1, int64(math.MinInt32)-1
	for want, spoil := range map[string]func(*State){ // each by itself: order cannot matter
		`pools[1] (p1).policy.preemptedExitCode: must be ≤ 2147483647, is 2147483648`: func(s *State) {
			s.Pools[1].Policy.PreemptedExitCode = int(above)
		},
		`workloads[0] (w0).exitActions[0].code: must be ≥ -2147483648, is -2147483649`: func(s *State) {
			s.Workloads[0].ExitActions[0].Code = int(below)
		},
	} {
		s := sound()
		spoil(s)
		var all *InvalidError
		if err := Check(s); !errors.As(err, &all) || !errors.Is(err, FaultRange) || all.Faults[0].String() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// addPools adds pools of all nodes, of which p1 is another.
func addPools(s *State, n int) {
	s.Pools[1].Nodes = NodeSet{}
	for i := range n {
		s.Pools = append(s.Pools, Pool{ID: fmt.Sprint("x", i)})
	}
}

// The nodes of a selector are looked for among those that have the rarest of the labels that it demands (V1).
func TestNodeFinderNarrows(t *testing.T) {
	nodes := make([]Node, 100)
	for i := range nodes {
		nodes[i] = Node{ID: fmt.Sprint("n", i), Labels: map[string]string{"all": "same", "own": fmt.Sprint(i)}}
	}
	find := newNodeFinder(nodes, nodeIDs(nodes))
	for _, s := range []placement.Selector{
		{Labels: map[string]string{"all": "same", "own": "7"}},
		{Labels: map[string]string{"all": "same"}, Expressions: []placement.Expression{{Key: "own", Operator: placement.In, Values: []string{"7"}}}},
	} {
		lists, narrowed := find.fewest(&s)
		looked := 0
		for _, list := range lists {
			looked += len(list)
		}
		if got := find.of(&NodeSet{Selector: &s}); !narrowed || looked != 1 || !slices.Equal(got, []int32{7}) {
			t.Errorf("%+v: %d nodes are looked at, and it is %v", s, looked, got)
		}
	}
	none := placement.Selector{Expressions: []placement.Expression{{Key: "own", Operator: placement.NotIn, Values: []string{"7"}}}}
	if got := find.of(&NodeSet{Selector: &none}); len(got) != 99 || slices.Contains(got, 7) {
		t.Errorf("%d nodes have another label", len(got))
	}
}
