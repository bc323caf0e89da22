package explain

import "testing"

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
