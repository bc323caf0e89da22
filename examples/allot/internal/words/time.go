package words

import (
	"time"

	"github.com/allotsched/allot/internal/prose"
)

// Instant is a time for people; the zero time is none.
func Instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	t = t.UTC()
	if t.Second() == 0 && t.Nanosecond() == 0 {
		return t.Format("2 January 2006, 15:04 UTC")
	}
	return t.Format("2 January 2006, 15:04:05.999999 UTC")
}

// Elapsed is how long it is from one instant to another, roughly and in words.
func Elapsed(from, to time.Time) string {
	if from.IsZero() || to.IsZero() || to.Before(from) {
		return ""
	}
	minutes := int64(to.Sub(from) / time.Minute)
	switch {
	case minutes < 1:
		return "less than a minute"
	case minutes < 120:
		return prose.Count(minutes, "minute")
	case minutes < 48*60:
		return prose.Count(minutes/60, "hour")
	}
	return prose.Count(minutes/(24*60), "day")
}
