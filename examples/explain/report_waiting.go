package main

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/explain"
	"github.com/allotsched/allot/internal/prose"
)

// A waitGroup is the work that waits for the same kind of reason.
type waitGroup struct {
	Title  string
	Code   string
	Number int
	Lines  []waitLine
	// Rest are further ones, folded away; Left says how many are not listed.
	Rest []waitLine
	Left string
}

type waitLine struct {
	Workload, Asks, Since string
	Reason                string
	Others                []string
	// Help are the changes that would start it; NoHelp says that there is
	// none. Both are empty where nobody looked.
	Help   []string
	NoHelp string
}

// pageSolves is how many decisions the page takes at most for each workload of which it
// tells what would help. Where no single change does, most would go into pairs.
const pageSolves = 48

// helpsFor is for how many workloads of each group it is told what would help.
func (d *drawing) helpsFor(asked int) int {
	switch {
	case asked >= 0:
		return asked
	case len(d.machines) <= manyNodes:
		return 3
	}
	return 0
}

// waiting groups what waits by its most telling reason, and tells of the first
// ones of each group what would help.
func (d *drawing) waiting(helps int) ([]waitGroup, error) {
	at := make(map[allot.Code]int)
	var codes []allot.Code
	var groups []waitGroup
	for i := range d.plan.Pending {
		p := &d.plan.Pending[i]
		code := p.Reasons[0].Code
		n, ok := at[code]
		if !ok {
			n = len(groups)
			at[code] = n
			codes = append(codes, code)
			groups = append(groups, waitGroup{Title: codeTitle(code), Code: code.String()})
		}
		g := &groups[n]
		g.Number++
		switch {
		case g.Number <= shownLines:
			line := d.waitLine(p)
			if g.Number <= helps {
				help, err := explain.WhatHelps(context.Background(), d.decision, p.Workload, explain.HelpSearch{Solves: pageSolves})
				if err != nil {
					return nil, err
				}
				line.help(help)
			}
			g.Lines = append(g.Lines, line)
		case g.Number <= shownLines+listedLines:
			g.Rest = append(g.Rest, d.waitLine(p))
		default:
			g.Left = "and " + prose.Count(int64(g.Number-shownLines-listedLines), "more workload")
		}
	}
	order := make([]int, len(groups))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(codes[a], codes[b]) })
	out := make([]waitGroup, len(groups))
	for i, from := range order {
		out[i] = groups[from]
	}
	return out, nil
}

// help tells what would help.
func (l *waitLine) help(h *explain.Help) {
	for i := range h.Remedies {
		l.Help = append(l.Help, upperFirst(h.Remedies[i].String())+".")
	}
	switch {
	case len(l.Help) == 0 && !h.Cut:
		l.NoHelp = "No one change would help, nor would two together."
	case len(l.Help) == 0:
		l.NoHelp = "No change that was tried would help, alone or with another."
	}
}

func (d *drawing) waitLine(p *allot.Pending) waitLine {
	line := waitLine{Workload: workName(p.Queue, p.Workload), Reason: upperFirst(p.Reasons[0].String()) + "."}
	for _, r := range p.Reasons[1:] {
		line.Others = append(line.Others, upperFirst(r.String())+".")
	}
	if w := d.work[p.Workload]; w != nil {
		line.Asks = asksText(w)
		line.Since = elapsed(w.Submitted, d.state.Now)
	}
	return line
}

// asksText says what a workload asks: "4 × 8 GPUs (H100)".
func asksText(w *allot.Workload) string {
	_, podSets := formOf(w, w.Form)
	var texts []string
	for i := range podSets {
		s := &podSets[i]
		ask := &s.Request.GPU
		text := ""
		switch {
		case ask.Memory > 0:
			text = binary(ask.Memory) + " of a GPU"
			if ask.Count > 1 {
				text = strconv.Itoa(ask.Count) + " × " + text
			}
		case ask.Milli > 0 && ask.Count > 1:
			text = strconv.Itoa(ask.Count) + " × " + amount(allot.GPU, ask.Milli)
		case ask.Milli > 0:
			text = amount(allot.GPU, ask.Milli)
		case ask.Count > 0:
			text = amount(allot.GPU, int64(ask.Count)*1000)
		default:
			text = "a task without GPUs"
			if s.Count != 1 {
				text = "tasks without GPUs"
			}
		}
		if len(ask.Models) > 0 {
			text += " (" + strings.Join(ask.Models, " or ") + ")"
		}
		switch {
		case s.Min > 0 && s.Min < s.Count:
			text = strconv.Itoa(s.Min) + " to " + strconv.Itoa(s.Count) + " × " + text
		case s.Count > 1:
			text = strconv.Itoa(s.Count) + " × " + text
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, " + ")
}

// codeTitles say in a few words what kind of reason it is, by its stable text.
var codeTitles = map[string]string{
	"impossible-node":      "Asks more than a node has",
	"impossible-gang":      "Asks more than the cluster has",
	"impossible-domain":    "Asks more than one part of the network has",
	"impossible-quota":     "Asks more than the guaranteed quota",
	"impossible-limit":     "Asks more than the limit of the queue",
	"not-submitted":        "Not all of it is submitted yet",
	"leaving":              "Its own tasks are still leaving",
	"claim-held":           "Has its place, which is not free yet",
	"max-workloads":        "The queue runs as many workloads as it may",
	"over-limit":           "The queue is at its limit",
	"over-borrowing-limit": "The queue may not borrow more",
	"no-quota":             "The guaranteed quota is used up",
	"kept-from-lending":    "What is free is kept for its owner",
	"no-capacity":          "Not enough is free",
	"no-node":              "No single node has room",
	"no-domain":            "No part of the network has room for all of it",
	"gang-short":           "Not all tasks find a place at once",
	"waits-for-leaving":    "Fits when others have left",
	"over-line":            "The queue has its share already",
	"guarantee-cut":        "Quotas exceed the capacity",
	"protected-until":      "What might be taken is protected for a while",
	"budget-spent":         "What might be taken is protected by a budget",
	"saturation-turns":     "Others need what they have as much",
	"larger-than-share":    "Larger than the queue's share",
	"exposes":              "Others would take back what it lets its queue use",
	"victims-protected":    "What might be taken is protected by right",
	"victims-short":        "Others may not be asked to leave for it",
	"outranked":            "Somebody stands before it",
	"overtaken":            "Younger ones of its queue run",
	"search-cut":           "The search was cut short",
}

func codeTitle(c allot.Code) string {
	if title, ok := codeTitles[c.String()]; ok {
		return title
	}
	return upperFirst(strings.ReplaceAll(c.String(), "-", " "))
}
