package explain

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/view"
)

// What is told of a state as it is, in the states of the scenarios. The root's tests hold
// it against the oracle's model in states that they draw.

// X1: whatever becomes of a workload, its explanation has the actions and reasons of the
// plan, tells of each that takes something from it, and counts what it holds thereafter.
func TestWorkloadInScenarios(t *testing.T) {
	takings := 0
	for i, s := range scenarioStates() {
		if testing.Short() && i%4 > 0 {
			continue
		}
		d := decide(t, s)
		p := must(d.Plan())
		after := must(allot.NewSnapshot(must(allot.Apply(s, p))))
		all := must(Takings(t.Context(), decide(t, s), nil))
		for _, w := range s.Workloads {
			e, err := Workload(t.Context(), d, w.ID)
			if err != nil {
				t.Fatal(err)
			}
			var actions []allot.Action
			takes := 0
			for _, a := range p.Actions {
				if a.Workload != w.ID {
					continue
				}
				actions = append(actions, a)
				switch a.Reason.Code {
				case allot.ReclaimedByQuota, allot.ReclaimedByShare, allot.Preempted, allot.Consolidated, allot.StaleGang, allot.ReservationBegan, allot.Behind:
					takes++
				}
			}
			var reasons []allot.Reason
			for _, waits := range p.Pending {
				if waits.Workload == w.ID {
					reasons = waits.Reasons
				}
			}
			if diff := cmp.Diff(actions, e.Actions, exact) + cmp.Diff(reasons, e.Reasons, exact); diff != "" || takes != len(e.Takings) {
				t.Errorf("%d takings, want %d; the plan has others: %s\n%s", len(e.Takings), takes, diff, p)
			}
			then, _ := after.Workload(w.ID)
			held := len(then.Tasks)
			for _, task := range then.Tasks {
				if task.Phase == allot.Terminating {
					held--
				}
			}
			if e.Holds != held && !w.Ending {
				t.Errorf("%s holds %d tasks, not %d\n%s", w.ID, held, e.Holds, p)
			}
			var back Explanation
			if err := json.Unmarshal(must(json.Marshal(e)), &back); err != nil || back.String() != e.String() {
				t.Errorf("it does not come back from JSON: %v\n%s", err, &back)
			}
			var told []Taking
			for _, taking := range all {
				if taking.Workload == w.ID {
					told = append(told, taking)
				}
			}
			if diff := cmp.Diff(told, e.Takings, exact); diff != "" {
				t.Errorf("asked of all, otherwise: %s\n%s", diff, p)
			}
			takings += len(e.Takings)
		}
		for _, q := range s.Queues {
			e, err := Queue(t.Context(), d, q.ID)
			if err != nil {
				t.Fatal(err)
			}
			var back QueueExplanation
			if err := json.Unmarshal(must(json.Marshal(e)), &back); err != nil || back.String() != e.String() {
				t.Errorf("it does not come back from JSON: %v\n%s", err, &back)
			}
		}
	}
	if takings == 0 {
		t.Error("nothing was taken from anybody")
	}
}

// S1: how victims were chosen is found out by one solve, which then answers all else; and
// an answer is the caller's, to do with as he likes.
func TestTakingsAreFoundOnce(t *testing.T) {
	s := &allot.State{
		Nodes: []allot.Node{{ID: "n", Devices: make([]allot.Device, 2)}},
		Workloads: []allot.Workload{
			{ID: "low", PodSets: oneGPU, Tasks: []allot.Task{{Node: "n", Devices: []int{0}}}},
			{ID: "lower", Priority: -1, PodSets: oneGPU, Tasks: []allot.Task{{Node: "n", Devices: []int{1}}}},
			{ID: "top", Priority: 1, PodSets: oneGPU},
		},
	}
	d := decide(t, s)
	worlds := make(map[*cluster.World]bool)
	see := func() {
		if err := d.View(t.Context(), view.Victims{}, func(v decision) error { worlds[v.World()] = true; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	first := must(Takings(t.Context(), d, nil))
	see()
	if len(first) != 1 || first[0].Workload != "lower" || len(first[0].Candidates) != 2 {
		t.Fatalf("taken is %+v", first)
	}
	want := first[0].String()
	for i := range first[0].Others {
		first[0].Others[i].Units = 99
	}
	first[0].Candidates[0].Holds[0].Amount = 99
	again := must(Workload(t.Context(), d, "lower"))
	see()
	if again.Takings[0].String() != want || len(worlds) != 1 {
		t.Errorf("in %d worlds\n%s\nwas\n%s", len(worlds), &again.Takings[0], want)
	}
}

var oneGPU = []allot.PodSet{{Count: 1, Request: allot.Request{GPU: allot.GPURequest{Count: 1}}}}

// Who is not there is told so, by name and kind, whatever is asked.
func TestExplainUnknown(t *testing.T) {
	d := decide(t, scenarioStates()[0])
	fitter := NewFitter(decide(t, &allot.State{Nodes: []allot.Node{{ID: "n"}}}).Snapshot())
	for name, ask := range map[string]func() error{
		"workload":                         func() error { _, err := Workload(t.Context(), d, "nobody"); return err },
		"queue":                            func() error { _, err := Queue(t.Context(), d, "nobody"); return err },
		"workload whose reasons are asked": func() error { _, err := d.Why(t.Context(), "nobody"); return err },
		"workload that would have to end": func() error {
			_, err := fitter.Ends(t.Context(), allot.Workload{ID: "asked", PodSets: []allot.PodSet{{Count: 1}}}, []string{"nobody"})
			return err
		},
	} { // each by itself: order cannot matter
		kind, _, _ := strings.Cut(name, " ")
		if err := ask(); !errors.Is(err, allot.ErrUnknown) || !strings.Contains(err.Error(), kind+` "nobody"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if e, err := Queue(t.Context(), decide(t, new(allot.State)), ""); err != nil || len(e.Shares) != 1 {
		t.Error(e, err)
	}
}

// A question ends with its context.
func TestQuestionsEnd(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	d := decide(t, scenarioStates()[0])
	k := allot.Workload{ID: "asked", PodSets: []allot.PodSet{{Count: 1}}}
	fitter := NewFitter(decide(t, &allot.State{Nodes: []allot.Node{{ID: "n"}}}).Snapshot())
	for name, ask := range map[string]func() error{
		"Fitter.Now":  func() error { _, err := fitter.Now(ended, k); return err },
		"Fitter.Ends": func() error { _, err := fitter.Ends(ended, k, nil); return err },
		"Takings":     func() error { _, err := Takings(ended, decide(t, scenarioStates()[0]), nil); return err },
	} { // each by itself: order cannot matter
		if err := ask(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if fit, err := fitter.Now(t.Context(), k); err != nil || !fit.OK {
		t.Errorf("and then: %v, %v", fit, err)
	}
	if _, err := d.Plan(); err != nil {
		t.Error(err)
	}
}
