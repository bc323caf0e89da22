package allot_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/allotsched/allot"
)

// TestPromiseLateAgain: a promise that is tried at the time that the state has, where it then yields once more to one
// that is laid elsewhere for it, is not tried again and again (B7). The state is of a replay of 40,000 jobs.
func TestPromiseLateAgain(t *testing.T) {
	text, err := os.ReadFile("testdata/promises/late-again.json")
	if err != nil {
		t.Fatal(err)
	}
	var s allot.State
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	plan, err := allot.Solve(&s)
	if err != nil {
		t.Fatal(err)
	}
	if plan.Work.Stopped {
		t.Error("the solve came to no rest")
	}
	for i := range plan.Reservations {
		r := &plan.Reservations[i]
		if r.Change == allot.PromiseLater && r.Cause.Code == 0 {
			t.Errorf("%s is later without a cause", r.Workload)
		}
	}
}
