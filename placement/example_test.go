package placement_test

import (
	"fmt"

	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// Two nodes of four GPUs and 32 cores; one resource, CPU in millicores.
func ExampleIndex() {
	node := placement.Node{
		Capacity: []int64{32_000}, Devices: make([]placement.Device, 4),
		Slots: placement.NoCap, CPUOnlySlots: placement.NoCap,
	}
	x, err := placement.NewIndex([]placement.Node{node, node}, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	pair := x.Shape(placement.Request{Devices: 2, Set: -1, Amounts: quota.Amounts{{Resource: 0, Value: 8_000}}})
	half := x.Shape(placement.Request{Devices: 1, Milli: 500, Set: -1})

	mark := x.Mark()
	for _, shape := range []placement.Shape{pair, half, half, half, pair, pair} {
		place, ok := x.Find(shape, placement.BinPack)
		if !ok {
			miss := x.Reject(shape).Nearest
			fmt.Printf("no place: node %d fails %v, has %d of %d\n", miss.Node, miss.Predicate, miss.Have, miss.Need)
			break
		}
		if err := x.Take(shape, place); err != nil {
			fmt.Println(err)
		}
		fmt.Printf("node %d devices %04b\n", place.Node, place.Devices)
	}
	x.Undo(mark) // all or nothing
	fmt.Println(x.Free(-1).Milli, "milli-GPU free")
	// Output:
	// node 0 devices 0011
	// node 0 devices 0100
	// node 0 devices 0100
	// node 0 devices 1000
	// node 1 devices 0011
	// node 1 devices 1100
	// 8000 milli-GPU free
}

func ExampleIndex_Reject() {
	node := placement.Node{
		Devices: make([]placement.Device, 2), Slots: placement.NoCap, CPUOnlySlots: placement.NoCap,
	}
	x, err := placement.NewIndex([]placement.Node{node, node}, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	most := x.Shape(placement.Request{Devices: 1, Milli: 700, Set: -1})
	for range 4 {
		place, _ := x.Find(most, placement.Spread)
		if err := x.Take(most, place); err != nil {
			fmt.Println(err)
		}
	}
	half := x.Shape(placement.Request{Devices: 1, Milli: 500, Set: -1})
	rejection := x.Reject(half)
	fmt.Println(rejection.Counts[0].Nodes, rejection.Counts[0].Predicate, "ever:", rejection.Ever)
	// Output: 2 fragmented ever: true
}

func ExampleSelector() {
	selector := placement.Selector{
		Labels: map[string]string{"zone": "a"},
		Expressions: []placement.Expression{
			{Key: "memory-gib", Operator: placement.Gt, Values: []string{"500"}},
			{Key: "spot", Operator: placement.DoesNotExist},
		},
	}
	fmt.Println(selector.Matches(map[string]string{"zone": "a", "memory-gib": "1024"}))
	fmt.Println(selector.Matches(map[string]string{"zone": "a", "memory-gib": "1024", "spot": ""}))
	// Output:
	// true
	// false
}

// What parts are worth to a mix bounds what any placement can hold: six of 0.6, two of
// 0.4 and three halves are 5.9 devices by their milli, but need seven and a half.
func ExampleDeviceWorth() {
	sizes, counts := []int64{400, 500, 600}, []int64{2, 3, 6}
	worth, unit, _ := placement.DeviceWorth(sizes, counts)
	all := int64(0)
	for i, size := range sizes {
		fmt.Printf("%d of %d milli, each worth %d/%d of a device\n", counts[i], size, worth[size], unit)
		all += counts[i] * worth[size]
	}
	fmt.Printf("at least %d/%d devices\n", all, unit)
	// Output:
	// 2 of 400 milli, each worth 0/2 of a device
	// 3 of 500 milli, each worth 1/2 of a device
	// 6 of 600 milli, each worth 2/2 of a device
	// at least 15/2 devices
}
