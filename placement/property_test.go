package placement

import (
	"flag"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/allotsched/allot/quota"
)

const testResources = 2

func drawNode(t *rapid.T) Node {
	n := Node{
		Slots:        rapid.SampledFrom([]int32{NoCap, NoCap, NoCap, 3, 1, 0, -2}).Draw(t, "slots"),
		CPUOnlySlots: rapid.SampledFrom([]int32{NoCap, NoCap, 2, 0}).Draw(t, "cpu-only slots"),
		Class:        rapid.Int32Range(0, 1).Draw(t, "class"),
		Cordoned:     rapid.IntRange(0, 9).Draw(t, "cordoned") == 0,
	}
	for range testResources {
		n.Capacity = append(n.Capacity, rapid.SampledFrom([]int64{-3, 0, 4, 10, 10, 100}).Draw(t, "capacity"))
	}
	memory := rapid.SampledFrom([]int64{0, 16, 24}).Draw(t, "memory")
	joined := rapid.Bool().Draw(t, "joined")
	hangs := func(what string) int32 {
		if !joined {
			return 0
		}
		return rapid.SampledFrom([]int32{0, 1, 1, 2, 2}).Draw(t, what)
	}
	for range rapid.SampledFrom([]int{0, 1, 2, 3, 4, 4, 6}).Draw(t, "devices") {
		n.Devices = append(n.Devices, Device{
			Socket: hangs("socket"), Switch: hangs("switch"),
			Model:     rapid.SampledFrom([]int32{0, 0, 1}).Draw(t, "model"),
			Memory:    rapid.SampledFrom([]int64{memory, memory, memory, 24}).Draw(t, "memory"),
			Unhealthy: rapid.IntRange(0, 9).Draw(t, "unhealthy") == 0,
			Foreign:   rapid.SampledFrom([]int64{0, 0, 0, 0, 0, 1, 500, 1000}).Draw(t, "foreign"),
		})
	}
	if joined {
		n.Links = drawLinks(t, len(n.Devices))
	}
	if rapid.Bool().Draw(t, "in set 3") {
		n.Sets = []int32{3, 7}
	}
	if rapid.IntRange(0, 4).Draw(t, "tainted") == 0 {
		n.Taints = []Taint{{Key: "k", Value: "v", Effect: rapid.SampledFrom([]Effect{DefaultEffect, PreferNoSchedule, NoExecute}).Draw(t, "effect")}}
	}
	if zone := rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "zone"); zone != "" {
		n.Labels = map[string]string{"zone": zone}
	}
	return n
}

// drawLinks draws NVLinks between some pairs.
func drawLinks(t *rapid.T, devices int) (links []Link) {
	for a := range int32(devices) {
		for b := range a {
			if rapid.Bool().Draw(t, "linked") {
				links = append(links, Link{a, b, rapid.SampledFrom([]int32{0, 1, 1, 2, 18}).Draw(t, "links")})
			}
		}
	}
	return links
}

// drawRequest leans to requests that fit somewhere.
func drawRequest(t *rapid.T) Request {
	r := Request{Set: -1, Devices: rapid.SampledFrom([]int32{0, 0, 1, 1, 1, 2, 2, 3}).Draw(t, "devices")}
	seldom := func(what string) bool { return rapid.IntRange(0, 5).Draw(t, what) == 0 }
	if r.Devices > 0 {
		switch rapid.SampledFrom([]string{"whole", "milli", "milli", "memory"}).Draw(t, "kind") {
		case "milli":
			r.Milli = rapid.SampledFrom([]int64{1, 300, 334, 500, 700, 1000}).Draw(t, "milli")
		case "memory":
			r.Memory = rapid.SampledFrom([]int64{1, 8, 16, 24}).Draw(t, "memory")
		}
		if seldom("models") {
			r.Models = []int32{rapid.Int32Range(0, 1).Draw(t, "model")}
		}
		if seldom("least memory") {
			r.MinMemory = 20
		}
	}
	if r.Devices > 0 {
		islands := []Island{AnyIsland, AnyIsland, AnyIsland, SocketIsland, SwitchIsland, NVLinkIsland}
		r.Island = rapid.SampledFrom(islands).Draw(t, "island")
		r.PreferIsland = rapid.SampledFrom(islands).Draw(t, "preferred island")
	}
	for resource := range int32(testResources) {
		if rapid.Bool().Draw(t, "requests") {
			value := rapid.SampledFrom([]int64{1, 3, 5, 10}).Draw(t, "amount")
			r.Amounts = append(r.Amounts, quota.Amount{Resource: resource, Value: value})
		}
	}
	if seldom("classes") {
		r.Classes = []int32{1}
	}
	if seldom("set") {
		r.Set = 3
	}
	if seldom("selector") {
		r.Selector = rapid.SampledFrom([]*Selector{
			{Labels: map[string]string{"zone": "a"}},
			{Expressions: []Expression{{Key: "zone", Operator: NotIn, Values: []string{"a"}}}},
			{Expressions: []Expression{{Key: "none", Operator: DoesNotExist}}},
		}).Draw(t, "selector")
	}
	if seldom("tolerates") {
		r.Tolerations = []Toleration{{Key: "k", Operator: TolerationExists}}
	}
	return r
}

type held struct {
	shape int
	place Place
}

// machine runs an index and the naive reference side by side.
type machine struct {
	index    *Index
	model    *naive
	requests []Request
	shapes   []Shape
	held     []held
	marks    []saved
	actions  map[string]int
}

type saved struct {
	mark  Mark
	model *naive
	held  []held
}

func newMachine(t *rapid.T, nodes []Node) *machine {
	x, err := NewIndex(nodes, testResources)
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{index: x, model: newNaive(nodes, testResources), actions: map[string]int{}}
	m.model.domains = drawDomains(t, len(nodes))
	setDomains(t, x, m.model.domains)
	return m
}

func (m *machine) addShape(t *rapid.T) {
	r := drawRequest(t)
	m.requests = append(m.requests, r)
	m.shapes = append(m.shapes, m.index.Shape(r))
}

func (m *machine) drawShape(t *rapid.T) int {
	return rapid.IntRange(0, len(m.shapes)-1).Draw(t, "shape")
}

func (m *machine) find(t *rapid.T) {
	i := m.drawShape(t)
	st := rapid.SampledFrom([]Strategy{Default, BinPack, BinPack, Spread, First}).Draw(t, "strategy")
	got, ok := m.index.Find(m.shapes[i], st)
	if st == Default {
		st = BinPack
	}
	want, wantOK := m.model.find(m.requests[i], st)
	if ok != wantOK || got != want {
		t.Fatalf("P3 %v: Find(%+v) = %v %v, a scan of all nodes finds %v %v", st, m.requests[i], got, ok, want, wantOK)
	}
	if ok {
		m.actions["found"]++
		if m.index.ByDomains() && st != First {
			m.actions["by domains"]++
		}
		if !m.index.Fits(m.shapes[i], got) {
			t.Fatalf("P1: what Find(%+v) = %v found does not fit", m.requests[i], got)
		}
		if rapid.IntRange(0, 3).Draw(t, "take it") > 0 {
			m.take(t, i, got)
		}
	}
}

func (m *machine) take(t *rapid.T, i int, p Place) {
	if err := m.index.Take(m.shapes[i], p); err != nil {
		t.Fatal(err)
	}
	m.model.take(m.requests[i], p, 1)
	m.held = append(m.held, held{i, p})
}

// takeAnywhere replays a place of a state that may be over-used.
func (m *machine) takeAnywhere(t *rapid.T) {
	if rapid.IntRange(0, 2).Draw(t, "together") == 0 {
		m.takeTogether(t)
		return
	}
	i, v := m.drawShape(t), rapid.IntRange(0, len(m.model.nodes)-1).Draw(t, "node")
	set := rapid.Uint64Range(0, 1<<len(m.model.nodes[v].Devices)-1).Draw(t, "devices")
	if bits.OnesCount64(set) == int(m.requests[i].Devices) {
		m.actions["anywhere"]++
		m.take(t, i, Place{Node: int32(v), Devices: set})
	}
}

// takeTogether does that with several tasks of a shape on one node at once.
func (m *machine) takeTogether(t *rapid.T) {
	i, v := m.drawShape(t), rapid.IntRange(0, len(m.model.nodes)-1).Draw(t, "node")
	each, devices := int(m.requests[i].Devices), rapid.Permutation(deviceBits(len(m.model.nodes[v].Devices))).Draw(t, "devices")
	tasks := rapid.IntRange(1, 4).Draw(t, "tasks")
	if each > 0 {
		tasks = min(tasks, len(devices)/each)
	}
	if tasks == 0 {
		return
	}
	m.actions["together"]++
	all := Place{Node: int32(v)}
	for task := range tasks {
		one := Place{Node: int32(v)}
		for _, bit := range devices[task*each : (task+1)*each] {
			one.Devices |= bit
		}
		all.Devices |= one.Devices
		m.model.take(m.requests[i], one, 1)
		m.held = append(m.held, held{i, one})
	}
	if err := TakeTogether(m.index, m.shapes[i], all, tasks); err != nil {
		t.Fatal(err)
	}
}

// deviceBits are the devices of a node by themselves.
func deviceBits(devices int) []uint64 {
	var out []uint64
	for d := range devices {
		out = append(out, 1<<d)
	}
	return out
}

func (m *machine) give(t *rapid.T) {
	if len(m.held) == 0 {
		return
	}
	m.actions["give"]++
	i := rapid.IntRange(0, len(m.held)-1).Draw(t, "held")
	h := m.held[i]
	m.mustGo(t, h)
	m.held = append(append([]held{}, m.held[:i]...), m.held[i+1:]...)
	shape := m.shapes[h.shape]
	room, makes := make([]int, len(m.shapes)), make([]bool, len(m.shapes)) // of all shapes, this one or another
	for i, asks := range m.shapes {
		room[i], makes[i] = m.index.RoomOn(asks, h.place.Node), MakesRoom(m.index, asks, shape, h.place)
	}
	if err := m.index.Give(shape, h.place); err != nil {
		t.Fatal(err)
	}
	for i, asks := range m.shapes {
		if !makes[i] {
			continue
		}
		if m.actions["makes room"]++; asks != shape {
			m.actions["makes room for another"]++
		}
		if now := m.index.RoomOn(asks, h.place.Node); now <= room[i] && room[i] < math.MaxInt32 { // M8: the bound is sound
			t.Fatalf("room for %d of %+v, and with %+v at %+v gone for %d", room[i], m.requests[i], m.requests[h.shape], h.place, now)
		}
	}
	m.model.take(m.requests[h.shape], h.place, -1)
}

// mustGo has tasks like one, on its node, go in a drawn order, until MustGo says that there is room for another.
func (m *machine) mustGo(t *rapid.T, one held) {
	var places []Place
	for _, h := range m.held {
		if h.shape == one.shape && h.place.Node == one.place.Node {
			places = append(places, h.place)
		}
	}
	places = rapid.Permutation(places).Draw(t, "alike")
	for i, asks := range m.shapes {
		n := MustGo(m.index, asks, m.shapes[one.shape], places)
		if n == 0 || m.index.RoomOn(asks, one.place.Node) > 0 {
			continue
		}
		if m.actions["must go"]++; n > 1 {
			m.actions["several must go"]++
		}
		mark := m.index.Mark()
		for gone := range min(n, len(places)) {
			if room := m.index.RoomOn(asks, one.place.Node); room > 0 {
				t.Fatalf("room for %d of %+v with %d of %d gone", room, m.requests[i], gone, n)
			}
			if err := m.index.Give(m.shapes[one.shape], places[gone]); err != nil {
				t.Fatal(err)
			}
		}
		if n > len(places) {
			m.actions["too few go"]++
		}
		if room := m.index.RoomOn(asks, one.place.Node); room > 0 != (n <= len(places)) {
			t.Fatalf("room for %d of %+v with %d of %d %+v gone, of which %d must", room, m.requests[i], min(n, len(places)), len(places), m.requests[one.shape], n)
		}
		m.index.Undo(mark)
	}
}

// cordon closes a node or opens it, which no mark can take back.
func (m *machine) cordon(t *rapid.T) {
	v, closed := rapid.IntRange(0, len(m.model.nodes)-1).Draw(t, "node"), rapid.Bool().Draw(t, "closed")
	done := m.index.Cordon(int32(v), closed)
	if done != (len(m.marks) == 0) {
		t.Fatalf("Cordon with %d marks outstanding: %v", len(m.marks), done)
	}
	if done {
		m.actions["cordon"]++
		m.model.nodes[v].Cordoned = closed
	}
}

func (m *machine) mark(*rapid.T) {
	m.marks = append(m.marks, saved{m.index.Mark(), m.model.clone(), append([]held{}, m.held...)})
}

func (m *machine) end(t *rapid.T) {
	if len(m.marks) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.marks)-1).Draw(t, "mark")
	s := m.marks[i]
	m.marks = m.marks[:i]
	if rapid.IntRange(0, 2).Draw(t, "commit") == 0 {
		m.index.Commit(s.mark)
		return
	}
	m.actions["undo"]++
	m.index.Undo(s.mark)
	m.model, m.held = s.model.clone(), s.held
}

func (m *machine) fits(t *rapid.T) {
	i, v := m.drawShape(t), rapid.IntRange(0, len(m.model.nodes)-1).Draw(t, "node")
	r, set := m.requests[i], rapid.Uint64Range(0, 1<<len(m.model.nodes[v].Devices)-1).Draw(t, "devices")
	want := m.model.miss(r, v).Predicate == 0 && bits.OnesCount64(set) == int(r.Devices) && m.model.setFits(r, v, set)
	if got := m.index.Fits(m.shapes[i], Place{Node: int32(v), Devices: set}); got != want {
		t.Fatalf("P1: Fits(%+v, node %d devices %b) = %v", r, v, set, got)
	}
}

func (m *machine) reject(t *rapid.T) {
	i := m.drawShape(t)
	counts, ever, nearest := m.model.reject(m.requests[i])
	got := m.index.Reject(m.shapes[i])
	want := Rejection{Counts: counts, Ever: ever, Nearest: nearest, Free: m.model.free(m.requests[i].Set)}
	for res, some := range append([]int64{want.Free.Milli}, want.Free.Amounts...) {
		if free := FreeOf(m.index, m.requests[i].Set, int32(res)); free != some {
			t.Fatalf("%d free of resource %d, want %d", free, res, some)
		}
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("X1: Reject(%+v) (-naive +index):\n%s", m.requests[i], diff)
	}
}

// check holds the index's state against the model's (and with it Undo's).
func (m *machine) check(t *rapid.T) {
	if len(m.marks) == 0 && len(m.index.journal.entries) != 0 {
		t.Fatal("journaled with no mark outstanding")
	}
	for v, n := range m.model.nodes {
		nd := &m.index.nodes[v]
		for r, c := range n.Capacity {
			if got, want := m.index.freeOf(int32(v))[r], c-m.model.used[v].amounts[r]; got != want {
				t.Fatalf("node %d resource %d: free %d, want %d", v, r, got, want)
			}
		}
		for i, d := range n.Devices {
			if got, want := m.index.left[int(nd.devices)+i], m.model.left(v, i); got != want {
				t.Fatalf("node %d device %d: left %d, want %d", v, i, got, want)
			}
			bit := uint64(1) << i
			if got, want := nd.whole&bit != 0, !d.Unhealthy && m.model.whole(v, i); got != want {
				t.Fatalf("node %d device %d: whole is %v", v, i, got)
			}
		}
	}
}

func drawNodes(t *rapid.T) []Node {
	few := rapid.SliceOfN(rapid.Custom(drawNode), 1, 6).Draw(t, "nodes")
	if rapid.IntRange(0, 3).Draw(t, "many") > 0 {
		return few
	}
	var nodes []Node // enough for several words of a bitmap
	for i := range 64 + 64*len(few) {
		nodes = append(nodes, few[i*i%len(few)])
	}
	return nodes
}

// P1–P3, P6: whatever is taken, given, marked and undone, Find is a scan of all
// nodes by the documented order, and Fits and Reject agree with it.
func TestIndexAgainstNaive(t *testing.T) {
	coverage := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t, drawNodes(t))
		for range rapid.IntRange(1, 3).Draw(t, "shapes") {
			m.addShape(t)
		}
		t.Repeat(map[string]func(*rapid.T){
			"":         m.check,
			"shape":    m.addShape,
			"find":     m.find,
			"find2":    m.find,
			"find3":    m.find,
			"find4":    m.find,
			"anywhere": m.takeAnywhere,
			"give":     m.give,
			"give2":    m.give,
			"cordon":   m.cordon,
			"mark":     m.mark,
			"end":      m.end,
			"fits":     m.fits,
			"reject":   m.reject,
		})
		for name, n := range m.actions { // sums: order cannot matter
			coverage[name] += n
		}
	})
	checks, err := strconv.Atoi(flag.Lookup("rapid.checks").Value.String())
	if err != nil {
		t.Fatal(err)
	}
	seldom := []string{"makes room for another", "several must go", "too few go"} // what goes seldom is as large as what another asks
	for _, name := range []string{"found", "give", "undo", "anywhere", "together", "cordon", "by domains", "makes room", "makes room for another", "must go", "several must go", "too few go"} {
		want := checks / 20
		if slices.Contains(seldom, name) {
			want = 1
		}
		if testing.Short() && want == 1 {
			continue // rapid draws a fifth of the histories then, of a fifth of the steps
		}
		if coverage[name] < want {
			t.Errorf("the machine did %q only %d times", name, coverage[name])
		}
	}
	t.Log(fmt.Sprint(coverage))
}

// Candidates is never below what the empty nodes take, and is exactly that for
// requests of at most one device.
func TestCandidatesBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := []Node{drawNode(t)}
		nodes[0].Slots = rapid.SampledFrom([]int32{0, 1, 5, 12}).Draw(t, "slots")
		x, err := NewIndex(nodes, testResources)
		if err != nil {
			t.Fatal(err)
		}
		r := drawRequest(t)
		got, want := x.Candidates(x.Shape(r)), newNaive(nodes, testResources).most(r, 0)
		if got < want || got != want && r.Devices <= 1 {
			t.Fatalf("Candidates(%+v) = %d, the empty node takes %d", r, got, want)
		}
		if ever := x.Reject(x.Shape(r)).Ever; ever != (want > 0) {
			t.Fatalf("Ever(%+v) = %v, the empty node takes %d", r, ever, want)
		}
	})
}

// Vacancies are what Vacant says of each node, also of nodes that are as others but for one thing, whatever stands on them.
func TestVacancies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := drawNodes(t)
		for range rapid.IntRange(1, 6).Draw(t, "like others") {
			n := rapid.SampledFrom(nodes).Draw(t, "as")
			n.Capacity, n.Devices = slices.Clone(n.Capacity), slices.Clone(n.Devices)
			switch what := rapid.IntRange(0, 4).Draw(t, "but for"); {
			case what == 1:
				n.Slots = rapid.SampledFrom([]int32{NoCap, 0, 1, 5}).Draw(t, "slots")
			case what == 2:
				n.Capacity[0] = rapid.Int64Range(0, 20).Draw(t, "capacity")
			case what == 3 && len(n.Devices) > 0:
				n.Devices[0].Unhealthy = !n.Devices[0].Unhealthy
			case what == 4 && len(n.Devices) > 0:
				n.Devices[0].Foreign = 1000 - n.Devices[0].Foreign
			}
			nodes = append(nodes, n)
		}
		m := newMachine(t, nodes)
		for range 3 {
			m.addShape(t)
			m.takeAnywhere(t)
		}
		for _, r := range m.requests {
			s := m.index.Shape(r)
			for v, got := range Vacancies(m.index, s) {
				if want := Vacant(m.index, s, int32(v)); got != want {
					t.Fatalf("node %d is %+v to %+v, want %+v", v, got, r, want)
				}
			}
		}
		for v, got := range Vacancies(m.index, 99) {
			if got != (Vacancy{}) {
				t.Fatalf("node %d is %+v to a shape that is none", v, got)
			}
		}
	})
}

// Positions beyond 4,096 are in the second block of a bitmap: few nodes that
// fit, far apart, coming and going.
func TestIndexFarApart(t *testing.T) {
	nodes := make([]Node, 9000)
	for v := range nodes {
		nodes[v] = Node{Capacity: []int64{10, 10}, Slots: NoCap, CPUOnlySlots: NoCap, Devices: make([]Device, 2)}
		if v%64 == 63 {
			nodes[v].Devices = nil
		}
	}
	x, err := NewIndex(nodes, testResources)
	if err != nil {
		t.Fatal(err)
	}
	m := newNaive(nodes, testResources)
	requests := []Request{
		{Set: -1, Devices: 1, Amounts: quota.Amounts{{Resource: 0, Value: 3}}},
		{Set: -1, Devices: 2},
		{Set: -1, Devices: 1, Milli: 400, Amounts: quota.Amounts{{Resource: 0, Value: 1}}},
		{Set: -1, Amounts: quota.Amounts{{Resource: 0, Value: 4}}},
	}
	random := uint64(5)
	draw := func(below int) int {
		random = random*6364136223846793005 + 1442695040888963407
		return int(random>>33) % below
	}
	take := func(i int, p Place) {
		if err := x.Take(x.Shape(requests[i]), p); err != nil {
			t.Fatal(err)
		}
		m.take(requests[i], p, 1)
	}
	for v := range nodes { // all but a few nodes are full
		if draw(400) != 0 {
			if len(nodes[v].Devices) == 2 {
				take(1, Place{Node: int32(v), Devices: 3})
			}
			take(3, Place{Node: int32(v), Devices: 0})
			take(3, Place{Node: int32(v), Devices: 0})
		}
	}
	for step := range 250 {
		i, st := draw(len(requests)), Strategy(1+draw(3))
		got, ok := x.Find(x.Shape(requests[i]), st)
		if want, wantOK := m.find(requests[i], st); got != want || ok != wantOK {
			t.Fatalf("step %d %v %+v: %v %v, want %v %v", step, st, requests[i], got, ok, want, wantOK)
		}
		if ok && draw(4) > 0 {
			take(i, got)
		}
		if v := int32(draw(len(nodes))); step%3 == 0 && len(nodes[v].Devices) == 2 {
			if err := x.Give(x.Shape(requests[1]), Place{Node: v, Devices: 3}); err != nil {
				t.Fatal(err)
			}
			m.take(requests[1], Place{Node: v, Devices: 3}, -1)
		}
	}
}
