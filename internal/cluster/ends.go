package cluster

import "math/bits"

// When work is expected to end (B1). Times and durations are microseconds, and [Never] is without
// an end. All is a pure function of its arguments: nothing here reads a clock.

const (
	minute = 60 * Second
	hour   = 60 * minute
)

// EndOfTime is when times end, at 10000-01-01: a later end is none.
const EndOfTime = 253402300800 * Second

// corrections are by how much longer than was said work is taken to run that has not ended
// by then: each is the guess until the next (Tsafrir, Etsion and Feitelson 2007). From the last
// on it is a multiple of that.
var corrections = [...]int64{minute, 5 * minute, 15 * minute, 30 * minute, hour, 2 * hour, 5 * hour, 10 * hour, 20 * hour, 50 * hour, 100 * hour}

// PredictedEnd is when what is expected to end at one time, and is ended at another by the host, is
// predicted to: as is expected or, once that has passed, by the first correction that is later than
// now; but not beyond its limit, unless that has passed: then grace from now on.
func PredictedEnd(now, expected, limited, grace int64) int64 {
	if limited <= now {
		return SureEnd(now, limited, grace)
	}
	return min(corrected(now, expected), limited)
}

// SureEnd is when what the host ends at a time has ended for sure: then or, once that has passed,
// grace from now on.
func SureEnd(now, limited, grace int64) int64 {
	if limited <= now {
		return TimeAfter(now, grace)
	}
	return limited
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
			return TimeAfter(expected, c)
		}
	}
	most := corrections[len(corrections)-1]
	return TimeAfter(expected, (over/most+1)*most)
}

// TimeAfter is a time so much later than another; what is beyond all times is never.
func TimeAfter(t, by int64) int64 {
	if by >= EndOfTime-max(t, 0) {
		return Never
	}
	return t + by
}

// A Joint is fixed work that tasks do together, which may begin at unlike times: it is done at
// ⌈(rest + Σ begun) / tasks⌉, the sooner the more they are (B1).
type Joint struct {
	// The rest and all times, in two's complement: times are below 2^58, and tasks many.
	high, low uint64
	tasks     uint64
}

// NewJoint is the rest of fixed work, in task-microseconds, that no task does yet; below 0 is that
// more was done than there was.
func NewJoint(rest int64) Joint { return Joint{high: uint64(rest >> 63), low: uint64(rest)} }

// Join has so many tasks do it from a time on, which is not negative.
func (j *Joint) Join(begun int64, tasks int32) {
	high, low := bits.Mul64(uint64(begun), uint64(tasks))
	var carry uint64
	j.low, carry = bits.Add64(j.low, low, 0)
	j.high, _ = bits.Add64(j.high, high, carry)
	j.tasks += uint64(tasks)
}

// Done is when it is done; Never where no task does it.
func (j *Joint) Done() int64 {
	switch {
	case j.tasks == 0:
		return Never
	case int64(j.high) < 0:
		return 0 // all was done before there were times
	case j.high >= j.tasks:
		return Never
	}
	quotient, rest := bits.Div64(j.high, j.low, j.tasks)
	if rest > 0 {
		quotient++
	}
	if quotient >= EndOfTime {
		return Never
	}
	return int64(quotient)
}

// Lasts is for how long so many tasks take that start together: as is expected of each or, of fixed
// work, of the rest of it; at most to the limit. 0 are the fewest that do.
func (t *Times) Lasts(tasks int32) int64 {
	if !t.Fixed || tasks <= 0 {
		return t.Duration
	}
	each := t.Rest / int64(tasks)
	if t.Rest > each*int64(tasks) {
		each++
	}
	return min(corrected(0, max(each, 0)), t.Limit)
}
