package engine

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/queue"
)

// A forecast is the plan of now, played on (B10): what the plan has decided stands, and everybody who still waits
// is laid at its earliest time as a promise is, in its turn, from its own time on, and not before those begin whom
// it may not pass: a few of these that begin then are placed anew for it, as starts of one plan are (M9). Nobody has a
// turn in which it could start, or have room made.

// foresight is what a solver knows of that; in a solve it is zero.
type foresight struct {
	// foresees: promises are those of a forecast. passes: the pool promises nothing itself, so that it keeps
	// nobody from passing who may last longer than is expected.
	foresees, passes bool
	// from is before which the workload does not begin that is laid next.
	from int64
}

// foreseeing plays on.
type foreseeing struct{ promising }

func (s promising) foreseeing() foreseeing { return foreseeing{s} }

// An awaited is a workload whose time has not come, and when those begin whom it may not pass.
type awaited struct {
	item queue.Item
	from int64
}

// Foresee decides nothing in a world in which a plan has begun, and lays whoever waits at the time at which it is
// foreseen to start: [Reservations] tells of them, as many in a pool as are looked at. The world is one of which is
// known what those ask for whose time has not come.
func Foresee(ctx context.Context, w *cluster.World, most int) (*cluster.Decision, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d := &cluster.Decision{World: w}
	if err := begin(w, d); err != nil {
		return nil, err
	}
	newSolvers(ctx, w, d)
	for s := range eachSolver(w) {
		if err := layKept(s.promising()); err != nil {
			return nil, err
		}
		if err := s.promising().foreseeing().playOn(most); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// playOn lays those of the pool: as in a plan, within their lines first, and then the others; and after these, one
// by one as their time comes, those who ask for nothing yet.
func (s foreseeing) playOn(most int) error {
	s.open(most)
	var early []awaited
	for _, s.phase = range [...]attempt{withinLines, beyondLines} {
		early = early[:0]
		s.enqueuing().lineUp(true)
		for _, order := range [...]*queue.Queues{s.apart, s.main} {
			if order == nil {
				continue
			}
			for leaf, it, ok := order.Best(); ok; leaf, it, ok = order.Best() {
				if err := s.turn(order, leaf, it, &early); err != nil {
					return err
				}
			}
		}
	}
	s.enqueuing().unblock() // those who asked before have been heeded
	slices.SortStableFunc(early, func(a, b awaited) int { return cmp.Compare(s.timeOf(a.item), s.timeOf(b.item)) })
	for _, one := range early {
		if err := s.layFrom(one.item, max(one.from, s.from(one.item), s.timeOf(one.item))); err != nil {
			return err
		}
	}
	_, err := s.improve()
	return err
}

// open has everybody be promised something, and what the plan has promised stand: it yields to nobody any more. By
// when work has left for sure stays what it is.
func (s foreseeing) open(most int) {
	all, r := &s.promises, &s.pool.Policy.Reserve
	all.foresees, all.passes = true, !reserves(s.pool)
	*r = cluster.Reserve{
		Depth: most, FromPriority: math.MinInt32, MaxHeld: math.MaxInt64, MaxHold: cluster.Never,
		TrustDurations: r.TrustDurations, Evictable: r.Evictable, Resolution: r.Resolution,
	}
	all.at = 0 // the profile has no horizon from now on
	for _, p := range all.list {
		p.entitled = true
	}
}

// turn lays the workload that is best in order, by the last of its forms, as it would be refused in all of them;
// one whose time has not come is only noted.
func (s foreseeing) turn(order *queue.Queues, leaf int, it queue.Item, early *[]awaited) error {
	w := s.world
	k := &w.Works[it.ID]
	s.enqueuing().leave(order, leaf, it)
	if it.Stage > 0 || it.Form != lastForm(w, k) {
		return nil
	}
	from := s.from(it)
	waits := s.timeOf(it) > w.Now
	if waits {
		*early = append(*early, awaited{it, from})
	} else if err := s.layFrom(it, from); err != nil {
		return err
	}
	if k.Bucket > 0 && (waits || s.of(it.ID) != nil) {
		s.enqueuing().nextOf(order, leaf, k)
	}
	return s.ctx.Err()
}

// lastForm is the last form of a workload that has a unit to start: of what is left of a gang, its own.
func lastForm(w *cluster.World, k *cluster.Work) int16 {
	if isTied(w, k) {
		return k.Current
	}
	last := int16(len(k.Others))
	for last > 0 && !w.Definition(k, last).Verdict.OK {
		last--
	}
	return last
}

// timeOf is before when a workload asks for nothing (B1).
func (s foreseeing) timeOf(it queue.Item) int64 { return s.world.Works[it.ID].NotBefore }

// from is when those begin whom a form may not pass (O4); Never is not known.
func (s foreseeing) from(it queue.Item) (from int64) {
	lines := s.enqueuing()
	lines.inTheWay(it.ID, it.Form, func(one *stop, f *cluster.Form, d *cluster.Definition) bool {
		if one.stops(f, d) && (!s.pool.Policy.BlockAlikeOnly || lines.alike(lines.could(it.ID, it.Form), one.could)) {
			from = max(from, one.until)
		}
		return false
	})
	return from
}

// layFrom lays a workload at its earliest time from one on, if it has none yet, and has those wait for it who may
// not pass it.
func (s foreseeing) layFrom(it queue.Item, from int64) error {
	k := &s.world.Works[it.ID]
	if from < cluster.Never && s.of(it.ID) == nil && s.mayPromise(k, it) {
		if err := s.layAgain(); err != nil {
			return err
		}
		s.promises.from = from
		s.make(k, it)
	}
	leaf, one, stops, err := s.enqueuing().stopOf(it.ID, it.Form)
	if err != nil || !stops {
		return err
	}
	one.until = cluster.Never
	if p := s.of(it.ID); p != nil && !p.gathers {
		one.until = p.at
	}
	s.noteStop(leaf, one)
	return nil
}

// beginsWithOthers has a workload that would begin later, or nobody knows when, begin when those do who stop it, if a few
// that begin at that time find places beside it then: what one plan starts has cost nothing yet, and makes way for one
// that finds none (M9). It reports whether it does.
func (s foreseeing) beginsWithOthers(p *promise, found bool) bool {
	if p.from <= max(s.world.Now, 0) || found && p.at <= p.from || !p.entitled || p.gathers {
		return false
	}
	starts := slices.DeleteFunc(slices.Clone(s.promises.list), func(other *promise) bool {
		return other.was != nil || other.gathers || other.at != p.from || len(s.promises.profile.Held(other.work)) == 0
	})
	if len(starts) == 0 || len(starts) > fewStarts {
		return false
	}
	d, enough := s.world.Definition(&s.world.Works[p.work], p.form), false
	s.promises.profile.During(p.from, s.laying().lasts(p), func() {
		free := freeStarts{s.Solver}
		enough = free.isFreeInAll(free.needOf(d, p.unit.Add))
	})
	if !enough {
		return false
	}
	slices.SortFunc(starts, func(a, b *promise) int { return cmp.Compare(b.order, a.order) })
	for size := 1; size <= min(replacedStarts(&s.pool.Policy), len(starts)); size++ {
		begin, _ := eachChoice(starts, size, func(chosen []int) (bool, error) {
			set := make([]*promise, size)
			for i, at := range chosen {
				set[size-1-i] = starts[at] // the earliest first
			}
			return s.beginTogether(p, set) || size > 1 && s.beginTogether(p, largestFirst(set)), nil
		})
		if begin {
			return true
		}
	}
	return false
}

// largestFirst are promises, those first that ask the most GPUs.
func largestFirst(set []*promise) []*promise {
	slices.SortStableFunc(set, func(a, b *promise) int { return cmp.Compare(b.asks.Of(0), a.asks.Of(0)) })
	return set
}

// beginTogether has a workload begin at its time and others, which do so, be laid beside it then; where that is not to be
// all is as it was.
func (s foreseeing) beginTogether(p *promise, others []*promise) bool {
	if s.replacements >= allReplacements {
		return false
	}
	s.replacements++
	at, were, list := p.from, make([]promise, 0, len(others)+1), append([]*promise{p}, others...)
	for _, one := range list {
		s.promises.profile.Release(one.work)
		were = append(were, *one)
		were[len(were)-1].stays = slices.Clone(one.stays)
	}
	s.promises.add(p) // the queues of the others count it
	defer s.promises.remove(p)
	if !slices.ContainsFunc(list, func(one *promise) bool {
		if !s.findEarliest(one, placement.Window{From: at, Before: cluster.TimeAfter(at, 1), Duration: s.laying().lasts(one)}) {
			return true
		}
		s.hold(one)
		return false
	}) {
		return true
	}
	for i, one := range list {
		s.promises.profile.Release(one.work)
		if *one = were[i]; one != p {
			s.hold(one)
		}
	}
	return false
}

// noteStop keeps until when a queue, or with none the pool, is stopped: one is enough of those that stop the same.
func (s foreseeing) noteStop(leaf int, one stop) {
	list := &s.stops[1+leaf]
	for at := range *list {
		known := &(*list)[at]
		if known.how == one.how && (one.how != queue.BackfillPreemptible || known.priority == one.priority) &&
			(!s.pool.Policy.BlockAlikeOnly || known.could == one.could) {
			known.until = max(known.until, one.until)
			return
		}
	}
	*list = append(*list, one)
}

// lasts is for how long places are looked for to be free, and queues to let a promise in: as long as it is expected to
// last, and whether it leaves others as they stand is asked of each of these then (leavesOthers). In a forecast of very
// many, of which most would be refused again and again by that, it is as long as it may last, as for who starts.
func (s laying) lasts(p *promise) int64 {
	if s.promises.foresees && !s.promises.passes {
		return s.mostOf(p)
	}
	return p.duration
}

// refusedNow says whether a promise would begin at once at the places that were found, though nobody is leaving
// them: the plan has refused it, and refuses it until something changes.
func (s foreseeing) refusedNow(p *promise) bool {
	if p.at > max(s.world.Now, 0) {
		return false
	}
	d, x := s.openAt(p.work, p.form, p.at, p.tasks()), s.pool.Index
	m := x.Mark()
	defer x.Undo(m)
	for task, set := range cluster.TasksOf(p.unit) {
		place := s.places[task]
		if place.Pipelined = false; !takeIfFree(x, d.Sets[set].Placed, place) {
			return false
		}
	}
	return true
}
