package queue_test

import (
	"fmt"

	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// Three queues below, at and above their due wait for one GPU each (O2 (a)).
func ExampleQueues() {
	tree, err := quota.New(quota.Config{
		Capacity: []int64{15},
		Queues: []quota.Queue{
			{Parent: -1, Bounds: []quota.Bounds{{Quota: quota.Of(0)}}},
			{Parent: -1, Bounds: []quota.Bounds{{Quota: quota.Of(1)}}},
			{Parent: -1, Bounds: []quota.Bounds{{Quota: quota.Of(9)}}},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	one := quota.Amounts{{Resource: 0, Value: 1}}
	for leaf, use := range []int64{2, 2, 8} {
		if err := tree.Charge(leaf, quota.Amounts{{Resource: 0, Value: use}}, false); err != nil {
			fmt.Println(err)
			return
		}
	}
	config := queue.Config{
		Tree:    tree,
		Shares:  []int64{2, 3, 9},
		Divided: []bool{true},
		Created: []int64{0, 0, 0},
		Request: func(queue.Item) quota.Amounts { return one },
	}
	if err := config.Validate(); err != nil {
		fmt.Println(err)
		return
	}
	queues := queue.New(config)
	for leaf := range 3 {
		queues.Fill(leaf, []queue.Item{{ID: int32(leaf)}})
	}
	for leaf, item, ok := queues.Best(); ok; leaf, item, ok = queues.Best() {
		fmt.Printf("queue %d starts workload %d\n", leaf, item.ID)
		queues.Remove(leaf, item)
		if err := tree.Charge(leaf, one, false); err != nil {
			fmt.Println(err)
			return
		}
		queues.Touch(leaf)
	}
	// Output:
	// queue 2 starts workload 2
	// queue 1 starts workload 1
	// queue 0 starts workload 0
}

// An elastic workload's extra task stands behind the minimum of its equals, but
// before that of a lower priority (O1, G2).
func ExampleItem_Compare() {
	extra := queue.Item{ID: 0, Priority: 50, Stage: queue.AtMinimum, Submitted: 1}
	equal := queue.Item{ID: 1, Priority: 50, Submitted: 2}
	lower := queue.Item{ID: 2, Priority: 40, Submitted: 0}
	fmt.Println(equal.Compare(extra), extra.Compare(lower), extra.Compare(extra))
	// Output: -1 -1 0
}

// Orders have text forms, for policies in JSON.
func ExampleOrder_UnmarshalText() {
	var order queue.Order
	fmt.Println(order)
	err := order.UnmarshalText([]byte("deprived"))
	fmt.Println(order, err)
	fmt.Println(order.UnmarshalText([]byte("random")))
	// Output:
	// fair-share
	// deprived <nil>
	// queue: no such order: "random": there is fair-share, priority-first, global, deprived, share-then-age
}
