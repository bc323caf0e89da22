package fairshare_test

import (
	"fmt"

	"github.com/allotsched/allot/fairshare"
)

// Three projects share 40 GPUs, in milli-GPU and whole devices (F10).
func ExampleDivide() {
	projects := []fairshare.Claim{
		{Quota: 14_000, Requestable: 40_000, Weight: 2},
		{Quota: 6_000, Requestable: 40_000, Weight: 3},
		{Quota: 0, Requestable: 40_000, Weight: 1},
	}
	shares, err := fairshare.Divide(nil, 40_000, projects, fairshare.Options{Granule: 1000})
	fmt.Println(shares, err)
	// Output: [21000 16000 3000] <nil>
}

// Two experiments share eight slots by what they demand (F8).
func ExampleDivideByDemand() {
	experiments := []fairshare.DemandClaim{
		{Demand: 10, Weight: 1},
		{Demand: 30, Weight: 1},
	}
	shares, err := fairshare.DivideByDemand(nil, 8, experiments, fairshare.Options{})
	fmt.Println(shares, err)
	// Output: [2 6] <nil>
}

// Two departments share 6 GPUs by quota; the research department's projects
// share its part by their weights.
func ExampleDivideTree() {
	wantsAll := fairshare.Demand{Preemptible: 6}
	shares, err := fairshare.DivideTree(nil, fairshare.TreeConfig{
		Capacity: 6,
		Queues: []fairshare.Queue{
			{Parent: -1, Quota: 2, Weight: 2, Limit: fairshare.Unlimited},                   // research
			{Parent: -1, Quota: 1, Weight: 1, Limit: fairshare.Unlimited, Demand: wantsAll}, // product
			{Parent: 0, Weight: 3, Limit: fairshare.Unlimited, Demand: wantsAll},            // research/vision
			{Parent: 0, Weight: 1, Limit: fairshare.Unlimited, Demand: wantsAll},            // research/speech
		},
	})
	for _, s := range shares {
		fmt.Println(s.Requestable, s.QuotaPart, s.FairShare)
	}
	fmt.Println(err)
	// Output:
	// 6 2 4
	// 6 1 2
	// 6 0 3
	// 6 0 1
	// <nil>
}

func ExampleRatio_Cmp() {
	a, b := fairshare.Ratio{Num: 3, Den: 4}, fairshare.Ratio{Num: 5, Den: 0}
	fmt.Println(a, b, a.Cmp(b))
	// Output: 3/4 ∞ -1
}

func ExampleDominant() {
	gpu, cpu := fairshare.Ratio{Num: 3, Den: 4}, fairshare.Ratio{Num: 40, Den: 50}
	fmt.Println(fairshare.Dominant(gpu, cpu))
	// Output: 40/50
}

func ExampleState() {
	fmt.Println(fairshare.State(3, 2, 5))
	// Output: over-quota
}

func ExampleMethod() {
	var m fairshare.Method
	err := m.UnmarshalText([]byte("by-demand"))
	fmt.Println(m, err)
	// Output: by-demand <nil>
}
