package engine

import (
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
)

// endStale evicts what is left of gangs that have run below their minimum for
// longer than the policy's grace (G1). It is for nobody's benefit, and so goes
// by no protection. One gang goes at a time, the first by ID: its places may make another
// whole. Of very many a part does, as everybody has another turn after each time.
func endStale(w *cluster.World, d *cluster.Decision) error {
	if !someStale(w) {
		return nil
	}
	var stale []int32
	for i := range seekersIn(w) { // a gang below its minimum is short of the rest
		if isStale(w, &w.Works[i]) {
			stale = append(stale, i)
		}
	}
	if len(stale) == 0 {
		return nil
	}
	slices.SortFunc(stale, w.CompareIDs)
	w.Booking().Tell()
	for _, i := range stale[:staleAtOnce(len(stale))] {
		k := &w.Works[i]
		s := solverOf(w, k, k.Current)
		if err := s.takeStale(i); err != nil {
			return err
		}
		s.requeue(i)
		// Where it ran beyond its quota, its demand counted for more (F1).
		w.Room.Redivide = w.Room.Redivide || w.FormOf(k, k.Current).NonPreemptible
	}
	d.Changed = true
	return redivide(w, d)
}

// someStale says whether somebody may run below its minimum, which nobody does where a trial
// decides, and not for ever.
func someStale(w *cluster.World) bool {
	return !someSolver(w, func(s *Solver) bool { return s.kept != nil }) &&
		slices.ContainsFunc(w.Pools, func(p *cluster.Pool) bool { return p.Policy.StaleGangGrace.Given() })
}

// staleAtOnce is how many of so many stale gangs go before all others have another turn.
func staleAtOnce(stale int) int {
	const few, part = 32, 8
	if stale <= few {
		return 1
	}
	return stale / part
}

// isStale says whether a workload has run below its minimum for longer than the grace.
func isStale(w *cluster.World, k *cluster.Work) bool {
	grace := solverOf(w, k, k.Current).pool.Policy.StaleGangGrace
	return grace.Given() && isPartial(w, k) && cluster.TimeAfterSeconds(partialSince(w, k), grace) <= w.Now
}

// isPartial says whether a workload runs below its minimum.
func isPartial(w *cluster.World, k *cluster.Work) bool {
	return k.Status == cluster.Waiting && w.Holds(k) &&
		!isEnough(w.Definition(k, k.Current), w.Live[k.Live].Held) && !strayed(w, k)
}

// partialSince is since when it does: now, if it has come to that just now.
func partialSince(w *cluster.World, k *cluster.Work) int64 {
	if k.PartialSince >= 0 {
		return k.PartialSince
	}
	return w.Now
}

// strayed says whether something of a workload stands outside its pool (S7).
func strayed(w *cluster.World, k *cluster.Work) bool {
	l := &w.Live[k.Live]
	return slices.ContainsFunc(w.Holdings[l.From:l.To], func(h cluster.Holding) bool {
		return h.Phase != cluster.Terminating && w.Outside(k, h.Node)
	})
}

// isEnough says whether a halving workload runs between two sizes with no less than
// the minimum that it gave: it grows when it can, and is not stale.
func isEnough(d *cluster.Definition, held []int32) bool {
	return len(d.Ladder) > 0 && held[0] >= d.Lowest
}

// takeStale takes all that is left of a gang.
func (s *Solver) takeStale(i int32) error {
	for _, id := range slices.Collect(s.pool.Room.Of(i)) {
		if err := s.takeAlone(id, cluster.StaleGang); err != nil {
			return err
		}
	}
	return nil
}

// takeAlone takes a unit for nobody: it is not put back, but starts anew if it can.
func (s *Solver) takeAlone(unit preempt.UnitID, why cluster.Code) error {
	err := s.take(preempt.Justification{Victim: unit, Subtree: -1, PreemptorSubtree: -1}, cluster.None, why)
	if err == nil {
		s.world.Room.Out = s.world.Room.Out[:len(s.world.Room.Out)-1]
	}
	return err
}

// letClaim lets the start at hand claim places that others are leaving, until what
// it returns is called.
func letClaim(s *Solver, b *preempt.Preemptor) (end func()) {
	s.claims, b.AfterRelease = true, true
	return func() { s.claims, b.AfterRelease = false, false }
}

// claimForItself has the start at hand claim its places where tasks of its own are
// leaving (S5), until what it returns is called.
func claimForItself(s *Solver, k *cluster.Work) (end func()) {
	if k.Status == cluster.WaitsForLeavers {
		s.claims, s.waitsForItself = true, true
	}
	return func() { s.claims, s.waitsForItself = false, false }
}

// nodes is what is free for the start at hand.
func (s *Solver) nodes() *placement.Index {
	if s.claims {
		return s.pool.Index.AfterRelease()
	}
	return s.pool.Index
}

// claimTogether has all places of a unit be claimed where one of them is
// pipelined, as it starts as one (S4), or tasks of its workload are leaving (S5).
func (s *Solver) claimTogether(d *cluster.Definition, unit gang.Unit) error {
	if !s.waitsForItself && !slices.ContainsFunc(s.places, func(p placement.Place) bool { return p.Pipelined }) {
		return nil
	}
	for task, set := range cluster.TasksOf(unit) {
		if err := claim(s.pool.Index, d.Sets[set].Placed, &s.places[task]); err != nil {
			return err
		}
	}
	return nil
}

// claim has a place that was taken be claimed.
func claim(x *placement.Index, shape placement.Shape, p *placement.Place) error {
	if p.Pipelined {
		return nil
	}
	if err := x.Give(shape, *p); err != nil {
		return err
	}
	p.Pipelined = true
	return x.Take(shape, *p)
}

// startWhatClaims has the workloads of the pool start at once whose claims, of this solve or of
// the state, have come free after all, because others have gone since or claim no more (S4).
func startWhatClaims(s *Solver) {
	w, d := s.world, s.decision
	if !s.pool.Index.Releasing() {
		return
	}
	var waits []int32
	for _, i := range s.pool.Works {
		k := &w.Works[i]
		claims := k.Pipelined || k.Live >= 0 && w.Live[k.Live].Claimed > 0
		if claims && w.FormOf(k, k.Current).Pool == s.index {
			waits = append(waits, i)
		}
	}
	slices.SortFunc(waits, w.CompareIDs)
	for _, i := range waits {
		switch {
		case w.Works[i].IsLeaving(w):
			keepFree(w, s.pool.Index, i)
			continue
		case !startClaimed(w, s.pool.Index, i):
			continue
		}
		reenter(w, i)
		if d.Changed = true; !w.Works[i].Pipelined {
			s.requeue(i)
		}
	}
}

// keepFree has a workload whose old places are still leaving keep those free that it claims where it moves, if all of
// them are free beside what is leaving there: they are its own by now, and nobody comes between (S4). On a node that
// the task itself is leaving, its old place keeps the room that its claim will take, and it holds no other beside it.
func keepFree(w *cluster.World, x *placement.Index, i int32) {
	seats, k := w.Room.Seats[i], &w.Works[i]
	var kept []int32
	m := x.Mark()
	for at := range seats {
		s := &seats[at]
		if !s.Claimed || !s.Pipelined || !w.Holdings[s.Origin].Begun || leavesItself(w, k, s) {
			continue
		}
		if !openClaim(x, w.PlacedUntil(k, s.Set, s.Until), s.Place(w)) {
			x.Undo(m)
			return
		}
		kept = append(kept, int32(at))
	}
	if x.Commit(m); len(kept) > 0 {
		w.Booking().HoldPlaces(i, kept)
		reenter(w, i)
	}
}

// leavesItself says whether a task that claims where it moves is still leaving another place of the same node.
func leavesItself(w *cluster.World, k *cluster.Work, s *cluster.Seat) bool {
	l := &w.Live[k.Live]
	return slices.ContainsFunc(w.Holdings[l.From:l.To], func(h cluster.Holding) bool {
		return h.Phase == cluster.Terminating && h.Node == s.Node && h.Set == s.Set && h.Index == s.Index
	})
}

// startClaimed has what a workload claims start where it is free, each claim of the state for
// itself and what this solve has started as it has, if with what runs that is at its minimum (G1),
// else what has begun alone, if all of that is free (M10). It reports whether anything does.
func startClaimed(w *cluster.World, x *placement.Index, i int32) bool {
	for _, begunAlone := range [...]bool{false, true} {
		m := x.Mark()
		if open, start := openClaims(w, x, i, begunAlone); start {
			x.Commit(m)
			w.Booking().Begin(i, open)
			return true
		}
		x.Undo(m)
	}
	return false
}

// openClaims takes the places that a workload claims and that are free now, or begunAlone those where what has begun
// moves. It says of which rows they are, and whether these may start.
func openClaims(w *cluster.World, x *placement.Index, i int32, begunAlone bool) (open []bool, start bool) {
	seats, k := w.Room.Seats[i], &w.Works[i]
	d := w.Definition(k, k.Current)
	held := make([]int32, len(d.Sets))
	open = make([]bool, len(seats))
	stays := false
	for at := range seats {
		s := &seats[at]
		switch {
		case s.Claimed:
			begun := w.Holdings[s.Origin].Begun
			open[at] = (begun || !begunAlone) && (!s.Pipelined || openClaim(x, w.PlacedUntil(k, s.Set, s.Until), s.Place(w)))
			stays = stays || begun && !open[at]
		case !s.Pipelined:
			held[s.Set]++
		case !begunAlone && slices.IndexFunc(seats, func(other cluster.Seat) bool { return other.Waits() && other.Commit == s.Commit }) == at:
			openCommit(w, x, k, seats, open, s.Commit)
		}
	}
	some := false
	for at := range seats {
		if open[at] {
			some = true
			held[seats[at].Set]++
		}
	}
	return open, some && (begunAlone && !stays || d.Gang.AtMinimum(held))
}

// openCommit takes all places that are claimed by a start, if they are free now.
func openCommit(w *cluster.World, x *placement.Index, k *cluster.Work, seats []cluster.Seat, open []bool, start int32) {
	m := x.Mark()
	each := func(do func(at int, shape placement.Shape) bool) bool {
		for at := range seats {
			if s := &seats[at]; s.Commit == start && s.Waits() && !do(at, w.PlacedUntil(k, s.Set, s.Until)) {
				return false
			}
		}
		return true
	}
	free := each(func(at int, shape placement.Shape) bool { return x.Give(shape, seats[at].Place(w)) == nil }) &&
		each(func(at int, shape placement.Shape) bool {
			now := seats[at].Place(w)
			now.Pipelined = false
			return takeIfFree(x, shape, now)
		})
	if !free {
		x.Undo(m)
		return
	}
	x.Commit(m)
	each(func(at int, _ placement.Shape) bool { open[at] = true; return true })
}

// takeIfFree takes a place of an index if it is free, and says whether it was.
func takeIfFree(x *placement.Index, shape placement.Shape, place placement.Place) bool {
	return x.Fits(shape, place) && x.Take(shape, place) == nil
}

// openClaim takes a place that was claimed, if it is free now.
func openClaim(x *placement.Index, shape placement.Shape, place placement.Place) bool {
	m := x.Mark()
	err := x.Give(shape, place)
	if place.Pipelined = false; err != nil || !takeIfFree(x, shape, place) {
		x.Undo(m)
		return false
	}
	x.Commit(m)
	return true
}

// toldApart tells tasks apart that are alike at one place and end together: what stood from what has come, and what has
// come by one start from what has by another. Of one start all stand behind the same one, or none does.
func toldApart(s *cluster.Seat) int32 {
	if s.Origin >= 0 {
		return s.Origin + 1
	}
	return -s.Commit - 1
}

// endings tell when tasks are predicted to end that stand in the table (B1). They remember when the
// last workload that they were asked of has done its fixed work, and are of use as long as the table
// is as it is. withReleased: the fixed work counts what has been released too, as where it is tried whether
// that may come back: it did the work together with what has a place.
type endings struct {
	*cluster.World
	withReleased bool
	begins       triedStart // which does the fixed work too
	work         int32      // plus one
	done         int64
}

// endsIn is when a task is predicted to end, by what is known of its workload and, of fixed work, by
// all of it that has a place: each of its tasks has as much to do as the others leave.
func (e *endings) endsIn(i int32, s *cluster.Seat) int64 {
	k := &e.Works[i]
	times, p := &e.Definition(k, k.Current).Times, e.Pools[e.FormOf(k, k.Current).Pool]
	if times.Fixed && e.work != i+1 {
		joint := jointOf(e.World, i, times, e.withReleased)
		if e.begins.work == i+1 {
			joint.Join(max(e.Now, 0), int32(len(e.begins.seats)))
		}
		e.work, e.done = i+1, joint.Done()
	}
	done := e.done
	if !times.Fixed {
		done = cluster.TimeAfter(beganAt(e.World, s), times.Duration)
	}
	return cluster.PredictedEnd(max(e.Now, 0), done, limitedAt(e.World, s, times), p.Policy.Reserve.Grace)
}

// leavesAt is when a task has left its place, and its queue: when it is expected to end, or before that has to go for
// what people have reserved (B9).
func (e *endings) leavesAt(i int32, s *cluster.Seat) int64 {
	k := &e.Works[i]
	goes, _ := e.Pools[e.FormOf(k, k.Current).Pool].EvictedAt(e.World, k, &s.TaskPlace)
	return min(e.endsIn(i, s), goes)
}

// limitedAt is when the host ends a task.
func limitedAt(w *cluster.World, s *cluster.Seat, times *cluster.Times) int64 {
	limited := cutTo(s, cluster.TimeAfter(beganAt(w, s), times.Limit))
	if s.Origin >= 0 && w.Holdings[s.Origin].Until > 0 {
		limited = min(limited, w.Holdings[s.Origin].Until)
	}
	return limited
}

// jointOf is the fixed work of a workload as all of it does it that has a place in the table, and
// withReleased also what had one in the state, or started in this solve and is out.
func jointOf(w *cluster.World, i int32, times *cluster.Times, withReleased bool) cluster.Joint {
	k, joint, seats := &w.Works[i], cluster.NewJoint(times.Rest), w.Room.Seats[i]
	for at := range seats {
		joint.Join(beganAt(w, &seats[at]), 1)
	}
	if !withReleased {
		return joint
	}
	all := slices.Clone(seats)
	add := func(released []cluster.Seat) {
		for _, one := range released {
			if !slices.ContainsFunc(all, func(s cluster.Seat) bool { return s.Set == one.Set && s.Index == one.Index }) {
				all = append(all, one)
				joint.Join(beganAt(w, &one), 1)
			}
		}
	}
	if k.Live >= 0 && w.Live[k.Live].Form == k.Current {
		add(cluster.AppendSeats(w, nil, w.Live[k.Live].From, w.Live[k.Live].To))
	}
	for at := range w.Room.Out {
		if o := &w.Room.Out[at]; o.Unit.Work == i && o.Form == k.Current {
			add(o.Seats)
		}
	}
	return joint
}

// beganAt is when a task began to run; of what has not begun it is now.
func beganAt(w *cluster.World, s *cluster.Seat) int64 {
	if s.Origin >= 0 && w.Holdings[s.Origin].Begun {
		return w.Holdings[s.Origin].Started
	}
	return max(w.Now, 0)
}

// endsForSure is when a task has ended for sure; of what starts only where it is cut.
func endsForSure(s *cluster.Seat, w *cluster.World) int64 {
	if s.Origin < 0 {
		return cutTo(s, cluster.Never)
	}
	h := &w.Holdings[s.Origin]
	k := &w.Works[h.Work]
	p := w.Pools[w.FormOf(k, h.Form).Pool]
	return cluster.SureEnd(max(w.Now, 0), limitedAt(w, s, &w.Definition(k, h.Form).Times), p.Policy.Reserve.Grace)
}

// hasOverrun says whether a task was expected to have ended by now, as its workload ran in the state.
func hasOverrun(w *cluster.World, s *cluster.Seat) bool {
	if s.Origin < 0 || !w.Holdings[s.Origin].Begun {
		return false
	}
	h := &w.Holdings[s.Origin]
	k := &w.Works[h.Work]
	times := &w.Definition(k, h.Form).Times
	if !times.Fixed {
		return cluster.TimeAfter(h.Started, times.Duration) <= w.Now
	}
	joint, l := cluster.NewJoint(times.Rest), &w.Live[k.Live]
	for at := l.From; at < l.To; at++ {
		if one := &w.Holdings[at]; one.Begun && one.Phase != cluster.Terminating {
			joint.Join(one.Started, 1)
		}
	}
	return min(joint.Done(), cluster.TimeAfter(h.Started, times.Limit)) <= w.Now
}

// cutTo is an end of the task, or when it is ended for it has been cut to fit a hole.
func cutTo(s *cluster.Seat, end int64) int64 {
	if s.Until > 0 {
		return min(end, s.Until)
	}
	return end
}
