package gang

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// T2: nodes in order are packed as parts are, the fewest and the fullest that do.
func TestPackInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts, n, _ := drawParts(t)
		for i := range parts {
			parts[i].free = parts[i].takes // of nodes nothing else is known
		}
		slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(b.takes, a.takes) })
		want := slices.Clone(parts)
		pack(want, n)
		if packInOrder(parts, n); !slices.Equal(given(parts), given(want)) {
			t.Fatalf("T2: nodes of %v are given %v, pack gives %v", want, given(parts), given(want))
		}
	})
}
