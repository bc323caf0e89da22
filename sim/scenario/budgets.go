package scenario

import (
	"slices"
	"strconv"

	"github.com/allotsched/allot"
)

// runBudget makes or changes the disruption budgets of owners.
func (w *world) runBudget(st statement) error {
	owners, args, err := subject(st)
	if err != nil {
		return err
	}
	for _, owner := range owners {
		at := slices.IndexFunc(w.state.Budgets, func(b allot.DisruptionBudget) bool { return b.Owner == owner })
		if at < 0 {
			at = len(w.state.Budgets)
			w.state.Budgets = append(w.state.Budgets, allot.DisruptionBudget{Owner: owner})
		}
		for _, a := range args {
			if a.key != "min-running" {
				return a.unknown("budget")
			}
			if err := set(&w.state.Budgets[at].MinRunning, a, integer[int]); err != nil {
				return err
			}
		}
	}
	return nil
}

// formatBudget writes a disruption budget as runBudget reads it.
func formatBudget(b allot.DisruptionBudget) string {
	l := newLine("budget", quote(b.Owner))
	if b.MinRunning != 0 {
		l.add("min-running", strconv.Itoa(b.MinRunning))
	}
	return l.String()
}
