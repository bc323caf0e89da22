package trace

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/allotsched/allot/sim"
)

// The kinds of estimates that [Estimated] makes.
const (
	// TrueEstimates are the durations themselves.
	TrueEstimates = "true"
	// TwiceEstimates are twice the durations.
	TwiceEstimates = "twice"
	// UserEstimates are as users give them where a job is ended that takes longer: see
	// [Estimated].
	UserEstimates = "user"
)

// EstimateKinds are all of them.
func EstimateKinds() []string { return []string{TrueEstimates, TwiceEstimates, UserEstimates} }

// roundTimes are what users say: few round times make up nearly all estimates.
var roundTimes = func() (list []time.Duration) {
	for _, n := range []time.Duration{1, 5, 10, 15, 20, 30} {
		list = append(list, n*time.Minute)
	}
	for _, n := range []time.Duration{1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 24, 36, 48, 72, 96, 120, 168, 240, 336, 504, 720} {
		list = append(list, n*time.Hour)
	}
	return list
}()

// Estimated is the input with estimates of a kind, which schedulers are told instead of
// the durations; these stay as they are. Only user estimates are drawn, by the seed.
//
// User estimates follow what was measured of batch systems that end what takes longer. The
// part of its estimate that a job takes is spread evenly from nothing to all of it (Mu'alem
// and Feitelson 2001), but for one job in ten, which takes all that it has said, and what users
// say are a few round times, from a minute to 30 days (Tsafrir, Etsion and Feitelson 2005). So an
// estimate is the duration over a part that is drawn evenly, of a hundredth at least, rounded
// up to the next round time, and never less than the duration.
func Estimated(in *sim.Input, kind string, seed uint64) (*sim.Input, error) {
	if in == nil {
		return nil, errNoInput
	}
	if !slices.Contains(EstimateKinds(), kind) {
		return nil, fmt.Errorf("trace: no estimates %q: there are %s", kind, strings.Join(EstimateKinds(), ", "))
	}
	out := *in
	out.Jobs = slices.Clone(in.Jobs)
	d := newDraw(seed, estimateStream)
	for i := range out.Jobs {
		j := &out.Jobs[i]
		switch j.Estimate = 0; kind {
		case TwiceEstimates:
			j.Estimate = max(j.Duration, 2*min(j.Duration, maxTime))
		case UserEstimates:
			j.Estimate = asUsers(d, j.Duration)
		}
	}
	return &out, nil
}

// asUsers is a duration as a user estimates it.
func asUsers(d draw, t time.Duration) time.Duration {
	const exact, least = 10, 100 // in a hundred
	all := d.below(100) < exact
	part := least + d.below(10_001-least) // in ten thousandths
	if all {
		return t
	}
	high, low := bits.Mul64(uint64(max(t, 0)), 10_000)
	said := maxTime
	if high < uint64(part) {
		if n, _ := bits.Div64(high, low, uint64(part)); n < uint64(maxTime) {
			said = time.Duration(n)
		}
	}
	i, found := slices.BinarySearch(roundTimes, said)
	if !found && i == len(roundTimes) {
		return max(t, roundTimes[i-1])
	}
	return max(t, roundTimes[i])
}
