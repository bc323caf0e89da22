// Package play answers what the playground asks: of a text, a scenario or a state as YAML
// or JSON, the plan, the report, the picture, why a workload waits, the shares and what
// changes would do. It is compiled to wasm (see ../../playground) and knows nothing of a
// browser: questions and answers are JSON.
//
// What it reads has at most [MaxText] bytes, and a state [MaxNodes] nodes and [MaxTasks]
// tasks. Nothing of it ends by itself after a time: the page ends the worker that it runs
// in, whose memory has a limit of its own.
package play

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/desk"
	"github.com/allotsched/allot/examples/allot/internal/input"
	"github.com/allotsched/allot/examples/allot/internal/report"
	"github.com/allotsched/allot/examples/allot/internal/topology"
	"github.com/allotsched/allot/examples/allot/internal/words"
	"github.com/allotsched/allot/sim/scenario"
	"github.com/allotsched/allot/verify"
)

// The bounds of a question.
const (
	MaxText  = 1 << 20
	MaxNodes = 2000
	MaxTasks = 20_000
)

// A Question is what the page asks.
type Question struct {
	// Text is a scenario, or a state as YAML or JSON.
	Text string `json:"text"`
	// View is what is asked of it, one of [Views].
	View string `json:"view"`
	// Workload and Queue are about whom, where the view is of one; Edits are changes of
	// the state.
	Workload string `json:"workload"`
	Queue    string `json:"queue"`
	Edits    string `json:"edits"`
}

// An Answer is what the page shows: Text or a page of HTML, and whom one may ask about.
type Answer struct {
	Text      string   `json:"text"`
	HTML      string   `json:"html"`
	Problem   string   `json:"problem"`
	Workloads []string `json:"workloads"`
	Queues    []string `json:"queues"`
}

// listed is how many workloads and queues one may choose from.
const listed = 500

// Views are what may be asked, in the order of the tabs.
func Views() []string {
	return []string{"plan", "why", "shares", "report", "topology", "what if", "scenario"}
}

// A Desk answers one question after the other and keeps what it has decided of the last
// text.
type Desk struct {
	text string
	last *decided
}

// decided is a text with what is decided of it.
type decided struct{ desk.Subject }

// Ask answers a question in JSON. Whatever it is, the answer is one.
func (d *Desk) Ask(question string) (answer string) {
	a := &Answer{}
	defer func() {
		if r := recover(); r != nil {
			d.last, a = nil, &Answer{Problem: fmt.Sprintf("That is a bug of Allot: %v", r)}
		}
		text, err := json.Marshal(a)
		if err != nil {
			text = []byte(`{"problem":"the answer cannot be written"}`)
		}
		answer = string(text)
	}()
	var q Question
	if err := json.Unmarshal([]byte(question), &q); err != nil {
		a.Problem = err.Error()
		return ""
	}
	if err := d.answer(&q, a); err != nil {
		a.Problem = err.Error()
	}
	return ""
}

func (d *Desk) answer(q *Question, a *Answer) (err error) {
	if len(q.Text) > MaxText {
		return fmt.Errorf("the text may have %d bytes, it has %d", MaxText, len(q.Text))
	}
	if !slices.Contains(Views(), q.View) {
		return fmt.Errorf("there is no view %q", q.View)
	}
	if q.View == "scenario" {
		a.Text, err = runs(q.Text)
		return err
	}
	if d.last == nil || d.text != q.Text {
		d.last = nil
		if d.last, err = decide(q.Text); err != nil {
			return err
		}
		d.text = q.Text
	}
	return d.last.answer(q, a)
}

// decide reads a text and decides on it.
func decide(text string) (*decided, error) {
	document, err := input.State([]input.File{{Name: "line", Data: []byte(text)}})
	if err != nil {
		return nil, err
	}
	s := document.State
	tasks := 0
	for i := range s.Workloads {
		for k := range s.Workloads[i].PodSets {
			tasks = min(tasks+min(s.Workloads[i].PodSets[k].Count, MaxTasks+1), MaxTasks+1)
		}
	}
	if len(s.Nodes) > MaxNodes || tasks > MaxTasks {
		return nil, fmt.Errorf("here is room for %d nodes and %d tasks; the program takes more", MaxNodes, MaxTasks)
	}
	d := &decided{desk.Subject{State: s}}
	if d.Snapshot, err = allot.NewSnapshot(s); err != nil {
		return nil, document.Locate(err)
	}
	if d.Decision, err = d.Snapshot.Decide(); err != nil {
		return nil, err
	}
	if d.Plan, err = d.Decision.Plan(); err != nil {
		return nil, err
	}
	return d, verify.Plan(s, d.Plan)
}

func (d *decided) answer(q *Question, a *Answer) (err error) {
	ctx := context.Background()
	a.Workloads, a.Queues = d.whom()
	switch q.View {
	case "plan":
		a.Text = d.PlanText(true)
	case "report":
		html, err := report.Page(ctx, d.Decision, report.Options{Helps: 1, Solves: 6})
		a.HTML = string(html)
		return err
	case "topology":
		a.HTML, err = topology.Draw(d.State, d.Plan, topology.Options{Page: true})
	case "why":
		if q.Workload == "" && len(a.Workloads) > 0 {
			q.Workload = a.Workloads[0]
		}
		a.Text, err = d.Workload(ctx, q.Workload, 16)
	case "shares":
		a.Text = d.Shares()
		if q.Queue != "" {
			text := ""
			text, err = d.Queue(ctx, q.Queue)
			a.Text += "\n" + text
		}
	case "what if":
		if strings.TrimSpace(q.Edits) == "" {
			return errors.New("say what is to be otherwise, a change in a line:\n" + strings.Join(desk.EditHelp(), "\n"))
		}
		a.Text, err = d.WhatIf(ctx, q.Edits, "", true)
	}
	return err
}

// whom are those about whom one may ask: what waits or leaves comes first.
func (d *decided) whom() (workloads, queues []string) {
	first := make(map[string]bool)
	for i := range d.Plan.Pending {
		first[d.Plan.Pending[i].Workload] = true
	}
	for i := range d.Plan.Actions {
		if d.Plan.Actions[i].Kind != allot.Start {
			first[d.Plan.Actions[i].Workload] = true
		}
	}
	for _, turn := range []bool{true, false} {
		for i := range d.State.Workloads {
			if w := &d.State.Workloads[i]; first[w.ID] == turn && len(workloads) < listed {
				workloads = append(workloads, words.WorkName(w.Queue, w.ID))
			}
		}
	}
	for i := range d.State.Queues[:min(listed, len(d.State.Queues))] {
		queues = append(queues, d.State.Queues[i].ID)
	}
	return workloads, queues
}

// runs carries a scenario out, block by block, and says where it prints something else
// than it should.
func runs(text string) (string, error) {
	if !input.IsScenario([]byte(text)) {
		return "", errors.New("this view is for scenarios: a text with statements such as 'nodes n0 gpu=4' and 'solve'")
	}
	script, err := scenario.Parse(text)
	if err != nil {
		return "", err
	}
	outputs, err := scenario.Run(script, scenario.Options{SkipLaws: true})
	if err != nil {
		return "", err
	}
	told := script.Rewrite(outputs)
	switch {
	case !strings.Contains(text, "\n----"):
		return "# It prints:\n\n" + told, nil
	case strings.TrimSpace(told) == strings.TrimSpace(text):
		return "# It prints what it should.\n\n" + told, nil
	}
	return "# It does not print what the text says it should. It prints:\n\n" + told, nil
}
