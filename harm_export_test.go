package allot

import (
	"fmt"
	"strings"
)

// HarmFormat writes a state as a scenario. Package allot_test sets it, as the
// scenario language imports this package.
var HarmFormat = compact

// HarmBest is the oracle's answer for one beneficiary: the way of making room
// and the units it takes, in order; empty if there is none.
func HarmBest(s *State, beneficiary string) string {
	r := newHarmCase(s, beneficiary).best()
	if r == nil {
		return ""
	}
	return r.String()
}

// HarmLawful is any set of victims that may be taken for the beneficiary, as
// HarmBest tells it.
func HarmLawful(s *State, beneficiary string) string {
	return newHarmCase(s, beneficiary).exists().String()
}

// String is the way and the units in the order in which they are taken; a step
// is named by its number behind the workload.
func (r *harmRun) String() string {
	if r == nil {
		return "nothing"
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%v:", r.kind)
	for _, t := range r.taken {
		u := &r.units[t.unit]
		text.WriteString(" " + u.work.source.ID)
		if u.step > 0 {
			fmt.Fprintf(&text, "+%d", u.step)
		}
	}
	return text.String()
}
