package verify

import (
	"cmp"

	"github.com/allotsched/allot"
)

// startsFirst says whether a goes before b by their deadlines (B11), as far as these are
// latest starts: how long work takes, by which a latest end counts, is not looked at.
func startsFirst(a, b *allot.Workload) bool {
	if !a.Deadline.End.IsZero() || !b.Deadline.End.IsZero() {
		return false
	}
	return cmp.Or(cmp.Compare(latestStart(a), latestStart(b)), compareAge(a, b)) < 0
}

// latestStart is the latest start that a workload is told; forever is none.
func latestStart(w *allot.Workload) int64 {
	if w.Deadline.Start.IsZero() {
		return forever
	}
	return micros(w.Deadline.Start)
}
