package gang_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
	"pgregory.net/rapid"
)

// A scene is a small cluster with domains, partly in use, and a gang with
// constraints of which a part may be held.
type scene struct {
	levels   int
	names    [][]string
	x        *placement.Index
	tree     *placement.Topology
	whole    gang.Constraint
	sets     []gang.Set
	groups   []gang.Group
	g        *gang.Gang
	unit     gang.Unit
	siblings gang.Siblings
	placer   gang.Placer
	st       gang.Strategies
}

func drawScene(t *rapid.T) *scene {
	s := &scene{levels: rapid.IntRange(1, 2).Draw(t, "levels")}
	var nodes []placement.Node
	for range rapid.IntRange(1, 5).Draw(t, "nodes") {
		nodes = append(nodes, machine(rapid.IntRange(0, 3).Draw(t, "devices"), int64(rapid.IntRange(1, 4).Draw(t, "cpu"))))
		var names []string
		for range s.levels {
			names = append(names, rapid.SampledFrom([]string{"a", "b", "a", "b", ""}).Draw(t, "name"))
		}
		s.names = append(s.names, names)
	}
	s.tree = placement.NewTopology(s.levels, s.names)
	var err error
	if s.x, err = placement.NewIndex(nodes, 1); err != nil {
		t.Fatal(err)
	}
	s.placer = gang.Placer{Topology: s.tree, LeastFreeFirst: rapid.Bool().Draw(t, "least free first")}
	strategy := rapid.SampledFrom([]placement.Strategy{placement.BinPack, placement.Spread, placement.First})
	s.st = gang.Strategies{GPU: strategy.Draw(t, "gpu"), CPUOnly: strategy.Draw(t, "cpu only")}
	s.whole = s.drawConstraint(t, 60)
	if rapid.Bool().Draw(t, "grouped") {
		s.groups = []gang.Group{{Parent: -1, Constraint: s.drawConstraint(t, 40)}}
	}
	tasks, grouped := int32(0), false
	for k := range rapid.IntRange(1, 3).Draw(t, "sets") {
		n := rapid.SampledFrom([]int32{1, 2, 3, 4}).Draw(t, "tasks")
		if tasks += n; tasks > 6 {
			break
		}
		set := asking(s.x, n, n, whole(rapid.SampledFrom([]int32{1, 1, 2, 0}).Draw(t, "asks"), int64(rapid.IntRange(0, 2).Draw(t, "asks cpu"))))
		set.Parent = -1
		if len(s.groups) > 0 && (k == 0 || rapid.Bool().Draw(t, "in the group")) {
			set.Parent, grouped = 0, true
		}
		set.Constraint = s.drawConstraint(t, 50)
		set.Constraint.Slices = s.drawSlices(t)
		s.sets = append(s.sets, set)
	}
	if !grouped {
		s.groups = nil
	}
	if s.g, err = gang.NewWithin(s.whole, s.sets, s.groups); err != nil {
		t.Fatal(err)
	}
	s.drawHeld(t)
	return s
}

// drawConstraint draws one that asks for nothing in so many of a hundred.
func (s *scene) drawConstraint(t *rapid.T, none int) (c gang.Constraint) {
	if rapid.IntRange(0, 99).Draw(t, "asks for nothing") < none {
		return c
	}
	c.Required = placement.Level(rapid.IntRange(0, s.levels+1).Draw(t, "required"))
	if rapid.Bool().Draw(t, "prefers") {
		c.Preferred = placement.Level(rapid.IntRange(int(c.Required), s.levels+1).Draw(t, "preferred"))
		c.Mode = rapid.SampledFrom([]gang.Mode{gang.Pack, gang.Balance, gang.Spread}).Draw(t, "mode")
	}
	return c
}

func (s *scene) drawSlices(t *rapid.T) (list []gang.Slice) {
	level := placement.Level(1)
	for _, size := range rapid.SampledFrom([][]int32{nil, nil, {2}, {3}, {4, 2}, {2, 1}}).Draw(t, "slices") {
		level = placement.Level(rapid.IntRange(int(level), s.levels+1).Draw(t, "slice level"))
		list = append(list, gang.Slice{Size: size, Level: level})
	}
	return list
}

// drawHeld has some of the gang's tasks run, and others of nobody in particular.
func (s *scene) drawHeld(t *rapid.T) {
	node := rapid.Int32Range(0, int32(len(s.names))-1)
	for range rapid.IntRange(0, 2).Draw(t, "others") {
		shape := s.sets[0].Shape
		if p, ok := s.x.PlaceOn(shape, node.Draw(t, "node"), placement.First); ok && s.x.Take(shape, p) != nil {
			t.Fatal("does not take what it offers")
		}
	}
	some := rapid.IntRange(0, 3).Draw(t, "some are held") == 0
	for k := range s.sets {
		var rest []int32
		for index := range s.sets[k].Count {
			if some && rapid.Bool().Draw(t, "held") {
				v := node.Draw(t, "node")
				if p, ok := s.x.PlaceOn(s.sets[k].Shape, v, placement.First); ok && s.x.Take(s.sets[k].Shape, p) == nil {
					s.siblings.Held = append(s.siblings.Held, gang.Held{Set: int32(k), Index: index, Node: v})
					continue
				}
			}
			rest = append(rest, index)
		}
		s.siblings.Indices = append(s.siblings.Indices, rest)
		s.unit.Add = append(s.unit.Add, int32(len(rest)))
	}
}

// together says whether nodes are in one domain of a level, by names.
func (s *scene) together(a, b int32, level placement.Level) bool {
	switch {
	case level == 0:
		return true
	case int(level) > s.levels:
		return a == b
	}
	return s.names[a][level-1] != "" && slices.Equal(s.names[a][:level], s.names[b][:level])
}

// obeys says whether tasks that are held and those that are added keep all that is
// required of what added has tasks of; of everything where strict is set.
func (s *scene) obeys(held, added []gang.Held, strict bool) bool {
	all := slices.Concat(held, added)
	keeps := func(level placement.Level, of func(h gang.Held) bool) bool {
		if !strict && !slices.ContainsFunc(added, of) {
			return true
		}
		first := slices.IndexFunc(all, of)
		for _, h := range all {
			if of(h) && !s.together(all[first].Node, h.Node, level) {
				return false
			}
		}
		return true
	}
	if !keeps(s.whole.Required, func(gang.Held) bool { return true }) {
		return false
	}
	for i := range s.groups {
		if !keeps(s.groups[i].Constraint.Required, func(h gang.Held) bool { return s.sets[h.Set].Parent == int32(i) }) {
			return false
		}
	}
	for k := range s.sets {
		c := &s.sets[k].Constraint
		if !keeps(c.Required, func(h gang.Held) bool { return h.Set == int32(k) }) {
			return false
		}
		for _, cut := range c.Slices {
			for index := int32(0); index < s.sets[k].Count; index += cut.Size {
				if !keeps(cut.Level, func(h gang.Held) bool { return h.Set == int32(k) && h.Index/cut.Size == index/cut.Size }) {
					return false
				}
			}
		}
	}
	return true
}

// missing lists the tasks of the unit, on no node yet.
func (s *scene) missing() (tasks []gang.Held) {
	for k, rest := range s.siblings.Indices {
		for _, index := range rest {
			tasks = append(tasks, gang.Held{Set: int32(k), Index: index, Node: -1})
		}
	}
	return tasks
}

// possible tries all nodes for all tasks.
func (s *scene) possible(added, tasks []gang.Held) bool {
	if len(tasks) == 0 {
		return true
	}
	for v := range int32(len(s.names)) {
		h := tasks[0]
		h.Node = v
		more := append(slices.Clone(added), h)
		shape := s.sets[h.Set].Shape
		p, ok := s.x.PlaceOn(shape, v, placement.First)
		if !ok || !s.obeys(s.siblings.Held, more, false) {
			continue
		}
		mark := s.x.Mark()
		found := s.x.Take(shape, p) == nil && s.possible(more, tasks[1:])
		s.x.Undo(mark)
		if found {
			return true
		}
	}
	return false
}

// rooms is what every node takes of every set.
func (s *scene) rooms() (out []int) {
	for k := range s.sets {
		for v := range s.names {
			out = append(out, s.x.RoomOn(s.sets[k].Shape, int32(v)))
		}
	}
	return out
}

func (s *scene) String() string {
	return fmt.Sprintf("names %q, rooms %v, whole %+v, groups %+v, sets %+v, held %+v, add %v", s.names, s.rooms(), s.whole, s.groups, s.sets, s.siblings.Held, s.unit.Add)
}

// added are the tasks of the unit on the nodes that they were given.
func (s *scene) added(places []placement.Place) []gang.Held {
	tasks := s.missing()
	for i := range tasks {
		tasks[i].Node = places[i].Node
	}
	return tasks
}

// T2, T3, T6: what is placed keeps what is required together, by names, with what is
// held; what is refused changes nothing, and is impossible by brute force or says
// that the search was cut; the same is always done.
func TestPlaceWithSiblings(t *testing.T) {
	placed, refused, cut, pinned := 0, 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		before, text := s.rooms(), s.String()
		possible := s.possible(nil, s.missing())
		mark := s.x.Mark()
		places, v := s.placer.PlaceWithSiblings(s.x, s.g, s.unit, s.siblings, s.st, nil)
		switch {
		case v.OK && !s.obeys(s.siblings.Held, s.added(places), false):
			t.Fatalf("T2: %v is against what is required: %s", places, text)
		case v.OK && !possible:
			t.Fatalf("brute force does not find %v: %s", places, text)
		case v.OK:
			placed++
			if len(s.siblings.Held) > 0 {
				pinned++
			}
		case len(places) > 0 || !slices.Equal(s.rooms(), before):
			t.Fatalf("G1: a refusal changes the index or returns %v: %s", places, text)
		case v.Cut || v.Kind == gang.NoPlace: // which prove nothing for several shapes
			cut++
		case possible:
			t.Fatalf("T2: refused (%+v), brute force finds places: %s", v, text)
		default:
			refused++
		}
		s.x.Undo(mark)
		again, w := (&gang.Placer{Topology: s.tree, LeastFreeFirst: s.placer.LeastFreeFirst}).PlaceWithSiblings(s.x, s.g, s.unit, s.counted(), s.st, nil)
		if w != v || !slices.Equal(again, places) {
			t.Fatalf("once %v %+v, then %v %+v: %s", places, v, again, w, text)
		}
	})
	t.Logf("%d placed, %d of them with siblings, %d refused, %d cut short", placed, pinned, refused, cut)
	if placed == 0 || refused == 0 || pinned == 0 {
		t.Error("the scenes do not differ")
	}
}

// counted are the siblings of which every second one is counted already.
func (s *scene) counted() gang.Siblings {
	out := gang.Siblings{Standing: gang.NewStanding(s.tree, s.g), Indices: s.siblings.Indices}
	for i, h := range s.siblings.Held {
		if i%2 == 0 {
			out.Standing.Add(h)
		} else {
			out.Held = append(out.Held, h)
		}
	}
	return out
}

// Obeyed is what names say of what is held.
func TestObeyed(t *testing.T) {
	kept, broken := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		node := rapid.Int32Range(0, int32(len(s.names))-1)
		var held []gang.Held
		for _, h := range append(s.missing(), s.siblings.Held...) {
			if h.Node = node.Draw(t, "node"); rapid.Bool().Draw(t, "held") {
				held = append(held, h)
			}
		}
		want := s.obeys(held, nil, true)
		if got := s.placer.Obeyed(s.g, held); got != want {
			t.Fatalf("T2: Obeyed = %v of %+v: %s", got, held, s)
		}
		if want {
			kept++
		} else {
			broken++
		}
	})
	if kept == 0 || broken == 0 {
		t.Errorf("%d kept, %d broken", kept, broken)
	}
}

// M8: a search that is made again under the bound of the question in which it was made comes to
// the same end, whatever has been spent before and since: so what was found can be carried out.
func TestFoundAgainUnderItsBound(t *testing.T) {
	cut := 0
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		spend := rapid.IntRange(0, 400)
		effort := placement.NewEffort(int64(rapid.IntRange(1, 800).Draw(t, "most")))
		s.placer.Effort = effort
		search := func() ([]placement.Place, gang.Verdict) {
			defer s.x.Undo(s.x.Mark())
			return s.placer.PlaceWithSiblings(s.x, s.g, s.unit, s.siblings, s.st, nil)
		}
		effort.Spend(spend.Draw(t, "spent before"))
		question := effort.Ask()
		bound := effort.Bound()
		effort.Spend(spend.Draw(t, "spent in the question"))
		places, verdict := search()
		effort.Answered(question)
		if effort.Cut() {
			cut++
		}
		effort.Spend(spend.Draw(t, "spent since"))
		defer effort.Answered(effort.Again(bound))
		if again, told := search(); !slices.Equal(again, places) || told != verdict {
			t.Fatalf("found %v, %+v, and then %v, %+v", places, verdict, again, told)
		}
	})
	if cut == 0 {
		t.Error("no search was bounded by what the question may cost")
	}
}
