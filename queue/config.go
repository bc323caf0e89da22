package queue

import (
	"errors"
	"fmt"

	"github.com/allotsched/allot/quota"
)

// Config is what [New] needs to know. Queues and resources are the tree's, by
// index. Nothing of it is modified; the lists are copied.
//
// A list may be shorter than it should be: what is missing is 0, or not
// divided. [Config.Validate] calls that a fault.
type Config struct {
	// Tree holds quotas and use. It stays the caller's: the caller charges it and says
	// so by [Queues.Touch]. nil has no queues.
	Tree *quota.Tree
	// Shares are the fair shares (F1 to F8) in the resource's unit, of queue q
	// and resource r at q × resources + r. A negative one counts as 0.
	Shares []int64
	// Guaranteed is, laid out like Shares, up to what use is within quota in O2 (a): what
	// the queue may defend of its quota (R8). nil are the tree's quotas.
	Guaranteed []int64
	// Divided says by resource whether it takes part in the order (Q1, F9).
	// The others count for nothing here.
	Divided []bool
	// Tier is the over-quota priority, laid out like Shares; nil is 0 for all.
	Tier []int32
	// Created is when each queue was created, in any unit; lower is older.
	Created []int64
	// Order is the order between queues; zero, and what is not valid, is
	// [FairShare].
	Order Order
	// Request returns what the item would add to its queue's use if it started
	// now. It is asked for the first item of a leaf when that has become the
	// first, has come back, or the leaf was touched, at the latest by the next
	// Best. It must not call back, and may reuse the memory of its answer. nil,
	// which suits [Global] alone, requests nothing.
	Request func(Item) quota.Amounts
}

// Validate returns the first fault of a Config, nil if there is none: no Tree,
// an Order that is not valid, a missing Request, a list whose length does not
// fit the tree (Tier and Guaranteed may be nil), a negative share. [New] gives each of them a
// meaning all the same. O(queues × resources).
func (c Config) Validate() error {
	switch {
	case c.Tree == nil:
		return errors.New("queue: no tree")
	case !c.Order.Valid():
		return fmt.Errorf("queue: no such order: %d", uint8(c.Order))
	case c.Request == nil && c.Order != Global:
		return fmt.Errorf("queue: order %v needs to know what workloads request", c.Order)
	}
	queues, resources := c.Tree.Queues(), c.Tree.Resources()
	for _, list := range [...]struct {
		name      string
		got, want int
	}{
		{"Divided", len(c.Divided), resources},
		{"Created", len(c.Created), queues},
		{"Shares", len(c.Shares), queues * resources},
		{"Tier", len(c.Tier), queues * resources},
		{"Guaranteed", len(c.Guaranteed), queues * resources},
	} {
		optional := list.name == "Tier" && c.Tier == nil || list.name == "Guaranteed" && c.Guaranteed == nil
		if list.got != list.want && !optional {
			return fmt.Errorf("queue: %s has %d entries, not %d", list.name, list.got, list.want)
		}
	}
	for i, share := range c.Shares {
		if share < 0 {
			return fmt.Errorf("queue: negative share %d of queue %d, resource %d", share, i/resources, i%resources)
		}
	}
	return nil
}

// divided lists the divided resources.
func (c *Config) divided() []int32 {
	var list []int32
	for r, divided := range c.Divided[:min(len(c.Divided), c.Tree.Resources())] {
		if divided {
			list = append(list, int32(r))
		}
	}
	return list
}

// entitlement returns what queue q is given of resource r.
func (c *Config) entitlement(q int, r int32) entitlement {
	at := q*c.Tree.Resources() + int(r)
	return entitlement{
		resource:   r,
		quota:      c.quota(q, int(r)),
		guaranteed: c.guaranteed(q, int(r), c.Guaranteed),
		share:      max(0, entry(c.Shares, at)),
		tier:       tier(entry(c.Tier, at)),
	}
}

// guaranteed is what parts O2's first two classes.
func (c *Config) guaranteed(q, r int, lines []int64) int64 {
	if lines == nil {
		return c.quota(q, r)
	}
	return max(0, entry(lines, q*c.Tree.Resources()+r))
}

// quota is the tree's: nothing is within quota where the shares are divided without
// any (F8).
func (c *Config) quota(q, r int) int64 {
	if !c.Tree.Governed(r) {
		return 0
	}
	return c.Tree.Quota(q, r)
}

// entry is list[i], or 0 where the list is too short.
func entry[T int32 | int64](list []T, i int) T {
	if i >= len(list) {
		return 0
	}
	return list[i]
}
