package preempt

import "slices"

// overCap says whether the victims belong to more workloads than may be
// disturbed (M7).
func (s *search) overCap(l *list) bool {
	if s.ask.Cap == nil || len(s.capped(l.ids)) <= s.ask.Cap.Left {
		return false
	}
	if s.refusal.Capped == 0 || len(l.ids) < s.refusal.Capped {
		s.refusal.Capped = len(l.ids)
	}
	return true
}

// capped are the workloads of the units that count for the cap, in the order of
// the units: they run and nothing of them has been disturbed.
func (s *search) capped(ids []UnitID) (works []int32) {
	for _, id := range ids {
		u := s.room.units[id]
		if u.Running > 0 && !s.ask.Cap.Disturbed[u.Work] && !slices.Contains(works, u.Work) {
			works = append(works, u.Work)
		}
	}
	return works
}

// tryFewer tries the candidates of each set of as many workloads as the cap lets
// go, where the order of victims takes more.
func (s *search) tryFewer(nodes []int32, candidates []UnitID) {
	works := s.capped(candidates)
	if s.fewer || len(works) > fewUnits {
		return
	}
	s.fewer = true // not for those sets again
	defer func() { s.fewer = false }()
	eachSet(works, func(some []int32) {
		if len(some) == s.ask.Cap.Left {
			s.try(nodes, slices.DeleteFunc(slices.Clone(candidates), func(id UnitID) bool {
				work := s.room.units[id].Work
				return slices.Contains(works, work) && !slices.Contains(some, work)
			}))
		}
	})
}
