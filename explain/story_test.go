package explain

import (
	"github.com/allotsched/allot"
	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// storyPlan is a plan with something of everything that a plan can tell.
func storyPlan() *allot.Plan {
	return &allot.Plan{
		Revision: "r 7",
		Actions: []allot.Action{
			{Kind: allot.Displace, Workload: "q1/wf3", Queue: "q1", Tasks: []allot.Placement{{Node: "n2", Devices: []int{0}}}, Reason: allot.Reason{Code: allot.NodeLost, Node: "n2"}},
			{Kind: allot.Unclaim, Workload: "wf4", Queue: "q1", Form: 1, Tasks: []allot.Placement{{PodSet: "w", Index: 1, Node: "n2", Devices: []int{3}}}, Reason: allot.Reason{Code: allot.PlaceLost, Form: 1, Node: "n2"}},
			{Kind: allot.Start, Workload: "q2/wf5", Queue: "q2", Tasks: []allot.Placement{{Node: "n0", Devices: []int{2}}}},
			{Kind: allot.Start, Workload: "train", Queue: "team", Tasks: []allot.Placement{
				{PodSet: "leader", Node: "n0"},
				{PodSet: "workers", Index: 0, Node: "n0", Devices: []int{0, 1, 3}}, {PodSet: "workers", Index: 1, Node: "n1", Devices: []int{0, 1, 2, 3, 4, 5, 6, 7}},
				{PodSet: "workers", Index: 3, Node: "n1 b", Devices: []int{0}},
			}},
			{Kind: allot.Evict, Workload: "q1/wf6", Queue: "q1", Tasks: []allot.Placement{{Node: "n3", Devices: []int{0, 1}}},
				Reason: allot.Reason{Code: allot.ReclaimedByQuota, Workload: "q2/wf8", Queue: "q1", Resource: allot.GPU, Have: 3000, Need: 2000,
					Subtrees: &allot.Subtrees{Victim: allot.Subtree{Queue: "q1", Before: 3000, After: 1000, Entitlement: 2000}, Preemptor: allot.Subtree{Queue: "q2", After: 2000, Entitlement: 2000}}},
				Ending: allot.Ending{Status: "FAILED_PREEMPTED", ExitCode: 3006, Final: true, Checkpoint: true}},
			{Kind: allot.Evict, Workload: "q1/wf7", Queue: "q1", Tasks: []allot.Placement{{Node: "n3", Devices: []int{2}}},
				Reason: allot.Reason{Code: allot.Preempted, Workload: "q1/wf9"}, Ending: allot.Ending{Status: "gave way"}},
			{Kind: allot.Shrink, Workload: "el", Queue: "q1", Tasks: []allot.Placement{{Index: 2, Node: "n3", Devices: []int{3}}, {Index: 3, Node: "n3", Devices: []int{4}}},
				Reason: allot.Reason{Code: allot.Preempted, Workload: "q1/wf9"}},
			{Kind: allot.Move, Workload: "q1/wf10", Queue: "q1", Tasks: []allot.Placement{{Node: "n5", Devices: []int{3}}}, From: []allot.Placement{{Node: "n3", Devices: []int{5}}},
				Reason: allot.Reason{Code: allot.Consolidated, Workload: "q1/wf9"}},
			{Kind: allot.Move, Workload: "q1/wf11", Queue: "q1",
				Tasks: []allot.Placement{{PodSet: "leader", Node: "n5"}, {PodSet: "workers", Index: 1, Node: "n5", Devices: []int{4}}, {PodSet: "workers", Index: 2, Node: "n6", Devices: []int{0}}},
				From:  []allot.Placement{{PodSet: "leader", Node: "n3"}, {PodSet: "workers", Index: 1, Node: "n3", Devices: []int{6}}, {PodSet: "workers", Index: 2, Node: "n3", Devices: []int{7}}},
				After: []string{"el"}, Reason: allot.Reason{Code: allot.Consolidated, Workload: "q1/wf9"}},
			{Kind: allot.Start, Workload: "q1/wf9", Queue: "q1", Tasks: []allot.Placement{{Node: "n3", Devices: []int{0, 1, 2, 3, 4, 5, 6, 7}}},
				After: []string{"a b", "el", "q1/wf6"}},
			{Kind: allot.Resize, Workload: "cpu", Tasks: []allot.Placement{{Index: 4, Node: "n0"}, {Index: 5, Node: "n0"}, {Index: 7, Node: "n1"}}},
		},
		Pending: []allot.Pending{{Workload: "wf7", Queue: "q1", Reasons: []allot.Reason{
			{Code: allot.OverLimit, Queue: "q1", Resource: allot.GPU, Have: 500, Need: 2000},
			{Code: allot.NoNode, PodSet: "workers", Nodes: []allot.PredicateCount{{Predicate: placement.Model, Nodes: 3}, {Predicate: placement.Resources, Resource: allot.Memory, Nodes: 1}},
				Nearest: &allot.Nearest{Node: "n0", Predicate: placement.Resources, Resource: allot.Memory, Have: 3 << 30, Need: 4 << 30}},
		}}},
		Shares: []allot.Share{
			{Pool: "p", Queue: "q1", Resource: allot.GPU, Quota: quota.Of(2000), Limit: quota.Unlimited(), Used: 3500, InQuota: 2000, OverQuota: 1500, NonPreemptible: 1000, Demand: 12000, FairShare: 4000,
				State: fairshare.OverQuota, Borrowed: 1500, Reachable: 8000, PoolTotal: 16000},
			{Pool: "p", Queue: "q2", Resource: allot.GPU, Class: "H100", Limit: quota.Of(0), Lent: 1500},
			{Pool: "p", Resource: allot.Memory, Quota: quota.Of(64 << 30), Limit: quota.Unlimited(), Used: 1 << 20},
		},
		Warnings: []allot.Fault{{Path: `queues["q1"].resources["gpu"].quota`, Code: allot.WarnQuotaAboveParent, Value: "9000", Want: `should be at most the 8000 of its parent "d"`}},
		Work:     allot.Work{Turns: 3},
	}
}
