package allot

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/allotsched/allot/quota"
)

// TestHelpHelps: every remedy, applied, starts the workload, and one that is
// smaller by one unit does not (X3).
func TestHelpHelps(t *testing.T) {
	kinds := make(map[RemedyKind]int)
	var asked, none, cut, solves int
	rapid.Check(t, func(t *rapid.T) {
		s := genState(t)
		snapshot, err := NewSnapshot(s)
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
		h, err := d.WhatHelps(t.Context(), id, 0)
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
			if !startsWith(t, snapshot, id, r.Change) {
				t.Fatalf("%s does not start it", r)
			}
			for _, less := range smallerThan(snapshot, id, r) {
				if startsWith(t, snapshot, id, less) {
					t.Fatalf("%s: less does", r)
				}
			}
		}
	})
	for k := WaitUntil; int(k) < len(remedyNames); k++ {
		t.Logf("%5d %s", kinds[k], k)
	}
	t.Logf("%d asked, %d have no remedy, %d cut, %d solves", asked, none, cut, solves)
}

// startsWith solves the changed state from scratch.
func startsWith(t *rapid.T, s *Snapshot, id string, c Change) bool {
	next, err := s.With(c)
	if err != nil {
		return false
	}
	plan, err := Solve(next.State())
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(plan.Actions, func(a Action) bool { return a.Kind == Start && a.Workload == id })
}

// smallerThan are the changes that are one unit smaller, made from the change that
// the remedy has.
func smallerThan(s *Snapshot, id string, r *Remedy) (out []Change) {
	less := func(edit func(c *Change)) {
		next, err := s.With(r.Change)
		if err != nil {
			return
		}
		c := Change{Now: r.Change.Now, Remove: Removal{Workloads: slices.Clone(r.Change.Remove.Workloads)}}
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
			less(func(c *Change) {
				c.Remove.Workloads = slices.DeleteFunc(c.Remove.Workloads, func(id string) bool { return id == gone })
				c.Workloads = slices.DeleteFunc(c.Workloads, func(k Workload) bool { return k.ID == gone })
			})
		}
	case SubmitTasks, LessMinimum:
		less(func(c *Change) {
			sets, _ := formIn(&c.Workloads[0], r.Form)
			i := slices.IndexFunc(sets, func(p PodSet) bool { return p.Name == r.PodSet })
			if r.Kind == SubmitTasks {
				sets[i].Missing++
			} else {
				sets[i].Min++
			}
		})
	case WaitUntil:
		less(func(c *Change) { c.Now = timeOf(micros(c.Now) - 1) })
	}
	return append(out, smallerAmount(s, r)...)
}

// smallerAmount is of the kinds that are amounts of queues, nodes and priority.
func smallerAmount(s *Snapshot, r *Remedy) []Change {
	c := r.Change
	c.Queues, c.Nodes, c.Workloads = cloneEach(c.Queues, cloneQueue), cloneEach(c.Nodes, cloneNode), cloneEach(c.Workloads, cloneWorkload)
	bound := func(of func(e *QueueResource) *quota.Bound, step int64) []Change {
		i := slices.IndexFunc(c.Queues[0].Resources, func(e QueueResource) bool { return e.Resource == r.Resource && e.Class == r.Class })
		b := of(&c.Queues[0].Resources[i])
		*b = quota.Of(b.Amount() - step)
		return []Change{c}
	}
	switch r.Kind {
	case OtherPriority:
		step := int32(1)
		if r.To < r.From {
			step = -1
		}
		if c.Workloads[0].Priority -= step; c.Workloads[0].Priority == 0 {
			return nil // that cannot be said
		}
	case LessGroupMinimum:
		_, groups := formIn(&c.Workloads[0], r.Form)
		i := slices.IndexFunc(groups, func(g Group) bool { return g.Name == r.Name })
		groups[i].Min++
	case MoreWorkloads:
		c.Queues[0].MaxWorkloads = quota.Of(c.Queues[0].MaxWorkloads.Amount() - 1)
	case MoreQuota:
		if r.Class != "" {
			return bound(func(e *QueueResource) *quota.Bound { return &e.Quota }, 1)
		}
		before, _ := s.Queue(r.Queue)
		return bound(func(e *QueueResource) *quota.Bound { return &e.Quota }, (&helper{base: s}).granule(&before, r.Resource))
	case MoreLimit:
		return bound(func(e *QueueResource) *quota.Bound { return &e.Limit }, 1)
	case MoreBorrowing:
		return bound(func(e *QueueResource) *quota.Bound { return &e.BorrowingLimit }, 1)
	case MoreLending:
		return bound(func(e *QueueResource) *quota.Bound { return &e.LendingLimit }, 1)
	case MoreGPUs:
		last := &c.Nodes[len(c.Nodes)-1]
		if last.Devices = last.Devices[:len(last.Devices)-1]; len(last.Devices) == 0 {
			return withoutLast(c)
		}
	case MoreNodes:
		return withoutLast(c)
	default:
		return nil
	}
	return []Change{c}
}

// withoutLast is the change without its last node.
func withoutLast(c Change) []Change {
	id := c.Nodes[len(c.Nodes)-1].ID
	c.Nodes = c.Nodes[:len(c.Nodes)-1]
	c.Pools, c.Queues = cloneEach(c.Pools, clonePool), cloneEach(c.Queues, cloneQueue)
	for i := range c.Pools {
		c.Pools[i].Nodes.IDs = slices.DeleteFunc(c.Pools[i].Nodes.IDs, func(n string) bool { return n == id })
	}
	for i := range c.Queues {
		c.Queues[i].Nodes.IDs = slices.DeleteFunc(c.Queues[i].Nodes.IDs, func(n string) bool { return n == id })
	}
	return []Change{c}
}
