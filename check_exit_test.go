package allot

import (
	"errors"
	"math"
	"strconv"
	"testing"
)

// V1: an exit code is one of 32 bits, which is only a question where int has
// more.
func TestCheckExitCodes(t *testing.T) {
	if strconv.IntSize == 32 {
		t.Skip("an int cannot be out of range here")
	}
	above, below := int64(math.MaxInt32)+1, int64(math.MinInt32)-1
	for want, spoil := range map[string]func(*State){ // each by itself: order cannot matter
		`pools[1] (p1).policy.preemptedExitCode: must be ≤ 2147483647, is 2147483648`: func(s *State) {
			s.Pools[1].Policy.PreemptedExitCode = int(above)
		},
		`workloads[0] (w0).exitActions[0].code: must be ≥ -2147483648, is -2147483649`: func(s *State) {
			s.Workloads[0].ExitActions[0].Code = int(below)
		},
	} {
		s := sound()
		spoil(s)
		var all *InvalidError
		if err := Check(s); !errors.As(err, &all) || !errors.Is(err, FaultRange) || all.Faults[0].String() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
