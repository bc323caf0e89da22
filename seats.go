package allot

import (
	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/queue"
)

// seatUnit gives the tasks of a unit that starts their seats.
func (s *solver) seatUnit(k *work, it queue.Item, unit gang.Unit, kind ActionKind) error {
	w, p, book := s.world, s.pool, s.world.room
	book.commits = append(book.commits, commit{work: it.ID, form: k.current, kind: kind})
	next := 0
	for set, n := range unit.Add {
		for range n {
			place := s.places[next]
			next++
			one := seat{
				taskPlace: taskPlace{set: int32(set), node: p.nodes[place.Node], devices: place.Devices},
				commit:    int32(len(book.commits) - 1), admitted: w.now, overlaps: s.claims,
			}
			k.behind = k.behind || s.claims && w.isBehind(it.ID, &one)
			w.continues(it.ID, &one)
			if ledger := w.ledgers.byNode[one.node]; one.overlaps && ledger != nil {
				w.ledgers.add(ledger.claimed, &holding{taskPlace: one.taskPlace, work: it.ID}, 1)
			}
			book.seats[it.ID] = append(book.seats[it.ID], one)
			if k.live >= 0 {
				w.live[k.live].held[set]++
			}
		}
	}
	w.reenter(it.ID)
	s.decision.work.Placed += int64(next)
	return nil
}

// continues gives the seat its index, and lets it continue a task of the
// workload that ran in the state and has no seat now: then it was admitted when
// that was (R8), and stays where it was if the place is the same.
func (w *world) continues(i int32, one *seat) {
	k := &w.works[i]
	one.origin, one.index = -1, 0
	used := make(map[int32]bool)
	for _, s := range w.room.seats[i] {
		if s.set == one.set {
			used[s.index] = true
		}
	}
	if k.live >= 0 {
		l := &w.live[k.live]
		for at := l.from; at < l.to; at++ {
			h := &w.holdings[at]
			if h.set != one.set || used[h.index] {
				continue
			}
			if h.phase == Running && (one.origin < 0 || h.index < one.index) {
				one.origin, one.index, one.admitted = at, h.index, h.since
			}
		}
		if one.origin >= 0 {
			if old := &w.holdings[one.origin]; old.node == one.node && old.devices == one.devices {
				one.commit = -1
			}
			return
		}
		for at := l.from; at < l.to; at++ {
			if h := &w.holdings[at]; h.set == one.set && h.phase == Terminating {
				used[h.index] = true
			}
		}
	}
	for used[one.index] {
		one.index++
	}
}

// endStale evicts what is left of gangs that have run below their minimum for
// longer than the policy's grace (G1). It is for nobody's benefit, and so goes
// by no protection. One gang goes at a time: its places may make another whole.
func (w *world) endStale(d *decision) error {
	for i := range w.works {
		k := &w.works[i]
		source := w.source(k)
		if k.status != waiting || k.live < 0 || !w.holds(k) {
			continue
		}
		since := w.now // it has come to that just now
		if !source.PartialSince.IsZero() {
			since = micros(source.PartialSince)
		}
		s := w.solverOf(k, k.current)
		grace := s.pool.policy.StaleGangGrace
		if !grace.Given() || laterBy(since, grace) > w.now {
			continue
		}
		if w.room == nil {
			w.openBook(d)
		}
		for _, id := range s.pool.room.Of(int32(i)) {
			if err := s.take(preempt.Case{Victim: id, Side: -1, BeneficiarySide: -1}, none, StaleGang); err != nil {
				return err
			}
		}
		w.room.out = w.room.out[:len(w.room.out)-1] // it is not put back, but starts anew whole
		s.requeue(int32(i))
		d.changed = true
		// Where it ran beyond its quota, its demand counted for more (F1).
		w.room.redivide = w.room.redivide || w.formOf(k, k.current).nonPreemptible
		return w.redivide(d)
	}
	return nil
}

// isBehind says whether the seat may have to wait for what leaves its node: both
// ask something of the same, and of slots only where they are counted.
func (w *world) isBehind(i int32, one *seat) bool {
	ledger := w.ledgers.byNode[one.node]
	if ledger == nil {
		return false
	}
	asked := make([]int64, len(ledger.usable))
	w.ledgers.add(asked, &holding{taskPlace: one.taskPlace, work: i}, 1)
	for at, n := range asked {
		counted := at < len(asked)-2 || ledger.usable[at] < placement.NoCap
		if n > 0 && counted && ledger.leaving[at] > 0 {
			return true
		}
	}
	return false
}
