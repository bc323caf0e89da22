package allot

import (
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/allotsched/allot/internal/cluster"
)

// B1 by hand: the duration, the corrections one after the other, the limit, and what is past
// it.
func TestPredictedEnd(t *testing.T) {
	const never = cluster.Never
	for _, c := range []struct {
		why                           string
		now, started, duration, limit int64 // minutes
		grace                         int64 // seconds
		ends, enforced                int64 // minutes
		endsSeconds                   int64 // beside
	}{
		{why: "nothing is known", now: 5, duration: never, limit: never, ends: never, enforced: never},
		{why: "its duration", now: 5, started: 2, duration: 60, limit: never, ends: 62, enforced: never},
		{why: "its limit, where that is all that is known", now: 5, started: 2, duration: never, limit: 60, ends: 62, enforced: 62},
		{why: "the limit cuts the duration", now: 5, started: 2, duration: 90, limit: 60, ends: 62, enforced: 62},
		{why: "N73: at its end it has not ended", now: 600, duration: 600, limit: 1800, ends: 601, enforced: 1800},
		{why: "a correction that is now is over", now: 601, duration: 600, limit: 1800, ends: 605, enforced: 1800},
		{why: "5 min", now: 604, duration: 600, limit: never, ends: 605, enforced: never},
		{why: "15 min", now: 605, duration: 600, limit: never, ends: 615, enforced: never},
		{why: "30 min", now: 629, duration: 600, limit: never, ends: 630, enforced: never},
		{why: "1 h", now: 630, duration: 600, limit: never, ends: 660, enforced: never},
		{why: "2 h", now: 660, duration: 600, limit: never, ends: 720, enforced: never},
		{why: "5 h", now: 720, duration: 600, limit: never, ends: 900, enforced: never},
		{why: "10 h", now: 900, duration: 600, limit: never, ends: 1200, enforced: never},
		{why: "20 h", now: 1200, duration: 600, limit: never, ends: 1800, enforced: never},
		{why: "50 h", now: 1800, duration: 600, limit: never, ends: 3600, enforced: never},
		{why: "100 h", now: 3600, duration: 600, limit: never, ends: 6600, enforced: never},
		{why: "200 h", now: 6600, duration: 600, limit: never, ends: 12600, enforced: never},
		{why: "and each further 100 h", now: 600 + 7*6000 + 5999, duration: 600, limit: never, ends: 600 + 8*6000, enforced: never},
		{why: "a correction ends with the limit", now: 605, duration: 600, limit: 608, ends: 608, enforced: 608},
		{why: "past the limit", now: 608, duration: 600, limit: 608, grace: 30, ends: 608, enforced: 608, endsSeconds: 30},
		{why: "past the limit, no grace", now: 700, duration: 600, limit: 608, ends: 700, enforced: 700},
		{why: "beyond all times", now: 0, duration: endOfTime / aMinute, limit: never, ends: never, enforced: never},
	} {
		minutes := func(n int64) int64 {
			if n == never {
				return never
			}
			return n * aMinute
		}
		ends, enforced := predictedEnd(minutes(c.now), laterTime(minutes(c.started), minutes(c.duration)), laterTime(minutes(c.started), minutes(c.limit)), c.grace*aSecond)
		wantEnds, wantEnforced := minutes(c.ends)+c.endsSeconds*aSecond, minutes(c.enforced)+c.endsSeconds*aSecond
		if ends != wantEnds || enforced != wantEnforced {
			t.Errorf("%s: ends %d, enforced %d, want %d and %d", c.why, ends, enforced, wantEnds, wantEnforced)
		}
	}
}

// B1: a predicted end is later than now or, past the limit, grace from it; never beyond the
// limit; and it grows with now, so that a promise behind it is only ever made later by that.
func TestPredictedEndLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		span := rapid.Int64Range(1, 1000*anHour)
		started := rapid.Int64Range(0, 1000*anHour).Draw(t, "started")
		duration := rapid.OneOf(span, rapid.Just(int64(cluster.Never))).Draw(t, "duration")
		limit := rapid.OneOf(span, rapid.Just(int64(cluster.Never))).Draw(t, "limit")
		grace := rapid.Int64Range(0, anHour).Draw(t, "grace")
		last := int64(0)
		now := started
		for range 20 {
			ends, enforced := predictedEnd(now, laterTime(started, duration), laterTime(started, limit), grace)
			past := limit != cluster.Never && started+limit <= now
			if past && (ends != now+grace || enforced != now+grace) || !past && (ends <= now || ends > enforced) {
				t.Fatalf("at %d: ends %d, enforced %d", now, ends, enforced)
			}
			if ends < last {
				t.Fatalf("at %d it ends at %d, before it was to end at %d", now, ends, last)
			}
			if last = ends; duration == cluster.Never && limit == cluster.Never && ends != cluster.Never {
				t.Fatalf("ends at %d, of which nothing is known", ends)
			}
			now += rapid.Int64Range(0, 300*anHour).Draw(t, "later")
		}
	})
}

// N88, B1: fixed work by hand: it ends the sooner the more tasks run.
func TestFixedEnd(t *testing.T) {
	for _, c := range []struct {
		why        string
		work, done int64 // hours
		started    []int64
		want       int64
	}{
		{"one task", 10, 0, []int64{2}, 12},
		{"some was done before", 10, 4, []int64{2}, 8},
		{"two from the beginning", 10, 0, []int64{0, 0}, 5},
		{"a second joins at 4: 4 are done, 6 take 3 more", 10, 0, []int64{0, 4}, 7},
		{"all was done", 10, 12, []int64{20}, 18},
	} {
		at := make([]int64, len(c.started))
		for i := range at {
			at[i] = c.started[i] * anHour
		}
		if got := fixedEnd(c.work*anHour, c.done*anHour, at); got != c.want*anHour {
			t.Errorf("%s: ends at %d, want %d", c.why, got, c.want*anHour)
		}
	}
	if got := fixedEnd(10, 0, []int64{0, 0, 0}); got != 4 {
		t.Errorf("10 µs of three tasks take %d", got)
	}
	if got := fixedEnd(0, 5, []int64{1}); got != 0 {
		t.Errorf("what was done before all times ends at %d", got)
	}
}

// B1: ⌈(work − done + Σ started) / running⌉ exactly, whatever the sum is.
func TestFixedEndExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amount := rapid.OneOf(rapid.Int64Range(0, 1000), rapid.Int64Range(0, MaxAmount*aSecond/aSecond))
		work, done := amount.Draw(t, "work"), amount.Draw(t, "done")
		instant := rapid.OneOf(rapid.Int64Range(0, 1000), rapid.Int64Range(0, endOfTime-1))
		started := rapid.SliceOfN(instant, 1, 100).Draw(t, "started")
		sum := big.NewInt(work - done)
		for _, s := range started {
			sum.Add(sum, big.NewInt(s))
		}
		n := big.NewInt(int64(len(started)))
		want := sum.Add(sum, n)
		want.Sub(want, big.NewInt(1)).Div(want, n) // Euclid's: rounds down, as n > 0
		end := int64(cluster.Never)
		if want.IsInt64() && want.Int64() < endOfTime {
			end = max(0, want.Int64())
		}
		if got := fixedEnd(work, done, started); got != end {
			t.Fatalf("got %d, want %v", got, end)
		}
	})
}

// B1: so many tasks that start together take for the rest what fixedEnd says.
func TestFixedDuration(t *testing.T) {
	for _, c := range [][4]int64{{10, 0, 3, 4}, {10, 4, 3, 2}, {10, 12, 3, 0}, {9, 0, 3, 3}, {1, 0, 0, cluster.Never}} {
		if got := fixedDuration(c[0], c[1], c[2]); got != c[3] {
			t.Errorf("%v: %d", c, got)
		}
	}
}

// B1: as time passes, and back, a snapshot that goes on decides what a new state would: which
// workloads are before their time is its time's alone to say.
func TestEarlyBySnapshot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		second := rapid.Int64Range(0, 5)
		at := func(n int64) time.Time { return time.Unix(n, 0).UTC() }
		s := &State{Now: at(second.Draw(t, "now")), Nodes: []Node{{ID: "a", Devices: make([]Device, 3)}}}
		for _, id := range []string{"u", "v", "w", "x"} {
			k := Workload{ID: id, Submitted: at(second.Draw(t, "submitted")), PodSets: []PodSet{{Count: rapid.IntRange(1, 3).Draw(t, "tasks"), Request: Request{GPU: GPURequest{Count: 1}}}}}
			if rapid.Bool().Draw(t, "timed") {
				k.NotBefore = at(second.Draw(t, "not before"))
			}
			s.Workloads = append(s.Workloads, k)
		}
		snapshot, err := NewSnapshot(s)
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			c := Change{Now: at(second.Draw(t, "then"))}
			if rapid.Bool().Draw(t, "otherwise") {
				k := s.Workloads[rapid.IntRange(0, 3).Draw(t, "which")]
				k.NotBefore = at(second.Draw(t, "not before"))
				c.Workloads = []Workload{k}
			}
			if snapshot, err = snapshot.With(c); err != nil {
				t.Fatal(err)
			}
			d, err := snapshot.Decide()
			if err != nil {
				t.Fatal(err)
			}
			want, err := Solve(snapshot.State())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.Actions, slices.Clone(d.Actions()), exact); diff != "" {
				t.Fatalf("at %v:\n%s", c.Now, diff)
			}
			for _, p := range want.Pending {
				k, _ := snapshot.Workload(p.Workload)
				if early := k.NotBefore.After(c.Now); early != (p.Reasons[0].Code == NotBefore) || early && !p.Reasons[0].Until.Equal(k.NotBefore) {
					t.Fatalf("%s waits at %v for %v", p.Workload, c.Now, p.Reasons)
				}
			}
		}
	})
}

// B9: who holds something of a node at some time of a spell is found among the runs as in a list.
func TestHoldersAgainstAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var held holders
		var list []holder
		draw := func() spell {
			from := rapid.Int64Range(-5, 200).Draw(t, "from")
			if rapid.IntRange(0, 9).Draw(t, "for ever") == 0 {
				return spell{from, cluster.Never}
			}
			return spell{from, from + rapid.Int64Range(1, 20).Draw(t, "for")}
		}
		for i := range rapid.IntRange(0, 300).Draw(t, "holders") {
			s := draw()
			one := holder{int32(i), s.from, s.until, 1 << (i % 64)}
			held.add(one)
			list = append(list, one)
		}
		asked := draw()
		var found, want []int32
		held.during(asked, func(h *holder) { found = append(found, h.by) })
		for _, h := range list {
			if h.from < asked.until && h.until > asked.from {
				want = append(want, h.by)
			}
		}
		slices.Sort(found)
		if !slices.Equal(found, want) {
			t.Fatalf("during %v: found %v, want %v", asked, found, want)
		}
		for i, r := range held {
			if len(r.list) == 0 || len(r.list) > longestRun || i > 0 && r.list[0].from < held[i-1].list[0].from {
				t.Fatalf("run %d has %d holders from %d on", i, len(r.list), r.list[0].from)
			}
		}
	})
}
