package gang_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
	"pgregory.net/rapid"
)

// on lists the nodes of places.
func on(places []placement.Place) (nodes []int32) {
	for _, p := range places {
		nodes = append(nodes, p.Node)
	}
	return nodes
}

// racked is an index of nodes with so many devices, and their tree of one level.
func racked(t testing.TB, racks []string, devices ...int) (*placement.Index, *placement.Topology) {
	t.Helper()
	var nodes []placement.Node
	names := make([][]string, len(racks))
	for v, rack := range racks {
		nodes = append(nodes, machine(devices[v], 100))
		names[v] = []string{rack}
	}
	return newIndex(t, nodes), placement.NewTopology(1, names)
}

// singles is a set of so many tasks of one device.
func singles(x *placement.Index, count int32, c gang.Constraint) gang.Set {
	s := asking(x, count, count, whole(1, 0))
	s.Parent, s.Constraint = -1, c
	return s
}

// within places the first unit of sets.
func within(t testing.TB, p *gang.Placer, x *placement.Index, c gang.Constraint, groups []gang.Group, sets ...gang.Set) ([]placement.Place, gang.Verdict) {
	t.Helper()
	g, err := gang.NewWithin(c, sets, groups)
	if err != nil {
		t.Fatal(err)
	}
	unit, v := g.First(nil)
	if !v.OK {
		t.Fatalf("nothing to start: %+v", v)
	}
	return p.PlaceWithSiblings(x, g, unit, gang.Siblings{}, gang.Strategies{}, nil)
}

// What a constraint must be is looked at when the gang is built.
func TestBadConstraint(t *testing.T) {
	slices := []gang.Slice{{Size: 2, Level: 1}}
	for _, c := range []gang.Constraint{
		{Required: -1}, {Preferred: -1}, {Required: 2, Preferred: 1}, {Mode: 9},
		{Slices: []gang.Slice{{Size: 0, Level: 1}}}, {Slices: []gang.Slice{{Size: 1, Level: -1}}},
	} {
		for at, want := range [][2]int32{{-1, -1}, {-1, 0}, {0, -1}} {
			all := make([]gang.Constraint, 3)
			all[at] = c
			s := set(1, 1)
			s.Parent, s.Constraint = 0, all[2]
			_, err := gang.NewWithin(all[0], []gang.Set{s}, []gang.Group{{Parent: -1, Constraint: all[1]}})
			var fault *gang.DefinitionError
			if !errors.As(err, &fault) || fault.Fault != gang.BadConstraint || fault.Set != want[0] || fault.Group != want[1] {
				t.Errorf("%+v: %v", c, err)
			}
		}
	}
	if _, err := gang.NewWithin(gang.Constraint{Slices: slices}, []gang.Set{set(2, 2)}, nil); err == nil {
		t.Error("a workload has slices of its own")
	}
	s := set(2, 2)
	s.Parent, s.Constraint.Slices = -1, slices
	if _, err := gang.New([]gang.Set{s}, nil); err != nil {
		t.Error(err)
	}
}

// Without a topology no constraint can be kept, and of levels that it does not have
// nothing is required in vain: nothing panics, nothing starts.
func TestLevelsThatAreNotThere(t *testing.T) {
	x, tree := racked(t, []string{"a", "a", "b"}, 2, 2, 2)
	sliced := gang.Constraint{Slices: []gang.Slice{{Size: 2, Level: 9}}}
	for _, c := range []gang.Constraint{{Required: 9}, sliced, {Required: 1, Preferred: 9}, {Preferred: 9, Mode: gang.Spread}} {
		g, err := gang.New([]gang.Set{singles(x, 2, c)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		unit, _ := g.First(nil)
		held := []gang.Held{{Node: 0}}
		for _, p := range []*gang.Placer{{}, {Topology: tree}} {
			mark := x.Mark()
			_, v := p.PlaceWithSiblings(x, g, unit, gang.Siblings{}, gang.Strategies{}, nil)
			p.Best(x, g, unit, gang.Siblings{}, gang.Strategies{})
			p.Domains(x, g, unit, gang.Siblings{})
			obeyed := p.Obeyed(g, held)
			x.Undo(mark)
			soft := p.Topology != nil && c.Preferred == 9
			if v.OK != soft || !soft && v.Kind != gang.NoDomain || obeyed != soft {
				t.Errorf("%+v: %+v, obeyed %v", c, v, obeyed)
			}
		}
	}
	empty, none := racked(t, nil)
	if _, v := within(t, &gang.Placer{Topology: none}, empty, gang.Constraint{Required: 1}, nil, singles(empty, 1, gang.Constraint{})); v.Kind != gang.TooFew {
		t.Errorf("without nodes: %+v", v)
	}
}

// T2, T5 by hand: where the domains are enough, few, or lacking.
func TestPlaceWithSiblingsTable(t *testing.T) {
	racks := []string{"a", "a", "b", "b", "c", ""}
	for _, test := range []struct {
		name    string
		devices []int
		c       gang.Constraint
		tasks   int32
		want    []int32
	}{
		{"the fullest rack that takes all", []int{2, 2, 1, 2, 2, 9}, gang.Constraint{Required: 1}, 3, []int32{2, 3, 3}},
		{"one node and not the full one and an emptier one", []int{2, 1, 0, 0, 0, 0}, gang.Constraint{Required: 1}, 2, []int32{0, 0}},
		{"the fullest node that takes it", []int{3, 2, 0, 0, 0, 0}, gang.Constraint{Required: 1}, 2, []int32{1, 1}},
		{"without a rack the strategy decides", []int{2, 1, 0, 0, 0, 0}, gang.Constraint{Slices: []gang.Slice{{Size: 2, Level: 1}}}, 2, []int32{1, 0}},
		{"no rack takes all", []int{2, 2, 1, 2, 2, 9}, gang.Constraint{Required: 1}, 5, nil},
		{"what lacks the rack comes last", []int{2, 2, 1, 2, 2, 9}, gang.Constraint{Preferred: 1}, 9, []int32{0, 0, 1, 1, 2, 3, 3, 4, 4}},
		{"with it in as few as can be", []int{2, 2, 1, 2, 2, 9}, gang.Constraint{Preferred: 1}, 10, []int32{0, 0, 1, 1, 5, 5, 5, 5, 5, 5}},
		{"two racks, the fullest for the rest", []int{2, 2, 1, 2, 2, 0}, gang.Constraint{Preferred: 1}, 6, []int32{0, 0, 1, 1, 4, 4}},
		{"two racks alike", []int{2, 2, 1, 2, 2, 0}, gang.Constraint{Preferred: 1, Mode: gang.Balance}, 6, []int32{0, 0, 1, 2, 3, 3}},
		{"the fullest two that take equal parts", []int{3, 2, 2, 2, 3, 0}, gang.Constraint{Preferred: 1, Mode: gang.Balance}, 6, []int32{2, 2, 3, 4, 4, 4}},
		{"all racks", []int{2, 2, 1, 2, 2, 9}, gang.Constraint{Preferred: 1, Mode: gang.Spread}, 3, []int32{0, 2, 4}},
		{"slices of two", []int{1, 2, 1, 2, 1, 9}, gang.Constraint{Slices: []gang.Slice{{Size: 2, Level: 1}}}, 4, []int32{0, 1, 2, 3}},
		{"slices in no rack are none", []int{1, 2, 1, 2, 1, 9}, gang.Constraint{Slices: []gang.Slice{{Size: 2, Level: 1}}}, 6, nil},
		{"slices wider than what is preferred", []int{1, 1, 0, 0, 0, 0}, gang.Constraint{Preferred: 2, Slices: []gang.Slice{{Size: 2, Level: 1}}}, 2, []int32{0, 1}},
	} {
		x, tree := racked(t, racks, test.devices...)
		places, v := within(t, &gang.Placer{Topology: tree}, x, gang.Constraint{}, nil, singles(x, test.tasks, test.c))
		if got := on(places); !slices.Equal(got, test.want) || v.OK != (test.want != nil) {
			t.Errorf("%s: %v %+v, want %v", test.name, got, v, test.want)
		}
	}
}

// T3: a block of two racks that take three tasks each takes two slices of two, not
// three, so a third slice goes to the other block.
func TestSlicesInBlocks(t *testing.T) {
	x := newIndex(t, []placement.Node{machine(3, 0), machine(3, 0), machine(2, 0)})
	tree := placement.NewTopology(2, [][]string{{"east", "r1"}, {"east", "r2"}, {"west", "r1"}})
	c := gang.Constraint{Preferred: 1, Slices: []gang.Slice{{Size: 2, Level: 2}}}
	places, v := within(t, &gang.Placer{Topology: tree}, x, gang.Constraint{}, nil, singles(x, 6, c))
	if got := on(places); !slices.Equal(got, []int32{0, 0, 1, 1, 2, 2}) {
		t.Errorf("T3: %v %+v", got, v)
	}
}

// T6: one lost task of a slice joins those that are left of it, if it can.
func TestSurvivorsPin(t *testing.T) {
	x, tree := racked(t, []string{"a", "a", "b", "b"}, 1, 2, 4, 4)
	c := gang.Constraint{Slices: []gang.Slice{{Size: 2, Level: 1}}}
	g, err := gang.New([]gang.Set{singles(x, 4, c)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := gang.Placer{Topology: tree}
	held := []gang.Held{{Index: 0, Node: 2}, {Index: 1, Node: 3}, {Index: 3, Node: 0}}
	siblings := gang.Siblings{Held: held, Indices: [][]int32{{2}}}
	if err := x.Take(x.Shape(whole(1, 0)), placement.Place{Node: 0, Devices: 1}); err != nil {
		t.Fatal(err)
	}
	for _, want := range [][]int32{{1}, {1}, nil} { // the two devices of node 1, and no more
		places, v := p.PlaceWithSiblings(x, g, gang.Unit{Add: []int32{1}}, siblings, gang.Strategies{}, nil)
		if got := on(places); !slices.Equal(got, want) || v.OK != (want != nil) {
			t.Errorf("T6: %v %+v, want %v", got, v, want)
		}
	}
	torn := gang.Siblings{Held: []gang.Held{{Index: 2, Node: 2}, {Index: 3, Node: 1}}, Indices: [][]int32{{1}}}
	if _, v := p.PlaceWithSiblings(x, g, gang.Unit{Add: []int32{1}}, torn, gang.Strategies{}, nil); !v.OK {
		t.Errorf("T6: a slice of its own beside one that is torn: %+v", v)
	}
	torn.Indices[0] = []int32{2}
	if _, v := p.PlaceWithSiblings(x, g, gang.Unit{Add: []int32{1}}, torn, gang.Strategies{}, nil); v.OK {
		t.Error("T6: a task joins a slice that is in two racks")
	}
}

// T6: what is added joins what is held in the domain that is required, though another
// would be fuller; it waits if that has no room.
func TestRequiredPins(t *testing.T) {
	x, tree := racked(t, []string{"a", "b", "b"}, 2, 1, 4)
	g, err := gang.New([]gang.Set{singles(x, 6, gang.Constraint{Required: 1})}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := gang.Placer{Topology: tree}
	for _, test := range []struct {
		held  []gang.Held
		tasks int32
		want  []int32
	}{
		{nil, 2, []int32{0, 0}},
		{[]gang.Held{{Node: 2}}, 2, []int32{2, 2}},
		{[]gang.Held{{Node: 0}}, 2, []int32{0, 0}},
		{[]gang.Held{{Node: 0}}, 3, nil},
		{[]gang.Held{{Node: 0}, {Index: 1, Node: 1}}, 1, nil},
	} {
		mark := x.Mark()
		places, v := p.PlaceWithSiblings(x, g, gang.Unit{Add: []int32{test.tasks}}, gang.Siblings{Held: test.held}, gang.Strategies{}, nil)
		if got := on(places); !slices.Equal(got, test.want) || v.OK != (test.want != nil) {
			t.Errorf("T6: beside %v: %v %+v, want %v", test.held, got, v, test.want)
		}
		x.Undo(mark)
	}
}

// P8 (row D19) through the index, and nodes that are in use only.
func TestFittingOnNodes(t *testing.T) {
	for _, test := range []struct {
		fitting gang.Fitting
		devices []int
		tasks   int32
		want    []int32
	}{
		{gang.WholeNodes, []int{8, 7, 7, 4, 4, 4, 4}, 16, []int32{3, 4, 5, 6}},
		{gang.MixedWholeNodes, []int{8, 6, 4}, 12, []int32{0, 2}},
		{gang.WholeNodes, []int{8, 8, 8}, 12, nil},
		{gang.MixedWholeNodes, []int{8, 8, 8}, 12, nil},
		{gang.MixedWholeNodes, []int{6, 4, 4}, 8, []int32{1, 2}},
		{gang.MixedWholeNodes, []int{5, 3, 4, 4}, 8, []int32{2, 3}},
		{gang.WholeNodes, []int{8, 6, 7}, 6, []int32{1}},
		{gang.AnyNodes, []int{8, 8, 8}, 12, []int32{0, 1}},
	} {
		x, _ := racked(t, make([]string, len(test.devices)), test.devices...)
		places, v := within(t, &gang.Placer{Fitting: test.fitting}, x, gang.Constraint{}, nil, singles(x, test.tasks, gang.Constraint{}))
		if got := slices.Compact(on(places)); !slices.Equal(got, test.want) || v.OK != (test.want != nil) {
			t.Errorf("P8 %v: %d on %v: %v %+v", test.fitting, test.tasks, test.devices, got, v)
		}
	}
	x, _ := racked(t, make([]string, 3), 8, 4, 4)
	one := x.Shape(whole(1, 0))
	p := gang.Placer{UsedNodes: true}
	if _, v := within(t, &p, x, gang.Constraint{}, nil, singles(x, 1, gang.Constraint{})); v.OK {
		t.Error("P8: a task goes to an idle node")
	}
	if err := x.Take(one, placement.Place{Node: 2, Devices: 8}); err != nil {
		t.Fatal(err)
	}
	places, v := within(t, &p, x, gang.Constraint{}, nil, singles(x, 3, gang.Constraint{}))
	if !v.OK || !slices.Equal(on(places), []int32{2, 2, 2}) {
		t.Errorf("P8: %v %+v, want all on the node that is in use", places, v)
	}
	if _, v := within(t, &p, x, gang.Constraint{}, nil, asking(x, 2, 2, whole(0, 1))); !v.OK {
		t.Errorf("P8: tasks without devices go anywhere, %+v", v)
	}
}

// P8: constraints lead no task to an idle node that it is kept off.
func TestUsedNodesUnderConstraints(t *testing.T) {
	for _, c := range []gang.Constraint{{Required: 1}, {Preferred: 1}, {Preferred: 2, Mode: gang.Spread}} {
		x, tree := racked(t, []string{"a", "b"}, 2, 4)
		p := gang.Placer{Topology: tree, UsedNodes: true}
		if places, v := within(t, &p, x, c, nil, singles(x, 1, gang.Constraint{})); v.OK || !v.Cut {
			t.Errorf("P8 %+v: %v %+v", c, places, v)
		}
		if err := x.Take(x.Shape(whole(1, 0)), placement.Place{Node: 1, Devices: 1}); err != nil {
			t.Fatal(err)
		}
		if places, v := within(t, &p, x, c, nil, singles(x, 1, gang.Constraint{})); !v.OK || places[0].Node != 1 {
			t.Errorf("P8 %+v: %v %+v, want the node that is in use", c, places, v)
		}
	}
}

// T7: for one set Best names, by level from the preferred to the required one, the
// domain with the most room, and Domains those of the required level; where it is
// exact, one of them has room if and only if the unit starts.
func TestBestAndDomains(t *testing.T) {
	named, exacts := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		if len(s.sets) > 1 || s.unit.Add[0] == 0 || len(s.sets[0].Constraint.Slices) > 0 || len(s.siblings.Held) > 0 {
			return
		}
		room := func(level placement.Level, in func(v int32) bool) (total int64) {
			for v := range int32(len(s.names)) {
				if in(v) && (level == 0 || s.together(v, v, level)) {
					total += int64(s.x.RoomOn(s.sets[0].Shape, v))
				}
			}
			return total
		}
		n := int64(s.unit.Add[0])
		list, exact := s.placer.Domains(s.x, s.g, s.unit, s.siblings)
		most := int64(0)
		for _, d := range list {
			total := int64(0)
			for _, v := range s.tree.Nodes(d) {
				total += int64(s.x.RoomOn(s.sets[0].Shape, v))
			}
			most = max(most, total)
		}
		bests := s.placer.Best(s.x, s.g, s.unit, s.siblings, s.st)
		mark := s.x.Mark()
		_, v := s.placer.PlaceWithSiblings(s.x, s.g, s.unit, s.siblings, s.st, nil)
		s.x.Undo(mark)
		if exact && list != nil {
			exacts++
			if v.OK != (most >= n) {
				t.Fatalf("T7: %+v, the best domain of %v takes %d of %d: %s", v, list, most, n, s)
			}
		}
		if v.OK && len(bests) > 0 {
			t.Fatalf("T7: %+v although it starts: %s", bests, s)
		}
		for _, b := range bests {
			named++
			want := int64(0)
			for first := range int32(len(s.names)) {
				want = max(want, min(n, room(b.Level, func(v int32) bool { return s.together(first, v, b.Level) })))
			}
			if int64(b.Tasks) != want || int64(b.Needed) != n || (b.Domain < 0) != (want == 0) {
				t.Fatalf("T7: %+v, by names %d of %d: %s", b, want, n, s)
			}
		}
	})
	t.Logf("%d domains named, %d lists exact", named, exacts)
}

// Sixteen workers in slices of eight, each in a rack, in one block; the racks of the
// other block have more free, so they stay whole.
func ExamplePlacer_PlaceWithSiblings() {
	var nodes []placement.Node
	var names [][]string
	for _, block := range []string{"east", "west"} {
		for _, rack := range []string{"r1", "r2"} {
			for range 3 {
				nodes = append(nodes, placement.Node{
					Devices: make([]placement.Device, 4), Slots: placement.NoCap, CPUOnlySlots: placement.NoCap,
				})
				names = append(names, []string{block, rack})
			}
		}
	}
	x, err := placement.NewIndex(nodes, 0)
	if err != nil {
		panic(err)
	}
	worker := x.Shape(placement.Request{Devices: 1, Set: -1})
	for _, used := range []int32{6, 9} { // in the west, which is the fuller block then
		if err := x.Take(worker, placement.Place{Node: used, Devices: 1}); err != nil {
			panic(err)
		}
	}
	g, err := gang.New([]gang.Set{{
		Shape: worker, Devices: 1, Count: 16, Min: 16, Submitted: 16, Parent: -1,
		Constraint: gang.Constraint{Required: 1, Slices: []gang.Slice{{Size: 8, Level: 2}}},
	}}, nil)
	if err != nil {
		panic(err)
	}
	placer := gang.Placer{Topology: placement.NewTopology(2, names)}
	unit, _ := g.First(nil)
	places, verdict := placer.PlaceWithSiblings(x, g, unit, gang.Siblings{}, gang.Strategies{}, nil)
	fmt.Println(verdict.OK)
	for node, tasks := range count(places) {
		if tasks > 0 {
			fmt.Println(names[node], "node", node, "has", tasks)
		}
	}
	// Output:
	// true
	// [west r1] node 6 has 3
	// [west r1] node 7 has 4
	// [west r1] node 8 has 1
	// [west r2] node 9 has 3
	// [west r2] node 10 has 4
	// [west r2] node 11 has 1
}

// count counts places by node.
func count(places []placement.Place) (tasks [12]int) {
	for _, p := range places {
		tasks[p.Node]++
	}
	return tasks
}

// P8: the nodes beside those that others use may be filled where all of them leave a rest.
func TestFitsBeside(t *testing.T) {
	for _, test := range []struct {
		fitting gang.Fitting
		devices []int
		tasks   int32
		want    bool
	}{
		{gang.MixedWholeNodes, []int{4, 3, 2}, 5, true},
		{gang.MixedWholeNodes, []int{4, 3, 2}, 8, false},
		{gang.MixedWholeNodes, []int{4, 3}, 6, false}, // no node is filled twice
		{gang.MixedWholeNodes, []int{4, 3, 3}, 6, true},
		{gang.MixedWholeNodes, []int{6, 4, 4, 3}, 11, true},
		{gang.MixedWholeNodes, []int{8, 3}, 5, true}, // on one node
		{gang.WholeNodes, []int{4, 3, 2}, 5, false},
		{gang.AnyNodes, []int{4, 3, 2}, 5, false},
	} {
		x, _ := racked(t, make([]string, len(test.devices)), test.devices...)
		g, err := gang.New([]gang.Set{singles(x, test.tasks, gang.Constraint{})}, nil)
		if err != nil {
			t.Fatal(err)
		}
		p := gang.Placer{Fitting: test.fitting}
		if got := p.FitsBeside(x, g, gang.Unit{Add: []int32{test.tasks}}); got != test.want {
			t.Errorf("P8 %v: %d beside others on %v: %v", test.fitting, test.tasks, test.devices, got)
		}
	}
}
