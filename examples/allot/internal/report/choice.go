package report

import (
	"strconv"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/words"
	"github.com/allotsched/allot/explain"
	"github.com/allotsched/allot/internal/prose"
)

// choice tells by which right a piece of work is taken, and why it and no other.
func (d *drawing) choice(e *evictionView, a *allot.Action) error {
	if a.Reason.Workload == "" {
		return nil
	}
	told, err := explain.Workload(d.ctx, d.decision, a.Workload)
	if err != nil {
		return err
	}
	for i := range told.Takings {
		t := &told.Takings[i]
		if t.Kind != a.Kind {
			continue
		}
		for _, r := range t.Right {
			e.Right = append(e.Right, rightText(&r))
		}
		if p := t.Priorities; p != nil {
			e.Right = append(e.Right, "Priority "+strconv.Itoa(int(p.Preemptor))+" goes before priority "+strconv.Itoa(int(p.Victim))+" in one queue.")
		}
		if t.Reason.Code == allot.Consolidated && len(t.Candidates) > 0 {
			e.Right = append(e.Right, "It only moves: it runs on, and nothing protects its place.")
		}
		for k := range t.Candidates {
			e.Choice = append(e.Choice, choiceOf(&t.Candidates[k]))
		}
		for _, o := range t.Others {
			e.Others = append(e.Others, prose.Count(o.Units, "other")+": "+words.Fate(o.Fate.String())+".")
		}
		return nil
	}
	return nil
}

func rightText(r *explain.RightLevel) string {
	text := "Queue " + words.QueueName(r.Queue) + " uses " + words.Amount(r.Resource, r.Use) + " when they have gone and " + words.Figure(r.Resource, r.Use+r.Asks) + " with the new work, "
	if r.Entitlement >= allot.MaxAmount {
		return text + "and has a right to any amount."
	}
	return text + "and has a right to " + words.Figure(r.Resource, r.Entitlement) + "."
}

func choiceOf(c *explain.Candidate) choiceRow {
	row := choiceRow{
		Workload: words.WorkName(c.Queue, c.Workload), Fate: words.Fate(c.Fate.String()), Priority: strconv.Itoa(int(c.Priority)),
		Since: words.Instant(c.Admitted), Taken: c.Fate.String() == "taken" || c.Fate.String() == "moved",
	}
	if c.Step > 0 {
		row.Workload += " (tasks above its minimum, step " + strconv.Itoa(c.Step) + ")"
	}
	if !c.Until.IsZero() {
		row.Fate += " until " + words.Instant(c.Until)
	}
	var holds []string
	for _, h := range c.Holds {
		holds = append(holds, words.Amount(h.Resource, h.Amount))
	}
	row.Holds = strings.Join(holds, ", ")
	return row
}
