package allot

import (
	"testing"

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
	{WarnEmptyPool, `pools["p2"]: has no nodes`, func(s *State) {
		s.Pools = append(s.Pools, Pool{ID: "p2", Nodes: NodeSet{Selector: &placement.Selector{Labels: map[string]string{"no": "node"}}}})
	}},
}

// V1: what is odd is told by ID, not by position.
func TestWarnings(t *testing.T) {
	if found := warnings(sound()); len(found) > 0 {
		t.Fatal(found)
	}
	for _, row := range warningRows {
		s := sound()
		row.odd(s)
		if err := Check(s); err != nil {
			t.Fatalf("%s: %v", row.want, err)
		}
		found := warnings(s)
		if len(found) != 1 || found[0].Code != row.code || found[0].String() != row.want {
			t.Errorf("got %v, want %s", found, row.want)
		}
	}
}

// F8: where shares go by demand, weights need no quota.
func TestWeightWithoutQuotaByDemand(t *testing.T) {
	s := sound()
	s.Pools[1].Policy.Shares = fairshare.ByDemand
	s.Queues = append(s.Queues, Queue{ID: "x", Pool: "p1", Resources: []QueueResource{{Resource: GPU, Weight: quota.Of(2)}}})
	s.Workloads = s.Workloads[:2]
	if found := warnings(s); len(found) > 0 {
		t.Error(found)
	}
}
