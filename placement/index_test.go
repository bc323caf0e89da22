package placement

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/allotsched/allot/quota"
)

// gpus returns n healthy devices of model 0.
func gpus(n int) []Device { return make([]Device, n) }

// plain is a node with no caps and 10 of each resource given.
func plain(devices []Device, capacity ...int64) Node {
	return Node{Capacity: capacity, Devices: devices, Slots: NoCap, CPUOnlySlots: NoCap}
}

func mustIndex(t testing.TB, nodes ...Node) *Index {
	t.Helper()
	resources := 0
	if len(nodes) > 0 {
		resources = len(nodes[0].Capacity)
	}
	x, err := NewIndex(nodes, resources)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func mustTake(t testing.TB, x *Index, r Request, p Place) {
	t.Helper()
	if err := x.Take(x.Shape(r), p); err != nil {
		t.Fatal(err)
	}
}

func amounts(resource int32, value int64) quota.Amounts {
	return quota.Amounts{{Resource: resource, Value: value}}
}

const gib = int64(1 << 30)

// p1Cases are one predicate each.
var p1Cases = []struct {
	reason string
	node   Node
	busy   []Request // taken at devices 0, 1, … in turn
	ask    Request
	want   Miss
	ever   bool
}{
	{"the queue may not use the node", Node{Sets: []int32{1, 4}}, nil, Request{Set: 3}, Miss{0, NodeSet, -1, 0, 1}, false},
	{"nothing new on a cordoned node", Node{Cordoned: true}, nil, Request{Set: -1}, Miss{0, Cordoned, -1, 0, 1}, false},
	{"another class (Q8)", Node{Class: 2}, nil, Request{Set: -1, Classes: []int32{1, 3}}, Miss{0, NodeClass, -1, 0, 1}, false},
	{"no class is accepted", Node{}, nil, Request{Set: -1, Classes: []int32{}}, Miss{0, NodeClass, -1, 0, 1}, false},
	{
		"a label is missing", Node{Labels: map[string]string{"zone": "a"}}, nil,
		Request{Set: -1, Selector: &Selector{Labels: map[string]string{"zone": "b"}}}, Miss{0, Labels, -1, 0, 1}, false,
	},
	{
		"required affinity", Node{Labels: map[string]string{"cores": "7"}}, nil,
		Request{Set: -1, Selector: &Selector{Expressions: []Expression{{"cores", Gt, []string{"7"}}}}},
		Miss{0, Labels, -1, 0, 1}, false,
	},
	{"a taint", Node{Taints: []Taint{{Key: "k"}}}, nil, Request{Set: -1}, Miss{0, Taints, -1, 0, 1}, false},
	{"no device of the model", Node{Devices: []Device{{Model: 1}}}, nil, Request{Set: -1, Devices: 1, Models: []int32{2}}, Miss{0, Model, -1, 0, 1}, false},
	{"no device at all", Node{}, nil, Request{Set: -1, Devices: 2}, Miss{0, Model, -1, 0, 2}, false},
	{"too little memory", Node{Devices: []Device{{Memory: 24 * gib}}}, nil, Request{Set: -1, Devices: 1, MinMemory: 80 * gib}, Miss{0, DeviceMemory, -1, 24 * gib, 80 * gib}, false},
	{"more memory asked than there is", Node{Devices: []Device{{Memory: 8}}}, nil, Request{Set: -1, Devices: 1, Memory: 9}, Miss{0, DeviceMemory, -1, 8, 9}, false},
	{"unknown memory", Node{Devices: gpus(1)}, nil, Request{Set: -1, Devices: 1, Memory: 1}, Miss{0, DeviceMemory, -1, 0, 1}, false},
	{"16 devices on a node of 8 (R16)", Node{Devices: gpus(8)}, nil, Request{Set: -1, Devices: 16}, Miss{0, DeviceCount, -1, 8, 16}, false},
	{"an unhealthy device is none", Node{Devices: []Device{{}, {Unhealthy: true}}}, nil, Request{Set: -1, Devices: 2}, Miss{0, DeviceCount, -1, 1, 2}, false},
	{"all devices of one model", Node{Devices: []Device{{Model: 1}, {Model: 2}}}, nil, Request{Set: -1, Devices: 2}, Miss{0, DeviceCount, -1, 1, 2}, false},
	{"foreign use of a device stays (S8)", Node{Devices: []Device{{Foreign: 1}}}, nil, Request{Set: -1, Devices: 1}, Miss{0, DeviceCount, -1, 0, 1}, false},
	{"the empty node is too small", Node{Capacity: []int64{4}}, nil, Request{Set: -1, Amounts: amounts(0, 5)}, Miss{0, Capacity, 0, 4, 5}, false},
	{"foreign use beyond capacity (S7)", Node{Capacity: []int64{-4}}, nil, Request{Set: -1, Amounts: amounts(0, 5)}, Miss{0, Capacity, 0, -4, 5}, false},
	{"a resource nobody has heard of", Node{Capacity: []int64{4}}, nil, Request{Set: -1, Amounts: amounts(7, 5)}, Miss{0, Capacity, 7, 0, 5}, false},
	{"a senseless request", Node{Devices: gpus(1)}, nil, Request{Set: -1, Devices: 1, Milli: 1001}, Miss{0, DeviceCount, -1, 0, 1}, false},
	{"pod slots", Node{Slots: 1}, []Request{{Set: -1}}, Request{Set: -1}, Miss{0, TaskSlots, -1, 0, 1}, true},
	{"pod slots that others hold", Node{Slots: -2}, nil, Request{Set: -1}, Miss{0, TaskSlots, -1, -2, 1}, false},
	{"places for CPU-only tasks (P7)", Node{CPUOnlySlots: 1}, []Request{{Set: -1}}, Request{Set: -1}, Miss{0, CPUOnlySlots, -1, 0, 1}, true},
	{"a resource", Node{Capacity: []int64{9}}, []Request{{Set: -1, Amounts: amounts(0, 5)}}, Request{Set: -1, Amounts: amounts(0, 5)}, Miss{0, Resources, 0, 4, 5}, true},
	{"whole devices", Node{Devices: gpus(2)}, []Request{{Set: -1, Devices: 1}}, Request{Set: -1, Devices: 2}, Miss{0, FreeDevices, -1, 1, 2}, true},
	{
		"fragmented: 1600 free, but no 1000 in one", Node{Devices: gpus(2)},
		[]Request{{Set: -1, Devices: 1, Milli: 200}, {Set: -1, Devices: 1, Milli: 200}},
		Request{Set: -1, Devices: 1}, Miss{0, Fragmented, -1, 0, 1}, true,
	},
	{
		"not fragmented: 800 free in all", Node{Devices: gpus(2)},
		[]Request{{Set: -1, Devices: 1, Milli: 600}, {Set: -1, Devices: 1, Milli: 600}},
		Request{Set: -1, Devices: 1}, Miss{0, FreeDevices, -1, 0, 1}, true,
	},
}

// P1: each predicate by itself turns a task away, names itself and its numbers,
// and says whether it ever could be otherwise; mending exactly the shortage
// lets the task in.
func TestP1Predicates(t *testing.T) {
	for _, test := range p1Cases {
		t.Run(test.reason, func(t *testing.T) {
			n := test.node
			if n.Slots == 0 {
				n.Slots = NoCap
			}
			if n.CPUOnlySlots == 0 {
				n.CPUOnlySlots = NoCap
			}
			x := mustIndex(t, n)
			for i, r := range test.busy {
				p := Place{}
				if r.Devices > 0 {
					p.Devices = 1 << i
				}
				mustTake(t, x, r, p)
			}
			s := x.Shape(test.ask)
			for _, st := range []Strategy{Default, BinPack, Spread, First} {
				if p, ok := x.Find(s, st); ok || p.Node != -1 {
					t.Errorf("%v finds %v", st, p)
				}
			}
			r := x.Reject(s)
			want := []Count{{test.want.Predicate, test.want.Resource, 1}}
			if diff := cmp.Diff(want, r.Counts); diff != "" || r.Nearest != test.want || r.Ever != test.ever {
				t.Errorf("got %+v, want %+v ever %v", r, test.want, test.ever)
			}
			if test.want.Predicate.Static() && test.ever {
				t.Errorf("%v is static and yet it could be otherwise", test.want.Predicate)
			}
		})
	}
}

// P1: what turns a task away no more lets it in.
func TestP1Admits(t *testing.T) {
	for _, test := range []struct {
		reason string
		node   Node
		ask    Request
	}{
		{"in the set", Node{Sets: []int32{1, 3}}, Request{Set: 3}},
		{"a tolerated taint", Node{Taints: []Taint{{Key: "k", Effect: NoExecute}}}, Request{Set: -1, Tolerations: []Toleration{{Key: "k", Operator: TolerationExists}}}},
		{"a taint that only prefers", Node{Taints: []Taint{{Key: "k", Effect: PreferNoSchedule}}}, Request{Set: -1}},
		{"an accepted model among others", Node{Devices: []Device{{Model: 1}, {Model: 2}}}, Request{Set: -1, Devices: 1, Models: []int32{2}}},
		{"a request of exactly everything", Node{Capacity: []int64{4}, Devices: gpus(2), Slots: 1}, Request{Set: -1, Devices: 2, Amounts: amounts(0, 4)}},
		{"no caps for devices on CPU-only tasks (P7)", Node{Devices: []Device{{Unhealthy: true}}}, Request{Set: -1}},
		{"a fraction beside foreign use (S8)", Node{Devices: []Device{{Foreign: 400}}}, Request{Set: -1, Devices: 1, Milli: 600}},
	} {
		t.Run(test.reason, func(t *testing.T) {
			n := test.node
			if n.Slots == 0 {
				n.Slots = NoCap
			}
			n.CPUOnlySlots = NoCap
			x := mustIndex(t, n)
			if p, ok := x.Find(x.Shape(test.ask), BinPack); !ok || !x.Fits(x.Shape(test.ask), p) {
				t.Errorf("finds nothing: %+v", x.Reject(x.Shape(test.ask)))
			}
		})
	}
}

// P2: places in turn until nothing fits, under bin-pack.
func TestP2DeviceRequests(t *testing.T) {
	for _, test := range []struct {
		reason  string
		devices []Device
		asks    []Request
		want    []uint64 // 0: no place
	}{
		{
			"three requests of 8 GiB fill a device of 24 GiB", []Device{{Memory: 24 * gib}},
			repeat(4, Request{Devices: 1, Memory: 8 * gib}), []uint64{1, 1, 1, 0},
		},
		{"333+333+334 fill a device", gpus(1), []Request{{Devices: 1, Milli: 333}, {Devices: 1, Milli: 333}, {Devices: 1, Milli: 335}, {Devices: 1, Milli: 334}}, []uint64{1, 1, 0, 1}},
		{"memory and fractions share one dimension", []Device{{Memory: 10}}, []Request{{Devices: 1, Milli: 499}, {Devices: 1, Memory: 5}, {Devices: 1, Milli: 2}, {Devices: 1, Milli: 1}}, []uint64{1, 1, 0, 1}},
		{"the same fraction on several devices", gpus(3), repeat(4, Request{Devices: 2, Milli: 500}), []uint64{0b011, 0b011, 0, 0}},
		{"a fraction never crosses devices", gpus(2), repeat(3, Request{Devices: 1, Milli: 600}), []uint64{1, 2, 0}},
		{"whole devices, lowest first", gpus(4), []Request{{Devices: 3}, {Devices: 2}, {Devices: 1}}, []uint64{0b0111, 0, 0b1000}},
		{"all memory of a device is the whole device", []Device{{Memory: 8}, {Memory: 8}}, []Request{{Devices: 1, Milli: 1}, {Devices: 1, Memory: 8}}, []uint64{1, 2}},
		{
			"all devices of one model: the one of which fewer are left whole", []Device{{Model: 1}, {Model: 1}, {Model: 1}, {Model: 2}, {Model: 2}},
			[]Request{{Devices: 2}, {Devices: 2}, {Devices: 2}}, []uint64{0b11000, 0b00011, 0},
		},
		{"tightest fit first", gpus(3), []Request{{Devices: 1, Milli: 300}, {Devices: 1, Milli: 800}, {Devices: 1, Milli: 200}, {Devices: 1, Milli: 700}}, []uint64{1, 2, 2, 1}},
		{"a zero fraction is the whole device", gpus(1), []Request{{Devices: 1, Milli: 0}, {Devices: 1, Milli: 1}}, []uint64{1, 0}},
	} {
		t.Run(test.reason, func(t *testing.T) {
			x := mustIndex(t, plain(test.devices))
			for i, r := range test.asks {
				r.Set = -1
				p, ok := x.Find(x.Shape(r), BinPack)
				if ok != (test.want[i] != 0) || p.Devices != test.want[i] {
					t.Fatalf("request %d gets %b, want %b", i, p.Devices, test.want[i])
				}
				if ok {
					mustTake(t, x, r, p)
				}
			}
		})
	}
}

func repeat(n int, r Request) []Request {
	var list []Request
	for range n {
		list = append(list, r)
	}
	return list
}

// P3: rows R11, R12 and R13, and 'first', on nodes with 3, 1 and 8 of 8 free.
func TestP3Strategies(t *testing.T) {
	one, half := Request{Set: -1, Devices: 1}, Request{Set: -1, Devices: 1, Milli: 500}
	cpu := Request{Set: -1, Amounts: amounts(0, 1)}
	build := func(t *testing.T) *Index {
		x := mustIndex(t, plain(gpus(8), 10), plain(gpus(8), 10), plain(gpus(8), 10), plain(nil, 10), plain(nil, 10))
		mustTake(t, x, Request{Set: -1, Devices: 5}, Place{Node: 0, Devices: 0b00011111})
		mustTake(t, x, Request{Set: -1, Devices: 7}, Place{Node: 1, Devices: 0b01111111})
		mustTake(t, x, Request{Set: -1, Amounts: amounts(0, 3)}, Place{Node: 4, Devices: 0})
		return x
	}
	for _, test := range []struct {
		reason string
		ask    Request
		st     Strategy
		busy   []Place // halves
		want   Place
	}{
		{"R11: the node with 1 free", one, BinPack, nil, Place{Node: 1, Devices: 1 << 7}},
		{"R11: half a GPU opens a device there", half, BinPack, nil, Place{Node: 1, Devices: 1 << 7}},
		{"R11: half a GPU goes to a device shared already", half, BinPack, []Place{{Node: 0, Devices: 1 << 6}}, Place{Node: 0, Devices: 1 << 6}},
		{"R11: even on the emptiest node", half, BinPack, []Place{{Node: 2, Devices: 1 << 3}}, Place{Node: 2, Devices: 1 << 3}},
		{"R11: of the shared, on the node with fewer whole", half, BinPack, []Place{{Node: 2, Devices: 1 << 3}, {Node: 1, Devices: 1 << 7}}, Place{Node: 1, Devices: 1 << 7}},
		{"R11: a shared device that is full is none", half, BinPack, []Place{{Node: 0, Devices: 1 << 6}, {Node: 0, Devices: 1 << 6}}, Place{Node: 1, Devices: 1 << 7}},
		{"R11: used before idle", Request{Set: -1, Devices: 3}, BinPack, nil, Place{Node: 0, Devices: 0b11100000}},
		{"R11: idle if nothing else", Request{Set: -1, Devices: 4}, BinPack, nil, Place{Node: 2, Devices: 0b1111}},
		{"R12: the node with 8 free", one, Spread, nil, Place{Node: 2, Devices: 1}},
		{"R12: half a GPU on an empty device", half, Spread, []Place{{Node: 2, Devices: 1}}, Place{Node: 2, Devices: 2}},
		{"first: the lowest position", one, First, nil, Place{Node: 0, Devices: 1 << 5}},
		{"first: the lowest device with room", half, First, []Place{{Node: 0, Devices: 1 << 6}}, Place{Node: 0, Devices: 1 << 5}},
		{"R13: CPU-only spreads", cpu, Spread, nil, Place{Node: 3, Devices: 0}},
		{"R13: CPU-only packs", cpu, BinPack, nil, Place{Node: 4, Devices: 0}},
		{"CPU-only: nodes without GPUs first", cpu, First, nil, Place{Node: 3, Devices: 0}},
		{"CPU-only with no amount: position", Request{Set: -1}, BinPack, nil, Place{Node: 3, Devices: 0}},
		{"CPU-only on GPU nodes last, if they alone have room", Request{Set: -1, Amounts: amounts(0, 10)}, Spread, []Place{}, Place{Node: 3, Devices: 0}},
		{"the default is bin-pack", one, Default, nil, Place{Node: 1, Devices: 1 << 7}},
	} {
		t.Run(test.reason, func(t *testing.T) {
			x := build(t)
			for _, p := range test.busy {
				mustTake(t, x, half, p)
			}
			if got, ok := x.Find(x.Shape(test.ask), test.st); !ok || got != test.want {
				t.Errorf("got %v %v, want %v", got, ok, test.want)
			}
		})
	}
	x := build(t) // CPU-only reaches the GPU nodes when the others are full
	ten := Request{Set: -1, Amounts: amounts(0, 10)}
	mustTake(t, x, ten, Place{Node: 3, Devices: 0})
	if got, ok := x.Find(x.Shape(ten), BinPack); !ok || got.Node != 0 {
		t.Errorf("P7: got %v %v, want node 0", got, ok)
	}
}

// P6: of equal nodes the lowest position, again after something was given back
// there.
func TestP6Ties(t *testing.T) {
	x := mustIndex(t, plain(gpus(1)), plain(gpus(1)), plain(gpus(1)))
	one := Request{Set: -1, Devices: 1}
	for _, st := range []Strategy{BinPack, Spread, First} {
		for want := range int32(3) {
			got, ok := x.Find(x.Shape(one), st)
			if !ok || got.Node != want {
				t.Fatalf("%v: got %v, want node %d", st, got, want)
			}
			mustTake(t, x, one, got)
		}
		for i, v := range []int32{2, 0, 1} {
			if err := x.Give(x.Shape(one), Place{Node: v, Devices: 1}); err != nil {
				t.Fatal(err)
			}
			if got, ok := x.Find(x.Shape(one), st); !ok || got.Node != []int32{2, 0, 0}[i] {
				t.Fatalf("%v: after node %d came free: %v", st, v, got)
			}
		}
	}
}

// S7, S8: an over-used node takes nothing new and nothing panics.
func TestOverUse(t *testing.T) {
	x := mustIndex(t, plain(gpus(2), 4), plain([]Device{{Unhealthy: true}}, 4))
	big := Request{Set: -1, Devices: 1, Amounts: amounts(0, 3)}
	for range 3 {
		mustTake(t, x, big, Place{Node: 0, Devices: 1})
	}
	mustTake(t, x, big, Place{Node: 1, Devices: 1}) // still stands on a device that was lost
	for _, r := range []Request{{Set: -1, Devices: 2}, {Set: -1, Amounts: amounts(0, 1)}, {Set: -1, Devices: 1, Amounts: amounts(0, 2)}} {
		for _, st := range []Strategy{BinPack, Spread, First} {
			if p, ok := x.Find(x.Shape(r), st); ok && p.Node == 0 {
				t.Errorf("%v places %+v on the over-used node", st, r)
			}
		}
	}
	if p, ok := x.Find(x.Shape(Request{Set: -1, Devices: 1}), Spread); !ok || p != (Place{Node: 0, Devices: 2}) {
		t.Errorf("the device that is free is not found: %v %v", p, ok)
	}
	if f := x.Free(-1); f.Milli != 1000 || f.Amounts[0] != 1 {
		t.Errorf("free in all: %+v", f)
	}
}

// V1: NewIndex, Take and Give refuse what makes no sense and change nothing.
func TestBadInput(t *testing.T) {
	for _, test := range []struct {
		reason, want string
		node         Node
	}{
		{"capacities", "2 capacities for 1", plain(nil, 1, 2)},
		{"devices", "65 devices", plain(gpus(65), 1)},
		{"memory", "bytes of memory", plain([]Device{{Memory: -1}}, 1)},
		{"memory", "bytes of memory", plain([]Device{{Memory: MaxMemory + 1}}, 1)},
		{"foreign", "foreign", plain([]Device{{Foreign: 1001}}, 1)},
		{"sets", "ascend", Node{Capacity: []int64{1}, Sets: []int32{2, 2}}},
	} {
		if _, err := NewIndex([]Node{test.node}, 1); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v", test.reason, err)
		}
	}
	if _, err := NewIndex(nil, -1); err == nil {
		t.Error("-1 resources: no error")
	}
	x := mustIndex(t, plain([]Device{{Memory: MaxMemory}}, math.MinInt64+5))
	s := x.Shape(Request{Set: -1, Devices: 1})
	amount := x.Shape(Request{Set: -1, Amounts: amounts(0, 6)})
	for _, bad := range []struct {
		s Shape
		p Place
	}{
		{-1, Place{}}, {99, Place{}}, {s, Place{Node: 1, Devices: 1}}, {s, Place{Node: -1, Devices: 1}}, {s, Place{Node: 0, Devices: 2}}, {s, Place{Node: 0, Devices: 0}}, {s, Place{Node: 0, Devices: 3}}, {amount, Place{Node: 0, Devices: 0}},
	} {
		if x.Take(bad.s, bad.p) == nil {
			t.Errorf("Take(%v, %v): no error", bad.s, bad.p)
		}
	}
	for _, bad := range []struct {
		p     Place
		tasks int
	}{{Place{Devices: 1}, 0}, {Place{Devices: 1}, MaxTogether + 1}, {Place{Devices: 1, Pipelined: true}, 1}, {Place{Devices: 1}, 2}} {
		if TakeTogether(x, s, bad.p, bad.tasks) == nil {
			t.Errorf("TakeTogether(%v, %v, %d): no error", s, bad.p, bad.tasks)
		}
	}
	for i := range 4 { // total − 3 × total is beyond int64
		if err := x.Take(s, Place{Node: 0, Devices: 1}); (err != nil) != (i > 1) {
			t.Errorf("Take %d of the largest device: error %v", i, err)
		}
	}
	if _, ok := x.Find(99, BinPack); ok || x.Fits(99, Place{}) || x.Candidates(99) != 0 {
		t.Error("an unknown shape is answered")
	}
	if x.Fits(s, Place{Node: 7, Devices: 1}) {
		t.Error("an unknown node or device is answered")
	}
	if _, ok := mustIndex(t).Find(0, BinPack); ok {
		t.Error("a place on no nodes")
	}
}

// Candidates bounds what the empty nodes take, and saturates.
func TestCandidates(t *testing.T) {
	cordoned := plain(gpus(8), 100)
	cordoned.Cordoned = true
	x := mustIndex(t, plain(gpus(8), 100), plain(gpus(3), 100), cordoned)
	mustTake(t, x, Request{Set: -1, Devices: 8}, Place{Node: 0, Devices: 0xff})
	for _, test := range []struct {
		reason string
		ask    Request
		want   int
	}{
		{"pairs: 4 and 1, whatever is in use", Request{Set: -1, Devices: 2}, 5},
		{"halves", Request{Set: -1, Devices: 1, Milli: 500}, 22},
		{"the resource binds", Request{Set: -1, Devices: 1, Amounts: amounts(0, 40)}, 4},
		{"impossible", Request{Set: -1, Devices: 9}, 0},
		{"without a cap on anything", Request{Set: -1}, math.MaxInt},
	} {
		if got := x.Candidates(x.Shape(test.ask)); got != test.want {
			t.Errorf("%s: %d, want %d", test.reason, got, test.want)
		}
	}
}

// The nearest miss is the latest predicate, then the smallest part missing,
// then the lowest position.
func TestNearest(t *testing.T) {
	far := plain(nil, 10, 10)
	far.Cordoned = true
	x := mustIndex(t, far, plain(nil, 10, 10), plain(nil, 10, 10), plain(nil, 10, 10))
	for v, used := range []int64{0, 9, 6, 6} {
		if used > 0 {
			mustTake(t, x, Request{Set: -1, Amounts: amounts(0, used)}, Place{Node: int32(v), Devices: 0})
		}
	}
	r := x.Reject(x.Shape(Request{Set: -1, Amounts: amounts(0, 8)}))
	want := Rejection{
		Counts:  []Count{{Cordoned, -1, 1}, {Resources, 0, 3}},
		Ever:    true,
		Nearest: Miss{2, Resources, 0, 4, 8},
		Free:    Free{Amounts: []int64{9, 30}},
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Error(diff)
	}
}

// Nodes with the same devices that are in use are counted alike only where all else is alike: the rejection by many is that
// by each of them.
func TestRejectNodesWithTheSameDevices(t *testing.T) {
	like := func(change func(n *Node)) Node {
		n := plain(gpus(2), 10)
		n.Labels = map[string]string{"zone": "a"}
		change(&n)
		return n
	}
	nodes := []Node{
		like(func(*Node) {}),
		like(func(n *Node) { n.Devices[1].Model = 7 }),
		like(func(n *Node) { n.Slots = 2 }),
		like(func(n *Node) { n.Labels = nil }),
		like(func(n *Node) { n.Cordoned = true }),
		like(func(n *Node) { n.Taints = []Taint{{Key: "k", Effect: NoSchedule}} }),
		like(func(n *Node) { n.Capacity = []int64{4} }),
		like(func(n *Node) { n.Devices[0].Foreign = 1000 }),
		like(func(n *Node) { n.Devices[1].Unhealthy = true }),
		like(func(n *Node) { n.Devices = gpus(4) }),
		like(func(*Node) {}),
	}
	ask := Request{Set: -1, Devices: 2, Milli: 1000, Amounts: amounts(0, 5), Selector: &Selector{Labels: map[string]string{"zone": "a"}}}
	one := Request{Set: -1, Devices: 1, Milli: 1000}
	fill := func(x *Index, v int32, n *Node) {
		for d := range min(2, len(n.Devices)) {
			if !n.Devices[d].Unhealthy && n.Devices[d].Foreign == 0 {
				mustTake(t, x, one, Place{Node: v, Devices: 1 << d})
			}
		}
	}
	x, want := mustIndex(t, nodes...), make(map[Count]int)
	for v := range nodes {
		fill(x, int32(v), &nodes[v])
		alone := mustIndex(t, nodes[v])
		fill(alone, 0, &nodes[v])
		for _, c := range alone.Reject(alone.Shape(ask)).Counts {
			want[Count{c.Predicate, c.Resource, 0}] += c.Nodes
		}
	}
	got := make(map[Count]int)
	for _, c := range x.Reject(x.Shape(ask)).Counts {
		got[Count{c.Predicate, c.Resource, 0}] = c.Nodes
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(want) < 7 {
		t.Errorf("turned away by %v alone", want)
	}
}

// Equal requests are one shape, however they are written; the caller's data is
// copied.
func TestShapeInterning(t *testing.T) {
	x := mustIndex(t, plain(gpus(1), 1))
	models := []int32{3, 1}
	a := x.Shape(Request{Set: -1, Devices: 1, Models: models})
	models[0] = 9
	for i, r := range []Request{
		{Set: -1, Devices: 1, Milli: 1000, Models: []int32{1, 3, 3}, Selector: &Selector{}},
		{Set: -7, Devices: 1, Models: []int32{3, 1}},
	} {
		if s := x.Shape(r); s != a {
			t.Errorf("%d: another shape", i)
		}
	}
	for i, r := range []Request{
		{Set: -1, Devices: 1, Models: []int32{}}, {Set: -1, Devices: 1}, {Set: 0, Devices: 1, Models: []int32{1, 3}},
		{Set: -1, Devices: 1, Models: []int32{1, 3}, Selector: &Selector{Labels: map[string]string{"a": "b"}}},
		{Set: -1, Devices: 1, Models: []int32{1, 3}, Tolerations: []Toleration{{}}},
	} {
		if s := x.Shape(r); s == a {
			t.Errorf("%d: the same shape", i)
		}
	}
}

// A search that lags behind more arrivals on a level than are remembered looks
// at the level again: nothing it crossed out comes back, nothing is missed.
func TestManyArrivals(t *testing.T) {
	nodes := make([]Node, 100)
	for v := range nodes {
		nodes[v] = plain(gpus(2), 10)
	}
	x := mustIndex(t, nodes...)
	one, part := Request{Set: -1, Devices: 1, Amounts: amounts(0, 5)}, Request{Set: -1, Devices: 1}
	mustTake(t, x, Request{Set: -1, Devices: 1, Amounts: amounts(0, 6)}, Place{Node: 99, Devices: 1}) // no CPU left for one
	if p, ok := x.Find(x.Shape(one), BinPack); !ok || p.Node != 0 {
		t.Fatalf("got %v %v, want an idle node", p, ok)
	}
	for v := int32(90); v > 30; v-- {
		mustTake(t, x, part, Place{Node: v, Devices: 1})
	}
	if p, ok := x.Find(x.Shape(one), BinPack); !ok || p != (Place{Node: 31, Devices: 2}) {
		t.Errorf("got %v %v, want the lowest used node", p, ok)
	}
}

// A ranking that lags behind more changes than are remembered ranks every node again.
func TestManyChanges(t *testing.T) {
	nodes := make([]Node, 100)
	for v := range nodes {
		nodes[v] = plain(gpus(2), 10)
	}
	x := mustIndex(t, nodes...)
	one := Request{Set: -1, Devices: 1}
	if p, ok := x.Find(x.Shape(one), BinPack); !ok || p.Node != 0 {
		t.Fatalf("got %v %v, want an idle node", p, ok)
	}
	mustTake(t, x, one, Place{Node: 31, Devices: 1})
	for range 100 {
		m := x.Mark()
		mustTake(t, x, one, Place{Node: 0, Devices: 1})
		x.Undo(m)
	}
	if p, ok := x.Find(x.Shape(one), BinPack); !ok || p != (Place{Node: 31, Devices: 2}) {
		t.Errorf("got %v %v, want the used node", p, ok)
	}
}

// Find, Take, Give and Undo do not allocate.
func TestNoAllocation(t *testing.T) {
	x := mustIndex(t, gpuNodes(100)...)
	tasks := mix(x, 100)[:200]
	for _, st := range []Strategy{BinPack, Spread, First} {
		run := func() {
			m := x.Mark()
			for _, s := range tasks {
				if p, ok := x.Find(s, st); ok {
					if x.Take(s, p) != nil || x.Give(s, p) != nil || x.Take(s, p) != nil {
						t.Error("refused")
					}
				}
			}
			x.Undo(m)
		}
		if n := testing.AllocsPerRun(5, run); n != 0 {
			t.Errorf("%v: %v allocations", st, n)
		}
	}
}

// X1: of what is free the pieces tell what a task could use if it were empty there, and
// what of that is free in devices with room for its part.
func TestX1Pieces(t *testing.T) {
	x := mustIndex(t,
		Node{Devices: make([]Device, 2), Slots: NoCap, CPUOnlySlots: NoCap},
		Node{Devices: make([]Device, 3), Slots: NoCap, CPUOnlySlots: NoCap, Taints: []Taint{{Key: "k"}}})
	mustTake(t, x, Request{Devices: 1, Milli: 600, Set: -1}, Place{Node: 0, Devices: 1})
	got, ok := x.Pieces(x.Shape(Request{Devices: 2, Set: -1}))
	want := Pieces{Resource: -1, InAll: 4400, Eligible: 1400, Whole: 1000, Largest: 1000, Node: 0}
	if !ok || got != want {
		t.Errorf("%+v, %v, want %+v", got, ok, want)
	}
}
