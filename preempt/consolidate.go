package preempt

import (
	"math/bits"
	"slices"
)

// cheapEnough is C3: the GPUs that move are at most the factor × those asked.
// What asks no GPU may move what asks none.
func (s *search) cheapEnough(l *list) bool {
	movedHi, movedLo := bits.Mul64(uint64(l.moved), 100)
	mostHi, mostLo := bits.Mul64(uint64(s.ask.GPUs), uint64(s.room.MaxMovedPercent))
	return movedHi < mostHi || movedHi == mostHi && movedLo <= mostLo
}

// consolidate takes the first of the planned moves, the fewest moved GPUs
// first, in which every victim finds another place (C1).
func (s *search) consolidate() {
	slices.SortStableFunc(s.planned, func(x, y list) int { return s.compareLists(&x, &y) })
	for i := range s.planned {
		if s.refusal.Steps >= s.room.Steps {
			s.refusal.Cut = true
			return
		}
		s.refusal.Steps++
		if s.allMove(&s.planned[i]) {
			s.best, s.found = s.planned[i], true
			return
		}
	}
}

// allMove carries the moves out, sees whether all find a place, and takes them
// back.
func (s *search) allMove(l *list) bool {
	r := s.room
	t := r.begin(s.ask, s.fit, l.kind)
	defer t.end()
	for _, id := range l.ids {
		if !t.takeOne(id) {
			return false
		}
	}
	nodes, use := r.Index.Mark(), r.Tree.Mark()
	defer func() {
		r.Index.Undo(nodes)
		r.Tree.Undo(use)
	}()
	for _, id := range l.ids {
		u := &r.units[id]
		if r.Tree.Release(int(u.Leaf), u.Charge, u.NonPreemptible) != nil {
			return false
		}
	}
	if !s.ask.Start() {
		return false
	}
	byStanding := slices.Clone(l.ids)
	slices.SortFunc(byStanding, func(a, b UnitID) int { return r.units[a].Standing.Compare(r.units[b].Standing) })
	return !slices.ContainsFunc(byStanding, func(id UnitID) bool { return !r.Moves(&r.units[id]) })
}
