package preempt_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/allotsched/allot/preempt"
)

// The books of an Evaluator, and what stands beside it.

// R8: standing is a total order, by one thing after the other.
func TestStanding(t *testing.T) {
	best := []preempt.EvictionRank{
		{NonPreemptible: true, Priority: -1, Step: 5, Admitted: 9, Submitted: 9, Work: 9},
		{Priority: 2, Step: 1, Admitted: 9, Submitted: 9, Work: 9},
		{Priority: 1, Admitted: 2, Submitted: 9, Work: 9},
		{Priority: 1, Admitted: 3, Submitted: 1, Work: 9},
		{Priority: 1, Admitted: 3, Submitted: 2, Work: 1},
		{Priority: 1, Admitted: 3, Submitted: 2, Work: 2},
		{Priority: 1, Step: 7, Admitted: 1, Submitted: 1, Work: 3},
		{Priority: 1, Step: 1, Admitted: 1, Submitted: 1, Work: 4},
		{Priority: 1, Step: 2, Admitted: 1, Submitted: 1, Work: 4},
	}
	for i := range best {
		for j := range best {
			if got := best[i].Compare(best[j]); got < 0 != (i < j) || got == 0 != (i == j) {
				t.Errorf("%+v against %+v: %d", best[i], best[j], got)
			}
		}
	}
}

// M4: who is out finds its place again by standing, but of one workload the lower
// step first.
func TestSortToReturn(t *testing.T) {
	units := []preempt.EvictionRank{
		{Work: 1, Step: 2, Admitted: 1}, {Work: 2, Priority: 5}, {Work: 1, Step: 1, Admitted: 2}, {Work: 3, Step: 1, Admitted: 1},
	}
	preempt.SortToReprieve(units, func(s preempt.EvictionRank) preempt.EvictionRank { return s })
	want := []preempt.EvictionRank{
		{Work: 2, Priority: 5}, {Work: 1, Step: 1, Admitted: 2}, {Work: 3, Step: 1, Admitted: 1}, {Work: 1, Step: 2, Admitted: 1},
	}
	if diff := cmp.Diff(want, units); diff != "" {
		t.Error(diff)
	}
}

// M3: lost work is GPU × time, and the sum of much of it does not wrap.
func TestWork(t *testing.T) {
	if preempt.WorkOf(-1, 5) != (preempt.Work{}) || preempt.WorkOf(5, -1) != (preempt.Work{}) {
		t.Error("negative work")
	}
	if preempt.WorkOf(2, 3).Plus(preempt.WorkOf(1, 4)) != preempt.WorkOf(10, 1) {
		t.Error("2×3 + 4 is not 10")
	}
	most := preempt.WorkOf(math.MaxInt64, math.MaxInt64)
	for range 9 {
		if sum := most.Plus(most); sum.Plus(most) != sum && sum == (preempt.Work{}) {
			t.Error("wraps")
		} else {
			most = sum
		}
	}
	if most.Plus(preempt.WorkOf(1, 1)) != most {
		t.Error("there is more than the most")
	}
}

// M3 compares the whole amounts, also those beyond 64 bits.
func TestLostWorkBeyond64Bits(t *testing.T) {
	s := newScene(`nodes 1 1 | queue a | queue b quota=1
		run a/x gpu=1 on=0 | run a/y gpu=1 on=1 | wait b/w gpu=1`)
	x, y := &s.room.Unit(0).Tasks[0], &s.room.Unit(1).Tasks[0]
	x.Milli, x.Since = 1, s.config.Now-5
	y.Milli, y.Since = math.MaxInt64, s.config.Now-4
	if victims, _, _ := s.find(t, byQuota); strings.Join(victims, " ") != "x" {
		t.Error(victims)
	}
}

// A question within another one is refused, and changes nothing about that.
func TestOneQuestionAtATime(t *testing.T) {
	s := newScene(`nodes 2 | queue a | queue b quota=1
		run a/x gpu=1 on=0 | run a/y gpu=1 on=0 | wait b/w gpu=1`)
	want, _, _ := s.find(t, byQuota)
	within, short := 0, s.preemptor.Short
	s.preemptor.Short = func() []int32 {
		within++
		if _, refusal, found := s.room.Find(s.preemptor, byQuota); found || !refusal.Cut {
			t.Error("answered within another one")
		}
		return short()
	}
	if victims, _, refusal := s.find(t, byQuota); within == 0 || !slices.Equal(victims, want) || refusal.Cut {
		t.Error(victims, "in place of", want)
	}
	s.preemptor.Short = short
	if victims, _, _ := s.find(t, byQuota); !slices.Equal(victims, want) {
		t.Error("then", victims, "in place of", want)
	}
}

// A unit that is taken frees its places and its charge, is in no list any more,
// and others stay; entered anew it counts again.
func TestTakeAndForget(t *testing.T) {
	s := newScene(`nodes 3 | pool budgets=-1 | queue a | queue b quota=2
		run a/x gpu=1 owner=0 | run a/x+1 gpu=1 owner=0 | run a/y gpu=1 owner=0 | wait b/w gpu=2`)
	victims, p, _ := s.find(t, byQuota)
	if strings.Join(victims, " ") != "x+1 y" {
		t.Fatal(victims)
	}
	gone := p.Justifications[0].Victim
	if err := s.room.Take(gone); err != nil {
		t.Fatal(err)
	}
	if s.tree.Use(0, 0) != 2000 || s.index.MostFree(0, 0) != 1000 || s.room.Taken(gone) {
		t.Error("its charge, its place")
	}
	if of := slices.Collect(s.room.Of(s.room.Unit(gone).Work)); len(of) != 1 || s.name(of[0]) == "x+1" || len(slices.Collect(s.room.Of(99))) != 0 {
		t.Error("its workload", of)
	}
	if victims, _, _ := s.find(t, byQuota); strings.Join(victims, " ") != "y" {
		t.Error("then", victims)
	}
	u := *s.room.Unit(gone)
	for _, task := range u.Tasks {
		if err := s.index.Take(task.Shape, task.Place); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.tree.Charge(int(u.Leaf), u.Charge, false); err != nil {
		t.Fatal(err)
	}
	again := s.room.Add(u)
	if victims, p, _ := s.find(t, byQuota); strings.Join(victims, " ") != "x+1 y" || p.Justifications[0].Victim != again {
		t.Error("entered anew", victims)
	}
}

// R8: lines that are drawn anew count from the next question on.
func TestRedraw(t *testing.T) {
	s := newScene(`nodes 2 | queue a quota=2 | queue b quota=2
		run a/x gpu=1 | run a/y gpu=1 | wait b/w gpu=1`)
	for _, quotas := range [][]int64{{2000, 2000}, {1000, 2000}, {0, 0}, {1000, 1000}} {
		c := s.config
		c.Quotas, c.Shares = quotas, quotas
		c.Entitlements = preempt.Entitlements{Guaranteed: quotas, Fair: quotas}
		s.room.Redraw(c)
		victims, _, _ := s.find(t, byQuota)
		if some := quotas[0] < 2000 && quotas[1] > 0; len(victims) > 0 != some {
			t.Errorf("with %v: %v", quotas, victims)
		}
	}
}
