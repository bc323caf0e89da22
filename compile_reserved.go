package allot

import (
	"slices"

	"github.com/allotsched/allot/internal/engine"
	"github.com/allotsched/allot/placement"
)

// What people have reserved is compiled to sets of nodes and devices that are closed to those
// who are no members (B9).

// compileReserved lists, by ID, the reservations that have nodes in the pool and have not
// passed, and what of the pool's nodes each has.
func (p *pool) compileReserved(w *world) {
	s := w.state
	if len(s.Reservations) == 0 {
		return
	}
	for _, i := range byID(s.Reservations, func(r *Reservation) string { return r.ID }) {
		given := &s.Reservations[i]
		r := engine.Reserved{From: micros(given.From), Until: engine.Never, Source: i, Evict: given.Evict, Drain: given.Drain}
		if !given.Until.IsZero() {
			r.Until = micros(given.Until)
		}
		parts := make(map[int32]uint64)
		for _, of := range given.Nodes {
			n := w.nodeID[of.Node]
			if at := w.Position[n]; at >= 0 && int(at) < len(p.Nodes) && p.Nodes[at] == n {
				parts[at] = maskOf(of.Devices)
			}
		}
		if r.Until <= max(w.Now, 0) || len(parts) == 0 {
			continue
		}
		p.Reserved, p.parts = append(p.Reserved, r), append(p.parts, parts)
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
	for i, parts := range p.parts {
		set := int32(len(p.sets) + i)
		p.Reserved[i].Set = set
		for at := range nodes {
			switch devices, in := parts[int32(at)]; {
			case !in:
			case devices == ^uint64(0):
				nodes[at].Sets = append(nodes[at].Sets, set)
			default:
				nodes[at].Parts = append(nodes[at].Parts, placement.Part{Set: set, Devices: devices})
			}
		}
	}
}

// isMember says whether a workload that stands in a queue is one of those for whom something
// is reserved.
func (s *State) isMember(r *Reservation, id, queue string) bool {
	if slices.Contains(r.Workloads, id) {
		return true
	}
	for r.Queue != "" && queue != "" {
		if queue == r.Queue {
			return true
		}
		at := slices.IndexFunc(s.Queues, func(q Queue) bool { return q.ID == queue })
		if at < 0 {
			return false
		}
		queue = s.Queues[at].Parent
	}
	return false
}

// strangerTo are the reservations of the pool of which a workload in a queue is no member.
func (p *pool) strangerTo(s *State, id, queue string) (list []int32) {
	for i := range p.Reserved {
		if !s.isMember(&s.Reservations[p.Reserved[i].Source], id, queue) {
			list = append(list, int32(i))
		}
	}
	return list
}

// isForNobody says whether what is reserved is so for nobody: it is maintained.
func (r *Reservation) isForNobody() bool { return r.Queue == "" && len(r.Workloads) == 0 }

// inUse is what of the node at a position is no part of anything that is maintained at the
// time (F1).
func (p *pool) inUse(w *world, at int, n int32) *Node {
	node := &w.state.Nodes[n]
	for i, parts := range p.parts {
		r := &p.Reserved[i]
		devices, in := parts[int32(at)]
		if !in || r.From > max(w.Now, 0) || !w.state.Reservations[r.Source].isForNobody() {
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
	s := w.state
	source := p.queues[q]
	for i, parts := range p.parts {
		r := &s.Reservations[p.Reserved[i].Source]
		if p.Reserved[i].From > max(w.Now, 0) || r.isForNobody() || source < 0 {
			continue
		}
		id := s.Queues[source].ID
		named := func(k Workload) bool {
			return slices.Contains(r.Workloads, k.ID) && (k.Queue == id || slices.ContainsFunc(k.Alternatives, func(f Form) bool { return f.Queue == id }))
		}
		if s.isMember(r, "", id) || slices.ContainsFunc(s.Workloads, named) {
			continue
		}
		for at, devices := range parts { // each for itself: order cannot matter
			if devices == ^uint64(0) && in[at] {
				in[at], narrowed = false, true
			}
		}
	}
	return narrowed
}
