package prose

import (
	"strconv"
	"strings"
	"time"
)

// Word is a name as it can stand between spaces: quoted if it would not read back
// as one word, the empty name too.
func Word(name string) string {
	for _, r := range name {
		if r <= ' ' || r == '"' || r == '[' || r == ']' || r == ',' || r == '*' || !strconv.IsPrint(r) {
			return strconv.Quote(name)
		}
	}
	if name == "" {
		return `""`
	}
	return name
}

// Each is every name as a [Word].
func Each(names []string) []string {
	words := make([]string, len(names))
	for i, name := range names {
		words[i] = Word(name)
	}
	return words
}

// Words are names with spaces between them.
func Words(names []string) string { return strings.Join(Each(names), " ") }

// Some joins the first texts, at most as many as most says, and counts the rest:
// "a, b and 3 more".
func Some(texts []string, separator string, most int) string {
	if len(texts) <= most {
		return strings.Join(texts, separator)
	}
	return strings.Join(texts[:most], separator) + " and " + Decimal(len(texts)-most) + " more"
}

// OrNone is the name as a [Word], and a dash for the empty one.
func OrNone(name string) string { return Dashed(name != "", Word(name)) }

// Dashed is the text where it says something, and a dash elsewhere.
func Dashed(says bool, text string) string {
	if says {
		return text
	}
	return "-"
}

// Instant is a time in UTC, to the precision that it has; the zero time is
// "never".
func Instant(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// Seconds is a time of so many seconds, such as 30s, 5m0s or 6h0m0s; of any number of them, more than a
// [time.Duration] has too.
func Seconds(n int64) string {
	if n < 3600 {
		return (time.Duration(n) * time.Second).String()
	}
	return strconv.FormatInt(n/3600, 10) + "h" + strconv.FormatInt(n/60%60, 10) + "m" + strconv.FormatInt(n%60, 10) + "s"
}
