package fairshare

import "fmt"

// Valid reports whether s is one of the constants.
func (s QueueState) Valid() bool { return s <= OverFairShare }

// MarshalText returns the text form of [QueueState.String]; an invalid value
// is an error.
func (s QueueState) MarshalText() ([]byte, error) {
	if !s.Valid() {
		return nil, fmt.Errorf("fairshare: no queue state %d", uint8(s))
	}
	return []byte(s.String()), nil
}

// UnmarshalText reads exactly what [QueueState.MarshalText] writes; anything
// else is an error and leaves s unchanged.
func (s *QueueState) UnmarshalText(text []byte) error {
	for state := range OverFairShare + 1 {
		if state.String() == string(text) {
			*s = state
			return nil
		}
	}
	return fmt.Errorf("fairshare: no queue state %q: there is %v, %v, %v", text, InQuota, OverQuota, OverFairShare)
}
