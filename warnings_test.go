package allot

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

var warningRows = []struct {
	code FaultCode
	want string
	odd  func(s *State)
}{
	{WarnQuotaAboveParent, `queues["q0"].resources["gpu"].quota: should be at most the 8000 of its parent "d", is 9000`, func(s *State) {
		s.Queues[1].Resources[0].Quota = quota.Of(9000)
	}},
	{WarnQuotaAboveParent, `queues["q0"].resources["gpu"].quota: should be at most the 8000 of its parent "d", is unlimited`, func(s *State) {
		s.Queues[1].Resources[0].Quota = quota.Unlimited()
	}},
	{WarnWeightUnused, `queues["d"].resources["cpu"].weight: should stand beside a quota: no queue of the pool gives one for "cpu", is 3`, func(s *State) {
		s.Queues[0].Resources = append(s.Queues[0].Resources, QueueResource{Resource: CPU, Weight: quota.Of(3)})
	}},
	{WarnNodeInNoPool, `nodes["n1"]: is in no pool and left alone`, func(s *State) { s.Pools[0].Nodes.IDs = []string{"n0"} }},
	{WarnNodeOutsidePool, `queues["d"].nodes: names a node that is not in its pool, is "n2"`, func(s *State) { s.Queues[0].Nodes.IDs = []string{"n2"} }},
	{WarnLevelUnused, `levels["zone"]: is a level that no node has`, func(s *State) { s.Levels = append(s.Levels, Level{"zone"}) }},
	{WarnLevelOutsidePool, `workloads["w2"].podSets[0].topology: should be a level of the nodes of pool "p1", is "rack"`, func(s *State) {
		s.Workloads[2].PodSets[0].Topology = Topology{Required: NodeLevel, Slices: []Slice{{1, NodeLevel}}}
		s.Workloads[2].PodSets[0].Topology = Topology{Preferred: "rack"}
		s.Workloads[3].Topology.Required = "rack"
	}},
	{WarnLooksLikeDevices, `queues["q0"].resources["gpu"].limit: should be 4000 if devices were meant: it is in thousandths, and nobody in the pool asks for a part of a device, is 4`, func(s *State) {
		s.Workloads = s.Workloads[:0]
		s.Queues[1].Resources[0].Limit = quota.Of(4)
	}},
	{WarnLooksLikeCores, `nodes["n0"].capacity["cpu"]: should be 64000 if cores were meant: it is in thousandths of a core, as 2 nodes have it, is 64`, func(s *State) {
		s.Workloads = s.Workloads[:0]
		s.Nodes[0].Capacity, s.Nodes[1].Capacity = map[string]int64{CPU: 64}, map[string]int64{CPU: 64}
	}},
	{WarnDeviceAsResource, `nodes["n0"].capacity["nvidia.com/gpu"]: should be devices of the nodes and "gpu" elsewhere: as a plain resource it has no devices, models or parts, is "nvidia.com/gpu"`, func(s *State) {
		s.Workloads = s.Workloads[:0]
		s.Nodes[0].Capacity = map[string]int64{"nvidia.com/gpu": 8}
		s.Nodes[1].Capacity = map[string]int64{"nvidia.com/gpu": 8}
		s.Queues[1].Resources = append(s.Queues[1].Resources, QueueResource{Resource: "nvidia.com/gpu", Quota: quota.Of(8)})
	}},
	{WarnBehindNobody, `workloads["w0"].tasks: should be behind a workload that has been promised its place, is "w1"`, func(s *State) {
		s.Workloads[0].Tasks[0].Behind = "w1"
	}},
	{WarnEmptyPool, `pools["p2"]: has no nodes`, func(s *State) {
		s.Pools = append(s.Pools, Pool{ID: "p2", Nodes: NodeSet{Selector: &placement.Selector{Labels: map[string]string{"no": "node"}}}})
	}},
}

// V1: what is odd is told by ID, not by position.
func TestWarnings(t *testing.T) {
	if found := warnings(sound(), nil); len(found) > 0 {
		t.Fatal(found)
	}
	for _, row := range warningRows {
		s := sound()
		row.odd(s)
		if err := Check(s); err != nil {
			t.Fatalf("%s: %v", row.want, err)
		}
		found := warnings(s, nil)
		if len(found) != 1 || found[0].Code != row.code || found[0].String() != row.want {
			t.Errorf("got %v, want %s", found, row.want)
		}
	}
}

// V1, S2: below one device is what is meant where somebody in the pool asks for a part of one.
func TestPartsOfDevices(t *testing.T) {
	s := sound()
	s.Queues = append(s.Queues, Queue{ID: "x", Pool: "p1", Resources: []QueueResource{{Resource: GPU, Limit: quota.Of(500)}}})
	s.Workloads = []Workload{{ID: "w", Queue: "x", PodSets: []PodSet{{Count: 1, Request: Request{GPU: GPURequest{Count: 1, Milli: 1000}}}}}}
	if found := warnings(s, nil); len(found) != 1 || found[0].Code != WarnLooksLikeDevices {
		t.Error(found)
	}
	s.Workloads[0].PodSets[0].Request.GPU.Milli = 500
	if found := warnings(s, nil); len(found) > 0 {
		t.Error(found)
	}
}

// F8: where shares go by demand, weights need no quota.
func TestWeightWithoutQuotaByDemand(t *testing.T) {
	s := sound()
	s.Pools[1].Policy.Shares = fairshare.ByDemand
	s.Queues = append(s.Queues, Queue{ID: "x", Pool: "p1", Resources: []QueueResource{{Resource: GPU, Weight: quota.Of(2)}}})
	s.Workloads = s.Workloads[:2]
	if found := warnings(s, nil); len(found) > 0 {
		t.Error(found)
	}
}

// V1, S7: whatever stands above what would be granted today is told, also above
// a quota that is 0 because none is given (Q1).
func TestUseWarnings(t *testing.T) {
	one := Request{GPU: GPURequest{Count: 1}}
	runs := func(id, queue string, devices ...int) Workload {
		k := Workload{ID: id, Queue: queue, PodSets: []PodSet{{Count: len(devices), Request: one}}}
		for i, d := range devices {
			k.Tasks = append(k.Tasks, Task{Index: i, Node: "n", Devices: []int{d}})
		}
		return k
	}
	s := &State{
		Nodes: []Node{{ID: "n", Devices: make([]Device, 8)}},
		Queues: []Queue{
			{ID: "top"},
			{ID: "a", Parent: "top", MaxWorkloads: quota.Of(1), Resources: []QueueResource{
				{Resource: GPU, Quota: quota.Of(3000), Limit: quota.Of(3500), BorrowingLimit: quota.Of(0)},
			}},
			{ID: "b", Parent: "top"},
		},
		Workloads: []Workload{runs("r1", "a", 0, 1), runs("r2", "a", 2, 3), runs("r3", "b", 4)},
	}
	for i := range s.Workloads {
		s.Workloads[i].Preemption = NonPreemptible
	}
	plan, err := Solve(s)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range plan.Warnings {
		got = append(got, w.Code.String()+" "+w.String())
	}
	want := []string{
		`over-limit queues["a"].maxWorkloads: should be at least the 2 workloads that run, is 1`,
		`over-limit queues["a"].resources["gpu"].borrowingLimit: should be at least the use beyond quota of 1000, is 0`,
		`over-limit queues["a"].resources["gpu"].limit: should be at least the use of 4000, is 3500`,
		`non-preemptible-over-quota queues["a"].resources["gpu"].quota: should be at least the non-preemptible use of 4000, is 3000`,
		`non-preemptible-over-quota queues["b"].resources["gpu"].quota: should be at least the non-preemptible use of 1000, is absent`,
		`surplus-for-nobody queues["b"].resources["gpu"].quota: should be above 0: 1000 are left over that no queue which wants more may have a part of, is absent`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// V1 (N44): what looks like another unit is told with the likely one.
func TestUnitWarnings(t *testing.T) {
	plan, err := Solve(answerState(t, "N44-cap.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range plan.Warnings {
		got = append(got, w.Code.String()+" "+w.String())
	}
	unit := "should be 4000 if devices were meant: it is in thousandths, and nobody in the pool asks for a part of a device, is 4"
	want := []string{
		`looks-like-cores nodes["a"].capacity["cpu"]: should be 64000 if cores were meant: it is in thousandths of a core, is 64`,
		`looks-like-devices queues["q"].resources["gpu"].quota: ` + unit,
		`looks-like-devices queues["r"].resources["gpu"].quota: ` + unit,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// V1: a quota that all nodes which the queue may use cannot give is told, by class too.
func TestQuotaOutOfReach(t *testing.T) {
	s := &State{
		Nodes: []Node{{ID: "n0", Devices: make([]Device, 4)}, {ID: "n1", Devices: []Device{{Model: "A10"}}}},
		Queues: []Queue{
			{ID: "all", Resources: []QueueResource{{Resource: GPU, Quota: quota.Of(5000)}}},
			{ID: "one", Nodes: NodeSet{IDs: []string{"n1"}}, Resources: []QueueResource{{Resource: GPU, Quota: quota.Of(2000)}}},
			{ID: "dept", Resources: []QueueResource{{Resource: GPU, Quota: quota.Of(2000)}}},
			{ID: "leaf", Parent: "dept", Nodes: NodeSet{IDs: []string{"n1"}}},
			{ID: "none", Resources: []QueueResource{{Resource: GPU, Class: "A10", Quota: quota.Of(3000)}, {Resource: GPU, Quota: quota.Unlimited()}}},
		},
	}
	plan, err := Solve(s)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range plan.Warnings {
		got = append(got, w.Code.String()+" "+w.String())
	}
	want := []string{
		`quota-out-of-reach queues["dept"].resources["gpu"].quota: should be at most the 1000 that the nodes which it may use have, is 2000`,
		`quota-for-nobody queues["dept"].resources["gpu"].quota: should be handed down: no queue below it has a quota or a weight, is 2000`,
		`quota-out-of-reach queues["none"].resources["gpu@A10"].quota: should be at most the 1000 that the nodes which it may use have, is 3000`,
		`quota-out-of-reach queues["one"].resources["gpu"].quota: should be at most the 1000 that the nodes which it may use have, is 2000`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
