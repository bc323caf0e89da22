package fairshare

import (
	"math/rand/v2"
	"testing"
)

// TestF5LevelLeavesFewGranules checks the bound that makes the cost
// independent of the number of granules: findLevel gives no more than there
// is, and leaves at most 9/4 granules per claim to be given one by one.
func TestF5LevelLeavesFewGranules(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	upTo := func() int64 { return r.Int64N(1<<(1+r.IntN(62))) + 1 } // of every magnitude
	for range 50_000 {
		n := 1 + r.IntN(8)
		claims := make([]Claim, n)
		sameWeight := r.IntN(3) == 0
		for i := range claims {
			claims[i] = Claim{Requestable: upTo(), Weight: upTo()}
			if sameWeight {
				claims[i].Weight = claims[0].Weight
			}
		}
		capacity := upTo()
		o := Options{Granule: 1 + upTo()%capacity}

		tier := make([]claimant, n)
		for i, c := range claims {
			tier[i] = claimant{weight: wide{lo: uint64(c.Weight)}, room: uint64(c.Requestable), index: i}
		}
		live, enough := takers(tier, uint64(capacity), o)
		if enough {
			continue
		}
		at := findLevel(live, uint64(capacity), o.granule())
		if !fits(live, uint64(capacity), o.granule(), at) {
			t.Fatalf("capacity %d, %+v, %+v: the level %+v gives too much", capacity, o, claims, at)
		}
		shares, err := Divide(nil, capacity, claims, o)
		if err != nil {
			t.Fatal(err)
		}
		left := uint64(0)
		for i := range live {
			c := &live[i]
			turns := (uint64(shares[c.index]) + o.granule() - 1) / o.granule()
			if turns < at.granules(c) {
				t.Fatalf("capacity %d, %+v, %+v: %v is below the level %+v", capacity, o, claims, shares, at)
			}
			left += turns - at.granules(c)
		}
		if 4*left > 9*uint64(n) {
			t.Fatalf("capacity %d, %+v, %+v: %d granules left", capacity, o, claims, left)
		}
	}
}

func TestWide(t *testing.T) {
	const ones = ^uint64(0)
	if top, middle, low := (wide{ones, ones}).times(ones); top != ones-1 || middle != ones || low != 1 {
		t.Errorf("(2^128 − 1)·(2^64 − 1) is %x %x %x", top, middle, low)
	}
	if p := product(ones, ones); p != (wide{ones - 1, 1}) {
		t.Errorf("(2^64 − 1)² is %x", p)
	}
	for _, test := range []struct {
		value  wide
		length int
	}{{wide{}, 0}, {wide{lo: 1}, 1}, {wide{lo: ones}, 64}, {wide{hi: 1}, 65}, {wide{hi: ones}, 128}} {
		if test.value.bitLen() != test.length || test.value.isZero() != (test.length == 0) {
			t.Errorf("%+v has %d bits", test.value, test.value.bitLen())
		}
	}
}
