package engine

import (
	"slices"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/quota"
)

// What of a queue's use is gone by the time of a promise counts for whom that waits where the queue's bounds keep
// it out.

// bounds are the queues whose bounds keep the promise out while all is there that is gone by its time; none is
// any queue.
func (s *awaiting) bounds() (queues []int32) {
	f, tree := s.world.FormOf(&s.world.Works[s.p.work], s.p.form), s.pool.Tree
	if !s.binds(f, s.chargeOf(s.p)) {
		return nil
	}
	s.during(s.p.at, s.isBefore, func() {
		m := tree.Mark()
		defer tree.Undo(m)
		for _, one := range s.useOverTime() {
			if !s.p.gathers && s.ended(&one) {
				_ = tree.Charge(int(one.leaf), one.charge, one.nonPreemptible) // it was charged
			}
		}
		for _, other := range slices.Concat(s.before, s.beside[len(s.beside)-1].begun) {
			if s.until(other) <= s.p.at || !slices.Contains(s.before, other) {
				of := s.world.FormOf(&s.world.Works[other.work], other.form)
				_ = tree.Charge(int(of.Queue), s.chargeOf(other), of.NonPreemptible) // Check bounds every sum
			}
		}
		for _, short := range tree.Shortfalls(nil, int(f.Queue), s.chargeOf(s.p), f.NonPreemptible) {
			if short.Kind == quota.Kept { // by whoever else uses less
				short.Queue = cluster.None
			}
			queues = append(queues, int32(short.Queue))
		}
	})
	return queues
}

// ended says whether what is charged is gone by the time of the promise, and not as it makes way for that.
func (s *awaiting) ended(one *ended) bool {
	if !s.p.gathers && s.promises.profile.Round(one.until) > s.p.at || slices.Contains(one.behind, s.p.work) {
		return false
	}
	counted := s.pool.Counted && one.charge.Of(int32(s.pool.Width-1)) > 0 // of all of it (Q10)
	return !counted || slices.ContainsFunc(s.world.Room.Seats[one.work], func(seat cluster.Seat) bool {
		return !s.behind().stepsAside(&seat, one.work, s.p)
	})
}

// isBounded says whether a leaf is one of some queues, or below it.
func (s *awaiting) isBounded(leaf int32, queues []int32) bool {
	return slices.ContainsFunc(queues, func(q int32) bool { return q == cluster.None || under(s.pool, leaf, q) })
}
