package answer

import (
	"strconv"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/output"
	"github.com/allotsched/allot/internal/prose"
)

// An ImportNote is something that an import left out or took over otherwise.
type ImportNote struct {
	What    string
	Count   int
	Example string
}

// WriteImport tells what an import has come to and what it left out.
func WriteImport(p *output.Page, s *allot.State, formats []string, notes []ImportNote) {
	p.Line(output.Bold, "imported from "+strings.Join(formats, " and ")+": "+prose.Count(len(s.Nodes), "node")+", "+
		prose.Count(len(s.Queues), "queue")+", "+prose.Count(len(s.Workloads), "job"))
	for i, n := range notes {
		if i == mostTold {
			p.Line(output.Faint, "  and "+strconv.Itoa(len(notes)-i)+" more notes")
			break
		}
		text := n.What
		if n.Count > 1 {
			text += " (" + strconv.Itoa(n.Count) + " times)"
		}
		if n.Example != "" {
			text += ", such as " + prose.Word(n.Example)
		}
		p.Prose("  - ", "    ", output.Plain, text)
	}
}
