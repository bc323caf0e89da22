package main

import (
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/verify"
)

const (
	// startTimeout is how long a start may stay without an answer. Then the
	// task is stopped there and, once it is sure that it does not run, solved
	// for again.
	startTimeout = 30 * time.Second
	// resync is how long the controller goes without solving when nothing
	// happens: time alone ends the protection of young work and the grace of a
	// broken gang.
	resync = 30 * time.Second
)

// A controller is the loop between the users, Allot and the cluster. It
// remembers nothing between two rounds: what it knows is in the store. So to be
// killed, or to run twice, is nothing special.
type controller struct {
	store    store
	cluster  api
	requests inbox
	// clock is the host's, solve is allot.Solve, planned is told of every plan.
	clock   func() time.Time
	solve   func(*allot.State) (*allot.Plan, error)
	planned func(*allot.Plan)
	// verify has verify.Plan check every plan. It shares no code with Solve and
	// takes less time.
	verify bool
}

// An api is how the controller reaches the cluster. Requests are only sent:
// whether one arrived is seen in a later report.
type api interface {
	// Report tells how the nodes and these attempts stand, or stood a while
	// ago.
	Report(attempts []int64) (report, error)
	// Start asks for a run of a task, Stop for the end of one.
	Start(a attempt, needs allot.Request) error
	Stop(a attempt) error
}

// An inbox holds the users' requests in their order, for good.
type inbox interface {
	// After returns the requests beyond the first n.
	After(n int) ([]request, error)
}

// round is one turn of the loop: read the record, observe, act, merge, decide,
// write. Whatever has happened since the last one is dealt with together. After
// a write the next round had better come soon, as it is the next one that acts.
// After an error it begins anew: every step may have been done already, and
// every step may be done again.
func (c *controller) round() error {
	r, err := c.store.Read()
	if err != nil {
		return err
	}
	seen, err := c.cluster.Report(r.numbers())
	if err != nil {
		return err
	}
	if seen.At.Before(r.Reported) {
		return nil // what is recorded is newer
	}
	if err := c.carryOut(r, seen); err != nil {
		return err
	}
	requests, err := c.requests.After(r.Requests)
	if err != nil {
		return err
	}
	if r.merge(c.clock(), seen, requests) || r.State.Now.Sub(r.Solved) >= resync {
		return c.decide(r)
	}
	return nil
}

// carryOut asks the cluster for whatever is recorded and not seen yet. It knows
// no plan, only how things stand: a request that was lost, or that a killed
// controller did not send, is sent in the next round. As it comes first in a
// round, nothing that goes wrong later keeps it from what is decided already.
func (c *controller) carryOut(r *record, seen report) error {
	for i := range r.Attempts {
		a := &r.Attempts[i]
		status := seen.Attempts[a.Number].Status
		t := r.task(a)
		switch {
		case t == nil || t.Phase == allot.Terminating:
			if status < stopping {
				if err := c.cluster.Stop(*a); err != nil {
					return err
				}
			}
		case status == unknown && !r.mustWait(a):
			if err := c.cluster.Start(*a, r.needs(a)); err != nil {
				return err
			}
		}
	}
	return nil
}

// decide asks Allot what to do and writes it down. Nobody hears of it before it
// is read again.
func (c *controller) decide(r *record) error {
	r.State.Revision = nextRevision(r.base)
	plan, err := c.solve(r.State)
	if err != nil {
		return err // the state is malformed: an error of merge
	}
	if c.verify {
		if err := verify.Plan(r.State, plan); err != nil {
			return err // a bug of Allot's: rather nothing new than what is unlawful
		}
	}
	begun, err := allot.Begin(r.State, plan)
	if err != nil {
		return err // the plan is of another state
	}
	r.Solved = begun.Now
	r.adopt(begun, plan)
	c.planned(plan)
	return c.store.Write(r)
}

// mustWait says whether an attempt has to wait for another to be over, which
// the state lists no more: one of the same task, or one on the same node,
// where it may still hold devices. The state sees to all others.
func (r *record) mustWait(a *attempt) bool {
	for i := range r.Attempts {
		if other := &r.Attempts[i]; other.Lost && (other.Node == a.Node || other.taskName == a.taskName) {
			return true
		}
	}
	return false
}

// needs is what the attempt's task asks of its node.
func (r *record) needs(a *attempt) allot.Request {
	w := r.workload(a.Workload)
	sets, form := w.PodSets, w.Form
	if t := r.task(a); t != nil { // which may leave another form than that in which others claim
		form = w.FormOf(*t)
	}
	if form > 0 {
		sets = w.Alternatives[form-1].PodSets
	}
	for _, set := range sets {
		if set.Name == a.PodSet {
			return set.Request
		}
	}
	return allot.Request{} // Check has seen to it that there is one
}

// numbers are those of the attempts not known to be over.
func (r *record) numbers() []int64 {
	numbers := make([]int64, len(r.Attempts))
	for i := range r.Attempts {
		numbers[i] = r.Attempts[i].Number
	}
	return numbers
}
