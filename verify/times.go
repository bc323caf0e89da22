package verify

import (
	"time"

	"github.com/allotsched/allot"
)

// A State tells times, and all that is asked of them is asked in microseconds since 1970. This file alone goes from the
// one to the other: nothing here knows what time it is.

// endOfTimes is from when on an end is none.
var endOfTimes = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()

// micros is a time in microseconds: finer digits are dropped, and what is not set is before all times.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return -1
	}
	return t.UnixMicro()
}

// instant is the time of so many microseconds.
func instant(t int64) time.Time { return time.UnixMicro(t).UTC() }

// nowOf is the time of the state, and 1970 where none is told.
func nowOf(s *allot.State) int64 { return max(0, micros(s.Now)) }

// isTime says whether a time may stand in a state: none, or one of the years 1970 to 9999.
func isTime(t time.Time) bool { return t.IsZero() || t.Unix() >= 0 && t.Unix() < endOfTimes/aSecond }

// date is a time as violations tell it, and text one of so many microseconds.
func date(t time.Time) string { return t.UTC().Format(time.RFC3339) }
func text(t int64) string     { return date(instant(t)) }
