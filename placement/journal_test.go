package placement

import "testing"

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
		if err := x.Take(one, Place{Node: node, Devices: 1}); err != nil {
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
	take(1)
	if err := x.Release(one, Place{Node: 1, Devices: 1}); err != nil {
		t.Fatal(err)
	}
	turnedAway(2)
	if err := x.Leave(one, Place{Node: 1, Devices: 1}); err != nil {
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
