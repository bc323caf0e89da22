package preempt

import "math/bits"

// Entitlements are what queues may defend (R8), by queue × resources + resource, in
// the resource's unit.
type Entitlements struct {
	// Guaranteed is LQ, Fair is LF: see [fairshare.Share].
	Guaranteed, Fair []int64
}

// addUpTo returns a + b, for a, b ≥ 0, or the largest int64.
func addUpTo(a, b int64) int64 {
	if sum := a + b; sum >= 0 {
		return sum
	}
	return 1<<63 - 1
}

// timesUpTo returns n × a, for a, n ≥ 0, or the largest int64.
func timesUpTo(a int64, n int) int64 {
	if hi, lo := bits.Mul64(uint64(a), uint64(n)); hi == 0 && lo < 1<<63 {
		return int64(lo)
	}
	return 1<<63 - 1
}
