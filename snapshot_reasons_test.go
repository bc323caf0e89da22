package allot

import (
	"reflect"
	"testing"
)

// What a decision is asked stays what it was, whatever the caller does to the
// answers; workloads that ask the same share them inside.
func TestDecisionKeepsItsReasons(t *testing.T) {
	single := func(id string) Workload {
		return Workload{ID: id, PodSets: []PodSet{{Count: 1, Request: Request{GPU: GPURequest{Count: 2}}}}}
	}
	s, err := NewSnapshot(&State{
		Nodes: []Node{
			{ID: "n0", Devices: make([]Device, 1)}, {ID: "n1", Devices: make([]Device, 1)},
			{ID: "n2", Devices: make([]Device, 2), Cordoned: true},
		},
		Workloads: []Workload{single("a"), single("b")},
	})
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.Decide()
	if err != nil {
		t.Fatal(err)
	}
	want, err := d.Plan()
	if err != nil {
		t.Fatal(err)
	}
	if len(want.Pending) != 2 || len(want.Pending[0].Reasons[0].Nodes) == 0 || want.Pending[0].Reasons[0].Nearest == nil {
		t.Fatalf("nothing to scribble over: %+v", want.Pending)
	}
	scribble := func(reasons []Reason) {
		for i := range reasons {
			clear(reasons[i].Nodes)
			*reasons[i].Nearest = Nearest{Node: "scribble"}
		}
		clear(reasons)
	}
	again, err := d.Plan()
	if err != nil {
		t.Fatal(err)
	}
	scribble(again.Pending[0].Reasons)
	why, err := d.Why(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	scribble(why)
	for p, err := range d.Pending() {
		if err != nil {
			t.Fatal(err)
		}
		scribble(p.Reasons)
	}
	if got, err := d.Plan(); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Plan is %+v, %v, and was %+v", got, err, want)
	}
}
