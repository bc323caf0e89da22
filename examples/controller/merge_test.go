package main

import (
	"io"
	"testing"
	"time"

	"github.com/allotsched/allot"
)

// newRecord is the first record of a world.
func newRecord(t *testing.T) *record {
	t.Helper()
	r, err := newWorld(1, allot.RunAI(), faults{}, io.Discard).store.Read()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func single(id, queue string) *allot.Workload {
	return &allot.Workload{ID: id, Queue: queue, PodSets: []allot.PodSet{{Count: 1}}}
}

// What makes no sense is left out, and what comes after it is not.
func TestMalformedRequests(t *testing.T) {
	r := newRecord(t)
	requests := []request{
		{Submit: single("a", "nowhere")},
		{Submit: single("b", "vision")},
		{Submit: single("b", "speech")}, // the ID is taken
		{End: "c"},
		{Queue: "nowhere", Quota: 1000},
		{Queue: "vision", Quota: -1},
		{Queue: "speech", Quota: 3000},
	}
	if !r.merge(instant(1), report{At: instant(1)}, requests) {
		t.Error("no cause to solve")
	}
	if len(r.State.Workloads) != 1 || r.State.Workloads[0].Queue != "vision" {
		t.Errorf("got %v", r.State.Workloads)
	}
	if r.Requests != len(requests) {
		t.Errorf("%d requests are merged", r.Requests)
	}
	for i, want := range []int64{8000, 3000, 0} {
		if got := r.State.Queues[i].Resources[0].Quota.Amount(); got != want {
			t.Errorf("quota of %s is %d, want %d", r.State.Queues[i].ID, got, want)
		}
	}
	if err := allot.Check(r.State); err != nil {
		t.Error(err)
	}
}

// A request that is refused is no cause to solve.
func TestRefusalIsNoCause(t *testing.T) {
	r := newRecord(t)
	if r.merge(instant(1), report{At: instant(1)}, []request{{End: "c"}, {Submit: single("a", "nowhere")}}) {
		t.Error("cause to solve")
	}
}

// The clock of the State never goes back (S1: an instant is part of it).
func TestClockSetBack(t *testing.T) {
	r := newRecord(t)
	for _, second := range []int{5, 3, 4} {
		r.merge(instant(second), report{}, nil)
		if want := instant(5); r.State.Now != want {
			t.Errorf("at %d: now is %v", second, r.State.Now)
		}
	}
}

// The work of a workload is saved as far as all of its tasks have saved it.
func TestCheckpoints(t *testing.T) {
	r := newRecord(t)
	w := single("a", "vision")
	w.PodSets[0].Count = 2
	r.merge(instant(0), report{}, []request{{Submit: w}})
	plan := solved(t, r.State)
	r.adopt(begun(t, r.State, plan), plan)
	for _, test := range []struct{ first, second, want time.Time }{
		{instant(5), time.Time{}, time.Time{}},
		{instant(5), instant(7), instant(5)},
		{time.Time{}, instant(7), instant(5)}, // the first began anew: what is saved stays saved
		{instant(9), instant(8), instant(8)},
	} {
		seen := report{Attempts: map[int64]attemptReport{1: {Status: running, Saved: test.first}, 2: {Status: running, Saved: test.second}}}
		if r.merge(instant(10), seen, nil) {
			t.Error("cause to solve")
		}
		if got := r.workload("a").Checkpoint; got != test.want {
			t.Errorf("saved until %v and %v: got %v", test.first, test.second, got)
		}
	}
}
