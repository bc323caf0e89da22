package adversary_test

import (
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/placement"
)

// A shape of states that is long in one of their lists. What it costs is told by the bytes that are
// allocated, as they are the same on every machine: of twice the shape they are not much more than
// twice as many.
type longShape struct {
	name  string
	n     int
	build func(n int) *allot.State
}

var longShapes = []longShape{
	{"pools with a resource each", 100, func(n int) *allot.State {
		s := new(allot.State)
		for i := range n {
			id := fmt.Sprintf("%04d", i)
			s.Nodes = append(s.Nodes, allot.Node{ID: id, Capacity: map[string]int64{id: 1}})
			s.Pools = append(s.Pools, allot.Pool{ID: id, Nodes: allot.NodeSet{IDs: []string{id}}})
			s.Workloads = append(s.Workloads, allot.Workload{ID: id, Pool: id, PodSets: []allot.PodSet{{Count: 1, Request: allot.Request{Resources: map[string]int64{id: 1}}}}})
		}
		return s
	}},
	{"pools with a label each", 100, func(n int) *allot.State {
		s := new(allot.State)
		for i := range n {
			id := fmt.Sprintf("%04d", i)
			s.Nodes = append(s.Nodes, allot.Node{ID: id, Labels: map[string]string{"all": "same", "pool": id}})
			demands := []placement.Selector{
				{Labels: map[string]string{"all": "same", "pool": id}},
				{Expressions: []placement.Expression{{Key: "pool", Operator: placement.In, Values: []string{id}}}},
			}
			s.Pools = append(s.Pools, allot.Pool{ID: id, Nodes: allot.NodeSet{Selector: &demands[i%2]}})
		}
		return s
	}},
}

// allocated is how many bytes f allocates.
func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// TestLongShapesGrowSlowly: nothing of a state is looked at for each of everything else.
func TestLongShapesGrowSlowly(t *testing.T) {
	for _, shape := range longShapes {
		for name, do := range map[string]func(s *allot.State) error{
			"check":    allot.Check,
			"solve":    func(s *allot.State) error { _, err := allot.Solve(s); return err },
			"snapshot": decideAnew,
		} { // each for itself: order cannot matter
			cost := func(n int) int64 {
				s := shape.build(n)
				if err := do(s); err != nil {
					t.Fatal(shape.name, name, err)
				}
				return allocated(func() { _ = do(s) })
			}
			once, twice, four := cost(shape.n), cost(2*shape.n), cost(4*shape.n)
			if grown := four - twice; grown > (twice-once)*26/10 {
				t.Errorf("%s, %s: %d bytes, of twice as long %d, of four times as long %d", shape.name, name, once, twice, four)
			}
		}
	}
}

// decideAnew decides on the first version of a state.
func decideAnew(s *allot.State) error {
	snapshot, err := allot.NewSnapshot(s)
	if err == nil {
		_, err = snapshot.Decide()
	}
	return err
}

// TestFaultsAreInProportion: pools that all have the same nodes are told once for each node (V1).
func TestFaultsAreInProportion(t *testing.T) {
	t.Parallel()
	s := new(allot.State)
	for i := range 100 {
		s.Nodes = append(s.Nodes, allot.Node{ID: fmt.Sprint("n", i)})
		s.Pools = append(s.Pools, allot.Pool{ID: fmt.Sprint("p", i)})
	}
	var invalid *allot.InvalidError
	if err := allot.Check(s); !errors.As(err, &invalid) || len(invalid.Faults) != len(s.Nodes) {
		t.Errorf("%v; want a fault for each node", err)
	}
}
