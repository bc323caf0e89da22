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
				commit:    last, admitted: w.now, pipelined: place.Pipelined,
			}
			w.continues(it.ID, &one)
			book.seats[it.ID] = append(book.seats[it.ID], one)
			if k.live >= 0 {
				w.live[k.live].held[set]++
			}
		}
	}
	own := book.seats[it.ID]
	noteAtOnce(w, it.ID, own[len(own)-next:])
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
	for _, id := range s.pool.room.Of(i) {
		if err := s.take(preempt.Justification{Victim: id, Subtree: -1, PreemptorSubtree: -1}, none, StaleGang); err != nil {
			return err
		}
	}
	return nil
}

// letClaim lets the start at hand claim places that others are leaving, until what
// it returns is called.
func letClaim(s *solver, b *preempt.Preemptor) (end func()) {
	s.claims, b.AfterRelease = true, true
	return func() { s.claims, b.AfterRelease = false, false }
}

// claimForItself has the start at hand claim its places where tasks of its own are
// leaving (S5), until what it returns is called.
func claimForItself(s *solver, k *work) (end func()) {
	if k.status == leaving {
		s.claims, s.waitsForItself = true, true
	}
	return func() { s.claims, s.waitsForItself = false, false }
}

// nodes is what is free for the start at hand.
func (s *solver) nodes() *placement.Index {
	if s.claims {
		return s.pool.index.AfterRelease()
	}
	return s.pool.index
}

// claimTogether has all places of a unit be claimed where one of them is
// pipelined, as it starts as one (S4), or tasks of its workload are leaving (S5).
func (s *solver) claimTogether(d *definition, unit gang.Unit) error {
	if !s.waitsForItself && !slices.ContainsFunc(s.places, func(p placement.Place) bool { return p.Pipelined }) {
		return nil
	}
	next := 0
	for set, n := range unit.Add {
		for range n {
			if err := claim(s.pool.index, d.sets[set].placed, &s.places[next]); err != nil {
				return err
			}
			next++
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

// startWhatClaims has the workloads of the pool start at once whose claims of this solve
// have come free after all, because others have gone since.
func startWhatClaims(s *solver) {
	w, d := s.world, s.decision
	if w.room == nil || !s.pool.index.Releasing() {
		return
	}
	var claiming []int32
	for _, i := range s.pool.works {
		if k := &w.works[i]; k.pipelined && w.formOf(k, k.current).pool == s.index && !k.isLeaving(w) {
			claiming = append(claiming, i)
		}
	}
	slices.SortFunc(claiming, w.compareIDs)
	for _, i := range claiming {
		k := &w.works[i]
		if !startCommits(w, s.pool.index, i) {
			continue
		}
		w.reenter(i)
		if !k.pipelined {
			d.changed = true
			s.requeue(i)
		}
	}
}

// isLeaving says whether tasks of the workload are Terminating that wait again (S5).
func (k *work) isLeaving(w *world) bool { return k.live >= 0 && w.live[k.live].leaving > 0 }

// startCommits has every start of the workload that waits for places begin if they
// are free now, and reports whether one was.
func startCommits(w *world, x *placement.Index, i int32) (some bool) {
	w.journal.keep(w, i)
	seats, definition := w.room.seats[i], w.definition(&w.works[i], w.works[i].current)
	var commits []int32
	for at := range seats {
		if seats[at].waits() {
			commits = append(commits, seats[at].commit)
		}
	}
	slices.Sort(commits)
	for _, c := range slices.Compact(commits) {
		m, free := x.Mark(), true
		each := func(do func(placement.Shape, *seat) bool) {
			for at := range seats {
				if one := &seats[at]; free && one.commit == c && one.waits() {
					free = do(definition.sets[one.set].placed, one)
				}
			}
		}
		each(func(shape placement.Shape, one *seat) bool { return x.Give(shape, one.place(w)) == nil })
		each(func(shape placement.Shape, one *seat) bool {
			now := one.place(w)
			now.Pipelined = false
			return x.Fits(shape, now) && x.Take(shape, now) == nil
		})
		if !free {
			x.Undo(m)
			continue
		}
		x.Commit(m)
		each(func(_ placement.Shape, one *seat) bool { one.pipelined = false; return true })
		some = true
	}
	return some
}

// A disruption budget counts what runs of an owner in a pool (M7). What this solve starts
// there and waits for nobody counts too, and what goes because of it goes after it. It
// stays where it is from then on. What starts only once others have left lets nobody go:
// that may take long, or may itself have to wait for what it would let go.

// ownerOf is whose budget counts the tasks of a workload, or none.
func ownerOf(w *world, i int32) int32 {
	if owner := w.source(&w.works[i]).Owner; owner != "" {
		if at, known := w.owners[owner]; known {
			return at
		}
	}
	return none
}

// noteAtOnce takes note of whether seats that a workload is given now, together, start at
// once: a gang starts as one.
func noteAtOnce(w *world, i int32, seats []seat) {
	if ownerOf(w, i) == none {
		return
	}
	waits := slices.ContainsFunc(seats, func(s seat) bool { return s.pipelined || s.origin < 0 && someLeft(w, s.node) })
	for at := range seats {
		seats[at].atOnce = seats[at].origin < 0 && !waits
	}
}

// someLeft says whether something that ran on a node or claimed a place there does so no
// more.
func someLeft(w *world, node int32) bool {
	for _, at := range w.holdingsOn(node) {
		h := &w.holdings[at]
		live := w.works[h.work].live
		if h.phase == Terminating || h.phase == vacant || live < 0 || at < w.live[live].from || at >= w.live[live].to {
			continue
		}
		if !slices.ContainsFunc(w.room.seats[h.work], func(s seat) bool { return s.origin == at && s.commit < 0 }) {
			return true
		}
	}
	return false
}

// startsAtOnce says whether the task of a seat starts in this solve and waits for nobody;
// a claim does whose place has come free.
func startsAtOnce(w *world, s *seat) bool {
	return s.atOnce || s.origin >= 0 && s.commit < 0 && w.holdings[s.origin].fresh
}

// beginBudgets tells the rooms that nobody has gone yet.
func beginBudgets(w *world) {
	for _, p := range w.pools {
		p.room.Begin()
	}
}

// letsGo says whether starts of this solve are what lets something go that ran.
func (s freeStarts) letsGo(commits []int32) bool {
	w := s.world
	starting := make(map[int32]int)
	for _, c := range commits {
		work := w.room.commits[c].work
		for _, one := range w.room.seats[work] {
			if one.commit == c && one.atOnce {
				starting[ownerOf(w, work)]++
			}
		}
	}
	for owner, n := range starting { // each for itself: order cannot matter
		if !s.pool.room.Spares(owner, n) {
			return true
		}
	}
	return false
}

// A poolBudget is that of one owner in one pool.
type poolBudget struct{ pool, owner int32 }

func budgetOf(w *world, a *action) poolBudget {
	return poolBudget{w.formOf(&w.works[a.work], a.form).pool, ownerOf(w, a.work)}
}

// licenseFirst has what starts at once come before what only thereby may go or move: as
// many starts of the owner as that takes, in their order, right before it. Who went before
// they were decided, so that their queues admitted them, stands before that.
func licenseFirst(w *world, d *decision) {
	if len(w.budgets) == 0 {
		return
	}
	settled, rest := d.actions[:w.room.settled], d.actions[w.room.settled:]
	left, order, done := budgetsBefore(w, d, settled), slices.Clone(settled), make([]bool, len(rest))
	for i := range rest {
		if done[i] {
			continue
		}
		b, taken := budgetOf(w, &rest[i]), disturbs(w, &rest[i])
		for at := i + 1; at < len(rest) && taken > 0 && b.owner != none && left[b] < taken && rest[i].code != StaleGang; at++ {
			if n := begins(w, d, &rest[at]); n > 0 && !done[at] && budgetOf(w, &rest[at]) == b {
				done[at], order = true, append(order, rest[at])
				left[b] += n
			}
		}
		left[b] += begins(w, d, &rest[i]) - taken
		order = append(order, rest[i])
	}
	d.actions = order
}

// budgetsBefore are how many running tasks may be disturbed once some actions are done,
// which the reconciliation wrote.
func budgetsBefore(w *world, d *decision, settled []action) map[poolBudget]int64 {
	left := make(map[poolBudget]int64)
	for pool := range w.pools {
		for owner, n := range w.budgets {
			left[poolBudget{int32(pool), int32(owner)}] = n
		}
	}
	for i := range w.works {
		owner, live := ownerOf(w, int32(i)), w.works[i].live
		if owner == none || live < 0 {
			continue
		}
		l := &w.live[live]
		for at := l.from; at < l.to; at++ {
			if h := &w.holdings[at]; h.phase == Running && !h.fresh {
				left[poolBudget{w.formOf(&w.works[i], h.form).pool, owner}]++
			}
		}
	}
	for i := range settled {
		left[budgetOf(w, &settled[i])] += begins(w, d, &settled[i])
	}
	return left
}

// disturbs is how many tasks that ran an action has go or move.
func disturbs(w *world, a *action) int64 {
	if a.kind == Evict || a.kind == Shrink || a.kind == Move {
		return int64(a.to - a.from)
	}
	return 0
}

// begins is how many tasks an action starts, if they wait for nobody.
func begins(w *world, d *decision, a *action) int64 {
	if a.kind != Start && a.kind != Resize {
		return 0
	}
	for _, t := range d.placed[a.from:a.to] {
		if !slices.ContainsFunc(w.room.seats[a.work], func(s seat) bool { return s.taskPlace == t && startsAtOnce(w, &s) }) {
			return 0
		}
	}
	return int64(a.to - a.from)
}
