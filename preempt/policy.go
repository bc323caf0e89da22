package preempt

import (
	"fmt"
	"strings"
)

// Reclaim says what queues may take back from each other.
type Reclaim uint8

const (
	// ByQuotaAndShare: what is within the quota, and what is within the fair
	// share. It is the zero value.
	ByQuotaAndShare Reclaim = iota
	// ByQuota: only what is within the quota (OSMO).
	ByQuota
	// NoReclaim: nothing.
	NoReclaim
)

// Straddle says what happens to a unit of which a part is beyond the line of
// its side (R4).
type Straddle uint8

const (
	// Take takes it: the side was over its line before. It is the zero value.
	Take Straddle = iota
	// Spare takes only what leaves the side at or above its line.
	Spare
)

// Scope says whose work a workload of higher priority may displace.
type Scope uint8

const (
	// WithinQueue: work of its own leaf queue. It is the zero value.
	WithinQueue Scope = iota
	// WithinPool: work of any queue of the pool (Determined's priority
	// scheduler, where every experiment is a queue).
	WithinPool
	// NoPreemption: nobody's.
	NoPreemption
)

var (
	reclaimNames  = [...]string{ByQuotaAndShare: "quota-and-share", ByQuota: "quota", NoReclaim: "off"}
	straddleNames = [...]string{Take: "take", Spare: "spare"}
	scopeNames    = [...]string{WithinQueue: "queue", WithinPool: "pool", NoPreemption: "off"}
)

// Valid reports whether r is one of the constants.
func (r Reclaim) Valid() bool { return int(r) < len(reclaimNames) }

// Valid reports whether s is one of the constants.
func (s Straddle) Valid() bool { return int(s) < len(straddleNames) }

// Valid reports whether s is one of the constants.
func (s Scope) Valid() bool { return int(s) < len(scopeNames) }

// String returns the text form: "quota-and-share", "quota" or "off".
func (r Reclaim) String() string { return name("Reclaim", reclaimNames[:], uint8(r)) }

// String returns the text form: "take" or "spare".
func (s Straddle) String() string { return name("Straddle", straddleNames[:], uint8(s)) }

// String returns the text form: "queue", "pool" or "off".
func (s Scope) String() string { return name("Scope", scopeNames[:], uint8(s)) }

// MarshalText returns the text form; a value that is not valid is an error.
func (r Reclaim) MarshalText() ([]byte, error) {
	return marshal("Reclaim", reclaimNames[:], uint8(r))
}

// MarshalText returns the text form; a value that is not valid is an error.
func (s Straddle) MarshalText() ([]byte, error) {
	return marshal("Straddle", straddleNames[:], uint8(s))
}

// MarshalText returns the text form; a value that is not valid is an error.
func (s Scope) MarshalText() ([]byte, error) { return marshal("Scope", scopeNames[:], uint8(s)) }

// UnmarshalText reads the text form; any other text is an error and leaves r
// as it was.
func (r *Reclaim) UnmarshalText(text []byte) error {
	return unmarshal("Reclaim", reclaimNames[:], text, (*uint8)(r))
}

// UnmarshalText reads the text form; any other text is an error and leaves s
// as it was.
func (s *Straddle) UnmarshalText(text []byte) error {
	return unmarshal("Straddle", straddleNames[:], text, (*uint8)(s))
}

// UnmarshalText reads the text form; any other text is an error and leaves s
// as it was.
func (s *Scope) UnmarshalText(text []byte) error {
	return unmarshal("Scope", scopeNames[:], text, (*uint8)(s))
}

func name(kind string, names []string, value uint8) string {
	if int(value) < len(names) {
		return names[value]
	}
	return fmt.Sprintf("%s(%d)", kind, value)
}

func marshal(kind string, names []string, value uint8) ([]byte, error) {
	if int(value) >= len(names) {
		return nil, fmt.Errorf("preempt: no %s %d", kind, value)
	}
	return []byte(names[value]), nil
}

func unmarshal(kind string, names []string, text []byte, value *uint8) error {
	for i, known := range names {
		if known == string(text) {
			*value = uint8(i)
			return nil
		}
	}
	return fmt.Errorf("preempt: no %s %q: there is %s", kind, text, strings.Join(names, ", "))
}
