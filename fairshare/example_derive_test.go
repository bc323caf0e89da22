package fairshare_test

import (
	"fmt"

	"github.com/allotsched/allot/fairshare"
)

// Of 20 that quotas leave, weights of 2, 3 and 1 divide what the third does not
// want.
func ExampleDerive() {
	asks := func(n int64) fairshare.Demand { return fairshare.Demand{Preemptible: n} }
	list, err := fairshare.Derive(fairshare.TreeConfig{Capacity: 26, Queues: []fairshare.Queue{
		{Parent: -1, Limit: fairshare.Unlimited, Weight: 2, Demand: asks(40)},
		{Parent: -1, Limit: fairshare.Unlimited, Weight: 3, Demand: asks(40), Quota: 6},
		{Parent: -1, Limit: fairshare.Unlimited, Weight: 1, Demand: asks(1)},
	}}, 1)
	if err != nil {
		panic(err)
	}
	d := list[0]
	fmt.Println(d.Capacity, "less quota parts of", d.QuotaParts, "leaves", d.Surplus)
	for _, m := range d.Members {
		fmt.Println(m.Queue, "weight", m.Weight, "gets", m.QuotaPart, "+", m.SurplusPart, m.End)
	}
	// Output:
	// 26 less quota parts of 6 leaves 20
	// 0 weight 2 gets 0 + 8 outbid
	// 1 weight 3 gets 6 + 11 outbid
	// 2 weight 1 gets 0 + 1 satisfied
}
