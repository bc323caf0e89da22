package engine

import (
	"slices"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// endsRights says whether with a unit back those who have reclaimed, or for whom others have moved, would be beyond the
// lines of their right (R1, C5), and the units that they took are still out, or elsewhere.
func (s reprieving) endsRights(o *cluster.OutUnit) (bool, error) {
	rights, takings := s.world.Booking().RightsIn()
	for i, one := range rights {
		if one.Pool == s.index && s.crossesWith(one, takings[i], o) {
			return true, nil
		}
	}
	if s.world.Works[o.Unit.Work].Status != cluster.Failed {
		return false, nil
	}
	return s.narrows(rights, takings, o)
}

// narrows says whether the capacity is divided so with a workload back that would have ended for good, and taken its
// demand along (S6), that a queue is beyond the line of a right within which it is as long as that is out.
func (s reprieving) narrows(rights []cluster.Right, takings [][]int32, o *cluster.OutUnit) (narrows bool, err error) {
	if !freeStarts(s).isEnoughFree(o) {
		return false, nil // nor does it come back
	}
	var held []heldLine
	for i, one := range rights {
		if start := s.firstExercised(takings[i], o); one.Pool == s.index && start >= 0 {
			held = s.appendHeld(held, one, start, o)
		}
	}
	if len(held) == 0 {
		return false, nil
	}
	err = s.preempting().dividedWith([]int32{o.Unit.Work}, o.Status, func() {
		narrows = slices.ContainsFunc(held, func(h heldLine) bool { return h.use > s.lineOf(h.code, h.queue, h.resource) })
	})
	return narrows, err
}

// A heldLine is the line of a right of a queue, and what that uses with a unit back.
type heldLine struct {
	code            cluster.Code
	queue, resource int32
	use             int64
}

// appendHeld appends the lines of a right by which a start was made within which its queues are.
func (s reprieving) appendHeld(held []heldLine, r cluster.Right, start int32, o *cluster.OutUnit) []heldLine {
	p := s.pool
	for q := r.Leaf; q >= 0; q = p.Parent[q] {
		for _, a := range p.Definitions[r.Definition].Demand {
			use, within := s.useBy(r.Code, q, start, a)
			if !within {
				continue
			}
			if under(p, o.Unit.Leaf, q) {
				use += o.Unit.Charge.Of(a.Resource)
			}
			held = append(held, heldLine{r.Code, q, a.Resource, use})
		}
		if q == r.Subtree {
			break
		}
	}
	return held
}

// mayNotRunOn says whether a workload of which all that ran has gone starts anew, beyond its lines, and does not
// run on: others for whom it did not go have reclaimed since, and with it where it was they would have been
// beyond the lines of their right, whatever else this solve has started.
func (s reprieving) mayNotRunOn(k *cluster.Work, it queue.Item, f *cluster.Form, charge quota.Amounts) bool {
	if !wasEvicted(k, s.world) || it.Form != s.world.Live[k.Live].Form || s.pool.Room.Entitled(f.Queue, charge) {
		return false
	}
	o := &cluster.OutUnit{Unit: &preempt.Unit{EvictionRank: preempt.EvictionRank{Work: it.ID}, Leaf: f.Queue, Charge: charge}}
	rights, takings := s.world.Booking().RightsIn()
	for i, one := range rights {
		start := s.firstExercised(takings[i], o)
		if one.Pool == s.index && start >= 0 && !s.wentFor(it.ID, s.world.Room.Commits[start].Work) && s.restedOn(one, start, o) {
			return true
		}
	}
	return false
}

// wentFor says whether anything of a workload was taken for another.
func (s reprieving) wentFor(work, preemptor int32) bool {
	for at := range s.world.Room.TakingsOf(work) {
		if s.world.Room.Takings[at].Preemptor == preemptor {
			return true
		}
	}
	return false
}

// restedOn says whether a start had its right only with a unit gone.
func (s reprieving) restedOn(r cluster.Right, start int32, o *cluster.OutUnit) bool {
	p := s.pool
	for q := r.Leaf; q >= 0; q = p.Parent[q] {
		for _, a := range p.Definitions[r.Definition].Demand {
			if !under(p, o.Unit.Leaf, q) || int(a.Resource) >= p.Plain || !p.Divided[a.Resource] || a.Value == 0 {
				continue
			}
			line := s.lineOf(r.Code, q, a.Resource)
			use := p.Tree.Use(int(q), int(a.Resource)) - s.startedIn(q, a.Resource, func(commit int32) bool { return commit != start })
			if use <= line && use+o.Unit.Charge.Of(a.Resource) > line {
				return true
			}
		}
		if q == r.Subtree {
			break
		}
	}
	return false
}

// lineOf is the line of a right of a queue (R1).
func (s reprieving) lineOf(code cluster.Code, q, res int32) int64 {
	line := s.pool.LineFor(cluster.ReclaimedByQuota, q, res)
	if code != cluster.ReclaimedByQuota {
		line = max(line, s.pool.LineFor(cluster.ReclaimedByShare, q, res))
	}
	return line
}

// firstExercised is the first start by a right that stands, as exercised says; −1 if none does.
func (s reprieving) firstExercised(takings []int32, o *cluster.OutUnit) int32 {
	for _, at := range takings {
		if t := &s.world.Room.Takings[at]; s.exercised(t, o) {
			return t.Commit
		}
	}
	return cluster.None
}

// exercised says whether another than the owner of a unit stands where it started for what
// it took, and what it took is still out. What moves for it does so by a right of its own only where nothing has gone (C5): it may
// have taken nothing but what this solve had started.
func (s reprieving) exercised(t *cluster.Taking, o *cluster.OutUnit) bool {
	w := s.world
	if t.Preemptor == o.Unit.Work || !slices.ContainsFunc(w.Room.Seats[t.Preemptor], func(one cluster.Seat) bool { return one.Commit == t.Commit }) {
		return false
	}
	if t.Code == cluster.Consolidated {
		return !s.pool.Policy.ConsolidateBeyondShare && s.isElsewhere(t) && !slices.ContainsFunc(w.Room.Takings, func(other cluster.Taking) bool {
			return other.Commit == t.Commit && other.Preemptor == t.Preemptor && s.isOut(other.Unit)
		})
	}
	return s.isOut(t.Unit)
}

// isOut says whether a unit is out that had a place before this solve: a claim has one to lose, too.
func (s reprieving) isOut(u *preempt.Unit) bool {
	return slices.ContainsFunc(s.world.Room.Out, func(o cluster.OutUnit) bool {
		return o.Unit == u && slices.ContainsFunc(o.Seats, func(one cluster.Seat) bool { return one.Origin >= 0 })
	})
}

// isElsewhere says whether something that ran, and was taken so that it moves, is where it did not run.
func (s reprieving) isElsewhere(t *cluster.Taking) bool {
	w := s.world
	return slices.ContainsFunc(w.Room.Seats[t.Work], func(one cluster.Seat) bool {
		return w.Booking().Ran(&one) && one.Commit >= 0 &&
			slices.ContainsFunc(t.Seats, func(was cluster.Seat) bool { return was.Origin == one.Origin })
	})
}

// crossesWith says whether a unit that is back would put a queue beyond the line of a right by which
// a start was made for which these were taken.
func (s reprieving) crossesWith(r cluster.Right, takings []int32, o *cluster.OutUnit) bool {
	p := s.pool
	q := r.Leaf
	for ; !under(p, o.Unit.Leaf, q); q = p.Parent[q] {
		if q == r.Subtree || q < 0 {
			return false // as of most: they were taken from elsewhere
		}
	}
	start := s.firstExercised(takings, o)
	if start < 0 {
		return false
	}
	asks := p.Definitions[r.Definition].Demand
	for ; q >= 0; q = p.Parent[q] { // the unit is below all of these
		if s.crosses(r.Code, q, start, asks, o.Unit.Charge) {
			return true
		}
		if q == r.Subtree {
			break
		}
	}
	return false
}

// crosses says whether a queue is within its line of what is asked, and with more is not.
func (s reprieving) crosses(code cluster.Code, q, start int32, asks, more quota.Amounts) bool {
	for _, a := range asks {
		if use, within := s.useBy(code, q, start, a); within && use+more.Of(a.Resource) > s.lineOf(code, q, a.Resource) {
			return true
		}
	}
	return false
}

// useBy is what a queue uses of what is asked, and says whether that is within its line: what has
// started after the start that had the right may be beyond the line (Q4).
func (s reprieving) useBy(code cluster.Code, q, start int32, a quota.Amount) (use int64, within bool) {
	p := s.pool
	if int(a.Resource) >= p.Plain || !p.Divided[a.Resource] || a.Value == 0 {
		return 0, false
	}
	line, use := s.lineOf(code, q, a.Resource), p.Tree.Use(int(q), int(a.Resource))
	if use > line {
		use -= s.startedIn(q, a.Resource, func(commit int32) bool { return commit > start })
	}
	return use, use <= line
}

// startedIn is what of a queue's use of a resource has started in this solve, by the starts that count.
func (s reprieving) startedIn(q, res int32, counts func(commit int32) bool) (sum int64) {
	w := s.world
	for _, i := range w.Room.Touched { // of all others nothing has a commit
		f := w.FormOf(&w.Works[i], w.Works[i].Current)
		if f.Pool != s.index || !under(s.pool, f.Queue, q) {
			continue
		}
		for at := range w.Room.Seats[i] {
			if one := &w.Room.Seats[i][at]; one.Commit >= 0 && one.Origin < 0 && counts(one.Commit) {
				sum += s.pool.Definitions[f.Definition].Sets[one.Set].Charge.Of(res)
			}
		}
	}
	return sum
}

// under says whether a queue is another or below it.
func under(p *cluster.Pool, q, above int32) bool {
	for ; q >= 0; q = p.Parent[q] {
		if q == above {
			return true
		}
	}
	return false
}
