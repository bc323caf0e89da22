package preempt

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// TestWorth: where what is kept beside two lists tells them apart, it does so as comparing them does, and counts as
// many steps (M3).
func TestWorth(t *testing.T) {
	for _, mode := range [...]Mode{Preempt, ReclaimByQuota} {
		told, open := 0, 0
		for seed := range uint64(200) {
			draw := rand.New(rand.NewPCG(seed, uint64(mode)))
			s := &search{room: unitsToCompare(draw, mode), ask: &ask{Preemptor: &Preemptor{}, mode: mode}}
			lists := make([]list, 12)
			for i := range lists {
				lists[i] = listToCompare(draw, s, int32(i))
			}
			for i := range lists {
				for j := range lists {
					x, y := worthOf(s, &lists[i]), worthOf(s, &lists[j])
					before := s.room.Effort.Spent()
					less, known := x.before(s, &y)
					if !known {
						open++
						continue
					}
					told++
					steps := s.room.Effort.Spent() - before
					c := s.compareLists(&lists[i], &lists[j])
					if c == 0 || less != (c < 0) || 2*steps != s.room.Effort.Spent()-before {
						t.Fatalf("seed %d, %v: %v and %v compare as %d, but the first is less: %v, by %d steps", seed, mode, lists[i].ids, lists[j].ids, c, less, steps)
					}
				}
			}
		}
		if told < open/4 {
			t.Errorf("%v: it tells %d pairs apart, and leaves %d open", mode, told, open)
		}
	}
}

// unitsToCompare are some units, which most have a number; those of a reclaim are of one leaf and hold the same, as in one
// heap of prices.
func unitsToCompare(draw *rand.Rand, mode Mode) *Evaluator {
	r := &Evaluator{Config: Config{Now: 1000, Effort: new(placement.Effort)}}
	r.amounts = []quota.Amounts{nil, {{Value: 1}}, {{Value: 2}}}
	for i := range int32(16) {
		u := &Unit{
			EvictionRank: EvictionRank{Priority: draw.Int32N(2), Admitted: draw.Int64N(20), Work: i / 2, Step: i % 2},
			Tasks:        []Task{{Milli: draw.Int64N(2), Since: 990}},
		}
		state := unitState{priority: u.Priority, work: u.Work, charge: 1, alive: true}
		if mode == Preempt {
			u.Leaf, state.charge = draw.Int32N(2), 1+draw.Int32N(2)
		}
		state.leaf = u.Leaf
		r.units, r.state = append(r.units, u), append(r.state, state)
	}
	byStanding := make([]UnitID, len(r.units))
	for i := range byStanding {
		byStanding[i] = UnitID(i)
	}
	slices.SortFunc(byStanding, r.better)
	for at, id := range byStanding {
		if draw.IntN(8) > 0 {
			r.state[id].number = int32(at) + 1
		}
	}
	return r
}

// listToCompare is a list of one to three of the units, on a node of its own.
func listToCompare(draw *rand.Rand, s *search, node int32) list {
	l := list{nodes: []int32{node}}
	for _, i := range draw.Perm(len(s.room.units))[:1+draw.IntN(3)] {
		l.ids = append(l.ids, UnitID(i))
	}
	if draw.IntN(4) > 0 {
		slices.SortFunc(l.ids, func(a, b UnitID) int { return cmp.Or(s.inOrder(a, b), cmp.Compare(a, b)) })
	}
	class := int8(0)
	if s.ask.reclaims() {
		class = int8(draw.IntN(2))
	}
	l.class = slices.Repeat([]int8{class}, len(l.ids))
	return l
}
