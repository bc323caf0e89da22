package engine

import (
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// What starts beyond the lines of its queue makes that queue use more than its due,
// and may so give somebody who waits a right to what ran there before. Such a start
// is not made (M9): it would cost its own queue more than it brings. Only who was
// refused within the lines of the same round can have such a right, and only where
// something preemptible ran that is on the same side or, where lower priority of its own queue
// makes way besides (R11), on that of its own. Besides there are the patient, who have
// a right against whomever and make no use of it, as they will start in what is free beyond
// their own lines: who takes that place before them has them evict somebody.

// exposing is what a solver asks before it starts something beyond the lines.
type exposing struct{ *Solver }

// noteClaimants keeps who was refused within the lines, before it has another turn
// beyond them, and who has a turn only later.
func (s exposing) noteClaimants() {
	s.claimants = s.claimants[:0]
	s.exposures = nil
	if s.pool.Policy.Reclaim == preempt.NoReclaim {
		return
	}
	for _, one := range s.waits {
		f := s.world.FormOf(&s.world.Works[one.item.ID], one.item.Form)
		if one.item.Form == 0 && f.Pool == s.index && (f.NonPreemptible || !s.pool.Policy.ReclaimNonPreemptibleOnly) {
			s.claimants = append(s.claimants, one.item)
		}
	}
	if s.pool.Index.Releasing() {
		s.noteLeavers()
	}
}

// noteLeavers adds who has what it needs, and asks for more again once that has left (S5): it has no turn until then,
// and its right stands by then.
func (s exposing) noteLeavers() {
	w := s.world
	for at := range w.Live {
		l := &w.Live[at]
		if l.Leaving == 0 || l.From == l.To {
			continue
		}
		i := w.Holdings[l.From].Work
		k := &w.Works[i]
		f, d := w.FormOf(k, k.Current), w.Definition(k, k.Current)
		if k.Status != cluster.WaitsForLeavers || k.Current != 0 || f.Pool != s.index || !f.NonPreemptible && s.pool.Policy.ReclaimNonPreemptibleOnly ||
			!d.Elastic || len(d.Ladder) > 0 || !d.Gang.AtMinimum(l.Held) {
			continue
		}
		if it, more := itemOf(w, i, 0); more {
			if it.Stage = queue.AtMinimum; d.Gang.AboveMinimum(l.Held) {
				it.Stage = queue.AboveMinimum
			}
			s.claimants = append(s.claimants, it)
		}
	}
}

// exposes says whether a unit whose places are taken, and that is beyond the lines
// with them, may not start because it gives a claimant a reclaim of what ran before.
// What it is charged is not charged yet.
func (s exposing) exposes(it queue.Item, f *cluster.Form, unit gang.Unit, charge quota.Amounts) (bool, error) {
	w, p := s.world, s.pool
	if s.phase == withinLines || len(s.claimants) == 0 || p.Room.Entitled(f.Queue, charge) || !s.someRan() && len(s.patient) == 0 {
		return false, nil
	}
	// Claimants are tried in scratch memory of their own.
	places, asks, claims, use := s.places, s.asks, s.claims, p.Tree.Mark()
	s.places, s.asks, s.claims = nil, nil, false
	defer func() {
		s.places, s.asks, s.claims = places, asks, claims
		p.Tree.Undo(use)
	}()
	if err := p.Tree.Charge(int(f.Queue), charge, f.NonPreemptible); err != nil {
		return false, err
	}
	var able []*preempt.Preemptor
	for _, other := range s.claimants {
		b, err := s.claimant(other, it.ID)
		if err != nil {
			return false, err
		}
		if b != nil && b.Leaf != f.Queue && (s.patient[b.Work] || s.mayCost(b, f.Queue) && s.gives(b, f.Queue)) && s.mayGain(b, charge) {
			able = append(able, b)
		}
	}
	if len(able) == 0 {
		return false, nil
	}
	w.Booking().Tell()
	by, err := s.takesOnce(able, it, f, unit, places)
	if by == nil || err != nil {
		return false, err
	}
	s.noteExposure(it, f, by)
	return true, nil
}

// takesOnce is the first of some claimants that has a reclaim which takes what ran before once a unit has some places,
// or nil.
func (s exposing) takesOnce(able []*preempt.Preemptor, it queue.Item, f *cluster.Form, unit gang.Unit, places []placement.Place) (*preempt.Preemptor, error) {
	defer s.asStarted(it, unit, places)()
	for _, b := range able {
		switch exposed, err := s.takesWhatRan(b, it, f); {
		case err != nil:
			return nil, err
		case exposed:
			return b, nil
		}
	}
	return nil, nil
}

// asStarted has a unit be among those that stand, at some places, and returns what ends that.
func (s exposing) asStarted(it queue.Item, unit gang.Unit, places []placement.Place) (end func()) {
	w := s.world
	w.Journal.Keep(w, it.ID)
	k, before := &w.Works[it.ID], w.Room.Seats[it.ID]
	own := k.Current
	w.Room.Seats[it.ID], k.Current = s.withPlaces(before, unit, places), it.Form
	reenter(w, it.ID)
	return func() {
		w.Room.Seats[it.ID], k.Current = before, own
		reenter(w, it.ID)
	}
}

// mayCost is a bound: whether a reclaim of a claimant that a start in the leaf gives it may take what ran, there or,
// where lower priority of its own queue makes way besides (R11), in that.
func (s exposing) mayCost(b *preempt.Preemptor, leaf int32) bool {
	return s.ranBeside(leaf) || s.ranBeside(b.Leaf) && slices.Contains(s.reclaims(b), preempt.ReclaimAndPreempt)
}

// ranBeside says whether something preemptible that ran in the state is in the
// same subtree below the root as the leaf.
func (s exposing) ranBeside(leaf int32) bool { return s.someRan() && s.ran[topOf(s.pool, leaf)] }

// someRan says whether something preemptible ran in the state.
func (s exposing) someRan() bool {
	w, p := s.world, s.pool
	if s.ran == nil {
		s.ran = make([]bool, len(p.Parent))
		for i := range w.Holdings {
			h := &w.Holdings[i]
			if h.Phase != cluster.Running || h.Fresh {
				continue
			}
			if f := w.FormOf(&w.Works[h.Work], h.Form); !f.NonPreemptible && f.Pool == s.index {
				s.ran[topOf(p, f.Queue)] = true
			}
		}
	}
	return slices.Contains(s.ran, true)
}

// topOf is the uppermost queue above a queue.
func topOf(p *cluster.Pool, q int32) int32 {
	for p.Parent[q] >= 0 {
		q = p.Parent[q]
	}
	return q
}

// claimant describes the next unit of somebody who waits, or will once it has left (S5); nil
// where it no longer does, or is the workload that starts.
func (s exposing) claimant(it queue.Item, starts int32) (*preempt.Preemptor, error) {
	w := s.world
	k := &w.Works[it.ID]
	f, d := w.FormOf(k, it.Form), w.Definition(k, it.Form)
	waits := wantsMore(w, k) || k.Status == cluster.Waiting || k.Status == cluster.WaitsForLeavers
	if it.ID == starts || k.Current != it.Form || !waits || !d.Verdict.OK {
		return nil, nil
	}
	unit, held := d.Unit, w.CountsOf(k)
	if held != nil {
		var verdict gang.Verdict
		if unit, verdict = NextUnit(d, held); !verdict.OK {
			return nil, nil
		}
	}
	asks, err := s.unitAsks(d, unit, held == nil)
	if err != nil || s.preempting().beyondHelp(f, asks) {
		return nil, err
	}
	return s.preempting().preemptor(k, it, it.Form, slices.Clone(unit.Add), slices.Clone(asks)), nil
}

// gives is a bound: whether the side of the leaf, as it is charged now, gives the claimant
// a right at all.
func (s exposing) gives(b *preempt.Preemptor, leaf int32) bool {
	p := s.pool
	side := sideOf(p, leaf, b.Leaf)
	return slices.ContainsFunc(b.Asks, func(a quota.Amount) bool {
		return int(a.Resource) < p.Plain && p.Divided[a.Resource] &&
			p.Tree.Use(int(side), int(a.Resource)) > p.Room.Quotas[int(side)*p.Width+int(a.Resource)]
	}) || slices.ContainsFunc(b.Classes, func(a quota.Amount) bool {
		return p.Tree.Use(int(side), int(a.Resource)) > p.Tree.Quota(int(side), int(a.Resource))
	})
}

// sideOf is the queue at or above a leaf just below the one where its path and that of another part.
func sideOf(p *cluster.Pool, leaf, other int32) int32 {
	for p.Parent[leaf] >= 0 && !under(p, other, p.Parent[leaf]) {
		leaf = p.Parent[leaf]
	}
	return leaf
}

// mayGain is a bound: whether there is enough for the claimant to take.
func (s exposing) mayGain(b *preempt.Preemptor, charge quota.Amounts) bool {
	return slices.ContainsFunc(s.reclaims(b), func(mode preempt.Mode) bool {
		return !s.pool.Room.Infeasible(b, mode, func(of, res int32) int64 {
			return max(s.preempting().largestOf(of, res), charge.Of(res))
		})
	})
}

// reclaims are the ways in which the policy lets a claimant reclaim, be it that lower priority of its own queue makes
// way besides (R11).
func (s exposing) reclaims(b *preempt.Preemptor) []preempt.Mode {
	modes := s.pool.Room.Rights(b, s.pool.Policy.Reclaim == preempt.ByQuotaAndShare)
	if s.pool.Policy.Preempt == preempt.WithinQueue && b.Step == 0 && s.preempting().lowestOf() < b.Priority {
		modes = append(slices.Clip(modes), preempt.ReclaimAndPreempt)
	}
	return modes
}

// withPlaces are the seats of a workload with those of a unit at the places that
// were found for it.
func (s exposing) withPlaces(seats []cluster.Seat, unit gang.Unit, places []placement.Place) []cluster.Seat {
	seats = slices.Clone(seats)
	for task, set := range cluster.TasksOf(unit) {
		place := places[task]
		seats = append(seats, cluster.Seat{
			TaskPlace: cluster.TaskPlace{Set: int32(set), Index: int32(len(seats)), Node: s.pool.Nodes[place.Node], Devices: place.Devices},
			Origin:    -1, Pipelined: place.Pipelined, Commit: int32(len(s.world.Room.Commits)), Admitted: s.world.Now, Until: s.cut,
		})
	}
	return seats
}

// takesWhatRan says whether the claimant has a reclaim that takes what ran before,
// other than one unit that would get the place of what starts, and that lasts as what has
// started in this solve ends for good in the next one as well (S6).
func (s exposing) takesWhatRan(b *preempt.Preemptor, it queue.Item, f *cluster.Form) (bool, error) {
	if s.pool.Index.Releasing() { // what it would claim counts as room
		defer letClaim(s.Solver, b)()
	}
	if s.preempting().wouldStart(b) {
		return false, nil
	}
	for _, mode := range s.reclaims(b) {
		proposal, refusal, found := s.pool.Room.Find(b, mode)
		s.decision.Work.Candidates += int64(refusal.Steps)
		if !found {
			continue
		}
		var ran []*preempt.Unit
		for _, c := range proposal.Justifications {
			if u := s.pool.Room.Unit(c.Victim); u.Running > 0 {
				ran = append(ran, u)
			}
		}
		if len(ran) == 0 || len(ran) == 1 && s.takesThePlace(ran[0], it, f) {
			return false, nil
		}
		return s.preempting().lasts(b, &proposal, s.wouldEnd)
	}
	return false, nil
}

// wouldEnd says whether the workload of a victim would end for good with it, were what has started in this solve to
// run.
func (s exposing) wouldEnd(c preempt.Justification) bool {
	u := s.pool.Room.Unit(c.Victim)
	k := &s.world.Works[u.Work]
	return !c.Moves && u.Step == 0 && s.world.FormOf(k, k.Current).Final
}

// takesThePlace says whether a unit that goes is of the same leaf as what starts,
// stands before it, asks the same, and may move to its place (M4).
func (s exposing) takesThePlace(u *preempt.Unit, it queue.Item, f *cluster.Form) bool {
	w := s.world
	k := &w.Works[u.Work]
	own := w.FormOf(k, k.Current)
	theirs := wholeItem(w, u.Work, k.Current)
	return u.Work != it.ID && u.Leaf == f.Queue && u.Step == 0 && it.Stage == queue.BelowMinimum && !u.Rooted &&
		own.Definition == f.Definition && own.NonPreemptible == f.NonPreemptible && len(w.Room.Seats[u.Work]) == len(u.Tasks) &&
		s.asOrdered(theirs).Compare(s.asOrdered(it)) < 0 && u.PreemptFrom <= w.Now && !own.Final
}

// giveBack frees the places of a unit that may not start after all.
func (s exposing) giveBack(d *cluster.Definition, unit gang.Unit) error {
	for task, set := range cluster.TasksOf(unit) {
		if err := s.pool.Index.Give(d.Sets[set].Placed, s.places[task]); err != nil {
			return err
		}
	}
	s.promising().settles()
	return nil
}

// An exposure is for whom a start beyond the lines would make way.
type exposure struct {
	why  cluster.Verdict
	work int32 // the workload that did not start
}

// noteExposure keeps why a unit may not start.
func (s exposing) noteExposure(it queue.Item, f *cluster.Form, b *preempt.Preemptor) {
	why := cluster.NewVerdict(cluster.Exposes, it.Form, f.Pool)
	why.Queue, why.Workload = f.Queue, b.Work
	s.exposures = append(s.exposures, exposure{why, it.ID})
}

// exposureOf is why workload i, or one like it, may not start.
func (s exposing) exposureOf(i int32, asked question) (cluster.Verdict, bool) {
	for _, one := range s.exposures {
		k := &s.world.Works[one.work]
		f := s.world.FormOf(k, one.why.Form)
		like := !s.world.Holds(k) && f.Definition == asked.definition && f.Queue == asked.queue && f.NonPreemptible == asked.nonPreemptible
		if one.work == i || like && one.why.Form == asked.form {
			return one.why, true
		}
	}
	return cluster.Verdict{}, false
}
