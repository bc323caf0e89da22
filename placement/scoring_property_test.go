package placement

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

var scoringStrategies = []Strategy{FragmentationGradient, ShadowPrice, DotProduct, GPUPacking, GPUClustering, BestFit, Random}

func drawScoring(t *rapid.T) Scoring {
	s := Scoring{
		Scale: rapid.SampledFrom([]int64{0, 0, 1, 50, 7000}).Draw(t, "scale"),
		Steps: rapid.SampledFrom([]int{0, 0, 1, 2, 7, 1000}).Draw(t, "steps"),
		Exact: rapid.IntRange(0, 3).Draw(t, "exact") == 0,
		Ties:  rapid.SampledFrom([]TieOrder{ByPosition, ByPosition, LeastGPULeft, LeastCPULeft}).Draw(t, "ties"),
		Seed:  rapid.Uint64Range(0, 3).Draw(t, "seed"),
		CPU:   rapid.Int32Range(-1, testResources-1).Draw(t, "cpu"),
	}
	for range rapid.IntRange(0, 4).Draw(t, "targets") {
		s.Mix = append(s.Mix, Target{drawRequest(t), rapid.Int64Range(1, 40).Draw(t, "weight")})
	}
	return s
}

// drawAmple draws nodes on which there is much to choose from.
func drawAmple(t *rapid.T) []Node {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Node {
		n := Node{Slots: NoCap, CPUOnlySlots: NoCap, Class: rapid.Int32Range(0, 1).Draw(t, "class")}
		for range testResources {
			n.Capacity = append(n.Capacity, rapid.SampledFrom([]int64{10, 20, 100}).Draw(t, "capacity"))
		}
		memory := rapid.SampledFrom([]int64{0, 16, 24}).Draw(t, "memory")
		joined := rapid.IntRange(0, 2).Draw(t, "joined") == 0
		for range rapid.IntRange(2, 6).Draw(t, "devices") {
			n.Devices = append(n.Devices, Device{
				Model:  rapid.SampledFrom([]int32{0, 0, 1}).Draw(t, "model"),
				Memory: rapid.SampledFrom([]int64{memory, memory, memory, 24}).Draw(t, "memory"),
			})
		}
		if joined {
			n.Links = drawLinks(t, len(n.Devices))
		}
		return n
	}), 1, 4).Draw(t, "ample nodes")
}

// scoringMachine runs the machine with the strategies that score.
type scoringMachine struct {
	*machine
	scoring Scoring
	leaving []held   // they are no tasks of the clustering strategy
	saved   [][]held // by mark
}

// reference is the scored model of the machine's state.
func (m *scoringMachine) reference() *scored {
	s := &scored{naive: m.model, scoring: m.scoring, teams: make([]map[[2]int32]int, len(m.model.nodes))}
	for _, h := range m.held {
		if r := m.requests[h.shape]; r.Devices > 0 {
			if s.teams[h.place.Node] == nil {
				s.teams[h.place.Node] = map[[2]int32]int{}
			}
			s.teams[h.place.Node][teamKey(r)]++
		}
	}
	return s
}

// anew is an index that has come to the state in another way: every task in the
// order in which they are held, then what is leaving; the mix the other way round.
func (m *scoringMachine) anew(t *rapid.T) *Index {
	x, err := NewIndex(m.model.nodes, testResources)
	if err == nil {
		scoring := m.scoring
		scoring.Mix = slices.Clone(scoring.Mix)
		slices.Reverse(scoring.Mix)
		err = x.SetScoring(scoring)
	}
	for i := len(m.held) - 1; i >= 0 && err == nil; i-- {
		h := m.held[i]
		err = x.Take(x.Shape(m.requests[h.shape]), h.place)
	}
	for _, h := range m.leaving {
		if s := x.Shape(m.requests[h.shape]); err == nil {
			err = errors.Join(x.Take(s, h.place), x.Release(s, h.place))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func (m *scoringMachine) find(t *rapid.T) {
	i, st := m.drawShape(t), rapid.SampledFrom(append([]Strategy{
		FragmentationGradient, FragmentationGradient, FragmentationGradient, ShadowPrice, ShadowPrice, ShadowPrice,
	}, scoringStrategies...)).Draw(t, "strategy")
	got, ok := m.index.Find(m.shapes[i], st)
	x := m.anew(t)
	if other, otherOK := x.Find(x.Shape(m.requests[i]), st); other != got || otherOK != ok {
		t.Fatalf("P6 %v: Find(%+v) = %v %v, in the same state reached otherwise %v %v", st, m.requests[i], got, ok, other, otherOK)
	}
	if st != Random {
		if want, wantOK := m.reference().find(m.requests[i], st); ok != wantOK || got != want {
			t.Fatalf("P4 P5 %v %+v: Find(%+v) = %v %v, a scan of all nodes finds %v %v",
				st, m.scoring, m.requests[i], got, ok, want, wantOK)
		}
	} else if _, wantOK := m.model.find(m.requests[i], First); ok != wantOK {
		t.Fatalf("P5 random: Find(%+v) = %v", m.requests[i], ok)
	}
	if !ok {
		return
	}
	m.actions["found"]++
	if !m.index.Fits(m.shapes[i], got) {
		t.Fatalf("P1 %v: what Find(%+v) = %v found does not fit", st, m.requests[i], got)
	}
	if rapid.IntRange(0, 3).Draw(t, "take it") > 0 {
		m.take(t, i, got)
	}
}

// leave has a task leave that has just come.
func (m *scoringMachine) leave(t *rapid.T) {
	if n := len(m.held); n > 0 {
		h := m.held[n-1]
		m.held = m.held[: n-1 : n-1]
		if err := m.index.Release(m.shapes[h.shape], h.place); err != nil {
			t.Fatal(err)
		}
		m.actions["leave"]++
		m.leaving = append(m.leaving[:len(m.leaving):len(m.leaving)], h)
	}
}

func (m *scoringMachine) left(t *rapid.T) {
	if n := len(m.leaving); n > 0 {
		h := m.leaving[n-1]
		m.leaving = m.leaving[: n-1 : n-1]
		if err := m.index.Leave(m.shapes[h.shape], h.place); err != nil {
			t.Fatal(err)
		}
		m.model.take(m.requests[h.shape], h.place, -1)
	}
}

func (m *scoringMachine) markBoth(t *rapid.T) {
	m.mark(t)
	m.saved = append(m.saved, m.leaving)
}

func (m *scoringMachine) endBoth(t *rapid.T) {
	if len(m.marks) == 0 {
		return
	}
	undone := m.actions["undo"]
	m.end(t)
	if m.actions["undo"] > undone {
		m.leaving = m.saved[len(m.marks)]
	}
	m.saved = m.saved[:len(m.marks)]
}

// scoreAnew sets another scoring; marks do not know of it.
func (m *scoringMachine) scoreAnew(t *rapid.T) {
	m.scoring = drawScoring(t)
	if err := m.index.SetScoring(m.scoring); err != nil {
		t.Fatal(err)
	}
}

// P4–P6: whatever is taken, given, leaves and is undone, Find is a scan of
// all nodes by the words of the published table, and the same in the same state
// however it came to be.
func TestScoringAgainstNaive(t *testing.T) {
	coverage := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		nodes := drawAmple(t)
		if rapid.IntRange(0, 2).Draw(t, "any") == 0 {
			nodes = drawNodes(t)
			nodes = nodes[:min(100, len(nodes))]
		}
		m := &scoringMachine{machine: newMachine(t, nodes), scoring: drawScoring(t)}
		if err := m.index.SetScoring(m.scoring); err != nil {
			t.Fatal(err)
		}
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
			"find5":    m.find,
			"anywhere": m.takeAnywhere,
			"give":     m.give,
			"mark":     m.markBoth,
			"end":      m.endBoth,
			"leave":    m.leave,
			"left":     m.left,
			"anew":     m.scoreAnew,
		})
		for name, n := range m.actions { // sums: order cannot matter
			coverage[name] += n
		}
	})
	for _, name := range []string{"found", "give", "undo", "anywhere", "leave"} {
		if coverage[name] < 10 {
			t.Errorf("the machine did %q only %d times", name, coverage[name])
		}
	}
	t.Log(coverage)
}
