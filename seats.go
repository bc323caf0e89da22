package allot

import (
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/queue"
)

// seatUnit gives the tasks of a unit that starts their seats.
func (s *solver) seatUnit(k *work, it queue.Item, unit gang.Unit, kind ActionKind) error {
	w, p, book := s.world, s.pool, s.world.room
	book.commits = append(book.commits, commit{work: it.ID, form: k.current, kind: kind})
	next, last := 0, int32(len(book.commits)-1)
	for set, n := range unit.Add {
		for range n {
			place := s.places[next]
			next++
			one := seat{
				taskPlace: taskPlace{set: int32(set), node: p.nodes[place.Node], devices: place.Devices},
				commit:    last, admitted: w.now,
			}
			w.continues(it.ID, &one)
			book.seats[it.ID] = append(book.seats[it.ID], one)
			if k.live >= 0 {
				w.live[k.live].held[set]++
			}
		}
	}
	if s.claims {
		w.claimBehind(it.ID, func(one *seat) bool { return one.commit == last && !one.claimed })
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
	if k.live < 0 { // it starts as a whole, and its tasks are numbered in their order
		for at := range w.room.seats[i] {
			if w.room.seats[i][at].set == one.set {
				one.index++
			}
		}
		return
	}
	used := make(map[int32]bool)
	for _, s := range w.room.seats[i] {
		if s.set == one.set {
			used[s.index] = true
		}
	}
	l := &w.live[k.live]
	from, to := l.from, l.to
	if l.form != k.current { // what it has claimed in another form it has lost
		to = from
	}
	for at := from; at < to; at++ {
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
	for at := from; at < to; at++ {
		if h := &w.holdings[at]; h.set == one.set && h.phase == Terminating {
			used[h.index] = true
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
		if !grace.Given() || laterBy(since, grace) > w.now || w.definition(k, k.current).enough(w.live[k.live].held) || w.strayed(k) {
			continue
		}
		if w.room == nil {
			w.openBook(d)
		}
		if err := s.takeStale(int32(i)); err != nil {
			return err
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

// strayed says whether something of a workload stands outside its pool (S7).
func (w *world) strayed(k *work) bool {
	l := &w.live[k.live]
	return slices.ContainsFunc(w.holdings[l.from:l.to], func(h holding) bool {
		return h.phase != Terminating && w.outside(k, h.node)
	})
}

// enough says whether a halving workload runs between two sizes with no less than
// the minimum that it gave: it grows when it can, and is not stale.
func (d *definition) enough(held []int32) bool { return len(d.ladder) > 0 && held[0] >= d.lowest }

// takeStale takes all that is left of a gang.
func (s *solver) takeStale(i int32) error {
	if err := s.vacateLeaving(); err != nil { // some of it may be claimed behind that
		return err
	}
	for _, id := range s.pool.room.Of(i) {
		if err := s.take(preempt.Justification{Victim: id, Subtree: -1, PreemptorSubtree: -1}, none, StaleGang); err != nil {
			return err
		}
	}
	return s.occupyLeaving()
}

// claimBehind has seats of a workload that were found while what is leaving was
// put aside claim their places, if one of them does not fit beside it: they start
// together, when it has left (S4).
func (w *world) claimBehind(i int32, which func(*seat) bool) {
	w.keep(i)
	seats, behind := w.room.seats[i], false
	for at := range seats {
		behind = behind || which(&seats[at]) && w.isBehind(i, &seats[at])
	}
	if !behind {
		return
	}
	w.works[i].behind = true
	for at := range seats {
		if one := &seats[at]; which(one) {
			one.overlaps = true
			w.bookClaim(i, one, 1)
		}
	}
}

// judgeBehind finds out anew which of the starts of a workload are behind what
// leaves. What leaves is put aside now.
func (w *world) judgeBehind(i int32) {
	w.keep(i)
	var commits []int32
	seats := w.room.seats[i]
	for at := range seats {
		one := &seats[at]
		if one.waits() {
			one.overlaps = false
			w.bookClaim(i, one, -1)
		}
		if one.commit >= 0 && !one.claimed {
			commits = append(commits, one.commit)
		}
	}
	w.works[i].behind = false
	slices.Sort(commits)
	for _, c := range slices.Compact(commits) {
		w.claimBehind(i, func(one *seat) bool { return one.commit == c && !one.claimed })
	}
}

// bookClaim books n times that the seat is claimed, where something leaves.
func (w *world) bookClaim(i int32, one *seat, n int64) {
	if ledger := w.ledgers.byNode[one.node]; ledger != nil {
		w.ledgers.add(ledger.claimed, &holding{taskPlace: one.taskPlace, work: i, form: w.works[i].current}, n)
	}
}

// isBehind says whether the seat, which the index knows and the ledgers do not,
// does not fit beside what leaves its node. What leaves is put aside now.
func (w *world) isBehind(i int32, one *seat) bool {
	if w.ledgers.byNode[one.node] == nil {
		return false
	}
	k := &w.works[i]
	f := w.formOf(k, k.current)
	x, shape := w.pools[f.pool].index, w.definition(k, k.current).sets[one.set].placed
	place := placement.Place{Node: w.position[one.node], Devices: one.devices}
	u := w.ledgers.passing(one.node)
	m := x.Mark()
	defer x.Undo(m)
	if x.Give(shape, place) != nil || x.Occupy(u.node, u.amounts, u.devices, u.slots, u.cpuOnlySlots) != nil {
		return true
	}
	lack := x.Lacks(shape, place)
	return !lack.Nothing()
}

// startsBeside has the workloads of the pool start at once that fit beside what
// leaves after all, because others have gone since.
func (s *solver) startsBeside() error {
	w, d := s.world, s.decision
	if w.room == nil || len(s.pool.leaves) == 0 {
		return nil
	}
	if err := s.vacateLeaving(); err != nil {
		return err
	}
	for _, i := range s.pool.works {
		k := &w.works[i]
		if !k.behind || w.formOf(k, k.current).pool != s.index {
			continue
		}
		w.judgeBehind(i)
		if !k.behind {
			d.changed = true
			s.requeue(i)
		}
	}
	return s.occupyLeaving()
}
