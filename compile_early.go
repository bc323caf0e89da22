package allot

import (
	"slices"
	"strings"
	"time"

	"github.com/allotsched/allot/internal/engine"
	"github.com/allotsched/allot/internal/table"
)

// Before its NotBefore a workload that holds nothing is one of which no task is submitted
// yet (B1): it asks for nothing, and nobody waits behind it.

// isEarly says whether the workload waits for its NotBefore. What runs, or has claimed a
// place, goes on.
func (k *Workload) isEarly(now time.Time) bool {
	return micros(k.NotBefore) > micros(now) && !slices.ContainsFunc(k.Tasks, func(t Task) bool { return t.Phase != Terminating })
}

// notBefore is when a workload asks for anything at the earliest: its NotBefore or, where
// places have been gathered for it for as long as its policy lets them be, as long again from now on
// (B8).
func (w *world) notBefore(k *Workload) time.Time {
	if k.HeldSince.IsZero() || k.Reserved == nil || k.Reserved.Rule != ByGathering {
		return k.NotBefore
	}
	held := max(w.Now, 0) - max(micros(k.HeldSince), 0)
	if held <= 0 || held < span(w.policyInFirst(k).Reserve.MaxHold, engine.Never) {
		return k.NotBefore
	}
	return timeOf(max(laterTime(max(w.Now, 0), held), micros(k.NotBefore)))
}

// isEarly says whether a workload asks for nothing yet.
func (w *world) isEarly(k *Workload) bool {
	early := Workload{NotBefore: w.notBefore(k), Tasks: k.Tasks}
	return early.isEarly(w.state.Now)
}

// notSubmitted is the form with no task submitted.
func (f *Form) notSubmitted() *Form {
	none := *f
	none.PodSets = slices.Clone(f.PodSets)
	for i := range none.PodSets {
		none.PodSets[i].Missing = none.PodSets[i].Count
	}
	return &none
}

// noteTimed keeps the list of the works that time alone may change.
func (w *world) noteTimed(i int32, k *Workload) {
	if k.NotBefore.IsZero() && k.HeldSince.IsZero() {
		delete(w.timed, i)
		return
	}
	if w.timed == nil {
		w.timed = make(map[int32]bool)
	}
	w.timed[i] = true
}

// addTimed adds to the differences of two versions the workloads that are early in one of
// them only, and those of which something is predicted to end otherwise.
func (t *follower) addTimed(works []table.Difference[Workload], n *nouns) []table.Difference[Workload] {
	w := t.world
	if len(w.timed)+len(w.dated) == 0 || w.state.Now.Equal(n.now) && w.state.Now.IsZero() == n.now.IsZero() {
		return works
	}
	changed := make(map[string]bool, len(works))
	for _, c := range works {
		if c.Before != nil {
			changed[c.Before.ID] = true
		}
	}
	was := len(works)
	for i := range w.timed { // sorted below
		k := &w.state.Workloads[i]
		known, at := n.workloads.Get(k.ID), w.dated[i]
		if known != nil && !changed[k.ID] && (k.isEarly(w.state.Now) != k.isEarly(n.now) || w.isDated(i) && at <= max(w.Now, micros(n.now))) {
			works = append(works, table.Difference[Workload]{Before: known, After: known})
		}
	}
	for i, at := range w.dated { // sorted below
		known := n.workloads.Get(w.state.Workloads[i].ID)
		if known != nil && !changed[known.ID] && !w.timed[i] && at <= max(w.Now, micros(n.now)) {
			works = append(works, table.Difference[Workload]{Before: known, After: known})
		}
	}
	slices.SortFunc(works[was:], func(a, b table.Difference[Workload]) int { return strings.Compare(a.After.ID, b.After.ID) })
	return works
}

// isDated says whether what runs of a work is predicted to end.
func (w *world) isDated(i int32) bool {
	_, known := w.dated[i]
	return known
}

// nextBefore is the earliest time at which some workload is early no more ; Never if
// none is.
func (w *world) nextBefore() int64 {
	next := int64(engine.Never)
	for i := range w.timed { // the least: order cannot matter
		if at := w.Works[i].NotBefore; at >= 0 {
			next = min(next, at)
		}
	}
	return next
}
