package allot_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/deep"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
	"github.com/allotsched/allot/sim/scenario"
)

// TestStabilityCases: the states of testdata/stability once broke a promise of
// stability, and were made as small as they go. Whatever the host does, each of
// them comes to rest now.
func TestStabilityCases(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "stability", "*.txt"))
	if err != nil || len(files) < 150 {
		t.Fatalf("%d states, error %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			if f := breaksInSomeWay(t, file); f != nil {
				t.Fatalf("%v\n%s", f.broken, f.scenario())
			}
		})
	}
}

// TestStabilityAmiss: the states of testdata/stability/amiss break a promise, and nobody
// has mended that. One that holds belongs to the states of TestStabilityCases.
func TestStabilityAmiss(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "stability", "amiss", "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if f := breaksInSomeWay(t, file); f == nil {
			t.Errorf("%s holds now: it moves one folder up", file)
		}
	}
}

// TestSnapshotDecidesAgain: what a decision has found out may not show in the next one on the same snapshot (S1):
// of every state of testdata/stability both are what Solve decides.
func TestSnapshotDecidesAgain(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "stability", "*.txt"))
	if err != nil || len(files) < 150 {
		t.Fatalf("%d states, error %v", len(files), err)
	}
	for _, file := range files {
		s := stateOf(t, file)
		want, err := allot.Solve(s)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		snapshot, err := allot.NewSnapshot(s)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for n := range 3 {
			d, err := snapshot.Decide()
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if err := sameActions(d.Actions(), want.Actions); err != nil {
				t.Errorf("%s, decision %d: %v", file, n+1, err)
			}
		}
	}
}

// stateOf reads a state of testdata/stability.
func stateOf(t *testing.T, file string) *allot.State {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := scenario.State(string(text))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return s
}

// breaksInSomeWay is how a state breaks a promise under some host, or nil.
func breaksInSomeWay(t *testing.T, file string) *failure {
	t.Helper()
	s := stateOf(t, file)
	for mode := range hostModes {
		for seed := range uint64(5) {
			how := schedule{mode: mode, seed: seed, mixed: true}
			if _, broken := rest(s, how, newStabilityStats()); broken != nil {
				return &failure{s, how, "", broken}
			}
		}
	}
	return nil
}

// B3 to B9, B13, M5, X1: under policies of which any knobs of reserving are mixed with any others, with
// what people reserve, durations and deadlines, a host comes to rest by the laws of all solves, a snapshot decides what
// Solve does, and what is promised at rest stays.
func TestStabilityOfMixed(t *testing.T) {
	total := newStabilityStats()
	failures := inParallel(deep.New(t, 2000), (*stabilityStats).steps, mixedLife, total)
	total.log(t)
	tellFailures(t, failures, total)
}

// mixedLife is live with all that is of time.
func mixedLife(seed uint64, stats *stabilityStats) *failure {
	random := rand.New(rand.NewPCG(seed, 23))
	h := newStabilityHost(random)
	return h.live(stats, func() schedule {
		h.mixTimes()
		return schedule{mode: oneOf(random, applies, begins, begins, appliesPart, beginsPart), seed: random.Uint64(), mixed: true}
	}, func() string {
		cause := h.change()
		if plan, err := allot.Solve(h.s); err == nil && !plan.NextAt.IsZero() && h.rarely(2) {
			h.s.Now, cause = plan.NextAt, cause+" and time"
		}
		return cause
	})
}

// mixTimes draws anew how pools reserve, what people have reserved, and what some work says of its time.
func (h *stabilityHost) mixTimes() {
	if h.s.Now.IsZero() {
		h.s.Now = time.Unix(1_000_000_000, 0).UTC()
	}
	for i := range h.s.Pools {
		if r := &h.s.Pools[i].Policy.Reserve; h.rarely(3) {
			*r = h.reserving()
			h.s.Pools[i].Policy.DeadlinesFirst = h.rarely(3)
		}
	}
	if h.rarely(3) {
		h.s.Reservations = drawReserved(h.chance.(*rand.Rand), h.s)
	}
	seconds := func(most int) quota.Bound { return quota.Of(600 * int64(1+h.IntN(most))) }
	for i := range h.s.Workloads {
		w := &h.s.Workloads[i]
		if len(w.Tasks) > 0 || w.Reserved != nil || h.rarely(2) {
			continue
		}
		w.Duration, w.TimeLimit, w.MinDuration, w.NotBefore, w.Deadline = quota.Bound{}, quota.Bound{}, 0, time.Time{}, allot.Deadline{}
		if h.rarely(2) {
			w.Duration = seconds(20)
		}
		if h.rarely(2) {
			w.TimeLimit = seconds(30)
		}
		switch h.IntN(12) {
		case 0:
			w.NotBefore = h.s.Now.Add(time.Duration(h.IntN(60)) * time.Minute)
		case 1:
			w.Deadline.Start = h.s.Now.Add(time.Duration(h.IntN(600)) * time.Minute)
		case 2:
			w.MinDuration = 600
		case 3:
			w.FixedWork = 600 * int64(1+h.IntN(60))
		}
	}
}

// reserving draws the knobs of reserving.
func (h *stabilityHost) reserving() allot.ReservePolicy {
	r := allot.ReservePolicy{
		Backfill: oneOf(h, queue.NoBackfill, queue.EASY, queue.EASY, queue.Conservative),
		Depth:    h.IntN(4), GangsOnly: h.rarely(6), MaxPromises: h.IntN(8) / 5,
		TrustDurations: h.rarely(3), Evictable: h.rarely(2), Gather: h.rarely(2), ChargeHeld: h.rarely(4),
	}
	for _, b := range []*quota.Bound{&r.After, &r.MaxHold, &r.RatherWait, &r.Horizon, &r.Resolution} {
		if h.rarely(6) {
			*b = quota.Of(600 * int64(h.IntN(12)))
		}
	}
	if r.Resolution.Given() {
		r.Resolution = quota.Of(max(1, r.Resolution.Amount()))
	}
	if h.rarely(6) {
		r.MaxHeldPercent = quota.Of(10 * int64(h.IntN(11)))
	}
	if h.rarely(8) {
		r.FromPriority = quota.Of(int64(h.IntN(3)))
	}
	return r
}

// decidesAlike says what a snapshot decides, or promises, otherwise than a plan of Solve.
func decidesAlike(s *allot.State, p *allot.Plan) error {
	snapshot, err := allot.NewSnapshot(s)
	if err != nil {
		return err
	}
	d, err := snapshot.Decide()
	if err != nil {
		return err
	}
	if err := sameActions(d.Actions(), p.Actions); err != nil {
		return err
	}
	if got := d.Reservations(); fmt.Sprint(got) != fmt.Sprint(p.Reservations) {
		return fmt.Errorf("promises %v, not %v", got, p.Reservations)
	}
	return nil
}
