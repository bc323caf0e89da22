package allot

import (
	"slices"
	"time"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/queue"
)

// Before its NotBefore a workload that holds nothing is one of which no task is submitted
// yet (B1): it asks for nothing, and nothing waits behind it.

// isEarly says whether the workload waits for its NotBefore. What runs, or has claimed a
// place, goes on.
func (k *Workload) isEarly(now time.Time) bool {
	return micros(k.NotBefore) > micros(now) && !slices.ContainsFunc(k.Tasks, func(t Task) bool { return t.Phase != Terminating })
}

// notBefore is when a workload asks for anything at the earliest: its NotBefore or, where
// places have been gathered for it for as long as the pool that promised them lets them be, as long again
// from now on (B8). A pool that promises nothing any more has nothing to let go (B13).
func (w *world) notBefore(k *Workload) time.Time {
	if k.HeldSince.IsZero() || k.Reserved == nil || k.Reserved.Rule != ByGathering || k.Reserved.Form > len(k.Alternatives) {
		return k.NotBefore
	}
	promising := &w.pools[w.leafOf(k, formOf(k, k.Reserved.Form).Queue).Pool].given.Reserve
	held := max(w.Now, 0) - max(micros(k.HeldSince), 0)
	if promising.Backfill == queue.NoBackfill || held <= 0 || held < span(promising.MaxHold, cluster.Never) {
		return k.NotBefore
	}
	return timeOf(max(cluster.TimeAfter(max(w.Now, 0), held), micros(k.NotBefore)))
}

// isTimed says whether time alone may have the workload ask for something.
func (k *Workload) isTimed() bool { return !k.NotBefore.IsZero() || !k.HeldSince.IsZero() }

// isEarly says whether a workload asks for nothing yet.
func (w *world) isEarly(k *Workload) bool {
	if !k.isTimed() {
		return false
	}
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
	if !k.isTimed() {
		delete(w.timed, i)
		return
	}
	note(&w.timed, i)
}

// nextBefore is the earliest time at which some workload is early no more ; Never if
// none is.
func (w *world) nextBefore() int64 {
	next := int64(cluster.Never)
	for i := range w.timed { // the least: order cannot matter
		if at := w.Works[i].NotBefore; at >= 0 {
			next = min(next, at)
		}
	}
	return next
}
