package explain

import (
	"slices"

	"github.com/allotsched/allot"
)

// effects are what a plan does, by ID.
type effects struct {
	starts, evicted, moved []string
	after                  []string
	stale                  bool // a gang ends that has lost a part of itself
}

// effectsOf sums a plan up; after is what the workload waits for.
func effectsOf(actions []allot.Action, workload string) (out effects) {
	for i := range actions {
		a := &actions[i]
		switch a.Kind {
		case allot.Start:
			if a.Workload == workload {
				out.after = append(out.after, a.After...)
			} else {
				out.starts = append(out.starts, a.Workload)
			}
		case allot.Evict, allot.Shrink:
			out.evicted = append(out.evicted, a.Workload)
			out.stale = out.stale || a.Reason.Code == allot.StaleGang
		case allot.Move:
			out.moved = append(out.moved, a.Workload)
		}
	}
	for _, list := range [...]*[]string{&out.starts, &out.evicted, &out.moved, &out.after} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return out
}

// beyond is what a plan does that another one does not. A workload that is gone is
// not delayed.
func (e effects) beyond(before *effects, gone []string) Effects {
	return Effects{
		Starts: lacking(e.starts, before.starts), Evicted: lacking(e.evicted, before.evicted),
		Moved: lacking(e.moved, before.moved), Delayed: lacking(lacking(before.starts, e.starts), gone),
		After: e.after,
	}
}

// lacking are the strings of a that are not in b, both sorted.
func lacking(a, b []string) (out []string) {
	for _, s := range a {
		if _, in := slices.BinarySearch(b, s); !in {
			out = append(out, s)
		}
	}
	return out
}
