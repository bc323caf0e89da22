package allot_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/deep"
)

// Stability (M5, M9, S4, R8–R10, E7, E8): with no new cause a host that solves
// and carries out, in whatever way, comes to rest within few rounds, and nobody
// is disturbed twice.

// causesPerLife is how many things happen to one cluster from outside.
const causesPerLife = 10

// TestStability lets many small clusters live: after everything that happens to
// one from outside its host goes on until nothing is left to do.
func TestStability(t *testing.T) {
	total := newStabilityStats()
	failures := inParallel(deep.New(t, 10_000), (*stabilityStats).steps, live, total)
	total.log(t)
	if tellFailures(t, failures, total) {
		total.check(t)
	}
}

// tellFailures tells what broke, and says whether nothing did. No solve may break a law (M5).
func tellFailures(t *testing.T, failures []*failure, total *stabilityStats) bool {
	const shown = 3
	for _, f := range failures[:min(shown, len(failures))] {
		t.Log(f.report())
	}
	t.Logf("%d of %d solves break a law", len(failures), total.solves)
	if len(failures) > 0 {
		t.Fail()
	}
	return len(failures) == 0
}

// inParallel runs seeds until the budget has seen enough of what done counts, or
// there are enough failures.
func inParallel(budget *deep.Budget, done func(*stabilityStats) int, run func(seed uint64, stats *stabilityStats) *failure, total *stabilityStats) (failures []*failure) {
	const enough = 100
	var guard sync.Mutex
	var workers sync.WaitGroup
	take := func() (seed uint64, more bool) {
		guard.Lock()
		defer guard.Unlock()
		total.lives++
		return budget.First() + uint64(total.lives-1), len(failures) < enough && budget.More(done(total))
	}
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for {
				seed, more := take()
				if !more {
					return
				}
				stats := newStabilityStats()
				f := run(seed, stats)
				guard.Lock()
				total.add(stats)
				if f != nil {
					f.cause = fmt.Sprintf("%s (seed %d)", f.cause, seed)
					failures = append(failures, f)
				}
				guard.Unlock()
			}
		})
	}
	workers.Wait()
	return failures
}

// A failure is what broke, and how to see it again.
type failure struct {
	state  *allot.State // before the first solve since the last cause
	how    schedule
	cause  string
	broken *restError
}

// live is the life of one cluster.
func live(seed uint64, stats *stabilityStats) *failure {
	random := rand.New(rand.NewPCG(seed, 4))
	h := newStabilityHost(random)
	return h.live(stats, func() schedule {
		how := schedule{mode: oneOf(random, applies, begins, begins, begins, begins, appliesPart, beginsPart), seed: random.Uint64()}
		if random.IntN(10) > 0 {
			how.rounds = 1 + random.IntN(3)/2
		}
		return how
	}, func() string {
		cause := h.change()
		for random.IntN(3) == 0 {
			cause += ", " + h.change()
		}
		return cause
	})
}

// live has the host come to rest as it is told, and something happen from outside, time and again.
func (h *stabilityHost) live(stats *stabilityStats, told func() schedule, happens func() (cause string)) *failure {
	cause := "the beginning"
	for range causesPerLife {
		how := told()
		next, broken := rest(h.s, how, stats)
		if broken != nil {
			return &failure{h.s, how, cause, broken}
		}
		h.s = next
		cause = happens()
		stats.hostSteps++
	}
	return nil
}

// stabilityStats counts what a run has met.
type stabilityStats struct {
	lives, solves, hostSteps, causes, decisions int
	features                                    map[string]int // by decisions that have them
}

// seeds is how many lives began before this one.
func (s *stabilityStats) seeds() int { return s.lives - 1 }

// steps is how many solves and steps of hosts there were.
func (s *stabilityStats) steps() int { return s.solves + s.hostSteps }

func (s *stabilityStats) add(o *stabilityStats) {
	s.solves += o.solves
	s.hostSteps += o.hostSteps
	s.causes += o.causes
	s.decisions += o.decisions
	for name, n := range o.features { // adding has no order
		s.features[name] += n
	}
}

// leastPercent is how many of the decisions must have a feature, in percent.
var leastPercent = map[string]int{
	"evicts": 17, "gang": 10, "depth 3": 10, "two binding resources": 10, "claims in flight": 10, "blocked head": 10,
	"evict": 10, "shrink": 1, "move": 1, "reclaim-quota": 1, "reclaim-share": 2, "preempt": 3, "consolidate": 0,
	"claim taken": 0, "reclaim of a class": 0, "stale-gang": 0, "terminating": 10, "halving": 5, "alternatives": 5, "minimum runtime": 5, "cut": 5,
}

// log prints what was met.
func (s *stabilityStats) log(t *testing.T) {
	t.Logf("%d solves, %d steps of hosts, %d causes, %d decisions", s.solves, s.hostSteps, s.causes, s.decisions)
	for _, name := range sortedKeys(s.features) {
		t.Logf("%-24s %5.1f%%", name, 100*float64(s.features[name])/float64(max(1, s.decisions)))
	}
}

// check demands enough of what is to be met, but for the few of a short run.
func (s *stabilityStats) check(t *testing.T) {
	if testing.Short() {
		return
	}
	for name, least := range leastPercent { // each is judged by itself
		if got := s.features[name]; got*100 < least*s.decisions {
			t.Errorf("%s: %d of %d decisions, less than %d%%", name, got, s.decisions, least)
		}
	}
}

// A decision is a first plan after a cause that does something; the others only
// see that it holds.
func (s *stabilityStats) decision(state *allot.State, p *allot.Plan) {
	s.causes++
	if len(p.Actions) == 0 {
		return
	}
	s.decisions++
	for name, has := range decisionFeatures(state, p) { // counting has no order
		if has {
			s.features[name]++
		}
	}
}

func (f *failure) report() string {
	small := f.shrink()
	return fmt.Sprintf("%v\nafter %s, a host that goes on with %s (seed %d, rounds %d):\n%s\nsmallest: %v\n%s",
		f.broken, f.cause, hostModeNames[f.how.mode], f.how.seed, f.how.rounds, f.broken.story(), small.broken, small.scenario())
}

func newStabilityStats() *stabilityStats { return &stabilityStats{features: make(map[string]int)} }
