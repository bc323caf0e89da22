package report

import (
	"encoding/json"
	"io"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/sim"
)

// An eventLine is a line of events.jsonl.
type eventLine struct {
	At      int64             `json:"at"`
	Event   string            `json:"event"`
	Job     string            `json:"job,omitzero"`
	Outcome string            `json:"outcome,omitzero"`
	Tasks   []allot.Placement `json:"tasks,omitempty"`
	From    []allot.Placement `json:"from,omitempty"`
	After   []string          `json:"after,omitempty"`
	Claimed bool              `json:"claimed,omitzero"`
	Code    string            `json:"code,omitzero"`
	Reason  string            `json:"reason,omitzero"`
	Change  *sim.Change       `json:"change,omitempty"`
	// Promise is what is promised from then on, or was up to then.
	Promise *allot.PlannedReservation `json:"promise,omitempty"`
}

// An EventWriter writes events.jsonl; its Observe is for [sim.Options.Observe].
type EventWriter struct {
	encoder *json.Encoder
	err     error
}

// NewEventWriter writes to w, which had better be buffered.
func NewEventWriter(w io.Writer) *EventWriter {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return &EventWriter{encoder: encoder}
}

// Observe writes an event.
func (w *EventWriter) Observe(e sim.Event) {
	if w.err != nil {
		return
	}
	l := eventLine{At: int64(e.At), Event: e.Kind.String(), Job: e.Job, Claimed: e.Claimed, Change: e.Change, Promise: e.Promise}
	if e.Kind == sim.EndEvent {
		l.Outcome = e.Outcome.String()
	}
	if a := e.Action; a != nil {
		l.Event, l.Tasks, l.From, l.After = a.Kind.String(), a.Tasks, a.From, a.After
		if a.Reason.Code != 0 {
			l.Code, l.Reason = a.Reason.Code.String(), a.Reason.String()
		}
	}
	w.err = w.encoder.Encode(l)
}

// Err is the first error in writing.
func (w *EventWriter) Err() error { return w.err }
