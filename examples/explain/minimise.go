package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/prose"
	"github.com/allotsched/allot/sim/scenario"
)

func minimiseCommand() command {
	return command{
		name:      "minimise",
		arguments: "STATE WORKLOAD [CODE]",
		about:     "the smallest state that still shows it: the form of a bug report",
		more: `Takes away from the state whatever can go while the workload still waits for the
reason CODE, such as no-capacity; without a code, for its first reason, or, if the
plan takes something from it, while the plan still does. What is left is printed as a
scenario, with what is decided, or with -json as a state. It takes many solves: a large
state may take minutes.
`,
		flags: func(flags *flag.FlagSet, o *options) {
			flags.IntVar(&o.solves, "solves", 0, "how many `solves` to spend; 0 is the library's own number")
		},
		answer: answerMinimise,
	}
}

func answerMinimise(q *asked) error {
	s, err := q.solve()
	if err != nil {
		return err
	}
	id, err := findWorkload(s.state, q.args[1])
	if err != nil {
		return &inputError{q.args[0], err}
	}
	code := ""
	if len(q.args) > 2 {
		code = q.args[2]
	}
	shows, title, err := surprise(s.plan, id, code)
	if err != nil {
		return err
	}
	minimal, err := scenario.Minimise(s.state, shows, q.solves)
	if errors.Is(err, scenario.ErrNotShown) {
		return &inputError{q.args[0], fmt.Errorf("the workload %s does not wait for the reason %s", id, code)}
	}
	if err != nil {
		return err
	}
	if q.json {
		text, err := json.Marshal(minimal.State)
		if err != nil {
			return err
		}
		return q.printJSON(json.RawMessage(text))
	}
	text, err := scenario.Report(title, minimal.State)
	if err != nil {
		return err
	}
	q.text.WriteString(text)
	if minimal.Cut {
		// Apart from the scenario, which ends with a blank line.
		q.line(plain, "\n# "+prose.Count(minimal.Solves, "solve")+" were all that might be spent: something may be left to take away.")
	}
	return nil
}

// surprise is what is to be shown of a workload, and its title.
func surprise(plan *allot.Plan, id, code string) (scenario.Predicate, string, error) {
	if code != "" {
		var c allot.Code
		if err := c.UnmarshalText([]byte(code)); err != nil {
			return nil, "", fmt.Errorf("there is no reason %q; explain STATE WORKLOAD shows those of a workload", code)
		}
		return scenario.WaitsFor(id, c), id + " waits: " + code, nil
	}
	if scenario.Loses(id)(nil, plan) {
		return scenario.Loses(id), "The plan takes something from " + id, nil
	}
	for i := range plan.Pending {
		if p := &plan.Pending[i]; p.Workload == id {
			c := p.Reasons[0].Code
			return scenario.WaitsFor(id, c), id + " waits: " + c.String(), nil
		}
	}
	return nil, "", fmt.Errorf("workload %s neither waits nor loses anything by the plan, so there is nothing to show", id)
}
