package report

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/words"
	"github.com/allotsched/allot/explain"
	"github.com/allotsched/allot/internal/prose"
)

// A waitGroup is the work that waits for the same kind of reason: each in a line, or
// where more than oneByOne wait in all, those of one queue that ask the same in one.
type waitGroup struct {
	Title, Code string
	Number      int
	Lines       []waitLine
	// Rest are further ones, folded away; Left says how many are not listed.
	Rest []waitLine
	Left string

	code allot.Code
}

// A waitLine is a workload that waits, or Count alike ones of which it is the first.
type waitLine struct {
	ID, Workload, Asks, Since string
	Count                     int
	Queue                     string
	Reason                    string
	Others                    []string
	// Help are the changes that would start it; NoHelp says that there is
	// none. Both are empty where nobody looked. Cut: not all was tried.
	Help   []string
	NoHelp string
	Cut    bool
	// Members are all alike ones, the first included; Left says how many are not
	// listed.
	Members []member
	Left    string

	pending *allot.Pending
	oldest  time.Time
}

// A member is one of alike workloads.
type member struct{ ID, Workload string }

// oneByOne is up to how many of a kind are told one by one. Beyond, shownKinds lines
// of a group are not folded away, and listedMembers of alike workloads are named.
const (
	oneByOne      = 20
	shownKinds    = 8
	listedMembers = 500
)

// The decisions that are taken at most for a workload of which it is told what would
// help: of a small cluster, where no single change does, most would go into pairs.
const (
	smallSolves = 48
	largeSolves = 16
)

// waiting groups what waits by its most telling reason.
func (d *drawing) waiting() ([]waitGroup, error) {
	at := make(map[allot.Code]int)
	var groups []waitGroup
	alike := len(d.plan.Pending) > oneByOne
	lines := make(map[string]int)
	for i := range d.plan.Pending {
		p := &d.plan.Pending[i]
		code := p.Reasons[0].Code
		n, ok := at[code]
		if !ok {
			n = len(groups)
			at[code] = n
			groups = append(groups, waitGroup{Title: words.CodeTitle(code), Code: code.String(), code: code})
		}
		g := &groups[n]
		g.Number++
		asks := ""
		if w := d.work[p.Workload]; w != nil {
			asks = words.Asks(w)
		}
		key := code.String() + "\x00" + p.Queue + "\x00" + asks
		at, ok := lines[key]
		if !ok || !alike {
			at = len(g.Lines)
			lines[key] = at
			g.Lines = append(g.Lines, d.waitLine(p, asks))
		}
		d.join(&g.Lines[at], p)
	}
	slices.SortFunc(groups, func(a, b waitGroup) int { return cmp.Compare(a.code, b.code) })
	for i := range groups {
		groups[i].finish(d, alike)
	}
	if err := d.help(groups); err != nil {
		return nil, err
	}
	for i := range groups {
		groups[i].fold(alike)
	}
	return groups, nil
}

func (d *drawing) waitLine(p *allot.Pending, asks string) waitLine {
	line := waitLine{ID: p.Workload, Workload: words.WorkName(p.Queue, p.Workload), Queue: words.QueueName(p.Queue), Asks: asks, Reason: words.UpperFirst(p.Reasons[0].String()) + ".", pending: p}
	for _, r := range p.Reasons[1:] {
		line.Others = append(line.Others, words.UpperFirst(r.String())+".")
	}
	return line
}

// join adds a workload to those of a line.
func (d *drawing) join(l *waitLine, p *allot.Pending) {
	l.Count++
	if w := d.work[p.Workload]; w != nil && !w.Submitted.IsZero() && (l.oldest.IsZero() || w.Submitted.Before(l.oldest)) {
		l.oldest = w.Submitted
	}
	if l.Count <= listedMembers {
		l.Members = append(l.Members, member{p.Workload, words.WorkName(p.Queue, p.Workload)})
	}
}

// finish brings the lines of a group into their order: alike ones the most first.
func (g *waitGroup) finish(d *drawing, alike bool) {
	for i := range g.Lines {
		l := &g.Lines[i]
		l.Since = words.Elapsed(l.oldest, d.state.Now)
		if l.Count == 1 {
			l.Members = nil
		}
		if left := l.Count - listedMembers; left > 0 {
			l.Left = "and " + prose.Decimal(left) + " more"
		}
	}
	if alike {
		slices.SortStableFunc(g.Lines, func(a, b waitLine) int { return cmp.Compare(b.Count, a.Count) })
	}
}

// fold folds all but the first lines away.
func (g *waitGroup) fold(alike bool) {
	shown := oneByOne
	if alike {
		shown = shownKinds
	}
	if len(g.Lines) > shown {
		g.Lines, g.Rest = g.Lines[:shown], g.Lines[shown:]
	}
	if len(g.Rest) > listedLines {
		left := 0
		for _, l := range g.Rest[listedLines:] {
			left += l.Count
		}
		g.Rest, g.Left = g.Rest[:listedLines], "and "+prose.Count(left, "more workload")
	}
}

// help tells of the first lines what would help: of a small cluster of each group, of
// a large one of those for which most wait, one for each kind of reason before a
// second one of any.
func (d *drawing) help(groups []waitGroup) error {
	helps, solves := d.options.Helps, cmp.Or(d.options.Solves, smallSolves)
	if d.large() {
		solves = cmp.Or(d.options.Solves, largeSolves)
	}
	if helps < 0 {
		helps = 3
		if d.large() {
			helps = 2
		}
	}
	type turn struct {
		line *waitLine
		nth  int
	}
	var turns []turn
	for i := range groups {
		for k := range groups[i].Lines[:min(helps, len(groups[i].Lines))] {
			turns = append(turns, turn{&groups[i].Lines[k], k})
		}
	}
	if d.large() {
		slices.SortStableFunc(turns, func(a, b turn) int {
			return cmp.Or(cmp.Compare(a.nth, b.nth), cmp.Compare(b.line.Count, a.line.Count))
		})
		turns = turns[:min(helps, len(turns))]
	}
	for _, t := range turns {
		help, err := explain.WhatHelps(d.ctx, d.decision, t.line.pending.Workload, explain.HelpSearch{Solves: solves})
		if err != nil {
			return err
		}
		t.line.help(help)
	}
	return nil
}

// help tells what would help.
func (l *waitLine) help(h *explain.Help) {
	for i := range h.Remedies {
		l.Help = append(l.Help, words.UpperFirst(h.Remedies[i].String())+".")
	}
	l.Cut = h.Cut && len(l.Help) > 0
	switch {
	case len(l.Help) == 0 && !h.Cut:
		l.NoHelp = "No one change would help, nor would two together."
	case len(l.Help) == 0:
		l.NoHelp = "No change that was tried would help " + strings.TrimSpace(l.Workload) + "; not all was tried."
	}
}
