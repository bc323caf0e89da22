package answer

import (
	"context"
	"strconv"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/output"
	"github.com/allotsched/allot/examples/allot/internal/words"
	"github.com/allotsched/allot/explain"
	"github.com/allotsched/allot/internal/prose"
)

// mostCopies is up to which number copies are counted.
const mostCopies = 1000

// A FitData is all that fit tells.
type FitData struct {
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

// Fit answers whether a workload would start if it were submitted, how many like it, and
// who would pay.
func Fit(ctx context.Context, s *allot.Snapshot, d *allot.Decision, work *allot.Workload) (output.Answer, error) {
	a := &FitData{Workload: words.WorkName(work.Queue, work.ID), Asks: Asks(work)}
	f := explain.NewFitter(s)
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
	a.Plan, err = explain.Reclaim(ctx, d, *work)
	return &fitAnswer{a}, err
}

type fitAnswer struct{ *FitData }

func (a *fitAnswer) Data() any { return a.FitData }

func (a *fitAnswer) Write(p *output.Page) {
	short := "would not start"
	switch {
	case a.Now.OK:
		short = "would start in what is free"
	case a.WithRoom.OK && a.WithRoom.Room:
		short = "would start, and others would have to leave"
	case a.WithRoom.OK:
		short = "would start in room that is made"
	case !a.Ever.OK:
		short = "could never start here"
	}
	p.Line(output.Bold, a.Workload+" "+short)
	p.Line(output.Plain, "  it asks "+a.Asks)
	yes := func(ok bool, text string) output.Cell {
		if !ok {
			return output.Cell{Text: "no", Style: output.Yellow}
		}
		if text != "" {
			text = ", " + text
		}
		return output.Cell{Text: "yes" + text, Style: output.Green}
	}
	copies := strconv.Itoa(a.Copies)
	if a.Copies == mostCopies {
		copies += " or more"
	}
	room := "nobody has to leave"
	if a.WithRoom.Room {
		room = "others have to leave"
	}
	p.Table("  ", [][]output.Cell{
		{output.Words("the question"), output.Words("the answer")},
		{output.Words("would it start in what is free?"), yes(a.Now.OK, placesText(a.Now.Tasks))},
		{output.Words("would it start if room were made?"), yes(a.WithRoom.OK, room)},
		{output.Words("would it start on the empty cluster?"), yes(a.Ever.OK, "")},
		{output.Words("how many like it start in what is free?"), output.Words(copies)},
		{output.Words("what does its queue allow?"), output.Words(strings.ReplaceAll(a.Now.Availability.String(), "-", " "))},
	})
	if len(a.Reasons) > 0 {
		p.Heading("Why not now")
		for _, r := range a.Reasons[:min(5, len(a.Reasons))] {
			p.Prose("  "+r.Code.String()+": ", "      ", output.Plain, r.String())
		}
	}
	a.writePlan(p)
}

// writePlan says what would be done with it and for it, with all else that waits.
func (a *fitAnswer) writePlan(p *output.Page) {
	p.Heading("If it were submitted now, with all else that waits")
	e := a.Plan
	text, _, _ := strings.Cut(e.Arrival.String(), "\n")
	p.Prose("  ", "      ", output.Plain, text)
	shown := told(p, e.Takings, 10)
	for i := range shown {
		t := &shown[i]
		p.Prose("  ", "      ", output.Red, t.Kind.String()+" "+words.WorkName(t.Queue, t.Workload)+", "+prose.Count(t.Tasks, "task")+": "+t.Reason.String())
	}
	tellLeft(p, "  ", len(e.Takings)-len(shown), "")
	if len(e.Losers) > 0 {
		p.Prose("  ", "      ", output.Yellow, "would not start then: "+prose.Some(e.Losers, ", ", 10))
	}
}

// placesText is where tasks would be, at most a few.
func placesText(tasks []allot.Placement) string {
	var texts []string
	for _, t := range tasks {
		text := t.Node
		if len(t.Devices) > 0 {
			text += prose.Ranges(t.Devices)
		}
		texts = append(texts, text)
	}
	return "on " + prose.Some(texts, " ", 4)
}
