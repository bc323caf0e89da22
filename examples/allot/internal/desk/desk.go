// Package desk answers the questions that the pages of the program ask, with the answers
// that its commands give: why a workload waits and what would help it, why a queue has its
// share, what changes would do. The answers are lines; those of tables are aligned, and
// all others as long as they are.
//
// What a page is asked may come from anybody: a text of changes has at most [MaxText]
// bytes and [mostEdits] lines, adds [mostAdded] nodes, submits [mostJobs] workloads, and
// names no file; what comes of it is within [Bounded].
package desk

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/answer"
	"github.com/allotsched/allot/examples/allot/internal/edit"
	"github.com/allotsched/allot/examples/allot/internal/input"
	"github.com/allotsched/allot/examples/allot/internal/output"
	"github.com/allotsched/allot/explain"
	"github.com/allotsched/allot/internal/prose"
)

// A Subject is a state with what is decided of it.
type Subject struct {
	State    *allot.State
	Snapshot *allot.Snapshot
	Decision *allot.Decision
	Plan     *allot.Plan
}

// mostLines is how many lines an answer has.
const mostLines = 2000

// lines are those of an answer, all of it where that is asked for.
func lines(a output.Answer, all bool) string {
	p := &output.Page{Verbose: all, Width: 1 << 20}
	a.Write(p)
	text := string(p.Bytes())
	told := strings.SplitAfter(text, "\n")
	if len(told) <= mostLines {
		return text
	}
	return strings.Join(told[:mostLines], "") + "… and " + prose.Count(len(told)-mostLines, "more line") + "\n"
}

// PlanText is the plan.
func (s *Subject) PlanText(all bool) string { return lines(answer.Plan(s.State, s.Plan), all) }

// Shares are the figures of all queues.
func (s *Subject) Shares() string { return lines(answer.Shares(s.State, s.Plan), true) }

// Workload tells what becomes of a workload and why, whom it may be named by its ID or
// with its queue before it. solves is how many decisions to spend on what would help it,
// if it waits; 0 does not look.
func (s *Subject) Workload(ctx context.Context, name string, solves int) (string, error) {
	id, err := answer.FindWorkload(s.State, name)
	if err != nil {
		return "", err
	}
	e, err := explain.Workload(ctx, s.Decision, id)
	if err != nil {
		return "", err
	}
	text := lines(answer.Why(e), false)
	if solves <= 0 {
		return text, nil
	}
	help, err := explain.WhatHelps(ctx, s.Decision, id, explain.HelpSearch{Solves: solves})
	if help == nil || !help.Waits {
		return text, err
	}
	return text + "\n" + lines(answer.Helps(e.Queue, help), true), nil // as far as the time was enough
}

// Queue tells why a queue's fair share is what it is.
func (s *Subject) Queue(ctx context.Context, name string) (string, error) {
	q, err := answer.FindQueue(s.State, name)
	if err != nil {
		return "", err
	}
	e, err := explain.Queue(ctx, s.Decision, q.ID)
	if err != nil {
		return "", err
	}
	return lines(answer.Queue(e), true), nil
}

// The bounds of what changes may say.
const (
	MaxText   = 16 << 10
	mostEdits = 40
	mostAdded = 256
	mostJobs  = 256
)

// WhatIf tells what changes of the state would do. The text has an edit in a line, as the
// command whatif takes them: "cordon n3", "quota vision=12", "add 2xh1". Jobs are
// submitted besides, as YAML or JSON; empty are none.
func (s *Subject) WhatIf(ctx context.Context, text, jobs string, all bool) (string, error) {
	change, title, err := s.change(text, jobs)
	if err != nil {
		return "", err
	}
	with, err := s.Snapshot.With(change)
	if err != nil {
		return "", err
	}
	decision, err := with.DecideContext(ctx)
	if err != nil {
		return "", err
	}
	v := answer.Variant{Title: title, Changed: make(map[string]*allot.Workload)}
	if v.Consequences, err = explain.Compare(s.Decision, decision); err != nil {
		return "", err
	}
	for i := range change.Workloads {
		v.Changed[change.Workloads[i].ID] = &change.Workloads[i]
	}
	if v.Plan, err = decision.Plan(); err != nil {
		return "", err
	}
	return lines(answer.WhatIf(s.State, s.Plan, []answer.Variant{v}), all), nil
}

// change reads what a page says of changes.
func (s *Subject) change(text, jobs string) (change allot.Change, title string, err error) {
	if len(text) > MaxText || len(jobs) > MaxText {
		return change, "", fmt.Errorf("changes may have %d bytes, these have more", MaxText)
	}
	var edits []edit.Edit
	added := 0
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "#")
		kind, argument, _ := strings.Cut(strings.TrimSpace(line), " ")
		kind, argument = strings.TrimLeft(kind, "-"), strings.TrimSpace(argument)
		if kind == "" {
			continue
		}
		if !known(kind) {
			return change, "", fmt.Errorf("line %d: there is no change %q; there is %s", i+1, kind, strings.Join(Edits(), ", "))
		}
		if number, _, ok := strings.Cut(argument, "x"); ok && kind == "add" {
			if n, err := strconv.Atoi(number); err == nil {
				added += min(max(n, 0), mostAdded+1)
			}
		}
		edits = append(edits, edit.Edit{Kind: kind, Argument: argument})
	}
	if strings.TrimSpace(jobs) != "" {
		edits = append(edits, edit.Edit{Kind: "submit", Argument: "jobs"})
	}
	switch {
	case len(edits) == 0:
		return change, "", errors.New("there is no change")
	case len(edits) > mostEdits:
		return change, "", fmt.Errorf("there may be %d changes at once, there are more", mostEdits)
	case added > mostAdded:
		return change, "", fmt.Errorf("at most %d nodes may be added at once", mostAdded)
	}
	change, err = edit.Change(s.State, edits, func(name string) (input.File, error) {
		if name != "jobs" {
			return input.File{}, errors.New("a page reads no files")
		}
		return input.File{Name: "jobs", Data: []byte(jobs)}, nil
	})
	if err != nil {
		return change, "", err
	}
	if len(change.Workloads) > mostJobs {
		return change, "", fmt.Errorf("at most %d jobs may be spoken of at once", mostJobs)
	}
	if err := Bounded(s.State, &change); err != nil {
		return change, "", err
	}
	var words []string
	for _, e := range edits {
		words = append(words, e.String())
	}
	return change, strings.Join(words, ", "), nil
}

// Edits are the words with which a change may begin: those of the command whatif that
// name no file.
func Edits() []string {
	var names []string
	for _, k := range edit.Kinds() {
		if k.Argument != "FILE" {
			names = append(names, k.Name)
		}
	}
	return names
}

func known(kind string) bool {
	for _, name := range Edits() {
		if name == kind {
			return true
		}
	}
	return false
}

// EditHelp says what each change is: "cordon NODE: the node takes nothing new".
func EditHelp() []string {
	var texts []string
	for _, k := range edit.Kinds() {
		if k.Argument != "FILE" {
			texts = append(texts, k.Name+" "+k.Argument+": "+k.About)
		}
	}
	return texts
}

// Difference tells what of the plan of a second subject is otherwise. The two need not
// be of one kept state.
func Difference(a, b *Subject) (string, error) {
	d := explain.Diff(a.Plan, b.Plan)
	v := answer.Variant{Title: "the second", Consequences: &explain.Consequences{Difference: *d}, Plan: b.Plan, Changed: make(map[string]*allot.Workload)}
	for i := range b.State.Workloads {
		v.Changed[b.State.Workloads[i].ID] = &b.State.Workloads[i]
	}
	return lines(answer.WhatIf(a.State, a.Plan, []answer.Variant{v}), false), nil
}
