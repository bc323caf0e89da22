package preempt

import "slices"

// tryDomains clears the domains of which one has to hold the preemptor, one after
// the other (T7): in each its nodes are places, like those of the whole pool for who
// may be anywhere.
func (s *search) tryDomains(nodes []int32, candidates []UnitID) {
	all := make(map[int32]bool, len(nodes))
	for _, n := range nodes {
		all[n] = true
	}
	for d := range s.ask.Domains {
		var inside []int32
		for _, n := range s.ask.Domains[d] {
			if all[n] {
				inside = append(inside, n)
			}
		}
		if len(inside) == 0 {
			continue
		}
		if s.room.Effort.Spend(1 + len(s.ask.Domains[d])/lookedAt); over(s, 0) {
			break
		}
		slices.Sort(inside)
		here := slices.Clone(s.on(inside, candidates))
		if s.ask.Exact {
			s.fit.focusOn(int32(d))
		}
		if s.tooSmallDomain(s.ask.Domains[d], here) {
			s.refusal.Steps++
			continue
		}
		if s.ask.Exact && len(inside) <= fewNodes {
			eachSet(inside, func(some []int32) { s.tryNodes(some, here) })
			continue
		}
		if s.ask.Exact {
			s.tryCheapest(inside, here)
		}
		s.try(inside, here)
	}
	s.fit.focusOn(-1)
}

// tooSmallDomain is a sound bound (M8): what is free in the domain and all that
// candidates hold who stand there are not enough for what has to be there.
func (s *search) tooSmallDomain(nodes []int32, here []UnitID) bool {
	if !s.ask.Exact {
		return false
	}
	r := s.room
	for _, need := range s.ask.Need {
		most := int64(0)
		for _, n := range nodes {
			most = addUpTo(most, s.ask.nodes(r.Index).MostFree(n, need.Resource))
		}
		for _, id := range here {
			most = addUpTo(most, r.charged(id).Of(need.Resource))
		}
		if most < need.Value {
			return true
		}
	}
	return false
}
