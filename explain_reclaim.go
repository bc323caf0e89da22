package allot

import (
	"context"
	"slices"
)

// A ReclaimExplanation says what a workload would be given if it were
// submitted now, and who would pay for it. Text is [ReclaimExplanation.String].
type ReclaimExplanation struct {
	// Arrival is how the workload would fare.
	Arrival *Explanation `json:"arrival"`
	// Takings are the evictions, shrinks and moves of the plan with it that the
	// plan without it has not, in the plan's order: those for the workload and
	// those for others, whom its coming concerns.
	Takings []Taking `json:"takings,omitempty"`
	// Losers are the workloads that start, grow or hold claims without it and not
	// with it, by ID.
	Losers []string `json:"losers,omitempty"`
}

// ExplainReclaim says who would be reclaimed, preempted or moved if the workload
// were submitted, by solving the state with and without it: 'who goes if this
// queue asks for n more?' is a workload of n tasks of one device in the queue,
// with Min 1 where it may start with less. An empty ID is replaced by one that is
// not in use; a zero Submitted by the state's Now. The state is not modified.
//
// The error is that of [Solve] for the state with the workload in it.
func ExplainReclaim(s *State, arrival Workload) (*ReclaimExplanation, error) {
	d, err := decisionOf(s)
	if err != nil {
		return nil, err
	}
	return d.ExplainReclaim(arrival)
}

// ExplainReclaim is [ExplainReclaim] of a decision that is there already: it costs
// the solves with the workload.
func (d *Decision) ExplainReclaim(arrival Workload) (*ReclaimExplanation, error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	if err := d.inFull(context.Background()); err != nil {
		return nil, err
	}
	state := *d.world.state
	arrival = d.world.arriving(arrival)
	state.Workloads = append(slices.Clip(state.Workloads), arrival)
	with, err := decisionOf(&state)
	if err != nil {
		return nil, err
	}
	out := new(ReclaimExplanation)
	if out.Arrival, err = with.Explain(arrival.ID); err != nil {
		return nil, err
	}
	known := make(map[takenKey]bool)
	for i := range d.actions {
		known[takenKey{d.actions[i].Kind, d.actions[i].Workload}] = true
	}
	out.Takings, err = with.takings(func(a *Action) bool { return !known[takenKey{a.Kind, a.Workload}] })
	out.Losers = losers(d.actions, with.actions)
	return out, err
}

// A takenKey is what is done to a workload.
type takenKey struct {
	kind     ActionKind
	workload string
}

// losers are the workloads that start or grow by the first actions and not by the
// second.
func losers(without, with []Action) (out []string) {
	starts := make(map[string]bool)
	for i := range with {
		if with[i].Kind == Start || with[i].Kind == Resize {
			starts[with[i].Workload] = true
		}
	}
	for i := range without {
		if a := &without[i]; (a.Kind == Start || a.Kind == Resize) && !starts[a.Workload] {
			out = append(out, a.Workload)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// arrivalID is the ID of a workload that was given none; marks follow if it is in
// use.
const arrivalID = "arrival"

// arriving is the workload as it is submitted.
func (w *world) arriving(k Workload) Workload {
	if k.ID == "" {
		k.ID = arrivalID
		for _, used := w.workOf(k.ID); used; _, used = w.workOf(k.ID) {
			k.ID += "'"
		}
	}
	if k.Submitted.IsZero() {
		k.Submitted = w.state.Now
	}
	return k
}
