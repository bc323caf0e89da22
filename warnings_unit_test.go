package allot

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/allotsched/allot/quota"
)

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
		`quota-out-of-reach queues["none"].resources["gpu@A10"].quota: should be at most the 1000 that the nodes which it may use have, is 3000`,
		`quota-out-of-reach queues["one"].resources["gpu"].quota: should be at most the 1000 that the nodes which it may use have, is 2000`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
