package explain

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/allotsched/allot"
)

// TestReclaim: what is told is the difference between the plans with the arrival and
// without it, and the decision stays as it is.
func TestReclaim(t *testing.T) {
	asked, taken, lost := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s := genState(t)
		var leaves []string
		for _, q := range s.Queues {
			if !slices.ContainsFunc(s.Queues, func(c allot.Queue) bool { return c.Parent == q.ID }) {
				leaves = append(leaves, q.ID)
			}
		}
		if len(leaves) == 0 {
			t.Skip("no queues")
		}
		arrival := allot.Workload{
			Queue: rapid.SampledFrom(leaves).Draw(t, "queue"),
			PodSets: []allot.PodSet{{
				Count: 1 + draw{t}.upTo(3), Min: 1, Request: allot.Request{GPU: allot.GPURequest{Count: 1}},
			}},
		}
		without := must(allot.Solve(s))
		d := must(must(allot.NewSnapshot(s)).Decide())
		got, err := Reclaim(t.Context(), d, arrival)
		if err != nil {
			t.Fatal(err)
		}
		asked++
		arrival.ID, arrival.Submitted = got.Arrival.Workload, s.Now
		s.Workloads = append(slices.Clip(s.Workloads), arrival)
		with := must(allot.Solve(s))
		var takings, losers []string
		for _, a := range with.Actions {
			switch a.Reason.Code {
			case allot.ReclaimedByQuota, allot.ReclaimedByShare, allot.Preempted, allot.Consolidated, allot.StaleGang, allot.ReservationBegan, allot.Behind:
				if !does(without, a.Workload, a.Kind) {
					takings = append(takings, fmt.Sprint(a.Kind, a.Workload))
				}
			}
		}
		for _, a := range without.Actions {
			gains := a.Kind == allot.Start || a.Kind == allot.Resize
			if gains && !does(with, a.Workload, allot.Start, allot.Resize) && !slices.Contains(losers, a.Workload) {
				losers = append(losers, a.Workload)
			}
		}
		slices.Sort(losers)
		var told []string
		for _, x := range got.Takings {
			told = append(told, fmt.Sprint(x.Kind, x.Workload))
		}
		if !slices.Equal(told, takings) || !slices.Equal(got.Losers, losers) {
			t.Fatalf("told is %v and %v, and the plans say %v and %v", told, got.Losers, takings, losers)
		}
		if plan := must(d.Plan()); plan.String() != without.String() {
			t.Fatalf("the decision is another one now:\n%s", plan)
		}
		var back Reclamation
		if err := json.Unmarshal(must(json.Marshal(got)), &back); err != nil || back.String() != got.String() {
			t.Fatalf("it does not come back from JSON: %v\n%s", err, &back)
		}
		taken += len(takings)
		lost += len(losers)
	})
	if !testing.Short() && (taken == 0 || lost == 0) {
		t.Errorf("of %d questions nothing is taken in any, or nobody loses: %d, %d", asked, taken, lost)
	}
}

// does says whether the plan has one of the actions for the workload.
func does(p *allot.Plan, workload string, kinds ...allot.ActionKind) bool {
	return slices.ContainsFunc(p.Actions, func(a allot.Action) bool { return a.Workload == workload && slices.Contains(kinds, a.Kind) })
}

// An arrival has an ID of its own, or is given one.
func TestReclaimNames(t *testing.T) {
	one := []allot.PodSet{{Count: 1}}
	d := decide(t, &allot.State{Workloads: []allot.Workload{{ID: "arrival", PodSets: one}}})
	if e, err := Reclaim(t.Context(), d, allot.Workload{PodSets: one}); err != nil || e.Arrival.Workload != "arrival'" {
		t.Error(e, err)
	}
	if _, err := Reclaim(t.Context(), d, allot.Workload{ID: "arrival", PodSets: one}); !errors.Is(err, allot.FaultDuplicate) {
		t.Error(err)
	}
	if _, err := Reclaim(t.Context(), d, allot.Workload{ID: "w"}); err == nil {
		t.Error("a workload without pod sets has no fault")
	}
}
