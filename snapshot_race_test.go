package allot_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/explain"
	"github.com/allotsched/allot/internal/deep"
	"github.com/allotsched/allot/quota"
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

// A patience is a context that ends once it has been asked so many times whether it has.
type patience struct {
	context.Context
	left atomic.Int64
	done chan struct{}
}

// patient is a context that bears so many questions.
func patient(checks int64) *patience {
	p := &patience{Context: context.Background(), done: make(chan struct{})}
	p.left.Store(checks)
	return p
}

func (p *patience) Err() error {
	switch left := p.left.Add(-1); {
	case left >= 0:
		return nil
	case left == -1:
		close(p.done)
	}
	return context.Canceled
}

func (p *patience) Done() <-chan struct{}       { return p.done }
func (p *patience) Deadline() (time.Time, bool) { return time.Time{}, false }

// asked is how many checks there were.
func (p *patience) asked(of int64) int64 { return of - p.left.Load() }

// A cancelled is a question that takes a context.
type cancelled struct {
	what string
	ask  func(ctx context.Context, d *allot.Decision, f *explain.Fitter, id string) (any, error)
}

var cancelleds = []cancelled{
	{"DecideContext", func(ctx context.Context, d *allot.Decision, _ *explain.Fitter, _ string) (any, error) {
		again, err := d.Snapshot().DecideContext(ctx)
		if err != nil {
			return nil, err
		}
		return again.Actions(), nil
	}},
	{"SolveContext", func(ctx context.Context, d *allot.Decision, _ *explain.Fitter, _ string) (any, error) {
		plan, err := allot.SolveContext(ctx, d.Snapshot().State())
		if err != nil {
			return nil, err
		}
		return plan.String(), nil
	}},
	{"Why", func(ctx context.Context, d *allot.Decision, _ *explain.Fitter, id string) (any, error) {
		return d.Why(ctx, id)
	}},
	{"Workload", func(ctx context.Context, d *allot.Decision, _ *explain.Fitter, id string) (any, error) {
		return explain.Workload(ctx, d, id)
	}},
	{"Queue", func(ctx context.Context, d *allot.Decision, _ *explain.Fitter, id string) (any, error) {
		k, _ := d.Snapshot().Workload(id)
		return explain.Queue(ctx, d, k.Queue)
	}},
	{"Takings", func(ctx context.Context, d *allot.Decision, _ *explain.Fitter, _ string) (any, error) {
		return explain.Takings(ctx, d, nil)
	}},
	{"Turns", func(ctx context.Context, d *allot.Decision, _ *explain.Fitter, _ string) (any, error) {
		return explain.Turns(ctx, d)
	}},
	{"Timeline", func(ctx context.Context, d *allot.Decision, _ *explain.Fitter, _ string) (any, error) {
		return explain.Timeline(ctx, d)
	}},
	{"Forecasts", func(ctx context.Context, d *allot.Decision, _ *explain.Fitter, _ string) (any, error) {
		return explain.Forecasts(ctx, d, 8)
	}},
	{"WhatHelps", func(ctx context.Context, d *allot.Decision, _ *explain.Fitter, id string) (any, error) {
		return explain.WhatHelps(ctx, d, id, explain.HelpSearch{Solves: 24})
	}},
	{"WhatIf", func(ctx context.Context, d *allot.Decision, _ *explain.Fitter, id string) (any, error) {
		var c allot.Change
		c.Remove.Workloads = []string{id}
		return explain.WhatIf(ctx, d.Snapshot(), c)
	}},
	{"Reclaim", func(ctx context.Context, d *allot.Decision, _ *explain.Fitter, id string) (any, error) {
		return explain.Reclaim(ctx, d, arrivalLike(d, id))
	}},
	{"Now", func(ctx context.Context, d *allot.Decision, f *explain.Fitter, id string) (any, error) {
		return f.Now(ctx, arrivalLike(d, id))
	}},
	{"WithRoom", func(ctx context.Context, d *allot.Decision, f *explain.Fitter, id string) (any, error) {
		return f.WithRoom(ctx, arrivalLike(d, id))
	}},
	{"Ever", func(ctx context.Context, d *allot.Decision, f *explain.Fitter, id string) (any, error) {
		return f.Ever(ctx, arrivalLike(d, id))
	}},
	{"Copies", func(ctx context.Context, d *allot.Decision, f *explain.Fitter, id string) (any, error) {
		return f.Copies(ctx, arrivalLike(d, id), 4)
	}},
	{"Fitter.Why", func(ctx context.Context, d *allot.Decision, f *explain.Fitter, id string) (any, error) {
		return f.Why(ctx, arrivalLike(d, id))
	}},
}

// arrivalLike is a new workload that asks what another does.
func arrivalLike(d *allot.Decision, id string) allot.Workload {
	k, _ := d.Snapshot().Workload(id)
	k.ID, k.Tasks, k.Ending, k.Form, k.Reserved = "an arrival", nil, false, 0, nil
	k.LeavingForm = quota.Bound{}
	return k
}

// asText is an answer as text, or the error of one that is not the context's.
func asText(answer any, err error) (string, error) {
	if errors.Is(err, context.Canceled) {
		return "", err
	}
	if err != nil {
		return "error: " + err.Error(), nil
	}
	text, err := json.Marshal(answer)
	return string(text), err
}

// TestCancelled: whatever is given up midway is an error that is the context's, and
// changes nothing of what the same snapshot, decision and fitter answer afterwards.
func TestCancelled(t *testing.T) {
	gaveUp := make(map[string]int)
	for seed := range deep.Seeds(t, 24) {
		family := allot.Families[[]int{0, 3, 4, 5}[seed%4]]
		s := family.Draw(seed)
		if len(s.Workloads) == 0 {
			continue
		}
		id := s.Workloads[int(seed)%len(s.Workloads)].ID
		for _, q := range cancelleds {
			if err := givenUp(s, id, q, gaveUp); err != nil {
				t.Errorf("%s, seed %d, %s of %s: %v", family.Name, seed, q.what, id, err)
			}
		}
	}
	t.Log(gaveUp)
}

// givenUp asks a question once in peace, and then of a world of its own after each of
// several times that it was given up.
func givenUp(s *allot.State, id string, q cancelled, gaveUp map[string]int) error {
	fresh := func() (*allot.Decision, *explain.Fitter, error) {
		n, err := allot.NewSnapshot(s)
		if err != nil {
			return nil, nil, err
		}
		d, err := n.Decide()
		return d, explain.NewFitter(n), err
	}
	d, f, err := fresh()
	if err != nil {
		return err
	}
	const enough = 1 << 40
	in := patient(enough)
	want, err := asText(q.ask(in, d, f, id))
	if err != nil {
		return err
	}
	checks := in.asked(enough)
	if d, f, err = fresh(); err != nil {
		return err
	}
	for k := int64(0); k < checks; k += 1 + k/3 + (checks-k)/8 {
		got, err := asText(q.ask(patient(k), d, f, id))
		switch {
		case err != nil:
			gaveUp[q.what]++
		case got != want:
			return fmt.Errorf("after %d of %d checks it answers\n%.400s\nand not\n%.400s", k, checks, got, want)
		}
		for range 2 {
			again, err := asText(q.ask(context.Background(), d, f, id))
			if err != nil {
				return err
			}
			if again != want {
				return fmt.Errorf("once it was given up after %d of %d checks, the answer is\n%.400s\nand not\n%.400s", k, checks, again, want)
			}
			if k%2 == 0 {
				break
			}
		}
	}
	actions, err := d.Snapshot().Decide()
	if err != nil {
		return err
	}
	return sameActions(actions.Actions(), d.Actions())
}

// TestCancelledLives: a host that gives a decision up, again and again, and goes on with
// other versions meanwhile, decides in the end what Solve does.
func TestCancelledLives(t *testing.T) {
	gaveUp := 0
	for seed := range deep.Seeds(t, 6) {
		kind := hostKinds[seed%2]
		l := newLawLife(kind, seed)
		kind.steps = 10
		if err := l.live(kind); err != nil {
			t.Fatalf("seed %d: %s", seed, l.account(err))
		}
		for i := range l.versions {
			v, before := &l.versions[i], &l.versions[max(0, i-1)]
			want := mustDecide(t, mustSnapshot(t, v.snapshot.State()))
			for k := int64(0); ; k++ {
				d, err := v.snapshot.DecideContext(patient(k))
				if errors.Is(err, context.Canceled) {
					if gaveUp++; k%3 == 0 {
						_, err = before.snapshot.DecideContext(patient(k + 1))
					}
					if err == nil || errors.Is(err, context.Canceled) {
						continue
					}
				}
				if err != nil {
					t.Fatalf("seed %d, version %d: %v", seed, i, err)
				}
				if err := sameActions(d.Actions(), want.Actions()); err != nil {
					t.Errorf("seed %d, version %d, given up %d times: %v", seed, i, k, err)
				}
				break
			}
		}
	}
	t.Logf("given up %d times", gaveUp)
}
