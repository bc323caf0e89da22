package quota

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// S2: amounts of whole units are exact, and those that do not fit are beyond what a
// State may give, on the side of their sign.
func TestUnits(t *testing.T) {
	units := []struct {
		name string
		of   func(int64) int64
		unit int64
	}{{"GPUs", GPUs, 1000}, {"Cores", Cores, 1000}, {"GiB", GiB, 1 << 30}}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{0, 1, -1, math.MaxInt64, math.MinInt64, MaxSum / 1000, MaxSum/1000 + 1})).Draw(t, "n")
		for _, u := range units {
			exact := new(big.Int).Mul(big.NewInt(n), big.NewInt(u.unit))
			want := exact
			if exact.CmpAbs(big.NewInt(MaxSum)) > 0 {
				want = new(big.Int).Mul(big.NewInt(MaxSum), big.NewInt(int64(exact.Sign())))
			}
			if got := u.of(n); big.NewInt(got).Cmp(want) != 0 {
				t.Errorf("%s(%d) = %d, want %v", u.name, n, got, want)
			}
		}
	})
}
