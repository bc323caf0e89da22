package explain

import (
	"bytes"
	"context"
	"slices"
	"strconv"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/prose"
)

// A Reclamation says what a workload would be given if it were submitted now, and
// from which work that would be taken.
type Reclamation struct {
	// Arrival is how the workload would fare.
	Arrival *Explanation `json:"arrival"`
	// Takings are the evictions, shrinks and moves of the plan with it that the
	// plan without it has not, in the plan's order: those for the workload and
	// those for others that its coming concerns.
	Takings []Taking `json:"takings,omitempty"`
	// Losers are the workloads that start, grow or hold claims without it and not
	// with it, by ID.
	Losers []string `json:"losers,omitempty"`
}

// Reclaim says which work would be reclaimed, preempted or moved if the workload were
// submitted, by deciding with it as well: 'what goes if this queue asks for n more?'
// is a workload of n tasks of one device in the queue, with Min 1 where it may start
// with less. An empty ID is replaced by one that is not in use; a zero Submitted by
// the state's Now. The decision stays as it is.
//
// The error is the context's, or that of [allot.Snapshot.With] for a workload that comes
// to the state; an ID that is in use is an [*allot.InvalidError] too. It costs the solves
// with the workload.
func Reclaim(ctx context.Context, d *allot.Decision, arrival allot.Workload) (*Reclamation, error) {
	arrival, err := arriving(d.Snapshot(), arrival)
	if err != nil {
		return nil, err
	}
	next, err := d.Snapshot().With(allot.Change{Workloads: []allot.Workload{arrival}})
	if err != nil {
		return nil, err
	}
	with, err := next.DecideContext(ctx)
	if err != nil {
		return nil, err
	}
	type taken struct {
		kind     allot.ActionKind
		workload string
	}
	known := make(map[taken]bool)
	for _, a := range d.Actions() {
		known[taken{a.Kind, a.Workload}] = true
	}
	out := new(Reclamation)
	out.Takings, err = Takings(ctx, with, func(_ int, a allot.Action) bool { return !known[taken{a.Kind, a.Workload}] })
	if err != nil {
		return nil, err
	}
	if out.Arrival, err = Workload(ctx, with, arrival.ID); err != nil {
		return nil, err
	}
	out.Losers = losers(d.Actions(), with.Actions())
	return out, nil
}

// losers are the workloads that start or grow by the first actions and not by the
// second.
func losers(without, with []allot.Action) (out []string) {
	starts := make(map[string]bool)
	for i := range with {
		if with[i].Kind == allot.Start || with[i].Kind == allot.Resize {
			starts[with[i].Workload] = true
		}
	}
	for i := range without {
		if a := &without[i]; (a.Kind == allot.Start || a.Kind == allot.Resize) && !starts[a.Workload] {
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
func arriving(s *allot.Snapshot, k allot.Workload) (allot.Workload, error) {
	if k.ID == "" {
		k.ID = arrivalID
		for _, used := s.Workload(k.ID); used; _, used = s.Workload(k.ID) {
			k.ID += "'"
		}
	}
	if _, used := s.Workload(k.ID); used {
		return k, &allot.InvalidError{Faults: []allot.Fault{{
			Path: "arrival.id", Code: allot.FaultDuplicate, Value: strconv.Quote(k.ID), Want: "must be an ID that is not in use",
		}}}
	}
	if k.Submitted.IsZero() {
		k.Submitted = s.Now()
	}
	return k, nil
}

// String is the explanation for people: how the arrival fares, and what is taken for it.
func (r *Reclamation) String() string {
	var b bytes.Buffer
	if r.Arrival != nil {
		b.WriteString(r.Arrival.String())
	}
	if len(r.Takings) == 0 {
		b.WriteString("nobody is taken anything from\n")
	}
	for i := range r.Takings {
		b.WriteString(r.Takings[i].String())
	}
	if len(r.Losers) > 0 {
		b.WriteString("would have started or grown without it: " + prose.Words(r.Losers) + "\n")
	}
	return b.String()
}
