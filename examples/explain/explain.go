package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/explain"
	"github.com/allotsched/allot/internal/prose"
)

func explainCommand() command {
	return command{
		name:      "explain",
		arguments: "STATE WORKLOAD",
		about:     "what becomes of a workload and why, and what would help it",
		more: `Tells what the plan does with the workload; if it waits, every reason, who is
before it, who holds what it needs; if it must leave, for whom, by which right, and
why it and not another. What would help is found by trying it. The workload is named by its ID, or as queue/ID.
`,
		flags: func(flags *flag.FlagSet, o *options) {
			flags.IntVar(&o.solves, "solves", 0, "how many `solves` to spend on what would help; 0 is the library's own number")
		},
		answer: answerExplain,
	}
}

func queueCommand() command {
	return command{
		name:      "queue",
		arguments: "STATE QUEUE",
		about:     "why a queue's fair share is what it is, and who borrows from whom",
		more: `Tells how the queue and its siblings divide what there is: quota parts, tiers,
weights, granules, and why nobody is given more.
`,
		flags: func(flags *flag.FlagSet, o *options) {
			flags.IntVar(&o.ask, "ask", 0, "tell instead who would have to go if the queue asked for so many `GPUs` more, all at once")
		},
		answer: answerQueue,
	}
}

func answerExplain(q *asked) error {
	s, err := q.solve()
	if err != nil {
		return err
	}
	id, err := findWorkload(s.state, q.args[1])
	if err != nil {
		return &inputError{q.args[0], err}
	}
	e, err := explain.Workload(context.Background(), s.decision, id)
	if err != nil {
		return err
	}
	help, err := explain.WhatHelps(context.Background(), s.decision, id, explain.HelpSearch{Solves: q.solves})
	if err != nil {
		return err
	}
	if q.json {
		return q.printJSON(struct {
			Explanation *explain.Explanation `json:"explanation"`
			Help        *explain.Help        `json:"help"`
		}{e, help})
	}
	q.write(e.String())
	if help.Waits {
		q.writeHelp(help)
	}
	return nil
}

// writeHelp tells what would help. Each remedy was tried: that is what the solves
// are.
func (p *page) writeHelp(h *explain.Help) {
	p.heading("What would help, one of these alone")
	for i := range h.Remedies {
		p.prose("  - ", "      ", green, upperFirst(h.Remedies[i].String())+".")
	}
	switch {
	case len(h.Remedies) == 0 && !h.Cut:
		p.prose("  ", "  ", yellow, "No one change helps, nor do two together.")
	case len(h.Remedies) == 0:
		p.prose("  ", "  ", yellow, "Nothing that was tried helps; not all was tried.")
	case h.Cut:
		p.prose("  ", "  ", faint, "There may be more: not all was tried.")
	}
	p.line(faint, "  ("+prose.Count(h.Solves, "solve")+")")
}

func answerQueue(q *asked) error {
	s, err := q.solve()
	if err != nil {
		return err
	}
	queue := q.args[1]
	e, err := explain.Queue(context.Background(), s.decision, queue)
	if errors.Is(err, allot.ErrUnknown) {
		var names []string
		for i := range s.state.Queues {
			names = append(names, s.state.Queues[i].ID)
		}
		return &inputError{q.args[0], unknown("queue", queue, names)}
	}
	if err != nil {
		return err
	}
	if q.ask == 0 {
		if q.json {
			return q.printJSON(e)
		}
		q.write(e.String())
		return nil
	}
	more := allot.Workload{Queue: queue, PodSets: []allot.PodSet{{Count: q.ask, Request: allot.Request{GPU: allot.GPURequest{Count: 1}}}}}
	asked, err := explain.Reclaim(context.Background(), s.decision, more)
	if err != nil {
		return &inputError{q.args[0], err}
	}
	if q.json {
		return q.printJSON(asked)
	}
	q.write(asked.String())
	return nil
}

// findWorkload is the ID of the workload that somebody means: the ID itself, or
// the name that texts show, with the queue before it.
func findWorkload(state *allot.State, name string) (string, error) {
	var names, same []string
	for i := range state.Workloads {
		w := &state.Workloads[i]
		if w.ID == name {
			return name, nil
		}
		shown := workName(w.Queue, w.ID)
		names = append(names, shown)
		if shown == name {
			same = append(same, w.ID)
		}
	}
	if len(same) == 1 {
		return same[0], nil
	}
	return "", unknown("workload", name, names)
}

// unknown says that there is no such name, and which ones are like it.
func unknown(what, name string, known []string) error {
	var like []string
	for _, k := range known {
		if name != "" && (strings.Contains(strings.ToLower(k), strings.ToLower(name)) || strings.Contains(strings.ToLower(name), strings.ToLower(k))) {
			like = append(like, k)
		}
	}
	if len(like) == 0 {
		like = known
	}
	slices.SortFunc(like, compareNames)
	text := ""
	if len(like) > 0 {
		text = "; there is " + prose.Some(like, ", ", 8)
	}
	return fmt.Errorf("there is no %s %q%s", what, name, text)
}
