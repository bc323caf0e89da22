package engine

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/division"
	"github.com/allotsched/allot/queue"
)

// Promises are laid in two passes, first those of whoever is within its lines, and in each the kept ones before the
// new (B4). What is said of that order is here; the loop is in promise_make.go.

// laying is what a solver asks about the order in which promises are laid.
type laying struct{ promising }

func (s promising) laying() laying { return laying{s} }

// compare orders promises: those within their lines first; of a pass those that the state had by time and ID, then
// the others as they were made, but for one that stands in its leaf before some that were: it goes before them (B4).
func (laying) compare(a, b *promise) int {
	return cmp.Or(trueFirst(a.entitled, b.entitled), cmp.Compare(a.rank, b.rank))
}

// trueFirst compares what is so with what is not.
func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// rankKept puts the promises of the state in their order.
func (s laying) rankKept() {
	all := &s.promises
	slices.SortFunc(all.list, func(a, b *promise) int {
		return cmp.Or(cmp.Compare(a.was.At, b.was.At), s.world.CompareIDs(a.work, b.work))
	})
	for _, p := range all.list {
		p.rank, all.ranks = all.ranks, all.ranks+1
	}
	slices.SortStableFunc(all.list, s.compare)
}

// gatherers are the promises for which places are gathered.
func (s laying) gatherers() []*promise {
	return slices.DeleteFunc(slices.Clone(s.promises.list), func(p *promise) bool { return !p.gathers })
}

// readLines reads which of the promises that were made beyond the lines of their queues are within those of today, as
// they are when their time has come beside those that are: they make way as little as such (B4). It says whether that
// has changed for any.
func (s laying) readLines() (changed bool) {
	for _, p := range s.promises.list {
		before := p.within
		p.within = s.isWithin(p, p.at)
		changed = changed || p.within != before
	}
	return changed
}

// isWithin says whether a promise is within the lines of today at a time, as [laying.readLines] reads them.
func (s laying) isWithin(p *promise, at int64) bool {
	then := *p
	then.at = at
	return p.entitled || !p.gathers && !p.lost && s.entitledAmong(&then, func(other *promise) bool { return other.entitled })
}

// yields says whether a promise makes way for that of another: one beyond its lines for one within, and of a pass in
// its leaf one for whom stands before it (B4). One whose time has come makes way for who starts, and not for who
// would wait.
func (s laying) yields(p, to *promise) bool {
	if s.promises.foresees { // all that the plan promises stands in a forecast
		return false
	}
	switch {
	case p.isBeyond(to):
		return true
	case p.entitled && !to.entitled:
		return false
	}
	return p != to && !s.behind().hasComeFor(p) && s.standsBefore(to.work, s.world.FormOf(&s.world.Works[to.work], to.form), p)
}

// isBeyond says whether a promise is beyond its lines and another within its own.
func (p *promise) isBeyond(to *promise) bool { return to.entitled && !p.entitled && !p.within }

// isPutOffFor says whether a promise does not begin yet for the sake of a workload.
func (p *promise) isPutOffFor(work int32) bool { return p.putOffFor == work+1 }

// mayBeOneMore says whether there may be one promise more, or one may be made as others make way for it. Those of its
// own leaf do so for one in a pass, which is noted: most of those who stand before them find no time, and a pass in
// which one has found some is followed by another.
func (s laying) mayBeOneMore(made *promise) bool {
	leaf := s.queueOf(made)
	switch {
	case s.hasRoom(made, (*promise).isBeyond):
		return true
	case s.promises.hadTurn[leaf] || !s.hasRoom(made, s.yields):
		return false
	}
	if s.promises.hadTurn == nil {
		s.promises.hadTurn = make(map[int32]bool)
	}
	s.promises.hadTurn[leaf] = true
	return true
}

// hasRoom says whether one promise more is not too many beside those that do not make way for it.
func (s laying) hasRoom(made *promise, makesWay func(p, to *promise) bool) bool {
	r, all, own := &s.pool.Policy.Reserve, 0, 0
	for _, p := range s.promises.list {
		if makesWay(p, made) {
			continue
		}
		all++
		if s.queueOf(p) == s.queueOf(made) {
			own++
		}
	}
	return all < r.Depth && (r.MaxPromises == 0 || own < r.MaxPromises)
}

// tooMany is the last promise that has to go for one that has been made, or at all for nil, as there may not be so many
// in all, or of one queue (B4), or nil.
func (s laying) tooMany(made *promise) *promise {
	r := &s.pool.Policy.Reserve
	for _, p := range slices.Backward(s.promises.list) {
		if made != nil && !s.yields(p, made) {
			continue
		}
		if len(s.promises.list) > r.Depth || r.MaxPromises > 0 && s.ofQueue(s.queueOf(p)) > r.MaxPromises {
			return p
		}
	}
	return nil
}

// queueOf is where a promise is charged.
func (s laying) queueOf(p *promise) int32 {
	return s.world.FormOf(&s.world.Works[p.work], p.form).Queue
}

// ofQueue is how many promises there are of a queue.
func (s laying) ofQueue(queue int32) (own int) {
	for _, p := range s.promises.list {
		if s.queueOf(p) == queue {
			own++
		}
	}
	return own
}

// rank gives a promise that is made its place in its pass: before those that make way for it, else behind all.
func (s laying) rank(p *promise) {
	all := &s.promises
	p.rank, all.ranks = all.ranks, all.ranks+1
	at := slices.IndexFunc(all.list, func(other *promise) bool { return other.entitled == p.entitled && s.yields(other, p) })
	if at < 0 {
		return
	}
	p.rank = all.list[at].rank
	for _, other := range all.list {
		if other.rank >= p.rank {
			other.rank++
		}
	}
}

// goesBefore says whether what would start of a workload in a form, or what it grows by beyond its minimum, is of the
// leaf of who has a promise and stands before it (O1).
func (s laying) goesBefore(i int32, f *cluster.Form, grows bool, p *promise) bool {
	if other := s.world.FormOf(&s.world.Works[p.work], p.form); grows && other.Priority == f.Priority {
		return false // who is below a minimum goes before who is at one
	}
	return s.standsBefore(i, f, p)
}

// standsBefore says whether a form of a workload is in the leaf of who has a promise, and stands
// before it, were neither to hold anything (O1).
func (s laying) standsBefore(i int32, f *cluster.Form, p *promise) bool {
	return division.Of(s.world).Precedes(i, f, p.work, p.form)
}

// withdrawStopped withdraws the promises of those who had no turn in the last pass, as a head stops them: they would
// not start when their time comes, and behind a head nobody is promised anything (O4).
func (s laying) withdrawStopped() {
	for _, p := range slices.Clone(s.promises.list) {
		if head := s.headOf(p); head != cluster.None && !s.wasTried(p.work, p.form) {
			s.withdraw(p, s.yieldsTo(p, head))
		}
	}
}

// headOf is the head that stops the workload of a promise, or none: in its own leaf one that stands before it, as one
// behind it may have had a turn that a head of the pool has kept from it.
func (s laying) headOf(p *promise) int32 {
	w := s.world
	return s.enqueuing().inTheWay(p.work, p.form, func(one *stop, f *cluster.Form, d *cluster.Definition) bool {
		head := w.FormOf(&w.Works[one.work], w.Works[one.work].Current)
		return one.stops(f, d) && (head.Queue != f.Queue || s.standsBefore(one.work, head, p))
	})
}

// A notYet is from when on a workload may be promised something, as it may not start at once for the sake of another.
type notYet struct {
	from int64
	why  *cluster.Verdict
}

// mayNotYet says whether a workload that has been refused may not start as things stand for the sake of another, and
// from when on.
func (s laying) mayNotYet(it queue.Item) (notYet, error) {
	if not := s.keptOff(it); not.why != nil {
		s.putOffAgain(it.ID, true)
		return not, nil
	}
	why := s.wouldExpose(it)
	s.putOffAgain(it.ID, why != nil)
	if why == nil {
		return notYet{}, nil
	}
	if err := s.layAgain(); err != nil {
		return notYet{}, err
	}
	return notYet{s.nextEnd(it.ID), why}, nil
}

// nextEnd is when the next of all ends that stands or is promised to others than a workload, or Never.
func (s laying) nextEnd(work int32) int64 {
	profile := s.promises.profile
	held := profile.Release(work)
	next, some := profile.NextEnd(max(s.world.Now, 0))
	if len(held) > 0 {
		profile.Hold(work, held)
	}
	if !some {
		return cluster.Never
	}
	return next
}

// keptOff says whether idle nodes are kept from a workload for a head before it (P8): it may start there once that one
// has.
func (s laying) keptOff(it queue.Item) (not notYet) {
	k := &s.world.Works[it.ID]
	head := s.enqueuing().keptOff(it.ID, it.Form)
	if head == cluster.None || !s.world.Definition(k, it.Form).GPU {
		return not
	}
	why := cluster.NewVerdict(cluster.Yields, it.Form, s.index)
	why.Workload = head
	not.why, not.from = &why, cluster.Never
	if p := s.of(head); p != nil && !p.gathers {
		not.from = p.at
	}
	return not
}

// wouldExpose is why a workload that has been refused may not start as things stand, since that would give somebody a
// right to what ran (M9), or nil: it can when something else than itself has ended, at the earliest.
func (s laying) wouldExpose(it queue.Item) *cluster.Verdict {
	if s.phase == withinLines {
		return nil
	}
	at := slices.IndexFunc(s.exposures, func(one exposure) bool { return one.work == it.ID && one.why.Form == it.Form })
	if at < 0 {
		return nil
	}
	return &s.exposures[at].why
}

// deferWhere has a promise of which the time has come be put off where its workload may not start for the sake of
// another, to whom it yields.
func (s laying) deferWhere(p *promise, not notYet) {
	if not.why == nil || p.at >= not.from {
		return
	}
	s.promises.profile.Release(p.work)
	p.from, p.putOffFor = not.from, not.why.Workload+1
	s.allElsewhere(s.anew(p, p.from, p.at, s.yieldsTo(p, not.why.Workload)))
}

// A putOff is a promise that is laid as if it were not put off, and all that was promised when it was.
type putOff struct {
	promise *promise
	before  asLaid
}

// askAnew has a promise that is put off be laid as if it were not while its workload has its turn beyond its lines: whether
// that may start is asked of its start when its time has come, as it was when it was put off. As it lies, later and behind
// others, it would find no place, and be put off no more for that, and so by turns.
func (s laying) askAnew(it queue.Item) error {
	s.promises.askedAnew = putOff{}
	p := s.of(it.ID)
	if p == nil || p.from == 0 || s.phase != beyondLines || s.promises.foresees {
		return nil
	}
	if err := s.layAgain(); err != nil {
		return err
	}
	if s.of(it.ID) != p {
		return nil
	}
	s.promises.askedAnew = putOff{p, s.asLaid()}
	p.from, p.tried, p.sought = 0, 0, 0
	s.inTime(p)
	if p.at > max(s.world.Now, 0) && s.of(it.ID) == p {
		s.earlier(p, make(map[apartKey]bool))
	}
	return nil
}

// putOffAgain has all be promised again as it was before a promise was laid as if it were not put off, where its workload
// may still not start. Where its time would not have come it is put off no longer than until something has ended.
func (s laying) putOffAgain(work int32, mayNot bool) {
	all := &s.promises
	p, before := all.askedAnew.promise, all.askedAnew.before
	all.askedAnew = putOff{}
	switch {
	case p == nil || p.work != work || s.of(work) != p:
	case mayNot:
		s.layAs(before)
	case p.at > max(s.world.Now, 0):
		p.from = min(p.at, s.nextEnd(work))
	default:
		p.putOffFor = 0
	}
}
