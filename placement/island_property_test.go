package placement

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawMake draws a node of a known make, with links down and devices that are
// unhealthy or used by others.
func drawMake(t *rapid.T) Node {
	h, _ := HardwareNamed(rapid.SampledFrom([]string{"cube-mesh-8", "cube-mesh-8", "nvswitch-8-a100", "pcie-8", "nvlink-pairs-4"}).Draw(t, "hardware"))
	var down []Link
	for _, l := range h.Links(nil) {
		if rapid.IntRange(0, 19).Draw(t, "down") == 0 {
			down = append(down, Link{A: l.A, B: l.B})
		}
	}
	n := Node{Slots: NoCap, CPUOnlySlots: NoCap, Capacity: []int64{100, 100}, Links: h.Links(down)}
	for i := range h.Devices() {
		n.Devices = append(n.Devices, Device{
			Socket: h.Socket(i), Switch: h.Switch(i), Memory: 16,
			Unhealthy: rapid.IntRange(0, 15).Draw(t, "unhealthy") == 0,
			Foreign:   rapid.SampledFrom([]int64{0, 0, 0, 0, 0, 0, 0, 500}).Draw(t, "foreign"),
		})
	}
	return n
}

// An islander runs the machine on nodes of known makes, with every strategy.
type islander struct{ *machine }

func (m islander) addShape(t *rapid.T) {
	r := Request{
		Set: -1, Devices: rapid.SampledFrom([]int32{1, 2, 2, 3, 4, 4, 8}).Draw(t, "devices"),
		Milli:        rapid.SampledFrom([]int64{0, 0, 0, 300, 500}).Draw(t, "milli"),
		Island:       rapid.SampledFrom([]Island{AnyIsland, SocketIsland, SwitchIsland, NVLinkIsland}).Draw(t, "island"),
		PreferIsland: rapid.SampledFrom([]Island{AnyIsland, SwitchIsland, NVLinkIsland}).Draw(t, "preferred"),
	}
	m.requests = append(m.requests, r)
	m.shapes = append(m.shapes, m.index.Shape(r))
}

// find checks the island that is required and that which is preferred.
func (m islander) find(t *rapid.T) {
	i := m.drawShape(t)
	st := Strategy(rapid.IntRange(int(BinPack), int(lastStrategy)).Draw(t, "strategy"))
	r, s := m.requests[i], m.shapes[i]
	somewhere := func(island Island) bool {
		q := r
		q.Island, q.PreferIsland = island, AnyIsland
		return slices.ContainsFunc(slices.Collect(m.positions), func(v int) bool { return len(m.model.sets(q, v)) > 0 })
	}
	p, ok := m.index.Find(s, st)
	if want := somewhere(r.Island); ok != want {
		t.Fatalf("P1 %v: Find(%+v) = %v %v, want %v", st, r, p, ok, want)
	}
	if !ok {
		m.actions["turned away"]++
		return
	}
	n := m.model.nodes[p.Node]
	if r.Devices > 1 && !inIsland(n, r.Island, p.Devices) || !m.model.setFits(r, int(p.Node), p.Devices) || !m.index.Fits(s, p) {
		t.Fatalf("T4 %v: Find(%+v) = %v is not in the island", st, r, p)
	}
	if r.Devices > 1 && r.PreferIsland > r.Island && !inIsland(n, r.PreferIsland, p.Devices) && somewhere(r.PreferIsland) {
		t.Fatalf("T4 %v: Find(%+v) = %v is not in the island preferred", st, r, p)
	}
	if r.PreferIsland > r.Island {
		m.actions[map[bool]string{true: "preferred", false: "not preferred"}[inIsland(n, r.PreferIsland, p.Devices)]]++
	}
	if m.index.RoomOn(s, p.Node) < 1 || m.index.Candidates(s) < 1 {
		t.Fatalf("%v: Find(%+v) = %v where there is no room", st, r, p)
	}
	if room, most := m.index.RoomOn(s, p.Node), mostDisjoint(n, r, m.freeOn(r, p.Node)); r.Milli == 0 && room != most {
		t.Fatalf("%+v: room for %d on node %d, want %d", r, room, p.Node, most)
	}
	if q, ok := m.index.PlaceOn(s, p.Node, st); !ok || !m.index.Fits(s, q) ||
		inIsland(n, r.PreferIsland, p.Devices) && !inIsland(n, r.PreferIsland, q.Devices) {
		t.Fatalf("T4 %v: PlaceOn(%+v) = %v, Find says %v", st, r, q, p)
	}
	if most := m.whenEmpty(r); r.Milli == 0 && m.index.Candidates(s) != most {
		t.Fatalf("%+v: %d candidates, want %d", r, m.index.Candidates(s), most)
	}
	m.actions["found"]++
	if rapid.IntRange(0, 3).Draw(t, "take it") > 0 {
		m.take(t, i, p)
	}
}

// whenEmpty is how many tasks of whole devices the empty nodes take.
func (m islander) whenEmpty(r Request) (most int) {
	empty := islander{&machine{model: newNaive(m.model.nodes, testResources)}}
	for v, n := range m.model.nodes {
		most += mostDisjoint(n, r, empty.freeOn(r, int32(v)))
	}
	return most
}

func (m islander) positions(yield func(int) bool) {
	for v := range m.model.nodes {
		if !yield(v) {
			return
		}
	}
}

// freeOn is the devices of a node, of which there is one model, that the request finds
// room on.
func (m islander) freeOn(r Request, v int32) (free uint64) {
	for i, d := range m.model.nodes[v].Devices {
		if !d.Unhealthy && m.model.left(int(v), i) >= part(r, d) {
			free |= 1 << i
		}
	}
	return free
}

// T4: whatever is taken, given and undone, no strategy breaks a required island, and
// each finds a preferred one if there is one; a task is turned away only where there is
// no island for it.
func TestIslandsHold(t *testing.T) {
	coverage := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.SliceOfN(rapid.Custom(drawMake), 1, 3).Draw(t, "nodes")
		m := islander{newMachine(t, nodes)}
		if err := m.index.SetScoring(drawScoring(t)); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			m.addShape(t)
		}
		t.Repeat(map[string]func(*rapid.T){
			"":      m.check,
			"shape": m.addShape,
			"find":  m.find,
			"find2": m.find,
			"find3": m.find,
			"give":  m.give,
			"mark":  m.mark,
			"end":   m.end,
		})
		for name, n := range m.actions { // sums: order cannot matter
			coverage[name] += n
		}
	})
	t.Log(coverage)
	least := 100
	if testing.Short() { // rapid's machines then make a fifth of the steps, and fewer of them get far
		least = 10
	}
	for _, name := range []string{"found", "give", "undo", "turned away", "preferred", "not preferred"} {
		if coverage[name] < least {
			t.Errorf("the machine did %q only %d times", name, coverage[name])
		}
	}
}

// Islands and the choice of devices of any mesh of up to 9 devices, against every
// subset.
func FuzzMesh(f *testing.F) {
	f.Add([]byte{8, 255, 1, 3, 0, 2, 1, 1, 7, 6, 5, 4})
	f.Add([]byte{5, 31, 0, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1})
	f.Add([]byte{9, 127, 2, 0, 9, 3, 3, 3, 0, 0, 1, 4, 4, 1, 5, 2, 9, 8, 7, 6, 5, 4, 3, 2, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		at := 0
		next := func(below int) int {
			if at++; at > len(data) {
				return 0
			}
			return int(data[at-1]) % below
		}
		n := Node{Slots: NoCap, Devices: make([]Device, 2+next(8))}
		free, r := uint64(next(256))|uint64(next(2))<<8, Request{Set: -1, Island: Island(next(len(leastNear)))}
		free &= lowest(len(n.Devices))
		if free == 0 {
			return
		}
		r.Devices = int32(1 + next(bits.OnesCount64(free)))
		for i := range n.Devices {
			n.Devices[i].Socket, n.Devices[i].Switch = int32(next(3)), int32(next(4))
			for b := range i {
				n.Links = append(n.Links, Link{int32(i), int32(b), int32(max(0, next(5)-2))})
			}
		}
		x := keepFree(t, n, free)
		s := x.Shape(r)
		want := optimum(n, r, free)
		if !knownJoined(n) && want != 0 {
			want = lowestOf(free, int(r.Devices))
		}
		if r.Devices == 1 {
			r.Island = AnyIsland
		}
		if p, ok := x.Find(s, First); ok != (want != 0) || p.Devices != want {
			t.Fatalf("%+v\n%+v of %b: %b %v, want %b", n, r, free, p.Devices, ok, want)
		}
		if got, most := x.RoomOn(s, 0), mostDisjoint(n, r, free); got != most {
			t.Fatalf("%+v\n%+v of %b: room for %d, want %d", n, r, free, got, most)
		}
		KeepingRoom(x, func() {
			if got, most := foundInTurn(t, x, s), mostDisjoint(n, r, free); got != most {
				t.Fatalf("%+v\n%+v of %b: %d find a place, of %d", n, r, free, got, most)
			}
		})
	})
}

// foundInTurn is how many tasks of a shape find places, one after the other, and leaves the index as it was.
func foundInTurn(t *testing.T, x *Index, s Shape) (found int) {
	t.Helper()
	m := x.Mark()
	defer x.Undo(m)
	for p, ok := x.Find(s, First); ok; p, ok = x.Find(s, First) {
		if err := x.Take(s, p); err != nil {
			t.Fatal(err)
		}
		found++
	}
	return found
}

// The room in islands that overlap is exact also of more than 16 devices, where they overlap little, and tasks that keep room
// find all of it; where they overlap much it is what Find gives.
func TestRoomInManyIslands(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 4))
	many, exact := 0, 0
	for range 60 {
		n := Node{Slots: NoCap, Devices: make([]Device, 19+r.IntN(14))}
		joined := 3 + r.IntN(17)
		for i := range int32(joined) {
			for b := range i {
				if r.IntN(joined) < 3 {
					n.Links = append(n.Links, Link{i, b, 1 + r.Int32N(2)})
				}
			}
		}
		x, err := NewIndex([]Node{n}, 0)
		if err != nil {
			t.Fatal(err)
		}
		asks := Request{Set: -1, Devices: 2 + r.Int32N(2), Island: NVLinkIsland}
		s := x.Shape(asks)
		room, found := x.RoomOn(s, 0), foundInTurn(t, x, s)
		KeepingRoom(x, func() { found = max(found, foundInTurn(t, x, s)) })
		if most := mostDisjoint(n, asks, lowest(joined)); room == most && found == most {
			exact++
		} else if joined <= mostTried || room != found {
			t.Fatalf("%d devices of %+v: room for %d, found %d, of %d", asks.Devices, n.Links, room, found, most)
		}
		if joined > mostTried {
			many++
		}
	}
	if many < 5 || exact < 55 {
		t.Errorf("%d exact, %d of many devices", exact, many)
	}
}

// Once a choice is known, nothing is allocated.
func TestIslandsDoNotAllocate(t *testing.T) {
	nodes := make([]Node, 20)
	for v := range nodes {
		nodes[v] = nodeOf(t, "cube-mesh-8")
	}
	x, err := NewIndex(nodes, 0)
	if err != nil {
		t.Fatal(err)
	}
	shapes := []Shape{
		x.Shape(Request{Set: -1, Devices: 2, Island: NVLinkIsland}),
		x.Shape(Request{Set: -1, Devices: 3, PreferIsland: NVLinkIsland}),
		x.Shape(Request{Set: -1, Devices: 2, Milli: 400, Island: SocketIsland}),
		x.Shape(Request{Set: -1, Devices: 1, Milli: 500}),
	}
	round := func() {
		m := x.Mark()
		for range 30 {
			for i, s := range shapes {
				if p, ok := x.Find(s, Strategy(1+i%3)); ok {
					if err := x.Take(s, p); err != nil {
						t.Fatal(err)
					}
					x.RoomOn(s, p.Node)
				}
			}
		}
		x.Undo(m)
	}
	round()
	if n := testing.AllocsPerRun(5, round); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
