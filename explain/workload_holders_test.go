package explain

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/placement"
)

func readState(file string) (*allot.State, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	s := new(allot.State)
	return s, s.UnmarshalJSON(text)
}

// X1 (N42): who is told to hold what a workload waits for holds it where the workload
// could use it: of a model that it accepts, on nodes that its selector and tolerations
// let it go to, in domains that could take all of it.
func TestHoldersOfWhatItCouldUse(t *testing.T) {
	one := func(models ...string) allot.Request {
		return allot.Request{GPU: allot.GPURequest{Count: 1, Models: models}}
	}
	runs := func(id, node string, r allot.Request, devices ...int) allot.Workload {
		return allot.Workload{ID: id, PodSets: []allot.PodSet{{Count: 1, Request: r}}, Tasks: []allot.Task{{Node: node, Devices: devices}}}
	}
	racks := &allot.State{
		Levels: []allot.Level{{Name: "rack"}},
		Nodes: []allot.Node{
			{ID: "n0", Devices: make([]allot.Device, 1), Domains: map[string]string{"rack": "small"}},
			{ID: "n1", Devices: make([]allot.Device, 1), Domains: map[string]string{"rack": "large"}},
			{ID: "n2", Devices: make([]allot.Device, 1), Domains: map[string]string{"rack": "large"}},
			{ID: "n3", Devices: make([]allot.Device, 1)},
		},
		Workloads: []allot.Workload{
			runs("r0", "n0", one(), 0), runs("r1", "n1", one(), 0), runs("r3", "n3", one(), 0),
			{ID: "waits", Topology: allot.Topology{Required: "rack"}, PodSets: []allot.PodSet{{Count: 2, Request: one()}}},
		},
	}
	chosen := &allot.State{
		Nodes: []allot.Node{
			{ID: "n0", Devices: []allot.Device{{Model: "A10"}}, Labels: map[string]string{"zone": "a"}},
			{ID: "n1", Devices: []allot.Device{{Model: "A10"}}, Labels: map[string]string{"zone": "b"}},
			{ID: "n2", Devices: []allot.Device{{Model: "H100"}, {Model: "A10"}}, Labels: map[string]string{"zone": "a"}},
		},
		Workloads: []allot.Workload{
			runs("r0", "n0", one(), 0), runs("r1", "n1", one(), 0), runs("r2", "n2", one("H100"), 0), runs("r3", "n2", one("A10"), 1),
			{ID: "waits", PodSets: []allot.PodSet{{Count: 1, Request: one("A10")}}},
		},
	}
	chosen.Workloads[4].PodSets[0].Request.Selector.Labels = map[string]string{"zone": "a"}
	both := &allot.State{
		Nodes: []allot.Node{{ID: "n0", Devices: []allot.Device{{Memory: 10}, {Memory: 40}}}},
		Workloads: []allot.Workload{
			runs("r0", "n0", allot.Request{GPU: allot.GPURequest{Count: 2}}, 0, 1),
			{ID: "waits", PodSets: []allot.PodSet{{Count: 1, Request: allot.Request{GPU: allot.GPURequest{Memory: 20}}}}},
		},
	}
	for _, row := range []struct {
		name  string
		state *allot.State
		work  string
		want  []string
	}{
		{"one of two devices", both, "waits", []string{" gpu 1000: r0"}},
		{"the model", must(readState(filepath.Join("..", "testdata", "answers", "N42-holder.json"))), "wants-a10", []string{"y gpu 1000: small"}},
		{"the domains", racks, "waits", []string{" gpu 1000: r1"}},
		{"labels and models", chosen, "waits", []string{" gpu 2000: r3 r0"}},
	} {
		e, err := Workload(t.Context(), decide(t, row.state), row.work)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, h := range e.Holders {
			slices.Sort(h.Last)
			slices.Reverse(h.Last)
			text := fmt.Sprintf("%s %s %d:", h.Queue, h.Resource, h.Held)
			for _, id := range h.Last {
				text += " " + id
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s: %s", row.name, diff)
		}
	}
}

// S7, X1: what holds a node of a pool from another one is told with its own queue.
func TestS7OutsideHolds(t *testing.T) {
	one := []allot.PodSet{{Count: 1, Request: allot.Request{GPU: allot.GPURequest{Count: 1}}}}
	s := &allot.State{
		Nodes:  []allot.Node{{ID: "n", Devices: make([]allot.Device, 1)}},
		Pools:  []allot.Pool{{ID: "p", Nodes: allot.NodeSet{Selector: new(placement.Selector{Labels: map[string]string{"no": "node"}})}}, {ID: "r"}},
		Queues: []allot.Queue{{ID: "a", Pool: "p"}, {ID: "b", Pool: "p"}, {ID: "z", Pool: "r"}},
		Workloads: []allot.Workload{
			{ID: "runs", Queue: "b", PodSets: one, Tasks: []allot.Task{{Node: "n", Devices: []int{0}}}},
			{ID: "waits", Queue: "z", PodSets: one},
		},
	}
	e, err := Workload(t.Context(), decide(t, s), "waits")
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Holders) != 1 || e.Holders[0].Queue != "b" || e.Holders[0].Held != 1000 || e.Holders[0].Used != 1000 {
		t.Errorf("held by %+v, not by queue b of the other pool", e.Holders)
	}
}
