package gang

import (
	"fmt"
	"strings"
)

// Step is the rule by which a workload goes from its minimum to its maximum
// and back (L1).
type Step uint8

const (
	// ByOne: one task at a time (G2). It is the zero value.
	ByOne Step = iota
	// Halving: from all tasks to half of them, rounded down, and so on, as long
	// as that is at least the minimum; and back up the same ladder (L2, L3).
	Halving
)

var stepNames = [...]string{ByOne: "by-one", Halving: "halving"}

// Valid reports whether s is one of the constants.
func (s Step) Valid() bool { return int(s) < len(stepNames) }

// String returns the text form: "by-one" or "halving".
func (s Step) String() string {
	if s.Valid() {
		return stepNames[s]
	}
	return fmt.Sprintf("Step(%d)", uint8(s))
}

// MarshalText returns the text form; a value that is not valid is an error.
func (s Step) MarshalText() ([]byte, error) {
	if !s.Valid() {
		return nil, fmt.Errorf("gang: no Step %d", uint8(s))
	}
	return []byte(stepNames[s]), nil
}

// UnmarshalText reads the text form; any other text is an error and leaves s
// as it was.
func (s *Step) UnmarshalText(text []byte) error {
	for i, known := range stepNames {
		if known == string(text) {
			*s = Step(i)
			return nil
		}
	}
	return fmt.Errorf("gang: no Step %q: there is %s", text, strings.Join(stepNames[:], ", "))
}

// Ladder lists the sizes that a halving set may have: count, half of it rounded
// down, and so on, as long as that is at least min, the largest first. Count
// itself always is one.
func Ladder(min, count int32) []int32 {
	ladder := []int32{count}
	for n := count / 2; n >= max(min, 1); n /= 2 {
		ladder = append(ladder, n)
	}
	return ladder
}
