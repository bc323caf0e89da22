package sim

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/verify"
)

// A flight is a plan on its way from the decision to the cluster.
type flight struct {
	plan *allot.Plan
	// explains: it says what those wait for who wait.
	explains bool
	// fresh is what had become free when it was decided, since the decision before.
	fresh int64
}

// retryAfter is when what could not be carried out is decided again, if nothing
// else happens.
const retryAfter = time.Second

// consider decides if there is reason to, and may.
func (e *engine) consider() error {
	for round := 0; e.dirty && e.flight == nil; round++ {
		if round > maxRounds {
			return e.wrong("no rest after %d decisions at one instant", round)
		}
		if p := e.options.Period; p > 0 && e.now%p != 0 {
			e.wakeAt(after(e.now-e.now%p, p))
			return nil
		}
		e.dirty = false
		if err := e.decide(); err != nil {
			return err
		}
		if e.flight == nil {
			e.meter.inForce(0)
		}
		// What has left at once frees its places at this instant.
		if err := e.facts(); err != nil {
			return err
		}
	}
	return nil
}

// maxRounds bounds the decisions at one instant: each but the first follows from
// what left at once by the one before.
const maxRounds = 100

// wakeAt has the engine decide at an instant.
func (e *engine) wakeAt(at time.Duration) {
	if !e.woken[at] {
		e.woken[at] = true
		e.calendar.add(event{at: at, class: wake})
	}
}

// decide asks for a decision and carries it out, or lets it fly.
func (e *engine) decide() error {
	e.meter.decisions++
	if e.ranking != nil {
		return e.replanner.replan()
	}
	if e.scheduler.Plan != nil {
		return e.ownPlan()
	}
	e.usage.tell(e)
	look := e.look()
	if e.wanting == 0 && !look.check && (!look.verify || e.options.VerifyEvery > 1) {
		e.library.last = nil
		return nil // all that is there runs in full: no plan can have an action
	}
	decision, err := e.library.decide(e)
	if err != nil {
		return e.fault(err)
	}
	plan, err := e.planned(look, decision, func() *allot.State { return e.library.state })
	if err != nil {
		return err
	}
	f := &flight{plan: plan, explains: look.explain}
	if e.options.Check && e.options.Latency == 0 {
		e.meter.actions += int64(len(plan.Actions))
		return e.carryOutChecked(decision, f)
	}
	return e.enact(f)
}

// enact carries out a plan, or lets it fly.
func (e *engine) enact(f *flight) error {
	e.meter.actions += int64(len(f.plan.Actions))
	if e.options.Latency > 0 && len(f.plan.Actions) > 0 {
		f.fresh = e.meter.fresh()
		e.flight = f
		e.calendar.add(event{at: after(e.now, e.options.Latency), class: carry})
		return nil
	}
	return e.carryOut(f, nil)
}

// A look says how closely a decision is looked at.
type look struct {
	// verify: its plan is verified; explain: it is asked for reasons; check: it is
	// written in full for the checks of invariants, or for what is protected.
	verify, explain, check bool
}

// look is that at the decision at hand.
func (e *engine) look() look {
	o, n := &e.options, e.meter.decisions
	return look{
		verify:  !o.NoVerify && n%max(o.VerifyEvery, 1) == 0,
		explain: !o.NoReasons && n%max(o.ReasonsEvery, 1) == 0,
		check:   o.Check || e.protects,
	}
}

// planned is what was decided upon a state, verified and written in full as far as
// that is asked for.
func (e *engine) planned(look look, decision *allot.Decision, state func() *allot.State) (*allot.Plan, error) {
	if decision.Work().Stopped {
		return nil, e.wrong("the solve came to no rest")
	}
	if !look.verify && !look.explain && !look.check {
		return &allot.Plan{Actions: decision.Actions(), Reservations: decision.Reservations(), NextAt: decision.NextAt()}, nil
	}
	plan, err := decision.Plan()
	if err != nil {
		return nil, e.fault(err)
	}
	return plan, e.consult(look, plan, state())
}

// consult verifies a plan for a state, as far as that is asked for, and decides again when it
// says.
func (e *engine) consult(look look, plan *allot.Plan, state *allot.State) error {
	if plan.Work.Stopped {
		return e.wrong("the solve came to no rest")
	}
	if look.verify {
		e.meter.verified++
		if err := verify.Plan(state, plan); err != nil {
			return e.fault(err)
		}
	}
	if e.protects { // then every plan is written in full
		e.wakeFor(plan)
	}
	return nil
}

// land carries out the plan that is in flight, as far as it still can be.
func (e *engine) land() error {
	f, news := e.flight, max(e.meter.fresh()-e.flight.fresh, 0)
	e.flight = nil
	e.library.state.Now = e.instant()
	possible, err := e.possible(f.plan)
	if err != nil {
		return err
	}
	if err := e.carryOut(f, possible); err != nil {
		return err
	}
	e.meter.inForce(news)
	return nil
}

// possible finds out which actions of a plan can be carried out on the state as it
// is now: the first that cannot be is left out, and it is tried again.
func (e *engine) possible(plan *allot.Plan) ([]bool, error) {
	keep := make([]bool, len(plan.Actions))
	for i := range keep {
		keep[i] = true
	}
	for range plan.Actions {
		_, err := allot.BeginSome(e.library.state, plan, func(i int, _ allot.Action) bool { return keep[i] })
		var mismatch *allot.MismatchError
		if err == nil {
			return keep, nil
		}
		if !errors.As(err, &mismatch) {
			return nil, e.fault(err)
		}
		at, found := actionOf(mismatch.Path)
		if !found {
			break
		}
		keep[at] = false
	}
	return make([]bool, len(plan.Actions)), nil
}

// actionOf reads the number in a path such as "actions[3].tasks[0]".
func actionOf(path string) (int, bool) {
	rest, ok := strings.CutPrefix(path, "actions[")
	digits, _, closed := strings.Cut(rest, "]")
	n, err := strconv.Atoi(digits)
	return n, ok && closed && err == nil
}

// wakeFor has the engine decide again when a protection ends that a plan was held
// up by, or a broken gang's grace (M1, G1).
func (e *engine) wakeFor(plan *allot.Plan) {
	for i := range plan.Pending {
		for k := range plan.Pending[i].Reasons {
			if until := plan.Pending[i].Reasons[k].Until; !until.IsZero() {
				if at := after(until.Sub(epoch), e.promises.odd); at > e.now {
					e.wakeAt(at)
				}
			}
		}
	}
}

// wakeForGang has the engine decide when a gang that has lost tasks may be evicted.
func (e *engine) wakeForGang() {
	for i := range e.library.state.Pools {
		if grace := e.library.state.Pools[i].Policy.StaleGangGrace; grace.Given() && !grace.IsUnlimited() {
			e.wakeAt(after(e.now, time.Duration(min(grace.Amount(), int64(math.MaxInt64/time.Second)))*time.Second))
		}
	}
}
