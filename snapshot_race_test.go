package allot_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/explain"
	"github.com/allotsched/allot/internal/deep"
)

// TestSnapshotConcurrent: versions of one snapshot are decided on, asked and
// changed by many at once, and all of them see what Solve does.
func TestSnapshotConcurrent(t *testing.T) {
	for seed := range deep.Seeds(t, 8) {
		kind := hostKinds[seed%2]
		l := newLawLife(kind, seed)
		kind.steps = 12
		if err := l.live(kind); err != nil {
			t.Fatalf("seed %d: %s", seed, l.account(err))
		}
		for i := range l.versions {
			if v := &l.versions[i]; v.plan == nil {
				if err := v.solve(); err != nil {
					t.Fatal(err)
				}
			}
		}
		var workers sync.WaitGroup
		shared := make([]sharedDecision, len(l.versions))
		for worker := range uint64(6) {
			workers.Go(func() {
				random := rand.New(rand.NewPCG(seed, worker))
				if err := askAtOnce(random, l.versions, shared); err != nil {
					t.Errorf("seed %d: %v", seed, err)
				}
			})
		}
		workers.Wait()
	}
}

// A sharedDecision is decided by whoever comes first and asked by all.
type sharedDecision struct {
	once     sync.Once
	decision *allot.Decision
	err      error
}

// askAtOnce asks the versions in some order, of decisions of its own and of
// those it shares with others, and makes versions of its own from them.
func askAtOnce(random *rand.Rand, versions []lawVersion, shared []sharedDecision) error {
	l := &lawLife{lawHost: newCalmHost(random), stats: newLawStats()}
	for _, i := range random.Perm(len(versions)) {
		v, s := &versions[i], &shared[i]
		s.once.Do(func() { s.decision, s.err = v.snapshot.Decide() })
		if s.err != nil {
			return s.err
		}
		if err := l.ask(s.decision, v.plan); err != nil {
			return fmt.Errorf("version %d, shared: %w", i, err)
		}
		d, err := v.snapshot.Decide()
		if err != nil {
			return err
		}
		if err := sameActions(d.Actions(), v.plan.Actions); err != nil {
			return fmt.Errorf("version %d: %w", i, err)
		}
		if random.IntN(2) == 0 {
			continue
		}
		// A version that nobody else has, with one workload less.
		state := v.snapshot.State()
		if len(state.Workloads) == 0 {
			continue
		}
		var c allot.Change
		c.Remove.Workloads = []string{state.Workloads[random.IntN(len(state.Workloads))].ID}
		own := lawVersion{}
		if own.snapshot, err = v.snapshot.With(c); err != nil {
			return err
		}
		if err := own.solve(); err != nil {
			return err
		}
		if d, err = own.snapshot.Decide(); err != nil {
			return err
		}
		if err := sameActions(d.Actions(), own.plan.Actions); err != nil {
			return fmt.Errorf("a version from %d: %w", i, err)
		}
	}
	return nil
}

// TestDecisionsAskedAtOnce: decisions on versions of one snapshot borrow each other's followers,
// and answer as those of snapshots of their own do, which are asked once: whatever is decided or
// asked beside, and also after all of that is over.
func TestDecisionsAskedAtOnce(t *testing.T) {
	for seed := range deep.Seeds(t, 4) {
		kind := hostKinds[seed%2]
		l := newLawLife(kind, seed)
		kind.steps = 6
		if err := l.live(kind); err != nil {
			t.Fatalf("seed %d: %s", seed, l.account(err))
		}
		decisions, want := make([]*allot.Decision, len(l.versions)), make([][]string, len(l.versions))
		for i := range l.versions {
			d := mustDecide(t, mustSnapshot(t, l.versions[i].snapshot.State()))
			for question := range questions {
				want[i] = append(want[i], answer(t, d, question))
			}
			decisions[i] = mustDecide(t, l.versions[i].snapshot)
		}
		var workers sync.WaitGroup
		for worker := range uint64(4) {
			workers.Go(func() {
				random := rand.New(rand.NewPCG(seed, worker))
				for range 40 {
					i, question := random.IntN(len(decisions)), random.IntN(questions)
					d := decisions[i]
					if random.IntN(3) == 0 {
						d = mustDecide(t, l.versions[i].snapshot)
					}
					if got := answer(t, d, question); got != want[i][question] {
						t.Errorf("seed %d: version %d answers\n%s\nnot\n%s", seed, i, got, want[i][question])
						return
					}
				}
			})
		}
		workers.Wait()
	}
}

// questions is how many there are, each of a kind.
const questions = 5

// answer asks a decision one of the questions.
func answer(t *testing.T, d *allot.Decision, question int) string {
	var out any
	var err error
	switch question {
	case 0:
		var plan *allot.Plan
		if plan, err = d.Plan(); err == nil {
			plan.Work = allot.Work{}
		}
		out = plan
	case 1:
		var shares []allot.Share
		for s, failed := range d.Shares() {
			shares, err = append(shares, s), failed
		}
		out = shares
	case 2:
		out, err = explain.Turns(t.Context(), d)
	case 3:
		out, err = explain.Timeline(t.Context(), d)
	case 4:
		var why []any
		for p, failed := range d.Pending() {
			if failed != nil {
				return fmt.Sprint(failed)
			}
			told, failed := explain.Workload(t.Context(), d, p.Workload)
			if failed != nil {
				return fmt.Sprint(failed)
			}
			if why = append(why, p, told); len(why) > 6 {
				break
			}
		}
		out = why
	}
	if err != nil {
		return fmt.Sprint(err)
	}
	text, err := json.Marshal(out)
	if err != nil {
		return fmt.Sprint(err)
	}
	return string(text)
}
