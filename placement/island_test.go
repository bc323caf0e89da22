package placement

import (
	"fmt"
	"math/bits"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// nodeOf is a node of a known make, of which overrides change links.
func nodeOf(t testing.TB, name string, overrides ...Link) Node {
	t.Helper()
	h, ok := HardwareNamed(name)
	if !ok {
		t.Fatalf("no hardware %q", name)
	}
	n := Node{Slots: NoCap, CPUOnlySlots: NoCap, Links: h.Links(overrides)}
	for i := range h.Devices() {
		n.Devices = append(n.Devices, Device{Socket: h.Socket(i), Switch: h.Switch(i)})
	}
	return n
}

// keepFree is an index of one node on which all but the free devices are taken.
func keepFree(t testing.TB, n Node, free uint64) *Index {
	t.Helper()
	x, err := NewIndex([]Node{n}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if used := lowest(len(n.Devices)) &^ free; used != 0 {
		if err := x.Take(x.Shape(Request{Set: -1, Devices: int32(bits.OnesCount64(used))}), Place{Node: 0, Devices: used}); err != nil {
			t.Fatal(err)
		}
	}
	return x
}

// optimum tries every subset.
func optimum(n Node, r Request, free uint64) (best uint64) {
	var least []int64
	for set := uint64(1); set < 1<<len(n.Devices); set++ {
		if set&^free != 0 || bits.OnesCount64(set) != int(r.Devices) || !inIsland(n, r.Island, set) {
			continue
		}
		if key := joinedKey(n, set, free); best == 0 || slices.Compare(key, least) < 0 {
			best, least = set, key
		}
	}
	return best
}

// T4: for every preset of up to 8 devices, every free mask, every number of devices
// and every island, the choice is the best of all subsets, and there is none where
// there is none; RoomOn is the most tasks that find disjoint devices.
func TestChoiceIsOptimal(t *testing.T) {
	choices := 0
	for _, name := range HardwareNames() {
		n := nodeOf(t, name)
		if len(n.Devices) > 8 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			for free := range uint64(1) << len(n.Devices) {
				choices += checkChoices(t, n, free)
			}
		})
	}
	t.Log(choices, "choices")
}

// Links that are down make layouts of their own: each link of the cube mesh once.
func TestChoiceWithLinksDown(t *testing.T) {
	h, _ := HardwareNamed("cube-mesh-8")
	for i, down := range h.Links(nil) {
		n := nodeOf(t, "cube-mesh-8", Link{A: down.B, B: down.A})
		for free := range uint64(1) << len(n.Devices) {
			if free%16 == uint64(i) || bits.OnesCount64(free) >= 7 {
				checkChoices(t, n, free)
			}
		}
	}
}

func checkChoices(t *testing.T, n Node, free uint64) (choices int) {
	t.Helper()
	x := keepFree(t, n, free)
	for k := range int32(bits.OnesCount64(free)) {
		for island := range leastNear {
			r := Request{Set: -1, Devices: k + 1, Island: Island(island)}
			s, want := x.Shape(r), optimum(n, r, free)
			for _, st := range []Strategy{BinPack, Spread, First, FragmentationGradient, BestFit} {
				choices++
				if p, ok := x.Find(s, st); ok != (want != 0) || p.Devices != want {
					t.Fatalf("%v: %d devices in an island %v of %08b: %08b %v, want %08b", st, r.Devices, r.Island, free, p.Devices, ok, want)
				}
			}
			if got, want := x.RoomOn(s, 0), mostDisjoint(n, r, free); got != want {
				t.Fatalf("%d devices in an island %v of %08b: room for %d, want %d", r.Devices, r.Island, free, got, want)
			}
		}
	}
	return choices
}

// mostDisjoint is how many tasks find their devices, by trying all.
func mostDisjoint(n Node, r Request, free uint64) (most int) {
	if r.Island == AnyIsland || free == 0 {
		return bits.OnesCount64(free) / int(r.Devices)
	}
	device := free & -free
	for set := free; set != 0; set = (set - 1) & free {
		if set&device != 0 && bits.OnesCount64(set) == int(r.Devices) && inIsland(n, r.Island, set) {
			most = max(most, 1+mostDisjoint(n, r, free&^set))
		}
	}
	if most < bits.OnesCount64(free)/int(r.Devices) {
		most = max(most, mostDisjoint(n, r, free&^device))
	}
	return most
}

// T4 on a cube mesh: two squares of four devices, of which NVLinks join every two, and
// an NVLink from each corner of one to a corner of the other.
func TestCubeMesh(t *testing.T) {
	tests := []struct {
		free    []int
		count   int32
		island  Island
		want    []int
		missing Miss
	}{
		{free: []int{0, 1, 2, 3, 4, 5, 6, 7}, count: 1, want: []int{0}},
		{free: []int{0, 1, 2, 3, 4, 5, 6, 7}, count: 2, want: []int{2, 3}}, // two NVLinks and one PCIe switch
		{free: []int{0, 1, 2, 3, 4, 5, 6, 7}, count: 3, want: []int{0, 2, 3}},
		{free: []int{0, 1, 2, 3, 4, 5, 6, 7}, count: 4, want: []int{0, 1, 2, 3}},
		{free: []int{1, 2, 3, 4, 5, 6, 7}, count: 4, want: []int{4, 5, 6, 7}},
		{free: []int{1, 2, 3, 4, 5, 6, 7}, count: 1, want: []int{4}}, // 1 has neighbours, 4 has lost one
		{free: []int{0, 1, 4}, count: 2, want: []int{0, 4}},          // two NVLinks across the sockets before one on a switch
		{free: []int{0, 1, 4}, count: 2, island: NVLinkIsland, want: []int{0, 4}},
		{free: []int{0, 5}, count: 2, want: []int{0, 5}},
		{free: []int{0, 5}, count: 2, island: SocketIsland, missing: Miss{Predicate: FreeIsland, Have: 1, Need: 2}},
		{free: []int{0, 4}, count: 2, island: SocketIsland, want: []int{0, 4}}, // NVLinks are tighter than a socket
		{free: []int{0, 4}, count: 2, island: SwitchIsland, want: []int{0, 4}},
		{free: []int{0, 1, 2, 4, 5, 6}, count: 4, island: NVLinkIsland, missing: Miss{Predicate: FreeIsland, Have: 3, Need: 4}},
		{free: []int{0, 1, 2, 3, 4, 5, 6, 7}, count: 5, island: NVLinkIsland, missing: Miss{Predicate: IslandSize, Have: 4, Need: 5}},
		{free: []int{0, 1}, count: 5, island: NVLinkIsland, missing: Miss{Predicate: IslandSize, Have: 4, Need: 5}},
		{free: []int{0, 1}, count: 3, island: NVLinkIsland, missing: Miss{Predicate: FreeDevices, Have: 2, Need: 3}},
		{free: []int{0, 1}, count: 9, island: NVLinkIsland, missing: Miss{Predicate: DeviceCount, Have: 8, Need: 9}},
	}
	for _, test := range tests {
		var free uint64
		for _, d := range test.free {
			free |= 1 << d
		}
		x := keepFree(t, nodeOf(t, "cube-mesh-8"), free)
		s := x.Shape(Request{Set: -1, Devices: test.count, Island: test.island})
		p, ok := x.Find(s, BinPack)
		if got := indices(p.Devices); ok != (test.want != nil) || !slices.Equal(got, test.want) {
			t.Errorf("T4: %d devices of %v in an island %v: %v, want %v", test.count, test.free, test.island, got, test.want)
		}
		if test.want == nil {
			test.missing.Resource = -1
			if got := x.Reject(s).Nearest; got != test.missing {
				t.Errorf("X1: %d devices of %v in an island %v: missing %+v, want %+v", test.count, test.free, test.island, got, test.missing)
			}
		}
	}
}

// The largest presets and nodes beyond 16 devices: what is found is in the island, and
// in the tightest there is.
func TestManyDevices(t *testing.T) {
	tree := Node{Slots: NoCap, CPUOnlySlots: NoCap}
	for d := range int32(64) {
		tree.Devices = append(tree.Devices, Device{Socket: 1 + d/32, Switch: 1 + d/8})
	}
	random := uint64(3)
	for _, n := range []Node{nodeOf(t, "nvswitch-16"), tree} {
		for range 12 {
			random = mixed(random + golden)
			free := random & (random >> 7) & lowest(len(n.Devices))
			x := keepFree(t, n, free)
			for k := int32(1); k <= int32(bits.OnesCount64(free)); k++ {
				p, ok := x.Find(x.Shape(Request{Set: -1, Devices: k}), BinPack)
				if !ok {
					t.Fatalf("no place for %d of %b", k, free)
				}
				for island := SocketIsland; island <= NVLinkIsland; island++ {
					can := mostOfTree(n, island, free) >= int(k)
					s := x.Shape(Request{Set: -1, Devices: k, Island: island})
					q, ok := x.Find(s, BinPack)
					if ok != can || ok && !inIsland(n, island, q.Devices) || can != inIsland(n, island, p.Devices) {
						t.Fatalf("%d of %b in an island %v: %b %v, without %b, want %v", k, free, island, q.Devices, ok, p.Devices, can)
					}
					if got, want := x.RoomOn(s, 0), roomOfTree(n, island, free, int(k)); got != want {
						t.Fatalf("%d of %b in an island %v: room for %d, want %d", k, free, island, got, want)
					}
				}
			}
		}
	}
}

// mostOfTree is largestIsland where no islands overlap.
func mostOfTree(n Node, island Island, free uint64) (most int) {
	for d := range n.Devices {
		most = max(most, bits.OnesCount64(islandAround(n, island, free, d)))
	}
	return most
}

func roomOfTree(n Node, island Island, free uint64, count int) (room int) {
	for d := range n.Devices {
		if all := islandAround(n, island, free, d); all != 0 && bits.TrailingZeros64(all) == d {
			room += bits.OnesCount64(all) / count
		}
	}
	return room
}

// islandAround is the free devices of a free device's island, with itself.
func islandAround(n Node, island Island, free uint64, device int) (all uint64) {
	for d := range n.Devices {
		if free>>device&1 == 1 && free>>d&1 == 1 && (d == device || inIsland(n, island, 1<<d|1<<device)) {
			all |= 1 << d
		}
	}
	return all
}

// Every preset is sound, and nobody can change it.
func TestHardware(t *testing.T) {
	names := HardwareNames()
	if !slices.IsSorted(names) {
		t.Errorf("the names do not ascend: %v", names)
	}
	degree := map[string]int32{
		"cube-mesh-8": 6, "nvl72-tray": 18, "nvlink-4": 18, "nvlink-pairs-4": 3, "nvswitch-16": 6, "nvswitch-8": 18, "nvswitch-8-a100": 12,
	}
	for _, name := range names {
		h, ok := HardwareNamed(name)
		if !ok || h.Name() != name || h.Source() == "" || h.About() == "" {
			t.Errorf("%s: %v %q %q", name, ok, h.About(), h.Source())
		}
		for a := range h.Devices() {
			sum, most := int32(0), int32(0)
			for b := range h.Devices() {
				links := h.NVLinks(a, b)
				if links != h.NVLinks(b, a) || h.Switch(a) == h.Switch(b) && h.Socket(a) != h.Socket(b) {
					t.Errorf("%s: devices %d and %d", name, a, b)
				}
				sum, most = sum+links, max(most, links)
			}
			// Of an NVSwitch every pair has all links of a device.
			if got := map[bool]int32{true: most, false: sum}[h.make.full > 6 || name == "nvswitch-16"]; got != degree[name] {
				t.Errorf("%s: device %d has %d NVLinks", name, a, got)
			}
			if h.Socket(a) < 1 || h.Switch(a) < 1 {
				t.Errorf("%s: device %d hangs nowhere", name, a)
			}
		}
	}
	none, ok := HardwareNamed("abacus")
	if ok || none.Devices() != 0 || none.Name()+none.About()+none.Source() != "" || none.NVLinks(0, 1) != 0 || none.Socket(0) != 0 {
		t.Error("hardware that there is not")
	}
}

func TestHardwareLinks(t *testing.T) {
	pairs, _ := HardwareNamed("nvlink-pairs-4")
	tests := []struct {
		hardware  Hardware
		overrides []Link
		want      []Link
	}{
		{pairs, nil, []Link{{0, 1, 3}, {2, 3, 3}}},
		{pairs, []Link{{1, 0, 0}}, []Link{{2, 3, 3}}},
		{pairs, []Link{{3, 2, 1}, {1, 2, 4}}, []Link{{0, 1, 3}, {1, 2, 4}, {2, 3, 1}}},
		{Hardware{}, []Link{{2, 0, 1}, {0, 1, 0}}, []Link{{0, 2, 1}}},
	}
	for _, test := range tests {
		got := test.hardware.Links(test.overrides)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%v with %v (-want +got):\n%s", test.hardware.Name(), test.overrides, diff)
		}
		clear(got)
	}
	if pairs.NVLinks(0, 1) != 3 {
		t.Error("a caller has changed the hardware")
	}
}

func TestLinkErrors(t *testing.T) {
	two := func(l ...Link) Node { return Node{Devices: make([]Device, 2), Links: l} }
	for i, n := range []Node{
		two(Link{0, 0, 1}), two(Link{0, 2, 1}), two(Link{-1, 0, 1}), two(Link{0, 1, -1}), two(Link{0, 1, MaxNVLinks + 1}),
		two(Link{0, 1, 1}, Link{1, 0, 2}), {Devices: []Device{{Socket: -1}}}, {Devices: []Device{{Switch: -1}}},
	} {
		if _, err := NewIndex([]Node{n}, 0); err == nil {
			t.Errorf("node %d is taken", i)
		}
	}
	if _, err := NewIndex([]Node{two(Link{1, 0, MaxNVLinks})}, 0); err != nil {
		t.Error(err)
	}
}

// Nodes of one make share what is computed, whatever names their sockets have and in
// which order their links are told.
func TestLayoutsAreShared(t *testing.T) {
	a, b := nodeOf(t, "cube-mesh-8"), nodeOf(t, "cube-mesh-8")
	slices.Reverse(b.Links)
	for i := range b.Devices {
		b.Devices[i].Socket = 9 - b.Devices[i].Socket
	}
	x, err := NewIndex([]Node{a, b, nodeOf(t, "cube-mesh-8", Link{A: 0, B: 1})}, 0)
	if err != nil || len(x.layouts) != 2 {
		t.Errorf("%d layouts, %v", len(x.layouts), err)
	}
}

// A node that stands beside one of another make has a layout of its own, whatever it is that differs.
func TestLayoutsBesideOthers(t *testing.T) {
	for name, change := range map[string]func(*Node){
		"model":  func(n *Node) { n.Devices[1].Model = 2 },
		"memory": func(n *Node) { n.Devices[1].Memory = 80 },
		"switch": func(n *Node) { n.Devices[1].Switch = 2 },
		"socket": func(n *Node) { n.Devices[1].Socket = 2 },
		"links":  func(n *Node) { n.Links = []Link{{A: 0, B: 1, NVLinks: 1}} },
		"parts":  func(n *Node) { n.Parts = []Part{{Set: 1, Devices: 1}} },
	} {
		two := func() Node {
			return Node{Slots: NoCap, Devices: []Device{{Model: 1, Switch: 1, Socket: 1}, {Model: 1, Switch: 1, Socket: 1}}}
		}
		a, b := two(), two()
		if name == "socket" { // by which two are near only where their switches do not join them
			a.Devices[1].Switch, b.Devices[1].Switch = 2, 2
		}
		change(&b)
		if x, err := NewIndex([]Node{a, b}, 0); err != nil || len(x.layouts) != 2 {
			t.Errorf("%s: %d layouts, %v", name, len(x.layouts), err)
		}
	}
}

func ExampleHardwareNamed() {
	h, _ := HardwareNamed("cube-mesh-8")
	n := Node{Slots: NoCap, Links: h.Links([]Link{{A: 2, B: 3}})} // the links of 2 and 3 are down
	for i := range h.Devices() {
		n.Devices = append(n.Devices, Device{Socket: h.Socket(i), Switch: h.Switch(i)})
	}
	x, err := NewIndex([]Node{n}, 0)
	if err != nil {
		panic(err)
	}
	place, _ := x.Find(x.Shape(Request{Set: -1, Devices: 4, Island: NVLinkIsland}), BinPack)
	fmt.Printf("%08b\n", place.Devices)
	// Output: 11110000
}
