package quota_test

import (
	"encoding/json"
	"fmt"

	"github.com/allotsched/allot/quota"
)

// The worked example of the package page: quota, borrowing and lending.
func Example() {
	tree, err := quota.New(quota.Config{
		Capacity: []int64{8}, // one resource: GPUs
		Queues: []quota.Queue{
			{Parent: -1, Bounds: []quota.Bounds{{Quota: quota.Of(4)}}},
			{Parent: -1, Bounds: []quota.Bounds{{Quota: quota.Of(4), Lend: quota.Of(1)}}},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	const a, b = 0, 1
	gpus := func(n int64) quota.Amounts { return quota.Amounts{{Resource: 0, Value: n}} }
	ask := func(n int64, nonPreemptible bool) {
		if short, ok := tree.Check(a, gpus(n), nonPreemptible); ok {
			fmt.Printf("a may start %d\n", n)
		} else {
			fmt.Printf("a may not start %d: %v of queue %d leaves %d\n", short.Need, short.Kind, short.Queue, short.Have)
		}
	}
	if err := tree.Charge(a, gpus(4), true); err != nil {
		fmt.Println(err)
	}
	ask(1, true)
	ask(1, false)
	ask(2, false)
	if err := tree.Charge(b, gpus(2), false); err != nil {
		fmt.Println(err)
	}
	ask(1, false)
	ask(2, false)
	// Output:
	// a may not start 1: quota of queue 0 leaves 0
	// a may start 1
	// a may not start 2: kept-from-lending of queue 1 leaves 1
	// a may start 1
	// a may not start 2: kept-from-lending of queue 1 leaves 1
}

// A department of two projects: use counts in every queue of the path, and a
// trial is taken back.
func ExampleTree() {
	const department, train, serve = 0, 1, 2
	tree, err := quota.New(quota.Config{
		Capacity: []int64{16, 64}, // GPUs, cores
		Queues: []quota.Queue{
			department: {Parent: -1, Bounds: []quota.Bounds{{Limit: quota.Of(10)}}},
			train:      {Parent: department, Bounds: []quota.Bounds{{Quota: quota.Of(6)}}},
			serve:      {Parent: department, Bounds: []quota.Bounds{{Quota: quota.Of(2)}}},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("the department's quota is its projects':", tree.Quota(department, 0))
	fmt.Println("cores are under quota:", tree.Governed(1))

	gang := quota.Amounts{{Resource: 0, Value: 8}, {Resource: 1, Value: 32}}
	trial := tree.Mark()
	if err := tree.Charge(train, gang, false); err != nil {
		fmt.Println(err)
	}
	fmt.Printf("train: %+v\n", tree.Figures(train, 0))
	short, ok := tree.Check(serve, quota.Amounts{{Resource: 0, Value: 3}}, false)
	fmt.Printf("serve may start 3: %v, %v of queue %d leaves %d\n", ok, short.Kind, short.Queue, short.Have)
	tree.Undo(trial)
	fmt.Println("use after the trial:", tree.Use(department, 0), tree.Use(train, 1))
	fmt.Println("8 GPUs for train:", tree.Availability(train, gang, false))
	fmt.Println("3 GPUs for serve, never preempted:", tree.Availability(serve, quota.Amounts{{Resource: 0, Value: 3}}, true))
	// Output:
	// the department's quota is its projects': 8
	// cores are under quota: false
	// train: {Quota:6 Limit:9223372036854775807 Used:8 InQuota:6 OverQuota:2 NonPreemptible:0 Borrowed:2 Lent:0}
	// serve may start 3: false, limit of queue 0 leaves 2
	// use after the trial: 0 0
	// 8 GPUs for train: by-borrowing
	// 3 GPUs for serve, never preempted: never
}

// The three forms of a bound in JSON.
func ExampleBound() {
	var limits struct {
		Quota  quota.Bound `json:"quota,omitzero"`
		Limit  quota.Bound `json:"limit,omitzero"`
		Borrow quota.Bound `json:"borrow,omitzero"`
	}
	if err := json.Unmarshal([]byte(`{"quota": 2000, "limit": "unlimited"}`), &limits); err != nil {
		fmt.Println(err)
	}
	fmt.Println(limits.Quota, limits.Quota.Amount(), limits.Quota.Given())
	fmt.Println(limits.Limit, limits.Limit.Amount() == quota.Infinite, limits.Limit.Given())
	fmt.Printf("%q %v %v\n", limits.Borrow, limits.Borrow.Amount(), limits.Borrow.Given())
	out, err := json.Marshal(limits)
	fmt.Println(string(out), err)
	fmt.Println(json.Unmarshal([]byte(`{"quota": 1.5}`), &limits))
	// Output:
	// 2000 2000 true
	// unlimited true true
	// "" 0 false
	// {"quota":2000,"limit":"unlimited"} <nil>
	// quota: bound 1.5 is neither a whole number within int64 nor "unlimited"
}

// Amounts add up without floating point and without wrapping.
func ExampleAmounts_AddScaled() {
	task := quota.Amounts{{Resource: 0, Value: 1000}, {Resource: 2, Value: 64}}
	var gang quota.Amounts
	gang, err := gang.AddScaled(task, 4)
	fmt.Println(gang, err)
	_, err = gang.AddScaled(task, quota.MaxSum)
	fmt.Println(err)
	// Output:
	// [{0 4000} {2 256}] <nil>
	// quota: resource 0: overflow (1000)
}
