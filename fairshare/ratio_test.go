package fairshare_test

import (
	"cmp"
	"encoding/json"
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/allotsched/allot/fairshare"
)

// TestF9Order lists ratios in ascending order; those of a row are equal.
func TestF9Order(t *testing.T) {
	const most = math.MaxInt64
	rows := [][]fairshare.Ratio{
		{{}, {Num: 0, Den: 5}, {Num: -1, Den: 3}, {Num: 0, Den: -1}, {Num: -4, Den: -1}},
		{{Num: 1, Den: most}},
		{{Num: 1, Den: 3}, {Num: 3, Den: 9}},
		{{Num: most - 2, Den: most - 1}},
		{{Num: most - 1, Den: most}},
		{{Num: 1, Den: 1}, {Num: most, Den: most}},
		{{Num: most, Den: most - 1}},
		{{Num: most, Den: 1}},
		{{Num: 1, Den: 0}, {Num: most, Den: 0}, {Num: 2, Den: -1}},
	}
	for i, row := range rows {
		for j, other := range rows {
			for _, a := range row {
				for _, b := range other {
					if got := a.Cmp(b); got != cmp.Compare(i, j) {
						t.Errorf("%v against %v: %d", a, b, got)
					}
				}
			}
		}
	}
}

// TestF9Exact compares with math/big.
func TestF9Exact(t *testing.T) {
	ratio := rapid.Custom(func(t *rapid.T) fairshare.Ratio {
		n := rapid.Int64Range(0, math.MaxInt64)
		return fairshare.Ratio{Num: n.Draw(t, "num"), Den: max(1, n.Draw(t, "den"))}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := ratio.Draw(t, "a"), ratio.Draw(t, "b")
		if want := big.NewRat(a.Num, a.Den).Cmp(big.NewRat(b.Num, b.Den)); a.Cmp(b) != want {
			t.Fatalf("%v against %v: %d, want %d", a, b, a.Cmp(b), want)
		}
	})
}

func TestF9Dominant(t *testing.T) {
	half, infinite := fairshare.Ratio{Num: 1, Den: 2}, fairshare.Ratio{Num: 3}
	for _, test := range []struct {
		ratios []fairshare.Ratio
		want   fairshare.Ratio
	}{
		{nil, fairshare.Ratio{}},
		{[]fairshare.Ratio{{Den: 4}}, fairshare.Ratio{Den: 4}},
		{[]fairshare.Ratio{{Num: 1, Den: 3}, half, {Num: 2, Den: 4}}, half},
		{[]fairshare.Ratio{half, infinite, {Num: 5}}, infinite},
	} {
		if got := fairshare.Dominant(test.ratios...); got != test.want {
			t.Errorf("%v: %v", test.ratios, got)
		}
	}
}

func TestF9Text(t *testing.T) {
	for _, test := range []struct {
		ratio    fairshare.Ratio
		text     string
		infinite bool
	}{
		{fairshare.Ratio{}, "0", false},
		{fairshare.Ratio{Den: 3}, "0/3", false},
		{fairshare.Ratio{Num: -2, Den: 3}, "0/3", false},
		{fairshare.Ratio{Num: 2, Den: 4}, "2/4", false},
		{fairshare.Ratio{Num: 2}, "∞", true},
	} {
		if test.ratio.String() != test.text || test.ratio.Infinite() != test.infinite {
			t.Errorf("%+v: %v, %t", test.ratio, test.ratio, test.ratio.Infinite())
		}
	}
}

func TestF12State(t *testing.T) {
	for _, test := range []struct {
		use, quota, fair int64
		want             fairshare.QueueState
		text             string
	}{
		{0, 0, 0, fairshare.InQuota, "in-quota"},
		{2, 2, 5, fairshare.InQuota, "in-quota"},
		{2, 2, 1, fairshare.InQuota, "in-quota"},
		{9, fairshare.Unlimited, 3, fairshare.InQuota, "in-quota"},
		{3, 2, 5, fairshare.OverQuota, "over-quota"},
		{5, 2, 5, fairshare.OverQuota, "over-quota"},
		{6, 2, 5, fairshare.OverFairShare, "over-fair-share"},
	} {
		got := fairshare.State(test.use, test.quota, test.fair)
		if got != test.want || got.String() != test.text {
			t.Errorf("%+v: %v", test, got)
		}
	}
	if got := fairshare.QueueState(9).String(); got != "QueueState(9)" {
		t.Error(got)
	}
}

func TestF12Text(t *testing.T) {
	states := []fairshare.QueueState{fairshare.InQuota, fairshare.OverQuota, fairshare.OverFairShare}
	text, err := json.Marshal(states)
	if err != nil || string(text) != `["in-quota","over-quota","over-fair-share"]` {
		t.Errorf("%s, %v", text, err)
	}
	var back []fairshare.QueueState
	if err := json.Unmarshal(text, &back); err != nil || !slices.Equal(back, states) {
		t.Errorf("%v, %v", back, err)
	}
	state := fairshare.OverQuota
	if err := state.UnmarshalText([]byte("QueueState(3)")); err == nil || state != fairshare.OverQuota {
		t.Errorf("%v, %v", state, err)
	}
	if _, err := fairshare.QueueState(3).MarshalText(); err == nil {
		t.Error("an invalid state has a text")
	}
}

func TestMethodText(t *testing.T) {
	methods := []fairshare.Method{fairshare.QuotaThenWeight, fairshare.ByDemand, fairshare.MaxMin}
	text, err := json.Marshal(methods)
	if err != nil || string(text) != `["quota-then-weight","by-demand","max-min"]` {
		t.Errorf("%s, %v", text, err)
	}
	var back []fairshare.Method
	if err := json.Unmarshal(text, &back); err != nil || !slices.Equal(back, methods) {
		t.Errorf("%v, %v", back, err)
	}
	invalid := fairshare.Method(3)
	if _, err := invalid.MarshalText(); err == nil || invalid.Valid() || invalid.String() != "Method(3)" {
		t.Errorf("%v, %v", invalid, err)
	}
	for _, text := range []string{"", "Max-Min", "max-min "} {
		m := fairshare.MaxMin
		if err := m.UnmarshalText([]byte(text)); err == nil || m != fairshare.MaxMin {
			t.Errorf("%q read as %v, %v", text, m, err)
		}
	}
}
