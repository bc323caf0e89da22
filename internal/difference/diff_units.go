package difference

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/internal/cluster"
)

// What of a workload starts in which step is one partition of its rows, in three parts.
//
//   - The rows of a pod set are alike, so that which of them are the minimum is a choice: what
//     ran, what the settling has started, then what is free, each time claims before starts of
//     this solve. Where all that is free is less than a minimum, nothing starts now, and every
//     claim comes before every start (preference). Claims of a ladder that stay beside what starts come right above
//     the minimum (claimsNext).
//   - In that order they are a minimum and the units in which it would have grown to what it is
//     (growth). Of a ladder the first is what the solve has started as one (L2).
//   - The minimum starts by one commit, all of it at once or all of it by claims (G1, S4); what
//     ran and claims that came free need none if they are one. Each unit above it starts by a
//     commit of its own after that (G2, L3), and by a claim where the minimum does. A claim above
//     it that is not free stays one. Where all that is free is less than a minimum, what has begun
//     before and claims where it moves goes on by its own commit: that is no start (M10).

// A unitStart is such a partition in progress.
type unitStart struct {
	Difference
	work  int32
	k     *cluster.Work
	d     *cluster.Definition
	seats []cluster.Seat
	// counts of the rows by pod set: what ran, with that what the settling has started, with that
	// what is free now, and all.
	ran, stood, free, all []int32
	// from and of are the rows by step.
	from, of []int32
	// first is the step up to which all is the minimum, or what started as one of a ladder.
	first int32
	// began says that the minimum starts by a commit, and waits that it claims its places; last is
	// the commit by which the step before started, none if it needed none.
	last         int32
	began, waits bool
}

// startInUnits has what starts of a workload start in steps, each of which leaves it at its
// minimum or on a rung of its ladder.
func (w Difference) startInUnits(i int32, seats []cluster.Seat) {
	if !slices.ContainsFunc(seats, func(s cluster.Seat) bool { return !s.Claimed && !w.Booking().Ran(&s) }) {
		return // it is as it was, or has moved
	}
	k := &w.Works[i]
	d := w.Definition(k, k.Current)
	if k.Live < 0 && !slices.ContainsFunc(seats, func(s cluster.Seat) bool { return s.Commit != seats[0].Commit }) {
		return // as mostly: all of it starts by one
	}
	u := unitStart{Difference: w, work: i, k: k, d: d, seats: seats, last: cluster.None}
	u.count()
	steps := u.part()
	if u.began = u.first > 0 || !d.Gang.AtMinimum(u.stood); u.began {
		u.startMinimum()
	}
	for step := u.first + 1; step < steps; step++ {
		u.grow(step)
	}
	if k.Pipelined = slices.ContainsFunc(seats, func(s cluster.Seat) bool { return s.Waits() }); k.Status == cluster.Claiming && k.Live >= 0 && w.Live[k.Live].Claimed == 0 {
		k.Status = cluster.Complete
	}
}

// settled says whether a row is a claim that the settling has started and that stands.
func (u *unitStart) settled(s *cluster.Seat) bool {
	return !s.Claimed && s.Commit < 0 && s.Origin >= 0 && u.Holdings[s.Origin].Fresh
}

// count counts the rows.
func (u *unitStart) count() {
	n := len(u.d.Sets)
	all := make([]int32, 4*n)
	u.ran, u.stood, u.free, u.all = all[:n], all[n:2*n], all[2*n:3*n], all[3*n:]
	for at := range u.seats {
		s := &u.seats[at]
		ran := u.Booking().Ran(s)
		u.all[s.Set]++
		if ran {
			u.ran[s.Set]++
		}
		if ran || u.settled(s) {
			u.stood[s.Set]++
		}
		if ran || !s.Claimed && !s.Pipelined {
			u.free[s.Set]++
		}
	}
	u.waits = !u.d.Gang.AtMinimum(u.free)
}

// claimThatStays is the preference of a claim that waits beside what starts.
const claimThatStays = 4

// preference is where a row comes among those of its pod set, the lowest first.
func (u *unitStart) preference(s *cluster.Seat) int {
	at := 0
	switch {
	case u.Booking().Ran(s):
		return 0
	case u.settled(s):
		return 1
	case s.Origin < 0:
		at++
	}
	if !u.waits && (s.Claimed || s.Pipelined) {
		at += 2
	}
	return 2 + at
}

// part gives the rows their steps, and says how many there are. Where there is a choice of pod sets
// it is as the solve has made it: the starts come in their order.
func (u *unitStart) part() (steps int32) {
	slices.SortStableFunc(u.seats, func(a, b cluster.Seat) int {
		return cmp.Or(cmp.Compare(a.Set, b.Set), cmp.Compare(u.preference(&a), u.preference(&b)), cmp.Compare(a.Commit, b.Commit),
			cmp.Compare(a.Step, b.Step), cmp.Compare(a.Index, b.Index))
	})
	if len(u.d.Ladder) > 0 && !u.waits && !slices.ContainsFunc(u.seats, u.startsAsOne) {
		u.claimsNext()
	}
	var starts []*cluster.Seat // in their order
	counts := slices.Clone(u.stood)
	for at := range u.seats {
		switch s := &u.seats[at]; {
		case u.Booking().Ran(s) || u.settled(s):
		case u.waits && s.Origin >= 0: // all that is claimed
			counts[s.Set]++
		case u.waits || !s.Claimed && !s.Pipelined:
			starts = append(starts, s)
		}
	}
	slices.SortStableFunc(starts, func(a, b *cluster.Seat) int { return cmp.Compare(a.Commit, b.Commit) })
	stages := [][]int32{u.ran, slices.Clone(counts)}
	for at, s := range starts {
		if counts[s.Set]++; at+1 == len(starts) || starts[at+1].Commit != s.Commit {
			stages = append(stages, slices.Clone(counts))
		}
	}
	steps = u.d.GiveSteps(u.seats, append(stages, u.all)...)
	u.from, u.of = cluster.Group(int(steps), len(u.seats), func(at int) int32 { return u.seats[at].Step })
	if len(u.d.Ladder) > 0 && slices.Max(u.ran) == 0 {
		for at := range u.seats {
			if s := &u.seats[at]; u.startsAsOne(*s) {
				u.first = max(u.first, s.Step)
			}
		}
	}
	return steps
}

// startsAsOne says whether a row is of what the solve has started as one (L2).
func (u *unitStart) startsAsOne(s cluster.Seat) bool {
	return cluster.StartsFresh(s) && u.Room.Commits[s.Commit].Kind == cluster.Start
}

// claimsNext has the claims of a ladder that stay come right above its minimum: what starts besides is on a rung with
// them only where they count before it (L1).
func (u *unitStart) claimsNext() {
	stays := func(s cluster.Seat) bool { return s.Origin >= 0 && u.preference(&s) == claimThatStays }
	from := slices.IndexFunc(u.seats, stays)
	above := int(max(u.stood[0], u.d.Ladder[len(u.d.Ladder)-1]))
	if from <= above {
		return
	}
	to := from
	for to < len(u.seats) && stays(u.seats[to]) {
		to++
	}
	copy(u.seats, slices.Concat(u.seats[:above], u.seats[from:to], u.seats[above:from], u.seats[to:]))
}

// startMinimum has the minimum start where what ran, and what the settling has started, is none.
// If nothing of this solve starts with it or after it and it waits, all that is claimed stays so.
func (u *unitStart) startMinimum() {
	by, growth := int32(cluster.None), int32(cluster.None)
	for at := range u.seats {
		switch s := &u.seats[at]; {
		case u.Booking().Ran(s) || s.Commit < 0:
		case s.Step <= u.first && (s.Origin < 0 || !u.waits):
			by = max(by, s.Commit)
		case s.Origin < 0 && (growth < 0 || s.Commit < growth):
			growth = s.Commit
		}
	}
	if by < 0 {
		by = growth
	}
	if by < 0 {
		u.each(0, u.stayClaim)
		if u.k.Status = cluster.Claiming; u.k.IsLeaving(u.World) {
			u.k.Status = cluster.WaitsForLeavers
		}
		return
	}
	for step := range u.first + 1 {
		u.each(step, func(s *cluster.Seat) { u.begin(s, by) })
	}
	u.last, u.k.Status = by, cluster.Complete
}

// grow has a step above the minimum start after the one before: of what is claimed what is free, and
// then what starts elsewhere, as a claim starts and does not grow.
func (u *unitStart) grow(step int32) {
	stays := func(s *cluster.Seat) bool {
		return u.waits || s.Claimed || s.Pipelined || s.Commit < 0 && len(u.d.Ladder) > 0
	}
	u.startAfter(step, func(s *cluster.Seat) bool { return s.Origin >= 0 && !stays(s) })
	u.each(step, func(s *cluster.Seat) {
		if s.Origin >= 0 && stays(s) {
			u.stayClaim(s)
		}
	})
	u.startAfter(step, func(s *cluster.Seat) bool { return s.Origin < 0 })
}

// startAfter has some of a step start together after what has started before.
func (u *unitStart) startAfter(step int32, which func(*cluster.Seat) bool) {
	by, some, waits := int32(cluster.None), false, u.waits
	u.each(step, func(s *cluster.Seat) {
		if which(s) {
			some, waits, by = true, waits || s.Pipelined, max(by, s.Commit)
		}
	})
	switch {
	case !some:
		return
	case by <= u.last:
		by = int32(len(u.Room.Commits))
		u.Room.Commits = append(u.Room.Commits, u.Room.Commits[u.last])
	}
	before := u.waits
	u.waits = waits
	u.each(step, func(s *cluster.Seat) {
		if which(s) {
			u.begin(s, by)
		}
	})
	u.waits, u.last = before, by
}

// goesOn says whether a row has begun before, and runs below the minimum where it has claimed its place.
func (u *unitStart) goesOn(s *cluster.Seat) bool {
	return u.waits && s.Origin >= 0 && !s.Claimed && !s.Pipelined && u.Holdings[s.Origin].Begun
}

// each does something with what of a step the settling has not told to run, and what does not go on.
func (u *unitStart) each(step int32, do func(*cluster.Seat)) {
	for _, at := range u.of[u.from[step]:u.from[step+1]] {
		if s := &u.seats[at]; !u.Booking().Ran(s) && !u.goesOn(s) && (u.began || !u.settled(s)) {
			do(s)
		}
	}
}

// begin has a row start by a commit, by a claim where its step does.
func (u *unitStart) begin(s *cluster.Seat, by int32) {
	if s.Commit = by; s.Claimed {
		s.Claimed = false
		u.Live[u.k.Live].Claimed--
	}
	if u.waits {
		u.wait(s)
	}
}

// stayClaim has a row be the claim that it was.
func (u *unitStart) stayClaim(s *cluster.Seat) {
	if s.Origin < 0 || s.Claimed {
		return
	}
	u.wait(s)
	h := &u.Holdings[s.Origin]
	s.Claimed, s.Commit, h.Phase, h.Fresh = true, cluster.None, cluster.Claimed, false
	u.Live[u.k.Live].Claimed++
}

// wait has a row claim its place, whatever is free.
func (u *unitStart) wait(s *cluster.Seat) {
	x, shape := u.Pools[u.FormOf(u.k, u.k.Current).Pool].Index, u.d.Sets[s.Set].Placed
	if s.Pipelined {
		return
	}
	_ = x.Give(shape, s.Place(u.World)) // it has that
	s.Pipelined = true
	_ = x.Take(shape, s.Place(u.World)) // whatever is free
}
