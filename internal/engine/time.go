package engine

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// A charged is what is charged to a queue.
type charged struct {
	leaf           int32
	charge         quota.Amounts
	nonPreemptible bool
}

// An ended is a unit's use of its queue that ends: what a tree of queues has over time.
type ended struct {
	charged
	until  int64
	behind []int32 // for whom it goes before that
	// work and step are whose it is; start is the start that placed it, −1 for where it was and
	// what is counted of all of it.
	work, step, start int32
	// node and devices are its place, none of what is counted of all of it.
	node    int32
	devices uint64
}

// newProfile is the profile of what stands in the table now: what runs and is claimed until
// it ends, what is leaving not at all, and everything else for ever.
func (s promising) newProfile() *placement.Profile {
	w, r := s.world, &s.pool.Policy.Reserve
	profile := placement.NewProfile(s.pool.Index, max(w.Now, 0), r.Resolution, r.Horizon)
	for _, p := range s.promises.list {
		p.tellWay(profile, s.makesWay(p))
	}
	for i := range w.Holdings {
		h := &w.Holdings[i]
		if h.Phase == cluster.Terminating && w.NodePool[h.Node] == s.index {
			shape, _ := w.Footprint(h)
			profile.Leaves(placement.Stay{Shape: shape.Placed, Place: h.Place(w)})
		}
	}
	ends := endings{World: w}
	for i, one := range s.behind().standing() {
		profile.Stands(s.stayOf(&ends, i, one))
	}
	for i := range s.pool.Reserved {
		profile.Opens(s.pool.Reserved[i].Until)
	}
	return profile
}

// stayOf is a task that stands, up to when it is predicted to end or to be evicted.
func (s promising) stayOf(ends *endings, i int32, one *cluster.Seat) placement.Stay {
	w := s.world
	k := &w.Works[i]
	return placement.Stay{Shape: w.Definition(k, k.Current).Sets[one.Set].Placed, Place: one.Place(w), Until: ends.leavesAt(i, one), Of: toldApart(one)}
}

// standing yields who stands in the pool, task by task.
func (s behind) standing() iter.Seq2[int32, *cluster.Seat] {
	w := s.world
	return func(yield func(int32, *cluster.Seat) bool) {
		for _, i := range s.pool.Works {
			k := &w.Works[i]
			for at := range w.Room.Seats[i] {
				one := &w.Room.Seats[i][at]
				if w.NodePool[one.Node] == s.index && !w.Outside(k, one.Node) && !yield(i, one) {
					return
				}
			}
		}
	}
}

// standersOn are who stands in a pool, by node.
type standersOn struct {
	changes int64 // Pool.Changes when they were listed, plus one
	from    []int32
	works   []int32 // one after the other where several tasks of one are on a node
}

// standingOn yields who stands on the nodes of a promise, task by task.
func (s behind) standingOn(p *promise) iter.Seq2[int32, *cluster.Seat] {
	w, on := s.world, &s.promises.standersOn
	if on.changes != s.pool.Changes+1 {
		var nodes, works []int32
		for i, one := range s.standing() {
			nodes, works = append(nodes, w.Position[one.Node]), append(works, i)
		}
		from, order := cluster.Group(len(s.pool.Nodes), len(works), func(at int) int32 { return nodes[at] })
		for i, at := range order {
			order[i] = works[at]
		}
		*on = standersOn{s.pool.Changes + 1, from, order}
	}
	return func(yield func(int32, *cluster.Seat) bool) {
		for at := range p.stays {
			v := p.stays[at].Place.Node
			if v < 0 || slices.ContainsFunc(p.stays[:at], func(one placement.Stay) bool { return one.Place.Node == v }) {
				continue
			}
			last := int32(cluster.None)
			for _, i := range on.works[on.from[v]:on.from[v+1]] {
				if i == last {
					continue
				}
				last = i
				for n := range w.Room.Seats[i] { // in whatever order they are by now
					if one := &w.Room.Seats[i][n]; one.Node == s.pool.Nodes[v] && !yield(i, one) {
						return
					}
				}
			}
		}
	}
}

// useOverTime lists what of the queues' use ends, by its end.
func (s admitting) useOverTime() []ended {
	if s.promises.tree != nil {
		return s.promises.tree
	}
	out := slices.DeleteFunc(s.use(), func(a ended) bool { return a.until == cluster.Never && len(a.behind) == 0 })
	slices.SortStableFunc(out, func(a, b ended) int { return cmp.Compare(a.until, b.until) })
	s.promises.tree = out
	return out
}

// use is the queues' use, of what ends and of what does not.
func (s admitting) use() []ended {
	w, out := s.world, []ended{}
	ends := endings{World: w}
	for _, i := range s.pool.Works {
		k := &w.Works[i]
		seats := w.Room.Seats[i]
		if len(seats) == 0 || w.FormOf(k, k.Current).Pool != s.index {
			continue
		}
		f, d, last := w.FormOf(k, k.Current), w.Definition(k, k.Current), int64(math.MinInt64)
		for at := range seats {
			end := ends.leavesAt(i, &seats[at])
			last = max(last, end)
			charge := s.pool.ChargeOf(&d.Sets[seats[at].Set], &w.Nodes[seats[at].Node], seats[at].Devices)
			out = append(out, ended{charged{f.Queue, charge, f.NonPreemptible}, end, s.behind().holdersAhead(i, &seats[at]), i, seats[at].Step, seats[at].Commit, seats[at].Node, seats[at].Devices})
		}
		if s.pool.Counted {
			if p := s.promises.byWork[i]; p != nil && p.held != nil { // what completes it goes on
				last = max(last, s.until(p))
			}
			out = append(out, ended{charged{f.Queue, quota.Amounts{{Resource: int32(s.pool.Width - 1), Value: 1}}, f.NonPreemptible}, last, nil, i, 0, -1, cluster.None, 0})
		}
	}
	return out
}

// during calls do with the queues as they are at a time: what has ended by then released,
// and those of the promises that are held charged whose windows it is in, of the ones that are named.
func (s admitting) during(at int64, whose func(*promise) bool, do func()) {
	tree := s.pool.Tree
	m := tree.Mark()
	defer tree.Undo(m)
	gone, uses := letGo{outs: s.behind().outs()}, s.useOverTime()
	over, _ := slices.BinarySearchFunc(uses, at, func(one ended, at int64) int {
		if s.promises.profile.Round(one.until) <= at {
			return -1
		}
		return 1
	})
	if !s.behind().some() {
		uses = uses[:over]
	}
	for i := range uses {
		one := &uses[i]
		own := one.work == s.promises.seeking-1 && one.node == cluster.None // it counts as long as what completes it is there
		if (i < over || s.hasGone(one, at, whose)) && !own && !gone.has(one) {
			_ = tree.Release(int(one.leaf), one.charge, one.nonPreemptible) // it was charged
		}
	}
	for _, p := range s.promises.list {
		if s.isInUse(p, at) && whose(p) {
			f := s.world.FormOf(&s.world.Works[p.work], p.form)
			_ = tree.Charge(int(f.Queue), s.chargeOf(p), f.NonPreemptible) // Check bounds every sum
		}
	}
	do()
}

// isInUse says whether a promise that is held is in use at a time.
func (s admitting) isInUse(p *promise, at int64) bool {
	return p.at <= at && s.until(p) > at && len(s.promises.profile.Held(p.work)) > 0
}

// hasGone says whether what stands behind others goes for whom a time is sought, or has gone at a time for one of those
// that are named and in use then (B6): its queue is charged for that one.
func (s admitting) hasGone(one *ended, at int64, whose func(*promise) bool) bool {
	return slices.ContainsFunc(one.behind, func(work int32) bool {
		p := s.promises.byWork[work]
		return work == s.promises.seeking-1 || p != nil && !p.gathers && s.isInUse(p, at) && whose(p)
	})
}

// binds says whether quotas or limits could keep a promise out at any time: not where it is
// let in beside all that stands now and all that is promised. Where queues keep from lending, that tells nothing: the
// less such a queue uses, the more it keeps (Q5).
func (s admitting) binds(f *cluster.Form, asks quota.Amounts) bool {
	if s.pool.Lends {
		return true
	}
	tree := s.pool.Tree
	m := tree.Mark()
	defer tree.Undo(m)
	for _, one := range s.promisedTo() {
		_ = tree.Charge(int(one.leaf), one.charge, one.nonPreemptible) // Check bounds every sum
	}
	_, ok := tree.Check(int(f.Queue), asks, f.NonPreemptible)
	return !ok
}

// promisedTo is what all that is promised asks together, by queue.
func (s admitting) promisedTo() []charged {
	all := &s.promises
	if all.asked != nil && !s.pool.Classed() || len(all.list) == 0 { // which class it is, its places decide
		return all.asked
	}
	all.asked = nil
	for _, p := range all.list {
		of := s.world.FormOf(&s.world.Works[p.work], p.form)
		at := slices.IndexFunc(all.asked, func(one charged) bool { return one.leaf == of.Queue && one.nonPreemptible == of.NonPreemptible })
		if at < 0 {
			at = len(all.asked)
			all.asked = append(all.asked, charged{leaf: of.Queue, nonPreemptible: of.NonPreemptible})
		}
		all.asked[at].charge, _ = all.asked[at].charge.AddScaled(s.chargeOf(p), 1) // Check bounds every sum
	}
	return all.asked
}

// until is when a promise has ended, if it begins at its time: rounded up, as what runs ends.
func (s admitting) until(p *promise) int64 {
	return s.promises.profile.Round(cluster.TimeAfter(p.at, p.duration))
}

// allLetIn says whether the queues let all in that is promised, and one more or nil, beside all
// that stands now: then they keep no promise out at any time, but where some keep from lending (Q5).
func (s admitting) allLetIn(more *promise) bool {
	if s.pool.Lends {
		return false
	}
	tree := s.pool.Tree
	m := tree.Mark()
	defer tree.Undo(m)
	list := s.promises.list
	if more != nil && !slices.Contains(list, more) {
		list = append(slices.Clone(list), more)
	}
	for _, p := range list {
		f := s.world.FormOf(&s.world.Works[p.work], p.form)
		charge := s.chargeOf(p)
		if _, ok := tree.Check(int(f.Queue), charge, f.NonPreemptible); !ok || tree.Charge(int(f.Queue), charge, f.NonPreemptible) != nil {
			return false
		}
	}
	return true
}

// admitted says whether its queues let a promise in during all of its window, where other
// promises are in theirs (B4).
func (s admitting) admitted(p *promise) bool { return s.admittedAs(p, s.chargeOf(p), p.duration) }

// admittedAs is admitted where the promise is charged so much, for a duration.
func (s admitting) admittedAs(p *promise, charge quota.Amounts, duration int64) bool {
	f := s.world.FormOf(&s.world.Works[p.work], p.form)
	others := func(other *promise) bool { return other != p }
	if p.gathers {
		return !s.binds(f, charge) || s.admittedOnce(p, charge)
	}
	return !s.binds(f, charge) || s.admittedIn(p.at, s.promises.profile.Round(cluster.TimeAfter(p.at, duration)), f, charge, others)
}

// admittedThere is admitted for a promise at the places that were found, for a duration.
func (s admitting) admittedThere(p *promise, duration int64) bool {
	charge, err := s.withClasses(s.world.Definition(&s.world.Works[p.work], p.form), p.unit, p.asks, s.places)
	return err == nil && s.admittedAs(p, charge, duration)
}

// chargeOf is what a promise asks, and what its places are charged per class, where it has any (Q8).
func (s admitting) chargeOf(p *promise) quota.Amounts {
	if !s.pool.Classed() || p.lost {
		return p.asks
	}
	places := make([]placement.Place, len(p.stays))
	for i := range p.stays {
		places[i] = p.stays[i].Place
	}
	if len(places) == 0 {
		return p.asks
	}
	charge, err := s.withClasses(s.world.Definition(&s.world.Works[p.work], p.form), p.unit, p.asks, places)
	if err != nil {
		return p.asks // Check bounds every sum
	}
	return charge
}

// admittedIn says whether a queue lets something in at a time and whenever a promise begins
// before another.
func (s admitting) admittedIn(from, until int64, f *cluster.Form, asks quota.Amounts, whose func(*promise) bool) bool {
	ok := true
	for _, at := range s.moments(from, until, whose) {
		s.during(at, whose, func() {
			_, fits := s.pool.Tree.Check(int(f.Queue), asks, f.NonPreemptible)
			ok = ok && fits
		})
	}
	return ok
}

// moments are a time, and those until another at which a promise begins that is named, in time.
func (s admitting) moments(from, until int64, whose func(*promise) bool) []int64 {
	times := []int64{from}
	for _, other := range s.promises.list {
		if other.at > from && other.at < until && whose(other) {
			times = append(times, other.at)
		}
	}
	slices.Sort(times)
	return times
}

// admittedUntil says whether the queues let a promise in that binds, at its own time, where
// the unit at hand is still in use of its queue.
func (s admitting) admittedUntil(r reach, f *cluster.Form, asks quota.Amounts, bound func(*promise) bool) bool {
	if !s.binds(f, asks) {
		return true
	}
	for _, p := range s.promises.list {
		if !bound(p) {
			continue
		}
		ok := false
		s.during(p.at, bound, func() {
			_, ok = s.pool.Tree.Check(int(f.Queue), asks, f.NonPreemptible)
		})
		if !ok {
			return false
		}
	}
	return true
}

// admittedFrom is the first time of a window at which its queues let a promise in, for as long as that is to last.
func (s admitting) admittedFrom(p *promise, window placement.Window) (int64, bool) {
	f := s.world.FormOf(&s.world.Works[p.work], p.form)
	from := max(window.From, s.world.Now, 0)
	if !s.binds(f, p.asks) {
		return from, from < window.Before
	}
	others := func(other *promise) bool { return other != p }
	for at, some := from, true; some && at < window.Before; at, some = s.promises.profile.NextEnd(at) {
		if s.admittedIn(at, s.promises.profile.Round(cluster.TimeAfter(at, window.Duration)), f, p.asks, others) {
			return at, true
		}
	}
	return 0, false
}

// nextAdmitted is the next time of a window, after another, at which its queues let a promise in; Never is none.
func (s admitting) nextAdmitted(p *promise, window placement.Window, after int64) int64 {
	if next, some := s.promises.profile.NextEnd(after); some {
		window.From = next
		if from, some := s.admittedFrom(p, window); some {
			return from
		}
	}
	return placement.Never
}

// entitledAt says whether a promise is within its lines at its time.
func (s admitting) entitledAt(p *promise) bool {
	return s.entitledAmong(p, func(other *promise) bool { return other != p })
}

// entitledAmong says whether a promise is within its lines at its time beside some others, and without those who step
// aside for it.
func (s admitting) entitledAmong(p *promise, others func(*promise) bool) (entitled bool) {
	defer s.behind().onBehalfOf(p.work)()
	f := s.world.FormOf(&s.world.Works[p.work], p.form)
	s.during(p.at, others, func() { entitled = s.pool.Room.Entitled(f.Queue, p.asks) })
	return entitled
}
