package explain

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/allotsched/allot"
)

// X4: a turn is told in a line, made from its data alone, and says no more than is known of it.
func TestTurnText(t *testing.T) {
	at := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	for want, turn := range map[string]Turn{
		"q1/train: place 2 of queue q1 in pool p, priority 50, not preemptible, submitted 2026-11-21T08:00:00Z": {
			Workload: "train", Pool: "p", Queue: "q1", InQueue: 2, Priority: 50, NonPreemptible: true, Submitted: at,
		},
		"train: place 1, priority 0, preemptible":                   {Workload: "train", InQueue: 1},
		`"a b/w": place 1 of queue "a b", priority -1, preemptible`: {Workload: "w", Queue: "a b", InQueue: 1, Priority: -1},
	} { // each on its own: order cannot matter
		var back Turn
		if err := json.Unmarshal(must(json.Marshal(turn)), &back); err != nil || turn.String() != want || back.String() != want {
			t.Errorf("%s, after JSON %s, want %s, error %v", turn.String(), back.String(), want, err)
		}
	}
}

// O1, O2: the turns are those that explanations of single workloads tell, and each waits.
func TestTurnsInScenarios(t *testing.T) {
	told := 0
	for i, s := range scenarioStates() {
		if i%6 > 0 {
			continue
		}
		d := decide(t, s)
		turns := must(Turns(t.Context(), d))
		inPool := make(map[string]int)
		for _, turn := range turns {
			e := must(Workload(t.Context(), d, turn.Workload))
			if e.Ahead == nil {
				t.Errorf("%s has a turn and nobody ahead is known", turn.Workload)
				continue
			}
			if e.Ahead.InPool != inPool[turn.Pool] || e.Ahead.InQueue != turn.InQueue-1 || e.Priority != turn.Priority ||
				e.NonPreemptible != turn.NonPreemptible || !e.Submitted.Equal(turn.Submitted) {
				t.Errorf("turn %+v at %d, explained as %+v", turn, inPool[turn.Pool], e.Ahead)
			}
			inPool[turn.Pool]++
			told++
		}
	}
	if told < 20 {
		t.Errorf("only %d turns were looked at", told)
	}
}

// A workload that may also start in another pool has its turn there with the form that is of it.
func TestTurnsOfOtherPools(t *testing.T) {
	set := []allot.PodSet{{Count: 1, Request: allot.Request{GPU: allot.GPURequest{Count: 1}}}}
	s, err := allot.NewSnapshot(&allot.State{
		Pools:     []allot.Pool{{ID: "a"}, {ID: "b"}},
		Queues:    []allot.Queue{{ID: "a1", Pool: "a"}, {ID: "a2", Pool: "a"}, {ID: "b1", Pool: "b"}},
		Workloads: []allot.Workload{{ID: "w", Queue: "a2", PodSets: set, Alternatives: []allot.Form{{Queue: "b1", PodSets: set}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.Decide()
	if err != nil {
		t.Fatal(err)
	}
	turns, err := Turns(t.Context(), d)
	if err != nil || len(turns) != 2 || turns[0].Queue != "a2" || turns[1].Queue != "b1" || turns[1].Pool != "b" {
		t.Errorf("%+v, %v", turns, err)
	}
}
