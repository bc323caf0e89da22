package allot_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/sim/scenario"
)

// story is what happened, round by round.
func (e *restError) story() string {
	return "  " + strings.ReplaceAll(strings.Join(e.log, "\n"), "\n", "\n  ")
}

// scenario is the failure as the text that one reports.
func (f *failure) scenario() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s. The host: %s, seed %d, rounds %d.\n", f.broken.kind, hostModeNames[f.how.mode], f.how.seed, f.how.rounds)
	b.WriteString(scenario.Format(f.state))
	b.WriteString("solve\n\n" + f.broken.story())
	return b.String()
}

// shrink drops whatever can be dropped while the same promise stays broken.
func (f *failure) shrink() *failure {
	small := f
	// The error is of a state that cannot be solved: it is told as it is.
	_, _ = scenario.Minimise(f.state, func(s *allot.State, _ *allot.Plan) bool {
		g := f.breaks(s)
		if g != nil {
			small = g
		}
		return g != nil
	}, 2000)
	return small
}

// breaks says how the state breaks the same promise, under the same schedule
// or a like one.
func (f *failure) breaks(s *allot.State) *failure {
	if allot.Check(s) != nil {
		return nil
	}
	hows := []schedule{{mode: applies}, {mode: begins, seed: 1}, {mode: begins, seed: 2}, {mode: begins, seed: 3}, f.how}
	for seed := range uint64(10) {
		hows = append(hows, schedule{mode: f.how.mode, seed: seed})
	}
	for _, how := range hows {
		how.mixed = f.how.mixed
		if _, broken := rest(s, how, newStabilityStats()); broken != nil {
			if g := (&failure{state: s, how: how, cause: f.cause, broken: broken}); g.law() == f.law() {
				return g
			}
		}
	}
	return nil
}

// law is the promise that is broken, of which law where Verify says so, without names
// and numbers.
func (f *failure) law() string {
	_, text, _ := strings.Cut(f.broken.text, "violations: ")
	if at := strings.LastIndexByte(strings.SplitN(text+"\n\n", "\n", 3)[1], '('); at >= 0 {
		return f.broken.kind + strings.SplitN(text, "\n", 3)[1][at:]
	}
	return f.broken.kind
}

func copyState(s *allot.State) *allot.State {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	c := new(allot.State)
	if err := json.Unmarshal(text, c); err != nil {
		panic(err)
	}
	return c
}
