package cluster

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// B1 by hand: the duration, the corrections one after the other, the limit, and what is past
// it.
func TestPredictedEnd(t *testing.T) {
	const never = Never
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
		{why: "beyond all times", now: 0, duration: EndOfTime / minute, limit: never, ends: never, enforced: never},
	} {
		minutes := func(n int64) int64 {
			if n == never {
				return never
			}
			return n * minute
		}
		now, started := minutes(c.now), minutes(c.started)
		enforced := SureEnd(now, TimeAfter(started, minutes(c.limit)), c.grace*Second)
		ends := PredictedEnd(now, TimeAfter(started, minutes(c.duration)), TimeAfter(started, minutes(c.limit)), c.grace*Second)
		wantEnds, wantEnforced := minutes(c.ends)+c.endsSeconds*Second, minutes(c.enforced)+c.endsSeconds*Second
		if ends != wantEnds || enforced != wantEnforced {
			t.Errorf("%s: ends %d, enforced %d, want %d and %d", c.why, ends, enforced, wantEnds, wantEnforced)
		}
	}
}

// B1: a predicted end is later than now or, past the limit, grace from it; never beyond the
// limit; and it grows with now, so that a promise behind it is only ever made later by that.
func TestPredictedEndLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		span := rapid.Int64Range(1, 1000*hour)
		started := rapid.Int64Range(0, 1000*hour).Draw(t, "started")
		duration := rapid.OneOf(span, rapid.Just(int64(Never))).Draw(t, "duration")
		limit := rapid.OneOf(span, rapid.Just(int64(Never))).Draw(t, "limit")
		grace := rapid.Int64Range(0, hour).Draw(t, "grace")
		last := int64(0)
		now := started
		for range 20 {
			enforced := SureEnd(now, TimeAfter(started, limit), grace)
			ends := PredictedEnd(now, TimeAfter(started, duration), TimeAfter(started, limit), grace)
			past := limit != Never && started+limit <= now
			if past && (ends != now+grace || enforced != now+grace) || !past && (ends <= now || ends > enforced) {
				t.Fatalf("at %d: ends %d, enforced %d", now, ends, enforced)
			}
			if ends < last {
				t.Fatalf("at %d it ends at %d, before it was to end at %d", now, ends, last)
			}
			if last = ends; duration == Never && limit == Never && ends != Never {
				t.Fatalf("ends at %d, of which nothing is known", ends)
			}
			now += rapid.Int64Range(0, 300*hour).Draw(t, "later")
		}
	})
}

// N88, B1: fixed work by hand: it ends the sooner the more tasks run.
func TestJoint(t *testing.T) {
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
		joint := NewJoint((c.work - c.done) * hour)
		for _, at := range c.started {
			joint.Join(at*hour, 1)
		}
		if got := joint.Done(); got != c.want*hour {
			t.Errorf("%s: ends at %d, want %d", c.why, got, c.want*hour)
		}
	}
	joint := NewJoint(10)
	if got := joint.Done(); got != Never {
		t.Errorf("what nobody does is done at %d", got)
	}
	if joint.Join(0, 3); joint.Done() != 4 {
		t.Errorf("10 µs of three tasks take %d", joint.Done())
	}
	joint = NewJoint(-5)
	if joint.Join(1, 1); joint.Done() != 0 {
		t.Errorf("what was done before all times ends at %d", joint.Done())
	}
}

// B1: ⌈(work − done + Σ started) / running⌉ exactly, whatever the sum is.
func TestJointExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amount := rapid.OneOf(rapid.Int64Range(0, 1000), rapid.Int64Range(0, 1<<42*Second))
		work, done := amount.Draw(t, "work"), amount.Draw(t, "done")
		instant := rapid.OneOf(rapid.Int64Range(0, 1000), rapid.Int64Range(0, EndOfTime-1))
		sum, n, joint := big.NewInt(work-done), new(big.Int), NewJoint(work-done)
		for range rapid.IntRange(1, 20).Draw(t, "times") {
			began, tasks := instant.Draw(t, "began"), rapid.Int32Range(1, 100).Draw(t, "tasks")
			joint.Join(began, tasks)
			sum.Add(sum, new(big.Int).Mul(big.NewInt(began), big.NewInt(int64(tasks))))
			n.Add(n, big.NewInt(int64(tasks)))
		}
		want := sum.Add(sum, n)
		want.Sub(want, big.NewInt(1)).Div(want, n) // Euclid's: rounds down, as n > 0
		end := int64(Never)
		if want.IsInt64() && want.Int64() < EndOfTime {
			end = max(0, want.Int64())
		}
		if got := joint.Done(); got != end {
			t.Fatalf("got %d, want %v", got, end)
		}
	})
}

// B1: so many tasks that start together take for the rest of fixed work what a joint of them says, at
// most to the limit; all others as long as each is expected to.
func TestLasts(t *testing.T) {
	for _, c := range []struct {
		times Times
		tasks int32
		want  int64
	}{
		{Times{Duration: 7, Limit: 9}, 3, 7},
		{Times{Duration: 10, Limit: Never, Fixed: true, Rest: 10}, 3, 4},
		{Times{Duration: 10, Limit: Never, Fixed: true, Rest: 9}, 3, 3},
		{Times{Duration: 8, Limit: 8, Fixed: true, Rest: 10}, 1, 8},
		{Times{Duration: 5, Limit: Never, Fixed: true, Rest: 10}, 0, 5},
		{Times{Limit: Never, Fixed: true, Rest: -12}, 3, minute}, // what has been done has not ended
	} {
		if got := c.times.Lasts(c.tasks); got != c.want {
			t.Errorf("%d of %+v: %d, want %d", c.tasks, c.times, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		times := Times{Limit: Never, Fixed: true, Rest: rapid.Int64Range(1, 1<<42*Second).Draw(t, "rest")}
		begun, tasks := rapid.Int64Range(0, EndOfTime-1).Draw(t, "begun"), rapid.Int32Range(1, 1<<20).Draw(t, "tasks")
		joint := NewJoint(times.Rest)
		if joint.Join(begun, tasks); joint.Done() != TimeAfter(begun, times.Lasts(tasks)) {
			t.Fatalf("done at %d, and takes %d", joint.Done(), times.Lasts(tasks))
		}
	})
}
