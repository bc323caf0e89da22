package verify

import (
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/quota"
)

// A scene is a state in which room is made, and a lawful plan for it, worked
// out by hand.
type scene func() (*allot.State, *allot.Plan)

// sceneNow is the time of all scenes; everything in them was given its place
// 100 seconds before, what has a number that many seconds later.
var sceneNow = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func since(t allot.Task, second int) allot.Task {
	t.Since = sceneNow.Add(time.Duration(second-100) * time.Second)
	return t
}

// gpuQueue is a queue with a GPU quota in devices.
func gpuQueue(id, parent string, devices int64) allot.Queue {
	return allot.Queue{ID: id, Parent: parent, Resources: []allot.QueueResource{{Resource: allot.GPU, Quota: quota.Of(1000 * devices)}}}
}

func stillWaits(id, queue string) allot.Pending {
	return allot.Pending{Workload: id, Queue: queue, Reasons: []allot.Reason{{Code: allot.VictimsShort}}}
}

// figured completes a scene with the rows of its shares, given the fair shares
// in devices: all else in them is counted, and TestVerifyRefuses is about that.
func figured(s *allot.State, p *allot.Plan, fair map[string]int64) (*allot.State, *allot.Plan) {
	s.Now, s.Revision, p.Revision = sceneNow, "7", "7"
	if len(s.Pools) == 0 {
		s.Pools = []allot.Pool{{ID: "p"}}
	}
	v := newVerifier(s, p)
	for i := range p.Actions {
		v.action(i, &p.Actions[i])
	}
	demand := v.demands()
	p.Shares = nil
	for _, pool := range v.poolOrder {
		for _, q := range pool.queues {
			key := verifiedKey{allot.GPU, ""}
			use, own := q.used(key), q.quotaOf(key)
			within := min(use.all, own)
			row := allot.Share{
				Pool: pool.id, Queue: q.id, Resource: allot.GPU, Quota: boundOf(own), Limit: boundOf(q.limitOf(key)),
				Used: use.all, InQuota: within, OverQuota: use.all - within, Borrowed: use.all - within,
				NonPreemptible: use.nonPreemptible, Demand: demand[q][allot.GPU].all(), Divided: pool.divided(allot.GPU),
				FairShare: 1000 * fair[q.id], Reachable: q.reachBelow(key), PoolTotal: pool.capacity(key),
			}
			switch {
			case !row.Divided || row.Used <= own:
			case row.Used <= row.FairShare:
				row.State = fairshare.OverQuota
			default:
				row.State = fairshare.OverFairShare
			}
			p.Shares = append(p.Shares, row)
		}
	}
	return s, p
}

// reclaimed is the reason of a reclaim of GPUs for a workload, told by the two
// sides.
func reclaimed(by allot.Code, workload string, victim, preemptor allot.Subtree) allot.Reason {
	return allot.Reason{Code: by, Workload: workload, Queue: victim.Queue, Resource: allot.GPU, Have: victim.Before, Need: victim.Entitlement,
		Subtrees: &allot.Subtrees{Victim: victim, Preemptor: preemptor}}
}

// side is what one side of a reclaim uses before and after, and its line.
func side(queue string, before, after, line int64) allot.Subtree {
	return allot.Subtree{Queue: queue, Before: before, After: after, Entitlement: line}
}

// reclaimScene is row O19 with departments: d1 uses 3 of its quota of 2, and q2
// wants the second of its own.
func reclaimScene() (*allot.State, *allot.Plan) {
	wf1 := single("wf1", "q1", gpus(1), since(task(allot.Running, 0, "n", 0), 1))
	wf1.Preemption = allot.NonPreemptible
	s := &allot.State{
		Nodes:  []allot.Node{node("n", 4)},
		Queues: []allot.Queue{gpuQueue("d1", "", 2), gpuQueue("q1", "d1", 2), gpuQueue("d2", "", 2), gpuQueue("q2", "d2", 2)},
		Workloads: []allot.Workload{wf1,
			single("wf2", "q1", gpus(1), since(task(allot.Running, 0, "n", 1), 2)),
			single("wf3", "q1", gpus(1), since(task(allot.Running, 0, "n", 2), 3)),
			single("wf4", "q2", gpus(1), since(task(allot.Running, 0, "n", 3), 4)),
			single("wf5", "q2", gpus(1)),
		},
	}
	p := &allot.Plan{
		Actions: []allot.Action{
			{Kind: allot.Evict, Workload: "wf3", Queue: "q1", Tasks: []allot.Placement{at(0, "n", 2)}, Reason: reclaimed(allot.ReclaimedByQuota, "wf5", side("d1", 3000, 2000, 2000), side("d2", 1000, 2000, 2000))},
			{Kind: allot.Start, Workload: "wf5", Queue: "q2", Tasks: []allot.Placement{at(0, "n", 2)}, After: []string{"wf3"}},
		},
		Pending: []allot.Pending{stillWaits("wf3", "q1")},
	}
	return figured(s, p, map[string]int64{"d1": 2, "q1": 2, "d2": 2, "q2": 2})
}

// shareScene is row G1: shares are 5 and 2, and a 3-GPU job goes.
func shareScene() (*allot.State, *allot.Plan) {
	s := &allot.State{
		Nodes:  []allot.Node{node("n", 7)},
		Queues: []allot.Queue{gpuQueue("q0", "", 2), gpuQueue("q1", "", 1)},
		Workloads: []allot.Workload{
			single("big", "q1", gpus(3), since(task(allot.Running, 0, "n", 4, 5, 6), 1)),
			{ID: "old", Queue: "q0", PodSets: []allot.PodSet{{Count: 4, Min: 4, Request: gpus(1)}}, Tasks: []allot.Task{
				since(task(allot.Running, 0, "n", 0), 1), since(task(allot.Running, 1, "n", 1), 1),
				since(task(allot.Running, 2, "n", 2), 1), since(task(allot.Running, 3, "n", 3), 1)}},
			single("want", "q0", gpus(1)),
		},
	}
	p := &allot.Plan{
		Actions: []allot.Action{
			{Kind: allot.Evict, Workload: "big", Queue: "q1", Tasks: []allot.Placement{at(0, "n", 4, 5, 6)}, Reason: reclaimed(allot.ReclaimedByShare, "want", side("q1", 3000, 0, 2000), side("q0", 4000, 5000, 5000))},
			{Kind: allot.Start, Workload: "want", Queue: "q0", Tasks: []allot.Placement{at(0, "n", 4)}, After: []string{"big"}},
		},
		Pending: []allot.Pending{stillWaits("big", "q1")},
	}
	return figured(s, p, map[string]int64{"q0": 5, "q1": 2})
}

// preemptScene: two of low priority run, and one of high priority of the same
// queue takes the place of the newer.
func preemptScene() (*allot.State, *allot.Plan) {
	high := single("high", "q", gpus(1))
	high.Priority = 5
	s := &allot.State{
		Nodes:  []allot.Node{node("n", 2)},
		Queues: []allot.Queue{gpuQueue("q", "", 2), gpuQueue("other", "", 0)},
		Workloads: []allot.Workload{high,
			single("old", "q", gpus(1), since(task(allot.Running, 0, "n", 0), 1)),
			single("young", "q", gpus(1), since(task(allot.Running, 0, "n", 1), 2)),
		},
	}
	p := &allot.Plan{
		Actions: []allot.Action{
			{Kind: allot.Evict, Workload: "young", Queue: "q", Tasks: []allot.Placement{at(0, "n", 1)}, Reason: allot.Reason{Code: allot.Preempted, Workload: "high"}},
			{Kind: allot.Start, Workload: "high", Queue: "q", Tasks: []allot.Placement{at(0, "n", 1)}, After: []string{"young"}},
		},
		Pending: []allot.Pending{stillWaits("young", "q")},
	}
	return figured(s, p, map[string]int64{"q": 2, "other": 0})
}

// moveScene is row A4: two nodes of 4, a 2-GPU job on each, and one of 4 GPUs waits.
func moveScene() (*allot.State, *allot.Plan) {
	s := &allot.State{
		Pools:  []allot.Pool{{ID: "p"}},
		Nodes:  []allot.Node{node("m", 4), node("n", 4)},
		Queues: []allot.Queue{gpuQueue("q", "", 8)},
		Workloads: []allot.Workload{
			single("big", "q", gpus(4)),
			single("old", "q", gpus(2), since(task(allot.Running, 0, "m", 0, 1), 1)),
			single("young", "q", gpus(2), since(task(allot.Running, 0, "n", 0, 1), 2)),
		},
	}
	p := &allot.Plan{
		Actions: []allot.Action{
			{Kind: allot.Move, Workload: "young", Queue: "q", Tasks: []allot.Placement{at(0, "m", 2, 3)}, From: []allot.Placement{at(0, "n", 0, 1)},
				Reason: allot.Reason{Code: allot.Consolidated, Workload: "big"}},
			{Kind: allot.Start, Workload: "big", Queue: "q", Tasks: []allot.Placement{at(0, "n", 0, 1, 2, 3)}, After: []string{"young"}},
		},
	}
	return figured(s, p, map[string]int64{"q": 8})
}

// besideScene is like CASES N22: young is beyond the quota of its queue, and old is within
// it and moves. There is another place for young too; both together were more than a
// consolidation may move.
func besideScene() (*allot.State, *allot.Plan) {
	s := &allot.State{
		Pools:  []allot.Pool{{ID: "p", Policy: allot.Policy{MaxMovedPercent: 50}}},
		Nodes:  []allot.Node{node("m", 4), node("n", 4), node("o", 1)},
		Queues: []allot.Queue{gpuQueue("q0", "", 4), gpuQueue("q1", "", 4)},
		Workloads: []allot.Workload{
			single("old", "q0", gpus(2), since(task(allot.Running, 0, "n", 0, 1), 2)),
			single("oldest", "q0", gpus(2), since(task(allot.Running, 0, "m", 0, 1), 1)),
			single("want", "q1", gpus(4)),
			single("young", "q0", gpus(1), since(task(allot.Running, 0, "n", 2), 3)),
		},
	}
	p := &allot.Plan{
		Actions: []allot.Action{
			{Kind: allot.Move, Workload: "young", Queue: "q0", Tasks: []allot.Placement{at(0, "o", 0)}, From: []allot.Placement{at(0, "n", 2)}, Reason: reclaimed(allot.ReclaimedByQuota, "want", side("q0", 5000, 4000, 4000), side("q1", 0, 4000, 4000))},
			{Kind: allot.Move, Workload: "old", Queue: "q0", Tasks: []allot.Placement{at(0, "m", 2, 3)}, From: []allot.Placement{at(0, "n", 0, 1)},
				Reason: allot.Reason{Code: allot.Consolidated, Workload: "want"}},
			{Kind: allot.Start, Workload: "want", Queue: "q1", Tasks: []allot.Placement{at(0, "n", 0, 1, 2, 3)}, After: []string{"old", "young"}},
		},
	}
	return figured(s, p, map[string]int64{"q0": 5, "q1": 4})
}

// halves is the request of half a device.
func halves() allot.Request { return allot.Request{GPU: allot.GPURequest{Milli: 500}} }

// reclaimMoveScene is row G8: the newer half moves to the older one's device.
func reclaimMoveScene() (*allot.State, *allot.Plan) {
	s := &allot.State{
		Nodes:  []allot.Node{node("m", 1), node("n", 1)},
		Queues: []allot.Queue{gpuQueue("q0", "", 0), gpuQueue("q1", "", 0), gpuQueue("q2", "", 2)},
		Workloads: []allot.Workload{
			single("new", "q1", halves(), since(task(allot.Running, 0, "n", 0), 2)),
			single("old", "q0", halves(), since(task(allot.Running, 0, "m", 0), 1)),
			single("want", "q2", gpus(1)),
		},
	}
	p := &allot.Plan{
		Actions: []allot.Action{
			{Kind: allot.Move, Workload: "new", Queue: "q1", Tasks: []allot.Placement{at(0, "m", 0)}, From: []allot.Placement{at(0, "n", 0)}, Reason: reclaimed(allot.ReclaimedByQuota, "want", side("q1", 500, 0, 0), side("q2", 0, 1000, 2000))},
			{Kind: allot.Start, Workload: "want", Queue: "q2", Tasks: []allot.Placement{at(0, "n", 0)}, After: []string{"new"}},
		},
	}
	s, p = figured(s, p, map[string]int64{"q2": 1})
	p.Shares[2].Lent = 1000 // the other half of what it has is not q1's but nobody's
	return s, p
}

// shrinkScene is row G7: the last task of an elastic workload goes for a minimum of
// two, of up to three.
func shrinkScene() (*allot.State, *allot.Plan) {
	s := &allot.State{
		Nodes:  []allot.Node{node("n", 3)},
		Queues: []allot.Queue{gpuQueue("q0", "", 1), gpuQueue("q1", "", 2)},
		Workloads: []allot.Workload{
			{ID: "elastic", Queue: "q0", PodSets: []allot.PodSet{{Count: 3, Min: 1, Request: gpus(1)}}, Tasks: []allot.Task{
				since(task(allot.Running, 0, "n", 0), 1), since(task(allot.Running, 1, "n", 1), 2)}},
			{ID: "want", Queue: "q1", PodSets: []allot.PodSet{{Count: 3, Min: 2, Request: gpus(1)}}},
		},
	}
	p := &allot.Plan{
		Actions: []allot.Action{
			{Kind: allot.Shrink, Workload: "elastic", Queue: "q0", Tasks: []allot.Placement{at(1, "n", 1)}, Reason: reclaimed(allot.ReclaimedByQuota, "want", side("q0", 2000, 1000, 1000), side("q1", 0, 2000, 2000))},
			{Kind: allot.Start, Workload: "want", Queue: "q1", Tasks: []allot.Placement{at(0, "n", 1), at(1, "n", 2)}, After: []string{"elastic"}},
		},
	}
	return figured(s, p, map[string]int64{"q0": 1, "q1": 2})
}

// ladderScene: one workload of a ladder of 8, 4, 2 shrinks from 4 to 2 for
// another that starts with 2 of 4, and a third grows from 1 to 2.
func ladderScene() (*allot.State, *allot.Plan) {
	halving := func(id, queue string, count, least int, tasks ...allot.Task) allot.Workload {
		return allot.Workload{ID: id, Queue: queue, Tasks: tasks,
			PodSets: []allot.PodSet{{Count: count, Min: least, Step: gang.Halving, Request: gpus(1)}}}
	}
	s := &allot.State{
		Nodes:  []allot.Node{node("n", 7)},
		Queues: []allot.Queue{gpuQueue("q0", "", 2), gpuQueue("q1", "", 2), gpuQueue("q2", "", 3)},
		Workloads: []allot.Workload{
			halving("down", "q0", 8, 2, since(task(allot.Running, 0, "n", 0), 1), since(task(allot.Running, 1, "n", 1), 1),
				since(task(allot.Running, 2, "n", 2), 1), since(task(allot.Running, 3, "n", 3), 1)),
			halving("new", "q1", 4, 2),
			halving("up", "q2", 5, 1, since(task(allot.Running, 0, "n", 4), 1)),
		},
	}
	p := &allot.Plan{
		Actions: []allot.Action{
			{Kind: allot.Shrink, Workload: "down", Queue: "q0", Tasks: []allot.Placement{at(2, "n", 2), at(3, "n", 3)}, Reason: reclaimed(allot.ReclaimedByQuota, "new", side("q0", 4000, 2000, 2000), side("q1", 0, 2000, 2000))},
			{Kind: allot.Start, Workload: "new", Queue: "q1", Tasks: []allot.Placement{at(0, "n", 2), at(1, "n", 5)}, After: []string{"down"}},
			{Kind: allot.Resize, Workload: "up", Queue: "q2", Tasks: []allot.Placement{at(1, "n", 6)}, Reason: allot.Reason{Code: allot.Grown}},
		},
	}
	return figured(s, p, map[string]int64{"q0": 2, "q1": 2, "q2": 3})
}

// claimScene: a place that a workload of q1 claims is taken by quota; the one
// that leaves it is terminating since before.
func claimScene() (*allot.State, *allot.Plan) {
	s := &allot.State{
		Nodes:  []allot.Node{node("n", 1)},
		Queues: []allot.Queue{gpuQueue("q0", "", 1), gpuQueue("q1", "", 0)},
		Workloads: []allot.Workload{
			single("claims", "q1", gpus(1), since(task(allot.Claimed, 0, "n", 0), 1)),
			single("leaves", "q1", gpus(1), since(task(allot.Terminating, 0, "n", 0), 1)),
			single("want", "q0", gpus(1)),
		},
	}
	p := &allot.Plan{
		Actions: []allot.Action{
			{Kind: allot.Unclaim, Workload: "claims", Queue: "q1", Tasks: []allot.Placement{at(0, "n", 0)}, Reason: reclaimed(allot.ReclaimedByQuota, "want", side("q1", 1000, 0, 0), side("q0", 0, 1000, 1000))},
			{Kind: allot.Start, Workload: "want", Queue: "q0", Tasks: []allot.Placement{at(0, "n", 0)}, After: []string{"leaves"}},
		},
		Pending: []allot.Pending{stillWaits("claims", "q1"),
			{Workload: "leaves", Queue: "q1", Reasons: []allot.Reason{{Code: allot.Leaving, Need: 1}}}},
	}
	return figured(s, p, map[string]int64{"q0": 1, "q1": 0})
}

// staleScene: what is left of a non-preemptible gang goes after its grace.
func staleScene() (*allot.State, *allot.Plan) {
	g := allot.Workload{ID: "gang", Queue: "q", Preemption: allot.NonPreemptible, PodSets: []allot.PodSet{{Count: 3, Min: 2, Request: gpus(1)}},
		Tasks: []allot.Task{since(task(allot.Running, 1, "n", 0), 1)}, PartialSince: sceneNow.Add(-60 * time.Second)}
	s := &allot.State{
		Pools:     []allot.Pool{{ID: "p", Policy: allot.Policy{StaleGangGrace: quota.Of(60)}}},
		Nodes:     []allot.Node{node("n", 1)},
		Queues:    []allot.Queue{gpuQueue("q", "", 3)},
		Workloads: []allot.Workload{g},
	}
	p := &allot.Plan{
		Actions: []allot.Action{{Kind: allot.Evict, Workload: "gang", Queue: "q", Tasks: []allot.Placement{at(1, "n", 0)},
			Reason: allot.Reason{Code: allot.StaleGang, Have: 1, Need: 2}}},
		Pending: []allot.Pending{stillWaits("gang", "q")},
	}
	return figured(s, p, map[string]int64{"q": 1})
}

// endingScene: OSMO's policy with retries of one's own: the first eviction is
// the last that the workload survives.
func endingScene() (*allot.State, *allot.Plan) {
	policy := allot.OSMO()
	low := single("low", "q", gpus(1), since(task(allot.Running, 0, "n", 0), 1))
	low.Class, low.Retries = "LOW", quota.Of(1)
	low.ExitActions = []allot.ExitAction{{Code: 3006, Action: allot.Reschedule}}
	s := &allot.State{
		Pools:     []allot.Pool{{ID: "p", Policy: policy}},
		Nodes:     []allot.Node{node("n", 1)},
		Queues:    []allot.Queue{gpuQueue("q", "", 1)},
		Workloads: []allot.Workload{low, single("normal", "q", gpus(1))},
	}
	p := &allot.Plan{
		Actions: []allot.Action{
			{Kind: allot.Evict, Workload: "low", Queue: "q", Tasks: []allot.Placement{at(0, "n", 0)}, Reason: allot.Reason{Code: allot.Preempted, Workload: "normal"},
				Ending: allot.Ending{Status: "FAILED_PREEMPTED", ExitCode: 3006}},
			{Kind: allot.Start, Workload: "normal", Queue: "q", Tasks: []allot.Placement{at(0, "n", 0)}, After: []string{"low"}},
		},
		Pending: []allot.Pending{stillWaits("low", "q")},
	}
	return figured(s, p, map[string]int64{"q": 1})
}

// finalScene is endingScene with the retries spent.
func finalScene() (*allot.State, *allot.Plan) {
	s, p := endingScene()
	workload(s, "low").Retries = quota.Of(0)
	p.Actions[0].Ending.Final = true
	p.Pending = nil
	return figured(s, p, map[string]int64{"q": 1})
}

// scopeScene: with the scope of a pool a workload of another queue is displaced.
func scopeScene() (*allot.State, *allot.Plan) {
	s, p := preemptScene()
	s.Pools = []allot.Pool{{ID: "p", Policy: allot.Policy{Preempt: preempt.WithinPool, Reclaim: preempt.NoReclaim}}}
	workload(s, "high").Queue, p.Actions[1].Queue = "other", "other"
	s.Queues[0], s.Queues[1] = gpuQueue("q", "", 1), gpuQueue("other", "", 1)
	return figured(s, p, map[string]int64{"q": 1, "other": 1})
}

func TestVerifyScenes(t *testing.T) {
	for name, scene := range map[string]scene{
		"reclaim": reclaimScene, "share": shareScene, "preempt": preemptScene, "move": moveScene, "beside": besideScene,
		"reclaim and move": reclaimMoveScene, "shrink": shrinkScene, "ladder": ladderScene, "claim": claimScene,
		"stale": staleScene, "ending": endingScene, "final": finalScene, "scope": scopeScene,
		"division": divisionScene, "strict": strictScene, "numbers": numbersScene,
	} {
		t.Run(name, func(t *testing.T) {
			s, p := scene()
			for _, v := range broken(t, s, p) {
				t.Error(v)
			}
		})
	}
}
