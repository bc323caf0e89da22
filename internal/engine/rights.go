package engine

import (
	"slices"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/quota"
)

// endsRights says whether with a unit back those who have reclaimed would be beyond the
// lines of their right (R1), and the units that they took are still out.
func (s reprieving) endsRights(o *cluster.OutUnit) bool {
	rights, takings := s.world.Booking().RightsIn()
	for i, one := range rights {
		if one.Pool == s.index && s.crossesWith(one, takings[i], o) {
			return true
		}
	}
	return false
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
// it took, and what it took is still out.
func (s reprieving) exercised(t *cluster.Taking, o *cluster.OutUnit) bool {
	w := s.world
	return t.Preemptor != o.Unit.Work &&
		slices.ContainsFunc(w.Room.Seats[t.Preemptor], func(one cluster.Seat) bool { return one.Commit == t.Commit }) &&
		slices.ContainsFunc(w.Room.Out, func(other cluster.OutUnit) bool { // a claim has a place to lose, too
			return other.Unit == t.Unit && slices.ContainsFunc(other.Seats, func(one cluster.Seat) bool { return one.Origin >= 0 })
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

// crosses says whether a queue is within its line of what is asked, and with more is not: what has
// started after the start that had the right may be beyond the line (Q4).
func (s reprieving) crosses(code cluster.Code, q, start int32, asks, more quota.Amounts) bool {
	p := s.pool
	for _, a := range asks {
		if int(a.Resource) >= p.Plain || !p.Divided[a.Resource] || a.Value == 0 {
			continue
		}
		line := p.LineFor(cluster.ReclaimedByQuota, q, a.Resource)
		if code == cluster.ReclaimedByShare {
			line = max(line, p.LineFor(cluster.ReclaimedByShare, q, a.Resource))
		}
		use := p.Tree.Use(int(q), int(a.Resource))
		if use > line {
			use -= s.startedAfter(start, q, a.Resource)
		}
		if use <= line && use+more.Of(a.Resource) > line {
			return true
		}
	}
	return false
}

// startedAfter is what of a queue's use of a resource has started in this solve after a start.
func (s reprieving) startedAfter(start, q, res int32) (sum int64) {
	w := s.world
	for _, i := range w.Room.Touched { // of all others nothing has a commit
		f := w.FormOf(&w.Works[i], w.Works[i].Current)
		if f.Pool != s.index || !under(s.pool, f.Queue, q) {
			continue
		}
		for at := range w.Room.Seats[i] {
			if one := &w.Room.Seats[i][at]; one.Commit > start && one.Origin < 0 {
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
