package answer

import (
	"github.com/allotsched/allot/examples/allot/internal/output"
	"github.com/allotsched/allot/examples/internal/replay"
)

// Replay answers what each scheduler has made of the runs.
func Replay(s *replay.Sweep) output.Answer { return &replayAnswer{s} }

type replayAnswer struct{ sweep *replay.Sweep }

func (a *replayAnswer) Data() any { return a.sweep.Result() }

func (a *replayAnswer) Write(p *output.Page) {
	p.Prose("", "  ", output.Bold, a.sweep.Answer())
	for _, t := range a.sweep.Tables(p.Wide) {
		var rows [][]output.Cell
		for _, line := range t.Rows {
			var row []output.Cell
			for i, text := range line {
				row = append(row, output.Cell{Text: text, Right: i >= t.Names})
			}
			rows = append(rows, row)
		}
		if t.Title == "" {
			p.Verbatim("")
		} else {
			p.Heading(t.Title)
		}
		p.Table("", rows)
	}
	for _, note := range a.sweep.Notes() {
		p.Prose("\n", "  ", output.Faint, note)
	}
}
