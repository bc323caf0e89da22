package verify

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
)

// hall is a cluster of two zones. Zone z0 has racks r0 (a, b) and r1 (c, d) and the
// nodes x and y, which lack a rack; zone z1 has another rack r0 (e, f). The node o
// lacks a zone and is in a rack r0, the node q lacks everything. All have 2 devices.
func hall() *allot.State {
	s := &allot.State{Levels: []allot.Level{{Name: "zone"}, {Name: "rack"}}}
	for _, n := range []struct{ id, zone, rack string }{
		{"a", "z0", "r0"}, {"b", "z0", "r0"}, {"c", "z0", "r1"}, {"d", "z0", "r1"},
		{"e", "z1", "r0"}, {"f", "z1", "r0"}, {"o", "", "r0"}, {"q", "", ""}, {"x", "z0", ""}, {"y", "z0", ""},
	} {
		made := node(n.id, 2)
		made.Domains = make(map[string]string)
		for level, name := range map[string]string{"zone": n.zone, "rack": n.rack} { // into a map: order cannot matter
			if name != "" {
				made.Domains[level] = name
			}
		}
		s.Nodes = append(s.Nodes, made)
	}
	return s
}

// places reads "set:0@a[0] set:1@a[1] …": tasks and where they are.
func places(t *testing.T, text string) (list []allot.Placement) {
	t.Helper()
	for _, word := range strings.Fields(text) {
		var p allot.Placement
		set, rest, _ := strings.Cut(word, ":")
		index, place, _ := strings.Cut(rest, "@")
		at, devices, _ := strings.Cut(strings.TrimSuffix(place, "]"), "[")
		p.PodSet, p.Node = set, at
		if _, err := fmt.Sscan(index, &p.Index); err != nil {
			t.Fatalf("%q: %v", word, err)
		}
		for _, d := range strings.Split(devices, ",") {
			device := 0
			if _, err := fmt.Sscan(d, &device); err != nil {
				t.Fatalf("%q: %v", word, err)
			}
			p.Devices = append(p.Devices, device)
		}
		list = append(list, p)
	}
	return list
}

// asTasks are tasks of a phase at those places.
func asTasks(list []allot.Placement, phase allot.Phase) (tasks []allot.Task) {
	for _, p := range list {
		tasks = append(tasks, allot.Task{PodSet: p.PodSet, Index: p.Index, Phase: phase, Node: p.Node, Devices: p.Devices})
	}
	return tasks
}

func required(level string) allot.Topology { return allot.Topology{Required: level} }

// each is so many consecutive tasks in one domain of the level.
func each(size int, level string) allot.Slice { return allot.Slice{Size: size, Level: level} }

func sliced(slices ...allot.Slice) allot.Topology { return allot.Topology{Slices: slices} }

// A togetherCase is a plan for one workload, and the rules of the topology that it
// breaks: "task rule" each.
type togetherCase struct {
	name string
	// whole, group and sets are what the workload, the group of both pod sets, l
	// of 1 task and w of 4, and they ask.
	whole, group, l, w allot.Topology
	runs, claims       string // before the plan
	starts             string
	want               string
}

func togetherCases() []togetherCase {
	rack, zone, machine := required("rack"), required("zone"), required(allot.NodeLevel)
	pairs := sliced(each(2, "rack"))
	return []togetherCase{
		{name: "nothing asked", starts: "l:0@a[0] w:0@e[0] w:1@q[0] w:2@o[0] w:3@x[0]"},
		{name: "one rack", whole: rack, starts: "l:0@a[0] w:0@a[1] w:1@b[0] w:2@b[1]"},
		{name: "another rack", whole: rack, starts: "l:0@a[0] w:0@a[1] w:1@c[0] w:2@b[0]", want: "2 T2"},
		{name: "the rack of the same name in another zone", whole: rack, starts: "l:0@a[0] w:0@e[0]", want: "1 T2"},
		{name: "the rack of the same name in no zone", whole: rack, starts: "l:0@o[0] w:0@a[0]", want: "1 T2"},
		{name: "a rack in no zone", whole: rack, starts: "l:0@o[0] w:0@o[1]"},
		{name: "no rack", whole: rack, starts: "l:0@x[0] w:0@x[1]", want: "0 T2 1 T2"},
		{name: "lacking a rack is no common rack", whole: rack, starts: "l:0@a[0] w:0@x[0]", want: "1 T2"},
		{name: "one zone", whole: zone, starts: "l:0@a[0] w:0@c[0] w:1@x[0] w:2@y[0]"},
		{name: "no zone", whole: zone, starts: "l:0@o[0] w:0@q[0]", want: "0 T2 1 T2"},
		{name: "one node", whole: machine, starts: "l:0@q[0] w:0@q[1]"},
		{name: "two nodes of a rack", whole: machine, starts: "l:0@a[0] w:0@b[0]", want: "1 T2"},
		{name: "of the group", group: rack, starts: "l:0@a[0] w:0@e[0]", want: "1 T2"},
		{name: "of the set", w: rack, starts: "l:0@e[0] w:0@a[0] w:1@b[0]"},
		{name: "of the set, parted", w: rack, starts: "l:0@e[0] w:0@a[0] w:1@c[0]", want: "2 T2"},
		{name: "of the set within the zone", whole: zone, w: rack, starts: "l:0@c[0] w:0@a[0] w:1@b[0]"},
		{name: "of the set, not within the zone", whole: zone, w: rack, starts: "l:0@e[0] w:0@a[0] w:1@b[0]", want: "1 T2 2 T2"},

		{name: "slices", w: pairs, starts: "w:0@a[0] w:1@b[0] w:2@e[0] w:3@f[0]"},
		{name: "a slice parted", w: pairs, starts: "w:0@a[0] w:1@b[0] w:2@b[1] w:3@f[0]", want: "3 T3"},
		{name: "slices by index", w: pairs, starts: "w:1@a[0] w:2@e[0]"},
		{name: "slices of slices", w: sliced(each(4, "zone"), each(2, "rack")), starts: "w:0@a[0] w:1@b[0] w:2@c[0] w:3@d[0]"},
		{name: "the wide slice parted", w: sliced(each(4, "zone"), each(2, "rack")), starts: "w:0@a[0] w:1@b[0] w:2@e[0] w:3@f[0]", want: "2 T3 3 T3"},
		{name: "the narrow slice parted", w: sliced(each(4, "zone"), each(2, "rack")), starts: "w:0@a[0] w:1@c[0] w:2@d[0] w:3@c[1]", want: "1 T3"},
		{name: "a slice of a node", w: sliced(each(2, allot.NodeLevel)), starts: "w:0@a[0] w:1@b[0] w:2@q[0] w:3@q[1]", want: "1 T3"},
		{name: "a slice in no rack", w: pairs, starts: "w:0@x[0] w:1@x[1]", want: "0 T3 1 T3"},

		{name: "joins", whole: rack, runs: "l:0@a[0] w:0@b[0]", starts: "w:1@b[1]"},
		{name: "joins what is claimed", whole: rack, claims: "l:0@a[0] w:0@b[0]", starts: "w:1@c[1]", want: "0 T6"},
		{name: "does not join", whole: rack, runs: "l:0@a[0] w:0@b[0]", starts: "w:1@c[0] w:2@d[0]", want: "0 T6 1 T6"},
		{name: "what runs is parted", whole: rack, runs: "l:0@a[0] w:0@c[0]", starts: "w:1@a[1]", want: "0 T6"},
		{name: "what runs is in no rack", whole: rack, runs: "l:0@x[0]", starts: "w:1@x[1]", want: "0 T2"},
		{name: "what runs is in no rack, what starts is", whole: rack, runs: "l:0@x[0]", starts: "w:1@a[1]", want: "0 T6"},
		{name: "what runs is parted, of another set", l: rack, w: rack, runs: "w:0@a[0] w:1@c[0]", starts: "l:0@c[1]"},
		{name: "a slice joins", w: pairs, runs: "w:0@a[0] w:2@e[0]", starts: "w:1@b[0] w:3@f[0]"},
		{name: "a slice does not join", w: pairs, runs: "w:0@a[0] w:2@e[0]", starts: "w:1@f[0] w:3@f[1]", want: "0 T6"},
		{name: "the slice parted already is another", w: pairs, runs: "w:0@a[0] w:1@c[0]", starts: "w:2@f[0] w:3@f[1]"},
	}
}

// TestVerifyTogether: what gets a new place is where the topology wants it (T2,
// T3, T6); what was wrong before and is left alone is not told.
func TestVerifyTogether(t *testing.T) {
	for _, c := range togetherCases() {
		t.Run(c.name, func(t *testing.T) {
			s := hall()
			runs, claims := places(t, c.runs), places(t, c.claims)
			s.Workloads = []allot.Workload{{ID: "w", Topology: c.whole,
				Groups: []allot.Group{{Name: "g", Topology: c.group}},
				PodSets: []allot.PodSet{
					{Name: "l", Group: "g", Count: 1, Topology: c.l, Request: gpus(1)},
					{Name: "w", Group: "g", Count: 4, Topology: c.w, Request: gpus(1)},
				},
				Tasks: slices.Concat(asTasks(runs, allot.Running), asTasks(claims, allot.Claimed)),
			}}
			p := &allot.Plan{Actions: []allot.Action{{Kind: allot.Start, Workload: "w", Tasks: places(t, c.starts)}}}
			if got := brokenTogether(t, s, p, 0); got != c.want {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}

// brokenTogether are the rules of the topology that an action breaks, "task rule"
// each, or the rule alone where it is the whole action.
func brokenTogether(t *testing.T, s *allot.State, p *allot.Plan, action int) string {
	t.Helper()
	var told []string
	for _, v := range broken(t, s, p) {
		if !slices.Contains([]string{"T2", "T3", "T4", "T6", "P8"}, v.Rule) {
			continue
		}
		task, ok := strings.CutPrefix(v.Path, fmt.Sprintf("actions[%d]", action))
		if !ok {
			t.Errorf("%v is not of the action", v)
		}
		told = append(told, strings.TrimSpace(strings.Trim(strings.TrimPrefix(task, ".tasks"), "[]")+" "+v.Rule))
	}
	return strings.Join(told, " ")
}

// TestVerifyTogetherMoves: what moves is held to the same where it comes to, and
// to nobody that it leaves behind.
func TestVerifyTogetherMoves(t *testing.T) {
	for _, c := range []struct{ name, runs, from, to, want string }{
		{"all of it", "w:0@a[0] w:1@b[0]", "w:0@a[0] w:1@b[0]", "w:0@e[0] w:1@f[0]", ""},
		{"a part of it", "w:0@a[0] w:1@b[0]", "w:1@b[0]", "w:1@e[0]", "0 T6"},
		{"a part within the rack", "w:0@a[0] w:1@b[0]", "w:1@b[0]", "w:1@a[1]", ""},
		{"all of it, apart", "w:0@a[0] w:1@b[0]", "w:0@a[0] w:1@b[0]", "w:0@e[0] w:1@c[0]", "1 T2"},
		{"together at last", "w:0@a[0] w:1@c[0]", "w:1@c[0]", "w:1@b[0]", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := hall()
			s.Workloads = []allot.Workload{{ID: "w", Topology: required("rack"),
				PodSets: []allot.PodSet{{Name: "w", Count: 2, Request: gpus(1)}},
				Tasks:   asTasks(places(t, c.runs), allot.Running),
			}}
			p := &allot.Plan{Actions: []allot.Action{{Kind: allot.Move, Workload: "w", From: places(t, c.from), Tasks: places(t, c.to)}}}
			if got := brokenTogether(t, s, p, 0); got != c.want {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}

// TestVerifyTogetherInSteps: what an action has found out holds for the next one
// only as long as nobody leaves.
func TestVerifyTogetherInSteps(t *testing.T) {
	s := hall()
	s.Workloads = []allot.Workload{{ID: "w", Topology: required("rack"),
		PodSets: []allot.PodSet{{Name: "w", Count: 4, Min: 1, Request: gpus(1)}},
		Tasks:   asTasks(places(t, "w:0@a[0] w:1@b[0]"), allot.Running),
	}}
	grow := func(to string) allot.Action {
		return allot.Action{Kind: allot.Resize, Workload: "w", Tasks: places(t, to), Reason: allot.Reason{Code: allot.Grown}}
	}
	move := allot.Action{Kind: allot.Move, Workload: "w", From: places(t, "w:0@a[0] w:1@b[0]"), Tasks: places(t, "w:0@e[0] w:1@f[0]")}
	p := &allot.Plan{Actions: []allot.Action{grow("w:2@c[0]")}}
	if got := brokenTogether(t, s, p, 0); got != "0 T6" {
		t.Errorf("it grows elsewhere: found %q", got)
	}
	p.Actions = []allot.Action{grow("w:2@a[1]"), grow("w:3@c[1]")}
	if got := brokenTogether(t, s, p, 1); got != "0 T6" {
		t.Errorf("it grows elsewhere, later: found %q", got)
	}
	p.Actions = []allot.Action{move, grow("w:2@e[1]"), grow("w:3@f[1]")}
	if got := brokenTogether(t, s, p, 0); got != "" {
		t.Errorf("it moves and grows there: found %q", got)
	}
	p.Actions = []allot.Action{move, grow("w:2@b[1]")}
	if got := brokenTogether(t, s, p, 1); got != "0 T6" {
		t.Errorf("it moves and grows where it was: found %q", got)
	}
}

// TestVerifyIslands: every two devices of a task are joined as tightly as it
// requires (T4).
func TestVerifyIslands(t *testing.T) {
	n := node("n", 6)
	for i := range n.Devices { // switches {0,1} {2,3} {4,5}, sockets {0,1,2,3} {4,5}
		n.Devices[i].Switch, n.Devices[i].Socket = i/2+1, i/4+1
	}
	n.Links = []allot.Link{{A: 0, B: 3, NVLinks: 4}, {A: 3, B: 4, NVLinks: 1}, {A: 1, B: 2, NVLinks: 0}}
	for _, c := range []struct {
		island placement.Island
		on     []int
		want   string
	}{
		{placement.AnyIsland, []int{0, 5}, ""},
		{placement.SocketIsland, []int{0, 1, 2, 3}, ""},
		{placement.SocketIsland, []int{0, 1, 4}, "0 T4"},
		{placement.SocketIsland, []int{2}, ""},
		{placement.SwitchIsland, []int{2, 3}, ""},
		{placement.SwitchIsland, []int{1, 2}, "0 T4"},
		{placement.SwitchIsland, []int{0, 3}, ""}, // joined more tightly
		{placement.NVLinkIsland, []int{0, 3}, ""},
		{placement.NVLinkIsland, []int{4, 3}, ""},
		{placement.NVLinkIsland, []int{0, 1}, "0 T4"},
		{placement.NVLinkIsland, []int{1, 2}, "0 T4"},
		{placement.NVLinkIsland, []int{0, 3, 4}, "0 T4"}, // 0 and 4 are not
	} {
		r := gpus(len(c.on))
		r.GPU.Island = c.island
		s, p := alone(n, r, at(0, "n", c.on...))
		if got := brokenTogether(t, s, p, 0); got != c.want {
			t.Errorf("%v on %v: found %q, want %q", c.island, c.on, got, c.want)
		}
	}
}

// TestVerifyHardware: what the node's hardware is known for, and what overrides it.
func TestVerifyHardware(t *testing.T) {
	cube := node("n", 8) // quads 0-3 and 4-7, and 0-4, 1-5, 2-6, 3-7; switches of two
	cube.Hardware = "cube-mesh-8"
	down, moved := cube, cube
	down.Links = []allot.Link{{A: 3, B: 1, NVLinks: 0}, {A: 0, B: 5, NVLinks: 1}}
	moved.Devices = slices.Clone(cube.Devices)
	moved.Devices[1].Switch, moved.Devices[5].Socket = 2, 1
	for _, c := range []struct {
		node   allot.Node
		island placement.Island
		on     []int
		want   string
	}{
		{cube, placement.NVLinkIsland, []int{0, 1, 2, 3}, ""},
		{cube, placement.NVLinkIsland, []int{0, 4}, ""},
		{cube, placement.NVLinkIsland, []int{0, 5}, "0 T4"},
		{cube, placement.NVLinkIsland, []int{0, 1, 4}, "0 T4"},
		{cube, placement.SwitchIsland, []int{6, 7}, ""},
		{cube, placement.SwitchIsland, []int{0, 4}, ""},
		{cube, placement.SwitchIsland, []int{0, 7}, "0 T4"},
		{cube, placement.SocketIsland, []int{0, 5}, "0 T4"},
		{down, placement.NVLinkIsland, []int{0, 1, 2, 3}, "0 T4"},
		{down, placement.NVLinkIsland, []int{0, 1, 2}, ""},
		{down, placement.NVLinkIsland, []int{0, 5}, ""},
		{down, placement.SwitchIsland, []int{1, 3}, "0 T4"}, // switches 1 and 2
		{down, placement.SocketIsland, []int{1, 3}, ""},
		{moved, placement.SocketIsland, []int{0, 5}, ""},
		{moved, placement.SwitchIsland, []int{0, 5}, "0 T4"},
	} {
		r := gpus(len(c.on))
		r.GPU.Island = c.island
		s, p := alone(c.node, r, at(0, "n", c.on...))
		if got := brokenTogether(t, s, p, 0); got != c.want {
			t.Errorf("%v on %v: found %q, want %q", c.island, c.on, got, c.want)
		}
	}
}

// TestVerifyFitting: where the policy fits gangs to nodes they are on one or fill
// what they use (P8).
func TestVerifyFitting(t *testing.T) {
	const whole, mixed = gang.WholeNodes, gang.MixedWholeNodes
	for _, c := range []struct {
		name    string
		fitting gang.Fitting
		each    int
		tasks   []allot.Placement
		want    string
	}{
		{"any nodes", gang.AnyNodes, 1, []allot.Placement{at(0, "four", 0), at(1, "two", 0)}, ""},
		{"on one", whole, 1, []allot.Placement{at(0, "four", 0), at(1, "four", 2)}, ""},
		{"on parts of two", whole, 1, []allot.Placement{at(0, "four", 0), at(1, "two", 0)}, "P8"},
		{"fills one and a part", whole, 2, []allot.Placement{at(0, "two", 0, 1), at(1, "four", 0, 1)}, "P8"},
		{"fills two of one size", whole, 2, []allot.Placement{at(0, "two", 0, 1), at(1, "other", 0, 1)}, ""},
		{"fills two of two sizes", whole, 2, []allot.Placement{at(0, "two", 0, 1), at(1, "four", 0, 1), at(2, "four", 2, 3)}, "P8"},
		{"mixed", mixed, 2, []allot.Placement{at(0, "two", 0, 1), at(1, "four", 0, 1), at(2, "four", 2, 3)}, ""},
		{"mixed, a part", mixed, 2, []allot.Placement{at(0, "four", 0, 1), at(1, "two", 0, 1)}, "P8"},
		{"a broken device is none", whole, 2, []allot.Placement{at(0, "two", 0, 1), at(1, "broken", 1, 2)}, ""},
		{"no devices", whole, 0, []allot.Placement{at(0, "four"), at(1, "two")}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &allot.State{
				Nodes:     []allot.Node{node("four", 4), node("two", 2), node("other", 2), node("broken", 3)},
				Pools:     []allot.Pool{{ID: "p", Nodes: allot.NodeSet{IDs: []string{"four", "two", "other", "broken"}}, Policy: allot.Policy{Fitting: c.fitting}}},
				Workloads: []allot.Workload{{ID: "w", PodSets: []allot.PodSet{{Count: len(c.tasks), Request: gpus(c.each)}}}},
			}
			s.Nodes[3].Devices[0].Unhealthy = true
			p := &allot.Plan{Actions: []allot.Action{{Kind: allot.Start, Workload: "w", Tasks: c.tasks}}}
			if got := brokenTogether(t, s, p, 0); got != c.want {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}

// TestVerifyFittingWithTheRest: what gets what it lacked fills nodes with the rest (P8).
func TestVerifyFittingWithTheRest(t *testing.T) {
	for _, c := range []struct {
		name  string
		moves bool
		to    allot.Placement
		want  string
	}{
		{"together they fill two", true, at(1, "c", 0, 1), ""},
		{"a part is left", true, at(1, "d", 0, 1), "P8"},
		{"nobody moves", false, at(1, "a", 2, 3), "P8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &allot.State{
				Nodes: []allot.Node{node("a", 4), node("b", 4), node("c", 4), node("d", 4)},
				Pools: []allot.Pool{{ID: "p", Policy: allot.Policy{Fitting: gang.WholeNodes}}},
				Workloads: []allot.Workload{{ID: "w", PodSets: []allot.PodSet{{Count: 4, Request: gpus(2)}}, Tasks: []allot.Task{
					{Index: 1, Node: "a", Devices: []int{2, 3}}, {Index: 2, Node: "b", Devices: []int{2, 3}}}}},
			}
			p := &allot.Plan{Actions: []allot.Action{
				{Kind: allot.Move, Workload: "w", From: []allot.Placement{at(1, "a", 2, 3)}, Tasks: []allot.Placement{c.to}},
				{Kind: allot.Start, Workload: "w", Tasks: []allot.Placement{at(0, "b", 0, 1), at(3, "c", 2, 3)}},
			}}
			start := 1
			if !c.moves {
				p.Actions, start = p.Actions[1:], 0
			}
			if got := brokenTogether(t, s, p, start); got != c.want {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}
