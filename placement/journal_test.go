package placement

import (
	"testing"

	"github.com/allotsched/allot/quota"
)

// S4: what no shape describes is reserved in share units.
func TestOccupy(t *testing.T) {
	x := mustIndex(t, plain([]Device{{Memory: 10}, {Memory: 10}}, 4))
	half := x.Shape(Request{Set: -1, Devices: 1, Milli: 500})
	if u := x.Units(half, 0, 1); u != 5000 {
		t.Fatalf("Units = %d, want 500 × 10", u)
	}
	if err := x.Occupy(0, amounts(0, 3), []DeviceUse{{0, 10_000}, {1, 5000}}, 1, 0); err != nil {
		t.Fatal(err)
	}
	if p, ok := x.Find(half, BinPack); !ok || p != (Place{0, 2}) {
		t.Errorf("got %v %v, want device 1", p, ok)
	}
	if _, ok := x.Find(x.Shape(Request{Set: -1, Amounts: amounts(0, 2)}), BinPack); ok {
		t.Error("2 of a resource fit beside 3 of 4")
	}
	for _, test := range []struct {
		reason  string
		node    int32
		amounts quota.Amounts
		devices []DeviceUse
		slots   int32
	}{
		{"no such node", 1, nil, nil, 0},
		{"no such device", 0, nil, []DeviceUse{{2, 1}}, 0},
		{"a device twice", 0, nil, []DeviceUse{{1, 1}, {1, 1}}, 0},
		{"negative units", 0, nil, []DeviceUse{{1, -1}}, 0},
		{"no such resource", 0, amounts(1, 1), nil, 0},
		{"negative slots", 0, nil, nil, -1},
	} {
		before := x.version
		if err := x.Occupy(test.node, test.amounts, test.devices, test.slots, 0); err == nil || x.version != before {
			t.Errorf("%s: no error", test.reason)
		}
	}
}

// Marks nest; a mark that is ended ends those inside it, and only once.
func TestMarks(t *testing.T) {
	x := mustIndex(t, plain(gpus(4)))
	one := x.Shape(Request{Set: -1, Devices: 1})
	take := func() {
		t.Helper()
		p, _ := x.Find(one, BinPack)
		if err := x.Take(one, p); err != nil {
			t.Fatal(err)
		}
	}
	whole := func(want uint64) {
		t.Helper()
		if got := x.nodes[0].whole; got != want {
			t.Fatalf("whole devices %b, want %b", got, want)
		}
	}
	take()
	outer := x.Mark()
	take()
	inner := x.Mark()
	take()
	x.Undo(inner)
	whole(0b1100)
	x.Undo(inner)
	whole(0b1100)
	inner = x.Mark()
	take()
	x.Commit(inner)
	x.Mark() // never ended by itself
	take()
	x.Undo(outer)
	whole(0b1110)
	x.Commit(outer)
	take()
	if len(x.journal.entries) != 0 {
		t.Error("journaled with no mark outstanding")
	}
}

// S4: what Vacate frees fits while a mark is outstanding, and Undo occupies it
// again.
func TestVacate(t *testing.T) {
	x := mustIndex(t, plain(gpus(2), 4))
	pair := x.Shape(Request{Set: -1, Devices: 2, Amounts: amounts(0, 4)})
	half := x.Shape(Request{Set: -1, Devices: 1, Milli: 500})
	use := []DeviceUse{{1, 1000}}
	if err := x.Occupy(0, amounts(0, 3), use, 1, 0); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, ok := x.Find(pair, BinPack); ok {
			t.Fatal("a pair fits beside what is occupied")
		}
		m := x.Mark()
		if err := x.Vacate(0, amounts(0, 3), use, 1, 0); err != nil {
			t.Fatal(err)
		}
		if p, ok := x.Find(pair, BinPack); !ok || p != (Place{0, 3}) {
			t.Fatalf("what is vacated is not found: %v %v", p, ok)
		}
		if err := x.Take(half, Place{0, 1}); err != nil {
			t.Fatal(err)
		}
		x.Undo(m)
	}
	if p, ok := x.Find(half, BinPack); !ok || p != (Place{0, 1}) {
		t.Errorf("got %v %v, want device 0", p, ok)
	}
	if x.Vacate(0, nil, []DeviceUse{{5, 1}}, 0, 0) == nil {
		t.Error("no such device: no error")
	}
}

// What was found out about a state is remembered across Undo, and only about
// that state: no two states that differ have one version.
func TestRejectAcrossUndo(t *testing.T) {
	x := mustIndex(t, plain(gpus(1)), plain(gpus(1)))
	one := x.Shape(Request{Set: -1, Devices: 1})
	turnedAway := func(want int) {
		t.Helper()
		got := 0
		for _, c := range x.Reject(one).Counts {
			got += c.Nodes
		}
		if got != want {
			t.Errorf("%d nodes turn it away, want %d", got, want)
		}
	}
	take := func(node int32) {
		t.Helper()
		if err := x.Take(one, Place{node, 1}); err != nil {
			t.Fatal(err)
		}
	}
	turnedAway(0)
	before := x.version
	outer := x.Mark()
	take(0)
	inner := x.Mark()
	take(1)
	turnedAway(2)
	x.Undo(inner)
	if err := x.Occupy(1, nil, nil, 1, 0); err != nil {
		t.Fatal(err)
	}
	turnedAway(1) // after as many changes as when both did
	take(1)
	turnedAway(2)
	x.Undo(outer)
	if x.version != before {
		t.Error("Undo brings back the state and not its version")
	}
	turnedAway(0)
	take(1)
	turnedAway(1)
}
