package words

import (
	"math"
	"testing"
)

// A queue may use more than its share, and what is no share has no saturation.
func TestSaturation(t *testing.T) {
	for _, c := range []struct {
		used, share int64
		want        string
	}{
		{0, 12, "0%"}, {1, 3, "33%"}, {12, 12, "100%"}, {24, 12, "200%"}, {5, 0, "-"}, {0, 0, "-"},
		{math.MaxInt64, math.MaxInt64, "100%"}, {math.MaxInt64, 1, "-"},
	} {
		if got := Saturation(c.used, c.share); got != c.want {
			t.Errorf("%d of %d: %s, not %s", c.used, c.share, got, c.want)
		}
	}
}
