package engine

import (
	"iter"
	"slices"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/placement"
)

// When something could be decided otherwise though nothing but time has passed (B10) is found by what
// depends on what time it is: each of that is named here with the time at which it does so next.

// An upcoming is the earliest of some times that are to come; Never is none.
type upcoming struct {
	*cluster.World
	next int64
	ends endings
}

// note notes a time, if it is to come: from the year 10000 on none is.
func (n *upcoming) note(at int64) {
	if at > n.Now && at < cluster.EndOfTime {
		n.next = min(n.next, at)
	}
}

// NextEnd is the earliest time after now at which what people have reserved begins or is over, a
// protection ends (M1), or the grace of a stale gang does (G1); and in pools that promise at which
// something that holds a place is predicted to end, a promise begins or lets go, or somebody may be
// promised something who may not be now. Never is none.
func NextEnd(d *cluster.Decision) int64 {
	switch {
	case d.Kept:
		return d.NextEnd
	case d.World.Now < 0: // it is not told what time it is
		return cluster.Never
	}
	n := &upcoming{World: d.World, next: cluster.Never, ends: endings{World: d.World}}
	for s := range eachSolver(n.World) {
		for i := range s.pool.Reserved {
			n.note(s.pool.Reserved[i].From)
			n.note(s.pool.Reserved[i].Until)
		}
		if reserves(s.pool) {
			n.ofPromises(s.promising())
		}
	}
	if someProtected(n.World) { // else a decision need not look at all that runs
		n.ofProtected()
	}
	if someStale(n.World) {
		n.ofGangs()
	}
	return n.next
}

// someProtected says whether some queue protects for a time what runs (M1).
func someProtected(w *cluster.World) bool {
	return slices.ContainsFunc(w.Pools, func(p *cluster.Pool) bool {
		return slices.ContainsFunc(p.Runtimes, func(r cluster.MinRuntime) bool { return r.Preempt.Given() || r.Reclaim.Given() })
	})
}

// ofProtected notes when the protection ends of what holds something, and stays.
func (n *upcoming) ofProtected() {
	note := func(i int32) {
		k := &n.Works[i]
		f := n.FormOf(k, k.Current)
		runtime := &n.Pools[f.Pool].Runtimes[f.Queue]
		if f.NonPreemptible || !runtime.Preempt.Given() && !runtime.Reclaim.Given() {
			return
		}
		for at := range n.Room.Seats[i] {
			admitted := n.Room.Seats[i][at].Admitted
			n.note(cluster.TimeAfterSeconds(admitted, runtime.Preempt))
			n.note(cluster.TimeAfterSeconds(admitted, runtime.Reclaim))
		}
	}
	for i := range n.Live {
		if l := &n.Live[i]; l.From < l.To {
			note(n.Holdings[l.From].Work)
		}
	}
	for i := range n.Room.Commits {
		note(n.Room.Commits[i].Work)
	}
}

// ofGangs notes when the grace of a gang ends that runs below its minimum.
func (n *upcoming) ofGangs() {
	for i := range seekersIn(n.World) {
		k := &n.Works[i]
		grace := n.Pools[n.FormOf(k, k.Current).Pool].Policy.StaleGangGrace
		if grace.Given() && isPartial(n.World, k) && len(n.Room.Seats[i]) > 0 {
			n.note(cluster.TimeAfterSeconds(partialSince(n.World, k), grace))
		}
	}
}

// ofPromises notes when a promise begins, lets go, is so near that nobody goes for it, or stands otherwise as
// something ends, and when somebody may be promised something who waits without.
func (n *upcoming) ofPromises(s promising) {
	r, waits, now := &s.pool.Policy.Reserve, false, max(n.Now, 0)
	for _, p := range s.promises.list {
		if n.note(p.at); p.gathers { // it may be promised a time
			waits = true
			n.note(s.gathering().letsGo(p))
		} else {
			n.note(p.at - min(r.RatherWait, p.at))
		}
	}
	for _, i := range s.pool.Works {
		k := &n.Works[i]
		for form := range int16(1 + len(k.Others)) {
			if n.FormOf(k, form).Pool != s.index || s.of(i) != nil || !s.laying().isOfThose(k, form) {
				continue
			}
			waits = true
			if r.After > 0 {
				n.note(cluster.TimeAfter(waitsFrom(k, n.World), r.After))
			}
		}
	}
	rounded := placement.NewProfile(s.pool.Index, now, r.Resolution, r.Horizon).Round
	for end := range s.eachEnd(&n.ends) {
		n.note(end)
		for _, at := range [...]int64{end, rounded(end)} { // at which something may be promised
			if waits && at > now && at != cluster.Never {
				n.nearEnough(r, at)
			}
		}
	}
}

// nearEnough notes from when on a promise at a time is near enough.
func (n *upcoming) nearEnough(r *cluster.Reserve, at int64) {
	away := at - max(n.Now, 0)
	if r.Horizon > 0 {
		n.note(at - min(r.Horizon, away))
	}
	n.note(at - min(r.MaxHold, away))
}

// eachEnd yields when something ends that holds a place of a workload of the pool, or is promised one.
func (s promising) eachEnd(ends *endings) iter.Seq[int64] {
	w := s.world
	return func(yield func(int64) bool) {
		for _, i := range s.pool.Works {
			k, seats := &w.Works[i], w.Room.Seats[i]
			if w.FormOf(k, k.Current).Pool != s.index {
				continue
			}
			for at := range seats {
				if !yield(ends.leavesAt(i, &seats[at])) {
					return
				}
			}
		}
		for _, p := range s.promises.list {
			if !yield(cluster.TimeAfter(p.at, p.duration)) {
				return
			}
		}
		for i := range s.pool.Reserved {
			if !yield(s.pool.Reserved[i].Until) {
				return
			}
		}
	}
}
