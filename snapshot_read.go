package allot

import (
	"iter"
	"slices"
	"time"

	"github.com/allotsched/allot/internal/table"
)

// What a version of a snapshot says of its state, and in what two versions are
// not alike.

// State returns the state, its lists sorted by ID (S3). It is a copy.
func (s *Snapshot) State() *State { return cloneState(s.objects.state()) }

// Now is the state's instant, see [State].
func (s *Snapshot) Now() time.Time { return s.objects.now }

// Revision is the host's name for the state, see [State].
func (s *Snapshot) Revision() string { return s.objects.revision }

// Levels are a copy of the state's levels of topology, the widest first.
func (s *Snapshot) Levels() []Level { return slices.Clone(s.objects.levels) }

// Workload returns a copy of what has the ID; ok is false if nothing has. O(log n).
func (s *Snapshot) Workload(id string) (k Workload, ok bool) {
	return copyOf(s.objects.workloads, id, cloneWorkload)
}

// Node is as [Snapshot.Workload].
func (s *Snapshot) Node(id string) (n Node, ok bool) { return copyOf(s.objects.nodes, id, cloneNode) }

// Queue is as [Snapshot.Workload].
func (s *Snapshot) Queue(id string) (q Queue, ok bool) {
	return copyOf(s.objects.queues, id, cloneQueue)
}

// Pool is as [Snapshot.Workload].
func (s *Snapshot) Pool(id string) (p Pool, ok bool) { return copyOf(s.objects.pools, id, clonePool) }

// Budget is as [Snapshot.Workload], for the owner of a budget.
func (s *Snapshot) Budget(owner string) (b DisruptionBudget, ok bool) {
	return copyOf(s.objects.budgets, owner, cloneBudget)
}

// Reservation is as [Snapshot.Workload], for what people have reserved.
func (s *Snapshot) Reservation(id string) (r Reservation, ok bool) {
	return copyOf(s.objects.reserved, id, cloneReservation)
}

func copyOf[T any](t table.Table[T], id string, clone func(T) T) (c T, ok bool) {
	e := t.Get(id)
	if e == nil {
		return c, false
	}
	return clone(*e), true
}

// Workloads yields the workloads in the order of their IDs, in constant time each.
// Their lists and maps are the snapshot's own and must not be modified: a copy to
// modify is that of [Snapshot.Workload].
func (s *Snapshot) Workloads() iter.Seq[Workload] { return values(s.objects.workloads) }

// Nodes yields the nodes as [Snapshot.Workloads] does workloads.
func (s *Snapshot) Nodes() iter.Seq[Node] { return values(s.objects.nodes) }

// Queues yields the queues as [Snapshot.Workloads] does workloads.
func (s *Snapshot) Queues() iter.Seq[Queue] { return values(s.objects.queues) }

// Pools yields the pools as [Snapshot.Workloads] does workloads.
func (s *Snapshot) Pools() iter.Seq[Pool] { return values(s.objects.pools) }

// Reservations yields what people have reserved as [Snapshot.Workloads] does workloads.
func (s *Snapshot) Reservations() iter.Seq[Reservation] { return values(s.objects.reserved) }

// Budgets yields the disruption budgets in the order of their owners; what they hold must not be
// modified either.
func (s *Snapshot) Budgets() iter.Seq[DisruptionBudget] { return values(s.objects.budgets) }

func values[T any](t table.Table[T]) iter.Seq[T] {
	return func(yield func(T) bool) {
		for e := range t.All() {
			if !yield(*e) {
				return
			}
		}
	}
}

// WorkloadsOn are the IDs of the workloads of which a task stands on the node,
// claims a place there, or leaves it, sorted. O(log n) and their number.
func (s *Snapshot) WorkloadsOn(node string) []string {
	if r := s.objects.residents.Get(node); r != nil {
		return slices.Clone(r.workloads)
	}
	return nil
}

// Since returns the change that makes this version of an earlier one, or of any
// other: what came or is not the same, and what went. before.With(s.Since(before))
// has the state of s, but that a Now of zero and an empty Revision cannot be had
// back, and it takes time in what differs where the one came from the other.
// What was put again as it was may be in it. The lists and maps of what it holds
// are the snapshot's own and must not be modified.
func (s *Snapshot) Since(before *Snapshot) Change {
	var c Change
	a, b := &before.objects, &s.objects
	if !a.now.Equal(b.now) {
		c.Now = b.now
	}
	if a.revision != b.revision {
		c.Revision = b.revision
	}
	switch {
	case slices.Equal(a.levels, b.levels):
	case len(b.levels) > 0:
		c.Levels = slices.Clone(b.levels)
	default:
		for _, l := range a.levels {
			c.Remove.Levels = append(c.Remove.Levels, l.Name)
		}
	}
	c.Nodes, c.Remove.Nodes = putAndGone(a.nodes, b.nodes, nodeID)
	c.Pools, c.Remove.Pools = putAndGone(a.pools, b.pools, poolID)
	c.Queues, c.Remove.Queues = putAndGone(a.queues, b.queues, queueID)
	c.Workloads, c.Remove.Workloads = putAndGone(a.workloads, b.workloads, workloadID)
	c.Budgets, c.Remove.Budgets = putAndGone(a.budgets, b.budgets, budgetOwner)
	c.Reservations, c.Remove.Reservations = putAndGone(a.reserved, b.reserved, reservationID)
	return c
}

// putAndGone are the entries that the second table has and the first does not, and the
// names of those that only the first has.
func putAndGone[T any](before, after table.Table[T], name func(*T) string) (put []T, gone []string) {
	for _, d := range table.Differences(before, after) {
		if d.After == nil {
			gone = append(gone, name(d.Before))
		} else {
			put = append(put, *d.After)
		}
	}
	return put, gone
}
