package answer

import (
	"context"
	"strconv"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/output"
	"github.com/allotsched/allot/examples/allot/internal/words"
	"github.com/allotsched/allot/explain"
	"github.com/allotsched/allot/internal/prose"
)

// Forecasts answers when what waits would start if nothing else came; at most so many of a
// pool are looked at.
func Forecasts(ctx context.Context, d *allot.Decision, most int) (output.Answer, error) {
	list, err := explain.Forecasts(ctx, d, most)
	if err != nil {
		return nil, err
	}
	return &forecastAnswer{d.Snapshot().Now(), list}, nil
}

type forecastAnswer struct {
	now  time.Time
	list []explain.Forecast
}

func (a *forecastAnswer) Data() any { return a.list }

func (a *forecastAnswer) Write(p *output.Page) {
	p.Line(output.Bold, a.first())
	if len(a.list) == 0 {
		return
	}
	rows := [][]output.Cell{{
		output.Words("workload"), output.Number("starts in"), output.Words("at"), output.Words("how sure"), output.Words("after"),
	}}
	if p.Wide {
		rows[0] = append(rows[0], output.Words("where"))
	}
	shown := told(p, a.list, mostTold)
	for i := range shown {
		f := &shown[i]
		in, at := "-", "-"
		if !f.Start.IsZero() {
			in, at = words.Age(f.Start, a.now), words.Instant(f.Start)
		}
		row := []output.Cell{
			output.Words(words.WorkName(f.Queue, f.Workload)), output.Number(in), output.Words(at),
			output.Words(sureness(f)), output.Words(prose.Dashed(len(f.WaitsFor) > 0, prose.Some(f.WaitsFor, ", ", 3))),
		}
		if p.Wide {
			row = append(row, output.Words(prose.Dashed(len(f.Tasks) > 0, words.Places(f.Tasks))))
		}
		rows = append(rows, row)
	}
	p.Table("  ", rows)
	tellLeft(p, "  ", len(a.list)-len(shown), "")
	p.Line(output.Plain, "")
	p.Prose("", "", output.Faint, "If nothing else came, nobody made room and everything took as long as it says. "+
		"Never is as far as is known: it waits for work of which nobody knows when it ends, or for more than there is.")
}

// first says how many are expected to start.
func (a *forecastAnswer) first() string {
	if len(a.list) == 0 {
		return "nothing waits"
	}
	known, unlooked := 0, 0
	for i := range a.list {
		switch f := &a.list[i]; {
		case f.Unlooked:
			unlooked++
		case !f.Start.IsZero():
			known++
		}
	}
	text := strconv.Itoa(known) + " of " + prose.Count(len(a.list), "workload") + " that wait are expected to start"
	if unlooked > 0 {
		text += "; " + strconv.Itoa(unlooked) + " were not looked at"
	}
	return text
}

// sureness says what the forecast rests on.
func sureness(f *explain.Forecast) string {
	switch {
	case f.Unlooked:
		return "not looked at"
	case f.Held:
		return "has its places"
	case f.Promised:
		return "promised"
	case f.Start.IsZero():
		return "never"
	}
	return "expected"
}
