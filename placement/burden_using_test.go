package placement

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestUsersAreWhatIsHeldThen: at each time at which something begins those are in use that have begun and not
// ended, in the order of the list (B5).
func TestUsersAreWhatIsHeldThen(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	var u using
	for range 500 {
		var held []heldStay
		for holder := range random.Int32N(8) {
			from := random.Int64N(10)
			held = append(held, heldStay{&Stay{From: from, Until: from + random.Int64N(6)}, holder})
		}
		u.begin(held)
		last := int64(-1)
		for at := random.Int64N(10); at != Never; at = u.next() {
			if at <= last {
				t.Fatalf("%d comes after %d", at, last)
			}
			last = at
			var want []heldStay
			for _, s := range held {
				if s.From <= at && at < s.Until {
					want = append(want, s)
				}
			}
			if got := u.moveTo(at); !slices.Equal(got, want) {
				t.Fatalf("at %d of %v: %v, want %v", at, held, got, want)
			}
		}
	}
}
