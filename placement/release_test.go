package placement

import (
	"math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// S4 by hand: a node of two devices and four cores.
func TestRelease(t *testing.T) {
	x := mustIndex(t, plain(gpus(2), 4))
	one := x.Shape(Request{Set: -1, Devices: 1, Amounts: amounts(0, 2)})
	pair := x.Shape(Request{Set: -1, Devices: 2, Amounts: amounts(0, 4)})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	finds := func(y *Index, s Shape, want Place) {
		t.Helper()
		p, ok := y.Find(s, BinPack)
		if ok != (want.Node >= 0) || p != want {
			t.Fatalf("found %+v %v, want %+v", p, ok, want)
		}
	}
	nowhere := Place{Node: -1}
	if x.Releasing() || x.AfterRelease() != x {
		t.Fatal("something is releasing")
	}
	must(x.Take(one, Place{Devices: 1}))
	must(x.Release(one, Place{Devices: 1}))
	finds(x, pair, nowhere)
	finds(x, one, Place{Devices: 2})
	after := x.AfterRelease()
	finds(after, pair, Place{Devices: 3, Pipelined: true})
	finds(after, one, Place{Devices: 1, Pipelined: true}) // the first that opens, see Find
	m := after.Mark()
	must(after.Take(pair, Place{Devices: 3, Pipelined: true}))
	finds(x, one, nowhere)
	finds(after, one, nowhere)
	if !x.Releasing() || x.Fits(one, Place{Devices: 2}) || x.Fits(one, Place{Devices: 2, Pipelined: true}) {
		t.Error("a claim of all leaves room")
	}
	must(x.Leave(one, Place{Devices: 1}))
	must(x.Give(pair, Place{Devices: 3, Pipelined: true}))
	finds(x, pair, Place{Devices: 3})
	x.Undo(m)
	finds(x, one, Place{Devices: 2})
	finds(x.AfterRelease(), pair, Place{Devices: 3, Pipelined: true})
	must(x.Leave(one, Place{Devices: 1}))
	if x.release != nil || x.AfterRelease() != x {
		t.Error("all has left, and something is remembered of it")
	}
	for _, p := range []Place{{Node: 1, Devices: 1}, {Devices: 3}, {Devices: 1, Pipelined: false, Node: -1}} {
		if x.Release(one, p) == nil || x.Leave(one, p) == nil {
			t.Errorf("%+v: no error", p)
		}
	}
}

// A releaseMachine runs both layers and the naive reference side by side: three of
// them, for what runs, is releasing and is claimed.
type releaseMachine struct {
	index                    *Index
	nodes                    []Node
	domains                  [][]string
	requests                 []Request
	shapes                   []Shape
	standing, going, claimed []held
	marks                    []releaseMark
	actions                  map[string]int
}

type releaseMark struct {
	mark                     Mark
	standing, going, claimed []held
}

func (m *releaseMachine) addShape(t *rapid.T) {
	r := drawRequest(t)
	m.requests = append(m.requests, r)
	m.shapes = append(m.shapes, m.index.Shape(r))
}

// used sums what the tasks of some lists use.
func (m *releaseMachine) used(lists ...[]held) *naive {
	out := newNaive(m.nodes, testResources)
	out.domains = m.domains
	for _, list := range lists {
		for _, h := range list {
			out.take(m.requests[h.shape], h.place, 1)
		}
	}
	return out
}

// larger is the larger of two uses, cell by cell.
func larger(a, b *naive) *naive {
	out := a.clone()
	for v := range out.used {
		u, other := &out.used[v], &b.used[v]
		u.tasks, u.cpuOnly = max(u.tasks, other.tasks), max(u.cpuOnly, other.cpuOnly)
		for r := range u.amounts {
			u.amounts[r] = max(u.amounts[r], other.amounts[r])
		}
		for d := range u.devices {
			u.devices[d] = max(u.devices[d], other.devices[d])
		}
	}
	return out
}

// layer is what the rule says is used now, or once all that is releasing has left.
func (m *releaseMachine) layer(after bool) *naive {
	if after {
		return m.used(m.standing, m.claimed)
	}
	return larger(m.used(m.standing, m.going), m.used(m.standing, m.claimed))
}

func (m *releaseMachine) find(t *rapid.T) {
	i, after := rapid.IntRange(0, len(m.shapes)-1).Draw(t, "shape"), rapid.Bool().Draw(t, "after")
	st := rapid.SampledFrom([]Strategy{BinPack, BinPack, Spread, First}).Draw(t, "strategy")
	x, now := m.index, m.layer(false)
	if after {
		x = x.AfterRelease()
	}
	got, ok := x.Find(m.shapes[i], st)
	want, wantOK := m.layer(after).find(m.requests[i], st)
	want.Pipelined = wantOK && (now.miss(m.requests[i], int(want.Node)).Predicate != 0 ||
		!now.setFits(m.requests[i], int(want.Node), want.Devices))
	if ok != wantOK || got != want {
		t.Fatalf("S4 %v: Find(%+v) after release %v = %+v %v, a scan of all nodes finds %+v %v", st, m.requests[i], after, got, ok, want, wantOK)
	}
	if !ok {
		return
	}
	if on, ok := x.PlaceOn(m.shapes[i], got.Node, st); !ok || on != got || !x.Fits(m.shapes[i], got) || !m.index.Fits(m.shapes[i], got) {
		t.Fatalf("S4: Find(%+v) = %+v, PlaceOn its node %+v %v", m.requests[i], got, on, ok)
	}
	if rapid.IntRange(0, 3).Draw(t, "take it") > 0 {
		if err := x.Take(m.shapes[i], got); err != nil {
			t.Fatal(err)
		}
		if got.Pipelined {
			m.actions["claimed"]++
			m.claimed = append(slices.Clip(m.claimed), held{i, got})
		} else {
			m.standing = append(slices.Clip(m.standing), held{i, got})
		}
	}
}

// one takes one of a list.
func one(t *rapid.T, list *[]held) (h held, some bool) {
	if len(*list) == 0 {
		return h, false
	}
	i := rapid.IntRange(0, len(*list)-1).Draw(t, "which")
	h = (*list)[i]
	*list = slices.Delete(slices.Clone(*list), i, i+1)
	return h, true
}

func (m *releaseMachine) does(t *rapid.T, what string, err error) {
	if m.actions[what]++; err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func (m *releaseMachine) release(t *rapid.T) {
	if h, some := one(t, &m.standing); some {
		m.does(t, "release", m.index.Release(m.shapes[h.shape], h.place))
		m.going = append(slices.Clip(m.going), h)
	}
}

func (m *releaseMachine) leave(t *rapid.T) {
	if h, some := one(t, &m.going); some {
		m.does(t, "leave", m.index.Leave(m.shapes[h.shape], h.place))
	}
}

func (m *releaseMachine) give(t *rapid.T) {
	if h, some := one(t, &m.standing); some {
		m.does(t, "give", m.index.Give(m.shapes[h.shape], h.place))
	}
}

func (m *releaseMachine) withdraw(t *rapid.T) {
	if h, some := one(t, &m.claimed); some {
		m.does(t, "withdraw", m.index.AfterRelease().Give(m.shapes[h.shape], h.place))
	}
}

// start has a claim start if its place has come free.
func (m *releaseMachine) start(t *rapid.T) {
	h, some := one(t, &m.claimed)
	if !some {
		return
	}
	s, at := m.shapes[h.shape], Place{Node: h.place.Node, Devices: h.place.Devices}
	if err := m.index.Give(s, h.place); err != nil {
		t.Fatal(err)
	}
	now := m.layer(false)
	fits := now.miss(m.requests[h.shape], int(at.Node)).Predicate == 0 && now.setFits(m.requests[h.shape], int(at.Node), at.Devices)
	if m.index.Fits(s, at) != fits {
		t.Fatalf("S4: a claim's place is free: %v", !fits)
	}
	if fits {
		m.does(t, "start", m.index.Take(s, at))
		m.standing = append(slices.Clip(m.standing), held{h.shape, at})
		return
	}
	m.does(t, "wait on", m.index.Take(s, h.place))
	m.claimed = append(slices.Clip(m.claimed), h)
}

// await has something that has started claim its place instead.
func (m *releaseMachine) await(t *rapid.T) {
	if h, some := one(t, &m.standing); some {
		s := m.shapes[h.shape]
		m.does(t, "await", m.index.Give(s, h.place))
		h.place.Pipelined = true
		m.does(t, "await", m.index.Take(s, h.place))
		m.claimed = append(slices.Clip(m.claimed), h)
	}
}

// succeed releases something that runs, has another like it claim its place, and has
// that one wait on, as the first has not left.
func (m *releaseMachine) succeed(t *rapid.T) {
	h, some := one(t, &m.standing)
	if !some {
		return
	}
	s := m.shapes[h.shape]
	m.does(t, "release", m.index.Release(s, h.place))
	m.going = append(slices.Clip(m.going), h)
	h.place.Pipelined = true
	m.does(t, "claimed", m.index.Take(s, h.place))
	m.does(t, "wait on", m.index.Give(s, h.place))
	m.does(t, "wait on", m.index.Take(s, h.place))
	m.claimed = append(slices.Clip(m.claimed), h)
}

func (m *releaseMachine) mark(*rapid.T) {
	m.marks = append(m.marks, releaseMark{m.index.Mark(), m.standing, m.going, m.claimed})
}

func (m *releaseMachine) end(t *rapid.T) {
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
	m.index.AfterRelease().Undo(s.mark)
	m.standing, m.going, m.claimed = s.standing, s.going, s.claimed
}

// anew: strategies that score find after the release what they find in an index in
// which what runs and is claimed was taken.
func (m *releaseMachine) anew(t *rapid.T) {
	st := rapid.SampledFrom([]Strategy{FragmentationGradient, ShadowPrice, DotProduct, BestFit, GPUPacking, GPUClustering, Random}).Draw(t, "scores")
	x, err := NewIndex(m.nodes, testResources)
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range [...][]held{m.claimed, m.standing} {
		for _, h := range list {
			h.place.Pipelined = false
			if err := x.Take(x.Shape(m.requests[h.shape]), h.place); err != nil {
				t.Fatal(err)
			}
		}
	}
	i := rapid.IntRange(0, len(m.shapes)-1).Draw(t, "shape")
	want, wantOK := x.Find(x.Shape(m.requests[i]), st)
	got, ok := m.index.AfterRelease().Find(m.shapes[i], st)
	if got.Pipelined = false; ok != wantOK || got != want {
		t.Fatalf("S4 %v: Find(%+v) = %+v %v, where nothing was ever releasing %+v %v", st, m.requests[i], got, ok, want, wantOK)
	}
}

// score and cordon change what the layers have in common.
func (m *releaseMachine) score(t *rapid.T) {
	if err := m.index.AfterRelease().SetScoring(Scoring{}); err != nil {
		t.Fatal(err)
	}
}

func (m *releaseMachine) cordon(t *rapid.T) {
	v, closed := rapid.IntRange(0, len(m.nodes)-1).Draw(t, "node"), rapid.Bool().Draw(t, "closed")
	if m.index.AfterRelease().Cordon(int32(v), closed) {
		m.actions["cordon"]++
		m.nodes[v].Cordoned = closed
	}
}

// check holds both layers against the rule, and the rule against its purpose.
func (m *releaseMachine) check(t *rapid.T) {
	if m.index.Releasing() != (len(m.going) > 0) {
		t.Fatalf("%d are releasing", len(m.going))
	}
	if len(m.marks) == 0 && (len(m.index.journal.entries) > 0 || m.index.release != nil && len(m.going)+len(m.claimed) == 0) {
		t.Fatal("something is remembered that no mark and no task needs")
	}
	layers := []*Index{m.index, m.index.AfterRelease()}
	for i, x := range layers {
		model := m.layer(i > 0)
		for v, n := range m.nodes {
			nd := &x.nodes[v]
			if !slices.Equal(x.freeOf(int32(v)), freeBy(n, &model.used[v])) {
				t.Fatalf("S4 layer %d node %d: free %v, want %v", i, v, x.freeOf(int32(v)), freeBy(n, &model.used[v]))
			}
			if n.Slots != NoCap && nd.slots != int64(n.Slots)-model.used[v].tasks ||
				n.CPUOnlySlots != NoCap && nd.cpuOnlySlots != int64(n.CPUOnlySlots)-model.used[v].cpuOnly {
				t.Fatalf("S4 layer %d node %d: %d and %d slots", i, v, nd.slots, nd.cpuOnlySlots)
			}
			for d, device := range n.Devices {
				left := model.left(v, d)
				if x.left[int(nd.devices)+d] != left || nd.whole>>d&1 == 1 != (!device.Unhealthy && model.whole(v, d)) {
					t.Fatalf("S4 layer %d node %d device %d: left %d, want %d", i, v, d, x.left[int(nd.devices)+d], left)
				}
				if left < 0 {
					t.Fatalf("S4: device %d of node %d is over-committed", d, v)
				}
			}
		}
	}
}

func freeBy(n Node, u *usage) []int64 {
	out := slices.Clone(n.Capacity)
	for r := range out {
		out[r] -= u.amounts[r]
	}
	return out
}

// S4: whatever runs, is released, leaves, claims, starts, marks and is undone, both
// layers say what the rule says, find what a scan of all nodes finds, and nothing is
// over-committed: running with releasing, and running with claimed.
func TestReleaseAgainstNaive(t *testing.T) {
	coverage := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		m := &releaseMachine{nodes: slices.Clone(drawNodes(t)), actions: map[string]int{}}
		x, err := NewIndex(m.nodes, testResources)
		if err != nil {
			t.Fatal(err)
		}
		m.index = x
		m.domains = drawDomains(t, len(m.nodes))
		setDomains(t, x, m.domains)
		for range rapid.IntRange(1, 3).Draw(t, "shapes") {
			m.addShape(t)
		}
		t.Repeat(map[string]func(*rapid.T){
			"": m.check, "shape": m.addShape, "find": m.find, "find2": m.find, "find3": m.find, "find4": m.find, "find5": m.find,
			"release": m.release, "release2": m.release, "leave": m.leave, "give": m.give, "withdraw": m.withdraw,
			"start": m.start, "await": m.await, "succeed": m.succeed, "mark": m.mark, "end": m.end, "anew": m.anew, "score": m.score, "cordon": m.cordon,
		})
		for name, n := range m.actions { // sums: order cannot matter
			coverage[name] += n
		}
	})
	for _, name := range []string{"claimed", "release", "leave", "give", "withdraw", "start", "wait on", "await", "undo", "cordon"} {
		if coverage[name] == 0 && !testing.Short() { // a short run is too short for a floor
			t.Errorf("the machine never did %q", name)
		}
	}
	t.Log(coverage)
}

// Nothing is allocated by Find in either layer, nor by what is claimed and undone on
// nodes where something is releasing.
func TestReleaseAllocates(t *testing.T) {
	x, err := NewIndex(gpuNodes(1000), 2)
	if err != nil {
		t.Fatal(err)
	}
	s := x.Shape(Request{Set: -1, Devices: 2, Amounts: cpuAndMemory(8, 64)})
	fillNodes(t, x, s, 1000)
	m := x.Mark()
	after := x.AfterRelease()
	try := func() {
		if _, ok := x.Find(s, BinPack); ok {
			t.Fatal("a full cluster takes something")
		}
		p, ok := after.Find(s, BinPack)
		if !ok || !p.Pipelined || bits.OnesCount64(p.Devices) != 2 || after.Take(s, p) != nil || after.Give(s, p) != nil {
			t.Fatal("what is releasing is not found")
		}
	}
	try()
	if n := testing.AllocsPerRun(100, try); n > 0.1 { // the journal grows
		t.Errorf("%v allocations", n)
	}
	x.Undo(m)
}

// fillNodes fills n nodes with tasks of two devices, of which one of ten is releasing.
func fillNodes(t testing.TB, x *Index, s Shape, n int) {
	for v := range int32(n) {
		for d := uint64(3); d < 1<<8; d <<= 2 {
			err := x.Take(s, Place{Node: v, Devices: d})
			if err == nil && v%10 == 7 && d == 3 {
				err = x.Release(s, Place{Node: v, Devices: d})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}
