package trace

import (
	"math"
	"testing"
	"time"
)

// TestMinusLog: the integer logarithm is the logarithm.
func TestMinusLog(t *testing.T) {
	for _, x := range []uint64{1, 2, 3, 1 << 20, 1<<32 + 12345, 1 << 63, 1<<64 - 1, 0x123456789abcdef0} {
		want := -math.Log(float64(x) / math.Exp2(64))
		if got := float64(minusLog(x)) / math.Exp2(logBits); math.Abs(got-want) > 1e-12 {
			t.Errorf("−ln(%d/2^64) is %v, want %v", x, got, want)
		}
	}
}

// TestExponential: mean and variance are those of the distribution.
func TestExponential(t *testing.T) {
	d := newDraw(1, 1)
	const n = 400_000
	sum, squares := 0.0, 0.0
	for range n {
		x := d.exponential(time.Hour).Hours()
		sum, squares = sum+x, squares+x*x
	}
	if mean, second := sum/n, squares/n; math.Abs(mean-1) > 0.01 || math.Abs(second-2) > 0.04 {
		t.Errorf("mean %v, second moment %v; they should be 1 and 2", mean, second)
	}
}
