package verify

import "github.com/allotsched/allot"

// startsFirst says whether a goes before b by their deadlines (B11), as far as these are
// latest starts: how long work takes, by which a latest end counts, is not looked at.
func startsFirst(a, b *allot.Workload) bool {
	switch {
	case !a.Deadline.End.IsZero() || !b.Deadline.End.IsZero():
		return false
	case a.Deadline.Start.Equal(b.Deadline.Start):
		return compareAge(a, b) < 0
	case b.Deadline.Start.IsZero():
		return true
	}
	return !a.Deadline.Start.IsZero() && a.Deadline.Start.Before(b.Deadline.Start)
}
