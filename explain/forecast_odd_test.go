package explain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// B10, V1: a forecast of an odd state is one, and no panic: without nodes, without durations, with reservations that are
// over, and with durations and instants up to the last that there are.
func TestForecastsOfOddStates(t *testing.T) {
	last := time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	const most = 251_508_844_799 // seconds to the last of the year 9999
	longest := quota.Of(most)
	for _, c := range []struct {
		name string
		edit func(s *allot.State)
		want time.Time // when b starts; zero is never
	}{
		{"as it is", func(*allot.State) {}, now.Add(time.Hour)},
		{"no nodes", func(s *allot.State) { s.Nodes, s.Workloads = nil, s.Workloads[1:] }, time.Time{}},
		{"no durations", func(s *allot.State) { s.Workloads[0].Duration = quota.Bound{} }, time.Time{}},
		{"a reservation is over", func(s *allot.State) {
			s.Reservations = []allot.Reservation{{ID: "r", From: now.Add(-2 * time.Hour), Until: now.Add(-time.Hour), Nodes: []allot.ReservedNode{{Node: "n"}}}}
		}, now.Add(time.Hour)},
		{"a reservation ends now", func(s *allot.State) {
			s.Reservations = []allot.Reservation{{ID: "r", From: now.Add(-2 * time.Hour), Until: now, Nodes: []allot.ReservedNode{{Node: "n"}}}}
		}, now.Add(time.Hour)},
		{"the longest duration of what runs", func(s *allot.State) { s.Workloads[0].Duration = longest }, last.Truncate(time.Second)},
		{"the longest durations", func(s *allot.State) {
			for i := range s.Workloads {
				s.Workloads[i].Duration, s.Workloads[i].TimeLimit = longest, longest
			}
		}, last.Truncate(time.Second)},
		{"the longest fixed work", func(s *allot.State) { s.Workloads[0].Duration, s.Workloads[0].FixedWork = quota.Bound{}, most }, last.Truncate(time.Second)},
		{"the last instant", func(s *allot.State) {
			for s.Now = last; s.Workloads[0].Duration.Given(); s.Workloads = append(s.Workloads[1:], s.Workloads[0]) {
				s.Workloads[0].Duration = quota.Bound{}
			}
		}, time.Time{}},
		{"not before the last instant", func(s *allot.State) { s.Workloads[1].NotBefore = last }, last},
	} {
		for _, backfill := range []queue.Backfill{queue.NoBackfill, queue.EASY, queue.Conservative} {
			s := &allot.State{
				Now: now, Pools: []allot.Pool{{ID: "p", Policy: allot.Policy{Reserve: allot.ReservePolicy{Backfill: backfill}}}},
				Nodes: []allot.Node{{ID: "n", Devices: make([]allot.Device, 1)}},
			}
			for i := range 3 {
				s.Workloads = append(s.Workloads, allot.Workload{
					ID: fmt.Sprint(string(rune('a' + i))), Submitted: now.Add(time.Duration(i) * time.Microsecond), Duration: quota.Of(3600), Preemption: allot.NonPreemptible,
					PodSets: []allot.PodSet{{Count: 1, Request: allot.Request{GPU: allot.GPURequest{Count: 1}}}},
				})
			}
			s.Workloads[0].Tasks = []allot.Task{{Node: "n", Devices: []int{0}, Since: now, Started: now}}
			c.edit(s)
			told, err := Forecasts(t.Context(), decide(t, s), math.MaxInt)
			if err != nil {
				t.Fatalf("%s, %v: %v", c.name, backfill, err)
			}
			for _, f := range told {
				if f.Workload == "b" && !f.Start.Equal(c.want) {
					t.Errorf("%s, %v: b starts at %v, want %v", c.name, backfill, f.Start, c.want)
				}
				if _, err := json.Marshal(f); err != nil { // a time of a year that JSON has not
					t.Errorf("%s, %v: %v", c.name, backfill, err)
				}
			}
		}
	}
}

// B10: where the context has ended there is its error and no forecast, also where it ends on the way.
func TestForecastsEndWithTheContext(t *testing.T) {
	s := &allot.State{Nodes: []allot.Node{{ID: "n", Devices: make([]allot.Device, 1)}}}
	for i := range 20 {
		s.Workloads = append(s.Workloads, allot.Workload{
			ID: fmt.Sprintf("w%02d", i), Duration: quota.Of(60), PodSets: []allot.PodSet{{Count: 1, Request: allot.Request{GPU: allot.GPURequest{Count: 1}}}},
		})
	}
	d := decide(t, s)
	for after := 0; ; after++ { // looks at the context
		told, err := Forecasts(&ending{t.Context(), after}, d, 100)
		if err == nil && after > 0 {
			return
		}
		if !errors.Is(err, context.Canceled) || told != nil {
			t.Fatalf("ended at look %d: %v, %d forecasts", after, err, len(told))
		}
	}
}
