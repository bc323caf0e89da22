package placement

import (
	"math/bits"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// A ledger of some nodes of an index, on which other things stand, lacks what an index of these nodes alone
// does, to which the same happens: of shapes too of which the index learns later, and back at each mark.
func TestLedger(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := []Node{drawNode(t)}
		some, listed := nodes, []int32{0}
		for v := range rapid.Int32Range(0, 4).Draw(t, "more nodes") {
			nodes = append(nodes, drawNode(t))
			if rapid.Bool().Draw(t, "listed") {
				some, listed = append(some[:len(some):len(some)], nodes[v+1]), append(listed, v+1)
			}
		}
		whole, alone := mustDraw(NewIndex(nodes, testResources))(t), mustDraw(NewIndex(some, testResources))(t)
		known := whole.Shape(drawRequest(t))
		for v := range nodes {
			_ = whole.Take(known, drawPlace(t, int32(v))) // where there is such a place
		}
		ledger := NewLedger(whole, listed)
		for range 2 {
			r := drawRequest(t)
			name, own := whole.Shape(r), alone.Shape(r)
			mark, other := ledger.Mark(), alone.Mark()
			compareLedger(t, ledger, alone, [2]Shape{name, own}, len(some))
			if rapid.Bool().Draw(t, "undo") {
				ledger.Undo(mark)
				alone.Undo(other)
			} else {
				ledger.Commit(mark)
				alone.Commit(other)
			}
			compareLedger(t, ledger, alone, [2]Shape{name, own}, len(some))
		}
	})
}

func mustDraw(x *Index, err error) func(t *rapid.T) *Index {
	return func(t *rapid.T) *Index {
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
}

// drawPlace draws where a task may be said to stand, whether there is room or not.
func drawPlace(t *rapid.T, node int32) Place {
	devices := rapid.SampledFrom([]uint64{0, 0, 1, 1, 2, 4, 3, 5, 6, 7}).Draw(t, "devices")
	return Place{Node: node, Devices: devices, Pipelined: rapid.IntRange(0, 3).Draw(t, "claims") == 0}
}

// compareLedger has places be taken of both, and left again, and asks what is lacking.
func compareLedger(t *rapid.T, l *Ledger, x *Index, names [2]Shape, nodes int) {
	for range 6 {
		p := drawPlace(t, rapid.Int32Range(0, int32(nodes)-1).Draw(t, "node"))
		if sh := x.shape(names[1]); sh.senseless || p.Devices&^x.layouts[x.nodes[p.Node].layout].all() != 0 || bits.OnesCount64(p.Devices) != sh.count {
			continue
		}
		if diff := cmp.Diff(x.Lacks(names[1], p), l.Lacks(names[0], p)); diff != "" {
			t.Fatalf("%+v: %s", p, diff)
		}
		got, want := l.Take(names[0], p), x.Take(names[1], p)
		if got == nil && !p.Pipelined && rapid.Bool().Draw(t, "leaves") {
			got, want = l.Release(names[0], p), x.Release(names[1], p)
		}
		if got != nil || want != nil {
			t.Fatal(got, want)
		}
		if diff := cmp.Diff(x.Lacks(names[1], p), l.Lacks(names[0], p)); diff != "" {
			t.Fatalf("%+v: %s", p, diff)
		}
	}
}
