package verify

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// gpus is a request for n whole devices.
func gpus(n int) allot.Request { return allot.Request{GPU: allot.GPURequest{Count: n}} }

// single is a workload of one task.
func single(id, queue string, r allot.Request, tasks ...allot.Task) allot.Workload {
	return allot.Workload{ID: id, Queue: queue, PodSets: []allot.PodSet{{Count: 1, Request: r}}, Tasks: tasks}
}

// node is a node with n devices.
func node(id string, n int) allot.Node {
	devices := make([]allot.Device, n)
	for i := range devices {
		devices[i] = allot.Device{Model: "H100", Memory: 80}
	}
	return allot.Node{ID: id, Devices: devices}
}

func at(index int, node string, devices ...int) allot.Placement {
	return allot.Placement{Index: index, Node: node, Devices: devices}
}

func task(phase allot.Phase, index int, node string, devices ...int) allot.Task {
	return allot.Task{Phase: phase, Index: index, Node: node, Devices: devices}
}

// lifecycle is a state in the middle of everything, and a lawful plan for it,
// worked out by hand.
//
// Usable are n0 and n1 with 4 devices each; "cordoned" and "lost" are what
// they are called. Queues a (quota 4, limit 5) and b (quota 2, of which it
// lends 1) are all of dep.
func lifecycle() (*allot.State, *allot.Plan) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	cordoned, lost := node("cordoned", 1), node("lost", 1)
	cordoned.Cordoned, lost.Lost = true, true
	lost.Devices[0].Model = "V100"
	gang := allot.Workload{ID: "gang", Queue: "a", Preemption: allot.NonPreemptible,
		PodSets: []allot.PodSet{{Count: 2, Request: gpus(1)}}}
	elastic := allot.Workload{ID: "elastic", Queue: "b", PodSets: []allot.PodSet{{Count: 3, Min: 1, Request: gpus(1)}},
		Tasks: []allot.Task{task(allot.Running, 0, "n1", 2)}}
	end := single("end", "a", gpus(1), task(allot.Terminating, 0, "n0", 3))
	end.Ending = true
	onlyV100 := allot.Request{GPU: allot.GPURequest{Count: 1, Models: []string{"V100"}}}
	s := &allot.State{
		Now:      now,
		Revision: "7",
		Nodes:    []allot.Node{node("n0", 4), node("n1", 4), cordoned, lost},
		Queues: []allot.Queue{
			{ID: "dep"},
			{ID: "a", Parent: "dep", Resources: []allot.QueueResource{
				{Resource: allot.GPU, Quota: quota.Of(4000), Limit: quota.Of(5000)}}},
			{ID: "b", Parent: "dep", Resources: []allot.QueueResource{
				{Resource: allot.GPU, Quota: quota.Of(2000), LendingLimit: quota.Of(1000)}}},
		},
		Workloads: []allot.Workload{
			single("run", "a", gpus(1), task(allot.Running, 0, "n0", 0)),
			single("displaced", "a", onlyV100, task(allot.Running, 0, "lost", 0)),
			single("claim", "b", gpus(1), task(allot.Claimed, 0, "n0", 1)),
			single("held", "b", gpus(1), task(allot.Claimed, 0, "n0", 2)),
			single("leave", "a", gpus(1), task(allot.Terminating, 0, "n0", 2)),
			single("unclaim", "b", gpus(1), task(allot.Claimed, 0, "cordoned", 0)),
			single("wait", "a", gpus(2)),
			end, gang, elastic,
		},
	}
	return s, lifecyclePlan()
}

// The actions of lifecyclePlan.
const (
	displaceLost = iota
	unclaimCordoned
	startClaimed
	startGang
	resizeElastic
)

// The shares of lifecyclePlan.
const (
	shareA = iota
	shareB
	shareDep
)

func lifecyclePlan() *allot.Plan {
	return &allot.Plan{
		Revision: "7",
		Actions: []allot.Action{
			displaceLost: {Kind: allot.Displace, Workload: "displaced", Queue: "a",
				Tasks: []allot.Placement{at(0, "lost", 0)}, Reason: allot.Reason{Code: allot.NodeLost, Node: "lost"}},
			unclaimCordoned: {Kind: allot.Unclaim, Workload: "unclaim", Queue: "b",
				Tasks: []allot.Placement{at(0, "cordoned", 0)}, Reason: allot.Reason{Code: allot.PlaceLost, Node: "cordoned"}},
			startClaimed: {Kind: allot.Start, Workload: "claim", Queue: "b",
				Tasks: []allot.Placement{at(0, "n0", 1)}},
			startGang: {Kind: allot.Start, Workload: "gang", Queue: "a",
				Tasks: []allot.Placement{at(0, "n1", 0), at(1, "n1", 1)}},
			resizeElastic: {Kind: allot.Resize, Workload: "elastic", Queue: "b",
				Tasks: []allot.Placement{at(1, "n1", 3)}, Reason: allot.Reason{Code: allot.Grown}},
		},
		Pending: []allot.Pending{
			{Workload: "displaced", Queue: "a", Reasons: []allot.Reason{{Code: allot.ImpossibleNode, Nodes: []allot.PredicateCount{
				{Predicate: placement.Cordoned, Nodes: 1}, {Predicate: placement.Model, Nodes: 2}}}}},
			{Workload: "held", Queue: "b", Reasons: []allot.Reason{{Code: allot.ClaimHeld, Need: 1}}},
			{Workload: "leave", Queue: "a", Reasons: []allot.Reason{{Code: allot.Leaving, Need: 1}}},
			{Workload: "unclaim", Queue: "b", Reasons: []allot.Reason{{Code: allot.NoCapacity, Resource: allot.GPU, Have: 0, Need: 1000}}},
			{Workload: "wait", Queue: "a", Reasons: []allot.Reason{{Code: allot.NoCapacity, Resource: allot.GPU, Have: 0, Need: 2000}}},
		},
		// Demand: a is asked run and leave 1 each, gang and wait 2, displaced nothing, as it is impossible; b
		// claim, held, unclaim 1, elastic 3. Of the 8 devices the quotas get 6,
		// the surplus of 2 goes to a (weight 4, capped by its limit 5), then b.
		Shares: []allot.Share{
			shareA: {Queue: "a", Resource: allot.GPU, Quota: quota.Of(4000), Limit: quota.Of(5000),
				Used: 3000, InQuota: 3000, NonPreemptible: 2000, Demand: 6000, FairShare: 5000,
				Divided: true, State: fairshare.InQuota, Lent: 1000, Reachable: 8000, PoolTotal: 8000},
			shareB: {Queue: "b", Resource: allot.GPU, Quota: quota.Of(2000), Limit: quota.Unlimited(),
				Used: 4000, InQuota: 2000, OverQuota: 2000, Borrowed: 2000, Demand: 6000, FairShare: 3000,
				Divided: true, State: fairshare.OverFairShare, Reachable: 8000, PoolTotal: 8000},
			shareDep: {Queue: "dep", Resource: allot.GPU, Quota: quota.Of(6000), Limit: quota.Unlimited(),
				Used: 7000, InQuota: 6000, OverQuota: 1000, Borrowed: 1000, NonPreemptible: 2000,
				Demand: 12000, FairShare: 8000, Divided: true, State: fairshare.OverQuota, Reachable: 8000, PoolTotal: 8000},
		},
	}
}

// TestLifecycleFiles: the tests of package allot, which cannot import this one,
// read lifecycle from files.
func TestLifecycleFiles(t *testing.T) {
	s, p := lifecycle()
	for name, value := range map[string]any{"state.json": s, "plan.json": p} {
		want, err := json.MarshalIndent(value, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		have, err := os.ReadFile(filepath.Join("testdata", "lifecycle", name))
		if err != nil || string(have) != string(want)+"\n" {
			t.Errorf("%s is not (%v)\n%s", name, err, want)
		}
	}
}
