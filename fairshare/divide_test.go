package fairshare_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/allotsched/allot/fairshare"
)

// all is a demand for more than there is.
const all = 1_000_000

func TestDivide(t *testing.T) {
	type claims = []fairshare.Claim
	ofThree := func(capacity int64) group {
		return group{capacity: capacity, claims: claims{
			{Requestable: 1, Weight: 1}, {Requestable: 2, Weight: 3}, {Requestable: 2, Weight: 3},
		}}
	}
	milli := fairshare.Options{Granule: 1000}
	for _, test := range []struct {
		name string
		group
		want []int64
	}{
		{"F2: nothing", group{}, nil},
		{"F2: quota whatever the tier", group{2, claims{
			{Quota: 2, Requestable: all, Weight: 1}, {Requestable: all, Weight: 1, Tier: 9},
		}, fairshare.Options{}}, []int64{2, 0}},
		{"F2: over-subscription stands (R14)", group{8, claims{
			{Quota: 6, Requestable: 6, Weight: 1}, {Quota: 6, Requestable: 6, Weight: 1},
		}, fairshare.Options{}}, []int64{6, 6}},
		{"F2: capacity below zero is none", group{-5, claims{
			{Quota: 1, Requestable: 3, Weight: 1}, {Requestable: 3, Weight: 1},
		}, fairshare.Options{}}, []int64{1, 0}},
		{"F2: unlimited quota", group{10, claims{
			{Quota: fairshare.Unlimited, Requestable: 7, Weight: 1}, {Requestable: 7, Weight: 1},
		}, fairshare.Options{}}, []int64{7, 3}},
		{"F3: higher tier first, what it leaves is the next one's", group{10, claims{
			{Requestable: all, Weight: 100}, {Requestable: 4, Weight: 1, Tier: 1}, {Quota: 1, Requestable: 3, Weight: 1, Tier: 1},
		}, fairshare.Options{}}, []int64{3, 4, 3}},
		{"F3: what one leaves the others share by weight", group{16, claims{
			{Requestable: 2, Weight: 5}, {Requestable: all, Weight: 5}, {Requestable: all, Weight: 2},
		}, fairshare.Options{}}, []int64{2, 10, 4}},
		{"F3, Q5: what is kept and idle is no surplus", group{20, claims{
			{Quota: 10, Requestable: 3, Keep: 6, Weight: 1}, {Requestable: all, Weight: 1},
		}, fairshare.Options{}}, []int64{3, 14}},
		{"F3, Q5: what is kept and used costs nothing more", group{20, claims{
			{Quota: 10, Requestable: 7, Keep: 6, Weight: 1}, {Requestable: all, Weight: 1},
		}, fairshare.Options{}}, []int64{7, 13}},
		{"F3, Q5: no more is kept than the quota", group{20, claims{
			{Quota: 4, Keep: 100, Weight: 1}, {Requestable: all, Weight: 1},
		}, fairshare.Options{}}, []int64{0, 16}},
		{"F4: weight 0 gets no surplus", group{9, claims{
			{Quota: 2, Requestable: all}, {Requestable: 4, Weight: 1},
		}, fairshare.Options{}}, []int64{2, 4}},
		{"F4: a tier without weights shares nothing", group{9, claims{
			{Requestable: all}, {Requestable: all},
		}, fairshare.Options{}}, []int64{0, 0}},
		{"F4: or equally", group{9, claims{
			{Requestable: all, Created: 1}, {Requestable: all},
		}, fairshare.Options{EqualAtZeroWeight: true}}, []int64{4, 5}},
		{"F4: one weight in the tier is not none", group{9, claims{
			{Requestable: all}, {Requestable: 1, Weight: 1},
		}, fairshare.Options{EqualAtZeroWeight: true}}, []int64{0, 1}},
		{"F5: weights 1, 3, 3 and three granules", ofThree(3), []int64{0, 2, 1}},
		{"F5: four granules take nothing away", ofThree(4), []int64{0, 2, 2}},
		{"F5: five granules", ofThree(5), []int64{1, 2, 2}},
		{"F5: tie: larger weight", group{2, claims{ // (2·0+1)/1 = (2·1+1)/3
			{Requestable: all, Weight: 1}, {Requestable: all, Weight: 3},
		}, fairshare.Options{}}, []int64{0, 2}},
		{"F5: tie: older", group{1, claims{
			{Requestable: all, Weight: 1, Created: 2}, {Requestable: all, Weight: 1, Created: 1},
		}, fairshare.Options{}}, []int64{0, 1}},
		{"F5: tie: index", group{1, claims{
			{Requestable: all, Weight: 1}, {Requestable: all, Weight: 1},
		}, fairshare.Options{}}, []int64{1, 0}},
		{"F5: a part of a granule fills a claim", group{4000, claims{
			{Requestable: 1500, Weight: 1}, {Requestable: all, Weight: 1, Created: 1},
		}, milli}, []int64{1500, 2500}},
		{"F5: the last part of the surplus", group{2500, claims{
			{Requestable: all, Weight: 1}, {Requestable: all, Weight: 1},
		}, milli}, []int64{1500, 1000}},
		{"F5: surplus in granules on top of any quota", group{3250, claims{
			{Quota: 250, Requestable: all, Weight: 1}, {Requestable: all, Weight: 2},
		}, milli}, []int64{1250, 2000}},
		{"F7: enough for all", group{100, claims{
			{Requestable: 7, Weight: 1}, {Requestable: 9, Weight: 1},
		}, milli}, []int64{7, 9}},
		{"F10", group{40, claims{
			{Quota: 14, Requestable: 40, Weight: 2}, {Quota: 6, Requestable: 40, Weight: 3}, {Requestable: 40, Weight: 1},
		}, fairshare.Options{}}, []int64{21, 16, 3}},
		{"F11, A3: the weight is the quota", group{8, claims{
			{Quota: 3, Requestable: all, Weight: 3}, {Quota: 1, Requestable: all, Weight: 1},
		}, fairshare.Options{}}, []int64{6, 2}},
		{"O21", group{100_000, claims{
			{Quota: 30_000, Requestable: 70_000, Weight: 1}, {Quota: 50_000, Requestable: all, Weight: 3},
		}, milli}, []int64{35_000, 65_000}},
		{"G1", group{7, claims{
			{Quota: 2, Requestable: 5, Weight: 2}, {Quota: 1, Requestable: 3, Weight: 1},
		}, fairshare.Options{}}, []int64{5, 2}},
		{"G2", group{8, claims{
			{Quota: 4, Requestable: 7, Weight: 4}, {Quota: 2, Requestable: 3, Weight: 2},
		}, fairshare.Options{}}, []int64{5, 3}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := divide(test.group); !slices.Equal(got, test.want) {
				t.Errorf("%v: got %v, want %v", test.group, got, test.want)
			}
		})
	}
}

func TestDivideByDemand(t *testing.T) {
	type claims = []fairshare.DemandClaim
	for _, test := range []struct {
		name     string
		capacity int64
		claims   claims
		options  fairshare.Options
		want     []int64
	}{
		{"F8, D3: by demand", 8, claims{{Demand: 10, Weight: 1}, {Demand: 30, Weight: 1}}, fairshare.Options{}, []int64{2, 6}},
		{"F8, D4: weights 3 and 1", 8, claims{{Demand: 10, Weight: 3}, {Demand: 30, Weight: 1}}, fairshare.Options{}, []int64{4, 4}},
		{"F8, D7: capped by demand", 8, claims{{Demand: 2, Weight: 3}, {Demand: 30, Weight: 1}}, fairshare.Options{}, []int64{1, 7}},
		{"F8: capped by max slots, which is then the demand", 8, claims{{Demand: 10, Weight: 1, Cap: 1}, {Demand: 30, Weight: 1}}, fairshare.Options{}, []int64{0, 8}},
		{"F8: enough for all", 50, claims{{Demand: 10, Weight: 1}, {Demand: 30, Weight: 1}}, fairshare.Options{}, []int64{10, 30}},
		{"F4: no weight at all", 8, claims{{Demand: 10}, {Demand: 30}}, fairshare.Options{EqualAtZeroWeight: true}, []int64{2, 6}},
		{"F8: capacity below zero", -8, claims{{Demand: 10, Weight: 1}}, fairshare.Options{}, []int64{0}},
		{"F5: ties by age", 1, claims{{Demand: 3, Weight: 1, Created: 2}, {Demand: 3, Weight: 1, Created: 1}}, fairshare.Options{}, []int64{0, 1}},
		{"F8: exact where products do not fit 64 bits", largest, claims{
			{Demand: largest, Weight: largest}, {Demand: largest - 1, Weight: largest}, {Demand: 1, Weight: largest},
		}, fairshare.Options{}, []int64{1 << 52, 1<<52 - 1, 0}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := fairshare.DivideByDemand(nil, test.capacity, test.claims, test.options)
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("got %v, %v, want %v", got, err, test.want)
			}
		})
	}
}

// TestDivideExtremes: any int64 ≥ 0 is divided exactly; nothing wraps.
func TestDivideExtremes(t *testing.T) {
	const most = math.MaxInt64
	claim := fairshare.Claim{Requestable: most, Weight: most}
	for _, test := range []struct {
		name string
		group
		want []int64
	}{
		{"halves", group{most, []fairshare.Claim{claim, claim}, fairshare.Options{}}, []int64{1 << 62, 1<<62 - 1}},
		{"one granule", group{most, []fairshare.Claim{claim, claim}, fairshare.Options{Granule: most}}, []int64{most, 0}},
		{"a granule larger than the capacity", group{5, []fairshare.Claim{claim, claim}, fairshare.Options{Granule: most}}, []int64{5, 0}},
		{"quotas whose sum does not fit", group{most, []fairshare.Claim{
			{Quota: most, Requestable: most, Weight: 1}, {Quota: most, Requestable: most, Keep: most, Weight: 1}, claim,
		}, fairshare.Options{}}, []int64{most, most, 0}},
		{"the lightest against the heaviest", group{most, []fairshare.Claim{ // its 1/1 comes before (2·most − 1)/most
			{Requestable: most, Weight: 1}, claim,
		}, fairshare.Options{}}, []int64{1, most - 1}},
		{"the heaviest full, all else to the lightest", group{most, []fairshare.Claim{
			{Requestable: most, Weight: 1}, {Requestable: 3, Weight: most},
		}, fairshare.Options{}}, []int64{most - 3, 3}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := divide(test.group); !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestDivideErrors(t *testing.T) {
	good := fairshare.Claim{Requestable: 1, Weight: 1}
	for _, test := range []struct {
		bad  fairshare.Claim
		text string
	}{
		{fairshare.Claim{Quota: -1}, "fairshare: [1].Quota -1 is negative"},
		{fairshare.Claim{Requestable: -2}, "fairshare: [1].Requestable -2 is negative"},
		{fairshare.Claim{Weight: math.MinInt64}, "fairshare: [1].Weight -9223372036854775808 is negative"},
		{fairshare.Claim{Keep: -3}, "fairshare: [1].Keep -3 is negative"},
	} {
		shares, err := fairshare.Divide(nil, 3, []fairshare.Claim{good, test.bad}, fairshare.Options{})
		checkError(t, shares, err, test.text)
	}
	shares, err := fairshare.Divide(nil, 3, nil, fairshare.Options{Granule: -1})
	checkError(t, shares, err, "fairshare: Granule -1 is negative")
	for _, test := range []struct {
		bad  fairshare.DemandClaim
		text string
	}{
		{fairshare.DemandClaim{Demand: -1}, "fairshare: [0].Demand -1 is negative"},
		{fairshare.DemandClaim{Weight: -1}, "fairshare: [0].Weight -1 is negative"},
		{fairshare.DemandClaim{Cap: -1}, "fairshare: [0].Cap -1 is negative"},
	} {
		shares, err := fairshare.DivideByDemand(nil, 3, []fairshare.DemandClaim{test.bad}, fairshare.Options{})
		checkError(t, shares, err, test.text)
	}
	shares, err = fairshare.DivideByDemand(nil, 3, nil, fairshare.Options{Granule: -1})
	checkError(t, shares, err, "fairshare: Granule -1 is negative")
	if got := (&fairshare.InputError{Index: 3, Field: "Weight"}).Error(); got != "fairshare: [3].Weight 0 is faulty" {
		t.Error(got)
	}
}

func checkError[T any](t *testing.T, shares []T, err error, want string) {
	t.Helper()
	var input *fairshare.InputError
	if !errors.As(err, &input) || err.Error() != want || shares != nil {
		t.Errorf("got %v, %v, want %q", shares, err, want)
	}
}

// TestDivideReuses: dst is written to, and nothing of it is read.
func TestDivideReuses(t *testing.T) {
	dst := []int64{7, 7, 7, 7}
	claims := []fairshare.Claim{{Requestable: 5, Weight: 1}, {Requestable: 5, Weight: 1}}
	before := slices.Clone(claims)
	got, err := fairshare.Divide(dst, 4, claims, fairshare.Options{})
	if err != nil || !slices.Equal(got, []int64{2, 2}) || &got[0] != &dst[0] || !slices.Equal(claims, before) {
		t.Errorf("got %v, %v", got, err)
	}
	allocations := testing.AllocsPerRun(100, func() {
		dst, _ = fairshare.Divide(dst, 4, claims, fairshare.Options{})
	})
	if allocations != 1 {
		t.Errorf("%v allocations, want the scratch only", allocations)
	}
}
