package sim_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/allotsched/allot/sim"
)

func TestSpread(t *testing.T) {
	var times []time.Duration
	for i := range 200 {
		times = append(times, time.Duration(200-i)*time.Second)
	}
	s := sim.SpreadOf(times)
	if s.N != 200 || s.Mean.Text(1) != "100.5" || s.Median != 100*time.Second || s.P90 != 180*time.Second || s.P99 != 198*time.Second || s.Max != 200*time.Second {
		t.Errorf("%+v", s)
	}
	if s := sim.SpreadOf([]time.Duration{7}); s.Median != 7 || s.P99 != 7 {
		t.Errorf("of one: %+v", s)
	}
	if s := sim.SpreadOf(nil); s.N != 0 || s.Mean.String() != "0.000000" {
		t.Errorf("of none: %+v", s)
	}
}

func TestDecimals(t *testing.T) {
	for _, c := range []struct {
		got  sim.Decimal
		want string
	}{
		{sim.Quotient(2, 3), "0.666667"},
		{sim.Quotient(1, 0), "0.000000"},
		{sim.Quotient(-1, 2_000_000), "-0.000001"},
		{sim.Seconds(1500 * time.Millisecond), "1.500000"},
		{sim.Quotient(1, 3).Times(3), "1.000000"},
		{sim.Quotient(1, 3).Over(2), "0.166667"},
		{sim.Quotient(1, 3).Over(0), "0.000000"},
		{sim.Quotient(sim.Quotient(1, 3).Billionths(), 1e9), "0.333333"},
		{sim.Jain([]sim.Decimal{sim.Quotient(5, 1), sim.Quotient(5, 1)}), "1.000000"},
		{sim.Jain([]sim.Decimal{sim.Quotient(5, 1), {}, {}, {}}), "0.250000"},
		{sim.Jain(nil), "0.000000"},
	} {
		if c.got.String() != c.want {
			t.Errorf("%s, want %s", c.got, c.want)
		}
		if text, err := c.got.MarshalJSON(); err != nil || string(text) != c.want {
			t.Errorf("as JSON %s, %v", text, err)
		}
	}
}

// However many digits are asked for, no more are told than can be.
func TestDigitsAreBounded(t *testing.T) {
	third := sim.Quotient(1, 3)
	if got := third.Text(math.MaxInt); got != "0."+strings.Repeat("3", 1000) {
		t.Errorf("%d bytes", len(got))
	}
	if got := third.Text(math.MinInt); got != "0" {
		t.Errorf("got %s", got)
	}
}
