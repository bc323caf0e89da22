package engine

import (
	"slices"

	"github.com/allotsched/allot/quota"
)

// A right is what reclaimed units were taken by: whoever starts in that form of a workload
// asks the same in the same leaf, and has the line up to the same queue (R1). There are few,
// however many units were taken.
type right struct {
	pool, leaf, definition, subtree int32
	code                            Code
}

// rightsIn lists the rights by which units were reclaimed, in the order in which they first
// were, and of each the takings.
func (w booking) rightsIn() ([]right, [][]int32) {
	book := w.Room
	known := &book.known.rights
	for at := known.listed; at < len(book.takings); at++ {
		t := &book.takings[at]
		if t.beneficiary < 0 || t.code != ReclaimedByQuota && t.code != ReclaimedByShare {
			continue
		}
		f := w.FormOf(&w.Works[t.beneficiary], book.commits[t.commit].form)
		one := right{t.pool, f.Queue, f.Definition, t.is.PreemptorSubtree, t.code}
		of, seen := known.number[one]
		if !seen {
			if known.number == nil {
				known.number = make(map[right]int)
			}
			of = len(known.all)
			known.number[one] = of
			known.all, known.takings = append(known.all, one), append(known.takings, nil)
		}
		known.takings[of] = append(known.takings[of], int32(at))
	}
	known.listed = len(book.takings)
	return known.all, known.takings
}

// tableRights are the rights of the first listed of the takings.
type tableRights struct {
	listed  int
	number  map[right]int // into the next two
	all     []right
	takings [][]int32
}

// endsRights says whether with a unit back those who have reclaimed would be beyond the
// lines of their right (R1), and the units that they took are still out.
func (s reprieving) endsRights(o *outUnit) bool {
	rights, takings := s.world.booking().rightsIn()
	for i, one := range rights {
		if one.pool == s.index && s.crossesWith(one, o) &&
			slices.ContainsFunc(takings[i], func(at int32) bool { return s.exercised(&s.world.Room.takings[at], o) }) {
			return true
		}
	}
	return false
}

// exercised says whether another than the owner of a unit stands where it started for what
// it took, and what it took is still out.
func (s reprieving) exercised(t *taking, o *outUnit) bool {
	w := s.world
	return t.beneficiary != o.unit.Work &&
		slices.ContainsFunc(w.Room.Seats[t.beneficiary], func(one Seat) bool { return one.commit == t.commit }) &&
		slices.ContainsFunc(w.Room.out, func(other outUnit) bool { // a claim has a place to lose, too
			return other.unit == t.unit && slices.ContainsFunc(other.seats, func(one Seat) bool { return one.origin >= 0 })
		})
}

// crossesWith says whether a unit that is back would put a queue beyond the line of a right.
func (s reprieving) crossesWith(r right, o *outUnit) bool {
	p := s.pool
	asks := p.Definitions[r.definition].Demand
	for q := r.leaf; q >= 0; q = p.Parent[q] {
		if p.under(o.unit.Leaf, q) && s.crosses(r.code, q, asks, o.unit.Charge) {
			return true
		}
		if q == r.subtree {
			break
		}
	}
	return false
}

// crosses says whether a queue is within its line of what is asked, and with more is not.
func (s reprieving) crosses(code Code, q int32, asks, more quota.Amounts) bool {
	p := s.pool
	for _, a := range asks {
		if int(a.Resource) >= p.Plain || !p.Divided[a.Resource] || a.Value == 0 {
			continue
		}
		line := p.lineFor(ReclaimedByQuota, q, a.Resource)
		if code == ReclaimedByShare {
			line = max(line, p.lineFor(ReclaimedByShare, q, a.Resource))
		}
		if use := p.Tree.Use(int(q), int(a.Resource)); use <= line && use+more.Of(a.Resource) > line {
			return true
		}
	}
	return false
}

// under says whether a queue is another or below it.
func (p *Pool) under(q, above int32) bool {
	for ; q >= 0; q = p.Parent[q] {
		if q == above {
			return true
		}
	}
	return false
}
