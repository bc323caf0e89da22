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
