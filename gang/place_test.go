package gang_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
	"github.com/google/go-cmp/cmp"
)

// machine is a node with a number of devices and an amount of one resource.
func machine(devices int, cpu int64) placement.Node {
	return placement.Node{
		Capacity: []int64{cpu}, Devices: make([]placement.Device, devices),
		Slots: placement.NoCap, CPUOnlySlots: placement.NoCap,
	}
}

// cluster is n nodes of the same make.
func cluster(n int, node placement.Node) []placement.Node {
	return slices.Repeat([]placement.Node{node}, n)
}

func newIndex(t testing.TB, nodes []placement.Node) *placement.Index {
	t.Helper()
	x, err := placement.NewIndex(nodes, 1)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// whole asks for whole devices and an amount of the resource.
func whole(devices int32, cpu int64) placement.Request {
	r := placement.Request{Devices: devices, Set: -1}
	if cpu > 0 {
		r.Amounts = quota.Amounts{{Resource: 0, Value: cpu}}
	}
	return r
}

// asking is a set of count tasks of which min must run, each asking r. It is
// charged its devices as resource 1.
func asking(x *placement.Index, count, min int32, r placement.Request) gang.Set {
	s := set(count, min)
	s.Shape, s.Devices, s.Amounts = x.Shape(r), r.Devices, slices.Clone(r.Amounts)
	if r.Devices > 0 {
		s.Amounts = append(s.Amounts, quota.Amount{Resource: 1, Value: 1000 * int64(r.Devices)})
	}
	return s
}

// start builds the gang of the sets and places its first unit.
func start(t testing.TB, x *placement.Index, st gang.Strategies, sets ...gang.Set) ([]placement.Place, gang.Verdict) {
	t.Helper()
	g, err := gang.New(sets, nil)
	if err != nil {
		t.Fatal(err)
	}
	unit, v := g.First(nil)
	if !v.OK {
		t.Fatalf("nothing to start: %+v", v)
	}
	return new(gang.Placer).Place(x, g, unit, st, nil)
}

// fingerprint is everything that the index tells about what is free.
func fingerprint(x *placement.Index, nodes []placement.Node, shapes ...placement.Shape) string {
	out := fmt.Sprint(x.Free(-1))
	for _, s := range shapes {
		for _, st := range []placement.Strategy{placement.BinPack, placement.Spread, placement.First} {
			place, ok := x.Find(s, st)
			out += fmt.Sprint(" ", place, ok)
		}
		out += fmt.Sprintf(" %+v", x.Reject(s))
		for v := range nodes {
			for mask := range uint64(1) << len(nodes[v].Devices) {
				if x.Fits(s, placement.Place{Node: int32(v), Devices: mask}) {
					out += fmt.Sprint(" ", v, ":", mask)
				}
			}
		}
	}
	return out
}

// TestRoomFor31 (G1, row R10): 32 tasks and room for 31: none holds anything. With
// room for 32 all of them do.
func TestRoomFor31(t *testing.T) {
	nodes := cluster(4, machine(8, 100))
	x := newIndex(t, nodes)
	s := asking(x, 32, 32, whole(1, 0))
	if err := x.Take(s.Shape, placement.Place{Node: 2, Devices: 1 << 5}); err != nil {
		t.Fatal(err)
	}
	before := fingerprint(x, nodes[:0], s.Shape)
	places, v := start(t, x, gang.Strategies{}, s)
	want := gang.Verdict{Kind: gang.NoPlace, Set: 0, Have: 31, Need: 32, Placed: 31, Needed: 32, Orders: 1}
	if v != want || len(places) != 0 {
		t.Errorf("got %+v with %d places, want %+v", v, len(places), want)
	}
	if after := fingerprint(x, nodes[:0], s.Shape); after != before {
		t.Errorf("before %s\nafter  %s", before, after)
	}
	if err := x.Give(s.Shape, placement.Place{Node: 2, Devices: 1 << 5}); err != nil {
		t.Fatal(err)
	}
	places, v = start(t, x, gang.Strategies{}, s)
	if want := (gang.Verdict{OK: true, Set: -1, Placed: 32, Needed: 32, Orders: 1}); v != want || len(places) != 32 {
		t.Errorf("got %+v with %d places, want %+v", v, len(places), want)
	}
	if free := x.Free(-1); free.Milli != 0 {
		t.Errorf("%d milli left", free.Milli)
	}
}

// TestPartlyRunning (G1): after a failure a gang is completed together: of two
// lost tasks both find a place or neither.
func TestPartlyRunning(t *testing.T) {
	x := newIndex(t, cluster(2, machine(2, 100)))
	s := asking(x, 4, 4, whole(1, 0))
	g := build(t, definition{sets: []gang.Set{s}})
	running := []placement.Place{{Node: 0, Devices: 1}, {Node: 0, Devices: 2}}
	for _, p := range append(running, placement.Place{Node: 1, Devices: 1}) {
		if err := x.Take(s.Shape, p); err != nil {
			t.Fatal(err)
		}
	}
	unit, _ := g.First([]int32{2})
	if places, v := new(gang.Placer).Place(x, g, unit, gang.Strategies{}, nil); v.OK || v.Have != 1 || v.Need != 2 || len(places) != 0 {
		t.Errorf("one free: %v %+v", places, v)
	}
	if err := x.Give(s.Shape, placement.Place{Node: 1, Devices: 1}); err != nil {
		t.Fatal(err)
	}
	want := []placement.Place{{Node: 1, Devices: 1}, {Node: 1, Devices: 2}}
	if places, v := new(gang.Placer).Place(x, g, unit, gang.Strategies{}, nil); !v.OK || !slices.Equal(places, want) {
		t.Errorf("two free: %v %+v", places, v)
	}
}

// TestNoDeadlock (G4, row D18): two gangs of 16 and 16 GPUs: one runs whole, the
// other holds nothing, whichever comes first and whatever is tried in between.
func TestNoDeadlock(t *testing.T) {
	x := newIndex(t, cluster(4, machine(4, 100)))
	a, b := asking(x, 16, 16, whole(1, 0)), asking(x, 8, 8, whole(2, 0))
	placed, v := start(t, x, gang.Strategies{}, b)
	if !v.OK {
		t.Fatalf("%+v", v)
	}
	if places, v := start(t, x, gang.Strategies{}, a); v.OK || len(places) != 0 || v.Placed != 0 {
		t.Errorf("the second: %v %+v", places, v)
	}
	for _, p := range placed {
		if err := x.Give(b.Shape, p); err != nil {
			t.Fatal(err)
		}
	}
	if _, v := start(t, x, gang.Strategies{}, a); !v.OK {
		t.Errorf("after the first ended: %+v", v)
	}
}

// TestHardestFirst: the two-device workers, listed last, are placed before the
// single that would break their node; places come back in listed order.
func TestHardestFirst(t *testing.T) {
	x := newIndex(t, []placement.Node{machine(2, 100), machine(3, 100)})
	single, pair := asking(x, 1, 1, whole(1, 0)), asking(x, 2, 2, whole(2, 0))
	places, v := start(t, x, gang.Strategies{}, single, pair)
	want := []placement.Place{{Node: 1, Devices: 4}, {Node: 0, Devices: 3}, {Node: 1, Devices: 3}}
	if !v.OK || v.Orders != 1 || !slices.Equal(places, want) {
		t.Errorf("%v %+v", places, v)
	}
}

// TestOtherOrders: the pair, placed first, takes the only node with the
// resource that the single needs. The single goes to the front, and both fit.
func TestOtherOrders(t *testing.T) {
	x := newIndex(t, []placement.Node{machine(2, 1), machine(2, 0)})
	pair, single := asking(x, 1, 1, whole(2, 0)), asking(x, 1, 1, whole(1, 1))
	places, v := start(t, x, gang.Strategies{}, pair, single)
	want := []placement.Place{{Node: 1, Devices: 3}, {Node: 0, Devices: 1}}
	if !v.OK || v.Orders != 2 || !slices.Equal(places, want) {
		t.Errorf("%v %+v", places, v)
	}
}

// TestBestOfTheOrders: where no order does, the verdict is that of the one that
// placed most, and the same order is not tried twice.
func TestBestOfTheOrders(t *testing.T) {
	nodes := []placement.Node{machine(2, 1), machine(1, 0)}
	x := newIndex(t, nodes)
	pair, single := asking(x, 1, 1, whole(2, 0)), asking(x, 2, 2, whole(1, 1))
	before := fingerprint(x, nodes, pair.Shape, single.Shape)
	_, v := start(t, x, gang.Strategies{}, pair, single)
	want := gang.Verdict{Kind: gang.TooFew, Set: 1, Have: 1, Need: 2, Needed: 3}
	if v != want {
		t.Errorf("got %+v, want %+v", v, want)
	}
	single.Count, single.Min, single.Submitted = 1, 1, 1
	three := asking(x, 1, 1, whole(1, 0))
	_, v = start(t, x, gang.Strategies{}, pair, three, single)
	// pair, single, three: pair on node 0, no place for the single. single,
	// pair, three: none for the pair. pair, single, three: tried.
	want = gang.Verdict{Kind: gang.NoPlace, Set: 2, Have: 0, Need: 1, Placed: 1, Needed: 3, Orders: 2}
	if v != want {
		t.Errorf("got %+v, want %+v", v, want)
	}
	if after := fingerprint(x, nodes, pair.Shape, single.Shape); after != before {
		t.Errorf("before %s\nafter  %s", before, after)
	}
}

// TestOrdersAreBounded: k sets of different shapes and one device too few. Every
// order fails at its last set, which goes to the front, until all k have been
// there or the bound is reached.
func TestOrdersAreBounded(t *testing.T) {
	for k := 2; k <= gang.MaxOrders+2; k++ {
		x := newIndex(t, cluster(1, machine(k-1, 1000)))
		var sets []gang.Set
		for i := range k {
			sets = append(sets, asking(x, 1, 1, whole(1, int64(1+i))))
		}
		_, v := start(t, x, gang.Strategies{}, sets...)
		orders := int32(min(k, gang.MaxOrders))
		if v.Kind != gang.NoPlace || v.Placed != int32(k-1) || v.Needed != int32(k) || v.Orders != orders || v.Set != 0 {
			t.Errorf("%d sets: %+v", k, v)
		}
	}
}

// TestTooFew: more tasks than the empty nodes could take are refused without a
// search, sets of one shape counted together.
func TestTooFew(t *testing.T) {
	x := newIndex(t, cluster(3, machine(4, 100)))
	_, v := start(t, x, gang.Strategies{}, asking(x, 4, 4, whole(2, 0)), asking(x, 3, 3, whole(2, 0)))
	if want := (gang.Verdict{Kind: gang.TooFew, Set: 0, Have: 6, Need: 7, Needed: 7}); v != want {
		t.Errorf("got %+v, want %+v", v, want)
	}
}

// TestStrategies (P3): tasks with devices and tasks without follow a strategy
// each.
func TestStrategies(t *testing.T) {
	for _, tc := range []struct {
		st   gang.Strategies
		want string
	}{
		{gang.Strategies{}, "[{0 1 false} {0 2 false} {0 0 false} {0 0 false}]"},
		{gang.Strategies{GPU: placement.Spread}, "[{0 1 false} {1 1 false} {0 0 false} {0 0 false}]"},
		{gang.Strategies{CPUOnly: placement.Spread}, "[{0 1 false} {0 2 false} {0 0 false} {1 0 false}]"},
	} {
		x := newIndex(t, cluster(2, machine(4, 100)))
		places, v := start(t, x, tc.st, asking(x, 2, 2, whole(1, 0)), asking(x, 2, 2, whole(0, 10)))
		if got := fmt.Sprint(places); !v.OK || got != tc.want {
			t.Errorf("%v: got %s, want %s", tc.st, got, tc.want)
		}
	}
}

// TestInsideAnotherMark: what Place keeps can still be undone by the caller, and
// what it undoes leaves alone what the caller did before.
func TestInsideAnotherMark(t *testing.T) {
	nodes := cluster(2, machine(2, 100))
	x := newIndex(t, nodes)
	fits, tooBig := asking(x, 2, 2, whole(1, 0)), asking(x, 2, 2, whole(2, 0))
	empty := fingerprint(x, nodes, fits.Shape, tooBig.Shape)
	mark := x.Mark()
	if _, v := start(t, x, gang.Strategies{}, fits); !v.OK {
		t.Fatalf("%+v", v)
	}
	held := fingerprint(x, nodes, fits.Shape, tooBig.Shape)
	if _, v := start(t, x, gang.Strategies{}, tooBig); v.OK {
		t.Fatal("two pairs on one free node")
	}
	if diff := cmp.Diff(held, fingerprint(x, nodes, fits.Shape, tooBig.Shape)); diff != "" {
		t.Error(diff)
	}
	x.Undo(mark)
	if diff := cmp.Diff(empty, fingerprint(x, nodes, fits.Shape, tooBig.Shape)); diff != "" {
		t.Error(diff)
	}
}

// TestPlaceForeignUnits: a unit that is not the gang's own does no harm.
func TestPlaceForeignUnits(t *testing.T) {
	x := newIndex(t, cluster(1, machine(4, 100)))
	g := build(t, definition{sets: []gang.Set{asking(x, 2, 2, whole(1, 0))}})
	for _, tc := range []struct {
		add  []int32
		want int
	}{{nil, 0}, {[]int32{}, 0}, {[]int32{-3}, 0}, {[]int32{1, 1, 1}, 1}, {[]int32{1 << 30}, 2}} {
		mark := x.Mark()
		places, v := new(gang.Placer).Place(x, g, gang.Unit{Add: tc.add}, gang.Strategies{}, nil)
		if !v.OK || len(places) != tc.want || int(v.Needed) != tc.want {
			t.Errorf("%v: %v %+v", tc.add, places, v)
		}
		x.Undo(mark)
	}
}

// TestPlacerDoesNotAllocate once its buffers have grown.
func TestPlacerDoesNotAllocate(t *testing.T) {
	x := newIndex(t, cluster(8, machine(8, 100)))
	sets := []gang.Set{asking(x, 3, 3, whole(1, 1)), asking(x, 6, 6, whole(8, 0))}
	g := build(t, definition{sets: sets})
	unit, _ := g.First(nil)
	var p gang.Placer
	var places []placement.Place
	if n := testing.AllocsPerRun(50, func() {
		mark := x.Mark()
		places, _ = p.Place(x, g, unit, gang.Strategies{}, places)
		x.Undo(mark)
	}); n != 0 || len(places) != 9 {
		t.Errorf("%v allocations for %d places", n, len(places))
	}
}
