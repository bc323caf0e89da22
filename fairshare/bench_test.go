package fairshare_test

import (
	"fmt"
	"testing"

	"github.com/allotsched/allot/fairshare"
)

// benchmarkGroups are the groups of a division of 10^12 granules: members that
// want everything with all weights different, with all weights equal (the most
// ties), and members of which half are satisfied.
var benchmarkGroups = []struct {
	name  string
	claim func(i, n int64) fairshare.Claim
}{
	{"weights=different", func(i, n int64) fairshare.Claim {
		return fairshare.Claim{Requestable: 1e15, Weight: 1 + i*7919%n}
	}},
	{"weights=equal", func(i, n int64) fairshare.Claim {
		return fairshare.Claim{Requestable: 1e15, Weight: 1}
	}},
	{"weights=different,half=satisfied", func(i, n int64) fairshare.Claim {
		return fairshare.Claim{Requestable: 1 + i*104729%n*(3e15/n/n), Weight: 1 + i*7919%n}
	}},
}

func BenchmarkDivide(b *testing.B) {
	const capacity, granule = 1e15, 1000
	for _, n := range []int64{10, 1_000, 100_000} {
		for _, g := range benchmarkGroups {
			b.Run(fmt.Sprintf("granules=1e12/n=%d/%s", n, g.name), func(b *testing.B) {
				claims := make([]fairshare.Claim, n)
				for i := range claims {
					claims[i] = g.claim(int64(i), n)
				}
				shares := make([]int64, n)
				b.ReportAllocs()
				for b.Loop() {
					var err error
					if shares, err = fairshare.Divide(shares, capacity, claims, fairshare.Options{Granule: granule}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkDivideByDemand(b *testing.B) {
	for _, n := range []int64{10, 1_000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			claims := make([]fairshare.DemandClaim, n)
			for i := range claims {
				claims[i] = fairshare.DemandClaim{Demand: 1e15 + int64(i), Weight: 1e6 + int64(i)}
			}
			shares := make([]int64, n)
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if shares, err = fairshare.DivideByDemand(shares, 1e15, claims, fairshare.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// benchmarkTree is a tree of three levels: departments, groups and leaves in
// the proportion 1 : 4 : 35.
func benchmarkTree(n int) fairshare.TreeConfig {
	c := fairshare.TreeConfig{Capacity: 8_000_000, Options: fairshare.Options{Granule: 1000}}
	departments, groups := n/40, n/10
	for i := range n {
		q := fairshare.Queue{Parent: -1, Limit: fairshare.Unlimited, Quota: int64(i%5) * 1000, Weight: int64(1 + i%3)}
		switch {
		case i >= departments+groups:
			q.Parent = int32(departments + i%groups)
			q.Demand.Preemptible = int64(i*7919%n) * 4 * c.Capacity / int64(n) / int64(n)
			q.Demand.NonPreemptible = int64(i%4) * 1000
		case i >= departments:
			q.Parent = int32(i % departments)
		}
		c.Queues = append(c.Queues, q)
	}
	return c
}

func BenchmarkDivideTree(b *testing.B) {
	for _, n := range []int{200, 10_000} {
		b.Run(fmt.Sprintf("queues=%d/levels=3", n), func(b *testing.B) {
			c := benchmarkTree(n)
			var shares []fairshare.Share
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if shares, err = fairshare.DivideTree(shares, c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRatioCmp(b *testing.B) {
	x, y := fairshare.Ratio{Num: largest - 1, Den: largest}, fairshare.Ratio{Num: largest - 2, Den: largest - 1}
	for b.Loop() {
		if x.Cmp(y) <= 0 {
			b.Fatal("wrong order")
		}
	}
}
