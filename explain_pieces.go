package allot

import (
	"slices"

	"github.com/allotsched/allot/placement"
)

// saysMore says whether the nodes are turned away by more than what the reasons
// so far, of the capacity in all, tell already.
func (s *solver) saysMore(rejection *placement.Rejection, told []Reason) bool {
	if len(told) == 0 {
		return true
	}
	lacks := func(resource string) bool {
		return slices.ContainsFunc(told, func(r Reason) bool { return r.Code == NoCapacity && r.Resource == resource })
	}
	return slices.ContainsFunc(rejection.Counts, func(c placement.Count) bool {
		switch c.Predicate {
		case placement.NodeSet:
			return false
		case placement.Resources:
			return !lacks(s.pool.placedName(c.Resource))
		case placement.FreeDevices:
			return !lacks(GPU)
		}
		return true
	})
}

// piecesOf says in what pieces what a task of the shape asks is free, after the
// last action; nil for one that asks nothing.
func (s *solver) piecesOf(shape placement.Shape) *Pieces {
	known, asked := s.pieces[shape]
	if asked {
		return known
	}
	if p, ok := s.pool.index.Pieces(shape); ok {
		known = &Pieces{
			Resource: GPU, InAll: p.InAll, Eligible: p.Eligible, Whole: p.Whole, Largest: p.Largest,
		}
		if p.Resource >= 0 {
			known.Resource = s.pool.placedName(p.Resource)
		}
		if p.Node >= 0 {
			known.Node = s.world.state.Nodes[s.pool.nodes[p.Node]].ID
		}
	}
	s.pieces[shape] = known
	return known
}
