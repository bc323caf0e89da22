package verify

import (
	"slices"
	"time"

	"github.com/allotsched/allot"
)

// isEarly says whether the workload may not start yet (B1): what it runs and claims goes on.
func isEarly(w *allot.Workload, now time.Time) bool {
	return w.NotBefore.After(now) && !slices.ContainsFunc(w.Tasks, func(t allot.Task) bool { return t.Phase != allot.Terminating })
}

// notSubmitted are pod sets of which no task is submitted: before its time a workload asks
// for nothing.
func notSubmitted(sets []allot.PodSet) []allot.PodSet {
	sets = slices.Clone(sets)
	for i := range sets {
		sets[i].Missing = sets[i].Count
	}
	return sets
}

// reasonUntil checks what ends of itself, ProtectedUntil and NotBefore: that it has not.
func reasonUntil(v *verifier, at string, w *verifiedWorkload, r allot.Reason) {
	if r.Code == allot.ProtectedUntil {
		if !r.Until.IsZero() && !r.Until.After(v.state.Now) { // zero is for ever
			v.fail(at, ruleReasons, "the protection has ended at %s", r.Until.UTC().Format(time.RFC3339))
		}
		v.reasonCounts(at, r)
	} else if !isEarly(w.source, v.state.Now) || !r.Until.Equal(w.source.NotBefore) {
		v.fail(at, ruleReasons, "%q may start from %s on", w.source.ID, w.source.NotBefore.UTC().Format(time.RFC3339))
	}
}
