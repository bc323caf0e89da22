// Package desk answers the questions that the pages of the program ask, as text: why a
// workload waits and what would help it, why a queue has its share, what changes would
// do. The texts are the library's: lines of tables are aligned, and
// all others as long as they are.
package desk

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/edits"
	"github.com/allotsched/allot/examples/allot/internal/words"
	"github.com/allotsched/allot/explain"
	"github.com/allotsched/allot/internal/prose"
)

// Find is the ID of the workload that somebody means: the ID itself, or the name that
// pages show, with the queue before it.
func Find(s *allot.State, name string) (string, error) {
	var names, same []string
	for i := range s.Workloads {
		w := &s.Workloads[i]
		if w.ID == name {
			return name, nil
		}
		shown := words.WorkName(w.Queue, w.ID)
		names = append(names, shown)
		if shown == name {
			same = append(same, w.ID)
		}
	}
	if len(same) == 1 {
		return same[0], nil
	}
	return "", fmt.Errorf("there is no workload %q%s", name, words.Nearest(name, names))
}

// Workload tells what becomes of a workload and why. solves is how many decisions to
// spend on what would help it, if it waits; 0 does not look.
func Workload(ctx context.Context, d *allot.Decision, id string, solves int) (string, error) {
	e, err := explain.Workload(ctx, d, id)
	if err != nil {
		return "", err
	}
	text := e.String()
	if solves <= 0 {
		return text, nil
	}
	help, err := explain.WhatHelps(ctx, d, id, explain.HelpSearch{Solves: solves})
	if err != nil || !help.Waits {
		return text, err
	}
	var b strings.Builder
	b.WriteString(text + "\nWhat would help, one of these alone\n")
	for i := range help.Remedies {
		b.WriteString("  - " + words.UpperFirst(help.Remedies[i].String()) + ".\n")
	}
	switch {
	case len(help.Remedies) == 0 && !help.Cut:
		b.WriteString("  No one change helps, nor do two together.\n")
	case len(help.Remedies) == 0:
		b.WriteString("  Nothing that was tried helps; not all was tried.\n")
	case help.Cut:
		b.WriteString("  Not all was tried: there may be more, and less of an amount may do.\n")
	}
	return b.String(), nil
}

// Queue tells why a queue's fair share is what it is.
func Queue(ctx context.Context, d *allot.Decision, state *allot.State, id string) (string, error) {
	e, err := explain.Queue(ctx, d, id)
	if errors.Is(err, allot.ErrUnknown) {
		var names []string
		for i := range state.Queues {
			names = append(names, state.Queues[i].ID)
		}
		return "", fmt.Errorf("there is no queue %q%s", id, words.Nearest(id, names))
	}
	if err != nil {
		return "", err
	}
	return e.String(), nil
}

// MostLines is how many lines of consequences are told.
const MostLines = 400

// WhatIf tells what edits of the state would do: the answer in a line, and then all of
// it, as far as it is no longer than [MostLines].
func WhatIf(ctx context.Context, s *allot.Snapshot, state *allot.State, text string) (string, error) {
	change, err := edits.Parse(state, text)
	if err != nil {
		return "", err
	}
	c, err := explain.WhatIf(ctx, s, change)
	if err != nil {
		return "", err
	}
	return Cut(summary(c.String()) + "\n\n" + c.String()), nil
}

// Cut is a text up to [MostLines] lines.
func Cut(text string) string {
	all := strings.SplitAfter(text, "\n")
	if len(all) <= MostLines {
		return text
	}
	return strings.Join(all[:MostLines], "") + "… and " + prose.Count(len(all)-MostLines, "more line") + "\n"
}

// Difference tells what of a second plan is otherwise.
func Difference(a, b *allot.Plan) string {
	d := explain.Diff(a, b)
	return Cut(summary(d.String()) + "\n\n" + d.String())
}

// summary is a difference in a line: the heads of its parts that count workloads.
func summary(text string) string {
	var heads []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if head, ok := strings.CutSuffix(line, ":"); ok && line[0] >= '0' && line[0] <= '9' && strings.Contains(head, " workload") {
			heads = append(heads, head)
		}
	}
	if len(heads) == 0 {
		return "No workload fares otherwise."
	}
	return strings.Join(heads, "; ") + "."
}
