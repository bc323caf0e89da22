package sample

import (
	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// World is a node of three devices, a queue that may use it, and two workloads that wait for two
// devices each. Each call makes one of its own.
func World() *cluster.World {
	nodes := []placement.Node{{Devices: make([]placement.Device, 3), Slots: 8, CPUOnlySlots: 8}}
	index, err := placement.NewIndex(nodes, 0)
	if err != nil {
		panic(err)
	}
	tree, err := quota.New(quota.Config{
		Capacity: []int64{3000}, CapOnly: []bool{false},
		Queues: []quota.Queue{{Parent: -1, Bounds: make([]quota.Bounds, 1)}},
	})
	if err != nil {
		panic(err)
	}
	request := placement.Request{Set: -1, Devices: 2, Milli: cluster.WholeDevice}
	charge := quota.Amounts{{Resource: 0, Value: 2 * cluster.WholeDevice}}
	shape := cluster.Shape{Placed: index.Shape(request), Request: request, Charge: charge, GPUs: 2}
	pair, err := gang.NewWithin(gang.Constraint{}, []gang.Set{{
		Shape: shape.Placed, Devices: 2, Amounts: charge, Count: 1, Min: 1, Submitted: 1, Parent: -1,
	}}, nil)
	if err != nil {
		panic(err)
	}
	unit, verdict := pair.First(nil)
	p := &cluster.Pool{
		Nodes: []int32{0}, Width: 1, Plain: 1, Numbers: []int32{0}, Capacity: []int64{3000},
		Parent: []int32{-1}, IsLeaf: []bool{true}, NodeSet: []int32{-1}, Reach: []int32{-1}, Runtimes: make([]cluster.MinRuntime, 1),
		Queueing: make([]cluster.Queueing, 1),
		Created:  []int64{0}, Tiers: []int32{0}, Weights: []int64{1}, Granules: []int64{cluster.WholeDevice},
		Tree: tree, Placed: nodes, Index: index, Works: []int32{0, 1},
		Definitions: []cluster.Definition{{
			Gang: pair, Sets: []cluster.Shape{shape}, Counts: []int32{1}, GPU: true,
			Unit: unit, Verdict: verdict, Asks: charge, Demand: charge,
		}},
	}
	return &cluster.World{
		Pools: []*cluster.Pool{p}, NodePool: []int32{0}, Position: []int32{0}, Nodes: make([]cluster.Node, 1),
		Works: []cluster.Work{{Live: -1, Rare: cluster.Nothing}, {Live: -1, Rare: cluster.Nothing}},
	}
}
