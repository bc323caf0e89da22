package scenario

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
)

// TestTopologyWords: a constraint is that of what was named last, and none takes
// back what was said (T1 to T4).
func TestTopologyWords(t *testing.T) {
	state, err := State(`levels zone,rack,gpu
nodes a,b gpu=4 rack=r1 domain.gpu=x sockets=0-1:1,2-3:2 hardware=nvlink-4 links=1-0:0
nodes b rack=none hardware=none links=none sockets=none switches=0:1
queue q
submit q/w require=zone tasks=8 slices=4@rack,2@node min=4 gpu=1 group=g prefer=rack group=h:1:g in=h island=socket
change q/w require=none mode=spread slices=8@rack group=g require=zone set="" prefer=node gpu=2 prefer-island=nvlink
submit q/v tasks=2 or queue=q require=rack set=a or set=a prefer=rack set=b`)
	if err != nil {
		t.Fatal(err)
	}
	levels := []allot.Level{{Name: "zone"}, {Name: "rack"}, {Name: "gpu"}}
	if d := cmp.Diff(levels, state.Levels, equalStates); d != "" {
		t.Error(d)
	}
	nodes := []allot.Node{
		{
			ID: "a", Devices: []allot.Device{{Socket: 1}, {Socket: 1}, {Socket: 2}, {Socket: 2}},
			Domains: map[string]string{"rack": "r1", "gpu": "x"}, Hardware: "nvlink-4", Links: []allot.Link{{A: 1}},
		},
		{ID: "b", Devices: []allot.Device{{Switch: 1}, {}, {}, {}}, Domains: map[string]string{"gpu": "x"}},
	}
	if d := cmp.Diff(nodes, state.Nodes, equalStates); d != "" {
		t.Error(d)
	}
	w, v := state.Workloads[0], state.Workloads[1]
	want := allot.Workload{
		Topology: allot.Topology{Mode: gang.Spread},
		Groups: []allot.Group{
			{Name: "g", Topology: allot.Topology{Required: "zone", Preferred: "rack"}}, {Name: "h", Min: 1, Parent: "g"},
		},
		PodSets: []allot.PodSet{{
			Count: 8, Min: 4, Group: "h",
			Topology: allot.Topology{Preferred: allot.NodeLevel, Slices: []allot.Slice{{Size: 8, Level: "rack"}}},
			Request:  allot.Request{GPU: allot.GPURequest{Count: 2, Island: placement.SocketIsland, PreferIsland: placement.NVLinkIsland}},
		}},
	}
	if d := cmp.Diff(want, allot.Workload{Topology: w.Topology, Groups: w.Groups, PodSets: w.PodSets}, equalStates); d != "" {
		t.Error(d)
	}
	forms := []allot.Form{
		{Queue: "q", Topology: allot.Topology{Required: "rack"}, PodSets: []allot.PodSet{{Name: "a", Count: 1}}},
		{PodSets: []allot.PodSet{{Name: "a", Count: 1, Topology: allot.Topology{Preferred: "rack"}}, {Name: "b", Count: 1}}},
	}
	if d := cmp.Diff(forms, v.Alternatives, equalStates); d != "" {
		t.Error(d)
	}
	if state, err = State("levels zone | levels none"); err != nil || state.Levels != nil {
		t.Errorf("levels are %v, %v", state.Levels, err)
	}
}
