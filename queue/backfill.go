package queue

import (
	"fmt"
	"strings"
)

// Backfill says how work may pass those that wait for a place (B3). This package owns
// the type and its text; the caller does what it says.
type Backfill uint8

const (
	// NoBackfill makes no promises: any workload that waits may be passed. It is the
	// zero value.
	NoBackfill Backfill = iota
	// EASY promises a time and places to the first in order, and to no more unless the
	// policy says so; what does not delay it may pass (Lifka 1995).
	EASY
	// Conservative makes a promise to each workload that waits, up to a depth; only what
	// delays none of them may pass (Mu'alem and Feitelson 2001).
	Conservative
)

var backfillTexts = [...]string{
	NoBackfill:   "none",
	EASY:         "easy",
	Conservative: "conservative",
}

// Valid reports whether b is one of the constants.
func (b Backfill) Valid() bool { return int(b) < len(backfillTexts) }

// String returns the stable text of b: "none", "easy" or "conservative"; Backfill(n)
// where b is not valid.
func (b Backfill) String() string {
	if !b.Valid() {
		return fmt.Sprintf("Backfill(%d)", uint8(b))
	}
	return backfillTexts[b]
}

// MarshalText implements [encoding.TextMarshaler]. It fails where b is not valid.
func (b Backfill) MarshalText() ([]byte, error) {
	if !b.Valid() {
		return nil, fmt.Errorf("queue: no such backfill: %d", uint8(b))
	}
	return []byte(backfillTexts[b]), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler]. It accepts exactly the
// texts of [Backfill.String] and leaves b alone where it fails.
func (b *Backfill) UnmarshalText(text []byte) error {
	for value, s := range backfillTexts {
		if s == string(text) {
			*b = Backfill(value)
			return nil
		}
	}
	return fmt.Errorf("queue: no such backfill: %q: there is %s", text, strings.Join(backfillTexts[:], ", "))
}
