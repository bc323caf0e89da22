package main

import (
	"context"
	"regexp"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/explain"
)

func whatifCommand() command {
	return command{
		name:      "whatif",
		arguments: "STATE CHANGE",
		about:     "what a change would do: who starts, waits or leaves then, and the shares",
		more: `The change is the JSON form of allot.Change: nodes, queues, pools, workloads and
budgets that are put anew, each in full, and what is removed. For example

  {"version": 1,
   "queues": [{"id": "vision", "resources": [{"resource": "gpu", "quota": 12000}]}],
   "remove": {"workloads": ["sweep-1"]}}
`,
		answer: answerWhatIf,
	}
}

// ofChange is how the library calls the way to the change.
var ofChange = regexp.MustCompile(`^changes\[0\]\.?`)

func answerWhatIf(q *asked) error {
	state, err := q.readState()
	if err != nil {
		return err
	}
	input, err := q.readFile(q.args[1])
	if err != nil {
		return err
	}
	var change allot.Change
	if err := change.UnmarshalJSON(input); err != nil {
		return &inputError{q.args[1], err}
	}
	snapshot, err := allot.NewSnapshot(state)
	if err != nil {
		return &inputError{q.args[0], err}
	}
	consequences, err := explain.WhatIf(context.Background(), snapshot, change)
	if err != nil {
		return &inputError{q.args[1], within(ofChange, err)}
	}
	if q.json {
		return q.printJSON(consequences)
	}
	q.write(consequences.String())
	return nil
}
