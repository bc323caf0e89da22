package allot_test

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/deep"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
	"github.com/allotsched/allot/sim/scenario"
	"github.com/allotsched/allot/verify"
)

// With reservations off every plan is what it is where nobody says how long anything takes, whatever the
// other knobs of reserving say (B13): its actions, reasons and shares. What it foretells of ends aside.
func TestB13ReservationsOff(t *testing.T) {
	started := 0
	for seed := range deep.Seeds(t, 600) {
		off, bare := drawnTimed(seed), drawnTimed(seed)
		for i := range off.Pools {
			off.Pools[i].Policy.Reserve.Backfill = queue.NoBackfill
			bare.Pools[i].Policy.Reserve = allot.ReservePolicy{}
		}
		for i := range bare.Workloads {
			w := &bare.Workloads[i]
			w.Duration, w.TimeLimit, w.MinDuration, w.FixedWork, w.WorkDone = quota.Bound{}, quota.Bound{}, 0, 0, 0
		}
		got, want := untimed(t, off), untimed(t, bare)
		if started += len(want.Actions); !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d:\n%sand where nothing is said of time\n%s\n%s", seed, got, want, scenario.Format(off))
		}
	}
	if started < 100 && !testing.Short() {
		t.Errorf("the plans have %d actions", started)
	}
}

// untimed is the plan of a state without what it foretells.
func untimed(t *testing.T, s *allot.State) *allot.Plan {
	t.Helper()
	p, err := allot.Solve(s)
	if err != nil {
		t.Fatal(err)
	}
	p.NextAt = time.Time{}
	return p
}

// Promises change nothing of who may be evicted, but by B6 (B13): in lives in which nobody may stand behind a promise,
// the rules let go what a plan evicts for the same preemptors where nothing is promised, all else in the plan being as it is.
func TestB13WhoMayBeEvicted(t *testing.T) {
	evicted := 0
	for seed := range deep.Seeds(t, 250) {
		s, d := drawnTimed(seed), rand.New(rand.NewPCG(seed, 41))
		for i := range s.Pools {
			r := &s.Pools[i].Policy.Reserve
			r.Evictable, r.TrustDurations = false, false
		}
		for step := range 4 {
			p, err := allot.Solve(s)
			if err != nil {
				t.Fatal(err)
			}
			for i := range p.Actions {
				if k := p.Actions[i].Kind; k == allot.Evict || k == allot.Shrink {
					evicted++
				}
			}
			for _, v := range unpromised(t, s, p) {
				t.Errorf("seed %d, step %d: %v\n%s%s", seed, step, v, scenario.Format(s), p)
			}
			after, err := allot.Apply(s, p)
			if err != nil {
				t.Fatal(err)
			}
			s = passTime(d, after, p, step)
		}
	}
	t.Logf("%d were evicted or shrunk", evicted)
	if evicted < 10 && !testing.Short() {
		t.Errorf("%d were evicted or shrunk", evicted)
	}
}

// unpromised is what is wrong with the evictions of a plan where its policies promise nothing.
func unpromised(t *testing.T, s *allot.State, p *allot.Plan) (wrong []verify.Violation) {
	t.Helper()
	s, bare := copyState(s), *p
	for i := range s.Pools {
		s.Pools[i].Policy.Reserve = allot.ReservePolicy{}
	}
	for i := range s.Workloads {
		s.Workloads[i].Reserved = nil
	}
	bare.Reservations = nil
	var broken *verify.Error
	if errors.As(verify.Plan(s, &bare), &broken) {
		wrong = slices.DeleteFunc(broken.Violations, func(v verify.Violation) bool {
			return !slices.Contains([]string{"M1", "M2", "M6", "M7", "B6", "B9", "E1", "E8", "R1", "R2", "R3", "R4", "R5"}, v.Rule)
		})
	}
	return wrong
}
