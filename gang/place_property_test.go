package gang_test

import (
	"slices"
	"testing"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// A yard is a small cluster, partly in use, with a gang that wants in.
type yard struct {
	nodes []placement.Node
	x     *placement.Index
	sets  []gang.Set
	// exact: of no set can the order or the choice of places matter to itself,
	// that is, none asks fractions of several devices.
	exact bool
}

func (y yard) shapes() []placement.Shape {
	var out []placement.Shape
	for _, s := range y.sets {
		out = append(out, s.Shape)
	}
	return out
}

func drawYard(t *rapid.T) yard {
	var y yard
	for range rapid.IntRange(1, 3).Draw(t, "nodes") {
		devices := rapid.IntRange(0, 3).Draw(t, "devices")
		y.nodes = append(y.nodes, machine(devices, int64(rapid.IntRange(0, 4).Draw(t, "cpu"))))
	}
	var err error
	if y.x, err = placement.NewIndex(y.nodes, 1); err != nil {
		t.Fatal(err)
	}
	for range rapid.IntRange(0, 2).Draw(t, "used") {
		s := y.x.Shape(drawRequest(t))
		if p, ok := y.x.Find(s, placement.Spread); ok {
			if err := y.x.Take(s, p); err != nil {
				t.Fatal(err)
			}
		}
	}
	y.exact = true
	tasks := 0
	for len(y.sets) < 3 && tasks < 5 && (tasks == 0 || rapid.Bool().Draw(t, "more")) {
		r := drawRequest(t)
		n := int32(rapid.IntRange(1, 5-tasks).Draw(t, "count"))
		s := asking(y.x, n, n, r)
		y.sets = append(y.sets, s)
		tasks += int(n)
		y.exact = y.exact && (r.Devices < 2 || r.Milli == 1000)
	}
	return y
}

func drawRequest(t *rapid.T) placement.Request {
	r := whole(int32(rapid.SampledFrom([]int{1, 2, 0, 1, 3}).Draw(t, "ask")), int64(rapid.IntRange(0, 2).Draw(t, "ask cpu")))
	r.Milli = rapid.SampledFrom([]int64{1000, 500, 300}).Draw(t, "milli")
	return r
}

// canPlace tries every way to place tasks of the shapes, given one after the
// other and alike ones adjacent; places of alike tasks ascend.
func (y yard) canPlace(tasks []placement.Shape, from int) bool {
	if len(tasks) == 0 {
		return true
	}
	all := 0
	for v := range y.nodes {
		for mask := range uint64(1) << len(y.nodes[v].Devices) {
			all++
			p := placement.Place{Node: int32(v), Devices: mask}
			if all <= from || !y.x.Fits(tasks[0], p) {
				continue
			}
			mark := y.x.Mark()
			if y.x.Take(tasks[0], p) != nil {
				return false
			}
			next := 0
			if len(tasks) > 1 && tasks[1] == tasks[0] {
				next = all - 1
			}
			found := y.canPlace(tasks[1:], next)
			y.x.Undo(mark)
			if found {
				return true
			}
		}
	}
	return false
}

// TestAllOrNothing (G1, G4): Place gives every task a place that it fits, one
// after the other in listed order, or leaves the index as it was. It finds a
// place for a gang of one shape whenever there is one, and never one where
// there is none; the gap for gangs of several shapes is counted.
func TestAllOrNothing(t *testing.T) {
	placed, failed, retried, gap := 0, 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		y := drawYard(t)
		g, err := gang.New(y.sets, nil)
		if err != nil {
			t.Fatal(err)
		}
		var tasks []placement.Shape
		for _, s := range y.sets {
			tasks = append(tasks, slices.Repeat([]placement.Shape{s.Shape}, int(s.Count))...)
		}
		slices.Sort(tasks)
		possible := y.canPlace(tasks, 0)
		before := fingerprint(y.x, y.nodes, y.shapes()...)
		st := gang.Strategies{
			GPU:     rapid.SampledFrom([]placement.Strategy{placement.BinPack, placement.Spread, placement.First}).Draw(t, "gpu"),
			CPUOnly: rapid.SampledFrom([]placement.Strategy{placement.BinPack, placement.Spread}).Draw(t, "cpu-only"),
		}
		unit, _ := g.First(nil)
		mark := y.x.Mark()
		places, v := new(gang.Placer).Place(y.x, g, unit, st, nil)
		checkPlacing(t, y, g, unit, places, v)
		switch {
		case v.OK && !possible:
			t.Fatalf("placed what has no place: %+v %v", y.sets, places)
		case !v.OK && possible && y.exact && len(slices.Compact(tasks)) == 1:
			t.Fatalf("one shape, and its place was not found: %+v %+v", y.sets, v)
		case !v.OK && possible:
			gap++
		}
		if v.OK {
			placed++
			y.x.Undo(mark)
			checkReplay(t, y, places)
		} else {
			failed++
			y.x.Commit(mark)
		}
		if v.Orders > 1 {
			retried++
		}
		if diff := cmp.Diff(before, fingerprint(y.x, y.nodes, y.shapes()...)); diff != "" {
			t.Fatalf("the index has changed: %s", diff)
		}
	})
	t.Logf("%d placed, %d failed, %d in several orders; %d had a place that was not found", placed, failed, retried, gap)
	if total := placed + failed; placed*10 < total || failed*10 < total || retried == 0 || gap*50 > total {
		t.Error("the generator covers too little, or the gap is too large")
	}
}

// checkPlacing holds a verdict's numbers against the unit.
func checkPlacing(t *rapid.T, y yard, g *gang.Gang, unit gang.Unit, places []placement.Place, v gang.Verdict) {
	if v.Needed != unit.Tasks() || v.Orders < 0 || v.Orders > gang.MaxOrders {
		t.Fatalf("%+v of %d tasks", v, unit.Tasks())
	}
	if v.OK {
		if len(places) != int(v.Needed) || v.Placed != v.Needed || v.Kind != gang.None {
			t.Fatalf("%+v with %d places", v, len(places))
		}
		return
	}
	if len(places) != 0 || v.Placed >= v.Needed || v.Have >= v.Need {
		t.Fatalf("%+v with %d places", v, len(places))
	}
	if v.Kind == gang.TooFew && y.x.Candidates(g.Set(int(v.Set)).Shape) != int(v.Have) {
		t.Fatalf("%+v", v)
	}
	if (v.Kind == gang.NoPlace) != (v.Orders > 0) {
		t.Fatalf("%+v", v)
	}
}

// checkReplay places the tasks again, in listed order, and takes them back.
func checkReplay(t *rapid.T, y yard, places []placement.Place) {
	mark := y.x.Mark()
	defer y.x.Undo(mark)
	for _, s := range y.sets {
		for range s.Count {
			if !y.x.Fits(s.Shape, places[0]) {
				t.Fatalf("%+v does not fit at %v", s, places[0])
			}
			if err := y.x.Take(s.Shape, places[0]); err != nil {
				t.Fatal(err)
			}
			places = places[1:]
		}
	}
}
