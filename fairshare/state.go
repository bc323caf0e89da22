package fairshare

import "fmt"

// A QueueState is where a queue's use of one resource stands (F12).
type QueueState uint8

const (
	// InQuota: use ≤ quota. It is the zero value.
	InQuota QueueState = iota
	// OverQuota: quota < use ≤ fair share.
	OverQuota
	// OverFairShare: use above both quota and fair share.
	OverFairShare
)

// State returns where a queue with this use, quota and fair share stands
// (F12). All three are in the unit of the resource; an unlimited quota is
// math.MaxInt64.
func State(use, quota, fair int64) QueueState {
	switch {
	case use <= quota:
		return InQuota
	case use <= fair:
		return OverQuota
	}
	return OverFairShare
}

// String returns "in-quota", "over-quota" or "over-fair-share"; for an invalid
// value "QueueState(n)".
func (s QueueState) String() string {
	switch s {
	case InQuota:
		return "in-quota"
	case OverQuota:
		return "over-quota"
	case OverFairShare:
		return "over-fair-share"
	}
	return fmt.Sprintf("QueueState(%d)", uint8(s))
}
