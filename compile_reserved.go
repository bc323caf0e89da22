package allot

import (
	"math"
	"slices"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/placement"
)

// What people have reserved is compiled to sets of nodes and devices that are closed to work
// that is no member (B9).

// A reservedPart is what a reservation has in a pool.
type reservedPart struct {
	devices map[int32]uint64 // of nodes, by position
	// By queue: members says whether all of its work are members, named whether something
	// stands there, in one of its forms, that the reservation names.
	members, named []bool
}

// compileReserved lists, by ID, the reservations that have nodes in the pool and have not
// passed, and what of the pool's nodes each has.
func (p *pool) compileReserved(w *world) {
	s := w.state
	if len(s.Reservations) == 0 {
		return
	}
	for _, i := range byID(s.Reservations, func(r *Reservation) string { return r.ID }) {
		given := &s.Reservations[i]
		during := given.spell()
		r := cluster.Reserved{From: during.from, Until: during.until, Source: i, Evict: given.Evict, Drain: given.Drain, Lend: given.Lend}
		parts := make(map[int32]uint64)
		for _, of := range w.reserved[i] {
			n := w.nodeID[of.Node]
			if at := w.Position[n]; at >= 0 && int(at) < len(p.Nodes) && p.Nodes[at] == n {
				parts[at] |= maskOf(of.Devices)
			}
		}
		if len(parts) == 0 { // or it has passed
			continue
		}
		p.Reserved = append(p.Reserved, r)
		p.reserved = append(p.reserved, reservedPart{devices: parts, members: p.membersOf(s, given), named: make([]bool, len(p.queues))})
	}
	p.markNamed(w)
}

// membersOf says of the queues whether all of their work are members: that for which something
// is reserved, and those below it.
func (p *pool) membersOf(s *State, r *Reservation) []bool {
	members := make([]bool, len(p.queues))
	if r.Queue == "" {
		return members
	}
	for q := range p.topDown {
		up, source := p.Parent[q], p.queues[q]
		members[q] = up >= 0 && members[up] || source >= 0 && s.Queues[source].ID == r.Queue
	}
	return members
}

// markNamed notes where that stands which reservations name.
func (p *pool) markNamed(w *world) {
	by := make(map[string][]int) // reservations, by the workloads that they name
	for i := range p.Reserved {
		for _, id := range w.state.Reservations[p.Reserved[i].Source].Workloads {
			by[id] = append(by[id], i)
		}
	}
	for _, k := range w.workloads {
		for _, r := range by[k.ID] {
			mark := func(queue string) {
				if at, ok := w.leaf[queue]; ok && w.pools[at.Pool] == p {
					p.reserved[r].named[at.Queue] = true
				}
			}
			mark(k.Queue)
			for _, f := range k.Alternatives {
				mark(f.Queue)
			}
		}
	}
}

// maskOf are devices as bits, all of them where none are listed.
func maskOf(devices []int) (mask uint64) {
	for _, d := range devices {
		mask |= 1 << d
	}
	if len(devices) == 0 {
		mask = ^uint64(0)
	}
	return mask
}

// markReserved has the nodes of the pool know to what of it they belong.
func (p *pool) markReserved(nodes []placement.Node) {
	for i := range p.reserved {
		set := int32(len(p.sets) + i)
		p.Reserved[i].Set = set
		for at := range nodes {
			switch devices, in := p.reserved[i].devices[int32(at)]; {
			case !in:
			case devices == ^uint64(0):
				nodes[at].Sets = append(nodes[at].Sets, set)
			default:
				nodes[at].Parts = append(nodes[at].Parts, placement.Part{Set: set, Devices: devices})
			}
		}
	}
}

// strangerTo are the reservations of the pool of which a workload in a queue is no member.
func (p *pool) strangerTo(s *State, id string, q int32) (list []int32) {
	for i := range p.reserved {
		if !p.reserved[i].members[q] && !slices.Contains(s.Reservations[p.Reserved[i].Source].Workloads, id) {
			list = append(list, int32(i))
		}
	}
	return list
}

// A spell is from one time up to another, in microseconds.
type spell struct{ from, until int64 }

// always is a spell without an end.
var always = spell{math.MinInt64, cluster.Never}

func (s spell) has(at int64) bool { return s.from <= at && at < s.until }

// within is the part of a spell that is in another too.
func (s spell) within(other spell) spell {
	return spell{max(s.from, other.from), min(s.until, other.until)}
}

// noteClosing notes for how long what is closed to a work is what it is: it would be there still
// when something begins that is reserved, or would not (B9).
func (w *world) noteClosing(i int32) {
	delete(w.closing, i)
	k, now, out := &w.Works[i], max(w.Now, 0), always
	for f := range int16(1 + len(k.Others)) {
		p, d := w.pools[w.FormOf(k, f).Pool], w.Definition(k, f)
		if len(d.Stranger) == 0 {
			continue
		}
		most := p.Most(&d.Times, 0)
		for _, r := range d.Stranger {
			switch first := p.Reserved[r].From - most; { // it is there still if it starts after that
			case first < now:
				out.from = max(out.from, first+1)
			case first < cluster.Never:
				out.until = min(out.until, first+1)
			}
		}
	}
	if out == always {
		return
	}
	if w.closing == nil {
		w.closing, w.closed = make(map[int32]spell), always
	}
	w.closing[i], w.closed = out, w.closed.within(out)
}

// isMaintenance says whether the reservation has no members: what it reserves is maintained.
func (r *Reservation) isMaintenance() bool { return r.Queue == "" && len(r.Workloads) == 0 }

// inUse is what of the node at a position is no part of anything that is maintained at the
// time (F1).
func (p *pool) inUse(w *world, at int, n int32) *Node {
	node := &w.state.Nodes[n]
	for i := range p.reserved {
		r := &p.Reserved[i]
		devices, in := p.reserved[i].devices[int32(at)]
		if !in || r.From > max(w.Now, 0) || !w.state.Reservations[r.Source].isMaintenance() {
			continue
		}
		less := *node
		if less.Cordoned = less.Cordoned || devices == ^uint64(0); !less.Cordoned {
			less.Devices = slices.Clone(node.Devices)
			for d := range less.Devices {
				less.Devices[d].Unhealthy = less.Devices[d].Unhealthy || devices>>d&1 != 0
			}
		}
		node = &less
	}
	return node
}

// withoutReserved leaves of the nodes that a queue may use those that are not reserved, as
// whole nodes and at the time, for others than it, those below it and its workloads (F1). It
// says whether it has left out any.
func (p *pool) withoutReserved(w *world, q int32, in []bool) (narrowed bool) {
	for i := range p.reserved {
		r, part := &p.Reserved[i], &p.reserved[i]
		if r.From > max(w.Now, 0) || w.state.Reservations[r.Source].isMaintenance() || p.queues[q] < 0 || part.members[q] || part.named[q] {
			continue
		}
		for at, devices := range part.devices { // each for itself: order cannot matter
			if devices == ^uint64(0) && in[at] {
				in[at], narrowed = false, true
			}
		}
	}
	return narrowed
}
