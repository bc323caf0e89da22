package verify

import (
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// divisionScene: of 8 devices the higher tier gets the 2 that it wants, and the
// other 6 go by weights 1 and 3: 1 and 5, as the fifth of b comes with 7/3 and
// the second of a would with 3 (F5). Weight 0 gets nothing.
func divisionScene() (*allot.State, *allot.Plan) {
	s := &allot.State{Nodes: []allot.Node{node("n", 8)}}
	p := &allot.Plan{}
	for _, q := range []struct {
		id           string
		weight, asks int64
		tier         int32
	}{{"a", 1, 8, 0}, {"b", 3, 8, 0}, {"t", 1, 2, 1}, {"z", 0, 8, 0}} {
		s.Queues = append(s.Queues, allot.Queue{ID: q.id, Resources: []allot.QueueResource{
			{Resource: allot.GPU, Quota: quota.Of(0), Weight: quota.Of(q.weight), OverQuotaPriority: q.tier}}})
		s.Workloads = append(s.Workloads, single("w"+q.id, q.id, gpus(int(q.asks))))
		p.Pending = append(p.Pending, stillWaits("w"+q.id, q.id))
	}
	return figured(s, p, map[string]int64{"a": 1, "b": 5, "t": 2})
}

func mutantsOfDivision() []mutant {
	fair := func(a, b, t, z int64) func(*allot.State, *allot.Plan) {
		return onPlan(func(p *allot.Plan) {
			for i, share := range []int64{a, b, t, z} {
				p.Shares[i].FairShare = 1000 * share
			}
		})
	}
	return []mutant{
		{"F3", "shares", "the lower tier first", fair(2, 5, 1, 0)},
		{"F4", "shares", "weight 0", fair(1, 4, 2, 1)},
		{"F5", "shares", "equal", fair(3, 3, 2, 0)},
		{"F5", "shares", "all to the larger weight", fair(0, 6, 2, 0)},
		{"F7", "shares", "one is left over", fair(1, 4, 2, 0)},
		{"F7", "shares", "one too many", fair(2, 5, 2, 0)},
	}
}

// strictScene: the first of a queue fits nowhere, and the second must wait.
func strictScene() (*allot.State, *allot.Plan) {
	s := &allot.State{
		Pools:  []allot.Pool{{ID: "p", Policy: allot.Policy{Queueing: queue.StrictQueue, Reclaim: preempt.NoReclaim}}},
		Nodes:  []allot.Node{node("m", 2), node("n", 2)},
		Queues: []allot.Queue{gpuQueue("q", "", 4), gpuQueue("r", "", 1)},
		Workloads: []allot.Workload{
			single("big", "q", gpus(2)), single("late", "q", gpus(1)), single("other", "r", gpus(1)),
			single("ran", "q", gpus(1), task(allot.Running, 0, "n", 0)),
		},
	}
	s.Workloads[0].Submitted, s.Workloads[1].Submitted = sceneNow.Add(-2*time.Second), sceneNow.Add(-time.Second)
	p := &allot.Plan{
		Actions: []allot.Action{{Kind: allot.Start, Workload: "other", Queue: "r", Tasks: []allot.Placement{at(0, "m", 0)}}},
		Pending: []allot.Pending{stillWaits("big", "q"), stillWaits("late", "q")},
	}
	return figured(s, p, map[string]int64{"q": 4, "r": 1})
}

func mutantsOfOrder() []mutant {
	start := func(s *allot.State, p *allot.Plan) {
		p.Actions = append(p.Actions, allot.Action{Kind: allot.Start, Workload: "late", Queue: "q", Tasks: []allot.Placement{at(0, "m", 1)}})
		p.Pending = p.Pending[:1]
	}
	return []mutant{
		{"O4", "actions", "past the head", start},
		{"O4", "actions", "past the head of the pool", func(s *allot.State, p *allot.Plan) {
			s.Pools[0].Policy.Queueing = queue.StrictPool
			start(s, p)
		}},
		{"O4", "actions", "past the higher priority", func(s *allot.State, p *allot.Plan) {
			s.Workloads[0].Submitted, s.Workloads[0].Priority = sceneNow, 1
			start(s, p)
		}},
		{"M9", "actions", "past one alike and older", func(s *allot.State, p *allot.Plan) {
			s.Pools[0].Policy.Queueing = queue.BestEffort
			s.Workloads[0].PodSets = s.Workloads[1].PodSets
			start(s, p)
		}},
	}
}

// TestVerifyOrder: what may start past what waits (O4).
func TestVerifyOrder(t *testing.T) {
	for name, change := range map[string]func(*allot.State, *allot.Plan){
		"best effort":  func(s *allot.State, _ *allot.Plan) { s.Pools[0].Policy.Queueing = queue.BestEffort },
		"impossible":   func(_ *allot.State, p *allot.Plan) { p.Pending[0].Reasons[0].Code = allot.ImpossibleGang },
		"earlier":      func(s *allot.State, _ *allot.Plan) { s.Workloads[1].Submitted = sceneNow.Add(-3 * time.Second) },
		"lower first":  func(s *allot.State, _ *allot.Plan) { s.Pools[0].Policy.LowerFirst, s.Workloads[0].Priority = true, 1 },
		"other pool's": func(s *allot.State, _ *allot.Plan) { s.Workloads[1].Queue = "r" },
		"held its place": func(s *allot.State, _ *allot.Plan) {
			s.Nodes[1], s.Workloads[0].Tasks = node("n", 3), []allot.Task{task(allot.Terminating, 0, "n", 1, 2)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, p := strictScene()
			mutantsOfOrder()[0].change(s, p)
			change(s, p)
			for _, v := range broken(t, s, p) {
				if v.Rule == ruleStrict {
					t.Error(v)
				}
			}
		})
	}
}

// numbersScene: three nodes of different kinds, and everything that waits says
// how many of them turn it away by what, what is free and what it needs.
func numbersScene() (*allot.State, *allot.Plan) {
	cordoned := node("c", 4)
	cordoned.Cordoned = true
	labelled := node("l", 2)
	labelled.Labels, labelled.Devices[1].Foreign = map[string]string{"zone": "x"}, 250
	s := &allot.State{
		Nodes:  []allot.Node{cordoned, labelled, node("n", 1)},
		Queues: []allot.Queue{{ID: "q", Resources: []allot.QueueResource{{Resource: allot.GPU, Quota: quota.Of(1000), Limit: quota.Of(2000)}}}},
		Workloads: []allot.Workload{
			single("run", "q", allot.Request{GPU: allot.GPURequest{Milli: 500}}, since(task(allot.Running, 0, "l", 0), 1)),
			single("wants", "q", allot.Request{GPU: allot.GPURequest{Count: 2}, Selector: placement.Selector{Labels: map[string]string{"zone": "x"}}}),
		},
	}
	p := &allot.Plan{Pending: []allot.Pending{{Workload: "wants", Queue: "q", Reasons: []allot.Reason{
		{Code: allot.OverLimit, Queue: "q", Resource: allot.GPU, Have: 1500, Need: 2000},
		{Code: allot.NoNode, Nodes: []allot.PredicateCount{{Predicate: placement.Cordoned, Nodes: 1},
			{Predicate: placement.Labels, Nodes: 1}, {Predicate: placement.DeviceCount, Nodes: 1}}},
	}}}}
	return figured(s, p, map[string]int64{"q": 2})
}

func mutantsOfNumbers() []mutant {
	const limit, nodes = "pending[0].reasons[0]", "pending[0].reasons[1]"
	on := func(reason int, change func(*allot.Reason)) func(*allot.State, *allot.Plan) {
		return onPlan(func(p *allot.Plan) { change(&p.Pending[0].Reasons[reason]) })
	}
	return []mutant{
		{"X1", limit, "have", on(0, func(r *allot.Reason) { r.Have = 1499 })},
		{"X1", limit, "need", on(0, func(r *allot.Reason) { r.Need = 2001 })},
		{"X1", nodes, "one more", on(1, func(r *allot.Reason) { r.Nodes[1].Nodes = 2 })},
		{"X1", nodes, "one fewer", on(1, func(r *allot.Reason) { r.Nodes = r.Nodes[1:] })},
		{"X1", nodes, "another predicate", on(1, func(r *allot.Reason) { r.Nodes[2].Predicate = placement.FreeDevices })},
		{"X1", nodes, "a resource", on(1, func(r *allot.Reason) { r.Nodes[2].Resource = allot.CPU })},
		{"X1", nodes, "free in all", on(1, func(r *allot.Reason) {
			*r = allot.Reason{Code: allot.NoCapacity, Queue: "q", Resource: allot.GPU, Have: 1999, Need: 2000}
		})},
		{"X1", nodes, "needed in all", on(1, func(r *allot.Reason) {
			*r = allot.Reason{Code: allot.NoCapacity, Queue: "q", Resource: allot.GPU, Have: 2250, Need: 3000}
		})},
	}
}
