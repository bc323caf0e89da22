package engine

import (
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// Where a workload finds no place, room is made. The first who needs it has every unit of
// the table, the tasks that go as one, be told to its pool's preempt.Evaluator.

// makesRoom says whether the policy ever makes room.
func makesRoom(p *cluster.Policy) bool {
	return !p.NoConsolidation || p.Reclaim != preempt.NoReclaim || p.Preempt != preempt.NoPreemption
}

// asking is what a solver keeps from one question for room to the next: thousands that ask the same follow
// each other.
type asking struct {
	// asked is who asked last, nil where it was like no other; found, proposed and modesAtHand are memory
	// for the question at hand.
	asked       *preempt.Preemptor
	found       way
	proposed    preempt.Proposal
	modesAtHand [5]preempt.Mode
	freed       quota.Amounts // scratch of carryOut, as are victims
	victims     []int32
}

// likeLast is the preemptor of a question. Where the last one asked the same and nothing but who asks is
// another, it is that one again.
func (s preempting) likeLast(k *cluster.Work, it queue.Item, at int16, add []int32, asks quota.Amounts) *preempt.Preemptor {
	p, f, b := s.pool, s.world.FormOf(k, at), s.asked
	if b == nil || f.Definition != b.Equivalence || it.Stage > 0 || b.Leaf != f.Queue || b.NonPreemptible != f.NonPreemptible || b.Priority != f.Priority ||
		!s.asksAlone(k, at, add) || b.Still == p.Index.Releasing() {
		b = s.preemptor(k, it, at, slices.Clone(add), slices.Clone(asks))
		if s.asked = nil; b.Equivalence >= 0 && it.Stage <= 0 && s.asksAlone(k, at, add) {
			s.asked = b
		}
		return b
	}
	b.Submitted, b.Rank, b.Work, b.Entitled = k.Submitted, k.Rank, it.ID, p.Room.Entitled(f.Queue, asks)
	return b
}

// asksAlone says whether what a workload asks of the evaluator, but for who it is, depends on nothing but what
// defines it.
func (s preempting) asksAlone(k *cluster.Work, at int16, add []int32) bool {
	d := s.world.Definition(k, at)
	return !s.world.Holds(k) && len(s.promises.list) == 0 && s.due == 0 && len(d.Stranger) == 0 && !d.Gang.Constrained() &&
		!s.pool.Classed() && slices.Equal(add, d.Unit.Add)
}

// preemptor describes the unit to the room.
func (s preempting) preemptor(k *cluster.Work, it queue.Item, at int16, add []int32, asks quota.Amounts) *preempt.Preemptor {
	p, f, d := s.pool, s.world.FormOf(k, at), s.ownGround(it.ID, at)
	b := &preempt.Preemptor{
		EvictionRank: preempt.EvictionRank{
			NonPreemptible: f.NonPreemptible, Priority: f.Priority, Step: int32(min(it.Stage, 1)),
			Admitted: s.world.Now, Submitted: k.Submitted, Rank: k.Rank, Work: it.ID,
		},
		Leaf: f.Queue, Asks: asks, Gang: d.Gang, Set: p.NodeSet[f.Queue],
		Exact: !p.Classed() && len(s.promises.list) == 0 && s.due == 0, Entitled: p.Room.Entitled(f.Queue, asks), Equivalence: -1, Still: !p.Index.Releasing(),
	}
	b.Classes = p.GuaranteedTo(f.Queue, d, gang.Unit{Add: add})
	if !s.world.Holds(k) && len(s.promises.list) == 0 && s.due == 0 && slices.Equal(add, d.Unit.Add) {
		b.Equivalence = f.Definition // its other choices of pod sets ask something else (G3)
	}
	b.Add.Add = add
	need := make([]int64, p.Plain)
	first := placement.Shape(-1)
	for set, n := range add {
		shape := &d.Sets[set]
		b.Shapes = append(b.Shapes, shape.Placed)
		if n == 0 {
			continue
		}
		b.GPUs += int64(n) * shape.Charge.Of(0)
		if first >= 0 && first != shape.Placed {
			b.Exact = false
		}
		first = shape.Placed
		r := &shape.Request
		b.Exact = b.Exact && (r.Devices <= 1 || r.Memory == 0 && r.Milli == cluster.WholeDevice)
		cluster.AddNeed(need, shape, int64(n))
	}
	b.Need = needed(need)
	b.Start = func() bool {
		s.seated, s.begins = s.seated[:0], triedStart{} // what moves for it gets its places after it
		return s.startFor(at, f, d, b)
	}
	b.Exact = b.Exact && !s.reprieving().fitted(d, b.Add)
	if d.Gang.Constrained() {
		s.reprieving().keepTogether(b, d)
	}
	b.Short = func() []int32 { return s.shortOf(d, b) }
	if len(s.promises.list) > 0 {
		b.MayMove = s.promising().sparing().mayMove()
	}
	return b
}

// needed are the amounts, by resource, that are more than none.
func needed(need []int64) (amounts quota.Amounts) {
	for r, n := range need {
		if n > 0 {
			amounts = append(amounts, quota.Amount{Resource: int32(r), Value: n})
		}
	}
	return amounts
}
