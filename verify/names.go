package verify

import (
	"slices"

	"github.com/allotsched/allot"
)

// A taskName names a task of a state.
type taskName struct {
	workload, podSet string
	index            int
}

// formOf is form i of a workload; one that names no queue is in that of the
// workload.
func formOf(w *allot.Workload, i int) allot.Form {
	if i == 0 {
		return allot.Form{Queue: w.Queue, PodSets: w.PodSets, Groups: w.Groups, Topology: w.Topology}
	}
	f := w.Alternatives[i-1]
	if f.Queue == "" {
		f.Queue = w.Queue
	}
	return f
}

// leavingFormOf is the form of a workload's tasks that are Terminating.
func leavingFormOf(w *allot.Workload) int {
	if w.LeavingForm.Given() {
		return int(w.LeavingForm.Amount())
	}
	return w.Form
}

// namesTwice says whether a list has a device twice.
func namesTwice(devices []int) bool {
	sorted := slices.Sorted(slices.Values(devices))
	return len(slices.Compact(sorted)) < len(devices)
}

// sameDevices says whether the devices are the same in any order; neither list
// names one twice.
func sameDevices(a, b []int) bool {
	return slices.Equal(a, b) || slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}
