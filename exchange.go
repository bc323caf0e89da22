package allot

import (
	"slices"

	"github.com/allotsched/allot/queue"
)

// Nobody alike and older waits for a place that a younger one got in the same plan
// (M9): where room was made, the younger may have had its turn first.

// exchange has workloads that wait take the places of starts of this solve in their
// queue that stand behind them in O1 and ask the same.
func (s *solver) exchange() error {
	w := s.world
	if w.room == nil || !s.replaced && len(w.room.takings) == 0 {
		return nil
	}
	lists := s.waitingByLeaf()
	for c := range slices.Backward(w.room.commits) {
		one := &w.room.commits[c]
		k := &w.works[one.work]
		if one.kind != Start || !s.isFree(int32(c)) || w.room.paidFor[int32(c)] || len(k.others) > 0 ||
			slices.ContainsFunc(w.room.seats[one.work], func(t seat) bool { return t.commit != int32(c) }) {
			continue
		}
		for _, it := range lists[k.form.queue] {
			if it.Compare(s.whole(one.work)) >= 0 {
				break
			}
			other := &w.works[it.ID]
			if other.status != waiting || other.form.definition != k.form.definition || other.form.nonPreemptible != k.form.nonPreemptible {
				continue
			}
			if done, err := s.takesPlaceOf(it, int32(c)); done || err != nil {
				s.decision.changed = s.decision.changed || done
				return err
			}
		}
	}
	return nil
}

// whole is the item of a workload that holds nothing.
func (s *solver) whole(i int32) queue.Item {
	k := &s.world.works[i]
	return s.asOrdered(queue.Item{Priority: k.form.priority, Submitted: k.submitted, Rank: k.rank, ID: i})
}

// waitingByLeaf lists by queue what waits as a whole, in the order O1.
func (s *solver) waitingByLeaf() map[int32][]queue.Item {
	w := s.world
	out := make(map[int32][]queue.Item)
	for _, i := range s.pool.works {
		k := &w.works[i]
		if k.status == waiting && len(k.others) == 0 && k.form.pool == s.index && len(w.room.seats[i]) == 0 && w.definition(k, 0).verdict.OK {
			out[k.form.queue] = append(out[k.form.queue], s.whole(i))
		}
	}
	for _, items := range out { // each by itself
		slices.SortFunc(items, queue.Item.Compare)
	}
	return out
}

// takesPlaceOf has a workload start, or come back, where a start of this solve is
// lifted, which waits then.
func (s *solver) takesPlaceOf(it queue.Item, commit int32) (bool, error) {
	w, p := s.world, s.pool
	nodes, use := p.index.Mark(), p.tree.Mark()
	l, err := s.lift(commit)
	if err != nil {
		return false, err
	}
	taken, err := s.startOrComeBack(it)
	if !taken || err != nil {
		s.unliftAll([]*lifted{l})
		p.index.Undo(nodes)
		p.tree.Undo(use)
		return false, err
	}
	p.index.Commit(nodes)
	p.tree.Commit(use)
	w.restatusLifted(l)
	s.afterLift(l.work)
	s.requeue(l.work)
	s.requeue(it.ID)
	return true, nil
}

// startOrComeBack starts a workload that waits as a whole or, if this solve has
// taken it, puts it back.
func (s *solver) startOrComeBack(it queue.Item) (bool, error) {
	w, p := s.world, s.pool
	k := &w.works[it.ID]
	at := slices.IndexFunc(w.room.out, func(o outUnit) bool { return o.unit.Work == it.ID && o.unit.Step == 0 })
	if at >= 0 {
		o := w.room.out[at]
		back, err := s.putBack(&o, oldPlace|newPlace)
		if back {
			w.room.out = slices.Delete(w.room.out, at, at+1)
		}
		return back, err
	}
	d := w.definition(k, 0)
	if d.unsure || k.live >= 0 && w.tied(k) {
		return false, nil
	}
	asks, err := s.unitAsks(d, d.unit, true)
	if err != nil {
		return false, err
	}
	asks = slices.Clone(asks)
	if _, ok := p.tree.Check(int(k.form.queue), asks, k.form.nonPreemptible); !ok {
		return false, nil
	}
	charge, found, err := s.placeUnit(&k.form, d, d.unit, s.beside(it.ID, d, d.unit), asks)
	if !found || err != nil {
		return false, err
	}
	s.unqueue(it.ID)
	return true, s.commit(k, it, &k.form, d.unit, charge)
}
