package allot

import (
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
)

// nodeAnswers are what the index says of shapes, once it was asked.
type nodeAnswers struct {
	rejections map[placement.Shape]*placement.Rejection
	pieces     map[placement.Shape]*Pieces
}

func newNodeAnswers() nodeAnswers {
	return nodeAnswers{make(map[placement.Shape]*placement.Rejection), make(map[placement.Shape]*Pieces)}
}

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

// placedNow is how many tasks of a unit that is too large for the nodes find a
// place now, and where the search ends.
func (s *solver) placedNow(d *definition, unit gang.Unit) gang.Verdict {
	x := s.pool.index
	m := x.Mark()
	defer x.Undo(m)
	verdict := gang.Verdict{Kind: gang.NoPlace, Set: -1, Needed: unit.Tasks()}
	for set, n := range unit.Add {
		shape, strategy := &d.sets[set], d.place.CPUOnly
		if shape.gpus > 0 {
			strategy = d.place.GPU
		}
		for range n {
			place, ok := x.Find(shape.placed, strategy)
			if !ok || x.Take(shape.placed, place) != nil {
				if verdict.Set < 0 {
					verdict.Set = int32(set)
				}
				break
			}
			verdict.Placed++
		}
	}
	verdict.Set = max(0, verdict.Set)
	return verdict
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
