package preempt_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/allotsched/allot/preempt"
)

// The books of an Evaluator, and what stands beside it.

// R8: the lines of queues, drawn from the top down.
func TestDrawLines(t *testing.T) {
	for _, row := range []struct {
		why                  string
		queues               []preempt.EntitlementClaim
		quotaLine, shareLine []int64
	}{
		{"at the top what is requestable of quota, and the larger of it and fair share", []preempt.EntitlementClaim{
			{Parent: -1, Quota: 4000, Requestable: 3000, FairShare: 2000},
			{Parent: -1, Quota: 1000, Requestable: 3000, FairShare: 2000},
		}, []int64{3000, 1000}, []int64{3000, 2000}},
		{"quotas at the top stand whatever they sum to (Q7)", []preempt.EntitlementClaim{
			{Parent: -1, Quota: 9000, Requestable: 9000, FairShare: 4000},
			{Parent: -1, Quota: 9000, Requestable: 9000, FairShare: 4000},
		}, []int64{9000, 9000}, []int64{9000, 9000}},
		{"children that sum to more divide their parent's lines by quota (F5)", []preempt.EntitlementClaim{
			{Parent: -1, Quota: 3000, Requestable: 9000, FairShare: 4000},
			{Parent: 0, Quota: 4000, Requestable: 9000, FairShare: 3000},
			{Parent: 0, Quota: 2000, Requestable: 9000, FairShare: 1000},
		}, []int64{3000, 2000, 1000}, []int64{4000, 3000, 1000}},
		{"and less than that stands", []preempt.EntitlementClaim{
			{Parent: -1, Quota: 6000, Requestable: 9000, FairShare: 6000},
			{Parent: 0, Quota: 4000, Requestable: 9000, FairShare: 5000},
			{Parent: 0, Quota: 2000, Requestable: 9000, FairShare: 1000},
		}, []int64{6000, 4000, 2000}, []int64{6000, 5000, 2000}},
		{"a line below is divided again, wherever parents stand", []preempt.EntitlementClaim{
			{Parent: 2, Quota: 2000, Requestable: 9000, FairShare: 0},
			{Parent: -1, Quota: 1000, Requestable: 9000, FairShare: 1000},
			{Parent: 1, Quota: 5000, Requestable: 9000, FairShare: 1000},
		}, []int64{1000, 1000, 1000}, []int64{1000, 1000, 1000}},
		{"ties go to the older", []preempt.EntitlementClaim{
			{Parent: -1, Quota: 1000, Requestable: 1000, FairShare: 1000},
			{Parent: 0, Quota: 1000, Requestable: 1000, Created: 2},
			{Parent: 0, Quota: 1000, Requestable: 1000, Created: 1},
		}, []int64{1000, 0, 1000}, []int64{1000, 0, 1000}},
	} {
		byQuota, byShare, err := preempt.DivideEntitlements(row.queues, evenly(1000, len(row.queues)))
		if err != nil || !slices.Equal(byQuota, row.quotaLine) || !slices.Equal(byShare, row.shareLine) {
			t.Errorf("%s: LQ %v LF %v, %v", row.why, byQuota, byShare, err)
		}
	}
	byQuota, _, err := preempt.DivideEntitlements([]preempt.EntitlementClaim{
		{Parent: -1, Quota: 1000, Requestable: 1000}, {Parent: 0, Quota: 1000, Requestable: 1000}, {Parent: 0, Quota: 1000, Requestable: 1000},
	}, []int64{1000, 500, 500})
	if err != nil || !slices.Equal(byQuota, []int64{1000, 500, 500}) {
		t.Errorf("in the granules of the group (F5): %v, %v", byQuota, err)
	}
	if _, _, err := preempt.DivideEntitlements([]preempt.EntitlementClaim{{Parent: -1}, {Parent: 0, Quota: 1, Requestable: 1}}, evenly(-1, 2)); err == nil {
		t.Error("a granule below zero")
	}
}

// evenly is the same granule for all.
func evenly(granule int64, n int) []int64 { return slices.Repeat([]int64{granule}, n) }

// R8: no child's line by quota exceeds its own part, together none exceed their
// parent's, and no line by share is below the one by quota.
func TestLinesStayWithinTheirParents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		queues := make([]preempt.EntitlementClaim, rapid.IntRange(1, 8).Draw(t, "queues"))
		amount := rapid.Int64Range(0, 9)
		for i := range queues {
			queues[i] = preempt.EntitlementClaim{Parent: int32(rapid.IntRange(-1, i-1).Draw(t, "parent")),
				Quota: amount.Draw(t, "quota"), Requestable: amount.Draw(t, "requestable"), FairShare: amount.Draw(t, "share")}
		}
		byQuota, byShare, err := preempt.DivideEntitlements(queues, evenly(1, len(queues)))
		if err != nil {
			t.Fatal(err)
		}
		below := make([]int64, len(queues))
		for i, q := range queues {
			if byQuota[i] > min(q.Quota, q.Requestable) || byQuota[i] > byShare[i] {
				t.Fatalf("queue %d: LQ %d, LF %d", i, byQuota[i], byShare[i])
			}
			if q.Parent >= 0 {
				below[q.Parent] += byQuota[i]
			}
		}
		for i := range queues {
			if below[i] > byQuota[i] {
				t.Fatalf("queue %d has a line of %d, those below of %d", i, byQuota[i], below[i])
			}
		}
	})
}

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
	if of := s.room.Of(s.room.Unit(gone).Work); len(of) != 1 || s.name(of[0]) == "x+1" || len(s.room.Of(99)) != 0 {
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
