package adversary_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/deep"
	"github.com/allotsched/allot/verify"
)

// What is asked of a solve is never worth minutes: of states that are drawn to be dear, and
// made dearer step by step, none takes more than so many times as long per byte as half of
// those that are drawn.

const (
	// climbs is from how many states an ordinary run climbs, steps how often it tries to make
	// each dearer.
	climbs, steps = 3, 16
	// dearest is how many times the median a byte may cost, judged from so many drawn states on.
	dearest, judgedFrom = 50, 20
	// longest is after what time a solve is ended, and has failed.
	longest = 2 * time.Minute
)

// A cost is what it took to solve the state of an adversary.
type cost struct {
	adversary
	solve, verify time.Duration
	bytes         int
	work          allot.Work
}

// perByte is the time in ns that solving takes for each byte of the state.
func (c *cost) perByte() float64 { return float64(c.solve) / float64(c.bytes) }

// TestAdversarial climbs by the cost per byte; ALLOT_DEEP=1h has it climb for an hour.
func TestAdversarial(t *testing.T) {
	var drawn, all []cost
	for seed := range deep.Seeds(t, climbs) {
		r := rand.New(rand.NewPCG(seed, 1818))
		at, ok := costOf(t, drawAdversary(r))
		if !ok {
			continue
		}
		drawn = append(drawn, at)
		for range steps {
			if next, ok := costOf(t, at.mutated(r)); ok && next.perByte() > at.perByte() {
				at = next
			}
		}
		all = append(all, at)
	}
	byCost := func(a, b cost) int { return cmpFloat(b.perByte(), a.perByte()) }
	slices.SortFunc(drawn, byCost)
	slices.SortFunc(all, byCost)
	if len(drawn) == 0 {
		t.Fatal("no state was drawn that a check accepts")
	}
	median := drawn[len(drawn)/2].perByte()
	for i := range all[:min(10, len(all))] {
		c := &all[i]
		t.Logf("%.1f × the median: %.0f ns a byte, %v for %d bytes, verify %v, %+v of %v seed %d",
			c.perByte()/median, c.perByte(), c.solve, c.bytes, c.verify, c.work, c.much, c.seed)
		if len(drawn) >= judgedFrom && c.perByte() > dearest*median {
			t.Errorf("a byte costs more than %d × the median of %.0f ns", dearest, median)
		}
	}
	t.Logf("median of %d drawn: %.0f ns a byte", len(drawn), median)
}

func cmpFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// costOf solves the state of an adversary and judges the plan.
// It says whether it is a state.
func costOf(t *testing.T, a adversary) (c cost, ok bool) {
	t.Helper()
	s := a.build()
	if allot.Check(s) != nil {
		return cost{}, false
	}
	text, err := s.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	c = cost{adversary: a, bytes: len(text)}
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	before := userTime()
	plan, err := allot.SolveContext(ctx, s)
	c.solve = userTime() - before
	if errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v seed %d: no plan after %v, %v of them on a processor", a.much, a.seed, longest, c.solve)
		return c, true
	}
	if err != nil {
		t.Errorf("%v seed %d: %v", a.much, a.seed, err)
		return c, false
	}
	before = userTime()
	if err := verify.Plan(s, plan); err != nil {
		t.Errorf("%v seed %d: unlawful: %.300v", a.much, a.seed, err)
	}
	c.verify, c.work = userTime()-before, plan.Work
	return c, true
}
