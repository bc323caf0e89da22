package queue

import (
	"testing"

	"github.com/allotsched/allot/quota"
)

// A given is one queue of a test: where it stands, what it has of each resource
// and what it uses itself, beside what its children use.
type given struct {
	parent            int
	quota, use, share []int64
	tier              []int32 // nil: 0
	created           int64
}

// build makes a tree and its queues.
func build(t testing.TB, order Order, divided []bool, queues []given, request func(Item) quota.Amounts) (*Queues, *quota.Tree) {
	t.Helper()
	c := quota.Config{Capacity: make([]int64, len(divided))}
	var shares, created []int64
	var tiers []int32
	for _, g := range queues {
		bounds := make([]quota.Bounds, len(divided))
		for r := range divided {
			bounds[r].Quota = quota.Of(g.quota[r])
			tier := int32(0)
			if g.tier != nil {
				tier = g.tier[r]
			}
			tiers = append(tiers, tier)
		}
		c.Queues = append(c.Queues, quota.Queue{Parent: int32(g.parent), Bounds: bounds})
		shares = append(shares, g.share...)
		created = append(created, g.created)
	}
	tree, err := quota.New(c)
	if err != nil {
		t.Fatal(err)
	}
	for i, g := range queues {
		if g.use == nil {
			continue
		}
		if err := tree.Charge(i, amounts(g.use...), false); err != nil {
			t.Fatal(err)
		}
	}
	config := Config{
		Tree: tree, Shares: shares, Divided: divided, Tier: tiers,
		Created: created, Order: order, Request: request,
	}
	if err := config.Validate(); err != nil {
		t.Fatal(err)
	}
	return New(config), tree
}

// amounts turns one value per resource into amounts.
func amounts(values ...int64) quota.Amounts {
	var a quota.Amounts
	for r, v := range values {
		if v > 0 {
			a = append(a, quota.Amount{Resource: int32(r), Value: v})
		}
	}
	return a
}

// asking is a Request that answers the same for every item.
func asking(values ...int64) func(Item) quota.Amounts {
	a := amounts(values...)
	return func(Item) quota.Amounts { return a }
}

// all is a Divided of n resources.
func all(n int) []bool {
	divided := make([]bool, n)
	for i := range divided {
		divided[i] = true
	}
	return divided
}
