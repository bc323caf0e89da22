package adversary_test

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
	"github.com/allotsched/allot/verify"
)

// A longShape is a shape of states that is long in one of their lists. What it costs is told by the bytes
// that are allocated, as they are the same on every machine: of twice the shape they are not much more
// than twice as many.
type longShape struct {
	name  string
	n     int
	build func(n int) *allot.State
	do    []string // which of the costs
}

const elasticShape = "an elastic workload of many tasks"

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
	}, []string{"check", "solve"}},
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
	}, []string{"check", "solve", "snapshot"}},
	{elasticShape, 100, func(n int) *allot.State {
		s := &allot.State{
			Nodes: []allot.Node{{ID: "n", Capacity: map[string]int64{"cpu": int64(n)}}},
			Pools: []allot.Pool{{ID: "p", Policy: allot.RunAI()}},
		}
		one := allot.Request{Resources: map[string]int64{"cpu": 1}}
		s.Workloads = []allot.Workload{{ID: "w", PodSets: []allot.PodSet{{Count: n, Min: 1, Request: one}}}}
		return s
	}, []string{"check", "solve"}},
	{"reservations of devices of one level", 25, func(n int) *allot.State {
		now := time.Unix(1_700_000_000, 0).UTC()
		s := &allot.State{Now: now, Pools: []allot.Pool{{ID: "p", Policy: allot.RunAI()}}}
		for i := range n {
			id := fmt.Sprintf("%04d", i)
			s.Nodes = append(s.Nodes, allot.Node{ID: id, Devices: make([]allot.Device, 4)})
			s.Reservations = append(s.Reservations, allot.Reservation{
				ID: id, From: now.Add(time.Hour), Until: now.Add(2 * time.Hour), Workloads: []string{id}, Nodes: []allot.ReservedNode{{Node: "0000", Devices: []int{i % 4}}},
			})
			s.Workloads = append(s.Workloads, allot.Workload{ID: id, PodSets: []allot.PodSet{{Count: 1, Request: allot.Request{GPU: allot.GPURequest{Count: 1}}}}})
		}
		for i := range s.Reservations { // one after the other
			r := &s.Reservations[i]
			r.From, r.Until = r.From.Add(time.Duration(i)*time.Hour), r.Until.Add(time.Duration(i)*time.Hour)
		}
		return s
	}, []string{"check", "verify"}},
}

// costs are what is done with a state.
var costs = map[string]func(s *allot.State) error{
	"check":    allot.Check,
	"solve":    func(s *allot.State) error { _, err := allot.Solve(s); return err },
	"snapshot": decideAnew,
	"verify": func(s *allot.State) error {
		plan, err := allot.Solve(s)
		return errors.Join(err, verify.Plan(s, plan))
	},
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
		for _, name := range shape.do {
			do := costs[name]
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

// TestFiguresAreBounded: a state that has many more pairs of a queue and a resource than it names of
// either is refused, told where (V1), and one of few resources never is, however many its queues are.
func TestFiguresAreBounded(t *testing.T) {
	t.Parallel()
	queues := func(n, resources int) *allot.State {
		s := new(allot.State)
		for i := range n {
			s.Queues = append(s.Queues, allot.Queue{ID: fmt.Sprint("q", i), Resources: []allot.QueueResource{
				{Resource: fmt.Sprint("r", i%resources), Quota: quota.Of(1)},
			}})
		}
		return s
	}
	for _, lawful := range []*allot.State{queues(1000, 1000), queues(20_000, 60)} {
		if err := allot.Check(lawful); err != nil {
			t.Error(err)
		}
	}
	const told = "allot: invalid: queues: must come to at most 1048576 of these, is 1211100 pairs of a queue and a resource"
	if err := allot.Check(queues(1100, 1100)); err == nil || err.Error() != told {
		t.Errorf("%v; want %s", err, told)
	}
	snapshot, err := allot.NewSnapshot(queues(1020, 1020))
	if err != nil {
		t.Fatal(err)
	}
	more := queues(1100, 1100).Queues[1020:]
	if _, err := snapshot.With(allot.Change{Queues: more}); err == nil {
		t.Error("a change may add what Check refuses")
	}
	asks := make(map[string]int64)
	for i := range 20 {
		asks[fmt.Sprint("asked", i)] = 1
	}
	one := allot.Workload{ID: "w", Queue: "q0", PodSets: []allot.PodSet{{Count: 1, Request: allot.Request{Resources: asks}}}}
	if _, err := snapshot.With(allot.Change{Workloads: []allot.Workload{one}}); err == nil {
		t.Error("a change of a workload may add what Check refuses")
	}
}

// TestElasticIsToldTaskByTask: as a workload grows task by task on a snapshot, what is known of its other tasks is
// read, and not told anew: that allocates more than this for each pair of them.
func TestElasticIsToldTaskByTask(t *testing.T) {
	const n, mostOfPair = 400, 250
	for _, shape := range longShapes {
		if shape.name != elasticShape {
			continue
		}
		s := shape.build(n)
		if err := decideAnew(s); err != nil {
			t.Fatal(err)
		}
		if got := allocated(func() { _ = decideAnew(s) }); got > mostOfPair*n*n {
			t.Errorf("%d bytes, which is %d for each pair of %d tasks", got, got/(n*n), n)
		}
		return
	}
	t.Error("there is no such shape")
}
