package words

import (
	"strconv"
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

// Age is how long ago it was, in one or two units; a dash where it is not known.
func Age(now, then time.Time) string {
	if now.IsZero() || then.IsZero() || then.After(now) {
		return "-"
	}
	d := now.Sub(then)
	days, hours, minutes := int(d.Hours())/24, int(d.Hours())%24, int(d.Minutes())%60
	switch {
	case days > 0:
		return strconv.Itoa(days) + "d" + strconv.Itoa(hours) + "h"
	case hours > 0:
		return strconv.Itoa(hours) + "h" + strconv.Itoa(minutes) + "m"
	case minutes > 0:
		return strconv.Itoa(minutes) + "m"
	}
	return strconv.Itoa(int(d.Seconds())) + "s"
}
