package main

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"strconv"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/explain"
	"github.com/allotsched/allot/internal/prose"
)

func fitCommand() command {
	return command{
		name:      "fit",
		arguments: "STATE WORKLOAD.json",
		about:     "whether a workload would start if it were submitted, and how many like it",
		more: `The workload is the JSON form of an allot.Workload, of which no task has a place.
For example

  {"id": "eval", "queue": "vision", "podSets": [{"count": 2, "request": {"gpu": {"count": 1}}}]}
`,
		answer: answerFit,
	}
}

// mostCopies is up to which number copies are counted.
const mostCopies = 1000

// A fitAnswer is all that fit tells.
type fitAnswer struct {
	Workload string `json:"workload"`
	Asks     string `json:"asks"`
	// Now is in what is free, WithRoom where the policy may make room, Ever on the
	// empty cluster. Copies is how many start in what is free, at most mostCopies.
	Now      explain.Fit    `json:"now"`
	WithRoom explain.Fit    `json:"withRoom"`
	Ever     explain.Fit    `json:"ever"`
	Copies   int            `json:"copies"`
	Reasons  []allot.Reason `json:"reasons,omitempty"`
	// Plan is what would be decided, with all else that waits.
	Plan *explain.Reclamation `json:"plan"`
}

// ofWorkload is how the library calls the way to the workload.
var ofWorkload = regexp.MustCompile(`^workloads?(\[\d+\])?\.?`)

// readWorkload reads a workload. Only a change is read strictly, with paths, and
// so the workload is read as one.
func (q *asked) readWorkload(name string) (*allot.Workload, error) {
	input, err := q.readFile(name)
	if err != nil {
		return nil, err
	}
	var change allot.Change
	whole := append([]byte(`{"version": 1, "workloads": [`), append(bytes.TrimSpace(input), "]}"...)...)
	if err := change.UnmarshalJSON(whole); err != nil {
		return nil, &inputError{name, within(ofWorkload, err)}
	}
	if len(change.Workloads) != 1 {
		return nil, &inputError{name, errors.New("must be one workload, as a JSON object")}
	}
	return &change.Workloads[0], nil
}

func answerFit(q *asked) error {
	s, err := q.solve()
	if err != nil {
		return err
	}
	work, err := q.readWorkload(q.args[1])
	if err != nil {
		return err
	}
	a, err := s.fits(work)
	if err != nil {
		return &inputError{q.args[1], within(ofWorkload, err)}
	}
	if q.json {
		return q.printJSON(a)
	}
	q.writeFit(a)
	return nil
}

// fits asks all there is to ask.
func (s *solution) fits(work *allot.Workload) (*fitAnswer, error) {
	a := &fitAnswer{Workload: workName(work.Queue, work.ID), Asks: asksText(work)}
	ctx, f := context.Background(), explain.NewFitter(s.snapshot)
	var err error
	if a.Now, err = f.Now(ctx, *work); err != nil {
		return nil, err
	}
	if a.WithRoom, err = f.WithRoom(ctx, *work); err != nil {
		return nil, err
	}
	if a.Ever, err = f.Ever(ctx, *work); err != nil {
		return nil, err
	}
	if a.Copies, err = f.Copies(ctx, *work, mostCopies); err != nil {
		return nil, err
	}
	if a.Reasons, err = f.Why(ctx, *work); err != nil {
		return nil, err
	}
	a.Plan, err = explain.Reclaim(ctx, s.decision, *work)
	return a, err
}

func (p *page) writeFit(a *fitAnswer) {
	p.line(bold, a.Workload+" asks "+a.Asks)
	yes := func(ok bool, text string) cell {
		if !ok {
			return cell{text: "no", style: yellow}
		}
		if text != "" {
			text = ", " + text
		}
		return cell{text: "yes" + text, style: green}
	}
	copies := strconv.Itoa(a.Copies)
	if a.Copies == mostCopies {
		copies += " or more"
	}
	room := "nobody has to leave"
	if a.WithRoom.Room {
		room = "others have to leave"
	}
	ever := yes(a.Ever.OK, "")
	if !a.Ever.OK {
		ever.style = red
	}
	p.table("  ", [][]cell{
		{words("the question"), words("the answer")},
		{words("would it start in what is free?"), yes(a.Now.OK, placesText(a.Now.Tasks))},
		{words("would it start if room were made?"), yes(a.WithRoom.OK, room)},
		{words("would it start on the empty cluster?"), ever},
		{words("how many like it start in what is free?"), words(copies)},
		{words("what does its queue allow?"), words(strings.ReplaceAll(a.Now.Availability.String(), "-", " "))},
	})
	if len(a.Reasons) > 0 {
		p.heading("Why not now")
		for _, r := range a.Reasons {
			p.prose("  "+r.Code.String()+": ", "      ", plain, r.String())
		}
	}
	p.heading("If it were submitted now, with all else that waits")
	p.write(indented(planText(a.Plan)))
}

// planText says in short what the plan would do with the newcomer and for it.
func planText(e *explain.Reclamation) string {
	text, _, _ := strings.Cut(e.Arrival.String(), "\n")
	lines := []string{text}
	for _, r := range e.Arrival.Reasons {
		lines = append(lines, "  "+r.Code.String()+": "+r.String())
	}
	for i := range e.Takings {
		t := &e.Takings[i]
		lines = append(lines, t.Kind.String()+" "+workName(t.Queue, t.Workload)+", "+prose.Count(t.Tasks, "task")+": "+t.Reason.String())
	}
	if len(e.Losers) > 0 {
		lines = append(lines, "would not start then: "+strings.Join(e.Losers, ", "))
	}
	return strings.Join(lines, "\n")
}

// indented moves a text two letters in.
func indented(text string) string {
	return "  " + strings.ReplaceAll(text, "\n", "\n  ") + "\n"
}
