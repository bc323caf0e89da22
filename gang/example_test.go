package gang_test

import (
	"fmt"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// A launcher and workers: four must run, two more are elastic.
func Example() {
	x, err := placement.NewIndex([]placement.Node{
		{Devices: make([]placement.Device, 4), Slots: placement.NoCap, CPUOnlySlots: placement.NoCap},
		{Devices: make([]placement.Device, 1), Slots: placement.NoCap, CPUOnlySlots: placement.NoCap},
	}, 0)
	if err != nil {
		panic(err)
	}
	launcher := x.Shape(placement.Request{Set: -1})
	worker := x.Shape(placement.Request{Devices: 1, Set: -1})
	g, err := gang.New([]gang.Set{
		{Shape: launcher, Count: 1, Min: 1, Submitted: 1, Parent: -1},
		{Shape: worker, Devices: 1, Count: 6, Min: 4, Submitted: 6, Parent: -1},
	}, nil)
	if err != nil {
		panic(err)
	}
	var placer gang.Placer
	held := make([]int32, g.Len())
	for {
		unit, verdict := g.First(held)
		if !verdict.OK {
			break
		}
		places, verdict := placer.Place(x, g, unit, gang.Strategies{}, nil)
		if !verdict.OK {
			fmt.Println(unit.Add, verdict.Kind, verdict.Placed, "of", verdict.Needed)
			break
		}
		fmt.Print(unit.Add, " on")
		for _, p := range places {
			fmt.Printf(" %d:%b", p.Node, p.Devices)
		}
		fmt.Println()
		for s, n := range unit.Add {
			held[s] += n
		}
	}
	// Output:
	// [1 4] on 0:0 1:1 0:1 0:10 0:100
	// [0 1] on 0:1000
	// [0 1] no-place 0 of 1
}

// One of two replicas is enough, each a leader and two or three workers.
func ExampleGang_Units() {
	leader := gang.Set{Count: 1, Min: 1, Submitted: 1}
	worker := gang.Set{Count: 3, Min: 2, Submitted: 3}
	sets := []gang.Set{leader, worker, leader, worker}
	for i, group := range []int32{1, 1, 2, 2} {
		sets[i].Parent = group
	}
	g, err := gang.New(sets, []gang.Group{{Parent: -1, Min: 1}, {Parent: 0}, {Parent: 0}})
	if err != nil {
		panic(err)
	}
	for _, held := range [][]int32{{0, 0, 0, 0}, {1, 2, 0, 0}, {0, 3, 0, 0}} {
		units, cut := g.Units(held, 10)
		fmt.Println(held, units, cut)
	}
	// Output:
	// [0 0 0 0] [{[1 2 0 0]}] false
	// [1 2 0 0] [{[0 0 1 2]} {[0 1 0 0]}] false
	// [0 3 0 0] [{[1 0 0 0]} {[0 0 1 2]}] false
}

func ExampleGang_First() {
	g, err := gang.New([]gang.Set{{Count: 8, Min: 4, Submitted: 3, Parent: -1}}, nil)
	if err != nil {
		panic(err)
	}
	_, v := g.First(nil)
	fmt.Printf("%v: set %d has %d of %d\n", v.Kind, v.Set, v.Have, v.Need)
	// Output:
	// not-submitted: set 0 has 3 of 4
}

// A Walk's buffers serve for any number of gangs.
func ExampleWalk() {
	size := func(n int32) gang.Set { return gang.Set{Count: n, Min: n, Submitted: n} }
	g, err := gang.New([]gang.Set{size(1), size(2), size(3)}, []gang.Group{{Parent: -1, Min: 2}})
	if err != nil {
		panic(err)
	}
	var w gang.Walk
	for w.Reset(g, nil, 2); ; {
		unit, ok := w.Next()
		if !ok {
			break
		}
		fmt.Println(unit.Add)
	}
	fmt.Println(w.Cut())
	// Output:
	// [1 2 0]
	// [1 0 3]
	// true
}

func ExampleGang_Amounts() {
	g, err := gang.New([]gang.Set{
		{Count: 1, Min: 1, Submitted: 1, Parent: -1, Amounts: quota.Amounts{{Resource: 0, Value: 2000}}},
		{Count: 4, Min: 4, Submitted: 4, Parent: -1, Amounts: quota.Amounts{{Resource: 0, Value: 500}, {Resource: 1, Value: 1000}}},
	}, nil)
	if err != nil {
		panic(err)
	}
	unit, _ := g.First(nil)
	amounts, err := g.Amounts(nil, unit)
	fmt.Println(amounts, err)
	// Output:
	// [{0 4000} {1 4000}] <nil>
}
