package main

import (
	"context"
	"strconv"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/explain"
	"github.com/allotsched/allot/internal/prose"
)

// choice tells by which right a piece of work is taken, and why it and no other.
func (d *drawing) choice(e *evictionView, a *allot.Action) error {
	if a.Reason.Workload == "" {
		return nil
	}
	told, err := explain.Workload(context.Background(), d.decision, a.Workload)
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
			e.Others = append(e.Others, prose.Count(o.Units, "other")+": "+fateText(o.Fate.String())+".")
		}
		return nil
	}
	return nil
}

func rightText(r *explain.RightLevel) string {
	text := "Queue " + queueName(r.Queue) + " uses " + amount(r.Resource, r.Use) + " when they have gone and " + figure(r.Resource, r.Use+r.Asks) + " with the new work, "
	if r.Entitlement >= allot.MaxAmount {
		return text + "and has a right to any amount."
	}
	return text + "and has a right to " + figure(r.Resource, r.Entitlement) + "."
}

func choiceOf(c *explain.Candidate) choiceRow {
	row := choiceRow{
		Workload: workName(c.Queue, c.Workload), Fate: fateText(c.Fate.String()), Priority: strconv.Itoa(int(c.Priority)),
		Since: instant(c.Admitted), Taken: c.Fate.String() == "taken" || c.Fate.String() == "moved",
	}
	if c.Step > 0 {
		row.Workload += " (tasks above its minimum, step " + strconv.Itoa(c.Step) + ")"
	}
	if !c.Until.IsZero() {
		row.Fate += " until " + instant(c.Until)
	}
	var holds []string
	for _, h := range c.Holds {
		holds = append(holds, amount(h.Resource, h.Amount))
	}
	row.Holds = strings.Join(holds, ", ")
	return row
}

// fateTexts are the fates of candidates in plain words, by their stable texts.
var fateTexts = map[string]string{
	"taken":           "has to go",
	"moved":           "moves to another place",
	"not-needed":      "not needed, enough others go",
	"place-short":     "where it stands, too little may be taken",
	"place-harms":     "where it stands, better work would have to go",
	"place-loses":     "where it stands, more work would be lost",
	"place-more":      "where it stands, more workloads would have to go",
	"place-later":     "where it stands, others come later in the order",
	"place-node":      "another node comes first",
	"place-moves":     "elsewhere less has to move",
	"min-runtime":     "protected by its minimum runtime",
	"budget":          "protected by a disruption budget",
	"within-line":     "its queue is within what it may keep",
	"protected":       "what its queue may keep covers it",
	"straddling":      "its queue would fall below what it may keep",
	"margin":          "its queue is not more saturated than the other",
	"own-side-full":   "with it there, the other would be beyond its own share",
	"priority":        "its priority is not lower",
	"holds-nothing":   "holds nothing of what is short",
	"same-queue":      "of the same queue",
	"other-queue":     "of another queue",
	"elsewhere":       "stands outside the place that is cleared",
	"immovable":       "cannot move before all of it runs",
	"never-preempted": "never evicted",
	"itself":          "of the new work itself",
}

func fateText(fate string) string {
	if text, ok := fateTexts[fate]; ok {
		return text
	}
	return strings.ReplaceAll(fate, "-", " ")
}
