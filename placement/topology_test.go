package placement

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A namedDomain is a domain by the names of its path: what has all of them is in it.
type namedDomain struct {
	level int
	path  []string // one name a level; of a node one more, its position
	nodes []int32
}

// namedDomains lists the domains of a level by comparing lists of names: those of
// the nodes that have the level, by name.
func namedDomains(levels, level int, nodes [][]string) (list []namedDomain) {
	paths := make([][]string, len(nodes))
	order := make([]int32, len(nodes))
	for v := range nodes {
		order[v] = int32(v)
		for l := range levels {
			paths[v] = append(paths[v], "")
			if l < len(nodes[v]) {
				paths[v][l] = nodes[v][l]
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int32) int { return slices.Compare(paths[a], paths[b]) })
	if level == 0 {
		return []namedDomain{{nodes: order}}
	}
	for _, v := range order {
		if level > levels {
			path := append(slices.Clone(paths[v]), fmt.Sprint(v))
			list = append(list, namedDomain{level, path, []int32{v}})
			continue
		}
		path := paths[v][:level]
		at := slices.IndexFunc(list, func(d namedDomain) bool { return slices.Equal(d.path, path) })
		switch {
		case path[level-1] == "":
		case at >= 0:
			list[at].nodes = append(list[at].nodes, v)
		default:
			list = append(list, namedDomain{level, path, []int32{v}})
		}
	}
	return list
}

// holds says whether a domain is the other or around it.
func (d namedDomain) holds(e namedDomain) bool {
	return d.level <= e.level && slices.Equal(d.path, e.path[:min(len(e.path), len(d.path))])
}

func drawNames(t *rapid.T) (levels int, nodes [][]string) {
	levels = rapid.IntRange(0, 3).Draw(t, "levels")
	nodes = make([][]string, rapid.IntRange(0, 9).Draw(t, "nodes"))
	for v := range nodes {
		for range rapid.IntRange(max(0, levels-1), levels+1).Draw(t, "names") {
			nodes[v] = append(nodes[v], rapid.SampledFrom([]string{"a", "b", ""}).Draw(t, "name"))
		}
	}
	return levels, nodes
}

// T1: the tree is that of the paths of names, however uneven, with nodes that lack
// levels in none of their domains.
func TestTopologyAgainstNames(t *testing.T) {
	lacking, uneven := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		levels, nodes := drawNames(t)
		tree := NewTopology(levels, nodes)
		if tree.NodeLevel() != Level(levels+1) {
			t.Fatalf("NodeLevel = %d", tree.NodeLevel())
		}
		var all []namedDomain
		for level := range levels + 2 {
			list := namedDomains(levels, level, nodes)
			from, to := tree.At(Level(level), 0)
			if int(from) != len(all) || int(to-from) != len(list) {
				t.Fatalf("T1: level %d of %q has domains %d to %d, by names %d after %d", level, nodes, from, to, len(list), len(all))
			}
			all = append(all, list...)
		}
		if len(namedDomains(levels, levels, nodes)) > 0 && len(nodes) > len(namedDomains(levels, levels, nodes)) {
			uneven++
		}
		for d, want := range all {
			checkDomain(t, tree, Domain(d), all)
			for v := range nodes {
				if in := slices.Contains(want.nodes, int32(v)); in != (tree.Of(int32(v), Level(want.level)) == Domain(d)) {
					t.Fatalf("T1: node %d of %q is in domain %d: %v", v, nodes, d, !in)
				}
			}
		}
		for v := range nodes {
			for level := range levels {
				if lacks := level >= len(nodes[v]) || nodes[v][level] == ""; lacks {
					lacking++
					if d := tree.Of(int32(v), Level(level+1)); d != -1 {
						t.Fatalf("T1: node %d of %q lacks level %d and is in domain %d", v, nodes, level+1, d)
					}
				}
			}
		}
	})
	if lacking == 0 || uneven == 0 {
		t.Errorf("%d levels were lacking, %d trees uneven", lacking, uneven)
	}
}

// checkDomain compares what the tree says of one domain with the names.
func checkDomain(t *rapid.T, tree *Topology, d Domain, all []namedDomain) {
	want := all[d]
	if !slices.Equal(tree.Nodes(d), want.nodes) || tree.LevelOf(d) != Level(want.level) {
		t.Fatalf("T1: domain %d has nodes %v at level %d, by names %+v", d, tree.Nodes(d), tree.LevelOf(d), want)
	}
	name := ""
	if 0 < want.level && Level(want.level) < tree.NodeLevel() {
		name = want.path[want.level-1]
	}
	if tree.Name(d) != name {
		t.Fatalf("Name(%d) = %q, want %q", d, tree.Name(d), name)
	}
	parent := Domain(-1)
	for e := range d { // the last one around it is of the next wider level
		if all[e].level < want.level && all[e].holds(want) {
			parent = e
		}
	}
	if tree.Parent(d) != parent {
		t.Fatalf("Parent(%d) = %d, by names %d", d, tree.Parent(d), parent)
	}
	for level := range tree.NodeLevel() + 1 {
		var inside, got []Domain
		for e := range all {
			if all[e].level == int(level) && want.holds(all[e]) {
				inside = append(inside, Domain(e))
			}
		}
		for e, to := tree.At(level, d); e < to; e++ {
			got = append(got, e)
		}
		if !slices.Equal(got, inside) {
			t.Fatalf("T1: At(%d, %d) = %v, by names %v", level, d, got, inside)
		}
	}
	for e := range all {
		if got := tree.Contains(d, Domain(e)); got != want.holds(all[e]) {
			t.Fatalf("T1: Contains(%d, %d) = %v of %+v and %+v", d, e, got, want, all[e])
		}
	}
}

// Nodes side by side in the order of names are one domain only where all wider
// names are the same, one that is lacking included.
func TestTopologySameNames(t *testing.T) {
	tree := NewTopology(2, [][]string{{"east", "r1"}, {"west", "r1"}, {"", "r1"}, {"west"}, {"east", "r1"}, {"", "r1"}})
	var got []string
	for d, to := tree.At(2, 0); d < to; d++ {
		got = append(got, fmt.Sprintf("%s in %d %v", tree.Name(d), tree.Parent(d), tree.Nodes(d)))
	}
	if s := strings.Join(got, "; "); s != "r1 in 0 [2 5]; r1 in 1 [0 4]; r1 in 2 [1]" {
		t.Error(s)
	}
	if d := tree.Of(3, 3); tree.Parent(d) != tree.Of(3, 1) {
		t.Error("a node that lacks the rack does not hang below its block")
	}
}

// Of what is not there nothing is said, and nothing panics: a level that the tree
// does not have is one that every node lacks.
func TestTopologyOfNothing(t *testing.T) {
	for _, tree := range []*Topology{NewTopology(0, nil), NewTopology(-1, nil), NewTopology(2, nil), NewTopology(2, make([][]string, 2))} {
		for level := Level(-2); level < 6; level++ {
			from, to := tree.At(level, 0)
			want := 0
			if level == 0 {
				want = 1
			} else if level == tree.NodeLevel() {
				want = len(tree.Nodes(0))
			}
			if int(to-from) != want {
				t.Errorf("At(%d, 0) = %d to %d, want %d", level, from, to, want)
			}
			if len(tree.Nodes(0)) > 0 && level != 0 && level != tree.NodeLevel() && tree.Of(1, level) != -1 {
				t.Errorf("Of(1, %d) = %d", level, tree.Of(1, level))
			}
		}
		if tree.Parent(0) != -1 || tree.Name(0) != "" || !tree.Contains(0, 0) {
			t.Error("the whole cluster is not what it is")
		}
	}
}

// Neither the order of the nodes nor that of other nodes shows in the domains.
func TestTopologyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		levels, nodes := drawNames(t)
		shuffled := rapid.Permutation(nodes).Draw(t, "shuffled")
		a, b := NewTopology(levels, nodes), NewTopology(levels, shuffled)
		if len(a.domains) != len(b.domains) {
			t.Fatalf("%d domains, shuffled %d", len(a.domains), len(b.domains))
		}
		for d := range a.domains {
			x, y := a.domains[d], b.domains[d]
			if x != y {
				t.Fatalf("domain %d is %+v, shuffled %+v", d, x, y)
			}
		}
	})
}

// What Rooms remembers is what RoomOn says, whatever has come, gone and been taken
// back since.
func TestRooms(t *testing.T) {
	actions := 0
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t, rapid.SliceOfN(rapid.Custom(drawNode), 1, 20).Draw(t, "nodes"))
		for range 2 {
			m.addShape(t)
		}
		var marks []Mark
		type task struct {
			shape Shape
			place Place
		}
		var taken []task
		held := [][]task{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			s := m.shapes[m.drawShape(t)]
			switch rapid.SampledFrom([]string{"take", "take", "give", "mark", "undo", "commit", "cordon", "read"}).Draw(t, "step") {
			case "take":
				node := rapid.Int32Range(0, int32(len(m.model.nodes))-1).Draw(t, "node")
				if p, ok := m.index.PlaceOn(s, node, BinPack); ok {
					if err := m.index.Take(s, p); err != nil {
						t.Fatal(err)
					}
					taken = append(taken, task{s, p})
				}
			case "give":
				if n := len(taken); n > 0 {
					if err := m.index.Give(taken[n-1].shape, taken[n-1].place); err != nil {
						t.Fatal(err)
					}
					taken = taken[:n-1]
				}
			case "mark":
				marks, held = append(marks, m.index.Mark()), append(held, slices.Clone(taken))
			case "undo":
				if n := len(marks); n > 0 {
					m.index.Undo(marks[n-1])
					taken, marks, held = held[n-1], marks[:n-1], held[:n-1]
				}
			case "commit":
				if n := len(marks); n > 0 {
					m.index.Commit(marks[n-1])
					marks, held = marks[:n-1], held[:n-1]
				}
			case "cordon":
				m.index.Cordon(rapid.Int32Range(0, int32(len(m.model.nodes))-1).Draw(t, "node"), rapid.Bool().Draw(t, "cordoned"))
			case "read":
				for v, room := range m.index.Rooms(s) {
					if want := m.index.RoomOn(s, int32(v)); int(room) != want {
						t.Fatalf("Rooms has %d on node %d, RoomOn %d", room, v, want)
					}
					actions++
				}
			}
		}
	})
	if actions == 0 {
		t.Error("nothing was read")
	}
	x := mustIndex(t, plain(gpus(1)), plain(nil))
	if rooms := x.Rooms(-1); !slices.Equal(rooms, []int32{0, 0}) {
		t.Errorf("a shape that there is not has rooms %v", rooms)
	}
}

// PlaceOn is Find where only one node takes the shape.
func TestPlaceOn(t *testing.T) {
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.SliceOfN(rapid.Custom(drawNode), 1, 4).Draw(t, "nodes")
		m := newMachine(t, nodes)
		m.addShape(t)
		for range rapid.IntRange(0, 3).Draw(t, "used") {
			m.takeAnywhere(t)
		}
		v := rapid.Int32Range(0, int32(len(nodes))-1).Draw(t, "node")
		st := rapid.SampledFrom([]Strategy{BinPack, Spread, First, Default, Random, ShadowPrice, BestFit}).Draw(t, "strategy")
		got, ok := m.index.PlaceOn(m.shapes[0], v, st)
		if ok != (got.Node == v) || !ok && got.Node != -1 {
			t.Fatalf("PlaceOn(%d) = %v %v", v, got, ok)
		}
		like := cmp.Or(map[Strategy]Strategy{Spread: Spread, First: First}[st], BinPack)
		one := newMachine(t, nodes[v:v+1])
		for _, h := range m.held {
			if h.place.Node == v {
				if err := one.index.Take(one.index.Shape(m.requests[0]), Place{Node: 0, Devices: h.place.Devices}); err != nil {
					t.Fatal(err)
				}
			}
		}
		want, wantOK := one.index.Find(one.index.Shape(m.requests[0]), like)
		if ok != wantOK || got.Devices != want.Devices {
			t.Fatalf("PlaceOn(%d, %v) = %v %v, Find on it alone %v %v", v, st, got, ok, want, wantOK)
		}
		if ok {
			found++
		}
	})
	if found == 0 {
		t.Error("nothing was found")
	}
	x := mustIndex(t, plain(gpus(1)))
	one := x.Shape(Request{Set: -1, Devices: 1})
	for _, node := range []int32{-1, 1} {
		if _, ok := x.PlaceOn(one, node, BinPack); ok {
			t.Errorf("node %d, which is not there, takes a task", node)
		}
	}
	if _, ok := x.PlaceOn(-1, 0, BinPack); ok {
		t.Error("a shape that there is not has a place")
	}
}

// P8: a node is idle while nobody uses a healthy device of it; devices that are not
// healthy are none.
func TestIdle(t *testing.T) {
	x := mustIndex(t, plain([]Device{{}, {Unhealthy: true}, {}}), plain(nil))
	if n, idle := x.Idle(0); n != 2 || !idle {
		t.Errorf("Idle = %d %v, want 2 healthy devices", n, idle)
	}
	if n, idle := x.Idle(1); n != 0 || !idle {
		t.Errorf("a node without devices: Idle = %d %v", n, idle)
	}
	if err := x.Take(x.Shape(Request{Set: -1, Devices: 1, Milli: 1}), Place{Node: 0, Devices: 1}); err != nil {
		t.Fatal(err)
	}
	if n, idle := x.Idle(0); n != 2 || idle {
		t.Errorf("Idle = %d %v with a thousandth of a device in use", n, idle)
	}
}

// Devices that are whole and anywhere are as good as any others.
func TestPlain(t *testing.T) {
	x := mustIndex(t, plain(gpus(2)))
	for _, test := range []struct {
		request Request
		want    bool
	}{
		{Request{Set: -1}, true},
		{Request{Set: -1, Devices: 2}, true},
		{Request{Set: -1, Devices: 2, Milli: 1000}, true},
		{Request{Set: -1, Devices: 1, Milli: 500}, false},
		{Request{Set: -1, Devices: 1, Memory: 1}, false},
		{Request{Set: -1, Devices: 2, Island: NVLinkIsland}, false},
	} {
		if got := x.Plain(x.Shape(test.request)); got != test.want {
			t.Errorf("Plain(%+v) = %v", test.request, got)
		}
	}
	if x.Plain(-1) {
		t.Error("a shape that there is not is plain")
	}
}

// Two blocks of racks; a node that nobody has put into a rack, and one of which
// nothing is known.
func ExampleTopology() {
	tree := NewTopology(2, [][]string{
		0: {"east", "r1"},
		1: {"west", "r1"},
		2: {"east", "r2"},
		3: {"east", "r1"},
		4: {"east"},
		5: nil,
	})
	for level := Level(1); level <= 2; level++ {
		for d, to := tree.At(level, 0); d < to; d++ {
			fmt.Println(level, tree.Name(d), tree.Nodes(d))
		}
	}
	fmt.Println("node 4 is in rack", tree.Of(4, 2), "and hangs below", tree.Name(tree.Parent(tree.Of(4, tree.NodeLevel()))))
	// Output:
	// 1 east [4 0 3 2]
	// 1 west [1]
	// 2 r1 [0 3]
	// 2 r2 [2]
	// 2 r1 [1]
	// node 4 is in rack -1 and hangs below east
}
