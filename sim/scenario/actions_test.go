package scenario

import (
	"testing"
	"time"

	"github.com/allotsched/allot"
)

// TestFormatAction: each kind of action as rows write it.
func TestFormatAction(t *testing.T) {
	place := func(node string, devices ...int) []allot.Placement {
		return []allot.Placement{{Node: node, Devices: devices}}
	}
	reclaim := allot.Reason{
		Code: allot.ReclaimedByQuota, Workload: "wf5", Queue: "q1", Resource: "gpu", Have: 3000, Need: 2000,
		Subtrees: &allot.Subtrees{
			Victim:    allot.Subtree{Queue: "q1", Before: 3000, After: 2000, Entitlement: 2000},
			Preemptor: allot.Subtree{Queue: "q2", Before: 1000, After: 2000, Entitlement: 2000},
		},
	}
	preempted := allot.Reason{Code: allot.Preempted, Workload: "wf5"}
	ending := func(e allot.Ending) allot.Action {
		return allot.Action{Kind: allot.Evict, Workload: "wf3", Queue: "q1", Tasks: place("n0", 2), Reason: preempted, Ending: e}
	}
	tests := []struct {
		want   string
		action allot.Action
	}{
		{
			"evict q1/wf3 n0[2] for q2/wf5 reclaim-quota q1 gpu 3 of 2",
			allot.Action{Kind: allot.Evict, Workload: "wf3", Queue: "q1", Tasks: place("n0", 2), Reason: reclaim},
		},
		{
			"shrink q1/wf3 1@n0[1] for q2/wf5 reclaim-quota q1 gpu 3 of 2",
			allot.Action{
				Kind: allot.Shrink, Workload: "wf3", Queue: "q1", Reason: reclaim,
				Tasks: []allot.Placement{{Index: 1, Node: "n0", Devices: []int{1}}},
			},
		},
		{
			"move q1/wf3 n0[2] -> n1[0] for q2/wf5 consolidate after q1/wf4",
			allot.Action{
				Kind: allot.Move, Workload: "wf3", Queue: "q1", From: place("n0", 2), Tasks: place("n1", 0), After: []string{"wf4"},
				Reason: allot.Reason{Code: allot.Consolidated, Workload: "wf5"},
			},
		},
		{
			"move d/q form=1 a:2@n0 a@n0 b@n1[0-1] -> a:2@n1 a@n2 b@n0[2-3] for q2/wf5 reclaim-quota q1 gpu 3 of 2",
			allot.Action{
				Kind: allot.Move, Workload: "q", Queue: "d", Form: 1, Reason: reclaim,
				From: []allot.Placement{
					{PodSet: "a", Index: 2, Node: "n0"}, {PodSet: "a", Index: 3, Node: "n0"}, {PodSet: "b", Node: "n1", Devices: []int{0, 1}},
				},
				Tasks: []allot.Placement{
					{PodSet: "a", Index: 2, Node: "n1"}, {PodSet: "a", Index: 3, Node: "n2"}, {PodSet: "b", Node: "n0", Devices: []int{2, 3}},
				},
			},
		},
		{
			"start q2/wf5 n0[2] after q1/wf3,wf6",
			allot.Action{Kind: allot.Start, Workload: "wf5", Queue: "q2", Tasks: place("n0", 2), After: []string{"wf3", "wf6"}},
		},
		{
			"resize q2/wf5 n0[2]",
			allot.Action{Kind: allot.Resize, Workload: "wf5", Queue: "q2", Tasks: place("n0", 2), Reason: allot.Reason{Code: allot.Grown}},
		},
		{"evict q1/wf3 n0[2] for q2/wf5 preempt", ending(allot.Ending{})},
		{
			"evict q1/wf3 n0[2] for q2/wf5 preempt ends FAILED_PREEMPTED 3006",
			ending(allot.Ending{Final: true, Status: "FAILED_PREEMPTED", ExitCode: 3006}),
		},
		{
			"evict q1/wf3 n0[2] for q2/wf5 preempt exits FAILED_PREEMPTED 3006 checkpoint",
			ending(allot.Ending{Status: "FAILED_PREEMPTED", ExitCode: 3006, Checkpoint: true}),
		},
		{"evict q1/wf3 n0[2] for q2/wf5 preempt exits 7", ending(allot.Ending{ExitCode: 7})},
		{"evict q1/wf3 n0[2] for q2/wf5 preempt ends", ending(allot.Ending{Final: true})},
		{"evict q1/wf3 n0[2] for q2/wf5 preempt checkpoint", ending(allot.Ending{Checkpoint: true})},
		{
			"evict q1/wf3 n0[2] stale-gang have 1 need 2",
			allot.Action{
				Kind: allot.Evict, Workload: "wf3", Queue: "q1", Tasks: place("n0", 2),
				Reason: allot.Reason{Code: allot.StaleGang, Have: 1, Need: 2},
			},
		},
		{
			"unclaim q1/wf3 n0[2] for q2/wf5 preempt",
			allot.Action{Kind: allot.Unclaim, Workload: "wf3", Queue: "q1", Tasks: place("n0", 2), Reason: preempted},
		},
		{
			"unclaim q1/wf3 n0[2]: place-lost n0",
			allot.Action{
				Kind: allot.Unclaim, Workload: "wf3", Queue: "q1", Tasks: place("n0", 2),
				Reason: allot.Reason{Code: allot.PlaceLost, Node: "n0"},
			},
		},
	}
	queues := queuesByID{"wf3": "q1", "wf4": "q1", "wf5": "q2"}
	for _, test := range tests {
		if got := formatAction(&test.action, queues); got != test.want {
			t.Errorf("%s\nwant %s", got, test.want)
		}
	}
}

// TestFormatReason: the reasons of who could not make room, and a reclaim in
// full.
func TestFormatReason(t *testing.T) {
	tests := []struct {
		want    string
		details bool
		reason  allot.Reason
	}{
		{"over-line q gpu have 1 need 2", false, allot.Reason{Code: allot.OverLine, Queue: "q", Resource: "gpu", Have: 1000, Need: 2000}},
		{
			"protected-until have 0 need 2 until 90s", false,
			allot.Reason{Code: allot.ProtectedUntil, Need: 2, Until: epoch.Add(90 * time.Second)},
		},
		{"budget-spent have 0 need 1", false, allot.Reason{Code: allot.BudgetSpent, Need: 1}},
		{"saturation-turns wf3 have 0 need 1", false, allot.Reason{Code: allot.SaturationTurns, Workload: "wf3", Need: 1}},
		{"victims-short", false, allot.Reason{Code: allot.VictimsShort}},
		{
			"reclaim-share q1 wf5 gpu have 3 need 2.5 victim q1 3 then 2 of 2.5 preemptor q2 1 then 2 of 2.5", true,
			allot.Reason{
				Code: allot.ReclaimedByShare, Queue: "q1", Workload: "wf5", Resource: "gpu", Have: 3000, Need: 2500,
				Subtrees: &allot.Subtrees{
					Victim:    allot.Subtree{Queue: "q1", Before: 3000, After: 2000, Entitlement: 2500},
					Preemptor: allot.Subtree{Queue: "q2", Before: 1000, After: 2000, Entitlement: 2500},
				},
			},
		},
	}
	for _, test := range tests {
		if got := formatReason(&test.reason, test.details); got != test.want {
			t.Errorf("%s\nwant %s", got, test.want)
		}
	}
}
