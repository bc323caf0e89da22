package allot

import (
	"math"
	"math/bits"

	"github.com/allotsched/allot/internal/cluster"
)

// When what runs is expected to end (B1). Times and durations are microseconds, as behind
// the compile line; engine.Never is without an end. All is a pure function of its
// arguments: nothing here reads a clock.

const (
	aSecond = 1_000_000
	aMinute = 60 * aSecond
	anHour  = 60 * aMinute
)

// corrections are by how much longer than was said work is taken to run that has not ended
// by then: each is the guess until the next (Tsafrir, Etsion and Feitelson 2007). From the last
// on it is a multiple of that.
var corrections = [...]int64{aMinute, 5 * aMinute, 15 * aMinute, 30 * aMinute, anHour, 2 * anHour, 5 * anHour, 10 * anHour, 20 * anHour, 50 * anHour, 100 * anHour}

// endOfTime is when times end: a later end is none.
const endOfTime = endSecond * aSecond

// predictedEnd is when a task ends that is expected to at a time, and whose limit comes at another: ends
// by what is expected of it, and enforced by its limit alone, when it has ended for sure.
//
// A task is expected to take its duration, at most its limit, and for ever without either.
// One that has not ended by then takes a correction longer, the first that ends later than
// now, but not beyond its limit. One that is past its limit ends grace from now on.
func predictedEnd(now, expected, limited, grace int64) (ends, enforced int64) {
	if limited <= now {
		end := laterTime(now, grace)
		return end, end
	}
	return min(corrected(now, expected), limited), limited
}

// corrected is an end that is later than now: as it is expected, or by the first correction
// that is.
func corrected(now, expected int64) int64 {
	if expected > now {
		return expected
	}
	over := now - expected
	for _, c := range corrections {
		if c > over {
			return laterTime(expected, c)
		}
	}
	most := corrections[len(corrections)-1]
	return laterTime(expected, (over/most+1)*most)
}

// laterTime is a time so much later than another; what is beyond all times is never.
func laterTime(t, by int64) int64 {
	if by >= endOfTime-t {
		return cluster.Never
	}
	return t + by
}

// fixedEnd is when work of so much task-time is done of which so much was done by tasks that
// have ended, where the tasks that have begun did so at these times, of which there is one at
// least: ⌈(work − done + Σ started) / tasks⌉.
func fixedEnd(work, done int64, started []int64) int64 {
	// The sum may have more than 64 bits: times are below 2^58, and tasks many.
	high, low := signedBits(work - done)
	for _, t := range started {
		h, l := signedBits(t)
		var carry uint64
		low, carry = bits.Add64(low, l, 0)
		high, _ = bits.Add64(high, h, carry)
	}
	if int64(high) < 0 {
		return 0 // all was done before there were times
	}
	n := uint64(len(started))
	if high >= n {
		return cluster.Never
	}
	quotient, rest := bits.Div64(high, low, n)
	if rest > 0 {
		quotient++
	}
	if quotient >= endOfTime {
		return cluster.Never
	}
	return int64(quotient)
}

// signedBits is a number in 128 bits, in two's complement.
func signedBits(n int64) (high, low uint64) { return uint64(n >> 63), uint64(n) }

// fixedDuration is how long so many tasks take for the rest of fixed work.
func fixedDuration(work, done, tasks int64) int64 {
	if tasks <= 0 {
		return cluster.Never
	}
	rest := max(0, work-done)
	if rest > math.MaxInt64-tasks {
		return cluster.Never
	}
	return (rest + tasks - 1) / tasks
}
