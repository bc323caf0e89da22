package placement

import (
	"math"
	"slices"
	"testing"
)

// The terms of ShadowPrice by hand. n0 has two devices and 8 cores, n1 one and 4. Two
// thirds of what is asked are for two devices and 8 cores: n0's, 2 of 3 devices.
func TestShadowTerms(t *testing.T) {
	x, err := NewIndex([]Node{openbNode(8000, 2, 1), openbNode(4000, 1, 2)}, 1)
	if err == nil {
		err = x.SetScoring(Scoring{CPU: -1, Mix: []Target{ // so that devices run out first, see TestShortage
			{asks(2000, 1, 500), 2},
			{asks(8000, 2, 1000), 1},
			{asks(0, 3, 1000), 9}, // no node would take it: it counts in F alone
			{asks(500, 0, 0), 4},
		}})
	}
	if err != nil {
		t.Fatal(err)
	}
	s := shadowsOf(x, x.scoring.Mix, len(x.scoring.Mix))
	if got := pricesOf(s.worth, []int64{499, 500, 1000}); !slices.Equal(got, []string{"0", "1/2", "1"}) {
		t.Errorf("prices %v", got)
	}
	for v, row := range []struct{ value, fragment, usable int64 }{
		// F: all that is free to what asks three devices and to what asks none.
		// W: 2 × 2000 and 2000, which both the devices and the cores are enough for.
		{4, (9 + 4) * 2000, 2*2000 + 2000},
		// F: to what asks two as well. W: 2 × 1000.
		{2, (1 + 9 + 4) * 1000, 2 * 1000},
	} {
		want := standing{row.value * s.worth.unit / 2, 20*row.fragment - 3*row.usable}
		if s.standing[v] != want {
			t.Errorf("P4 node %d: %+v, want %+v", v, s.standing[v], want)
		}
	}
	// 5 of 8 cores: two and a half tasks of the one, 5/8 of the other's 2000.
	free := []int64{5000}
	if got, want := s.of(s.vector[0], s.cellOf(free, nil), s.stockOf(free, nil)).fragment,
		20*int64(1+9+4)*2000-3*(2*1250+1250); got != want {
		t.Errorf("P4 with 5 cores: %d, want %d", got, want)
	}
	// A task of the first kind on n0: 1500 are left, of no use any more to what asks
	// two; W falls by 2 × 500 and 2000. F falls by 13 × 500 and grows by 1500:
	// (20 × 5000 − 3 × 3000)/(20 × 16) = 284.375 are spared, and 1500 are left free: 15 − 284.375.
	b := x.newScoreboard(x.shape(x.Shape(asks(2000, 1, 500))), BestFit)
	want := rating{s.worth.unit / 2, 15<<lossBits - 284.375*(1<<lossBits)}
	if got := s.score(x, b, 0); got != want {
		t.Errorf("P4: %+v, want %+v", got, want)
	}
}

// S by hand. n0 has two devices of model 1, n1 and n2 one each of model 2. A sixth of what is asked
// accepts model 2 alone, and a sixth asks two devices, so that n0 alone serves it; the rest is scarce
// nowhere. Model 2 counts three times: 3/6 × 4000/2000 a milli, n0 1/6 × 4000/2000. With one of two of n0
// taken, 3/6 × 3000/2000 and 1/6 × 3000/1000; and with n1 taken too, 3/6 × 2000/1000 and 1/6 × 2000/1000.
func TestScarcity(t *testing.T) {
	x, err := NewIndex([]Node{openbNode(8000, 2, 1), openbNode(4000, 1, 2), openbNode(4000, 1, 2)}, 1)
	bound := asks(0, 1, 500)
	bound.Models = []int32{2}
	if err == nil {
		err = x.SetScoring(Scoring{CPU: -1, Mix: []Target{{asks(0, 1, 1000), 4}, {bound, 2}, {asks(0, 2, 500), 1}}})
	}
	if err != nil {
		t.Fatal(err)
	}
	s := shadowsOf(x, x.scoring.Mix, len(x.scoring.Mix))
	prices := func() (out []int64) {
		s.scarcity.price()
		for _, g := range s.scarcity.grounds {
			out = append(out, g.price.devices)
			if g.price.resource != 0 {
				t.Errorf("no resource is weighed, and has the price %d", g.price.resource)
			}
		}
		return out
	}
	const sixth = scarcityUnit / 6
	if got, want := prices(), []int64{sixth, 3 * sixth}; !slices.Equal(got, want) {
		t.Errorf("P4: %d, want %d", got, want)
	}
	sh := x.Shape(asks(0, 1, 1000))
	if err := x.Take(sh, Place{Node: 0, Devices: 1}); err != nil {
		t.Fatal(err)
	}
	s.look(x, 0)
	if got, want := prices(), []int64{2 * sixth, 3 * sixth / 2}; !slices.Equal(got, want) {
		t.Errorf("P4 with a device less: %d, want %d", got, want)
	}
	if err := x.Take(sh, Place{Node: 1, Devices: 1}); err != nil {
		t.Fatal(err)
	}
	s.look(x, 1) // of two that are one ground
	if got, want := prices(), []int64{sixth, 3 * sixth}; !slices.Equal(got, want) {
		t.Errorf("P4 with one of each less: %d, want %d", got, want)
	}
	if got, want := s.scarcity.dear(1, both{devices: s.takes(x, x.shape(sh))}), int64(1000*(3*sixth)>>(scarcityBits-lossBits)); got != want {
		t.Errorf("P4: %d of a device, want %d", got, want)
	}
}

// What nearly all nodes serve is hardly scarce, and what all serve not at all: it is the same whether one of a
// hundred nodes is a little too small for it or not.
func TestHardlyScarce(t *testing.T) {
	for _, row := range []struct{ cores, price int64 }{{8000, 0}, {7999, scarcityUnit / 99}} {
		nodes := []Node{openbNode(row.cores, 1, 1)}
		for range 99 {
			nodes = append(nodes, openbNode(8000, 1, 1))
		}
		x, err := NewIndex(nodes, 1)
		if err == nil {
			err = x.SetScoring(Scoring{CPU: -1, Mix: []Target{{asks(8000, 1, 1000), 1}}})
		}
		if err != nil {
			t.Fatal(err)
		}
		s := shadowsOf(x, x.scoring.Mix, len(x.scoring.Mix))
		s.scarcity.price()
		if got := s.scarcity.grounds[s.scarcity.of[99]].price.devices; got != row.price {
			t.Errorf("P4: of 99 nodes of 8000 and one of %d a milli has the price %d, want %d", row.cores, got, row.price)
		}
	}
}

// S where the resource runs out first, by hand. n0 has 16 cores and n1 8, each two devices, so that 6 of the amount are
// a milli. Half of the devices that are asked, and two fifths of the cores, are asked together in what n0 alone
// serves: 2000 milli of either. So of n0 devices are scarce as long as there are as many cores as devices free, cores alone
// where there are an eighth less, and both in parts between.
func TestScarceResource(t *testing.T) {
	for _, row := range []struct {
		taken             int64 // of the cores of n0, by what asks no device
		devices, resource float64
	}{
		{0, 0.5, 0}, {4000, 0.5, 0}, {4750, 0.25, 0.5 * 5 * 0.4 * 1333 / 1875}, {5500, 0, 5 * 0.4 * 1333 / 1750.0}, {10000, 0, 5 * 0.4 * 1333 / 1000}, {16000, 0, 0},
	} {
		x, err := NewIndex([]Node{openbNode(16000, 2, 1), openbNode(8000, 2, 1), openbNode(0, 0, 0)}, 1)
		if err == nil {
			err = x.SetScoring(Scoring{Mix: []Target{{asks(12000, 2, 1000), 1}, {asks(3000, 1, 1000), 2}, {asks(4000, 0, 0), 3}}})
		}
		if err != nil {
			t.Fatal(err)
		}
		s := shadowsOf(x, x.scoring.Mix, len(x.scoring.Mix))
		if row.taken > 0 {
			if err := x.Take(x.Shape(asks(row.taken, 0, 0)), Place{Node: 0}); err != nil {
				t.Fatal(err)
			}
			s.look(x, 0)
		}
		s.scarcity.price()
		for v, want := range [][2]float64{{row.devices, row.resource}, {}, {}} {
			price := s.scarcity.grounds[s.scarcity.of[v]].price
			for k, got := range []int64{price.devices, price.resource} {
				if math.Abs(float64(got)/scarcityUnit-want[k]) > 0.01 {
					t.Errorf("%d taken: the prices of n%d are %+v, want %v", row.taken, v, price, want)
				}
			}
		}
		// What asks 3000 takes 500 milli of the resource, also without a device.
		takes := func(r Request) both { return x.newScoreboard(x.shape(x.Shape(r)), ShadowPrice).asks.takes }
		if bare, other := takes(asks(3000, 0, 0)), takes(asks(3000, 1, 250)); bare != (both{0, 500}) || other != (both{250, 500}) {
			t.Errorf("taken are %+v and %+v", bare, other)
		}
	}
}

// A target that asks memory has the size of its part of the smallest device.
func TestShadowSizeOfMemory(t *testing.T) {
	node := func(memory int64) Node {
		return Node{Slots: NoCap, CPUOnlySlots: NoCap, Devices: []Device{{Memory: memory}}}
	}
	x, err := NewIndex([]Node{node(14), node(24), node(6)}, 0)
	if err == nil {
		err = x.SetScoring(Scoring{Mix: []Target{{Request{Devices: 1, Memory: 8}, 1}}})
	}
	if err != nil {
		t.Fatal(err)
	}
	s := shadowsOf(x, x.scoring.Mix, len(x.scoring.Mix))
	if s.sizes[0] != 572 { // ⌈8000/14⌉
		t.Errorf("size %d", s.sizes[0])
	}
	// Of 14 there is room for one, of 24 for three, which is all that is free, of 6 for
	// none; what is free of the last is fragments.
	for v, want := range []int64{-3 * 572, -3 * 1000, 20 * 1000} {
		if got := s.standing[v].fragment; got != want {
			t.Errorf("node %d: %d, want %d", v, got, want)
		}
	}
}

// The largest mix on the largest node, of which everything is fragments to half of
// what is asked: nothing overflows.
func TestShadowOfTheLargest(t *testing.T) {
	x, err := NewIndex([]Node{openbNode(1<<50, MaxDevices, 1), openbNode(1, 1, 2)}, 1)
	if err == nil {
		wide := asks(1<<50, 1, 1)
		wide.Models = []int32{2}
		err = x.SetScoring(Scoring{Mix: []Target{{asks(1<<49, MaxDevices, 1000), maxWeight / 2}, {wide, maxWeight / 2}}})
	}
	if err != nil {
		t.Fatal(err)
	}
	s := shadowsOf(x, x.scoring.Mix, len(x.scoring.Mix))
	const milli = 1000 * MaxDevices
	want := standing{MaxDevices * s.worth.unit, (20 - 3) * maxWeight / 2 * milli}
	if s.standing[0] != want {
		t.Errorf("%+v, want %+v", s.standing[0], want)
	}
	s.scarcity.price() // all that some node takes can be on the first alone, and a 64th of what is free there is elsewhere
	if got := s.scarcity.grounds[0].price; got != (both{devices: scarcityUnit / 64}) {
		t.Errorf("price %+v", got)
	}
	sh := x.Shape(asks(1<<49, MaxDevices, 1000))
	if p, ok := x.Find(sh, ShadowPrice); !ok || p.Node != 0 {
		t.Errorf("%+v %v", p, ok)
	}
}

// However many parts of a device find room in its memory, no more is usable than is
// free, and nothing overflows: of one byte there are 2^36 to a device of 64 GiB.
func TestShadowOfTheSmallestMemory(t *testing.T) {
	for _, memory := range []int64{64 << 30, MaxMemory} {
		nodes := make([]Node, 2)
		for v := range nodes {
			nodes[v] = Node{Slots: NoCap, CPUOnlySlots: NoCap}
			for range MaxDevices {
				nodes[v].Devices = append(nodes[v].Devices, Device{Memory: memory})
			}
		}
		nodes[0].Devices = append(nodes[0].Devices[:1:1], Device{Memory: 1})
		x, err := NewIndex(nodes, 0)
		if err == nil {
			err = x.SetScoring(Scoring{Mix: []Target{{Request{Devices: 1, Memory: 1}, maxWeight}}})
		}
		if err != nil {
			t.Fatal(err)
		}
		s := shadowsOf(x, x.scoring.Mix, len(x.scoring.Mix))
		for v, milli := range []int64{2000, 1000 * MaxDevices} {
			if got, want := s.standing[v].fragment, -3*maxWeight*milli; got != want {
				t.Errorf("P4 %d bytes, node %d: %d, want %d", memory, v, got, want)
			}
		}
	}
}

// What is foreseen: for every 200 in the mix one for a whole node, by the devices of each
// kind; of 8100 cores and of 8191 there is one kind, and of twice the memory, which the mix does not ask, another.
func TestForesee(t *testing.T) {
	nodes := []Node{openbNode(8191, 2, 1), openbNode(4000, 1, 2), openbNode(8100, 2, 1), openbNode(16, 0, 0), openbNode(4000, 1, 2)}
	for v := range nodes {
		nodes[v].Capacity = append(nodes[v].Capacity, []int64{64, 64, 64, 64, 128}[v])
	}
	x, err := NewIndex(nodes, 2)
	if err == nil {
		err = x.SetScoring(Scoring{Mix: []Target{{asks(2000, 1, 500), 3}, {asks(0, 1, 1000), 1}}})
	}
	if err != nil {
		t.Fatal(err)
	}
	mix, at := foresee(x)
	if at != 2 || len(mix) != 5 || mix[0].Weight != 3<<37 || mix[1].Weight != 1<<37 {
		t.Fatalf("%d %+v", at, mix)
	}
	for i, want := range []struct {
		devices       int32
		cores, memory int64
		weight        int64
	}{{2, 7680, 64, (1 << 39) * 4 / 6 / 200}, {1, 3840, 128, (1 << 39) / 6 / 200}, {1, 3840, 64, (1 << 39) / 6 / 200}} {
		r := mix[2+i].Request
		if r.Devices != want.devices || r.Amounts.Of(0) != want.cores || r.Amounts.Of(1) != want.memory || mix[2+i].Weight != want.weight {
			t.Errorf("%+v, want %+v", mix[2+i], want)
		}
	}
	if mix, at := foresee(&Index{}); len(mix) != at {
		t.Errorf("without a mix %+v is foreseen", mix)
	}
}

// What runs out first by hand: two nodes have 3 devices and 12 cores, and one has no device and
// 12. The mix asks 1332 milli, and so many cores, of which there are 24: 10656 are as much of all as those.
// Where an eighth less is asked of devices than of them these do not count, where as much they alone do.
func TestShortage(t *testing.T) {
	for _, row := range []struct {
		cores, devices int64
	}{{0, shortageUnit}, {9000, shortageUnit}, {10656, shortageUnit}, {11366, shortageUnit / 2}, {12000, shortageUnit * 104 / 1000}, {12200, 0}, {20000, 0}} {
		x, err := NewIndex([]Node{openbNode(8000, 2, 1), openbNode(4000, 1, 2), openbNode(12000, 0, 0)}, 1)
		if err == nil {
			mix := []Target{{asks(0, 1, 333), 4}, {asks(1<<40, 1, 1000), 5}, {asks(1<<40, 0, 0), 6}} // the last two are nobody's
			if row.cores > 0 {
				mix = append(mix, Target{asks(row.cores/2, 0, 0), 2})
			}
			err = x.SetScoring(Scoring{Mix: mix})
		}
		if err != nil {
			t.Fatal(err)
		}
		s := shadowsOf(x, x.scoring.Mix, len(x.scoring.Mix))
		if got := s.shortage.devices; max(got-row.devices, row.devices-got) > shortageUnit/1000 {
			t.Errorf("%d cores: devices count %d, want %d", row.cores, got, row.devices)
		}
		if row.devices > 0 {
			continue
		}
		// A core is as much as 125 milli: of 8 cores 5 are left by what asks 3.
		const want = 625
		for _, devices := range []int32{0, 1} {
			b := x.newScoreboard(x.shape(x.Shape(asks(3000, devices, 1000*int64(devices)))), ShadowPrice)
			if got := s.leaves(x, b, 0).short; got != want<<shortageBits {
				t.Errorf("%d devices: %d milli count, want %d", devices, got>>shortageBits, want)
			}
			if got := s.leaves(x, b, 2).short; got != 0 {
				t.Errorf("%d milli count of a node without devices", got>>shortageBits)
			}
		}
	}
}
