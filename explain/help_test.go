package explain

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
	"github.com/allotsched/allot/sim/scenario"
)

// TestHelpHelps: every remedy, applied, starts the workload, and one that is
// smaller by one unit does not (X3).
func TestHelpHelps(t *testing.T) {
	kinds := make(map[RemedyKind]int)
	var asked, none, cut, solves, together int
	rapid.Check(t, func(t *rapid.T) {
		s := genState(t)
		snapshot, err := allot.NewSnapshot(s)
		if err != nil {
			t.Fatal(err)
		}
		d, err := snapshot.Decide()
		if err != nil {
			t.Fatal(err)
		}
		var waits []string
		for p, err := range d.Pending() {
			if err != nil {
				t.Fatal(err)
			}
			waits = append(waits, p.Workload)
		}
		if len(waits) == 0 {
			t.Skip("nobody waits")
		}
		id := rapid.SampledFrom(waits).Draw(t, "asked")
		h, err := WhatHelps(t.Context(), d, id, HelpSearch{})
		if err != nil {
			t.Fatal(err)
		}
		asked++
		solves += h.Solves
		if h.Cut {
			cut++
		}
		if len(h.Remedies) == 0 {
			none++
		}
		for i := range h.Remedies {
			r := &h.Remedies[i]
			kinds[r.Kind]++
			together += min(1, len(r.Together))
			if !startsWith(t, snapshot, h, r.Change) {
				t.Fatalf("%s does not start it", r)
			}
			if h.Cut {
				continue // the search ended before it knew that less does not
			}
			for _, less := range smallerThan(snapshot, id, r) {
				if startsWith(t, snapshot, h, less) {
					t.Fatalf("%s: less does\n%s", r, scenario.Format(s))
				}
			}
		}
	})
	for k := WaitUntil; int(k) < len(remedyNames); k++ {
		t.Logf("%5d %s", kinds[k], k)
	}
	t.Logf("%d asked, %d have no remedy, %d cut, %d changes together, %d solves", asked, none, cut, together, solves)
}

// startsWith solves the changed state from scratch.
func startsWith(t *rapid.T, s *allot.Snapshot, h *Help, c allot.Change) bool {
	next, err := s.With(c)
	if err != nil {
		return false
	}
	plan, err := allot.Solve(next.State())
	if err != nil {
		t.Fatal(err)
	}
	does := func(kind allot.ActionKind) bool {
		return slices.ContainsFunc(plan.Actions, func(a allot.Action) bool { return a.Kind == kind && a.Workload == h.Workload })
	}
	return does(allot.Start) || h.Evicted && !does(allot.Evict)
}

// smallerThan are the changes that are one unit smaller, made from the change that
// the remedy has.
func smallerThan(s *allot.Snapshot, id string, r *Remedy) (out []allot.Change) {
	less := func(edit func(c *allot.Change)) {
		next, err := s.With(r.Change)
		if err != nil {
			return
		}
		c := allot.Change{Now: r.Change.Now, Remove: allot.Removal{Workloads: slices.Clone(r.Change.Remove.Workloads)}}
		for _, k := range r.Change.Workloads {
			k, _ = next.Workload(k.ID)
			c.Workloads = append(c.Workloads, k)
		}
		for _, q := range r.Change.Queues {
			q, _ = next.Queue(q.ID)
			c.Queues = append(c.Queues, q)
		}
		for _, n := range r.Change.Nodes {
			n, _ = next.Node(n.ID)
			c.Nodes = append(c.Nodes, n)
		}
		c.Pools = r.Change.Pools
		edit(&c)
		out = append(out, c)
	}
	switch r.Kind {
	case EndOf, WaitForLeaving:
		for _, gone := range r.Workloads {
			less(func(c *allot.Change) {
				c.Remove.Workloads = slices.DeleteFunc(c.Remove.Workloads, func(id string) bool { return id == gone })
				c.Workloads = slices.DeleteFunc(c.Workloads, func(k allot.Workload) bool { return k.ID == gone })
			})
		}
	case SubmitTasks, LessMinimum:
		less(func(c *allot.Change) {
			sets, _ := formIn(&c.Workloads[0], r.Form)
			i := slices.IndexFunc(sets, func(p allot.PodSet) bool { return p.Name == r.PodSet })
			if r.Kind == SubmitTasks {
				sets[i].Missing++
			} else {
				sets[i].Min++
			}
		})
	case WaitUntil:
		less(func(c *allot.Change) { c.Now = c.Now.Add(-time.Microsecond) })
	}
	return append(out, smallerAmount(s, r)...)
}

// smallerAmount is of the kinds that are amounts of queues, nodes and priority: of
// each change that the remedy has, one unit less.
func smallerAmount(s *allot.Snapshot, r *Remedy) (out []allot.Change) {
	for _, part := range append([]Remedy{*r}, r.Together...) {
		c := copyOf(&r.Change)
		if less, smaller := smallerPart(s, c, &part); smaller {
			out = append(out, less)
		}
	}
	return out
}

func smallerPart(s *allot.Snapshot, c allot.Change, r *Remedy) (allot.Change, bool) {
	queue := func() *allot.Queue {
		return &c.Queues[slices.IndexFunc(c.Queues, func(q allot.Queue) bool { return q.ID == r.Queue })]
	}
	bound := func(of func(e *allot.QueueResource) *quota.Bound) (allot.Change, bool) {
		resources := queue().Resources
		i := slices.IndexFunc(resources, func(e allot.QueueResource) bool { return e.Resource == r.Resource && e.Class == r.Class })
		b := of(&resources[i])
		*b = quota.Of(b.Amount() - 1)
		return c, true
	}
	switch r.Kind {
	case OtherPriority:
		step := int32(1)
		if r.To < r.From {
			step = -1
		}
		c.Workloads[0].Priority -= step
		return c, c.Workloads[0].Priority != 0 // that cannot be said
	case LessGroupMinimum:
		_, groups := formIn(&c.Workloads[0], r.Form)
		i := slices.IndexFunc(groups, func(g allot.Group) bool { return g.Name == r.Name })
		groups[i].Min++
		return c, true
	case MoreWorkloads:
		queue().MaxWorkloads = quota.Of(queue().MaxWorkloads.Amount() - 1)
		return c, true
	case MoreQuota:
		return bound(func(e *allot.QueueResource) *quota.Bound { return &e.Quota })
	case MoreLimit:
		return bound(func(e *allot.QueueResource) *quota.Bound { return &e.Limit })
	case MoreBorrowing:
		return bound(func(e *allot.QueueResource) *quota.Bound { return &e.BorrowingLimit })
	case MoreLending:
		return bound(func(e *allot.QueueResource) *quota.Bound { return &e.LendingLimit })
	case MoreGPUs, MoreNodes:
		i := len(c.Nodes) - 1
		for _, known := s.Node(c.Nodes[i].ID); known; _, known = s.Node(c.Nodes[i].ID) {
			i-- // a node that was opened
		}
		if r.Kind == MoreGPUs && len(c.Nodes[i].Devices) > 1 {
			c.Nodes[i].Devices = c.Nodes[i].Devices[:len(c.Nodes[i].Devices)-1]
			return c, true
		}
		return withoutNode(c, i), true
	}
	return c, false
}

// copyOf shares nothing with the change.
func copyOf(c *allot.Change) (out allot.Change) {
	if err := out.UnmarshalJSON(must(c.MarshalJSON())); err != nil {
		panic(err)
	}
	return out
}

// withoutNode is the change without one of its nodes.
func withoutNode(c allot.Change, i int) allot.Change {
	id := c.Nodes[i].ID
	c.Nodes = slices.Delete(c.Nodes, i, i+1)
	for i := range c.Pools {
		c.Pools[i].Nodes.IDs = slices.DeleteFunc(c.Pools[i].Nodes.IDs, func(n string) bool { return n == id })
	}
	for i := range c.Queues {
		c.Queues[i].Nodes.IDs = slices.DeleteFunc(c.Queues[i].Nodes.IDs, func(n string) bool { return n == id })
	}
	return c
}
