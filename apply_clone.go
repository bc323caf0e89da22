package allot

import (
	"maps"
	"slices"

	"github.com/allotsched/allot/placement"
)

// cloneState returns a copy of s that shares no memory with it that a caller
// could write to. Nil and empty stay what they are.
func cloneState(s *State) *State {
	c := *s
	c.Levels = slices.Clone(s.Levels)
	c.Nodes = cloneEach(s.Nodes, cloneNode)
	c.Pools = cloneEach(s.Pools, clonePool)
	c.Queues = cloneEach(s.Queues, cloneQueue)
	c.Workloads = cloneEach(s.Workloads, cloneWorkload)
	c.Budgets = slices.Clone(s.Budgets)
	c.Reservations = cloneEach(s.Reservations, cloneReservation)
	return &c
}

// cloneEach copies a list with a copy of each of its elements.
func cloneEach[T any](list []T, clone func(T) T) []T {
	c := slices.Clone(list)
	for i := range c {
		c[i] = clone(c[i])
	}
	return c
}

func cloneNode(n Node) Node {
	n.Capacity = maps.Clone(n.Capacity)
	n.Devices = slices.Clone(n.Devices)
	n.Domains = maps.Clone(n.Domains)
	n.Links = slices.Clone(n.Links)
	n.Foreign = maps.Clone(n.Foreign)
	n.Labels = maps.Clone(n.Labels)
	n.Taints = slices.Clone(n.Taints)
	return n
}

func clonePool(p Pool) Pool {
	p.Nodes = cloneNodeSet(p.Nodes)
	p.Policy.Classes = slices.Clone(p.Policy.Classes)
	p.Policy.Granules = maps.Clone(p.Policy.Granules)
	p.Policy.ExitActions = slices.Clone(p.Policy.ExitActions)
	p.Policy.Scoring.Mix = cloneEach(p.Policy.Scoring.Mix, func(m MixShape) MixShape {
		m.Request = cloneRequest(m.Request)
		return m
	})
	return p
}

func cloneQueue(q Queue) Queue {
	q.Nodes = cloneNodeSet(q.Nodes)
	q.Resources = slices.Clone(q.Resources)
	return q
}

func cloneNodeSet(s NodeSet) NodeSet {
	s.IDs = slices.Clone(s.IDs)
	if s.Selector != nil {
		sel := cloneSelector(*s.Selector)
		s.Selector = &sel
	}
	return s
}

func cloneSelector(s placement.Selector) placement.Selector {
	s.Labels = maps.Clone(s.Labels)
	s.Expressions = cloneEach(s.Expressions, func(e placement.Expression) placement.Expression {
		e.Values = slices.Clone(e.Values)
		return e
	})
	return s
}

func cloneWorkload(w Workload) Workload {
	w.PodSets = cloneEach(w.PodSets, clonePodSet)
	w.Groups = cloneEach(w.Groups, cloneGroup)
	w.Topology = cloneTopology(w.Topology)
	w.Alternatives = cloneEach(w.Alternatives, func(f Form) Form {
		f.PodSets = cloneEach(f.PodSets, clonePodSet)
		f.Groups = cloneEach(f.Groups, cloneGroup)
		f.Topology = cloneTopology(f.Topology)
		return f
	})
	w.ExitActions = slices.Clone(w.ExitActions)
	if w.Reserved != nil {
		promise := clonePromise(*w.Reserved)
		w.Reserved = &promise
	}
	w.Tasks = cloneEach(w.Tasks, func(t Task) Task {
		t.Devices = slices.Clone(t.Devices)
		return t
	})
	return w
}

func clonePodSet(ps PodSet) PodSet {
	ps.Request = cloneRequest(ps.Request)
	ps.Topology = cloneTopology(ps.Topology)
	return ps
}

func cloneGroup(g Group) Group {
	g.Topology = cloneTopology(g.Topology)
	return g
}

func cloneTopology(t Topology) Topology {
	t.Slices = slices.Clone(t.Slices)
	return t
}

func cloneRequest(r Request) Request {
	r.GPU.Models = slices.Clone(r.GPU.Models)
	r.Resources = maps.Clone(r.Resources)
	r.Selector = cloneSelector(r.Selector)
	r.Tolerations = slices.Clone(r.Tolerations)
	return r
}

// Clone returns a copy of the action that shares no memory with it: actions of a decision
// are not the caller's to modify.
func (a Action) Clone() Action {
	a.Tasks, a.From = cloneEach(a.Tasks, clonePlacement), cloneEach(a.From, clonePlacement)
	a.After = slices.Clone(a.After)
	a.Reason = cloneReason(a.Reason)
	return a
}

func clonePlacement(p Placement) Placement {
	p.Devices = slices.Clone(p.Devices)
	return p
}

func clonePromise(p Promise) Promise {
	p.Tasks, p.WaitsFor = cloneEach(p.Tasks, clonePlacement), slices.Clone(p.WaitsFor)
	return p
}

func cloneReservation(r Reservation) Reservation {
	r.Nodes = cloneEach(r.Nodes, cloneReservedNode)
	r.Domains, r.Workloads = slices.Clone(r.Domains), slices.Clone(r.Workloads)
	return r
}

func cloneReservedNode(n ReservedNode) ReservedNode {
	n.Devices = slices.Clone(n.Devices)
	return n
}

// cloneReason copies a reason of a workload that waits, which others share.
func cloneReason(r Reason) Reason {
	r.Nodes, r.Domains = slices.Clone(r.Nodes), slices.Clone(r.Domains)
	r.Nearest, r.Subtrees, r.Free = clonePointer(r.Nearest), clonePointer(r.Subtrees), clonePointer(r.Free)
	r.Chain, r.Protections = slices.Clone(r.Chain), slices.Clone(r.Protections)
	for i := range r.Chain {
		r.Chain[i].Subtrees = clonePointer(r.Chain[i].Subtrees)
	}
	return r
}

// clonePointer copies what is pointed to, which points to nothing else.
func clonePointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}
