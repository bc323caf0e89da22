package engine

import (
	"cmp"
	"math"
	"slices"

	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// newProfile is the profile of what stands in the table now: what runs and is claimed until
// it ends, what is leaving not at all, and everything else for ever.
func (s promising) newProfile() *placement.Profile {
	w, r := s.world, &s.pool.Policy.Reserve
	profile := placement.NewProfile(s.pool.Index, max(w.Now, 0), r.Resolution, r.Horizon)
	for i := range w.Holdings {
		h := &w.Holdings[i]
		if h.Phase == Terminating && w.NodePool[h.Node] == s.index {
			shape, _ := w.settling().footprint(h)
			profile.Leaves(placement.Stay{Shape: shape.Placed, Place: h.place(w)})
		}
	}
	for _, i := range s.pool.Works {
		k := &w.Works[i]
		for at := range w.Room.Seats[i] {
			one := &w.Room.Seats[i][at]
			if w.NodePool[one.Node] != s.index || w.Outside(k, one.Node) {
				continue
			}
			shape := w.Definition(k, k.Current).Sets[one.Set].Placed
			profile.Stands(placement.Stay{Shape: shape, Place: one.place(w), Until: w.endOf(k, one)})
		}
	}
	return profile
}

// endOf is when a task is predicted to end, by what is known of its workload (B1).
func (w *World) endOf(k *Work, s *Seat) int64 {
	if s.origin >= 0 {
		return w.Holdings[s.origin].Ends
	}
	return later(max(w.Now, 0), w.Definition(k, k.Current).Times.Duration)
}

// useOverTime lists what of the queues' use ends, by its end.
func (s promising) useOverTime() []ended {
	if s.promises.tree != nil {
		return s.promises.tree
	}
	w, out := s.world, []ended{}
	for _, i := range s.pool.Works {
		k := &w.Works[i]
		seats := w.Room.Seats[i]
		if len(seats) == 0 || w.FormOf(k, k.Current).Pool != s.index {
			continue
		}
		f, d, last := w.FormOf(k, k.Current), w.Definition(k, k.Current), int64(math.MinInt64)
		for at := range seats {
			end := w.endOf(k, &seats[at])
			last = max(last, end)
			charge := s.pool.chargeOf(&d.Sets[seats[at].Set], &w.Nodes[seats[at].Node], seats[at].Devices)
			out = append(out, ended{end, f.Queue, charge, f.NonPreemptible})
		}
		if s.pool.Counted {
			out = append(out, ended{last, f.Queue, quota.Amounts{{Resource: int32(s.pool.Width - 1), Value: 1}}, f.NonPreemptible})
		}
	}
	out = slices.DeleteFunc(out, func(a ended) bool { return a.until == Never })
	slices.SortStableFunc(out, func(a, b ended) int { return cmp.Compare(a.until, b.until) })
	s.promises.tree = out
	return out
}

// during calls do with the queues as they are at a time: what has ended by then released,
// and the promises that are named charged whose windows it is in.
func (s promising) during(at int64, whose func(*promise) bool, do func()) {
	tree := s.pool.Tree
	m := tree.Mark()
	defer tree.Undo(m)
	for _, one := range s.useOverTime() {
		if s.promises.profile.Round(one.until) > at {
			break
		}
		_ = tree.Release(int(one.leaf), one.charge, one.nonPreemptible) // it was charged
	}
	for _, p := range s.promises.list {
		if p.at <= at && later(p.at, p.duration) > at && len(s.promises.profile.Held(p.work)) > 0 && whose(p) {
			f := s.world.FormOf(&s.world.Works[p.work], p.form)
			_ = tree.Charge(int(f.Queue), p.asks, f.NonPreemptible) // Check bounds every sum
		}
	}
	do()
}

// binds says whether quotas or limits could keep a promise out at any time: not where it is
// let in beside all that stands now and all that is promised.
func (s promising) binds(f *Form, asks quota.Amounts) bool {
	tree := s.pool.Tree
	m := tree.Mark()
	defer tree.Undo(m)
	for _, p := range s.promises.list {
		of := s.world.FormOf(&s.world.Works[p.work], p.form)
		if tree.Charge(int(of.Queue), p.asks, of.NonPreemptible) != nil {
			return true
		}
	}
	_, ok := tree.Check(int(f.Queue), asks, f.NonPreemptible)
	return !ok
}

// admitted says whether its queues let a promise in during all of its window, where other
// promises are in theirs (B4).
func (s promising) admitted(p *promise) bool {
	f := s.world.FormOf(&s.world.Works[p.work], p.form)
	others := func(other *promise) bool { return other != p }
	return !s.binds(f, p.asks) || s.admittedIn(p.at, later(p.at, p.duration), f, p.asks, others)
}

// admittedIn says whether a queue lets something in at a time and whenever a promise begins
// before another.
func (s promising) admittedIn(from, until int64, f *Form, asks quota.Amounts, whose func(*promise) bool) bool {
	times := []int64{from}
	for _, other := range s.promises.list {
		if other.at > from && other.at < until && whose(other) {
			times = append(times, other.at)
		}
	}
	ok := true
	for _, at := range times {
		s.during(at, whose, func() {
			_, fits := s.pool.Tree.Check(int(f.Queue), asks, f.NonPreemptible)
			ok = ok && fits
		})
	}
	return ok
}

// admittedUntil says whether the queues let a promise in that binds, at its own time, where
// the unit at hand is still in use of its queue.
func (s promising) admittedUntil(r reach, f *Form, asks quota.Amounts, bound func(*promise) bool) bool {
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

// admittedFrom is the first time of a window at which its queues let a promise in.
func (s promising) admittedFrom(p *promise, window placement.Window) (int64, bool) {
	f := s.world.FormOf(&s.world.Works[p.work], p.form)
	from := max(window.From, s.world.Now, 0)
	if !s.binds(f, p.asks) {
		return from, from < window.Before
	}
	others := func(other *promise) bool { return other != p }
	for _, at := range append([]int64{from}, s.promises.profile.Ends(from)...) {
		if at >= window.Before {
			return 0, false
		}
		if s.admittedIn(at, later(at, p.duration), f, p.asks, others) {
			return at, true
		}
	}
	return 0, false
}

// entitledAt says whether a promise is within its lines at its time.
func (s promising) entitledAt(p *promise) (entitled bool) {
	f := s.world.FormOf(&s.world.Works[p.work], p.form)
	if s.enqueuing().strict(f.Queue) {
		return true
	}
	s.during(p.at, func(other *promise) bool { return other != p }, func() {
		entitled = s.pool.Room.Entitled(f.Queue, p.asks)
	})
	return entitled
}

// mayHold says whether a promise keeps no more idle than the policy lets all of them, and
// not for longer.
func (s promising) mayHold(p *promise) bool {
	r := &s.pool.Policy.Reserve
	if r.MaxHeld == math.MaxInt64 && r.MaxHold == math.MaxInt64 {
		return true
	}
	held := s.idle(p)
	if held == 0 {
		return true
	}
	if later(s.world.Now, r.MaxHold) < p.at {
		return false
	}
	for _, other := range s.promises.list {
		held += s.idle(other)
	}
	return held <= r.MaxHeld
}

// idle is how much of the places of a promise, in milli of devices, nobody uses now.
func (s promising) idle(p *promise) (milli int64) {
	d := s.world.Definition(&s.world.Works[p.work], p.form)
	at := 0
	m := s.pool.Index.Mark()
	for set, n := range p.unit.Add {
		for range n {
			one := &p.stays[at]
			if at++; s.pool.Index.Fits(one.Shape, one.Place) && s.pool.Index.Take(one.Shape, one.Place) == nil {
				milli += d.Sets[set].Charge.Of(0)
			}
		}
	}
	s.pool.Index.Undo(m)
	return milli
}
