package sim

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// TestSum: sums are those of big numbers.
func TestSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s, part Sum
		want := new(big.Int)
		for i := range rapid.IntRange(0, 8).Draw(t, "terms") {
			a := rapid.Int64Min(0).Draw(t, "a")
			b := rapid.Int64Range(0, 1<<60).Draw(t, "b")
			s.add(a, b)
			if i == 0 {
				part.add(a, b)
			}
			want.Add(want, new(big.Int).Mul(big.NewInt(a), big.NewInt(b)))
		}
		if s.big().Cmp(want) != 0 {
			t.Fatalf("%v, want %v", s.big(), want)
		}
		rest := s
		rest.take(part)
		if rest.Plus(part) != s || rest.Cmp(s) > 0 || s.Cmp(rest) < 0 || s.Cmp(s) != 0 {
			t.Fatalf("%v less %v is %v", s, part, rest)
		}
	})
}
