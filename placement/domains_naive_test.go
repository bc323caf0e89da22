package placement

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// drawDomains draws the names of each node's domains, the widest level first; some are
// lacking, and often there are none at all.
func drawDomains(t *rapid.T, nodes int) [][]string {
	levels := rapid.SampledFrom([]int{0, 1, 2, 2, 3}).Draw(t, "levels")
	if levels == 0 {
		return nil
	}
	names := rapid.SampledFrom([][]string{{"a", "b", "c", ""}, {"a", "a", "b"}, {"a"}}).Draw(t, "names")
	out := make([][]string, nodes)
	for v := range out {
		for range levels {
			out[v] = append(out[v], rapid.SampledFrom(names).Draw(t, "name"))
		}
	}
	return out
}

// setDomains tells an index of the domains, if there are any.
func setDomains(t rapid.TB, x *Index, domains [][]string) {
	if domains == nil {
		return
	}
	if err := x.SetTopology(NewTopology(len(domains[0]), domains)); err != nil {
		t.Fatal(err)
	}
}

// with lists the nodes that are in the node's domain of a level, by the names; nil where
// it lacks the level.
func (m *naive) with(v, level int) (nodes []int) {
	if m.domains[v][level] == "" {
		return nil
	}
	for other := range m.nodes {
		same := true
		for i := range level + 1 {
			same = same && m.domains[v][i] == m.domains[other][i]
		}
		if same {
			nodes = append(nodes, other)
		}
	}
	return nodes
}

// usedOf is what is used of a node and what there is of it, of what the strategies look
// at: the healthy devices in milli, or the first resource; nothing where it is cordoned.
func (m *naive) usedOf(r Request, v int) (used, total int64) {
	if m.nodes[v].Cordoned {
		return 0, 0
	}
	if r.Devices == 0 {
		total = max(0, m.nodes[v].Capacity[r.Amounts[0].Resource])
		return total - min(total, max(0, m.nodes[v].Capacity[r.Amounts[0].Resource]-m.used[v].amounts[r.Amounts[0].Resource])), total
	}
	for i, d := range m.nodes[v].Devices {
		if !d.Unhealthy {
			used, total = used+m.load(v, i), total+1000
		}
	}
	return used, total
}

// domainKey is by what nodes that are alike to the strategy are told apart, the narrowest
// level first (P3).
func (m *naive) domainKey(r Request, v int, st Strategy) (key []*big.Rat) {
	if m.domains == nil || st == First || r.Devices == 0 && len(r.Amounts) == 0 {
		return nil
	}
	nodes := []int{v} // where it lacks a level, what it is of the narrower ones is alone
	for level := len(m.domains[v]) - 1; level >= 0; level-- {
		in := m.with(v, level)
		lacks := in == nil
		if !lacks {
			nodes = in
		}
		used, total := int64(0), int64(0)
		for _, other := range nodes {
			u, all := m.usedOf(r, other)
			used, total = used+u, total+all
		}
		one := big.NewRat(0, 1)
		switch {
		case st == Spread:
			one.SetFrac64(used, max(1, total))
		case !lacks && used == 0:
			one.SetInt64(1)
		}
		key = append(key, one)
	}
	return key
}

func compareRats(a, b []*big.Rat) int {
	for i := range a {
		if c := a[i].Cmp(b[i]); c != 0 {
			return c
		}
	}
	return 0
}

// P3: racks that are in use are filled before idle ones, and of blocks likewise; what has
// no rack breaks none; spread takes the least loaded rack. By hand.
func TestP3Domains(t *testing.T) {
	domains := [][]string{{"b0", "r0"}, {"b0", "r1"}, {"b1", "r2"}, {"b1", "r3"}, {"b1", "r3"}, {"b0"}}
	x := mustIndex(t, plain(gpus(2)), plain(gpus(2)), plain(gpus(2)), plain(gpus(2)), plain(gpus(2)), plain(gpus(2)))
	setDomains(t, x, domains)
	one, pair := x.Shape(Request{Set: -1, Devices: 1}), x.Shape(Request{Set: -1, Devices: 2})
	take := func(s Shape, st Strategy, want int32) {
		t.Helper()
		p, ok := x.Find(s, st)
		if !ok || p.Node != want {
			t.Fatalf("P3 %v: found %+v %v, want node %d", st, p, ok, want)
		}
		if err := x.Take(s, p); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Take(pair, Place{Node: 4, Devices: 3}); err != nil {
		t.Fatal(err)
	}
	m := x.Mark()
	take(one, BinPack, 3)  // the rack in use
	take(one, BinPack, 3)  // the node in use
	take(pair, BinPack, 5) // it breaks no rack, though b0 is idle
	take(pair, BinPack, 0) // both blocks are in use
	take(pair, BinPack, 1)
	x.Undo(m)
	take(pair, BinPack, 3)
	take(pair, BinPack, 5) // likewise
	take(pair, BinPack, 0)
	take(pair, BinPack, 1)
	take(pair, BinPack, 2)
	if _, ok := x.Find(one, BinPack); ok {
		t.Error("all is full")
	}
	y := mustIndex(t, plain(gpus(4)), plain(gpus(4)), plain(gpus(4)), plain(gpus(4)))
	setDomains(t, y, [][]string{{"r0"}, {"r0"}, {"r1"}, {"r1"}})
	x, one = y, y.Shape(Request{Set: -1, Devices: 1})
	for _, want := range []int32{0, 2, 1, 3, 0, 2, 1, 3} {
		take(one, Spread, want)
	}
	// What the rings have forgotten is read anew.
	x = mustIndex(t, plain(gpus(2)), plain(gpus(2)), plain(gpus(2)))
	setDomains(t, x, [][]string{{"r0"}, {"r1"}, {"r1"}})
	one = x.Shape(Request{Set: -1, Devices: 1})
	take(one, BinPack, 0)
	take(one, BinPack, 0)
	for _, p := range []Place{{Node: 2, Devices: 1}, {Node: 0, Devices: 1}, {Node: 0, Devices: 2}} {
		if p.Node == 2 {
			_ = x.Take(one, p)
		} else if err := x.Give(one, p); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 * len(x.moved.entries) {
		_ = x.Take(one, Place{Node: 2, Devices: 2})
		_ = x.Give(one, Place{Node: 2, Devices: 2})
	}
	_ = x.Take(one, Place{Node: 2, Devices: 2})
	take(one, BinPack, 1)
	// A node that is too small brings its rack into use.
	x = mustIndex(t, plain(gpus(2)), plain(gpus(1)), plain(gpus(2)))
	setDomains(t, x, [][]string{{"r0"}, {"r0"}, {""}})
	pair = x.Shape(Request{Set: -1, Devices: 2})
	if p, ok := x.Find(pair, BinPack); !ok || p.Node != 2 {
		t.Fatalf("P3: found %+v %v, want node 2, which breaks no rack", p, ok)
	}
	if err := x.Take(x.Shape(Request{Set: -1, Devices: 1}), Place{Node: 1, Devices: 1}); err != nil {
		t.Fatal(err)
	}
	take(pair, BinPack, 0)
	// A rack that takes nothing brings the block around it into use.
	x = mustIndex(t, plain(gpus(2)), plain(gpus(2)), plain(gpus(1)))
	setDomains(t, x, [][]string{{"b0", "r0"}, {"b1", "r1"}, {"b1", "r2"}})
	pair = x.Shape(Request{Set: -1, Devices: 2})
	if p, ok := x.Find(pair, BinPack); !ok || p.Node != 0 {
		t.Fatalf("P3: found %+v %v, want node 0, which is the first", p, ok)
	}
	if err := x.Take(x.Shape(Request{Set: -1, Devices: 1}), Place{Node: 2, Devices: 1}); err != nil {
		t.Fatal(err)
	}
	take(pair, BinPack, 1)
	// A rack that is in no block is compared with blocks by its own load, whichever of
	// its nodes it is about: both have 1001 of 2000.
	x = mustIndex(t, plain(gpus(1)), plain(gpus(1)), plain(gpus(1)), plain(gpus(1)))
	setDomains(t, x, [][]string{{"", "r0"}, {"", "r0"}, {"b0", "r1"}, {"b0", "r1"}})
	for v, milli := range []int64{501, 500, 501, 500} {
		if err := x.Take(x.Shape(Request{Set: -1, Devices: 1, Milli: milli}), Place{Node: int32(v), Devices: 1}); err != nil {
			t.Fatal(err)
		}
	}
	take(x.Shape(Request{Set: -1, Devices: 1, Milli: 1}), Spread, 0)
	if x.SetTopology(NewTopology(1, [][]string{{"a"}})) == nil {
		t.Error("a topology of one node for four")
	}
	if err := x.SetTopology(nil); err != nil || x.ByDomains() {
		t.Errorf("%v, by domains %v", err, x.ByDomains())
	}
}
