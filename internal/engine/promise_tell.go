package engine

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/placement"
)

// What has become of promises, and why somebody is kept off what is promised, is told when
// all is decided.

// causeOf is why a promise cannot be kept at its time: a node or device of it is lost, who was
// to make way for it overruns, one to whom it yields has its places, its queue does not let
// it in any more, or something else has changed. It is nobody who makes way for it (B4).
func (s telling) causeOf(p *promise, was int64) *cluster.Verdict {
	lifted := s.lift(func(other *promise) bool { return s.laying().yields(other, p) })
	v := s.causeBeside(p, was)
	for _, other := range lifted {
		s.hold(other)
	}
	return &v
}

// causeBeside is causeOf beside all that is held.
func (s telling) causeBeside(p *promise, was int64) cluster.Verdict {
	v := cluster.NewVerdict(cluster.PromiseChanged, p.form, s.index)
	if p.lost || s.isClosed(p) {
		v.Code = cluster.PlaceGone
		return v
	}
	if short, some := s.shortIn(p, was); some {
		return short
	}
	if by := s.stillLeaving(p.overlaps); was < s.world.Now && by != cluster.None {
		v.Code, v.Workload = cluster.Overruns, by
		return v
	}
	if by, overruns := s.inTheWay(p, was); by != cluster.None {
		v.Code, v.Workload = cluster.Yields, by
		if overruns {
			v.Code = cluster.Overruns
		}
	} else if by := s.stillLeaving(func(node int32, _ uint64) bool { return p.usesNode(node) }); was < s.world.Now && by != cluster.None { // it may have what else of the node is asked
		v.Code, v.Workload = cluster.Overruns, by
	}
	return v
}

// shortIn is what the queues of a promise lack for it from a time on, the first time that they lack anything.
func (s telling) shortIn(p *promise, from int64) (v cluster.Verdict, some bool) {
	f, asks := s.world.FormOf(&s.world.Works[p.work], p.form), s.chargeOf(p)
	if !s.binds(f, asks) {
		return v, false
	}
	others := func(other *promise) bool { return other != p }
	until := s.promises.profile.Round(cluster.TimeAfter(from, p.duration))
	for _, at := range s.moments(from, until, others) {
		s.during(at, others, func() {
			if short := s.pool.Tree.Shortfalls(nil, int(f.Queue), asks, f.NonPreemptible); len(short) > 0 {
				v, some = s.diagnosis().shortfall(question{definition: f.Definition, queue: f.Queue, form: p.form}, short[0]), true
			}
		})
		if some {
			break
		}
	}
	return v, some
}

// finally is the cause that was found when a promise became later, or went, or nil. Where something overran only in
// between, as tasks of fixed work were out that did it together, the cause is what is in the way when all is decided.
func (s telling) finally(p *promise) *cluster.Verdict {
	if p.cause == nil || p.cause.Code != cluster.Overruns || p.lost || s.overrunsAt(p.cause.Workload, p.was.At) {
		return p.cause
	}
	return s.causeOf(p, p.was.At)
}

// overrunsAt says whether anything of a workload is there still at a time.
func (s telling) overrunsAt(i int32, at int64) bool {
	ends := endings{World: s.world}
	return slices.ContainsFunc(s.world.Room.Seats[i], func(one cluster.Seat) bool { return s.promises.profile.Round(ends.endsIn(i, &one)) > at })
}

// tooMany is the cause of a promise that goes as the policy makes fewer than there are, in all or to its queue.
func (s telling) tooMany(p *promise) *cluster.Verdict {
	r, all := &s.pool.Policy.Reserve, len(s.promises.list)
	v := cluster.NewVerdict(cluster.PromiseChanged, p.form, s.index)
	if all > r.Depth {
		v = v.Counting(int64(all), int64(r.Depth))
	} else {
		v = v.Counting(int64(s.laying().ofQueue(s.laying().queueOf(p))), int64(r.MaxPromises))
		v.Queue = s.laying().queueOf(p)
	}
	return &v
}

// isClosed says whether a node or device of a promise takes nothing any more: it is cordoned, or is not healthy.
func (s telling) isClosed(p *promise) bool {
	return slices.ContainsFunc(p.stays, func(own placement.Stay) bool {
		n := &s.pool.Placed[own.Place.Node]
		if n.Cordoned {
			return true
		}
		for m := own.Place.Devices; m != 0; m &= m - 1 {
			if d := bits.TrailingZeros64(m); d >= len(n.Devices) || n.Devices[d].Unhealthy {
				return true
			}
		}
		return false
	})
}

// rename has what is promised of a node's devices be told by the names that these go by in the plan.
func (s promising) rename(node int32, to []int32) {
	for _, p := range s.promises.list {
		for at := range p.stays {
			place := &p.stays[at].Place
			if place.Node != node { // it may have other devices, and more
				continue
			}
			if now := cluster.Renamed(place.Devices, to); now != place.Devices {
				if p.asFound == nil {
					p.asFound = slices.Clone(p.stays)
				}
				place.Devices = now
			}
		}
	}
}

// stillLeaving is the first workload, by ID, of which something is leaving that is in some places; none is nobody.
func (s telling) stillLeaving(in func(node int32, devices uint64) bool) int32 {
	w, by := s.world, int32(cluster.None)
	for i := range w.Holdings {
		h := &w.Holdings[i]
		if h.Phase == cluster.Terminating && w.NodePool[h.Node] == s.index && in(w.Position[h.Node], h.Devices) &&
			(by == cluster.None || w.CompareIDs(h.Work, by) < 0) {
			by = h.Work
		}
	}
	return by
}

// An obstacle is a workload without which a promise may stand: as its tasks stand there, or by what it is promised.
type obstacle struct {
	work    int32
	tasks   []*cluster.Seat
	promise *promise
}

// inTheWay is the first obstacle of a promise at its time without which that would stand, and whether it overruns; else,
// as it is only together that they are in the way, the first that still is without those behind it; none is nobody.
func (s telling) inTheWay(p *promise, at int64) (by int32, overruns bool) {
	w, profile := s.world, s.promises.profile
	at = max(at, w.Now)
	held := profile.Release(p.work)
	defer func() {
		if len(held) > 0 {
			profile.Hold(p.work, held)
		}
	}()
	then := *p
	then.at, then.stays = at, slices.Clone(p.stays)
	s.window(&then)
	if s.stands(&then) {
		return cluster.None, false
	}
	order := s.obstacles(&then)
	k := slices.IndexFunc(order, func(one obstacle) bool { return s.standsWithout(&then, []obstacle{one}) })
	together := order[max(k, 0):max(k+1, 0)]
	for first := len(order) - 1; k < 0 && first >= 0; first-- {
		if s.standsWithout(&then, order[first:]) {
			k, together = first, order[first:]
		}
	}
	switch {
	case k < 0: // its places are none for it, whoever is there
		return cluster.None, false
	case order[k].promise != nil:
		return order[k].promise.wantedBy(), false
	}
	return order[k].work, s.overrunsIn(&then, together)
}

// overrunsIn says whether the first of those without whom a promise would stand overruns: a task of it was to have left,
// and the promise would not stand without those of its tasks alone that have come, as where it has grown beside what
// ran and goes on by right.
func (s telling) overrunsIn(p *promise, together []obstacle) bool {
	overruns := s.overrunsFor(p)
	if !slices.ContainsFunc(together[0].tasks, overruns) {
		return false
	}
	come := slices.Clone(together)
	come[0].tasks = slices.DeleteFunc(slices.Clone(come[0].tasks), overruns)
	return !s.standsWithout(p, come)
}

// obstacles are those of a promise at its time: first those to which it yields, then those to which it may have to, and
// of these those that stand before those that are promised something, and those on its places before others, by ID.
func (s telling) obstacles(p *promise) (order []obstacle) {
	w := s.world
	for i, tasks := range s.standAt(p) { // they are sorted: order cannot matter
		order = append(order, obstacle{work: i, tasks: tasks})
	}
	for _, other := range s.promisedAt(p) {
		order = append(order, obstacle{work: other.work, promise: other})
	}
	yields := func(one obstacle) bool {
		return one.promise != nil && p.isBeyond(one.promise) || s.laying().standsBefore(one.work, w.FormOf(&w.Works[one.work], w.Works[one.work].Current), p)
	}
	meets := func(one obstacle) bool {
		return slices.ContainsFunc(one.tasks, func(t *cluster.Seat) bool { return p.overlaps(w.Position[t.Node], t.Devices) })
	}
	slices.SortFunc(order, func(a, b obstacle) int {
		return cmp.Or(trueFirst(yields(a), yields(b)), trueFirst(s.mayYieldTo(p, a.work), s.mayYieldTo(p, b.work)),
			trueFirst(a.promise == nil, b.promise == nil), trueFirst(meets(a), meets(b)), w.CompareIDs(a.work, b.work))
	})
	return order
}

// wantedBy is the workload for the sake of which a promise has its places: that for which it was moved there, or its own.
func (p *promise) wantedBy() int32 {
	if p.movedFor > 0 {
		return p.movedFor - 1
	}
	return p.work
}

// promisedAt are the other promises that are in use on nodes of one at its time.
func (s telling) promisedAt(p *promise) []*promise {
	return slices.DeleteFunc(slices.Clone(s.promises.list), func(other *promise) bool {
		return other.work == p.work || other.at >= cluster.TimeAfter(p.at, p.duration) || s.until(other) <= p.at ||
			!slices.ContainsFunc(other.stays, func(one placement.Stay) bool { return p.usesNode(one.Place.Node) })
	})
}

// overrunsFor says whether a task that is in the way of a promise was to have left: one that only claims its place in
// the state overruns nothing, nor does one that stays behind the promise by its better right.
func (s telling) overrunsFor(p *promise) func(*cluster.Seat) bool {
	return func(one *cluster.Seat) bool {
		return one.Origin >= 0 && s.world.Holdings[one.Origin].Begun && one.Behind != p.work+1
	}
}

// mayYieldTo says whether a promise may have to yield to a workload: not where that is of its leaf and stands behind
// it.
func (s telling) mayYieldTo(p *promise, i int32) bool {
	w := s.world
	f := w.FormOf(&w.Works[i], w.Works[i].Current)
	return f.Queue != w.FormOf(&w.Works[p.work], p.form).Queue || s.laying().standsBefore(i, f, p)
}

// standAt are the tasks that stand on nodes of a promise at its time and do not make way for it, by workload.
func (s telling) standAt(p *promise) map[int32][]*cluster.Seat {
	w, there := s.world, make(map[int32][]*cluster.Seat)
	ends := endings{World: w}
	for i, one := range s.behind().standingOn(p) {
		if s.promises.profile.Round(ends.leavesAt(i, one)) > p.at && p.usesNode(w.Position[one.Node]) && !s.behind().stepsAside(one, i, p) {
			there[i] = append(there[i], one)
		}
	}
	return there
}

// standsWithout says whether a promise would stand if some of its obstacles were not there.
func (s telling) standsWithout(p *promise, some []obstacle) (stands bool) {
	x, w, profile := s.pool.Index, s.world, s.promises.profile
	m := x.Mark()
	defer x.Undo(m)
	for _, one := range some {
		if one.promise != nil {
			if stays := profile.Release(one.work); len(stays) > 0 {
				defer profile.Hold(one.work, stays)
			}
			continue
		}
		d := w.Definition(&w.Works[one.work], w.Works[one.work].Current)
		for _, t := range one.tasks {
			_ = x.Give(d.Sets[t.Set].Placed, t.Place(w)) // it stands there
		}
	}
	return s.stands(p)
}

// overlaps says whether a place shares a device with what is promised, or its node where
// one of the two has no devices.
func (p *promise) overlaps(node int32, devices uint64) bool {
	return slices.ContainsFunc(p.stays, func(one placement.Stay) bool {
		return one.Place.Node == node && (one.Place.Devices&devices != 0 || one.Place.Devices == 0 || devices == 0)
	})
}

// usesNode says whether a node has a place of what is promised.
func (p *promise) usesNode(node int32) bool { return p.overlaps(node, 0) }

// yieldsTo is the cause of a promise that gives way to a workload.
func (s promising) yieldsTo(p *promise, to int32) *cluster.Verdict {
	v := cluster.NewVerdict(cluster.Yields, p.form, s.index)
	v.Workload = to
	return &v
}

// Reservations are the promises as they stand after the plan, and those that are withdrawn,
// by workload (B7).
func Reservations(d *cluster.Decision) (out []cluster.Reservation) {
	if d.Kept {
		return d.Promised
	}
	w := d.World
	for s := range eachSolver(w) {
		held := s.promising().telling().heldByEach()
		for _, p := range s.promises.list {
			one := s.promising().telling().told(p)
			one.Held = held[p.work]
			out = append(out, one)
		}
		for _, p := range s.promises.withdrawn {
			if s.promising().of(p.work) == nil && startsAnew(&w.Works[p.work]) {
				out = append(out, cluster.Reservation{Work: p.work, Change: cluster.Withdrawn, Cause: cmp.Or(s.promising().telling().finally(p), s.promising().telling().lostTo(p)), Promise: *p.was})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b cluster.Reservation) int { return w.CompareIDs(a.Work, b.Work) })
	return out
}

// keepPromises has the decision tell of promises what it tells now, whatever becomes of its world.
func keepPromises(d *cluster.Decision) {
	d.Promised, d.NextEnd = Reservations(d), NextEnd(d)
	d.Kept = true
}

// lostTo is the cause of a promise that was kept, and of which the places were then taken.
func (s telling) lostTo(p *promise) *cluster.Verdict {
	book := s.world.Room
	last := int32(cluster.None)
	for why := range book.TakingsOf(p.work) {
		if by := book.Takings[why].Preemptor; by >= 0 {
			last = by
		}
	}
	if last >= 0 {
		return s.yieldsTo(p, last)
	}
	v := cluster.NewVerdict(cluster.PromiseChanged, p.form, s.index)
	return &v
}

// heldByEach is what the promises keep idle, by workload, where that is charged: of what several hold it
// is the one that begins first.
func (s telling) heldByEach() map[int32][]int64 {
	if !s.pool.Policy.Reserve.ChargeHeld || len(s.promises.list) == 0 {
		return nil
	}
	w, x := s.world, s.pool.Index
	m := x.Mark()
	defer x.Undo(m)
	out := make(map[int32][]int64, len(s.promises.list)) // read one by one: order cannot matter
	inTime := slices.Clone(s.promises.list)
	slices.SortStableFunc(inTime, func(a, b *promise) int { return cmp.Compare(a.at, b.at) })
	for _, p := range inTime {
		d, held := w.Definition(&w.Works[p.work], p.form), make([]int64, s.pool.Plain)
		found := p.stays
		if p.asFound != nil {
			found = p.asFound
		}
		for task, set := range cluster.TasksOf(p.unit) {
			if one := &found[task]; takeIfFree(x, one.Shape, one.Place) {
				for _, a := range s.pool.ChargeOf(&d.Sets[set], &w.Nodes[s.pool.Nodes[one.Place.Node]], one.Place.Devices) {
					if int(a.Resource) < s.pool.Plain {
						held[a.Resource] += a.Value
					}
				}
			}
		}
		out[p.work] = held
	}
	return out
}

// EndOf is when the last task of a workload is predicted to end that has a place or claims one,
// in a pool that makes promises; −1 where there is none.
func EndOf(d *cluster.Decision, i int32) int64 {
	w, last := d.World, int64(-1)
	ends := endings{World: w}
	for at := range w.Room.Seats[i] {
		last = max(last, ends.endsIn(i, &w.Room.Seats[i][at]))
	}
	return last
}

// told is what became of a promise.
func (s telling) told(p *promise) cluster.Reservation {
	w := s.world
	out := cluster.Reservation{Work: p.work, Promise: cluster.Promise{
		At: p.at, Entitled: p.entitled, Form: p.form, WaitsFor: slices.Clone(s.waits()[p.work]), Made: p.made, First: p.first,
	}}
	slices.SortFunc(out.Promise.WaitsFor, w.CompareIDs)
	out.Promise.WaitsFor = slices.Compact(out.Promise.WaitsFor) // some of it may be leaving, and something promised to it
	if p.gathers {
		out.Promise.At, out.Promise.Gathers = cluster.Never, true
	}
	if p.was == nil || p.was.Gathers && p.first < 0 { // where it was in between nobody is told
		out.Promise.First = out.Promise.At
	}
	for task, set := range cluster.TasksOf(p.unit) {
		at := &p.stays[task].Place
		out.Promise.Tasks = append(out.Promise.Tasks, cluster.TaskPlace{Set: int32(set), Index: p.indices[task], Node: s.pool.Nodes[at.Node], Devices: at.Devices})
	}
	switch same := p.was != nil && slices.Equal(out.Promise.Tasks, p.was.Tasks); {
	case p.was == nil, same && p.gathers && p.was.Gathers && p.order > 0: // it has let go, and gathers the same once more
		out.Change = cluster.Made
	case out.Promise.At < p.was.At:
		out.Change = cluster.Earlier
	case out.Promise.At > p.was.At:
		out.Change, out.Cause = cluster.Later, cmp.Or(s.finally(p), s.causeOf(p, p.was.At))
	case !same:
		out.Change = cluster.Moved
	}
	if out.Change != cluster.Kept {
		out.Promise.Made = w.Now
	}
	return out
}
