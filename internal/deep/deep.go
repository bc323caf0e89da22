package deep

import (
	"context"
	"fmt"
	"iter"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"
)

const (
	durationVariable = "ALLOT_DEEP"
	seedVariable     = "ALLOT_SEED"
)

// Short is the divisor of the number of instances under -short.
const Short = 8

// A Budget says how long a test goes on. Several goroutines may ask it at once.
type Budget struct {
	count int             // instances that are looked at in any case
	first uint64          // seed of the first one
	time  context.Context // done when the time is over; nil where the count decides
	done  atomic.Int64    // the most that was told to More
}

// New is the budget of a test that looks at count instances in an ordinary run.
// The test fails where a variable of the environment makes no sense.
func New(t testing.TB, count int) *Budget {
	t.Helper()
	b, err := parse(t, os.Getenv(durationVariable), os.Getenv(seedVariable))
	if err != nil {
		t.Fatal(err)
	}
	b.count = count
	if b.time == nil && testing.Short() {
		b.count = (count + Short - 1) / Short
	}
	if b.time != nil {
		t.Cleanup(func() { t.Logf("deep: %d instances from seed %d", b.done.Load(), b.first) })
	}
	return b
}

// parse reads the variables; the time of the budget begins.
func parse(t testing.TB, duration, seed string) (*Budget, error) {
	b := new(Budget)
	if seed != "" {
		n, err := strconv.ParseUint(seed, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s=%q is no seed", seedVariable, seed)
		}
		b.first = n
	}
	if duration != "" {
		d, err := time.ParseDuration(duration)
		if err != nil || d <= 0 {
			return nil, fmt.Errorf("%s=%q is no duration such as 5m", durationVariable, duration)
		}
		var cancel context.CancelFunc
		b.time, cancel = context.WithTimeout(context.Background(), d)
		t.Cleanup(cancel)
	}
	return b, nil
}

// Seeds yields the seeds from which a test draws, one after the other; count of
// them in an ordinary run.
func Seeds(t testing.TB, count int) iter.Seq[uint64] {
	t.Helper()
	b := New(t, count)
	return func(yield func(uint64) bool) {
		for done := 0; b.More(done) && yield(b.first+uint64(done)); done++ {
		}
	}
}

// First is the seed of the first instance.
func (b *Budget) First() uint64 { return b.first }

// Count is the number of instances that are looked at in any case.
func (b *Budget) Count() int { return b.count }

// More returns whether a test that has looked at done instances looks at another.
func (b *Budget) More(done int) bool {
	b.done.Store(max(b.done.Load(), int64(done)))
	return done < b.count || b.time != nil && b.time.Err() == nil
}

// Deep returns whether the time decides, not the count.
func (b *Budget) Deep() bool { return b.time != nil }
