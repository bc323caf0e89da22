package placement

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/allotsched/allot/quota"
)

// openbNode is a node as the published table counts: cores in milli, devices.
func openbNode(cpu int64, devices int, model int32) Node {
	n := Node{Capacity: []int64{cpu}, Slots: NoCap, CPUOnlySlots: NoCap}
	for range devices {
		n.Devices = append(n.Devices, Device{Model: model})
	}
	return n
}

func asks(cpu int64, devices int32, milli int64) Request {
	r := Request{Set: -1, Devices: devices, Milli: milli}
	if cpu > 0 {
		r.Amounts = quota.Amounts{{Resource: 0, Value: cpu}}
	}
	return r
}

// scoreOf is the score that a strategy gives a node now, and whether it takes the
// task.
func scoreOf(t *testing.T, x *Index, r Request, st Strategy, v int) (int64, bool) {
	t.Helper()
	s := x.Shape(r)
	x.Find(s, st)
	f := x.shapes[s].finders[st]
	if f == nil {
		return 0, false
	}
	return f.board.score[v], f.board.score[v] != nowhere
}

// The words of PROTOCOL.md, one row each: what stands on the node, what is asked,
// and the score as the published code computes it.
func TestScoresGolden(t *testing.T) {
	const most, gpus = 128_000, 8 // the largest node, beside the one that is scored
	type place struct {
		request Request
		devices uint64
	}
	half := asks(0, 1, 500)
	rows := []struct {
		why      string
		strategy Strategy
		node     Node
		standing []place
		request  Request
		want     int64
	}{
		{"100·(1 − (64000·32000/128000² + 8000·1000/8000²)/2) = 87.5", DotProduct, openbNode(64_000, 8, 0), nil, asks(32_000, 1, 1000), 87},
		{"the whole of the largest node", DotProduct, openbNode(most, 8, 0), nil, asks(most, 8, 1000), 0},
		{"CPU only: 100·(1 − (0.5·0.25 + 0)/2) = 93.75", DotProduct, openbNode(64_000, 8, 0), nil, asks(32_000, 0, 0), 93},
		{"a half of 2 free: 100·(1 − (0 + 2000·500/8000²)/2) = 99.2", DotProduct, openbNode(64_000, 2, 0), nil, half, 99},

		{"100·(1 − 0.5·32000/128000 − 0.5·7000/8000) = 43.75", BestFit, openbNode(64_000, 8, 0), nil, asks(32_000, 1, 1000), 43},
		{"nothing is left: 100", BestFit, openbNode(most, 8, 0), nil, asks(most, 8, 1000), 100},
		{"CPU only: 100·(1 − 0.5·32000/128000 − 0.5·1) = 37.5", BestFit, openbNode(64_000, 8, 0), nil, asks(32_000, 0, 0), 37},

		{"CPU only: 0", GPUPacking, openbNode(64_000, 8, 0), nil, asks(1, 0, 0), 0},
		{"an idle node of 8: 33 − 8", GPUPacking, openbNode(64_000, 8, 0), nil, half, 25},
		{"an idle node of 1: 33 − 1", GPUPacking, openbNode(64_000, 1, 0), nil, asks(1, 1, 1000), 32},
		{"idle is an idle device, whatever the CPU", GPUPacking, openbNode(64_000, 2, 0), []place{{asks(9_000, 0, 0), 0}}, half, 31},
		{"a shared device with 50 % free: 100 − 5", GPUPacking, openbNode(64_000, 8, 0), []place{{half, 1}}, asks(0, 1, 300), 95},
		{"49.9 % counts as 49, and a tenth as 4", GPUPacking, openbNode(64_000, 8, 0), []place{{asks(0, 1, 501), 1}}, asks(0, 1, 300), 96},
		{"a free device of a used node: 50 − 1", GPUPacking, openbNode(64_000, 8, 0), []place{{half, 1}}, asks(0, 1, 600), 49},
		{"18 free devices of a used node: 33 at least", GPUPacking, openbNode(64_000, 20, 0), []place{{half, 1}}, asks(0, 18, 1000), 33},
		{"an idle node of 40: 0 at least", GPUPacking, openbNode(64_000, 40, 0), nil, half, 0},
		{"three free devices of a used node: 50 − 3", GPUPacking, openbNode(64_000, 8, 0), []place{{half, 1}}, asks(0, 3, 1000), 47},

		{"CPU only: 0", GPUClustering, openbNode(64_000, 8, 0), nil, asks(1, 0, 0), 0},
		{"an idle node of 8: 25 + 0", GPUClustering, openbNode(64_000, 8, 0), nil, half, 25},
		{"an idle node of 2: 25 + 25·6000/8000 = 43.75", GPUClustering, openbNode(64_000, 2, 0), nil, half, 43},
		{"with its like alone: 75 + 25·500/8000 = 76.56", GPUClustering, openbNode(64_000, 8, 0), []place{{half, 1}}, asks(0, 1, 300), 76},
		{"with its like and others: 50 + 25·1500/8000 = 54.7", GPUClustering, openbNode(64_000, 8, 0), []place{{half, 1}, {asks(0, 1, 1000), 2}}, half, 54},
		{"with others: 0 + 25·2000/8000 = 6.25", GPUClustering, openbNode(64_000, 8, 0), []place{{asks(0, 2, 1000), 3}}, asks(0, 1, 1000), 6},
		{"tasks without devices are nobody's like", GPUClustering, openbNode(64_000, 8, 0), []place{{asks(1, 0, 0), 0}}, half, 25},
	}
	for _, row := range rows {
		x, err := NewIndex([]Node{row.node, openbNode(most, gpus, 1)}, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range row.standing {
			if err := x.Take(x.Shape(p.request), Place{Node: 0, Devices: p.devices}); err != nil {
				t.Fatal(err)
			}
		}
		if got, ok := scoreOf(t, x, row.request, row.strategy, 0); !ok || got != row.want {
			t.Errorf("P5 %v: %s: score %d %v, want %d", row.strategy, row.why, got, ok, row.want)
		}
	}
}

// F by PROTOCOL.md's words, on a node with 500, 1000 and 200 milli free and 10
// cores: R is 1700.
func TestFragmentsGolden(t *testing.T) {
	wide := asks(0, 1, 1000)
	wide.Models = []int32{7}
	for _, row := range []struct {
		why    string
		target Request
		want   int64
	}{
		{"no GPU asked: R", asks(1_000, 0, 0), 1700},
		{"wrong model: R", wide, 1700},
		{"fewer GPUs with as much free: R", asks(1_000, 3, 500), 1700},
		{"CPU short: R", asks(10_001, 1, 200), 1700},
		{"what devices with less than 500 have", asks(10_000, 1, 500), 200},
		{"what devices with less than 501 have", asks(10_000, 1, 501), 700},
		{"all have enough", asks(1_000, 1, 200), 0},
		{"two have enough", asks(1_000, 2, 500), 200},
	} {
		x, err := NewIndex([]Node{openbNode(10_000, 3, 0)}, 1)
		if err == nil {
			err = x.SetScoring(Scoring{Exact: true, Mix: []Target{{row.target, 3}}})
		}
		if err != nil {
			t.Fatal(err)
		}
		for d, milli := range []int64{500, 0, 800} {
			if milli > 0 {
				if err := x.Take(x.Shape(asks(0, 1, milli)), Place{Node: 0, Devices: 1 << d}); err != nil {
					t.Fatal(err)
				}
			}
		}
		x.Find(x.Shape(asks(0, 1, 1)), FragmentationGradient)
		if got := x.scorer.fragments.before[0]; got != 3*row.want {
			t.Errorf("P4: %s: F is %d, want %d", row.why, got, 3*row.want)
		}
	}
}

// P4: a part of a device goes where the least becomes unusable: beside the 500
// that the mix asks, not on the device that has just that much left.
func TestGradientGolden(t *testing.T) {
	x, err := NewIndex([]Node{openbNode(64_000, 2, 0)}, 1)
	if err == nil {
		err = x.SetScoring(Scoring{Mix: []Target{{asks(0, 1, 500), 1}}})
	}
	if err != nil {
		t.Fatal(err)
	}
	// Device 0 has 500 left, device 1 has 700: 200 more make 300 of the one and
	// 500 of the other.
	for d, milli := range []int64{500, 300} {
		if err := x.Take(x.Shape(asks(0, 1, milli)), Place{Node: 0, Devices: 1 << d}); err != nil {
			t.Fatal(err)
		}
	}
	s := x.Shape(asks(0, 1, 200))
	for strategy, want := range map[Strategy]uint64{FragmentationGradient: 2, BestFit: 1} { // each its own: order cannot matter
		if p, ok := x.Find(s, strategy); !ok || p.Devices != want {
			t.Errorf("%v: %v %v, want device %b", strategy, p, ok, want)
		}
	}
	// Of devices that are as good the first, although the second is tighter.
	if err := x.Give(x.Shape(asks(0, 1, 500)), Place{Node: 0, Devices: 1}); err != nil {
		t.Fatal(err)
	}
	if p, _ := x.Find(x.Shape(asks(0, 1, 100)), FragmentationGradient); p.Devices != 1 {
		t.Errorf("P4: of two devices after which the mix has all, %b was taken", p.Devices)
	}
}

// P6: the tie order comes between the score and the position.
func TestScoringTies(t *testing.T) {
	nodes := []Node{openbNode(64_000, 8, 0), openbNode(96_000, 2, 0), openbNode(32_000, 4, 0)}
	for ties, want := range map[TieOrder]int32{ByPosition: 0, LeastGPULeft: 1, LeastCPULeft: 2} { // each its own: order cannot matter
		x, err := NewIndex(nodes, 1)
		if err == nil {
			err = x.SetScoring(Scoring{Ties: ties})
		}
		if err != nil {
			t.Fatal(err)
		}
		if p, ok := x.Find(x.Shape(asks(1000, 1, 500)), FragmentationGradient); !ok || p.Node != want {
			t.Errorf("P6 %q: node %d %v, want %d", ties, p.Node, ok, want)
		}
	}
}

// P5: Random takes every place that fits about as often, over the seeds and over
// the states.
func TestRandomIsUniform(t *testing.T) {
	nodes := make([]Node, 10)
	for v := range nodes {
		nodes[v] = openbNode(64_000, 2, 0)
	}
	const draws = 4000
	check := func(what string, counts map[Place]int) {
		for p, n := range counts { // each its own: order cannot matter
			if n < draws/20*7/10 || n > draws/20*13/10 {
				t.Errorf("%s: %v was drawn %d times of %d", what, p, n, draws)
			}
		}
		if len(counts) != 20 {
			t.Errorf("%s: %d of 20 places were drawn", what, len(counts))
		}
	}
	seeds, states, devices := map[Place]int{}, map[Place]int{}, map[Place]int{}
	for seed := range uint64(draws) {
		x, err := NewIndex(nodes, 1)
		if err == nil {
			err = x.SetScoring(Scoring{Seed: seed})
		}
		if err != nil {
			t.Fatal(err)
		}
		p, _ := x.Find(x.Shape(asks(0, 1, 500)), Random)
		seeds[p]++
	}
	x, err := NewIndex(nodes, 1)
	if err != nil {
		t.Fatal(err)
	}
	s := x.Shape(asks(1, 1, 1))
	for i := range draws {
		p, _ := x.Find(s, Random)
		states[p]++
		if err := x.Take(x.Shape(asks(1, 0, 0)), Place{Node: int32(i % 10)}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range draws { // states that differ in what is used of one device alone
		use, at := x.Shape(asks(0, 1, 1+int64(i)%997)), Place{Node: int32(i / 2 % 10), Devices: 1 << (i % 2)}
		if err := x.Take(use, at); err != nil {
			t.Fatal(err)
		}
		p, _ := x.Find(s, Random)
		devices[p]++
		if err := x.Give(use, at); err != nil {
			t.Fatal(err)
		}
	}
	check("seeds", seeds)
	check("states", states)
	check("states of devices", devices)
}

// A reader that has missed more changes than the ring remembers reads everything
// anew; and what is remembered of states is forgotten when it is too much.
func TestScoringFarBehind(t *testing.T) {
	for _, st := range []Strategy{FragmentationGradient, ShadowPrice} {
		t.Run(st.String(), func(t *testing.T) { farBehind(t, st) })
	}
}

func farBehind(t *testing.T, st Strategy) {
	var nodes []Node
	for v := range 40 {
		nodes = append(nodes, openbNode(6_400_000, 2+v%3, int32(v%2)))
	}
	scoring := Scoring{Mix: []Target{{asks(200_000, 1, 300), 3}, {asks(900_000, 2, 1000), 2}, {asks(400_000, 0, 0), 1}}}
	x, err := NewIndex(nodes, 1)
	if err == nil {
		err = x.SetScoring(scoring)
	}
	if err != nil {
		t.Fatal(err)
	}
	m := &scored{naive: newNaive(nodes, 1), scoring: scoring}
	requests := []Request{asks(100_000, 1, 200), asks(300_000, 1, 1000), asks(50_000, 0, 0)}
	random := uint64(3)
	draw := func(below int) int {
		random = random*6364136223846793005 + 1442695040888963407
		return int(random>>33) % below
	}
	vectors, stocks := 0, 0
	for step := range 60_000 {
		v := int32(draw(len(nodes)))
		d := draw(len(nodes[v].Devices))
		// Three tasks, so that there are far fewer shapes than states.
		use := [3]Request{asks(0, 1, int64(1+draw(699))), asks(int64(1+draw(800)), 0, 0), asks(800*int64(1+draw(4_000)), 0, 0)}
		at := [3]Place{{Node: v, Devices: 1 << d}, {Node: v}, {Node: v}}
		for i, r := range use {
			if err := x.Take(x.Shape(r), at[i]); err != nil {
				t.Fatal(err)
			}
		}
		if step%997 < 3 {
			for i, r := range use {
				m.take(r, at[i], 1)
			}
			r := requests[step%3]
			got, ok := x.Find(x.Shape(r), st)
			if want, wantOK := m.find(r, st); got != want || ok != wantOK {
				t.Fatalf("step %d: %v %v, want %v %v", step, got, ok, want, wantOK)
			}
			for i, r := range use {
				m.take(r, at[i], -1)
			}
		} else {
			x.Find(x.Shape(requests[step%3]), st)
		}
		if st == ShadowPrice {
			vectors = max(vectors, x.scorer.shadows.vectors.count)
			stocks = max(stocks, x.scorer.shadows.stocks.count)
		} else {
			vectors = max(vectors, x.scorer.fragments.vectors.count)
		}
		for i, r := range use {
			if err := x.Give(x.Shape(r), at[i]); err != nil {
				t.Fatal(err)
			}
		}
	}
	most := mostLimits
	if st == ShadowPrice {
		most /= len(x.scorer.shadows.asked) + len(x.scorer.shadows.wanted)
	}
	if limit := 8192 + 4*len(nodes); vectors < limit || vectors > limit+64*len(nodes) || stocks > most+64*len(nodes) {
		t.Errorf("%d states and %d amounts are remembered", vectors, stocks)
	}
	if st == ShadowPrice && stocks < most {
		t.Errorf("only %d amounts were remembered", stocks)
	}
}

func TestScoringFaults(t *testing.T) {
	for _, row := range []struct {
		scoring Scoring
		want    []Fault
	}{
		{Scoring{}, nil},
		{Scoring{CPU: -1, Scale: MaxScale, Steps: MaxSteps, Mix: []Target{{asks(1, 1, 1), maxWeight}}}, nil},
		{Scoring{CPU: 1}, []Fault{{"cpu", UnknownResource, "1"}}},
		{Scoring{CPU: -2, Ties: 3, Steps: -1, Scale: MaxScale + 1}, []Fault{
			{"scale", TooLarge, "1048577"}, {"steps", Negative, "-1"},
			{"ties", UnknownTieOrder, "tie order(3)"}, {"cpu", UnknownResource, "-2"},
		}},
		{Scoring{Mix: []Target{{asks(0, 1, 1001), 0}}}, []Fault{
			{"mix[0].request.milli", TooLarge, "1001"}, {"mix[0].weight", NotPositive, "0"},
		}},
		{Scoring{Mix: []Target{{asks(0, 1, 1), maxWeight}, {asks(0, -1, 1), 1}}}, []Fault{
			{"mix[1].request.devices", Negative, "-1"}, {"mix[1].weight", TooLarge, "1"},
		}},
	} {
		if diff := cmp.Diff(row.want, row.scoring.Validate(1)); diff != "" {
			t.Errorf("V1 %+v (-want +got):\n%s", row.scoring, diff)
		}
		x, err := NewIndex([]Node{openbNode(1, 1, 0)}, 1)
		if err != nil {
			t.Fatal(err)
		}
		var fault *ScoringError
		if err := x.SetScoring(row.scoring); (err != nil) != (row.want != nil) || err != nil && !errors.As(err, &fault) {
			t.Errorf("%+v: %v", row.scoring, err)
		}
	}
	if got := fmt.Sprint((&ScoringError{[]Fault{{"cpu", UnknownResource, "-2"}}}).Error()); got != `placement: scoring: cpu: unknown-resource "-2"` {
		t.Error(got)
	}
}

// Find does not allocate once a shape has been asked for and the states are known.
func TestScoringAllocates(t *testing.T) {
	for _, st := range scoringStrategies {
		x, shapes := openbLike(t, 100)
		run := func() {
			m := x.Mark()
			for _, s := range shapes[:400] {
				if p, ok := x.Find(s, st); ok {
					if err := x.Take(s, p); err != nil {
						t.Fatal(err)
					}
				}
			}
			x.Undo(m)
		}
		run()
		if n := testing.AllocsPerRun(3, run); n != 0 {
			t.Errorf("%v: %v allocations in 400 Finds", st, n)
		}
	}
}

// openbLike is a cluster of n nodes and more tasks than it holds, drawn so that
// the kinds of nodes, the number of shapes and their frequencies are about those
// of openb (1,213 nodes, 151 shapes of 8,152 pods); the mix is of the frequent
// ones.
func openbLike(t testing.TB, n int) (*Index, []Shape) {
	random := uint64(42)
	draw := func(below int) int {
		random = random*6364136223846793005 + 1442695040888963407
		return int(random>>33) % below
	}
	var nodes []Node
	for range n {
		kind := draw(15)
		devices := []int{2, 2, 8, 8, 8, 4, 1}[draw(7)]
		v := openbNode(int64(8_000+16_000*min(devices, 7)), devices, int32(kind%6))
		v.Slots = 1001
		nodes = append(nodes, v)
	}
	x, err := NewIndex(nodes, 1)
	if err != nil {
		t.Fatal(err)
	}
	var requests []Request
	for i := range 151 {
		r := asks(int64(500*(1+draw(32))), 1, int64(50*(1+draw(19))))
		switch {
		case i%8 == 0:
			r.Devices, r.Milli = 0, 0
		case i%5 == 0:
			r.Devices, r.Milli = []int32{1, 1, 1, 2, 8}[draw(5)], 1000
		}
		if i%9 == 5 {
			r.Models = []int32{int32(draw(6)), int32(draw(6))}
		}
		requests = append(requests, r)
	}
	var shapes []Shape
	mix := make([]Target, 35)
	for range n * 88 / 10 {
		i := min(draw(35), draw(35)) // 95 % are of the 35 most frequent, as in openb
		if draw(100) >= 95 {
			i = 35 + draw(116)
		}
		shapes = append(shapes, x.Shape(requests[i]))
		if i < len(mix) {
			mix[i].Request = requests[i]
			mix[i].Weight++
		}
	}
	for i := len(mix) - 1; i >= 0; i-- {
		if mix[i].Weight == 0 {
			mix = append(mix[:i], mix[i+1:]...)
		}
	}
	if err := x.SetScoring(Scoring{Mix: mix, Ties: ByPosition}); err != nil {
		t.Fatal(err)
	}
	return x, shapes
}

func BenchmarkFGDOpenb(b *testing.B) {
	for _, st := range scoringStrategies {
		b.Run("strategy="+st.String(), func(b *testing.B) {
			var x *Index
			var shapes []Shape
			placed := 0
			b.ResetTimer()
			for range b.N {
				b.StopTimer()
				x, shapes = openbLike(b, 1213)
				b.StartTimer()
				placed = fill(b, x, shapes, st)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(shapes)), "ns/task")
			b.ReportMetric(float64(placed)/float64(len(shapes)), "placed")
		})
	}
}

// Shapes that ask alike but accept other devices lead elsewhere from one state.
func TestGradientAcceptedDevices(t *testing.T) {
	node := Node{Slots: NoCap, CPUOnlySlots: NoCap, Devices: []Device{
		{Model: 1, Memory: 16}, {Model: 1, Memory: 16}, {Model: 2, Memory: 80}, {Model: 2, Memory: 80},
	}}
	ask := func(models []int32, minMemory int64) Request {
		return Request{Set: -1, Devices: 1, Milli: 500, Models: models, MinMemory: minMemory}
	}
	x, err := NewIndex([]Node{node, node}, 0)
	if err == nil {
		err = x.SetScoring(Scoring{Exact: true, Mix: []Target{{Request{Devices: 2, Models: []int32{2}}, 1}}})
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		request Request
		want    int64
	}{
		{ask(nil, 0), 500}, // of what the mix cannot use: the lesser evil
		{ask([]int32{1}, 0), 500},
		{ask([]int32{2}, 0), -1500}, // 2000 free for the mix before, then no pair
		{ask(nil, 80), -1500},
	} {
		if got, _ := scoreOf(t, x, row.request, FragmentationGradient, 0); got != row.want {
			t.Errorf("P4 %+v: %d, want %d", row.request, got, row.want)
		}
	}
}
