package engine

import (
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/cluster"
)

// What sets of several shapes ask together of the empty cluster: each by itself may fit,
// and all of them be more than there is (X1).

// Workloads of a queue that ask for different things mostly lack the same, and lack it for the
// same reason: what is composed for one of them is told of the next.

// A composition is what reasons were composed of where nothing else went into them. The lists
// are shared, so that equal ones begin at the same place.
type composition struct {
	form      int16
	lack, why []cluster.Verdict
	reasons   []cluster.Verdict
}

// of says whether it was composed of the same.
func (c *composition) of(other *composition) bool {
	return c.reasons != nil && c.form == other.form && sameList(c.lack, other.lack) && sameList(c.why, other.why)
}

func sameList(a, b []cluster.Verdict) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// lackOf is what of the unit finds no place now, which appendNamed adds to the reasons. Where
// no constraint and no bound of a class has a say in it, it is common to all that ask the same
// in whatever queue, and told of none.
func (s diagnosis) lackOf(i int32, asked question, d *cluster.Definition, unit gang.Unit) (lack []cluster.Verdict, common bool) {
	if d.Gang.Constrained() || d.Unsure || s.pool.Classed() || !slices.Equal(unit.Add, d.Unit.Add) {
		return s.noPlace(asked, d, unit, s.reprieving().beside(i, d, unit)), false
	}
	lack, told := s.lacks[asked.definition]
	if !told {
		lack = s.noPlace(question{definition: asked.definition, blocker: cluster.None}, d, unit, gang.Siblings{})
		if slices.EqualFunc(lack, s.lack, sameVerdict) {
			lack = s.lack
		}
		s.lacks[asked.definition], s.lack = lack, lack
	}
	return lack, true
}

// appendNamed adds what is lacking to the reasons of one that asks for it.
func appendNamed(reasons, lack []cluster.Verdict, asked question) []cluster.Verdict {
	for at := range lack {
		reasons = append(reasons, lack[at])
		v := &reasons[len(reasons)-1]
		if v.Form = asked.form; v.Code == cluster.NoCapacity {
			v.Queue = asked.queue
		}
	}
	return reasons
}

// whyNoRoom is why no room is made for the workload; nothing where it has not come to that, or where it has been
// promised something since for which it rather waits (B4).
func (s diagnosis) whyNoRoom(i int32, asked question, held []int32) ([]cluster.Verdict, error) {
	switch {
	case asked.blocker != cluster.None, s.promising().ratherWaits(i):
		return nil, nil
	case held != nil:
		return shielded(s.Solver, s.ownRefusals[i]), nil
	}
	refused, known := s.refusals[asked]
	if !known || refused.of != s.decision.Number {
		return nil, nil
	}
	why, err := s.preempting().toldOf(asked, &refused)
	return shielded(s.Solver, why), err
}

// addStopped adds what stops the workload beside that: what it would expose, and who stands before it.
func (s diagnosis) addStopped(reasons []cluster.Verdict, i int32, asked question, d *cluster.Definition, held []int32) []cluster.Verdict {
	if why, some := exposing(s).exposureOf(i, asked); some {
		reasons = append(reasons, why)
	}
	if asked.blocker != cluster.None {
		v := cluster.NewVerdict(cluster.Outranked, asked.form, s.index)
		v.Workload = asked.blocker
		reasons = append(reasons, v)
	}
	if s.choicesCut(d, held) {
		reasons = append(reasons, cluster.NewVerdict(cluster.SearchCut, asked.form, s.index).Counting(0, int64(d.Choices())))
	}
	return reasons
}

// choicesCut says whether not all choices of pod sets were looked at.
func (s diagnosis) choicesCut(d *cluster.Definition, held []int32) bool {
	if hasOneChoice(d, held) {
		return false
	}
	s.walk.Reset(d.Gang, held, d.Choices())
	for more := true; more; {
		_, more = s.walk.Next()
	}
	return s.walk.Cut()
}

// shared is the list, or what was refused last in the queue where that tells the same.
func (s diagnosis) shared(queue int32, told []cluster.Verdict) []cluster.Verdict {
	if last := s.toldLast[queue]; len(told) == 0 || !slices.EqualFunc(last, told, sameVerdict) {
		s.toldLast[queue] = slices.Clone(told)
	}
	return s.toldLast[queue]
}

// sameVerdict says whether two verdicts tell the same. Domains, protections and chains are
// not compared: where there are some they do not.
func sameVerdict(a, b cluster.Verdict) bool {
	lists := len(a.Best) + len(b.Best) + len(a.Shields) + len(b.Shields) + len(a.Chain) + len(b.Chain)
	return lists == 0 && a.Code == b.Code && a.Form == b.Form && a.Pool == b.Pool && a.Queue == b.Queue && a.Resource == b.Resource &&
		a.Definition == b.Definition && a.Set == b.Set && a.Workload == b.Workload && a.Node == b.Node && a.Have == b.Have && a.Need == b.Need &&
		slices.Equal(a.Counts, b.Counts) && a.Nearest == b.Nearest && a.Pieces == b.Pieces && a.Reservation == b.Reservation &&
		a.Until == b.Until && a.Reclaim == b.Reclaim && a.Shield == b.Shield
}
