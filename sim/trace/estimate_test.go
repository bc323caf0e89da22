package trace_test

import (
	"testing"
	"time"

	"github.com/allotsched/allot/sim"
	"github.com/allotsched/allot/sim/trace"
)

// TestEstimated: what users say is an upper bound, mostly one of a few round times, and what
// jobs take of it is spread: a tenth of them all of it, and of the rest as many little of it
// as much, but for what rounding up adds.
func TestEstimated(t *testing.T) {
	in, err := trace.Generate(trace.PhillyMix(), trace.Load{Seed: 1, Nodes: 16, Jobs: 4000, Percent: 50})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		kind       string
		part       func(said, took time.Duration) bool // of how many, in percent
		least, all int
	}{
		{trace.TrueEstimates, func(said, _ time.Duration) bool { return said == 0 }, 100, 100},
		{trace.TwiceEstimates, func(said, took time.Duration) bool { return said == 2*took }, 100, 100},
		{trace.UserEstimates, func(said, took time.Duration) bool { return said >= took }, 100, 100},
		{trace.UserEstimates, func(said, took time.Duration) bool { return said == took }, 8, 13},
		{trace.UserEstimates, func(said, took time.Duration) bool { return said%time.Minute == 0 }, 87, 93},
		{trace.UserEstimates, func(said, took time.Duration) bool { return took > said/2 && took < said }, 20, 40},
		{trace.UserEstimates, func(said, took time.Duration) bool { return took < said/10 }, 5, 20},
	} {
		out, err := trace.Estimated(in, c.kind, 9)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for i := range out.Jobs {
			if j := &out.Jobs[i]; c.part(j.Estimate, j.Duration) {
				n++
			}
		}
		if percent := n * 100 / len(out.Jobs); percent < c.least || percent > c.all {
			t.Errorf("%s: %d%%, and not %d to %d", c.kind, percent, c.least, c.all)
		}
	}
	other, _ := trace.Estimated(in, trace.UserEstimates, 10)
	same, _ := trace.Estimated(in, trace.UserEstimates, 9)
	again, _ := trace.Estimated(in, trace.UserEstimates, 9)
	if same.Hash() != again.Hash() || same.Hash() == other.Hash() || in.Jobs[0].Estimate != 0 {
		t.Error("estimates do not go by the seed, or the input was changed")
	}
	for _, c := range []struct {
		in   *sim.Input
		kind string
	}{{nil, trace.UserEstimates}, {in, "wild"}, {in, ""}} {
		if _, err := trace.Estimated(c.in, c.kind, 1); err == nil {
			t.Errorf("%q of %v is no error", c.kind, c.in != nil)
		}
	}
	long := &sim.Input{Jobs: []sim.Job{{Duration: 1<<63 - 1}, {Duration: 50 * 365 * 24 * time.Hour}, {Duration: 1}}}
	for _, kind := range trace.EstimateKinds() {
		out, err := trace.Estimated(long, kind, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range out.Jobs {
			if j.Estimate != 0 && j.Estimate < j.Duration {
				t.Errorf("%s: %v is estimated as %v", kind, j.Duration, j.Estimate)
			}
		}
	}
}
