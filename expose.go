package allot

import (
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// What starts beyond the lines of its queue makes that queue use more than its due,
// and may so give somebody who waits a right to what ran there before. Such a start
// is not made (M9): it would cost its own queue more than it brings. Only who was
// refused within the lines of the same round can have such a right, and only where
// something preemptible ran that is on the same side.

// exposing is what a solver asks before it starts something beyond the lines.
type exposing struct{ *solver }

// noteClaimants keeps who was refused within the lines, before it has another turn
// beyond them.
func (s exposing) noteClaimants() {
	s.claimants = s.claimants[:0]
	s.exposures = nil
	if s.pool.policy.Reclaim == preempt.NoReclaim {
		return
	}
	for _, one := range s.waits {
		f := s.world.formOf(&s.world.works[one.item.ID], one.item.Form)
		if one.item.Form == 0 && f.pool == s.index && (f.nonPreemptible || !s.pool.policy.ReclaimNonPreemptibleOnly) {
			s.claimants = append(s.claimants, one.item)
		}
	}
}

// exposes says whether a unit whose places are taken, and that is beyond the lines
// with them, may not start because it gives a claimant a reclaim of what ran before.
// What it is charged is not charged yet.
func (s exposing) exposes(it queue.Item, f *form, unit gang.Unit, charge quota.Amounts) (exposed bool, err error) {
	w, p := s.world, s.pool
	if s.phase == withinLines || len(s.claimants) == 0 || p.room.Entitled(f.queue, charge) || !s.ranBeside(f.queue) {
		return false, nil
	}
	// Claimants are tried in scratch memory of their own.
	places, asks, claims, use := s.places, s.asks, s.claims, p.tree.Mark()
	s.places, s.asks, s.claims = nil, nil, false
	defer func() {
		s.places, s.asks, s.claims = places, asks, claims
		p.tree.Undo(use)
	}()
	if err := p.tree.Charge(int(f.queue), charge, f.nonPreemptible); err != nil {
		return false, err
	}
	var able []*preempt.Preemptor
	for _, other := range s.claimants {
		b, err := s.claimant(other, it.ID)
		if err != nil {
			return false, err
		}
		if b != nil && b.Leaf != f.queue && s.mayGain(b, f.queue, charge) {
			able = append(able, b)
		}
	}
	if len(able) == 0 {
		return false, nil
	}
	if w.room == nil {
		w.openBook(s.decision)
	}
	w.journal.keep(w, it.ID)
	before := w.room.seats[it.ID]
	w.room.seats[it.ID] = s.withPlaces(before, unit, places)
	w.reenter(it.ID)
	for _, b := range able {
		if exposed = s.takesWhatRan(b, it, f); exposed {
			s.noteExposure(it, f, b)
			break
		}
	}
	w.room.seats[it.ID] = before
	w.reenter(it.ID)
	return exposed, nil
}

// ranBeside says whether something preemptible that ran in the state is in the
// same subtree below the root as the leaf.
func (s exposing) ranBeside(leaf int32) bool {
	w, p := s.world, s.pool
	if s.ran == nil {
		s.ran = make([]bool, len(p.parent))
		for i := range w.holdings {
			h := &w.holdings[i]
			if h.phase != taskRunning || h.fresh {
				continue
			}
			if f := w.formOf(&w.works[h.work], h.form); !f.nonPreemptible && f.pool == s.index {
				s.ran[p.top(f.queue)] = true
			}
		}
	}
	return s.ran[p.top(leaf)]
}

// top is the uppermost queue above a queue.
func (p *corePool) top(q int32) int32 {
	for p.parent[q] >= 0 {
		q = p.parent[q]
	}
	return q
}

// claimant describes the next unit of somebody who waits; nil where it no longer
// does, or is the workload that starts.
func (s exposing) claimant(it queue.Item, starts int32) (*preempt.Preemptor, error) {
	w := s.world
	k := &w.works[it.ID]
	f, d := w.formOf(k, it.Form), w.definition(k, it.Form)
	if it.ID == starts || k.current != it.Form || !w.wants(k) && k.status != waiting || !d.verdict.OK {
		return nil, nil
	}
	unit := d.unit
	held := k.live >= 0 && w.holds(k)
	if held {
		var verdict gang.Verdict
		if unit, verdict = d.next(w.live[k.live].held); !verdict.OK {
			return nil, nil
		}
	}
	asks, err := s.unitAsks(d, unit, !held)
	if err != nil || s.beyondHelp(f, asks) {
		return nil, err
	}
	return s.beneficiary(k, it, it.Form, slices.Clone(unit.Add), slices.Clone(asks)), nil
}

// mayGain is a bound: whether the side of the leaf, as it is charged now, gives the
// claimant a right at all, and somebody enough to take.
func (s exposing) mayGain(b *preempt.Preemptor, leaf int32, charge quota.Amounts) bool {
	p := s.pool
	above := make(map[int32]bool)
	for q := b.Leaf; q >= 0; q = p.parent[q] {
		above[q] = true
	}
	side := leaf
	for p.parent[side] >= 0 && !above[p.parent[side]] {
		side = p.parent[side]
	}
	over := slices.ContainsFunc(b.Asks, func(a quota.Amount) bool {
		return int(a.Resource) < p.plain && p.divided[a.Resource] &&
			p.tree.Use(int(side), int(a.Resource)) > p.tree.Quota(int(side), int(a.Resource))
	})
	return over && slices.ContainsFunc(s.reclaims(b), func(mode preempt.Mode) bool {
		return !p.room.Infeasible(b, mode, func(of, res int32) int64 {
			return max(s.largestOf(of, res), charge.Of(res))
		})
	})
}

// reclaims are the ways in which the policy lets a claimant reclaim.
func (s exposing) reclaims(b *preempt.Preemptor) []preempt.Mode {
	return s.pool.room.Rights(b, s.pool.policy.Reclaim == preempt.ByQuotaAndShare)
}

// withPlaces are the seats of a workload with those of a unit at the places that
// were found for it.
func (s exposing) withPlaces(seats []seat, unit gang.Unit, places []placement.Place) []seat {
	seats = slices.Clone(seats)
	next := 0
	for set, n := range unit.Add {
		for range n {
			place := places[next]
			next++
			seats = append(seats, seat{
				taskPlace: taskPlace{set: int32(set), index: int32(len(seats)), node: s.pool.nodes[place.Node], devices: place.Devices},
				origin:    -1, pipelined: place.Pipelined, commit: int32(len(s.world.room.commits)), admitted: s.world.now,
			})
		}
	}
	return seats
}

// takesWhatRan says whether the claimant has a reclaim that takes what ran before,
// other than one unit that would get the place of what starts.
func (s exposing) takesWhatRan(b *preempt.Preemptor, it queue.Item, f *form) bool {
	if s.pool.index.Releasing() { // what it would claim counts as room
		defer letClaim(s.solver, b)()
	}
	if s.wouldStart(b) {
		return false
	}
	for _, mode := range s.reclaims(b) {
		proposal, refusal, found := s.pool.room.Find(b, mode)
		s.decision.work.Candidates += int64(refusal.Steps)
		if !found {
			continue
		}
		var ran []*preempt.Unit
		for _, c := range proposal.Justifications {
			if u := s.pool.room.Unit(c.Victim); u.Running > 0 {
				ran = append(ran, u)
			}
		}
		return len(ran) > 0 && !(len(ran) == 1 && s.takesThePlace(ran[0], it, f))
	}
	return false
}

// takesThePlace says whether a unit that goes is of the same leaf as what starts,
// stands before it, asks the same, and may move to its place (M4).
func (s exposing) takesThePlace(u *preempt.Unit, it queue.Item, f *form) bool {
	w := s.world
	k := &w.works[u.Work]
	own := w.formOf(k, k.current)
	theirs := queue.Item{Priority: own.priority, Submitted: k.submitted, Rank: k.rank, ID: u.Work, Form: k.current}
	return u.Work != it.ID && u.Leaf == f.queue && u.Step == 0 && it.Stage == queue.BelowMinimum && !u.Rooted &&
		own.definition == f.definition && own.nonPreemptible == f.nonPreemptible && len(w.room.seats[u.Work]) == len(u.Tasks) &&
		s.asOrdered(theirs).Compare(s.asOrdered(it)) < 0 && u.PreemptFrom <= w.now && !own.final
}

// giveBack frees the places of a unit that may not start after all.
func (s exposing) giveBack(d *definition, unit gang.Unit) error {
	next := 0
	for set, n := range unit.Add {
		for range n {
			place := s.places[next]
			next++
			if err := s.pool.index.Give(d.sets[set].placed, place); err != nil {
				return err
			}
		}
	}
	return nil
}

// An exposure is for whom a start beyond the lines would make way.
type exposure struct {
	why  verdict
	work int32 // the workload that did not start
}

// noteExposure keeps why a unit may not start.
func (s exposing) noteExposure(it queue.Item, f *form, b *preempt.Preemptor) {
	why := newVerdict(codeExposes, it.Form, f.pool)
	why.Queue, why.Workload = f.queue, b.Work
	s.exposures = append(s.exposures, exposure{why, it.ID})
}

// exposureOf is why workload i, or one like it, may not start.
func (s exposing) exposureOf(i int32, asked question) (verdict, bool) {
	for _, one := range s.exposures {
		k := &s.world.works[one.work]
		f := s.world.formOf(k, one.why.Form)
		like := (k.live < 0 || !s.world.holds(k)) && f.definition == asked.definition && f.queue == asked.queue && f.nonPreemptible == asked.nonPreemptible
		if one.work == i || like && one.why.Form == asked.form {
			return one.why, true
		}
	}
	return verdict{}, false
}
