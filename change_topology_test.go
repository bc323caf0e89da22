package allot

import (
	"errors"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// racks are two nodes in two racks; near wants its two tasks of one GPU in one of
// them.
func racks() *State {
	node := func(id, rack string) Node {
		return Node{ID: id, Devices: make([]Device, 2), Domains: map[string]string{"rack": rack}}
	}
	return &State{
		Levels:    []Level{{"rack"}},
		Nodes:     []Node{node("n0", "r0"), node("n1", "r1")},
		Workloads: []Workload{{ID: "near", Topology: Topology{Required: "rack"}, PodSets: []PodSet{{Count: 2, Request: Request{GPU: GPURequest{Count: 1}}}}}},
	}
}

// Levels change as a whole, or go by name; what is left of them elsewhere is a
// fault (V1).
func TestWithLevels(t *testing.T) {
	first, err := NewSnapshot(racks())
	if err != nil {
		t.Fatal(err)
	}
	flat := racks()
	for i := range flat.Nodes {
		flat.Nodes[i].Domains = nil
	}
	flat.Workloads[0].Topology = Topology{}
	gone := Removal{Levels: []string{"rack"}}
	for _, row := range []struct {
		name   string
		change Change
		levels []Level
		fault  string
	}{
		{"nothing said", Change{Revision: "r"}, []Level{{"rack"}}, ""},
		{"one more", Change{Levels: []Level{{"block"}, {"rack"}}}, []Level{{"block"}, {"rack"}}, ""},
		{"another, and the old one gone", Change{Remove: gone, Levels: []Level{{"zone"}, {"rack"}}}, []Level{{"zone"}, {"rack"}}, ""},
		{"none, and nothing of them left", Change{Remove: gone, Nodes: flat.Nodes, Workloads: flat.Workloads}, nil, ""},
		{"not there", Change{Remove: Removal{Levels: []string{"rack", "block"}}}, nil, "changes[0].remove.levels[1]: must be there, is \"block\""},
		{"left on nodes", Change{Remove: gone, Workloads: flat.Workloads}, nil, `nodes[0] (n0).domains["rack"]: must name a level that is listed, is "rack"`},
		{"left in a constraint", Change{Remove: gone, Nodes: flat.Nodes}, nil, `workloads[0] (near).topology.required: must name a level, is "rack"`},
		{"twice", Change{Levels: []Level{{"rack"}, {"rack"}}}, nil, `levels[1].name: must differ from levels[0].name, is "rack"`},
		{"a node of no level", Change{Nodes: []Node{{ID: "n2", Domains: map[string]string{"zone": "a"}}}}, nil, `nodes[2] (n2).domains["zone"]: must name a level that is listed, is "zone"`},
		{"a constraint of no level", Change{Workloads: []Workload{{ID: "z", Topology: Topology{Preferred: "zone"}, PodSets: []PodSet{{Count: 1}}}}}, nil, `workloads[1] (z).topology.preferred: must name a level, is "zone"`},
	} {
		next, err := first.With(row.change)
		if row.fault != "" {
			var all *InvalidError
			if !errors.As(err, &all) || all.Faults[0].String() != row.fault {
				t.Errorf("%s: %v, want %s", row.name, err, row.fault)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", row.name, err)
			continue
		}
		if d := cmp.Diff(row.levels, next.State().Levels); d != "" {
			t.Errorf("%s: %s", row.name, d)
		}
	}
	if levels := first.State().Levels; len(levels) != 1 {
		t.Errorf("the first version has now %v", levels)
	}
}

// What changes of the topology is decided upon as from scratch, by a desk that has
// compiled it (T2).
func TestDecideFollowsTopology(t *testing.T) {
	other := racks()
	other.Nodes[1].Domains["rack"] = "r0"
	alone := racks().Workloads[0]
	alone.PodSets[0].Count = 3
	spread := racks()
	spread.Levels = append(spread.Levels, Level{"shelf"})
	for name, change := range map[string]Change{ // each by itself: order cannot matter
		"a node moves":            {Nodes: other.Nodes[1:], Workloads: []Workload{alone}},
		"a level comes":           {Levels: spread.Levels, Workloads: []Workload{alone}},
		"a constraint comes":      {Workloads: []Workload{alone}},
		"a link goes down":        {Nodes: []Node{{ID: "n0", Devices: make([]Device, 2), Links: []Link{{A: 0, B: 1}}}}},
		"a constraint of a queue": {Pools: []Pool{{ID: "p"}}, Workloads: []Workload{alone}},
	} {
		start := racks()
		start.Workloads[0].Topology = Topology{}
		snapshot, err := NewSnapshot(start)
		if err != nil {
			t.Fatal(err)
		}
		if d, err := snapshot.Decide(); err != nil || !d.Incremental() {
			t.Fatalf("%s: without a constraint there is no desk, %v", name, err)
		}
		next, err := snapshot.With(change)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		d, err := next.Decide()
		if err != nil {
			t.Fatal(err)
		}
		want, err := Solve(next.State())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.Actions, d.Actions(), exact); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if !d.Incremental() {
			t.Errorf("%s: decided from scratch", name)
		}
	}
}

// A desk sees every field of a node but those that it follows.
func TestEqualButUse(t *testing.T) {
	var a Node
	fill(t, reflect.ValueOf(&a).Elem(), "Node")
	for i := range reflect.TypeFor[Node]().NumField() {
		b := a
		reflect.ValueOf(&b).Elem().Field(i).SetZero()
		name := reflect.TypeFor[Node]().Field(i).Name
		followed := name == "Cordoned" || name == "Lost"
		if equalButUse(&a, &b) != followed {
			t.Errorf("%s: equal is %v", name, !followed)
		}
	}
}

// Workloads that differ in a constraint alone, wherever it stands, have definitions
// of their own, with the levels by number.
func TestCompileTopology(t *testing.T) {
	s := racks()
	s.Levels = []Level{{"block"}, {"rack"}}
	with := func(id string, change func(w *Workload)) {
		w := Workload{ID: id, Groups: []Group{{Name: "g"}}, PodSets: []PodSet{{Name: "s", Group: "g", Count: 4, Request: Request{GPU: GPURequest{Count: 1}}}}}
		change(&w)
		s.Workloads = append(s.Workloads, w)
	}
	with("a0", func(*Workload) {})
	with("a1", func(*Workload) {})
	with("b0", func(w *Workload) { w.Topology.Required = "block" })
	with("b1", func(w *Workload) { w.Topology.Required = "block" })
	with("c", func(w *Workload) { w.Topology.Preferred = "block" })
	with("d", func(w *Workload) { w.Groups[0].Topology.Required = NodeLevel })
	with("e", func(w *Workload) { w.PodSets[0].Topology.Required = NodeLevel })
	with("f", func(w *Workload) { w.PodSets[0].Topology.Slices = []Slice{{2, "rack"}} })
	with("g", func(w *Workload) { w.PodSets[0].Topology.Slices = []Slice{{2, NodeLevel}} })
	with("h", func(w *Workload) { w.PodSets[0].Topology.Slices = []Slice{{4, NodeLevel}} })
	with("i", func(w *Workload) { w.PodSets[0].Request.GPU = GPURequest{Count: 2, Island: 1} })
	with("j", func(w *Workload) { w.PodSets[0].Request.GPU = GPURequest{Count: 2, PreferIsland: 1} })
	if err := Check(s); err != nil {
		t.Fatal(err)
	}
	w, err := compile(s)
	if err != nil {
		t.Fatal(err)
	}
	byDefinition := make(map[int32][]string)
	for i := range w.Works {
		f := &w.Works[i].Form
		byDefinition[f.Definition] = append(byDefinition[f.Definition], w.source(&w.Works[i]).ID)
	}
	if a, b := byDefinition[w.Works[0].Form.Definition], byDefinition[w.Works[2].Form.Definition]; len(byDefinition) != 11 || len(a) != 2 || len(b) != 2 {
		t.Errorf("definitions are of %v", byDefinition)
	}
	set := func(id int) (int32, int32) {
		c := w.Definition(&w.Works[id], 0).Gang.Set(0).Constraint
		if len(c.Slices) > 0 {
			return c.Slices[0].Size, int32(c.Slices[0].Level)
		}
		return -1, int32(c.Required)
	}
	for i, want := range map[int][2]int32{0: {-1, 0}, 6: {-1, 3}, 7: {2, 2}, 8: {2, 3}} { // each by itself: order cannot matter
		if size, level := set(i); size != want[0] || level != want[1] {
			t.Errorf("%s: slices of %d, level %d, want %v", w.source(&w.Works[i]).ID, size, level, want)
		}
	}
	p := w.pools[0]
	if p.Topology == nil || p.Topology.NodeLevel() != 3 || p.Topology.Of(0, 2) == p.Topology.Of(1, 2) || p.Topology.Of(0, 1) != -1 {
		t.Errorf("the tree is %+v", p.Topology)
	}
	s.Workloads = s.Workloads[1:3]
	// Where nothing is constrained the tree is there for the order of nodes (P3).
	if w, err = compile(s); err != nil || w.pools[0].Topology == nil || !w.pools[0].Index.ByDomains() || w.pools[0].Constrained {
		t.Errorf("nodes are in domains, and there is no tree, %v", err)
	}
	for i := range s.Nodes {
		s.Nodes[i].Domains = nil
	}
	if w, err = compile(s); err != nil || w.pools[0].Topology != nil || w.pools[0].Index.ByDomains() {
		t.Errorf("no node is in a domain, and there is a tree, %v", err)
	}
}

// T4: what is said of a device or a pair of them overrides its hardware.
func TestCompileInside(t *testing.T) {
	s := &State{Nodes: []Node{
		{ID: "a", Hardware: "nvlink-pairs-4", Devices: make([]Device, 4)},
		{ID: "b", Hardware: "nvlink-pairs-4", Devices: []Device{{Socket: 7}, {}, {}, {Switch: 9}}, Links: []Link{{A: 1, B: 0}, {A: 1, B: 2, NVLinks: 5}}},
		{ID: "c", Devices: []Device{{Socket: 1}, {Switch: 1}}, Links: []Link{{A: 1, B: 0, NVLinks: 2}}},
	}}
	if err := Check(s); err != nil {
		t.Fatal(err)
	}
	w, err := compile(s)
	if err != nil {
		t.Fatal(err)
	}
	type inside struct {
		Sockets, Switches []int32
		Links             [][3]int32
	}
	var got []inside
	for _, n := range w.pools[0].Placed {
		var in inside
		for _, d := range n.Devices {
			in.Sockets, in.Switches = append(in.Sockets, d.Socket), append(in.Switches, d.Switch)
		}
		for _, l := range n.Links {
			in.Links = append(in.Links, [3]int32{l.A, l.B, l.NVLinks})
		}
		got = append(got, in)
	}
	want := []inside{
		{[]int32{1, 1, 2, 2}, []int32{1, 2, 3, 4}, [][3]int32{{0, 1, 3}, {2, 3, 3}}},
		{[]int32{7, 1, 2, 2}, []int32{1, 2, 3, 9}, [][3]int32{{1, 2, 5}, {2, 3, 3}}},
		{[]int32{1, 0}, []int32{0, 1}, [][3]int32{{0, 1, 2}}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
